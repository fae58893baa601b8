//! State: all that is known as of a cut.

use super::job::AtCluster;
use crate::command::CommandSetting;
use crate::copy::{CopyFor, PortionMap, UnderWay};
use crate::cut::{Lane, Topic};
use crate::domain::cms::state::{PoolRecords, PoolSetting};
use crate::event::{
    DomainRecord, Grant, Link, Parameter, Queue, Quota, Registration, Release, Replica, Share,
    Site, Storage, Task, User, UserShare, each_configuration,
};
use crate::id::{Key, Name, Names, cut};
use crate::limits::Limits;
use crate::oddity::Oddities;
use crate::output::command::CommandId;
use crate::output::decision::DecisionId;
use crate::output::throttle::{Subject, Throttle};
use crate::record::record;
use crate::state::answered::AnswerTable;
use crate::state::blockers::BlockerTable;
use crate::state::commands::Commands;
use crate::state::crowded::Crowded;
use crate::state::job::Job;
use crate::state::ledger::{Ledger, WORK_GRAIN};
use crate::state::looks::JobLooks;
use crate::state::record::{Fact, Node, RequestState, SlotFigure, TransferState, Workers};
use crate::state::replica_index::ReplicaIndex;
use crate::state::signs::QueueSigns;
use crate::state::table::{NamedTable, Table};
use crate::state::time::LogTimes;
use crate::state::timer::Timers;
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// Settings of a state: limits, rules for commands, and the ages from which on topics are late.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setting {
    /// Domain.
    pub domain: String,
    /// Bounds.
    pub limits: Limits,
    /// By topic number: silence longer than this means the topic lags.
    pub silence: [Option<Millis>; Topic::ALL.len()],
    /// By topic number: facts of a configuration topic older than this are noted as stale.
    pub stale_after: [Option<Millis>; Topic::ALL.len()],
    /// Rules that give commands, and what bounds them.
    pub commands: CommandSetting,
    /// Whether any policy judges targets: queues of clusters that take single jobs.
    pub judges_targets: bool,
    /// By what the records of a pool of slots are kept; `None`: no policy answers slot offers.
    pub pool: Option<PoolSetting>,
    /// How records of a domain that a program brings make requests; `None`: there is no such
    /// domain.
    pub domain_requests: Option<DomainRequests>,
}

/// How records of a domain that a program brings make requests.
#[derive(Clone, Debug)]
pub struct DomainRequests {
    /// Kind of the records that ask.
    pub kind: &'static str,
    /// The policy that answers.
    pub policy: String,
    /// The request of a record; `None`: it asks nothing.
    pub request: fn(&DomainRecord) -> Option<Task>,
}

impl PartialEq for DomainRequests {
    /// A program has one function for a kind.
    fn eq(&self, other: &DomainRequests) -> bool {
        (self.kind, &self.policy) == (other.kind, &other.policy)
    }
}

/// Set in [`State::seen_states`] once a job state has named a sub-state.
pub const SUB_STATES_SEEN: u32 = 1 << 31;

/// Newest moments of a queue that no record can take back: the largest ever read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Last pilot report of any kind.
    pub pilot: Millis,
    /// Last start of a job's payload.
    pub start: Millis,
    /// Newest heartbeat of one of its jobs.
    pub heartbeat: Millis,
}

impl Marks {
    /// When it last gave a sign of its own; 0: never.
    pub fn sign(&self) -> Millis {
        self.pilot.max(self.heartbeat)
    }
}

macro_rules! facts {
    ($($kind:ident $field:ident,)*) => {
        /// The configuration: records of each kind by name.
        #[derive(Clone, Debug, Default)]
        pub struct Facts {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")]
            pub $field: NamedTable<Fact<$kind>>,)*
        }
    };
}
each_configuration!(facts);

/// All that is known as of a cut.
#[derive(Clone, Debug)]
pub struct State {
    /// Its settings.
    pub setting: Setting,
    /// Leader's term of the last cycle.
    pub epoch: u64,
    /// Number of the last cycle; 0: none yet.
    pub number: u64,
    /// The last cycle's now.
    pub now: Millis,
    /// The now of the cycle before that; 0: there was none. Derived.
    pub before: Millis,
    /// Events before this time are not known (0: all are): the log did not reach back.
    pub known_since: Millis,
    /// Cut, and times of lanes and topics.
    pub times: LogTimes,
    /// Interned names.
    pub names: Names,
    /// Names of jobs that are no decimals.
    pub job_names: PortionMap<Key, String>,
    /// What records of jobs at clusters state beside what all jobs have, of those that state any.
    pub at_clusters: BTreeMap<Key, AtCluster>,
    /// Jobs.
    pub jobs: Table<Job>,
    /// Transfers.
    pub transfers: Table<TransferState>,
    /// Replica and request of each transfer of which both are known; derived.
    pub replica_requests: BTreeSet<(Key, Key)>,
    /// When silent transfers were last looked for.
    pub transfers_swept: Millis,
    /// Nodes.
    pub nodes: Table<Node>,
    /// Worker reports.
    pub workers: Table<Workers>,
    /// Slot figures, by (queue, gshare, resource type).
    pub slots: BTreeMap<(Name, Name, Name), SlotFigure>,
    /// Requests, answers, reservations.
    pub requests: NamedTable<RequestState>,
    /// Answers whose requests were forgotten.
    pub answered: AnswerTable,
    /// Names that the blockers of their answers refer to; derived.
    pub blockers: BlockerTable,
    /// Subjects of each task; derived.
    pub chunks: PortionMap<String, BTreeSet<String>>,
    /// The newest throttle of each subject and rule.
    pub throttles: NamedTable<Throttle>,
    /// Cycle of the newest throttle that was lifted; derived.
    pub lifted_in: u64,
    /// Commands, what became of them, and what is held back.
    pub commands: Commands,
    /// Queues and shares with more queued jobs than they will start soon.
    pub crowded: BTreeMap<(Name, Name), Crowded>,
    /// When each job is to be looked at by the rules that give commands; derived.
    pub looks: JobLooks,
    /// States that job states have named since this was made, a bit each, and [`SUB_STATES_SEEN`];
    /// derived.
    pub seen_states: u32,
    /// Slots of jobs with a new heartbeat, or that moved, since the last cut; derived.
    pub signs: Vec<u32>,
    /// By queue: its last sign as of the last cut, and spans without any.
    pub queue_signs: BTreeMap<Name, QueueSigns>,
    /// Configuration.
    pub facts: Facts,
    /// Which of the configuration says where a dataset lies, and who asks; derived.
    pub replicas: ReplicaIndex,
    /// Records of a pool of slots.
    pub pool: PoolRecords,
    /// Newest moments by queue.
    pub marks: BTreeMap<Name, Marks>,
    /// Stubs: jobs of which only heartbeats are known, oldest first.
    pub stubs: PortionMap<(Millis, Key), ()>,
    /// Jobs whose first state was read since the last cut; derived.
    pub met_jobs: Vec<Key>,
    /// Transfers first read since the last cut; derived.
    pub met_transfers: Vec<Key>,
    /// Counters.
    pub ledger: Ledger,
    /// Deadlines.
    pub timers: Timers,
    /// Changes since the last cut, for waking and for views.
    pub touched: Touched,
    /// Numbers to close open reservations by, of each assignment; derived.
    pub opened: PortionMap<DecisionId, Vec<u32>>,
    /// Oddities since the last cycle; no decision reads them, no digest holds them.
    pub oddities: Oddities,
    /// A copy that is under way: what is small, as it was when the copy began. Tables hold their
    /// own part.
    pub(super) copying: UnderWay<(CopyFor, State)>,
}

/// Changes since the last cut.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Subjects whose request, answer or outcome changed.
    pub subjects: BTreeSet<String>,
    /// A queue was changed, added or removed.
    pub queues: bool,
    /// A site or parameter was.
    pub settings: bool,
    /// Storage endpoints that were.
    pub storages: BTreeSet<String>,
    /// Whether any was.
    pub storage: bool,
    /// Links that were, by name.
    pub links: BTreeSet<String>,
    /// Sources with changed links or transfer queues.
    pub from: Flags,
    /// Destinations with changed links or transfer queues.
    pub into: Flags,
    /// Queues with changed counters (unified names).
    pub load: Flags,
    /// Queues with changed nodes, workers or slots.
    pub pilot: Flags,
    /// Users and working groups with other figures: row keys of [`Ledger::owner`].
    pub owners: Vec<[u32; 2]>,
    /// Tasks of which jobs finished.
    pub worked: Vec<Key>,
    /// Users and working groups whose caps or quotas changed.
    pub accounts: BTreeSet<Subject>,
    /// Anybody's may have changed.
    pub everyone: bool,
    /// Throttles that are due to be looked at, by name.
    pub throttles: BTreeSet<String>,
    /// Commands that are due to be repeated.
    pub commands: BTreeSet<CommandId>,
    /// Configuration records that changed, by topic and name; kept where targets are judged.
    pub facts: BTreeSet<(Topic, String)>,
    /// Jobs that changed or were forgotten; kept where targets are judged.
    pub jobs: BTreeSet<Key>,
    /// Datasets of which it changed where they lie, without scope.
    pub datasets: BTreeSet<String>,
}

/// A set of interned names that is cheap to add to.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    bits: Vec<u64>,
    names: Vec<Name>,
}

impl Flags {
    /// Adds a name.
    #[inline]
    pub fn add(&mut self, name: Name) {
        let (word, bit) = (name.index() / 64, 1u64 << (name.0 % 64));
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        if self.bits[word] & bit == 0 {
            self.bits[word] |= bit;
            self.names.push(name);
        }
    }

    /// Whether a name is in the set.
    pub fn has(&self, name: Name) -> bool {
        self.bits.get(name.index() / 64).is_some_and(|word| word >> (name.0 % 64) & 1 == 1)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names in the set.
    pub fn iter(&self) -> impl Iterator<Item = Name> {
        self.names.iter().copied()
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        for name in self.names.drain(..) {
            self.bits[name.index() / 64] = 0;
        }
    }
}

impl State {
    /// Nothing known yet.
    pub fn new(setting: Setting) -> State {
        let mut ledger = Ledger {
            ended_reach: setting.limits.done_jobs_window_ms,
            work_reach: setting.limits.request_lifetime_ms.saturating_add(2 * WORK_GRAIN),
            ..Ledger::default()
        };
        ledger.owner.watch();
        ledger.work.watch();
        State {
            setting,
            epoch: 0,
            number: 0,
            now: 0,
            before: 0,
            known_since: 0,
            times: LogTimes::default(),
            names: Names::default(),
            job_names: PortionMap::default(),
            at_clusters: BTreeMap::new(),
            jobs: Table::default(),
            transfers: Table::default(),
            replica_requests: BTreeSet::new(),
            transfers_swept: 0,
            nodes: Table::default(),
            workers: Table::default(),
            slots: BTreeMap::new(),
            requests: NamedTable::default(),
            answered: AnswerTable::default(),
            blockers: BlockerTable::default(),
            chunks: PortionMap::default(),
            throttles: NamedTable::default(),
            lifted_in: 0,
            commands: Commands::default(),
            crowded: BTreeMap::new(),
            looks: JobLooks::default(),
            seen_states: 0,
            signs: Vec::new(),
            queue_signs: BTreeMap::new(),
            facts: Facts::default(),
            replicas: ReplicaIndex::default(),
            pool: PoolRecords::default(),
            marks: BTreeMap::new(),
            stubs: PortionMap::default(),
            met_jobs: Vec::new(),
            met_transfers: Vec::new(),
            ledger,
            timers: Timers::default(),
            touched: Touched::default(),
            opened: PortionMap::default(),
            oddities: Oddities::default(),
            copying: UnderWay::default(),
        }
    }

    /// The next offset to read in a lane.
    pub fn next(&self, lane: Lane) -> u64 {
        self.times.next(lane)
    }

    /// A name's number, given now if it is new. A name beyond the limit on its length is cut. Which
    /// names are held depends on when the process started, so a limit here would make decisions
    /// depend on that too: see `Drive::check_names`.
    #[inline]
    pub(crate) fn name(&mut self, text: &str) -> Name {
        self.names.intern(cut(text, self.setting.limits.name_bytes))
    }

    /// The value of a run-time parameter (spec atlas 11): of this domain before any, of the task
    /// system before the job system.
    pub fn parameter(&self, component: &str, key: &str) -> Option<&str> {
        let of = |app: &str, vo: &str| {
            let fact = self.facts.parameters.of(&[app, component, key, vo].join("/"))?;
            Some(fact.current(crate::event::is_newer)?.value.as_str())
        };
        let domain = self.setting.domain.as_str();
        ["jedi", "pandaserver"].into_iter().find_map(|app| of(app, domain).or_else(|| of(app, "")))
    }

    /// The number that [`State::name`] gave for a text.
    pub(crate) fn known_name(&self, text: &str) -> Option<Name> {
        self.names.find(cut(text, self.setting.limits.name_bytes))
    }
}

impl<T> Fact<T> {
    /// The record that holds: the newest over all lanes, by `newer`.
    pub fn current(&self, newer: impl Fn(&T, &T) -> bool) -> Option<&T> {
        self.held
            .iter()
            .map(|(_, content)| content)
            .reduce(|best, other| if newer(other, best) { other } else { best })
    }
}

record!(Marks { pilot, start, heartbeat });
