//! Why a job waits, site by site (C-60): as the process that leads has it, and as another makes it
//! of the state alone.

use super::*;
use yardmaster::core::domain::cms::explain::site_sentence;
use yardmaster::core::domain::cms::policy::why::{Blocked, PoolWait, SiteAt};
use yardmaster::core::explain::SITES_SHOWN;
use yardmaster::core::explain::{explain_job, explain_pool_name};

/// Why a job waits; the process that leads and one that followed find the same.
fn wait_of(world: &World, job: &str) -> PoolWait {
    let found = world.drive.engine().why_waits(job).expect("it waits");
    let mut follower = drive(&world.yard, &world.text, "follower", PaperStore::default(), false);
    for _ in 0..2_000 {
        follower.pump(Duration::ZERO).unwrap();
        follower.follow().unwrap();
    }
    let made = follower.engine().why_waits(job);
    assert_eq!(made.as_ref(), Some(&found), "what is made of the state alone");
    found
}

/// Objections to a job at each site, by name.
fn sites(world: &World, job: &str) -> Vec<SiteAt> {
    match wait_of(world, job) {
        PoolWait::Sites { sites, .. } => sites,
        blocked => panic!("{blocked:?}"),
    }
}

fn at(sites: &[SiteAt], name: &str) -> SiteAt {
    let found = sites.iter().find(|it| it.wait.site == name);
    found.unwrap_or_else(|| panic!("no {name} in {sites:#?}")).clone()
}

/// The filters that object at a site, in order, each with how many offers it keeps.
fn filters(at: &SiteAt) -> Vec<(&'static str, u64)> {
    at.wait.objections.iter().map(|it| (it.filter, it.offers)).collect()
}

#[track_caller]
fn says(at: &SiteAt, parts: &[&str]) {
    let sentence = site_sentence(at);
    for part in parts {
        assert!(sentence.contains(part), "{part:?} is not in: {sentence}");
    }
}

#[test]
fn each_site_names_what_objects_there_in_the_order_of_the_filters() {
    let mut world = World::new();
    world.user("ops", &["production"], &[]);
    world.site("T2_DRAIN", "T2", 100, |it| it.status = yardmaster::core::event::SiteStatus::Drain);
    world.site("T2_OFF", "T2", 100, |_| ());
    world.site("T2_SMALL", "T2", 100, |_| ());
    world.site("T2_IDLE", "T2", 100, |_| ());
    world.workflow("wf", "ops", WorkflowFacts { priority: 10, priority_revision: 1, ..central() });
    world.rounds(3);
    world.offer_with("old", "T2_IDLE", |it| {
        (it.node, it.cores_free, it.cores_total) = ("wn-idle", 2, 16);
        it.expires_at -= 3_590 * S;
    });
    let offered = world.yard.now;
    world.rounds(3);
    world.yard.pass(20 * S);
    let whitelist = Some("T2_DRAIN,T2_IDLE,T2_SMALL,T2_NEW");
    world.job("big", "wf", Status::Activated, |_, wants| {
        (wants.cores_min, wants.max_wall_time_s) = (8, Some(7_200));
        wants.site_whitelist = whitelist;
    });
    for (offer, cores, wall_left_s) in [("a", 2, 86_400), ("b", 4, 86_400), ("c", 8, 3_600)] {
        world.offer_with(offer, "T2_SMALL", |it| {
            (it.cores_free, it.cores_total, it.wall_left_s) = (cores, cores, wall_left_s);
        });
    }
    world.rounds(3);
    assert_eq!(world.matched_jobs(), [""; 0]);
    let sites = sites(&world, "big");
    let names: Vec<&str> = sites.iter().map(|it| it.wait.site.as_str()).collect();
    assert_eq!(names, ["T2_DRAIN", "T2_IDLE", "T2_NEW", "T2_OFF", "T2_SMALL"]);
    assert_eq!(filters(&at(&sites, "T2_DRAIN")), [("site_status", 1)]);
    says(&at(&sites, "T2_DRAIN"), &["no offer was seen", "site_status: the site takes no such"]);
    assert_eq!(filters(&at(&sites, "T2_OFF")), [("whitelist", 1)]);
    says(&at(&sites, "T2_NEW"), &["no valid slot_quota of the site was read"]);
    let small = at(&sites, "T2_SMALL");
    assert_eq!(filters(&small), [("cores", 2), ("wall", 1)]);
    says(&small, &["3 offers: cores (2 offers): the offer has 4 cores left, the job takes 8"]);
    let idle = at(&sites, "T2_IDLE");
    assert_eq!((filters(&idle), idle.last_offer_at), (vec![], Some(offered)));
    says(&idle, &["no offer since 20", "if a node of 16 cores were free: nothing objects and no"]);
    let text = explain_job(world.drive.engine(), "big", SITES_SHOWN).unwrap().text;
    assert!(text.contains("    T2_SMALL: 3 offers: cores (2 offers)"), "{text}");
    // Once the large job has a place it waits no longer.
    world.offer("whole", "T2_IDLE", 16);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["big"]);
    assert_eq!(world.drive.engine().why_waits("big"), None);
    world.check();
}

#[test]
fn quota_high_io_overflow_and_restricted_slots_are_judged_as_they_are_now() {
    let mut world = World::new();
    world.user("ops", &["production"], &[]);
    world.site("T2_FULL", "T2", 2, |it| it.surplus_central = Some(false));
    world.site("T2_HOST", "T2", 100, |it| (it.overflow_slots, it.high_io_slots) = (0, 0));
    world.workflow("wf", "ops", WorkflowFacts { allow_overflow: true, ..central() });
    world.rounds(3);
    world.pending("first", "wf");
    world.offer("o", "T2_FULL", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["first"]);
    world.pending("any", "wf");
    world.job("far", "wf", Status::Activated, |_, wants| wants.site_whitelist = Some("T2_HOST"));
    world.job("io", "wf", Status::Activated, |_, wants| {
        (wants.site_whitelist, wants.high_io) = (Some("T2_HOST"), true);
    });
    world.offer("p", "T2_FULL", 1);
    world.rounds(3);
    let full = at(&sites(&world, "any"), "T2_FULL");
    assert_eq!(filters(&full), [("class_over_quota", 1)]);
    says(
        &full,
        &["1 offer: class_over_quota: with the job, its class would use 2 of the 1 cores by power"],
    );
    assert_eq!(filters(&at(&sites(&world, "far"), "T2_FULL")), [("overflow_limit", 1)]);
    let io = sites(&world, "io");
    assert_eq!(filters(&at(&io, "T2_FULL")), [("overflow_off", 1)]);
    assert_eq!(filters(&at(&io, "T2_HOST")), [("highio_limit", 1)]);
    // A quota that grows is seen at once.
    world.yard.pass(S);
    world.site("T2_FULL", "T2", 2, |it| it.revision = 2);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["first", "any"]);
    // Overflow waits for its time, which is named.
    world.yard.pass(S);
    world.site("T2_HOST", "T2", 100, |it| (it.revision, it.overflow_slots) = (2, 5));
    world.rounds(3);
    let far = at(&sites(&world, "far"), "T2_FULL");
    assert_eq!(filters(&far), [("overflow_idle", 1)]);
    says(
        &far,
        &["overflow_idle: the job waited ", "a job that overflows waits 20 min first, until"],
    );
    world.check();
}

#[test]
fn where_nothing_objects_the_jobs_before_it_are_counted_and_the_first_is_named() {
    let mut world = World::new();
    world.user("ops", &["production"], &[]);
    world.site("T2_X", "T2", 100, |_| ());
    world.workflow("hi", "ops", WorkflowFacts { priority: 20, priority_revision: 1, ..central() });
    world.workflow("lo", "ops", WorkflowFacts { priority: 5, priority_revision: 1, ..central() });
    world.workflow("ana", "ann", analysis());
    world.rounds(3);
    for job in ["hi-1", "hi-2", "hi-3"] {
        world.pending(job, "hi");
        world.yard.pass(S);
    }
    for job in ["lo-1", "lo-2", "lo-3"] {
        world.pending(job, "lo");
        world.yard.pass(S);
    }
    world.job("too-big", "hi", Status::Activated, |_, wants| {
        (wants.cores_min, wants.site_whitelist) = (4, Some("T2_Y"));
    });
    world.pending("mine", "ana");
    world.rounds(3);
    let ahead = |job: &str| at(&sites(&world, job), "T2_X").wait.ahead.unwrap();
    let [first, second, last] = ["hi-1", "lo-2", "mine"].map(ahead);
    assert_eq!((first.jobs, first.first), (0, None));
    assert_eq!(second.jobs, 4, "three of higher priority, one that came before");
    let named = second.first.unwrap();
    assert_eq!((&*named.job, named.key), ("hi-1", "minus_priority"));
    // Of two classes that use nothing central goes first.
    assert_eq!((last.jobs, last.first.unwrap().key), (6, "class_order"));
    let text = site_sentence(&at(&sites(&world, "lo-2"), "T2_X"));
    let wanted = "nothing objects, 4 jobs go before it, first hi-1 of hi by minus_priority: \
                  priority 20 of its workflow; of this job: priority 5 of its workflow (central \
                  uses 0 of 50, analysis uses 0 of 50, in cores by power)";
    assert!(text.ends_with(wanted), "{text}");
    // That order is the order in which offers are filled.
    world.offer("o", "T2_X", 8);
    world.rounds(3);
    let matched = world.matched_jobs();
    assert_eq!(matched[0], "hi-1", "{matched:?}");
    world.check();
}

#[test]
fn a_job_that_is_looked_at_nowhere_names_what_blocks_it() {
    let mut world = World::new();
    world.site("T2_X", "T2", 100, |_| ());
    world.user("ops", &["production"], &[]);
    world.rounds(3);
    let until = (world.yard.now + 900 * S).div_euclid(S) * S;
    world.pending("early", "later");
    world.rounds(3);
    let PoolWait::Blocked(Blocked::OnHold(at)) = wait_of(&world, "early") else {
        panic!("{:?}", wait_of(&world, "early"))
    };
    assert!((until..until + 10 * S).contains(&at), "{at} of {until}");
    let text = explain_job(world.drive.engine(), "early", SITES_SHOWN).unwrap().text;
    assert!(text.contains("  waits     for the record of its workflow; without one"), "{text}");
    world.workflow("ended", "ops", central());
    world.pending("rest", "ended");
    world.rounds(3);
    world.yard.pass(S);
    world.task("ended", "ops", TaskPhase::Ended, central());
    world.rounds(3);
    assert_eq!(wait_of(&world, "rest"), PoolWait::Blocked(Blocked::Closed));
    assert_eq!(world.drive.engine().why_waits("nobody"), None);
    world.check();
}

#[test]
fn the_node_that_is_drained_for_a_job_is_named() {
    let mut world = World::new();
    world.site("T2_X", "T2", 100, |_| ());
    world.user("ops", &["production"], &[]);
    world.workflow("wf", "ops", central());
    world.rounds(3);
    world.job("small", "wf", Status::Activated, |_, wants| wants.max_wall_time_s = Some(20_000));
    world.offer_with("o", "T2_X", |it| {
        (it.node, it.cores_free, it.cores_total) = ("wn1", 1, 8);
    });
    world.rounds(3);
    let start = world.yard.now;
    world.job("small", "wf", Status::Running, |state, wants| {
        (state.queue, state.started_at) = ("T2_X", start);
        wants.max_wall_time_s = Some(20_000);
    });
    world.job("large", "wf", Status::Activated, |_, wants| wants.cores_min = 8);
    // Other pilots of the site report: commands are held back where nobody does.
    for at in 0..5 {
        world.offer_with(&format!("short-{at}"), "T2_X", |it| it.wall_left_s = 1);
        world.wait(800);
    }
    let PoolWait::Sites { drained: Some(drained), .. } = wait_of(&world, "large") else {
        panic!("{:?}", wait_of(&world, "large"))
    };
    assert_eq!((drained.node.as_str(), drained.site.as_str()), ("wn1", "T2_X"));
    let text = explain_job(world.drive.engine(), "large", SITES_SHOWN).unwrap().text;
    assert!(text.contains("  drained   node wn1 of T2_X is kept free for it by "), "{text}");
    world.check();
}

/// A job of 64 GB at sites whose nodes have 16: none can hold it, free or not; nothing is imagined
/// to have endless memory.
#[test]
fn a_job_that_no_node_can_hold_says_so() {
    let mut world = World::new();
    world.user("ops", &["production"], &[]);
    for site in ["T2_A", "T2_B", "T2_C"] {
        world.site(site, "T2", 100, |_| ());
    }
    world.workflow("wf", "ops", central());
    world.rounds(3);
    let whole = |world: &World, offer: &'static str, site: &str, memory: i64, now: i64| {
        world.offer_with(offer, site, |it| {
            (it.node, it.cores_free, it.cores_total) = (offer, 8, 8);
            (it.mem_free_mb, it.wall_left_s, it.expires_at) = (memory, 172_800, now + S);
        });
    };
    let now = world.yard.now;
    whole(&world, "a", "T2_A", 16_000, now);
    whole(&world, "b", "T2_B", 32_000, now);
    world.rounds(3);
    world.yard.pass(10 * S);
    world.job("huge", "wf", Status::Activated, |_, wants| {
        (wants.max_rss_mb, wants.site_whitelist) = (Some(64_000), Some("T2_A,T2_B"));
    });
    world.job("large", "wf", Status::Activated, |_, wants| {
        (wants.max_rss_mb, wants.site_whitelist) = (Some(20_000), Some("T2_A,T2_B"));
    });
    world.job("anywhere", "wf", Status::Activated, |_, wants| wants.max_rss_mb = Some(64_000));
    world.rounds(3);
    let huge = sites(&world, "huge");
    for site in ["T2_A", "T2_B"] {
        assert_eq!(filters(&at(&huge, site)), [("mem", 1)], "{site}");
    }
    says(&at(&huge, "T2_A"), &["if a node of 8 cores were free: mem: the offer has 16000 MB left"]);
    let large = sites(&world, "large");
    assert_eq!(filters(&at(&large, "T2_A")), [("mem", 1)]);
    assert_eq!(filters(&at(&large, "T2_B")), []);
    let text = |job: &str| explain_job(world.drive.engine(), job, SITES_SHOWN).unwrap().text;
    let stated = "no known node of a site that takes it could hold it: it takes 1 cores, 64000 MB \
                and 12 h; the most that any has is 8 cores, 32000 MB, 2 d";
    assert!(text("huge").contains(stated), "{}", text("huge"));
    assert!(!text("large").contains("no known node"), "{}", text("large"));
    assert!(!text("anywhere").contains("no known node"), "no node of T2_C is known");
    world.check();
}

/// How a workflow and a user stand is asked by name.
#[test]
fn a_workflow_and_a_user_say_how_they_stand() {
    let mut world = World::new();
    world.site("T2_A", "T2", 100, |_| ());
    world.user("ann", &[], &["/cms/dcms"]);
    let facts = WorkflowFacts { test_jobs: Some(2), total_jobs: Some(50), ..analysis() };
    world.workflow("skim", "ann", facts);
    world.rounds(3);
    for seq in 1..=4 {
        world
            .job(&format!("skim.{seq}"), "skim", Status::Pending, |_, wants| wants.seq = Some(seq));
    }
    world.offer("o", "T2_A", 3);
    world.rounds(3);
    let start = world.yard.now;
    world.wait(3_600);
    let end = world.yard.now;
    for seq in 1..=2 {
        world.job(&format!("skim.{seq}"), "skim", Status::Finished, |state, wants| {
            (state.queue, state.started_at, state.ended_at) = ("T2_A", start, end);
            (wants.seq, wants.used_rss_mb) = (Some(seq), 1_000);
        });
    }
    world.job("skim.3", "skim", Status::Running, |state, wants| {
        (state.queue, state.started_at, wants.seq) = ("T2_A", start, Some(3));
    });
    world.job("skim.5", "skim", Status::Held, |_, wants| wants.seq = Some(5));
    world.rounds(5);
    let text = |name: &str| explain_pool_name(world.drive.engine(), name).unwrap_or_default();
    for part in [
        "skim: a workflow, analysis, as of",
        "jobs      1 wait, 1 are on hold, 1 have slots, 2 finished, 0 failed for good or were \
         removed; 50 in all",
        "tests     of 2 test jobs 2 succeeded, 0 failed",
        "and 1100 MB, as its test jobs showed (C-50)",
    ] {
        assert!(text("skim").contains(part), "{part:?} is not in {}", text("skim"));
    }
    for part in ["ann: a user of the pool", "1 running, 0 matched", "groups    /cms/dcms"] {
        assert!(text("ann").contains(part), "{part:?} is not in {}", text("ann"));
    }
    assert_eq!(text("nobody"), "");
    world.check();
}
