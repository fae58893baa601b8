//! `storage`: space and status of a storage endpoint.

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::record::record;
use crate::unit::{Bytes, Millis};

/// Space and status of a storage endpoint. Absent space figures count as 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// Name of the endpoint.
    pub name: String,
    /// When it was measured.
    pub changed_at: Millis,
    /// Site it belongs to.
    pub site: String,
    /// Type (DATADISK, SCRATCHDISK ...).
    pub kind: String,
    /// Whether it is tape.
    pub tape: bool,
    /// Used and free space together.
    pub total_bytes: Bytes,
    /// Free space.
    pub free_bytes: Bytes,
    /// Space that expired secondary data occupies.
    pub expired_bytes: Bytes,
    /// Space that is to be left free.
    pub min_free_bytes: Bytes,
    /// Space that is there and cannot be used.
    pub unavailable_bytes: Bytes,
    /// Whether reading over the LAN is allowed.
    pub read_lan: bool,
    /// Whether writing over the LAN is allowed.
    pub write_lan: bool,
    /// Whether reading over the WAN is allowed.
    pub read_wan: bool,
    /// Whether writing over the WAN is allowed.
    pub write_wan: bool,
}

record!(Storage {
    name,
    changed_at,
    site,
    kind,
    tape,
    total_bytes,
    free_bytes,
    expired_bytes,
    min_free_bytes,
    unavailable_bytes,
    read_lan,
    write_lan,
    read_wan,
    write_wan,
});

impl Configured for Storage {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Storage {
        Storage { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: name, site, kind)
    }

    fn touches(&self) -> Touches {
        Touches::Storage
    }

    fn removed(_: &str) -> Touches {
        Touches::Storage
    }
}
