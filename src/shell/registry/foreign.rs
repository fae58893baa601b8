//! Records of other systems in Confluent framing, as JSON.

use super::client::{RegistryClient, RegistryError};
use super::fetch::Desk;
use super::questions::RegistryAnswer;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use yardmaster_wire::avro::{ForeignSchema, MAGIC, NUMBERED_BYTES, number_of};
use yardmaster_wire::topology::Topology;

/// Reads such records. What their numbers stand for is asked of the registry, in threads.
pub struct ForeignDesk {
    desk: Desk,
    /// By number: the schema, or why it is none.
    schemas: HashMap<u32, Result<ForeignSchema, String>>,
}

impl ForeignDesk {
    /// By the topology; `None` when no source of intake is in Confluent framing.
    pub fn of(topology: &Topology) -> Result<Option<ForeignDesk>, RegistryError> {
        let Some(registry) = &topology.registry else { return Ok(None) };
        if topology.intake.framed.is_empty() {
            return Ok(None);
        }
        let longest = Duration::from_millis(topology.limits.backoff_max_ms.max(0) as u64);
        let client = Arc::new(RegistryClient::new(registry)?);
        let desk = Desk::open(client, longest, topology.limits.missing_schemas_max)?;
        Ok(Some(ForeignDesk { desk, schemas: HashMap::new() }))
    }

    /// Why there is no answer of the registry yet, if asking does not go well.
    pub fn trouble(&self) -> Option<String> {
        self.desk.trouble()
    }

    /// Appends the JSON of a value or key. Whether it is known what its number stands for; if not,
    /// that is being asked, and nothing was appended.
    ///
    /// # Errors
    /// Why it cannot be read: no framing, no such schema, or bytes that are not as it says.
    pub fn json(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        let Some(id) = number_of(bytes) else {
            return Err(format!(
                "framing confluent: found {} bytes without a schema's number, wants a zero byte \
                 and the number; if the source is JSON, leave out its `framing`",
                bytes.len()
            ));
        };
        if !self.schemas.contains_key(&id) {
            match self.desk.find(id) {
                None => return Ok(false),
                Some(RegistryAnswer::Missing) => {
                    return Err(format!("framing confluent: the registry has no schema {id}"));
                }
                Some(RegistryAnswer::Known(text)) => {
                    self.schemas.insert(id, ForeignSchema::parse(&text));
                }
            }
        }
        let wrong = |why: &str| format!("framing confluent, schema {id}: {why}");
        let before = out.len();
        match self.schemas.get(&id) {
            None => Ok(false),
            Some(Err(why)) => Err(wrong(why)),
            Some(Ok(schema)) => {
                let datum = bytes.get(NUMBERED_BYTES..).unwrap_or_default();
                schema.write_json(datum, out).map(|()| true).map_err(|why| {
                    out.truncate(before);
                    wrong(&why)
                })
            }
        }
    }

    /// The same of a record's key, which may be in no framing: then it is as it is.
    pub fn json_of_key(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        if key.first() != Some(&MAGIC) {
            out.extend_from_slice(key);
            return Ok(true);
        }
        self.json(key, out)
    }
}
