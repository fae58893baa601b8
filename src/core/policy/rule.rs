//! Rules that hold an owner or a task as a whole (spec atlas 8.1): their names and what each of
//! them compares.

use crate::event::Task;
use crate::output::throttle::{SubjectKind, owner_of};

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

/// Name, counter and documentation of a rule.
pub struct RuleText {
    /// Its name in the specification, on the bus and in metrics.
    pub name: &'static str,
    /// Name of the counter that it compares.
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

    /// Its name, counter and documentation.
    pub const fn text(self) -> RuleText {
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
        RuleText { name, counter, unit, help }
    }

    /// Its name: see [`RuleText::name`].
    pub const fn name(self) -> &'static str {
        self.text().name
    }

    /// The rule of a name.
    pub fn from_name(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// The subject that it throttles, for a task.
    pub fn subject(self, task: &Task) -> (SubjectKind, &str) {
        match self {
            Rule::Share => (SubjectKind::Task, &task.task),
            _ => owner_of(task),
        }
    }
}
