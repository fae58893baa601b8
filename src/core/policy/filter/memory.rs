//! Keeps queues whose memory range holds what a job is expected to need.

use super::{object, whole};
use crate::core::event::{ChunkKind, RamUnit};
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "memory",
    spec: "atlas F11",
    help: "the memory a job is expected to need lies between the queue's minimum and maximum",
    reasons: &[
        ("lowmemory", "a job needs {measured} MB, the queue has {limit} MB"),
        ("highmemory", "a job needs {measured} MB, the queue is for {limit} MB and more"),
    ],
    params: &[
        Param::float("compensation", (0.0, 10.0), 0.9, 0.9)
            .help("factor on the expected memory, so that a need close to a limit stays below it"),
        Param::flag("base_always", true, false).help(
            "whether baseRamCount is added also where ramCount is for the whole job (seed: always)",
        ),
        Param::int("merge_least_mb", 2_000, 2_000).help("least memory of a merge job; MB"),
        Param::flag("merge_always", true, false)
            .help("whether merge jobs that state no memory are asked for the least too"),
    ],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(judge),
};

const COMPENSATION: usize = 0;
const BASE_ALWAYS: usize = 1;
const MERGE_LEAST: usize = 2;
const MERGE_ALWAYS: usize = 3;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let need = need_mb(case, candidate, args);
    if need <= 0.0 {
        return Verdict::Pass;
    }
    let most = f64::from(candidate.queue.max_rss_mb);
    if most > 0.0 && need > most {
        return object("lowmemory", need, most);
    }
    let least = f64::from(candidate.queue.min_rss_mb);
    if least > 0.0 && need < least {
        return object("highmemory", need, least);
    }
    Verdict::Pass
}

/// Expected memory of a job in a slot of the queue; MB; 0 when the task states none.
fn need_mb(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> f64 {
    let task = case.task;
    let base = f64::from(task.base_ram_mb.unwrap_or(0));
    let plain = match task.chunk {
        ChunkKind::Merge => match task.merge_ram_mb {
            None | Some(0) if !args.flag(MERGE_ALWAYS) => return 0.0,
            ram => f64::from(ram.unwrap_or(0)).max(args.number(MERGE_LEAST)),
        },
        ChunkKind::Normal | ChunkKind::Scout => match (task.ram_count_mb, task.ram_unit) {
            (None | Some(0), _) => return 0.0,
            (Some(ram), RamUnit::MbPerCore) => f64::from(ram) * candidate.cores() + base,
            (Some(ram), RamUnit::Mb) if args.flag(BASE_ALWAYS) => f64::from(ram) + base,
            (Some(ram), RamUnit::Mb) => f64::from(ram),
        },
    };
    whole(plain * args.number(COMPENSATION))
}
