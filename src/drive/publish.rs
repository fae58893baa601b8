//! Saying: a cycle's outputs and its record in one transaction, its confirmation, and what comes
//! back.

use crate::outputs::{listed, output_hashes};
use crate::port::{Log, LogError, OutputRecord, Store};
use crate::{Drive, Halt, Role};
use std::collections::BTreeMap;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::Garbled;
use yardmaster_core::output::progress::{LaneFlags, Progress};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// Remedy when the clocks differ.
pub(super) const SET_CLOCK: &str =
    "set the clock of this host or of the broker (NTP) and start again";

/// Remedy when the log has a `now` that has not come yet.
const REPAIR_OR_WAIT: &str = "it goes on by itself when that time has come; to go on at once, see \
                              to it that the clocks of all hosts are right (NTP), and let \
                              `yardmaster repair clock` says what it would do";

/// A transaction that is not confirmed yet.
pub(super) struct InFlight {
    pub number: u64,
    pub began_ns: u64,
    /// Append time of the newest request answered in it.
    pub asked_at: Option<Millis>,
    /// Its outputs as they are written, where they are asked for.
    pub written: Vec<(Topic, Vec<u8>)>,
}

/// A cycle that was published, with our clock before it.
pub(super) struct PublishedCycle {
    pub number: u64,
    pub before: Millis,
    /// The uptime then; 0 without one.
    pub uptime: Millis,
}

/// A record that could not be read, and where it is.
pub(super) struct Unreadable {
    pub lane: Lane,
    pub offset: u64,
    pub why: Garbled,
    /// Its key, or the beginning of it.
    pub key: Option<Vec<u8>>,
    /// The whole key's length, where the key was cut; bytes.
    pub key_length: Option<usize>,
    pub value: Vec<u8>,
    pub length: usize,
}

impl<L: Log, S: Store> Drive<L, S> {
    pub(super) fn dead_letter(&self, it: Unreadable) -> OutputRecord {
        let lanes = match &self.role {
            Role::Leader(lead) => lead.dead_letter_lanes.max(1),
            Role::Standby => 1,
        };
        let partition = it.lane.partition % lanes;
        let text = |name: &str, value: String| (name.to_owned(), value.into_bytes());
        let mut headers = vec![
            text("topic", it.lane.topic.name().to_owned()),
            text("partition", it.lane.partition.to_string()),
            text("offset", it.offset.to_string()),
            text("reason", it.why.name().to_owned()),
            text("length", it.length.to_string()),
        ];
        if it.value.len() < it.length {
            headers.push(text("cut_to", it.value.len().to_string()));
        }
        if let Some(length) = it.key_length {
            let kept = it.key.as_ref().map_or(0, Vec::len);
            headers.push(text("key_cut_to", kept.to_string()));
            headers.push(text("key_length", length.to_string()));
        }
        let lane = Lane::new(Topic::DeadLetter, partition);
        OutputRecord {
            lane,
            key: it.key.unwrap_or_default().into(),
            value: Some(it.value.into()),
            headers,
        }
    }

    pub(super) fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        mut progress: Progress,
        clock: Millis,
        asked_at: Option<Millis>,
    ) -> Result<(), Halt> {
        self.settle(clock)?;
        let mut counts: BTreeMap<Lane, u32> = BTreeMap::new();
        for output in &outputs {
            *counts.entry(output.lane).or_default() += 1;
        }
        progress.outputs = counts.into_iter().collect();
        let hashes = output_hashes(&outputs);
        self.own.publish(progress.number, &hashes);
        let most = self.engine.state.setting.limits.max_output_bytes;
        progress.output_hashes = listed(hashes, most);
        let mut value = Vec::new();
        record::write(&mut value, &progress);
        let Role::Leader(lead) = &mut self.role else { return Ok(()) };
        let record = OutputRecord {
            lane: lead.progress_lane,
            key: progress.domain.clone().into(),
            value: Some(value.into()),
            headers: Vec::new(),
        };
        let answered = outputs.iter().any(|output| output.lane.topic == Topic::Decision);
        let written = outputs.iter().filter(|it| it.lane.topic.is_folded_output());
        let written = written.filter_map(|it| Some((it.lane.topic, it.value.as_ref()?.to_vec())));
        lead.in_flight = Some(InFlight {
            number: progress.number,
            began_ns: (self.config.stopwatch)(),
            asked_at: asked_at.filter(|_| answered),
            written: match self.reports_written {
                true => written.collect(),
                false => Vec::new(),
            },
        });
        lead.closed_at = clock;
        let uptime = self.called_at;
        lead.published.push_back(PublishedCycle { number: progress.number, before: clock, uptime });
        self.log.publish(outputs, record)?;
        Ok(())
    }

    pub(super) fn settle_if_done(&mut self, clock: Millis) -> Result<(), Halt> {
        let Role::Leader(lead) = &self.role else { return Ok(()) };
        if lead.in_flight.is_some() && self.log.is_settled() {
            self.settle(clock)?;
        }
        self.keeper.hand_over(&mut self.store, false)
    }

    /// Waits until what was published is confirmed; then what was copied of that cycle may be
    /// stored.
    pub fn settle(&mut self, clock: Millis) -> Result<(), Halt> {
        let Role::Leader(lead) = &mut self.role else { return Ok(()) };
        let Some(in_flight) = lead.in_flight.take() else { return Ok(()) };
        self.log.settle()?;
        self.report.commit_ns.push((self.config.stopwatch)() - in_flight.began_ns);
        if let Some(asked_at) = in_flight.asked_at {
            self.report.latency_ms.push(clock - asked_at);
        }
        self.report.written.extend(in_flight.written);
        self.report.confirmed = Some(in_flight.number);
        self.keeper.confirm(in_flight.number);
        self.keeper.hand_over(&mut self.store, false)
    }

    /// Checks our own records as they came back: those of another process mean that we are fenced,
    /// and the broker's time must be ours.
    pub(super) fn check_own(&mut self, clock: Millis) -> Result<(), Halt> {
        let Role::Leader(lead) = &mut self.role else { return Ok(()) };
        let allowed = self.engine.state.setting.limits.clock_skew_ms;
        while let Some(cycle) = self.own.cycles.pop_front() {
            let progress = &cycle.progress;
            if progress.instance != self.config.instance {
                let leader = format!("{} leads epoch {}", progress.instance, progress.epoch);
                return Err(Halt::Log(LogError::Fenced(leader)));
            }
            while lead.published.front().is_some_and(|published| published.number < progress.number)
            {
                lead.published.pop_front();
            }
            let Some(published) = lead.published.front() else { continue };
            let (before, after, at) = (published.before, clock, cycle.appended_at);
            let (what, skew, remedy) = if progress.now > at + allowed && progress.now > after {
                ("the last now found in progress", progress.now - at, REPAIR_OR_WAIT)
            } else if before > at + allowed {
                ("our clock", before - at, SET_CLOCK)
            } else if after + allowed < at {
                ("our clock", after - at, SET_CLOCK)
            } else {
                lead.is_opened = true;
                lead.agreed = Some((published.before, published.uptime));
                continue;
            };
            return Err(Halt::Clock {
                what,
                skew_ms: skew.abs(),
                side: if skew > 0 { "ahead of" } else { "behind" },
                remedy,
                instance: self.config.instance.clone(),
            });
        }
        Ok(())
    }

    /// The `now` of a cycle that is closed at `clock`. If the clock stepped since the broker's time
    /// was last found to agree with it, the cycle has the `now` before it: reading it back
    /// shows whether the machine was suspended, or the clock is wrong, which ends the lead.
    pub(super) fn now_at(&self, clock: Millis) -> Millis {
        let now = self.engine.state.now;
        if self.has_stepped(clock) { now } else { now.max(clock) }
    }

    /// Reads the uptime that belongs to the clock this call was given. Whatever the call waits for,
    /// both grow old together.
    pub(super) fn note_call(&mut self) {
        self.called_at = self.config.uptime.map_or(0, |uptime| uptime());
    }

    /// Whether clock and uptime differ in how much time passed since both were found right.
    fn has_stepped(&self, clock: Millis) -> bool {
        let Role::Leader(lead) = &self.role else { return false };
        let Some((clock_then, uptime_then)) = lead.agreed.filter(|_| self.config.uptime.is_some())
        else {
            return false;
        };
        let step = (clock - clock_then) - (self.called_at - uptime_then);
        step.abs() > self.engine.state.setting.limits.clock_skew_ms
    }

    /// Stops in order: confirms what was published, publishes a final progress record, stores
    /// everything.
    pub fn finish(&mut self, clock: Millis) -> Result<(), Halt> {
        self.note_call();
        if self.leads() {
            self.settle(clock)?;
            if !self.is_between_cycles() {
                self.make_cycle(clock)?;
                self.settle(clock)?;
            }
            self.keeper.hand_over(&mut self.store, true)?;
            let is_opened = matches!(&self.role, Role::Leader(lead) if lead.is_opened);
            let now = if is_opened { self.now_at(clock) } else { self.engine.state.now };
            let mut progress = self.close_cycle(now, true);
            self.engine.pass();
            progress.farewell = true;
            let counters = self.counters(&mut progress, true);
            self.copy(true);
            self.publish(counters, progress, clock, None)?;
            self.settle(clock)?;
        } else {
            self.keeper.hand_over(&mut self.store, true)?;
            // Of a cycle that was read and not counted, part may be folded: no moment to be stored.
            if self.behind() == 0 {
                self.copy(true);
                self.keeper.confirm(self.engine.state.number);
            }
        }
        self.keeper.hand_over(&mut self.store, true)?;
        self.store.flush()?;
        if self.leads() {
            self.own.stop_leading(self.engine.state.number);
        }
        self.role = Role::Standby;
        Ok(())
    }

    /// Whether this leader has caught up, and answers.
    pub fn has_published(&self) -> bool {
        matches!(&self.role, Role::Leader(lead) if lead.caught_up)
    }

    /// Flags of a lane's end at the last cycle.
    pub fn lane_flags(&self, lane: Lane) -> LaneFlags {
        self.feed.flags(lane)
    }
}
