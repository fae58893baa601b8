//! The candidate list, the flags of a case, and the division of jobs.

use super::{BOTH, task};
use crate::core::dice::Dice;
use crate::core::event::{ChunkKind, Status};
use crate::core::policy::sample::{candidate, load, policy, queue};
use crate::core::policy::{Preassigned, Rules};

#[test]
fn all_production_queues_are_candidates() {
    let task = task(|_| {});
    for rules in BOTH {
        let (policy, resolved) = policy(rules);
        let mut queue = queue("DESY-HH");
        assert!(policy.admits(&policy.case(&task, 0, &resolved), None, &queue, &resolved));
        queue.cloud.clear();
        assert!(!policy.admits(&policy.case(&task, 0, &resolved), None, &queue, &resolved));
        (queue.cloud, queue.production) = ("DE".into(), false);
        assert!(!policy.admits(&policy.case(&task, 0, &resolved), None, &queue, &resolved));
        queue.production = true;
        queue.ucore = true;
        assert!(
            !policy.admits(&policy.case(&task, 0, &resolved), None, &queue, &resolved),
            "a parent of pseudo-queues"
        );
        (queue.resource_type, queue.name) = ("MCORE".into(), "DESY-HH/MCORE".into());
        assert!(policy.admits(&policy.case(&task, 0, &resolved), None, &queue, &resolved));
    }
}

#[test]
fn queues_named_test_diff_9() {
    let plain = task(|_| {});
    for name in ["BNL_TEST", "test_queue", "ATesT", "CERN-PROD_TEST2"] {
        let queue = queue(name);
        for (rules, admitted) in BOTH.into_iter().zip([false, true]) {
            let (policy, resolved) = policy(rules);
            assert_eq!(
                policy.admits(&policy.case(&plain, 0, &resolved), None, &queue, &resolved),
                admitted,
                "{name}"
            );
            let named = task(|task| task.site = name.into());
            assert!(policy.admits(&policy.case(&named, 0, &resolved), None, &queue, &resolved));
        }
    }
    let (policy, resolved) = policy(Rules::Documented);
    assert!(policy.admits(&policy.case(&plain, 0, &resolved), None, &queue("TES_T"), &resolved));
}

#[test]
fn named_queues_are_the_list() {
    let (policy, resolved) = policy(Rules::Documented);
    let mut child = queue("DESY-HH/MCORE");
    (child.unified, child.resource_type, child.ucore) = ("DESY-HH".into(), "MCORE".into(), true);
    let mut offline = queue("BNL");
    (offline.production, offline.cloud) = (false, String::new());
    for (site, of_child, of_bnl, preassigned) in [
        ("", true, false, Preassigned::No),
        (" , ", true, false, Preassigned::No),
        ("DESY-HH", true, false, Preassigned::One),
        ("DESY-HH/MCORE", true, false, Preassigned::One),
        ("DESY-HH/SCORE", false, false, Preassigned::One),
        ("BNL", false, true, Preassigned::One),
        ("DESY-HH, BNL", true, true, Preassigned::List),
        ("DESY", false, false, Preassigned::One),
    ] {
        let task = task(|task| task.site = site.into());
        assert_eq!(
            policy.admits(&policy.case(&task, 0, &resolved), None, &child, &resolved),
            of_child,
            "{site}"
        );
        assert_eq!(
            policy.admits(&policy.case(&task, 0, &resolved), None, &offline, &resolved),
            of_bnl,
            "{site}"
        );
        assert_eq!(policy.case(&task, 0, &resolved).preassigned, preassigned, "{site}");
    }
}

#[test]
fn express_diff_1() {
    for (priority, kind, seed, code) in [
        (999, "simul", false, false),
        (1_000, "simul", true, false),
        (1_001, "simul", true, true),
        (0, "urgent", true, true),
    ] {
        let task = task(|task| {
            (task.priority, task.processing_type) = (priority, kind.into());
        });
        for (rules, expected) in BOTH.into_iter().zip([seed, code]) {
            let (policy, resolved) = policy(rules);
            assert_eq!(policy.case(&task, 7, &resolved).express, expected);
        }
    }
}

#[test]
fn jobs_are_divided_among_the_ranked() {
    let (policy, resolved) = policy(Rules::Documented);
    let queues: Vec<_> = (0..3).map(|n| queue(&format!("Q{n}"))).collect();
    let mut candidates: Vec<_> = queues.iter().map(candidate).collect();
    for candidate in &mut candidates {
        candidate.load = load(&[(Status::Running, 1_000)]);
        // Scouts go nowhere else.
        candidate.at_nucleus = true;
    }
    for chunk in [ChunkKind::Normal, ChunkKind::Scout, ChunkKind::Merge] {
        let task = task(|task| (task.jobs, task.chunk) = (101, chunk));
        let mut case = policy.case(&task, 0, &resolved);
        case.nucleus.known = true;
        let judgement = policy.judge(&case, &candidates[..], &resolved);
        let divide = |cycle| {
            let mut dice = Dice::of("atlas", &task.subject, task.attempt, 1, cycle);
            policy.divide(&case, &candidates[..], &judgement, &resolved, &mut dice)
        };
        let given = divide(1);
        assert!(!given.is_empty(), "{:?}", judgement.fates);
        assert_eq!(given.len(), judgement.ranked.len());
        assert_eq!(given.iter().sum::<u32>(), 101);
        assert_eq!(given, divide(1));
        let bunch = if chunk == ChunkKind::Scout { 2 } else { 25 };
        assert_eq!(given.iter().filter(|jobs| !jobs.is_multiple_of(bunch)).count(), 1, "{given:?}");
        assert!((2..20).any(|cycle| divide(cycle) != given));
    }
}

/// A queue at twice its running jobs takes no more; an express chunk knows no caps.
#[test]
fn the_division_keeps_to_the_caps() {
    let (policy, resolved) = policy(Rules::Documented);
    let queues: Vec<_> = (0..2).map(|n| queue(&format!("Q{n}"))).collect();
    let mut candidates: Vec<_> = queues.iter().map(candidate).collect();
    candidates[0].load = load(&[(Status::Running, 10_000), (Status::Activated, 19_990)]);
    candidates[1].load = load(&[(Status::Running, 10_000), (Status::Activated, 19_000)]);
    candidates.iter_mut().for_each(|candidate| candidate.at_nucleus = true);
    let given = |priority: i32| {
        let task = task(|task| (task.jobs, task.priority) = (1_000, priority));
        let mut case = policy.case(&task, 0, &resolved);
        case.nucleus.known = true;
        let judgement = policy.judge(&case, &candidates[..], &resolved);
        let mut dice = Dice::of("atlas", "7", 0, 1, 1);
        let given = policy.divide(&case, &candidates[..], &judgement, &resolved, &mut dice);
        let of = |queue: &str| {
            let mut ranked = judgement.ranked.iter();
            let name = |c: u32| &candidates[c as usize].queue.name;
            ranked.position(|chosen| name(chosen.candidate) == queue).map(|at| given[at])
        };
        [of("Q0"), of("Q1")]
    };
    assert_eq!(given(500), [Some(25), Some(975)], "one bunch takes Q0 over its cap");
    let [Some(first), Some(second)] = given(1_000) else { panic!("both passed") };
    assert!(first > 300 && second > 300, "{first} {second}");
}
