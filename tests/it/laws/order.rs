//! Of two versions of a record with the same time the one with the larger content holds, in the
//! order that is stated for each type. The orders are kept here as a table, and with them a digest:
//! neither depends on what types and fields are called in the source.

use crate::drive::yard;
use crate::world::{DAWN, close, fold, lane, parameter, published, state, task, text};
use std::cmp::Ordering;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::*;
use yardmaster::core::state::digest::{digest, records_digest};

/// A version of a record, and how it differs from the others.
type Version = (&'static str, Event<'static>);

/// Whether `one` holds where `other` was read before it and where it was read after it.
fn is_newer(topic: Topic, one: &Event<'static>, other: &Event<'static>) -> bool {
    let after = |events: &[&Event<'static>]| {
        let mut state = state();
        for event in events {
            fold(&mut state, &published(lane(topic, 0), (*event).clone()));
        }
        // An attempt that asks no more waits for its answer, whichever version holds.
        if let Some(request) = state.requests.at_known("70/1") {
            request.passed.clear();
        }
        records_digest(&state)
    };
    let alone = after(&[one]);
    let (first, last) = (after(&[one, other]), after(&[other, one]));
    assert_eq!(first, last, "the order of reading matters: {one:?}, {other:?}");
    alone == last
}

fn ordered(topic: Topic, mut versions: Vec<Version>) -> String {
    versions.sort_by(|(_, one), (_, other)| match is_newer(topic, one, other) {
        _ if one == other => Ordering::Equal,
        true => Ordering::Greater,
        false => Ordering::Less,
    });
    let names: Vec<&str> = versions.iter().map(|(name, _)| *name).collect();
    format!("{}: {}\n", topic.name(), names.join(" < "))
}

fn queues() -> Vec<Version> {
    let base = || yard::queue("ASH", DAWN);
    let as_event = |queue: Queue| Event::from(queue);
    vec![
        ("base", as_event(base())),
        ("status", as_event(Queue { status: QueueStatus::Brokeroff, ..base() })),
        ("site", as_event(Queue { site: "A".into(), ..base() })),
        ("cores 2", as_event(Queue { cores: 2, ..base() })),
        ("cores 10", as_event(Queue { cores: 10, ..base() })),
        ("input -1", as_event(Queue { max_input_mb: -1, ..base() })),
        ("input 1", as_event(Queue { max_input_mb: 1, ..base() })),
        ("no releases", as_event(Queue { releases: vec![], ..base() })),
        ("facility", as_event(Queue { facility: "HPC".into(), ..base() })),
    ]
}

fn links() -> Vec<Version> {
    let of = |closeness, mbps_1h| {
        Event::from(Link {
            source: "A".into(),
            destination: "B".into(),
            changed_at: DAWN,
            closeness,
            mbps_1h,
            ..Link::default()
        })
    };
    vec![
        ("nothing known", of(None, None)),
        ("closeness -1", of(Some(-1), None)),
        ("closeness 9", of(Some(9), None)),
        ("closeness 10", of(Some(10), None)),
        ("0.5 MB/s", of(None, Some(0.5))),
        ("9 MB/s", of(None, Some(9.0))),
        ("10 MB/s", of(None, Some(10.0))),
    ]
}

fn tasks() -> Vec<Version> {
    let base = || Task { ..task("70/1", TaskPhase::Asking, DAWN) };
    let as_event = |task: Task| Event::Task(Box::new(task));
    let mut parent = base();
    parent.options.parent_task = "69".into();
    let replica = |bytes| ReplicaSummary { endpoint: "A".into(), files: 1, bytes, tape: false };
    vec![
        ("base", as_event(base())),
        ("ended", as_event(Task { phase: TaskPhase::Ended, ..base() })),
        ("revision", as_event(Task { revision: 1, ..base() })),
        ("attempt", as_event(Task { attempt: 1, priority: -1, ..base() })),
        ("priority 499", as_event(Task { priority: 499, ..base() })),
        ("priority 1000", as_event(Task { priority: 1_000, ..base() })),
        ("nucleus", as_event(Task { nucleus: "DESY".into(), ..base() })),
        ("9 bytes", as_event(Task { replicas: vec![replica(9)], ..base() })),
        ("10 bytes", as_event(Task { replicas: vec![replica(10)], ..base() })),
        ("parent", as_event(parent)),
    ]
}

fn others() -> Vec<(Topic, Vec<Version>)> {
    let site = |tier, nucleus| {
        Event::from(Site {
            name: "A".into(),
            changed_at: DAWN,
            nucleus,
            active: true,
            tier,
            ..Site::default()
        })
    };
    let storage = |free_bytes| Event::from(Storage { free_bytes, ..yard::storage("A", "B", 0) });
    let share = |value, vo: &str| {
        Event::from(Share { name: "MC".into(), value, vo: vo.into(), ..Share::default() })
    };
    let quota = |limit_bytes, used_bytes| {
        Event::from(Quota { subject: "ann".into(), limit_bytes, used_bytes, ..Quota::default() })
    };
    let user = |groups: &[&str], cap_running_jobs| {
        let groups = groups.iter().map(|group| group.to_string()).collect();
        Event::from(User { name: "ann".into(), groups, cap_running_jobs, ..User::default() })
    };
    let release = |tags: Vec<SoftwareTag>| {
        Event::from(Release { queue: "ASH".into(), tags, ..Release::default() })
    };
    let tag = |name: &str| SoftwareTag { tag: name.into(), ..SoftwareTag::default() };
    let set = |value: &str| Event::from(parameter("K", value, DAWN));
    let (most, least) = (Some(u64::MAX), Some(2));
    vec![
        (Topic::Site, vec![("2", site(2, false)), ("10", site(10, false)), ("is", site(0, true))]),
        (Topic::Storage, vec![("2", storage(2)), ("10", storage(10))]),
        (
            Topic::Share,
            vec![("-2", share(-2.0, "")), ("3", share(3.0, "b")), ("3a", share(3.0, "a"))],
        ),
        (
            Topic::Quota,
            vec![("no limit", quota(None, 7)), ("2", quota(least, 0)), ("max", quota(most, 0))],
        ),
        (
            Topic::User,
            vec![("none", user(&[], None)), ("a", user(&["a"], None)), ("cap", user(&[], least))],
        ),
        (
            Topic::Release,
            vec![
                ("a, b", release(vec![tag("a"), tag("b")])),
                ("a", release(vec![tag("a")])),
                ("b", release(vec![tag("b")])),
            ],
        ),
        (Topic::Parameter, vec![("ten", set("10")), ("two", set("2")), ("", set(""))]),
    ]
}

const ORDERS: &str = "\
queue: site < input -1 < no releases < base < facility < input 1 < cores 2 < cores 10 < status
link: nothing known < 0.5 MB/s < 9 MB/s < 10 MB/s < closeness -1 < closeness 9 < closeness 10
task: priority 499 < base < parent < 9 bytes < 10 bytes < nucleus < priority 1000 < revision < \
    ended < attempt
site: 2 < 10 < is
storage: 2 < 10
share: -2 < 3a < 3
quota: no limit < 2 < max
user: none < cap < a
release: a < a, b < b
parameter:  < ten < two
";

#[test]
fn versions_with_the_same_time_have_the_order_of_the_table() {
    let mut found = ordered(Topic::Queue, queues());
    found += &ordered(Topic::Link, links());
    found += &ordered(Topic::Task, tasks());
    for (topic, versions) in others() {
        found += &ordered(topic, versions);
    }
    assert_eq!(found, ORDERS, "{found}");
}

#[test]
fn a_digest_does_not_depend_on_names_in_the_source() {
    let mut state = state();
    let mut all = vec![(Topic::Queue, queues()), (Topic::Link, links()), (Topic::Task, tasks())];
    all.extend(others());
    for (topic, versions) in all {
        for (_, event) in versions {
            fold(&mut state, &published(lane(topic, 0), event));
        }
    }
    let pilot = Pilot::AskedJob { queue: "ASH", node: text("n1".into()), at: DAWN };
    fold(&mut state, &published(lane(Topic::Pilot, 0), Event::Pilot(pilot)));
    close(&mut state, DAWN);
    assert_eq!(digest(&state), DIGEST);
}

const DIGEST: &str = "236719a1b5d28970f4a1a4665cc9a4391799a6e910e40ea540ffc905bf6bcf38";
