//! The loop, and the two ports it needs. It meets the world through [`port::Log`] and
//! [`port::Store`] alone, so the crash and simulation tests need no Kafka.
//!
//! Every process starts as a standby: it loads what was kept, replays the cycles after it, and
//! follows. Taking the lead fences whoever spoke before. Whatever fails: stop; starting again is
//! the one way to recover, so it is the tested one.

pub mod feed;
pub mod fold;
mod follow;
pub mod keep;
mod lead;
mod own;
pub mod port;
pub mod report;
pub mod terms;

use crate::core::cut::{Cut, Lane, Topic};
use crate::core::engine::Engine;
use crate::core::state::State;
use crate::core::unit::Millis;
use crate::wire::avro::{Arena, Codec};
use feed::Feed;
use keep::Keeper;
use own::Own;
use port::{Batch, LaneSpan, Log, LogError, Store, StoreError};
use report::Report;
use std::collections::BTreeMap;
use std::time::Duration;
use terms::Terms;

/// What a drive is started with.
pub struct Config {
    /// Who this is: host, process id and a start stamp.
    pub instance: String,
    /// The topology it would lead by.
    pub terms: Terms,
    /// A stopwatch; ns. For reports only: no decision reads it.
    pub stopwatch: fn() -> u64,
    /// Whether every recorded decision is made again and compared.
    pub verify: bool,
    /// Whether anything is kept in the store.
    pub keeps: bool,
}

/// Why a drive stopped.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// The log objected.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store objected.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Our clock, or the last `now` that was found, is not the broker's.
    #[error(
        "{what} is {skew_ms} ms {side} the broker's time, more than clock_skew_s allows: nothing \
         is said until the clocks agree; set the clock of this host ({instance}) or of the broker \
         (NTP) and start again"
    )]
    Clock {
        /// Whose time is wrong.
        what: &'static str,
        /// By how much; ms.
        skew_ms: Millis,
        /// `ahead of` or `behind`.
        side: &'static str,
        /// This process.
        instance: String,
    },
    /// What the log says cannot be followed; the text names the remedy.
    #[error("{0}")]
    Lost(String),
}

/// Folding, judging, saying, keeping: one domain.
pub struct Drive<L: Log, S: Store> {
    log: L,
    store: S,
    config: Config,
    codec: Codec,
    arena: Arena,
    engine: Engine,
    feed: Feed,
    own: Own,
    keeper: Keeper,
    role: Role,
    report: Report,
    /// Topology text of the epoch the state is in; empty before the first.
    epoch_text: String,
    /// Input lanes there are, with where they began.
    inputs: Vec<LaneSpan>,
    /// Next offsets as last said, by input lane.
    said_next: BTreeMap<Lane, u64>,
}

/// What a process does now.
enum Role {
    /// Folds along, says nothing.
    Standby,
    /// Speaks.
    Leader(Box<lead::Lead>),
}

impl<L: Log, S: Store> Drive<L, S> {
    /// Loads what was kept and begins to read where it ends; as a standby.
    pub fn start(mut log: L, mut store: S, config: Config) -> Result<Drive<L, S>, Halt> {
        let codec = Codec::new(config.terms.setting.limits.max_record_bytes);
        let spans = log.lanes()?;
        let (keeper, loaded) =
            Keeper::load(&mut store, &config.terms, config.stopwatch, config.keeps)?;
        let fresh = loaded.is_none();
        let (mut state, head) = loaded
            .unwrap_or_else(|| (State::new(config.terms.setting.clone()), Default::default()));
        let mut cut = Cut::default();
        let bounds: BTreeMap<Lane, u64> = head.bounds.iter().copied().collect();
        for span in &spans {
            let kept = match span.lane.topic.is_own() {
                true => bounds.get(&span.lane).copied(),
                false => state.times.lanes.get(span.lane).map(|lane| lane.next),
            };
            cut.advance(span.lane, kept.unwrap_or(span.first));
            if !span.lane.topic.is_own() {
                let held = state.times.lanes.at(span.lane);
                held.next = held.next.max(kept.unwrap_or(span.first));
            }
        }
        log.assign(&cut)?;
        let own = Own::new(&cut, state.number, fresh);
        let mut drive = Drive {
            feed: Feed::new(&cut),
            log,
            store,
            codec,
            arena: Arena::default(),
            engine: Engine::new(state, Vec::new()),
            own,
            keeper,
            role: Role::Standby,
            report: Report::default(),
            epoch_text: String::new(),
            inputs: spans.into_iter().filter(|span| !span.lane.topic.is_own()).collect(),
            said_next: BTreeMap::new(),
            config,
        };
        drive.report.notices.append(&mut drive.keeper.notices);
        drive.take_terms(&head.policies)?;
        Ok(drive)
    }

    /// What is known.
    pub fn state(&self) -> &State {
        &self.engine.state
    }

    /// State and policies.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What happened since this was last asked.
    pub fn take_report(&mut self) -> Report {
        self.report.oddities = self.engine.state.oddities.take();
        self.report.checkpoint_ns.append(&mut self.keeper.took_ns);
        std::mem::take(&mut self.report)
    }

    /// The log, for whoever started the drive.
    pub fn log(&mut self) -> &mut L {
        &mut self.log
    }

    /// The store, for whoever started the drive.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Whether this process speaks.
    pub fn leads(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// Ends the drive and gives the ports back.
    pub fn into_ports(self) -> (L, S) {
        (self.log, self.store)
    }

    /// Takes what the log has, waiting at most `wait` for the first record.
    pub fn pump(&mut self, wait: Duration) -> Result<usize, Halt> {
        let limits = &self.engine.state.setting.limits;
        let most = limits.batch_records;
        let mut batch = Batch::default();
        let taken = self.log.take(&mut batch, most, wait);
        let count = batch.records.len();
        self.feed.pour(batch);
        taken?;
        let (hold, release) = self.feed.balance(most * 8);
        if !hold.is_empty() {
            self.log.hold(&hold, true)?;
        }
        if !release.is_empty() {
            self.log.hold(&release, false)?;
        }
        self.own.read(&mut self.feed, &self.codec, &self.engine.state.setting.domain)?;
        Ok(count)
    }

    /// Goes by a topology's text from now on; an empty one is ours.
    fn take_terms(&mut self, text: &str) -> Result<(), Halt> {
        let text = if text.is_empty() { self.config.terms.text.clone() } else { text.to_owned() };
        if text == self.epoch_text {
            return Ok(());
        }
        let terms = Terms::of("the topology in progress", &text).map_err(|mistakes| {
            Halt::Lost(format!(
                "the topology said in progress cannot be read by this version: {}",
                mistakes.join("; ")
            ))
        })?;
        let empty = State::new(terms.setting.clone());
        let mut state = std::mem::replace(&mut self.engine.state, empty);
        state.setting = terms.setting;
        state.ledger.tally_reach = state.setting.limits.done_jobs_window_ms;
        self.engine = Engine::new(state, terms.policies);
        self.epoch_text = text;
        Ok(())
    }

    /// Whether every own lane was read to its end.
    pub fn own_lanes_at_end(&self) -> bool {
        let mut own = self.feed.lanes().filter(|lane| lane.topic.is_own());
        own.all(|lane| self.feed.flags(lane).at_end)
    }

    /// How many records of a topic were read and wait to be folded.
    pub fn lag(&self, topic: Topic) -> u64 {
        let lanes = self.feed.lanes().filter(|lane| lane.topic == topic);
        lanes.map(|lane| self.feed.waiting_in(lane) as u64).sum()
    }

    /// Whether records were read that no cycle has folded yet.
    pub fn has_more(&self) -> bool {
        self.feed.waiting() > 0
    }

    fn input_lanes(&self) -> Vec<Lane> {
        self.feed.lanes().filter(|lane| !lane.topic.is_own()).collect()
    }
}

/// The lane of a subject's decisions.
fn decision_lane(subject: &str, partitions: u32) -> Lane {
    let hash = crate::core::id::hash(subject.as_bytes());
    Lane::new(Topic::Decision, (hash % u64::from(partitions.max(1))) as u32)
}
