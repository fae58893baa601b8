//! The policy's laws, and figures that are no numbers. What each rule gives at its limits, under
//! both readings, is in `tests/cases`.

#[cfg(test)]
mod analysis;
#[cfg(test)]
mod candidates;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod makes;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod objections;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod throttle;
#[cfg(test)]
mod weights;

use super::sample::{case, policy};
use super::{Candidate, Case};
use crate::event::Task;
use crate::policy::Rules;

const BOTH: [Rules; 2] = [Rules::Documented, Rules::Panda];

/// The reason one filter gives against a candidate; `None` when it lets it pass.
fn objection_of(
    rules: Rules,
    filter: &str,
    case: &Case<'_>,
    candidate: &Candidate<'_>,
) -> Option<String> {
    says_with(rules, &[], filter, case, candidate)
}

/// The same, with gdpconfig values (`component/key`, value).
fn says_with(
    rules: Rules,
    gdp: &[(&str, &str)],
    filter: &str,
    case: &Case<'_>,
    candidate: &Candidate<'_>,
) -> Option<String> {
    let (policy, _) = policy(rules);
    let lookup = |component: &str, key: &str| {
        let wanted = format!("{component}/{key}");
        gdp.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
    };
    let resolved = policy.resolve(&lookup, &case.task.gshare);
    assert_eq!(resolved.notes, Vec::<String>::new());
    let is_it = |at: &usize| policy.filter(*at).is_some_and(|entry| entry.name == filter);
    let at = (0..policy.filter_count()).find(is_it).expect("a filter of that name");
    policy
        .objection_of(at, case, candidate, &resolved)
        .map(|objection| objection.reason.name.to_string())
}

/// A sample task, changed.
fn task(change: impl FnOnce(&mut Task)) -> Task {
    let mut task = super::sample::task();
    change(&mut task);
    task
}

#[test]
fn nothing_is_published_against_the_samples() {
    let task = task(|_| {});
    let queue = super::sample::queue("DESY-HH");
    let storage = super::sample::storage();
    for rules in BOTH {
        let (policy, resolved) = policy(rules);
        let mut candidate = super::sample::candidate(&queue);
        candidate.output = Some(&storage);
        candidate.input = Some(&storage);
        assert_eq!(policy.object_one(&case(&task), &candidate, &resolved), None);
    }
}
