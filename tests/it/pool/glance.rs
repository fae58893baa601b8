//! A pool at a glance: why jobs are idle, workflows, users, quotas, drains and offers, each figure
//! that of the records which the test wrote.

use super::*;
use yardmaster::core::event::SiteStatus;
use yardmaster::core::view::{PoolGlance, RowKind, View};

/// The pool, as the process that leads has it; one that followed finds the same.
fn glance_of(world: &World) -> PoolGlance {
    let found = PoolGlance::of(world.drive.engine()).expect("a pool");
    let mut follower = drive(&world.yard, &world.text, "follower", PaperStore::default(), false);
    for _ in 0..2_000 {
        follower.pump(Duration::ZERO).unwrap();
        follower.follow().unwrap();
    }
    let made = PoolGlance::of(follower.engine()).expect("a pool");
    assert_eq!(made, found, "what is made of the state alone");
    assert_eq!(follower.engine().idle_jobs(), Some(found.idle));
    assert_eq!(world.drive.engine().idle_jobs(), Some(found.idle));
    found
}

fn reasons(glance: &PoolGlance) -> Vec<(&'static str, u64)> {
    let mut found: Vec<_> = glance.idle_by_reason.iter().map(|it| (it.filter, it.jobs)).collect();
    found.sort_unstable();
    found
}

/// So many jobs that wait, with a whitelist.
fn wait(world: &World, name: &str, workflow: &str, jobs: usize, cores: i64, sites: &str) {
    for at in 0..jobs {
        let job = format!("{name}-{at}");
        world.job(&job, workflow, Status::Activated, |_, wants| {
            (wants.cores_min, wants.site_whitelist) = (cores, Some(sites));
        });
    }
}

#[test]
fn idle_jobs_are_counted_by_what_the_offers_at_hand_lack() {
    let mut world = World::new();
    world.user("ops", &["production"], &[]);
    world.user("ann", &[], &["higgs"]);
    world.site("T1_A", "T1", 300, |_| ());
    world.site("T2_OFF", "T2", 100, |it| it.status = SiteStatus::Offline);
    world.site("T2_SMALL", "T2", 100, |_| ());
    world.site("T2_RUN", "T2", 100, |_| ());
    world.site("T2_BUSY", "T2", 100, |_| ());
    world.workflow("wf", "ops", WorkflowFacts { total_jobs: Some(40), ..central() });
    world.workflow("own", "ann", analysis());
    world.workflow("over", "ann", analysis());
    world.rounds(3);
    world.yard.pass(S);
    world.task("over", "ann", TaskPhase::Ended, analysis());
    world.rounds(3);
    wait(&world, "small", "wf", 2, 1, "T2_RUN");
    world.offer("run", "T2_RUN", 2);
    world.offer_with("tiny", "T2_SMALL", |it| {
        (it.node, it.cores_free, it.cores_total) = ("wn", 2, 2);
    });
    world.offer_with("left", "T2_BUSY", |it| {
        (it.node, it.cores_free, it.cores_total) = ("wn2", 2, 16);
    });
    world.offer("t1", "T1_A", 4);
    world.rounds(3);
    wait(&world, "off", "wf", 3, 1, "T2_OFF");
    wait(&world, "large", "wf", 5, 8, "T2_SMALL");
    wait(&world, "part", "wf", 6, 8, "T2_BUSY");
    wait(&world, "none", "own", 4, 2, "T2_RUN");
    wait(&world, "both", "own", 2, 2, "T1_A,T2_RUN");
    wait(&world, "where", "wf", 1, 1, "T2_NOWHERE");
    wait(&world, "t1", "own", 7, 1, "T1_A");
    wait(&world, "lost", "unknown", 1, 1, "T2_RUN");
    wait(&world, "dead", "over", 9, 1, "T2_RUN");
    for name in ["on-hold-1", "on-hold-2"] {
        world.job(name, "wf", Status::Held, |_, _| ());
    }
    world.rounds(3);
    assert_eq!(world.matches().len(), 2);
    let glance = glance_of(&world);
    let expected = [
        ("class_not_admitted", 7),
        ("cores", 6),
        ("no_known_site", 1),
        ("no_node", 5),
        ("no_offer", 4 + 2),
        ("site_status", 3),
        ("workflow_unknown", 1),
    ];
    assert_eq!(reasons(&glance), expected);
    assert_eq!((glance.idle, glance.on_hold, glance.held, glance.running), (29, 2, 2, 0));
    let on_hold = |name: &str| glance.workflows.iter().find(|it| it.workflow == name);
    assert_eq!(["wf", "own"].map(|it| on_hold(it).unwrap().on_hold), [2, 0]);
    let of_users: Vec<(&str, u64)> =
        glance.users.iter().map(|it| (&*it.user, it.on_hold)).filter(|it| it.1 > 0).collect();
    assert_eq!(of_users, [("ops", 2)]);
    assert_eq!(
        glance.idle_cores,
        3 + 5 * 8 + 6 * 8 + (4 + 2) * 2 + 1 + 7,
        "of those that are admitted"
    );
    let titles = glance.idle_by_reason.iter().map(|it| it.title.as_str());
    assert_eq!(titles.clone().next(), Some("Slots of the other class"), "most jobs first");
    assert!(titles.clone().all(|it| !it.contains('_')), "{:?}", titles.collect::<Vec<_>>());
    // What was offered and is not taken, with the time of the newest.
    let offers = &glance.offers;
    assert_eq!((offers.live, offers.cores_free), (3, 8), "{offers:?}");
    assert!(offers.newest_at.is_some_and(|at| at <= world.yard.now), "{offers:?}");
    world.check();
}

#[test]
fn workflows_users_and_classes_are_those_of_the_records() {
    let mut world = World::new();
    world.user("ops", &["production"], &[]);
    world.user("ann", &[], &["higgs"]);
    world.site("T2_A", "T2", 100, |_| ());
    let facts =
        WorkflowFacts { total_jobs: Some(40), priority: 7, priority_revision: 1, ..central() };
    world.workflow("wf", "ops", facts);
    world.workflow("own", "ann", analysis());
    world.rounds(3);
    let injected = world.yard.now;
    for job in ["a", "b", "c", "d"] {
        world.pending(job, "wf");
        world.job(&format!("own-{job}"), "own", Status::Activated, |it, _| it.user = "ann");
    }
    world.offer("o", "T2_A", 3);
    world.rounds(3);
    let matched = world.matched_jobs();
    assert_eq!(matched.len(), 3);
    let of_own = matched.iter().filter(|it| it.starts_with("own-")).count() as u64;
    let at = world.matches().iter().map(|(decision, _)| decision.now / S * S).max();
    for job in &matched {
        let (task, user) = if job.starts_with("own-") { ("own", "ann") } else { ("wf", "ops") };
        world.job(job, task, Status::Running, |it, _| {
            (it.user, it.queue, it.started_at) = (user, "T2_A", world.yard.now);
        });
    }
    world.rounds(3);
    let glance = glance_of(&world);
    assert_eq!((glance.idle, glance.held, glance.running), (5, 0, 3));
    assert_eq!(glance.workflows_open, 2);
    let own = glance.workflows.iter().find(|it| it.workflow == "own").unwrap();
    assert_eq!((own.idle, own.given, own.running), (4 - of_own, of_own, of_own));
    let wf = glance.workflows.iter().find(|it| it.workflow == "wf").unwrap();
    assert_eq!((wf.total, wf.priority, wf.class), (Some(40), 7, "central"));
    assert!(wf.injected_at.is_some_and(|at| at <= injected));
    let last = glance.workflows.iter().filter_map(|it| it.last_match_at).max();
    assert!(last >= at && last <= Some(world.yard.now), "{last:?} {at:?}");
    let ann = glance.users.iter().find(|it| it.user == "ann").unwrap();
    assert_eq!((ann.running, ann.idle, ann.group.as_str()), (of_own, 4 - of_own, "higgs"));
    let used: f64 = glance.classes.iter().map(|it| it.part).sum();
    let quota: Vec<f64> = glance.classes.iter().map(|it| it.quota).collect();
    assert_eq!((used, quota), (1.0, vec![0.5, 0.5]));
    let part = of_own as f64 / 3.0;
    assert!((glance.classes[1].part - part).abs() < 1e-9, "{:?}", glance.classes);
    world.check();
}

#[test]
fn a_site_has_the_status_and_pledge_of_its_quota_and_what_its_pilots_offer() {
    let mut world = World::new();
    world.user("ops", &["production"], &[]);
    world.site("T1_A", "T1", 300, |it| it.status = SiteStatus::Drain);
    world.site("T2_A", "T2", 100, |_| ());
    world.site("T9_A", "T9", 10, |_| ());
    world.rounds(3);
    world.offer("a", "T2_A", 3);
    world.offer("b", "T2_A", 4);
    world.offer_with("old", "T1_A", |it| it.expires_at = world.yard.now + S);
    world.offer("c", "XX_NEW", 2);
    let offered = world.yard.now;
    world.rounds(3);
    world.yard.pass(20 * S);
    world.rounds(3);
    let view = View::of(world.drive.engine());
    assert_eq!(view.of, RowKind::Sites);
    let row = |name: &str| view.rows.iter().find(|row| row.name == name).unwrap();
    let a = row("T2_A");
    let figures = (a.pledged_cores, a.offers, a.free_cores, a.last_offer_at);
    assert_eq!(figures, (Some(100), Some(2), Some(7), Some(offered)));
    assert_eq!((a.status.as_str(), a.group.as_str()), ("online", "Tier 2"));
    let t1 = row("T1_A");
    assert_eq!((t1.status.as_str(), t1.offers, t1.free_cores), ("drain", Some(0), Some(0)));
    assert_eq!(row("T9_A").status, "unknown_tier");
    assert_eq!(row("XX_NEW").group, "Without slot quota");
    assert!(view.rows.iter().all(|row| row.answered.is_none() && row.as_of.is_none()));
    world.check();
}
