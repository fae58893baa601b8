//! Tasks that want a nucleus, through the loop: answered, counted, deferred, woken.

use super::start;
use super::yard::*;
use std::time::Duration;
use yardmaster::core::event::{OutputDataset, Site, Task};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::MINUTE;
use yardmaster::drive::Drive;
use yardmaster::sim::paper::store::PaperStore;

fn site(yard: &Yard, name: &str, active: bool) {
    let site = Site {
        name: name.into(),
        changed_at: yard.now,
        nucleus: true,
        active,
        tier: 1,
        ..Site::default()
    };
    yard.configure(&site);
}

/// A task of much work that wants a nucleus.
fn wanting(name: &str, at: i64) -> Task {
    let token = "dst:ATLASDATADISK".to_owned();
    let mut task = Task {
        policy: "production-task".into(),
        nucleus: String::new(),
        output: vec![OutputDataset { name: "HITS".into(), log: false, token }],
        ..task(name, 0, at)
    };
    task.options.remaining_events = 1_000_000_000;
    task
}

fn nucleus(decision: &Decision) -> &str {
    assert!(matches!(&decision.outcome, Outcome::Assign(ranked) if ranked.len() == 1));
    &decision.nucleus
}

#[test]
fn two_tasks_of_a_cycle_go_to_two_nuclei() {
    let mut yard = Yard::new();
    yard.build(4);
    site(&yard, "NORTH", true);
    site(&yard, "SOUTH", true);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    yard.ask(&wanting("1", yard.now));
    yard.ask(&wanting("2", yard.now));
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), 2, "{:?}", drive.take_report());
    // Where one is, so much work remains that the other is as good as never drawn there.
    let mut found: Vec<&str> = decisions.iter().map(nucleus).collect();
    found.sort_unstable();
    assert_eq!(found, ["NORTH", "SOUTH"], "{decisions:#?}");
    for decision in &decisions {
        let endpoint = format!("destination(HITS, {}_QUEUE_0", decision.nucleus);
        assert!(decision.notes.iter().any(|note| note.starts_with(&endpoint)), "{decision:#?}");
        assert_eq!(decision.fates.len(), 1, "the other was not drawn: {decision:#?}");
    }
    assert_eq!(audit(drive.state()), vec![]);
    lead(&mut yard, &mut drive, 60).unwrap();
    drive.finish(yard.now).unwrap();
    let reached = digest(drive.state());
    let mut other = config("two");
    other.verify = true;
    let mut again = Drive::start(yard.log(), PaperStore::default(), other).unwrap();
    for _ in 0..100 {
        again.pump(Duration::ZERO).unwrap();
        again.follow().unwrap();
    }
    let report = again.take_report();
    assert_eq!(report.verified, [2, 0, 0], "{:#?}", report.differences);
    assert_eq!(digest(again.state()), reached);
}

#[test]
fn a_task_without_a_nucleus_waits_half_an_hour_or_until_one_is_there() {
    let mut yard = Yard::new();
    yard.build(2);
    site(&yard, "NORTH", false);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    yard.ask(&wanting("1", yard.now));
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    let deferral = decisions.last().unwrap();
    assert_eq!(deferral.outcome, Outcome::Defer { until: deferral.now + 30 * MINUTE });
    assert_eq!((deferral.fates.len(), deferral.fates[0].filter.as_ref()), (1, "status"));
    // Nothing changes: it is not asked again before its deadline.
    yard.pass(2 * MINUTE);
    lead(&mut yard, &mut drive, 5).unwrap();
    assert_eq!(yard.decisions().len(), 1);
    site(&yard, "NORTH", true);
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    let answer = decisions.last().unwrap();
    assert_eq!((nucleus(answer), answer.ordinal), ("NORTH", 2), "{decisions:#?}");
    assert!(answer.now < deferral.now + 30 * MINUTE);
}

#[test]
fn a_task_whose_nucleus_is_set_keeps_it() {
    let mut yard = Yard::new();
    yard.build(2);
    site(&yard, "NORTH", false);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    yard.ask(&Task { nucleus: "NORTH".into(), ..wanting("1", yard.now) });
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    assert_eq!(nucleus(decisions.last().unwrap()), "NORTH");
}
