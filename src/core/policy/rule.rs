//! Rules that hold an owner or a task as a whole (spec atlas 8.1), or a share and resource type
//! (spec atlas 10.5): their names and what each of them compares.

use crate::event::Task;
use crate::output::throttle::{Subject, SubjectKind, owner_of, work_queue};

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
    /// Too many jobs of a share and resource type wait to run, for its limit and those that run.
    ShareQueued,
    /// Too many of them in defined.
    ShareDefined,
    /// Too many of them run.
    ShareRunning,
    /// More of them wait to run than its cap.
    ShareQueueCap,
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
    pub const ALL: [Rule; 11] = [
        Rule::RunningJobs,
        Rule::QueuedJobs,
        Rule::RunningCores,
        Rule::QueuedCores,
        Rule::Quota,
        Rule::NearQuota,
        Rule::Share,
        Rule::ShareQueued,
        Rule::ShareDefined,
        Rule::ShareRunning,
        Rule::ShareQueueCap,
    ];

    /// Those that hold a share and resource type.
    pub const OF_WORK_QUEUES: [Rule; 4] =
        [Rule::ShareQueued, Rule::ShareDefined, Rule::ShareRunning, Rule::ShareQueueCap];

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
            Rule::ShareQueued => {
                ("J1", "share_queued_jobs", "jobs", "too many jobs of the share wait to run")
            }
            Rule::ShareDefined => {
                ("J2", "share_defined_jobs", "jobs", "too many jobs of the share in defined")
            }
            Rule::ShareRunning => {
                ("J3", "share_running_jobs", "jobs", "running jobs of the share above its cap")
            }
            Rule::ShareQueueCap => {
                ("J4", "share_queued_jobs", "jobs", "queued jobs of the share above its cap")
            }
        };
        RuleText { name, counter, unit, help }
    }

    /// Its place in the specification of ATLAS.
    pub fn spec(self) -> &'static str {
        if Rule::OF_WORK_QUEUES.contains(&self) { "atlas 10.5" } else { "atlas 8.1" }
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
    pub fn subject(self, task: &Task) -> Subject {
        let (kind, name) = match self {
            Rule::Share => (SubjectKind::Task, task.task.as_str()),
            rule if Rule::OF_WORK_QUEUES.contains(&rule) => {
                return work_queue(&task.gshare, &task.resource_type);
            }
            _ => owner_of(task),
        };
        (kind, name.to_owned())
    }
}
