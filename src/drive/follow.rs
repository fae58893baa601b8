//! Following: folds the published cycles one by one, in order. Every recovery goes this way, and
//! gives exactly the state that the leader had.

use crate::feed::Run;
use crate::fold::fold_records;
use crate::outputs::counted;
use crate::own::lost_cycles;
use crate::port::{Log, REMAKE, Raw, Store, recreated, rewritten};
use crate::read_back::ReadOutput;
use crate::repair::notice_of;
use crate::{Drive, Halt};
use std::collections::BTreeSet;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::output::progress::Progress;
use yardmaster_core::policy::Policy;
use yardmaster_core::state::close::Closing;
use yardmaster_core::unit::Millis;

/// How often a cycle is looked at whose outputs were not all read, before the log is asked where
/// they should be.
const LOOKS_BEFORE_ASKING: u32 = 20;
/// How often the log is asked while a lane of outputs has an open transaction: the leader's, which
/// ends, or another's, which holds the lane and shows so meanwhile.
const OPEN_ASKS_MAX: u32 = 20;

/// A lane that does not bring what the next cycle was made of.
#[derive(Default)]
pub(super) struct Lacking {
    lane: Option<Lane>,
    seen: u64,
    looks: u32,
}

/// A cycle of which outputs are missing.
#[derive(Default)]
pub(super) struct Wanting {
    number: u64,
    looks: u32,
    /// Where the lanes of outputs ended after the cycle was read.
    ends: Option<Vec<(Lane, u64)>>,
    /// How often the log was asked while one of them had an open transaction.
    open_asks: u32,
}

impl<L: Log, S: Store> Drive<L, S> {
    /// Counts every cycle whose records have all arrived. Returns how many.
    pub fn follow(&mut self) -> Result<u64, Halt> {
        self.follow_to(u64::MAX)
    }

    /// The same, but no cycle after the one of number `last`; nothing of those is folded either.
    /// For a look at the state as it was then.
    pub fn follow_to(&mut self, last: u64) -> Result<u64, Halt> {
        let mut counted = 0;
        while self.engine.state.number < last && self.follow_one()? {
            counted += 1;
            self.note_followed()?;
        }
        Ok(counted)
    }

    /// The same, but no cycle behind the first one whose `now` is `when` or later. For a look at
    /// the state on the way.
    pub fn follow_past(&mut self, when: Millis) -> Result<u64, Halt> {
        let mut counted = 0;
        while self.follow_one()? {
            counted += 1;
            self.note_followed()?;
            if self.engine.state.now >= when {
                break;
            }
        }
        Ok(counted)
    }

    /// The same, but no cycle with a `now` after `when`, and none behind such a cycle.
    pub fn follow_until(&mut self, when: Millis) -> Result<u64, Halt> {
        let mut counted = 0;
        while !self.goes_past(when) && self.follow_one()? {
            counted += 1;
            self.note_followed()?;
        }
        Ok(counted)
    }

    /// Whether the next cycle was read, and its `now` is after `when`.
    pub fn goes_past(&mut self, when: Millis) -> bool {
        self.skip(self.engine.state.number);
        let next = self.own.cycles.front().map(|cycle| &cycle.progress);
        next.is_some_and(|next| self.repairs.now_of(next.number, next.now) > when)
    }

    fn note_followed(&mut self) -> Result<(), Halt> {
        self.report.cycles += 1;
        let number = self.engine.state.number;
        self.copy(false);
        self.report.confirmed = Some(number);
        self.keeper.confirm(number);
        self.keeper.hand_over(&mut self.store, false)
    }

    /// How many cycles were read and not counted yet.
    pub fn behind(&self) -> usize {
        let published = self.feed.lanes().filter(|lane| lane.topic == Topic::Progress);
        self.own.cycles.len() + published.map(|lane| self.feed.waiting_in(lane)).sum::<usize>()
    }

    fn follow_one(&mut self) -> Result<bool, Halt> {
        let counted = self.engine.state.number;
        let begins = counted == 0;
        self.skip(counted);
        let Some(cycle) = self.own.cycles.front() else { return Ok(false) };
        let progress = cycle.progress.clone();
        if !begins && progress.number != counted + 1 {
            return Err(Halt::Lost(lost_cycles(progress.number, counted)));
        }
        if let Some((lane, _)) = progress.lanes.iter().find(|(lane, _)| !self.feed.knows(*lane)) {
            let spans = self.log.lanes()?;
            self.reads_all(&spans)?;
            return Err(Halt::Lost(format!(
                "cycle {} was made with {lane}, which the log does not have: its topic was \
                 created again; {REMAKE}",
                progress.number
            )));
        }
        if let Some(why) = recreated(&progress.topic_ids, &self.topic_ids) {
            let number = progress.number;
            return Err(Halt::Lost(format!("{why}, and cycle {number} is of the first; {REMAKE}")));
        }
        if !self.has_words(begins)? {
            return Ok(false);
        }
        self.learn_repairs(&progress)?;
        if let Some(text) = &progress.policies {
            self.take_epoch_config(text)?;
        }
        self.check_policy_hash(&progress);
        self.is_half_folded = true;
        if !self.fold_to_cut(&progress) {
            self.look_for_inputs(&progress)?;
            return Ok(false);
        }
        if let Some((lane, offset)) = self.lasts.differs(&progress) {
            let number = progress.number;
            let why = rewritten(&lane.to_string(), offset + 1);
            return Err(Halt::Lost(format!("cycle {number} was made of other records: {why}")));
        }
        self.lacking = None;
        self.own.cycles.pop_front();
        self.close_as_published(progress, begins);
        self.is_half_folded = false;
        Ok(true)
    }

    /// Takes up the repairs that a cycle names. An error if the state was counted by a `now` that
    /// is repaired: what expired by it is gone.
    fn learn_repairs(&mut self, progress: &Progress) -> Result<(), Halt> {
        for repair in self.repairs.learn(progress.number, &progress.now_repairs) {
            let state = &self.engine.state;
            if repair.covers(state.number) && state.now > repair.now {
                return Err(Halt::Repaired { number: progress.number, repair });
            }
            self.report.notices.push(notice_of(&repair));
        }
        Ok(())
    }

    /// Passes over cycles that are counted, and over those before the first full cut that is left:
    /// a rebuild begins there.
    fn skip(&mut self, counted: u64) {
        let is_over = |progress: &Progress| match counted {
            0 => !progress.full,
            counted => progress.number <= counted,
        };
        while self.own.cycles.front().is_some_and(|cycle| is_over(&cycle.progress)) {
            self.own.cycles.pop_front();
        }
    }

    /// Whether all outputs that the next cycle counts were read; at the beginning also those of
    /// cycles that are gone.
    fn has_words(&mut self, begins: bool) -> Result<bool, Halt> {
        let Some(cycle) = self.own.cycles.front() else { return Ok(false) };
        let (number, counted) = (cycle.progress.number, counted(&cycle.progress));
        let found = self.own.found(&cycle.progress, false);
        if found == counted {
            self.wanting = None;
            return Ok(!begins || self.own.has_old_words(&self.feed));
        }
        let wanting = self.wanting.get_or_insert_with(|| Wanting { number, ..Wanting::default() });
        if wanting.number != number {
            *wanting = Wanting { number, ..Wanting::default() };
        }
        wanting.looks += 1;
        if wanting.looks == LOOKS_BEFORE_ASKING {
            // They were made visible together with the cycle: so they lie below the ends as of now,
            // but for those behind a transaction of another.
            let mut spans = self.log.lanes()?;
            spans.retain(|span| span.lane.topic.is_folded_output());
            let is_open = spans.iter().any(|span| span.stable_end < span.end);
            wanting.open_asks = if is_open { wanting.open_asks + 1 } else { 0 };
            let ends = spans.into_iter().map(|span| (span.lane, span.stable_end));
            wanting.ends = Some(ends.collect());
        }
        let is_open = (1..OPEN_ASKS_MAX).contains(&wanting.open_asks);
        let is_read = |(lane, end): &(Lane, u64)| {
            self.feed.has(*lane, *end) && self.feed.waiting_in(*lane) == 0
        };
        if !wanting.ends.as_ref().is_some_and(|ends| ends.iter().all(is_read)) {
            return Ok(false);
        }
        if is_open || self.is_own_lane_blocked() {
            if let Some(wanting) = &mut self.wanting {
                (wanting.looks, wanting.ends) = (0, None);
            }
            return Ok(false);
        }
        // Verifying shows how an altered record differs.
        if self.config.verify && self.own.found(&cycle.progress, true) == counted {
            self.wanting = None;
            return Ok(!begins || self.own.has_old_words(&self.feed));
        }
        Err(Halt::Lost(format!(
            "cycle {number} counts {counted} decisions, throttles and commands, {found} are in the \
             log ({} records of own topics cannot be read): records were lost, altered, or written \
             by a newer version; keep them longer than progress, restore them, or use that version",
            self.own.strays.unreadable
        )))
    }

    /// Folds what has arrived of a cycle's inputs; whether all of it has. Order within a cycle is
    /// nothing, so what arrives first is folded first.
    fn fold_to_cut(&mut self, progress: &Progress) -> bool {
        let began = (self.config.stopwatch)();
        let cut = || progress.lanes.iter().filter(|(lane, _)| !lane.topic.is_own());
        let mut runs = Vec::new();
        for (lane, until) in cut() {
            self.draw_lane(*lane, *until, &mut runs);
        }
        self.fold_runs(&runs, &progress.garbled);
        let mut complete = true;
        for (lane, until) in cut() {
            // A cut may lie past the last record: what was there is compacted away.
            if self.feed.has(*lane, *until) {
                let held = self.engine.state.times.lanes.at(*lane);
                held.next = held.next.max(*until);
            } else {
                complete = false;
            }
        }
        self.report.fold_ns += (self.config.stopwatch)() - began;
        complete
    }

    /// Looks for inputs of a cycle that do not arrive, and may never do so: a cycle was made of
    /// what the log had then, so a lane that ends before it was created again since.
    fn look_for_inputs(&mut self, progress: &Progress) -> Result<(), Halt> {
        let inputs = || progress.lanes.iter().filter(|(lane, _)| !lane.topic.is_own());
        let Some((lane, _)) = inputs().find(|(lane, until)| !self.feed.has(*lane, *until)) else {
            return Ok(());
        };
        let seen = self.feed.seen(*lane);
        let lacking = self.lacking.get_or_insert_with(Lacking::default);
        if (lacking.lane, lacking.seen) != (Some(*lane), seen) {
            *lacking = Lacking { lane: Some(*lane), seen, looks: 0 };
        }
        lacking.looks += 1;
        if lacking.looks < LOOKS_BEFORE_ASKING || !lacking.looks.is_power_of_two() {
            return Ok(());
        }
        let spans = self.log.lanes()?;
        let ends = |lane: Lane| spans.iter().find(|span| span.lane == lane).map(|span| span.end);
        match inputs().find(|(lane, until)| ends(*lane).is_some_and(|end| end < *until)) {
            None => Ok(()),
            Some((lane, until)) => Err(Halt::Lost(format!(
                "cycle {} was made of {lane} up to offset {until}, but the lane ends at {}: its \
                 topic was created again or has lost its end, and what is written there now would \
                 be taken for what was read before; {REMAKE}",
                progress.number,
                ends(*lane).unwrap_or(0)
            ))),
        }
    }

    /// Takes what has arrived of a lane's part of a cycle, and notes where records are missing.
    fn draw_lane(&mut self, lane: Lane, until: u64, runs: &mut Vec<Run>) {
        let mut next = self.engine.state.next(lane);
        let first = self.inputs.iter().find(|span| span.lane == lane).map_or(0, |span| span.first);
        // What lies before the first cycle there is was never to be read.
        self.is_cut_off |= self.engine.state.number > 0 && next < first && next < until;
        let before = runs.len();
        let drawn = self.feed.draw(lane, until, usize::MAX, runs);
        self.lasts.note(&runs[before..]);
        let mut is_gap = false;
        for (_, raw) in runs[before..].iter().flat_map(Run::iter) {
            is_gap |= raw.offset > next;
            next = raw.offset + 1;
        }
        if is_gap || self.feed.has(lane, until) && until > next {
            self.gaps.insert(lane.topic);
        }
        *self.report.events.entry(lane.topic).or_default() += drawn as u64;
    }

    fn fold_runs(&mut self, runs: &[Run], garbled: &[(Lane, u64)]) {
        let Drive { engine, codec, arena, .. } = self;
        let garbled: BTreeSet<(Lane, u64)> = garbled.iter().copied().collect();
        let is_garbled = |raw: &Raw| garbled.contains(&(raw.lane, raw.offset));
        let all = || runs.iter().flat_map(Run::iter);
        let mut unreadable = Vec::new();
        if garbled.is_empty() {
            fold_records(&mut engine.state, codec, arena, all(), Millis::MAX, &mut unreadable);
            return;
        }
        for (batch, raw) in all() {
            if is_garbled(raw) {
                engine.state.pass(raw.lane, raw.offset);
            } else {
                let one = std::iter::once((batch, raw));
                fold_records(&mut engine.state, codec, arena, one, Millis::MAX, &mut unreadable);
            }
        }
    }

    fn close_as_published(&mut self, progress: Progress, begins: bool) {
        let now = self.repairs.now_of(progress.number, progress.now);
        if begins && progress.number > 1 {
            self.engine.state.known_since = now;
        }
        let closing = Closing {
            epoch: progress.epoch,
            number: progress.number,
            now,
            flags: progress.flags.clone(),
        };
        self.engine.state.close(&closing);
        let published = self.own.take_outputs(&progress, self.config.verify);
        let left = match begins {
            true => Some(published),
            false if self.config.verify => {
                self.verify(&progress, published);
                None
            }
            false => self.judge_beside(&progress, published),
        };
        if let Some(published) = left {
            published.into_iter().for_each(|published| self.take_output(published));
            self.engine.pass();
        }
        self.own.count(progress.number);
        self.note_cycle(&progress);
    }

    /// Folds an output as it was published.
    pub(super) fn fold_published(&mut self, published: &ReadOutput) {
        self.engine.fold_output(&self.repairs.output(&published.output));
    }

    /// The same, and reports it.
    pub(super) fn take_output(&mut self, published: ReadOutput) {
        self.fold_published(&published);
        if self.reports_written {
            let topic = published.output.topic();
            let written = self.codec.in_own_framing(topic, published.bytes);
            self.report.written.extend(written.map(|written| (topic, written)));
        }
        self.report.outputs.push(published.output);
    }

    /// The policies of the epoch the state is in.
    pub fn policies(&self) -> &[Policy] {
        self.engine.policies()
    }
}
