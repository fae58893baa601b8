//! Pledges of federations in WLCG's CRIC, for the quarter.

use super::Imported;
use super::field::{show, words_of};
use crate::loose;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;

/// The experiment whose pledges count.
const VO: &str = "cms";

/// Pledge of a federation.
#[derive(Clone, Debug, Default)]
pub(super) struct Federation {
    /// Its sites of WLCG; `None`: they cannot be read.
    pub rcsites: Option<Vec<String>>,
    /// `None`: it cannot be read.
    pub hs06: Option<f64>,
}

/// Federations by name.
pub(super) type Federations = BTreeMap<String, Federation>;

/// A value that is not what its field wants.
type Wrong<'a> = (String, &'a Value, &'static str);

/// A federation's pledge of the quarter, if it has one for the experiment. What cannot be read of
/// it is named.
pub(super) fn federation(
    key: &str,
    thing: &Value,
    now: Millis,
    imported: &mut Imported,
) -> Option<(String, Federation)> {
    let name = thing.get("name").and_then(Value::as_str).unwrap_or(key).to_owned();
    let mut wrong = Vec::new();
    let mut taken = Federation::default();
    if thing.is_object() {
        match pledge(&thing["pledges"], now) {
            Ok(None) => return None,
            Ok(hs06) => taken.hs06 = hs06,
            Err(it) => wrong.push(it),
        }
        match names(thing, &["rcsites"]) {
            Ok(rcsites) => taken.rcsites = Some(rcsites),
            Err(it) => wrong.push(it),
        }
    } else {
        wrong.push((String::new(), thing, "an object"));
    }
    imported.unreadable += usize::from(!wrong.is_empty());
    for (field, found, wants) in wrong {
        let field = if field.is_empty() { field } else { format!("field `{field}`: ") };
        let found = show(found);
        let complaint = format!("federation {name}: {field}found {found}, wants {wants}; left out");
        imported.complaints.push(complaint);
    }
    Some((name, taken))
}

/// The pledge of the quarter.
fn pledge(pledges: &Value, now: Millis) -> Result<Option<f64>, Wrong<'_>> {
    let Some([year, quarter]) = quarter(now) else { return Ok(None) };
    let (mut found, mut path) = (pledges, "pledges".to_owned());
    for key in [&*year, &*quarter, VO, "CPU"] {
        found = match found {
            Value::Null => return Ok(None),
            Value::Object(map) => map.get(key).unwrap_or(&Value::Null),
            other => return Err((path, other, "an object")),
        };
        path = format!("{path}.{key}");
    }
    if found.is_null() {
        return Ok(None);
    }
    let hs06 = loose::number_in(found).filter(|hs06| *hs06 >= 0.0);
    hs06.map(Some).ok_or((path, found, "a number, 0 or more"))
}

/// Year and quarter of pledges: a year begins in April.
fn quarter(now: Millis) -> Option<[String; 2]> {
    // Of a text as 2025-10-09T08:53:20Z.
    let date = Timestamp::from_millisecond(now).ok()?.to_string();
    let number = |from: usize, until: usize| date.get(from..until)?.parse::<i64>().ok();
    let (year, month) = (number(0, 4)?, number(5, 7)?);
    let (year, month) = (year - i64::from(month < 4), (month + 8) % 12);
    Some([year.to_string(), format!("Q{}", month / 3 + 1)])
}

/// Names in the first of these fields that is there: a list, the keys of an object, or one.
pub(super) fn names<'a>(thing: &'a Value, fields: &[&str]) -> Result<Vec<String>, Wrong<'a>> {
    let mut stated = fields.iter().copied().map(|field| (field, &thing[field]));
    let Some((field, value)) = stated.find(|(_, value)| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let found = match value {
        Value::String(name) => Some(vec![name.clone()]),
        Value::Object(names) => Some(names.keys().cloned().collect()),
        list => words_of(list),
    };
    found.ok_or((field.to_owned(), value, "names"))
}
