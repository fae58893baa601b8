//! Answers of a process, as far as they are shown; see the description of the HTTP API. A field
//! that an older or newer process does not state is blank.

use crate::trouble::Trouble;
use serde::Deserialize;
use yardmaster_core::unit::Millis;

/// `/api/v1/status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename = "Status")]
pub(super) struct ProcessStatus {
    pub domain: String,
    pub version: String,
    pub ready: bool,
    /// Why it is not ready.
    pub reason: Option<String>,
    pub leading: bool,
    pub epoch: u64,
    pub cycle: u64,
    pub now: Millis,
    pub requests_open: Option<u64>,
    /// All that is wrong, the worst first.
    pub troubles: Vec<Trouble>,
    pub state: ProcessState,
}

/// State of the process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename = "State")]
pub(super) struct ProcessState {
    pub restoring: bool,
    /// How much of the restoring is done, from 0 to 1.
    pub restored_ratio: f64,
    pub catching_up: bool,
}

/// `/api/v1/attention`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename = "Attention")]
pub(super) struct AttentionList {
    /// The most urgent first.
    pub items: Vec<ListedItem>,
}

/// A thing that needs a person.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename = "Item")]
pub(super) struct ListedItem {
    pub severity: String,
    pub kind: String,
    pub title: String,
}

/// An element of `/api/v1/queues`.
pub(super) use crate::view::QueueView as Queue;

/// `/api/v1/queues`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Queues {
    /// Kind of the rows, in the plural.
    pub of: String,
    pub queues: Vec<Queue>,
}

/// `/api/v1/pool`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Pool {
    pub idle: u64,
    pub on_hold: u64,
    pub held: u64,
    pub workflows_open: u64,
    pub drains_open: u64,
    /// Most jobs first.
    pub idle_by_reason: Vec<IdleReason>,
    /// Most idle jobs first.
    pub workflows: Vec<Workflow>,
    /// The largest share first.
    pub users: Vec<PoolUser>,
    /// The newest first.
    pub drains: Vec<Drain>,
    pub offers: Offers,
}

/// Idle jobs that lack the same.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct IdleReason {
    pub title: String,
    pub jobs: u64,
}

/// An open workflow.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Workflow {
    pub workflow: String,
    pub idle: u64,
    pub on_hold: u64,
    pub running: u64,
    pub finished: u64,
    pub failed: u64,
    pub last_match_at: Option<Millis>,
}

/// A user of a pool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct PoolUser {
    pub user: String,
    /// What fair share goes by; cores by power.
    pub share: f64,
    pub running: u64,
    pub idle: u64,
    pub on_hold: u64,
}

/// A node that is kept free for a job.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Drain {
    pub node: String,
    pub site: String,
    pub job: String,
    pub since: Millis,
    pub until: Millis,
    pub cores: u64,
}

/// Live offers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Offers {
    pub live: u64,
    pub cores_free: u64,
    pub oldest_at: Option<Millis>,
    pub newest_at: Option<Millis>,
}

/// An element of `/api/v1/shares`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Share {
    pub gshare: String,
    /// Part of all cores that it uses, from 0 to 1.
    #[serde(rename = "use")]
    pub used: Option<f64>,
    /// Part of all cores that it is to use, from 0 to 1.
    pub target: Option<f64>,
}

/// `/api/v1/shares`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shares {
    pub shares: Vec<Share>,
}

/// An element of `/api/v1/decisions`: a decision, a throttle or a command.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    /// It grows from one to the next.
    pub sequence: u64,
    pub kind: String,
    pub what: String,
    pub at: Millis,
    pub subject: String,
    pub gshare: String,
    pub user: String,
    pub text: String,
    pub dry_run: bool,
}

/// `/api/v1/decisions`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Events {
    /// The newest first.
    pub items: Vec<Event>,
    pub last: u64,
}

/// `/api/v1/explain`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Explained {
    pub headline: String,
    pub text: String,
    pub queue: Option<Rejecting>,
}

/// Filters that reject a queue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Rejecting {
    pub rejecting: Vec<Rejected>,
}

/// How many decisions a filter kept from a queue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Rejected {
    pub filter: String,
    pub decisions: u64,
}

impl Explained {
    /// It as lines.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.headline.clone(), String::new()];
        for it in self.queue.iter().flat_map(|queue| &queue.rejecting) {
            lines.push(format!("{} rejected it in {} decisions", it.filter, it.decisions));
        }
        if lines.len() > 2 {
            lines.push(String::new());
        }
        lines.extend(self.text.lines().map(str::to_owned));
        lines
    }
}
