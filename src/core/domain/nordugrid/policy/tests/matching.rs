//! TN-16 to TN-20: what a job asks for against what a target publishes.

use super::world::World;
use crate::event::{BatchFacts, ClusterFacts};

/// The reason for which a target is refused; empty if it is not.
fn reason(
    attribute: &str,
    cluster: impl FnOnce(&mut ClusterFacts),
    share: impl FnOnce(&mut BatchFacts),
) -> &'static str {
    let mut world = World::new();
    world.open("ce-a/q", "10");
    world.cluster("ce-a", cluster);
    world.queue("ce-a/q", share);
    let answer = world.decide("gsid-0001", &format!("&(executable=run){attribute}"));
    answer.refused.get("ce-a/q").copied().unwrap_or_default()
}

fn texts(of: &[&str]) -> Vec<String> {
    of.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn tn_16_grid_time_is_scaled_to_the_clock() {
    let with = |max_minutes: u64, clock_mhz| {
        let limit = |it: &mut BatchFacts| it.max_cpu_time_s = Some(max_minutes * 60);
        reason("(gridtime=600)", |it| it.clock_mhz = clock_mhz, limit)
    };
    assert_eq!((with(660, Some(2500)), with(672, Some(2500))), ("match:gridtime", ""));
    assert_eq!((with(1679, None), with(1680, None)), ("match:gridtime", ""), "1000 MHz");
    assert_eq!(with(672, Some(2501)), "");
}

#[test]
fn tn_17_memory_that_nobody_publishes_is_not_enough() {
    let with = |queue, node| {
        reason("(memory=2000)", |it| it.node_memory_mb = node, |it| it.max_memory_mb = queue)
    };
    assert_eq!(with(None, None), "match:memory");
    assert_eq!((with(None, Some(2000)), with(None, Some(1999))), ("", "match:memory"));
    assert_eq!(with(Some(1999), Some(4000)), "match:memory", "the queue's figure comes first");
}

#[test]
fn tn_18_limits_that_are_not_published_hold_nothing_back() {
    assert_eq!(reason("(cputime=100)", |_| (), |_| ()), "");
    assert_eq!(reason("(walltime=100)", |_| (), |_| ()), "");
}

#[test]
fn cpu_time_is_compared_for_each_slot_and_as_a_whole() {
    let with = |attribute: &str, change: fn(&mut BatchFacts)| reason(attribute, |_| (), change);
    let thirds = "(cputime=\"10 s\")(count=3)";
    assert_eq!(with(thirds, |it| it.max_cpu_time_s = Some(3)), "match:cputime", "10 / 3 > 3");
    assert_eq!(with(thirds, |it| it.max_cpu_time_s = Some(4)), "");
    assert_eq!(with(thirds, |it| it.min_cpu_time_s = Some(4)), "match:cputime");
    assert_eq!(with(thirds, |it| it.max_total_cpu_time_s = Some(9)), "match:cputime");
    assert_eq!(with(thirds, |it| it.max_total_cpu_time_s = Some(10)), "");
    assert_eq!(with("(walltime=2)", |it| it.max_wall_time_s = Some(119)), "match:walltime");
    assert_eq!(with("(walltime=2)", |it| it.min_wall_time_s = Some(121)), "match:walltime");
}

#[test]
fn tn_19_versions_compare_by_their_numbers() {
    let with = |published: &str| {
        let publish = |it: &mut ClusterFacts| it.runtime_environments = texts(&["X-1", published]);
        reason("(runtimeenvironment>=\"ROOT-6.20\")", publish, |_| ())
    };
    assert_eq!((with("ROOT-6.3"), with("ROOT-6.22")), ("match:runtimeenvironment", ""));
    assert_eq!(with("PYTHON-9"), "match:runtimeenvironment");
}

#[test]
fn what_is_refused_may_not_be_published_and_nothing_published_fails_all() {
    let with = |attribute: &str, published: &[&str]| {
        let publish = |it: &mut ClusterFacts| {
            (it.middleware, it.operating_systems) = (texts(published), texts(published));
        };
        reason(attribute, publish, |_| ())
    };
    let refused = "(middleware!=\"arc-5.0\")";
    assert_eq!(with(refused, &["arc-5", "x-1"]), "match:middleware");
    assert_eq!(with(refused, &["arc-6", "x-1"]), "");
    assert_eq!(with(refused, &[]), "match:middleware");
    assert_eq!(with("(opsys=\"centos-7\")", &["centos-8"]), "match:opsys");
    assert_eq!(with("(opsys=\"centos-7\")(opsys<\"centos-9\")", &["centos-7"]), "");
}

#[test]
fn tn_20_every_access_wanted_must_be_given() {
    let with = |inbound, outbound| {
        let give = |it: &mut ClusterFacts| (it.inbound, it.outbound) = (inbound, outbound);
        reason("(nodeaccess=inbound outbound)", give, |_| ())
    };
    assert_eq!(with(false, true), "match:nodeaccess");
    assert_eq!(with(true, false), "match:nodeaccess");
    assert_eq!(with(false, false), "match:nodeaccess");
    assert_eq!(with(true, true), "");
}

#[test]
fn clusters_go_by_either_name_in_any_case_and_queues_by_theirs() {
    let with = |attribute: &str| reason(attribute, |it| it.alias = "Alpha".to_owned(), |_| ());
    for passes in
        ["(cluster=CE-A)", "(cluster=alpha)", "(cluster!=ce-b)", "(queue=q)", "(queue!=Q)"]
    {
        assert_eq!(with(passes), "", "{passes}");
    }
    for fails in ["(cluster=ce-b)", "(cluster!=ALPHA)", "(cluster=ce-a)(cluster!=ce-a)"] {
        assert_eq!(with(fails), "match:cluster", "{fails}");
    }
    for fails in ["(queue=Q)", "(queue!=q)"] {
        assert_eq!(with(fails), "match:queue", "{fails}");
    }
}

#[test]
fn a_count_must_fit_queue_cluster_and_the_most_of_one_job() {
    let with = |cluster, queue, job| {
        let share = |it: &mut BatchFacts| {
            (it.total_slots, it.max_slots_per_job) = (queue, job);
        };
        reason("(count=8)", |it| it.total_slots = cluster, share)
    };
    assert_eq!(with(Some(8), None, None), "");
    assert_eq!(with(Some(7), Some(9), None), "match:count");
    assert_eq!(with(Some(9), Some(7), None), "match:count");
    assert_eq!(with(Some(9), Some(9), Some(7)), "match:count");
}

#[test]
fn architectures_are_equal() {
    let with = |attribute: &str, published: &str| {
        reason(attribute, |it| it.architecture = published.to_owned(), |_| ())
    };
    assert_eq!(with("(architecture=x86_64)", "x86_64"), "");
    assert_eq!(with("(architecture=x86_64)", "X86_64"), "match:architecture");
    assert_eq!(with("(architecture=x86_64)", ""), "match:architecture");
}
