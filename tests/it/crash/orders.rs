//! Lanes may be read in any interleaving: within a cycle the order in which they were merged is
//! nothing.

use super::check::*;
use super::play::*;
use super::ports::Dice;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use yardmaster::core::cut::{Cut, Lane, Topic};
use yardmaster::drive::port::*;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;

/// How the lanes of a log are mixed.
#[derive(Clone, Copy)]
enum Mix {
    /// A record at a time, from any lane.
    Crumbs,
    /// Runs of any length.
    Runs,
    /// Everything of one topic before anything of the others.
    First(Topic),
    /// Nothing of one topic before everything of the others.
    Last(Topic),
}

enum Item {
    Record(u64, i64, Option<Vec<u8>>, Option<Vec<u8>>),
    Mark(Mark),
}

/// A log that delivers its lanes in an order of its own; within a lane it keeps the order.
struct Shuffled {
    log: PaperLog,
    mix: Mix,
    dice: Dice,
    lanes: BTreeMap<Lane, VecDeque<Item>>,
    paused: BTreeSet<Lane>,
}

impl Shuffled {
    fn new(log: PaperLog, mix: Mix, seed: u64) -> Shuffled {
        let (lanes, paused) = (BTreeMap::new(), BTreeSet::new());
        Shuffled { log, mix, dice: Dice::new(seed + 1), lanes, paused }
    }

    /// Which lane gives next, and how many records.
    fn choose(&mut self) -> Option<(Lane, usize)> {
        let full = |(lane, items): &(&Lane, &VecDeque<Item>)| {
            !items.is_empty() && !self.paused.contains(lane)
        };
        let open: Vec<Lane> = self.lanes.iter().filter(full).map(|(lane, _)| *lane).collect();
        let of = |topic| open.iter().copied().filter(|lane| lane.topic == topic).collect();
        let not_of = |topic| open.iter().copied().filter(|lane| lane.topic != topic).collect();
        let (liked, length): (Vec<Lane>, usize) = match self.mix {
            Mix::Crumbs => (Vec::new(), 1),
            Mix::Runs => (Vec::new(), 1 + self.dice.below(9)),
            Mix::First(topic) => (of(topic), 3),
            Mix::Last(topic) => (not_of(topic), 3),
        };
        let from = if liked.is_empty() { open } else { liked };
        (!from.is_empty()).then(|| (from[self.dice.below(from.len())], length))
    }
}

impl Log for Shuffled {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        self.log.lanes()
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        self.lanes.clear();
        self.log.assign(from)
    }

    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        for lane in lanes {
            if paused {
                self.paused.insert(*lane)
            } else {
                self.paused.remove(lane)
            };
        }
        Ok(())
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        let mut all = Batch::default();
        self.log.take(&mut all, 100_000, wait)?;
        for raw in &all.records {
            let [key, value] = [all.key(raw), all.value(raw)].map(|part| part.map(<[u8]>::to_vec));
            let item = Item::Record(raw.offset, raw.appended_at, key, value);
            self.lanes.entry(raw.lane).or_default().push_back(item);
        }
        for mark in &all.marks {
            self.lanes.entry(mark.lane).or_default().push_back(Item::Mark(*mark));
        }
        let most = match self.mix {
            Mix::Crumbs => 1 + self.dice.below(3),
            _ => max.min(20),
        };
        while batch.records.len() + batch.marks.len() < most {
            let Some((lane, length)) = self.choose() else { break };
            for _ in 0..length.min(most - batch.records.len()) {
                match self.lanes.get_mut(&lane).and_then(VecDeque::pop_front) {
                    Some(Item::Record(offset, at, key, value)) => {
                        batch.push(lane, offset, at, key.as_deref(), value.as_deref());
                    }
                    Some(Item::Mark(mark)) => batch.marks.push(mark),
                    None => break,
                }
            }
        }
        Ok(())
    }

    fn ends(&mut self) -> Vec<(Lane, u64)> {
        self.log.ends()
    }
    fn lead(&mut self) -> Result<(), LogError> {
        self.log.lead()
    }
    fn let_go(&mut self) {
        self.log.let_go();
    }
    fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError> {
        self.log.publish(outputs, progress)
    }
    fn is_settled(&mut self) -> bool {
        self.log.is_settled()
    }
    fn settle(&mut self) -> Result<(), LogError> {
        self.log.settle()
    }
}

#[test]
fn lanes_merged_in_any_order_give_the_same() {
    let mut play = Play::new(Vec::new(), Left::All, false);
    let reached = play.run();
    let mut mixes = vec![Mix::Crumbs, Mix::Runs, Mix::Crumbs, Mix::Runs];
    let topics = [
        Topic::Progress,
        Topic::Decision,
        Topic::Throttle,
        Topic::JobState,
        Topic::Task,
        Topic::Queue,
    ];
    mixes.extend(topics.map(Mix::First));
    mixes.extend(topics.map(Mix::Last));
    for (seed, mix) in mixes.into_iter().enumerate() {
        let log = Shuffled::new(play.yard.log(), mix, seed as u64);
        let report = rebuild(log, PaperStore::default(), &reached);
        let outputs = play.yard.outputs();
        assert_eq!(report.verified[0], outputs as u64);
        let kept = play.store.older(seed + 3);
        rebuild(Shuffled::new(play.yard.log(), mix, seed as u64), kept, &reached);
    }
}
