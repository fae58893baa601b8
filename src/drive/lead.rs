//! Leading: cycles are made, published, confirmed, stored.

use crate::feed::Run;
use crate::fold::fold_records;
use crate::port::{LaneSpan, Log, OutputRecord, Store};
use crate::publish::{InFlight, PublishedCycle, Unreadable};
use crate::{Drive, Halt, Role, own_lane};
use std::collections::{BTreeMap, VecDeque};
use yardmaster_core::budget::CycleLoop;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::Garbled;
use yardmaster_core::output::Output;
use yardmaster_core::output::progress::{ENGINE_REVISION, Progress};
use yardmaster_core::state::close::Closing;
use yardmaster_core::unit::Millis;
use yardmaster_wire::record::write_output;

/// Most records that are folded before it is checked again whether a cycle was published.
const STEP: usize = 10_000;

/// The data that a leader keeps beside the state.
pub(super) struct Lead {
    pub epoch: u64,
    /// Nothing is answered until every lane has passed this.
    pub speak_after: Vec<(Lane, u64)>,
    pub caught_up: bool,
    /// Our first cycle was read back, and the clocks agree: before, nothing else is published.
    pub is_opened: bool,
    /// Our clock and the uptime before the newest cycle whose append time agreed with the clock.
    pub agreed: Option<(Millis, Millis)>,
    pub progress_lane: Lane,
    /// Number of lanes of each topic of folded outputs.
    output_lanes: BTreeMap<Topic, u32>,
    pub dead_letter_lanes: u32,
    pub counter_lanes: u32,
    /// The `now` at which this leader last began to publish all that had changed.
    pub counters_begun_at: Option<Millis>,
    /// The `now` at which counters were last published.
    pub counters_at: Millis,
    /// The transaction that is being published.
    pub in_flight: Option<InFlight>,
    /// When the last cycle was closed, by our clock.
    pub closed_at: Millis,
    /// The `now` of the last record with a full cut.
    pub full_at: Millis,
    /// Cycles published, with our clock before it. The broker's time must lie between that and our
    /// clock when the cycle is read back.
    pub published: VecDeque<PublishedCycle>,
    /// The records of the next cycle that are folded already.
    pub folded: Folded,
}

/// The records that were folded since the last cycle was closed.
#[derive(Default)]
pub(super) struct Folded {
    /// How many records, unreadable ones included.
    pub records: usize,
    unreadable: Vec<Unreadable>,
    /// Append time of the newest request among them.
    asked_at: Option<Millis>,
}

impl Lead {
    /// The lead of an epoch that is about to be opened.
    pub fn new(
        epoch: u64,
        speak_after: Vec<(Lane, u64)>,
        spans: &[LaneSpan],
        clock: Millis,
    ) -> Lead {
        let lanes = |topic| spans.iter().filter(|span| span.lane.topic == topic).count() as u32;
        Lead {
            epoch,
            speak_after,
            caught_up: false,
            is_opened: false,
            agreed: None,
            progress_lane: Lane::new(Topic::Progress, 0),
            output_lanes: Topic::read()
                .filter(|topic| topic.is_folded_output())
                .map(|topic| (topic, lanes(topic)))
                .collect(),
            dead_letter_lanes: lanes(Topic::DeadLetter),
            counter_lanes: lanes(Topic::Counter),
            counters_begun_at: None,
            counters_at: clock,
            in_flight: None,
            closed_at: clock,
            full_at: 0,
            published: VecDeque::new(),
            folded: Folded::default(),
        }
    }
}

impl<L: Log, S: Store> Drive<L, S> {
    /// One look at what is due. Returns whether a cycle was made.
    pub fn lead(&mut self, clock: Millis) -> Result<bool, Halt> {
        self.note_call();
        self.check_own(clock)?;
        self.settle_if_done(clock)?;
        if !self.is_due(clock) {
            return Ok(false);
        }
        if self.may_fold_on(clock) {
            self.fold_waiting(STEP, clock);
            return Ok(false);
        }
        self.make_cycle(clock)?;
        Ok(true)
    }

    /// Whether the state is that of a cycle's end: nothing of the next one is folded yet.
    pub fn is_between_cycles(&self) -> bool {
        self.folded() == 0 && !self.is_half_folded
    }

    /// How many records of the next cycle are folded.
    fn folded(&self) -> usize {
        match &self.role {
            Role::Leader(lead) => lead.folded.records,
            Role::Standby => 0,
        }
    }

    /// While a cycle is being published the next one could only wait for it. If no request waits
    /// for an answer it is not closed before that, or before a tick has passed: what arrives
    /// meanwhile belongs to it, and a counter that changes twice is published once.
    fn may_fold_on(&self, clock: Millis) -> bool {
        let Role::Leader(lead) = &self.role else { return false };
        let limits = &self.engine.state.setting.limits;
        let has_time = (0..limits.tick_ms).contains(&(clock - lead.closed_at));
        let has_room = lead.folded.records < limits.records_per_cycle();
        lead.in_flight.is_some() && has_time && has_room && !self.request_waits()
    }

    /// How long until a cycle is due if nothing arrives; ms.
    pub fn rest(&self, clock: Millis) -> Millis {
        let Role::Leader(lead) = &self.role else { return 0 };
        if lead.in_flight.is_some() || !lead.is_opened {
            return 1;
        }
        if self.has_backlog() || clock < lead.closed_at {
            return 0;
        }
        (self.due_at(lead) - clock).max(0)
    }

    /// When the next cycle is due if nothing arrives.
    fn due_at(&self, lead: &Lead) -> Millis {
        let limits = &self.engine.state.setting.limits;
        let idle = lead.closed_at + limits.cycle_idle_ms;
        if self.request_waits() {
            lead.closed_at + limits.cycle_min_ms
        } else if self.feed.waiting() > 0 || self.folded() > 0 || self.has_counters() {
            idle
        } else {
            let timer = self.engine.next_due().map_or(Millis::MAX, |due| due.max(idle));
            timer.min(lead.closed_at + limits.tick_ms)
        }
    }

    /// Whether as much waits as one cycle folds: then a leader's next cycle is due, and there is no
    /// need to read before it.
    pub fn has_backlog(&self) -> bool {
        let Role::Leader(lead) = &self.role else { return false };
        let most = self.engine.state.setting.limits.records_per_cycle();
        lead.is_opened && lead.folded.records + self.feed.inputs() >= most
    }

    fn request_waits(&self) -> bool {
        let has_pool = self.engine.state.setting.pool.is_some();
        let asks = |topic: Topic| topic == Topic::Task || topic == Topic::Pilot && has_pool;
        let asked = self.feed.lanes().filter(|lane| asks(lane.topic));
        self.engine.has_ready() || asked.into_iter().any(|lane| self.feed.waiting_in(lane) > 0)
    }

    fn is_due(&self, clock: Millis) -> bool {
        let Role::Leader(lead) = &self.role else { return false };
        // A clock that was set back would keep us from publishing until it is where it was.
        let is_set_back = clock < lead.closed_at;
        lead.is_opened && (is_set_back || self.has_backlog() || clock >= self.due_at(lead))
    }

    /// Folds what waits, closes the cycle, judges, and publishes it: the transaction of the cycle
    /// before runs meanwhile, and nothing of this one is sent before that is confirmed.
    pub(super) fn make_cycle(&mut self, clock: Millis) -> Result<(), Halt> {
        let began = (self.config.stopwatch)();
        let now = self.now_at(clock);
        let most = self.engine.state.setting.limits.records_per_cycle();
        self.fold_waiting(usize::MAX, clock);
        let Role::Leader(lead) = &mut self.role else { return Ok(()) };
        let Folded { records, unreadable, asked_at } = std::mem::take(&mut lead.folded);
        let quiet = !self.has_caught_up();
        self.report.exceeded.note(CycleLoop::Records, records >= most && self.feed.inputs() > 0);
        let mut progress = self.close_cycle(now, quiet);
        progress.garbled = unreadable.iter().map(|it| (it.lane, it.offset)).collect();
        let mut outputs = self.judge(quiet);
        outputs.extend(unreadable.into_iter().map(|it| self.dead_letter(it)));
        outputs.extend(self.counters(&mut progress, false));
        self.copy(false);
        self.report.cycle_ns.push((self.config.stopwatch)() - began);
        self.report.cycles += 1;
        self.publish(outputs, progress, clock, asked_at)
    }

    /// Folds at most `most` of the records that have arrived, up to the limit on one cycle. One
    /// that is stamped ahead of `clock` by more than the limit is named in `progress`, like one
    /// that cannot be read: the stamp bounds its own times, and this one bounds nothing.
    fn fold_waiting(&mut self, most: usize, clock: Millis) {
        let began = (self.config.stopwatch)();
        let limits = &self.engine.state.setting.limits;
        let mut left = limits.records_per_cycle().saturating_sub(self.folded()).min(most);
        let mut runs = Vec::new();
        let (mut asked_at, mut records) = (None, 0);
        for lane in self.input_lanes() {
            let before = runs.len();
            let drawn = self.feed.draw(lane, u64::MAX, left, &mut runs);
            self.lasts.note(&runs[before..]);
            left -= drawn;
            records += drawn;
            *self.report.events.entry(lane.topic).or_default() += drawn as u64;
            if lane.topic == Topic::Task {
                let next = self.engine.state.next(lane);
                let mut fresh = runs[before..].iter().flat_map(Run::records);
                let newest = fresh.rfind(|raw| raw.offset >= next);
                asked_at = asked_at.max(newest.map(|raw| raw.appended_at));
            }
        }
        let Drive { engine, codec, arena, .. } = self;
        let mut garbled = Vec::new();
        let all = runs.iter().flat_map(Run::iter);
        let ahead = engine.state.setting.limits.own_time_ahead_ms;
        let latest = engine.state.now.max(clock).saturating_add(ahead);
        fold_records(&mut engine.state, codec, arena, all, latest, &mut garbled);
        self.input_lanes().into_iter().for_each(|lane| self.pass_markers(lane));
        self.note_unreadable(&runs, &garbled);
        if let Role::Leader(lead) = &mut self.role {
            lead.folded.records += records;
            lead.folded.asked_at = lead.folded.asked_at.max(asked_at);
        }
        self.report.fold_ns += (self.config.stopwatch)() - began;
    }

    /// A lane of which all was drawn is known to where it was read, which may lie past its last
    /// record: a marker is passed too, or retention that takes it would look like a loss.
    fn pass_markers(&mut self, lane: Lane) {
        let seen = self.feed.seen(lane);
        if self.feed.waiting_in(lane) == 0 && seen > self.engine.state.next(lane) {
            self.engine.state.times.lanes.at(lane).next = seen;
        }
    }

    /// Notes what is published of records that could not be read; `garbled` names them by their
    /// place among all records of the runs, ascending.
    fn note_unreadable(&mut self, runs: &[Run], garbled: &[(usize, Garbled)]) {
        let Role::Leader(lead) = &mut self.role else { return };
        let unreadable = &mut lead.folded.unreadable;
        let limits = &self.engine.state.setting.limits;
        let longest = limits.dead_letter_bytes.min(limits.max_output_bytes);
        let used: usize = unreadable.iter().map(|it| it.value.len()).sum();
        let mut room = limits.dead_letters_bytes.saturating_sub(used);
        let mut records = runs.iter().flat_map(Run::iter).enumerate();
        for (place, why) in garbled {
            let Some((_, (batch, raw))) = records.find(|(at, _)| at == place) else { break };
            *self.report.garbled.entry((raw.lane.topic, *why)).or_default() += 1;
            let value = batch.value(raw).unwrap_or_default();
            let key = batch.key(raw);
            let cut = value.len().min(longest).min(room);
            room -= cut;
            unreadable.push(Unreadable {
                lane: raw.lane,
                offset: raw.offset,
                why: *why,
                key: key.map(|key| key[..key.len().min(limits.name_bytes)].to_vec()),
                key_length: key.map(<[u8]>::len).filter(|length| *length > limits.name_bytes),
                value: value[..cut].to_vec(),
                length: value.len(),
            });
        }
    }

    /// Whether every input lane was read to where it ended at the start. A lane that cannot be read
    /// for longer than `lane_unreadable_s` is not waited for: its flag is in `progress`, and
    /// decisions note `input_stale`. Requests are always waited for.
    fn has_caught_up(&mut self) -> bool {
        let Role::Leader(lead) = &mut self.role else { return false };
        let state = &self.engine.state;
        lead.caught_up = lead.caught_up
            || lead.speak_after.iter().all(|(lane, end)| {
                state.next(*lane) >= *end
                    || self.feed.has(*lane, *end) && self.feed.waiting_in(*lane) == 0
                    || lane.topic != Topic::Task && self.feed.flags(*lane).unreadable
            });
        lead.caught_up
    }

    /// Closes a cycle at what was folded, and describes it.
    pub(super) fn close_cycle(&mut self, now: Millis, quiet: bool) -> Progress {
        let Role::Leader(lead) = &mut self.role else { return Progress::default() };
        let state = &mut self.engine.state;
        let is_first = state.epoch != lead.epoch;
        let full = is_first || now - lead.full_at >= state.setting.limits.full_cut_interval_ms;
        let mut progress = Progress {
            domain: state.setting.domain.clone(),
            epoch: lead.epoch,
            number: state.number + 1,
            now,
            instance: self.config.instance.clone(),
            full,
            policy_hash: self.config.epoch_config.hash.clone(),
            engine: ENGINE_REVISION,
            quiet,
            now_repairs: self.repairs.list().to_vec(),
            topic_ids: match full {
                true => self.topic_ids.clone().into_iter().collect(),
                false => Vec::new(),
            },
            ..Progress::default()
        };
        let mut flags = Vec::new();
        for lane in self.feed.lanes().filter(|lane| !lane.topic.is_own()) {
            let known = state.times.lanes.get(lane).copied().unwrap_or_default();
            // An epoch opens as the last one ended: its record holds what is known, no news.
            let seen = if is_first { known.flags } else { self.feed.flags(lane) };
            if full || seen != known.flags {
                flags.push((lane, seen));
            }
            let first = self.inputs.iter().find(|span| span.lane == lane);
            let next = known.next.max(first.map_or(0, |span| span.first));
            if full || self.published_next.get(&lane) != Some(&next) {
                progress.lanes.push((lane, next));
                progress.last_read.extend(self.lasts.get(lane).map(|last| (lane, last)));
            }
            self.published_next.insert(lane, next);
        }
        if full {
            lead.full_at = now;
        }
        progress.flags = flags.clone();
        let closing = Closing { epoch: lead.epoch, number: progress.number, now, flags };
        self.engine.state.close(&closing);
        progress
    }

    fn judge(&mut self, quiet: bool) -> Vec<OutputRecord> {
        if quiet {
            self.engine.pass();
            return Vec::new();
        }
        let Role::Leader(lead) = &self.role else { return Vec::new() };
        self.engine.settle();
        let mut records = Vec::new();
        loop {
            let began = (self.config.stopwatch)();
            let Some(output) = self.engine.next_output() else { break };
            self.engine.fold_output(&output);
            let mut value = Vec::new();
            write_output(&mut value, &output);
            if let Output::Decision(_) = output {
                self.report.decision_ns.push((self.config.stopwatch)() - began);
            }
            let (topic, key) = (output.topic(), output.key());
            let lanes = lead.output_lanes.get(&topic).copied().unwrap_or(0);
            let lane = own_lane(topic, &key, lanes);
            let (key, value) = (key.into(), Some(value.into()));
            records.push(OutputRecord { lane, key, value, headers: Vec::new() });
            self.report.outputs.push(output);
        }
        records
    }

    pub(super) fn copy(&mut self, is_last: bool) {
        let number = self.engine.state.number;
        let (own, lasts) = (&mut self.own, &self.lasts);
        let text = self.epoch_text.as_str();
        let read = || (own.bounds(number), lasts.list());
        self.keeper.copy(&mut self.engine.state, text, read, is_last);
    }
}
