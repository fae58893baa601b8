//! Student's t distribution: the points that 95 % and 97.5 % of it lie below, for any number of
//! degrees of freedom above 0, whole or not. By the regularized incomplete beta function and its
//! derivative, from + - * / and square roots alone.

use super::power::{exp, ln};

/// More degrees of freedom than this are as good as all there are: the normal distribution.
const FREEDOM_MAX: f64 = 1e6;

/// No point lies farther out: with less than some thousandths of a degree of freedom it would be
/// beyond any number.
const POINT_MAX: f64 = 1e12;

/// The 95 % point with so many degrees of freedom. At most `POINT_MAX`.
pub fn point95(freedom: f64) -> f64 {
    point(freedom, 0.05, 1.644_853_626_951_472)
}

/// The 97.5 % point: 95 % of the distribution lie within it and its negative. At most
/// `POINT_MAX`.
pub fn point975(freedom: f64) -> f64 {
    point(freedom, 0.025, 1.959_963_984_540_054)
}

/// The point above which a part of the distribution lies. `normal` is the one of the normal
/// distribution, below which it never is.
fn point(freedom: f64, part: f64, normal: f64) -> f64 {
    const STEPS: u32 = 40;
    let freedom = if freedom > 1e-9 { freedom.min(FREEDOM_MAX) } else { 1e-9 };
    let beta = beta_with_half(freedom / 2.0);
    let mut log = ln(normal);
    // ln of the tail falls ever more steeply with ln of the point: the first step of Newton's goes
    // too far, all others come back from there and end at the point.
    for _ in 0..STEPS {
        let (tail, slope) = tail_at(exp(log), freedom, beta);
        if slope <= 0.0 {
            break;
        }
        let step = ln(tail / part) * tail / slope;
        let before = log;
        log = (log + step).min(ln(POINT_MAX));
        if (log - before).abs() < 1e-9 {
            break;
        }
    }
    exp(log)
}

/// The part of the distribution above `t`, and by how much it falls where ln `t` grows by 1.
fn tail_at(t: f64, freedom: f64, beta: f64) -> (f64, f64) {
    let (a, square) = (freedom / 2.0, t * t);
    let (x, y) = (freedom / (freedom + square), square / (freedom + square));
    let front = exp(a * ln(x)) * y.sqrt() / beta;
    let is_near = x < (a + 1.0) / (a + 2.5);
    let both = match is_near {
        true => front * fraction(a, 0.5, x) / a,
        false => 1.0 - front * fraction(0.5, a, y) / 0.5,
    };
    (both / 2.0, front)
}

/// The beta function of `a` and 1/2: sqrt(pi) times Gamma(a) over Gamma(a + 1/2), which is known
/// well for large `a` and goes from one `a` to the next by a factor.
fn beta_with_half(a: f64) -> f64 {
    const SQRT_PI: f64 = 1.772_453_850_905_516;
    // Gamma(a + 1/2) over Gamma(a) sqrt(a), by powers of 1/a.
    const SERIES: [f64; 7] = [
        1.0,
        -1.0 / 8.0,
        1.0 / 128.0,
        5.0 / 1_024.0,
        -21.0 / 32_768.0,
        -399.0 / 262_144.0,
        869.0 / 4_194_304.0,
    ];
    let (mut a, mut factor) = (a, 1.0);
    while a < 30.0 {
        factor *= (a + 0.5) / a;
        a += 1.0;
    }
    let ratio = SERIES.iter().rev().fold(0.0, |sum, term| sum / a + term) * a.sqrt();
    SQRT_PI * factor / ratio
}

/// The continued fraction of the incomplete beta function, by Lentz's way.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TERMS: u32 = 5_000;
    const LEAST: f64 = 1e-300;
    let far = |value: f64| if value.abs() < LEAST { LEAST } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / far(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for term in 1..=TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / far(1.0 + step * d);
            c = far(1.0 + step / c);
            product *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole degrees are in every table; the others are the integral done to 30 places.
    const TABLE: [(f64, f64); 14] = [
        (0.1, 1_642_931_922.602_566_7),
        (0.5, 41.136_000_092_878_28),
        (1.0, 6.313_751_514_675_043),
        (1.5, 3.705_180_820_096_751_8),
        (2.0, 2.919_985_580_353_725_6),
        (3.0, 2.353_363_434_801_823_8),
        (4.25, 2.096_321_282_056_299),
        (5.0, 2.015_048_373_333_024_2),
        (10.0, 1.812_461_122_811_676_5),
        (17.3, 1.737_872_838_582_026_8),
        (30.0, 1.697_260_886_593_957_8),
        (120.0, 1.657_650_899_355_235_7),
        (1_000.0, 1.646_378_817_285_464_8),
        (100_000.0, 1.644_868_864_784_969_6),
    ];

    #[test]
    fn points_are_those_of_the_tables() {
        for (freedom, point) in TABLE {
            let own = point95(freedom);
            assert!((own / point - 1.0).abs() < 1e-10, "{freedom}: {own}, not {point}");
        }
        let both_sides = [
            (1.0, 12.706_204_736_432_095),
            (2.0, 4.302_652_729_696_142),
            (4.0, 2.776_445_105_197_798_7),
            (10.0, 2.228_138_851_964_938_5),
            (120.0, 1.979_930_405_082_441_3),
        ];
        for (freedom, point) in both_sides {
            let own = point975(freedom);
            assert!((own / point - 1.0).abs() < 1e-10, "{freedom}: {own}, not {point}");
        }
    }

    #[test]
    fn less_freedom_means_a_farther_point_and_always_a_number() {
        let mut last = f64::INFINITY;
        for step in -900..=900 {
            let point = point95(exp(f64::from(step) * 0.03));
            assert!(
                point <= last * (1.0 + 1e-9) && (1.644..=POINT_MAX * 1.001).contains(&point),
                "{step}: {point}"
            );
            last = point;
        }
        for freedom in [f64::NAN, -1.0, 0.0, f64::INFINITY] {
            let _ = point95(freedom);
        }
        assert!(point95(0.0) > 9e11 && point95(f64::INFINITY) < 1.645);
    }
}
