//! The division of jobs.

use super::task;
use crate::dice::Dice;
use crate::domain::atlas::policy::sample::{candidate, load, policy, queue};
use crate::domain::atlas::policy::{Known, Nucleus};
use crate::event::{ChunkKind, Status};
use crate::policy::Rules;

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
        let nucleus = Nucleus { known: true, ..Nucleus::UNKNOWN };
        let known = Known { nucleus, ..Known::nothing() };
        let case = policy.case(&task, 0, policy.asked(&task, &resolved), known, &resolved);
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
