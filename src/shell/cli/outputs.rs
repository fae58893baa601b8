//! Outputs in a log, read without following it: each once, strays passed over.

use crate::core::cut::{Cut, Topic};
use crate::core::event::{Event, Outcome};
use crate::core::id::hash;
use crate::core::output::Output;
use crate::core::output::command::Command;
use crate::core::output::progress::Progress;
use crate::core::state::commands::CommandAnswer;
use crate::drive::port::{Batch, Log};
use crate::wire::avro::{Arena, Codec, unframed};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What `pick` makes of a topic's records, each with the hash that `progress` lists of it.
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
            let progress = value.and_then(|value| codec.read_progress(value).ok());
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
        let progress = value.and_then(|value| codec.read_progress(value).ok());
        let now = newest.as_ref().map(|newest| newest.now);
        newest = progress.filter(|it| now.is_none_or(|now| now <= it.now)).or(newest.take());
    })?;
    Ok(newest)
}

/// How far before its end `progress` is read to find its newest record: markers lie between.
const TAIL: u64 = 256;

/// Shows the values of a topic's records, of each lane the last so many offsets.
pub(super) fn records(
    log: &mut impl Log,
    topic: Topic,
    most: u64,
    mut show: impl FnMut(&Codec, Option<&[u8]>),
) -> anyhow::Result<()> {
    let spans = log.lanes()?;
    let mut cut = Cut::default();
    let mut open = BTreeSet::new();
    for span in spans.iter().filter(|span| span.lane.topic == topic) {
        cut.advance(span.lane, span.stable_end.saturating_sub(most).max(span.first));
        if span.first < span.stable_end {
            open.insert(span.lane);
        }
    }
    log.assign(&cut)?;
    let mut codec = Codec::default();
    let mut batch = Batch::default();
    while !open.is_empty() {
        batch.clear();
        log.take(&mut batch, 10_000, Duration::from_millis(500))?;
        for writer in &batch.writers {
            // Records of a schema that cannot be read are none of ours.
            let _ = codec.learn_number(writer);
        }
        for raw in &batch.records {
            show(&codec, batch.value(raw));
            let end = spans.iter().find(|span| span.lane == raw.lane).map(|span| span.stable_end);
            if end.is_none_or(|end| raw.offset + 1 >= end) {
                open.remove(&raw.lane);
            }
        }
        for mark in &batch.marks {
            let end = spans.iter().find(|span| span.lane == mark.lane).map(|span| span.stable_end);
            if end.is_none_or(|end| mark.position >= end) {
                open.remove(&mark.lane);
            }
        }
    }
    Ok(())
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

/// Reads the commands that `wants` picks, and what became of them.
pub(super) fn read_commands(
    log: &mut impl Log,
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
            Event::Outcome(outcome) if ids.contains(&outcome.decision.0) => Some(outcome),
            _ => None,
        })?;
        for (_, Outcome { decision, kind, at, reason, .. }) in outcomes {
            let answer = CommandAnswer { at, kind, reason };
            let held = answers.entry(decision.0).or_insert_with(|| answer.clone());
            *held = answer.max(held.clone());
        }
    }
    Ok(ReadCommands { commands, answers, strays })
}
