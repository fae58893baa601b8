//! Moments as people write them.

use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// A moment: ms since 1970, or RFC 3339 such as `2026-11-24T10:00:00Z`.
///
/// # Errors
/// It is neither; the text names both forms.
pub fn moment(text: &str) -> Result<Millis, String> {
    if let Ok(millis) = text.parse::<Millis>() {
        return Ok(millis);
    }
    let moment = text.parse::<jiff::Timestamp>();
    moment.map(|moment| moment.as_millisecond()).map_err(|_| {
        format!(
            "{text:?} is no moment; give milliseconds since 1970 or a time with its zone, as in \
             2026-11-24T10:00:00Z"
        )
    })
}

/// A moment, or an age before one that is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A moment.
    At(Millis),
    /// So long before.
    Ago(Millis),
}

impl When {
    /// The moment, if ages are reckoned from this one.
    pub fn before(self, now: Millis) -> Millis {
        match self {
            When::At(moment) => moment,
            When::Ago(age) => now.saturating_sub(age),
        }
    }
}

/// A moment, or an age (`90s`, `30m`, `2h`, `7d`) that is reckoned later.
///
/// # Errors
/// It is none of these; the text names them.
pub fn when(text: &str) -> Result<When, String> {
    let units = [("ms", 1), ("s", SECOND), ("m", MINUTE), ("h", HOUR), ("d", DAY)];
    for (unit, millis) in units {
        let age = text.strip_suffix(unit).and_then(|number| number.parse::<u32>().ok());
        if let Some(age) = age {
            return Ok(When::Ago(i64::from(age) * millis));
        }
    }
    // A smaller number is an age without its unit rather than a moment.
    let is_age = text.parse::<Millis>().is_ok_and(|moment| moment < LEAST);
    let moment = if is_age { Err(String::new()) } else { moment(text) };
    moment.map(When::At).map_err(|_| {
        "give an age (90s, 30m, 2h, 7d), a moment with its zone (2026-05-01T12:00:00Z), or ms since \
         1970"
            .into()
    })
}

/// This one lies in 1973.
const LEAST: Millis = 100_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_in_both_forms() {
        assert_eq!(moment("1760529600000"), Ok(1_760_529_600_000));
        assert_eq!(moment("2025-10-15T12:00:00Z"), Ok(1_760_529_600_000));
        assert_eq!(moment("2025-10-15T14:00:00.5+02:00"), Ok(1_760_529_600_500));
        for bad in ["", "yesterday", "2025-10-15", "2025-10-15T12:00:00"] {
            assert!(
                moment(bad).is_err_and(|error| error.contains("2026-11-24T10:00:00Z")),
                "{bad}"
            );
        }
    }

    #[test]
    fn an_age_is_reckoned_before_a_moment() {
        let read = |text: &str| when(text).map(|when| when.before(1_795_514_400_000));
        assert_eq!(read("1970-01-01T00:00:05Z"), Ok(5_000));
        assert_eq!(read("1795514400000"), Ok(1_795_514_400_000));
        let ages = [("20ms", 20), ("90s", 90_000), ("1h", 3_600_000), ("7d", 604_800_000)];
        for (age, millis) in ages {
            assert_eq!(read(age), Ok(1_795_514_400_000 - millis), "{age}");
        }
        for bad in ["5", "soon", "-1h"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
