//! Keeps queues whose memory range holds what a job is expected to need.

use super::bound::whole;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::{ChunkKind, RamUnit};
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Unit, Verdict};

params! {
    /// Parameters of `memory` for production jobs.
    Memory {
        compensation: f64 = Param::float("compensation", (0.0, 10.0), 0.9, 0.9)
            .help("factor on the expected memory, so that a need close to a limit stays below it"),
        base_always: bool = Param::flag("base_always", true, false).help(
            "whether baseRamCount is added also where ramCount is for the whole job (seed: always)",
        ),
        merge_least: f64 = Param::int("merge_least_mb", 2_000, 2_000)
            .unit(Unit::Mb)
            .help("least memory of a merge job"),
        merge_always: bool = Param::flag("merge_always", true, false)
            .help("whether merge jobs that state no memory are asked for the least too"),
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
    let plain = match task.chunk {
        ChunkKind::Merge => match task.merge_ram_mb {
            None | Some(0) if !params.merge_always => return 0.0,
            ram => f64::from(ram.unwrap_or(0)).max(params.merge_least),
        },
        ChunkKind::Normal | ChunkKind::Scout => match (task.ram_count_mb, task.ram_unit) {
            (None | Some(0), _) => return 0.0,
            (Some(ram), RamUnit::MbPerCore) => f64::from(ram) * candidate.cores() + base,
            (Some(ram), RamUnit::Mb) if params.base_always => f64::from(ram) + base,
            (Some(ram), RamUnit::Mb) => f64::from(ram),
        },
    };
    whole(plain * params.compensation)
}
