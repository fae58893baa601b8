//! Helpers that build events, logs and states.

use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{
    DecisionOutcome, Event, Heartbeat, JobState, OutcomeAbout, OutcomeKind, Parameter, RamUnit,
    Status, Task, TaskPhase, Transfer, TransferStatus,
};
use yardmaster::core::limits::Limits;
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::{Decision, Outcome, Ranked};
use yardmaster::core::policy::{Policy, PolicySpec, Resolved, Rules, kind};
use yardmaster::core::state::State;
use yardmaster::core::unit::Millis;
use yardmaster::sim::scenario::{feed, records};

/// The moment most stories begin at: the start of a day.
pub const DAWN: Millis = 1_700_006_400_000;

/// A record as somebody published it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub lane: Lane,
    pub appended_at: Millis,
    pub event: Event<'static>,
}

/// One cycle: what was published in each lane, then its `now`, then our own decisions.
#[derive(Clone, Debug, Default)]
pub struct Cycle {
    pub lanes: Vec<Vec<Entry>>,
    pub now: Millis,
    pub decisions: Vec<Decision>,
}

pub const fn lane(topic: Topic, partition: u32) -> Lane {
    Lane::new(topic, partition)
}

/// Published long after its own time, so that no bound touches it; a heartbeat, which counts as of
/// the log's stamp, at its own time.
pub fn published(lane: Lane, event: Event<'static>) -> Entry {
    let appended_at = match &event {
        Event::Heartbeat(beat) => beat.at,
        _ => DAWN * 2,
    };
    Entry { lane, appended_at, event }
}

pub fn state() -> State {
    state_with(Limits::default())
}

pub fn state_with(limits: Limits) -> State {
    State::new(feed::setting("atlas", limits))
}

/// Counts a record at the next offset of its lane.
pub fn fold(state: &mut State, published: &Entry) {
    feed::fold(state, published.lane, published.appended_at, &published.event);
}

/// Ends a cycle with every lane that was ever read at its end.
pub use feed::close_at_end as close;

/// Folds one of our own decisions.
pub fn fold_decision(state: &mut State, decision: &Decision) {
    fold(
        state,
        &published(lane(Topic::Decision, 0), Event::Output(Output::from(decision.clone()))),
    );
}

/// All filters and weights of a kind of policy that is built in.
pub fn policy(kind_name: &str, rules: Rules) -> (Policy, Resolved) {
    let flavour = kind(kind_name).expect("built in");
    let name = kind_name.trim_start_matches("atlas-");
    let policy = Policy::compile(&PolicySpec::full(name, flavour, rules));
    let policy = policy.expect("the defaults are allowed");
    let resolved = policy.unchanged();
    (policy, resolved)
}

/// Text that lives as long as the test.
pub fn text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

pub fn job(name: &'static str) -> JobState<'static> {
    JobState {
        job: name,
        status: Status::Running,
        changed_at: DAWN,
        task: "70",
        queue: "ash",
        user: "ann",
        group: "top",
        gshare: "MC",
        resource_type: "SCORE",
        nucleus: "CERN",
        workflow: "pull",
        label: "managed",
        cores: 1,
        created_at: DAWN,
        ..JobState::default()
    }
}

pub fn beat(name: &'static str, at: Millis) -> Heartbeat<'static> {
    Heartbeat {
        job: name,
        at,
        cpu_s: 1,
        disk_io_kbps: 7,
        rss_mb: 1,
        events: 1,
        ..Heartbeat::default()
    }
}

pub fn transfer(name: &'static str, state: TransferStatus, at: Millis) -> Transfer<'static> {
    Transfer {
        request: name,
        state,
        changed_at: at,
        activity: "Production Output",
        source: "DESY",
        destination: "CERN",
        bytes: 1000,
        files: 3,
        ..Transfer::default()
    }
}

pub fn parameter(key: &str, value: &str, at: Millis) -> Parameter {
    Parameter {
        app: "jedi".into(),
        component: "jobbroker".into(),
        key: key.into(),
        vo: "atlas".into(),
        value: value.into(),
        changed_at: at,
    }
}

pub fn outcome(decision: &Decision, kind: OutcomeKind, at: Millis) -> DecisionOutcome {
    let (subject, decision) = (decision.subject.clone(), decision.id);
    let about = OutcomeAbout::Decision;
    DecisionOutcome { subject, decision, about, kind, at, reason: String::new() }
}

/// The answer that gives `jobs` jobs of a subject's request to a queue.
pub fn assign(subject: &str, attempt: u64, queue: &str, jobs: u32, now: Millis) -> Decision {
    let ranked = Ranked {
        queue: queue.into(),
        unified: queue.into(),
        weight: 1.0,
        jobs,
        cores: 1,
        factors: Vec::new(),
        platform: String::new(),
    };
    Decision { outcome: Outcome::Assign(vec![ranked]), ..defer(subject, attempt, 1, now) }
}

/// The answer that puts a subject's request off for an hour.
pub fn defer(subject: &str, attempt: u64, ordinal: u32, now: Millis) -> Decision {
    let outcome = Outcome::Defer { until: now.saturating_add(3_600_000) };
    Decision {
        task: subject.split('/').next().unwrap_or_default().into(),
        epoch: 1,
        cycle: 1,
        now,
        policy: "production-job".into(),
        policy_hash: "00".into(),
        gshare: "MC".into(),
        nucleus: "CERN".into(),
        ..Decision::new("atlas", subject, attempt, ordinal, outcome)
    }
}

/// A chunk of the task before the slash.
pub fn task(subject: &str, phase: TaskPhase, at: Millis) -> Task {
    Task {
        phase,
        user: "prod".into(),
        gshare: "MC".into(),
        nucleus: "CERN".into(),
        ram_count_mb: Some(1_500),
        ram_unit: RamUnit::MbPerCore,
        cpu_hs06s_per_event: Some(200.0),
        atom_events: 1_000,
        ..records::request(subject, 100, at)
    }
}

/// Dice for generated logs; the same seed gives the same log.
pub struct Chance(pub u64);

impl Chance {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        yardmaster::core::id::stir(self.0)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.word() % limit as u64) as usize
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// An index, drawn by weight; weights that are all 0 are all equal.
    pub fn weighed(&mut self, weights: &[usize]) -> usize {
        let total: usize = weights.iter().sum();
        if total == 0 {
            return self.below(weights.len());
        }
        let mut left = self.below(total);
        weights
            .iter()
            .position(|weight| {
                let here = left < *weight;
                left = left.saturating_sub(*weight);
                here
            })
            .unwrap_or(0)
    }
}
