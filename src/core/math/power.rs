//! Powers and logarithms made of + - * / alone, so that every machine gives the same bits: the
//! library's own are the platform's, and those differ in the last place.

/// ln 2, in a part that products with small whole numbers keep exactly, and the rest.
const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Beyond this a power is no number any more, or nothing.
const EXPONENT_MAX: f64 = 700.0;

/// e to the power of `x`; 0 below -700, and as at 700 above it.
pub fn exp(x: f64) -> f64 {
    if x < -EXPONENT_MAX {
        return 0.0;
    }
    let x = x.min(EXPONENT_MAX);
    let doublings = (x / (LN2_HIGH + LN2_LOW) + 0.5).floor();
    let rest = (x - doublings * LN2_HIGH) - doublings * LN2_LOW;
    // The series of e^x around 0, from its last term that counts.
    let series = (1..=14).rev().fold(1.0, |sum, n| 1.0 + sum * rest / f64::from(n));
    series * f64::from_bits(((doublings as i64 + 1_023) as u64) << 52)
}

/// The natural logarithm of a number above 0; of what is none, that of the smallest there is.
pub fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    const ONE: u64 = 1_023 << 52;
    let bits = x.max(f64::MIN_POSITIVE).to_bits();
    let mut doublings = f64::from((bits >> 52) as u32) - 1_023.0;
    let mut part = f64::from_bits(bits & MANTISSA | ONE);
    if part > std::f64::consts::SQRT_2 {
        part *= 0.5;
        doublings += 1.0;
    }
    // ln((1 + s) / (1 - s)) = 2 (s + s^3/3 + s^5/5 ...)
    let s = (part - 1.0) / (part + 1.0);
    let series = (0..=12).rev().fold(0.0, |sum, n| sum * s * s + 1.0 / f64::from(2 * n + 1));
    doublings * LN2_HIGH + (2.0 * s * series + doublings * LN2_LOW)
}

/// 2 to the power of `x`.
pub fn exp2(x: f64) -> f64 {
    exp(x * std::f64::consts::LN_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_and_logarithms_are_those_of_the_library() {
        for step in -6_990..=6_990 {
            let x = f64::from(step) * 0.1 + 0.003;
            let (own, known) = (exp(x), x.exp());
            assert!(
                (own / known - 1.0).abs() < 4e-16 * x.abs().max(4.0),
                "exp({x}): {own} {known}"
            );
            let known = own.ln();
            assert!((ln(own) - known).abs() <= 4e-16 * known.abs().max(1.0), "ln({own})");
        }
        for x in [1.0, 2.0, 0.5, 1.0 + 1e-9, 1.0 - 1e-9, 1.414, 1.415, 1e300, 1e-300] {
            assert!((ln(x) - f64::ln(x)).abs() <= 3e-16 * f64::ln(x).abs().max(1.0), "ln({x})");
        }
        assert_eq!(
            [exp(0.0), ln(1.0), exp2(0.0), exp2(-1.0), exp2(10.0)],
            [1.0, 0.0, 1.0, 0.5, 1_024.0]
        );
    }

    #[test]
    fn what_has_no_value_gives_a_number_all_the_same() {
        for x in [f64::MIN, -1e5, 1e5, f64::MAX, 0.0, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(exp(x).is_finite() && exp(x) >= 0.0, "exp({x})");
            assert!(ln(x).is_finite() || x == f64::INFINITY, "ln({x})");
        }
        assert_eq!(exp(-701.0), 0.0);
    }
}
