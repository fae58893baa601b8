//! Names of the figures of a record that cannot be: below 0, too large for their type, not finite.

use crate::avro::{Cursor, Fault};
use apache_avro::Schema;

/// Most figures that are named of one record.
const NAMED_MAX: usize = 5;
/// Fields whose figures are read as they are stated.
const WORKFLOW: &str = "workflow";
const ATTEMPT: &str = "attempt";

/// The figures of a datum that cannot be, with the path of their fields, and how they are read.
/// Only for a record in which there is one: it is read a second time. Counts are not distinguished
/// from amounts here, so a figure beyond 32 bits is named only if no other is.
pub(crate) fn impossible(schema: &Schema, mut at: Cursor<'_>) -> Vec<String> {
    let mut found = Found::default();
    // A datum was read before, so it does not end early.
    let _ = walk(schema, &mut at, "", &mut found);
    let mut named = if found.impossible.is_empty() { found.large } else { found.impossible };
    named.truncate(NAMED_MAX);
    named
}

#[derive(Default)]
struct Found {
    impossible: Vec<String>,
    /// Beyond 32 bits.
    large: Vec<String>,
}

impl Found {
    fn note(&mut self, path: &str, stated: impl ToString, used: &str) {
        if self.impossible.len() < NAMED_MAX {
            self.impossible.push(format!("{path} {}, {used}", stated.to_string()));
        }
    }
}

fn walk(schema: &Schema, at: &mut Cursor<'_>, path: &str, found: &mut Found) -> Result<(), Fault> {
    match schema {
        Schema::Record(record) => {
            let mut as_stated = Found::default();
            for field in &record.fields {
                let found = if field.name == WORKFLOW { &mut as_stated } else { &mut *found };
                let path = match path {
                    "" => field.name.clone(),
                    _ => format!("{path}.{}", field.name),
                };
                walk(&field.schema, at, &path, found)?;
            }
        }
        Schema::Array(array) => loop {
            let count = at.block()?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                walk(&array.items, at, path, found)?;
            }
        },
        Schema::Union(union) => {
            let branch = union.variants().get(at.index()?).ok_or(Fault::Malformed)?;
            walk(branch, at, path, found)?;
        }
        Schema::Long => {
            let stated = at.long()?;
            if stated < 0 {
                found.note(path, stated, "read as 0");
            } else if path != ATTEMPT
                && stated > i64::from(u32::MAX)
                && found.large.len() < NAMED_MAX
            {
                found.large.push(format!("{path} {stated}, read as {}", u32::MAX));
            }
        }
        Schema::Double => {
            let stated = at.double()?;
            if !stated.is_finite() || stated < 0.0 {
                found.note(path, stated, "left out");
            }
        }
        Schema::TimestampMillis => drop(at.long()?),
        Schema::Int => drop(at.int()?),
        Schema::Boolean => drop(at.boolean()?),
        Schema::String | Schema::Bytes => drop(at.bytes()?),
        Schema::Enum(_) => drop(at.index()?),
        Schema::Null => {}
        // Records with requests have none of these.
        _ => return Err(Fault::WrongSchema),
    }
    Ok(())
}
