//! The filters, one file each. What a filter sees is its arguments; what it says is a verdict
//! with its numbers.

mod analysis;
mod cap;
mod cap_rt;
mod connectivity;
mod cpucore;
mod disk_io;
mod event_service;
mod full_chain;
mod inactive;
mod io;
mod io_intensity;
mod jumbo;
mod last;
mod link;
mod memory;
mod nopilot;
mod nucleus_queue;
mod opportunistic;
mod pledge;
mod remoteio;
mod scratch;
mod software;
mod status;
mod storage;
mod t1weight;
mod transferring;
mod walltime;
mod zeroshare;

use super::{Filter, Objection, Verdict};
use crate::core::unit::Millis;

/// Filters of ATLAS production jobs, in the order of the specification.
pub(super) const PRODUCTION_JOB: &[&Filter] = &[
    &status::FILTER,
    &nucleus_queue::FILTER,
    &link::BLOCKED_LINK,
    &link::FILTER,
    &opportunistic::FILTER,
    &inactive::FILTER,
    &zeroshare::FILTER,
    &jumbo::FILTER,
    &disk_io::FILTER,
    &cpucore::FILTER,
    &software::FILTER,
    &memory::FILTER,
    &remoteio::FILTER,
    &scratch::FILTER,
    &storage::FILTER,
    &walltime::FILTER,
    &connectivity::FILTER,
    &event_service::FILTER,
    &transferring::FILTER,
    &pledge::FILTER,
    &t1weight::FILTER,
    &io_intensity::FILTER,
    &full_chain::FILTER,
    &nopilot::FILTER,
    &io::FILTER,
    &io::SECOND_CHANCE,
    &last::LOCK,
    &last::LOCAL_ONLY,
    &cap::FILTER,
    &last::NETWORK_WEIGHT,
    &cap_rt::FILTER,
    &last::BOOTSTRAP,
    &last::MIN_WEIGHT,
    &t1weight::LARGEST,
];

/// Filters of ATLAS analysis jobs, in the order of the specification.
pub(super) const ANALYSIS_JOB: &[&Filter] = analysis::FILTERS;

/// How a figure that equals its limit is read.
pub(super) const BOUNDARY: &[&str] = &["above", "at_least"];

/// Whether a figure is beyond its limit: above it, or with `at_least` (1) also equal to it.
#[inline]
pub(super) fn beyond(measured: f64, limit: f64, boundary: usize) -> bool {
    measured > limit || (boundary == 1 && measured == limit)
}

/// `maxinputsize` of a queue that reads all input directly.
const ALWAYS_DIRECT: i32 = -1;

/// A number cut to a whole one, as an integer division cuts: 0 for what is not a number, and never
/// beyond what an `i64` holds.
#[inline]
fn whole(value: f64) -> f64 {
    value as i64 as f64
}

/// An objection that falls only when a fact changes.
#[inline]
fn object(reason: &'static str, measured: f64, limit: f64) -> Verdict {
    Verdict::Object(Objection { reason, measured, limit, recheck_at: None })
}

/// An objection that may fall by the passing of time alone.
fn object_until(
    reason: &'static str,
    measured: f64,
    limit: f64,
    recheck_at: Option<Millis>,
) -> Verdict {
    Verdict::Object(Objection { reason, measured, limit, recheck_at })
}
