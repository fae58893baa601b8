//! A broker that really compacts and expires, in small segments: what it leaves is enough. With the
//! store gone, the rebuild finds the counters that there were, and deciding goes on.

mod offsets;

use crate::broker::{Broker, is_possible};
use crate::drive::yard;
use crate::kill::bus::{Bus, now, parts, table, text};
use crate::kill::process::{Process, wait_until};
use crate::kill::witness::{committed, complaints, decisions, glance};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Status;
use yardmaster::core::unit::{DAY, HOUR, MINUTE};
use yardmaster::drive::port::{LaneSpan, Log};
use yardmaster::shell::kafka::{KafkaConf, KafkaLog, TopicMap};
use yardmaster::wire::record;

const SECOND: Duration = Duration::from_secs(1);
/// How long `progress` is kept while its first epoch expires.
const SHORT: Duration = Duration::from_secs(10);
const QUICK: &str = "log.cleaner.backoff.ms=100\nlog.retention.check.interval.ms=300\n\
                     log.initial.task.delay.ms=300\nlog.segment.delete.delay.ms=100\n";

fn hasty(limits: &mut Table, policy: &mut Table) {
    limits.insert("takeover_s".into(), 1.into());
    limits.insert("takeover_jitter_ms".into(), 0.into());
    for (key, value) in [("defer_s", 2), ("dwell_s", 0)] {
        policy.insert(key.into(), value.into());
    }
}

fn spans(bus: &Bus, topic: Topic) -> Vec<LaneSpan> {
    let map = TopicMap { topic, name: bus.topic(topic) };
    KafkaLog::open(KafkaConf::new(&bus.bootstrap, "nobody", vec![map])).unwrap().lanes().unwrap()
}

/// The first offset of every partition, summed.
fn begins(bus: &Bus, topic: Topic) -> u64 {
    spans(bus, topic).iter().map(|span| span.first).sum()
}

/// A state of a job, stamped with the time it tells of.
fn job(bus: &Bus, id: &str, queue: &str, status: Status, at: i64) {
    let mut job = yard::job(id, queue, "", status, at);
    (job.task, job.started_at) = ("0", at - MINUTE);
    bus.publish_at(Topic::JobState, id, Some(at), |out| record::write(out, &job));
}

/// A grid with a history: jobs that ended long ago, some hours ago, and some that run, each with
/// several states. The records of job states.
fn fill(bus: &Bus) -> usize {
    let at = now();
    for number in 0..300 {
        let (id, before) = (format!("old-{number}"), at - 40 * DAY);
        job(bus, &id, "QUEUE_00", Status::Running, before);
        job(bus, &id, "QUEUE_00", Status::Finished, before + HOUR);
    }
    // A batch of their own, so a segment of their own.
    bus.flush();
    for number in 0..100 {
        let id = format!("job-{number}");
        let queue = format!("QUEUE_0{}", number % 3);
        for (step, status) in
            [Status::Activated, Status::Starting, Status::Running].into_iter().enumerate()
        {
            job(bus, &id, &queue, status, at - 3 * HOUR + step as i64 * MINUTE);
        }
        if number % 2 == 0 {
            let end = if number % 4 == 0 { Status::Finished } else { Status::Failed };
            job(bus, &id, &queue, end, at - HOUR);
        }
    }
    for number in 0..3 {
        bus.queue(&format!("QUEUE_0{number}"), 1, 20);
    }
    bus.flush();
    600 + 350 + 60
}

/// A life of the program: it leads, and ends in order once `is_enough`.
fn live(bus: &Bus, store: &Path, what: &str, mut is_enough: impl FnMut() -> bool) {
    let process = Process::start(&bus.bootstrap, &bus.topology, store);
    wait_until(60 * SECOND, || process.logged(), || process.leads());
    wait_until(120 * SECOND, || format!("{what}: {}", process.logged()), &mut is_enough);
    assert_eq!(process.stop().code(), Some(0));
}

fn answers(bus: &Bus) -> Vec<(String, u32, bool)> {
    let published = decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
    published.into_iter().map(|it| (it.subject, it.ordinal, it.outcome.is_final())).collect()
}

fn digest(bus: &Bus) -> String {
    let reported = bus.verb("replay", 0, &[]);
    reported.lines().find(|line| line.starts_with("digest")).expect("a digest").to_owned()
}

/// Lets the cleaner work until what could go is gone: more states of some jobs, so that segments
/// end, until only few records are left.
fn let_it_clean(bus: &Bus, published: usize) {
    let start = Instant::now();
    let mut ticks = 0;
    loop {
        for number in 0..8 {
            job(bus, &format!("tick-{number}"), "QUEUE_01", Status::Running, now());
        }
        bus.flush();
        ticks += 8;
        let left = glance(&bus.bootstrap, &bus.topic(Topic::JobState)).len();
        let first = begins(bus, Topic::JobState);
        // 160 keys that are not old, 8 that tick, and what the cleaner has not come to.
        if left < 230 && first >= 600 {
            println!("of {} job states {left} are left, from offset {first} on", published + ticks);
            return;
        }
        assert!(start.elapsed() < 120 * SECOND, "{left} of {published} left, from {first} on");
        std::thread::sleep(SECOND / 3);
    }
}

#[test]
fn what_compaction_and_expiry_leave_is_enough() {
    if !is_possible() {
        return;
    }
    let broker = Broker::with(QUICK);
    let bus = Bus::on(&broker.address(), &[], |file| {
        parts(file, hasty);
        // The story is stamped by who writes it: some of it is weeks old.
        let topic = table(table(file, "topics"), Topic::JobState.name());
        topic.insert("timestamp".into(), "create".into());
    });
    // Nothing expires before it was read.
    let states = [
        ("cleanup.policy", "compact,delete"),
        ("min.compaction.lag.ms", "172800000"),
        ("delete.retention.ms", "1296000000"),
    ];
    bus.configure(Topic::JobState, &[&states[..], &[("retention.ms", "-1")]].concat());
    let published = fill(&bus);
    let (store, aside) = (bus.path("store"), bus.path("aside"));
    let mut subjects = BTreeSet::new();
    let mut ask = |subject: String, cores| {
        bus.ask(&subject, cores, 500);
        subjects.insert(subject);
    };
    (0..10).for_each(|at| ask(format!("1/{at}"), 1));
    // No queue has eight cores yet.
    (0..3).for_each(|at| ask(format!("2/{at}"), 8));
    bus.flush();
    let is_deferred = |times: u32| {
        let answers = answers(&bus);
        let often = answers
            .iter()
            .filter(|(subject, ordinal, _)| subject.starts_with("2/") && *ordinal >= times);
        often.count() >= 3 && answers.iter().filter(|(.., is_final)| *is_final).count() >= 10
    };
    live(&bus, &store, "first answers", || is_deferred(2));
    let ended = Instant::now();
    let reported = bus.verb("topology", 0, &["check"]);
    assert!(reported.contains("are as the topology needs them"), "{reported}");
    let before = digest(&bus);

    // Segments of a moment, compacted at once. What is kept by age is kept as long as ever.
    let quick = [
        ("segment.ms", "500"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("delete.retention.ms", "100"),
    ];
    let month = ("retention.ms", "2678400000");
    let states = [&quick[..], &[("cleanup.policy", "compact,delete"), month]].concat();
    bus.configure(Topic::JobState, &states);
    for topic in [Topic::Pilot, Topic::Queue, Topic::Storage] {
        bus.configure(topic, &[&quick[..], &[("cleanup.policy", "compact")]].concat());
    }
    let reported = bus.verb("topology", 1, &["check"]);
    for part in ["min.compaction.lag.ms is 0", "node_window_h (3 h)", "kafka-configs.sh"] {
        assert!(reported.contains(part), "{part:?} is not in {reported}");
    }
    let_it_clean(&bus, published);
    assert_eq!(digest(&bus), before, "the same cycles over what was left");
    println!("audit: {}", bus.verb("audit", 0, &["--store", text(&store)]).trim());

    // The first epoch expires; the second begins with a full cut in a segment of its own.
    let stamped = ("message.timestamp.type", "LogAppendTime");
    let short = SHORT.as_millis().to_string();
    let kept = |length| [("cleanup.policy", "delete"), stamped, ("segment.ms", "500"), length];
    bus.configure(Topic::Progress, &kept(("retention.ms", &short)));
    std::thread::sleep((SHORT + SECOND).saturating_sub(ended.elapsed()));
    (0..10).for_each(|at| ask(format!("3/{at}"), 1));
    bus.flush();
    let mut expired = false;
    live(&bus, &store, "an epoch that expires", || {
        if !expired && begins(&bus, Topic::Progress) > 0 {
            bus.configure(Topic::Progress, &kept(("retention.ms", "1209600000")));
            expired = true;
        }
        expired && is_deferred(4)
    });
    println!("progress begins at offset {}", begins(&bus, Topic::Progress));
    std::fs::rename(&store, &aside).unwrap();
    println!("audit: {}", bus.verb("audit", 0, &["--store", text(&aside)]).trim());

    // Without the store: the same answers are known, the deferred are numbered on, and all end.
    (0..10).for_each(|at| ask(format!("4/{at}"), 1));
    bus.queue("QUEUE_20", 8, 100);
    bus.flush();
    let finals = |count| answers(&bus).iter().filter(|(.., is_final)| *is_final).count() >= count;
    live(&bus, &store, "the last answers", || finals(33));
    let published = decisions(&committed(&bus.bootstrap, &bus.topic(Topic::Decision)));
    assert_eq!(complaints(&bus.domain, &subjects, &published), Vec::<String>::new());
    println!("audit: {}", bus.verb("audit", 0, &["--store", text(&store)]).trim());
}
