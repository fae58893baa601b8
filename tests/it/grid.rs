//! `demo` on a Kafka: the simulated grid publishes there and obeys a `run`, and a later one leaves
//! nothing open of an earlier one.

use crate::kill::bus::Bus;
use crate::kill::process::{Ending, PROGRAM, Process, wait_until};
use crate::kill::witness::glance;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, OutcomeAbout, OutcomeKind, Status, TaskPhase};
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::{Outcome, request_name};
use yardmaster::wire::avro::{Arena, Codec};

/// How long the steps of a life may take. Jobs run for hours, of which the grid makes minutes.
const LIMIT: Duration = Duration::from_secs(600);

/// `yardmaster demo` on a Kafka.
pub struct Grid {
    child: Ending,
    log: PathBuf,
}

impl Grid {
    /// Starts one that prints to a file; `args` stand behind `demo`.
    pub fn start(args: &[&str], log: &Path) -> Grid {
        let out = File::create(log).unwrap();
        let child = Command::new(PROGRAM)
            .arg("demo")
            .args(args)
            .stdin(Stdio::null())
            .stderr(out.try_clone().unwrap())
            .stdout(out)
            .spawn()
            .expect("the program");
        Grid { child: Ending(child), log: log.to_owned() }
    }

    fn on(bus: &Bus, name: &str) -> Grid {
        let small = ["--scale", "0.01", "--speed", "20", "--http", "127.0.0.1:0"];
        Grid::start(&[&bus.place()[..], &small].concat(), &bus.path(name))
    }

    /// Text that it printed so far.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Fails if it ended.
    #[track_caller]
    fn must_live(&mut self) {
        if let Some(status) = self.child.0.try_wait().unwrap() {
            panic!("it ended by itself ({status}): {}", self.printed());
        }
    }

    /// SIGTERM; it must end in order. What it printed.
    pub fn stop(mut self) -> String {
        let pid = self.child.0.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        let asked = Instant::now();
        loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                assert!(status.success(), "{status}: {}", self.printed());
                return self.printed();
            }
            assert!(asked.elapsed() < LIMIT, "it does not end: {}", self.printed());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Shows all records of a topic, in no order.
fn each(bus: &Bus, topic: Topic, mut see: impl FnMut(Event<'_>)) {
    let (codec, mut arena) = (Codec::default(), Arena::default());
    for (key, value) in glance(&bus.bootstrap, &bus.topic(topic)) {
        see(codec.read(topic, Some(&key), Some(&value), &mut arena));
    }
}

/// An assignment: its request, and by queue how many jobs.
type Assigned = (String, BTreeMap<String, u32>);

/// Assignments that the grid states to have carried out.
fn accepted(bus: &Bus) -> Vec<Assigned> {
    let mut accepted = BTreeSet::new();
    each(bus, Topic::Outcome, |event| {
        let Event::Outcome(it) = event else { panic!("no outcome") };
        if (it.about, it.kind) == (OutcomeAbout::Decision, OutcomeKind::Accepted) {
            accepted.insert(it.decision.0);
        }
    });
    let mut assigned = Vec::new();
    each(bus, Topic::Decision, |event| {
        let Event::Output(Output::Decision(it)) = event else { panic!("no decision") };
        if !accepted.remove(&it.id.0) {
            return;
        }
        let Outcome::Assign(ranked) = &it.outcome else { panic!("{:?}", it.outcome) };
        let mut queues: BTreeMap<String, u32> = BTreeMap::new();
        for it in ranked.iter().filter(|it| it.jobs > 0) {
            *queues.entry(it.unified.clone()).or_default() += it.jobs;
        }
        assigned.push((request_name(&it.subject, it.attempt), queues));
    });
    assert!(accepted.is_empty(), "outcomes about no decision of this log: {accepted:?}");
    assigned
}

/// Jobs by request: each try by name and attempt, with its queue and newest state.
type Jobs = BTreeMap<String, BTreeMap<(String, u32), (String, i64, Status)>>;

fn jobs(bus: &Bus) -> Jobs {
    let mut jobs = Jobs::new();
    each(bus, Topic::JobState, |event| {
        let Event::JobState(job) = event else { panic!("no job state") };
        let tries = jobs.entry(job.request.to_owned()).or_default();
        let state = (job.queue.to_owned(), job.changed_at, job.status);
        let held = tries.entry((job.job.to_owned(), job.attempt)).or_insert(state.clone());
        // An end is final, whatever clock stamped the states before it.
        let is_newer = held.1 <= state.1 && !held.2.is_ended();
        if is_newer || job.status.is_ended() {
            *held = state;
        }
    });
    jobs
}

/// Whether jobs of requests that were assigned on this log have finished. All that were assigned
/// and carried out must be at the queues that were decided.
fn is_carried_out(bus: &Bus) -> bool {
    let accepted = accepted(bus);
    let jobs = jobs(bus);
    let mut finished = 0;
    for (request, queues) in &accepted {
        // The jobs are there once the outcome is, but they may be read a moment before.
        let Some(tries) = jobs.get(request) else { continue };
        let mut there: BTreeMap<&str, u32> = BTreeMap::new();
        for (queue, _, status) in tries.values() {
            *there.entry(queue).or_default() += 1;
            finished += u32::from(*status == Status::Finished);
        }
        for queue in there.keys() {
            assert!(queues.contains_key(*queue), "{request} is at {queue}, not in {queues:?}");
        }
        // Failed jobs are tried again, so there may be more.
        let is_whole = queues.iter().all(|(queue, jobs)| there.get(&**queue) >= Some(jobs));
        assert!(is_whole || finished == 0, "{request}: {there:?}, decided was {queues:?}");
    }
    finished > 0
}

#[test]
fn a_grid_on_a_kafka_is_brokered_and_leaves_nothing_open() {
    let Some(bus) = Bus::real_with(|_| ()) else { return };
    let run = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    let mut grid = Grid::on(&bus, "first");
    let log = grid.log.clone();
    let printed = || std::fs::read_to_string(&log).unwrap_or_default() + &run.logged();
    // It computes an hour of its own life before it publishes the first record.
    for is_so in [|bus: &Bus| !jobs(bus).is_empty(), is_carried_out] {
        wait_until(LIMIT, printed, || {
            grid.must_live();
            is_so(&bus)
        });
    }
    let printed = grid.stop();
    assert!(!printed.contains("of an earlier demo"), "{printed}");
    let count = |before: &str| -> u64 {
        let text = printed.split(before).nth(1).expect(before);
        text.split_whitespace().next().unwrap().parse().unwrap()
    };
    assert!(count("jobs: ") > 0 && count("decisions: ") > 0, "{printed}");
    let open = |bus: &Bus| -> BTreeSet<String> {
        let tries = jobs(bus).into_values().flatten();
        tries.filter(|(_, (.., status))| !status.is_ended()).map(|((job, _), _)| job).collect()
    };
    let left = open(&bus);
    assert!(left.len() > 10, "{left:?}");

    // Another one ends what is left, under names of its own.
    let grid = Grid::on(&bus, "second");
    let is_live = || grid.printed().contains("of an earlier demo") && !open(&bus).is_empty();
    wait_until(LIMIT, || grid.printed(), || is_live() && open(&bus).is_disjoint(&left));
    let mut asking: BTreeMap<String, i64> = BTreeMap::new();
    let mut ended = BTreeSet::new();
    each(&bus, Topic::Task, |event| {
        let Event::Task(task) = event else { panic!("no task") };
        match task.phase {
            TaskPhase::Ended => drop(ended.insert(task.subject.clone())),
            _ => drop(asking.insert(task.subject.clone(), task.asked_at)),
        }
    });
    asking.retain(|subject, _| !ended.contains(subject));
    let series = |subject: &String| subject.split('/').next().unwrap().parse::<u64>().unwrap();
    let of_first = ended.iter().map(series).min().expect("an end");
    let oldest = asking.keys().map(series).min().expect("a request");
    assert!(oldest > of_first + 9_000, "{oldest} is of the first, as {of_first}");
    grid.stop();

    assert!(run.stop().success());
    let place = bus.place();
    for verb in [vec!["audit"], vec!["replay", "--verify"]] {
        let output = Command::new(PROGRAM).args(&verb).args(&place).output().unwrap();
        assert!(output.status.success(), "{verb:?}: {output:?}");
    }
    // Nothing that the grid publishes is unreadable, or unexpected in a way that a grid is not.
    let letters = bus.verb("dead-letters", 0, &["--json"]);
    assert_eq!(letters.trim(), "", "dead letters");
}

#[test]
fn a_grid_makes_no_topics_and_names_the_remedy() {
    let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
        println!("left out: YARDMASTER_TEST_KAFKA names no broker");
        return;
    };
    let dir = tempfile::TempDir::new().unwrap();
    let topology = dir.path().join("topology.toml");
    let text = yardmaster::wire::topology::ATLAS
        .replace("[topics.job-state]", "[topics.job-state]\nname = \"not-there\"");
    std::fs::write(&topology, text).unwrap();
    let output = Command::new(PROGRAM)
        .args(["demo", "--http", "127.0.0.1:0", "--bootstrap-server", &bootstrap, "--topology"])
        .arg(&topology)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("not-there") && error.contains("topology apply"), "{error}");
}
