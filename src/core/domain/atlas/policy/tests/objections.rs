//! The parts of an objection beside its figures.

use super::task;
use crate::domain::atlas::policy::sample::{candidate, case, queue};
use crate::policy::Rules;

#[test]
fn an_objection_to_a_link_says_when_its_figures_expire() {
    let (task, queue) = (task(|_| {}), queue("A"));
    let (policy, resolved) = crate::domain::atlas::policy::sample::policy(Rules::Documented);
    let mut case = case(&task);
    case.queued_to_nucleus = 10_001;
    case.queued_to_nucleus_until = Some(7);
    let mut candidate = candidate(&queue);
    candidate.link.source_known = true;
    candidate.link.closeness = Some(-1);
    candidate.link.until = Some(9);
    let recheck = |filter| {
        let objection = policy.objection_of(filter, &case, &candidate, &resolved);
        objection.and_then(|objection| objection.recheck_at)
    };
    // That a link is blocked holds until another record states otherwise.
    assert_eq!([recheck(1), recheck(2)], [Some(7), None]);
}
