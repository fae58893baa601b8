//! Keeps queues that allow the task's rate of input.

use super::object;
use crate::core::event::ChunkKind;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "max_io_intensity",
    spec: "atlas F19c, G5",
    help: "the task reads no faster than the queue's max_io_intensity; not asked of merge jobs",
    reasons: &[("max_io_intensity", "the task reads {measured} kB/s; the queue allows {limit}")],
    params: &[Param::flag("active", false, true).help("whether this is asked at all")],
    reads: &[],
    temporary: false,
    applies: Some(|_, args| args.flag(0)),
    judge: Judge::Before(judge),
};

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if !args.flag(0) || case.task.chunk == ChunkKind::Merge {
        return Verdict::Pass;
    }
    let most = candidate.queue.flag("max_io_intensity").and_then(|it| it.parse::<f64>().ok());
    let (Some(most), Some(rate)) = (most, case.task.io_intensity_kbps) else {
        return Verdict::Pass;
    };
    if f64::from(rate) > most {
        return object("max_io_intensity", f64::from(rate), most);
    }
    Verdict::Pass
}
