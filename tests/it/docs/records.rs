//! `docs/records.md`: every field of every record, from `schemas/*.avsc`.
//! `UPDATE=1 cargo test --test it docs` writes it again.

use super::root;
use serde_json::{Map, Value};
use std::fmt::Write;
use yardmaster::core::cut::Topic;
use yardmaster::wire::avro::{ENVELOPE, schema_text};

const PAGE: &str = "docs/records.md";

const HEAD: &str = "\
# Records

Every field of every record, from the schemas in [schemas/](../schemas). This page is generated:
`UPDATE=1 cargo test --test it docs` writes it again, and a test fails while it differs. [topics.md](topics.md)
lists the topics with their keys and how long they are kept.

A field without a default must be in every record that is written. A field with one may be left out of a
writer's schema; it is then read as its default. Times are in milliseconds since 1970.
";

/// Text about one schema.
struct Section<'a> {
    /// The schema's name, with which anchors begin.
    name: &'a str,
    /// Records in it that are still to be shown.
    records: Vec<&'a Map<String, Value>>,
    /// Enums and fixed types of the table that is being written, each as an item of a list.
    listed: Vec<String>,
    /// Names of all enums and fixed types so far.
    named: Vec<&'a str>,
}

/// A text of a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;").replace('\n', " ")
}

fn text<'a>(of: &'a Map<String, Value>, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn fields(record: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let fields = record.get("fields").and_then(Value::as_array);
    fields.into_iter().flatten().filter_map(Value::as_object)
}

impl<'a> Section<'a> {
    /// A type as the table shows it; named types in it are noted.
    fn kind(&mut self, of: &'a Value) -> String {
        match of {
            Value::String(name) if name.starts_with(|c: char| c.is_uppercase()) => self.link(name),
            Value::String(name) => name.clone(),
            Value::Array(branches) => {
                let is_null = |branch: &&Value| branch.as_str() == Some("null");
                let others = branches.iter().filter(|branch| !is_null(branch));
                let others: Vec<String> = others.map(|branch| self.kind(branch)).collect();
                let null = if others.len() < branches.len() { " or null" } else { "" };
                others.join(" or ") + null
            }
            Value::Object(of) => self.structured(of),
            other => panic!("{other} is no type"),
        }
    }

    fn structured(&mut self, of: &'a Map<String, Value>) -> String {
        let name = text(of, "name");
        match text(of, "type") {
            "array" => format!("array of {}", self.kind(&of["items"])),
            "map" => format!("map to {}", self.kind(&of["values"])),
            "record" => {
                self.records.push(of);
                self.link(name)
            }
            "enum" => {
                let symbols = of["symbols"].as_array().into_iter().flatten();
                let symbols: Vec<String> =
                    symbols.filter_map(Value::as_str).map(|it| format!("`{it}`")).collect();
                let other = match of.get("default").and_then(Value::as_str) {
                    Some(default) => format!("Another word is read as `{default}`."),
                    None => "Another word makes the record unreadable.".to_owned(),
                };
                let (doc, symbols) = (text(of, "doc"), symbols.join(", "));
                self.named.push(name);
                self.listed.push(format!("* `{name}`: {symbols}. {} {other}", cell(doc)));
                self.link(name)
            }
            "fixed" => {
                let (size, doc) = (&of["size"], cell(text(of, "doc")));
                self.named.push(name);
                self.listed.push(format!("* `{name}`: {size} bytes. {doc}"));
                self.link(name)
            }
            base => match text(of, "logicalType") {
                "" => base.to_owned(),
                logical => format!("{base} ({logical})"),
            },
        }
    }

    /// A link to a record of this schema; enums and fixed types have no heading.
    fn link(&self, name: &str) -> String {
        if self.named.contains(&name) {
            return format!("`{name}`");
        }
        format!("[{name}](#{}-{})", self.name, name.to_lowercase())
    }

    /// The table of a record's fields, and the types that are named in it.
    fn table(&mut self, record: &'a Map<String, Value>) -> String {
        let mut table = "| field | type | default | meaning |\n|---|---|---|---|\n".to_owned();
        for field in fields(record) {
            let kind = self.kind(&field["type"]);
            let default = default(field);
            let (name, doc) = (text(field, "name"), cell(text(field, "doc")));
            let _ = writeln!(table, "| `{name}` | {kind} | {default} | {doc} |");
        }
        let listed = std::mem::take(&mut self.listed);
        if !listed.is_empty() {
            let _ = write!(table, "\n{}\n", listed.join("\n"));
        }
        table
    }
}

/// The default of a field; that of a record is not spelled out if it is that of each field.
fn default(field: &Map<String, Value>) -> String {
    let Some(default) = field.get("default") else { return String::new() };
    let record = field["type"].as_object().filter(|of| of.contains_key("fields"));
    let of_fields: Option<Map<String, Value>> = record.and_then(|of| {
        let all =
            fields(of).map(|it| Some((text(it, "name").to_owned(), it.get("default")?.clone())));
        all.collect()
    });
    match default {
        Value::Object(default) if of_fields.as_ref() == Some(default) => {
            "that of each field".to_owned()
        }
        default => format!("`{}`", cell(&default.to_string())),
    }
}

/// The section of one schema: its fields, then those of each record in it.
fn section(name: &str, schema: &str, about: &str) -> String {
    let schema: Value = serde_json::from_str(schema).expect("a schema");
    let top = schema.as_object().expect("a record");
    let doc = cell(text(top, "doc"));
    let mut section = Section { name, records: vec![], listed: vec![], named: vec![] };
    let mut page = format!("\n## {name}\n\n{doc}\n\n{about}\n\n{}", section.table(top));
    let mut at = 0;
    while let Some(record) = section.records.get(at).copied() {
        let (title, doc) = (text(record, "name"), cell(text(record, "doc")));
        let _ = write!(page, "\n### {name}: {title}\n\n{doc}\n\n{}", section.table(record));
        at += 1;
    }
    page
}

/// The page as the schemas have it.
fn page() -> String {
    let mut page = HEAD.to_owned();
    for topic in Topic::ALL {
        let name = topic.name();
        let (writer, reader) = (topic.writer(), topic.reader());
        let files =
            format!("[Schema](../schemas/{name}.avsc), [example](../schemas/examples/{name}.json)");
        let about = format!("Written by {writer}; read by {reader}. {files}.");
        page += &section(name, schema_text(*topic), &about);
    }
    let about = "Not on a topic: one of these stands for each record in a directory log and in an archive. \
                 [Schema](../schemas/envelope.avsc), [example](../schemas/examples/envelope.json).";
    page + &section("envelope", ENVELOPE, about)
}

#[test]
fn records_are_explained_as_the_schemas_have_them() {
    let page = page();
    let path = root().join(PAGE);
    if std::env::var("UPDATE").is_ok_and(|it| it == "1") {
        std::fs::write(&path, &page).expect("written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = (1..).zip(page.lines().zip(found.lines().chain(std::iter::repeat(""))));
    let first = lines.into_iter().find(|(_, (made, found))| made != found);
    assert!(
        found == page,
        "{PAGE} is not what schemas/*.avsc say, first at {first:?}; write it again with \
         UPDATE=1 cargo test --test it docs"
    );
}

#[test]
fn types_and_defaults_are_shown() {
    let schema = r#"{"type": "record", "name": "Top", "doc": "All.", "fields": [
        {"name": "a", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
         "doc": "When a|b.", "default": null},
        {"name": "b", "type": {"type": "array", "items": {"type": "record", "name": "Part",
         "doc": "One.", "fields": [{"name": "c", "type": "string", "doc": "Any *.", "default": ""}]}},
         "doc": "Parts."},
        {"name": "d", "type": "Part", "doc": "One more.", "default": {"c": "x"}},
        {"name": "e", "type": {"type": "enum", "name": "Kind", "doc": "Which.",
         "symbols": ["one", "two"]}, "doc": "Kind.", "default": "one"}]}"#;
    let expected = "
## top

All.

About.

| field | type | default | meaning |
|---|---|---|---|
| `a` | long (timestamp-millis) or null | `null` | When a\\|b. |
| `b` | array of [Part](#top-part) |  | Parts. |
| `d` | [Part](#top-part) | `{\"c\":\"x\"}` | One more. |
| `e` | `Kind` | `\"one\"` | Kind. |

* `Kind`: `one`, `two`. Which. Another word makes the record unreadable.

### top: Part

One.

| field | type | default | meaning |
|---|---|---|---|
| `c` | string | `\"\"` | Any \\*. |
";
    assert_eq!(section("top", schema, "About."), expected);
}
