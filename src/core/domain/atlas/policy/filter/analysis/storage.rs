//! Keeps queues whose storage has room for an analysis job's output and is in service.

use super::super::bound::Boundary;
use super::super::storage::{Endpoints, Free, LIMIT_GB, Service, Wan, blacklisted, free_gb};
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::Storage;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};

params! {
    /// Parameters of `storage` for analysis jobs.
    StorageParams {
        limit: f64 = Param::int("STORAGE_MIN_FREE_SIZE_OUTPUT", LIMIT_GB, LIMIT_GB)
            .unit(Unit::Gb)
            .gdp_above_0("anal_jobbroker/STORAGE_MIN_FREE_SIZE_OUTPUT")
            .help("free space at the output endpoint; GB of 1024^3 bytes; 0: 200"),
        boundary: Boundary = Boundary::param("boundary", Boundary::Above, Boundary::AtLeast)
            .help("free space must be above the limit, or at it already"),
        free: Free,
        wan: Wan = Wan::param("wan", Wan::Ignored, Wan::Satellites)
            .help("whether queues without the input need endpoints that are open from afar"),
        datadisk_only: bool = Param::flag("datadisk_only", false, false)
            .help("whether only endpoints of type DATADISK are asked for blacklisting"),
        endpoints: Endpoints = Endpoints::param("endpoints", Endpoints::Default, Endpoints::Any)
            .help(
                "blacklisting: the default endpoint must be in service, or any one of the queue's",
            ),
        input_limit: f64 = Param::int("STORAGE_MIN_FREE_SIZE", LIMIT_GB, LIMIT_GB)
            .unit(Unit::Gb)
            .gdp_above_0("jobbroker/STORAGE_MIN_FREE_SIZE")
            .help("free space at the input endpoint, where data do not count; 0: 200"),
        input_space: bool = Param::flag("input_space", false, true)
            .help("whether that is asked at all"),
        needs_output: bool = Param::flag("needs_output", false, true)
            .help("whether a queue without an output endpoint is refused"),
        local_quota: bool = Param::flag("local_quota", false, true)
            .help("whether the owner's quota at the endpoint counts"),
    }
}

const DISK: Reason =
    Reason::new("disk", "{measured} GB are free at the endpoint; limit {limit} GB");
const BLACKLIST: Reason = Reason::new("blacklist", "an endpoint of the queue is blacklisted");
const LOCAL_QUOTA: Reason =
    Reason::new("local_quota", "the owner's quota at the output endpoint is used up");

pub(super) const FILTER: QueueFilter = queue_filter!(StorageParams {
    name: "storage",
    spec: "atlas G12b",
    help: "the output endpoint has free space, where data do not count the input endpoint too; no \
           endpoint in use is blacklisted, and the owner's quota there is not used up",
    reasons: &[&DISK, &BLACKLIST, &LOCAL_QUOTA],
    reads: &[Reads::Storage],
    temporary: false,
    applies: Always,
    judge: Before(judge),
});

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &StorageParams) -> Verdict {
    if params.needs_output && candidate.outputs.at.is_empty() {
        return object(&DISK, 0.0, params.limit);
    }
    let is_asked = candidate.queue.flag("skip_RSE_check").is_none();
    let output = candidate.output.filter(|_| is_asked);
    if let Some(Verdict::Object(objection)) = output.map(|it| room(it, params.limit, params)) {
        return Verdict::Object(objection);
    }
    if case.pass > 1 && params.input_space && candidate.inputs.at.is_empty() {
        return object(&DISK, 0.0, params.input_limit);
    }
    let is_other = |input: &&Storage| output.is_none_or(|output| output.name != input.name);
    let is_second = case.pass > 1 && params.input_space && is_asked;
    if let Some(input) = candidate.input.filter(|_| is_second).filter(is_other)
        && let Verdict::Object(objection) = room(input, params.input_limit, params)
    {
        return Verdict::Object(objection);
    }
    let service = Service {
        wan: params.wan,
        datadisk_only: params.datadisk_only,
        endpoints: params.endpoints,
    };
    let outside = case.locality.is_none();
    if blacklisted(case, candidate, &service, || outside, |_| !outside).is_some() {
        return object(&BLACKLIST, 0.0, 1.0);
    }
    let full = &case.owner.full_endpoints;
    let is_full = |output: &Storage| full.contains(&output.name);
    if params.local_quota && candidate.output.is_some_and(is_full) {
        return object(&LOCAL_QUOTA, 1.0, 0.0);
    }
    Verdict::Pass
}

/// Whether an endpoint has room.
fn room(storage: &Storage, limit: f64, params: &StorageParams) -> Verdict {
    let limit = if limit > 0.0 { limit } else { LIMIT_GB as f64 };
    let free = free_gb(storage, &params.free);
    match params.boundary.is_beyond(free, limit) {
        true => Verdict::Pass,
        false => object(&DISK, free, limit),
    }
}
