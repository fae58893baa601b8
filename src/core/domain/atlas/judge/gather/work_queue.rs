//! Work queues: the jobs of a share and resource type on the whole grid, with the limits of the job
//! throttler (spec atlas 10.5).

use super::owner::throttled;
use crate::domain::atlas::judge::caches::WorkQueues;
use crate::domain::atlas::policy::work_queue::{Backlog, JobLimit, JobLimits, Reach, WorkQueue};
use crate::id::Name;
use crate::judge::view::CutView;
use crate::output::throttle;
use crate::state::State;

/// Where resource types of many cores begin, and what gdpconfig calls all of them, and all others.
const MANY: &str = "MCORE";
const ONE: &str = "SCORE";

/// The share whose tasks of many cores make jobs of one core: all of its jobs count together.
const EVENT_SERVICE: &str = "eventservice";

impl CutView<'_> {
    /// A share and resource type, if the job throttler applies to the share; `component`: of
    /// gdpconfig.
    pub(crate) fn work_queue(
        self,
        component: &'static str,
        (gshare, resource_type): (&str, &str),
    ) -> Option<WorkQueue> {
        let CutView { state, caches, .. } = self;
        if !self.is_share_throttled(gshare) {
            return None;
        }
        let names = (state.known_name(gshare), state.known_name(resource_type));
        let limits = || limits(state, component, (gshare, resource_type));
        let mut work = WorkQueue {
            limits: match names {
                (Some(gshare), Some(own)) => caches.job_limits((component, (gshare, own)), limits),
                _ => limits(),
            },
            reach: if gshare == EVENT_SERVICE { Reach::Share } else { Reach::Type },
            throttled: throttled(state, &throttle::work_queue(gshare, resource_type)),
            ..WorkQueue::default()
        };
        if let Some(gshare) = names.0 {
            count(state, caches.work_queues(state), (gshare, resource_type), &mut work);
        }
        Some(work)
    }
}

/// Adds the jobs of a share, those of other resource types by how far they count.
fn count(state: &State, jobs: &WorkQueues, (gshare, own): (Name, &str), work: &mut WorkQueue) {
    let is_all = work.reach == Reach::Share;
    let mut add = |kind: &str, backlog: &Backlog| {
        let [of_type, family, share] = &mut work.backlogs;
        share.add(backlog);
        if kind.starts_with(if own.starts_with(MANY) { MANY } else { ONE }) {
            family.add(backlog);
        }
        if kind == own {
            of_type.add(backlog);
        }
    };
    let text = |resource_type: Name| state.names.text(resource_type);
    jobs.of_share(gshare).for_each(|(resource_type, backlog)| add(text(resource_type), backlog));
    for (resource_type, priority, level) in state.ledger.levels_of(gshare) {
        let reserved = u64::from(level.reserved);
        add(text(resource_type), &Backlog { reserved, ..Backlog::default() });
        let waiting = u64::from(level.jobs) + reserved;
        if waiting == 0 || text(resource_type) != own && !is_all {
            continue;
        }
        if priority > work.top_priority {
            (work.top_priority, work.top_jobs) = (priority, waiting);
        } else if priority == work.top_priority {
            work.top_jobs += waiting;
        }
    }
}

/// The limits that gdpconfig states: of the resource type, else of its family, else of the share. A
/// limit of 0 is none.
fn limits(state: &State, component: &str, (gshare, resource_type): (&str, &str)) -> JobLimits {
    let threshold = |key: &str| -> Option<f64> {
        let stated: f64 = state.parameter(component, key)?.trim().parse().ok()?;
        (stated.is_finite() && stated >= 0.0).then_some(stated)
    };
    let number = |key: &str| threshold(key).filter(|stated| *stated > 0.0);
    let family = [MANY, ONE].into_iter().find(|family| resource_type.starts_with(family));
    let limit = |tag: &str| {
        let of = |ending: &str| number(&format!("{tag}_{gshare}{ending}"));
        let of_type = of(&format!("_{resource_type}")).map(|jobs| (jobs, Reach::Type));
        let of_family = || Some((of(&format!("_{}*", family?))?, Reach::Family));
        let of_share = || of("").map(|jobs| (jobs, Reach::Share));
        let (jobs, reach) = of_type.or_else(of_family).or_else(of_share)?;
        Some(JobLimit { jobs, reach })
    };
    JobLimits {
        queue_limit: limit("NQUEUELIMIT"),
        running_cap: limit("NRUNNINGCAP"),
        queue_cap: limit("NQUEUECAP"),
        threshold: threshold("THROTTLE_THRESHOLD"),
        shortage_threshold: threshold("THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE"),
    }
}
