//! Keeps queues whose storage has room and is in service.

use super::bound::Boundary;
use crate::domain::atlas::policy::completeness::Completeness;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter, Stores};
use crate::event::Storage;
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};
use crate::unit::GIB;

words! {
    /// Which queues need endpoints that are open from afar.
    Wan {
        Ignored = "ignored",
        Satellites = "satellites",
    }
}

words! {
    /// Which of a queue's endpoints must be in service.
    Endpoints {
        Default = "default",
        Any = "any",
    }
}

params! {
    /// Kinds of space that count as free at an endpoint.
    Free {
        expired: bool = Param::flag("expired", true, true)
            .help("whether space of expired secondary data counts as free"),
        kept_free: bool = Param::flag("kept_free", false, true)
            .help("whether space to be left free, and space that cannot be used, is taken off"),
    }
}

params! {
    /// Parameters of `storage` for production jobs.
    StorageParams {
        limit: f64 = Param::int("STORAGE_MIN_FREE_SIZE", LIMIT_GB, LIMIT_GB)
            .unit(Unit::Gb)
            .gdp_above_0("jobbroker/STORAGE_MIN_FREE_SIZE")
            .help("free space at the output endpoint; GB of 1024^3 bytes"),
        boundary: Boundary = Boundary::param("boundary", Boundary::Above, Boundary::AtLeast)
            .help("free space must be above the limit, or at it already"),
        free: Free,
        wan: Wan = Wan::param("wan", Wan::Satellites, Wan::Satellites)
            .help("whether queues outside the nucleus need endpoints that are open from afar"),
        datadisk_only: bool = Param::flag("datadisk_only", false, true)
            .help("whether only endpoints of type DATADISK are asked for blacklisting"),
        endpoints: Endpoints = Endpoints::param("endpoints", Endpoints::Default, Endpoints::Any)
            .help(
                "blacklisting: the default endpoint must be in service, or any one of the queue's",
            ),
        nucleus_receives: bool = Param::flag("nucleus_receives", false, true).help(
            "whether a queue of the nucleus needs an input endpoint that is open for writing from \
             afar, or has the whole input where any endpoint has it",
        ),
        complete: Completeness,
    }
}

const DISK: Reason =
    Reason::new("disk", "{measured} GB are free at the output endpoint; limit {limit} GB");
const READ_LAN: Reason =
    Reason::new("read_lan_blacklist", "the input endpoint is blacklisted for reading");
const WRITE_LAN: Reason =
    Reason::new("write_lan_blacklist", "the output endpoint is blacklisted for writing");
const WRITE_WAN: Reason =
    Reason::new("write_wan_blacklist", "the input endpoint is blacklisted for writing from afar");
const READ_WAN: Reason =
    Reason::new("read_wan_blacklist", "the output endpoint is blacklisted for reading from afar");
const SOURCE: Reason =
    Reason::new("source_blacklist", "no copy of the input can be read from afar");

pub(super) const FILTER: QueueFilter = queue_filter!(StorageParams {
    name: "storage",
    spec: "atlas F14",
    help: "the default output endpoint has free space, and the endpoints of the queue are in \
           service; an endpoint that nothing is known of is let through",
    reasons: &[&DISK, &READ_LAN, &WRITE_LAN, &WRITE_WAN, &READ_WAN, &SOURCE],
    reads: &[Reads::Storage],
    temporary: true,
    applies: Always,
    judge: Before(judge),
});

/// Least free space where nothing else is stated; GB.
pub(super) const LIMIT_GB: i64 = 200;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &StorageParams) -> Verdict {
    if let Some(output) = candidate.output {
        let free = free_gb(output, &params.free);
        if !params.boundary.is_beyond(free, params.limit) {
            return object(&DISK, free, params.limit);
        }
    }
    let service = Service {
        wan: params.wan,
        datadisk_only: params.datadisk_only,
        endpoints: params.endpoints,
    };
    let outside = || !case.in_nucleus(candidate);
    let has_input = |it: &Storage| {
        !outside() && (!params.nucleus_receives || params.complete.holds(case.task, &it.name))
    };
    match blacklisted(case, candidate, &service, outside, has_input) {
        Some(reason) => object(reason, 0.0, 1.0),
        None => Verdict::Pass,
    }
}

/// Which endpoints of a queue must be in service.
pub(super) struct Service {
    /// Which queues need endpoints that are open from afar.
    pub(super) wan: Wan,
    /// Whether only endpoints of type DATADISK count.
    pub(super) datadisk_only: bool,
    /// Whether the default endpoint counts, or any.
    pub(super) endpoints: Endpoints,
}

/// Free space at an endpoint; GB.
pub(super) fn free_gb(storage: &Storage, params: &Free) -> f64 {
    let expired = if params.expired { storage.expired_bytes } else { 0 };
    let kept = match params.kept_free {
        true => storage.min_free_bytes.saturating_add(storage.unavailable_bytes),
        false => 0,
    };
    (storage.free_bytes.saturating_add(expired) as f64 - kept as f64) / GIB as f64
}

/// Which of the queue's endpoints that count is blacklisted; `outside`: whether data come and go
/// over the WAN; `has_input`: whether an input endpoint need not receive over it.
#[inline(always)]
pub(super) fn blacklisted(
    case: &Case<'_>,
    candidate: &Candidate<'_>,
    service: &Service,
    outside: impl Fn() -> bool,
    has_input: impl Fn(&Storage) -> bool,
) -> Option<&'static Reason> {
    let inputs = (candidate.inputs, candidate.input);
    let outputs = (candidate.outputs, candidate.output);
    if service.has_none(inputs, |it| it.read_lan) {
        return Some(&READ_LAN);
    }
    if service.has_none(outputs, |it| it.write_lan) {
        return Some(&WRITE_LAN);
    }
    if service.wan == Wan::Ignored {
        return None;
    }
    if service.has_none(inputs, |it| it.write_wan || has_input(it)) {
        return Some(&WRITE_WAN);
    }
    if service.has_none(outputs, |it| it.read_wan) && outside() {
        return Some(&READ_WAN);
    }
    let needs_source = service.endpoints == Endpoints::Any && !case.remote_source;
    (needs_source && outside()).then_some(&SOURCE)
}

impl Service {
    /// Whether no endpoint of a list has what is asked, or there is none on it; of a list of which
    /// nothing is known nothing is asked.
    #[inline(always)]
    fn has_none(
        &self,
        (stores, default): (Stores<'_>, Option<&Storage>),
        is_open: impl Fn(&Storage) -> bool,
    ) -> bool {
        let is_asked = |storage: &Storage| !self.datadisk_only || storage.kind == "DATADISK";
        if self.endpoints == Endpoints::Default {
            return default.is_some_and(|storage| is_asked(storage) && !is_open(storage));
        }
        stores.at.is_empty()
            || stores.iter().next().is_some()
                && !stores.iter().filter(|it| is_asked(it)).any(is_open)
    }
}
