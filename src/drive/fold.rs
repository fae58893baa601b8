//! Many records at once: from bytes to counters.

use crate::core::event::{Event, Garbled};
use crate::core::fold::Ahead;
use crate::core::state::State;
use crate::drive::port::{Batch, Raw};
use crate::wire::avro::{Arena, Codec, Prepared};

/// Records decoded together, before the first of them is folded.
const GROUP: usize = 64;

/// Decodes records, none of an own topic, and counts them in the order given.
///
/// What could not be read is counted too, and named in `garbled`: its place among the records, and
/// why. A record below the cut was counted before: it has no effect and is not named again.
pub fn fold_records<'a>(
    state: &mut State,
    codec: &Codec,
    arena: &mut Arena,
    mut records: impl Iterator<Item = (&'a Batch, &'a Raw)>,
    garbled: &mut Vec<(usize, Garbled)>,
) {
    let mut group: Vec<(&Batch, &Raw)> = Vec::with_capacity(GROUP);
    let mut prepared: Vec<Prepared> = Vec::with_capacity(GROUP);
    let mut ahead = Ahead::default();
    let mut folded = 0;
    loop {
        group.clear();
        group.extend(records.by_ref().take(GROUP));
        if group.is_empty() {
            return;
        }
        arena.clear();
        prepared.clear();
        for (batch, raw) in &group {
            prepared.push(codec.prepare(raw.lane.topic, batch.value(raw), arena));
        }
        let mut events: Vec<Event<'_>> = Vec::with_capacity(group.len());
        for ((batch, raw), prepared) in group.iter().zip(&prepared) {
            let (key, value) = (batch.key(raw), batch.value(raw));
            events.push(codec.read_prepared(prepared, raw.lane.topic, key, value, arena));
        }
        ahead.look(state, &events);
        for (at, ((_, raw), event)) in group.iter().zip(&events).enumerate() {
            if let Event::Garbled(why) = event
                && raw.offset >= state.next(raw.lane)
            {
                garbled.push((folded + at, *why));
            }
            state.fold(raw.lane, raw.offset, raw.appended_at, event);
        }
        folded += group.len();
    }
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
    fold_records(state, codec, arena, records, garbled);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::cut::{Lane, Topic};
    use crate::core::event::{JobState, Status};
    use crate::core::id::Key;
    use crate::core::limits::Limits;
    use crate::core::state::Setting;
    use crate::wire::record::write_job_state;

    const LANE: Lane = Lane::new(Topic::JobState, 0);

    fn state() -> State {
        let silence = [None; Topic::ALL.len()];
        State::new(Setting { domain: "atlas".into(), limits: Limits::default(), silence })
    }

    fn job(name: &str) -> Vec<u8> {
        let event = JobState {
            job: name,
            status: Status::Running,
            changed_at: 1_000,
            revision: 0,
            attempt: 0,
            task: "7",
            request: "",
            queue: "DESY-HH",
            user: "prod",
            group: "",
            gshare: "MC",
            resource_type: "SCORE",
            nucleus: "",
            workflow: "",
            label: "",
            sub_status: "",
            cores: 1,
            priority: 0,
            created_at: 1,
            started_at: 2,
            ended_at: 0,
            input_bytes: 0,
            output_bytes: 0,
        };
        let mut bytes = Vec::new();
        write_job_state(&mut bytes, &event);
        bytes
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
}
