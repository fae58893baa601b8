//! When a timeout rule is due for a job (spec atlas 5).

use crate::command::{CommandRule, Reading, RuleSetting};
use crate::event::Status;
use crate::output::command::CommandKind;
use crate::state::gaps::{Gaps, put_off};
use crate::state::job::Job;
use crate::unit::Millis;

/// A job with what the rules read of it and around it.
pub struct GovernedJob<'a> {
    /// Its record.
    pub job: &'a Job,
    /// Its state.
    pub status: Status,
    /// Production source label.
    pub label: &'a str,
    /// Whether it has a sub-state.
    pub has_sub_status: bool,
    /// Whether it belongs to a task.
    pub has_task: bool,
    /// Its priority, or its task's where it states none.
    pub priority: i32,
    /// Whether its task forbids that its jobs are reassigned.
    pub keeps_queue: bool,
    /// When a job last started at its queue; 0: never, as far as is known.
    pub last_start: Millis,
    /// Whether its queue takes no new work for good: it is offline or in test.
    pub is_out: bool,
    /// Whether its task is of event service.
    pub is_event_service: bool,
    /// Whose jobs the rules are about.
    pub reading: Reading,
    /// Limits that override the rules' own.
    pub overrides: Overrides,
}

/// Limits of run-time parameters and of the job's queue that stand in place of the rules' own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Of T2: `TIMEOUT_defined`.
    pub defined: Option<Millis>,
    /// Of T11b: `TIMEOUT_holding`.
    pub holding: Option<Millis>,
    /// Of T9 and T10: `HEARTBEAT_TIMEOUT_<workflow>`.
    pub heartbeat: Option<Millis>,
    /// Of T12a: the queue's `transtimehi`.
    pub transferring_high: Option<Millis>,
    /// Of T12b: the queue's `transtimelo`.
    pub transferring_low: Option<Millis>,
    /// Of `analysis_timeout`: `ANALY_TIMEOUT_<working group>` or `ANALY_TIMEOUT`; 3 h where the
    /// queue is offline or in test.
    pub analysis: Option<Millis>,
}

/// A rule's finding about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutFinding {
    /// The rule is not about such jobs.
    NotConcerned,
    /// It will be due then, unless something happens.
    Deadline(Deadline),
}

/// When a rule is due, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The clock that runs out.
    pub clock: &'static str,
    /// Time at which the clock started.
    pub clock_at: Millis,
    /// How long it may run.
    pub limit: Millis,
    /// When the rule is due, without the spans that do not count.
    pub due_at: Millis,
}

/// Production jobs.
fn is_production(label: &str) -> bool {
    label == "managed"
}

/// Test jobs, as production's.
fn is_test(label: &str) -> bool {
    label == "test" || label.ends_with("_test") || label.starts_with("rc_")
}

/// Jobs that build what a user's other jobs run.
fn is_build(label: &str) -> bool {
    label == "panda"
}

/// Jobs whose transfers are watched.
fn is_watched(label: &str) -> bool {
    is_production(label) || is_test(label)
}

/// Jobs of users, and those that build what they run.
fn is_analysis(label: &str) -> bool {
    label == "user" || is_build(label)
}

/// Kind of a rule's command for a job: the rule's own, but `kill` for jobs that cannot be brokered
/// again.
pub fn kind(rule: CommandRule, case: &GovernedJob<'_>) -> CommandKind {
    match rule.text().kind {
        CommandKind::Reassign if is_unassignable(case) => CommandKind::Kill,
        kind => kind,
    }
}

/// Whether a job's input is not brokered again: it builds, or no task has it.
fn is_unassignable(case: &GovernedJob<'_>) -> bool {
    is_build(case.label) || !case.has_task
}

/// The clock of a rule, since when it runs, and its limit.
type Clock = (&'static str, Millis, Millis);

/// The clock of a rule and its limit, where the rule is about the job at all (spec atlas 5).
fn clock(setting: &RuleSetting, case: &GovernedJob<'_>) -> Option<Clock> {
    let (clock, at, limit) = match case.reading {
        Reading::Documented => documented(setting, case)?,
        Reading::Panda => of_panda(setting, case)?,
    };
    // A clock that nobody stated does not run.
    (at > 0).then_some((clock, at, limit))
}

/// The page's letter: all jobs in a state.
fn documented(setting: &RuleSetting, case: &GovernedJob<'_>) -> Option<Clock> {
    use CommandRule::{T1, T2, T3, T4, T5a, T5b, T6, T7, T8, T9, T10, T11a, T11b, T12a, T12b};
    let GovernedJob { job, status, overrides, .. } = *case;
    let is_high = case.priority >= setting.priority();
    let changed = ("changed_at", job.changed_at);
    let mut limit = setting.limit();
    let mut or = |stated: Option<Millis>| limit = stated.unwrap_or(limit);
    let (clock, at) = match (setting.rule, status) {
        (T1, Status::Pending) | (T4, Status::Throttled) => ("created_at", job.created_at),
        (T2, Status::Defined) => {
            or(overrides.defined);
            changed
        }
        (T3, Status::Assigned) | (T7, Status::Sent) => changed,
        (T5a, Status::Activated) | (T5b, Status::Starting) if !case.keeps_queue => changed,
        (T6, Status::Activated | Status::Starting) if is_high && !case.keeps_queue => changed,
        (T8, Status::Running) => run_since(job),
        (T9, Status::Running | Status::Starting) => {
            or(overrides.heartbeat);
            alive_at(job)
        }
        (T10, Status::Transferring) if case.has_sub_status => {
            or(overrides.heartbeat);
            alive_at(job)
        }
        (T11a, Status::Holding) if is_high => held_since(job),
        (T11b, Status::Holding) => {
            or(overrides.holding);
            held_since(job)
        }
        (T12a, Status::Transferring) if is_high => {
            or(overrides.transferring_high);
            over_since(job)
        }
        (T12b, Status::Transferring) if !is_high => {
            or(overrides.transferring_low);
            over_since(job)
        }
        _ => return None,
    };
    Some((clock, at, limit))
}

/// The jobs that PanDA's copyArchive selects, and its rules that the page does not name.
fn of_panda(setting: &RuleSetting, case: &GovernedJob<'_>) -> Option<Clock> {
    use CommandRule::{
        Age, AnalysisTimeout, EventService, T2, T3, T5a, T5b, T6, T8, T10, T11a, T12a, T12b,
    };
    use Status::{Activated, Assigned, Defined, Pending, Running, Starting, Transferring};
    let GovernedJob { job, status, label, overrides, .. } = *case;
    let is_high = case.priority >= setting.priority();
    let moves = is_production(label) && case.has_task && !case.keeps_queue;
    let (created, changed) = (("created_at", job.created_at), ("changed_at", job.changed_at));
    let mut limit = setting.limit();
    let (clock, at) = match (setting.rule, status) {
        (T2, Defined) => {
            limit = overrides.defined.unwrap_or(limit);
            match is_unassignable(case) {
                true => created,
                false if is_watched(label) => changed,
                false => return None,
            }
        }
        (T3, Pending | Defined | Assigned) if is_production(label) && case.has_task => changed,
        (T5a, Activated) | (T5b, Starting) if moves => changed,
        (T6, Activated | Starting) if moves && is_high && !job.sample.is_merge() => changed,
        (T2 | T3 | T5a | T5b | T6, _) => return None,
        (T8, status) if !status.is_ended() => created,
        (T10, _) if !is_analysis(label) => return None,
        (T10, Transferring) => {
            limit = overrides.heartbeat.unwrap_or(limit);
            alive_at(job)
        }
        // Above, where the page has "from ... on" (DIFF-31).
        (T11a, _) if case.priority <= setting.priority() => return None,
        (T12a | T12b, _) if !is_watched(label) => return None,
        (AnalysisTimeout, Defined | Assigned) if is_user_job(case) => {
            limit = overrides.analysis.unwrap_or(limit);
            created
        }
        (AnalysisTimeout, Activated | Starting) if is_user_job(case) => {
            limit = overrides.analysis.unwrap_or(limit);
            match job.activated_at {
                0 => ("changed_at", job.changed_at.max(job.created_at)),
                activated => ("activated_at", activated.max(job.created_at)),
            }
        }
        (Age, Pending | Defined | Assigned | Activated) => created,
        (Age, status) if !status.is_ended() && (is_analysis(label) || label == "test") => {
            alive_at(job)
        }
        (EventService, Running | Starting)
            if case.is_event_service && (is_high || job.sample.is_merge()) =>
        {
            changed
        }
        (Age | AnalysisTimeout | EventService, _) => return None,
        _ => return documented(setting, case),
    };
    Some((clock, at, limit))
}

/// Whether a job is one that a user's task has, and that can be brokered again.
fn is_user_job(case: &GovernedJob<'_>) -> bool {
    is_analysis(case.label) && case.has_task
}

/// When something was last heard of a job, and by what.
fn alive_at(job: &Job) -> (&'static str, Millis) {
    match job.heard_at() {
        at if at > job.changed_at => ("heartbeat", at),
        at => ("changed_at", at),
    }
}

/// Since when a job runs: when its payload started, or else when it reached the state. A worker
/// states the start by its own clock: it was not before the job was made.
fn run_since(job: &Job) -> (&'static str, Millis) {
    match job.started_at {
        0 => ("changed_at", job.changed_at),
        started => ("started_at", started.max(job.created_at)),
    }
}

/// When a job's payload ended; 0: not known. A worker states it by its own clock: it had not ended
/// when its last heartbeat arrived.
fn ended_at(job: &Job) -> Millis {
    match job.ended_at {
        0 => 0,
        ended if job.heartbeat.attempt == job.attempt => ended.max(job.heartbeat.at),
        ended => ended,
    }
}

/// Since when a job is holding: when its payload ended, or when it reached the state, whichever is
/// earlier.
fn held_since(job: &Job) -> (&'static str, Millis) {
    match ended_at(job) {
        0 => ("changed_at", job.changed_at),
        ended if ended <= job.changed_at => ("ended_at", ended),
        _ => ("changed_at", job.changed_at),
    }
}

/// When a job's payload ended, or started, or else when it reached its state. A worker states the
/// start by its own clock: it was not before the job was made.
fn over_since(job: &Job) -> (&'static str, Millis) {
    match (ended_at(job), job.started_at) {
        (0, 0) => ("changed_at", job.changed_at),
        (0, started) => ("started_at", started.max(job.created_at)),
        (ended, _) => ("ended_at", ended),
    }
}

/// Whether a rule reads heartbeats.
pub(super) fn is_of_heartbeats(rule: CommandRule) -> bool {
    matches!(rule, CommandRule::T9 | CommandRule::T10 | CommandRule::Age)
}

/// A rule's finding about a job; `gaps`: the spans that do not count.
pub fn standing(setting: &RuleSetting, case: &GovernedJob<'_>, gaps: &[&Gaps]) -> TimeoutFinding {
    let Some((clock, clock_at, limit)) = clock(setting, case) else {
        return TimeoutFinding::NotConcerned;
    };
    let mut due_at = put_off(clock_at, limit, gaps);
    // Where nothing is started on purpose it does not count when something was.
    let is_out = case.is_out && case.reading == Reading::Panda;
    if setting.rule == CommandRule::T6 && !is_out {
        due_at = due_at.max(put_off(case.last_start, setting.minutes("no_start_min"), gaps));
    }
    TimeoutFinding::Deadline(Deadline { clock, clock_at, limit, due_at })
}
