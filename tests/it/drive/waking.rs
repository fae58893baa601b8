//! Waking against a dumb twin: an engine that evaluates in each cycle only what changed gives the
//! same answers as one that evaluates everything, on random stories; also if waiting requests take
//! turns since more candidates wait than one cycle may evaluate.

mod facts;

use super::yard::*;
use crate::world::{Chance, DAWN, fold, lane, published, text};
use facts::*;
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::engine::Engine;
use yardmaster::core::event::{
    DecisionOutcome, Event, OutcomeAbout, OutcomeKind, Pilot, QueueStatus, Site, Storage, Task,
};
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::unit::{MINUTE, Millis, SECOND};
use yardmaster::sim::scenario::feed;
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
        let mut topology = Topology::parse("atlas.toml", &text).unwrap();
        topology.limits.wake_candidates_per_cycle = wake_candidates;
        let engine = || feed::engine(&topology);
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
        let record = published(lane(topic, 0), event);
        self.engines.iter_mut().for_each(|engine| fold(&mut engine.state, &record));
    }

    /// Closes a cycle; the answers of both must be the same.
    fn cycle(&mut self, what: &str) {
        self.number += 1;
        let (mut answers, mut throttles) = (Vec::new(), Vec::new());
        let mut commands = Vec::new();
        for (twin, engine) in self.engines.iter_mut().enumerate() {
            feed::close_at_end(&mut engine.state, self.now);
            assert_eq!(engine.state.number, self.number);
            if twin == 1 {
                engine.forget_derived();
            }
            engine.settle();
            let mut all = Vec::new();
            let (mut all_throttles, mut all_commands) = (Vec::new(), Vec::new());
            while let Some(output) = engine.next_output() {
                engine.fold_output(&output);
                match output {
                    Output::Decision(decision) => all.push(*decision),
                    Output::Throttle(throttle) => all_throttles.push(*throttle),
                    Output::Command(command) => all_commands.push(*command),
                }
            }
            throttles.push(all_throttles);
            commands.push(all_commands);
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
        let of_first = less.first().and_then(|first| {
            let subject = first.split(' ').next().unwrap_or_default();
            let ask = self.engines[0].state.requests.of(subject)?;
            Some(format!("{:?} {:?}", ask.answer.as_ref()?.blockers, ask.task))
        });
        assert!(
            more.is_empty() && less.is_empty(),
            "{what}, cycle {number}: {more:?}, {less:?}; the first waits for {of_first:?}"
        );
        assert_eq!(quick.len(), dumb.len(), "{what}, cycle {number}");
        assert_eq!(throttles[0], throttles[1], "{what}, cycle {number}");
        assert_eq!(commands[0], commands[1], "{what}, cycle {number}");
        self.count(answers.swap_remove(0));
    }

    fn count(&mut self, decisions: Vec<Decision>) {
        for decision in decisions {
            let kind = match (&decision.outcome, self.until.get(&decision.subject)) {
                (Outcome::Assign(_), _) => 2,
                (_, Some(until)) if self.now < *until => 1,
                _ => 0,
            };
            self.seen[kind] += 1;
            if let Outcome::Defer { until } = decision.outcome {
                self.until.insert(decision.subject.clone(), until);
            } else {
                let (kind, reason) = (OutcomeKind::Accepted, String::new());
                let (subject, decision) = (decision.subject, decision.id);
                let about = OutcomeAbout::Decision;
                let at = self.now;
                let outcome = DecisionOutcome { subject, decision, about, kind, at, reason };
                self.read(Topic::Outcome, Event::Outcome(outcome));
            }
        }
    }
}

/// Publishes the queues, sites and links that there are at the beginning.
fn begin(twins: &mut Twins, theme: &Theme, chance: &mut Chance) {
    let now = twins.now;
    for number in 0..QUEUES {
        let mut queue = queue_of(number, chance, now);
        if theme.begins_open {
            (queue.status, queue.max_rss_mb) = (QueueStatus::Online, 16_000);
            queue.catchall = "bareNucleus=allow".into();
            if theme.closed.contains(&number) {
                queue.status = QueueStatus::Offline;
            }
            let node = "node";
            let name = text(queue.name.clone());
            let pilot = Pilot::AskedJob { queue: name, node, at: now };
            twins.read(Topic::Pilot, Event::Pilot(pilot));
            let endpoint = format!("{}_{name}_DATADISK", NUCLEI[number % 2]);
            // 28 TB above the least that must be left.
            let free_bytes = 1 << 47;
            let storage = Storage { free_bytes, ..storage(&endpoint, NUCLEI[number % 2], now) };
            twins.read(Topic::Storage, Event::from(storage));
        }
        twins.read(Topic::Queue, Event::from(queue));
    }
    for name in NUCLEI {
        let output_endpoint = match theme.begins_open {
            true if name == NUCLEI[0] => format!("{name}_QUEUE_00_DATADISK"),
            true => format!("{name}_QUEUE_01_DATADISK"),
            false => String::new(),
        };
        let (name, changed_at, tier) = (name.to_owned(), now, 1);
        let site = Site {
            name,
            changed_at,
            nucleus: true,
            active: true,
            tier,
            output_endpoint,
            cluster: None,
            slot_quota: None,
        };
        twins.read(Topic::Site, Event::from(site));
    }
}

fn change(twins: &mut Twins, tasks: &mut Vec<Task>, theme: &Theme, chance: &mut Chance) {
    let now = twins.now;
    match chance.of(theme.changes) {
        Change::Queue => {
            let number = chance.below(QUEUES);
            let queue = queue_of(number, chance, now);
            twins.read(Topic::Queue, Event::from(queue));
        }
        Change::Parameter => {
            twins.read(Topic::Parameter, Event::from(parameter_of(chance, now)));
        }
        Change::Link => twins.read(Topic::Link, Event::from(link_of(chance, now))),
        Change::Storage => {
            twins.read(Topic::Storage, Event::from(storage_of(chance, now)));
        }
        Change::Pilot => twins.read(Topic::Pilot, Event::Pilot(pilot_of(chance, now))),
        Change::NewTask => {
            twins.subjects += 1;
            let task = task_of(twins.subjects, theme, chance, now);
            tasks.push(task.clone());
            twins.read(Topic::Task, Event::Task(Box::new(task)));
        }
        Change::OldTask if tasks.is_empty() => {}
        Change::OldTask => {
            let at = chance.below(tasks.len());
            tasks[at] = change_of(&tasks[at], chance, now);
            twins.read(Topic::Task, Event::Task(Box::new(tasks[at].clone())));
        }
        Change::Job => twins.read(Topic::JobState, Event::JobState(job_of(chance, now))),
    }
}

fn story(seed: u64, wake_candidates: usize, theme: &Theme) -> [u32; 3] {
    let mut chance = Chance(seed);
    let rules = ["rules = \"documented\"", "rules = \"panda\""];
    let mut twins = Twins::new(wake_candidates, rules[seed as usize % 2]);
    let mut tasks: Vec<Task> = Vec::new();
    begin(&mut twins, theme, &mut chance);
    for number in 0..200 {
        for _ in 0..chance.below(6) {
            change(&mut twins, &mut tasks, theme, &mut chance);
        }
        twins.now += chance.of(&[100, SECOND, 20 * SECOND, 2 * MINUTE]);
        twins.cycle(&format!("{}, seed {seed}, step {number}", theme.name));
    }
    twins.seen
}

/// Everything together, and then each thing that a request may wait for where little else changes.
const THEMES: [Theme; 5] = {
    use Change::*;
    use Kind::*;
    let all = Theme {
        name: "everything",
        changes: &[
            Queue, Parameter, Link, Link, Link, Link, Storage, Storage, Storage, Storage, Pilot,
            Pilot, Pilot, Pilot, Pilot, Pilot, NewTask, NewTask, NewTask, NewTask, NewTask,
            NewTask, NewTask, NewTask, OldTask, OldTask, OldTask, Job, Job, Job, Job, Job, Job,
            Job, Job, Job, Job, Job, Job, Job,
        ],
        tasks: &[Analysis, Analysis, Nucleus, Production, Production, Production],
        priorities: &[300, 500, 900],
        one_of_has_input: 3,
        begins_open: false,
        closed: &[],
    };
    let open = Theme { begins_open: true, ..all };
    [
        all,
        Theme {
            name: "work that remains, and parents",
            changes: &[NewTask, OldTask, OldTask],
            tasks: &[Nucleus],
            one_of_has_input: 10,
            ..open
        },
        Theme {
            name: "what time alone changes",
            changes: &[NewTask],
            tasks: &[Production, Nucleus],
            priorities: &[300],
            one_of_has_input: 1,
            closed: &[0, 3],
            ..open
        },
        Theme {
            name: "input at nuclei",
            changes: &[NewTask, Storage],
            tasks: &[Nucleus],
            priorities: &[300],
            one_of_has_input: 1,
            ..open
        },
        Theme {
            name: "the nucleus's output endpoint",
            changes: &[NewTask, Storage],
            tasks: &[Production],
            priorities: &[300],
            one_of_has_input: 10,
            ..open
        },
    ]
};

#[test]
fn an_engine_that_evaluates_only_what_changed_answers_like_one_that_evaluates_everything() {
    let [everything, others @ ..] = &THEMES;
    let all = [1_000_000, 150].map(|wake_candidates| (everything, wake_candidates, 4));
    for (theme, wake_candidates, seeds) in
        all.into_iter().chain(others.iter().map(|theme| (theme, 1_000_000, 3)))
    {
        let mut seen = [0; 3];
        let seeds = if std::env::var_os("YARDMASTER_LONG").is_some() { 24 * seeds } else { seeds };
        let by_hand = std::env::var("SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
        let seeds = by_hand.map_or(0..seeds, |seed| seed..seed + 1);
        let is_one = by_hand.is_some();
        for seed in seeds {
            let more = story(seed, wake_candidates, theme);
            seen = std::array::from_fn(|at| seen[at] + more[at]);
        }
        let [first, early, finals] = seen;
        let shows = first > 10 && finals > 10 && (early > 10 || theme.begins_open);
        assert!(shows || is_one, "{}, {wake_candidates} candidates a cycle: {seen:?}", theme.name);
    }
}
