//! Moments as people write them.

use crate::core::unit::Millis;

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

#[cfg(test)]
mod tests {
    use super::moment;

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
}
