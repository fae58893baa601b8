//! Outputs in a log, read without following it: each once, strays passed over.

use crate::cli::progress::Bar;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::event::{DecisionOutcome, Event};
use yardmaster_core::id::hash;
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::state::commands::CommandAnswer;
use yardmaster_core::unit::Millis;
use yardmaster_drive::epoch_config::hash_of;
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, Raw};
use yardmaster_wire::avro::{Arena, Codec, unframed};

/// Results of `pick` on a topic's records, each with the hash that `progress` lists of the record.
pub(super) fn outputs<T>(
    log: &mut impl Log,
    topic: Topic,
    pick: impl Fn(Event<'_>) -> Option<T>,
) -> anyhow::Result<Vec<(u64, T)>> {
    let mut found = Vec::new();
    records(log, topic, u64::MAX, |codec, value| {
        let mut arena = Arena::default();
        if let Some(it) = pick(codec.read(topic, None, value, &mut arena)) {
            found.push((hash(unframed(value.unwrap_or_default())), it));
        }
    })?;
    Ok(found)
}

/// Those found, each once and in the order of their keys, and how many were passed over. Where
/// several claim one key, the one that `progress` lists is taken, or the first if none is listed
/// any more. The log's cycles are read only if there is such a key.
pub(super) fn without_strays<T>(
    log: &mut impl Log,
    mut found: Vec<(u64, T)>,
    key: impl Fn(&T) -> (String, u64, u32),
    cycle: impl Fn(&T) -> u64,
) -> anyhow::Result<(Vec<T>, usize)> {
    found.sort_by_key(|(_, it)| key(it));
    let is_same = |a: &(u64, T), b: &(u64, T)| key(&a.1) == key(&b.1);
    let contested = found.chunk_by(is_same).filter(|group| group.len() > 1);
    let cycles: BTreeSet<u64> = contested.flatten().map(|(_, it)| cycle(it)).collect();
    let mut listed = BTreeSet::new();
    if !cycles.is_empty() {
        records(log, Topic::Progress, u64::MAX, |codec, value| {
            let progress = value.and_then(|value| codec.read_record::<Progress>(value).ok());
            if let Some(it) = progress.filter(|it| cycles.contains(&it.number)) {
                listed.extend(it.output_hashes.iter().map(|hash| (it.number, *hash)));
            }
        })?;
    }
    // Of those of one key the listed one comes first.
    found.sort_by_key(|(hash, it)| (key(it), !listed.contains(&(cycle(it), *hash))));
    let count = found.len();
    found.dedup_by(|later, first| key(&later.1) == key(&first.1));
    let strays = count - found.len();
    Ok((found.into_iter().map(|(_, it)| it).collect(), strays))
}

/// The last cycle in a log; `None` when there is none.
pub(super) fn newest(log: &mut impl Log) -> anyhow::Result<Option<Progress>> {
    let mut newest: Option<Progress> = None;
    records(log, Topic::Progress, TAIL, |codec, value| {
        let progress = value.and_then(|value| codec.read_record::<Progress>(value).ok());
        let now = newest.as_ref().map(|newest| newest.now);
        newest = progress.filter(|it| now.is_none_or(|now| now <= it.now)).or(newest.take());
    })?;
    Ok(newest)
}

/// The topologies that a domain was led by in some epochs, as their first cycles published them;
/// without those that the log does not have. `progress` is read back from its end, no further than
/// it takes.
pub(super) fn texts_of(
    log: &mut impl Log,
    domain: &str,
    mut epochs: BTreeSet<u64>,
) -> anyhow::Result<BTreeMap<u64, String>> {
    let (mut found, mut codec) = (BTreeMap::new(), Codec::default());
    let cycles = log.lanes()?.into_iter().find(|span| span.lane.topic == Topic::Progress);
    let Some(mut span) = cycles else { return Ok(found) };
    let mut most = TAIL;
    while let Some(oldest) = epochs.first().copied().filter(|_| span.first < span.stable_end) {
        let from = span.stable_end.saturating_sub(most).max(span.first);
        let mut is_far_enough = false;
        read_to_end(log, &[span], |_| from, &mut codec, &mut |codec, batch, raw| {
            let value = batch.value(raw);
            let cycle = value.and_then(|value| codec.read_record::<Progress>(value).ok());
            let Some(cycle) = cycle.filter(|it| it.domain == domain) else { return true };
            is_far_enough |= cycle.epoch < oldest;
            let text = cycle.policies.filter(|text| hash_of(text) == cycle.policy_hash);
            if let Some(text) = text
                && epochs.remove(&cycle.epoch)
            {
                found.insert(cycle.epoch, text);
            }
            !epochs.is_empty()
        })?;
        if is_far_enough {
            break;
        }
        (span.stable_end, most) = (from, most.saturating_mul(FURTHER));
    }
    Ok(found)
}

/// How far before its end `progress` is read to find its newest record: markers lie between.
pub(super) const TAIL: u64 = 256;
/// By how much more of `progress` is read if a look does not reach back far enough.
const FURTHER: u64 = 16;
/// Records taken at once.
const BATCH_RECORDS: usize = 10_000;
/// How long one look at the log may wait.
const LOOK: Duration = Duration::from_millis(500);
/// Lanes that should bring records and bring nothing for so long end the reading.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Shows the values of a topic's records, of each lane the last so many offsets.
pub(super) fn records(
    log: &mut impl Log,
    topic: Topic,
    most: u64,
    mut show: impl FnMut(&Codec, Option<&[u8]>),
) -> anyhow::Result<()> {
    let spans = log.lanes()?;
    let mut codec = Codec::default();
    let of_topic: Vec<LaneSpan> =
        spans.into_iter().filter(|span| span.lane.topic == topic).collect();
    let from = |span: &LaneSpan| span.stable_end.saturating_sub(most).max(span.first);
    read_to_end(log, &of_topic, from, &mut codec, &mut |codec, batch, raw| {
        show(codec, batch.value(raw));
        true
    })?;
    Ok(())
}

/// Shows the records of lanes, of each those from an offset to its stable end, until `show` gives
/// `false`. The codec learns the schemas that they name.
pub(super) fn read_to_end(
    log: &mut impl Log,
    spans: &[LaneSpan],
    from: impl Fn(&LaneSpan) -> u64,
    codec: &mut Codec,
    show: &mut dyn FnMut(&Codec, &Batch, &Raw) -> bool,
) -> Result<(), LogError> {
    let mut open: BTreeMap<Lane, u64> = BTreeMap::new();
    let mut cut = Cut::default();
    let mut total = 0;
    for span in spans.iter().filter(|span| from(span) < span.stable_end) {
        cut.advance(span.lane, from(span));
        open.insert(span.lane, span.stable_end);
        total += span.stable_end - from(span);
    }
    let (mut bar, mut done) = (Bar::later("reading", "records", total), 0);
    if open.is_empty() {
        return Ok(());
    }
    log.assign(&cut)?;
    let mut batch = Batch::default();
    let mut last_news = Instant::now();
    while !open.is_empty() {
        batch.clear();
        log.take(&mut batch, BATCH_RECORDS, LOOK)?;
        if !batch.records.is_empty() || !batch.marks.is_empty() {
            last_news = Instant::now();
        }
        done += batch.records.len() as u64;
        bar.at(done);
        for writer in &batch.writers {
            // Records of a schema that cannot be read are none of ours.
            let _ = codec.learn_number(writer);
        }
        for raw in &batch.records {
            let is_within = open.get(&raw.lane).is_some_and(|end| raw.offset < *end);
            if is_within && !show(codec, &batch, raw) {
                return Ok(());
            }
            open.retain(|lane, end| *lane != raw.lane || raw.offset + 1 < *end);
        }
        let passed = |lane, end| batch.marks.iter().any(|it| it.lane == lane && it.position >= end);
        open.retain(|lane, end| !passed(*lane, *end));
        if last_news.elapsed() > SILENCE_MAX {
            return Err(silent(log, &open));
        }
    }
    Ok(())
}

/// The offset from which `progress` is to be read so that the cycle `wanted` is among those that
/// are read, or the last ones if none is wanted; the first offset if it does not reach back so far.
pub(super) fn cycles_from(
    log: &mut impl Log,
    codec: &mut Codec,
    domain: &str,
    cycles: &LaneSpan,
    wanted: Option<u64>,
) -> Result<u64, LogError> {
    let mut most = TAIL;
    loop {
        let from = cycles.stable_end.saturating_sub(most).max(cycles.first);
        let Some(wanted) = wanted.filter(|_| from > cycles.first) else { return Ok(from) };
        if first_cycle(log, codec, domain, cycles, from)?.is_some_and(|first| first <= wanted) {
            return Ok(from);
        }
        most = most.saturating_mul(FURTHER);
    }
}

/// The number of the first cycle of a domain from an offset of `progress` on.
fn first_cycle(
    log: &mut impl Log,
    codec: &mut Codec,
    domain: &str,
    cycles: &LaneSpan,
    from: u64,
) -> Result<Option<u64>, LogError> {
    let mut first = None;
    read_to_end(log, &[*cycles], |_| from, codec, &mut |codec, batch, raw| {
        let progress = batch.value(raw).and_then(|value| codec.read_record::<Progress>(value).ok());
        first = progress.filter(|it| it.domain == domain).map(|it| it.number);
        first.is_none()
    })?;
    Ok(first)
}

/// Why lanes bring nothing.
pub(super) fn silent(log: &impl Log, open: &BTreeMap<Lane, u64>) -> LogError {
    if let Some((_, why)) = log.waiting_for_registry() {
        return LogError::Unanswered(why);
    }
    let lanes: Vec<String> =
        open.iter().map(|(lane, end)| format!("{lane}, which reaches to {end}")).collect();
    let seconds = SILENCE_MAX.as_secs();
    LogError::Unreachable(format!("nothing came for {seconds} s of {}", lanes.join("; ")))
}

/// Commands in a log, each record once and in order of id and repeat, with what became of each id.
pub(super) struct ReadCommands {
    /// The records.
    pub commands: Vec<Command>,
    /// By id, the newest outcome.
    pub answers: BTreeMap<[u8; 16], CommandAnswer>,
    /// How many records were passed over.
    pub strays: usize,
}

/// Reads the commands that `wants` picks, and what had become of them by `until`.
pub(super) fn read_commands(
    log: &mut impl Log,
    until: Millis,
    wants: impl Fn(&Command) -> bool,
) -> anyhow::Result<ReadCommands> {
    let found = outputs(log, Topic::Command, |event| match event {
        Event::Output(Output::Command(command)) if wants(&command) => Some(*command),
        _ => None,
    })?;
    let key = |it: &Command| (it.id.to_string(), u64::from(it.repeat), 0);
    let (commands, strays) = without_strays(log, found, key, |it| it.cycle)?;
    let ids: BTreeSet<[u8; 16]> = commands.iter().map(|it| it.id.0).collect();
    let mut answers: BTreeMap<[u8; 16], CommandAnswer> = BTreeMap::new();
    if !ids.is_empty() {
        let outcomes = outputs(log, Topic::Outcome, |event| match event {
            Event::Outcome(outcome) => {
                let is_wanted = ids.contains(&outcome.decision.0) && outcome.at <= until;
                is_wanted.then_some(outcome)
            }
            _ => None,
        })?;
        for (_, DecisionOutcome { decision, kind, at, reason, .. }) in outcomes {
            let answer = CommandAnswer { at, kind, reason };
            let held = answers.entry(decision.0).or_insert_with(|| answer.clone());
            *held = answer.max(held.clone());
        }
    }
    Ok(ReadCommands { commands, answers, strays })
}
