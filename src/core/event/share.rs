//! `share`: a node of the tree of global shares.

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::record::record;
use crate::unit::Millis;

/// A node of the tree of global shares (spec atlas 10.1). An expression that is `None` matches all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Name.
    pub name: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// Parent node; empty below the root.
    pub parent: String,
    /// Its part relative to its siblings.
    pub value: f64,
    /// Place among its siblings, from 0.
    pub position: u32,
    /// Expression on the production source label.
    pub label: Option<String>,
    /// Expression on the working group.
    pub working_group: Option<String>,
    /// Expression on the campaign.
    pub campaign: Option<String>,
    /// Expression on the processing type.
    pub processing_type: Option<String>,
    /// Expression on the transformation's path.
    pub trans_path: Option<String>,
    /// Expression on the resource type.
    pub resource_type: Option<String>,
    /// VO.
    pub vo: String,
    /// Number of PanDA's work queue for it; 0 when it has none.
    pub queue_id: u64,
    /// Whether the job throttler applies to it (spec atlas 10.1, 10.5).
    pub throttled: bool,
}

record!(Share {
    name,
    changed_at,
    parent,
    value,
    position,
    label,
    working_group,
    campaign,
    processing_type,
    trans_path,
    resource_type,
    vo,
    queue_id,
    throttled,
});

impl Configured for Share {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Share {
        Share { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: name, parent, vo)
    }

    fn touches(&self) -> Touches {
        Touches::Settings
    }

    fn removed(_: &str) -> Touches {
        Touches::Settings
    }
}
