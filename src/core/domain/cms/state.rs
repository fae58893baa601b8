//! Records of a pool of slots, as they were folded: jobs with what they want, workflows, offers,
//! past usage of users, nodes (spec cms-nordugrid A.2). They are kept where a policy answers slot
//! offers; elsewhere the tables are empty.
//!
//! Each record is a join: parts that topics feed, the newer part of which wins by a total order on
//! its content, and parts that decisions and commands feed. What follows from several records at
//! once is settled at the end of a cycle (`pool/close.rs`).

mod close;
mod due;
mod join;
mod live;
mod settle;

use crate::domain::cms::output::Matched;
use crate::event::{FailureClass, Label, OwnRequirements, OwnSlotOffer, Status, WorkflowFacts};
use crate::math::decay::Decay;
use crate::output::decision::DecisionId;
use crate::record::record;
use crate::state::NamedTable;
use crate::state::timer::Agenda;
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// Most test jobs of a workflow, whatever is stated (C-47): jobs up to this place in their workflow
/// are kept when they end.
pub const TEST_JOBS_MAX: i64 = 1_000;

/// Settings by which a pool's records are kept; from the policy that answers its offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSetting {
    /// The time in which past usage counts half; s (F-2).
    pub half_life_s: i64,
    /// How long a match waits for its job's start; ms (C-58).
    pub match_lifetime_ms: Millis,
}

/// All records of a pool.
#[derive(Clone, Debug, Default)]
pub struct PoolRecords {
    /// Jobs, by name.
    pub jobs: NamedTable<PoolJob>,
    /// Workflows, by name.
    pub workflows: NamedTable<PoolWorkflow>,
    /// Offers, by name.
    pub offers: NamedTable<PoolOffer>,
    /// Users, by name.
    pub users: NamedTable<PoolUser>,
    /// Nodes, by name.
    pub nodes: NamedTable<PoolNode>,
    /// Changes since the last cut, for data that is derived of the records; derived.
    pub touched: PoolTouched,
    /// Jobs, ends and workflows that the end of this cycle has to settle; derived.
    pub(crate) unsettled: PoolUnsettled,
    /// Deadlines; derived.
    pub(crate) due: PoolDue,
    /// How many jobs each workflow has; derived.
    pub(crate) jobs_of: BTreeMap<String, usize>,
    /// Which job each match gave a place to, by the decision's id; derived.
    pub(crate) matches: BTreeMap<DecisionId, String>,
    /// Which jobs are barred from an announcement of each offer; derived.
    pub(crate) barred: BTreeMap<String, BTreeSet<String>>,
    /// The clock of decay of the last cycle; derived.
    pub(crate) decay: Option<Decay>,
}

/// Jobs, ends and workflows that the end of a cycle has to settle.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolUnsettled {
    /// Jobs of which something was read, or that were matched.
    pub(crate) jobs: BTreeSet<String>,
    /// Attempts that ended, by job and attempt: the newest report of each end.
    pub(crate) ends: BTreeMap<(String, u32), PoolEnd>,
    /// Workflows of which a record was read.
    pub(crate) workflows: BTreeSet<String>,
    /// Decisions that were not carried out.
    pub(crate) not_done: BTreeSet<DecisionId>,
}

/// The end of an attempt of a job, as it was reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolEnd {
    /// The state.
    pub(crate) state: PoolJobState,
    /// Its requirements, if the report repeats them.
    pub(crate) requirements: Option<OwnRequirements>,
}

/// Deadlines of a pool's records, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolDue {
    /// Against the time of the job-state lanes: jobs that may be forgotten.
    pub(crate) jobs: Agenda,
    /// Against the clock of the job-state lanes: matches that may be released.
    pub(crate) matches: Agenda,
    /// Against the cycle's now: offers that expire or may be forgotten.
    pub(crate) offers: Agenda,
    /// Against the cycle's now: workflows that may be forgotten.
    pub(crate) workflows: Agenda,
    /// Against the cycle's now: nodes whose drain ends or that may be forgotten.
    pub(crate) nodes: Agenda,
}

/// Names of the records that changed since the last cut.
#[derive(Clone, Debug, Default)]
pub struct PoolTouched {
    /// Jobs.
    pub jobs: BTreeSet<String>,
    /// Workflows.
    pub workflows: BTreeSet<String>,
    /// Offers.
    pub offers: BTreeSet<String>,
    /// Users.
    pub users: BTreeSet<String>,
    /// Nodes.
    pub nodes: BTreeSet<String>,
    /// Something that many records depend on: everything is to be derived again.
    pub everything: bool,
}

/// A job of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolJob {
    /// Name.
    pub job: String,
    /// The newest state, as `job-state` has it.
    pub state: Option<PoolJobState>,
    /// Its newest requirements, with their order: attempt, changed at, revision.
    pub requirements: Option<(u32, Millis, u64, OwnRequirements)>,
    /// Now of the cycle in which it was first seen; 0: in this one (C-02).
    pub seen_at: Millis,
    /// The match that holds slots for it.
    pub matched: Option<PoolMatch>,
    /// The attempt that was rejected or killed: nothing of it, or of those before, waits.
    pub refused: Option<u32>,
    /// The newest match there was: attempt, and the decision's now and cycle. None before it counts
    /// again.
    pub last_match: Option<(u32, Millis, u64)>,
    /// The newest attempt whose end was counted. None before it counts again.
    pub tallied: Option<u32>,
    /// How that attempt failed, and its exit code, as far as they are stated; `None`: no attempt
    /// failed (C-42).
    pub failed: Option<(Option<FailureClass>, Option<i64>)>,
    /// When it was first submitted, the earliest that any report of it states; 0: none does (C-61).
    pub created_at: Millis,
    /// Its place in the order in which the workflow's jobs were seen, from 1, if its requirements
    /// state none (C-47).
    pub seen_as: Option<i64>,
    /// Announcements of offers, by name and attempt, where a match of it was not carried out; the
    /// newest last.
    pub barred: Vec<(String, u32)>,
}

/// The newest state of a job of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolJobState {
    /// Attempt.
    pub attempt: u32,
    /// State.
    pub status: Status,
    /// When it reached it.
    pub changed_at: Millis,
    /// Revision of the report.
    pub revision: u64,
    /// Its workflow; empty: none.
    pub workflow: String,
    /// Its user; empty: not stated.
    pub user: String,
    /// The site where it is; empty: nowhere yet.
    pub site: String,
    /// Cores it has; 0 counts as 1.
    pub cores: u32,
    /// When it was first submitted.
    pub created_at: Millis,
    /// When its payload started in this attempt; 0: it did not.
    pub started_at: Millis,
    /// When its payload ended; 0: it did not.
    pub ended_at: Millis,
}

/// That a decision gave slots to a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolMatch {
    /// The decision.
    pub decision: DecisionId,
    /// The offer.
    pub offer: String,
    /// Which announcement of it.
    pub announced: u32,
    /// When: the decision's now.
    pub at: Millis,
    /// Clock of the job-state lanes at the match: while they lag no match is released.
    pub clock: Millis,
    /// Its site.
    pub site: String,
    /// User it is booked to.
    pub user: String,
    /// Workflow it is booked to.
    pub workflow: String,
    /// All else.
    pub matched: Matched,
}

/// A workflow of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolWorkflow {
    /// Name.
    pub workflow: String,
    /// Its record, without its priority; the newest by changed at, revision, content.
    pub record: Option<PoolWorkflowRecord>,
    /// The priority of the highest revision, of several the newest (C-14).
    pub priority: Option<PoolPriority>,
    /// Whether its tail was boosted (C-16).
    pub boosted: bool,
    /// Whether its failed tests were reported to operations (C-49).
    pub alerted: bool,
    /// Whether it was killed (C-49).
    pub killed: bool,
    /// Run time and memory that its test jobs needed, s and MB, 0 where that is not known: the
    /// profile that was published (C-50).
    pub profile: Option<(i64, i64)>,
    /// Jobs that succeeded.
    pub done: i64,
    /// Jobs that failed for good or were taken away.
    pub failed_final: i64,
    /// Sites that its ended jobs overflowed to (C-40).
    pub overflow_sites: Vec<String>,
    /// Its early jobs that ended, by place and attempt (C-49, C-50).
    pub ended: BTreeMap<(i64, i64), PoolEnded>,
    /// When something was last read of it or settled of it.
    pub used_at: Millis,
    /// How many of its jobs were seen that state no place in it (C-47).
    pub seen_jobs: i64,
}

/// A priority that was stated of a workflow. The largest is in force (C-14): that of the highest
/// revision; where none is stated, or one again, the newest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolPriority {
    /// Its revision; 0: none was stated.
    pub revision: i64,
    /// When the record that states it was changed.
    pub changed_at: Millis,
    /// The priority.
    pub priority: i64,
    /// Whether it ends a boost (C-16).
    pub override_tail: bool,
}

/// The record of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolWorkflowRecord {
    /// When it was last changed.
    pub changed_at: Millis,
    /// Revision of the record.
    pub revision: u32,
    /// Whether it ended, or was killed by request.
    pub closed: bool,
    /// User.
    pub user: String,
    /// Working group; empty: none.
    pub working_group: String,
    /// When it was injected.
    pub injected_at: Millis,
    /// All else.
    pub facts: WorkflowFacts,
}

/// An attempt of an early job of a workflow that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolEnded {
    /// The job.
    pub job: String,
    /// How it failed; `None`: it succeeded.
    pub failure: Option<FailureClass>,
    /// The exit code that says so, where how it failed is not stated.
    pub exit_code: Option<i64>,
    /// Whether no other attempt follows if it failed.
    pub is_last: bool,
    /// Where it ran.
    pub site: String,
    /// Run time as measured, s; 0: not known.
    pub wall_s: i64,
    /// Memory as measured, MB; 0: not known.
    pub rss_mb: i64,
    /// Cores on which that was measured.
    pub cores: i64,
    /// Cores at which the job's needs are stated.
    pub base_cores: i64,
    /// Sites with its input, comma separated; `None`: any.
    pub site_whitelist: Option<String>,
}

/// An offer, and what is left of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolOffer {
    /// The offer as announced last.
    pub offer: OwnSlotOffer,
    /// Its site.
    pub site: String,
    /// When it was announced; 0: no announcement is known.
    pub changed_at: Millis,
    /// Until when an earlier announcement could hold if it were read again.
    pub kept_until: Millis,
    /// Whether it was taken back.
    pub withdrawn: bool,
    /// Cores that decisions took of this announcement.
    pub cores_taken: i64,
    /// Memory that decisions took of this announcement, MB.
    pub mem_taken_mb: i64,
    /// Amounts of named resources that decisions took of this announcement.
    pub resources_taken: BTreeMap<String, i64>,
    /// How many decisions answered this announcement.
    pub answers: u32,
    /// When the last deferral was published; 0: none was.
    pub deferred_at: Millis,
}

/// Past usage of a user of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolUser {
    /// Name.
    pub user: String,
    /// X of F-3 of jobs that ended, at the landmark, times 2^32.
    pub x: i128,
    /// The half-life it was made with; s.
    pub half_life_s: i64,
    /// The landmark, in half-lives since 1970.
    pub landmark: i64,
}

/// A node of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolNode {
    /// Name.
    pub node: String,
    /// Its site.
    pub site: String,
    /// Its cores.
    pub cores_total: i64,
    /// When an offer last named it.
    pub seen_at: Millis,
    /// Memory that was free then, MB.
    pub mem_free_mb: i64,
    /// The end of the pilot that offered it then.
    pub ends_at: Millis,
    /// Label of the extra block that the pilot is of; empty: none.
    pub block: String,
    /// Benchmark per core as stated then; `None`: the site's.
    pub corepower_mhs06: Option<i64>,
    /// The most memory that an offer of it ever had free, MB.
    pub mem_most_mb: i64,
    /// The longest time that an offer of it ever had left, s.
    pub wall_most_s: i64,
    /// The most of each named resource that an offer of it ever had free.
    pub resources_most: BTreeMap<String, i64>,
    /// Its labels as stated then.
    pub labels: Vec<Label<String>>,
    /// The drain under way.
    pub drain: Option<PoolDrain>,
    /// When drains of it were begun, within the last hour; ascending.
    pub drain_starts: Vec<Millis>,
    /// When the newest drain that is over was begun; 0: none is. None before it counts again.
    pub ended_drain: Millis,
}

/// A node is kept free for a job (C-55).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolDrain {
    /// The job.
    pub job: String,
    /// When it is expected to be ready; s since 1970.
    pub until_s: i64,
    /// When it was begun, as its command states it.
    pub since: Millis,
}

record!(PoolJob {
    job,
    state,
    requirements,
    seen_at,
    matched,
    refused,
    last_match,
    tallied,
    failed,
    created_at,
    seen_as,
    barred,
});
record!(PoolJobState {
    attempt,
    status,
    changed_at,
    revision,
    workflow,
    user,
    site,
    cores,
    created_at,
    started_at,
    ended_at,
});
record!(PoolMatch { decision, offer, announced, at, clock, site, user, workflow, matched });
record!(PoolWorkflow {
    workflow,
    record,
    priority,
    boosted,
    alerted,
    killed,
    profile,
    done,
    failed_final,
    overflow_sites,
    ended,
    used_at,
    seen_jobs,
});
record!(PoolPriority { revision, changed_at, priority, override_tail });
record!(PoolWorkflowRecord {
    changed_at,
    revision,
    closed,
    user,
    working_group,
    injected_at,
    facts,
});
record!(PoolEnded {
    job,
    failure,
    exit_code,
    is_last,
    site,
    wall_s,
    rss_mb,
    cores,
    base_cores,
    site_whitelist,
});
record!(PoolOffer {
    offer,
    site,
    changed_at,
    kept_until,
    withdrawn,
    cores_taken,
    mem_taken_mb,
    resources_taken,
    answers,
    deferred_at,
});
record!(PoolUser { user, x, half_life_s, landmark });
record!(PoolNode {
    node,
    site,
    cores_total,
    seen_at,
    mem_free_mb,
    ends_at,
    block,
    corepower_mhs06,
    mem_most_mb,
    wall_most_s,
    resources_most,
    labels,
    drain,
    drain_starts,
    ended_drain,
});
record!(PoolDrain { job, until_s, since });
