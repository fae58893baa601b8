//! A small play: what the world does step by step, and processes that answer it, die and start
//! again.

use super::ports::{Late, Watch};
use crate::drive::yard::{
    Yard, config_with, epoch_config_with, job, queue, reset_stopwatch, sent, storage, task,
};
use std::sync::OnceLock;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::*;
use yardmaster::core::output::decision::{DecisionId, Outcome};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::drive::port::LogError;
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::faulty::{Faulty, FaultyStore, Schedule};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;

/// The limits of the play, shorter than those of the topology file.
pub const SHORT: [(&str, &str); 4] = [
    (
        "name = \"T1\"\nmode = \"dry_run\"\nlimit_min = 60",
        "name = \"T1\"\nmode = \"on\"\nlimit_min = 1",
    ),
    ("mode = \"dry_run\"", "mode = \"on\""),
    ("reservation_lifetime_h = 2", "reservation_lifetime_h = 1"),
    ("batch_records = 10_000", "batch_records = 40"),
];

pub fn config(instance: &str) -> Config {
    static TERMS: OnceLock<EpochConfig> = OnceLock::new();
    config_with(instance, TERMS.get_or_init(|| epoch_config_with(&SHORT)).clone())
}

pub type Driven = Drive<Late<Faulty<PaperLog>>, FaultyStore<Watch>>;

/// The steps of the play: how long each waits, in ms, before the world acts.
pub const STEPS: usize = 27;

fn wait(step: usize) -> i64 {
    match step {
        9 => 61_000,
        12..22 => 400_000,
        25 => 61_000,
        _ => 20,
    }
}

/// The requests of the play: every one of them is to be answered, once.
pub const REQUESTS: [&str; 7] = ["1/1", "2/1", "3/1", "4/1", "5/1", "6/1", "7/1"];

/// Jobs that a rule ends: each is to be commanded, once.
pub const OVERDUE: [&str; 2] = ["81", "82"];

/// Turns after the last step without an act of the world.
const AT_REST: usize = 40;

/// Jobs that were commanded to end, each as often as it was.
pub fn commanded(yard: &Yard) -> Vec<String> {
    let orders = yard.commands().into_iter().filter(|it| it.is_order() && it.repeat == 0);
    let mut ended: Vec<String> = orders.filter(|it| it.rule == "T1").map(|it| it.subject).collect();
    ended.sort();
    ended
}

/// Acts of the world at a step. Its acts on decisions follow from those in the log.
fn act(yard: &Yard, step: usize) {
    let now = yard.now;
    match step {
        0 => (0..3).for_each(|at| add_queue(yard, &format!("QUEUE_{at:02}"), 2_000)),
        1 => {
            cap(yard, "2");
            ["71", "72", "73"].iter().for_each(|name| anns(yard, name, Status::Running));
        }
        2 => {
            yard.ask(&task("1/1", 60, now));
            yard.paper.append(
                Lane::new(Topic::Task, 0),
                None,
                Some(b"nobody reads this"),
                &[],
                None,
            );
            yard.paper.append(Lane::new(Topic::JobState, 1), Some(b"7"), None, &[], None);
        }
        3 => {
            yard.ask(&Task { ram_count_mb: Some(8_000), ..task("2/1", 10, now) });
            yard.ask(&Task {
                policy: "analysis-job".into(),
                user: "ann".into(),
                working_group: String::new(),
                gshare: "User Analysis".into(),
                nucleus: String::new(),
                ..task("7/1", 5, now)
            });
            yard.ask(&Task { priority: 900, ..task("3/1", 30, now) });
        }
        4 => flows(yard),
        5 => jobs(yard, "1/1", Status::Activated, 20),
        6 => {
            jobs(yard, "1/1", Status::Running, 10);
            jobs(yard, "3/1", Status::Activated, 3);
            beat(yard, "100001");
            beat(yard, "nobody");
        }
        7 => outcome(yard, "3/1", OutcomeKind::Refused),
        8 => yard.ask(&Task { policy: "of-nobody".into(), ..task("4/1", 5, now) }),
        9 => add_queue(yard, "QUEUE_BIG", 16_000),
        10 => jobs(yard, "1/1", Status::Finished, 5),
        11 => yard.ask(&Task { ram_count_mb: Some(90_000), ..task("5/1", 10, now) }),
        12..22 => {
            match step {
                13 => OVERDUE.iter().for_each(|name| pending(yard, name)),
                17 | 19 => obey(yard, step == 17),
                // Out of the dwell, and back before it is over.
                14 => ["72", "73"].iter().for_each(|name| anns(yard, name, Status::Finished)),
                16 => ["74", "75"].iter().for_each(|name| anns(yard, name, Status::Running)),
                20 => ["74", "75"].iter().for_each(|name| anns(yard, name, Status::Finished)),
                _ => {}
            }
            live(yard);
        }
        22 => {
            yard.ask(&task("6/1", 50, now));
            let again = task("1/1", 60, now);
            yard.ask(&again);
        }
        23 => jobs(yard, "6/1", Status::Activated, 7),
        24 => add_queue(yard, "QUEUE_HUGE", 100_000),
        _ => {}
    }
}

/// The life of each of the long steps.
fn live(yard: &Yard) {
    jobs(yard, "1/1", Status::Running, 10);
    outcome(yard, "1/1", OutcomeKind::Accepted);
    yard.pilot("QUEUE_00", "node1");
    beat(yard, "100002");
}

/// A job that a rule ends because it is pending for more than a minute.
fn pending(yard: &Yard, name: &str) {
    let job = job(name, "QUEUE_00", "", Status::Pending, yard.now);
    yard.job(&JobState { task: "8", created_at: yard.now, ..job });
}

/// Publishes outcomes of commands: the first is tried in vain, then all are carried out.
fn obey(yard: &Yard, in_vain: bool) {
    let all = yard.commands().into_iter().filter(|it| it.is_order());
    for command in all.take(if in_vain { 1 } else { usize::MAX }) {
        let outcome = DecisionOutcome {
            subject: command.subject.clone(),
            decision: DecisionId(command.id.0),
            about: OutcomeAbout::Command,
            kind: if in_vain { OutcomeKind::Failed } else { OutcomeKind::Accepted },
            at: yard.now,
            reason: String::new(),
        };
        yard.publish(Topic::Outcome, &command.subject, |out| record::write(out, &outcome));
    }
}

/// Most jobs that a user may have running.
fn cap(yard: &Yard, jobs: &str) {
    yard.set("prio_mgr", "CAP_RUNNING_USER_JOBS", jobs);
}

/// A job of a user whose task waits as long as too many of them run.
fn anns(yard: &Yard, name: &str, status: Status) {
    let job = job(name, "QUEUE_00", "", status, yard.now);
    let ended_at = if status == Status::Finished { yard.now } else { 0 };
    let started_at = yard.now;
    yard.job(&JobState { task: "7", user: "ann", group: "", started_at, ended_at, ..job });
}

fn add_queue(yard: &Yard, name: &str, max_rss_mb: u32) {
    let queue = Queue { max_rss_mb, analysis: true, ..queue(name, yard.now) };
    yard.configure(&queue);
    yard.configure(&storage(&queue.endpoints.write[0], &queue.site, yard.now));
    for node in ["node1", "node2"] {
        yard.pilot(name, node);
    }
}

fn flows(yard: &Yard) {
    for number in 0..6u32 {
        let states = [TransferStatus::Queued, TransferStatus::Done, TransferStatus::Failed];
        let request = format!("t{number}");
        let transfer = Transfer {
            request: &request,
            state: states[number as usize % 3],
            changed_at: yard.now,
            activity: "Production Output",
            source: "SOUTH",
            destination: "NORTH",
            bytes: 1 << 30,
            files: 2,
            ..Transfer::default()
        };
        yard.publish(Topic::Transfer, &request, |out| record::write(out, &transfer));
    }
    let workers = Pilot::Workers {
        queue: "QUEUE_01",
        harvester: "h1",
        resource_type: "SCORE",
        submitted: 3,
        running: 4,
        at: yard.now,
    };
    yard.publish(Topic::Pilot, "QUEUE_01", |out| record::write(out, &workers));
}

fn beat(yard: &Yard, job: &str) {
    let beat = Heartbeat {
        job,
        at: yard.now,
        events: 5,
        cpu_s: 60,
        disk_io_kbps: 700,
        rss_mb: 900,
        ..Heartbeat::default()
    };
    yard.publish(Topic::Heartbeat, job, |out| record::write(out, &beat));
}

/// Some of the jobs of a request reach a state, if it was assigned.
fn jobs(yard: &Yard, subject: &str, status: Status, most: u32) {
    let decisions = yard.decisions();
    let Some(decision) = decisions.iter().rfind(|decision| {
        decision.subject == subject && matches!(decision.outcome, Outcome::Assign(_))
    }) else {
        return;
    };
    let request = format!("{subject}:0");
    let first: u32 = subject.split('/').next().unwrap().parse::<u32>().unwrap() * 100_000;
    let all = sent(decision).into_iter().flat_map(|(queue, jobs)| vec![queue; jobs as usize]);
    for (number, queue) in all.enumerate().take(most as usize) {
        let name = (first + number as u32).to_string();
        let (started_at, ended_at) = match status {
            Status::Running => (yard.now, 0),
            Status::Finished => (yard.now - 10, yard.now),
            _ => (0, 0),
        };
        let job = job(&name, &queue, &request, status, yard.now);
        yard.job(&JobState { started_at, ended_at, ..job });
    }
}

fn outcome(yard: &Yard, subject: &str, kind: OutcomeKind) {
    for decision in yard.decisions().iter().filter(|decision| decision.subject == subject) {
        let outcome = DecisionOutcome {
            subject: subject.into(),
            decision: decision.id,
            about: OutcomeAbout::Decision,
            kind,
            at: yard.now,
            reason: "published by the play".into(),
        };
        yard.publish(Topic::Outcome, subject, |out| record::write(out, &outcome));
    }
}

/// Content of the store that a new process begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Left {
    /// All of it.
    All,
    /// The content after so many checkpoints.
    Older(usize),
}

/// One run of the play.
pub struct Play {
    pub yard: Yard,
    pub store: PaperStore,
    /// Faults of the processes, in order; further ones have none.
    pub schedules: Vec<Schedule>,
    pub left: Left,
    pub late: bool,
    /// A further act after each step.
    pub beside: fn(&Yard),
    /// Processes started so far.
    pub started: usize,
    /// Every state of the store that a process left behind.
    pub stores: Vec<PaperStore>,
    drive: Option<Driven>,
}

impl Play {
    pub fn new(schedules: Vec<Schedule>, left: Left, late: bool) -> Play {
        reset_stopwatch();
        Play {
            yard: Yard::new(),
            store: PaperStore::default(),
            schedules,
            left,
            late,
            beside: |_| (),
            started: 0,
            stores: Vec::new(),
            drive: None,
        }
    }

    /// The whole play, to its end: every request answered, the leader gone in order.
    pub fn run(&mut self) -> Reached {
        for step in 0..STEPS {
            self.yard.pass(wait(step));
            act(&self.yard, step);
            (self.beside)(&self.yard);
            for _ in 0..3 {
                self.turn();
                self.yard.pass(120);
            }
        }
        for rest in 0..200 {
            self.yard.pass(1_100);
            // A process that had much to read holds commands back until its input was in time for
            // as long as it was late, so the world goes on.
            if rest >= AT_REST && rest % 10 == 0 {
                self.yard.pass(500_000);
                live(&self.yard);
            }
            self.turn();
            let stands = self.drive.as_ref().is_some_and(|drive| drive.leads());
            let decisions = self.yard.decisions();
            let is_answered = |subject: &&str| {
                decisions.iter().any(|d| d.subject == **subject && d.outcome.is_final())
            };
            let is_ended = OVERDUE.iter().all(|job| commanded(&self.yard).contains(&(*job).into()));
            let is_done = REQUESTS.iter().all(is_answered) && is_ended;
            if stands && is_done && self.bow() {
                break;
            }
        }
        let drive = self
            .drive
            .as_ref()
            .expect("the play ends with a leader that published its final record");
        assert_eq!(audit(drive.state()), vec![]);
        self.stores.push(self.store.clone());
        Reached { number: drive.state().number, digest: digest(drive.state()) }
    }

    fn turn(&mut self) {
        if let Err(halt) = self.try_turn() {
            self.died(&halt);
        }
    }

    /// The leader's farewell; whether it got through.
    fn bow(&mut self) -> bool {
        let now = self.yard.now;
        let Some(drive) = &mut self.drive else { return false };
        match drive.finish(now) {
            Ok(()) => true,
            Err(halt) => {
                self.died(&halt);
                false
            }
        }
    }

    fn died(&mut self, halt: &Halt) {
        let text = halt.to_string();
        let known = ["a fault of the schedule", "the process is dead", "took the lead"];
        assert!(known.iter().any(|known| text.contains(known)), "{text}");
        self.drive = None;
        self.stores.push(self.store.clone());
        if let Left::Older(count) = self.left {
            self.store = self.store.older(count);
        }
    }

    fn try_turn(&mut self) -> Result<(), Halt> {
        let now = self.yard.now;
        let drive = match &mut self.drive {
            Some(drive) => drive,
            none => none.insert(Self::start(
                &self.yard,
                &self.store,
                &mut self.started,
                &self.schedules,
                self.late,
            )?),
        };
        match drive.pump(Duration::ZERO) {
            // Broker gone: wait, and go on where it was.
            Err(Halt::Log(LogError::Unreachable(_))) => return Ok(()),
            taken => taken?,
        };
        if drive.leads() {
            drive.lead(now)?;
        } else {
            drive.follow()?;
            if drive.may_lead(now, 0, 0) {
                drive.take_lead(now)?;
            }
        }
        Ok(())
    }

    fn start(
        yard: &Yard,
        store: &PaperStore,
        started: &mut usize,
        schedules: &[Schedule],
        late: bool,
    ) -> Result<Driven, Halt> {
        let schedule = schedules.get(*started).cloned().unwrap_or_default();
        *started += 1;
        let log = Late::new(Faulty::new(yard.log(), &schedule), late);
        let store = FaultyStore::new(Watch::new(store, &yard.paper), &schedule);
        Drive::start(log, store, config(&format!("process {started}")))
    }
}

/// Where a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    pub number: u64,
    pub digest: String,
}
