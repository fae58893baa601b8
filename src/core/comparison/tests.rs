//! Two answers held against each other, and many of them.

use crate::comparison::*;
use std::collections::BTreeSet;

/// An assignment to queues, each with its weight and jobs.
pub(super) fn assign(queues: &[(&str, f64, u64)]) -> SideAnswer {
    let chosen = |(queue, weight, jobs): &(&str, f64, u64)| ChosenQueue {
        queue: (*queue).to_owned(),
        weight: *weight,
        jobs: *jobs,
    };
    SideAnswer { queues: queues.iter().map(chosen).collect(), ..answer(AnswerOutcome::Assign, "") }
}

/// An answer that is no assignment.
pub(super) fn answer(outcome: AnswerOutcome, reason: &str) -> SideAnswer {
    SideAnswer {
        outcome,
        reason: reason.to_owned(),
        took_ms: 10,
        queues: vec![],
        fates: vec![],
        figures: vec![],
        notes: vec![],
    }
}

pub(super) fn comparison(yardmaster: SideAnswer, other: SideAnswer) -> Comparison {
    Comparison {
        domain: "atlas".into(),
        subject: "1/1".into(),
        attempt: 0,
        task: "1".into(),
        policy: "production".into(),
        gshare: "MC".into(),
        queue_type: "production".into(),
        resource_type: "SCORE".into(),
        label: "managed".into(),
        asked_at: 1_000,
        compared_at: 1_100,
        in_charge: InCharge::Other,
        yardmaster,
        other,
    }
}

fn figures(queue: &str, running: u64, queued: u64) -> Figures {
    let (running, queued) = (Some(running), Some(queued));
    Figures { queue: queue.into(), running, queued, pilots: None }
}

fn rejected(queue: &str, filter: &str, reason: &str) -> RejectedQueue {
    RejectedQueue { queue: queue.into(), filter: filter.into(), reason: reason.into() }
}

#[test]
fn each_agreement_has_its_case() {
    use AnswerOutcome::{Absent, Defer, Failed, Reject};
    let ab = || assign(&[("A", 2.0, 0), ("B", 1.0, 0)]);
    let no = |outcome| answer(outcome, "");
    let cases = [
        (ab(), ab(), Agreement::Same),
        // The order behind the first is none of the answer.
        (
            assign(&[("A", 1.0, 0), ("B", 1.0, 0), ("C", 1.0, 0)]),
            assign(&[("A", 1.0, 0), ("C", 1.0, 0), ("B", 1.0, 0)]),
            Agreement::Same,
        ),
        (ab(), assign(&[("A", 1.0, 0)]), Agreement::OtherQueues),
        (ab(), assign(&[("B", 2.0, 0), ("A", 1.0, 0)]), Agreement::OtherFirst),
        // Of equals one is drawn: A and B of one side, B and C of the other.
        (
            assign(&[("A", 1.0, 0), ("B", 1.0, 0), ("C", 0.5, 0)]),
            assign(&[("C", 9.0, 0), ("B", 9.0, 0), ("A", 2.0, 0)]),
            Agreement::Same,
        ),
        (
            assign(&[("A", 1.0, 0), ("B", 0.9, 0), ("C", 0.5, 0)]),
            assign(&[("C", 9.0, 0), ("B", 9.0, 0), ("A", 2.0, 0)]),
            Agreement::OtherFirst,
        ),
        // Without weights nothing says that they are equal.
        (
            assign(&[("A", 0.0, 0), ("B", 0.0, 0)]),
            assign(&[("B", 0.0, 0), ("A", 0.0, 0)]),
            Agreement::OtherFirst,
        ),
        (ab(), no(Defer), Agreement::Outcome),
        (no(Reject), no(Defer), Agreement::Outcome),
        (no(Defer), no(Defer), Agreement::Same),
        (no(Absent), ab(), Agreement::Absent),
        (ab(), no(Absent), Agreement::Absent),
        (no(Absent), no(Failed), Agreement::Failed),
        (no(Failed), no(Failed), Agreement::Failed),
    ];
    for (one, other, wanted) in cases {
        let found = Agreement::of(&comparison(one.clone(), other.clone()));
        assert_eq!(found, wanted, "{one:?}\n{other:?}");
    }
    let met = |measure: Measure| Agreement::ALL.map(|it| measure.is_met(it));
    assert_eq!(met(Measure::Outcome), [true, true, true, false, false, false]);
    assert_eq!(met(Measure::First), [true, true, false, false, false, false]);
    assert_eq!(met(Measure::Queues), [true, false, false, false, false, false]);
}

#[test]
fn an_overlap_is_by_jobs_else_by_weights_else_equal() {
    let of = |one, other| overlap(&comparison(one, other));
    let close = |found: Option<f64>, wanted: f64| {
        assert!(found.is_some_and(|it| (it - wanted).abs() < 1e-12), "{found:?} is not {wanted}");
    };
    close(of(assign(&[("A", 1.0, 0)]), assign(&[("A", 9.0, 7)])), 1.0);
    close(of(assign(&[("A", 1.0, 0)]), assign(&[("B", 1.0, 0)])), 0.0);
    // 3/4 and 1/4 by jobs, against halves by weight.
    let halves = || assign(&[("A", 5.0, 0), ("B", 5.0, 0)]);
    close(of(assign(&[("A", 1.0, 30), ("B", 9.0, 10)]), halves()), 0.75);
    // No weight: equal parts. A queue that is listed twice has both parts.
    close(of(assign(&[("A", 0.0, 0), ("A", 0.0, 0), ("B", 0.0, 0)]), halves()), 0.5 + 1.0 / 3.0);
    assert_eq!(of(answer(AnswerOutcome::Defer, ""), halves()), None);
    assert_eq!(of(assign(&[]), halves()), None);
}

#[test]
fn what_one_side_chose_and_the_other_did_not_has_the_fate_that_the_other_gave_it() {
    let mut one = assign(&[("A", 1.0, 0)]);
    one.fates = vec![rejected("B", "queued", "300 > 200"), rejected("Z", "status", "")];
    let other = assign(&[("B", 1.0, 0), ("C", 1.0, 0)]);
    let it = comparison(one.clone(), other.clone());
    let found: Vec<_> = refusals(&it)
        .iter()
        .map(|it| (it.by, it.queue, it.fate.map(|fate| fate.filter.as_str())))
        .collect();
    let wanted = [
        (Side::Yardmaster, "B", Some("queued")),
        (Side::Yardmaster, "C", None),
        (Side::Other, "A", None),
    ];
    assert_eq!(found, wanted);
    // A side that did not answer rejected nothing.
    let absent = comparison(answer(AnswerOutcome::Absent, ""), other);
    assert_eq!(refusals(&absent), []);
}

#[test]
fn figures_are_compared_of_the_queues_by_which_the_choice_differs() {
    let mut one = assign(&[("A", 1.0, 0), ("C", 1.0, 0)]);
    let mut other = assign(&[("B", 1.0, 0), ("C", 1.0, 0)]);
    one.figures = vec![figures("A", 100, 10), figures("B", 50, 0), figures("C", 1, 1)];
    other.figures = vec![figures("A", 110, 9), figures("C", 99, 99)];
    let it = comparison(one.clone(), other.clone());
    let found = gaps(&it);
    assert_eq!(found.len(), 1, "C is chosen by both, of B one side shows nothing: {found:?}");
    assert_eq!((found[0].queue, found[0].running), ("A", Some((100, 110))));
    // 10 of 110 is less than a tenth, as is 1 of 10: exactly a tenth is not beyond it.
    assert_eq!(figures_of(&found), FiguresSeen::Alike);
    other.figures[0] = figures("A", 112, 9);
    assert_eq!(figures_of(&gaps(&comparison(one.clone(), other.clone()))), FiguresSeen::Differ);
    other.figures.clear();
    assert_eq!(figures_of(&gaps(&comparison(one.clone(), other))), FiguresSeen::Unknown);
    // Where the choice is the same, all that were chosen are looked at.
    let same = comparison(one.clone(), one);
    assert_eq!(gaps(&same).iter().map(|it| it.queue).collect::<Vec<_>>(), ["A", "C"]);
    // Nothing there on both sides is no difference.
    let nothing = Gap { queue: "A", running: Some((0, 0)), queued: None };
    assert!(!nothing.is_wide());
}

#[test]
fn reasons_that_differ_in_their_figures_are_one() {
    let cases = [
        ("", ""),
        ("nQueued 300 > 200.5", "nQueued N > N"),
        ("3 of 4.", "N of N."),
        ("rule T1 at CERN_2: 10%", "rule T1 at CERN_2: N%"),
    ];
    for (reason, wanted) in cases {
        assert_eq!(plain_reason(reason), wanted);
    }
}

#[test]
fn percentiles_are_times_that_there_were() {
    let mut times = AnswerTimes::default();
    assert_eq!(times.percentile(50), None);
    (1..=200).rev().for_each(|ms| times.push(ms));
    let found = [50, 90, 99, 100].map(|percent| times.percentile(percent));
    assert_eq!(found, [Some(100), Some(180), Some(198), Some(200)]);
    times.push(1_000);
    assert_eq!((times.percentile(100), times.len()), (Some(1_000), 201));
}

#[test]
fn a_tally_adds_up() {
    let mut tally = Tally::default();
    let production = BTreeSet::from(["production".to_owned()]);
    let mut one = assign(&[("A", 1.0, 0)]);
    one.fates = vec![rejected("B", "queued", "300 > 200"), rejected("C", "queued", "4 > 2")];
    one.figures = vec![figures("A", 100, 0), figures("B", 0, 300)];
    let mut other = assign(&[("B", 1.0, 0), ("C", 1.0, 0)]);
    other.figures = vec![figures("A", 100, 0), figures("B", 0, 20)];
    let apart = comparison(one.clone(), other);
    tally.add(&apart, &production);
    tally.add(&apart, &BTreeSet::new());
    tally.add(&comparison(one.clone(), one.clone()), &production);
    let deferred = answer(AnswerOutcome::Defer, "17 candidates too busy");
    tally.add(&comparison(deferred, one.clone()), &production);
    let absent = answer(AnswerOutcome::Absent, "");
    tally.add(&Comparison { asked_at: 500, ..comparison(absent, one) }, &production);

    let all = &tally.all;
    assert_eq!((all.all(), all.answered(), all.agreed(Measure::First)), (5, 4, 1));
    assert_eq!(all.agreement(Measure::Outcome), Some(0.75));
    assert_eq!(all.answers(Side::Yardmaster, AnswerOutcome::Absent), 1);
    assert_eq!(all.times[&Side::Yardmaster].len(), 4, "an absent answer took no time");
    assert_eq!(all.overlap(), Some(1.0 / 3.0));
    assert_eq!(tally.groups["production"].all(), 4);
    assert_eq!(tally.asked, Some((500, 1_000)));
    let queued =
        ByReason { by: Side::Yardmaster, filter: Some("queued".into()), reason: "N > N".into() };
    // Twice, each time two queues.
    assert_eq!(tally.refusals[&queued], (2, 4));
    let outcomes: Vec<_> = tally.outcomes.iter().collect();
    assert_eq!(outcomes[0].0.yardmaster.1, "N candidates too busy");
    assert_eq!(tally.figures[&(false, FiguresSeen::Differ)], 2);
    assert_eq!(tally.figures[&(true, FiguresSeen::Alike)], 1);
    let gap = tally.gaps["B"];
    assert_eq!((gap.comparisons, gap.wide, gap.queued), (2, 2, (600, 40, 2)));
    assert_eq!(tally.gaps["A"].wide, 0);
}
