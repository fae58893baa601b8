//! Pseudo-queues: a unified queue is one queue per resource type (spec atlas 0.3, 13.4).

use super::field::Fields;
use super::{Imported, lower, rows};
use serde_json::Value;
use std::borrow::Cow;
use yardmaster_core::event::Queue;

/// A class of jobs by cores and memory, as the workload system defines them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceType<'a> {
    /// Name.
    pub name: Cow<'a, str>,
    /// Least cores.
    pub min_cores: u32,
    /// Most cores; `None`: no bound.
    pub max_cores: Option<u32>,
    /// Least memory; MB per core; `None`: no bound.
    pub min_ram_mb_per_core: Option<u32>,
    /// Most memory; MB per core. `None`: no bound.
    pub max_ram_mb_per_core: Option<u32>,
}

/// The resource types where none are stated (spec atlas 13.4).
pub const RESOURCE_TYPES: [ResourceType<'static>; 4] = [
    ResourceType {
        name: Cow::Borrowed("SCORE"),
        min_cores: 1,
        max_cores: Some(1),
        min_ram_mb_per_core: Some(0),
        max_ram_mb_per_core: Some(2_000),
    },
    ResourceType {
        name: Cow::Borrowed("SCORE_HIMEM"),
        min_cores: 1,
        max_cores: Some(1),
        min_ram_mb_per_core: Some(2_001),
        max_ram_mb_per_core: None,
    },
    ResourceType {
        name: Cow::Borrowed("MCORE"),
        min_cores: 2,
        max_cores: None,
        min_ram_mb_per_core: Some(0),
        max_ram_mb_per_core: Some(2_000),
    },
    ResourceType {
        name: Cow::Borrowed("MCORE_HIMEM"),
        min_cores: 2,
        max_cores: None,
        min_ram_mb_per_core: Some(2_001),
        max_ram_mb_per_core: None,
    },
];

/// The resource types of a text of rows of PanDA's `RESOURCE_TYPES`, a JSON list or one row a line:
/// RESOURCE_NAME, MINCORE, MAXCORE, MINRAMPERCORE, MAXRAMPERCORE (MB) in any case. `None` where the
/// text is something else.
pub fn resource_types(text: &str) -> Option<(Vec<ResourceType<'static>>, Imported)> {
    let rows = rows("resource types", text).ok()?;
    let rows: Vec<Value> = rows.iter().map(lower).collect();
    let is_one = |row: &Value| row.get("resource_name").is_some();
    (rows.iter().any(is_one)).then(|| {
        let mut imported = Imported::default();
        (of_rows(&rows, &mut imported), imported)
    })
}

/// The resource types of rows with columns in small letters. One that cannot be read is left out,
/// and with it nothing is known to be gone: its pseudo-queues are not.
pub(super) fn of_rows(rows: &[Value], imported: &mut Imported) -> Vec<ResourceType<'static>> {
    let mut kinds = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let thing = match row["resource_name"].as_str() {
            Some(name) => format!("resource type {name}"),
            None => format!("resource type number {}", at + 1),
        };
        let Some(mut fields) = Fields::of(thing, None, row, imported) else { continue };
        let name = fields.needed("resource_name").to_owned();
        let [min_cores, max_cores, min_ram_mb_per_core, max_ram_mb_per_core] =
            ["mincore", "maxcore", "minrampercore", "maxrampercore"].map(|field| {
                let bound = fields.whole_if_set(field, 0..=i64::from(u32::MAX));
                bound.map(|bound| bound as u32)
            });
        if fields.is_left_out_unnamed() {
            continue;
        }
        let (name, min_cores) = (name.into(), min_cores.unwrap_or(0));
        kinds.push(ResourceType {
            name,
            min_cores,
            max_cores,
            min_ram_mb_per_core,
            max_ram_mb_per_core,
        });
    }
    kinds
}

/// The queues that stand for one configured queue: itself, or its pseudo-queues. A unified queue
/// is never among them.
pub(super) fn expand(queue: Queue, kinds: &[ResourceType<'_>]) -> Vec<Queue> {
    if !queue.ucore {
        return vec![queue];
    }
    kinds.iter().filter_map(|kind| child(&queue, kind)).collect()
}

/// The names of the pseudo-queues that a unified queue may have.
pub(super) fn names(unified: &str, kinds: &[ResourceType<'_>]) -> impl Iterator<Item = String> {
    kinds.iter().map(move |kind| name(unified, kind))
}

fn name(unified: &str, kind: &ResourceType<'_>) -> String {
    format!("{unified}/{}", kind.name)
}

/// The pseudo-queue of a resource type; `None` when the parent has too few cores for it.
fn child(parent: &Queue, kind: &ResourceType<'_>) -> Option<Queue> {
    let parent_cores = parent.cores.max(1);
    if parent_cores < kind.min_cores {
        return None;
    }
    let at_most = kind.max_cores.map_or(parent_cores, |most| parent_cores.min(most));
    let cores = at_most.max(kind.min_cores).max(1);
    // The parent's memory is for all its cores; a child has its part of it.
    let part = |mb: u32| (u64::from(mb) * u64::from(cores) / u64::from(parent_cores)) as u32;
    let (own_least, own_most) = (part(parent.min_rss_mb), part(parent.max_rss_mb));
    let least = match kind.min_ram_mb_per_core {
        Some(mb) => own_least.max(cores.saturating_mul(mb).saturating_sub(cores - 1)),
        None => own_least.max(parent.min_rss_mb),
    };
    // Without a limit of the parent there is none.
    let max_rss_mb = match kind.max_ram_mb_per_core.map(|mb| mb.saturating_mul(cores)) {
        Some(most) => most.min(own_most),
        None => own_most.min(parent.max_rss_mb),
    };
    Some(Queue {
        name: name(&parent.unified, kind),
        resource_type: kind.name.to_string(),
        cores,
        unified_cores: parent_cores,
        min_rss_mb: least,
        max_rss_mb,
        // PanDA has it in its map by its own name.
        faults: parent.faults.iter().filter(|it| *it != Queue::OTHER_NICKNAME).cloned().collect(),
        ..parent.clone()
    })
}
