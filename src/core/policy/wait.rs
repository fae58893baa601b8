//! Why a request is deferred as a whole, before any candidate is looked at.

use super::rule::Rule;

/// A wait reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The task's nucleus is not known.
    UnknownNucleus,
    /// The input is nowhere complete.
    InputIncomplete,
    /// The input is complete only where it cannot be read.
    InputEndpointsDown,
    /// Nothing is known of the parent task of a full chain.
    ParentUnknown,
    /// No queue of any nucleus could run the jobs.
    NoQueueCanRun,
    /// Too many running jobs of the owner.
    RunningJobs,
    /// Too many queued jobs of the owner.
    QueuedJobs,
    /// Too many running cores of the owner.
    RunningCores,
    /// Too many queued cores of the owner.
    QueuedCores,
    /// A global quota of the owner is used up.
    Quota,
    /// A global quota of the owner is nearly used up.
    NearQuota,
    /// The share is used up for tasks of class A.
    ShareOfA,
    /// The share is used up for tasks of class B.
    ShareOfB,
    /// The share is used up for tasks of class C.
    ShareOfC,
    /// Too many jobs of the share wait to run.
    ShareQueued,
    /// Too many jobs of the share in defined.
    ShareDefined,
    /// Too many jobs of the share run.
    ShareRunning,
    /// More jobs of the share wait to run than its cap.
    ShareQueueCap,
}

impl WaitReason {
    /// Every wait reason.
    pub const ALL: [WaitReason; 18] = [
        WaitReason::UnknownNucleus,
        WaitReason::InputIncomplete,
        WaitReason::InputEndpointsDown,
        WaitReason::ParentUnknown,
        WaitReason::NoQueueCanRun,
        WaitReason::RunningJobs,
        WaitReason::QueuedJobs,
        WaitReason::RunningCores,
        WaitReason::QueuedCores,
        WaitReason::Quota,
        WaitReason::NearQuota,
        WaitReason::ShareOfA,
        WaitReason::ShareOfB,
        WaitReason::ShareOfC,
        WaitReason::ShareQueued,
        WaitReason::ShareDefined,
        WaitReason::ShareRunning,
        WaitReason::ShareQueueCap,
    ];

    /// Its name, as published.
    pub const fn name(self) -> &'static str {
        match self {
            WaitReason::UnknownNucleus => "unknown_nucleus",
            WaitReason::InputIncomplete => "input_incomplete",
            WaitReason::InputEndpointsDown => "input_endpoints_down",
            WaitReason::ParentUnknown => "parent_unknown",
            WaitReason::NoQueueCanRun => "no_queue_can_run",
            WaitReason::RunningJobs => "running_jobs_cap",
            WaitReason::QueuedJobs => "queued_jobs_cap",
            WaitReason::RunningCores => "running_cores_cap",
            WaitReason::QueuedCores => "queued_cores_cap",
            WaitReason::Quota => "over_global_quota",
            WaitReason::NearQuota => "near_global_quota",
            WaitReason::ShareOfA => "gshare_class_a",
            WaitReason::ShareOfB => "gshare_class_b",
            WaitReason::ShareOfC => "gshare_class_c",
            WaitReason::ShareQueued => "gshare_queued_limit",
            WaitReason::ShareDefined => "gshare_defined_limit",
            WaitReason::ShareRunning => "gshare_running_cap",
            WaitReason::ShareQueueCap => "gshare_queued_cap",
        }
    }

    /// The condition in words; that of a rule is the rule's.
    pub const fn sentence(self) -> &'static str {
        match self {
            WaitReason::UnknownNucleus => "nothing is known of the task's nucleus",
            WaitReason::InputIncomplete => "the input is nowhere complete",
            WaitReason::InputEndpointsDown => {
                "the input is complete only at endpoints that cannot be read"
            }
            WaitReason::ParentUnknown => "nothing is known of the task that it was made of",
            WaitReason::NoQueueCanRun => "no queue of any nucleus could run the jobs",
            WaitReason::RunningJobs => Rule::RunningJobs.text().help,
            WaitReason::QueuedJobs => Rule::QueuedJobs.text().help,
            WaitReason::RunningCores => Rule::RunningCores.text().help,
            WaitReason::QueuedCores => Rule::QueuedCores.text().help,
            WaitReason::Quota => Rule::Quota.text().help,
            WaitReason::NearQuota => Rule::NearQuota.text().help,
            WaitReason::ShareOfA | WaitReason::ShareOfB | WaitReason::ShareOfC => {
                Rule::Share.text().help
            }
            WaitReason::ShareQueued => Rule::ShareQueued.text().help,
            WaitReason::ShareDefined => Rule::ShareDefined.text().help,
            WaitReason::ShareRunning => Rule::ShareRunning.text().help,
            WaitReason::ShareQueueCap => Rule::ShareQueueCap.text().help,
        }
    }

    /// Kinds of facts whose change ends it, by the names of their subjects.
    pub const fn wakes(self) -> &'static [&'static str] {
        match self {
            WaitReason::UnknownNucleus => &["records of sites"],
            WaitReason::InputIncomplete => &["where the input lies"],
            WaitReason::InputEndpointsDown => &["status of storage", "where the input lies"],
            WaitReason::ParentUnknown => &["the task that it was made of"],
            WaitReason::NoQueueCanRun => &["configuration of queues"],
            WaitReason::RunningJobs
            | WaitReason::QueuedJobs
            | WaitReason::RunningCores
            | WaitReason::QueuedCores => &["jobs of the owner", "the owner's caps"],
            WaitReason::Quota | WaitReason::NearQuota => &["the owner's quotas"],
            WaitReason::ShareOfA | WaitReason::ShareOfB | WaitReason::ShareOfC => {
                &["use of the share", "the tree of shares"]
            }
            WaitReason::ShareQueued
            | WaitReason::ShareDefined
            | WaitReason::ShareRunning
            | WaitReason::ShareQueueCap => &["jobs of the share", "parameters of its limits"],
        }
    }

    /// The rule that gives it; `None`: it is not about an owner or a share.
    pub const fn rule(self) -> Option<Rule> {
        match self {
            WaitReason::UnknownNucleus
            | WaitReason::InputIncomplete
            | WaitReason::InputEndpointsDown
            | WaitReason::ParentUnknown
            | WaitReason::NoQueueCanRun => None,
            WaitReason::RunningJobs => Some(Rule::RunningJobs),
            WaitReason::QueuedJobs => Some(Rule::QueuedJobs),
            WaitReason::RunningCores => Some(Rule::RunningCores),
            WaitReason::QueuedCores => Some(Rule::QueuedCores),
            WaitReason::Quota => Some(Rule::Quota),
            WaitReason::NearQuota => Some(Rule::NearQuota),
            WaitReason::ShareOfA | WaitReason::ShareOfB | WaitReason::ShareOfC => Some(Rule::Share),
            WaitReason::ShareQueued => Some(Rule::ShareQueued),
            WaitReason::ShareDefined => Some(Rule::ShareDefined),
            WaitReason::ShareRunning => Some(Rule::ShareRunning),
            WaitReason::ShareQueueCap => Some(Rule::ShareQueueCap),
        }
    }

    /// The wait of a request for this reason, where nothing is measured.
    pub(crate) const fn plain(self) -> Wait {
        Wait { reason: self, measured: 0.0, limit: 1.0 }
    }
}

/// Why a request waits as a whole, with its figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// The reason.
    pub reason: WaitReason,
    /// Measured value.
    pub measured: f64,
    /// Value that would have passed.
    pub limit: f64,
}
