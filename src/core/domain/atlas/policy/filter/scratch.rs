//! Keeps queues whose slots have the scratch space a job is expected to fill.

use super::bound::{ALWAYS_DIRECT, Boundary, whole};
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::{ChunkKind, Task};
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Unit, Verdict};
use crate::unit::MIB;

words! {
    /// For which tasks the scratch space is divided by the unified queue's cores.
    Scaling {
        Always = "always",
        SingleCore = "single_core",
    }
}

params! {
    /// Parameters of `scratch` for production jobs.
    Scratch {
        min_output: f64 = Param::int("min_output_mb", 512, 1_500)
            .unit(Unit::Mb)
            .help("least output a job is assumed to write (DIFF-13)"),
        work_margin: f64 = Param::int("work_margin_mb", 0, 300)
            .unit(Unit::Mb)
            .help("added to the task's work space, where it states one (DIFF-14)"),
        scaling: Scaling =
            Scaling::param("scaling", Scaling::Always, Scaling::SingleCore).help(
                "whether maxwdir is divided by the unified queue's cores for every task, or only \
                 for tasks that are not multi-core (DIFF-15; always is the seed's sentence, and \
                 odd for whole-node jobs: it gives them one core's part of their own slot)",
            ),
        fit: Fit,
    }
}

params! {
    /// How the need is compared with the space of a slot.
    Fit {
        boundary: Boundary = Boundary::param("boundary", Boundary::AtLeast, Boundary::Above)
            .help("objects to a need that equals the space already, or above it alone"),
        whole_mb: bool = Param::flag("whole_mb", false, true)
            .help("whether the need is rounded down to whole MB"),
    }
}

impl Fit {
    /// A need as it is compared; MB.
    pub(super) fn need_mb(self, bytes: f64) -> f64 {
        let need = bytes / MIB as f64;
        if self.whole_mb { whole(need) } else { need }
    }

    /// Whether a need fits into a space.
    pub(super) fn judge(self, need_mb: f64, space_mb: f64) -> Verdict {
        match self.boundary.is_beyond(need_mb, space_mb) {
            true => object(&DISK, need_mb, space_mb),
            false => Verdict::Pass,
        }
    }
}

pub(super) const DISK: Reason =
    Reason::new("disk", "a job needs {measured} MB of scratch space, a slot has {limit} MB");

pub(super) const FILTER: QueueFilter = queue_filter!(Scratch {
    name: "scratch",
    spec: "atlas F13, DIFF-13, DIFF-14, DIFF-15",
    help: "input, output and work files of a job fit into the scratch space of a slot",
    reasons: &[&DISK],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(judge),
});

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Scratch) -> Verdict {
    let whole = f64::from(candidate.queue.max_wdir_mb);
    if whole == 0.0 {
        return Verdict::Pass;
    }
    let multi_core = case.task.core_count.unwrap_or(0) > 1 || case.task.options.event_service;
    let share = match params.scaling {
        Scaling::SingleCore if multi_core => whole,
        Scaling::SingleCore | Scaling::Always => whole / slot_cores(candidate),
    };
    params.fit.judge(need_mb(case, candidate, params), share)
}

/// Cores of the slot that the scratch space belongs to.
pub(super) fn slot_cores(candidate: &Candidate<'_>) -> f64 {
    match candidate.queue.unified_cores {
        0 => candidate.cores(),
        cores => f64::from(cores),
    }
}

/// Output of the largest job; bytes.
pub(super) fn output(task: &Task) -> f64 {
    match (task.output_per_event, task.output_per_mb) {
        (Some(per_event), _) => per_event * task.atom_events as f64,
        (None, Some(per_mb)) => per_mb * task.atom_effective_mb,
        (None, None) => 0.0,
    }
}

/// Expected scratch space of a job; MB.
fn need_mb(case: &Case<'_>, candidate: &Candidate<'_>, params: &Scratch) -> f64 {
    let task = case.task;
    let mib = MIB as f64;
    // `max` also takes the place of an output that is not a number.
    let output = output(task).max(params.min_output * mib);
    let margin = params.work_margin * mib;
    let work = task.work_bytes.map_or(0.0, |bytes| bytes as f64 + margin);
    let input = if reads_directly(case, candidate) { 0.0 } else { task.atom_bytes as f64 };
    params.fit.need_mb(output + work + input)
}

/// Whether input is read from storage instead of being copied to scratch.
pub(super) fn reads_directly(case: &Case<'_>, candidate: &Candidate<'_>) -> bool {
    let (task, queue) = (case.task, candidate.queue);
    let over_lan = task.allow_input_lan && !task.use_local_io && queue.direct_access_lan;
    task.chunk != ChunkKind::Merge && (queue.max_input_mb == ALWAYS_DIRECT || over_lan)
}
