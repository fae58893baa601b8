//! A record from JSON, with the field names of its schema: what a person writes, so each mistake is
//! named with its field. A value stands for itself, also where `null` is allowed beside it; a field
//! that is left out has its default.

use super::Sink;
use super::schema::schema;
use super::shape::{Names, SchemaNode};
use apache_avro::schema::{RecordSchema, ResolvedSchema, Schema};
use serde_json::{Map, Value};
use yardmaster_core::topic::Topic;

/// Most of a wrong value that a message shows; characters.
const SHOWN: usize = 60;

/// Why JSON is no record of a topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("field {field}: {found}; allowed: {allowed}")]
pub struct JsonFault {
    /// The field, as `options.excluded_sites[2]`; empty: the record itself.
    pub field: String,
    /// The value that was found.
    pub found: String,
    /// The values that are allowed.
    pub allowed: String,
}

/// A record in single-object encoding.
///
/// # Errors
/// The first field that is not known, is missing, or has a value of another type.
pub fn from_json(topic: Topic, json: &Value) -> Result<Vec<u8>, JsonFault> {
    let schema = schema(topic);
    let resolved = ResolvedSchema::try_from(schema).map_err(|error| JsonFault {
        field: String::new(),
        found: error.to_string(),
        allowed: "a schema that can be resolved".to_owned(),
    })?;
    let names = Names::of(&resolved);
    let mut out = Vec::new();
    let mut sink = Sink::begin(&mut out, topic);
    let mut writer = Writer { names: &names, at: Vec::new() };
    writer.put(SchemaNode::root(schema), json, &mut sink)?;
    Ok(out)
}

struct Writer<'a> {
    names: &'a Names<'a>,
    /// The way to the field that is written.
    at: Vec<String>,
}

impl<'a> Writer<'a> {
    fn put(
        &mut self,
        node: SchemaNode<'a>,
        json: &Value,
        sink: &mut Sink<'_>,
    ) -> Result<(), JsonFault> {
        let Some(node) = self.names.follow(node) else {
            return Err(self.fault(json, "a type of the schema"));
        };
        let wrong = || self.fault(json, called(node.schema));
        match node.schema {
            Schema::Null => json.as_null().ok_or_else(wrong),
            Schema::Boolean => {
                sink.boolean(json.as_bool().ok_or_else(wrong)?);
                Ok(())
            }
            Schema::Int => {
                let value = json.as_i64().and_then(|it| i32::try_from(it).ok());
                sink.int(value.ok_or_else(wrong)?);
                Ok(())
            }
            Schema::Long | Schema::TimestampMillis => {
                sink.long(json.as_i64().ok_or_else(wrong)?);
                Ok(())
            }
            Schema::Double => {
                sink.double(json.as_f64().ok_or_else(wrong)?);
                Ok(())
            }
            Schema::String => {
                sink.string(json.as_str().ok_or_else(wrong)?);
                Ok(())
            }
            Schema::Enum(it) => {
                let word = json.as_str();
                let at = it.symbols.iter().position(|symbol| Some(symbol.as_str()) == word);
                let allowed = || format!("one of {}", it.symbols.join(", "));
                sink.index(at.ok_or_else(|| self.fault(json, &allowed()))?);
                Ok(())
            }
            Schema::Fixed(it) => {
                let bytes = json.as_str().and_then(|text| fixed(text, it.size));
                let allowed = || format!("{} digits of hex", 2 * it.size);
                sink.raw(&bytes.ok_or_else(|| self.fault(json, &allowed()))?);
                Ok(())
            }
            Schema::Union(union) => {
                let (at, schema) = self.branch(union.variants(), json)?;
                sink.index(at);
                self.put(node.inner(schema), json, sink)
            }
            Schema::Array(array) => {
                let items = json.as_array().ok_or_else(wrong)?;
                self.items(node.inner(&array.items), items, sink)
            }
            Schema::Map(map) => {
                let entries = json.as_object().ok_or_else(wrong)?;
                self.entries(node.inner(&map.types), entries, sink)
            }
            Schema::Record(record) => self.record(node, record, json, sink),
            _ => Err(wrong()),
        }
    }

    /// The branch of a union that a value is of, with its place. A value that no branch takes is
    /// taken for the one that is there beside null, if there is only one: its fault says more.
    fn branch(
        &self,
        branches: &'a [Schema],
        json: &Value,
    ) -> Result<(usize, &'a Schema), JsonFault> {
        let is_null = |schema: &Schema| matches!(schema, Schema::Null);
        let all = branches.iter().enumerate();
        let fitting: Vec<_> = all.filter(|(_, it)| is_null(it) == json.is_null()).collect();
        match fitting[..] {
            [] => Err(self.fault(json, "a value, not null")),
            [only] => Ok(only),
            _ => fitting.iter().copied().find(|(_, it)| takes(it, json)).ok_or_else(|| {
                let names: Vec<&str> = fitting.iter().map(|(_, it)| called(it)).collect();
                self.fault(json, &names.join(", or "))
            }),
        }
    }

    fn items(
        &mut self,
        node: SchemaNode<'a>,
        items: &[Value],
        sink: &mut Sink<'_>,
    ) -> Result<(), JsonFault> {
        if !items.is_empty() {
            sink.index(items.len());
        }
        for (at, item) in items.iter().enumerate() {
            self.at.push(format!("[{at}]"));
            self.put(node, item, sink)?;
            self.at.pop();
        }
        sink.index(0);
        Ok(())
    }

    fn entries(
        &mut self,
        node: SchemaNode<'a>,
        entries: &Map<String, Value>,
        sink: &mut Sink<'_>,
    ) -> Result<(), JsonFault> {
        if !entries.is_empty() {
            sink.index(entries.len());
        }
        for (name, value) in entries {
            self.at.push(name.clone());
            sink.string(name);
            self.put(node, value, sink)?;
            self.at.pop();
        }
        sink.index(0);
        Ok(())
    }

    fn record(
        &mut self,
        node: SchemaNode<'a>,
        record: &'a RecordSchema,
        json: &Value,
        sink: &mut Sink<'_>,
    ) -> Result<(), JsonFault> {
        let given = json.as_object();
        let given = given.ok_or_else(|| self.fault(json, called(node.schema)))?;
        let names = || record.fields.iter().map(|field| field.name.as_str());
        if let Some((name, value)) = given.iter().find(|(name, _)| names().all(|it| it != *name)) {
            self.at.push(name.clone());
            let allowed = format!("a field of {}: {}", record.name.name(), names_of(names()));
            let mut fault = self.fault(value, &allowed);
            fault.found = "there is no such field".to_owned();
            return Err(fault);
        }
        for field in &record.fields {
            self.at.push(field.name.clone());
            match given.get(&field.name).or(field.default.as_ref()) {
                Some(value) => self.put(node.inner(&field.schema), value, sink)?,
                None => {
                    let doc = field.doc.clone().unwrap_or_default();
                    let mut fault = self.fault(&Value::Null, &doc);
                    fault.found = "it is missing, and has no default".to_owned();
                    return Err(fault);
                }
            }
            self.at.pop();
        }
        Ok(())
    }

    fn fault(&self, found: &Value, allowed: &str) -> JsonFault {
        let mut field = String::new();
        for part in &self.at {
            if !field.is_empty() && !part.starts_with('[') {
                field.push('.');
            }
            field.push_str(part);
        }
        let text = found.to_string();
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push_str("...");
        }
        JsonFault { field, found: format!("found {shown}"), allowed: allowed.to_owned() }
    }
}

/// Bytes of a fixed length: as hex, or as Avro's own JSON has them, a character for each.
fn fixed(text: &str, size: usize) -> Option<Vec<u8>> {
    let bytes = match text.len() == 2 * size {
        true => hex::decode(text).ok(),
        false => text.chars().map(|it| u8::try_from(u32::from(it)).ok()).collect(),
    };
    bytes.filter(|bytes| bytes.len() == size)
}

/// The JSON of a type, for a message.
fn called(schema: &Schema) -> &'static str {
    match schema {
        Schema::Null => "null",
        Schema::Boolean => "true or false",
        Schema::Int => "a whole number of 32 bits",
        Schema::Long => "a whole number",
        Schema::TimestampMillis => "a moment in ms since 1970",
        Schema::Double => "a number",
        Schema::String => "a text",
        Schema::Array(_) => "a list",
        Schema::Map(_) => "an object with values",
        Schema::Record(_) => "an object with fields",
        _ => "a type that JSON has",
    }
}

/// Whether a value has the JSON of a type, which tells apart the branches of a union.
fn takes(schema: &Schema, json: &Value) -> bool {
    match schema {
        Schema::Boolean => json.is_boolean(),
        Schema::Int | Schema::Long | Schema::TimestampMillis => json.is_i64(),
        Schema::Double => json.is_number(),
        Schema::String | Schema::Enum(_) | Schema::Fixed(_) => json.is_string(),
        Schema::Array(_) => json.is_array(),
        Schema::Map(_) | Schema::Record(_) => json.is_object(),
        _ => false,
    }
}

fn names_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avro::{Arena, Codec};
    use crate::json::record_json;
    use crate::record;
    use serde_json::json;
    use yardmaster_core::event::{DomainRecord, DomainValue, Event};

    fn smallest() -> Value {
        json!({
            "subject": "1/1", "task": "1", "domain": "atlas", "policy": "production-job",
            "asked_at": 5, "changed_at": 6,
        })
    }

    fn fault(field: &str, value: Value) -> JsonFault {
        let mut task = smallest();
        task[field] = value;
        from_json(Topic::Task, &task).unwrap_err()
    }

    #[test]
    fn every_example_of_a_task_is_read_and_written_again() {
        let examples = include_str!("../../../schemas/examples/task.json");
        let examples: Vec<Value> = serde_json::from_str(examples).unwrap();
        assert!(examples.len() > 3);
        for example in &examples {
            let bytes = from_json(Topic::Task, example).unwrap();
            let mut arena = Arena::default();
            let event = Codec::default().read(Topic::Task, None, Some(&bytes), &mut arena);
            let Event::Task(task) = event else { panic!("{example}: {event:?}") };
            assert_eq!(task.subject, example["subject"].as_str().unwrap());
            let mut again = Vec::new();
            record::write(&mut again, &task);
            assert_eq!(again, bytes, "{example}");
        }
    }

    #[test]
    fn a_mistake_is_named_with_its_field_its_value_and_what_is_allowed() {
        assert_eq!(
            fault("core_count", json!("eight")).to_string(),
            "field core_count: found \"eight\"; allowed: a whole number"
        );
        let unknown = fault("cores", json!(8)).to_string();
        assert!(unknown.starts_with("field cores: there is no such field"), "{unknown}");
        assert!(unknown.contains("core_count"), "{unknown}");
        let chunk = fault("chunk", json!("large")).to_string();
        assert!(chunk.ends_with("one of normal, scout, merge"), "{chunk}");
        let within = fault("options", json!({"excluded_sites": ["A", 7]}));
        assert_eq!(within.field, "options.excluded_sites[1]");
        assert_eq!(fault("priority", json!(1_u64 << 40)).allowed, "a whole number of 32 bits");
        let missing = from_json(Topic::Task, &json!({"subject": "1/1"})).unwrap_err();
        assert_eq!((missing.field.as_str(), missing.found.contains("missing")), ("task", true));
        assert!(from_json(Topic::Task, &json!([])).is_err());
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let full = from_json(Topic::Task, &smallest()).unwrap();
        let mut stated = smallest();
        stated["core_count"] = Value::Null;
        stated["chunk"] = json!("normal");
        assert_eq!(from_json(Topic::Task, &stated).unwrap(), full);
    }

    fn domain_record(values: Value) -> Value {
        json!({"kind": "partition", "name": "batch", "changed_at": 6, "values": values})
    }

    /// A map, and a union of more than a type beside null: each value finds its type, and comes
    /// back as it was.
    #[test]
    fn properties_of_a_domain_find_their_types() {
        let json = domain_record(json!({
            "accounts": ["a", "b"], "cpus": 8, "huge": 1_u64 << 63, "idle": [], "load": 8.0,
            "state": "UP", "up": true,
        }));
        let bytes = from_json(Topic::DomainRecord, &json).unwrap();
        let mut arena = Arena::default();
        let event = Codec::default().read(Topic::DomainRecord, None, Some(&bytes), &mut arena);
        let Event::Configuration(read) = event else { panic!("{event:?}") };
        let read = <&DomainRecord>::try_from(&*read).unwrap();
        assert_eq!((read.whole("cpus"), read.flag("up")), (Some(8), Some(true)));
        assert_eq!(read.values["load"], DomainValue::Number(8.0));
        assert_eq!(read.number("huge"), Some(9_223_372_036_854_775_808.0));
        assert_eq!((read.text("state"), read.list("accounts").len()), (Some("UP"), 2));
        assert_eq!(read.values["idle"], DomainValue::List(Vec::new()));
        let mut again = Vec::new();
        record::write(&mut again, read);
        assert_eq!(again, bytes);
        let mut expected = json.clone();
        expected["values"]["huge"] = json!(9_223_372_036_854_775_808.0);
        assert_eq!(record_json(read), expected);
    }

    #[test]
    fn a_property_of_no_type_is_named_with_the_types_there_are() {
        let fault = |values| from_json(Topic::DomainRecord, &domain_record(values)).unwrap_err();
        assert_eq!(
            fault(json!({"load": {"cpu": 1}})).to_string(),
            "field values.load: found {\"cpu\":1}; allowed: true or false, or a whole number, or a \
             number, or a text, or a list"
        );
        assert_eq!(fault(json!({"a": null})).allowed, "a value, not null");
        assert_eq!(fault(json!({"a": ["b", 7]})).field, "values.a[1]");
        assert_eq!(
            fault(json!([])).to_string(),
            "field values: found []; allowed: an object with values"
        );
    }
}
