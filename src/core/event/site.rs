//! `site`: a site, perhaps a nucleus.

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::domain::cms::event::slot_quota::SlotQuota;
use crate::domain::nordugrid::event::ClusterFacts;
use crate::record::record;
use crate::unit::Millis;

/// A site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    /// Name.
    pub name: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// Whether it is a nucleus: task output is aggregated there.
    pub nucleus: bool,
    /// Whether it is in service.
    pub active: bool,
    /// Tier level (0..4); 0 also when not known.
    pub tier: u32,
    /// Default output endpoint of a nucleus.
    pub output_endpoint: String,
    /// The figures that a NorduGrid cluster of this name publishes; `None`: it is none.
    pub cluster: Option<ClusterFacts>,
    /// The slots that it gives to a pool; `None`: none.
    pub slot_quota: Option<SlotQuota>,
}

record!(Site { name, changed_at, nucleus, active, tier, output_endpoint, cluster, slot_quota });

impl Configured for Site {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    /// Quotas of a pool are in the order of their revisions (spec cms-nordugrid C-24).
    fn revision(&self) -> i64 {
        self.slot_quota.as_ref().map_or(0, |quota| match quota.parts().count() {
            Ok(_) => quota.revision.max(0),
            Err(_) => -1,
        })
    }

    fn changed(&self, at: Millis) -> Site {
        Site { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: name, output_endpoint)
    }

    fn touches(&self) -> Touches {
        Touches::Settings
    }

    fn removed(_: &str) -> Touches {
        Touches::Settings
    }
}
