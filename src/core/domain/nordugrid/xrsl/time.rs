//! Times as xRSL writes them (B.9, Time values), read as ARC reads them.

use super::note::NoteCode;

/// A unit: its words, its length in seconds, and that of a figure behind it which states none; s.
type Unit = (&'static [&'static str], u64, u64);

/// Units, in seconds. Case does not count.
const UNITS: [Unit; 6] = [
    (&["s", "sec", "secs", "second", "seconds"], 1, 0),
    (&["m", "min", "mins", "minute", "minutes"], 60, 1),
    (&["month", "months"], 60, 1),
    (&["h", "hour", "hours"], 3_600, 60),
    (&["d", "day", "days"], DAY_S, 3_600),
    (&["w", "week", "weeks"], 7 * DAY_S, DAY_S),
];
const DAY_S: u64 = 86_400;

/// Reads a time in seconds: figures alone count in `unit_s` seconds, figures with units add up
/// (`2 hours 30 minutes`, `1h30m`), a last figure without a unit counts in the next smaller one
/// (`2h30`, `1 day 12`), ISO 8601 has years of 365 and months of 30 days, weeks, days, hours,
/// minutes and seconds (`P1DT2H`). `None`: it is none of these, or more seconds than can be
/// counted.
pub(super) fn seconds(text: &str, unit_s: u64, notes: &mut Vec<NoteCode>) -> Option<u64> {
    let text = text.trim_ascii();
    let seconds = match text.strip_prefix(['P', 'p']) {
        Some(iso) => iso_seconds(iso)?,
        None => sum_of_units(text, unit_s, notes)?,
    };
    if seconds == 0 {
        notes.push(NoteCode::ZeroTime);
    }
    Some(seconds)
}

/// Sums figures, the first at least, and what stands between them: blanks, commas, `and`.
fn sum_of_units(text: &str, unit_s: u64, notes: &mut Vec<NoteCode>) -> Option<u64> {
    let (mut sum, mut rest, mut bare_s) = (0u64, text, unit_s);
    loop {
        let (number, after) = figure(rest)?;
        let (word, after) = word(after.trim_ascii_start());
        let seconds = match word {
            "" if after.is_empty() && bare_s == 0 => {
                notes.push(NoteCode::Milliseconds);
                number / 1_000
            }
            "" if after.is_empty() => number.checked_mul(bare_s)?,
            _ => {
                let is_it =
                    |(words, _, _): &&Unit| words.iter().any(|it| it.eq_ignore_ascii_case(word));
                let (words, length_s, next_s) = UNITS.iter().find(is_it)?;
                if words.contains(&"month") {
                    notes.push(NoteCode::MonthIsMinute);
                }
                bare_s = *next_s;
                number.checked_mul(*length_s)?
            }
        };
        sum = sum.checked_add(seconds)?;
        rest = next_figure(after);
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

/// Passes over what may stand before the next figure.
fn next_figure(text: &str) -> &str {
    let text = text.trim_start_matches(|sign: char| sign.is_ascii_whitespace() || sign == ',');
    match word(text) {
        (and, after) if and.eq_ignore_ascii_case("and") => after.trim_ascii_start(),
        _ => text,
    }
}

/// Reads letters, and what follows them.
fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(text.len()))
}

/// Reads what stands after the `P`.
fn iso_seconds(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once(['T', 't']) {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None if text.is_empty() => return None,
        None => (text, ""),
    };
    let of_date = [('Y', 365 * DAY_S), ('M', 30 * DAY_S), ('W', 7 * DAY_S), ('D', DAY_S)];
    let date = designated(date, &of_date)?;
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
