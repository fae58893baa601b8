//! Workflows (C-14, C-16, C-47, C-50).

use super::class::{Class, Seconds};

/// Status of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkflowStatus {
    /// Its jobs are scheduled.
    Open,
    /// Its test jobs failed, or operations ended it.
    Killed,
    /// All jobs are final.
    Done,
}

impl WorkflowStatus {
    /// Whether jobs of it may still be scheduled.
    pub const fn is_live(self) -> bool {
        matches!(self, WorkflowStatus::Open)
    }
}

/// A workflow's priority (C-14, C-16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priority {
    /// Its revision.
    pub revision: i64,
    /// Priority, 0..=1 000 000.
    pub value: i64,
    /// Whether it ends a tail boost.
    pub override_tail: bool,
}

/// Run time and memory that test jobs were seen to need (C-50).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Run time.
    pub wall_s: Seconds,
    /// Memory, MB.
    pub rss_mb: i64,
}

/// A workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    /// Name.
    pub workflow: String,
    /// Class, inherited by its jobs (C-01).
    pub class: Class,
    /// Accounting principal.
    pub user: String,
    /// VOMS group it works for.
    pub working_group: Option<String>,
    /// The priority in force: that of the highest revision (C-14).
    pub priority: Priority,
    /// Order of the test band (C-48).
    pub injected_at_s: Seconds,
    /// All jobs it will have, if known.
    pub total_jobs: Option<i64>,
    /// Jobs that succeeded.
    pub done_jobs: i64,
    /// Jobs that failed and will not be retried.
    pub failed_final_jobs: i64,
    /// Whether its priority is boosted (C-16).
    pub boosted: bool,
    /// Own tail fraction, thousandths.
    pub tail_permille: Option<i64>,
    /// Own number of test jobs (C-47).
    pub test_jobs: Option<i64>,
    /// Own bound of overflow sites: absent, or a bound, which may be none (C-40).
    pub max_overflow_sites: Option<Option<i64>>,
    /// Whether its jobs may overflow (C-06).
    pub allow_overflow: bool,
    /// The only sites to overflow to.
    pub overflow_sites_list: Option<Vec<String>>,
    /// Sites that ended jobs overflowed to.
    pub overflow_sites_used: Vec<String>,
    /// Run time and memory that its test jobs were seen to need.
    pub profile: Option<Profile>,
    /// Its status.
    pub status: WorkflowStatus,
    /// Whether its failed tests were reported already (C-49).
    pub alerted: bool,
    /// Whether it tests sites (C-36).
    pub site_test: bool,
}

impl Workflow {
    /// A workflow with every default (A.2).
    pub fn new(workflow: &str, class: Class, user: &str) -> Workflow {
        Workflow {
            workflow: workflow.to_owned(),
            class,
            user: user.to_owned(),
            working_group: None,
            priority: Priority::default(),
            injected_at_s: 0,
            total_jobs: None,
            done_jobs: 0,
            failed_final_jobs: 0,
            boosted: false,
            tail_permille: None,
            test_jobs: None,
            max_overflow_sites: None,
            allow_overflow: false,
            overflow_sites_list: None,
            overflow_sites_used: Vec::new(),
            profile: None,
            status: WorkflowStatus::Open,
            alerted: false,
            site_test: false,
        }
    }

    /// Takes over what decisions stated in a record before this one: that the tail is boosted
    /// (C-16), that operations were alerted (C-49), what jobs need (C-50), what became of it.
    pub fn keep_decided(&mut self, before: &Workflow) {
        self.boosted |= before.boosted;
        self.alerted |= before.alerted;
        self.profile = self.profile.or(before.profile);
        if self.status.is_live() {
            self.status = before.status;
        }
    }
}
