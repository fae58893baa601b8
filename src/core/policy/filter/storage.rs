//! Keeps queues whose storage has room and is in service.

use super::object;
use crate::core::event::Storage;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Stores, Verdict};
use crate::core::unit::GIB;

pub(super) const FILTER: Filter = Filter {
    name: "storage",
    spec: "atlas F14",
    help: "the default output endpoint has free space, and no default endpoint of the queue is \
           blacklisted; an endpoint that nothing is known of is let through",
    reasons: &[
        ("disk", "{measured} GB are free at the output endpoint; limit {limit} GB"),
        ("read_lan_blacklist", "the input endpoint is blacklisted for reading"),
        ("write_lan_blacklist", "the output endpoint is blacklisted for writing"),
        ("write_wan_blacklist", "the input endpoint is blacklisted for writing from afar"),
        ("read_wan_blacklist", "the output endpoint is blacklisted for reading from afar"),
        ("source_blacklist", "no copy of the input can be read from afar"),
    ],
    params: &[
        Param::int("STORAGE_MIN_FREE_SIZE", SEED_LIMIT_GB, SEED_LIMIT_GB)
            .gdp("jobbroker/STORAGE_MIN_FREE_SIZE")
            .help("free space at the output endpoint; GB of 1024^3 bytes"),
        Param::word("boundary", &["over", "at_least", "over_seed"], "over_seed", "at_least").help(
            "free space must be over the limit, or at least the limit; over_seed: over the \
             seed's own 200 GB, at least any other limit, which is then a stated minimum",
        ),
        Param::flag("expired", true, true)
            .help("whether space of expired secondary data counts as free"),
        Param::flag("kept_free", false, true)
            .help("whether space to be left free, and space that cannot be used, is taken off"),
        Param::word("wan", &["ignored", "satellites"], "satellites", "satellites")
            .help("whether queues outside the nucleus need endpoints that are open from afar"),
        Param::flag("datadisk_only", false, true)
            .help("whether only endpoints of type DATADISK are asked for blacklisting"),
        Param::word("endpoints", &["default", "any"], "default", "any").help(
            "blacklisting: the default endpoint must be in service, or any one of the queue's",
        ),
    ],
    reads: &[Reads::Storage],
    temporary: true,
    applies: None,
    judge: Judge::Before(judge),
};

const LIMIT: usize = 0;
const AT: usize = 1;
const EXPIRED: usize = 2;
const KEPT_FREE: usize = 3;
const WAN: usize = 4;
const DATADISK_ONLY: usize = 5;
const EVERY_ENDPOINT: usize = 6;

/// The seed's "has to be over 200GB".
const SEED_LIMIT_GB: i64 = 200;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if let Some(output) = candidate.output {
        let (free, limit) = (free_gb(output, args), args.number(LIMIT));
        let equal_is_enough = match args.word(AT) {
            0 => false,
            1 => true,
            _ => limit != SEED_LIMIT_GB as f64,
        };
        if free < limit || (free == limit && !equal_is_enough) {
            return object("disk", free, limit);
        }
    }
    match blacklisted(case, candidate, args, !case.in_nucleus(candidate)) {
        Some(reason) => object(reason, 0.0, 1.0),
        None => Verdict::Pass,
    }
}

pub(super) fn free_gb(storage: &Storage, args: &Args) -> f64 {
    let expired = if args.flag(EXPIRED) { storage.expired_bytes } else { 0 };
    let kept = match args.flag(KEPT_FREE) {
        true => storage.min_free_bytes.saturating_add(storage.unavailable_bytes),
        false => 0,
    };
    (storage.free_bytes.saturating_add(expired) as f64 - kept as f64) / GIB as f64
}

/// Which of the queue's endpoints that count is blacklisted; `outside`: whether data come and go
/// over the WAN.
pub(super) fn blacklisted(
    case: &Case<'_>,
    candidate: &Candidate<'_>,
    args: &Args,
    outside: bool,
) -> Option<&'static str> {
    let asked = |storage: &&Storage| !args.flag(DATADISK_ONLY) || storage.kind == "DATADISK";
    let is_far = args.word(WAN) == 1 && outside;
    // Whether no endpoint of a list has what is asked; with none on it nothing is asked.
    let none = |stores: Stores<'_>, default: Option<&Storage>, open: fn(&Storage) -> bool| {
        if args.word(EVERY_ENDPOINT) == 0 {
            return default.filter(asked).is_some_and(|storage| !open(storage));
        }
        let mut of_kind = stores.iter().filter(asked).peekable();
        of_kind.peek().is_some() && !of_kind.any(open)
    };
    let (inputs, outputs) = (candidate.inputs, candidate.outputs);
    if none(inputs, candidate.input, |it| it.read_lan) {
        return Some("read_lan_blacklist");
    }
    if none(outputs, candidate.output, |it| it.write_lan) {
        return Some("write_lan_blacklist");
    }
    let is_panda = args.word(EVERY_ENDPOINT) == 1;
    let receives = args.word(WAN) == 1 && (is_far || is_panda && !case.is_local(candidate));
    if receives && none(inputs, candidate.input, |it| it.write_wan) {
        return Some("write_wan_blacklist");
    }
    if is_far && none(outputs, candidate.output, |it| it.read_wan) {
        return Some("read_wan_blacklist");
    }
    let needs_source = is_panda && receives;
    (needs_source && !case.remote_source).then_some("source_blacklist")
}
