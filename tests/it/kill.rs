//! The built program against a real Kafka (`YARDMASTER_TEST_KAFKA=host:port`; a broker of its own,
//! from `YARDMASTER_TEST_KAFKA_JARS`, where that is killed too), killed, stopped,
//! paused, robbed of its store and of its broker; and somebody else's consumer as the witness.
//!
//! `YARDMASTER_KILLS` says how often it is killed (6), `YARDMASTER_SEED` at which moments (1).

mod beside;
pub mod bus;
mod clock;
mod framed;
mod import;
pub mod intake;
mod other_rules;
pub mod process;
mod rivals;
pub mod witness;

use bus::{Bus, act_at_once, parts, text};
use process::{Process, wait_until, yardmaster};
use std::collections::BTreeSet;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use toml::Table;
use witness::{command_complaints, commands, committed, complaints, decisions, glance, summary};
use yardmaster::core::cut::Topic;

pub const SECOND: Duration = Duration::from_secs(1);

/// A seeded sequence (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Short lives need quick takeovers; small, slow cycles give many moments to be killed at.
pub fn hasty(limits: &mut Table, policy: &mut Table) {
    for (key, value) in [
        ("takeover_s", 1),
        ("takeover_jitter_ms", 200),
        ("judgements_per_cycle", 1),
        ("cycle_min_ms", 40),
        ("checkpoint_interval_ms", 50),
        ("counters_interval_s", 1),
    ] {
        limits.insert(key.into(), value.into());
    }
    for (key, value) in [("defer_s", 4), ("dwell_s", 0)] {
        policy.insert(key.into(), value.into());
    }
}

/// Checks what was published, as somebody else reads it, and what our own verbs say of the log and of
/// the stores.
pub fn settle_accounts(bus: &Bus, subjects: &BTreeSet<String>, stores: &[&Path]) -> String {
    let published = decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
    assert_eq!(complaints(&bus.domain, subjects, &published), Vec::<String>::new());
    for store in stores {
        println!("audit: {}", bus.verb("audit", 0, &["--store", text(store)]).trim());
    }
    let replayed = bus.verb("replay", 0, &["--verify"]);
    let verified = replayed.lines().find(|line| line.starts_with("verified")).unwrap_or_default();
    println!("replay: {verified}");
    let outputs =
        published.len() + commands(&glance(&bus.bootstrap, &bus.topic(Topic::Command))).len();
    let all = format!("verified {outputs} same, 0 different, 0 not verifiable");
    assert_eq!(verified, all, "{replayed}");
    summary(&published)
}

pub fn wait_for_answers(bus: &Bus, subjects: &BTreeSet<String>, processes: &mut [Process]) {
    let start = Instant::now();
    let answered = || {
        let published = decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
        published.iter().filter(|decision| decision.outcome.is_final()).count()
    };
    while answered() < subjects.len() {
        processes.iter_mut().for_each(Process::must_live);
        let all: Vec<String> = processes.iter().map(Process::logged).collect();
        let waited = start.elapsed() < 180 * SECOND;
        assert!(waited, "{} of {} answered\n{}", answered(), subjects.len(), all.join("\n---\n"));
        std::thread::sleep(SECOND / 2);
    }
}

#[test]
fn killed_at_any_moment_every_request_gets_one_final_answer() {
    let Some(bus) = Bus::own(|file| {
        parts(file, hasty);
        act_at_once(file);
    }) else {
        return;
    };
    let kills = number("YARDMASTER_KILLS", 6).max(6);
    let seed = number("YARDMASTER_SEED", 1);
    let requests = (kills * 40).max(200);
    println!("{kills} kills, {requests} requests, YARDMASTER_SEED={seed}");
    let mut dice = Dice(seed);
    for at in 0..12 {
        bus.queue(&format!("QUEUE_{at:02}"), 1, requests as u32 / 2);
    }
    // Some want several cores, which no queue has until the kills are over.
    let mut subjects = BTreeSet::new();
    for at in 0..requests {
        let (subject, cores) = (format!("{}/{at}", at / 10), if at < 30 { 8 } else { 1 });
        bus.ask(&subject, cores, 500 + 50 * cores as i32 - dice.below(100) as i32);
        subjects.insert(subject);
    }
    let old: BTreeSet<String> = (0..100).map(|at| (900_000 + at).to_string()).collect();
    old.iter().for_each(|job| bus.old_job(job));
    bus.flush();
    let stores = [bus.path("store-a"), bus.path("store-b")];
    let start = |at: usize| Process::start(&bus.bootstrap, &bus.topology, &stores[at]);
    let mut running: Vec<Option<Process>> = vec![None, None];
    let mut broker = None;
    for kill in 0..kills {
        // In the last third of the kills there is a standby, and either of the two is killed.
        let pair = kill >= kills - kills / 3;
        let victim = if pair { dice.below(2) as usize } else { 0 };
        running[0].get_or_insert_with(|| start(0));
        if pair {
            running[1].get_or_insert_with(|| start(1));
        }
        if let Some(restart) = Option::take(&mut broker) {
            JoinHandle::join(restart).expect("the broker came back");
        }
        if kill == kills / 3 {
            broker = Some(bus.restart_broker());
        }
        // Every other time some moment of its start or of its work, else one of its work for sure.
        let works = kill % 2 == 1;
        if works {
            let leads = || running.iter().flatten().any(Process::leads);
            let logged = || running.iter().flatten().map(Process::logged).collect::<Vec<_>>();
            wait_until(90 * SECOND, || logged().join("\n---\n"), leads);
        }
        let moment = Duration::from_millis(dice.below(if works { 1_500 } else { 4_500 }));
        std::thread::sleep(moment);
        running[victim].take().expect("it was started").kill();
        let since = if works { "the lead" } else { "the start" };
        println!("kill {}: {}, {moment:?} after {since}", kill + 1, ["a", "b"][victim]);
        if kill == kills / 2 {
            std::fs::remove_dir_all(&stores[0]).expect("a store to delete");
            println!("store a deleted");
        }
    }
    let mut last: Vec<Process> =
        running.into_iter().enumerate().map(|(at, it)| it.unwrap_or_else(|| start(at))).collect();
    let decided = || decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
    let waits = || "nobody was deferred twice".to_owned();
    wait_until(60 * SECOND, waits, || decided().iter().any(|it| it.ordinal > 2));
    bus.queue("QUEUE_20", 8, requests as u32);
    bus.flush();
    wait_for_answers(&bus, &subjects, &mut last);
    let commanded = || {
        let all = commands(&glance(&bus.bootstrap, &bus.topic(Topic::Command)));
        all.iter().filter(|it| it.is_order()).map(|it| it.subject.clone()).collect::<BTreeSet<_>>()
    };
    wait_until(60 * SECOND, || format!("{} jobs", commanded().len()), || commanded() == old);
    for process in last {
        assert_eq!(process.stop().code(), Some(0));
    }
    let stores: Vec<&Path> = stores.iter().map(AsRef::as_ref).collect();
    println!("{}", settle_accounts(&bus, &subjects, &stores));
    // Both witnesses read the same.
    committed(&bus.bootstrap, &bus.topic(Topic::Decision));
    let given = commands(&committed(&bus.bootstrap, &bus.topic(Topic::Command)));
    assert_eq!(command_complaints(&bus.domain, "T8", &old, &given), Vec::<String>::new());
    let epochs: BTreeSet<u64> = decided().iter().map(|decision| decision.epoch).collect();
    assert!(epochs.len() >= 3, "the kills missed the work: epochs {epochs:?}");
}

/// Asks, and waits until it is answered.
pub fn ask(bus: &Bus, subjects: &mut BTreeSet<String>, processes: &mut [Process]) {
    let subject = format!("1/{}", subjects.len());
    bus.ask(&subject, 1, 500);
    bus.flush();
    subjects.insert(subject);
    wait_for_answers(bus, subjects, processes);
}

/// Waits until a process leads and may speak; how long that took.
#[track_caller]
pub fn wait_for_lead(process: &Process, limit: Duration) -> Duration {
    let start = Instant::now();
    wait_until(limit, || process.logged(), || process.leads());
    start.elapsed()
}

#[test]
fn sigterm_ends_in_order_and_the_next_leads_at_once() {
    let patient = |limits: &mut Table, _: &mut Table| {
        limits.insert("takeover_s".into(), 300.into());
    };
    let Some(bus) = Bus::real(patient) else { return };
    bus.queue("QUEUE_00", 1, 10);
    let (store, other) = (bus.path("store"), bus.path("other"));
    let mut subjects = BTreeSet::new();
    let mut one = [Process::start(&bus.bootstrap, &bus.topology, &store)];
    wait_for_lead(&one[0], 60 * SECOND);
    ask(&bus, &mut subjects, &mut one);
    let [first] = one;
    assert_eq!(first.stop().code(), Some(0));

    let again = Process::start(&bus.bootstrap, &bus.topology, &store);
    println!("from its store, leading after {:?}", wait_for_lead(&again, 60 * SECOND));
    let mut pair = [again, Process::start(&bus.bootstrap, &bus.topology, &other)];
    ask(&bus, &mut subjects, &mut pair);
    let follows = || pair[1].ready().is_some_and(|it| it.speaks && !it.leading && it.epoch == 2);
    wait_until(60 * SECOND, || pair[1].logged(), follows);
    let [again, standby] = pair;
    assert_eq!(again.stop().code(), Some(0));
    println!("the standby led {:?} after the farewell", wait_for_lead(&standby, 60 * SECOND));
    let mut one = [standby];
    ask(&bus, &mut subjects, &mut one);
    let [standby] = one;
    assert_eq!(standby.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&other]));
}

#[test]
fn a_paused_leader_is_fenced_and_stands_by() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    bus.queue("QUEUE_00", 1, 10);
    let stores = [bus.path("store-a"), bus.path("store-b")];
    let start = |at: usize| Process::start(&bus.bootstrap, &bus.topology, &stores[at]);
    let mut subjects = BTreeSet::new();
    let leader = start(0);
    wait_for_lead(&leader, 60 * SECOND);
    let mut pair = [leader, start(1)];
    ask(&bus, &mut subjects, &mut pair);
    let stands_by = |process: &Process, epoch| {
        process.ready().is_some_and(|it| it.speaks && !it.leading && it.epoch == epoch)
    };
    wait_until(60 * SECOND, || pair[1].logged(), || stands_by(&pair[1], 1));

    // An idle pair never swaps, however often a standby could have lost patience meanwhile.
    std::thread::sleep(15 * SECOND);
    // An epoch never comes back, so a swap meanwhile would be seen; readiness may be late.
    let is_as_before = || pair[0].leads() && stands_by(&pair[1], 1);
    let both = || format!("{}\n{}", pair[0].logged(), pair[1].logged());
    wait_until(30 * SECOND, both, is_as_before);

    pair[0].signal("STOP");
    println!("the standby led {:?} after the pause", wait_for_lead(&pair[1], 60 * SECOND));
    ask(&bus, &mut subjects, &mut pair);
    pair[0].signal("CONT");
    wait_until(30 * SECOND, || pair[0].logged(), || stands_by(&pair[0], 2));
    assert!(pair[1].leads(), "{}", pair[1].logged());
    ask(&bus, &mut subjects, &mut pair);

    let [first, second] = pair;
    second.kill();
    println!("the first led {:?} after the second's death", wait_for_lead(&first, 60 * SECOND));
    let mut one = [first];
    ask(&bus, &mut subjects, &mut one);
    let [first] = one;
    assert_eq!(first.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&stores[0]]));
}

/// Longer than one question to the broker may take.
#[test]
fn a_verb_waits_for_a_slow_broker_and_says_so() {
    let Some(bus) = Bus::own(|_| {}) else { return };
    let place = bus.place();
    let verbs = [&["topology", "check"][..], &["replay", "--verify"], &["counters"]];
    let verbs = verbs.map(|verb| [verb, &place].concat());
    let calm = verbs.each_ref().map(|args| yardmaster(args));
    let pause = bus.pause_broker(14 * SECOND);
    let slow = std::thread::scope(|scope| {
        verbs.each_ref().map(|args| scope.spawn(|| yardmaster(args))).map(|it| it.join().unwrap())
    });
    pause.join().unwrap();
    for ((args, calm), slow) in verbs.iter().zip(calm).zip(slow) {
        let text = String::from_utf8_lossy(&slow.stderr);
        assert_eq!(slow.status.code(), calm.status.code(), "{args:?}\n{text}");
        assert!(text.contains("the broker is asked again"), "{args:?}\n{text}");
    }
}

#[track_caller]
fn is_wrong_use(args: &[&str], parts: &[&str]) {
    let output = yardmaster(args);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "yardmaster {args:?}\n{text}");
    for part in parts {
        assert!(text.contains(part), "yardmaster {args:?} does not say {part:?}:\n{text}");
    }
    assert!(output.stdout.is_empty(), "nothing but an answer is for stdout");
}

#[test]
fn wrong_use_is_reported_and_exits_2() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("wrong.toml");
    let wrong = yardmaster::wire::topology::ATLAS
        .replace("takeover_s = 5", "takeover_s = 0")
        .replace("\"nopilot\"", "\"nopolit\"");
    std::fs::write(&file, wrong).unwrap();
    let file = text(&file);
    is_wrong_use(&["depart"], &["depart"]);
    is_wrong_use(&["run"], &["--bootstrap-server", "--dir"]);
    is_wrong_use(&["run", "--dir", "a", "--bootstrap-server", "b:1"], &["--dir"]);
    is_wrong_use(&["replay", "--dir", "nowhere-at-all"], &["nowhere-at-all"]);
    is_wrong_use(&["counters", "--dir", "nowhere-at-all"], &["nowhere-at-all"]);
    is_wrong_use(&["run", "--topology", "none.toml", "--dir", "a"], &["none.toml"]);
    let wrong = ["takeover_s = 0", "1..=600", "nopolit", "nopilot"];
    is_wrong_use(&["topology", "check", "--topology", file], &wrong);
    let nobody = ["run", "--http", "127.0.0.1:0", "--bootstrap-server", "127.0.0.1:1"];
    is_wrong_use(&[&nobody[..], &["-X", "liger.ms=1"]].concat(), &["liger.ms"]);
}
