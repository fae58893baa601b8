//! Leading: cycles are made, said, confirmed, kept.

use crate::core::close::Closing;
use crate::core::cut::{Lane, Topic};
use crate::core::event::Garbled;
use crate::core::progress::{ENGINE_REVISION, LaneFlags, Progress};
use crate::core::unit::Millis;
use crate::drive::fold::fold_batch;
use crate::drive::own::Said;
use crate::drive::port::{Log, LogError, Output, Raw, Store};
use crate::drive::{Drive, Halt, Role, decision_lane};
use crate::wire::record::{write_decision, write_progress};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long one look at the log may wait while the lead is being taken.
const LOOK: Duration = Duration::from_millis(50);
/// How many looks in a row may bring nothing new before taking the lead is given up.
const LOOKS_MAX: u32 = 1_200;

/// What a leader knows beside the state.
pub(super) struct Lead {
    epoch: u64,
    /// Nothing is answered until every lane has passed this.
    speak_after: Vec<(Lane, u64)>,
    caught_up: bool,
    /// Our first word was read back, and the clocks agree: before, nothing else is said.
    is_opened: bool,
    progress_lane: Lane,
    decision_lanes: u32,
    dead_letter_lanes: u32,
    /// What is being said.
    in_flight: Option<InFlight>,
    /// When the last cycle was closed, by our clock.
    closed_at: Millis,
    /// The `now` of the last record with a full cut.
    full_at: Millis,
    /// Cycles said, with our clock before it. The broker's time must lie between that and our clock
    /// when the cycle is read back.
    spoken: VecDeque<Spoken>,
}

struct InFlight {
    number: u64,
    began_ns: u64,
    /// Append time of the newest request answered in it.
    asked_at: Option<Millis>,
}

struct Spoken {
    number: u64,
    before: Millis,
}

/// A record nobody could read, and where it stands.
struct Unreadable {
    lane: Lane,
    offset: u64,
    why: Garbled,
    key: Option<Vec<u8>>,
    value: Vec<u8>,
    length: usize,
}

impl<L: Log, S: Store> Drive<L, S> {
    /// Whether the lead is free: the last leader said farewell, was this very instance, or there
    /// never was one. `heard_at` is when `progress` last moved or the broker last did not answer.
    pub fn may_lead(&self, clock: Millis, heard_at: Millis, jitter: Millis) -> bool {
        if self.leads() || self.behind() > 0 {
            return false;
        }
        let at_end = self
            .feed
            .lanes()
            .filter(|lane| lane.topic == Topic::Progress)
            .all(|lane| self.feed.flags(lane).at_end);
        match &self.own.newest {
            _ if !at_end => false,
            None => self.engine.state.number == 0 || self.is_silent(clock, heard_at, jitter),
            Some(newest) if newest.farewell || newest.instance == self.config.instance => true,
            Some(_) => self.is_silent(clock, heard_at, jitter),
        }
    }

    fn is_silent(&self, clock: Millis, heard_at: Millis, jitter: Millis) -> bool {
        clock - heard_at >= self.engine.state.setting.limits.takeover_ms + jitter
    }

    /// The number of the newest cycle that was read: it moves while somebody leads.
    pub fn newest(&self) -> u64 {
        self.own.newest.as_ref().map_or(0, |newest| newest.number)
    }

    /// Takes the lead: fences whoever spoke before, counts all it said, opens an epoch.
    pub fn take_lead(&mut self, clock: Millis) -> Result<(), Halt> {
        self.log.lead()?;
        self.read_own_to_the_end()?;
        let spans = self.log.lanes()?;
        let stable = |lane: &Lane| spans.iter().find(|span| span.lane == *lane);
        let speak_after = self
            .input_lanes()
            .iter()
            .filter_map(|lane| stable(lane).map(|span| (*lane, span.stable_end)))
            .collect();
        let lanes = |topic| spans.iter().filter(|span| span.lane.topic == topic).count() as u32;
        let strays = self.own.take_said(u64::MAX);
        self.skip_what_is_lost(&strays);
        let state = &mut self.engine.state;
        for span in &self.inputs {
            let held = state.times.lanes.at(span.lane);
            held.next = held.next.max(span.first);
        }
        let newest = self.own.newest.as_ref();
        let epoch = newest.map_or(0, |newest| newest.epoch).max(state.epoch) + 1;
        self.role = Role::Leader(Box::new(Lead {
            epoch,
            speak_after,
            caught_up: false,
            progress_lane: Lane::new(Topic::Progress, 0),
            decision_lanes: lanes(Topic::Decision),
            dead_letter_lanes: lanes(Topic::DeadLetter),
            is_opened: false,
            in_flight: None,
            closed_at: clock,
            full_at: 0,
            spoken: VecDeque::new(),
        }));
        let text = self.config.terms.text.clone();
        self.take_terms(&text)?;
        let now = self.engine.state.now;
        let mut progress = self.close_cycle(now, true);
        strays.iter().for_each(|said| self.engine.said(&said.decision));
        self.engine.pass();
        progress.policies = Some(text);
        self.say(Vec::new(), progress, clock, None)
    }

    /// When no cycle is left that a rebuild could begin at, though there were some: the numbers go
    /// on after the last of them, and what came before is not known, but for `strays`, their
    /// decisions.
    fn skip_what_is_lost(&mut self, strays: &[Said]) {
        let state = &mut self.engine.state;
        if state.number > 0 {
            return;
        }
        for Said { decision, .. } in strays {
            state.number = state.number.max(decision.cycle);
            state.epoch = state.epoch.max(decision.epoch);
            state.now = state.now.max(decision.now);
        }
        if let Some(newest) = &self.own.newest {
            state.number = state.number.max(newest.number);
            state.now = state.now.max(newest.now);
        }
        state.known_since = state.now;
    }

    /// Reads own lanes until every output that `progress` counts is seen, and counts all cycles.
    fn read_own_to_the_end(&mut self) -> Result<(), Halt> {
        let (mut looks, mut seen) = (0, 0);
        loop {
            let spans = self.log.lanes()?;
            let own = spans.iter().filter(|span| span.lane.topic.is_own());
            let open = own.clone().find(|span| span.stable_end < span.end).copied();
            let missing =
                own.filter(|span| !self.feed.has(span.lane, span.stable_end)).map(|span| span.lane);
            let missing: Vec<Lane> = missing.collect();
            if missing.is_empty() && open.is_none() && self.behind() == 0 {
                return Ok(());
            }
            self.pump(LOOK)?;
            self.follow()?;
            let known = self.engine.state.number + self.feed.waiting() as u64;
            looks = if known == seen { looks + 1 } else { 0 };
            seen = known;
            if looks > LOOKS_MAX {
                let lane = open.map(|span| span.lane).or(missing.first().copied());
                return Err(Halt::Lost(format!(
                    "our own lane {} cannot be read to its end: an open transaction holds it, or \
                     records are missing; see kafka-transactions.sh find-hanging",
                    lane.map_or_else(|| "progress".to_owned(), |lane| lane.to_string())
                )));
            }
        }
    }

    /// One look at what is due. Returns whether a cycle was made.
    pub fn lead(&mut self, clock: Millis) -> Result<bool, Halt> {
        self.check_own(clock)?;
        self.settle_if_done(clock)?;
        if !self.is_due(clock) {
            return Ok(false);
        }
        self.make_cycle(clock)?;
        Ok(true)
    }

    /// How long until a cycle could be due if nothing arrives.
    pub fn rest(&self, clock: Millis) -> Millis {
        let Role::Leader(lead) = &self.role else { return 0 };
        if lead.in_flight.is_some() {
            return 1;
        }
        let limits = &self.engine.state.setting.limits;
        let least = if self.somebody_waits() { limits.cycle_min_ms } else { limits.cycle_idle_ms };
        (lead.closed_at + least - clock).clamp(0, limits.cycle_idle_ms)
    }

    fn somebody_waits(&self) -> bool {
        let asked = self.feed.lanes().filter(|lane| lane.topic == Topic::Task);
        self.engine.has_ready() || asked.into_iter().any(|lane| self.feed.waiting_in(lane) > 0)
    }

    fn is_due(&self, clock: Millis) -> bool {
        let Role::Leader(lead) = &self.role else { return false };
        if !lead.is_opened {
            return false;
        }
        let limits = &self.engine.state.setting.limits;
        let since = clock - lead.closed_at;
        let waits = self.somebody_waits();
        let least = if waits { limits.cycle_min_ms } else { limits.cycle_idle_ms };
        let is_timer = self.engine.next_due().is_some_and(|due| due <= clock);
        since >= least && (waits || self.feed.waiting() > 0 || is_timer || since >= limits.tick_ms)
    }

    /// Folds what waits, closes the cycle, judges, and says it: the transaction of the cycle before
    /// runs meanwhile, and nothing of this one is sent before that is confirmed.
    fn make_cycle(&mut self, clock: Millis) -> Result<(), Halt> {
        let began = (self.config.stopwatch)();
        let now = self.engine.state.now.max(clock);
        let (unreadable, asked_at) = self.fold_waiting();
        let quiet = !self.has_caught_up();
        let mut progress = self.close_cycle(now, quiet);
        progress.garbled = unreadable.iter().map(|it| (it.lane, it.offset)).collect();
        let mut outputs = self.judge(quiet);
        outputs.extend(unreadable.into_iter().map(|it| self.dead_letter(it)));
        self.copy(false);
        self.report.cycle_ns.push((self.config.stopwatch)() - began);
        self.report.cycles += 1;
        self.say(outputs, progress, clock, asked_at)
    }

    /// Folds what has arrived, up to the limit on one cycle.
    fn fold_waiting(&mut self) -> (Vec<Unreadable>, Option<Millis>) {
        let began = (self.config.stopwatch)();
        let mut left = self.engine.state.setting.limits.batch_records;
        let cut = self.engine.state.setting.limits.dead_letter_bytes;
        let mut unreadable = Vec::new();
        let mut asked_at = None;
        for lane in self.input_lanes() {
            let Drive { feed, engine, codec, arena, .. } = self;
            let drawn = feed.draw(lane, u64::MAX, left, |batch, records| {
                let mut garbled = Vec::new();
                let fresh = |raw: &&Raw| raw.offset >= engine.state.next(raw.lane);
                if lane.topic == Topic::Task
                    && let Some(raw) = records.iter().rfind(fresh)
                {
                    asked_at = asked_at.max(Some(raw.appended_at));
                }
                fold_batch(&mut engine.state, codec, arena, batch, records, &mut garbled);
                for (at, why) in garbled {
                    let raw = &records[at];
                    let value = batch.value(raw).unwrap_or_default();
                    unreadable.push(Unreadable {
                        lane,
                        offset: raw.offset,
                        why,
                        key: batch.key(raw).map(<[u8]>::to_vec),
                        value: value[..value.len().min(cut)].to_vec(),
                        length: value.len(),
                    });
                }
            });
            left -= drawn;
            *self.report.events.entry(lane.topic).or_default() += drawn as u64;
        }
        for it in &unreadable {
            *self.report.garbled.entry((it.lane.topic, it.why)).or_default() += 1;
        }
        self.report.fold_ns += (self.config.stopwatch)() - began;
        (unreadable, asked_at)
    }

    fn has_caught_up(&mut self) -> bool {
        let Role::Leader(lead) = &mut self.role else { return false };
        let state = &self.engine.state;
        lead.caught_up = lead.caught_up
            || lead.speak_after.iter().all(|(lane, end)| {
                state.next(*lane) >= *end
                    || self.feed.has(*lane, *end) && self.feed.waiting_in(*lane) == 0
            });
        lead.caught_up
    }

    /// Closes a cycle at what was folded, and describes it.
    fn close_cycle(&mut self, now: Millis, quiet: bool) -> Progress {
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
            policy_hash: self.config.terms.hash.clone(),
            engine: ENGINE_REVISION,
            quiet,
            ..Progress::default()
        };
        let mut flags = Vec::new();
        for lane in self.feed.lanes().filter(|lane| !lane.topic.is_own()) {
            let known = state.times.lanes.get(lane).copied().unwrap_or_default();
            // An epoch opens as the last one ended: its record says what is known, no news.
            let seen = if is_first { known.flags } else { self.feed.flags(lane) };
            if full || seen != known.flags {
                flags.push((lane, seen));
            }
            let first = self.inputs.iter().find(|span| span.lane == lane);
            let next = known.next.max(first.map_or(0, |span| span.first));
            if full || self.said_next.get(&lane) != Some(&next) {
                progress.lanes.push((lane, next));
            }
            self.said_next.insert(lane, next);
        }
        if full {
            lead.full_at = now;
        }
        progress.flags = flags.clone();
        let closing = Closing { epoch: lead.epoch, number: progress.number, now, flags };
        self.engine.state.close(&closing);
        progress
    }

    fn judge(&mut self, quiet: bool) -> Vec<Output> {
        if quiet {
            self.engine.pass();
            return Vec::new();
        }
        let Role::Leader(lead) = &self.role else { return Vec::new() };
        let lanes = lead.decision_lanes;
        self.engine.settle();
        let mut outputs = Vec::new();
        loop {
            let began = (self.config.stopwatch)();
            let Some(decision) = self.engine.next_decision() else { break };
            self.engine.said(&decision);
            let mut value = Vec::new();
            write_decision(&mut value, &decision);
            self.report.decision_ns.push((self.config.stopwatch)() - began);
            outputs.push(Output {
                lane: decision_lane(&decision.subject, lanes),
                key: decision.subject.clone().into_bytes(),
                value: Some(value),
                headers: Vec::new(),
            });
            self.report.decisions.push(decision);
        }
        outputs
    }

    fn dead_letter(&self, it: Unreadable) -> Output {
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
        let lane = Lane::new(Topic::DeadLetter, partition);
        Output { lane, key: it.key.unwrap_or_default(), value: Some(it.value), headers }
    }

    fn say(
        &mut self,
        outputs: Vec<Output>,
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
        let mut value = Vec::new();
        write_progress(&mut value, &progress);
        let Role::Leader(lead) = &mut self.role else { return Ok(()) };
        let record = Output {
            lane: lead.progress_lane,
            key: progress.domain.clone().into_bytes(),
            value: Some(value),
            headers: Vec::new(),
        };
        let answered = outputs.iter().any(|output| output.lane.topic == Topic::Decision);
        lead.in_flight = Some(InFlight {
            number: progress.number,
            began_ns: (self.config.stopwatch)(),
            asked_at: asked_at.filter(|_| answered),
        });
        lead.closed_at = clock;
        lead.spoken.push_back(Spoken { number: progress.number, before: clock });
        self.log.say(outputs, record)?;
        Ok(())
    }

    fn settle_if_done(&mut self, clock: Millis) -> Result<(), Halt> {
        let Role::Leader(lead) = &self.role else { return Ok(()) };
        if lead.in_flight.is_some() && self.log.is_settled() {
            self.settle(clock)?;
        }
        self.keeper.hand_over(&mut self.store, false)
    }

    /// Waits until what was said is confirmed; then what was copied of that cycle may be kept.
    fn settle(&mut self, clock: Millis) -> Result<(), Halt> {
        let Role::Leader(lead) = &mut self.role else { return Ok(()) };
        let Some(in_flight) = lead.in_flight.take() else { return Ok(()) };
        self.log.settle()?;
        self.report.commit_ns.push((self.config.stopwatch)() - in_flight.began_ns);
        if let Some(asked_at) = in_flight.asked_at {
            self.report.latency_ms.push(clock - asked_at);
        }
        self.keeper.confirm(in_flight.number);
        self.keeper.hand_over(&mut self.store, false)
    }

    /// Looks at our own words as they came back: somebody else's mean that we are fenced, and the
    /// broker's time must be ours.
    fn check_own(&mut self, clock: Millis) -> Result<(), Halt> {
        let Role::Leader(lead) = &mut self.role else { return Ok(()) };
        let allowed = self.engine.state.setting.limits.clock_skew_ms;
        while let Some(cycle) = self.own.cycles.pop_front() {
            let progress = &cycle.progress;
            if progress.instance != self.config.instance {
                let who = format!("{} leads epoch {}", progress.instance, progress.epoch);
                return Err(Halt::Log(LogError::Fenced(who)));
            }
            while lead.spoken.front().is_some_and(|spoken| spoken.number < progress.number) {
                lead.spoken.pop_front();
            }
            let Some(spoken) = lead.spoken.front() else { continue };
            let (before, after, at) = (spoken.before, clock, cycle.appended_at);
            let (what, skew) = if progress.now > at + allowed && progress.now > after {
                ("the last now found in progress", progress.now - at)
            } else if before > at + allowed {
                ("our clock", before - at)
            } else if after + allowed < at {
                ("our clock", after - at)
            } else {
                lead.is_opened = true;
                continue;
            };
            return Err(Halt::Clock {
                what,
                skew_ms: skew.abs(),
                side: if skew > 0 { "ahead of" } else { "behind" },
                instance: self.config.instance.clone(),
            });
        }
        self.own.take_said(u64::MAX);
        Ok(())
    }

    fn copy(&mut self, is_last: bool) {
        let number = self.engine.state.number;
        let own = &mut self.own;
        let text = self.epoch_text.as_str();
        self.keeper.copy(&mut self.engine.state, text, || own.bounds(number), is_last);
    }

    /// Stops in order: confirms what was said, says farewell, keeps everything.
    pub fn farewell(&mut self, clock: Millis) -> Result<(), Halt> {
        if self.leads() {
            self.settle(clock)?;
            self.keeper.hand_over(&mut self.store, true)?;
            let is_opened = matches!(&self.role, Role::Leader(lead) if lead.is_opened);
            let now = self.engine.state.now;
            let now = if is_opened { now.max(clock) } else { now };
            let mut progress = self.close_cycle(now, true);
            self.engine.pass();
            progress.farewell = true;
            self.copy(true);
            self.say(Vec::new(), progress, clock, None)?;
            self.settle(clock)?;
        } else {
            self.keeper.hand_over(&mut self.store, true)?;
            // Of a cycle that was read and not counted, part may be folded: no moment to be kept.
            if self.behind() == 0 {
                self.copy(true);
                self.keeper.confirm(self.engine.state.number);
            }
        }
        self.keeper.hand_over(&mut self.store, true)?;
        self.store.flush()?;
        self.role = Role::Standby;
        Ok(())
    }

    /// Whether this leader has caught up, and answers.
    pub fn has_spoken(&self) -> bool {
        matches!(&self.role, Role::Leader(lead) if lead.caught_up)
    }

    /// What a lane's end looked like at the last cycle.
    pub fn lane_flags(&self, lane: Lane) -> LaneFlags {
        self.feed.flags(lane)
    }
}
