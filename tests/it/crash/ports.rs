//! Ports that watch and delay, and numbers that look drawn.

use super::play::config;
use std::time::Duration;
use yardmaster::core::cut::{Cut, Lane, Topic};
use yardmaster::core::output::progress::Progress;
use yardmaster::core::state::{Setting, State};
use yardmaster::drive::port::*;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::sim::paper::{Note, Paper};
use yardmaster::wire::avro::Codec;
use yardmaster::wire::stored;

/// A store that sees to it that nothing is kept of a cycle that is not in the log.
pub struct Watch {
    store: PaperStore,
    paper: Paper,
    setting: Setting,
    codec: Codec,
}

impl Watch {
    pub fn new(store: &PaperStore, paper: &Paper) -> Watch {
        let setting = config("").epoch_config.setting;
        let codec = Codec::new(usize::MAX);
        Watch { store: store.clone(), paper: paper.clone(), setting, codec }
    }
}

impl Store for Watch {
    fn load(&mut self) -> Result<Option<Kept>, StoreError> {
        self.store.load()
    }

    fn keep(&mut self, checkpoint: Checkpoint) -> Result<(), StoreError> {
        let mut state = State::new(self.setting.clone());
        stored::read_head(&checkpoint.head, &mut state).unwrap();
        let published = self.paper.records(Lane::new(Topic::Progress, 0));
        let read = |note: &Note| self.codec.read_record::<Progress>(note.value.as_deref()?).ok();
        let same = published
            .iter()
            .rev()
            .filter_map(read)
            .find(|published| published.number == state.number);
        let epoch = same.map(|published| published.epoch);
        assert_eq!(
            epoch,
            Some(state.epoch),
            "cycle {} is kept and was never published",
            state.number
        );
        self.store.keep(checkpoint)
    }

    fn is_busy(&mut self) -> bool {
        self.store.is_busy()
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.store.flush()
    }
}

/// A log that, when it is late, settles nothing for some looks: the next batch is folded and judged
/// while the transaction runs.
pub struct Late<L: Log> {
    log: L,
    late: bool,
    looks: u32,
}

impl<L: Log> Late<L> {
    pub fn new(log: L, late: bool) -> Late<L> {
        Late { log, late, looks: 0 }
    }
}

impl<L: Log> Log for Late<L> {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        self.log.lanes()
    }
    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        self.log.assign(from)
    }
    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        self.log.set_paused(lanes, paused)
    }
    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        self.log.take(batch, max, wait)
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
        self.looks = if self.late { 4 } else { 0 };
        self.log.publish(outputs, progress)
    }
    fn is_settled(&mut self) -> bool {
        self.looks = self.looks.saturating_sub(1);
        self.looks == 0 && self.log.is_settled()
    }
    fn settle(&mut self) -> Result<(), LogError> {
        self.log.settle()
    }
}

/// Numbers that look drawn and are the same each time.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count
    }
}
