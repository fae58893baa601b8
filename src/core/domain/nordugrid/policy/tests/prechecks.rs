//! TN-07 to TN-10 and TN-45: queues before the job is looked at.

use super::world::{NOON, World};
use crate::event::{BatchFacts, UserShare};
use crate::unit::SECOND;

/// The reason for which a queue is refused; empty if it is not.
fn reason(change: impl FnOnce(&mut BatchFacts)) -> &'static str {
    let mut world = World::new();
    world.open("ce-a/q", "10");
    world.queue("ce-a/q", change);
    let answer = world.decide("gsid-0001", "&(executable=run)");
    answer.refused.get("ce-a/q").copied().unwrap_or_default()
}

#[test]
fn tn_07_a_queue_must_be_active() {
    let with = |status: &str| reason(|it| it.status = status.to_owned());
    assert_eq!(with("degraded, one grid-manager down"), "queue_status");
    assert_eq!(with("inactive, gridftpd is down"), "queue_status");
    assert_eq!(with("Active"), "queue_status");
    assert_eq!(reason(|it| it.status.clear()), "queue_status");
    assert_eq!((with("active"), with("active, with a remark")), ("", ""));
}

#[test]
fn tn_08_a_queue_takes_so_many_jobs() {
    let with =
        |queued| reason(|it| (it.max_queuable_jobs, it.grid_queued_jobs) = (Some(100), queued));
    assert_eq!((with(100), with(99)), ("queue_full", ""));
    assert_eq!(reason(|it| it.grid_queued_jobs = 1_000_000), "", "no limit is published");
}

#[test]
fn jobs_in_front_count_as_queued_for_a_queue_that_is_nearly_full() {
    let mut world = World::new();
    world.open("ce-a/q", "10");
    world.queue("ce-a/q", |it| {
        (it.max_queuable_jobs, it.grid_queued_jobs) = (Some(100), 60);
        it.local_queued_jobs = 38;
    });
    world.job("other-1", "ce-a/q", "ACCEPTED", 4, 10);
    assert_eq!(world.decide("gsid-0001", "&(executable=run)").verdict, "ce-a/q");
    world.job("other-2", "ce-a/q", "PENDING:PREPARING", 4, 10);
    let answer = world.decide("gsid-0001", "&(executable=run)");
    assert_eq!(answer.refused["ce-a/q"], "queue_full");
}

#[test]
fn tn_09_a_user_must_be_in_the_list() {
    let mut world = World::new();
    world.queue("ce-a/q", |_| ());
    let refused = |world: &World| world.decide("gsid-0001", "&(executable=run)").refused;
    assert_eq!(refused(&world)["ce-a/q"], "not_authorised");
    world.user("ce-a/q", "10", |it| it.authorised = false);
    assert_eq!(refused(&world)["ce-a/q"], "not_authorised");
    world.user("ce-a/q", "10", |it| it.authorised = true);
    assert!(refused(&world).is_empty());
}

#[test]
fn tn_10_a_queue_must_have_cpus() {
    assert_eq!(reason(|it| it.total_slots = Some(0)), "no_cpus");
    assert_eq!(reason(|it| it.total_slots = None), "no_cpus");
    let mut world = World::new();
    world.open("ce-a/q", "10");
    world.queue("ce-a/q", |it| it.total_slots = None);
    world.cluster("ce-a", |it| it.total_slots = Some(5));
    assert_eq!(world.decide("gsid-0001", "&(executable=run)").verdict, "ce-a/q");
}

#[test]
fn tn_45_a_queue_that_is_silent_for_more_than_1800_s_is_not_used() {
    assert_eq!(reason(|_| ()), "");
    let mut world = World::new();
    world.open("ce-a/q", "10");
    world.now = NOON + 1800 * SECOND;
    assert_eq!(world.decide("gsid-0001", "&(executable=run)").verdict, "ce-a/q");
    world.now += SECOND;
    let answer = world.decide("gsid-0001", "&(executable=run)");
    assert_eq!(answer.refused["ce-a/q"], "no_information");
}

/// N-11: the user's own record, else that of an organisation that may submit, else that of all.
#[test]
fn an_organisation_opens_a_queue_for_its_members() {
    let mut world = World::new();
    world.queue("ce-a/q", |_| ());
    let publish = |world: &mut World, who: &str, authorised| {
        let (queue, user) = ("ce-a/q".to_owned(), who.to_owned());
        let free_slots = "5".to_owned();
        let share = UserShare { queue, user, authorised, free_slots, ..UserShare::default() };
        world.facts.put_user_share(&share);
    };
    let is_refused = |world: &World| {
        let answer = world.decide("gsid-0001", "&(executable=run)");
        answer.refused.get("ce-a/q").copied() == Some("not_authorised")
    };
    publish(&mut world, "vo:atlas", true);
    assert!(is_refused(&world), "in no organisation");
    world.facts.put_user("anna", &["bio".to_owned(), "atlas".to_owned()]);
    assert!(!is_refused(&world));
    publish(&mut world, "vo:atlas", false);
    assert!(is_refused(&world));
    publish(&mut world, "*", true);
    assert!(!is_refused(&world), "open to all");
    publish(&mut world, "anna", false);
    assert!(is_refused(&world), "its own record counts first");
}
