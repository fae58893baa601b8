//! `yardmaster intake` killed at any moment: somebody else's consumer finds, for each message, the
//! record that was to come of it, once.
//!
//! `YARDMASTER_KILLS` says how often it is killed (6), `YARDMASTER_SEED` at which moments (1).

use super::bus::{Bus, text};
use super::process::{get, wait_until, yardmaster};
use super::witness::{committed, glance};
use super::{Dice, SECOND, number};
use crate::drive::yard;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, JobState, Status, Task};
use yardmaster::shell::kafka::{KafkaAdmin, KafkaConf, KafkaWriter, NewTopicSpec};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::record;

const LIFE: [(Status, i64); 6] = [
    (Status::Defined, 0),
    (Status::Activated, 0),
    (Status::Starting, 5),
    (Status::Running, 5),
    (Status::Transferring, 60),
    (Status::Finished, 60),
];
const TASKS: u64 = 20;
const T0: i64 = 1_760_000_000;

/// A running `yardmaster intake`, killed when it is dropped.
pub struct Stage {
    pub child: Child,
    log: PathBuf,
}

impl Stage {
    fn start(bootstrap: &str, topology: &Path, log: PathBuf, flags: &[&str]) -> Stage {
        let stderr = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
            .args(["intake", "--bootstrap-server", bootstrap, "--http", "127.0.0.1:0"])
            .args(["--topology", text(topology)])
            .args(flags)
            .stdin(Stdio::null())
            .stderr(stderr)
            .spawn()
            .expect("the program");
        Stage { child, log }
    }

    pub fn must_live(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            panic!("intake ended by itself ({status}):\n{}", self.logged());
        }
    }

    pub fn kill(mut self) {
        self.must_live();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// How many lives got as far as reading their sources.
    fn lives(&self) -> usize {
        let reported = std::fs::read_to_string(&self.log).unwrap_or_default();
        reported.matches("jobs read back").count()
    }

    /// Its answer when it is asked for a page; `None` while it gives none.
    pub fn page(&self, path: &str) -> Option<String> {
        let reported = std::fs::read_to_string(&self.log).unwrap_or_default();
        let address = reported.rsplit_once("serving metrics on http://")?.1.lines().next()?;
        get(address.trim().parse().ok()?, path)
    }

    pub fn logged(&self) -> String {
        let reported = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = reported.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The topics of a test with one foreign topic besides.
pub struct Place {
    pub bus: Bus,
    pub topology: PathBuf,
    pub foreign: String,
    pub writer: KafkaWriter,
}

impl Place {
    fn real() -> Option<Place> {
        // Small transactions give many moments to be killed at.
        Place::with(3, "", |limits| drop(limits.insert("intake_batch_records".into(), 7.into())))
    }

    /// `settings` are lines of `[intake]`.
    pub fn with(
        partitions: u32,
        settings: &str,
        change: impl FnOnce(&mut toml::Table),
    ) -> Option<Place> {
        Some(Place::on(Bus::real(|limits, _| change(limits))?, partitions, settings))
    }

    /// The same with the topics of a bus.
    pub fn on(bus: Bus, partitions: u32, settings: &str) -> Place {
        let foreign = format!("{}.panda", bus.domain);
        let conf = KafkaConf::new(&bus.bootstrap, &bus.domain, Vec::new());
        let configs = Vec::new();
        let spec = NewTopicSpec { name: foreign.clone(), partitions, replication: -1, configs };
        KafkaAdmin::open(&conf).unwrap().create(&[spec]).unwrap();
        let topology = bus.path("intake.toml");
        let source = format!(
            "\n[intake]\n{settings}\n[[intake.source]]\ntopic = \"{foreign}\"\ndialect = \"panda\"\n"
        );
        let whole = std::fs::read_to_string(&bus.topology).unwrap() + &source;
        std::fs::write(&topology, whole).unwrap();
        let writer = KafkaWriter::open(&conf).unwrap();
        Place { bus, topology, foreign, writer }
    }

    fn start(&self) -> Stage {
        self.start_with(&[])
    }

    pub fn start_with(&self, flags: &[&str]) -> Stage {
        let log = self.bus.path("intake.log");
        Stage::start(&self.bus.bootstrap, &self.topology, log, flags)
    }

    pub fn put(&self, key: &str, json: &str) {
        let (key, value) = (Some(key.as_bytes()), Some(json.as_bytes()));
        self.writer.append(&self.foreign, None, key, value, &[], None).unwrap();
    }

    pub fn job(&self, job: u64, status: Status, at: i64) {
        let json = format!(
            "{{\"msg_type\": \"job_status\", \"jobid\": {job}, \"taskid\": {}, \"status\": \"{}\", \
             \"timestamp\": {at}, \"computingsite\": \"CERN\", \"inputs\": [\"a\"]}}",
            45 + job % TASKS,
            status.name()
        );
        self.put(&job.to_string(), &json);
    }

    fn facts(&self, task: u64) {
        let (name, domain) = (task.to_string(), self.bus.domain.clone());
        let user = format!("user-{name}");
        let task = Task { subject: name.clone(), domain, user, ..yard::task(&name, 2, T0) };
        self.bus.publish(Topic::Task, &name, |out| record::write(out, &task));
    }
}

/// Mistake in the records published of one job.
fn complaint(job: &str, published: &[JobState<'_>]) -> Option<String> {
    let is_known = |it: &&JobState<'_>| !it.user.is_empty();
    let known: BTreeSet<Status> = published.iter().filter(is_known).map(|it| it.status).collect();
    let unknown: BTreeSet<Status> =
        published.iter().filter(|it| !is_known(it)).map(|it| it.status).collect();
    let all: BTreeSet<Status> = known.union(&unknown).copied().collect();
    let once = known.len() + unknown.len() == published.len();
    // Published again is the last of those published without facts, or the next state that came before its
    // turn did.
    let in_order = match (unknown.last(), known.first()) {
        (Some(last), Some(first)) => last <= first,
        (None, Some(_)) => true,
        _ => false,
    };
    let last = published.iter().max_by_key(|it| (it.status.is_ended(), it.changed_at, it.revision));
    let is_whole = last.is_some_and(|it| {
        let user = format!("user-{}", it.task);
        it.status == Status::Finished
            && (it.user, it.started_at, it.ended_at)
                == (user.as_str(), (T0 + 5) * 1000, (T0 + 60) * 1000)
    });
    let right = once && in_order && is_whole && all.len() == LIFE.len();
    (!right).then(|| format!("job {job}: known {known:?}, unknown {unknown:?}, last {last:?}"))
}

/// How many records were published. Not to be asked while more are published without a pause: kcat goes on to
/// the end, wherever that is by then.
fn published_at_all(place: &Place) -> usize {
    let topic = place.bus.topic(Topic::JobState);
    let keys: Vec<Vec<u8>> =
        glance(&place.bus.bootstrap, &topic).into_iter().map(|(key, _)| key).collect();
    keys.len()
}

#[test]
fn killed_at_any_moment_intake_publishes_every_message_once() {
    let Some(place) = Place::real() else { return };
    let kills = number("YARDMASTER_KILLS", 6).max(3);
    let seed = number("YARDMASTER_SEED", 1);
    let jobs = kills * 60;
    println!("{kills} kills, {jobs} jobs, YARDMASTER_SEED={seed}");
    let mut dice = Dice(seed);
    // Half of the tasks are known before their jobs, the others long after.
    (0..TASKS / 2).for_each(|task| place.facts(45 + task));
    place.bus.flush();
    let states = (0..jobs).flat_map(|job| LIFE.iter().map(move |(it, after)| (job, *it, *after)));
    let mut messages: Vec<(u64, u64, Status, i64)> =
        states.map(|(job, it, after)| (job / 30 * 10 + after as u64, job, it, after)).collect();
    messages.sort();
    let garbage = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (place, garbage) = (&place, &garbage);
        let pause = Duration::from_millis(kills * 2_500 / messages.len() as u64);
        scope.spawn(move || {
            for (at, (_, job, status, after)) in messages.into_iter().enumerate() {
                place.job(1_000 + job, status, T0 + after);
                if at % 50 == 7 {
                    // Somebody's second try, and what nobody can read.
                    place.job(1_000 + job, status, T0 + after);
                    place.put(&format!("bad-{at}"), "{\"msg_type\": \"job_status\"}");
                    garbage.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(pause);
            }
            place.writer.flush().unwrap();
        });
        let mut begun = 0;
        for kill in 0..kills {
            let stage = place.start();
            // Every third time some moment of its start, else one of its work for sure.
            let works = kill % 3 != 2;
            let lives = || stage.lives() > begun;
            if works {
                wait_until(60 * SECOND, || stage.logged(), lives);
            }
            let moment = Duration::from_millis(dice.below(if works { 1_500 } else { 1_000 }));
            std::thread::sleep(moment);
            begun = stage.lives();
            stage.kill();
            let since = if works { "it began to read" } else { "the start" };
            println!("kill {}: {moment:?} after {since}", kill + 1);
            if kill == kills / 2 {
                (TASKS / 2..TASKS).for_each(|task| place.facts(45 + task));
                place.bus.flush();
            }
        }
    });
    let mut last = place.start();
    let wanted = jobs as usize * LIFE.len();
    let behind =
        || format!("{} of {wanted} published\n{}", published_at_all(&place), last.logged());
    let (mut before, mut same) = (0, 0);
    wait_until(90 * SECOND, behind, || {
        std::thread::sleep(SECOND / 2);
        let now = published_at_all(&place);
        same = if now == before && now >= wanted { same + 1 } else { 0 };
        before = now;
        same >= 4
    });
    last.must_live();
    let records = committed(&place.bus.bootstrap, &place.bus.topic(Topic::JobState));
    let codec = Codec::default();
    let mut arenas: Vec<Arena> = records.iter().map(|_| Arena::default()).collect();
    let mut by_job: BTreeMap<String, Vec<JobState<'_>>> = BTreeMap::new();
    for ((key, value), arena) in records.iter().zip(&mut arenas) {
        let Event::JobState(job) = codec.read(Topic::JobState, None, Some(value), arena) else {
            panic!("no job state under {key:?}")
        };
        assert_eq!(key, job.job.as_bytes());
        by_job.entry(job.job.to_owned()).or_default().push(job);
    }
    assert_eq!(by_job.len(), jobs as usize);
    let complaints: Vec<String> =
        by_job.iter().filter_map(|(job, published)| complaint(job, published)).collect();
    assert_eq!(complaints, Vec::<String>::new());
    assert!(records.len() > wanted, "no job ever waited for its task");
    let letters = committed(&place.bus.bootstrap, &place.bus.topic(Topic::DeadLetter));
    let keys: BTreeSet<&Vec<u8>> = letters.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), letters.len(), "a dead letter came twice");
    assert_eq!(letters.len() as u64, garbage.into_inner());
    println!("{} records, {} dead letters, each once", records.len(), letters.len());
}

#[test]
fn the_last_intake_to_start_works_and_the_other_ends() {
    let Some(place) = Place::real() else { return };
    let mut first = place.start();
    place.job(1, Status::Running, T0);
    place.writer.flush().unwrap();
    wait_until(60 * SECOND, || first.logged(), || published_at_all(&place) == 1);
    let second = place.start();
    wait_until(
        60 * SECOND,
        || second.logged(),
        || {
            place.job(1, Status::Finished, T0 + 60);
            place.writer.flush().unwrap();
            first.child.try_wait().unwrap().is_some()
        },
    );
    let code = first.child.wait().unwrap().code();
    // A supervisor must not start it again.
    assert_eq!(code, Some(3), "{}", first.logged());
    wait_until(60 * SECOND, || second.logged(), || published_at_all(&place) == 2);
    let wrong = yardmaster(&["intake", "--bootstrap-server", "127.0.0.1:1"]);
    assert_eq!(wrong.status.code(), Some(2));
    let reported = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(reported.contains("[[intake.source]]"), "{reported}");
}
