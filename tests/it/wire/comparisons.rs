//! Requests that were answered twice: written and read, damaged, and by the reference library.

use super::dice::Dice;
use super::{CODEC, decode, encode};
use proptest::collection::vec;
use proptest::prelude::*;
use yardmaster::core::comparison::{
    AnswerOutcome, ChosenQueue, Comparison, Figures, InCharge, RejectedQueue, SideAnswer,
};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Garbled;
use yardmaster::wire::avro::{HEADER_BYTES, schema};
use yardmaster::wire::record;

fn answer(dice: &mut Dice<'_>) -> SideAnswer {
    SideAnswer {
        outcome: dice.pick(&AnswerOutcome::ALL),
        reason: dice.text(),
        took_ms: dice.amount(),
        queues: dice.list(|dice| ChosenQueue {
            queue: dice.text(),
            weight: dice.float(),
            jobs: dice.amount(),
        }),
        fates: dice.list(|dice| RejectedQueue {
            queue: dice.text(),
            filter: dice.text(),
            reason: dice.text(),
        }),
        figures: dice.list(|dice| Figures {
            queue: dice.text(),
            running: dice.option(Dice::amount),
            queued: dice.option(Dice::amount),
            pilots: dice.option(Dice::amount),
        }),
        notes: dice.list(Dice::text),
    }
}

/// A random comparison.
pub fn comparison(dice: &mut Dice<'_>) -> Comparison {
    Comparison {
        domain: dice.text(),
        subject: dice.text(),
        attempt: dice.amount(),
        task: dice.text(),
        policy: dice.text(),
        gshare: dice.text(),
        queue_type: dice.text(),
        resource_type: dice.text(),
        label: dice.text(),
        asked_at: dice.long(),
        compared_at: dice.long(),
        in_charge: dice.pick(&InCharge::ALL),
        yardmaster: answer(dice),
        other: answer(dice),
    }
}

fn written(comparison: &Comparison) -> Vec<u8> {
    let mut out = Vec::new();
    record::write(&mut out, comparison);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_comparison_comes_back(bytes in vec(any::<u8>(), 0..1500)) {
        let comparison = comparison(&mut Dice::new(&bytes));
        let out = written(&comparison);
        let (ours, datum) = (schema(Topic::Comparison), &out[HEADER_BYTES..]);
        prop_assert_eq!(encode(ours, &decode(ours, datum)), datum);
        prop_assert_eq!(CODEC.read_record::<Comparison>(&out), Ok(comparison));
    }

    #[test]
    fn a_damaged_one_is_read_or_refused(
        bytes in vec(any::<u8>(), 0..600),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        let mut out = written(&comparison(&mut Dice::new(&bytes)));
        let index = at.index(out.len());
        out[index] = with;
        CODEC.read_record::<Comparison>(&out).ok();
        prop_assert!(CODEC.read_record::<Comparison>(&out[..index]).is_err(), "a part of a record");
    }
}

#[test]
fn what_is_no_comparison_is_refused() {
    let mut dice = Dice::new(&[]);
    let mut out = written(&comparison(&mut dice));
    out.push(0);
    assert_eq!(CODEC.read_record::<Comparison>(&out), Err(Garbled::Malformed), "a byte too many");
    let mut outcome = Vec::new();
    record::write(&mut outcome, &super::records::outcome(&mut dice));
    assert_eq!(CODEC.read_record::<Comparison>(&outcome), Err(Garbled::WrongSchema));
    assert_eq!(CODEC.read_record::<Comparison>(b"text"), Err(Garbled::Framing));
}
