//! Which jobs never run, and which wait for their workflow (C-01 to C-08, A.9).

use super::*;

fn world() -> World {
    let mut world = World::new();
    world.site("T2_X", "T2", 100, |_| ());
    world.user("ops", &["production"], &[]);
    world.workflow("wf", "ops", central());
    world.workflow("ana", "ann", analysis());
    world.rounds(3);
    world
}

/// Answer to a job with some requirements.
fn answer(workflow: &str, change: impl FnOnce(&mut Requirements<&str>)) -> Option<String> {
    let mut world = world();
    world.job("j", workflow, Status::Activated, |_, wants| change(wants));
    world.offer("o", "T2_X", 8);
    world.rounds(4);
    let answer = world.rejection("j");
    let matched = world.matched_jobs();
    assert_eq!(answer.is_none(), matched == ["j"], "{answer:?} {matched:?}");
    world.check();
    answer
}

#[test]
fn every_code_of_admission_is_reached() {
    assert_eq!(answer("wf", |_| ()), None);
    let code = |workflow: &str, change: fn(&mut Requirements<&str>)| {
        answer(workflow, change).expect("a rejection")
    };
    assert_eq!(code("", |_| ()), "no_workflow");
    assert_eq!(code("wf", |it| it.class = Some(Class::Analysis)), "class_conflict");
    assert_eq!(code("wf", |it| it.site_whitelist = Some("")), "empty_whitelist");
    assert_eq!(code("wf", |it| it.high_io = true), "highio_without_whitelist");
    assert_eq!(code("ana", |it| it.system_job = true), "system_flag_unauthorised");
    assert_eq!(code("wf", |it| it.cores_min = 0), "bad_core_request");
    assert_eq!(code("wf", |it| it.cores_max = Some(-1)), "bad_core_request");
    assert_eq!(code("wf", |it| it.max_wall_time_s = Some(0)), "bad_resource_request");
    assert_eq!(code("wf", |it| it.max_rss_mb = Some(-5)), "bad_resource_request");
}

/// C-05: the topology states which roles may flag system jobs, which go before all others.
#[test]
fn another_list_of_roles_changes_who_has_system_jobs() {
    let roles = [("kind = \"cms\"\n", "kind = \"cms\"\nsystem_roles = [\"t1access\"]\n")];
    for (changes, matched) in [(&[][..], ["merge", "early"]), (&roles[..], ["early", "clean"])] {
        let mut world = World::with(changes);
        world.site("T2_X", "T2", 100, |_| ());
        world.user("ops", &["production"], &[]);
        world.user("site", &["t1access"], &[]);
        world.workflow(
            "wf",
            "ops",
            WorkflowFacts { priority: 9, priority_revision: 1, ..central() },
        );
        world.workflow("of-site", "site", central());
        world.rounds(3);
        world.pending("early", "wf");
        world.yard.pass(S);
        for (job, workflow) in [("merge", "wf"), ("clean", "of-site")] {
            world.job(job, workflow, Status::Activated, |_, wants| wants.system_job = true);
        }
        world.rounds(3);
        world.offer("o", "T2_X", 2);
        world.rounds(3);
        let mut jobs = world.matched_jobs();
        jobs.sort();
        let mut wanted = matched.map(str::to_owned).to_vec();
        wanted.sort();
        assert_eq!(jobs, wanted);
        let refused = if changes.is_empty() { "clean" } else { "merge" };
        let code = world.rejection(refused);
        assert_eq!(code.as_deref(), Some("system_flag_unauthorised"));
        let system = if changes.is_empty() { "merge" } else { "clean" };
        let band = |job: &str| {
            let found = world.matches().into_iter().find(|(_, it)| it.job == job);
            found.map(|(_, it)| it.band)
        };
        assert_eq!(band(system), Some(yardmaster::core::event::Band::System));
        assert_eq!(world.matched_jobs()[0], system, "system jobs go first");
        world.check();
    }
}

/// TC-54, C-02: a job may come before its workflow, for 900 s.
#[test]
fn a_job_waits_for_its_workflow_and_not_for_ever() {
    let mut world = world();
    world.pending("early", "late");
    world.pending("lost", "never");
    world.offer("o", "T2_X", 8);
    world.rounds(3);
    world.wait(600);
    assert_eq!(world.yard.decisions().iter().filter(|it| it.matched.is_some()).count(), 0);
    world.workflow("late", "ops", central());
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["early"]);
    assert_eq!(world.rejection("lost"), None);
    world.wait(320);
    assert_eq!(world.rejection("lost").as_deref(), Some("workflow_unknown"));
    // One that was refused stays so, and another attempt is judged again.
    world.workflow("never", "ops", central());
    world.rounds(3);
    world.wait(100);
    assert_eq!(world.matched_jobs(), ["early"]);
    world.job("lost", "never", Status::Activated, |state, _| state.attempt = 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["early", "lost"]);
    world.check();
}

/// C-03: unknown sites of a whitelist are ignored; a job with none else waits.
#[test]
fn a_whitelist_of_unknown_sites_waits_until_one_is_known() {
    let mut world = world();
    world.job("j", "wf", Status::Activated, |_, wants| wants.site_whitelist = Some("T2_Y, T2_Z"));
    world.offer("o", "T2_X", 1);
    world.rounds(3);
    world.site("T2_Z", "T2", 10, |_| ());
    world.offer("p", "T2_Z", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["j"]);
    assert!(matches!(world.decided("o")[0].outcome, Outcome::Defer { .. }));
    world.check();
}

/// A workflow that was over and is stated to be open again: its jobs wait again.
#[test]
fn a_workflow_that_is_open_again_has_jobs_that_wait() {
    let mut world = world();
    world.pending("j", "wf");
    world.task("wf", "ops", TaskPhase::Ended, central());
    world.rounds(3);
    world.offer("early", "T2_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), Vec::<String>::new());
    world.yard.pass(S);
    world.workflow("wf", "ops", central());
    world.offer("late", "T2_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["j"]);
    world.check();
}
