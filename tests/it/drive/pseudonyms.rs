//! Users by pseudonyms: no name of one is in what is folded or published, and but for the names all
//! comes out the same.

use super::owner::{build, is_assigned, is_held, own, parameter};
use super::yard::*;
use std::sync::Arc;
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Quota, Status, Task, User};
use yardmaster::core::output::decision::Decision;
use yardmaster::core::output::throttle::{Action, Throttle, ThrottleId};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::counters::counters;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::{MINUTE, SECOND};
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::counter::to_json;
use yardmaster::wire::pseudonym::Pseudonyms;
use yardmaster::wire::topology::ATLAS;

const USERS: [&str; 3] = ["Ann Physicist", "Bob Physicist", "Cleo Physicist"];

fn pseudonyms(key: u8) -> Arc<Pseudonyms> {
    Arc::new(Pseudonyms::new(&[key; 32]).unwrap())
}

/// Of the topology of ATLAS, with users by pseudonyms under a key, or by their names.
fn config_of(instance: &str, key: Option<u8>) -> Config {
    let epoch_config = match key {
        None => EpochConfig::of("atlas.toml", ATLAS),
        Some(key) => {
            let text = format!("{ATLAS}\n[pseudonyms]\nusers = true\nkey_file = \"elsewhere\"\n");
            EpochConfig::with_key("atlas.toml", &text, Some(pseudonyms(key)))
        }
    };
    config_with(instance, epoch_config.unwrap())
}

type Paper = Drive<PaperLog, PaperStore>;

/// Ann is over the general cap, Bob over his own, Cleo over her quota until its record is removed.
fn play(key: Option<u8>) -> (Yard, Paper) {
    reset_stopwatch();
    let mut yard = Yard::new();
    build(&yard, 2);
    parameter(&yard, "prio_mgr", "CAP_RUNNING_USER_JOBS", "3");
    let jobs = [("11", 0), ("12", 0), ("13", 0), ("14", 0), ("21", 1), ("22", 1), ("31", 2)];
    for (name, user) in jobs {
        yard.job(&own(name, USERS[user], Status::Running, yard.now));
    }
    let bob = User { name: USERS[1].into(), changed_at: yard.now, ..User::default() };
    yard.configure(&User { cap_running_jobs: Some(1), ..bob.clone() });
    let quota = Quota {
        subject: USERS[2].into(),
        expression: "tier=1".into(),
        changed_at: yard.now,
        limit_bytes: Some(100),
        used_bytes: 101,
        ..Quota::default()
    };
    yard.configure(&quota);
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config_of("one", key)).unwrap();
    lead(&mut yard, &mut drive, 5).unwrap();
    for (subject, user) in [("1", 0), ("2", 1), ("3", 2)] {
        yard.ask(&Task { user: USERS[user].into(), ..asking(subject, yard.now) });
    }
    let of_group = Task { working_group: "phys-higgs".into(), ..asking("4", yard.now) };
    yard.ask(&Task { user: USERS[0].into(), ..of_group });
    lead(&mut yard, &mut drive, 5).unwrap();
    // What is removed by its key was kept under another name.
    let key = |topic, key: &str| {
        let partition = yardmaster::core::id::hash(key.as_bytes()) % 2;
        let lane = yardmaster::core::cut::Lane::new(topic, partition as u32);
        yard.paper.append(lane, Some(key.as_bytes()), None, &[], None);
    };
    key(Topic::Quota, &format!("user/{} tier=1", USERS[2]));
    key(Topic::User, &format!("user/{}", USERS[1]));
    for name in ["12", "13"] {
        yard.job(&own(name, USERS[0], Status::Finished, yard.now + 1));
    }
    let begun = yard.now;
    while yard.now < begun + 25 * MINUTE {
        yard.pass(5 * SECOND);
        lead(&mut yard, &mut drive, 2).unwrap();
    }
    (yard, drive)
}

/// With pseudonyms in place of names.
fn renamed(text: String) -> String {
    USERS.iter().fold(text, |text, name| text.replace(name, &pseudonyms(1).of(name)))
}

fn lines(drive: &Paper) -> Vec<String> {
    sorted(counters(drive.state()).iter().map(to_json))
}

fn decision(decision: &Decision) -> String {
    format!("{decision:?}")
}

/// Without the id, which is made of the subject, and without the number: throttles of one cycle are
/// in the order of their subjects.
fn throttle(throttle: &Throttle) -> String {
    format!("{:?}", Throttle { id: ThrottleId([0; 16]), number: 0, ..throttle.clone() })
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

#[test]
fn but_for_the_names_everything_comes_out_the_same() {
    let (plain_yard, plain) = play(None);
    let (yard, keyed) = play(Some(1));
    let decisions = yard.decisions();
    assert!(is_held(&decisions[0], "running_jobs_cap"), "{decisions:#?}");
    assert!(is_held(&decisions[1], "running_jobs_cap"), "{decisions:#?}");
    assert!(is_held(&decisions[2], "over_global_quota"), "{decisions:#?}");
    assert_eq!(decisions.iter().filter(|it| is_assigned(it)).count(), 4, "{decisions:#?}");
    let of = |decisions: &[Decision]| decisions.iter().map(decision).collect::<Vec<_>>();
    let wanted: Vec<String> = of(&plain_yard.decisions()).into_iter().map(renamed).collect();
    assert_eq!(of(&decisions), wanted);
    let throttles = yard.throttles();
    assert!(throttles.iter().any(|it| it.action == Action::Lift), "{throttles:#?}");
    let wanted = plain_yard.throttles();
    let wanted = sorted(wanted.iter().map(|it| renamed(throttle(it))));
    assert_eq!(sorted(throttles.iter().map(throttle)), wanted);
    let wanted = sorted(lines(&plain).into_iter().map(renamed));
    assert_eq!(lines(&keyed), wanted);
    assert!(wanted.iter().any(|line| line.contains(&pseudonyms(1).of(USERS[0]))), "{wanted:#?}");
    assert_eq!(audit(keyed.state()), vec![]);
}

#[test]
fn no_name_is_in_what_is_published() {
    let (yard, _) = play(Some(1));
    let mut records = 0;
    for span in yard.paper.spans().into_iter().filter(|span| span.lane.topic.is_own()) {
        for note in outputs(&yard.paper, span.lane) {
            records += 1;
            for bytes in [note.key.unwrap_or_default(), note.value.unwrap_or_default()] {
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains("Physicist"), "{}: {text}", span.lane);
                assert!(!text.contains("elsewhere"), "{}: {text}", span.lane);
            }
        }
    }
    assert!(records > 20, "{records}");
    let progress = yard.progress();
    let text = progress[0].policies.as_deref().unwrap();
    let fingerprint = pseudonyms(1).fingerprint().to_owned();
    assert!(text.contains(&format!("key_fingerprint = \"{fingerprint}\"")), "{text}");
}

/// Follows to the end of the log, making every decision again.
fn follow(yard: &Yard, store: PaperStore, key: Option<u8>) -> (Paper, [u64; 3], Vec<String>) {
    let config = Config { verify: true, ..config_of("two", key) };
    let mut drive = Drive::start(yard.log(), store, config).unwrap();
    for _ in 0..2 * yard.progress().len() {
        drive.pump(Duration::ZERO).unwrap();
        drive.follow().unwrap();
    }
    let report = drive.take_report();
    assert!(report.differences.is_empty(), "{:#?}", report.differences);
    (drive, report.verified, report.notices)
}

#[test]
fn a_store_of_another_key_is_rebuilt() {
    let (yard, mut drive) = play(Some(1));
    drive.finish(yard.now).unwrap();
    let reached = digest(drive.state());
    let (_, kept) = drive.into_ports();
    let newest = || kept.older(kept.count());
    let is_rebuilt = |notices: &[String]| {
        notices.iter().any(|it| it.contains("of key") && it.contains("rebuilt from the log"))
    };
    let (same, _, notices) = follow(&yard, newest(), Some(1));
    assert!(!is_rebuilt(&notices), "{notices:#?}");
    assert_eq!(digest(same.state()), reached);
    // From the log alone every decision comes out again.
    let (again, verified, _) = follow(&yard, PaperStore::default(), Some(1));
    assert!(verified[0] > 4 && verified[1..] == [0, 0], "{verified:?}");
    assert_eq!(digest(again.state()), reached);
    for key in [Some(2), None] {
        let (from_store, _, notices) = follow(&yard, newest(), key);
        assert!(is_rebuilt(&notices), "{notices:#?}");
        let (from_log, verified, notices) = follow(&yard, PaperStore::default(), key);
        assert_eq!(digest(from_store.state()), digest(from_log.state()));
        // The decisions in the log are those of another key, which is no error of theirs.
        assert!(verified[..2] == [0, 0] && verified[2] > 4, "{verified:?}");
        assert!(notices.iter().any(|it| it.contains("same [pseudonyms]")), "{notices:#?}");
        let shown = lines(&from_log).join("\n");
        let ann = key.map_or(USERS[0].to_owned(), |key| pseudonyms(key).of(USERS[0]));
        assert!(shown.contains(&ann), "{shown}");
    }
    // The other way round: a store with names, and a key now.
    let (yard, mut drive) = play(None);
    drive.finish(yard.now).unwrap();
    let (_, kept) = drive.into_ports();
    let (drive, _, notices) = follow(&yard, kept.older(kept.count()), Some(1));
    assert!(is_rebuilt(&notices), "{notices:#?}");
    let jobs: Vec<String> =
        lines(&drive).into_iter().filter(|line| line.contains("\"user\"")).collect();
    assert!(jobs.iter().any(|line| line.contains(&pseudonyms(1).of(USERS[0]))), "{jobs:#?}");
}
