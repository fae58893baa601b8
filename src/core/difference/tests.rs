use super::*;
use crate::output::decision::{Fate, FilterCount, Ranked};
use std::borrow::Cow;

fn assigned(subject: &str, queues: &[(&str, u32)]) -> Decision {
    let ranked = |(queue, jobs): &(&str, u32)| Ranked {
        queue: (*queue).to_owned(),
        unified: (*queue).to_owned(),
        weight: 1.0,
        jobs: *jobs,
        cores: 1,
        factors: Vec::new(),
        platform: String::new(),
    };
    let outcome = Outcome::Assign(queues.iter().map(ranked).collect());
    Decision::new("atlas", subject, 1, 1, outcome)
}

fn deferred(subject: &str, fates: &[(&str, &'static str)]) -> Decision {
    let mut decision = Decision::new("atlas", subject, 1, 1, Outcome::Defer { until: 1 });
    for (queue, filter) in fates {
        decision.fates.push(Fate {
            queue: (*queue).into(),
            filter: Cow::Borrowed(filter),
            reason: Cow::Borrowed("r"),
            measured: 0.0,
            limit: 0.0,
        });
        decision.counts.push(FilterCount { filter: (*filter).to_owned(), rejected: 1 });
    }
    decision
}

fn rejected(subject: &str, reason: &str) -> Decision {
    let outcome = Outcome::Reject { reason: reason.to_owned() };
    Decision::new("atlas", subject, 1, 1, outcome)
}

#[test]
fn the_gravest_difference_of_two_answers_is_named() {
    let one = assigned("t/1", &[("A", 10), ("B", 5)]);
    let of = |other: Option<&Decision>| change(&one, other);
    assert_eq!(of(Some(&one)), Change::Same);
    assert_eq!(of(Some(&assigned("t/1", &[("A", 10), ("C", 5)]))), Change::Spread);
    assert_eq!(of(Some(&assigned("t/1", &[("A", 15)]))), Change::Spread);
    assert_eq!(of(Some(&assigned("t/1", &[("B", 5), ("A", 10)]))), Change::First);
    assert_eq!(of(Some(&deferred("t/1", &[]))), Change::Outcome);
    assert_eq!(of(None), Change::Outcome);
    let expired = rejected("t/1", "expired(3 d)");
    assert_eq!(change(&expired, Some(&rejected("t/1", "expired(4 d)"))), Change::Same);
    assert_eq!(change(&expired, Some(&rejected("t/1", "gave_up(4 d)"))), Change::Outcome);
    let mut moved = one.clone();
    moved.nucleus = "CERN".to_owned();
    assert_eq!(of(Some(&moved)), Change::First);
}

#[test]
fn a_request_counts_once_with_its_gravest_difference_and_its_first_assignment() {
    let mut found = Differences::new(1);
    let waits = deferred("t/1", &[("A", "memory"), ("B", "status")]);
    found.note(waits.clone(), Some(waits.clone()));
    found.note(waits.clone(), Some(assigned("t/1", &[("B", 3)])));
    found.note(assigned("t/1", &[("A", 3)]), Some(assigned("t/1", &[("A", 3)])));
    found.note_earlier(assigned("t/2", &[("B", 7)]));
    found.note_not_made_again();
    assert_eq!((found.answers, found.earlier, found.not_made_again), (3, 1, 1));
    assert_eq!(found.requests(), 2);
    assert_eq!(found.requests_with(Change::Outcome), 2);
    assert_eq!(found.changed[&Change::Same], 2);
    assert_eq!(found.outcomes[&["defer", "assign"]], 1);
    assert!((found.changed_share() - 1.0).abs() < 1e-9);
    let jobs = |queue: &str| (found.queues[queue].jobs.recorded, found.queues[queue].jobs.other);
    assert_eq!((jobs("A"), jobs("B")), ((3, 0), (0, 10)));
    assert_eq!(found.filters["memory"], Both { recorded: 2, other: 1 });
    assert_eq!(found.fates[&["memory".to_owned(), String::new()]], 1);
    assert_eq!(found.first.len(), 1, "no more than asked for");
    assert_eq!(found.first[0].recorded.as_ref(), Some(&waits));
}

#[test]
fn fates_are_compared_only_where_all_are_listed() {
    let mut part = deferred("t/1", &[("A", "memory")]);
    part.full = false;
    let whole = deferred("t/1", &[("A", "status")]);
    assert_eq!(first_difference(&part, &whole), None);
    part.full = true;
    let differs = ["memory", "status"].map(str::to_owned);
    assert_eq!(first_difference(&part, &whole), Some(differs));
}
