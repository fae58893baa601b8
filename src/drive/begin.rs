//! The start: the stored state, if the log agrees with it, and where to read on.

use crate::checkpoint::Checkpointer;
use crate::epoch_config::{EpochConfig, hash_of};
use crate::feed::Feed;
use crate::last::Lasts;
use crate::own::Own;
use crate::port::{LOST_END, LaneSpan, Log, LogError, REMAKE, Store, recreated};
use crate::repair::{known_repairs, notice_of};
use crate::report::Report;
use crate::scan::read_lane;
use crate::{Config, Drive, Halt, Role};
use std::collections::BTreeMap;
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Garbled;
use yardmaster_core::explain::iso;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::output::repair::{NowRepair, NowRepairs};
use yardmaster_core::state::State;
use yardmaster_wire::avro::{Arena, Codec, Fault};
use yardmaster_wire::stored::{self, Head, OwnLaneOffsets, Restore};

/// How many cycles beyond that of the store are looked at for it.
const STRAYS_MAX: u32 = 10;

impl<L: Log, S: Store> Drive<L, S> {
    /// Loads the stored state and begins to read where it ends; as a standby.
    pub fn start(mut log: L, mut store: S, config: Config) -> Result<Drive<L, S>, Halt> {
        let mut spans = log.lanes()?;
        let topic_ids = log.topic_ids()?;
        spans.retain(|span| span.lane.topic.is_read());
        let (mut keeper, loaded) =
            Checkpointer::load(&mut store, &config.epoch_config, config.stopwatch, config.keeps)?;
        log.know(&keeper.writers);
        let (repairs, newest_now) =
            known_repairs(&mut log, &spans, &config.epoch_config.setting.domain)?;
        let why_not = match &loaded {
            Some((state, head)) => disagreement(&mut log, &spans, &topic_ids, state, head)?
                .or_else(|| repaired_since(state, &repairs))
                .or_else(|| old(state, &config)),
            None => None,
        };
        if let Some(why) = &why_not {
            keeper.forget(why);
            log.know(&[]);
        }
        let loaded = loaded.filter(|_| why_not.is_none());
        let fresh = loaded.is_none();
        let (state, head) = loaded.unwrap_or_else(|| {
            (State::new(config.epoch_config.setting.clone()), Default::default())
        });
        let cut = read_from(&spans, &state, &head.bounds);
        let lasts = Lasts::new(&head.last_read, &cut, &spans);
        log.assign(&lasts.before(&cut))?;
        keeper.topic_ids = topic_ids.clone().into_iter().collect();
        let (names_at_start, made_at_start) = (state.names.len(), keeper.made());
        let mut drive = Drive {
            names_at_start,
            made_at_start,
            feed: Feed::new(&cut),
            log,
            store,
            codec: Codec::default().with_pseudonyms(config.epoch_config.pseudonyms.clone()),
            arena: Arena::default(),
            own: Own::new(&spans, &cut, state.number, fresh),
            engine: Engine::new(state, Vec::new()),
            keeper,
            role: Role::Standby,
            report: Report::default(),
            reports_written: false,
            epoch_text: String::new(),
            inputs: spans.into_iter().filter(|span| !span.lane.topic.is_own()).collect(),
            published_next: BTreeMap::new(),
            gaps: Default::default(),
            compact_after: config.epoch_config.compact_after,
            newest_now,
            repairs,
            lasts,
            topic_ids,
            wanting: None,
            is_half_folded: false,
            is_held: false,
            lacking: None,
            called_at: 0,
            is_unread: false,
            epoch_hash: String::new(),
            is_other_policy: false,
            is_other_key: false,
            was_unread: false,
            is_cut_off: false,
            alternative: None,
            config,
        };
        drive.take_up(&head)?;
        Ok(drive)
    }

    /// Takes up the notices of the start, and what the store's head has beside the state.
    fn take_up(&mut self, head: &Head) -> Result<(), Halt> {
        self.report.notices.append(&mut self.keeper.notices);
        self.report.notices.extend(self.repairs.list().iter().map(notice_of));
        self.note_many_names();
        self.take_epoch_config(&head.policies)?;
        if self.config.counters.is_some() {
            let notes = self.keeper.notes.clone();
            self.engine.state.take_notes(&notes);
        }
        Ok(())
    }

    /// Goes by a topology's text from now on; an empty one is ours. A text of another version that
    /// this one cannot read is no error: the cycles under it are folded by our own configuration,
    /// and a notice says so, since the state may differ from what it was then.
    pub(super) fn take_epoch_config(&mut self, text: &str) -> Result<(), Halt> {
        let ours = &self.config.epoch_config;
        let text = if text.is_empty() { &ours.text } else { text };
        if *text == self.epoch_text {
            return Ok(());
        }
        let read = || EpochConfig::of("the topology in progress", text);
        let epoch_config = if *text == ours.text { Ok(ours.clone()) } else { read() };
        self.is_unread = epoch_config.is_err();
        let epoch_config = epoch_config.unwrap_or_else(|mistakes| {
            self.was_unread = true;
            self.report.notices.push(format!(
                "the topology published in progress cannot be read by this version: {}; its cycles \
                 are counted by our own topology, and its decisions cannot be verified: use the \
                 version that published it for that",
                mistakes.join("; ")
            ));
            ours.clone()
        });
        let text = text.to_owned();
        self.check_key(&epoch_config);
        let empty = State::new(epoch_config.setting.clone());
        let mut state = std::mem::replace(&mut self.engine.state, empty);
        if state.setting != epoch_config.setting {
            state = self.rebuilt(&state, &epoch_config)?;
            self.keeper.begin_again();
        }
        self.codec = Codec::new(epoch_config.setting.limits.max_record_bytes)
            .with_pseudonyms(self.config.epoch_config.pseudonyms.clone());
        for writer in &self.keeper.writers {
            // What is wrong with it was reported when it was read.
            let _ = self.codec.learn_number(writer);
        }
        self.compact_after = epoch_config.compact_after;
        self.epoch_hash = hash_of(&text);
        self.engine = Engine::new(state, epoch_config.policies);
        if let Some(alternative) = &self.alternative {
            alternative.set_in(&mut self.engine);
        }
        self.epoch_text = text;
        Ok(())
    }

    /// Compares the key of users' pseudonyms with that of an epoch. Where they differ, the epoch's
    /// outputs name users otherwise than its records do here.
    fn check_key(&mut self, epoch_config: &EpochConfig) {
        let ours = &self.config.epoch_config.key_fingerprint;
        self.is_other_key = !self.is_unread && epoch_config.key_fingerprint != *ours;
        if !self.is_other_key {
            return;
        }
        self.was_unread = true;
        let shown = |it: &Option<String>| it.clone().unwrap_or_else(|| "none".to_owned());
        self.report.notices.push(format!(
            "the topology published in progress has users by pseudonyms of key {}, ours of key {}: \
             its decisions and throttles name users otherwise than we do and cannot be verified; \
             give all processes of a domain the same [pseudonyms]",
            shown(&epoch_config.key_fingerprint),
            shown(ours)
        ));
    }

    /// The state rebuilt under our own topology, if that differs from the last leader's: made
    /// before another leader is fenced, for nothing is published meanwhile.
    pub(super) fn rebuilt_for_lead(&mut self) -> Result<Option<State>, Halt> {
        let (ours, state) = (&self.config.epoch_config, &self.engine.state);
        if state.number == 0 || state.setting == ours.setting {
            return Ok(None);
        }
        let began = (self.config.stopwatch)();
        let rebuilt = self.rebuilt(state, ours)?;
        let took_ms = ((self.config.stopwatch)() - began) / 1_000_000;
        self.report.notices.push(format!(
            "this process has another topology than the last leader: what is known was rebuilt for \
             it in {took_ms} ms, before taking the lead"
        ));
        Ok(Some(rebuilt))
    }

    /// The same records in a state of another configuration. Deadlines and windows depend on
    /// limits: they are made again from the records, as they would be after a restart.
    fn rebuilt(&self, state: &State, epoch_config: &EpochConfig) -> Result<State, Halt> {
        let mut again = remade(state, State::new(epoch_config.setting.clone()))?;
        if self.config.counters.is_some() {
            again.take_notes(&state.notes());
        }
        Ok(again)
    }
}

impl<L: Log, S: Store> Drive<L, S> {
    /// Compares the hash in a cycle's record with that of the text its epoch began with. Where they
    /// differ, the policies that answered are not known: the cycle is counted, its decisions cannot
    /// be made again, and a notice says so.
    pub(super) fn check_policy_hash(&mut self, progress: &Progress) {
        let was_other = self.is_other_policy;
        self.is_other_policy = !self.is_unread && progress.policy_hash != self.epoch_hash;
        if !self.is_other_policy || was_other {
            return;
        }
        self.report.notices.push(format!(
            "cycle {} of epoch {} was published with policy_hash {}, but the topology text of its \
             epoch has {}: the record or the text is damaged, or a version wrote it that resolves \
             the text in another way; its decisions cannot be verified",
            progress.number, progress.epoch, progress.policy_hash, self.epoch_hash
        ));
    }
}

/// The same records in a state of another setting.
fn remade(state: &State, empty: State) -> Result<State, Halt> {
    let domain = empty.setting.domain.clone();
    let head = stored::write_head(state, &Head::default());
    let remake = || {
        let mut restore = Restore::begin(empty, &head)?;
        for (kind, page) in stored::pages(state) {
            restore.chunk(&stored::page(state, kind, page))?;
        }
        Ok(restore.end().0)
    };
    remake().map_err(|_: Fault| {
        Halt::Lost(format!(
            "the topology in progress is of domain {domain}, what is known is of {}: give every \
             domain topics of its own",
            state.setting.domain
        ))
    })
}

/// Where each lane is read from: where the state ends, else at its first record.
fn read_from(spans: &[LaneSpan], state: &State, bounds: &OwnLaneOffsets) -> Cut {
    let mut cut = Cut::default();
    for span in spans {
        let next = match span.lane.topic.is_own() {
            // What is gone below was counted, or else the cycles that are left show it.
            true => bound(bounds, span.lane).map(|next| next.max(span.first)),
            false => state.times.lanes.get(span.lane).map(|lane| lane.next),
        };
        cut.advance(span.lane, next.unwrap_or(span.first));
    }
    cut
}

fn bound(bounds: &OwnLaneOffsets, lane: Lane) -> Option<u64> {
    bounds.iter().find(|(known, _)| *known == lane).map(|(_, next)| *next)
}

/// Why a store is not of this log, if it is not: it reaches beyond it, or its cycle was never
/// published.
///
/// # Errors
/// The ids of the topics show that it is of this log, so a lane lost what was read.
fn disagreement<L: Log>(
    log: &mut L,
    spans: &[LaneSpan],
    topic_ids: &BTreeMap<Topic, String>,
    state: &State,
    head: &Head,
) -> Result<Option<String>, Halt> {
    if let Some(why) = recreated(&head.topic_ids, topic_ids) {
        return Ok(Some(format!("the store is of another log: {why}")));
    }
    let is_same = |topic: Topic| {
        let mut known = head.topic_ids.iter();
        known.any(|(it, id)| *it == topic && topic_ids.get(it) == Some(id))
    };
    if let Some(why) = reaches_beyond(spans, &is_same, state, head)? {
        return Ok(Some(why));
    }
    let (epoch, number) = (state.epoch, state.number);
    let Some(span) = spans.iter().find(|span| span.lane.topic == Topic::Progress) else {
        return Ok(None);
    };
    let began = bound(&head.bounds, span.lane).unwrap_or(0);
    // Behind an open transaction a cycle may stand that is committed: brokers mark it later.
    let is_decided = span.stable_end == span.end;
    let is_whole = is_same(Topic::Progress) && span.first <= began && is_decided;
    let (mut is_found, mut others, mut is_newer, mut first) = (false, 0, false, None);
    read_lane(log, span, began.max(span.first), &mut |codec, value, _| {
        match codec.read_record::<Progress>(value) {
            Ok(progress) if progress.domain == state.setting.domain => {
                is_found = (progress.epoch, progress.number) == (epoch, number);
                first.get_or_insert(progress.number);
                // A stray may claim any cycle, but there are not many in a row.
                others += u32::from(progress.number >= number);
            }
            // Who reads it as a cycle reports that.
            Err(Garbled::UnknownSchema) => is_newer = true,
            _ => {}
        }
        is_found || others >= STRAYS_MAX && !is_whole
    })?;
    // Where compaction took it, later ones alone are left.
    let goes_on = first.is_some_and(|first| first > number);
    if is_whole && !is_found && !is_newer && !goes_on {
        return Err(Halt::Lost(format!(
            "{} has lost cycle {number} of epoch {epoch}, which was read, {LOST_END}; {REMAKE}",
            span.lane
        )));
    }
    Ok((!is_found).then(|| {
        format!("the store is of cycle {number} of epoch {epoch}, which is not in progress")
    }))
}

/// Why a store is not of this log, if its lanes reach beyond those that there are.
///
/// # Errors
/// See [`disagreement`].
fn reaches_beyond(
    spans: &[LaneSpan],
    is_same: &dyn Fn(Topic) -> bool,
    state: &State,
    head: &Head,
) -> Result<Option<String>, LogError> {
    for span in spans {
        let known = match span.lane.topic.is_own() {
            true => bound(&head.bounds, span.lane),
            false => state.times.lanes.get(span.lane).map(|lane| lane.next),
        };
        if let Some(next) = known.filter(|next| *next > span.end) {
            let (lane, end) = (span.lane, span.end);
            if is_same(lane.topic) {
                span.admits(next)?;
            }
            return Ok(Some(format!(
                "the store has read {lane} to offset {next}, but the lane ends at {end}: it is of \
                 another log"
            )));
        }
    }
    let is_there = |lane: Lane| spans.iter().any(|span| span.lane == lane);
    let gone = state.times.lanes.iter().find(|it| !is_there(it.0));
    Ok(gone.map(|(lane, _)| {
        format!("the store has read {lane}, which the log does not have: it is of another log")
    }))
}

/// Why a store is too old to go on with, if so.
fn old(state: &State, config: &Config) -> Option<String> {
    (state.now > 0 && state.now < config.store_not_before).then(|| {
        format!(
            "the store is of {}, and topics keep what removes a record (delete.retention.ms) only \
             since {}: what was removed in between it cannot know",
            iso(state.now),
            iso(config.store_not_before)
        )
    })
}

/// Why a store cannot be used since a `now` was repaired, if so: it was counted by that `now`.
fn repaired_since(state: &State, repairs: &NowRepairs) -> Option<String> {
    let is_ahead = |it: &&NowRepair| it.covers(state.number) && state.now > it.now;
    let repair = repairs.list().iter().find(is_ahead)?;
    Some(format!(
        "the store is of cycle {}, counted at {}; the now of cycles {} to {} was repaired since",
        state.number,
        iso(state.now),
        repair.from_cycle,
        repair.until_cycle
    ))
}
