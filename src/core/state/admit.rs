//! Admission: requests that are rejected before any candidate is judged, and those for which no
//! room is left to be deferred.
//!
//! Every reason is one variant of [`Refusal`], found by [`State::refusal`] from what is known at
//! the cut alone, so that a refusal replays like any other decision. A refused request takes its
//! place in the order of judgement and counts in `judgements_per_cycle`.

use crate::event::{OutcomeKind, Task, TaskPhase};
use crate::output::decision::ATTEMPT_MAX;
use crate::state::State;
use crate::state::record::{Placement, RequestState};
use crate::unit::{DAY, HOUR, MINUTE, Millis};

/// The smallest plausible time of a request; ms since 1970 (March 1973). A time in seconds stays
/// below it until the year 5138.
pub const PLAUSIBLE_FROM: Millis = 100_000_000_000;

/// Why a request is rejected before any candidate is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The subject asked again with a higher attempt before this one had its final answer.
    Superseded {
        /// The attempt that asked last.
        by: u64,
    },
    /// The request itself has ended.
    Withdrawn {
        /// When, by its own clock.
        at: Millis,
    },
    /// The task has ended.
    TaskEnded {
        /// When, by its own clock.
        ended_at: Millis,
    },
    /// `changed_at` is no time in milliseconds.
    ChangedAtImplausible {
        /// As the record has it.
        changed_at: Millis,
    },
    /// It asked before the log begins, so whether it was answered cannot be known.
    HistoryMissing,
    /// It was deferred for as long as a run-time parameter lets tasks of its label wait.
    PendingTimeout {
        /// When it was first deferred.
        since: Millis,
        /// For how long it may be.
        limit: Millis,
    },
    /// It was too old when it was first judged.
    Expired(Age),
    /// It was deferred until it was too old.
    GaveUp(Age),
    /// It would be deferred, and as many requests as may be deferred are. Found after
    /// the judgement.
    NoRoom {
        /// `open_requests_max`.
        most: usize,
    },
}

/// The age of a request at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    /// When the request last changed.
    pub changed_at: Millis,
    /// Time of the task topic at the cut.
    pub now: Millis,
    /// `request_lifetime_d`.
    pub lifetime: Millis,
}

/// The name of each reason, and what can be done about it.
const REMEDIES: [(&str, &str); 26] = [
    ("superseded", "nothing: the answer to the higher attempt follows"),
    ("withdrawn", "nothing; if the work is still wanted, ask again with a higher attempt"),
    (
        "task_ended",
        "nothing; if the task goes on, publish its own record with a higher attempt first",
    ),
    (
        "changed_at_implausible",
        "ask again with a higher attempt and times in milliseconds since 1970",
    ),
    ("history_missing", "ask again with a higher attempt"),
    ("expired", "ask again with a higher attempt and the present time as changed_at"),
    (
        "pending_timeout",
        "ask again with a higher attempt if the work is still wanted, or raise the run-time parameter watchdog/PENDING_TIMEOUT_<label>",
    ),
    (
        "gave_up",
        "ask again with a higher attempt if the work is still wanted; a request that is published again with a newer changed_at does not expire",
    ),
    (
        "open_requests_max",
        "ask again with a higher attempt when fewer requests are deferred, or raise open_requests_max in the topology (docs/sizing.md says what each takes)",
    ),
    // Of a job of a pool of slots (spec cms-nordugrid A.9).
    (
        "class_conflict",
        "the job states another class than its workflow: publish it again, as a higher attempt, with the class of its workflow or with none",
    ),
    (
        "no_workflow",
        "the job names no workflow: publish it again, as a higher attempt, with its workflow as task",
    ),
    (
        "workflow_unknown",
        "no record of the job's workflow came within workflow_hold_s: publish the workflow on task, then the job again as a higher attempt",
    ),
    (
        "empty_whitelist",
        "the job has a whitelist without a site, most often since a look-up of its input failed: publish it again, as a higher attempt, with the sites that have its input, or without a whitelist if it may run anywhere",
    ),
    (
        "highio_without_whitelist",
        "a job that reads heavily must name the sites it may read: publish it again, as a higher attempt, with a whitelist or without high_io; the policy's parameter highio_without_whitelist lets such jobs run as others",
    ),
    (
        "system_flag_unauthorised",
        "the user of the job's workflow may not flag system jobs: publish it again, as a higher attempt, without system_job, or give the user the role production in its record on user",
    ),
    (
        "preassigned_refused",
        "the task names one queue in site, which a filter rejects while others pass; fates has which: mend what it measured, or name another queue or none, and publish the task again, as a higher attempt",
    ),
    (
        "bad_core_request",
        "publish the job again, as a higher attempt, with cores_min and base_cores of 1 or more, cores_max not below cores_min, and whole_node with no more cores than the largest node has",
    ),
    (
        "bad_resource_request",
        "publish the job again, as a higher attempt, with max_wall_time_s and max_rss_mb above 0, or without them: then the policy's defaults hold",
    ),
    // Of a task of PanDA's generic broker (spec panda-generic 1).
    (
        "site_pattern_fails",
        "the task's site is no name of a queue, and no pattern that can be read: mend it, and publish the task again, as a higher attempt",
    ),
    (
        "unknown_queue_fails",
        "there is no queue of the name that the task's input is bound to, and PanDA's broker fails for want of it: publish that queue or unbind the input, and publish the task again, as a higher attempt",
    ),
    (
        "nickname_fails",
        "the nickname of a queue is not its name, or missing, and PanDA's broker fails for each task that could go there; fates has which: mend its nickname, and publish the task again, as a higher attempt",
    ),
    (
        "maxtime_fails",
        "the maxtime of a queue is null or no number, and PanDA's broker fails for each task with a walltime that could go there; fates has which: mend its maxtime, and publish the task again, as a higher attempt",
    ),
    (
        "processing_list_fails",
        "the allowed_processing or excluded_processing of a queue is no text, and PanDA's broker fails for each task that could go there; fates has which: mend it, and publish the task again, as a higher attempt",
    ),
    (
        "unknown_site",
        "no queue has the name that the task states as its site, and none of its cloud a name that matches: mend the site or publish the queue, and publish the task again, as a higher attempt",
    ),
    (
        "files_not_listed",
        "PanDA's data management client lists no files (lists_files is off), and a task that reads any finds no queue: take a client that lists them and set lists_files, and publish the task again, as a higher attempt",
    ),
    (
        "no_queue_fits",
        "no queue takes the task as both are configured; fates has what each objects to: mend the task or a queue, and publish the task again, as a higher attempt",
    ),
];

/// Remedy of a rejection, by its reason; `None` for a reason that is not of this file.
pub fn remedy(reason: &str) -> Option<&'static str> {
    let name = reason.split('(').next().unwrap_or(reason);
    REMEDIES.iter().find(|(known, _)| *known == name).map(|(_, remedy)| *remedy)
}

impl Refusal {
    /// The reason as text: its name, then its figures.
    pub fn reason(&self) -> String {
        match self {
            Refusal::Superseded { by } => format!("superseded(attempt {by})"),
            Refusal::Withdrawn { at } => format!("withdrawn(at {at})"),
            Refusal::TaskEnded { ended_at } => format!("task_ended(at {ended_at})"),
            Refusal::ChangedAtImplausible { changed_at } => format!(
                "changed_at_implausible({changed_at}, expected milliseconds since 1970, at least \
                 {PLAUSIBLE_FROM})"
            ),
            Refusal::HistoryMissing => "history_missing".to_owned(),
            Refusal::PendingTimeout { since, limit } => {
                let hours = *limit as f64 / HOUR as f64;
                format!("pending_timeout(deferred at {since}, PENDING_TIMEOUT is {hours} h)")
            }
            Refusal::Expired(age) => format!("expired({})", age.text()),
            Refusal::GaveUp(age) => format!("gave_up({})", age.text()),
            Refusal::NoRoom { most } => format!("open_requests_max({most} requests are deferred)"),
        }
    }
}

impl Age {
    fn text(&self) -> String {
        let Age { changed_at, now, lifetime } = self;
        let days = now.saturating_sub(*changed_at) / DAY;
        format!(
            "changed_at {changed_at} is {days} d before {now}, request_lifetime_d is {}; expected \
             milliseconds since 1970",
            lifetime / DAY
        )
    }
}

/// The attempt that was answered last, if it placed a single job at a target that did not take it:
/// another target is chosen, in the attempt after it (spec cms-nordugrid N-25).
fn refused_attempt(request: &RequestState) -> Option<u64> {
    let placement = request.placements.last()?;
    let is_last = request.answer.as_ref()?.attempt == placement.attempt;
    let outcome = request.outcomes.get(&placement.decision)?;
    (is_last && *outcome != OutcomeKind::Accepted).then_some(placement.attempt)
}

/// The attempt that is asked for: the record's, or the one after that which a target refused.
pub fn asked_attempt(request: &RequestState, task: &Task) -> u64 {
    refused_attempt(request).map_or(task.attempt, |refused| {
        task.attempt.max(refused.saturating_add(1).min(ATTEMPT_MAX))
    })
}

/// Targets that refused a single job since it was submitted last (spec cms-nordugrid N-25): those
/// of attempts before the record's may be chosen again.
pub fn refusing_targets(request: &RequestState) -> Vec<String> {
    let submitted = request.task.as_ref().map_or(0, |task| task.attempt);
    let is_refused = |placement: &&Placement| {
        let outcome = request.outcomes.get(&placement.decision);
        let is_of_this = placement.attempt >= submitted;
        is_of_this && outcome.is_some_and(|outcome| *outcome != OutcomeKind::Accepted)
    };
    let mut targets: Vec<String> =
        request.placements.iter().filter(is_refused).map(|it| it.target.clone()).collect();
    targets.sort();
    targets.dedup();
    targets
}

/// The attempt below the one that is asked for now, if any is, that is answered first: one that was
/// deferred, or has no answer, and asks no more. The lowest is answered first, so that the newest
/// answer tells of all attempts below it that nothing follows.
pub fn passed_attempt(request: &RequestState) -> Option<u64> {
    let task = request.task.as_ref()?;
    let deferred = request.answer.as_ref().filter(|answer| !answer.is_final);
    let deferred = deferred.map(|answer| answer.attempt).filter(|it| *it < task.attempt);
    deferred.or(request.passed.first().copied())
}

/// Whether a subject still waits for a final answer: it asks and has none, or it asked, has none,
/// and then took its request back or raised its attempt.
pub fn is_open(request: &RequestState) -> bool {
    let Some(task) = &request.task else { return false };
    if passed_attempt(request).is_some() {
        return true;
    }
    if refused_attempt(request).is_some() {
        return task.phase == TaskPhase::Asking;
    }
    match &request.answer {
        Some(answer) if answer.attempt > task.attempt => false,
        Some(answer) if answer.attempt == task.attempt => !answer.is_final,
        Some(_) | None => task.phase == TaskPhase::Asking,
    }
}

impl State {
    /// Why an open request is rejected at this cut without a judgement.
    pub fn refusal(&self, request: &RequestState) -> Option<Refusal> {
        let task = request.task.as_ref()?;
        if let Some(attempt) = passed_attempt(request) {
            let asking = (task.phase == TaskPhase::Asking).then_some(task.attempt);
            let by = asking.or(request.passed.last().copied()).filter(|by| *by > attempt);
            return Some(match by {
                Some(by) => Refusal::Superseded { by },
                None => Refusal::Withdrawn { at: task.changed_at },
            });
        }
        if task.phase == TaskPhase::Ended {
            return Some(Refusal::Withdrawn { at: task.changed_at });
        }
        if let Some(ended_at) = self.ended_at(task) {
            return Some(Refusal::TaskEnded { ended_at });
        }
        if task.changed_at < PLAUSIBLE_FROM {
            return Some(Refusal::ChangedAtImplausible { changed_at: task.changed_at });
        }
        let answer = request.answer.as_ref();
        let is_deferred = answer.is_some_and(|answer| answer.attempt == task.attempt);
        if !is_deferred && task.asked_at < self.known_since {
            return Some(Refusal::HistoryMissing);
        }
        if let Some(answer) = answer.filter(|_| is_deferred)
            && answer.until <= self.now
            && let Some(limit) = self.pending_timeout(&task.label)
            && answer.first_answered_at.saturating_add(limit) <= self.now
        {
            return Some(Refusal::PendingTimeout { since: answer.first_answered_at, limit });
        }
        let age = self.age(task)?;
        Some(if is_deferred { Refusal::GaveUp(age) } else { Refusal::Expired(age) })
    }

    /// When a request or its task ended; `None` while both go on. A request that was made or
    /// renewed after the end of its task goes on: PanDA's users try ended tasks again, under the
    /// same id.
    pub(crate) fn ended_at(&self, task: &Task) -> Option<Millis> {
        let of_task = self.requests.of(&task.task).and_then(|request| request.task.as_ref());
        let of_task = of_task.filter(|whole| whole.changed_at >= task.changed_at);
        [Some(task), of_task]
            .into_iter()
            .flatten()
            .filter(|task| task.phase == TaskPhase::Ended)
            .map(|task| task.changed_at)
            .max()
    }

    /// For how long tasks of a label may stay deferred, where a run-time parameter says so: hours
    /// (spec atlas 11). No deferral ends later, and a request is refused at the end of one.
    pub(crate) fn pending_timeout(&self, label: &str) -> Option<Millis> {
        let hours = self.parameter("watchdog", &format!("PENDING_TIMEOUT_{label}"))?;
        let hours: f64 = hours.trim().parse().ok()?;
        (hours.is_finite() && hours > 0.0).then_some(((hours * HOUR as f64) as Millis).max(MINUTE))
    }

    /// The age of a request, if it has reached its lifetime.
    fn age(&self, task: &Task) -> Option<Age> {
        use crate::cut::Topic;
        let (now, lifetime) =
            (self.times.of(Topic::Task).time, self.setting.limits.request_lifetime_ms);
        let age = Age { changed_at: task.changed_at, now, lifetime };
        (task.changed_at.saturating_add(lifetime) <= now).then_some(age)
    }
}
