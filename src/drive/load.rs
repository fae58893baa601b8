//! From the pieces a store shows to a state, with the counters compared.

use crate::epoch_config::EpochConfig;
use crate::port::Piece;
use yardmaster_core::state::State;
use yardmaster_core::state::changed::ChangeNote;
use yardmaster_core::state::counters::counters_in_any_order;
use yardmaster_wire::avro::Writer;
use yardmaster_wire::counter;
use yardmaster_wire::stored::{self, Head, Restore};

/// The counter line that names which cycle the others are of.
const CYCLE_KEY: &str = "cycle";

/// Lines of counters: readable key and value.
type Lines = Vec<(Vec<u8>, Vec<u8>)>;

/// A state that comes piece by piece. Nothing of it counts before the store has confirmed that all
/// pieces add up, so a fault of one is reported only then.
pub(super) struct Loading<'a> {
    epoch_config: &'a EpochConfig,
    /// Of the last checkpoint.
    pub(super) sequence: u64,
    /// Of the oldest checkpoint that still has deltas.
    pub(super) first_delta: Option<u64>,
    counters: Lines,
    writers: Vec<Writer>,
    notes: Vec<ChangeNote>,
    key_fingerprint: Option<String>,
    restore: Result<Restore, String>,
}

/// State and head that were loaded from a store.
pub(super) struct Loaded {
    /// The state.
    pub(super) state: State,
    /// The head it came with.
    pub(super) head: Head,
    /// Whether the store holds the counters of just this state.
    pub(super) has_counters: bool,
    /// Schemas behind the registry's numbers.
    pub(super) writers: Vec<Writer>,
    /// Counters that fell to 0 and were not published since.
    pub(super) notes: Vec<ChangeNote>,
}

impl<'a> Loading<'a> {
    pub(super) fn new(epoch_config: &'a EpochConfig) -> Loading<'a> {
        let restore = Err("what the store kept has no head".to_owned());
        Loading {
            epoch_config,
            sequence: 0,
            first_delta: None,
            counters: Vec::new(),
            writers: Vec::new(),
            notes: Vec::new(),
            key_fingerprint: None,
            restore,
        }
    }

    /// Takes in a piece.
    pub(super) fn take(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Head(sequence, head) => {
                self.sequence = sequence;
                self.restore = begin(head, self.epoch_config);
            }
            Piece::Base(stored::WRITERS_PAGE, page) => match stored::read_writers(page) {
                Ok(writers) => self.writers = writers,
                Err(_) => self.restore = Err(UNREADABLE.to_owned()),
            },
            Piece::Base(stored::NOTES_PAGE, page) => match stored::read_notes(page) {
                Ok(notes) => self.notes = notes,
                Err(_) => self.restore = Err(UNREADABLE.to_owned()),
            },
            Piece::Base(stored::KEY_PAGE, page) => match stored::read_key(page) {
                Ok(fingerprint) => self.key_fingerprint = Some(fingerprint),
                Err(_) => self.restore = Err(UNREADABLE.to_owned()),
            },
            Piece::Base(_, records) => self.chunk(records),
            Piece::Delta(sequence, records) => {
                self.first_delta = Some(sequence);
                self.chunk(records);
            }
            Piece::Counter(key, value) => self.counters.push((key.to_vec(), value.to_vec())),
        }
    }

    fn chunk(&mut self, records: &[u8]) {
        if let Ok(restore) = &mut self.restore
            && restore.chunk(records).is_err()
        {
            self.restore = Err(UNREADABLE.to_owned());
        }
    }

    /// The state; its counters, made again, must be those that were stored with it.
    pub(super) fn end(self) -> Result<Loaded, String> {
        let (state, head) = self.restore?.end();
        if self.key_fingerprint != self.epoch_config.key_fingerprint {
            let shown = |it: Option<String>| it.unwrap_or_else(|| "none".to_owned());
            return Err(format!(
                "the store has users by pseudonyms of key {}, and [pseudonyms] asks for those of \
                 key {}",
                shown(self.key_fingerprint),
                shown(self.epoch_config.key_fingerprint.clone())
            ));
        }
        let has_counters = compare(&state, self.counters)?;
        Ok(Loaded { state, head, has_counters, writers: self.writers, notes: self.notes })
    }
}

const UNREADABLE: &str = "what the store kept cannot be read by this version";

/// An empty state by the topology of the head, and the head in it.
fn begin(head: &[u8], epoch_config: &EpochConfig) -> Result<Restore, String> {
    let policies = stored::policies_of(head, &epoch_config.setting.domain)
        .map_err(|_| UNREADABLE.to_owned())?;
    let is_ours = policies.is_empty() || policies == epoch_config.text;
    let theirs = if is_ours { None } else { EpochConfig::of("", policies).ok() };
    // A configuration that this version cannot read is reported by the drive; ours stands in.
    let setting = theirs.map_or_else(|| epoch_config.setting.clone(), |theirs| theirs.setting);
    Restore::begin(State::new(setting), head).map_err(|_| UNREADABLE.to_owned())
}

/// Compares counters as stored with a recount, when both are of the same cycle; returns whether
/// they are.
fn compare(state: &State, mut kept: Lines) -> Result<bool, String> {
    let of_cycle = |key: &[u8], value: &[u8]| {
        key == CYCLE_KEY.as_bytes() && value == state.number.to_string().as_bytes()
    };
    if !kept.iter().any(|(key, value)| of_cycle(key, value)) {
        return Ok(false);
    }
    let recount = readable(state);
    kept.sort();
    let differs = recount.iter().zip(&kept).find(|(recount, kept)| recount != kept);
    match differs {
        None if recount.len() == kept.len() => Ok(true),
        None => Err("the store holds other counters than its records give".to_owned()),
        Some(((key, recount), (_, kept))) => Err(format!(
            "the store's counter {} is not what its records give ({} against {})",
            String::from_utf8_lossy(key),
            String::from_utf8_lossy(kept),
            String::from_utf8_lossy(recount)
        )),
    }
}

/// Counters under their readable keys, in order of these.
pub(super) fn readable(state: &State) -> Lines {
    let mut lines: Lines = counters_in_any_order(state)
        .iter()
        .map(|line| (line.key().into_bytes(), counter::to_json(line).into_bytes()))
        .collect();
    lines.push((CYCLE_KEY.as_bytes().to_vec(), state.number.to_string().into_bytes()));
    lines.sort_unstable();
    lines
}
