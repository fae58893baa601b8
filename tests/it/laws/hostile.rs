//! Fold is total: any record, in whatever lane and at whatever time, it has its effect, and
//! every counter stays what a recount gives.

use super::counters::assert_audit_clean;
use crate::wire::dice::{Dice, Vocabulary};
use crate::wire::kinds;
use crate::wire::records::TEXTS;
use crate::world::*;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Configuration, Event, Garbled};
use yardmaster::core::judge::share::{Balance, Tree, executing_and_queued};
use yardmaster::core::limits::Limits;
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::output::progress::LaneFlags;
use yardmaster::core::state::close::Closing;
use yardmaster::core::state::digest::digest;

const TIMES: [i64; 10] =
    [i64::MIN, i64::MIN + 1, -1, 0, 1, DAWN, DAWN + 5_000, DAWN * 2, i64::MAX - 1, i64::MAX];
const COUNTS: [u32; 5] = [0, 1, 7, u32::MAX - 1, u32::MAX];
const AMOUNTS: [u64; 5] = [0, 1, 1 << 52, u64::MAX / 2, u64::MAX];

const NUMBERS: [f64; 8] = [0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 1e-300];

struct Foe {
    chance: Chance,
    names: Vec<&'static str>,
    /// Names in a random order, for records that borrow them.
    texts: &'static [String],
}

impl Foe {
    fn new(seed: u64) -> Foe {
        let long = |letter: &str, times| text(letter.repeat(times));
        let names = vec![
            "",
            "x",
            "ash",
            "70",
            "70/1",
            "0",
            "00",
            "-1",
            "18446744073709551615",
            ":",
            "/",
            "a:b",
            "9223372036854775807",
            "\0",
            "test",
            "pmerge",
            "Production Output",
            "DATADISK",
            long("x", 5_000),
            long("\u{1F682}", 700),
            long("x", 5_001),
            long("\u{e9}", 513),
        ];
        let mut chance = Chance(seed);
        let texts: Vec<String> = (0..1_000).map(|_| chance.of(&names).to_owned()).collect();
        Foe { chance, names, texts: Vec::leak(texts) }
    }

    /// As many texts as the record with the most of them borrows.
    fn texts(&mut self) -> &'static [String] {
        let at = self.chance.below(self.texts.len() - TEXTS);
        &self.texts[at..at + TEXTS]
    }

    fn name(&mut self) -> &'static str {
        let at = self.chance.below(self.names.len());
        self.names[at]
    }

    fn time(&mut self) -> i64 {
        self.chance.of(&TIMES)
    }

    fn count(&mut self) -> u32 {
        self.chance.of(&COUNTS)
    }

    /// Whatever can be published on a topic, with names and numbers of ours only.
    fn attempt(&mut self) -> u64 {
        let count = u64::from(self.count());
        count << (count % 31)
    }

    fn record_on(&mut self, topic: Topic) -> Event<'static> {
        let names = self.names.clone();
        let vocabulary = Vocabulary {
            texts: &names,
            longs: &TIMES,
            counts: &COUNTS,
            amounts: &AMOUNTS,
            floats: &NUMBERS,
        };
        let length = self.chance.below(1_000);
        let bytes: Vec<u8> = (0..length).map(|_| self.chance.word() as u8).collect();
        let mut dice = Dice::of(&vocabulary, &bytes);
        kinds::event(topic, &mut dice, self.texts()).expect("a generator")
    }

    fn event(&mut self) -> Event<'static> {
        match self.chance.below(14) {
            0..=2 => self.record_on(Topic::JobState),
            3 => self.record_on(Topic::Heartbeat),
            4 => self.record_on(Topic::Transfer),
            5 | 6 => self.record_on(Topic::Pilot),
            7 => {
                let Event::Task(mut asked) = self.record_on(Topic::Task) else {
                    panic!("no request")
                };
                asked.domain = "atlas".into();
                asked.policy = "production-job".into();
                Event::Task(asked)
            }
            8 => {
                let Event::Outcome(mut outcome) = self.record_on(Topic::Outcome) else {
                    panic!("no outcome")
                };
                outcome.decision = self.decision().id;
                Event::Outcome(outcome)
            }
            9 => Event::Garbled(self.chance.of(&Garbled::ALL)),
            10 => {
                let topic = self.chance.of(Topic::ALL);
                Event::Removed { topic, name: self.name() }
            }
            11 => Event::Output(Output::from(self.decision())),
            _ => {
                let topic = self.chance.of(Configuration::TOPICS);
                self.record_on(topic)
            }
        }
    }

    fn decision(&mut self) -> Decision {
        let mut decision =
            assign(self.name(), self.attempt(), self.name(), self.count(), self.time());
        decision.task = self.name().into();
        decision.gshare = self.name().into();
        if let Outcome::Assign(ranked) = &mut decision.outcome {
            ranked.push(ranked[0].clone());
        }
        if self.chance.below(3) == 0 {
            decision.outcome = Outcome::Defer { until: self.time() };
        }
        decision
    }

    fn lane(&mut self) -> Lane {
        Lane::new(self.chance.of(Topic::ALL), self.chance.of(&[0, 1, 3, u32::MAX - 1, u32::MAX]))
    }

    fn closing(&mut self, number: u64) -> Closing {
        let flags = LaneFlags {
            at_end: self.chance.below(3) > 0,
            unreadable: self.chance.below(9) == 0,
            blocked_at: (self.chance.below(9) == 0).then(|| self.time()),
        };
        let now = match self.chance.below(4) {
            0 => self.time(),
            _ => DAWN + number as i64 * 3_600_000,
        };
        Closing { epoch: 1, number, now, flags: vec![(self.lane(), flags)] }
    }
}

#[test]
fn no_record_panics_or_makes_a_counter_drift() {
    for seed in 0..40 {
        let mut foe = Foe::new(seed);
        let limits = Limits { stubs_max: 3, names_max: 1_000, ..Limits::default() };
        let mut state = state_with(limits);
        let silence = foe.chance.of(&[None, Some(0), Some(i64::MAX), Some(600_000)]);
        state.setting.silence = [silence; Topic::ALL.len()];
        for number in 1..40u64 {
            for _ in 0..foe.chance.below(80) {
                let (event, lane) = (foe.event(), foe.lane());
                let offset = match foe.chance.below(200) {
                    0 => u64::MAX - 1,
                    _ => state.next(lane),
                };
                let appended_at = foe.time();
                state.fold(lane, offset, appended_at, &event);
            }
            state.close(&foe.closing(number));
            if number % 8 == 0 {
                assert_audit_clean(&state, &format!("seed {seed}, cycle {number}"));
                digest(&state);
                let tree = Tree::of(&state);
                let balance = Balance::new(&tree, &executing_and_queued(&state));
                let leaves = balance.order(&tree);
                assert_eq!(leaves.len(), tree.leaves().count(), "seed {seed}, cycle {number}");
            }
        }
    }
}
