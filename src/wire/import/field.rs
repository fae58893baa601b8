//! Reading one thing's fields: what is missing or wrong is named, and remembered.

use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// One thing (a queue, a link ...) being read.
pub(super) struct Fields<'a> {
    thing: String,
    map: &'a Map<String, Value>,
    complaints: &'a mut Vec<String>,
    bad: bool,
}

impl<'a> Fields<'a> {
    /// A thing called so, its value, and where complaints go; `None` when it is not an object.
    pub(super) fn of(
        thing: String,
        value: &'a Value,
        complaints: &'a mut Vec<String>,
    ) -> Option<Fields<'a>> {
        match value.as_object() {
            Some(map) => Some(Fields { thing, map, complaints, bad: false }),
            None => {
                let found = show(value);
                complaints.push(format!("{thing}: found {found}, wants an object; left out"));
                None
            }
        }
    }

    /// Whether a field was wrong, so that the thing must be left out.
    pub(super) fn is_bad(&self) -> bool {
        self.bad
    }

    /// Names a wrong value; the thing is left out.
    pub(super) fn wrong(&mut self, field: &str, found: &Value, wants: &str) {
        self.bad = true;
        let (thing, found) = (&self.thing, show(found));
        self.complaints
            .push(format!("{thing}: field `{field}`: found {found}, wants {wants}; left out"));
    }

    /// Names a missing field that has a value for "not set".
    fn missing(&mut self, field: &str) {
        let thing = &self.thing;
        self.complaints.push(format!("{thing}: field `{field}` is missing; taken as not set"));
    }

    /// A field's value; nothing for null, nothing and a complaint for a missing one.
    fn expected(&mut self, field: &str) -> Option<&'a Value> {
        let found = self.map.get(field);
        if found.is_none() {
            self.missing(field);
        }
        found.filter(|value| !value.is_null())
    }

    /// Text that must be there.
    pub(super) fn needed(&mut self, field: &str) -> &'a str {
        match self.map.get(field) {
            Some(Value::String(text)) if !text.is_empty() => text,
            found => {
                let found = found.unwrap_or(&Value::Null);
                self.wrong(field, found, "a word");
                ""
            }
        }
    }

    /// Text; empty when not set.
    pub(super) fn text(&mut self, field: &str) -> &'a str {
        match self.expected(field) {
            Some(Value::String(text)) => text,
            Some(other) => {
                self.wrong(field, other, "text");
                ""
            }
            None => "",
        }
    }

    /// A flag; false when not set.
    pub(super) fn flag(&mut self, field: &str) -> bool {
        match self.expected(field) {
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.wrong(field, other, "true or false");
                false
            }
            None => false,
        }
    }

    /// A whole number; 0 when not set.
    pub(super) fn whole(&mut self, field: &str, range: RangeInclusive<i64>) -> i64 {
        let Some(value) = self.expected(field) else { return 0 };
        let number = value.as_i64().filter(|number| range.contains(number));
        if number.is_none() {
            let wants = format!("a whole number {}..={}", range.start(), range.end());
            self.wrong(field, value, &wants);
        }
        number.unwrap_or(0)
    }

    /// A count of 32 bits; 0 when not set.
    pub(super) fn count(&mut self, field: &str) -> u32 {
        self.whole(field, 0..=i64::from(u32::MAX)) as u32
    }

    /// A number that is not negative; 0 when not set.
    pub(super) fn number(&mut self, field: &str) -> f64 {
        let Some(value) = self.expected(field) else { return 0.0 };
        let number = value.as_f64().filter(|number| *number >= 0.0);
        if number.is_none() {
            self.wrong(field, value, "a number, 0 or more");
        }
        number.unwrap_or(0.0)
    }

    /// A list of words; empty when not set.
    pub(super) fn words(&mut self, field: &str) -> Vec<String> {
        let Some(value) = self.expected(field) else { return Vec::new() };
        words_of(value).unwrap_or_else(|| {
            self.wrong(field, value, "a list of words");
            Vec::new()
        })
    }

    /// A table of lists of words, of which the first that is there and not empty counts.
    pub(super) fn first_words(&mut self, field: &str, keys: &[&str]) -> Vec<String> {
        let Some(value) = self.expected(field) else { return Vec::new() };
        let Some(table) = value.as_object() else {
            self.wrong(field, value, "an object of lists");
            return Vec::new();
        };
        for key in keys {
            let Some(value) = table.get(*key) else { continue };
            match words_of(value) {
                Some(words) if words.is_empty() => {}
                Some(words) => return words,
                None => self.wrong(&format!("{field}.{key}"), value, "a list of words"),
            }
        }
        Vec::new()
    }

    /// A list of objects; nothing for one that is not set.
    pub(super) fn objects(&mut self, field: &str) -> Option<&'a [Value]> {
        let value = self.expected(field)?;
        let list = value.as_array().filter(|list| list.iter().all(Value::is_object));
        if list.is_none() {
            self.wrong(field, value, "a list of objects");
        }
        list.map(Vec::as_slice)
    }

    /// Text that need not be there.
    pub(super) fn text_if_set(&mut self, field: &str) -> Option<String> {
        self.deep(&[field])?;
        Some(self.text(field).to_owned())
    }

    /// A whole number that need not be there.
    pub(super) fn whole_if_set(&mut self, field: &str, range: RangeInclusive<i64>) -> Option<i64> {
        self.deep(&[field])?;
        Some(self.whole(field, range))
    }

    /// A value some levels down that need not be there.
    pub(super) fn deep(&self, path: &[&str]) -> Option<&'a Value> {
        let (first, rest) = path.split_first()?;
        let value = rest.iter().try_fold(self.map.get(*first)?, |value, key| value.get(key))?;
        (!value.is_null()).then_some(value)
    }
}

/// A list of words; `None` for anything else.
pub(super) fn words_of(value: &Value) -> Option<Vec<String>> {
    let words = value.as_array()?.iter().map(|word| word.as_str().map(str::to_string));
    words.collect()
}

/// A value for a message, shortened.
pub(super) fn show(value: &Value) -> String {
    const SHOWN: usize = 40;
    match value {
        Value::Null => "nothing".to_string(),
        Value::Array(_) => "a list".to_string(),
        Value::Object(_) => "an object".to_string(),
        Value::String(text) if text.chars().count() > SHOWN => {
            format!("{:?}...", text.chars().take(SHOWN).collect::<String>())
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) => value.to_string(),
    }
}
