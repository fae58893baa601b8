//! Analysis: requests that wait as a whole where no facts can lead, and laws.

use super::super::sample::{candidate, case, counted, load, queue, storage, task};
use super::BOTH;
use crate::domain::atlas::policy::{
    Candidate, Candidates, Case, Owner, Preassigned, Stores, UserView,
};
use crate::event::{ChunkKind, Endpoints, Queue, Scope, Status, Storage, Task};
use crate::policy::rule::Rule;
use crate::policy::{Policy, PolicySpec, Resolved, Rules, Totals, kind};
use proptest::prelude::*;

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

/// The reason for which a task must wait.
fn held(rules: Rules, gdp: &[(&str, &str)], case: &Case<'_>) -> Option<&'static str> {
    let (policy, resolved) = with(rules, gdp);
    let nothing: [Candidate<'_>; 0] = [];
    policy.judge(case, nothing.as_slice(), &resolved).wait.map(|wait| wait.reason.name())
}

/// Between the limit and what lifts it, and in its least time below that; without a margin an owner
/// is free at the limit.
#[test]
fn who_is_throttled_waits_until_that_is_lifted() {
    let (task, gdp) = (user_task(), [("prio_mgr/CAP_RUNNING_USER_JOBS", "100")]);
    let wait_by = |rules, chunk, running_jobs, rule: Rule| {
        let (policy, resolved) = with(rules, &gdp);
        let totals = Some(Totals { running_jobs, ..Totals::default() });
        let (quota_used, throttled) = (Some(0.95), vec![rule]);
        let (share_usage, task_class) = (Some(0.8), Some(-1));
        let owner =
            Owner { totals, quota_used, share_usage, task_class, throttled, ..Owner::default() };
        let task = Task { chunk, ..task.clone() };
        let nothing: [Candidate<'_>; 0] = [];
        let judgement =
            policy.judge(&Case { owner, ..user_case(&task) }, nothing.as_slice(), &resolved);
        judgement.wait.map(|held| (held.reason.name(), held.measured, held.limit))
    };
    let normal = ChunkKind::Normal;
    let free = |jobs| wait_by(Rules::Documented, normal, jobs, Rule::RunningJobs).is_none();
    assert_eq!([100, 101].map(free), [true, false], "at the limit, although it was throttled");
    let wait = |chunk, jobs, rule| wait_by(Rules::Tuned, chunk, jobs, rule);
    assert_eq!(wait(normal, 95, Rule::RunningJobs), Some(("running_jobs_cap", 95.0, 90.0)));
    assert_eq!(wait(normal, 3, Rule::RunningJobs), Some(("running_jobs_cap", 3.0, 90.0)));
    assert_eq!(wait(ChunkKind::Merge, 95, Rule::RunningJobs), None, "no cap is for merging");
    assert_eq!(wait(normal, 95, Rule::RunningCores), None, "there is no cap on cores");
    assert_eq!(wait(normal, 95, Rule::Quota), Some(("over_global_quota", 95.0, 90.0)));
    assert_eq!(wait(ChunkKind::Merge, 95, Rule::Quota), Some(("over_global_quota", 95.0, 90.0)));
    assert_eq!(wait(normal, 95, Rule::Share), Some(("gshare_class_c", 80.0, 81.0)));
}

#[test]
fn lower_classes_wait_when_the_share_is_used_up() {
    let task = user_task();
    let wait = |rules, class, percent: f64, slots: f64| {
        let owner = Owner {
            share_usage: Some(percent / 100.0),
            task_class: Some(class),
            remaining_slots: Some(1_000.0 - slots),
            ..Owner::default()
        };
        held(rules, &[], &Case { owner, ..user_case(&task) })
    };
    for rules in BOTH {
        assert_eq!(wait(rules, -1, 92.0, 0.0), Some("gshare_class_c"));
        assert_eq!(wait(rules, 0, 92.0, 0.0), None);
        assert_eq!(wait(rules, 0, 96.0, 0.0), Some("gshare_class_b"));
        assert_eq!(wait(rules, 2, 1_000.0, 500.0), None, "class S");
        let stops = |percent, slots| wait(rules, 1, percent, slots).is_some();
        assert_eq!((stops(199.0, 500.0), stops(201.0, 500.0)), (false, true));
        assert_eq!((stops(999.0, 100.0), stops(1_001.0, 100.0)), (false, true));
        assert!(!stops(100_000.0, 0.0));
    }
    assert_eq!(wait(Rules::Documented, 1, 99.0, 1_500.0), None, "never below the target");
    assert_eq!(wait(Rules::Panda, 1, 99.0, 1_500.0), Some("gshare_class_a"));
}

/// Candidates with their configuration alone, then without what is known of the user, until these
/// are asked for.
pub(super) struct AllLate<'a>(pub(super) &'a [Candidate<'a>]);

impl Candidates for AllLate<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn at(&self, index: u32) -> Candidate<'_> {
        self.0.at(index)
    }

    fn queue(&self, index: u32) -> &Queue {
        self.0.queue(index)
    }

    fn bare(&self, index: u32) -> Candidate<'_> {
        let Candidate { queue, inputs, outputs, input, output, .. } = self.at(index);
        let Candidate { software, all_software, at_nucleus, .. } = self.at(index);
        let configured = Candidate {
            inputs,
            outputs,
            input,
            output,
            software,
            all_software,
            ..candidate(queue)
        };
        Candidate { at_nucleus, pilots: 0, ..configured }
    }

    fn fill<'s>(&'s self, index: u32, candidate: &mut Candidate<'s>) {
        *candidate = Candidate { user: UserView::default(), ..self.at(index) };
    }

    fn add_user(&self, index: u32, candidate: &mut Candidate<'_>) {
        candidate.user = self.at(index).user;
    }
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
                failed: u32::from(dice[7] % 11),
                closed: u32::from(dice[2] % 7 / 5),
                ..UserView::default()
            };
            Candidate { load: jobs, load_all: counted(jobs), user, ..at(queue, store()) }
        }).collect();
        let flavour = kind("atlas-analysis-job").expect("built in");
        let rules = if version == 0 { Rules::Documented } else { Rules::Panda };
        let mut spec = PolicySpec::full("analysis-job", flavour, rules);
        if version == 2 {
            let word = crate::policy::Arg::Text("seed".into());
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
        let late = policy.judge(&case, &AllLate(&candidates), &policy.unchanged());
        prop_assert_eq!(late, judgement, "something was looked at too early");
    }
}

/// Ties are shuffled before the best are kept (spec atlas 8.7): no queue is left out for its name.
#[test]
fn of_equal_queues_each_task_draws_its_own() {
    let queues: Vec<Queue> = (0..20).map(|at| user_queue(&format!("Q{at:02}"))).collect();
    let (policy, resolved) = with(Rules::Panda, &[]);
    let kept = |subject: String, attempt: u64| -> Vec<u32> {
        let task = Task { subject, attempt, ..user_task() };
        let candidates: Vec<Candidate<'_>> = queues.iter().map(|it| at(it, store())).collect();
        let judgement = policy.judge(&user_case(&task), candidates.as_slice(), &resolved);
        judgement.ranked.iter().map(|it| it.candidate).collect()
    };
    assert_eq!(kept("7/1".into(), 0), kept("7/1".into(), 0));
    assert_ne!(kept("7/1".into(), 0), kept("7/1".into(), 1));
    let mut times = vec![0; queues.len()];
    for task in 0..200 {
        let kept = kept(format!("{task}/1"), 0);
        assert_eq!(kept.len(), 10);
        kept.iter().for_each(|at| times[*at as usize] += 1);
    }
    assert!(times.iter().all(|it| (60..140).contains(it)), "of 200, some 100 each: {times:?}");
}
