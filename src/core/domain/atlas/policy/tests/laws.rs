//! Laws of judging: order of candidates is nothing, the same twice, first objection wins.

use super::analysis::AllLate;
use super::{BOTH, task};
use crate::domain::atlas::policy::sample::{candidate, case, counted, load, policy, queue};
use crate::domain::atlas::policy::{Candidate, Judgement, LinkView, Preassigned};
use crate::event::{ChunkKind, Queue, QueueStatus, Status, Task};
use crate::policy::{FilterFunction, Objection, Policy, Rules};
use proptest::prelude::*;

/// A queue by a few small numbers, so that every filter objects now and then.
pub(super) fn odd_queue(number: usize, dice: &[u8]) -> Queue {
    let mut queue = queue(&format!("Q{number:03}"));
    let pick = |at: usize, choices: &[u32]| choices[usize::from(dice[at]) % choices.len()];
    queue.status =
        QueueStatus::ALL[usize::from(dice[0]) % 6 * usize::from(dice[0].is_multiple_of(4))];
    queue.cores = pick(1, &[8, 8, 8, 16, 1]);
    queue.max_rss_mb = pick(2, &[0, 16_000, 32_000, 8_000]);
    queue.max_time_s = pick(3, &[0, 172_800, 345_600, 600]);
    queue.max_wdir_mb = pick(4, &[0, 120_000, 20_000, 8_000]);
    queue.transferring_limit = pick(5, &[0, 0, 10, 3_000]);
    queue
}

pub(super) fn odd_candidate<'a>(queue: &'a Queue, dice: &[u8]) -> Candidate<'a> {
    let mut candidate = candidate(queue);
    let count = |at: usize| u32::from(dice[at]);
    candidate.load = load(&[
        (Status::Running, count(6) / 2),
        (Status::Activated, count(7)),
        (Status::Assigned, count(8)),
        (Status::Defined, count(9) / 8),
    ]);
    candidate.load_type = counted(candidate.load);
    candidate.load_all =
        counted(load(&[(Status::Transferring, count(10)), (Status::Running, count(6))]));
    candidate.pilots = count(11) / 16;
    candidate.link = LinkView {
        source_known: !dice[12].is_multiple_of(4),
        closeness: dice[13].is_multiple_of(16).then_some(-1).or(Some(i32::from(dice[13] % 12))),
        queued_files: Some(u64::from(dice[14])),
        mbps_1h: dice[15].is_multiple_of(2).then_some(f64::from(dice[15])),
        mbps_1d: None,
        mbps_1w: None,
        until: None,
    };
    candidate
}

fn grid(size: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 16), size)
}

/// A judgement by names instead of indices: ranked, refused, counts, passed.
type Named = (Vec<(String, f64, Vec<f64>)>, Vec<(String, u16, Objection)>, Vec<u32>, u32);

fn named(judgement: &Judgement, candidates: &[Candidate<'_>]) -> Named {
    let name = |index: u32| candidates[index as usize].queue.name.clone();
    let ranked = judgement.ranked.iter();
    let ranked = ranked
        .map(|chosen| {
            let weighed = &chosen.weighed;
            (name(chosen.candidate), weighed.total, weighed.factors.clone())
        })
        .collect();
    let fates = judgement.fates.iter();
    let mut fates: Vec<_> =
        fates.map(|fate| (name(fate.candidate), fate.filter, fate.objection)).collect();
    fates.sort_by(|a, b| a.0.cmp(&b.0));
    (ranked, fates, judgement.counts.clone(), judgement.passed)
}

/// A judgement made the slow way: each filter asked by itself, in the order of the list; what
/// lasts is published before what may be over soon.
fn first_objection(
    policy: &Policy,
    task: &Task,
    candidate: &Candidate<'_>,
) -> Option<(usize, Objection)> {
    let resolved = policy.unchanged();
    let mut doubt = None;
    for at in 0..policy.filter_count() {
        let filter = policy.filter(at).expect("a filter");
        let is_early = matches!(policy.queue_rules().filters[at].judge, FilterFunction::Before(_));
        if !is_early && doubt.is_some() {
            break;
        }
        let Some(found) = policy.objection_of(at, &case(task), candidate, &resolved) else {
            continue;
        };
        if !filter.temporary {
            return Some((at, found));
        }
        doubt = Some((at, found));
    }
    doubt
}

/// A task by a few small numbers, so that every filter applies now and then.
pub(super) fn odd_task(dice: &[u8]) -> Task {
    let pick = |at: usize, choices: &[i32]| choices[usize::from(dice[at]) % choices.len()];
    task(|task| {
        task.priority = pick(0, &[100, 500, 850, 1_000]);
        task.chunk =
            [ChunkKind::Normal, ChunkKind::Scout, ChunkKind::Merge][pick(1, &[0, 1, 2]) as usize];
        task.label = ["managed", "test", "user"][pick(2, &[0, 1, 2]) as usize].into();
        task.io_intensity_kbps = Some(pick(3, &[10, 500]) as u32);
        (task.total_bytes, task.total_files) = (pick(4, &[0, 1 << 30]) as u64 * 20, 150);
        task.options.t1_weight = pick(5, &[0, 0, -1]);
        task.options.input_lan_only = dice[6].is_multiple_of(3);
        task.options.event_service = dice[7].is_multiple_of(5);
        task.options.merge_output = dice[8].is_multiple_of(2);
        if dice[9].is_multiple_of(4) {
            task.nucleus.clear();
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Candidate by candidate with the filters that apply, or filter by filter with all of them.
    #[test]
    fn what_does_not_apply_says_nothing(
        grid in grid(1..30),
        dice in prop::collection::vec(any::<u8>(), 12),
    ) {
        let task = odd_task(&dice);
        let queues: Vec<Queue> = grid.iter().enumerate().map(|(n, d)| odd_queue(n, d)).collect();
        let candidates: Vec<Candidate<'_>> =
            queues.iter().zip(&grid).map(|(queue, dice)| odd_candidate(queue, dice)).collect();
        for rules in BOTH {
            let (policy, resolved) = policy(rules);
            let mut case = case(&task);
            case.express = dice[10].is_multiple_of(2);
            case.queued_to_nucleus = [0, 10_000, 10_001][usize::from(dice[10]) % 3];
            case.preassigned = match dice[11] % 4 {
                0 => Preassigned::One,
                1 => Preassigned::List,
                _ => Preassigned::No,
            };
            let quick = policy.judge(&case, &candidates[..], &resolved);
            let applicable = policy.queue_rules().applicable(&case, &resolved);
            let all = &candidates[..];
            let whole = policy.judge_all(&case, all, false, &resolved, &applicable);
            prop_assert_eq!(&quick, &whole);
            let late = policy.judge(&case, &AllLate(&candidates), &resolved);
            prop_assert_eq!(late, quick, "something was looked at too early");
        }
    }

    #[test]
    fn the_order_of_candidates_does_not_matter(grid in grid(0..60), turn in any::<usize>()) {
        let task = task(|task| task.total_bytes = 10);
        let queues: Vec<Queue> = grid.iter().enumerate().map(|(n, d)| odd_queue(n, d)).collect();
        let mut candidates: Vec<Candidate<'_>> =
            queues.iter().zip(&grid).map(|(queue, dice)| odd_candidate(queue, dice)).collect();
        for rules in BOTH {
            let (policy, resolved) = policy(rules);
            let before = policy.judge(&case(&task), &candidates[..], &resolved);
            prop_assert_eq!(&before, &policy.judge(&case(&task), &candidates[..], &resolved));
            let before = named(&before, &candidates);
            candidates.reverse();
            if !candidates.is_empty() {
                let turn = turn % candidates.len();
                candidates.rotate_left(turn);
            }
            let after = policy.judge(&case(&task), &candidates[..], &resolved);
            prop_assert_eq!(before, named(&after, &candidates));
        }
    }

    #[test]
    fn every_rejection_is_by_the_first_objecting_filter(grid in grid(1..40)) {
        let task = task(|task| task.total_bytes = 10);
        let queues: Vec<Queue> = grid.iter().enumerate().map(|(n, d)| odd_queue(n, d)).collect();
        let candidates: Vec<Candidate<'_>> =
            queues.iter().zip(&grid).map(|(queue, dice)| odd_candidate(queue, dice)).collect();
        for rules in BOTH {
            let (policy, resolved) = policy(rules);
            let judgement = policy.judge(&case(&task), &candidates[..], &resolved);
            let mut fates = judgement.fates.iter();
            let mut passed = 0;
            for (index, candidate) in candidates.iter().enumerate() {
                let slow = first_objection(&policy, &task, candidate);
                prop_assert_eq!(slow, policy.object_one(&case(&task), candidate, &resolved));
                match slow {
                    None => passed += 1,
                    Some((filter, objection)) => {
                        let fate = fates.next().expect("a fate for each rejection");
                        prop_assert_eq!(fate.candidate as usize, index);
                        prop_assert_eq!(usize::from(fate.filter), filter);
                        prop_assert_eq!(fate.objection, objection);
                    }
                }
            }
            prop_assert_eq!(judgement.passed, passed);
            let counted: u32 = judgement.counts.iter().sum();
            prop_assert_eq!(counted as usize, judgement.fates.len());
            prop_assert_eq!(judgement.ranked.len(), (passed as usize).min(10));
        }
    }
}

#[test]
fn the_heaviest_are_kept_and_equals_go_by_name() {
    let task = task(|_| {});
    let queues: Vec<Queue> = (0..30).map(|number| queue(&format!("Q{number:02}"))).collect();
    let mut candidates: Vec<Candidate<'_>> = queues.iter().map(candidate).collect();
    for (number, candidate) in candidates.iter_mut().enumerate() {
        candidate.load =
            load(&[(Status::Running, if number.is_multiple_of(3) { 100 } else { 50 })]);
    }
    candidates.reverse();
    let (policy, resolved) = policy(Rules::Documented);
    let judgement = policy.judge(&case(&task), &candidates[..], &resolved);
    let names: Vec<&str> = judgement
        .ranked
        .iter()
        .map(|chosen| candidates[chosen.candidate as usize].queue.name.as_str())
        .collect();
    let expected = ["Q00", "Q03", "Q06", "Q09", "Q12", "Q15", "Q18", "Q21", "Q24", "Q27"];
    assert_eq!(names, expected);
    assert_eq!(judgement.passed, 30);
    assert_eq!(judgement.ranked.len(), 10);
}

#[test]
fn filters_after_weighing_come_last_wherever_they_are_listed() {
    let (full, _) = policy(Rules::Documented);
    let mut spec = full.spec.clone();
    spec.filters.reverse();
    let policy = Policy::compile(&spec).expect("allowed");
    let resolved = policy.unchanged();
    let task = task(|_| {});
    let mut queue = queue("A");
    queue.status = QueueStatus::Offline;
    let mut candidate = candidate(&queue);
    candidate.load = load(&[(Status::Activated, 1_000)]);
    let (filter, objection) =
        policy.object_one(&case(&task), &candidate, &resolved).expect("an objection");
    assert_eq!(objection.reason.name, "offline");
    assert_eq!(policy.filter(filter).map(|filter| filter.name), Some("status"));
    assert!(policy.reads(filter).is_empty());
    assert!(policy.filter(99).is_none() && policy.reads(99).is_empty());
    assert_eq!(policy.objection_of(99, &case(&task), &candidate, &resolved), None);
}
