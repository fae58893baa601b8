//! Requests that wait, each as a row that outlives the look at the engine.

use super::{Helps, ReasonSorter, title};
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::state::blockers::Blockers;
use yardmaster_core::state::record::RequestState;
use yardmaster_core::unit::Millis;

/// A request that waits; of a pool of slots the idle jobs of a workflow.
#[derive(Clone, Debug)]
pub struct WaitingRow {
    /// Its subject.
    pub subject: String,
    /// Its task.
    pub task: String,
    /// The policy that answers it.
    pub policy: String,
    /// Share.
    pub gshare: String,
    /// User; empty: not known.
    pub user: String,
    /// Working group; empty: none.
    pub group: String,
    /// Jobs it asks for.
    pub jobs: u32,
    /// Cores of each; `None`: not stated.
    pub cores: Option<u32>,
    /// When it first asked; 0: not known.
    pub asked_at: Millis,
    /// Which attempt asks.
    pub attempt: u64,
    /// Deferrals of this attempt.
    pub answers: u32,
    /// The newest of them; `None`: there is none.
    pub judged_at: Option<Millis>,
    /// Of a workflow: when a job of it last got slots, if that is known.
    pub last_slots_at: Option<Millis>,
    /// Of a workflow: how many of its jobs got slots or were removed.
    pub jobs_with_slots: Option<u64>,
    /// When this attempt was first deferred.
    pub first_judged_at: Option<Millis>,
    /// It is judged again then at the latest.
    pub until: Option<Millis>,
    /// Why it waits: see [`super::Sorted::reason`]; of a pool one of its own reasons.
    pub reason: String,
    /// The reason in a shifter's words.
    pub title: String,
    /// Meaning of a reason of a pool; empty for the others, which are filters with a help.
    pub help: String,
    /// Help that lets it go.
    pub helps: Helps,
    /// The throttle that holds it.
    pub held_by: Option<Box<Throttle>>,
    /// Why each candidate is rejected.
    pub blockers: Blockers,
}

/// A request as a row; `None` if it asks nothing.
pub(super) fn row<'a>(
    sorter: &mut ReasonSorter<'a>,
    request: &'a RequestState,
) -> Option<WaitingRow> {
    let (task, sorted) = (request.task.as_ref()?, sorter.sort(request)?);
    let deferral = sorted.deferral;
    Some(WaitingRow {
        subject: request.subject.clone(),
        task: task.task.clone(),
        policy: task.policy.clone(),
        gshare: task.gshare.clone(),
        user: task.user.clone(),
        group: task.working_group.clone(),
        jobs: task.jobs,
        cores: task.core_count,
        asked_at: task.asked_at,
        attempt: task.attempt,
        answers: deferral.map_or(0, |it| it.ordinal),
        judged_at: deferral.map(|it| it.now),
        last_slots_at: None,
        jobs_with_slots: None,
        first_judged_at: deferral.map(|it| it.first_answered_at),
        until: deferral.map(|it| it.until),
        reason: sorted.reason.to_owned(),
        title: title(sorted.reason),
        help: String::new(),
        helps: sorted.helps,
        held_by: sorted.held_by.cloned().map(Box::new),
        blockers: deferral.map(|it| it.blockers.clone()).unwrap_or_default(),
    })
}
