//! Who uses how much: shares against their targets, users and working groups.

use super::domains::Of;
use super::lists::late;
use super::query::{DOMAIN, Params, Query};
use super::{Refused, json};
use crate::described::described;
use axum::response::Response;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::{GridUsage, JobsOf, OwnerUsage, ShareUsage};

/// Points of a percentage of which a whole has so many.
const POINTS: f64 = 100.0;

pub(super) async fn usage(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    Query::new(&given, &[DOMAIN])?;
    let shown = api.views.usage.get(api.client.answer_max()).await.ok_or_else(late)?;
    Ok(json(&UsageAnswer::of(&shown.view)))
}

described! {
    /// Use of shares, users and working groups.
    struct UsageAnswer of (it: &GridUsage) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = it.now,
        /// That cycle.
        cycle: u64 = it.cycle,
        /// Leaf shares, those furthest above their targets first; of a pool its classes of jobs.
        shares: Vec<ShareUsageAnswer> = it.shares.iter().map(ShareUsageAnswer::of).collect(),
        /// Users with jobs, most running cores first; at most 1000.
        users: Vec<OwnerUsageAnswer> = it.users.iter().map(OwnerUsageAnswer::of).collect(),
        /// Working groups likewise.
        groups: Vec<OwnerUsageAnswer> = it.groups.iter().map(OwnerUsageAnswer::of).collect(),
        /// How many users have jobs.
        users_in_all: u64 = it.users_in_all,
    }

    /// Use of a share.
    struct ShareUsageAnswer of (it: &ShareUsage) {
        /// Its name.
        gshare: String = it.gshare.clone(),
        /// Its part of what runs, from 0 to 1, as the rules measure it.
        r#use: f64 = it.part,
        /// The part that is its target.
        target: f64 = it.target,
        /// By how many points of a percentage it is above its target; below 0: it is below.
        points: f64 = (it.part - it.target) * POINTS,
        /// Its jobs.
        jobs: JobsOfAnswer = JobsOfAnswer::of(&it.jobs),
    }

    /// Use by a user or a working group.
    struct OwnerUsageAnswer of (it: &OwnerUsage) {
        /// Its name.
        owner: String = it.owner.clone(),
        /// Its jobs.
        jobs: JobsOfAnswer = JobsOfAnswer::of(&it.jobs),
        /// Its part of all cores that run, from 0 to 1.
        part: f64 = it.part,
        /// Rules whose throttles hold it, by name.
        throttled: Vec<String> = it.throttled.clone(),
    }

    /// Jobs and their cores.
    struct JobsOfAnswer of (it: &JobsOf) {
        /// Jobs that run.
        running: u64 = it.running,
        /// Jobs that have not begun to run.
        queued: u64 = it.queued,
        /// Cores of jobs that run.
        running_cores: u64 = it.running_cores,
        /// Cores of jobs that have not begun to run.
        queued_cores: u64 = it.queued_cores,
    }
}
