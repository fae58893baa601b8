//! Texts with figures in them. `{name}` stands for a figure: what was measured, a parameter, a
//! limit. What stands in square brackets is left out where a figure in it is not known, so that
//! no text shows a number that may be another.
//!
//! The figures of an objection may state their form: `{measured:s}` is a span of so many seconds,
//! `{limit:milli}` a number of thousandths, `{limit:bytes}` an amount of data, `{measured:mb}` one
//! of megabytes, of which 0 is none.

use super::param::Param;
use super::values::Values;
use crate::limits::Limits;

/// A text with its figures in place; `figure` gives one by its name, if it is known.
pub fn phrase(text: &str, figure: &dyn Fn(&str) -> Option<String>) -> String {
    let mut done = String::new();
    let mut left = text;
    while let Some((plain, rest)) = left.split_once('[') {
        let (part, behind) = rest.split_once(']').unwrap_or((rest, ""));
        done += &fill(plain, figure).0;
        let (part, is_known) = fill(part, figure);
        done += if is_known { &part } else { "" };
        left = behind;
    }
    done + &fill(left, figure).0
}

/// A text with its figures in place, and whether all are known.
fn fill(text: &str, figure: &dyn Fn(&str) -> Option<String>) -> (String, bool) {
    let (mut done, mut is_known, mut left) = (String::new(), true, text);
    while let Some((plain, rest)) = left.split_once('{') {
        let (name, behind) = rest.split_once('}').unwrap_or((rest, ""));
        let found = figure(name);
        is_known &= found.is_some();
        done += plain;
        done += found.as_deref().unwrap_or("?");
        left = behind;
    }
    (done + left, is_known)
}

/// A figure of an objection in its form; `None`: this names no figure of an objection.
pub fn objection_figure(name: &str, measured: f64, limit: f64) -> Option<String> {
    let (name, form) = name.split_once(':').unwrap_or((name, ""));
    let value = match name {
        "measured" => measured,
        "limit" => limit,
        _ => return None,
    };
    Some(match form {
        "s" => span(value as i64),
        "milli" => number(value / 1000.0),
        "bytes" => bytes(value),
        "mb" if value == 0.0 => "no figure".to_owned(),
        "mb" => format!("{} MB", number(value)),
        _ => short(value),
    })
}

/// Units in which figures of sentences are given, the longer of two that begin alike first.
const UNITS: [&str; 16] = [
    "HS06 s",
    "kB/s",
    "jobs",
    "files",
    "cores",
    "CPUs",
    "events",
    "outputs",
    "nodes",
    "sites",
    "overflow slots",
    "HighIO jobs",
    "min",
    "GB",
    "MB",
    "%",
];

/// The unit of the figures that a sentence quotes; empty: they have none, or it quotes none.
pub fn unit_of(sentence: &str) -> &'static str {
    let of = |figure: &str| {
        let (_, rest) = sentence.split_once(figure)?;
        let (form, after) = rest.split_once('}')?;
        let after = after.strip_prefix(' ').unwrap_or("");
        let is_it = |unit: &&&str| {
            let rest = after.strip_prefix(**unit);
            rest.is_some_and(|rest| !rest.starts_with(|it: char| it.is_alphanumeric()))
        };
        match form {
            ":s" => Some("s"),
            ":milli" => Some("cores by power"),
            ":bytes" => Some("bytes"),
            ":mb" => Some("MB"),
            _ => UNITS.iter().find(is_it).copied(),
        }
    };
    of("{measured").or_else(|| of("{limit")).unwrap_or("")
}

/// A number without digits nobody reads.
pub fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value}");
    }
    match value.abs() {
        size if !(1e-4..1e15).contains(&size) => format!("{value:e}"),
        _ => {
            let text = format!("{value:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
    }
}

/// A number with three decimals at most, if it is no smaller than 1.
pub fn short(value: f64) -> String {
    number(if value.abs() < 1.0 { value } else { (value * 1e3).round() / 1e3 })
}

/// A span of time in words, of two units at most: `6 h 29 min`.
pub fn span(seconds: i64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let (sign, size) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
    let Some(at) = UNITS.iter().position(|(unit, _)| size >= *unit) else {
        return "0 s".to_owned();
    };
    let (unit, name) = UNITS[at];
    let first = format!("{sign}{} {name}", size / unit);
    match UNITS.get(at + 1).map(|(next, name)| (size % unit / next, name)) {
        None | Some((0, _)) => first,
        Some((rest, name)) => format!("{first} {rest} {name}"),
    }
}

/// An amount of data in decimal units.
pub fn bytes(amount: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match UNITS.iter().find(|(unit, _)| amount.abs() >= *unit) {
        Some((unit, name)) => format!("{} {name}", number((amount / unit * 10.0).round() / 10.0)),
        None => format!("{} bytes", number(amount)),
    }
}

/// A limit by its key, in the unit of the key.
pub fn limit(limits: &Limits, key: &str) -> Option<String> {
    let found = Limits::ALL.iter().find(|limit| limit.key == key)?;
    Some((found.get)(limits).to_string())
}

/// A parameter by its name.
pub fn parameter(params: &[Param], values: &Values, name: &str) -> Option<String> {
    let (param, value) = params.iter().zip(&values.0).find(|(param, _)| param.name == name)?;
    Some(param.show(*value))
}

#[cfg(test)]
mod tests {
    use super::{bytes, objection_figure, phrase, span, unit_of};

    #[test]
    fn what_is_not_known_is_left_out_with_its_brackets() {
        let text = "no pilot[ in the last {hours} h], {measured} seen";
        let known = |name: &str| match name {
            "hours" => Some("5".to_owned()),
            _ => Some("0".to_owned()),
        };
        assert_eq!(phrase(text, &known), "no pilot in the last 5 h, 0 seen");
        let some = |name: &str| (name == "measured").then(|| "0".to_owned());
        assert_eq!(phrase(text, &some), "no pilot, 0 seen");
        assert_eq!(phrase("plain", &some), "plain");
        assert_eq!(phrase("[{a}", &some), "");
        assert_eq!(phrase("{a", &some), "?");
    }

    #[test]
    fn spans_and_amounts_are_in_words() {
        let spans = [0, 59, 60, 61, 7_200, 23_340, 86_400, 118_800, -90].map(span);
        let words = [
            "0 s",
            "59 s",
            "1 min",
            "1 min 1 s",
            "2 h",
            "6 h 29 min",
            "1 d",
            "1 d 9 h",
            "-1 min 30 s",
        ];
        assert_eq!(spans, words);
        assert_eq!(span(i64::MIN).split(' ').count(), 4);
        assert_eq!(
            [7.0, 1_500.0, 2e9, 1.26e13].map(bytes),
            ["7 bytes", "1.5 kB", "2 GB", "12.6 TB"]
        );
    }

    #[test]
    fn figures_of_an_objection_have_their_form_and_their_unit() {
        let shown = |name: &str| objection_figure(name, 5_400.0, 0.0);
        assert_eq!(shown("measured").as_deref(), Some("5400"));
        assert_eq!(shown("measured:s").as_deref(), Some("1 h 30 min"));
        assert_eq!(shown("measured:milli").as_deref(), Some("5.4"));
        assert_eq!(shown("limit:mb").as_deref(), Some("no figure"));
        assert_eq!(shown("window"), None);
        let units = [
            "{measured} jobs are queued; limit {limit}",
            "it lasts {measured:s}, the job takes {limit:s}",
            "the network weight is {measured}; limit {limit}",
            "the job wants {limit} CPUs, it may have {measured}",
            "{measured} jobsworths",
            "the queue is offline",
        ];
        assert_eq!(units.map(unit_of), ["jobs", "s", "", "CPUs", "", ""]);
    }
}
