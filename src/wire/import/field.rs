//! Reading one thing's fields: what is missing or wrong is named, and remembered.

use super::Imported;
use crate::loose;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// One thing (a queue, a link ...) being read.
pub(super) struct Fields<'a> {
    thing: String,
    map: &'a Map<String, Value>,
    imported: &'a mut Imported,
    bad: bool,
    /// Whether a word that must be there is not.
    lacks_word: bool,
}

impl<'a> Fields<'a> {
    /// A thing called so, the key of its record where that is known before it is read, its value,
    /// and where complaints go; `None` when it is not an object.
    pub(super) fn of(
        thing: String,
        key: Option<&str>,
        value: &'a Value,
        imported: &'a mut Imported,
    ) -> Option<Fields<'a>> {
        match value.as_object() {
            Some(map) => Some(Fields { thing, map, imported, bad: false, lacks_word: false }),
            None => {
                let found = show(value);
                let complaint = format!("{thing}: found {found}, wants an object; left out");
                imported.leave_out(key.map(str::to_owned), complaint);
                None
            }
        }
    }

    /// Whether a field was wrong, so that the thing must be left out. `key`: that of its record,
    /// known whatever the fields are.
    pub(super) fn is_left_out(&mut self, key: &str) -> bool {
        if self.bad {
            self.imported.note_left_out(Some(key.to_owned()));
        }
        self.bad
    }

    /// The same where the key is made of words that must be there.
    pub(super) fn is_left_out_by(&mut self, key: impl FnOnce() -> String) -> bool {
        if self.bad {
            let key = (!self.lacks_word).then(key);
            self.imported.note_left_out(key);
        }
        self.bad
    }

    /// The same of a thing that several records are made of.
    pub(super) fn is_left_out_unnamed(&mut self) -> bool {
        if self.bad {
            self.imported.note_left_out(None);
        }
        self.bad
    }

    /// Whether a field was wrong, of a thing that several texts are about.
    pub(super) fn has_wrong(&self) -> bool {
        self.bad
    }

    /// Names a wrong value; the thing is left out.
    pub(super) fn wrong(&mut self, field: &str, found: &Value, wants: &str) {
        self.bad = true;
        let (thing, found) = (&self.thing, show(found));
        self.imported
            .complaints
            .push(format!("{thing}: field `{field}`: found {found}, wants {wants}; left out"));
    }

    /// Names a missing field that has a value for "not set".
    fn missing(&mut self, field: &str) {
        let thing = &self.thing;
        let complaint = format!("{thing}: field `{field}` is missing; taken as not set");
        self.imported.complaints.push(complaint);
    }

    /// Names a value that means nothing, in a field that need not be set.
    pub(super) fn not_set(&mut self, field: &str, found: &Value, wants: &str) {
        self.taken(field, found, wants, "taken as not set");
    }

    /// Names a value that is not what it should be, and what it is taken for; the thing stays.
    pub(super) fn taken(&mut self, field: &str, found: &Value, wants: &str, taken: &str) {
        let (thing, found) = (&self.thing, show(found));
        let complaint = format!("{thing}: field `{field}`: found {found}, wants {wants}; {taken}");
        self.imported.complaints.push(complaint);
    }

    /// A field's value; nothing for null and its like, nothing and a complaint for a missing one.
    fn expected(&mut self, field: &str) -> Option<&'a Value> {
        let found = self.map.get(field);
        if found.is_none() {
            self.missing(field);
        }
        found.filter(|value| is_set(value))
    }

    /// Text that must be there.
    pub(super) fn needed(&mut self, field: &str) -> &'a str {
        match self.map.get(field) {
            Some(Value::String(text)) if !text.is_empty() => text,
            found => {
                let found = found.unwrap_or(&Value::Null);
                self.lacks_word = true;
                self.wrong(field, found, "a word");
                ""
            }
        }
    }

    /// A word, or what stands for one that is not set.
    pub(super) fn word_or<'d>(&mut self, field: &str, default: &'d str) -> &'d str
    where
        'a: 'd,
    {
        match self.text(field) {
            "" => default,
            word => word,
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

    /// A flag; what is not `true` is false, as PanDA has it.
    pub(super) fn flag(&mut self, field: &str) -> bool {
        match self.expected(field) {
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.not_set(field, other, "true or false");
                false
            }
            None => false,
        }
    }

    /// A whole number; 0 when not set, or when what is there is none.
    pub(super) fn whole(&mut self, field: &str, range: RangeInclusive<i64>) -> i64 {
        let Some(value) = self.expected(field) else { return 0 };
        let number = loose::whole_in(value).filter(|number| range.contains(number));
        if number.is_none() {
            self.not_set(field, value, &whole_wanted(&range));
        }
        number.unwrap_or(0)
    }

    /// A count of 32 bits; 0 when not set, or when what is there is none.
    pub(super) fn count(&mut self, field: &str) -> u32 {
        self.whole(field, 0..=i64::from(u32::MAX)) as u32
    }

    /// A number, 0 or more; 0 when not set, or when what is there is none.
    pub(super) fn number(&mut self, field: &str) -> f64 {
        let Some(value) = self.expected(field) else { return 0.0 };
        let number = loose::number_in(value).filter(|number| *number >= 0.0);
        if number.is_none() {
            self.not_set(field, value, NUMBER);
        }
        number.unwrap_or(0.0)
    }

    /// A number, 0 or more, without which the thing is another; 0 when not set.
    pub(super) fn weight(&mut self, field: &str) -> f64 {
        let Some(value) = self.expected(field) else { return 0.0 };
        let number = loose::number_in(value).filter(|number| *number >= 0.0);
        if number.is_none() {
            self.wrong(field, value, NUMBER);
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

    /// A word that need not be there; what is no text is wrong.
    pub(super) fn word_if_set(&mut self, field: &str) -> Option<&'a str> {
        self.deep(&[field])?;
        Some(self.text(field)).filter(|word| !word.is_empty())
    }

    /// A flag that need not be there; what is none is wrong.
    pub(super) fn flag_if_set(&mut self, field: &str) -> Option<bool> {
        let value = self.deep(&[field])?;
        if !value.is_boolean() {
            self.wrong(field, value, "true or false");
        }
        value.as_bool()
    }

    /// A number from 0 to the most that need not be there; what is none is wrong.
    pub(super) fn number_if_set(&mut self, field: &str, most: f64) -> Option<f64> {
        let value = self.deep(&[field]).filter(|value| is_set(value))?;
        let number = loose::number_in(value).filter(|number| (0.0..=most).contains(number));
        if number.is_none() {
            self.wrong(field, value, &format!("a number from 0 to {most}"));
        }
        number
    }

    /// A number that need not be there, nor be one.
    pub(super) fn figure(&mut self, field: &str) -> Option<f64> {
        let value = self.deep(&[field]).filter(|value| is_set(value))?;
        let number = loose::number_in(value);
        if number.is_none() {
            self.not_set(field, value, "a number");
        }
        number
    }

    /// A whole number some levels down, 0 or more, that need not be there, nor be one.
    pub(super) fn amount(&mut self, path: &[&str]) -> u64 {
        let value = self.deep(path).filter(|value| is_set(value));
        let number = value.and_then(loose::whole_in).and_then(|number| u64::try_from(number).ok());
        if let (Some(value), None) = (value, number) {
            self.not_set(&path.join("."), value, &whole_wanted(&(0..=i64::MAX)));
        }
        number.unwrap_or(0)
    }

    /// A whole number that need not be there; what is none is wrong.
    pub(super) fn whole_if_set(&mut self, field: &str, range: RangeInclusive<i64>) -> Option<i64> {
        self.whole_at(&[field], range)
    }

    /// The same some levels down.
    pub(super) fn whole_at(&mut self, path: &[&str], range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.deep(path).filter(|value| is_set(value))?;
        let number = loose::whole_in(value).filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(&path.join("."), value, &whole_wanted(&range));
        }
        number
    }

    /// A value as it is, null or not.
    pub(super) fn field(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field)
    }

    /// A value some levels down that need not be there.
    pub(super) fn deep(&self, path: &[&str]) -> Option<&'a Value> {
        let (first, rest) = path.split_first()?;
        let value = rest.iter().try_fold(self.map.get(*first)?, |value, key| value.get(key))?;
        (!value.is_null()).then_some(value)
    }
}

const NUMBER: &str = "a number, 0 or more";

fn whole_wanted(range: &RangeInclusive<i64>) -> String {
    format!("a whole number {}..={}", range.start(), range.end())
}

/// Whether a value is one: no null, nor text that stands for none.
fn is_set(value: &Value) -> bool {
    !value.is_null() && !value.as_str().is_some_and(loose::is_unset)
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
