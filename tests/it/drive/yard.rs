//! A small yard on paper: a broker, a handful of queues, requests, jobs, and a clock.

use std::cell::Cell;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::Configured;
use yardmaster::core::event::*;
use yardmaster::core::output::Output;
use yardmaster::core::output::command::Command;
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::output::progress::Progress;
use yardmaster::core::output::throttle::Throttle;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::drive::port::{Log, Store};
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::sim::paper::{Note, Paper, PaperLog};
use yardmaster::sim::scenario::records;
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::record;
use yardmaster::wire::topology::{self, Topology};

/// The yard's first moment.
pub const T0: i64 = 1_760_000_000_000;

/// Header of a record that no process published.
const STRAY: &str = "stray";

thread_local! {
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// A clock for reports and checkpoints, of each thread its own: every look at it is half a minute
/// later, so that every cycle is copied, whatever the last copy took.
pub fn stopwatch() -> u64 {
    LOOKS.with(|looks| {
        looks.set(looks.get() + 1);
        looks.get() * 30_000_000_000
    })
}

/// Sets this thread's clock back to its beginning.
pub fn reset_stopwatch() {
    LOOKS.with(|looks| looks.set(0));
}

pub fn epoch_config() -> EpochConfig {
    epoch_config_with(&[])
}

/// How throttles are lifted under `rules = "tuned"`.
const MARGIN: (&str, &str) = (
    "throttle_lapse_s = 3_600",
    "throttle_hysteresis = 10\nthrottle_dwell_s = 300\nthrottle_lapse_s = 3_600",
);

/// The topology of ATLAS with throttles that are lifted below their limits, and with some lines
/// written otherwise.
pub fn epoch_config_with(changes: &[(&str, &str)]) -> EpochConfig {
    let mut text = topology::ATLAS.to_owned();
    for (old, new) in [MARGIN].iter().chain(changes) {
        assert!(text.contains(old), "the topology has no {old:?}");
        text = text.replace(old, new);
    }
    EpochConfig::of("atlas.toml", &text).unwrap()
}

pub fn config(instance: &str) -> Config {
    config_with(instance, epoch_config())
}

pub fn config_with(instance: &str, epoch_config: EpochConfig) -> Config {
    Config {
        instance: instance.into(),
        epoch_config,
        stopwatch,
        verify: false,
        keeps: true,
        store_not_before: 0,
        uptime: None,
        counters: None,
    }
}

pub struct Yard {
    pub paper: Paper,
    pub now: i64,
}

impl Yard {
    pub fn new() -> Yard {
        Yard::of(&Topology::default_atlas())
    }

    /// With the topics of a topology.
    pub fn of(topology: &Topology) -> Yard {
        let lanes: Vec<Lane> = topology
            .read_topics()
            .flat_map(|topic| {
                let partitions = if topic == Topic::Progress { 1 } else { 2 };
                (0..partitions).map(move |partition| Lane::new(topic, partition))
            })
            .collect();
        let paper = Paper::new(&lanes);
        let mut yard = Yard { paper, now: T0 };
        yard.pass(0);
        yard
    }

    pub fn pass(&mut self, millis: i64) {
        self.now += millis;
        self.paper.set_now(self.now);
    }

    pub fn log(&self) -> PaperLog {
        self.paper.log("yardmaster-atlas")
    }

    pub fn publish(&self, topic: Topic, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        let mut value = Vec::new();
        write(&mut value);
        let partition = yardmaster::core::id::hash(key.as_bytes()) % 2;
        let lane = Lane::new(topic, partition as u32);
        self.paper.append(lane, Some(key.as_bytes()), Some(&value), &[], None);
    }

    /// A grid of `count` queues at two sites, all with pilots and room on disk.
    pub fn build(&self, count: u32) {
        for at in 0..count {
            let queue = queue(&format!("QUEUE_{at:02}"), self.now);
            self.configure(&queue);
            self.configure(&storage(&queue.endpoints.write[0], &queue.site, self.now));
            self.pilot(&queue.name, "node1");
        }
    }

    /// Appends a configuration record under its name.
    pub fn configure<T: Configured>(&self, record: &T) {
        self.publish(T::TOPIC, &record.name(), |out| record::write(out, record));
    }

    /// Appends a run-time parameter of PanDA's server.
    pub fn set(&self, component: &str, key: &str, value: &str) {
        let parameter = Parameter {
            app: "pandaserver".into(),
            component: component.into(),
            key: key.into(),
            value: value.into(),
            changed_at: self.now,
            ..Parameter::default()
        };
        self.publish(Topic::Parameter, key, |out| record::write(out, &parameter));
    }

    /// Opens the first `count` queues to analysis.
    pub fn open_to_analysis(&self, count: u32) {
        for at in 0..count {
            let queue = queue(&format!("QUEUE_{at:02}"), self.now + 1);
            self.configure(&Queue { analysis: true, ..queue });
        }
    }

    pub fn pilot(&self, queue: &str, node: &str) {
        let report = Pilot::AskedJob { queue, node, at: self.now };
        self.publish(Topic::Pilot, queue, |out| record::write(out, &report));
    }

    pub fn ask(&self, task: &Task) {
        self.publish(Topic::Task, &task.subject, |out| record::write(out, task));
    }

    pub fn job(&self, job: &JobState<'_>) {
        self.publish(Topic::JobState, job.job, |out| record::write(out, job));
    }

    /// Appends a record that is none of the process's outputs; the readers below leave it out.
    pub fn stray(&self, lane: Lane, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.paper.append(lane, key, value, &[(STRAY.to_owned(), Vec::new())], None);
    }

    /// Every decision in the log, in order of cycle and number.
    pub fn decisions(&self) -> Vec<Decision> {
        let codec = Codec::new(usize::MAX);
        let mut all = Vec::new();
        let spans = self.paper.spans().into_iter();
        for span in spans.filter(|span| span.lane.topic == Topic::Decision) {
            for note in outputs(&self.paper, span.lane) {
                let mut arena = Arena::default();
                let value = note.value.as_deref();
                match codec.read(Topic::Decision, None, value, &mut arena) {
                    Event::Output(Output::Decision(decision)) => all.push(*decision),
                    other => panic!("no decision: {other:?}"),
                }
            }
        }
        all.sort_by_key(|decision| (decision.cycle, decision.number));
        all
    }

    /// Every word on throttles in the log, in order of cycle and number.
    pub fn throttles(&self) -> Vec<Throttle> {
        let codec = Codec::new(usize::MAX);
        let spans = self.paper.spans().into_iter();
        let lanes = spans.filter(|span| span.lane.topic == Topic::Throttle);
        let notes = lanes.flat_map(|span| outputs(&self.paper, span.lane));
        let read =
            |note: Note| codec.read_record::<Throttle>(note.value.as_deref().unwrap()).unwrap();
        let mut all: Vec<Throttle> = notes.map(read).collect();
        all.sort_by_key(|throttle| (throttle.cycle, throttle.number));
        all
    }

    /// Every command in the log, in order of cycle and number.
    pub fn commands(&self) -> Vec<Command> {
        let codec = Codec::new(usize::MAX);
        let spans = self.paper.spans().into_iter();
        let lanes = spans.filter(|span| span.lane.topic == Topic::Command);
        let notes = lanes.flat_map(|span| outputs(&self.paper, span.lane));
        let read =
            |note: Note| codec.read_record::<Command>(note.value.as_deref().unwrap()).unwrap();
        let mut all: Vec<Command> = notes.map(read).collect();
        all.sort_by_key(|command| (command.cycle, command.number));
        all
    }

    /// How many decisions, throttles and commands are in the log.
    pub fn outputs(&self) -> usize {
        self.decisions().len() + self.throttles().len() + self.commands().len()
    }

    /// Every cycle in the log, in order.
    pub fn progress(&self) -> Vec<Progress> {
        progress(&self.paper)
    }
}

/// Every cycle on a paper, in order.
pub fn progress(paper: &Paper) -> Vec<Progress> {
    let codec = Codec::default();
    let records = outputs(paper, Lane::new(Topic::Progress, 0));
    let read = |note: &Note| codec.read_record::<Progress>(note.value.as_deref().unwrap()).unwrap();
    records.iter().map(read).collect()
}

/// The records of an own lane without strays.
pub fn outputs(paper: &Paper, lane: Lane) -> Vec<Note> {
    let is_stray = |note: &Note| note.headers.iter().any(|(name, _)| name == STRAY);
    paper.records(lane).into_iter().filter(|note| !is_stray(note)).collect()
}

/// Runs a drive as leader for so many rounds of 20 ms.
pub fn lead<L: Log, S: Store>(
    yard: &mut Yard,
    drive: &mut Drive<L, S>,
    rounds: usize,
) -> Result<(), Halt> {
    for _ in 0..rounds {
        yard.pass(20);
        drive.pump(Duration::ZERO)?;
        if drive.leads() {
            drive.lead(yard.now)?;
        } else {
            drive.follow()?;
            if drive.may_lead(yard.now, 0, 0) {
                drive.take_lead(yard.now)?;
            }
        }
    }
    Ok(())
}

pub fn queue(name: &str, at: i64) -> Queue {
    let site = if name.ends_with(['0', '2', '4', '6', '8']) { "NORTH" } else { "SOUTH" };
    Queue {
        cloud: "US".into(),
        wn_connectivity: "full#IPv4".into(),
        releases: vec!["ANY".into()],
        ..records::queue(name, site, &format!("{site}_{name}_DATADISK"), at)
    }
}

pub fn storage(name: &str, site: &str, at: i64) -> Storage {
    Storage { total_bytes: 1 << 50, free_bytes: 1 << 49, ..records::storage(name, site, at) }
}

pub fn task(subject: &str, jobs: u32, at: i64) -> Task {
    Task { nucleus: "NORTH".into(), atom_events: 1, ..records::request(subject, jobs, at) }
}

/// A task of Ann's.
pub fn asking(subject: &str, at: i64) -> Task {
    Task {
        policy: "analysis-job".into(),
        user: "ann".into(),
        working_group: String::new(),
        gshare: "User Analysis".into(),
        label: "user".into(),
        nucleus: String::new(),
        ..task(subject, 5, at)
    }
}

/// Where an assignment sent its jobs.
pub fn sent(decision: &Decision) -> Vec<(String, u32)> {
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            ranked.iter().map(|ranked| (ranked.queue.clone(), ranked.jobs)).collect()
        }
        _ => Vec::new(),
    }
}

pub fn job<'a>(
    job: &'a str,
    queue: &'a str,
    request: &'a str,
    status: Status,
    at: i64,
) -> JobState<'a> {
    JobState {
        task: "1",
        request,
        nucleus: "NORTH",
        workflow: "pull_ups",
        ..records::job(job, queue, status, at)
    }
}

#[cfg(feature = "shell")]
pub fn heartbeat(job: &str) -> Heartbeat<'_> {
    Heartbeat { job, at: T0, cpu_s: 1, rss_mb: 1, ..Heartbeat::default() }
}
