//! Keeps queues whose storage has room for an analysis job's output and is in service.

use super::super::storage::{blacklisted, free_gb};
use super::object;
use crate::core::event::Storage;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "storage",
    spec: "atlas G12b",
    help: "the output endpoint has free space, where data do not count the input endpoint too; no \
           endpoint in use is blacklisted, and the owner's quota there is not used up",
    reasons: &[
        ("disk", "{measured} GB are free at the endpoint; limit {limit} GB"),
        ("blacklist", "an endpoint of the queue is blacklisted"),
        ("local_quota", "the owner's quota at the output endpoint is used up"),
    ],
    params: &[
        Param::int("STORAGE_MIN_FREE_SIZE_OUTPUT", SEED_LIMIT_GB, SEED_LIMIT_GB)
            .gdp("anal_jobbroker/STORAGE_MIN_FREE_SIZE_OUTPUT")
            .help("free space at the output endpoint; GB of 1024^3 bytes; 0: 200"),
        Param::word("boundary", &["over", "at_least", "over_seed"], "over_seed", "at_least").help(
            "free space must be over the limit, or at least the limit; over_seed: over the \
             seed's own 200 GB, at least any other limit, which is then a stated minimum",
        ),
        Param::flag("expired", true, true)
            .help("whether space of expired secondary data counts as free"),
        Param::flag("kept_free", false, true)
            .help("whether space to be left free, and space that cannot be used, is taken off"),
        Param::word("wan", &["ignored", "satellites"], "ignored", "satellites")
            .help("whether queues without the input need endpoints that are open from afar"),
        Param::flag("datadisk_only", false, false)
            .help("whether only endpoints of type DATADISK are asked for blacklisting"),
        Param::word("endpoints", &["default", "any"], "default", "any").help(
            "blacklisting: the default endpoint must be in service, or any one of the queue's",
        ),
        Param::int("STORAGE_MIN_FREE_SIZE", SEED_LIMIT_GB, SEED_LIMIT_GB)
            .gdp("jobbroker/STORAGE_MIN_FREE_SIZE")
            .help("free space at the input endpoint, where data do not count; GB; 0: 200"),
        Param::flag("input_space", false, true).help("whether that is asked at all"),
        Param::flag("needs_output", false, true)
            .help("whether a queue without an output endpoint is refused"),
        Param::flag("local_quota", false, true)
            .help("whether the owner's quota at the endpoint counts"),
    ],
    reads: &[Reads::Storage],
    temporary: false,
    applies: None,
    judge: Judge::Before(judge),
};

const LIMIT: usize = 0;
const AT: usize = 1;
const INPUT_LIMIT: usize = 7;
const INPUT_SPACE: usize = 8;
const NEEDS_OUTPUT: usize = 9;
const LOCAL_QUOTA: usize = 10;

/// The seed's "has to be over 200GB".
const SEED_LIMIT_GB: i64 = 200;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if args.flag(NEEDS_OUTPUT) && candidate.outputs.at.is_empty() {
        return object("disk", 0.0, args.number(LIMIT));
    }
    let is_asked = candidate.queue.flag("skip_RSE_check").is_none();
    let output = candidate.output.filter(|_| is_asked);
    if let Some(Verdict::Object(objection)) = output.map(|it| room(it, args.number(LIMIT), args)) {
        return Verdict::Object(objection);
    }
    let is_other = |input: &&Storage| output.is_none_or(|output| output.name != input.name);
    let is_second = case.pass > 1 && args.flag(INPUT_SPACE) && is_asked;
    if let Some(input) = candidate.input.filter(|_| is_second).filter(is_other)
        && let Verdict::Object(objection) = room(input, args.number(INPUT_LIMIT), args)
    {
        return Verdict::Object(objection);
    }
    if blacklisted(case, candidate, args, case.locality.is_none()).is_some() {
        return object("blacklist", 0.0, 1.0);
    }
    let full = &case.owner.full_endpoints;
    let is_full = |output: &Storage| full.contains(&output.name);
    if args.flag(LOCAL_QUOTA) && candidate.output.is_some_and(is_full) {
        return object("local_quota", 1.0, 0.0);
    }
    Verdict::Pass
}

/// Whether an endpoint has room.
fn room(storage: &Storage, limit: f64, args: &Args) -> Verdict {
    let seed = SEED_LIMIT_GB as f64;
    let limit = if limit > 0.0 { limit } else { seed };
    let free = free_gb(storage, args);
    let equal_is_enough = match args.word(AT) {
        0 => false,
        1 => true,
        _ => limit != seed,
    };
    if free < limit || free == limit && !equal_is_enough {
        return object("disk", free, limit);
    }
    Verdict::Pass
}
