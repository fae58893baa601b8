//! The simulated NorduGrid: alone, and in a demo with the engine.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use yardmaster::core::event::{Configuration, Event, Task, UserShare};
use yardmaster::core::output::decision::{Decision, Outcome, Ranked};
use yardmaster::core::unit::{HOUR, Millis, SECOND};
use yardmaster::sim::dice::Dice;
use yardmaster::sim::grid::Record;
use yardmaster::sim::nordugrid::{NorduGrid, NordugridPlan, NordugridSummary};
use yardmaster::wire::avro::{Arena, Codec};

const START: Millis = 1_760_400_000_000;
const STEP: Millis = 10 * SECOND;
const SCALE: &str = "0.1";

fn plan(seed: u64, hours: u32) -> NordugridPlan {
    NordugridPlan {
        seed,
        scale: SCALE.parse().unwrap(),
        start: START,
        hours,
        domain: "nordugrid".to_owned(),
        policy: "nordugrid-job".to_owned(),
        speed: 1,
    }
}

/// Sends each job to any queue that lists its user, whatever lies in which cache; to another one if
/// that is refused.
struct AnyQueue {
    codec: Codec,
    dice: Dice,
    /// Queues, by user.
    queues: BTreeMap<String, Vec<String>>,
    /// Jobs by name, with how often they were answered.
    asked: BTreeMap<String, (Task, u64)>,
}

impl AnyQueue {
    fn new(seed: u64) -> AnyQueue {
        AnyQueue {
            codec: Codec::new(1 << 20),
            dice: Dice::new(seed, "any queue"),
            queues: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    fn answer(&mut self, records: &[Record]) -> Vec<Decision> {
        let mut arena = Arena::default();
        let mut wanting = Vec::new();
        for record in records {
            let (key, value) = (Some(&record.key[..]), record.value.as_deref());
            match self.codec.read(record.topic, key, value, &mut arena) {
                Event::Configuration(it) => {
                    if let Configuration::UserShare(UserShare { queue, user, .. }) = *it {
                        let queues = self.queues.entry(user).or_default();
                        if !queues.contains(&queue) {
                            queues.push(queue);
                        }
                    }
                }
                Event::Task(task) => {
                    wanting.push(task.subject.clone());
                    self.asked.insert(task.subject.clone(), ((*task).clone(), 0));
                }
                Event::Outcome(outcome) if !outcome.reason.is_empty() => {
                    wanting.push(outcome.subject.clone());
                }
                Event::Garbled(reason) => panic!("what cannot be read: {reason:?}"),
                _ => {}
            }
        }
        wanting.iter().filter_map(|subject| self.send(subject)).collect()
    }

    fn send(&mut self, subject: &str) -> Option<Decision> {
        let (task, answered) = self.asked.get_mut(subject)?;
        let queues = self.queues.get(&task.user)?;
        let queue = queues[self.dice.below(queues.len())].clone();
        let ranked = Ranked {
            unified: queue.clone(),
            queue,
            weight: 1.0,
            jobs: 1,
            cores: 1,
            factors: Vec::new(),
            platform: String::new(),
        };
        *answered += 1;
        let outcome = Outcome::Assign(vec![ranked]);
        Some(Decision {
            epoch: 1,
            cycle: 1,
            now: task.asked_at,
            policy: task.policy.clone(),
            ..Decision::new(&task.domain, subject, *answered - 1, 1, outcome)
        })
    }
}

/// Runs a grid with [`AnyQueue`] for some hours.
fn run(seed: u64, hours: u32) -> (Vec<Record>, NordugridSummary) {
    let mut grid = NorduGrid::new(plan(seed, hours)).unwrap();
    let mut any = AnyQueue::new(seed);
    let (mut all, mut decisions) = (Vec::new(), Vec::new());
    for step in 1..=Millis::from(hours) * HOUR / STEP {
        let mut published = Vec::new();
        grid.advance(START + step * STEP, &decisions, &mut published);
        decisions = any.answer(&published);
        all.append(&mut published);
    }
    (all, grid.summary())
}

#[test]
fn the_same_seed_publishes_the_same_bytes() {
    let (one, summary) = run(7, 1);
    let (same, again) = run(7, 1);
    assert!(one == same && summary == again);
    assert!(one.windows(2).all(|two| two[0].at <= two[1].at));
    assert_ne!(run(8, 1).1, summary);
    let NordugridSummary { submitted, placed, refused, finished, .. } = summary;
    assert!(submitted > 200 && placed > 100 && refused > 100 && finished > 20, "{summary:?}");
}

fn yardmaster(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yardmaster"));
    command.args(args).env_remove("YARDMASTER_LOG").stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn printed(args: &[&str]) -> String {
    let output = yardmaster(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The number that stands before some words.
#[track_caller]
fn before(text: &str, words: &str) -> f64 {
    let (head, _) = text.split_once(words).unwrap_or_else(|| panic!("no {words:?} in {text}"));
    let number = head.rsplit([' ', '\n']).next().unwrap();
    number.parse().unwrap_or_else(|_| panic!("{number:?} before {words:?} in {text}"))
}

/// A demo of NorduGrid: limits hold, every job is placed or rejected soon, the audit is clean and
/// all of it can be made again; caches are used more than where queues are chosen at random.
#[test]
fn a_demo_places_every_job_soon_and_close_to_its_data() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().to_str().unwrap();
    let topology = ["--topology", "nordugrid", "--dir", place];
    let demo = ["--hours", "3", "--scale", SCALE, "--seed", "1", "--http", "127.0.0.1:0"];
    let text = printed(&[&["demo"], &topology[..], &demo].concat());
    assert!(text.contains("stated in decisions, all hold"), "{text}");
    assert!(text.contains("audit: clean"), "{text}");
    assert!(before(&text, " placed,") > 0.95 * before(&text, " submitted,"), "{text}");
    assert!(before(&text, " s; to the start") <= 600.0, "{text}");
    assert!(before(&text, " s); ") <= 600.0, "{text}");
    assert_eq!(before(&text, " of them although a cluster"), 0.0, "{text}");

    let verified = printed(&[&["replay", "--verify"], &topology[..]].concat());
    assert!(verified.contains(" 0 different, 0 not verifiable"), "{verified}");
    printed(&[&["audit"], &topology[..]].concat());

    let hits = before(&text, " % of the files that may be cached were");
    let (_, at_random) = run(1, 3);
    let at_random = 100.0 * at_random.hit_rate();
    assert!(hits > 1.5 * at_random, "{hits} % of files cached, {at_random} % at random");
}

#[test]
fn what_only_a_demo_of_atlas_takes_is_refused() {
    for flag in [
        "--polled",
        "--compare",
        "--faults",
        "--commands=on",
        "--cric=queues.json",
        "--bootstrap-server=127.0.0.1:1",
    ] {
        let output = yardmaster(&["demo", "--topology", "nordugrid", flag]);
        let text = String::from_utf8_lossy(&output.stderr);
        let (name, _) = flag.split_once('=').unwrap_or((flag, ""));
        assert_eq!(output.status.code(), Some(2), "{flag}: {text}");
        assert!(text.contains(&format!("{name}: only a demo of ATLAS takes it")), "{text}");
    }
}
