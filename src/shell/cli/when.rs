//! A moment as a flag states it.

use crate::core::unit::Millis;
use crate::shell::clock;

/// A moment: RFC 3339, ms since 1970, or an age (`90s`, `30m`, `2h`, `7d`) before this host's now.
pub(super) fn moment(text: &str) -> Result<Millis, String> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    for (unit, millis) in units {
        let age = text.strip_suffix(unit).and_then(|number| number.parse::<u32>().ok());
        if let Some(age) = age {
            return Ok(clock::now() - i64::from(age) * millis);
        }
    }
    if let Some(moment) = text.parse().ok().filter(|moment: &Millis| *moment >= LEAST) {
        return Ok(moment);
    }
    let moment: Result<jiff::Timestamp, _> = text.parse();
    moment.map(|moment| moment.as_millisecond()).map_err(|_| {
        "give an age (90s, 30m, 2h, 7d), a moment with its zone (2026-05-01T12:00:00Z), or ms since \
         1970"
            .into()
    })
}

/// A smaller number is an age without its unit rather than a moment: this one lies in 1973.
const LEAST: Millis = 100_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_moments_are_read() {
        assert_eq!(moment("1970-01-01T00:00:05Z"), Ok(5_000));
        assert_eq!(moment("1795514400000"), Ok(1_795_514_400_000));
        let hour = clock::now() - moment("1h").unwrap();
        assert!((3_600_000..3_601_000).contains(&hour), "{hour}");
        assert!(moment("5").is_err() && moment("soon").is_err() && moment("-1h").is_err());
    }
}
