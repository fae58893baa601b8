use super::*;
use crate::outputs::output_hash;
use crate::port::Batch;
use yardmaster_core::output::decision::{Decision, DecisionId, Outcome};
use yardmaster_wire::record;

const CYCLES: u64 = 3_000;
const BEGINS: u64 = 100;
const EACH: u64 = 10;
const TAKEN: u64 = 500;
const PROGRESS: Lane = Lane::new(Topic::Progress, 0);
const DECISIONS: Lane = Lane::new(Topic::Decision, 0);

fn progress(number: u64) -> Vec<u8> {
    let full = number == BEGINS;
    let outputs = vec![(DECISIONS, EACH as u32)];
    let domain = "atlas".to_owned();
    let hash = |at| output_hash(&decision(number, at));
    let output_hashes = (0..EACH).map(hash).collect();
    let mut value = Vec::new();
    record::write(
        &mut value,
        &Progress { domain, number, full, outputs, output_hashes, ..Default::default() },
    );
    value
}

fn decision(cycle: u64, number: u64) -> Vec<u8> {
    let text = String::new;
    let subject = format!("{cycle}/{number}");
    let decision = Decision {
        id: DecisionId::derive("atlas", &subject, 0, 1),
        domain: "atlas".to_owned(),
        subject,
        attempt: 0,
        task: text(),
        ordinal: 1,
        epoch: 1,
        cycle,
        number: number as u32,
        now: 0,
        first_answered_at: 0,
        policy: text(),
        policy_hash: text(),
        gshare: text(),
        user: text(),
        working_group: text(),
        merge: false,
        nucleus: text(),
        outcome: Outcome::Defer { until: 0 },
        factor_names: vec![],
        counts: vec![],
        fates: vec![],
        full: true,
        fates_cut: 0,
        notes: vec![],
        dry_run: false,
        placed: None,
        matched: None,
        limits: vec![],
    };
    let mut value = Vec::new();
    record::write(&mut value, &decision);
    value
}

/// Cycles before the first full cut are gone, all their decisions are not.
#[test]
fn a_rebuild_holds_the_decisions_from_before_it_begins_and_few_more() {
    let span = |lane, end| LaneSpan { lane, first: 0, stable_end: end, end };
    let spans = [span(PROGRESS, CYCLES), span(DECISIONS, CYCLES * EACH)];
    let mut cut = Cut::default();
    spans.iter().for_each(|span| cut.advance(span.lane, 0));
    let (mut own, mut feed) = (Own::new(&spans, &cut, 0, true), Feed::new(&cut));
    let mut batch = Batch::default();
    for number in BEGINS..=CYCLES {
        batch.push(PROGRESS, number, 0, None, Some(&progress(number)));
    }
    feed.pour(batch);
    let (mut most, mut counted, mut taken, mut next) = (0, 0, 0, BEGINS);
    for offset in (0..CYCLES * EACH).step_by(TAKEN as usize) {
        let mut batch = Batch::default();
        for at in offset..offset + TAKEN {
            batch.push(DECISIONS, at, 0, None, Some(&decision(at / EACH + 1, at % EACH)));
        }
        feed.pour(batch);
        own.read(&mut feed, "atlas").unwrap();
        most = most.max(own.published_count);
        while own
            .cycles
            .front()
            .is_some_and(|cycle| own.found(&cycle.progress, false) == EACH as usize)
            && (counted > 0 || own.has_old_words(&feed))
        {
            taken += own.take_outputs_until(next).len() as u64;
            own.count(next);
            (counted, next) = (counted + 1, next + 1);
            own.read(&mut feed, "atlas").unwrap();
        }
    }
    assert_eq!((next, taken), (CYCLES + 1, CYCLES * EACH), "all were counted, none was lost");
    let bound = BEGINS * EACH + OUTPUTS_AHEAD as u64 + TAKEN;
    assert!(most as u64 <= bound, "{most} decisions were held, {bound} are enough");
}

/// A rebuild reads far ahead of what it counts.
#[test]
fn copies_of_successive_cycles_are_not_taken_for_the_beginning_of_the_log() {
    let last = BEGINS + 2 * APART_MAX as u64;
    let mut cut = Cut::default();
    cut.advance(PROGRESS, 0);
    let (mut own, mut feed) = (Own::new(&[], &cut, 0, true), Feed::new(&cut));
    let mut batch = Batch::default();
    for (offset, number) in (BEGINS..=last).chain(BEGINS + 1..last).enumerate() {
        batch.push(PROGRESS, offset as u64, 0, None, Some(&progress(number)));
    }
    feed.pour(batch);
    own.read(&mut feed, "atlas").unwrap();
    let numbers = own.cycles.iter().map(|cycle| cycle.progress.number);
    assert_eq!(numbers.collect::<Vec<_>>(), (BEGINS..=last).collect::<Vec<_>>());
    own.check_apart().unwrap();
}
