//! Keeps queues that allow the task's rate of input.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::ChunkKind;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

params! {
    /// Parameters of `max_io_intensity`.
    IoIntensity {
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const MAX_IO_INTENSITY: Reason =
    Reason::new("max_io_intensity", "the task reads {measured} kB/s; the queue allows {limit}");

pub(super) const FILTER: QueueFilter = queue_filter!(IoIntensity {
    name: "max_io_intensity",
    spec: "atlas F19c, G5",
    help: "the task reads no faster than the queue's max_io_intensity; not asked of merge jobs",
    reasons: &[&MAX_IO_INTENSITY],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, params: &IoIntensity) -> bool {
    params.active && case.task.chunk != ChunkKind::Merge
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &IoIntensity) -> Verdict {
    let most = candidate.queue.flag("max_io_intensity").and_then(|it| it.parse::<f64>().ok());
    let (Some(most), Some(rate)) = (most, case.task.io_intensity_kbps) else {
        return Verdict::Pass;
    };
    if f64::from(rate) > most {
        return object(&MAX_IO_INTENSITY, f64::from(rate), most);
    }
    Verdict::Pass
}
