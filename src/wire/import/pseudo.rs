//! Pseudo-queues: a unified queue is one queue per resource type (spec atlas 0.3, 13.4).

use yardmaster_core::event::Queue;

/// A class of jobs by cores and memory, as the workload system defines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceType<'a> {
    /// Name.
    pub name: &'a str,
    /// Least cores.
    pub min_cores: u32,
    /// Most cores; `None`: no bound.
    pub max_cores: Option<u32>,
    /// Least memory; MB per core; `None`: no bound.
    pub min_ram_mb_per_core: Option<u32>,
    /// Most memory; MB per core. `None`: no bound.
    pub max_ram_mb_per_core: Option<u32>,
}

/// The resource types of ATLAS (spec atlas 13.4).
pub const RESOURCE_TYPES: [ResourceType<'static>; 4] = [
    ResourceType {
        name: "SCORE",
        min_cores: 1,
        max_cores: Some(1),
        min_ram_mb_per_core: Some(0),
        max_ram_mb_per_core: Some(2_000),
    },
    ResourceType {
        name: "SCORE_HIMEM",
        min_cores: 1,
        max_cores: Some(1),
        min_ram_mb_per_core: Some(2_001),
        max_ram_mb_per_core: None,
    },
    ResourceType {
        name: "MCORE",
        min_cores: 2,
        max_cores: None,
        min_ram_mb_per_core: Some(0),
        max_ram_mb_per_core: Some(2_000),
    },
    ResourceType {
        name: "MCORE_HIMEM",
        min_cores: 2,
        max_cores: None,
        min_ram_mb_per_core: Some(2_001),
        max_ram_mb_per_core: None,
    },
];

/// The queues that stand for one configured queue: itself, or its pseudo-queues. A unified queue
/// is never among them.
pub fn expand(queue: Queue, kinds: &[ResourceType<'_>]) -> Vec<Queue> {
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
    let cores = at_most.max(kind.min_cores);
    // The parent's memory is for all its cores; a child has its part of it.
    let part = |mb: u32| (u64::from(mb) * u64::from(cores) / u64::from(parent_cores)) as u32;
    let (own_least, own_most) = (part(parent.min_rss_mb), part(parent.max_rss_mb));
    let least = match kind.min_ram_mb_per_core {
        Some(mb) => own_least.max((cores * mb + 1).saturating_sub(cores)),
        None => own_least.max(parent.min_rss_mb),
    };
    let max_rss_mb = match kind.max_ram_mb_per_core.map(|mb| mb * cores) {
        Some(most) if parent.max_rss_mb == 0 => most,
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
        ..parent.clone()
    })
}
