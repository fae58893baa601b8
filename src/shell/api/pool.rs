//! A pool of slots at a glance.

use super::domains::Of;
use super::lists::late;
use super::query::{DOMAIN, Params, Query};
use super::{Refused, looks};
use crate::described::described;
use crate::http::line;
use axum::response::Response;
use std::sync::Arc;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::{
    ClassUse, Drain, IdleReason, Offers, PoolGlance, UserOfPool, WorkflowAt,
};

pub(super) async fn pool(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    Query::new(&given, &[DOMAIN])?;
    let shown = api.views.pool.get(api.client.answer_max()).await.ok_or_else(late)?;
    let Some(glance) = &shown.view else {
        return Err(Refused::Unknown(
            format!(
                "domain {} has no pool of slots: none of its policies answers slot offers",
                api.reasons.domain
            ),
            "ask /api/v1/queues for what runs and waits there".into(),
        ));
    };
    let (text, turn) = match shown.text.get() {
        Some(made) => made,
        None => {
            let turn = api.views.pool.looks.turn().await?;
            shown.text.get_or_init(|| (line(&PoolAnswer::of(glance)).into(), turn))
        }
    };
    Ok(looks::held(text.clone(), Arc::clone(turn)))
}

described! {
    /// A pool of slots at a glance.
    struct PoolAnswer of (it: &PoolGlance) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = it.now,
        /// That cycle.
        cycle: u64 = it.cycle,
        /// Jobs that wait for slots.
        idle: u64 = it.idle,
        /// The fewest cores that they take.
        idle_cores: u64 = it.idle_cores,
        /// Jobs in state `held`: they wait, and for no offer. In a pool of HTCondor also those that
        /// are left to it.
        on_hold: u64 = it.on_hold,
        /// Jobs that were matched to slots and are not seen to run yet.
        held: u64 = it.held,
        /// Jobs that run.
        running: u64 = it.running,
        /// Workflows that neither ended nor were killed.
        workflows_open: u64 = it.workflows_open,
        /// Why jobs are idle, most jobs first; in sum they are all idle jobs. A job counts by the
        /// offer at hand that is nearest to taking it, alike jobs as the first of them; a look
        /// makes 50000 comparisons, jobs beyond count as `not_looked_at`.
        idle_by_reason: Vec<IdleReasonAnswer> =
            it.idle_by_reason.iter().map(IdleReasonAnswer::of).collect(),
        /// Open workflows, most idle jobs first, then most on hold; at most 1000.
        workflows: Vec<WorkflowAnswer> = it.workflows.iter().map(WorkflowAnswer::of).collect(),
        /// Users with jobs that run, are idle or on hold, the largest share first; at most 200.
        users: Vec<PoolUserAnswer> = it.users.iter().map(PoolUserAnswer::of).collect(),
        /// Use of the classes against their quotas.
        classes: Vec<ClassUseAnswer> = it.classes.iter().map(ClassUseAnswer::of).collect(),
        /// Nodes that are kept free for a job, the newest first; at most 200.
        drains: Vec<DrainAnswer> = it.drains.iter().map(DrainAnswer::of).collect(),
        /// How many there are.
        drains_open: u64 = it.drains_open,
        /// Live offers with cores left.
        offers: OffersAnswer = OffersAnswer::of(&it.offers),
    }

    /// Idle jobs that lack the same.
    struct IdleReasonAnswer of (it: &IdleReason) {
        /// Filter that objects, or another reason, by name.
        filter: &'static str = it.filter,
        /// The same in words.
        title: String = it.title.clone(),
        /// Its meaning, or what would let them go.
        help: String = it.help.clone(),
        /// How many jobs.
        jobs: u64 = it.jobs,
    }

    /// An open workflow of a pool.
    struct WorkflowAnswer of (it: &WorkflowAt) {
        /// Its name.
        workflow: String = it.workflow.clone(),
        /// Its class: central or analysis.
        class: &'static str = it.class,
        /// Its user.
        user: String = it.user.clone(),
        /// Its priority.
        priority: i64 = it.priority,
        /// Number of its jobs; null where that is not stated.
        total: Option<u64> = it.total,
        /// Jobs that got slots, or were removed: the sum of `running`, `finished` and `failed`.
        given: u64 = it.given,
        /// Jobs that wait.
        idle: u64 = it.idle,
        /// Jobs in state `held`: they wait for no offer.
        on_hold: u64 = it.on_hold,
        /// Jobs that have slots.
        running: u64 = it.running,
        /// Jobs that finished.
        finished: u64 = it.finished,
        /// Jobs that failed for good or were removed; what is known of a workflow does not tell
        /// these apart.
        failed: u64 = it.failed,
        /// When a job of it last got slots; ms since 1970. Null where the process has not seen it.
        last_match_at: Option<Millis> = it.last_match_at,
        /// When it was injected; ms since 1970.
        injected_at: Option<Millis> = it.injected_at,
    }

    /// A user of a pool.
    struct PoolUserAnswer of (it: &UserOfPool) {
        /// Name.
        user: String = it.user.clone(),
        /// The first of its groups; empty where none is known.
        group: String = it.group.clone(),
        /// What fair share goes by: its decayed use with what it holds; cores by power. Of one
        /// level the user with the least goes first.
        share: f64 = it.share_milli as f64 / 1_000.0,
        /// Jobs that run.
        running: u64 = it.running,
        /// Their cores.
        running_cores: u64 = it.running_cores,
        /// Jobs that wait.
        idle: u64 = it.idle,
        /// Jobs in state `held`.
        on_hold: u64 = it.on_hold,
    }

    /// Use of a class of jobs.
    struct ClassUseAnswer of (it: &ClassUse) {
        /// Class: central or analysis.
        class: &'static str = it.class,
        /// Its part of the power that is used, from 0 to 1.
        r#use: f64 = it.part,
        /// Its part of the quotas of all sites, from 0 to 1.
        quota: f64 = it.quota,
    }

    /// A node that is kept free for a job.
    struct DrainAnswer of (it: &Drain) {
        /// Node.
        node: String = it.node.clone(),
        /// Its site.
        site: String = it.site.clone(),
        /// The job.
        job: String = it.job.clone(),
        /// When it was begun; ms since 1970.
        since: Millis = it.since,
        /// When the node is expected to be free; ms since 1970.
        until: Millis = it.until,
        /// Cores that the job takes at least.
        cores: u64 = it.cores,
    }

    /// Live offers with cores left.
    struct OffersAnswer of (it: &Offers) {
        /// How many.
        live: u64 = it.live,
        /// Cores that are left of them.
        cores_free: u64 = it.cores_free,
        /// When the oldest was announced; ms since 1970.
        oldest_at: Option<Millis> = it.oldest_at,
        /// When the newest was announced; ms since 1970.
        newest_at: Option<Millis> = it.newest_at,
    }
}
