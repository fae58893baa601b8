//! TN-01 to TN-06: which clusters a job may go to.

use super::world::{World, at};
use crate::event::ChildKind::{Computing, Registry, Storage, Unknown};
use crate::event::RegistrationStatus;

const JOB: &str = "&(executable=run)";

fn texts(of: &[&str]) -> Vec<String> {
    of.iter().map(|it| (*it).to_owned()).collect()
}

/// Three clusters with a queue each; none registered but by what a test adds.
fn world() -> World {
    let mut world = World::new();
    for cluster in ["ce-a", "ce-b"] {
        world.open(&format!("{cluster}/q"), "10");
    }
    world.start.index_servers = texts(&["G1"]);
    world
}

#[test]
fn tn_01_a_cycle_of_index_servers_ends() {
    let mut world = world();
    world.register("G1", "G2", Registry, |_| ());
    world.register("G1", "ce-a", Computing, |_| ());
    world.register("G2", "G1", Registry, |_| ());
    world.register("G2", "ce-b", Computing, |_| ());
    let answer = world.decide("gsid-0001", JOB);
    assert_eq!(answer.clusters(&world), ["ce-a", "ce-b"]);
    let discovery = answer.decision.discovery.expect("index mode");
    assert_eq!((discovery.mode.name(), discovery.index_servers), ("index", texts(&["G1", "G2"])));
}

#[test]
fn tn_02_a_cluster_registered_twice_is_one() {
    let mut world = world();
    world.start.index_servers = texts(&["G1", "G2"]);
    world.register("G1", "ce-a", Computing, |_| ());
    world.register("G2", "ce-a", Computing, |_| ());
    let answer = world.decide("gsid-0001", JOB);
    assert_eq!(answer.clusters(&world), ["ce-a"]);
    assert_eq!(answer.decision.tried[0].ranked.len(), 1);
}

#[test]
fn tn_03_what_is_purged_or_expired_is_absent() {
    let mut world = world();
    world.register("G1", "ce-a", Computing, |_| ());
    world.register("G1", "ce-b", Computing, |it| it.status = RegistrationStatus::Purged);
    assert_eq!(world.decide("gsid-0001", JOB).clusters(&world), ["ce-a"]);
    world.register("G1", "ce-b", Computing, |it| {
        (it.expires, it.changed_at, it.ttl_s) = (true, at(-10), Some(600));
    });
    assert_eq!(world.decide("gsid-0001", JOB).clusters(&world), ["ce-a", "ce-b"]);
    world.now += 1;
    assert_eq!(world.decide("gsid-0001", JOB).clusters(&world), ["ce-a"]);
}

#[test]
fn the_time_to_live_is_twice_the_announced_refresh_and_no_less_than_600_s() {
    for (announced, lives_s) in [(400, 800), (100, 600), (0, 600)] {
        let mut world = world();
        world.register("G1", "ce-a", Computing, |it| {
            (it.expires, it.changed_at, it.announced_refresh_s) = (true, at(0), announced);
        });
        world.now = at(0) + lives_s * 1000;
        assert_eq!(world.decide("gsid-0001", JOB).clusters(&world), ["ce-a"], "{announced}");
        world.now += 1;
        assert!(world.decide("gsid-0001", JOB).clusters(&world).is_empty(), "{announced}");
    }
}

#[test]
fn registrations_that_lack_something_and_storage_elements_are_skipped() {
    let mut world = world();
    world.register("G1", "ce-a", Computing, |it| it.addressed = false);
    world.register("G1", "ce-b", Storage, |_| ());
    assert!(world.decide("gsid-0001", JOB).clusters(&world).is_empty());
    world.register("G1", "ce-b", Computing, |_| ());
    world.register("G1", "ce-b", Unknown, |_| ());
    assert!(world.decide("gsid-0001", JOB).clusters(&world).is_empty());
}

#[test]
fn tn_04_names_given_make_the_mode_explicit() {
    let mut world = world();
    world.start.clusters = texts(&["ce-a", "ce-b"]);
    let answer = world.decide("gsid-0001", JOB);
    assert_eq!(answer.clusters(&world), ["ce-a", "ce-b"]);
    let discovery = answer.decision.discovery.expect("explicit mode");
    assert_eq!((discovery.mode.name(), discovery.index_servers), ("explicit", Vec::new()));
}

#[test]
fn tn_05_only_rejected_names_keep_index_mode() {
    let mut world = world();
    world.register("G1", "ce-a", Computing, |_| ());
    world.register("G1", "ce-b", Computing, |_| ());
    world.start.clusters = texts(&["-ce-a"]);
    let answer = world.decide("gsid-0001", JOB);
    assert_eq!(answer.clusters(&world), ["ce-b"]);
    assert_eq!(answer.decision.discovery.expect("index mode").mode.name(), "index");
}

#[test]
fn tn_06_a_name_both_accepted_and_rejected_is_rejected() {
    let mut world = world();
    world.start.clusters = texts(&["ce-a", "-ce-a"]);
    let answer = world.decide("gsid-0001", JOB);
    assert!(answer.clusters(&world).is_empty());
    assert_eq!(answer.verdict, "no_target_left");
    world.start.clusters = texts(&["-ce-z", "ce-z"]);
    assert!(world.decide("gsid-0001", JOB).clusters(&world).is_empty());
}

#[test]
fn without_an_index_server_nothing_is_found() {
    let mut world = world();
    world.register("M", "ce-b", Computing, |_| ());
    world.start.index_servers = texts(&["M"]);
    assert_eq!(world.decide("gsid-0001", JOB).clusters(&world), ["ce-b"]);
    world.start.index_servers.clear();
    let answer = world.decide("gsid-0001", JOB);
    assert_eq!((answer.verdict.as_str(), answer.decision.discovery), ("no_index_server", None));
}

#[test]
fn clusters_that_do_not_answer_or_are_not_known_are_named() {
    let mut world = world();
    world.register("G1", "ce-a", Computing, |_| ());
    world.register("G1", "ce-z", Computing, |_| ());
    world.cluster("ce-a", |it| it.answered = false);
    let answer = world.decide("gsid-0001", JOB);
    let silent: Vec<String> = answer.decision.no_information.iter().cloned().collect();
    assert_eq!(silent, ["ce-a", "ce-z"]);
    assert!(answer.refused.is_empty() && answer.verdict == "no_target_left");
    world.start.clusters = texts(&["ce-y"]);
    let answer = world.decide("gsid-0001", JOB);
    assert!(answer.decision.no_information.contains("ce-y"));
}
