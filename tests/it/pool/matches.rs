//! Offers get jobs: order, what an offer has left, what ends a match.

use super::*;

/// A T2 with 100 slots, a central workflow of high priority and one of low, and an analyst's.
fn world() -> World {
    let mut world = World::new();
    world.site("T2_X", "T2", 100, |_| ());
    world.user("ops", &["production"], &[]);
    world.workflow("wf", "ops", WorkflowFacts { priority: 10, priority_revision: 1, ..central() });
    world.rounds(3);
    world
}

#[test]
fn an_offer_is_answered_until_it_is_full_or_nothing_fits() {
    let mut world = world();
    for job in ["a", "b", "c"] {
        world.pending(job, "wf");
        world.yard.pass(S);
    }
    world.offer("o1", "T2_X", 2);
    world.rounds(3);
    let answers = world.decided("o1");
    let ordinals: Vec<u32> = answers.iter().map(|it| it.ordinal).collect();
    assert_eq!(ordinals, [1, 2], "two cores, two jobs");
    assert_eq!(world.matched_jobs(), ["a", "b"], "first come, first served");
    let (decision, matched) = &world.matches()[0];
    assert_eq!((decision.task.as_str(), decision.user.as_str()), ("wf", "ops"));
    assert_eq!(decision.gshare, "central");
    assert_eq!((matched.cores, matched.weight_milli), (1, 1_000));
    world.offer("o2", "T2_X", 4);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a", "b", "c"]);
    let answers = world.decided("o2");
    assert_eq!(answers.len(), 2, "a match, and that nothing fits the rest: {answers:#?}");
    assert!(matches!(answers[1].outcome, Outcome::Defer { .. }));
    // What is left of it goes to a job that comes later.
    world.pending("d", "wf");
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a", "b", "c", "d"]);
    assert_eq!(world.decided("o2").last().unwrap().ordinal, 3);
    world.check();
}

#[test]
fn what_is_withdrawn_expired_or_published_again_is_not_filled() {
    let mut world = world();
    world.offer("gone", "T2_X", 1);
    world.offer_with("short", "T2_X", |it| it.expires_at -= 3_590 * S);
    world.rounds(3);
    world.yard.pass(20 * S);
    world.withdraw("gone", "T2_X");
    world.rounds(3);
    world.pending("a", "wf");
    world.rounds(3);
    assert_eq!(world.matched_jobs(), [""; 0]);
    // The same announcement, delivered twice, is one offer; a higher attempt is another.
    let at = world.yard.now;
    let tell = |world: &World, attempt: u32, at: i64| {
        let offer = SlotOffer {
            offer: "o",
            attempt,
            cores_free: 1,
            cores_total: 1,
            wall_left_s: 86_400,
            mem_free_mb: 4_000,
            expires_at: at + 3_600 * S,
            ..SlotOffer::default()
        };
        let report = Pilot::SlotOffer { queue: "T2_X", offer: Box::new(offer), at };
        world.yard.publish(Topic::Pilot, "o", |out| record::write(out, &report));
    };
    world.pending("b", "wf");
    tell(&world, 0, at);
    world.rounds(3);
    tell(&world, 0, at);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a"]);
    tell(&world, 1, at + 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a", "b"]);
    let last = world.decided("o").last().unwrap().clone();
    assert_eq!((last.attempt, last.ordinal), (1, 1));
    world.check();
}

/// TC-05, TC-08, TC-16: system jobs, then the class further below its quota, then priority.
#[test]
fn bands_classes_and_priorities_decide_who_is_next() {
    let mut world = world();
    world.workflow("hi", "ops", WorkflowFacts { priority: 20, priority_revision: 1, ..central() });
    world.workflow("ana", "ann", analysis());
    world.rounds(3);
    for (job, workflow) in [("low", "wf"), ("high", "hi"), ("mine", "ana")] {
        world.pending(job, workflow);
        world.yard.pass(S);
    }
    world.job("merge", "wf", Status::Activated, |_, wants| wants.system_job = true);
    world.offer("o", "T2_X", 4);
    world.rounds(3);
    // After the merge job central has used more of its half than analysis.
    assert_eq!(world.matched_jobs(), ["merge", "mine", "high", "low"]);
    world.check();
}

/// C-14: the newest revision of a priority counts, whatever the order of arrival.
#[test]
fn a_priority_changes_while_jobs_wait() {
    let mut world = world();
    world.workflow("hi", "ops", WorkflowFacts { priority: 20, priority_revision: 1, ..central() });
    world.pending("a", "wf");
    world.pending("b", "hi");
    let change = |world: &World, priority: i64, priority_revision: i64| {
        let facts = WorkflowFacts { priority, priority_revision, ..central() };
        world.workflow("wf", "ops", facts);
    };
    world.rounds(3);
    world.yard.pass(S);
    change(&world, 500, 3);
    world.yard.pass(S);
    change(&world, 5, 2);
    world.rounds(3);
    world.offer("o", "T2_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a"]);
    world.check();
}

/// C-24, TS-13: the highest valid revision of a site's quotas is in force.
#[test]
fn quotas_of_a_late_or_impossible_revision_are_not_in_force() {
    let mut world = World::new();
    world.workflow("ana", "ann", analysis());
    world.site("T1_X", "T1", 10, |it| (it.revision, it.surplus_analysis) = (5, Some(true)));
    world.rounds(3);
    world.yard.pass(S);
    world.site("T1_X", "T1", 10, |it| it.revision = 4);
    world.yard.pass(S);
    world.site("T1_X", "T1", -10, |it| it.revision = 6);
    world.yard.pass(S);
    world.site("T1_X", "T9", 10, |it| it.revision = 7);
    world.pending("a", "ana");
    world.offer("o", "T1_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a"], "analysis may use the surplus of the T1");
    world.site("CLOUD_Y", "CLOUD", 10, |it| it.corepower_mhs06 = 0);
    world.workflow("cen", "ops", central());
    // One that might run at the T1 would wait for it (C-17).
    world.job("b", "cen", Status::Activated, |_, wants| wants.site_whitelist = Some("CLOUD_Y"));
    world.offer("p", "CLOUD_Y", 1);
    world.rounds(3);
    let notes = world.decided("p")[0].notes.join(" ");
    for code in ["quota_missing(CLOUD_Y)", "corepower_missing(CLOUD_Y)", "total_unknown(cen)"] {
        assert!(notes.contains(code), "{code}: {notes}");
    }
    world.check();
}

/// TC-47: a match whose job never starts is over after 900 s; the job waits as before.
#[test]
fn a_match_that_is_not_taken_up_is_released() {
    let mut world = world();
    let queued = world.yard.now;
    world.pending("a", "wf");
    world.offer("o1", "T2_X", 1);
    world.rounds(3);
    world.wait(880);
    world.offer("o2", "T2_X", 1);
    world.pending("b", "wf");
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a", "b"], "the match of a still stands");
    world.wait(40);
    world.pending("c", "wf");
    world.offer("o3", "T2_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a", "b", "a"], "a was queued before c, at {queued}");
    world.check();
}

/// C-20, F-3: who used less goes first; use of jobs that ended counts, and decays.
#[test]
fn analysis_is_shared_fairly_over_time() {
    let mut world = world();
    for user in ["ann", "bob"] {
        world.workflow(&format!("of-{user}"), user, analysis());
    }
    world.pending("ann-1", "of-ann");
    world.rounds(2);
    world.offer("o1", "T2_X", 1);
    world.rounds(3);
    let start = world.yard.now;
    world.job("ann-1", "of-ann", Status::Running, |state, _| {
        (state.queue, state.started_at) = ("T2_X", start);
    });
    world.wait(7_200);
    let (end, site) = (world.yard.now, "T2_X");
    world.job("ann-1", "of-ann", Status::Finished, |state, _| {
        (state.queue, state.started_at, state.ended_at) = (site, start, end);
    });
    world.rounds(3);
    // Both have a job that waits; ann's has waited longer, but she has used two hours.
    world.pending("ann-2", "of-ann");
    world.yard.pass(S);
    world.pending("bob-1", "of-bob");
    world.offer("o2", "T2_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["ann-1", "bob-1"]);
    // A restart from the log alone, or from the store, knows it as well.
    world.restart(true);
    world.restart(false);
    let now = world.yard.now;
    world.job("bob-1", "of-bob", Status::Finished, |state, _| {
        (state.queue, state.started_at, state.ended_at) = (site, now - S, now);
    });
    world.pending("bob-2", "of-bob");
    world.rounds(3);
    world.offer("o3", "T2_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["ann-1", "bob-1", "bob-2"], "a second against two hours");
    world.check();
}

/// C-19: a grant raises its group before others; it holds while it is valid.
#[test]
fn a_grant_goes_before_fair_share() {
    let mut world = world();
    world.user("ann", &[], &["higgs"]);
    for user in ["ann", "bob"] {
        world.workflow(&format!("of-{user}"), user, analysis());
        world.pending(user, &format!("of-{user}"));
        world.pending(&format!("{user}-2"), &format!("of-{user}"));
        world.yard.pass(S);
    }
    let now = world.yard.now;
    world.yard.configure(&Grant {
        name: "higgs".into(),
        changed_at: now,
        principal_kind: yardmaster::core::event::PrincipalKind::Group,
        principal: "higgs".into(),
        level: 10,
        ..Grant::default()
    });
    world.offer("o", "T2_X", 3);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["ann", "ann-2", "bob"]);
    world.check();
}

/// C-37 to C-42: a job overflows after it waited, and is booked at its host until it ends.
#[test]
fn overflow_is_bounded_by_the_host_and_released_once() {
    let mut world = world();
    world.site("T2_H", "T2", 100, |it| it.overflow_slots = 1);
    world.workflow("far", "ops", WorkflowFacts { allow_overflow: true, ..central() });
    for job in ["a", "b"] {
        world.job(job, "far", Status::Activated, |_, wants| wants.site_whitelist = Some("T2_H"));
    }
    world.offer("o1", "T2_X", 2);
    world.wait(1_100);
    assert_eq!(world.matched_jobs(), [""; 0], "it waits for its own site first");
    world.wait(200);
    assert_eq!(world.matched_jobs(), ["a"], "the host serves one remote reader");
    let (decision, matched) = world.matches()[0].clone();
    assert_eq!(matched.overflow_source, "T2_H");
    assert_eq!(matched.relaxed, ["overflow"]);
    let overflow = decision.limits.iter().find(|it| it.name == "overflow").unwrap();
    assert_eq!((overflow.before, overflow.after, overflow.max), (0, 1, 1));
    let now = world.yard.now;
    let ends = |world: &World| {
        world.job("a", "far", Status::Failed, |state, wants| {
            (state.queue, state.started_at, state.ended_at) = ("T2_X", now, now + S);
            (state.changed_at, wants.failure) = (now + S, Some(FailureClass::Payload));
        });
    };
    world.yard.pass(2 * S);
    ends(&world);
    world.rounds(3);
    ends(&world);
    world.offer("o2", "T2_X", 2);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["a", "b"]);
    world.check();
}

/// TS-14: answers of a dry run are published, and change nothing.
#[test]
fn a_dry_run_reserves_nothing() {
    let mut world = World::with(&[("kind = \"cms\"\n", "kind = \"cms\"\nmode = \"dry_run\"\n")]);
    world.site("T2_X", "T2", 100, |_| ());
    world.workflow("wf", "ops", central());
    world.pending("a", "wf");
    world.offer("o1", "T2_X", 1);
    world.rounds(3);
    world.offer("o2", "T2_X", 1);
    world.rounds(3);
    let matches = world.matches();
    assert_eq!(world.matched_jobs(), ["a", "a"], "nothing was taken");
    assert!(matches.iter().all(|(decision, _)| decision.dry_run));
    let of_limits = |at: usize| matches[at].0.limits.clone();
    assert_eq!(of_limits(0), of_limits(1), "no counter changed");
    world.check();
}

/// TS-10: a process that takes over between two decisions matches no job twice.
#[test]
fn a_restart_matches_no_job_twice() {
    for with_store in [true, false] {
        let mut world = world();
        for at in 0..20 {
            world.pending(&format!("job-{at:02}"), "wf");
        }
        for at in 0..4 {
            world.offer(&format!("before-{at}"), "T2_X", 2);
            world.rounds(1);
        }
        world.restart(with_store);
        for at in 0..6 {
            world.offer(&format!("after-{at}"), "T2_X", 2);
        }
        world.rounds(5);
        let mut jobs = world.matched_jobs();
        jobs.sort();
        let all: Vec<String> = (0..20).map(|at| format!("job-{at:02}")).collect();
        assert_eq!(jobs, all);
        world.check();
    }
}

/// A pilot that announces more of its slot is served by what it announces now.
#[test]
fn an_offer_that_grows_is_looked_at_again() {
    let mut world = World::new();
    world.site("T2_X", "T2", 100, |_| ());
    world.user("ops", &["production"], &[]);
    world.workflow("wide", "ops", central());
    world.job("wide-1", "wide", Status::Activated, |_, wants| wants.cores_min = 4);
    world.rounds(3);
    world.offer("grows", "T2_X", 2);
    world.wait(30);
    // It was looked at, and nothing fitted it.
    assert!(matches!(
        world.decided("grows")[..],
        [Decision { outcome: Outcome::Defer { .. }, .. }]
    ));
    world.offer("grows", "T2_X", 8);
    world.wait(30);
    assert_eq!(world.matched_jobs(), ["wide-1"]);
    world.check();
}
