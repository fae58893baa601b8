//! Looking back: counters as of a moment, outputs by what they are about.

use super::at_hand::AtHand;
use super::block::{BlockKind, pieces};
use super::files::{Files, MissingBody, Place};
use super::open::Open;
use super::{TOPICS, VIEW, sequence};
use crate::view::QueueView;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Event;
use yardmaster_core::output::Output;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Arena, Codec};

/// A search looks into so much at most; bytes before compression. What lies further back is found
/// by going on from there.
const LOOKED_MAX: usize = 256 << 20;

/// Data that loop, writer and questions share.
#[derive(Debug)]
pub(super) struct Inner {
    files: Mutex<Files>,
    open: Mutex<Open>,
    at_hand: Mutex<AtHand>,
    /// Counters of so many cycles are with the thread that writes, and not written yet.
    pub counting: AtomicUsize,
    interval: Millis,
}

impl Inner {
    pub fn new(files: Files, interval: Millis) -> Inner {
        let newest = files.places().iter().map(|place| place.head.last).max().unwrap_or(0);
        let open = Open::after(newest);
        Inner {
            files: Mutex::new(files),
            open: Mutex::new(open),
            at_hand: Mutex::default(),
            counting: AtomicUsize::new(0),
            interval,
        }
    }

    /// Bodies of blocks that were read before; a panic in a change leaves at worst one too many.
    fn at_hand(&self) -> MutexGuard<'_, AtHand> {
        self.at_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The written files; a panic in a change leaves at worst a block that is not listed.
    pub fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The blocks that are not written yet.
    pub fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body of a block. One that is damaged is a gap from now on.
    pub fn body(&self, place: &Place) -> Option<Vec<u8>> {
        let body = place.body();
        if body == Err(MissingBody::Damaged) {
            self.files().lose(place);
        }
        body.ok()
    }

    /// The body of a block that is wanted again and again.
    pub fn body_at_hand(&self, place: &Place) -> Option<Arc<Vec<u8>>> {
        let at = place.at();
        if let Some(body) = self.at_hand().get(&at) {
            return Some(body);
        }
        let body = Arc::new(self.body(place)?);
        self.at_hand().put(at, Arc::clone(&body));
        Some(body)
    }

    /// The last cycle of which counters are kept, and its time.
    pub fn counted(&self) -> Option<(u64, Millis)> {
        let files = self.files();
        let counters = files.places().iter().filter(|place| place.is_counters());
        counters.map(|place| (place.head.cycle, place.head.first_at)).max()
    }

    /// The newest body of figures, and its time.
    pub fn last_figures(&self) -> Option<(Vec<u8>, Millis)> {
        let is_it = |place: &&Place| place.head.kind == BlockKind::Figures;
        let last = self.files().places().iter().rev().find(is_it).cloned()?;
        Some((self.body(&last)?, last.head.first_at))
    }

    /// Up to which cycle nothing is missing but the gaps, and its time.
    pub fn covered(&self) -> (u64, Millis) {
        let files = self.files();
        let heads = || files.places().iter().map(|place| place.head);
        let cycle = heads().map(|head| head.cycle).max().unwrap_or(0);
        (cycle, heads().map(|head| head.last_at).max().unwrap_or(0))
    }
}

/// Questions about the past, from any thread.
#[derive(Clone, Debug)]
pub struct History(Arc<Inner>);

/// Which part of the past is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The first and the last moment of which counters are kept; `None`: none yet.
    pub counters: Option<(Millis, Millis)>,
    /// Time between two moments of which counters are kept; ms.
    pub interval: Millis,
    /// Spans of which outputs are missing.
    pub gaps: Vec<(Millis, Millis)>,
    /// Spans between two moments of which counters are kept, and within which they are missing: a
    /// look back shows what was so at the begin.
    pub counter_gaps: Vec<(Millis, Millis)>,
}

/// The counters as of a moment.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The `now` of the cycle they are of: the last one kept at or before the moment.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// Counters as JSON, by their keys.
    pub counters: BTreeMap<String, String>,
    /// The queues at a glance.
    pub queues: Vec<QueueView>,
    /// The span without counters that the moment lies in.
    pub gap: Option<(Millis, Millis)>,
}

/// Which outputs are wanted. The newest come first.
pub struct Search<'a> {
    /// Topics.
    pub topics: &'a [Topic],
    /// Only those behind this sequence.
    pub after: u64,
    /// Only those before this sequence.
    pub before: u64,
    /// Only those of this moment or later.
    pub from: Millis,
    /// Only those of this moment or before.
    pub to: Millis,
    /// Names that all of them have.
    pub names: &'a [&'a str],
    /// Whether one is wanted.
    pub wants: &'a dyn Fn(&Output) -> bool,
    /// So many at most.
    pub limit: usize,
}

/// Outputs that were found.
#[derive(Clone, Debug, Default)]
pub struct FoundOutputs {
    /// The outputs, the newest first, with their sequences.
    pub outputs: Vec<(u64, Output)>,
    /// The newest sequence there is.
    pub newest: u64,
    /// There may be more: go on with what lies before this sequence.
    pub more_before: Option<u64>,
}

impl History {
    pub(super) fn of(inner: Arc<Inner>) -> History {
        History(inner)
    }

    /// Which part of the past is kept.
    pub fn reach(&self) -> Reach {
        let files = self.0.files();
        let counters = || files.places().iter().filter(|place| place.is_counters());
        let moments = || counters().map(|place| place.head.first_at);
        let mut kept: Vec<(Millis, u64)> =
            counters().map(|place| (place.head.first_at, place.head.cycle)).collect();
        kept.sort_unstable();
        let gaps = files.places().iter().filter(|place| place.head.kind == BlockKind::Gap);
        Reach {
            counters: moments().min().zip(moments().max()),
            interval: self.0.interval,
            gaps: gaps.map(|place| (place.head.first_at, place.head.last_at)).collect(),
            counter_gaps: counter_gaps(&kept, self.0.interval),
        }
    }

    /// Time between two moments of which counters are kept.
    pub(super) fn interval(&self) -> Millis {
        self.0.interval
    }

    /// Data that is shared with the writer.
    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    /// The counters as of a moment: of the last cycle at or before it of which they are kept.
    /// `None` where it lies before all that is kept.
    pub fn counters_at(&self, at: Millis) -> Option<Counted> {
        let chain = self.chain(at);
        let last = chain.last()?.head;
        let mut counters: BTreeMap<String, String> = BTreeMap::new();
        for place in &chain {
            let raw = self.0.body(place)?;
            let mut pieces = pieces(&raw).map(String::from_utf8_lossy);
            while let (Some(key), Some(json)) = (pieces.next(), pieces.next()) {
                match json.as_ref() {
                    "" => counters.remove(key.as_ref()),
                    json => counters.insert(key.into_owned(), json.to_owned()),
                };
            }
        }
        let behind = counters.split_off(VIEW);
        let (views, behind): (BTreeMap<_, _>, BTreeMap<_, _>) =
            behind.into_iter().partition(|(key, _)| key.starts_with(VIEW));
        counters.extend(behind);
        let queues = views.values().filter_map(|json| serde_json::from_str(json).ok()).collect();
        let gaps = self.reach().counter_gaps;
        let gap = gaps.into_iter().find(|(from, to)| *from < at && at < *to);
        Some(Counted { now: last.first_at, cycle: last.cycle, counters, queues, gap })
    }

    /// From the last whole block of counters before a moment to the last block before it.
    fn chain(&self, at: Millis) -> Vec<Place> {
        let files = self.0.files();
        let mut chain: Vec<Place> = Vec::new();
        let before = files.places().iter().rev();
        let before = before.filter(|place| place.is_counters() && place.head.first_at <= at);
        for place in before {
            chain.push(place.clone());
            if place.head.kind == BlockKind::Full {
                chain.reverse();
                return chain;
            }
        }
        Vec::new()
    }

    /// The newest outputs that are wanted.
    pub fn search(&self, search: &Search<'_>) -> FoundOutputs {
        let mut finding = Finding { codec: Codec::default(), arena: Arena::default(), search };
        let mut found = FoundOutputs::default();
        let places: Vec<Place> = {
            // A block that is written meanwhile is in one of both places at any moment.
            let open = self.0.open();
            found.newest = open.newest;
            for (sequence, piece) in open.iter().rev() {
                if found.outputs.len() < search.limit {
                    finding.look(sequence, piece, &mut found.outputs);
                }
            }
            let files = self.0.files();
            let places = files.places().iter().rev();
            places.filter(|place| finding.may_hold(place)).cloned().collect()
        };
        let mut looked = 0;
        for place in places {
            if found.outputs.len() >= search.limit || looked > LOOKED_MAX {
                found.more_before = Some(place.head.last.saturating_add(1));
                break;
            }
            if !search.names.iter().all(|name| place.may_hold(name)) {
                continue;
            }
            let Some(raw) = self.0.body(&place) else { continue };
            looked += raw.len();
            let all: Vec<&[u8]> = pieces(&raw).collect();
            for piece in all.into_iter().rev() {
                finding.look(u64::MAX, piece, &mut found.outputs);
            }
        }
        if found.outputs.len() > search.limit {
            found.outputs.truncate(search.limit);
            found.more_before = found.outputs.last().map(|(sequence, _)| *sequence);
        }
        found
    }
}

/// Spans between kept moments, of which the cycles are known too, within which there were cycles
/// and an interval passed without counters of any.
fn counter_gaps(kept: &[(Millis, u64)], interval: Millis) -> Vec<(Millis, Millis)> {
    let is_gap = |pair: &&[(Millis, u64)]| {
        let ((from, first), (to, last)) = (pair[0], pair[1]);
        to - from > 2 * interval && last > first + 1
    };
    kept.windows(2).filter(is_gap).map(|pair| (pair[0].0, pair[1].0)).collect()
}

/// A search under way.
struct Finding<'a> {
    codec: Codec,
    arena: Arena,
    search: &'a Search<'a>,
}

impl Finding<'_> {
    /// Whether a block may hold what is wanted, by its head.
    fn may_hold(&self, place: &Place) -> bool {
        let (head, search) = (&place.head, self.search);
        let is_in_order = head.last > search.after && head.first < search.before;
        let is_in_time = head.last_at >= search.from && head.first_at <= search.to;
        head.kind == BlockKind::Outputs && is_in_order && is_in_time
    }

    /// Takes an output if it is wanted. Its sequence, where it is known, saves reading it.
    fn look(&mut self, known: u64, piece: &[u8], found: &mut Vec<(u64, Output)>) {
        let search = self.search;
        let Some((code, value)) = piece.split_first() else { return };
        let Some(topic) = TOPICS.get(usize::from(*code)) else { return };
        if known <= search.after || !search.topics.contains(topic) {
            return;
        }
        let event = self.codec.read(*topic, None, Some(value), &mut self.arena);
        let Event::Output(output) = event else { return };
        let sequence = sequence(&output);
        let (_, _, now) = output.moment();
        let is_in_time = now >= search.from && now <= search.to;
        let is_in_order = sequence > search.after && sequence < search.before;
        let has = |name: &&str| super::names(&output).contains(name);
        if is_in_time && is_in_order && search.names.iter().all(has) && (search.wants)(&output) {
            found.push((sequence, output));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_counters_has_cycles_in_it() {
        let minute = 60_000;
        let gaps = |kept: &[(Millis, u64)]| counter_gaps(kept, minute);
        assert_eq!(gaps(&[(0, 1), (minute, 7), (2 * minute + 30_000, 15)]), []);
        assert_eq!(gaps(&[(0, 1), (10 * minute, 61)]), [(0, 10 * minute)]);
        // Nothing happened in between.
        assert_eq!(gaps(&[(0, 1), (10 * minute, 2)]), []);
    }
}
