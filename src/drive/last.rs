//! The last record that was read of each input lane, by which the lane is known again.
//!
//! A lane that lost its end (an unclean election of a leader, a broker that lost what it had not
//! flushed) and was written on since reaches to where it was read, and holds other records there.

use crate::Halt;
use crate::feed::Run;
use crate::port::{Batch, LaneSpan, Raw, rewritten};
use std::collections::BTreeMap;
use yardmaster_core::cut::{Cut, Lane};
use yardmaster_core::id::hash;
use yardmaster_core::output::progress::{LastRead, Progress};

/// The last records that were read.
#[derive(Default)]
pub(super) struct Lasts {
    read: BTreeMap<Lane, LastRead>,
    /// Those of the store that are to come once more, with the next offset then.
    sought: BTreeMap<Lane, (LastRead, u64)>,
}

impl Lasts {
    /// As a store has them, of a log that reaches so far.
    pub fn new(stored: &[(Lane, LastRead)], cut: &Cut, spans: &[LaneSpan]) -> Lasts {
        let read: BTreeMap<Lane, LastRead> = stored.iter().copied().collect();
        let is_there = |lane: &Lane, last: &LastRead| {
            spans.iter().any(|span| span.lane == *lane && span.first <= last.offset)
        };
        let seek = |(lane, last): (&Lane, &LastRead)| {
            let next = cut.next(*lane).filter(|next| *next > last.offset)?;
            is_there(lane, last).then_some((*lane, (*last, next)))
        };
        let sought = read.iter().filter_map(seek).collect();
        Lasts { read, sought }
    }

    /// Where each lane is read from, so that its last record comes once more.
    pub fn before(&self, cut: &Cut) -> Cut {
        let mut from = cut.clone();
        from.0.extend(self.sought.iter().map(|(lane, (last, _))| (*lane, last.offset)));
        from
    }

    /// Takes out of a batch what was read before the store was made, and compares it.
    ///
    /// # Errors
    /// A lane holds other records than it did.
    pub fn meet(&mut self, batch: &mut Batch) -> Result<(), Halt> {
        if self.sought.is_empty() {
            return Ok(());
        }
        let mut records = std::mem::take(&mut batch.records);
        let mut other = None;
        records.retain(|raw| {
            let Some((last, next)) = self.sought.get(&raw.lane) else { return true };
            let is_new = raw.offset >= *next;
            if !is_new && of(batch, raw) != *last {
                other.get_or_insert((raw.lane, *next));
            }
            if is_new {
                self.sought.remove(&raw.lane);
            }
            is_new
        });
        batch.records = records;
        for mark in &batch.marks {
            if self.sought.get(&mark.lane).is_some_and(|(_, next)| mark.position >= *next) {
                self.sought.remove(&mark.lane);
            }
        }
        other.map_or(Ok(()), |(lane, next)| Err(Halt::Lost(rewritten(&lane.to_string(), next))))
    }

    /// Takes in what was drawn of one lane.
    pub fn note(&mut self, drawn: &[Run]) {
        if let Some((batch, raw)) = drawn.last().and_then(|run| run.iter().last()) {
            self.read.insert(raw.lane, of(batch, raw));
        }
    }

    /// That of a lane.
    pub fn get(&self, lane: Lane) -> Option<LastRead> {
        self.read.get(&lane).copied()
    }

    /// Those of all lanes.
    pub fn list(&self) -> Vec<(Lane, LastRead)> {
        self.read.iter().map(|(lane, last)| (*lane, *last)).collect()
    }

    /// A lane of which a cycle had read another record where this process has read one, with
    /// the offset of it. The cycle is to be drawn; what was compacted away is not missed, and what
    /// could not be read counts for nothing.
    pub fn differs(&self, progress: &Progress) -> Option<(Lane, u64)> {
        let mut stated = progress.last_read.iter();
        stated.find_map(|(lane, last)| {
            let own = self.get(*lane).filter(|own| own.offset == last.offset && own != last)?;
            let place = (*lane, own.offset);
            (!progress.garbled.contains(&place)).then_some(place)
        })
    }
}

fn of(batch: &Batch, raw: &Raw) -> LastRead {
    let part = |part: Option<&[u8]>| part.map_or([0, 0], |bytes| [1, hash(bytes)]);
    let [key, value] = [part(batch.key(raw)), part(batch.value(raw))];
    let words = [raw.offset, raw.appended_at as u64, key[0], key[1], value[0], value[1]];
    let mut bytes = [0; 48];
    let places = bytes.chunks_exact_mut(8).zip(words);
    places.for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    LastRead { offset: raw.offset, check: hash(&bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Mark;
    use yardmaster_core::cut::Topic;
    use yardmaster_core::output::progress::LaneFlags;

    const LANE: Lane = Lane::new(Topic::JobState, 0);

    fn batch(records: &[(u64, &[u8])]) -> Batch {
        let mut batch = Batch::default();
        records.iter().for_each(|(at, value)| batch.push(LANE, *at, 7, None, Some(value)));
        batch
    }

    /// The last records as a store has them of a lane that ended so: its last record, and where it
    /// goes on.
    fn stored(records: &[(u64, &[u8])], next: u64) -> Lasts {
        let batch = batch(records);
        let last = of(&batch, batch.records.last().unwrap());
        let span = LaneSpan { lane: LANE, first: 0, stable_end: 99, end: 99 };
        Lasts::new(&[(LANE, last)], &Cut([(LANE, next)].into()), &[span])
    }

    #[test]
    fn a_lane_that_was_cut_off_and_written_on_is_known() {
        let before = [(4, &b"a"[..]), (5, b"b")];
        let mut same = stored(&before, 8);
        assert_eq!(same.before(&Cut([(LANE, 8)].into())).next(LANE), Some(5));
        let mut came = batch(&[(5, b"b"), (9, b"c")]);
        same.meet(&mut came).unwrap();
        assert_eq!(came.records.iter().map(|raw| raw.offset).collect::<Vec<_>>(), [9]);
        assert!(same.sought.is_empty());

        let fails = |records: &[(u64, &[u8])]| {
            let error = stored(&before, 8).meet(&mut batch(records)).unwrap_err().to_string();
            assert!(error.contains("job-state[0]"), "{error}");
        };
        fails(&[(5, b"x")]);
        // Between the last record and the next offset there was none.
        fails(&[(6, b"b")]);
    }

    #[test]
    fn what_is_compacted_away_is_not_missed() {
        let mut lasts = stored(&[(5, b"b")], 8);
        let mut came = Batch::default();
        came.marks.push(Mark { lane: LANE, position: 8, flags: LaneFlags::default() });
        lasts.meet(&mut came).unwrap();
        assert!(lasts.sought.is_empty());
        let mut lasts = stored(&[(5, b"b")], 8);
        lasts.meet(&mut batch(&[(11, b"z")])).unwrap();
        assert!(lasts.sought.is_empty());
        let span = LaneSpan { lane: LANE, first: 6, stable_end: 99, end: 99 };
        let cut = Cut([(LANE, 8)].into());
        let lasts = Lasts::new(&lasts.list(), &cut, &[span]);
        assert_eq!(lasts.before(&cut), cut, "it is gone");
    }
}
