//! Jobs of a pool as the rules have them: milliseconds become seconds, empty text is nothing.

use crate::domain::cms::policy::facts::{Band, Class, CoresMax, HeldJob, PendingJob, seconds};
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::state::{PoolJob, PoolJobState, PoolMatch};

fn stated(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A job as it waits; `None`: no state of it was seen.
pub(super) fn pending(known: &PoolJob) -> Option<PendingJob> {
    let state = known.state.as_ref()?;
    let queued_at = if known.created_at > 0 { known.created_at } else { state.changed_at };
    let job = PendingJob {
        // In the state that it is in since it changed it has not fitted yet.
        not_fitted_since_s: Some(seconds(state.changed_at.max(queued_at))),
        ..PendingJob::new(&known.job, &state.workflow, 0, seconds(queued_at))
    };
    let attempt = i64::from(state.attempt);
    let Some((_, _, _, wants)) = &known.requirements else {
        return Some(PendingJob { cores_min: i64::from(state.cores.max(1)), attempt, ..job });
    };
    let cores_max = wants.cores_max.map(CoresMax::Cores);
    let is_before = known.tallied.is_some_and(|tallied| tallied < state.attempt);
    let failed = known.failed.filter(|_| is_before).unwrap_or_default();
    Some(PendingJob {
        seq: wants.seq.or(known.seen_as).unwrap_or_default(),
        class: wants.class,
        site_whitelist: wants.whitelist(),
        allow_overflow: wants.allow_overflow,
        high_io: wants.high_io,
        system_job: wants.system_job,
        whole_node: wants.whole_node,
        cores_min: wants.cores_min,
        cores_max: if wants.all_cores { Some(CoresMax::Node) } else { cores_max },
        base_cores: wants.base_cores,
        max_wall_time_s: wants.max_wall_time_s,
        max_rss_mb: wants.max_rss_mb,
        user_priority: wants.user_priority,
        attempt,
        last_failure: wants.last_failure.or(failed.0),
        last_exit_code: failed.1,
        resources: wants.resources.clone(),
        labels: wants.labels.clone(),
        barred: known.barred.clone(),
        ..job
    })
}

/// A job that holds slots: by a match, or because it was seen running.
pub(super) fn held(known: &PoolJob, pool: &Pool) -> Option<HeldJob> {
    let (job, state) = (pending(known)?, known.state.as_ref()?);
    match &known.matched {
        Some(matched) => Some(matched_job(job, state, matched)),
        None => Some(running_job(job, state, pool)),
    }
}

fn matched_job(job: PendingJob, state: &PoolJobState, made: &PoolMatch) -> HeldJob {
    let matched = &made.matched;
    let is_same = state.attempt == matched.job_attempt;
    let started_at_s = Some(state.started_at).filter(|at| is_same && *at > 0).map(seconds);
    let matched_at_s = seconds(made.at);
    let counts_from_s = started_at_s.unwrap_or(matched_at_s);
    HeldJob {
        // Later records of the job do not move what the decision booked.
        job: PendingJob { workflow: made.workflow.clone(), ..job },
        class: matched.class,
        user: made.user.clone(),
        run_site: made.site.clone(),
        cores: matched.cores,
        rss_mb: matched.rss_mb,
        weight_milli: matched.weight_milli,
        band: matched.band,
        overflow_source: stated(&matched.overflow_source),
        charged_group: stated(&matched.charged_group),
        node: stated(&matched.node),
        reserved_at_s: started_at_s.is_none().then_some(matched_at_s),
        counts_from_s,
        started_at_s,
        expected_end_s: Some(counts_from_s.saturating_add(matched.wall_time_s)),
    }
}

/// A job that runs without a decision of ours: it ran before, or was started by hand. It is booked
/// by what its site and workflow are now.
fn running_job(job: PendingJob, state: &PoolJobState, pool: &Pool) -> HeldJob {
    let workflow = pool.name(&job.workflow).and_then(|name| pool.workflow(name));
    let record = workflow.and_then(|entry| entry.known.record.as_ref());
    let site = pool.name(&state.site).and_then(|name| pool.site(name));
    let cores = i64::from(state.cores.max(1));
    let kappa_milli = site.map_or(1000, |terms| terms.kappa_milli);
    let started_at = if state.started_at > 0 { state.started_at } else { state.changed_at };
    HeldJob {
        class: record.map_or(Class::Central, |record| record.facts.class),
        user: record.map_or_else(|| state.user.clone(), |record| record.user.clone()),
        run_site: state.site.clone(),
        cores,
        rss_mb: job.max_rss_mb.unwrap_or_else(|| pool.settings().default_rss_mb(cores)),
        weight_milli: cores.saturating_mul(kappa_milli),
        band: Band::Normal,
        overflow_source: None,
        charged_group: None,
        node: None,
        reserved_at_s: None,
        counts_from_s: seconds(started_at),
        started_at_s: Some(seconds(started_at)),
        expected_end_s: None,
        job,
    }
}
