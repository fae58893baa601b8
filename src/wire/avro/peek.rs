//! A datum as text, field by field, as far as it goes: for people who look at bytes that no reader
//! could read.

use super::shape::{Base, Names, SchemaNode, base, measure};
use super::{Cursor, Fault, HEADER_BYTES, MARKER, canonical_form, rabin};
use super::{released, schema_text};
use apache_avro::Schema;
use apache_avro::schema::ResolvedSchema;
use std::sync::LazyLock;
use yardmaster_core::cut::Topic;

/// Lines shown of one datum, at most.
const LINES_MAX: usize = 400;
/// Characters shown of one text, at most.
const TEXT_MAX: usize = 80;
/// Deepest nesting that is shown.
const DEPTH_MAX: u32 = 64;

/// The readable part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peek {
    /// How the value is framed, and whose schema that names.
    pub framing: String,
    /// `field: value`, in the order of the bytes.
    pub lines: Vec<String>,
    /// Why it went no further; `None` when the datum was read to its end.
    pub stopped: Option<String>,
}

/// Reads a value as far as it goes, by whichever of our schemas it names.
pub fn peek(value: &[u8]) -> Peek {
    let alone = |framing: String| Peek { framing, lines: Vec::new(), stopped: None };
    let Some(mark) = value.strip_prefix(&MARKER).and_then(|rest| rest.first_chunk::<8>()) else {
        return alone(unframed(value));
    };
    let mark = u64::from_le_bytes(*mark);
    match KNOWN.iter().find(|known| known.marks.contains(&mark)) {
        None => alone(format!(
            "single-object, of a schema that is not known here (fingerprint {mark:016x})"
        )),
        Some(Known { topic, version, schema, .. }) => {
            let framing = format!("single-object, schema of {} ({version})", topic.name());
            let (lines, stopped) = walk(schema, &value[HEADER_BYTES..]);
            Peek { framing, lines, stopped }
        }
    }
}

/// Description of bytes without the marker of a single object.
fn unframed(value: &[u8]) -> String {
    match value {
        [] => "empty".to_owned(),
        [0, a, b, c, d, ..] => {
            let id = u32::from_be_bytes([*a, *b, *c, *d]);
            format!("not single-object; looks like Confluent framing, schema id {id}")
        }
        _ if serde_json::from_slice::<serde::de::IgnoredAny>(value).is_ok() => {
            "not single-object; it is JSON".to_owned()
        }
        _ if std::str::from_utf8(value).is_ok() => "not single-object; it is text".to_owned(),
        _ => "not single-object".to_owned(),
    }
}

/// A schema of ours, with the fingerprints it is known by.
struct Known {
    marks: [u64; 2],
    topic: Topic,
    version: String,
    schema: Schema,
}

/// Every schema of ours, current and released.
static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let mut known = Vec::new();
    for &topic in Topic::ALL {
        let current = std::iter::once(("current".to_owned(), schema_text(topic)));
        let old = released(topic).iter().enumerate();
        let old = old.map(|(at, text)| (format!("released {}", at + 1), *text));
        for (version, text) in current.chain(old) {
            let Ok(schema) = Schema::parse_str(text) else { continue };
            let forms = [canonical_form(&schema), schema.canonical_form()];
            let marks = forms.map(|form| rabin(form.as_bytes()));
            known.push(Known { marks, topic, version, schema });
        }
    }
    known
});

fn walk(schema: &Schema, datum: &[u8]) -> (Vec<String>, Option<String>) {
    let Ok(resolved) = ResolvedSchema::new(schema) else { return (Vec::new(), None) };
    let mut walker =
        Walker { at: Cursor::new(datum), names: Names::of(&resolved), out: Vec::new() };
    let walked = walker.value(SchemaNode::root(schema), "", 0);
    let (left, lines) = (walker.at.rest().len(), walker.out);
    let byte = datum.len() - left;
    let stopped = match walked {
        Err(End::Fault(path)) => Some(format!(
            "{path}: stops at byte {byte} of {}: the bytes end early, or hold what the schema does \
             not allow",
            datum.len()
        )),
        Err(End::Enough) => Some(format!("{left} more bytes are not shown")),
        Ok(()) if left > 0 => Some(format!("{left} bytes follow the record, where none may")),
        Ok(()) => None,
    };
    (lines, stopped)
}

/// Why a walk ended early.
enum End {
    /// The bytes are wrong, at this field.
    Fault(String),
    /// It is long.
    Enough,
}

struct Walker<'a, 's> {
    at: Cursor<'a>,
    names: Names<'s>,
    out: Vec<String>,
}

impl<'s> Walker<'_, 's> {
    fn value(&mut self, node: SchemaNode<'s>, path: &str, depth: u32) -> Result<(), End> {
        let bad = || End::Fault(if path.is_empty() { "record".into() } else { path.into() });
        let node = self.names.follow(node).ok_or_else(bad)?;
        if self.out.len() >= LINES_MAX || depth > DEPTH_MAX {
            return Err(End::Enough);
        }
        match node.schema {
            Schema::Record(record) => {
                for field in &record.fields {
                    let dot = if path.is_empty() { "" } else { "." };
                    let path = format!("{path}{dot}{}", field.name);
                    self.value(node.inner(&field.schema), &path, depth + 1)?;
                }
                Ok(())
            }
            Schema::Union(union) => {
                let branch = self.at.index().map_err(|_| bad())?;
                let branch = union.variants().get(branch).ok_or_else(bad)?;
                self.value(node.inner(branch), path, depth + 1)
            }
            Schema::Array(array) => self.items(node.inner(&array.items), false, path, depth),
            Schema::Map(map) => self.items(node.inner(&map.types), true, path, depth),
            other => {
                let shown = self.leaf(other).map_err(|_: Fault| bad())?;
                self.out.push(format!("{path}: {shown}"));
                Ok(())
            }
        }
    }

    /// The items of an array, or of a map, which have keys.
    fn items(
        &mut self,
        item: SchemaNode<'s>,
        keys: bool,
        path: &str,
        depth: u32,
    ) -> Result<(), End> {
        let bad = |_: Fault| End::Fault(path.into());
        let mut number = 0u64;
        loop {
            let count = self.at.block().map_err(bad)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                let key = if keys {
                    self.at.string().map_err(bad)?.to_owned()
                } else {
                    number.to_string()
                };
                self.value(item, &format!("{path}[{}]", short(&key)), depth + 1)?;
                number += 1;
                // Items of no bytes have no end of their own.
                if number > LINES_MAX as u64 {
                    return Err(End::Enough);
                }
            }
        }
        if number == 0 {
            self.out.push(format!("{path}: none"));
        }
        Ok(())
    }

    fn leaf(&mut self, schema: &Schema) -> Result<String, Fault> {
        let at = &mut self.at;
        let number = match base(schema) {
            Base::Null => return Ok("null".into()),
            Base::Boolean => return at.boolean().map(|it| it.to_string()),
            Base::Int => i64::from(at.int()?),
            Base::Long => at.long()?,
            Base::Float => return at.float().map(|it| it.to_string()),
            Base::Double => return at.double().map(|it| it.to_string()),
            Base::String => return at.string().map(|text| format!("\"{}\"", short(text))),
            Base::Bytes => return at.bytes().map(shown),
            Base::Fixed(size) => return at.take(size).map(shown),
            Base::Enum => {
                let Schema::Enum(words) = schema else { return Err(Fault::Malformed) };
                let index = at.index()?;
                return words.symbols.get(index).cloned().ok_or(Fault::Malformed);
            }
            Base::Array | Base::Map | Base::Union | Base::Record | Base::Ref => {
                return Err(Fault::Malformed);
            }
        };
        Ok(match measure(schema) {
            Some(unit) => format!("{number} ({unit})"),
            None => number.to_string(),
        })
    }
}

/// A text on one line, cut if it is long.
fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(TEXT_MAX).flat_map(char::escape_debug).collect();
    let left = text.chars().count().saturating_sub(TEXT_MAX);
    if left > 0 {
        shown.push_str(&format!("... ({left} more characters)"));
    }
    shown
}

fn shown(bytes: &[u8]) -> String {
    let shown = hex::encode(&bytes[..bytes.len().min(TEXT_MAX / 2)]);
    match bytes.len().saturating_sub(TEXT_MAX / 2) {
        0 => format!("0x{shown}"),
        left => format!("0x{shown}... ({left} more bytes)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::write;
    use yardmaster_core::event::Site;

    fn site() -> Vec<u8> {
        let mut bytes = Vec::new();
        let (name, output_endpoint) = ("NORTH".to_owned(), String::new());
        let (changed_at, nucleus, active, tier) = (7, true, true, 1);
        write(
            &mut bytes,
            &Site {
                name,
                changed_at,
                nucleus,
                active,
                tier,
                output_endpoint,
                cluster: None,
                slot_quota: None,
            },
        );
        bytes
    }

    #[test]
    fn a_whole_record_is_shown_to_its_end() {
        let peek = peek(&site());
        assert_eq!(peek.framing, "single-object, schema of site (current)");
        assert!(peek.lines.contains(&"name: \"NORTH\"".to_owned()), "{:?}", peek.lines);
        assert_eq!(peek.stopped, None);
    }

    #[test]
    fn a_broken_one_is_shown_up_to_the_break() {
        let bytes = site();
        let cut = peek(&bytes[..bytes.len() - 1]);
        assert!(cut.lines.contains(&"name: \"NORTH\"".to_owned()), "{:?}", cut.lines);
        assert!(cut.stopped.is_some_and(|why| why.contains("stops at byte")));
        let long = peek(&[&bytes[..], b"more"].concat());
        assert_eq!(long.stopped.as_deref(), Some("4 bytes follow the record, where none may"));
    }

    #[test]
    fn what_has_another_framing_is_stated_to() {
        let framing = |bytes: &[u8]| peek(bytes).framing;
        assert!(framing(b"{\"jobid\": 1}").contains("JSON"));
        assert!(framing(&[0, 0, 0, 1, 2, 9]).contains("schema id 258"));
        assert!(framing(b"hello").contains("text"));
        assert!(framing(&[0xC3, 1, 1, 0, 0, 0, 0, 0, 0, 0]).contains("0000000000000001"));
        assert_eq!(framing(b""), "empty");
    }
}
