//! A yard whose topics are alive, jobs on it, and the commands that are given.

use super::super::yard::*;
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::*;
use yardmaster::core::output::command::Command;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::MINUTE;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;

/// The queue at which the jobs of a story are.
pub const QUEUE: &str = "QUEUE_00";
/// A queue that keeps the topics alive.
pub const OTHER: &str = "QUEUE_01";
/// A job there, so that states are published; its number is above all others.
const KEEPER: &str = "999999";
/// No step is longer, so that no topic falls silent.
const STEP: i64 = 5 * MINUTE;

/// The timeouts are about the jobs that PanDA's code selects.
pub const PANDA: (&str, &str) =
    ("(production, tests, users).\nrules = \"documented\"", "\nrules = \"panda\"");

/// A leader with a log, and what is kept alive on it.
pub struct Stage {
    pub yard: Yard,
    pub drive: Drive<PaperLog, PaperStore>,
    epoch_config: EpochConfig,
    /// Topics that are written to as time passes.
    pub alive: Vec<Topic>,
    /// Whether the queue of the story gives signs of its own.
    pub queue_lives: bool,
    revision: u64,
}

impl Stage {
    /// All rules on, with changes to the topology.
    pub fn new(changes: &[(&str, &str)]) -> Stage {
        let on = ("mode = \"dry_run\"", "mode = \"on\"");
        Stage::with(&[&[on], changes].concat())
    }

    /// With changes to the topology as it ships.
    pub fn with(changes: &[(&str, &str)]) -> Stage {
        let epoch_config = epoch_config_with(changes);
        let config = config_with("one", epoch_config.clone());
        let yard = Yard::new();
        yard.build(2);
        let drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
        let alive = vec![Topic::JobState, Topic::Heartbeat, Topic::Pilot];
        let mut stage = Stage { yard, drive, epoch_config, alive, queue_lives: true, revision: 0 };
        stage.pass(MINUTE);
        // What puts deadlines off since nothing was read before is over.
        stage.pass(30 * MINUTE);
        stage
    }

    pub fn now(&self) -> i64 {
        self.yard.now
    }

    /// A production job of the story as of now.
    pub fn job<'a>(&self, name: &'a str, status: Status) -> JobState<'a> {
        let at = self.now();
        JobState {
            label: "managed",
            created_at: at,
            priority: 500,
            ..job(name, QUEUE, "", status, at)
        }
    }

    /// Publishes a job and reads it, a few milliseconds later.
    pub fn publish(&mut self, job: &JobState<'_>) {
        self.yard.job(job);
        self.turn();
    }

    pub fn heartbeat(&mut self, job: &str, at: i64) {
        self.beat(job, 0, at);
        self.turn();
    }

    /// Publishes a heartbeat of an attempt of a job, which the broker took and which was sent at
    /// `at`.
    pub fn beat(&self, job: &str, attempt: u32, at: i64) {
        self.yard.paper.set_now(at);
        self.beat_stating(job, attempt, at);
        self.yard.paper.set_now(self.now());
    }

    /// Publishes a heartbeat that states a time, whatever time it is.
    pub fn beat_stating(&self, job: &str, attempt: u32, at: i64) {
        let heartbeat = Heartbeat { job, at, attempt, cpu_s: 1, ..Heartbeat::default() };
        self.yard.publish(Topic::Heartbeat, job, |out| record::write(out, &heartbeat));
    }

    /// Lets cycles be made.
    pub fn turn(&mut self) {
        lead(&mut self.yard, &mut self.drive, 30).unwrap();
    }

    /// Lets time pass until a moment, and makes a cycle there.
    pub fn until(&mut self, moment: i64) {
        while self.now() < moment {
            let step = STEP.min(moment - self.now());
            self.yard.pass(step);
            self.keep_alive();
            self.step();
        }
    }

    pub fn pass(&mut self, time: i64) {
        self.until(self.now() + time);
    }

    /// One cycle at the present moment.
    fn step(&mut self) {
        for _ in 0..30 {
            self.drive.pump(Duration::ZERO).unwrap();
            if self.drive.leads() {
                self.drive.lead(self.yard.now).unwrap();
                if self.drive.state().now == self.yard.now {
                    return;
                }
            }
            lead(&mut self.yard, &mut self.drive, 1).unwrap();
        }
    }

    fn keep_alive(&mut self) {
        let at = self.now();
        self.revision += 1;
        for topic in self.alive.clone() {
            match topic {
                Topic::JobState => {
                    let revision = self.revision;
                    let keeper = job(KEEPER, OTHER, "", Status::Running, at);
                    self.yard.job(&JobState { revision, label: "managed", ..keeper });
                }
                Topic::Heartbeat => self.beat(KEEPER, 0, at),
                _ => self.yard.pilot(OTHER, "node1"),
            }
        }
        if self.queue_lives {
            self.yard.pilot(QUEUE, "node1");
        }
    }

    /// Commands about a subject, in order: kind, rule, whether it is to be carried out.
    pub fn about(&self, subject: &str) -> Vec<(String, String, bool)> {
        let all = self.yard.commands().into_iter();
        let of = all.filter(|it| it.held_back().is_none() && it.subject == subject);
        of.map(|it| (it.kind.name().to_owned(), it.rule.clone(), it.is_order())).collect()
    }

    /// The rules that commanded something of a subject, without repeats.
    pub fn rules(&self, subject: &str) -> Vec<String> {
        let all = self.yard.commands().into_iter();
        let of = all.filter(|it| it.held_back().is_none() && it.subject == subject);
        of.filter(|it| it.repeat == 0).map(|it| it.rule).collect()
    }

    /// Jobs that a rule held back at the queue: how many, and why; in order.
    pub fn held(&self, rule: &str) -> Vec<(u64, String)> {
        let all = self.yard.commands().into_iter().filter(|it| it.rule == rule);
        all.filter_map(|it| Some((it.amount, it.held_back()?.to_owned()))).collect()
    }

    /// Publishes what became of a command.
    pub fn answer(&mut self, command: &Command, kind: OutcomeKind) {
        let outcome = DecisionOutcome {
            subject: command.subject.clone(),
            decision: yardmaster::core::output::decision::DecisionId(command.id.0),
            about: OutcomeAbout::Command,
            kind,
            at: self.now(),
            reason: "as the story has it".into(),
        };
        let key = command.subject.clone();
        self.yard.publish(Topic::Outcome, &key, |out| record::write(out, &outcome));
        self.turn();
    }

    /// Ends the lead; a process that begins with an empty store reaches the same state and makes
    /// every output again.
    pub fn check(mut self) {
        self.drive.finish(self.yard.now).unwrap();
        assert_eq!(audit(self.drive.state()), vec![]);
        let reached = digest(self.drive.state());
        let config =
            || Config { verify: true, ..config_with("a reader", self.epoch_config.clone()) };
        let mut reader = Drive::start(self.yard.log(), PaperStore::default(), config()).unwrap();
        let last = self.drive.state().number;
        for _ in 0..100_000 {
            reader.pump(Duration::ZERO).unwrap();
            reader.follow().unwrap();
            if reader.state().number == last {
                break;
            }
        }
        let report = reader.take_report();
        let outputs = self.yard.commands().len() + self.yard.decisions().len();
        assert_eq!(report.verified, [outputs as u64, 0, 0], "{:#?}", report.differences);
        assert_eq!(digest(reader.state()), reached);
        // And from the store alone.
        let (_, store) = self.drive.into_ports();
        let kept = Drive::start(self.yard.log(), store, config()).unwrap();
        assert_eq!(digest(kept.state()), reached);
    }

    /// Another process in place of the one that ended, from its store.
    pub fn restarted(self) -> Stage {
        let (_, store) = self.drive.into_ports();
        let config = config_with("two", self.epoch_config.clone());
        let drive = Drive::start(self.yard.log(), store, config).unwrap();
        Stage { drive, ..self }
    }

    /// Time passes while no process runs: topics go on, and some jobs send heartbeats.
    pub fn without_a_process(&mut self, time: i64, jobs: &[&str]) {
        self.yard.pass(time);
        self.keep_alive();
        jobs.iter().for_each(|job| self.beat(job, 0, self.now()));
    }

    /// Lets time pass in which a job sends a heartbeat every half hour.
    pub fn keep(&mut self, job: &str, time: i64) {
        let end = self.now() + time;
        while self.now() < end {
            self.beat(job, 0, self.now());
            self.until(end.min(self.now() + 30 * MINUTE));
        }
    }

    /// A task that the jobs belong to.
    pub fn task(&mut self, subject: &str, options: Options) {
        self.yard.ask(&Task { options, ..task(subject, 1, self.now()) });
        self.turn();
    }

    /// A task of a priority.
    pub fn task_of_priority(&mut self, subject: &str, priority: i32) {
        let task = task(subject, 1, self.now());
        self.yard.ask(&Task { priority, task_priority: priority, ..task });
        self.turn();
    }

    /// The queue of the story, changed.
    pub fn configure(&mut self, change: impl FnOnce(&mut Queue)) {
        let mut queue = queue(QUEUE, self.now());
        change(&mut queue);
        self.yard.configure(&queue);
        self.turn();
    }
}
