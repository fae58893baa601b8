//! The loop, and the two ports it needs. It meets the world through [`port::Log`] and
//! [`port::Store`] alone, so the crash and simulation tests need no Kafka.
//!
//! Every process starts as a standby: it loads the stored state, replays the cycles after it, and
//! follows. Taking the lead fences the leader before. On any failure: stop; starting again is
//! the one way to recover, so it is the tested one.

#![forbid(unsafe_code)]

pub mod alternative;
mod begin;
pub mod checkpoint;
pub mod counters;
pub mod epoch_config;
pub mod feed;
pub mod fold;
mod follow;
pub mod intake;
mod last;
mod lead;
pub mod listing;
mod load;
pub mod orders;
mod outputs;
mod own;
pub mod port;
mod publish;
mod read_back;
pub mod repair;
pub mod report;
mod scan;
pub mod stray;
mod take;
mod verify;

pub use take::Leader;

use checkpoint::Checkpointer;
use epoch_config::EpochConfig;
use feed::Feed;
use own::Own;
use port::{LaneSpan, Log, LogError, Store, StoreError};
use report::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::engine::Engine;
use yardmaster_core::explain::iso;
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::output::repair::{NowRepair, NowRepairs};
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Arena, Codec, Writer};

/// Configuration of a drive.
pub struct Config {
    /// This process: host, process id and a start stamp.
    pub instance: String,
    /// The topology it would lead by.
    pub epoch_config: EpochConfig,
    /// A stopwatch; ns. For reports only: no decision reads it.
    pub stopwatch: fn() -> u64,
    /// Time since some fixed moment; ms. Never steps, whatever happens to the host's clock, which a
    /// leader compares with it. `None` where time is simulated: nothing is compared.
    pub uptime: Option<fn() -> Millis>,
    /// Whether every recorded decision is made again and compared.
    pub verify: bool,
    /// Whether anything is stored.
    pub keeps: bool,
    /// A store of a cycle before this is rebuilt: the log may not have kept what was removed since;
    /// ms since 1970.
    pub store_not_before: Millis,
    /// How counters are published, if they are.
    pub counters: Option<counters::CounterPublishing>,
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
         is published until the clocks agree; {remedy} ({instance})"
    )]
    Clock {
        /// Which clock is wrong.
        what: &'static str,
        /// By how much; ms.
        skew_ms: Millis,
        /// `ahead of` or `behind`.
        side: &'static str,
        /// The remedy.
        remedy: &'static str,
        /// This process.
        instance: String,
    },
    /// The state was counted by a `now` that was repaired since.
    #[error(
        "cycle {number} repairs the now of cycles {} to {}, which this process counted as they \
         were published: starting again counts them as of {}",
        repair.from_cycle, repair.until_cycle, iso(repair.now)
    )]
    Repaired {
        /// The cycle that shows it.
        number: u64,
        /// The repair.
        repair: NowRepair,
    },
    /// The content of the log cannot be followed; the text names the remedy.
    #[error("{0}")]
    Lost(String),
    /// Most names that are held may be of records that were forgotten.
    #[error(
        "{held} names are held, {most} are allowed (names_max, or twice those at the start): \
         starting again from the store gives back those that no record refers to; if this repeats, \
         look for a producer that invents names, or raise names_max"
    )]
    Names {
        /// Names held.
        held: usize,
        /// Names at which a process starts again.
        most: usize,
    },
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
    keeper: Checkpointer,
    role: Role,
    report: Report,
    /// Whether the report holds outputs as they are written.
    reports_written: bool,
    /// Topology text of the epoch the state is in; empty before the first.
    epoch_text: String,
    /// Input lanes there are, with where they began.
    inputs: Vec<LaneSpan>,
    /// Next offsets as last published, by input lane.
    published_next: BTreeMap<Lane, u64>,
    /// Topics in which records were missing between those that were read: compacted away, or
    /// markers.
    gaps: BTreeSet<Topic>,
    /// By topic number, how long a record is safe from compaction; `None`: always.
    compact_after: [Option<Millis>; Topic::ALL.len()],
    /// The newest `now` there was at the start, as it is counted.
    newest_now: Millis,
    /// The uptime when the call that runs was made, with the clock of that moment; ms.
    called_at: Millis,
    /// Cycles whose `now` was repaired.
    repairs: NowRepairs,
    lasts: last::Lasts,
    /// See [`Log::topic_ids`].
    topic_ids: BTreeMap<Topic, String>,
    /// A cycle of which decisions are missing.
    wanting: Option<follow::Wanting>,
    /// A standby has folded part of a cycle, and not all of it.
    is_half_folded: bool,
    /// Taking the lead did not end the transaction that holds an own lane.
    is_held: bool,
    /// A lane that does not bring what the next cycle was made of.
    lacking: Option<follow::Lacking>,
    /// The configuration of the epoch the state is in cannot be read by this version: ours stands
    /// in.
    is_unread: bool,
    /// Hash of the topology text that the cycles of the epoch are counted by.
    epoch_hash: String,
    /// Whether the last cycle was published with the hash of another text.
    is_other_policy: bool,
    /// Whether its outputs name users by pseudonyms of another key.
    is_other_key: bool,
    /// So it was in some epoch since the start: what is known may differ from what was known.
    was_unread: bool,
    /// The log no longer holds all that the cycles since the start were made of.
    is_cut_off: bool,
    /// Names at the start: those of live records. And checkpoints that were made by then.
    names_at_start: usize,
    made_at_start: u64,
    /// Other rules that are asked beside those of the log.
    alternative: Option<Box<alternative::Alternative>>,
}

/// Role of a process.
enum Role {
    /// Folds, publishes nothing.
    Standby,
    /// Publishes.
    Leader(Box<lead::Lead>),
}

impl<L: Log, S: Store> Drive<L, S> {
    /// The state as of the last cycle, with the records folded since.
    pub fn state(&self) -> &State {
        &self.engine.state
    }

    /// State and policies.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// State and policies, so that the state can be copied in portions. Nothing that is known is
    /// changed here.
    pub fn engine_to_copy(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// The report of everything since this was last asked.
    pub fn take_report(&mut self) -> Report {
        self.report.oddities = self.engine.state.oddities.take();
        self.report.classed = self.engine.take_classed();
        self.report.exceeded.add(self.engine.take_exceeded());
        self.report.checkpoint_ns.append(&mut self.keeper.took_ns);
        let (strays, mut named) = self.own.strays.take();
        self.report.strays = strays;
        self.report.notices.append(&mut named);
        std::mem::take(&mut self.report)
    }

    /// Asks for the outputs of confirmed cycles as they are written: see [`Report::written`].
    pub fn report_written(&mut self) {
        self.reports_written = true;
    }

    /// This process, as named in `progress`.
    pub fn instance(&self) -> &str {
        &self.config.instance
    }

    /// The log, for the caller that started the drive.
    pub fn log(&mut self) -> &mut L {
        &mut self.log
    }

    /// The store, for the caller that started the drive.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// The topology text that the cycles of the present epoch are counted by; empty before the
    /// first.
    pub fn epoch_text(&self) -> &str {
        &self.epoch_text
    }

    /// Whether this process leads.
    pub fn leads(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// Whether names may be held that no record refers to, so many that the drive is to be started
    /// again from its store (after a final progress record). Only then if the store has got further
    /// meanwhile: each start gets further than the one before.
    pub fn check_names(&self) -> Result<(), Halt> {
        let held = self.engine.state.names.len();
        let most = self.engine.state.setting.limits.names_max.max(2 * self.names_at_start);
        let may_restart = self.behind() == 0 || self.keeper.made() > self.made_at_start;
        if held > most && may_restart { Err(Halt::Names { held, most }) } else { Ok(()) }
    }

    /// Reports that records alone hold more names than `names_max` allows: that ends no process.
    fn note_many_names(&mut self) {
        let (held, most) = (self.names_at_start, self.config.epoch_config.setting.limits.names_max);
        if held > most {
            self.report.notices.push(format!(
                "{held} names are of records that are remembered, more than names_max allows \
                 ({most}): this process goes on up to {} names, each as large in memory as before; \
                 look for a producer that invents names, or raise names_max",
                2 * held
            ));
        }
    }

    /// Ends the drive and gives what is known.
    pub fn into_engine(self) -> Engine {
        self.engine
    }

    /// Ends the drive and gives the ports back.
    pub fn into_ports(self) -> (L, S) {
        (self.log, self.store)
    }

    /// Takes what the log has, waiting at most `wait` for the first record. When the log cannot be
    /// reached nothing is lost: the caller may wait and go on. After any other error, here or
    /// elsewhere, the drive is to be dropped with all it knows, and started again.
    pub fn pump(&mut self, wait: Duration) -> Result<usize, Halt> {
        let limits = &self.engine.state.setting.limits;
        let (most, most_bytes) = (limits.batch_records, limits.read_ahead_bytes);
        let mut batch = self.feed.spare();
        let taken = self.log.take(&mut batch, most, wait);
        let count = batch.records.len();
        for writer in std::mem::take(&mut batch.writers) {
            self.learn(writer);
        }
        let met = self.lasts.meet(&mut batch);
        self.feed.pour(batch);
        taken?;
        met?;
        self.balance(most * 8, most_bytes)?;
        self.own.read(&mut self.feed, &self.engine.state.setting.domain)?;
        let unreadable = std::mem::take(&mut self.own.unreadable);
        if !unreadable.is_empty() && !self.leads() {
            self.log.pass_unreadable(&unreadable);
        }
        Ok(count)
    }

    /// Takes up what a registry's number stands for; it is stored, so that starting
    /// again needs no registry. That it stands for nothing is only reported.
    fn learn(&mut self, writer: Writer) {
        self.own.learn(&writer);
        if let Err(why) = self.codec.learn_number(&writer) {
            self.report.notices.push(format!("{why}; its records go to the dead letters"));
        }
        self.keeper.learn(writer);
    }

    /// Pauses lanes that run too far ahead, resumes those that were paused long enough.
    fn balance(&mut self, most: usize, most_bytes: usize) -> Result<(), Halt> {
        let (pause, resume) = self.feed.balance(most, most_bytes);
        for (lanes, paused) in [(pause, true), (resume, false)] {
            if !lanes.is_empty()
                && let Err(error) = self.log.set_paused(&lanes, paused)
            {
                // Whether it was done is not known: all lanes are named again next time.
                self.feed.forget_paused();
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Identifier of the log: the id of its topic `progress`, or [`Log::id`].
    pub fn log_id(&mut self) -> Option<String> {
        self.topic_ids.get(&Topic::Progress).cloned().or_else(|| self.log.id())
    }

    /// Whether everything published was folded, and nothing more waits in own lanes.
    pub fn is_at_end(&self) -> bool {
        self.behind() == 0 && self.own_lanes_at_end()
    }

    /// Whether every own lane was read to its end.
    pub fn own_lanes_at_end(&self) -> bool {
        let mut own = self.feed.lanes().filter(|lane| lane.topic.is_own());
        own.all(|lane| self.feed.flags(lane).at_end)
    }

    /// By topic, how far the log goes on beyond what was folded: offsets, markers between records
    /// included, as far as the log knows without being asked. A topic of which nothing is known is
    /// left out.
    pub fn lags(&mut self) -> BTreeMap<Topic, u64> {
        let mut lags = BTreeMap::new();
        for (lane, end) in self.log.ends() {
            let lag: &mut u64 = lags.entry(lane.topic).or_default();
            *lag += end.saturating_sub(self.feed.next(lane));
        }
        lags
    }

    /// Whether records were read that no cycle has folded yet.
    pub fn has_more(&self) -> bool {
        self.feed.waiting() > 0
    }

    /// Lanes that cannot be read on, and what is in the way.
    pub fn stuck_lanes(&self) -> impl Iterator<Item = (Lane, LaneFlags)> {
        let flags = self.feed.lanes().map(|lane| (lane, self.feed.flags(lane)));
        flags.filter(|(_, flags)| flags.unreadable || flags.blocked_at.is_some())
    }

    /// An error if the log has lanes that are not read: a topic has grown since the start.
    fn reads_all(&self, spans: &[LaneSpan]) -> Result<(), LogError> {
        let is_new = |it: &&LaneSpan| it.lane.topic.is_read() && !self.feed.knows(it.lane);
        let new = spans.iter().find(is_new);
        let Some(topic) = new.map(|span| span.lane.topic) else { return Ok(()) };
        let known = self.feed.lanes().filter(|lane| lane.topic == topic).count();
        let found = spans.iter().filter(|span| span.lane.topic == topic).count();
        Err(LogError::Grown { topic, known, found })
    }

    fn input_lanes(&self) -> Vec<Lane> {
        self.feed.lanes().filter(|lane| !lane.topic.is_own()).collect()
    }
}

/// The lane of our own records of a key.
fn own_lane(topic: Topic, key: &str, partitions: u32) -> Lane {
    let hash = yardmaster_core::id::hash(key.as_bytes());
    Lane::new(topic, (hash % u64::from(partitions.max(1))) as u32)
}
