//! Random compatible writers' schemas, made from ours as JSON, and random values of any schema.

use super::dice::Dice;
use apache_avro::schema::{Name, NamesRef, NamespaceRef, Schema};
use apache_avro::types::Value;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A writer's schema and what has to be known to compare.
pub struct Pair {
    pub writer: String,
    pub reader: String,
    /// The writer's names of fields of the root record, with ours.
    pub renamed: Vec<(String, String)>,
}

/// A compatible writer's schema for one of ours. The reader's schema gains an alias for each field
/// that the writer calls by another name.
pub fn pair(ours: &str, dice: &mut Dice<'_>) -> Pair {
    let mut reader: Json = serde_json::from_str(ours).expect("our schema is JSON");
    let mut made = Made { definitions: BTreeMap::new(), fresh: 0 };
    let root = made.mutate(&reader, dice);
    let mut renamed = Vec::new();
    let name = root["$ref"].as_str().expect("a named root").to_owned();
    let fields = made.definitions.get_mut(&name).expect("the root")["fields"].as_array_mut();
    for field in fields.expect("fields") {
        let ours = field["name"].as_str().expect("a name").to_owned();
        if ours.starts_with("extra") || !dice.one_in(10) {
            continue;
        }
        let old = format!("old_{ours}");
        field["name"] = json!(old);
        let fields = reader["fields"].as_array_mut().expect("fields");
        let field = fields.iter_mut().find(|field| field["name"] == ours.as_str());
        field.expect("our field")["aliases"] = json!([old]);
        renamed.push((old, ours));
    }
    let writer = made.emit(&root, &mut HashSet::new());
    Pair { writer: writer.to_string(), reader: reader.to_string(), renamed }
}

struct Made {
    /// Named types as changed. Elsewhere they stand as `{"$ref": name}`, until it is known where
    /// each comes first.
    definitions: BTreeMap<String, Json>,
    fresh: u32,
}

impl Made {
    fn mutate(&mut self, ours: &Json, dice: &mut Dice<'_>) -> Json {
        match ours {
            Json::String(name) => match &name[..] {
                "long" if dice.one_in(6) => json!("int"),
                "double" => {
                    json!(dice.pick(&["double", "double", "double", "float", "long", "int"]))
                }
                "float" => json!(dice.pick(&["float", "long", "int"])),
                "string" if dice.one_in(6) => json!("bytes"),
                "null" | "boolean" | "int" | "long" | "string" | "bytes" => ours.clone(),
                named => json!({ "$ref": named }),
            },
            Json::Array(branches) if branches[0] == "null" => self.mutate_option(branches, dice),
            Json::Array(branches) => self.mutate_union(branches, dice),
            Json::Object(object) => match object["type"].as_str().expect("a type") {
                "array" => json!({"type": "array", "items": self.mutate(&object["items"], dice)}),
                "map" => json!({"type": "map", "values": self.mutate(&object["values"], dice)}),
                "record" => self.mutate_record(object, dice),
                "enum" => self.mutate_enum(object, dice),
                "fixed" => self.define(object.clone()),
                _ if dice.one_in(6) => json!(dice.pick(&["long", "int"])),
                _ => ours.clone(),
            },
            other => panic!("no schema: {other}"),
        }
    }

    /// A union of several types: one of them alone, or some of them in another order, perhaps with
    /// one that ours does not have.
    fn mutate_union(&mut self, branches: &[Json], dice: &mut Dice<'_>) -> Json {
        if dice.one_in(4) {
            let only = dice.roll(branches.len());
            return self.mutate(&branches[only], dice);
        }
        let mut branches = branches.to_vec();
        for index in 0..branches.len() {
            let other = dice.roll(branches.len());
            branches.swap(index, other);
        }
        branches.truncate(dice.roll(branches.len()) + 1);
        if dice.one_in(4) {
            branches.insert(dice.roll(branches.len() + 1), json!("null"));
        }
        Json::Array(branches)
    }

    /// `["null", T]`, as most of our unions are.
    fn mutate_option(&mut self, branches: &[Json], dice: &mut Dice<'_>) -> Json {
        let inner = self.mutate(&branches[1], dice);
        match dice.roll(8) {
            0 => inner,
            1 => json!([inner, "null"]),
            2 => json!("null"),
            // A branch that ours has no place for.
            // A map is none either, but the reference takes one for a record.
            3 if inner == "boolean" => json!(["null", inner, "string"]),
            3 if dice.flag() || inner.get("$ref").is_some() => json!(["null", inner, "boolean"]),
            3 => json!(["null", inner, {"type": "map", "values": self.fresh_type(dice, 1)}]),
            _ => json!(["null", inner]),
        }
    }

    fn mutate_record(&mut self, ours: &Map<String, Json>, dice: &mut Dice<'_>) -> Json {
        let mut fields = Vec::new();
        for field in ours["fields"].as_array().expect("fields") {
            if field.get("default").is_some() && dice.one_in(4) {
                // Names it would have defined may be asked for later: they are, where they are.
                self.mutate(&field["type"], dice);
                continue;
            }
            let mut kind = self.mutate(&field["type"], dice);
            if !kind.is_array() && dice.one_in(10) {
                kind = match dice.roll(3) {
                    0 => json!([kind]),
                    1 if kind != json!("null") => json!(["null", kind]),
                    _ => json!([kind]),
                };
            }
            fields.push(json!({"name": field["name"], "type": kind}));
        }
        while dice.one_in(3) {
            let name = format!("extra{}", self.next());
            let field = json!({"name": name, "type": self.fresh_type(dice, 3)});
            fields.insert(dice.roll(fields.len() + 1), field);
        }
        if dice.one_in(2) {
            for index in 0..fields.len() {
                let other = dice.roll(fields.len());
                fields.swap(index, other);
            }
        }
        let mut record = ours.clone();
        record.insert("fields".into(), Json::Array(fields));
        self.define(record)
    }

    /// Symbols in another order, some of them gone, perhaps with one that ours does not have.
    fn mutate_enum(&mut self, ours: &Map<String, Json>, dice: &mut Dice<'_>) -> Json {
        let mut symbols = ours["symbols"].as_array().expect("symbols").clone();
        if dice.one_in(2) {
            for index in 0..symbols.len() {
                let other = dice.roll(symbols.len());
                symbols.swap(index, other);
            }
            symbols.truncate(dice.roll(symbols.len()) + 1);
        }
        if dice.one_in(4) {
            symbols.insert(dice.roll(symbols.len() + 1), json!("unheard_of"));
        }
        let mut changed = ours.clone();
        changed.remove("default");
        changed.insert("symbols".into(), Json::Array(symbols));
        self.define(changed)
    }

    fn define(&mut self, definition: Map<String, Json>) -> Json {
        let name = definition["name"].as_str().expect("a name").to_owned();
        self.definitions.insert(name.clone(), Json::Object(definition));
        json!({ "$ref": name })
    }

    fn next(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    /// A type of any kind, of which we know nothing.
    fn fresh_type(&mut self, dice: &mut Dice<'_>, depth: usize) -> Json {
        let simple = ["float", "null", "boolean", "int", "long", "double", "string", "bytes"];
        if depth == 0 {
            return json!(dice.pick(&simple));
        }
        let name = format!("Extra{}", self.next());
        match dice.roll(10) {
            0 => json!({"type": "array", "items": self.fresh_type(dice, depth - 1)}),
            1 => json!({"type": "map", "values": self.fresh_type(dice, depth - 1)}),
            2 => self.define(fields(json!({"type": "fixed", "name": name, "size": dice.roll(20)}))),
            3 => {
                let symbols = json!({"type": "enum", "name": name, "symbols": ["a", "b", "c"]});
                self.define(fields(symbols))
            }
            4 => {
                let list = (0..dice.roll(4)).map(|index| {
                    json!({"name": format!("f{index}"), "type": self.fresh_type(dice, depth - 1)})
                });
                let list: Vec<Json> = list.collect();
                self.define(fields(json!({"type": "record", "name": name, "fields": list})))
            }
            5 => {
                let next = json!(["null", { "$ref": name }]);
                let list =
                    json!([{"name": "value", "type": "string"}, {"name": "next", "type": next}]);
                self.define(fields(json!({"type": "record", "name": name, "fields": list})))
            }
            6 => json!({"type": "long", "logicalType": "timestamp-micros"}),
            7 => json!({"type": "array", "items": "null"}),
            _ => json!(dice.pick(&simple)),
        }
    }

    /// The schema with every name defined where it comes first.
    fn emit(&self, json: &Json, seen: &mut HashSet<String>) -> Json {
        match json {
            Json::Object(object) => match object.get("$ref").and_then(Json::as_str) {
                Some(name) if seen.insert(name.to_owned()) => {
                    self.emit(&self.definitions[name], seen)
                }
                Some(name) => json!(name),
                None => {
                    let each = object.iter().map(|(key, it)| (key.clone(), self.emit(it, seen)));
                    Json::Object(each.collect())
                }
            },
            Json::Array(items) => items.iter().map(|item| self.emit(item, seen)).collect(),
            other => other.clone(),
        }
    }
}

fn fields(json: Json) -> Map<String, Json> {
    let Json::Object(object) = json else { panic!("an object") };
    object
}

/// A random value of any schema the mutations can make.
pub fn value(
    schema: &Schema,
    names: &NamesRef<'_>,
    space: NamespaceRef<'_>,
    dice: &mut Dice<'_>,
    depth: u32,
) -> Value {
    match schema {
        Schema::Null => Value::Null,
        Schema::Boolean => Value::Boolean(dice.flag()),
        Schema::Int => Value::Int(dice.int()),
        Schema::Long => Value::Long(dice.long()),
        Schema::TimestampMillis => Value::TimestampMillis(dice.long()),
        Schema::TimestampMicros => Value::TimestampMicros(dice.long()),
        Schema::Float => Value::Float(dice.int() as f32 / 8.0),
        Schema::Double => Value::Double(dice.float()),
        Schema::String => Value::String(dice.text()),
        Schema::Bytes => Value::Bytes(dice.text().into_bytes()),
        Schema::Fixed(fixed) => {
            Value::Fixed(fixed.size, (0..fixed.size).map(|_| dice.roll(256) as u8).collect())
        }
        Schema::Enum(it) => {
            let index = dice.roll(it.symbols.len());
            Value::Enum(index as u32, it.symbols[index].clone())
        }
        Schema::Array(it) => {
            Value::Array(dice.list(|dice| value(&it.items, names, space, dice, depth + 1)))
        }
        Schema::Map(it) => {
            let entry = |dice: &mut Dice<'_>| {
                (dice.text(), value(&it.types, names, space, dice, depth + 1))
            };
            Value::Map(dice.list(entry).into_iter().collect::<HashMap<_, _>>())
        }
        Schema::Union(it) => {
            // A list that holds itself ends at last: its first branch is null.
            let index = if depth > 8 { 0 } else { dice.roll(it.variants().len()) };
            let inner = value(&it.variants()[index], names, space, dice, depth + 1);
            Value::Union(index as u32, Box::new(inner))
        }
        Schema::Record(it) => {
            let space = it.name.namespace().or(space);
            let each = it.fields.iter().map(|field| {
                (field.name.clone(), value(&field.schema, names, space, dice, depth + 1))
            });
            Value::Record(each.collect())
        }
        Schema::Ref { name } => {
            let full = Name::new(name.fullname(space)).expect("a name");
            value(names[&full], names, space, dice, depth)
        }
        other => panic!("the mutations make no {other:?}"),
    }
}
