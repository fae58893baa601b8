//! What records of a real pool of HTCondor say: matches that are not carried out, held jobs, named
//! resources and labels, retries, places that nobody states, weights and orders of groups.

use super::*;
use yardmaster::core::event::{
    DecisionOutcome, Label, NeededLabel, OutcomeAbout, OutcomeKind, Resource,
};
use yardmaster::core::explain::{explain_job, explain_pool_name};

const SITE: &str = "T2_DE_DESY";

fn world_with(changes: &[(&str, &str)]) -> World {
    let mut world = World::with(changes);
    world.site(SITE, "T2", 100, |_| ());
    world.user("cmsdataops", &["production"], &[]);
    world.workflow("wf", "cmsdataops", central());
    world.rounds(3);
    world
}

fn world() -> World {
    world_with(&[])
}

/// What became of the last match.
fn outcome(world: &World, kind: OutcomeKind) {
    let (decision, _) = world.matches().pop().expect("a match");
    let (subject, at) = (decision.subject.clone(), world.yard.now);
    let about = OutcomeAbout::Decision;
    let reason = "slot gone".into();
    let outcome = DecisionOutcome { subject, decision: decision.id, about, kind, at, reason };
    let key = decision.subject;
    world.yard.publish(Topic::Outcome, &key, |out| record::write(out, &outcome));
}

fn text(world: &World, job: &str) -> String {
    explain_job(world.drive.engine(), job, 10).expect("a job").text
}

/// The agent finds that a slot is gone, that the ads' expressions do not agree, or that the job did
/// not start in time.
#[test]
fn a_match_that_is_not_carried_out_frees_its_place_and_is_not_made_again() {
    for kind in [OutcomeKind::Failed, OutcomeKind::Refused, OutcomeKind::Expired] {
        let mut world = world();
        world.pending("a", "wf");
        world.offer("o", SITE, 1);
        world.rounds(3);
        assert_eq!(world.matched_jobs(), ["a"]);
        outcome(&world, kind);
        world.rounds(3);
        assert_eq!(world.matched_jobs(), ["a"], "{kind:?}: not the same pair");
        let shown = text(&world, "a");
        assert!(shown.contains("matched to this offer and did not start there"), "{shown}");
        world.pending("b", "wf");
        world.rounds(3);
        assert_eq!(world.matched_jobs(), ["a", "b"], "{kind:?}: the place is free at once");
        // The pilot announces what it has: that is another offer.
        let at = world.yard.now;
        world.offer_with("o", SITE, |it| (it.attempt, it.expires_at) = (1, at + 3_600 * S));
        world.rounds(3);
        assert_eq!(world.matched_jobs(), ["a", "b", "a"]);
        world.restart(kind == OutcomeKind::Failed);
        world.check();
    }
}

#[test]
fn a_match_that_is_carried_out_or_whose_job_runs_keeps_its_place() {
    for runs in [false, true] {
        let mut world = world();
        world.pending("a", "wf");
        world.offer("o", SITE, 1);
        world.rounds(3);
        if runs {
            world.yard.pass(S);
            let now = world.yard.now;
            world.job("a", "wf", Status::Running, |state, _| {
                (state.queue, state.started_at) = (SITE, now);
            });
        }
        outcome(&world, if runs { OutcomeKind::Failed } else { OutcomeKind::Accepted });
        world.pending("b", "wf");
        world.rounds(3);
        assert_eq!(world.matched_jobs(), ["a"]);
        world.check();
    }
}

/// A job that HTCondor holds: it keeps its place in the order, takes nothing and is not offered.
#[test]
fn a_held_job_neither_waits_nor_runs_nor_ends() {
    let mut world = world();
    world.job("a", "wf", Status::Held, |_, _| ());
    world.yard.pass(S);
    world.pending("b", "wf");
    world.yard.pass(S);
    world.offer("o1", SITE, 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["b"]);
    // One that was matched and is held before it starts gives its place back; so does one that ran.
    world.yard.pass(S);
    world.job("b", "wf", Status::Held, |_, _| ());
    world.rounds(3);
    let state = world.drive.state();
    assert!(state.pool.jobs.of("b").is_some_and(|it| it.matched.is_none() && !it.held()));
    let workflow = state.pool.workflows.of("wf").expect("known");
    assert_eq!((workflow.done, workflow.failed_final), (0, 0));
    // Released, it goes by its first submission.
    world.yard.pass(S);
    let first = world.yard.now - 3 * S;
    world.pending("c", "wf");
    world.job("a", "wf", Status::Pending, |state, _| state.created_at = first);
    world.offer("o2", SITE, 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["b", "a", "c"]);
    world.check();
}

fn gpu(wants: &mut Requirements<&str>) {
    wants.resources = vec![Resource { name: "gpus", amount: 1 }];
    wants.labels =
        vec![NeededLabel { name: "CUDACapability", any_of: Vec::new(), at_least: Some("7.5") }];
}

#[test]
fn a_gpu_job_goes_where_a_gpu_is_left_of_its_kind() {
    let mut world = world();
    for job in ["g1", "g2"] {
        world.job(job, "wf", Status::Pending, |_, wants| gpu(wants));
    }
    world.offer("plain", SITE, 8);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), [""; 0]);
    let shown = text(&world, "g1");
    assert!(shown.contains("gpus: 0 left, it takes 1"), "{shown}");
    let card = |it: &mut SlotOffer<&str>, kind| {
        (it.cores_free, it.cores_total) = (8, 8);
        it.resources = vec![Resource { name: "gpus", amount: 1 }];
        it.labels = vec![Label { name: "CUDACapability", values: vec![kind] }];
    };
    world.withdraw("plain", SITE);
    world.offer_with("old", SITE, |it| card(it, "6.1"));
    world.rounds(3);
    assert_eq!(world.matched_jobs(), [""; 0]);
    let shown = text(&world, "g1");
    assert!(shown.contains("CUDACapability: 6.1; it needs 7.5 or newer"), "{shown}");
    world.offer_with("new", SITE, |it| card(it, "12.0"));
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["g1"], "its one GPU is taken by the first");
    world.check();
}

/// `REQUIRED_OS` of CMS is any of several; the microarchitecture is a least one.
#[test]
fn labels_are_any_of_and_at_least() {
    let mut world = world();
    world.job("el", "wf", Status::Pending, |_, wants| {
        let os = NeededLabel { name: "OS", any_of: vec!["rhel8", "rhel9"], at_least: None };
        let arch = NeededLabel { name: "Microarch", any_of: vec![], at_least: Some("x86_64-v3") };
        wants.labels = vec![os, arch];
    });
    let tell = |world: &mut World, name: &str, os: &[&str], arch: &str| {
        world.offer_with(name, SITE, |it| {
            let label = |name, values| Label { name, values };
            it.labels = vec![label("OS", os.to_vec()), label("Microarch", vec![arch])];
        });
        world.rounds(3);
        world.matched_jobs().len()
    };
    assert_eq!(tell(&mut world, "o1", &["rhel7"], "x86_64-v4"), 0);
    assert_eq!(tell(&mut world, "o2", &["RHEL8"], "x86_64-v2"), 0);
    assert_eq!(tell(&mut world, "o3", &["rhel7", "RHEL8"], "x86_64-v3"), 1);
    world.check();
}

/// WMAgent numbers jobs over all its workflows: no place in one is known.
#[test]
fn without_places_the_first_that_are_seen_are_the_test_jobs() {
    let mut world = world();
    world.workflow("new", "cmsdataops", WorkflowFacts { test_jobs: Some(2), ..central() });
    for job in ["x3", "x1", "x2"] {
        world.job(job, "new", Status::Pending, |_, wants| wants.seq = None);
        world.yard.pass(S);
        world.rounds(2);
    }
    world.pending("older", "wf");
    world.offer("o", SITE, 4);
    world.rounds(3);
    let bands: Vec<_> = world.matches().iter().map(|it| it.1.band.name()).collect();
    assert_eq!(bands[..2], ["test", "test"], "{bands:?}");
    assert_eq!(world.matched_jobs()[..2], ["x3", "x1"]);
    world.check();
}

/// No ad of a retry has the first submission, or how the try before failed.
#[test]
fn a_retry_keeps_its_first_submission_and_how_it_failed_before() {
    let mut world = world();
    world.site("T2_H", "T2", 100, |it| it.overflow_slots = 5);
    world.workflow("far", "cmsdataops", WorkflowFacts { allow_overflow: true, ..central() });
    let first = world.yard.now;
    world.job("a", "far", Status::Pending, |_, it| it.site_whitelist = Some("T2_H"));
    world.yard.pass(3_000 * S);
    world.rounds(2);
    let now = world.yard.now;
    // 8021: remote data could not be opened.
    world.job("a", "far", Status::Failed, |state, wants| {
        (state.started_at, state.ended_at, state.queue) = (now - S, now, SITE);
        (wants.exit_code, wants.site_whitelist) = (Some(8021), Some("T2_H"));
    });
    world.yard.pass(S);
    world.rounds(2);
    world.job("a", "far", Status::Pending, |state, wants| {
        (state.attempt, wants.site_whitelist) = (1, Some("T2_H"));
    });
    world.offer("o", SITE, 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), [""; 0]);
    let shown = text(&world, "a");
    assert!(shown.contains("failed_before"), "{shown}");
    let job = world.drive.state().pool.jobs.of("a").expect("known").clone();
    assert_eq!(job.created_at, first);
    world.check();
}

/// HTCondor's PriorityFactor, and tier0 before production, highprio before analysis.
#[test]
fn groups_have_weights_and_orders() {
    let order = ("# group_order = []", "group_order = [\"tier0\", \"highprio\"]");
    let mut world = world_with(&[order]);
    for (name, group) in [("prompt", "tier0"), ("mc", "production")] {
        world.yard.ask(&Task { working_group: group.into(), ..task_of(&world, name, central()) });
    }
    world.job("m", "mc", Status::Pending, |_, _| ());
    world.yard.pass(S);
    world.job("p", "prompt", Status::Pending, |_, _| ());
    world.offer("o", SITE, 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["p"]);
    // Ann has used as much as Bob; what she uses counts ten times.
    for user in ["ann", "bob"] {
        let of = format!("of-{user}");
        world.workflow(&of, user, analysis());
        world.job(&format!("{user}-runs"), &of, Status::Running, |state, _| {
            (state.started_at, state.queue) = (state.changed_at, SITE);
        });
        world.job(&format!("{user}-waits"), &of, Status::Pending, |_, _| ());
    }
    let now = world.yard.now;
    world.yard.configure(&Grant {
        name: "factor of ann".into(),
        changed_at: now,
        principal: "ann".into(),
        factor_milli: Some(10_000),
        ..Grant::default()
    });
    world.rounds(3);
    world.offer("p", SITE, 2);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["p", "m", "bob-waits"]);
    let stands = explain_pool_name(world.drive.engine(), "ann").unwrap_or_default();
    assert!(stands.contains("its use counts 10 times, everywhere"), "{stands}");
    world.check();
}

fn task_of(world: &World, name: &str, facts: WorkflowFacts) -> Task {
    Task {
        subject: name.into(),
        task: name.into(),
        domain: "cms".into(),
        policy: "cms".into(),
        user: "cmsdataops".into(),
        phase: TaskPhase::Asking,
        asked_at: world.yard.now,
        changed_at: world.yard.now,
        workflow: Some(facts),
        ..Task::default()
    }
}

/// The startd rounds memory up to 128 MB; WMAgent has 15 minutes on top of the time on any number
/// of cores: 8 cores and 36,900 s are 36,000 s of work, on 4 cores 72,000 s and the 15 minutes.
#[test]
fn memory_is_taken_in_steps_and_a_part_of_the_time_is_fixed() {
    let mut world = world_with(&[
        ("# memory_step_mb = 1", "memory_step_mb = 128"),
        ("# fixed_wall_time_s = 0", "fixed_wall_time_s = 900"),
        ("# resize_overhead_s = 900", "resize_overhead_s = 0"),
        ("# extra_mb_per_core = 500", "extra_mb_per_core = 0"),
    ]);
    world.job("r", "wf", Status::Pending, |_, it| {
        (it.cores_min, it.cores_max, it.base_cores) = (4, Some(16), Some(8));
        (it.max_wall_time_s, it.max_rss_mb) = (Some(36_900), Some(2_300));
    });
    world.offer("o", SITE, 4);
    world.rounds(3);
    let (_, matched) = world.matches().pop().expect("a match");
    assert_eq!((matched.cores, matched.wall_time_s, matched.rss_mb), (4, 72_900, 2_304));
    world.check();
}

#[test]
fn amounts_below_zero_are_refused_and_what_is_stated_twice_is_taken_twice() {
    let mut world = world();
    let gpus = |amount| Resource { name: "gpus", amount };
    world.job("less", "wf", Status::Pending, |_, it| it.resources = vec![gpus(-8)]);
    world.job("twice", "wf", Status::Pending, |_, it| it.resources = vec![gpus(1), gpus(1)]);
    world.offer_with("one", SITE, |it| {
        (it.cores_free, it.cores_total, it.resources) = (8, 8, vec![gpus(1)]);
    });
    world.rounds(3);
    assert_eq!(world.rejection("less").as_deref(), Some("bad_resource_request"));
    assert_eq!(world.matched_jobs(), [""; 0]);
    world.check();
}

/// The report of the job and the outcome are read in one cycle: the place is free all the same. So
/// it is where a job is held of which nobody publishes an outcome.
#[test]
fn a_held_job_gives_its_place_back_whatever_is_read_first() {
    for is_reported in [false, true] {
        let mut world = world();
        world.pending("a", "wf");
        world.offer("o", SITE, 1);
        world.rounds(3);
        world.yard.pass(S);
        world.job("a", "wf", Status::Held, |_, _| ());
        if is_reported {
            outcome(&world, OutcomeKind::Failed);
        }
        world.pending("b", "wf");
        world.rounds(3);
        assert_eq!(world.matched_jobs(), ["a", "b"]);
        world.check();
    }
}

/// A user whose jobs run and are then held has used what they ran.
#[test]
fn what_a_held_job_ran_counts_in_the_fair_share() {
    let mut world = world();
    world.workflow("of-ann", "ann", analysis());
    world.job("j", "of-ann", Status::Pending, |_, _| ());
    world.offer("o", SITE, 1);
    world.rounds(3);
    let start = world.yard.now;
    for (status, pass) in [(Status::Running, 36_000 * S), (Status::Held, S)] {
        world
            .job("j", "of-ann", status, |state, _| (state.started_at, state.queue) = (start, SITE));
        world.rounds(3);
        world.yard.pass(pass);
    }
    world.rounds(3);
    assert!(world.drive.state().pool.users.of("ann").is_some_and(|user| user.x > 0));
    world.check();
}

/// A bar holds as long as the announcement that it is of.
#[test]
fn a_job_is_like_the_others_again_when_the_offer_is_gone() {
    let mut world = world();
    world.pending("a", "wf");
    world.offer("o", SITE, 1);
    world.rounds(3);
    outcome(&world, OutcomeKind::Refused);
    world.rounds(3);
    let barred = |world: &World| world.drive.state().pool.jobs.of("a").unwrap().barred.len();
    assert_eq!(barred(&world), 1);
    world.withdraw("o", SITE);
    world.rounds(3);
    assert_eq!(barred(&world), 0);
    world.check();
}
