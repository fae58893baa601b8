//! Texts with figures in them. `{name}` stands for a figure: what was measured, a parameter, a
//! limit. What stands in square brackets is left out where a figure in it is not known, so that
//! no text shows a number that may be another.

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
    use super::phrase;

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
}
