//! The filters of ATLAS production jobs.

use super::{
    cap, cap_rt, connectivity, cpucore, disk_io, event_service, full_chain, inactive, io,
    io_intensity, jumbo, last, link, memory, nopilot, nucleus_queue, opportunistic, pledge,
    remoteio, room, scratch, software, status, storage, t1weight, transferring, walltime,
    zeroshare,
};
use crate::domain::atlas::policy::QueueFilter;
use crate::domain::atlas::policy::retired::LOCK;

/// Filters of ATLAS production jobs, in the order of the specification.
pub(crate) const PRODUCTION_JOB: &[&QueueFilter] = &[
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
    &room::FILTER,
    &io::FILTER,
    &io::SECOND_CHANCE,
    &LOCK,
    &last::LOCAL_ONLY,
    &cap::FILTER,
    &last::NETWORK_WEIGHT,
    &cap_rt::FILTER,
    &last::BOOTSTRAP,
    &last::MIN_WEIGHT,
    &t1weight::LARGEST,
];

/// Those that look at nothing of a candidate but the make of its queue.
pub(crate) const OF_THE_MAKE: &[&QueueFilter] = &[
    &status::FILTER,
    &zeroshare::FILTER,
    &jumbo::FILTER,
    &cpucore::FILTER,
    &memory::FILTER,
    &remoteio::FILTER,
    &scratch::FILTER,
    &walltime::FILTER,
    &connectivity::FILTER,
    &event_service::FILTER,
];

/// Those that look at nothing of a candidate but its configuration, and not at its make alone.
pub(crate) const OF_THE_QUEUE: &[&QueueFilter] = &[
    &opportunistic::FILTER,
    &software::FILTER,
    &t1weight::FILTER,
    &io_intensity::FILTER,
    &full_chain::FILTER,
];

/// Those that task brokerage asks in its dry run (spec atlas N7): whether a queue of a nucleus
/// could run the jobs now. Not among them are those that come after the pilots, since where the
/// input lies and how much is queued is judged once the task has its nucleus; `full_chain`, since
/// the nucleus is what is looked for; and `inactive`, since a queue that starts no jobs at the
/// moment may start them by then.
pub(crate) const TASK_DRY_RUN: &[&QueueFilter] = &[
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
    &nopilot::FILTER,
];
