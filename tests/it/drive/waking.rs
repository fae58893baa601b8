//! Waking against a dumb twin: an engine that evaluates in each cycle only what changed gives the
//! same answers as one that evaluates everything, on random stories; also if waiting requests take
//! turns since more candidates wait than one cycle may evaluate.

use super::yard::*;
use crate::world::{Chance, DAWN, fold, lane, said, text};
use std::collections::BTreeMap;
use yardmaster::core::close::Closing;
use yardmaster::core::cut::Topic;
use yardmaster::core::decision::{Decision, Outcome as Answer};
use yardmaster::core::engine::Engine;
use yardmaster::core::event::{
    Dataset, DatasetReplica, Event, FullChain, JobState, Link, LinkQueued, Options, Outcome,
    OutcomeKind, OutputDataset, Parameter, Pilot, Queue, QueueStatus, Site, Status, Storage, Task,
    TaskPhase,
};
use yardmaster::core::policy::Policy;
use yardmaster::core::progress::LaneFlags;
use yardmaster::core::state::{Setting, State};
use yardmaster::core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};
use yardmaster::wire::topology::{self, Topology};

const QUEUES: usize = 6;
const NUCLEI: [&str; 2] = ["NORTH", "SOUTH"];

/// Two engines that read the same; one of them forgets everything derived before each cycle.
struct Twins {
    engines: [Engine; 2],
    now: Millis,
    number: u64,
    subjects: u32,
    /// Answers by kind: first ones, repeated ones before their time, finals.
    seen: [u32; 3],
    until: BTreeMap<String, Millis>,
}

impl Twins {
    fn new(wake_candidates: usize, rules: &str) -> Twins {
        let text = topology::ATLAS.replace("rules = \"documented\"", rules);
        let topology = Topology::parse("atlas.toml", &text).unwrap();
        let engine = || {
            let policies = topology.policies.iter();
            let policies: Vec<Policy> =
                policies.map(|spec| Policy::compile(spec).unwrap()).collect();
            let mut limits = topology.limits.clone();
            limits.wake_candidates_per_cycle = wake_candidates;
            let silence = [None; Topic::ALL.len()];
            let setting = Setting { domain: "atlas".into(), limits, silence };
            Engine::new(State::new(setting), policies)
        };
        Twins {
            engines: [engine(), engine()],
            now: DAWN,
            number: 0,
            subjects: 0,
            seen: [0; 3],
            until: BTreeMap::new(),
        }
    }

    fn read(&mut self, topic: Topic, event: Event<'static>) {
        let record = said(lane(topic, 0), event);
        self.engines.iter_mut().for_each(|engine| fold(&mut engine.state, &record));
    }

    /// Closes a cycle; the answers of both must be the same.
    fn cycle(&mut self, what: &str) {
        self.number += 1;
        let (mut answers, mut throttles) = (Vec::new(), Vec::new());
        for (twin, engine) in self.engines.iter_mut().enumerate() {
            let at_end = LaneFlags { at_end: true, ..LaneFlags::default() };
            let flags = engine.state.times.lanes.iter().map(|(lane, _)| (lane, at_end)).collect();
            let (number, now) = (self.number, self.now);
            engine.state.close(&Closing { epoch: 1, number, now, flags });
            if twin == 1 {
                engine.forget_derived();
            }
            engine.settle();
            let mut all = Vec::new();
            while let Some(decision) = engine.next_decision() {
                engine.said(&decision);
                all.push(decision);
            }
            let all_throttles = engine.throttles();
            all_throttles.iter().for_each(|throttle| engine.throttled(throttle));
            throttles.push(all_throttles);
            answers.push(all);
        }
        let [quick, dumb] = [&answers[0], &answers[1]];
        let differs = |all: &[Decision], others: &[Decision]| -> Vec<String> {
            let missing = all.iter().filter(|one| !others.contains(one));
            missing
                .map(|one| format!("{} {:?} {:?}", one.subject, one.outcome, one.notes))
                .collect()
        };
        let (more, less) = (differs(quick, dumb), differs(dumb, quick));
        let number = self.number;
        assert!(more.is_empty() && less.is_empty(), "{what}, cycle {number}: {more:?}, {less:?}");
        assert_eq!(quick.len(), dumb.len(), "{what}, cycle {number}");
        assert_eq!(throttles[0], throttles[1], "{what}, cycle {number}");
        self.count(answers.swap_remove(0));
    }

    fn count(&mut self, decisions: Vec<Decision>) {
        for decision in decisions {
            let kind = match (&decision.outcome, self.until.get(&decision.subject)) {
                (Answer::Assign(_), _) => 2,
                (_, Some(until)) if self.now < *until => 1,
                _ => 0,
            };
            self.seen[kind] += 1;
            if let Answer::Defer { until } = decision.outcome {
                self.until.insert(decision.subject.clone(), until);
            } else {
                let (kind, reason) = (OutcomeKind::Accepted, String::new());
                let (subject, decision) = (decision.subject, decision.id);
                let outcome = Outcome { subject, decision, kind, at: self.now, reason };
                self.read(Topic::Outcome, Event::Outcome(outcome));
            }
        }
    }
}

fn queue_of(number: usize, chance: &mut Chance, now: Millis) -> Queue {
    let mut queue = queue(&format!("QUEUE_{number:02}"), now);
    queue.analysis = number.is_multiple_of(2);
    queue.max_rss_mb = chance.of(&[2_000, 4_000, 16_000]);
    queue.transferring_limit = 20;
    if chance.below(6) == 0 {
        queue.status = QueueStatus::Offline;
    }
    queue
}

fn storage_of(chance: &mut Chance, now: Millis) -> Storage {
    let number = chance.below(QUEUES);
    let site = NUCLEI[number % 2];
    let name = format!("{site}_QUEUE_{number:02}_DATADISK");
    let free_bytes = chance.of(&[0, 1 << 40, 1 << 46, 1 << 49]);
    let (read_lan, read_wan) = (chance.below(5) > 0, chance.below(5) > 0);
    let write_wan = chance.below(5) > 0;
    Storage { free_bytes, write_wan, read_lan, read_wan, ..storage(&name, site, now) }
}

fn link_of(chance: &mut Chance, now: Millis) -> Link {
    let (source, destination) = (chance.of(&NUCLEI), chance.of(&NUCLEI));
    let files = chance.of(&[1, 200, 50_000]);
    Link {
        source: source.into(),
        destination: destination.into(),
        changed_at: now - chance.of(&[0, 59 * MINUTE]),
        closeness: Some(chance.of(&[-1, 3])),
        mbps_1h: Some(20.0),
        mbps_1d: None,
        mbps_1w: None,
        queued: vec![LinkQueued { activity: "Production Output".into(), files, bytes: 1 }],
        queued_known: chance.below(3) > 0,
    }
}

fn job_of(chance: &mut Chance, now: Millis) -> JobState<'static> {
    let status = chance.of(&[
        Status::Activated,
        Status::Starting,
        Status::Running,
        Status::Transferring,
        Status::Finished,
    ]);
    let name = text(format!("job{}", chance.below(400)));
    let queue = text(format!("QUEUE_{:02}", chance.below(QUEUES)));
    let job = job(name, queue, "", status, now);
    if chance.below(2) == 0 {
        return job;
    }
    JobState { user: "ann", group: "", gshare: "User Analysis", label: "user", ..job }
}

fn pilot_of(chance: &mut Chance, now: Millis) -> Pilot<'static> {
    let queue = text(format!("QUEUE_{:02}", chance.below(QUEUES)));
    if chance.below(3) > 0 {
        return Pilot::AskedJob { queue, node: "node", at: now };
    }
    let (gshare, resource_type) = (chance.of(&["", "MC 16 simul"]), "");
    let expires_at = chance.of(&[0, now + MINUTE]);
    let slots = chance.of(&[1, 100]);
    Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at: now }
}

/// What a task is of a full chain, and the task it was made of: one that asked before.
fn chain_of(number: u32, chance: &mut Chance) -> (FullChain, String) {
    if chance.below(2) == 0 {
        return (FullChain::No, String::new());
    }
    let parent = number.saturating_sub(1 + chance.below(4) as u32);
    (chance.of(&[FullChain::Capable, FullChain::Require]), parent.to_string())
}

fn dataset_of(chance: &mut Chance, now: Millis) -> Dataset {
    let number = chance.below(QUEUES);
    let endpoint = format!("{}_QUEUE_{number:02}_DATADISK", NUCLEI[number % 2]);
    let (files, bytes) = (chance.of(&[5, 500]), chance.of(&[1 << 20, 1 << 36]));
    let (files_total, is_virtual) = (files, false);
    let replica = DatasetReplica { endpoint, files, bytes, files_total, is_virtual };
    Dataset {
        name: "EVNT".into(),
        container: String::new(),
        primary: true,
        pseudo: false,
        distributed: false,
        files,
        bytes,
        created_at: now - DAY,
        modified_at: now - chance.of(&[DAY - MINUTE, HOUR]),
        replicas: vec![replica],
    }
}

/// A task that asked before has less to do, or has ended.
fn change_of(task: &Task, chance: &mut Chance, now: Millis) -> Task {
    let mut task = Task { changed_at: now, ..task.clone() };
    task.options.remaining_events /= chance.of(&[2, 1_000]);
    if chance.below(4) == 0 {
        task.phase = TaskPhase::Ended;
    }
    task
}

fn task_of(number: u32, chance: &mut Chance, now: Millis) -> Task {
    let subject = format!("{number}/1");
    let mut task = match chance.below(6) {
        0 | 1 => asking(&subject, now),
        2 => {
            let token = "dst:ATLASDATADISK".to_owned();
            let output = vec![OutputDataset { name: "HITS".into(), log: false, token }];
            let nucleus = String::new();
            let (full_chain, parent_task) = chain_of(number, chance);
            let options = Options { full_chain, parent_task, ..Options::default() };
            let policy = "production-task".into();
            Task { policy, nucleus, output, options, ..task(&subject, 0, now) }
        }
        _ => Task { nucleus: chance.of(&NUCLEI).into(), ..task(&subject, 5, now) },
    };
    // A job of 10 HS06 writes 0.25 GB a day: 1e13 HS06 s are 28 TB.
    task.options.remaining_events = chance.of(&[0, 1_000, 30_000_000_000]);
    if chance.below(3) == 0 {
        task.input.datasets = vec![dataset_of(chance, now)];
        let waited = chance.of(&[0, 4 * HOUR, 7 * DAY - MINUTE]);
        task.options.frozen_at = Some(now - waited);
        if chance.below(2) == 0 {
            task.options.chunk_site = format!("QUEUE_{:02}", chance.below(QUEUES));
        }
    }
    task.priority = chance.of(&[300, 500, 900]);
    task.ram_count_mb = Some(chance.of(&[1_000, 3_000, 10_000]));
    task
}

fn story(seed: u64, wake_candidates: usize) -> [u32; 3] {
    let mut chance = Chance(seed);
    let rules = ["rules = \"documented\"", "rules = \"panda\""];
    let mut twins = Twins::new(wake_candidates, rules[seed as usize % 2]);
    let mut tasks: Vec<Task> = Vec::new();
    for number in 0..QUEUES {
        let queue = queue_of(number, &mut chance, twins.now);
        twins.read(Topic::Queue, Event::Queue(Box::new(queue)));
    }
    for name in NUCLEI {
        let (name, output_endpoint) = (name.to_owned(), String::new());
        let (changed_at, tier) = (twins.now, 1);
        let site = Site { name, changed_at, nucleus: true, active: true, tier, output_endpoint };
        twins.read(Topic::Site, Event::Site(site));
    }
    for number in 0..200 {
        let now = twins.now;
        for _ in 0..chance.below(6) {
            match chance.below(40) {
                0 => {
                    let number = chance.below(QUEUES);
                    let queue = queue_of(number, &mut chance, now);
                    twins.read(Topic::Queue, Event::Queue(Box::new(queue)));
                }
                1 => twins.read(Topic::Parameter, Event::Parameter(parameter_of(&mut chance, now))),
                2..6 => {
                    let link = link_of(&mut chance, now);
                    twins.read(Topic::Link, Event::Link(link));
                }
                6..10 => {
                    let storage = storage_of(&mut chance, now);
                    twins.read(Topic::Storage, Event::Storage(storage));
                }
                10..16 => {
                    let pilot = pilot_of(&mut chance, now);
                    twins.read(Topic::Pilot, Event::Pilot(pilot));
                }
                16..24 => {
                    twins.subjects += 1;
                    let task = task_of(twins.subjects, &mut chance, now);
                    tasks.push(task.clone());
                    twins.read(Topic::Task, Event::Task(Box::new(task)));
                }
                24..27 if !tasks.is_empty() => {
                    let at = chance.below(tasks.len());
                    tasks[at] = change_of(&tasks[at], &mut chance, now);
                    twins.read(Topic::Task, Event::Task(Box::new(tasks[at].clone())));
                }
                _ => {
                    let job = job_of(&mut chance, now);
                    twins.read(Topic::JobState, Event::JobState(job));
                }
            }
        }
        twins.now += chance.of(&[100, SECOND, 20 * SECOND, 2 * MINUTE]);
        twins.cycle(&format!("seed {seed}, step {number}"));
    }
    twins.seen
}

fn parameter_of(chance: &mut Chance, now: Millis) -> Parameter {
    Parameter {
        app: "jedi".into(),
        component: "jobbroker".into(),
        key: "NQUEUELIMIT".into(),
        vo: "atlas".into(),
        value: chance.of(&["20", "200"]).into(),
        changed_at: now,
    }
}

#[test]
fn an_engine_that_evaluates_only_what_changed_answers_like_one_that_evaluates_everything() {
    for wake_candidates in [1_000_000, 150] {
        let mut seen = [0; 3];
        for seed in 0..8 {
            let more = story(seed, wake_candidates);
            seen = std::array::from_fn(|at| seen[at] + more[at]);
        }
        let what = format!("with {wake_candidates} candidates a cycle: {seen:?}");
        assert!(seen.iter().all(|count| *count > 10), "nothing is shown {what}");
    }
}
