//! Keeps queues whose memory range holds what a job is expected to need.

use super::bound::whole;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::{ChunkKind, RamUnit};
use crate::policy::param::Default;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Unit, Verdict};

params! {
    /// Parameters of `memory` for production jobs.
    Memory {
        compensation: f64 = Param::float("compensation", (0.0, 10.0), 0.9, 0.9)
            .help("factor on the expected memory, so that a need close to a limit stays below it"),
        base_always: bool = Param::flag("base_always", true, false).help(
            "whether baseRamCount is added always, or only to a ramCount that is for each core \
             (seed: always)",
        ),
        merge_least: f64 = Param::int("merge_least_mb", 0, 2_000)
            .tuned(Default::Int(2_000))
            .unit(Unit::Mb)
            .help("least memory of a merge job that states any; the document has none"),
    }
}

pub(super) const LOW: Reason =
    Reason::new("lowmemory", "a job needs {measured} MB, the queue has {limit} MB");
pub(super) const HIGH: Reason =
    Reason::new("highmemory", "a job needs {measured} MB, the queue is for {limit} MB and more");

pub(super) const FILTER: QueueFilter = queue_filter!(Memory {
    name: "memory",
    spec: "atlas F11",
    help: "the memory a job is expected to need lies between the queue's minimum and maximum",
    reasons: &[&LOW, &HIGH],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(judge),
});

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Memory) -> Verdict {
    let need = need_mb(case, candidate, params);
    if need <= 0.0 {
        return Verdict::Pass;
    }
    let most = f64::from(candidate.queue.max_rss_mb);
    if most > 0.0 && need > most {
        return object(&LOW, need, most);
    }
    let least = f64::from(candidate.queue.min_rss_mb);
    if least > 0.0 && need < least {
        return object(&HIGH, need, least);
    }
    Verdict::Pass
}

/// Expected memory of a job in a slot of the queue; MB; 0 when the task states none.
fn need_mb(case: &Case<'_>, candidate: &Candidate<'_>, params: &Memory) -> f64 {
    let task = case.task;
    let base = f64::from(task.base_ram_mb.unwrap_or(0));
    let (ram, per_core) = match task.chunk {
        ChunkKind::Merge => (task.merge_ram_mb.unwrap_or(0), false),
        ChunkKind::Normal | ChunkKind::Scout => {
            (task.ram_count_mb.unwrap_or(0), task.ram_unit == RamUnit::MbPerCore)
        }
    };
    let ram = match f64::from(ram) {
        ram if task.chunk == ChunkKind::Merge && ram > 0.0 => ram.max(params.merge_least),
        ram if per_core => ram * candidate.cores(),
        ram => ram,
    };
    let is_added = params.base_always || per_core && ram > 0.0;
    let plain = ram + if is_added { base } else { 0.0 };
    whole(plain * params.compensation)
}
