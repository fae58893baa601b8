//! Times as xRSL writes them (B.9, Time values).

/// Units by their words, in seconds. Case does not count.
const UNITS: [(&[&str], u64); 5] = [
    (&["s", "sec", "secs", "second", "seconds"], 1),
    (&["m", "min", "mins", "minute", "minutes"], 60),
    (&["h", "hour", "hours"], 3_600),
    (&["d", "day", "days"], 86_400),
    (&["w", "week", "weeks"], 604_800),
];

/// Reads a time in seconds: figures alone count in `unit_s` seconds, figures with units add up
/// (`2 hours 30 minutes`, `1h30m`), ISO 8601 has weeks, days, hours, minutes and seconds
/// (`P1DT2H`). `None`: it is none of these, or more seconds than can be counted.
pub(super) fn seconds(text: &str, unit_s: u64) -> Option<u64> {
    let text = text.trim_ascii();
    if let Some(iso) = text.strip_prefix(['P', 'p']) {
        return iso_seconds(iso);
    }
    let (figure, rest) = figure(text)?;
    if rest.is_empty() { figure.checked_mul(unit_s) } else { sum_of_units(text) }
}

fn sum_of_units(text: &str) -> Option<u64> {
    let (mut sum, mut rest) = (0u64, text);
    while !rest.is_empty() {
        let (number, after) = figure(rest)?;
        let after = after.trim_ascii_start();
        let end = after.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(after.len());
        let (word, after) = after.split_at(end);
        let is_it = |words: &[&str]| words.iter().any(|it| it.eq_ignore_ascii_case(word));
        let (_, unit_s) = UNITS.iter().find(|(words, _)| is_it(words))?;
        sum = sum.checked_add(number.checked_mul(*unit_s)?)?;
        rest = after.trim_ascii_start();
    }
    Some(sum)
}

/// Reads what stands after the `P`.
fn iso_seconds(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once(['T', 't']) {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None if text.is_empty() => return None,
        None => (text, ""),
    };
    let date = designated(date, &[('W', 604_800), ('D', 86_400)])?;
    date.checked_add(designated(time, &[('H', 3_600), ('M', 60), ('S', 1)])?)
}

/// Sums figures with designators, which stand in this order, each at most once.
fn designated(text: &str, designators: &[(char, u64)]) -> Option<u64> {
    let (mut sum, mut rest, mut allowed) = (0u64, text, designators.iter());
    while !rest.is_empty() {
        let (number, after) = figure(rest)?;
        let designator = after.chars().next()?;
        let (_, unit_s) = allowed.find(|(it, _)| it.eq_ignore_ascii_case(&designator))?;
        sum = sum.checked_add(number.checked_mul(*unit_s)?)?;
        rest = after.get(1..)?;
    }
    Some(sum)
}

/// Reads decimal digits, and what follows them.
fn figure(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    digits.parse().ok().map(|number| (number, rest))
}
