//! Decayed usage of users in whole numbers (F-2..F-4).
//!
//! With `g(t) = 2^((t - L) / H)` a user has two numbers: R, the weight that runs, and X. A job that
//! starts adds its weight to R and takes `w g(start)` from X; one that ends takes it from R and
//! adds `w g(end)` to X. Then usage is `R + X / g(t)`. Changes commute, and each uses its own time.

/// Seconds since 1970, or a number of seconds.
type Seconds = i64;
/// Weight: cores of the reference power, thousandths.
type MilliWeight = i64;

/// Ticks of a half-life.
const TICKS: i64 = 4096;
/// Half-lives after which the landmark is moved.
const REBASE: i64 = 32;
/// Ticks beyond which all moments are one: more than any clock shows.
const MOST_TICKS: i64 = 1 << 60;
/// Binary digits behind the point of the roots of 2.
const FINE: u32 = 62;

/// `2^(1/2)`, `2^(1/4)` .. `2^(1/4096)`.
const ROOTS: [u128; 12] = roots();

const fn roots() -> [u128; 12] {
    let mut all = [0; 12];
    let mut root: u128 = 2 << FINE;
    let mut at = 0;
    while at < all.len() {
        root = (root << FINE).isqrt();
        all[at] = root;
        at += 1;
    }
    all
}

/// `round(2^32 2^(k/4096))`, for 0 <= k < 4096.
fn table(tick: i64) -> i128 {
    let mut power: u128 = 1 << FINE;
    for (at, root) in ROOTS.iter().enumerate() {
        if tick >> (11 - at) & 1 == 1 {
            power = (power * root) >> FINE;
        }
    }
    let digits = FINE - 32;
    ((power + (1 << (digits - 1))) >> digits) as i128
}

/// The clock of decay: half-life and landmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decay {
    half_life_s: Seconds,
    /// Half-lives since the epoch, a multiple of 32.
    landmark: i64,
}

impl Decay {
    /// With the landmark that fits a moment.
    pub fn at(half_life_s: Seconds, now_s: Seconds) -> Decay {
        let tick = tick_of(half_life_s, now_s);
        let landmark = tick.div_euclid(TICKS * REBASE) * REBASE;
        Decay { half_life_s, landmark }
    }

    /// With a landmark that was in use, in half-lives since the epoch.
    pub fn of(half_life_s: Seconds, landmark: i64) -> Decay {
        Decay { half_life_s, landmark }
    }

    /// The half-life.
    pub fn half_life_s(&self) -> Seconds {
        self.half_life_s
    }

    /// The landmark L, in half-lives since the epoch; a multiple of 32. Every X is stated at it.
    pub fn landmark(&self) -> i64 {
        self.landmark
    }

    /// `g(t)`, times 2^32; at least 1.
    pub fn growth(&self, at_s: Seconds) -> i128 {
        let tick = tick_of(self.half_life_s, at_s) - self.landmark * TICKS;
        let (whole, part) = (tick.div_euclid(TICKS), tick.rem_euclid(TICKS));
        let factor = table(part);
        match whole {
            0.. => factor << whole.min(63),
            _ => (factor >> (-whole).min(32)).max(1),
        }
    }

    /// By how many binary digits every X shrinks when the landmark of a moment is taken; the clock
    /// has that landmark then.
    pub fn rebase(&mut self, now_s: Seconds) -> u32 {
        let next = Decay::at(self.half_life_s, now_s).landmark;
        let digits = (next - self.landmark).clamp(0, 126);
        if digits > 0 {
            self.landmark = next;
        }
        digits as u32
    }
}

/// The tick nearest to a moment.
fn tick_of(half_life_s: Seconds, at_s: Seconds) -> i64 {
    let (dividend, divisor) = (i128::from(at_s) * i128::from(TICKS), i128::from(half_life_s));
    let tick = (2 * dividend + divisor).div_euclid(2 * divisor);
    tick.clamp(i128::from(-MOST_TICKS), i128::from(MOST_TICKS)) as i64
}

/// A user's usage: running, reserved and decayed weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Weight that runs and counts.
    pub running: MilliWeight,
    /// Weight that was reserved and counts.
    pub reserved: MilliWeight,
    /// X, times 2^32.
    pub x: i128,
}

impl Usage {
    /// Decayed usage P, thousandths of weight (F-3).
    pub fn decayed_milli(&self, growth: i128) -> i128 {
        self.x.div_euclid(growth).saturating_add(i128::from(self.running))
    }

    /// The fair share metric E, thousandths of weight (F-4).
    pub fn fair_share_milli(&self, growth: i128) -> i128 {
        self.scaled(growth).div_euclid(growth)
    }

    /// E times growth: two users are compared by it at the same moment, exactly (F-3 c).
    pub fn scaled(&self, growth: i128) -> i128 {
        let held = 2 * i128::from(self.running) + i128::from(self.reserved);
        held.saturating_mul(growth).saturating_add(self.x)
    }
}
