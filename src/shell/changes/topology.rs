//! A topology that changed: limits, policies and rules, before and after.

use super::ChangeView;
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;
use yardmaster_core::unit::Millis;

/// The changes from one published topology to the next. What cannot be read is no change.
pub fn of_topology(at: Millis, before: &str, after: &str) -> Vec<ChangeView> {
    let (Ok(before), Ok(after)) = (before.parse(), after.parse()) else { return Vec::new() };
    let flat = |table: toml::Table| {
        let mut found = BTreeMap::new();
        flatten(&[], &Value::Table(table), &mut found);
        found
    };
    let (before, after) = (flat(before), flat(after));
    let places: BTreeSet<&Vec<String>> = before.keys().chain(after.keys()).collect();
    let differs = |place: &&&Vec<String>| before.get(**place) != after.get(**place);
    let change = |place: &&Vec<String>| {
        let (was, is) = (before.get(*place), after.get(*place));
        let (field, subject) = place
            .split_last()
            .map_or((String::new(), String::new()), |it| (it.0.clone(), it.1.join(".")));
        let kind = if subject == "limits" { "limit" } else { "policy" };
        let shown = |it: Option<&String>| it.map_or("not stated", String::as_str).to_owned();
        let text = format!("{subject}: {field} is {}; it was {}", shown(is), shown(was));
        ChangeView {
            at,
            kind: kind.into(),
            of: "topology".into(),
            subject,
            field,
            before: was.cloned(),
            after: is.cloned(),
            text,
        }
    };
    places.iter().filter(differs).map(change).collect()
}

/// Values by their places. Tables of a list have their names for places, where they have any.
fn flatten(place: &[String], value: &Value, to: &mut BTreeMap<Vec<String>, String>) {
    let below = |name: &str| [place, &[name.to_owned()]].concat();
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(name, value)| flatten(&below(name), value, to));
        }
        Value::Array(items) if items.iter().any(Value::is_table) => {
            for (number, item) in items.iter().enumerate() {
                let name = item.get("name").or_else(|| item.get("use")).and_then(Value::as_str);
                let name = name.map_or_else(|| number.to_string(), str::to_owned);
                flatten(&below(&name), item, to);
            }
        }
        Value::String(text) => _ = to.insert(place.to_vec(), text.clone()),
        other => _ = to.insert(place.to_vec(), other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_and_a_parameter_of_a_policy_are_named_with_both_values() {
        let before = "[limits]\na = 1\nb = 2\n[[policies]]\nname = \"p\"\nt1 = 3\n";
        let after = "[limits]\na = 1\nb = 5\n[[policies]]\nname = \"p\"\nt1 = 4\nt2 = [1, 2]\n";
        let found = of_topology(7, before, after);
        let texts: Vec<(&str, &str)> =
            found.iter().map(|it| (&it.kind[..], &it.text[..])).collect();
        let expected = [
            ("limit", "limits: b is 5; it was 2"),
            ("policy", "policies.p: t1 is 4; it was 3"),
            ("policy", "policies.p: t2 is [1, 2]; it was not stated"),
        ];
        assert_eq!(texts, expected);
        assert_eq!(of_topology(7, before, before), []);
        assert_eq!(of_topology(7, "", "no topology"), []);
    }
}
