//! The simulated CMS pool: alone, and in a demo with the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use yardmaster::core::domain::cms::output::Matched;
use yardmaster::core::event::{Band, Configuration, Event, Pilot, Status};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::unit::{HOUR, MINUTE, Millis, SECOND};
use yardmaster::sim::cms::{Cms, CmsPlan, CmsSummary};
use yardmaster::sim::grid::Record;
use yardmaster::wire::avro::{Arena, Codec};

const START: Millis = 1_760_400_000_000;
const STEP: Millis = 10 * SECOND;
const SCALE: &str = "0.01";

fn plan(seed: u64, hours: u32) -> CmsPlan {
    CmsPlan {
        seed,
        scale: SCALE.parse().unwrap(),
        start: START,
        hours,
        domain: "cms".to_owned(),
        policy: "cms".to_owned(),
        speed: 1,
    }
}

/// A job that waits, as published.
#[derive(Clone, Debug)]
struct Waiting {
    job: String,
    attempt: u32,
    workflow: String,
    sites: Option<Vec<String>>,
    cores: i64,
    wall_s: i64,
    rss_mb: i64,
    high_io: bool,
    is_whole: bool,
}

/// Gives each offer to the jobs that came first and fit, where their input is. It knows of no quota
/// and of no limit but these; with `reckless` not even of whitelists.
struct FirstComes {
    codec: Codec,
    reckless: bool,
    waiting: Vec<Waiting>,
    /// Class and user of workflows.
    workflows: BTreeMap<String, (yardmaster::core::event::Class, String)>,
    /// Thousandths that a core of a site weighs.
    power: BTreeMap<String, i64>,
    /// Announcements that were answered: some are published twice.
    answered: BTreeSet<(String, u32)>,
}

impl FirstComes {
    fn new(reckless: bool) -> FirstComes {
        FirstComes {
            codec: Codec::new(1 << 20),
            reckless,
            waiting: Vec::new(),
            workflows: BTreeMap::new(),
            power: BTreeMap::new(),
            answered: BTreeSet::new(),
        }
    }

    fn answer(&mut self, records: &[Record]) -> Vec<Decision> {
        let mut arena = Arena::default();
        let mut decisions = Vec::new();
        for record in records {
            let (key, value) = (Some(&record.key[..]), record.value.as_deref());
            match self.codec.read(record.topic, key, value, &mut arena) {
                Event::Configuration(it) => {
                    if let Configuration::Site(site) = *it {
                        let power = site.slot_quota.unwrap().corepower_mhs06;
                        self.power.insert(site.name, if power == 0 { 1_000 } else { power / 10 });
                    }
                }
                Event::Task(task) => {
                    let facts = task.workflow.as_ref().unwrap();
                    let of = (facts.class, task.user.clone());
                    self.workflows.insert(task.task.clone(), of);
                }
                Event::JobState(job) if job.status == Status::Pending => {
                    let wanted = job.requirements.unwrap();
                    self.waiting.push(Waiting {
                        job: job.job.to_owned(),
                        attempt: job.attempt,
                        workflow: job.task.to_owned(),
                        sites: wanted.whitelist(),
                        cores: wanted.cores_min,
                        wall_s: wanted.max_wall_time_s.unwrap(),
                        rss_mb: wanted.max_rss_mb.unwrap(),
                        high_io: wanted.high_io,
                        is_whole: wanted.whole_node,
                    });
                }
                Event::Pilot(Pilot::SlotOffer { queue, offer, at }) => {
                    let left = (offer.cores_free, offer.mem_free_mb, offer.wall_left_s);
                    let of = (queue, offer.offer, offer.attempt, offer.node);
                    self.fill(of, left, at, &mut decisions);
                }
                Event::Garbled(reason) => panic!("what cannot be read: {reason:?}"),
                _ => {}
            }
        }
        decisions
    }

    fn fill(
        &mut self,
        (site, offer, attempt, node): (&str, &str, u32, &str),
        (mut cores, mut rss_mb, wall_s): (i64, i64, i64),
        now: Millis,
        out: &mut Vec<Decision>,
    ) {
        if !self.answered.insert((offer.to_owned(), attempt)) {
            return;
        }
        let (mut at, mut ordinal) = (0, 0);
        while at < self.waiting.len().min(2_000) && cores > 0 {
            let job = &self.waiting[at];
            let is_there =
                self.reckless || job.sites.as_ref().is_none_or(|it| it.iter().any(|it| it == site));
            let fits = job.cores <= cores && job.rss_mb <= rss_mb && job.wall_s <= wall_s;
            let known = self.workflows.get(&job.workflow);
            let Some((class, user)) = known.filter(|_| is_there && fits && !job.is_whole) else {
                at += 1;
                continue;
            };
            cores -= job.cores;
            rss_mb -= job.rss_mb;
            ordinal += 1;
            let matched = Matched {
                job: job.job.clone(),
                job_attempt: job.attempt,
                class: *class,
                band: Band::Normal,
                node: node.to_owned(),
                cores: job.cores,
                weight_milli: job.cores * self.power[site],
                wall_time_s: job.wall_s,
                rss_mb: job.rss_mb,
                io_source: if job.high_io { site.to_owned() } else { String::new() },
                ..Matched::default()
            };
            out.push(Decision {
                task: job.workflow.clone(),
                user: user.clone(),
                now,
                matched: Some(matched),
                ..Decision::new("cms", offer, attempt.into(), ordinal, Outcome::Assign(Vec::new()))
            });
            self.waiting.remove(at);
        }
    }
}

/// Runs a pool with [`FirstComes`] for some hours.
fn run(seed: u64, hours: u32, reckless: bool) -> (Vec<Record>, CmsSummary) {
    let mut pool = Cms::new(plan(seed, hours)).unwrap();
    let mut first = FirstComes::new(reckless);
    let (mut all, mut decisions) = (Vec::new(), Vec::new());
    for step in 1..=Millis::from(hours) * HOUR / STEP {
        let mut published = Vec::new();
        pool.advance(START + step * STEP, &decisions, &mut published);
        decisions = first.answer(&published);
        all.append(&mut published);
    }
    (all, pool.summary())
}

#[test]
fn the_same_seed_publishes_the_same_bytes_and_times_do_not_fall() {
    let (one, summary) = run(7, 1, false);
    let (same, again) = run(7, 1, false);
    assert!(one == same && summary == again);
    assert!(one.windows(2).all(|two| two[0].at <= two[1].at));
    assert_ne!(run(8, 1, false).1, summary);
    assert!(summary.submitted > 1_000 && summary.finished() > 100, "{summary:?}");
    assert!(summary.core_use > 0.3 && summary.retries > 0, "{summary:?}");
}

/// The pool's own checks find what decisions that know no rule do wrong.
#[test]
fn matches_that_break_rules_are_seen() {
    let (_, careless) = run(1, 1, false);
    let seen = |what: &str| careless.violations.contains_key(what);
    for broken in ["HighIO", "labelled block", "restricted pool", "class_only"] {
        assert!(seen(broken), "{broken}: {:?}", careless.violations);
    }
    for held in ["whitelist or overflow", "cores, time or memory", "accounting", "workflow"] {
        assert!(!seen(held), "{held}: {:?}", careless.violations);
    }
    let (_, reckless) = run(1, 1, true);
    let seen = |what: &str| reckless.violations.contains_key(what);
    assert!(seen("whitelist or overflow"), "{:?}", reckless.violations);
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

/// The number that stands behind some words.
#[track_caller]
fn behind(text: &str, words: &str) -> f64 {
    let (_, tail) = text.split_once(words).unwrap_or_else(|| panic!("no {words:?} in {text}"));
    let number = tail.split([' ', ',', ';', '\n']).next().unwrap();
    number.parse().unwrap_or_else(|_| panic!("{number:?} behind {words:?} in {text}"))
}

const CODES: [&str; 8] = [
    "class_conflict",
    "no_workflow",
    "workflow_unknown",
    "empty_whitelist",
    "highio_without_whitelist",
    "system_flag_unauthorised",
    "bad_core_request",
    "bad_resource_request",
];

/// Asserts the lines of a demo of some hours, as it prints them.
fn holds(text: &str) {
    assert!(text.contains("stated in decisions, all hold"), "{text}");
    assert!(text.contains("the pool's own checks: every match holds"), "{text}");
    assert!(text.contains("audit: clean"), "{text}");
    assert!(before(text, " % on average") <= 5.0, "{text}");
    assert!(text.contains("starved: 0 workflows, 0 users"), "{text}");
    assert!(behind(text, "slots: ") > 85.0, "{text}");
    for code in CODES {
        assert!(behind(text, &format!("{code} ")) > 0.0, "{text}");
    }
    for band in ["central system ", "central test ", "central normal ", "analysis test "] {
        assert!(behind(text, band) > 0.0, "{text}");
    }
    let (_, relaxed) = text.split_once("by relaxed rule: ").expect("the rules");
    assert!(behind(relaxed, "overflow ") > 0.0, "{text}");
    assert!(behind(text, "HighIO: ") > 0.0, "{text}");
    assert!(before(text, " jobs on slots of one group alone") > 0.0, "{text}");
    // A workflow whose program always fails is killed, and what was learnt of others is published.
    // So are jobs reported that no node can hold; no idle node is drained for them.
    for kind in ["kill_workflow ", "profile ", "boost ", "alert ", "drain "] {
        assert!(behind(text, kind) > 0.0, "{text}");
    }
    assert!(before(text, " waiting jobs of killed workflows removed") > 0.0, "{text}");
}

/// A demo of a pool for some hours: what must hold does, the audit is clean and all of it can be
/// made again.
#[test]
fn a_demo_serves_all_by_the_rules() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().to_str().unwrap();
    let topology = ["--topology", "cms", "--dir", place];
    let demo = ["--hours", "4", "--scale", SCALE, "--seed", "2", "--http", "127.0.0.1:0"];
    let text = printed(&[&["demo"], &topology[..], &demo].concat());
    holds(&text);

    let verified = printed(&[&["replay", "--verify"], &topology[..]].concat());
    assert!(verified.contains(" 0 different, 0 not verifiable"), "{verified}");
    printed(&[&["audit"], &topology[..]].concat());
}

/// A whole day: shares are equal to 5 % for every user with steady demand, and nodes were drained.
#[test]
#[ignore = "takes a quarter of an hour: test.sh --long"]
fn a_whole_day_is_served_by_the_rules() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().to_str().unwrap();
    let topology = ["--topology", "cms", "--dir", place];
    let demo = ["--hours", "24", "--scale", "0.02", "--seed", "2", "--http", "127.0.0.1:0"];
    let text = printed(&[&["demo"], &topology[..], &demo].concat());
    holds(&text);
    assert!(before(&text, " % at most") <= 5.0, "{text}");
    assert!(behind(&text, "drain ") > 0.0, "{text}");
    let verified = printed(&[&["replay", "--verify"], &topology[..]].concat());
    assert!(verified.contains(" 0 different, 0 not verifiable"), "{verified}");
}

#[test]
fn what_only_a_demo_of_atlas_takes_is_refused() {
    for flag in ["--polled", "--compare", "--faults", "--commands=on", "--bootstrap-server=h:1"] {
        let output = yardmaster(&["demo", "--topology", "cms", flag]);
        let text = String::from_utf8_lossy(&output.stderr);
        let (name, _) = flag.split_once('=').unwrap_or((flag, ""));
        assert_eq!(output.status.code(), Some(2), "{flag}: {text}");
        assert!(text.contains(&format!("{name}: only a demo of ATLAS takes it")), "{text}");
    }
}

#[test]
fn a_scale_that_is_none_is_refused() {
    let output = yardmaster(&["demo", "--topology", "cms", "--scale", "0"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// Work of the first hours is there before the first offer.
#[test]
fn work_arrives_before_pilots_do() {
    let mut pool = Cms::new(plan(3, 1)).unwrap();
    let mut published = Vec::new();
    pool.advance(START + 2 * MINUTE, &[], &mut published);
    let summary = pool.summary();
    assert!(summary.waiting > 500 && summary.offers == 0, "{summary:?}");
    pool.advance(START + 6 * MINUTE, &[], &mut published);
    assert!(pool.summary().offers > 100);
}
