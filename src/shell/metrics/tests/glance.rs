//! A pool and a grid of clusters, small, and their figures.

use super::samples::text_of;
use super::world::{NOW, World};
use super::*;
use yardmaster_core::event::{
    BatchFacts, ClusterFacts, Event, JobState, Pilot, Queue, Requirements, Site, SiteStatus,
    SlotOffer, SlotQuota, Status, Task, UserShare, WorkflowFacts,
};
use yardmaster_core::unit::SECOND;
use yardmaster_core::view::View;
use yardmaster_wire::topology::{CMS, NORDUGRID};

fn site(world: &mut World, name: &str, tier: &str, status: SiteStatus) {
    let quota = SlotQuota {
        revision: 1,
        tier: tier.into(),
        status,
        pledged_slots: 100,
        central_permille: 500,
        corepower_mhs06: 10_000,
        ..SlotQuota::default()
    };
    let name = name.to_owned();
    world.configure(Site { name, changed_at: NOW, slot_quota: Some(quota), ..Site::default() });
}

/// Two sites that work, one that is offline, one of a tier that there is not; an offer of 2 cores,
/// and three jobs that want 4.
pub(super) fn pool() -> World {
    let mut world = World::of("cms.toml", CMS);
    site(&mut world, "T1_A", "T1", SiteStatus::Online);
    site(&mut world, "T2_A", "T2", SiteStatus::Online);
    site(&mut world, "T2_B", "T2", SiteStatus::Offline);
    site(&mut world, "T9", "T9", SiteStatus::Online);
    let text = |text: &str| text.to_owned();
    world.read(
        Topic::Task,
        &Event::Task(Box::new(Task {
            subject: text("wf"),
            task: text("wf"),
            domain: text("cms"),
            policy: text("cms"),
            user: text("ops"),
            asked_at: NOW,
            changed_at: NOW,
            workflow: Some(WorkflowFacts::default()),
            ..Task::default()
        })),
    );
    for job in ["a", "b", "c"] {
        let wants = Requirements {
            seq: Some(1_000),
            cores_min: 4,
            site_whitelist: Some("T2_A"),
            ..Requirements::default()
        };
        let state = JobState {
            job,
            task: "wf",
            status: Status::Activated,
            changed_at: NOW,
            created_at: NOW,
            requirements: Some(Box::new(wants)),
            ..JobState::default()
        };
        world.read(Topic::JobState, &Event::JobState(state));
    }
    let offer = SlotOffer {
        offer: "o",
        cores_free: 2,
        cores_total: 8,
        wall_left_s: 86_400,
        mem_free_mb: 64_000,
        expires_at: NOW + 3_600 * SECOND,
        ..SlotOffer::default()
    };
    let report = Pilot::SlotOffer { queue: "T2_A", offer: Box::new(offer), at: NOW - 60 * SECOND };
    world.read(Topic::Pilot, &Event::Pilot(report));
    world.cycle();
    world
}

/// A cluster that works with two queues, one that is down, and one that does not answer.
pub(super) fn clusters() -> World {
    let mut world = World::of("nordugrid.toml", NORDUGRID);
    for (name, answered) in [("a.no", true), ("b.se", true), ("c.fi", false)] {
        let cache_free_bytes = answered.then_some(7_000);
        let total_slots = Some(50);
        let facts =
            ClusterFacts { answered, total_slots, cache_free_bytes, ..ClusterFacts::default() };
        let (name, cluster) = (name.to_owned(), Some(facts));
        world.configure(Site { name, changed_at: NOW, cluster, ..Site::default() });
    }
    let queues = [
        ("a.no/one", "active", 30),
        ("a.no/two", "inactive", 50),
        ("b.se/one", "inactive, the job manager is down", 20),
        ("c.fi/one", "active", 20),
    ];
    for (name, status, cpus) in queues {
        let batch =
            BatchFacts { status: status.into(), total_slots: Some(cpus), ..BatchFacts::default() };
        world.configure(Queue {
            name: name.into(),
            unified: name.into(),
            changed_at: NOW,
            batch: Some(batch),
            ..Queue::default()
        });
    }
    for (queue, user, free) in
        [("a.no/one", "*", "7:60 9"), ("a.no/two", "ann", "3"), ("a.no/two", "bob", "5")]
    {
        let disk_free_bytes = (user != "*").then_some(400);
        let (queue, user, free_slots) = (queue.into(), user.into(), free.into());
        let authorised = true;
        world.configure(UserShare {
            queue,
            user,
            free_slots,
            authorised,
            changed_at: NOW,
            disk_free_bytes,
        });
    }
    for (job, status, sub_status) in [
        ("1", Status::Assigned, "PREPARING"),
        ("2", Status::Activated, "INLRMS:Q"),
        ("3", Status::Running, "INLRMS:R"),
        ("4", Status::Running, "INLRMS:R"),
        ("5", Status::Transferring, "FINISHING"),
    ] {
        let state = JobState {
            job,
            status,
            sub_status,
            queue: "a.no/one",
            changed_at: NOW,
            ..JobState::default()
        };
        world.read(Topic::JobState, &Event::JobState(state));
    }
    world.cycle();
    world
}

/// The samples of a text without their domain.
fn has(text: &str, sample: &str) -> bool {
    text.replace("domain=\"atlas\",", "").replace("{domain=\"atlas\"}", "").contains(sample)
}

#[test]
fn a_pool_shows_idle_jobs_offers_sites_and_workflows() {
    let mut metrics = all();
    metrics.record_glance(&pool().engine);
    let text = text_of(&metrics);
    for sample in [
        "yardmaster_idle_jobs{reason=\"cores\"} 3\n",
        "yardmaster_pool_cores{state=\"pledged\"} 400\n",
        "yardmaster_pool_cores{state=\"offered\"} 2\n",
        "yardmaster_pool_cores{state=\"wanted\"} 12\n",
        "yardmaster_queue_free_cores{queue=\"T2_A\"} 2\n",
        "yardmaster_queue_free_cores{queue=\"T2_B\"} 0\n",
        "yardmaster_pool_sites{status=\"online\"} 2\n",
        "yardmaster_pool_sites{status=\"offline\"} 1\n",
        "yardmaster_pool_sites{status=\"invalid\"} 1\n",
        "yardmaster_live_offers 1\n",
        "yardmaster_newest_offer_age_seconds 60\n",
        "yardmaster_oldest_offer_age_seconds 60\n",
        "yardmaster_open_workflows{state=\"waiting\"} 1\n",
        "yardmaster_open_drains 0\n",
        "yardmaster_class_quota_ratio{class=\"central\"} 0.666",
    ] {
        assert!(has(&text, sample), "no {sample} in {text}");
    }
    metrics.forget_glance();
    let text = text_of(&metrics);
    assert!(!text.contains("yardmaster_idle_jobs") && !text.contains("yardmaster_clusters"));
}

#[test]
fn offers_are_no_requests_that_wait() {
    let mut metrics = all();
    metrics.record_waiting(&pool().engine);
    let text = text_of(&metrics);
    for metric in [Metric::WaitingRequests, Metric::WaitingAge, Metric::OverdueRequests] {
        assert!(!text.contains(metric.name()), "{text}");
    }
}

#[test]
fn clusters_are_counted_by_the_best_of_their_queues_and_their_cpus_once() {
    let mut metrics = all();
    metrics.record_glance(&clusters().engine);
    let text = text_of(&metrics);
    for sample in [
        "yardmaster_clusters{status=\"active\"} 1\n",
        "yardmaster_clusters{status=\"inactive\"} 1\n",
        "yardmaster_clusters{status=\"silent\"} 1\n",
        "yardmaster_cluster_queues{status=\"active\"} 1\n",
        "yardmaster_cluster_queues{status=\"inactive\"} 2\n",
        "yardmaster_cluster_cpus{state=\"total\"} 150\n",
        "yardmaster_cluster_cpus{state=\"free\"} 9\n",
        "yardmaster_cluster_jobs{state=\"accepted\"} 1\n",
        "yardmaster_cluster_jobs{state=\"queued\"} 1\n",
        "yardmaster_cluster_jobs{state=\"running\"} 2\n",
        "yardmaster_cluster_jobs{state=\"finishing\"} 1\n",
        "yardmaster_cluster_free_bytes{cluster=\"a.no\",storage=\"disk\"} 400\n",
        "yardmaster_cluster_free_bytes{cluster=\"b.se\",storage=\"cache\"} 7000\n",
    ] {
        assert!(has(&text, sample), "no {sample} in {text}");
    }
}

#[test]
fn facts_that_are_too_old_to_be_used_make_a_queue_silent() {
    let mut world = clusters();
    let silent = |world: &World| {
        let rows = View::of(&world.engine).rows;
        rows.iter().filter(|row| row.status == "silent").count()
    };
    assert_eq!(silent(&world), 1);
    world.engine.state.now += 1_801 * SECOND;
    assert_eq!(silent(&world), 4, "info_ttl_s is 1800");
}
