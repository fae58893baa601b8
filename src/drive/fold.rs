//! Many records at once: from bytes to counters.

use crate::port::{Batch, Raw};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, Garbled, Oversize};
use yardmaster_core::oddity::Oddity;
use yardmaster_core::state::State;
use yardmaster_core::state::prefetch::Prefetch;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Arena, Codec, Prepared};

/// Records prefetched together, before the first of them is folded.
const GROUP: usize = 64;

/// Decodes records, none of an own topic, and counts them: those of one topic in the order given.
/// Within a cycle the order of topics does not matter; records of one topic in a row are faster.
///
/// A record that could not be read is counted too, and named in `garbled`: its place among the
/// records, and why. A record below the cut was counted before: it has no effect and is not named
/// again. A record whose stamp lies after `latest` counts as one that could not be read; but a
/// request is read all the same, for it wants an answer.
pub fn fold_records<'a>(
    state: &mut State,
    codec: &Codec,
    arena: &mut Arena,
    mut records: impl Iterator<Item = (&'a Batch, &'a Raw)>,
    latest: Millis,
    garbled: &mut Vec<(usize, Garbled)>,
) {
    let mut group: Vec<(&Batch, &Raw)> = Vec::with_capacity(GROUP);
    let mut run: Vec<Next<'_>> = Vec::with_capacity(GROUP);
    let mut prefetch = Prefetch::default();
    let mut folded = 0;
    loop {
        group.clear();
        group.extend(records.by_ref().take(GROUP));
        if group.is_empty() {
            return;
        }
        arena.clear();
        run.clear();
        for at in by_topic(&group).iter().take(group.len()) {
            let place = usize::from(*at);
            let (batch, raw) = group[place];
            let (key, value) = (batch.key(raw), batch.value(raw));
            let prepared = codec.prepare(raw.lane.topic, key, value, arena);
            run.push(Next { place, raw, key, value, prepared });
        }
        prefetch.clear();
        for Next { raw, value, prepared, .. } in &run {
            let topic = raw.lane.topic;
            prefetch.note(topic, codec.sought(prepared, topic, *value, arena));
        }
        prefetch.look(state);
        let named = garbled.len();
        for (Next { place, raw, key, value, prepared }, sought) in run.iter().zip(prefetch.run()) {
            let topic = raw.lane.topic;
            let mut corrected = false;
            let mut event = match value {
                Some(_) if raw.appended_at > latest && topic != Topic::Task => {
                    Event::Garbled(Garbled::StampAhead)
                }
                _ => codec.read_prepared(prepared, topic, *key, *value, arena, &mut corrected),
            };
            let (bytes, most) = (value.map_or(0, <[u8]>::len), state.setting.limits.name_bytes);
            // An event is large: it is not moved where it stays what it is.
            if Oversize::of_event(&event, bytes, most).is_some() {
                event = Event::Garbled(Garbled::Oversized);
            }
            let is_new = raw.offset >= state.next(raw.lane);
            if let Event::Garbled(why) = event
                && is_new
            {
                garbled.push((folded + place, why));
            }
            if is_new && !is_key_right(*key, &event) {
                state.oddities.count(topic, Oddity::KeyMismatch);
            }
            if corrected && is_new {
                state.oddities.count(topic, Oddity::BadValue);
            }
            state.fold_sought(raw.lane, raw.offset, raw.appended_at, &event, sought);
        }
        garbled[named..].sort_unstable_by_key(|(place, _)| *place);
        folded += group.len();
    }
}

/// Whether a record has the key that its schema asks for, or none. Requests may be keyed by task or
/// by subject; topics whose keys are joined of several fields are not checked.
#[inline]
fn is_key_right(key: Option<&[u8]>, event: &Event<'_>) -> bool {
    let Some(key) = key else { return true };
    let is = |name: &str| key == name.as_bytes();
    match event {
        Event::JobState(event) => is(event.job),
        Event::Heartbeat(event) => is(event.job),
        Event::Transfer(event) => is(event.request),
        Event::Task(event) => is(&event.task) || is(&event.subject),
        Event::Outcome(event) => is(&event.subject),
        Event::Configuration(event) => !event.is_key_a_field() || is(&event.name()),
        Event::Pilot(_) | Event::Removed { .. } | Event::Output(_) | Event::Garbled(_) => true,
    }
}

/// A record whose turn is near.
struct Next<'a> {
    /// Among the records of its group.
    place: usize,
    raw: &'a Raw,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    prepared: Prepared,
}

/// The places of a group's records, those of one topic together and in the order given.
fn by_topic(group: &[(&Batch, &Raw)]) -> [u8; GROUP] {
    let topic = |at: usize| group[at].1.lane.topic as usize;
    let mut ends = [0u8; Topic::ALL.len()];
    (0..group.len()).for_each(|at| ends[topic(at)] += 1);
    let mut end = 0;
    for count in &mut ends {
        end += *count;
        *count = end;
    }
    let mut order = [0; GROUP];
    for at in (0..group.len()).rev() {
        let end = &mut ends[topic(at)];
        *end -= 1;
        order[usize::from(*end)] = at as u8;
    }
    order
}

/// The same, for records that all lie in one batch.
pub fn fold_batch(
    state: &mut State,
    codec: &Codec,
    arena: &mut Arena,
    batch: &Batch,
    records: &[Raw],
    garbled: &mut Vec<(usize, Garbled)>,
) {
    let records = records.iter().map(|raw| (batch, raw));
    fold_records(state, codec, arena, records, Millis::MAX, garbled);
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::cut::Lane;
    use yardmaster_core::event::{Heartbeat, JobState, Status};
    use yardmaster_core::id::Key;
    use yardmaster_core::state::Setting;
    use yardmaster_core::state::digest::digest;
    use yardmaster_wire::record;

    const LANE: Lane = Lane::new(Topic::JobState, 0);

    fn state() -> State {
        State::new(Setting { domain: "atlas".into(), ..Setting::default() })
    }

    fn job(name: &str) -> Vec<u8> {
        let event = JobState {
            job: name,
            status: Status::Running,
            changed_at: 1_000,
            task: "7",
            queue: "DESY-HH",
            user: "prod",
            gshare: "MC",
            resource_type: "SCORE",
            cores: 1,
            created_at: 1,
            started_at: 2,
            ..JobState::default()
        };
        let mut bytes = Vec::new();
        record::write(&mut bytes, &event);
        bytes
    }

    #[test]
    fn a_key_that_does_not_fit_is_counted_and_the_content_holds() {
        let mut batch = Batch::default();
        let keys = [Some(&b"0"[..]), Some(&b"7"[..]), None];
        for (offset, key) in keys.into_iter().enumerate() {
            batch.push(LANE, offset as u64, 1_000, key, Some(&job(&offset.to_string())));
        }
        let (mut state, codec, mut arena) = (state(), Codec::default(), Arena::default());
        let mut garbled = Vec::new();
        fold_batch(&mut state, &codec, &mut arena, &batch, &batch.records, &mut garbled);
        assert_eq!(state.jobs.slab.len(), 3);
        assert_eq!(state.oddities.take(), [(Topic::JobState, Oddity::KeyMismatch, 1)]);
    }

    #[test]
    fn good_records_count_and_bad_ones_are_named_once() {
        let mut batch = Batch::default();
        for number in 0..200u64 {
            let value = job(&number.to_string());
            let cut = if number == 130 { &value[..20] } else { &value[..] };
            batch.push(LANE, number, 1_000, None, (number != 7).then_some(cut));
        }
        let (mut state, codec, mut arena) = (state(), Codec::default(), Arena::default());
        let mut garbled = Vec::new();
        fold_batch(&mut state, &codec, &mut arena, &batch, &batch.records, &mut garbled);
        assert_eq!(garbled, [(7, Garbled::Null), (130, Garbled::Malformed)]);
        assert_eq!(state.jobs.slab.len(), 198);
        assert!(state.jobs.of(Key(199)).is_some());
        assert_eq!(state.next(LANE), 200);
        // Delivered again: counted before, so nothing is named and nothing changes.
        garbled.clear();
        fold_batch(&mut state, &codec, &mut arena, &batch, &batch.records, &mut garbled);
        assert!(garbled.is_empty());
        assert_eq!(state.jobs.slab.len(), 198);
    }

    /// In any mixture of several topics: what could not be read is named in order, and the
    /// state is that of one record after the other.
    #[test]
    fn topics_are_sorted_and_the_state_is_the_same() {
        let mut batch = Batch::default();
        for number in 0..300u64 {
            let mut heartbeat = Vec::new();
            let name = (number % 50).to_string();
            let published = Heartbeat {
                job: &name,
                at: 2_000 + number as i64,
                cpu_s: 7,
                disk_io_kbps: number as u32,
                rss_mb: 9,
                events: 3,
                ..Heartbeat::default()
            };
            record::write(&mut heartbeat, &published);
            let (topic, value) = match number % 3 {
                0 => (Topic::JobState, job(&name)),
                1 => (Topic::Heartbeat, heartbeat),
                _ => (Topic::Transfer, vec![number as u8]),
            };
            batch.push(Lane::new(topic, 0), number, 10_000, None, Some(&value));
        }
        let (codec, mut arena) = (Codec::default(), Arena::default());
        let (mut together, mut named) = (state(), Vec::new());
        fold_batch(&mut together, &codec, &mut arena, &batch, &batch.records, &mut named);
        let places: Vec<usize> = named.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, (2..300).step_by(3).collect::<Vec<_>>());
        let mut apart = state();
        for raw in &batch.records {
            let event = codec.read(raw.lane.topic, None, batch.value(raw), &mut arena);
            apart.fold(raw.lane, raw.offset, raw.appended_at, &event);
        }
        assert_eq!(digest(&together), digest(&apart));
    }
}
