//! Analysis: the worked examples of spec atlas 13.7, both sides of the differences, and laws.

use super::super::sample::{candidate, case, counted, load, queue, storage, task};
use super::super::stabilizer::{Stabilizer, Stabilizing};
use super::super::typed::read;
use super::BOTH;
use crate::core::event::{
    ChunkKind, Dataset, DatasetReplica, Endpoints, Queue, Scope, Status, Storage, Task,
};
use crate::core::policy::rule::Rule;
use crate::core::policy::{
    Candidate, Case, Judgement, Owner, Policy, PolicySpec, Preassigned, Resolved, Rules, Slots,
    Stores, Totals, UserView, Values, kind,
};
use proptest::prelude::*;

fn policy(rules: Rules) -> (Policy, Resolved) {
    with(rules, &[])
}

/// A policy with gdpconfig values (`component/key`, value).
fn with(rules: Rules, gdp: &[(&str, &str)]) -> (Policy, Resolved) {
    let flavour = kind("atlas-analysis-job").expect("built in");
    let spec = PolicySpec::full("analysis-job", flavour, rules);
    let policy = Policy::compile(&spec).expect("the defaults are allowed");
    let lookup = |component: &str, key: &str| {
        let wanted = format!("{component}/{key}");
        gdp.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
    };
    let resolved = policy.resolve(&lookup, "User Analysis");
    (policy, resolved)
}

fn user_task() -> Task {
    Task {
        label: "user".into(),
        gshare: "User Analysis".into(),
        nucleus: String::new(),
        working_group: String::new(),
        core_count: Some(1),
        jobs: 30,
        ..task()
    }
}

fn user_case(task: &Task) -> Case<'_> {
    Case { scope: Scope::Analysis, preassigned: Preassigned::No, ..case(task) }
}

/// A queue for analysis with an output endpoint, the first of those in [`store`].
fn user_queue(name: &str) -> Queue {
    let own = Endpoints { read: vec![format!("{name}_DISK")], write: vec!["OUT".into()] };
    Queue { analysis: true, cores: 1, releases: vec!["ANY".into()], endpoints: own, ..queue(name) }
}

fn store() -> &'static [Option<Storage>] {
    Box::leak(Box::new([Some(storage())]))
}

fn at<'a>(queue: &'a Queue, store: &'a [Option<Storage>]) -> Candidate<'a> {
    let outputs = Stores { all: store, at: &[0] };
    Candidate { outputs, output: store[0].as_ref(), ..candidate(queue) }
}

fn chosen(judgement: &Judgement, candidates: &[Candidate<'_>]) -> Vec<String> {
    let mut names: Vec<String> = judgement
        .ranked
        .iter()
        .map(|it| candidates[it.candidate as usize].queue.name.clone())
        .collect();
    names.sort_unstable();
    names
}

/// The reason for which a task must wait.
fn held(rules: Rules, gdp: &[(&str, &str)], case: &Case<'_>) -> Option<&'static str> {
    let (policy, resolved) = with(rules, gdp);
    let nothing: [Candidate<'_>; 0] = [];
    policy.judge(case, nothing.as_slice(), &resolved).held.map(|held| held.reason.name())
}

#[test]
fn owners_wait_above_their_caps() {
    let (mut task, gdp) = (user_task(), [("prio_mgr/CAP_RUNNING_USER_JOBS", "10000")]);
    let says = |task: &Task, running_jobs, queued_jobs| {
        let totals = Some(Totals { running_jobs, queued_jobs, ..Totals::default() });
        let owner = Owner { totals, ..Owner::default() };
        held(Rules::Documented, &gdp, &Case { owner, ..user_case(task) })
    };
    assert_eq!(says(&task, 10_000, 20_000), None);
    assert_eq!(says(&task, 10_001, 0), Some("running_jobs_cap"));
    assert_eq!(says(&task, 0, 20_001), Some("queued_jobs_cap"));
    task.working_group = "phys-higgs".into();
    assert_eq!(says(&task, 10_001, 0), None, "that cap is for users");
}

/// Between the limit and what lifts it, and in its least time below that.
#[test]
fn who_is_throttled_waits_until_that_is_lifted() {
    let (task, gdp) = (user_task(), [("prio_mgr/CAP_RUNNING_USER_JOBS", "100")]);
    let (policy, resolved) = with(Rules::Documented, &gdp);
    let says = |chunk, running_jobs, rule: Rule| {
        let totals = Some(Totals { running_jobs, ..Totals::default() });
        let (quota_used, throttled) = (Some(0.95), vec![rule]);
        let (share_usage, task_class) = (Some(0.8), Some(-1));
        let owner =
            Owner { totals, quota_used, share_usage, task_class, throttled, ..Owner::default() };
        let task = Task { chunk, ..task.clone() };
        let nothing: [Candidate<'_>; 0] = [];
        let judgement =
            policy.judge(&Case { owner, ..user_case(&task) }, nothing.as_slice(), &resolved);
        judgement.held.map(|held| (held.reason.name(), held.measured, held.limit))
    };
    let normal = ChunkKind::Normal;
    assert_eq!(says(normal, 95, Rule::RunningJobs), Some(("running_jobs_cap", 95.0, 90.0)));
    assert_eq!(says(normal, 3, Rule::RunningJobs), Some(("running_jobs_cap", 3.0, 90.0)));
    assert_eq!(says(ChunkKind::Merge, 95, Rule::RunningJobs), None, "no cap is for merging");
    assert_eq!(says(normal, 95, Rule::RunningCores), None, "there is no cap on cores");
    assert_eq!(says(normal, 95, Rule::Quota), Some(("over_global_quota", 95.0, 90.0)));
    assert_eq!(says(ChunkKind::Merge, 95, Rule::Quota), Some(("over_global_quota", 95.0, 90.0)));
    assert_eq!(says(normal, 95, Rule::Share), Some(("gshare_class_c", 80.0, 81.0)));
}

#[test]
fn lower_classes_wait_when_the_share_is_used_up() {
    let task = user_task();
    let says = |rules, class, percent: f64, slots: f64| {
        let owner = Owner {
            share_usage: Some(percent / 100.0),
            task_class: Some(class),
            remaining_slots: Some(1_000.0 - slots),
            ..Owner::default()
        };
        held(rules, &[], &Case { owner, ..user_case(&task) })
    };
    for rules in BOTH {
        assert_eq!(says(rules, -1, 92.0, 0.0), Some("gshare_class_c"));
        assert_eq!(says(rules, 0, 92.0, 0.0), None);
        assert_eq!(says(rules, 0, 96.0, 0.0), Some("gshare_class_b"));
        assert_eq!(says(rules, 2, 1_000.0, 500.0), None, "class S");
        let stops = |percent, slots| says(rules, 1, percent, slots).is_some();
        assert_eq!((stops(199.0, 500.0), stops(201.0, 500.0)), (false, true));
        assert_eq!((stops(999.0, 100.0), stops(1_001.0, 100.0)), (false, true));
        assert!(!stops(100_000.0, 0.0));
    }
    assert_eq!(says(Rules::Documented, 1, 99.0, 1_500.0), None, "never below the target");
    assert_eq!(says(Rules::Panda, 1, 99.0, 1_500.0), Some("gshare_class_a"));
}

/// The same from what is counted: the class and what is left of the threshold follow from slots.
#[test]
fn the_class_follows_from_the_users_slots() {
    let mut task = user_task();
    let (policy, resolved) = policy(Rules::Documented);
    let nothing: [Candidate<'_>; 0] = [];
    let says = |task: &Task, hi, hi_mid, percent: f64| {
        let slots = Some(Slots { hi, hi_mid });
        let owner = Owner { slots, share_usage: Some(percent / 100.0), ..Owner::default() };
        let mut case = Case { owner, ..user_case(task) };
        policy.complete(&mut case, &resolved);
        assert_eq!(case.owner.outcomes_ms, 6 * crate::core::unit::HOUR);
        policy.judge(&case, nothing.as_slice(), &resolved).held.map(|held| held.reason.name())
    };
    assert_eq!(says(&task, 500, 500, 201.0), Some("gshare_class_a"));
    assert_eq!(says(&task, 500, 500, 199.0), None);
    assert_eq!(says(&task, 0, 50_000, 100_000.0), None, "nothing runs at hi-sites");
    assert_eq!(says(&task, 1_500, 1_500, 96.0), Some("gshare_class_b"));
    assert_eq!(says(&task, 1_500, 1_500, 95.0), None);
    assert_eq!(says(&task, 1_500, 8_000, 92.0), Some("gshare_class_c"));
    assert_eq!(says(&task, 1_500, 8_000, 90.0), None);
    let files = (&mut task.options.finished_files, &mut task.options.remaining_files);
    (*files.0, *files.1) = (95, 5);
    task.options.remaining_jobs = 10;
    assert_eq!(says(&task, 1_500, 1_500, 1_000.0), None, "nearly done: class S");
    task.gshare = "Group Analysis".into();
    assert_eq!(says(&task, 1_500, 8_000, 1_000.0), None, "another share");
}

#[test]
fn quotas_stop_owners() {
    let task = user_task();
    let says = |rules, used| {
        let owner = Owner { quota_used: Some(used), ..Owner::default() };
        held(rules, &[], &Case { owner, ..user_case(&task) })
    };
    assert_eq!(says(Rules::Documented, 0.95), None);
    assert_eq!(says(Rules::Panda, 0.95), Some("near_global_quota"));
    assert_eq!(says(Rules::Panda, 0.9), None);
    for rules in BOTH {
        assert_eq!(says(rules, 1.01), Some("over_global_quota"));
    }
}

/// The stabilizer's table: jobs queued and running in the share, starts an hour, running jobs of
/// the user, users, queued jobs of the user; whether exempt, the limit.
#[test]
fn the_stabilizer_gives_the_specifications_numbers() {
    let queue = user_queue("Q");
    for (queued, running, trr, own, users, own_queued, exempt, most) in [
        (80, 10, 1.0, 0, 3, 60, true, None),
        (300, 100, 50.0, 10, 5, 200, true, None),
        (900, 100, 40.0, 20, 5, 400, false, Some(96.0)),
        (500, 0, 0.0, 0, 4, 30, false, Some(25.0)),
        (2_000, 500, 100.0, 10, 20, 250, false, Some(60.0)),
    ] {
        let jobs = load(&[(Status::Activated, queued), (Status::Running, running)]);
        let user = UserView {
            present: true,
            queued: own_queued,
            running: own,
            users: Some(users),
            starts_per_hour: trr,
            ..UserView::default()
        };
        let candidate =
            Candidate { load: jobs, load_all: counted(jobs), user, ..candidate(&queue) };
        for rules in BOTH {
            let found = Stabilizer::of(
                &candidate,
                &read!(Stabilizing, Values::defaults(Stabilizing::DECLARED, rules)),
            );
            assert_eq!(found.exempt, exempt, "{queued} queued");
            assert!(most.is_none_or(|most: f64| (found.most - most).abs() < 1e-9), "{found:?}");
            assert!(exempt || found.queued > found.most);
        }
    }
}

/// Weights of the specification's example, by class of the task.
#[test]
fn classes_weigh_as_the_example_says() {
    let sites = [("H1", 1, 20), ("H2", 1, 60), ("L1", -1, 50), ("M1", 0, 0)];
    let queues: Vec<Queue> = sites.iter().map(|(name, ..)| user_queue(name)).collect();
    let task = user_task();
    let candidates: Vec<Candidate<'_>> = queues
        .iter()
        .zip(sites)
        .map(|(queue, (_, site_class, queued))| {
            let user = UserView { site_class, queued, ..UserView::default() };
            Candidate { user, ..at(queue, store()) }
        })
        .collect();
    // Each limit is 100: the room is 80, 40, 50 and 100.
    let weigh = |class| {
        let owner = Owner { task_class: Some(class), ..Owner::default() };
        let (policy, resolved) = policy(Rules::Panda);
        let case = Case { owner, ..user_case(&task) };
        let judgement = policy.judge(&case, candidates.as_slice(), &resolved);
        let mut weights = [0.0; 4];
        for it in judgement.ranked {
            weights[it.candidate as usize] = it.weighed.total;
        }
        weights
    };
    for (class, expected) in [
        (1, [21.625269, 8.322733, 0.002001, 0.050001]),
        (0, [0.000668, 0.000334, 0.100001, 29.900001]),
        (-1, [0.000668, 0.000334, 30.000001, 0.001001]),
    ] {
        for (ours, theirs) in weigh(class).into_iter().zip(expected) {
            assert!((ours - theirs).abs() < 1e-5, "class {class}: {ours} is not {theirs}");
        }
    }
}

#[test]
fn the_original_weight_is_running_over_queued() {
    let (queue, task) = (user_queue("Q"), user_task());
    let weigh = |counts: &[(Status, u32)]| {
        let jobs = load(counts);
        let candidate = Candidate { load: jobs, load_all: counted(jobs), ..at(&queue, store()) };
        let (policy, resolved) = policy(Rules::Documented);
        let judgement = policy.judge(&user_case(&task), [candidate].as_slice(), &resolved);
        judgement.ranked.first().map(|it| it.weighed.total).unwrap_or(-1.0)
    };
    let [r, a, d] = [Status::Running, Status::Activated, Status::Defined];
    assert!((weigh(&[(r, 100), (a, 20), (d, 5)]) - 101.0 / 26.0).abs() < 1e-12);
    assert!((weigh(&[]) - 1.0).abs() < 1e-12);
    assert!((weigh(&[(r, 1_000)]) - 1_001.0).abs() < 1e-12);
    assert!((weigh(&[(d, 200)]) - 1.0 / 201.0).abs() < 1e-12);
}

#[test]
fn a_queue_where_too_many_failed_is_left_alone() {
    let (queue, task) = (user_queue("Q"), user_task());
    let keeps = |rules, finished, failed, closed| {
        let user = UserView { finished, failed, closed, ..UserView::default() };
        let candidate = Candidate { user, ..at(&queue, store()) };
        let (policy, resolved) = policy(rules);
        let judgement = policy.judge(&user_case(&task), [candidate].as_slice(), &resolved);
        !judgement.ranked.is_empty()
    };
    assert!(!keeps(Rules::Documented, 10, 15, 5), "20 must be less than 20");
    assert!(keeps(Rules::Documented, 0, 4, 0));
    assert!(keeps(Rules::Panda, 10, 20, 0), "nothing is asked where little is queued");
    assert!(!keeps(Rules::Panda, 10, 0, 1), "closed jobs alone are enough");
}

/// A task whose input lies at one endpoint.
fn reading(endpoint: &str) -> Task {
    let mut task = user_task();
    let replica = DatasetReplica {
        endpoint: endpoint.into(),
        files: 10,
        files_total: 10,
        ..DatasetReplica::default()
    };
    let replicas = vec![replica];
    task.input.datasets =
        vec![Dataset { name: "data".into(), primary: true, replicas, ..Dataset::default() }];
    task
}

#[test]
fn data_decide_until_no_queue_is_left() {
    let (mut far, near) = (user_queue("A"), user_queue("B"));
    for rules in BOTH {
        let (policy, resolved) = policy(rules);
        let task = reading("B_DISK");
        let both = [at(&far, store()), at(&near, store())];
        let judgement = policy.judge(&user_case(&task), both.as_slice(), &resolved);
        assert_eq!((chosen(&judgement, &both), judgement.pass), (vec!["B".to_owned()], 1));
        let offline = Queue { status: crate::core::event::QueueStatus::Offline, ..near.clone() };
        let both = [at(&far, store()), at(&offline, store())];
        let judgement = policy.judge(&user_case(&task), both.as_slice(), &resolved);
        assert_eq!((chosen(&judgement, &both), judgement.pass), (vec!["A".to_owned()], 2));
        let mut urgent = task.clone();
        urgent.task_priority = 2_000;
        let both = [at(&far, store()), at(&near, store())];
        let judgement = policy.judge(&user_case(&urgent), both.as_slice(), &resolved);
        let expected = if rules == Rules::Documented { 2 } else { 1 };
        assert_eq!(chosen(&judgement, &both).len(), expected, "{rules:?}");
    }
    far.endpoints.read = vec!["B_DISK".into()];
    let both = [at(&far, store()), at(&near, store())];
    let (policy, resolved) = policy(Rules::Documented);
    let judgement = policy.judge(&user_case(&reading("B_DISK")), both.as_slice(), &resolved);
    assert_eq!(chosen(&judgement, &both).len(), 2);
}

proptest! {
    /// Whatever the figures, a weight is finite and not negative, and every candidate has one fate.
    #[test]
    fn weights_are_numbers(
        dice in prop::collection::vec(prop::collection::vec(any::<u16>(), 8), 1..12),
        jobs in 0u32..5_000,
        class in -1i8..=2,
        version in 0usize..3,
    ) {
        let queues: Vec<Queue> = (0..dice.len()).map(|at| user_queue(&format!("Q{at}"))).collect();
        let candidates: Vec<Candidate<'_>> = queues.iter().zip(&dice).map(|(queue, dice)| {
            let jobs = load(&[
                (Status::Running, u32::from(dice[0]) / 64),
                (Status::Activated, u32::from(dice[1]) / 64),
            ]);
            let user = UserView {
                present: dice[2] % 2 == 0,
                queued: u32::from(dice[3]) / 32,
                running: u32::from(dice[4]) / 128,
                users: dice[5].is_multiple_of(3).then_some(u32::from(dice[5] % 5)),
                all_running: dice[5].is_multiple_of(2).then_some(u32::from(dice[6] % 50)),
                starts_per_hour: f64::from(dice[6]),
                site_class: (dice[7] % 3) as i8 - 1,
                ..UserView::default()
            };
            Candidate { load: jobs, load_all: counted(jobs), user, ..at(queue, store()) }
        }).collect();
        let flavour = kind("atlas-analysis-job").expect("built in");
        let rules = if version == 0 { Rules::Documented } else { Rules::Panda };
        let mut spec = PolicySpec::full("analysis-job", flavour, rules);
        if version == 2 {
            let word = crate::core::policy::Arg::Text("seed".into());
            let step = spec.weights.iter_mut().find(|step| step.name == "classes");
            step.expect("listed").args.push(("version".into(), word));
        }
        let policy = Policy::compile(&spec).expect("allowed");
        let task = Task { jobs, ..user_task() };
        let owner = Owner { task_class: Some(class), ..Owner::default() };
        let case = Case { owner, ..user_case(&task) };
        let judgement = policy.judge(&case, candidates.as_slice(), &policy.unchanged());
        for it in &judgement.ranked {
            prop_assert!(it.weighed.total.is_finite() && it.weighed.total >= 0.0);
        }
        let passed = judgement.passed as usize;
        prop_assert_eq!(passed + judgement.fates.len(), candidates.len());
    }
}
