//! Rules that hold an owner or a task as a whole (spec atlas 8.1): what each of them compares, and
//! what is to be said when what is measured crosses its limit.
//!
//! A throttle is set when the measure is above the limit, and lifted once it has come down by the
//! hysteresis and the least dwell is over. In between it stands, and is said again before it
//! lapses.

use super::owner::Owner;
use super::{Args, Case};
use crate::core::event::Task;
use crate::core::output::throttle::{SubjectKind, Throttle, owner_of};
use crate::core::unit::Millis;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Too many running jobs.
    RunningJobs,
    /// Too many queued jobs.
    QueuedJobs,
    /// Too many running cores.
    RunningCores,
    /// Too many queued cores.
    QueuedCores,
    /// Global quota used up.
    Quota,
    /// Global quota nearly used up.
    NearQuota,
    /// Share used up, as the task's class sees it.
    Share,
}

/// What is to be known of a rule.
pub struct Words {
    /// Its name in the specification, on the bus and in metrics.
    pub name: &'static str,
    /// What it compares.
    pub counter: &'static str,
    /// Unit of that.
    pub unit: &'static str,
    /// One line for an operator.
    pub help: &'static str,
}

impl Rule {
    /// Every rule, in the order of the specification.
    pub const ALL: [Rule; 7] = [
        Rule::RunningJobs,
        Rule::QueuedJobs,
        Rule::RunningCores,
        Rule::QueuedCores,
        Rule::Quota,
        Rule::NearQuota,
        Rule::Share,
    ];

    /// Those that hold whole owners.
    pub const OF_OWNERS: [Rule; 6] = [
        Rule::RunningJobs,
        Rule::QueuedJobs,
        Rule::RunningCores,
        Rule::QueuedCores,
        Rule::Quota,
        Rule::NearQuota,
    ];

    /// What is to be known of it.
    pub const fn words(self) -> Words {
        let (name, counter, unit, help) = match self {
            Rule::RunningJobs => ("A1", "running_jobs", "jobs", "running jobs above the cap"),
            Rule::QueuedJobs => ("A2", "queued_jobs", "jobs", "queued jobs above twice the cap"),
            Rule::RunningCores => ("A3", "running_cores", "cores", "running cores above the cap"),
            Rule::QueuedCores => {
                ("A4", "queued_cores", "cores", "queued cores above twice the cap")
            }
            Rule::Quota => ("A5", "quota_used", "%", "a global quota is used up"),
            Rule::NearQuota => ("A5'", "quota_used", "%", "a global quota is nearly used up"),
            Rule::Share => ("A6", "share_usage", "%", "the share is used up for the task's class"),
        };
        Words { name, counter, unit, help }
    }

    /// Its name: see [`Words::name`].
    pub const fn name(self) -> &'static str {
        self.words().name
    }

    /// The rule of a name.
    pub fn from_name(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// The rule that gives a reason to hold a task; `None`: some other step does.
    pub fn of_reason(reason: &str) -> Option<Rule> {
        match reason {
            "running_jobs_cap" => Some(Rule::RunningJobs),
            "queued_jobs_cap" => Some(Rule::QueuedJobs),
            "running_cores_cap" => Some(Rule::RunningCores),
            "queued_cores_cap" => Some(Rule::QueuedCores),
            "over_global_quota" => Some(Rule::Quota),
            "near_global_quota" => Some(Rule::NearQuota),
            "gshare_class_a" | "gshare_class_b" | "gshare_class_c" => Some(Rule::Share),
            _ => None,
        }
    }

    /// Who is held by it when a task is.
    pub fn subject(self, task: &Task) -> (SubjectKind, &str) {
        match self {
            Rule::Share => (SubjectKind::Task, &task.task),
            _ => owner_of(task),
        }
    }
}

/// What a rule measures, and its limit; both in the rule's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// The rule.
    pub rule: Rule,
    /// The word for it in a deferral.
    pub reason: &'static str,
    /// What is measured.
    pub measured: f64,
    /// What passes.
    pub limit: f64,
}

/// How throttles are lifted and lapse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// How far below its limit a measure has to come; a part of the limit.
    pub hysteresis: f64,
    /// Least time a throttle stands.
    pub dwell: Millis,
    /// How long a word holds.
    pub lapse: Millis,
}

impl Margin {
    /// What has to be measured at most for a throttle to be lifted.
    pub fn lift_limit(&self, limit: f64) -> f64 {
        limit * (1.0 - self.hysteresis)
    }
}

/// How a kind of policy holds owners and tasks as a whole.
pub struct Throttling {
    /// Its parameters.
    pub margin: fn(&Args) -> Margin,
    /// What its rules measure of a user or working group; those without a limit are left out.
    pub of_owner: fn(&Owner, SubjectKind, &Args) -> Vec<Gauge>,
    /// What its rule measures for a task; `None`: the rule says nothing of it.
    pub of_task: fn(&Case<'_>, &Args) -> Option<Gauge>,
}

/// What is to be said of a (rule, subject) now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is held, since then.
    Set(Millis),
    /// It is free.
    Lift,
}

/// What is to be said, if anything: `before` is the newest word, `gauge` what is measured (`None`
/// when the rule has no limit any more), `asks` whether the subject has work to hold.
pub fn step(
    before: Option<&Throttle>,
    gauge: Option<&Gauge>,
    asks: bool,
    margin: &Margin,
    now: Millis,
) -> Option<Step> {
    let Some(before) = before.filter(|before| before.stands(now)) else {
        let is_above = gauge.is_some_and(|gauge| gauge.measured > gauge.limit);
        return (asks && is_above).then_some(Step::Set(now));
    };
    let Some(gauge) = gauge else { return Some(Step::Lift) };
    let is_down = gauge.measured <= margin.lift_limit(gauge.limit);
    if is_down && before.lift_from.is_none_or(|from| from <= now) {
        return Some(Step::Lift);
    }
    // One that has nothing to hold lapses.
    let is_due = before.renew_at().is_some_and(|at| at <= now);
    (asks && is_due).then(|| Step::Set(before.since()))
}
