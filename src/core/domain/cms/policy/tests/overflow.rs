//! Overflow, HighIO, reservations and whitelists (C-34..C-46, C-58).

use super::whole::Cut;
use super::world::{World, central, job, jobs, listed, matches, quota, reason, stating};
use crate::domain::cms::policy::facts::{PendingJob, SiteStatus, SlotQuota, Tier};
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::PoolWorkflow;
use crate::output::limit_use::LimitUse;

fn host(name: &str, overflow_slots: i64) -> SlotQuota {
    let tier = if name.starts_with("T1") { Tier::T1 } else { Tier::T2 };
    SlotQuota { overflow_slots, pledged_slots: 100, ..quota(tier) }
}

/// Hosts with overflow slots, sites without, and a central workflow that may overflow.
fn world(hosts: &[(&str, i64)], sites: &[&str]) -> World {
    world_with(Settings::default(), hosts, sites)
}

fn world_with(settings: Settings, hosts: &[(&str, i64)], sites: &[&str]) -> World {
    let mut world = World::with(settings);
    hosts.iter().for_each(|(name, slots)| world.site(name, host(name, *slots)));
    sites.iter().for_each(|name| world.site(name, host(name, 0)));
    world.workflow(stating(central("w", 0), |it| it.allow_overflow = true));
    world
}

/// Overflow source of each assignment, after a check that no hard limit is exceeded (TS-07).
fn sources(cut: &Cut) -> Vec<String> {
    for assignment in &cut.assignments {
        assert!(assignment.limits.iter().all(|limit| limit.after <= limit.max), "{assignment:?}");
    }
    let each = cut.assignments.iter().map(|it| it.matched.overflow_source.clone());
    each.collect()
}

/// A workflow that overflows to two sites at most.
fn to_two_sites() -> PoolWorkflow {
    stating(central("w", 0), |it| {
        (it.allow_overflow, it.max_overflow_sites) = (true, Some(2));
    })
}

#[test]
fn tc_28_limits_add_up_over_the_hosts() {
    let mut world = world(&[("T1_A", 2), ("T2_B", 3)], &["T2_C", "T2_D", "T2_E"]);
    world.workflow(to_two_sites());
    for seq in 1..=8 {
        world.pending(listed(&format!("j{seq}"), "w", seq, &["T1_A", "T2_B"]));
    }
    for at in 1..=4 {
        world.offer(&format!("c{at}"), "T2_C", 1);
        world.offer(&format!("d{at}"), "T2_D", 1);
    }
    let cut = world.cut();
    assert_eq!(sources(&cut), ["T2_B", "T1_A", "T2_B", "T1_A", "T2_B"]);
    assert_eq!(matches(&cut)[4], "d1 j5");
    assert_eq!((world.overflow("T1_A"), world.overflow("T2_B")), (2, 3));
    assert_eq!(reason(&cut, "j6"), Some("overflow_limit"));
    world.pool.remove_job("j1");
    world.offer("e", "T2_E", 1);
    assert_eq!(reason(&world.cut(), "j6"), Some("overflow_max_sites"));
}

#[test]
fn tc_29_overlapping_hosts_overload_none() {
    let mut world = world(&[("A", 2), ("B", 2)], &["C"]);
    for seq in 1..=2 {
        world.pending(listed(&format!("both{seq}"), "w", seq, &["A", "B"]));
    }
    for seq in 3..=6 {
        world.pending(listed(&format!("one{seq}"), "w", seq, &["A"]));
    }
    for at in 0..6 {
        world.offer(&format!("o{at}"), "C", 1);
    }
    let cut = world.cut();
    assert_eq!(sources(&cut), ["A", "B", "A"]);
    assert_eq!((world.overflow("A"), world.overflow("B")), (2, 1));
}

#[test]
fn tc_30_a_workflow_spreads_to_so_many_sites() {
    let mut world = world(&[("H", 50)], &["C", "D", "E"]);
    let overflow_sites = vec!["C".to_owned(), "D".to_owned()];
    world.workflow(PoolWorkflow { overflow_sites, ..to_two_sites() });
    world.pending(listed("j", "w", 1, &["H"]));
    world.offer("e", "E", 1);
    assert_eq!(reason(&world.cut(), "j"), Some("overflow_max_sites"));
    world.offer("c", "C", 1);
    assert_eq!(world.matched(), ["j"]);
}

#[test]
fn c_40_an_explicit_list_of_sites_decides_alone() {
    for (listed_sites, code) in [(vec!["C"], None), (vec!["D"], Some("overflow_max_sites"))] {
        let mut world = world(&[("H", 50)], &["C", "D"]);
        let list = listed_sites.iter().map(|site| (*site).to_owned()).collect();
        world.workflow(stating(central("w", 0), |it| {
            (it.allow_overflow, it.overflow_sites, it.max_overflow_sites) =
                (true, Some(list), Some(0));
        }));
        world.pending(listed("j", "w", 1, &["H"]));
        world.offer("c", "C", 1);
        let cut = world.cut();
        assert_eq!((reason(&cut, "j"), jobs(&cut).len()), (code, usize::from(code.is_none())));
    }
}

#[test]
fn ts_07_the_limits_that_applied_are_stated() {
    let settings = Settings { high_io_overflow: true, ..Settings::default() };
    let mut world = world_with(settings, &[("H", 3)], &["C"]);
    for seq in 1..=2 {
        let name = format!("j{seq}");
        world.pending(PendingJob { high_io: true, ..listed(&name, "w", seq, &["H"]) });
        world.offer(&format!("o{seq}"), "C", 1);
    }
    let cut = world.cut();
    assert_eq!(sources(&cut), ["H", "H"]);
    for (before, assignment) in (0..).zip(&cut.assignments) {
        let limit = |name: &str, max| LimitUse {
            name: name.to_owned(),
            of: "H".to_owned(),
            before,
            after: before + 1,
            max,
        };
        assert_eq!(assignment.limits, [limit("overflow", 3), limit("high_io", 25)]);
    }
}

#[test]
fn tc_31_a_job_waits_before_it_overflows() {
    for (waited, code) in [(1_199, Some("overflow_idle")), (1_200, None)] {
        let mut world = world(&[("H", 1)], &["C"]);
        let queued_at_s = world.now_s - waited;
        world.pending(PendingJob { queued_at_s, ..listed("j", "w", 1, &["H"]) });
        world.offer("o", "C", 1);
        let cut = world.cut();
        assert_eq!((reason(&cut, "j"), jobs(&cut).len()), (code, usize::from(code.is_none())));
    }
}

#[test]
fn tc_32_the_jobs_own_flag_wins() {
    for (of_workflow, of_job, matched) in [(true, false, 0), (false, true, 1)] {
        let mut world = world(&[("H", 1)], &["C"]);
        world.workflow(stating(central("w", 0), |it| it.allow_overflow = of_workflow));
        let own = PendingJob { allow_overflow: Some(of_job), ..listed("j", "w", 1, &["H"]) };
        world.pending(own);
        world.offer("o", "C", 1);
        assert_eq!(world.matched().len(), matched);
    }
}

#[test]
fn tc_33_a_host_without_slots_serves_nobody() {
    let mut world = world(&[], &["H", "C"]);
    world.pending(listed("j", "w", 1, &["H"]));
    world.offer("o", "C", 1);
    assert_eq!(reason(&world.cut(), "j"), Some("overflow_limit"));
}

#[test]
fn tc_34_overflow_slots_are_released_once() {
    let mut world = world(&[("H", 3)], &["C"]);
    for seq in 1..=2 {
        world.pending(listed(&format!("j{seq}"), "w", seq, &["H"]));
        world.offer(&format!("o{seq}"), "C", 1);
    }
    assert_eq!(world.matched(), ["j1", "j2"]);
    assert_eq!(world.overflow("H"), 2);
    assert!(world.pool.remove_job("j1").is_some());
    assert!(world.pool.remove_job("j1").is_none(), "a duplicate");
    assert_eq!(world.overflow("H"), 1);
}

#[test]
fn c_42_no_overflow_after_a_failed_remote_open() {
    use crate::domain::cms::policy::facts::FailureClass;
    let mut world = world(&[("H", 3)], &["C"]);
    let last_failure = Some(FailureClass::RemoteOpen);
    world.pending(PendingJob { last_failure, ..listed("j", "w", 1, &["H"]) });
    world.offer("o", "C", 1);
    assert_eq!(reason(&world.cut(), "j"), Some("overflow_failed_before"));
    world.offer("h", "H", 1);
    assert_eq!(world.matched(), ["j"]);
}

#[test]
fn tc_07_a_high_io_job_over_the_limit_is_passed_over() {
    let mut world = World::new();
    world.t2("T2_Y", 200);
    world.central("w", 0);
    let high_io = |name: &str, seq| PendingJob {
        high_io: true,
        system_job: true,
        ..listed(name, "w", seq, &["T2_Y"])
    };
    for seq in 1..=25 {
        let name = format!("r{seq}");
        let mut held = world.held(&name, "w", "T2_Y", 1);
        held.job = high_io(&name, seq);
        world.pool.put_held(held);
    }
    assert_eq!(world.high_io("T2_Y"), 25);
    world.pending(high_io("system", 100));
    world.pending(job("central", "w", 101));
    world.offer("o1", "T2_Y", 1);
    let cut = world.cut();
    assert_eq!(jobs(&cut), ["central"]);
    let refused = &cut.served[0].first_look.not_eligible;
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), ["highio_limit"]);
    world.pool.remove_job("r1");
    assert_eq!(world.one_by_one("T2_Y", 1), ["system"]);
}

#[test]
fn tc_52_high_io_does_not_overflow_by_default() {
    for (allowed, code) in [(false, Some("overflow_off")), (true, None)] {
        let settings = Settings { high_io_overflow: allowed, ..Settings::default() };
        let mut world = world_with(settings, &[("H", 3)], &["C"]);
        world.pending(PendingJob { high_io: true, ..listed("j", "w", 1, &["H"]) });
        world.offer("o", "C", 1);
        assert_eq!(reason(&world.cut(), "j"), code);
        assert_eq!(
            (world.overflow("H"), world.high_io("H")),
            match allowed {
                true => (1, 1),
                false => (0, 0),
            }
        );
    }
}

#[test]
fn c_36_the_status_of_a_site() {
    for (status, of_test, of_others) in [
        (SiteStatus::Online, true, true),
        (SiteStatus::Test, true, false),
        (SiteStatus::Drain, false, false),
        (SiteStatus::Offline, false, false),
    ] {
        for (site_test, expected) in [(true, of_test), (false, of_others)] {
            let mut world = World::new();
            world.site("T2_Y", SlotQuota { status, ..host("T2_Y", 0) });
            world.workflow(stating(central("w", 0), |it| it.site_test = site_test));
            world.many("w", 1);
            world.offer("o", "T2_Y", 1);
            let cut = world.cut();
            assert_eq!(jobs(&cut).len(), usize::from(expected), "{status:?} {site_test}");
            assert_eq!(reason(&cut, "w1"), (!expected).then_some("site_status"));
        }
    }
}

#[test]
fn c_03_whitelists_of_unknown_sites() {
    let mut world = world(&[("H", 3)], &["C"]);
    world.pending(listed("j", "w", 1, &["NEW"]));
    world.pending(PendingJob { allow_overflow: Some(false), ..listed("k", "w", 2, &["H"]) });
    world.offer("o", "C", 1);
    let cut = world.cut();
    assert_eq!((reason(&cut, "j"), reason(&cut, "k")), (Some("no_known_site"), Some("whitelist")));
    world.site("NEW", host("NEW", 0));
    world.offer("n", "NEW", 1);
    assert_eq!(world.matched(), ["j"], "once it is defined");
}
