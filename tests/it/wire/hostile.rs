//! Bytes that mean harm: no panic, no memory without bound, no time without bound.

use super::dice::Dice;
use super::{CODEC, framed, mutate};
use apache_avro::Schema;
use proptest::collection::vec;
use proptest::prelude::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, Garbled, Queue};
use yardmaster::core::output::progress::Progress;
use yardmaster::wire::avro::{Arena, Bounds, Fault, Scratch, compile, schema_text, transcode};
use yardmaster::wire::record;

const BOUNDS: Bounds = Bounds { output_bytes: 10_000, depth: 64 };

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn random_bytes_are_an_event(bytes in vec(any::<u8>(), 0..300)) {
    let codec = &*CODEC;
        let mut arena = Arena::default();
        for topic in Topic::ALL {
            codec.read(*topic, None, Some(&bytes), &mut arena);
            codec.read(*topic, Some(&bytes), Some(&framed(*topic, &bytes)), &mut arena);
        }
        codec.read_record::<Progress>(&framed(Topic::Progress, &bytes)).ok();
    }

    #[test]
    fn damaged_records_are_an_event(
        bytes in vec(any::<u8>(), 0..600),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        let mut dice = Dice::new(&bytes);
        let codec = &*CODEC;
        let mut arena = Arena::default();
        let text = super::records::texts(&mut dice);
        for topic in Topic::ALL {
            let Some(event) = super::kinds::event(*topic, &mut dice, &text) else { continue };
            let mut out = super::roundtrip::encoded(&event);
            let index = at.index(out.len());
            out[index] = with;
            codec.read(*topic, None, Some(&out), &mut arena);
            codec.read(*topic, None, Some(&out[..index]), &mut arena);
        }
    }

    #[test]
    fn plans_survive_random_bytes(
        choices in vec(any::<u8>(), 0..1000),
        datum in vec(any::<u8>(), 0..300),
    ) {
        let mut dice = Dice::new(&choices);
        let topic = dice.pick(Topic::ALL);
        let pair = mutate::pair(schema_text(topic), &mut dice);
        let parse = |text: &str| Schema::parse_str(text).expect("a schema");
        if let Ok(plan) = compile(&parse(&pair.writer), &parse(&pair.reader)) {
            let mut out = Vec::new();
            let done = transcode(&plan, &datum, BOUNDS, &mut Scratch::default(), &mut out);
            prop_assert!(done.is_ok() || out.is_empty());
            prop_assert!(out.len() <= BOUNDS.output_bytes);
        }
    }
}

fn turn(writer: &str, reader: &str, datum: &[u8]) -> Result<usize, Fault> {
    let parse = |text| Schema::parse_str(text).expect("a schema");
    let plan = compile(&parse(writer), &parse(reader)).expect("a plan");
    let mut out = Vec::new();
    transcode(&plan, datum, BOUNDS, &mut Scratch::default(), &mut out)?;
    Ok(out.len())
}

/// Bytes of an empty queue's record from its list of releases on: that list, three words, four
/// lists of endpoints, a number, a word, that it is no queue of a cluster, a number, and a list.
const LISTS_AND_WORDS: usize = 12;

/// The largest count a block can claim.
const ENDLESS: [u8; 10] = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01];
/// And the smallest.
const NEGATIVE: [u8; 11] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0];

#[test]
fn arrays_of_nothing_end() {
    let nulls = r#"{"type":"array","items":"null"}"#;
    let options = r#"{"type":"array","items":["null","long"]}"#;
    let record = |fields: &str| {
        format!(r#"{{"type":"array","items":{{"type":"record","name":"R","fields":[{fields}]}}}}"#)
    };
    let empty = record("");
    let grown = record(r#"{"name":"a","type":"string","default":"ten bytes."}"#);
    for reader in [nulls, options] {
        for head in [&ENDLESS[..], &NEGATIVE] {
            let datum = [head, &[0]].concat();
            assert_eq!(turn(nulls, reader, &datum), Err(Fault::Malformed));
        }
    }
    assert_eq!(turn(nulls, nulls, &[0x80, 0x08, 0]), Ok(3));
    assert_eq!(turn(nulls, options, &[0x80, 0x08, 0]), Ok(515));
    // Two thousand records of nothing, each ten bytes and more when written in full.
    assert_eq!(turn(&empty, &grown, &[0xA0, 0x1F, 0]), Err(Fault::Oversized));
    // What we skip costs nothing, however often it is stated to be there.
    let skipped = format!(
        r#"{{"type":"record","name":"W","fields":[{{"name":"a","type":{nulls}}},{{"name":"b","type":"int"}}]}}"#
    );
    let wanted = r#"{"type":"record","name":"W","fields":[{"name":"b","type":"int"}]}"#;
    assert_eq!(turn(&skipped, wanted, &[&ENDLESS[..], &[0, 2]].concat()), Ok(1));
}

#[test]
fn claims_beyond_the_bytes_are_malformed() {
    let longs = r#"{"type":"array","items":"long"}"#;
    assert_eq!(turn(longs, longs, &ENDLESS), Err(Fault::Malformed));
    assert_eq!(turn("\"string\"", "\"bytes\"", &ENDLESS), Err(Fault::Malformed));
    let codec = &*CODEC;
    let mut arena = Arena::default();
    // A queue whose list of releases claims to be endless.
    let mut out = Vec::new();
    record::write(&mut out, &super::records::queue(&mut Dice::new(&[])));
    let lists = out.len() - LISTS_AND_WORDS;
    for head in [&ENDLESS[..], &NEGATIVE] {
        let bytes = [&out[..lists], head, &[0; 40]].concat();
        let event = codec.read(Topic::Queue, None, Some(&bytes), &mut arena);
        assert_eq!(event, Event::Garbled(Garbled::Malformed));
    }
}

#[test]
fn nothing_may_follow_a_record() {
    let mut arena = Arena::default();
    let mut out = Vec::new();
    record::write(&mut out, &super::records::site(&mut Dice::new(&[])));
    assert!(matches!(
        CODEC.read(Topic::Site, None, Some(&out), &mut arena),
        Event::Configuration(_)
    ));
    out.push(0);
    let event = CODEC.read(Topic::Site, None, Some(&out), &mut arena);
    assert_eq!(event, Event::Garbled(Garbled::Malformed));
}

#[test]
fn many_small_blocks_cost_no_more_than_one() {
    let mut out = Vec::new();
    record::write(&mut out, &super::records::queue(&mut Dice::new(&[])));
    let lists = out.len() - LISTS_AND_WORDS;
    // A hundred thousand blocks of one empty name each.
    let bytes = [&out[..lists], &[2, 0].repeat(100_000), &[0; LISTS_AND_WORDS]].concat();
    let mut arena = Arena::default();
    let event = CODEC.read(Topic::Queue, None, Some(&bytes), &mut arena);
    let Event::Configuration(event) = event else { panic!("{event:?}") };
    let queue = <&Queue>::try_from(&*event).unwrap();
    assert_eq!(queue.releases.len(), 100_000);
}

#[test]
fn nesting_has_an_end() {
    let list = r#"{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}"#;
    let writer = format!(
        r#"{{"type":"record","name":"W","fields":[{{"name":"a","type":{list}}},{{"name":"b","type":"int"}}]}}"#
    );
    let reader = r#"{"type":"record","name":"W","fields":[{"name":"b","type":"int"}]}"#;
    let nested = |depth: usize| [vec![2; depth], vec![0, 2]].concat();
    assert_eq!(turn(&writer, reader, &nested(10)), Ok(1));
    assert_eq!(turn(&writer, reader, &nested(100_000)), Err(Fault::Malformed));
    // The same where we want it.
    assert_eq!(turn(&writer, &writer, &nested(10)), Ok(12));
    assert_eq!(turn(&writer, &writer, &nested(100_000)), Err(Fault::Malformed));
    // A record that holds itself and nothing else has no value at all.
    let itself = r#"{"type":"record","name":"S","fields":[{"name":"s","type":"S"}]}"#;
    assert_eq!(turn(itself, itself, &[0]), Err(Fault::Malformed));
}
