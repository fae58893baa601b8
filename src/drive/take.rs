//! Taking the lead: when it is free, and what is read before the first cycle is published.

use crate::lead::Lead;
use crate::port::{Log, REMAKE, Store};
use crate::read_back::ReadOutput;
use crate::{Drive, Halt, Role};
use std::time::Duration;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::unit::Millis;

/// How long one look at the log may wait while the lead is being taken.
const LOOK: Duration = Duration::from_millis(50);
/// How many looks in a row may bring nothing new before taking the lead is given up.
const LOOKS_MAX: u32 = 1_200;
/// The same where an open transaction alone is in the way: the fence has ended those of leaders.
const HELD_LOOKS_MAX: u32 = 60;

/// The process that published a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader<'a> {
    /// The epoch.
    pub epoch: u64,
    /// Host, process id and start stamp.
    pub instance: &'a str,
    /// Hash of the topology that it decides by (`policy_hash`).
    pub topology: &'a str,
}

impl<L: Log, S: Store> Drive<L, S> {
    /// Whether the lead is free: the last leader ended in order, was this very instance, or there
    /// never was one. `heard_at` is when `progress` last moved or the broker last did not answer.
    pub fn may_lead(&self, clock: Millis, heard_at: Millis, jitter: Millis) -> bool {
        if self.leads() || self.behind() > 0 {
            return false;
        }
        let is_silent = self.is_silent(clock, heard_at, jitter);
        if self.is_held && (self.is_own_lane_blocked() || !is_silent) {
            return false;
        }
        let at_end = self
            .feed
            .lanes()
            .filter(|lane| lane.topic == Topic::Progress)
            .all(|lane| self.feed.flags(lane).at_end);
        match &self.own.newest {
            _ if !at_end => false,
            None => self.engine.state.number == 0 || is_silent,
            Some(newest) if newest.farewell || newest.instance == self.config.instance => true,
            Some(_) => is_silent,
        }
    }

    pub(crate) fn is_own_lane_blocked(&self) -> bool {
        let mut stuck = self.stuck_lanes();
        stuck.any(|(lane, flags)| lane.topic.is_read_back() && flags.blocked_at.is_some())
    }

    fn is_silent(&self, clock: Millis, heard_at: Millis, jitter: Millis) -> bool {
        clock - heard_at >= self.engine.state.setting.limits.takeover_ms + jitter
    }

    /// The number of the newest cycle that was read: it moves while another process leads.
    pub fn newest(&self) -> u64 {
        self.own.newest.as_ref().map_or(0, |newest| newest.number)
    }

    /// How far what was counted is behind the newest cycle that was read; ms of the cycles' `now`.
    pub fn late(&self) -> Millis {
        let newest = self.own.newest.as_ref().map_or(0, |newest| newest.now);
        newest.saturating_sub(self.engine.state.now).max(0)
    }

    /// The process that published the newest cycle that was read.
    pub fn newest_leader(&self) -> Option<Leader<'_>> {
        self.own.newest.as_ref().map(|newest| Leader {
            epoch: newest.epoch,
            instance: &newest.instance,
            topology: &newest.policy_hash,
        })
    }

    /// Hash of this process's own topology, as it would be published.
    pub fn topology_hash(&self) -> &str {
        &self.config.epoch_config.hash
    }

    /// Takes the lead: fences the leader before, folds all it published, opens an epoch. If our
    /// topology asks for a rebuilt state, that is made first; if cycles came meanwhile, another
    /// process leads, and nothing is done. Nor does it lead while a transaction that the fence did
    /// not end holds an own lane: a foreign one, or one that the brokers left open.
    pub fn take_lead(&mut self, clock: Millis) -> Result<(), Halt> {
        self.note_call();
        let number = self.engine.state.number;
        let mut rebuilt = self.rebuilt_for_lead()?;
        if rebuilt.is_some() {
            self.pump(Duration::ZERO)?;
            self.follow()?;
            if self.engine.state.number != number || self.behind() > 0 {
                return Ok(());
            }
        }
        self.log.lead()?;
        self.is_held = !self.read_own_to_the_end()?;
        if self.is_held {
            self.log.let_go();
            return Ok(());
        }
        // What was known before is let go last: of a million jobs that takes its time.
        let is_same = self.engine.state.number == number && !self.is_half_folded;
        if let Some(rebuilt) = rebuilt.as_mut().filter(|_| is_same) {
            std::mem::swap(rebuilt, &mut self.engine.state);
            self.keeper.begin_again();
        }
        let spans = self.log.lanes()?;
        self.reads_all(&spans)?;
        let stable = |lane: &Lane| spans.iter().find(|span| span.lane == *lane);
        let speak_after = self
            .input_lanes()
            .iter()
            .filter_map(|lane| stable(lane).map(|span| (*lane, span.stable_end)))
            .collect();
        self.own.check_apart()?;
        // Of cycles that are gone; a cycle that is there was counted with all its outputs.
        let mut past = Vec::new();
        if self.engine.state.number == 0 {
            let newest = self.own.newest.as_ref().map_or(u64::MAX, |newest| newest.number);
            past = self.own.take_outputs_until(newest);
            past = self.own.without_copies(past);
        }
        self.own.drop_published();
        self.own.lead();
        self.skip_what_is_lost(&past);
        let state = &mut self.engine.state;
        for span in &self.inputs {
            let held = state.times.lanes.at(span.lane);
            held.next = held.next.max(span.first);
        }
        let newest = self.own.newest.as_ref();
        let epoch = newest.map_or(0, |newest| newest.epoch).max(state.epoch) + 1;
        self.role = Role::Leader(Box::new(Lead::new(epoch, speak_after, &spans, clock)));
        let text = self.config.epoch_config.text.clone();
        self.take_epoch_config(&text)?;
        let now = self.engine.state.now;
        let mut progress = self.close_cycle(now, true);
        past.iter().for_each(|published| self.fold_published(published));
        self.engine.pass();
        if self.config.counters.is_some() {
            self.engine.state.ledger.watch();
        }
        progress.policies = Some(text);
        self.publish(Vec::new(), progress, clock, None)
    }

    /// When no cycle is left that a rebuild could begin at, though there were some: the numbers go
    /// on after the last of them, and what came before is not known, but for `past`, their outputs.
    fn skip_what_is_lost(&mut self, past: &[ReadOutput]) {
        let state = &mut self.engine.state;
        if state.number > 0 {
            return;
        }
        for (epoch, cycle, now) in past.iter().map(|published| published.output.moment()) {
            state.number = state.number.max(cycle);
            state.epoch = state.epoch.max(epoch);
            state.now = state.now.max(self.repairs.now_of(cycle, now));
        }
        if let Some(newest) = &self.own.newest {
            state.number = state.number.max(newest.number);
            state.now = state.now.max(self.repairs.now_of(newest.number, newest.now));
        }
        state.known_since = state.now;
    }

    /// Reads own lanes until every output that `progress` counts is seen, and counts all cycles.
    /// False if an open transaction holds one of them.
    fn read_own_to_the_end(&mut self) -> Result<bool, Halt> {
        let (mut looks, mut seen, mut held_looks) = (0, 0, 0);
        loop {
            let spans = self.log.lanes()?;
            self.reads_all(&spans)?;
            let own = spans.iter().filter(|span| span.lane.topic.is_read_back());
            let is_open = own.clone().any(|span| span.stable_end < span.end);
            let missing =
                own.filter(|span| !self.feed.has(span.lane, span.stable_end)).map(|span| span.lane);
            let missing: Vec<Lane> = missing.collect();
            if missing.is_empty() && !is_open && self.behind() == 0 {
                return Ok(true);
            }
            self.pump(LOOK)?;
            let is_still = self.follow()? == 0;
            let is_held = is_still && is_open && missing.is_empty();
            held_looks = if is_held { held_looks + 1 } else { 0 };
            if held_looks > HELD_LOOKS_MAX {
                return Ok(false);
            }
            let known = self.engine.state.number + self.feed.waiting() as u64;
            looks = if known == seen { looks + 1 } else { 0 };
            seen = known;
            if looks > LOOKS_MAX {
                let lane = missing.first().map_or("progress".to_owned(), ToString::to_string);
                return Err(Halt::Lost(format!(
                    "our own lane {lane} cannot be read to its end: records are missing; {REMAKE}"
                )));
            }
        }
    }
}
