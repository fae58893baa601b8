//! Random stories of a pool. Most of it is plausible: jobs wait, are matched, run and end, offers
//! come and go. The rest is anything at all.

use crate::world::*;
use std::collections::BTreeMap;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::domain::cms::output::Matched;
use yardmaster::core::domain::cms::state::{PoolSetting, PoolWorkflow};
use yardmaster::core::event::{
    Class, Event, FailureClass, JobState, Pilot, Requirements, SlotOffer, Status, Task, TaskPhase,
    WorkflowFacts,
};
use yardmaster::core::limits::Limits;
use yardmaster::core::output::Output;
use yardmaster::core::output::command::{Command, CommandKind};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::State;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, Millis};

pub const MATCH_LIFETIME: Millis = 15 * MINUTE;
const SITES: [&str; 4] = ["T1_A", "T2_B", "T2_C", "T3_D"];
const USERS: [&str; 4] = ["ann", "bob", "cat", "ops"];
const WORKFLOWS: [&str; 5] = ["w0", "w1", "w2", "w3", "w4"];
const OFFERS: [&str; 8] = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7"];
const NODES: [&str; 4] = ["n0", "n1", "n2", ""];

/// Records published in a cycle, and our outputs at its end.
#[derive(Clone)]
pub struct PoolCycle {
    pub records: Cycle,
    pub outputs: Vec<Output>,
}

pub struct PoolStory {
    pub limits: Limits,
    pub setting: PoolSetting,
    pub cycles: Vec<PoolCycle>,
}

/// State of a job in the story.
#[derive(Clone, Copy, Default)]
struct Life {
    attempt: u32,
    status: Option<Status>,
    at: Millis,
    created_at: Millis,
    started_at: Millis,
}

/// A story in the making.
struct Teller {
    chance: Chance,
    lives: BTreeMap<usize, Life>,
    /// The last state that followed from nothing, with the number of its job.
    last: Option<(usize, JobState<'static>)>,
    attempts: BTreeMap<&'static str, u32>,
    state: State,
    step: Millis,
    now: Millis,
}

pub fn empty(limits: Limits, setting: PoolSetting) -> State {
    let mut state = state_with(limits);
    state.setting.pool = Some(setting);
    state
}

impl PoolStory {
    pub fn drawn(seed: u64) -> PoolStory {
        let mut chance = Chance(seed.wrapping_mul(0xABCD_1234_5678_9EF1));
        let limits = Limits {
            ended_job_lifetime_ms: chance.of(&[6 * HOUR, DAY]),
            silent_job_lifetime_ms: chance.of(&[2 * DAY, 30 * DAY]),
            slot_offer_lifetime_ms: chance.of(&[HOUR, 6 * HOUR]),
            ..Limits::default()
        };
        let half_life_s = chance.of(&[3_600, 86_400, 604_800]);
        let setting = PoolSetting { half_life_s, match_lifetime_ms: MATCH_LIFETIME };
        let step = chance.of(&[2_000, 7 * MINUTE, 5 * HOUR]);
        let state = empty(limits.clone(), setting);
        let (lives, attempts) = (BTreeMap::new(), BTreeMap::new());
        let mut teller = Teller { chance, lives, last: None, attempts, state, step, now: DAWN };
        let cycles = (0..30).map(|_| teller.cycle()).collect();
        PoolStory { limits, setting, cycles }
    }

    pub fn state(&self) -> State {
        empty(self.limits.clone(), self.setting)
    }
}

impl Teller {
    fn cycle(&mut self) -> PoolCycle {
        self.now += 1 + self.chance.below(self.step as usize) as Millis;
        let mut lanes: BTreeMap<Lane, Vec<Entry>> = BTreeMap::new();
        for _ in 0..self.chance.below(80) {
            let (lane, event) = self.event();
            let entry = Entry { lane, appended_at: self.now, event };
            fold(&mut self.state, &entry);
            lanes.entry(lane).or_default().push(entry);
        }
        close(&mut self.state, self.now);
        let outputs = self.outputs();
        let records =
            Cycle { lanes: lanes.into_values().collect(), now: self.now, decisions: vec![] };
        PoolCycle { records, outputs }
    }

    fn moment(&mut self) -> Millis {
        self.now - self.chance.below(self.step as usize) as Millis
    }

    fn event(&mut self) -> (Lane, Event<'static>) {
        let partition = self.chance.below(3) as u32;
        match self.chance.below(20) {
            0..=11 => {
                let number = self.chance.below(40);
                (lane(Topic::JobState, number as u32 % 3), Event::JobState(self.live(number)))
            }
            12 | 13 => (lane(Topic::JobState, partition), Event::JobState(self.any_job())),
            14..=16 => (lane(Topic::Pilot, partition), Event::Pilot(self.offer())),
            17 => (lane(Topic::Pilot, partition), Event::Pilot(self.withdrawn())),
            _ => (lane(Topic::Task, partition), Event::Task(Box::new(self.workflow()))),
        }
    }

    /// The next state in a job's life.
    fn live(&mut self, number: usize) -> JobState<'static> {
        let at = self.moment();
        let name = job_name(number);
        let is_held = self.state.pool.jobs.of(name).is_some_and(|job| job.held());
        let life = self.lives.entry(number).or_default();
        life.at = (life.at + 1).max(at).min(self.now);
        let mut ended_at = 0;
        life.status = Some(match life.status {
            None => {
                life.created_at = life.at;
                Status::Pending
            }
            Some(Status::Pending) if is_held || self.chance.below(6) == 0 => {
                life.started_at = life.at;
                Status::Running
            }
            Some(Status::Pending) if self.chance.below(30) == 0 => Status::Cancelled,
            Some(Status::Pending) => Status::Pending,
            Some(Status::Running) => {
                ended_at = life.at;
                self.chance.of(&[Status::Finished, Status::Finished, Status::Failed])
            }
            Some(Status::Failed) => {
                (life.attempt, life.started_at) = (life.attempt + 1, 0);
                Status::Pending
            }
            Some(ended) => ended,
        });
        let life = *life;
        let status = life.status.unwrap_or_default();
        if status.is_ended() && ended_at == 0 {
            ended_at = if life.started_at == 0 { 0 } else { life.at };
        }
        let stated = status.is_ended() || self.chance.below(3) > 0;
        JobState {
            job: name,
            status,
            attempt: life.attempt,
            changed_at: life.at,
            created_at: life.created_at,
            started_at: life.started_at,
            ended_at,
            task: WORKFLOWS[number % WORKFLOWS.len()],
            queue: self.chance.of(&SITES),
            user: USERS[number % USERS.len()],
            requirements: stated.then(|| Box::new(self.wants(number))),
            ..job(name)
        }
    }

    fn wants(&mut self, number: usize) -> Requirements<&'static str> {
        let failure = FailureClass::ALL;
        Requirements {
            seq: Some((number / WORKFLOWS.len()) as i64 + 1),
            class: self.chance.of(&[None, Some(Class::Central)]),
            site_whitelist: self.chance.of(&[None, Some("T1_A,T2_B"), Some("")]),
            allow_overflow: self.chance.of(&[None, Some(true), Some(false)]),
            high_io: self.chance.below(2) == 0,
            cores_min: self.chance.of(&[1, 4, 8]),
            cores_max: self.chance.of(&[None, Some(16)]),
            max_wall_time_s: self.chance.of(&[None, Some(3_600)]),
            failure: self.chance.of(&[None, Some(failure[0]), Some(failure[1])]),
            last_attempt: self.chance.below(3) == 0,
            used_rss_mb: self.chance.below(3_000) as i64,
            ..Requirements::default()
        }
    }

    /// A state that follows from nothing, or one that differs from the last of these in content
    /// alone.
    fn any_job(&mut self) -> JobState<'static> {
        let (number, last) = match self.last.clone() {
            Some((number, last)) if self.chance.below(3) == 0 => (number, last),
            _ => self.new_job(),
        };
        let stated = last.status.is_ended() || self.chance.below(2) == 0;
        let job = JobState {
            task: self.chance.of(&WORKFLOWS),
            queue: self.chance.of(&SITES),
            user: self.chance.of(&USERS),
            requirements: stated.then(|| Box::new(self.wants(number))),
            ..last
        };
        self.last = Some((number, job.clone()));
        job
    }

    fn new_job(&mut self) -> (usize, JobState<'static>) {
        let (number, at) = (self.chance.below(45), self.moment());
        let state = JobState {
            job: job_name(number),
            status: self.chance.of(&Status::ALL),
            attempt: self.chance.below(3) as u32,
            changed_at: at - at % self.chance.of(&[1, 1_000]),
            revision: self.chance.of(&[0, 1, 1 << 40]),
            started_at: self.chance.of(&[0, at - 1_000, at]),
            ended_at: self.chance.of(&[0, at, at - 500]),
            ..job(job_name(number))
        };
        (number, state)
    }

    fn offer(&mut self) -> Pilot<'static> {
        let (name, at) = (self.chance.of(&OFFERS), self.moment());
        let known = self.attempts.entry(name).or_default();
        *known += u32::from(self.chance.below(3) == 0);
        let back = u32::from(self.chance.below(6) == 0);
        let attempt = known.saturating_sub(back);
        let offer = SlotOffer {
            offer: name,
            attempt,
            cores_free: self.chance.of(&[1, 8, 16]),
            cores_total: self.chance.of(&[8, 16, 64]),
            wall_left_s: 40_000,
            mem_free_mb: 16_000,
            node: self.chance.of(&NODES),
            expires_at: self.chance.of(&[0, at + MINUTE, at + 2 * HOUR, at + 9 * DAY]),
            ..SlotOffer::default()
        };
        Pilot::SlotOffer { queue: self.chance.of(&SITES), offer: Box::new(offer), at }
    }

    fn withdrawn(&mut self) -> Pilot<'static> {
        let (offer, at) = (self.chance.of(&OFFERS), self.moment());
        let attempt = self.attempts.get(offer).copied().unwrap_or_default();
        Pilot::SlotWithdrawn { queue: self.chance.of(&SITES), offer, attempt, at }
    }

    fn workflow(&mut self) -> Task {
        let (name, at) = (self.chance.of(&WORKFLOWS), self.moment());
        let phase = self.chance.of(&[TaskPhase::Asking, TaskPhase::Asking, TaskPhase::Ended]);
        let facts = WorkflowFacts {
            class: self.chance.of(&[Class::Central, Class::Analysis]),
            priority: self.chance.below(9) as i64,
            priority_revision: self.chance.below(4) as i64,
            override_tail: self.chance.below(4) == 0,
            total_jobs: self.chance.of(&[None, Some(8)]),
            overflow_sites: self.chance.of(&[0, 1]).eq(&1).then(|| vec!["T2_C".to_owned()]),
            ..WorkflowFacts::default()
        };
        let changed_at = at - at % self.chance.of(&[1, 1_000]);
        let revision = self.chance.below(2) as u32;
        Task { changed_at, revision, workflow: Some(facts), ..task(name, phase, at) }
    }

    fn outputs(&mut self) -> Vec<Output> {
        let mut outputs = Vec::new();
        for _ in 0..self.chance.below(8) {
            let made = match self.chance.below(14) {
                0..=6 => self.matched(),
                7 => self.odd_match(),
                8 => self.deferred(),
                9 => self.refused(),
                10 | 11 => Some(self.about_workflow()),
                _ => Some(self.about_node()),
            };
            if let Some(output) = made {
                self.state.fold_output(&output);
                outputs.push(output);
            }
        }
        outputs
    }

    fn matched(&mut self) -> Option<Output> {
        let live = self.state.pool.offers.iter().filter(|(_, it)| it.is_live(self.now));
        let live: Vec<(String, u32)> =
            live.map(|(name, it)| (name.to_owned(), it.answers + 1)).collect();
        let waiting = self.state.pool.jobs.iter().filter(|(_, job)| job.waits());
        let waiting: Vec<String> = waiting.map(|(name, _)| name.to_owned()).collect();
        if live.is_empty() || waiting.is_empty() {
            return None;
        }
        let (offer, ordinal) = &live[self.chance.below(live.len())];
        let job = &waiting[self.chance.below(waiting.len())];
        Some(match_of(&self.state, job, offer, *ordinal, self.now))
    }

    /// A match about something that is not known, or old, or published only.
    fn odd_match(&mut self) -> Option<Output> {
        let job = matchable(&self.state)?;
        let offer = self.chance.of(&["o0", "o1", "nobody's"]);
        let then = self.chance.of(&[self.now, self.now - HOUR]);
        let Output::Decision(made) = match_of(&self.state, &job, offer, 1, then) else {
            return None;
        };
        let mut made = *made;
        made.attempt = self.chance.of(&[0, 1, 2, 1 << 32]);
        made.dry_run = self.chance.below(3) == 0;
        Some(made.into())
    }

    fn deferred(&mut self) -> Option<Output> {
        let offer = self.chance.of(&OFFERS);
        let known = self.state.pool.offers.of(offer)?;
        Some(defer(offer, known.offer.attempt.into(), known.answers + 1, self.now).into())
    }

    fn refused(&mut self) -> Option<Output> {
        let job = matchable(&self.state)?;
        let attempt = self.state.pool.jobs.of(&job)?.state.as_ref()?.attempt;
        let reason = "no_workflow".to_owned();
        let outcome = Outcome::Reject { reason };
        Some(Decision { outcome, ..defer(&job, attempt.into(), 1, self.now) }.into())
    }

    fn about_workflow(&mut self) -> Output {
        let kinds = [
            CommandKind::Boost,
            CommandKind::KillWorkflow,
            CommandKind::Alert,
            CommandKind::Profile,
        ];
        let (kind, subject) = (self.chance.of(&kinds), self.chance.of(&WORKFLOWS));
        let dry_run = self.chance.below(4) == 0;
        let command = Command {
            kind,
            measured: 70.0,
            limit: 900.0,
            now: self.now,
            dry_run,
            ..Command::new("atlas", kind.name(), subject, 0, None)
        };
        command.into()
    }

    fn about_node(&mut self) -> Output {
        let subject = self.chance.of(&NODES[..3]);
        let drain = self.state.pool.nodes.of(subject).and_then(|node| node.drain.clone());
        let (kind, since) = match drain {
            Some(drain) => (CommandKind::Undrain, drain.since),
            None => (CommandKind::Drain, self.now),
        };
        let command = Command {
            kind,
            queue: "T2_B".to_owned(),
            jobs: vec![job_name(self.chance.below(40)).to_owned()],
            expires_at: self.now + HOUR,
            now: self.now,
            ..Command::new("atlas", kind.name(), subject, 0, Some(since))
        };
        command.into()
    }
}

fn job_name(number: usize) -> &'static str {
    text(format!("job-{number}"))
}

/// A job that waits.
pub fn matchable(state: &State) -> Option<String> {
    let waiting = state.pool.jobs.iter().find(|(_, job)| job.waits());
    waiting.map(|(name, _)| name.to_owned())
}

/// The decision that gives a job a place.
pub fn match_of(state: &State, job: &str, offer: &str, ordinal: u32, now: Millis) -> Output {
    let held = state.pool.jobs.of(job).and_then(|it| it.state.clone()).unwrap_or_default();
    let announced = state.pool.offers.of(offer);
    let site = announced.map_or("T1_A", |it| it.site.as_str());
    let attempt = announced.map_or(0, |it| it.offer.attempt);
    let overflow = if job.len().is_multiple_of(2) { "T1_A" } else { "" };
    let matched = Matched {
        job: job.to_owned(),
        job_attempt: held.attempt,
        cores: 2,
        weight_milli: 2_000,
        usage_milli: 1_900,
        wall_time_s: 600,
        rss_mb: 1_000,
        overflow_source: overflow.to_owned(),
        relaxed: vec!["surplus".to_owned()],
        ..Matched::default()
    };
    let assigned = assign(offer, attempt.into(), site, 1, now);
    let (task, user) = (held.workflow, held.user);
    let blank = defer(offer, attempt.into(), ordinal, now);
    let (outcome, matched) = (assigned.outcome, Some(matched));
    Decision { task, user, outcome, matched, ..blank }.into()
}

/// One cycle: its lanes merged by a seed, its end, our outputs.
pub fn close_cycle(state: &mut State, cycle: &PoolCycle, merge: u64) {
    let mut chance = Chance(merge);
    super::super::random::merged(&cycle.records, &mut chance, |published| fold(state, published));
    close(state, cycle.records.now);
    cycle.outputs.iter().for_each(|output| state.fold_output(output));
    // As judging leaves it.
    state.touched = Default::default();
}

pub fn fed(story: &PoolStory, merge: u64) -> State {
    fed_with(story, merge, |_, _, _| {})
}

/// Tells a story; `look` sees the state before each cycle, and at its cut.
pub fn fed_with(
    story: &PoolStory,
    merge: u64,
    mut look: impl FnMut(&State, &State, &PoolCycle),
) -> State {
    let mut state = story.state();
    for (at, cycle) in story.cycles.iter().enumerate() {
        let before = state.clone();
        let mut chance = Chance(merge ^ at as u64);
        super::super::random::merged(&cycle.records, &mut chance, |it| fold(&mut state, it));
        close(&mut state, cycle.records.now);
        look(&before, &state, cycle);
        cycle.outputs.iter().for_each(|output| state.fold_output(output));
    }
    state
}

/// A cycle without records, in which every lane is at its end.
pub fn keep_up(state: &mut State, now: Millis) {
    close(state, now);
}

/// Whether a record is about what is over in the end.
pub fn is_over(event: &Event<'_>) -> bool {
    match event {
        Event::JobState(job) => job.status.is_ended(),
        Event::Pilot(_) => true,
        _ => false,
    }
}

/// A state in which every kind of record has something to show.
pub fn rich() -> State {
    let is_rich = |state: &State| {
        let pool = &state.pool;
        let flags: [fn(&PoolWorkflow) -> bool; 4] =
            [|it| !it.boosted, |it| !it.alerted, |it| !it.killed, |it| !it.ended.is_empty()];
        pool.jobs.iter().any(|(_, job)| job.matched.is_some())
            && pool.jobs.iter().any(|(_, job)| job.requirements.is_some())
            && flags.iter().all(|flag| pool.workflows.iter().any(|(_, it)| flag(it)))
            && pool.workflows.iter().all(|(_, it)| it.record.is_some())
            && !(pool.offers.is_empty() || pool.users.is_empty() || pool.nodes.is_empty())
    };
    let stories = (0..500).map(|seed| fed(&PoolStory::drawn(seed), 1));
    stories.into_iter().find(is_rich).expect("one of so many")
}
