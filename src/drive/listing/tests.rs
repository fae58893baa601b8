//! Commands that a cycle lists, and others.

use super::*;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::{Decision, Fate, Outcome};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

const LANE: Lane = Lane::new(Topic::Command, 0);
const OTHER: Lane = Lane::new(Topic::Command, 1);
const CYCLES: Lane = Lane::new(Topic::Progress, 0);

/// A command as bytes.
fn command(subject: &str, cycle: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    record::write(&mut bytes, &named(subject, cycle));
    bytes
}

fn named(subject: &str, cycle: u64) -> Command {
    Command {
        queue: "ash".into(),
        cycle,
        epoch: 1,
        now: 1_000,
        ..Command::new("atlas", "T1", subject, 0, Some(7))
    }
}

/// A reader of one log.
struct Reader {
    listing: Listing,
    codec: Codec,
    offset: u64,
}

impl Reader {
    fn new() -> Reader {
        Reader {
            listing: Listing::new("atlas", &[Topic::Command, Topic::Decision]),
            codec: Codec::new(usize::MAX),
            offset: 0,
        }
    }

    fn command(&mut self, lane: Lane, value: &[u8]) -> usize {
        self.offset += 1;
        let place = (lane, self.offset);
        usize::from(self.listing.output(&self.codec, place, Some(value), &|_| true).is_some())
    }

    /// A cycle with these commands in lane 0; how many commands count since.
    fn cycle(&mut self, epoch: u64, number: u64, commands: &[&[u8]]) -> usize {
        let hashes = commands.iter().map(|value| output_hash(value)).collect();
        self.cycle_with(epoch, number, commands.len() as u32, hashes)
    }

    fn cycle_with(&mut self, epoch: u64, number: u64, count: u32, hashes: Vec<u64>) -> usize {
        let progress = Progress {
            domain: "atlas".into(),
            epoch,
            number,
            now: number as Millis,
            outputs: if count > 0 { vec![(LANE, count)] } else { Vec::new() },
            output_hashes: hashes,
            ..Progress::default()
        };
        let mut value = Vec::new();
        record::write(&mut value, &progress);
        self.offset += 1;
        self.listing.progress(&self.codec, (CYCLES, self.offset), Some(&value)).len()
    }
}

#[test]
fn a_listed_command_counts_whichever_of_both_is_read_first() {
    let mut reader = Reader::new();
    let (one, two) = (command("1", 5), command("2", 6));
    assert_eq!(reader.command(LANE, &one), 0);
    assert_eq!(reader.listing.oldest_wanted(), Some(5));
    assert_eq!(reader.cycle(1, 5, &[&one]), 1);
    assert_eq!(reader.cycle(1, 6, &[&two]), 0);
    assert_eq!(reader.command(LANE, &two), 1);
    assert_eq!(reader.listing.now(), 6);
    assert!(reader.listing.take_notices().is_empty());
}

#[test]
fn what_is_not_listed_a_copy_and_what_is_in_another_lane_are_passed_over() {
    let mut reader = Reader::new();
    let (one, forged) = (command("1", 5), command("3", 5));
    for value in [&one, &one, &forged] {
        assert_eq!(reader.command(LANE, value), 0);
    }
    assert_eq!(reader.cycle(1, 5, &[&one]), 1);
    assert_eq!(reader.command(LANE, &one), 0);
    let next = command("4", 6);
    assert_eq!(reader.cycle(1, 6, &[&next]), 0);
    assert_eq!(reader.command(OTHER, &next), 0);
    let mut wrong = Vec::new();
    record::write(&mut wrong, &Command { attempt: 1, ..named("4", 6) });
    assert_eq!(reader.command(LANE, &wrong), 0);
    assert_eq!(reader.command(LANE, b"no record"), 0);
    let notices = reader.listing.take_notices().join("\n");
    for part in ["command[0] offset 3: command", "cycle 5", "command[1]", "framing", "its id"] {
        assert!(notices.contains(part), "no {part:?} in {notices}");
    }
}

#[test]
fn a_cycle_that_lists_no_hashes_confirms_nothing() {
    let mut reader = Reader::new();
    let one = command("1", 5);
    assert_eq!(reader.command(LANE, &one), 0);
    assert_eq!(reader.cycle_with(1, 5, 1, Vec::new()), 0);
    assert!(reader.listing.take_notices()[0].contains("too many outputs"));
}

#[test]
fn a_cycle_out_of_order_confirms_nothing_unless_the_log_goes_on_with_it() {
    let mut reader = Reader::new();
    let forged = command("1", 900);
    assert_eq!(reader.cycle(1, 5, &[]), 0);
    assert_eq!(reader.command(LANE, &forged), 0);
    assert_eq!(reader.cycle(9, 900, &[&forged]), 0);
    let right = command("2", 6);
    assert_eq!(reader.command(LANE, &right), 0);
    assert_eq!(reader.cycle(1, 6, &[&right]), 1);
    // The log lost cycles 7 to 19.
    let late = command("3", 20);
    assert_eq!(reader.command(LANE, &late), 0);
    let counting: usize = (20..30)
        .map(|number| {
            if number == 20 { reader.cycle(1, 20, &[&late]) } else { reader.cycle(1, number, &[]) }
        })
        .sum();
    assert_eq!(counting, 1);
}

#[test]
fn a_decision_counts_beside_commands_and_is_whole() {
    const DECISIONS: Lane = Lane::new(Topic::Decision, 2);
    let fate = Fate {
        queue: "ash".into(),
        filter: "status".into(),
        reason: "offline".into(),
        measured: 1.0,
        limit: 2.0,
    };
    let decision = Decision {
        cycle: 5,
        fates: vec![fate],
        ..Decision::new("atlas", "1/1", 0, 1, Outcome::Assign(Vec::new()))
    };
    let mut value = Vec::new();
    record::write(&mut value, &decision);
    let mut reader = Reader::new();
    let wanted = reader.listing.output(&reader.codec, (DECISIONS, 0), Some(&value), &|_| false);
    assert_eq!((wanted, reader.listing.waiting_bytes()), (None, 0));
    let counts = |reader: &mut Reader, offset| {
        reader.listing.output(&reader.codec, (DECISIONS, offset), Some(&value), &|_| true)
    };
    assert_eq!(counts(&mut reader, 0), None);
    assert_eq!(reader.listing.waiting_bytes(), value.len());
    let one = command("1", 5);
    let progress = Progress {
        domain: "atlas".into(),
        epoch: 1,
        number: 5,
        outputs: vec![(DECISIONS, 1), (LANE, 1)],
        output_hashes: vec![output_hash(&value), output_hash(&one)],
        ..Progress::default()
    };
    let mut cycle = Vec::new();
    record::write(&mut cycle, &progress);
    let counting = reader.listing.progress(&reader.codec, (CYCLES, 1), Some(&cycle));
    let listed = Listed { place: (DECISIONS, 0), output: decision.clone().into() };
    assert_eq!(counting, [listed]);
    assert_eq!((reader.listing.waiting_bytes(), reader.listing.listed_count()), (0, 1));
    assert_eq!(reader.command(LANE, &one), 1);
    assert_eq!(counts(&mut reader, 1), None, "a copy");
    assert_eq!((reader.listing.passed_over(), reader.listing.cycle()), (1, Some(5)));
}
