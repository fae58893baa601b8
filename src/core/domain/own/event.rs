//! `domain-record`: what a domain of a program's own knows of its things.

use crate::event::configured::{Configured, Touches};
use crate::event::field_name::{FieldName, longest};
use crate::record::{Decode, Decoder, Encode, Encoder, record};
use crate::unit::Millis;
use std::collections::BTreeMap;

/// A property of a thing. The places of the variants are persisted.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainValue {
    /// A yes or no.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number that may have a fraction; one that is not finite is read as 0.
    Number(f64),
    /// A text.
    Text(String),
    /// Texts in turn.
    List(Vec<String>),
}

/// A thing of a domain that a program built on the library brings: a partition or a pending job of
/// Slurm, say. Only that domain reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DomainRecord {
    /// Kind of the thing, as the domain names it, without a `|`.
    pub kind: String,
    /// Its name within the kind.
    pub name: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// Its properties by their names.
    pub values: BTreeMap<String, DomainValue>,
}

record!(DomainRecord { kind, name, changed_at, values });

/// A union: its branch, as a symbol, and then the value.
impl Encode for DomainValue {
    fn encode<E: Encoder>(&self, to: &mut E) {
        match self {
            DomainValue::Flag(flag) => branch(to, 0, flag),
            DomainValue::Whole(number) => branch(to, 1, number),
            DomainValue::Number(number) => branch(to, 2, number),
            DomainValue::Text(text) => branch(to, 3, text),
            DomainValue::List(texts) => branch(to, 4, texts),
        }
    }
}

fn branch<E: Encoder>(to: &mut E, place: usize, value: &impl Encode) {
    to.symbol(place);
    value.encode(to);
}

impl<'a> Decode<'a> for DomainValue {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<DomainValue, D::Fault> {
        match from.symbol(5)? {
            0 => Decode::decode(from).map(DomainValue::Flag),
            1 => Decode::decode(from).map(DomainValue::Whole),
            2 => Decode::decode(from).map(DomainValue::Number),
            3 => Decode::decode(from).map(DomainValue::Text),
            _ => Decode::decode(from).map(DomainValue::List),
        }
    }
}

/// The name of a domain's record: its key.
pub fn domain_record_name(kind: &str, name: &str) -> String {
    format!("{kind}|{name}")
}

impl DomainRecord {
    /// A property that is a whole number, however it was written; `None`: it has no such one.
    pub fn whole(&self, name: &str) -> Option<i64> {
        match self.values.get(name)? {
            DomainValue::Whole(number) => Some(*number),
            DomainValue::Number(number) => whole(*number),
            DomainValue::Flag(_) | DomainValue::Text(_) | DomainValue::List(_) => None,
        }
    }

    /// A property that is a number, whole or not; `None`: it has no such one.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.values.get(name)? {
            DomainValue::Whole(number) => Some(*number as f64),
            DomainValue::Number(number) => Some(*number),
            DomainValue::Flag(_) | DomainValue::Text(_) | DomainValue::List(_) => None,
        }
    }

    /// A property that is a text; `None`: it has no such one.
    pub fn text(&self, name: &str) -> Option<&str> {
        let DomainValue::Text(text) = self.values.get(name)? else { return None };
        Some(text)
    }

    /// A property that is a yes or no; `None`: it has no such one.
    pub fn flag(&self, name: &str) -> Option<bool> {
        let DomainValue::Flag(flag) = self.values.get(name)? else { return None };
        Some(*flag)
    }

    /// A property that is a list; empty: it has no such one, or one without items.
    pub fn list(&self, name: &str) -> &[String] {
        let Some(DomainValue::List(texts)) = self.values.get(name) else { return &[] };
        texts
    }
}

/// A number without a fraction, if it is one of 64 bits.
fn whole(number: f64) -> Option<i64> {
    // The bounds of 64 bits: the lower one is a number of its own, the upper one is rounded up.
    let is_within = number >= i64::MIN as f64 && number < i64::MAX as f64;
    (is_within && number == number.trunc()).then_some(number as i64)
}

impl Configured for DomainRecord {
    const IS_KEY_A_FIELD: bool = false;

    fn name(&self) -> String {
        domain_record_name(&self.kind, &self.name)
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> DomainRecord {
        DomainRecord { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        let values = self.values.keys().map(String::as_str);
        longest!(self: kind, name).or_in("values", values)
    }

    fn touches(&self) -> Touches {
        Touches::Nothing
    }

    fn removed(_: &str) -> Touches {
        Touches::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::content_of;

    fn record(values: Vec<(&str, DomainValue)>) -> DomainRecord {
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (kind, name) = ("partition".to_owned(), "batch".to_owned());
        DomainRecord { kind, name, changed_at: 7, values }
    }

    #[test]
    fn a_property_is_read_by_its_type() {
        let texts = vec!["a".to_owned(), "b".to_owned()];
        let record = record(vec![
            ("up", DomainValue::Flag(true)),
            ("cpus", DomainValue::Whole(8)),
            ("load", DomainValue::Number(2.5)),
            ("state", DomainValue::Text("UP".to_owned())),
            ("accounts", DomainValue::List(texts.clone())),
        ]);
        assert_eq!(
            (record.flag("up"), record.flag("cpus"), record.flag("x")),
            (Some(true), None, None)
        );
        assert_eq!(
            (record.whole("cpus"), record.whole("load"), record.whole("x")),
            (Some(8), None, None)
        );
        assert_eq!((record.number("cpus"), record.number("load")), (Some(8.0), Some(2.5)));
        assert_eq!((record.number("up"), record.number("state")), (None, None));
        assert_eq!((record.text("state"), record.text("accounts")), (Some("UP"), None));
        assert_eq!(record.list("accounts"), texts);
        assert!(record.list("state").is_empty() && record.list("x").is_empty());
    }

    #[test]
    fn a_number_without_a_fraction_is_a_whole_one() {
        let whole = |number| record(vec![("n", DomainValue::Number(number))]).whole("n");
        for (number, expected) in [
            (8.0, Some(8)),
            (-0.0, Some(0)),
            (0.5, None),
            (-9_223_372_036_854_775_808.0, Some(i64::MIN)),
            (9_223_372_036_854_775_808.0, None),
            (1e300, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
            (f64::NEG_INFINITY, None),
        ] {
            assert_eq!(whole(number), expected, "{number}");
        }
    }

    #[test]
    fn the_key_is_kind_and_name_and_the_longest_name_may_be_that_of_a_property() {
        let mut it = record(vec![]);
        assert_eq!(it.name(), "partition|batch");
        assert_eq!(it.longest_name().text.len(), 9);
        it.values.insert("a long name".to_owned(), DomainValue::Text("longer than any".to_owned()));
        assert_eq!(it.longest_name().text.len(), 11);
        it.name = "the name of it".to_owned();
        assert_eq!(it.longest_name().text.len(), 14);
    }

    #[test]
    fn records_are_ordered_by_the_type_of_a_property_and_then_by_its_value() {
        let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
        let values = [
            DomainValue::Flag(false),
            DomainValue::Flag(true),
            DomainValue::Whole(-1),
            DomainValue::Whole(2),
            DomainValue::Number(-0.5),
            DomainValue::Number(0.5),
            DomainValue::Text(String::new()),
            DomainValue::Text("a".to_owned()),
            DomainValue::List(texts(&[])),
            DomainValue::List(texts(&["a"])),
            DomainValue::List(texts(&["a", ""])),
        ];
        let contents = values.map(|it| content_of(&record(vec![("a", it)])));
        assert!(contents.windows(2).all(|two| two[0] < two[1]), "{contents:?}");
        let none = content_of(&record(vec![]));
        let two = [("a", DomainValue::Flag(false)), ("b", DomainValue::Flag(false))];
        let two = content_of(&record(two.to_vec()));
        assert!(none < contents[0] && contents[0] < two && two < contents[1]);
    }
}
