//! Keeps queues whose storage has room and is in service.

use super::object;
use crate::core::event::Storage;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict};
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
        Param::word("wan", &["ignored", "satellites"], "satellites", "satellites")
            .help("whether queues outside the nucleus need endpoints that are open from afar"),
        Param::flag("datadisk_only", false, true)
            .help("whether only endpoints of type DATADISK are asked for blacklisting"),
    ],
    reads: &[Reads::Storage],
    temporary: true,
    judge: Judge::Before(judge),
};

const LIMIT: usize = 0;
const AT: usize = 1;
const EXPIRED: usize = 2;
const WAN: usize = 3;
const DATADISK_ONLY: usize = 4;

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
    match blacklisted(case, candidate, args) {
        Some(reason) => object(reason, 0.0, 1.0),
        None => Verdict::Pass,
    }
}

fn free_gb(storage: &Storage, args: &Args) -> f64 {
    let expired = if args.flag(EXPIRED) { storage.expired_bytes } else { 0 };
    storage.free_bytes.saturating_add(expired) as f64 / GIB as f64
}

fn blacklisted(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Option<&'static str> {
    let asked = |storage: &&Storage| !args.flag(DATADISK_ONLY) || storage.kind == "DATADISK";
    let input = candidate.input.filter(asked);
    let output = candidate.output.filter(asked);
    if input.is_some_and(|storage| !storage.read_lan) {
        return Some("read_lan_blacklist");
    }
    if output.is_some_and(|storage| !storage.write_lan) {
        return Some("write_lan_blacklist");
    }
    let write_wan = input.is_none_or(|storage| storage.write_wan);
    let read_wan = output.is_none_or(|storage| storage.read_wan);
    if args.word(WAN) == 0 || (write_wan && read_wan) || case.in_nucleus(candidate) {
        return None;
    }
    Some(if write_wan { "read_wan_blacklist" } else { "write_wan_blacklist" })
}
