//! The outputs that are not written to a file yet. They can be found all the same.

use super::block::{BlockKind, Head, put};
use super::{names, sequence};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use yardmaster_core::output::Output;
use yardmaster_core::unit::Millis;

/// They are written once they take so much; bytes.
const BYTES_MAX: usize = 512 << 10;
/// They are written after so long.
const SPAN_MAX: Duration = Duration::from_secs(30);

/// Outputs, with their names.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// The newest sequence there is, here or in a file.
    pub newest: u64,
    outputs: Vec<(u64, Millis, Vec<u8>)>,
    names: BTreeSet<String>,
    bytes: usize,
    since: Option<Instant>,
}

impl Open {
    /// None yet behind a sequence.
    pub fn after(newest: u64) -> Open {
        Open { newest, ..Open::default() }
    }

    /// Adds an output, with its piece of the block.
    pub fn add(&mut self, output: &Output, written: Vec<u8>) {
        self.since.get_or_insert_with(Instant::now);
        self.bytes += written.len();
        let (_, _, now) = output.moment();
        self.outputs.push((sequence(output), now, written));
        for name in names(output) {
            if !self.names.contains(name) {
                self.names.insert(name.to_owned());
            }
        }
    }

    /// Whether they are to be written now.
    pub fn is_full(&self) -> bool {
        let is_old = self.since.is_some_and(|since| since.elapsed() >= SPAN_MAX);
        is_old || self.bytes >= BYTES_MAX
    }

    /// Forgets them: they are written.
    pub fn clear(&mut self) {
        *self = Open::after(self.newest);
    }

    /// Their head, names and body, complete up to a cycle; `None` where there is none.
    pub fn block(&self, cycle: u64) -> Option<(Head, Vec<&str>, Vec<u8>)> {
        let (first, first_at, _) = self.outputs.first()?;
        let (last, ..) = self.outputs.last()?;
        let last_at = self.outputs.iter().map(|(_, at, _)| *at).max()?;
        let head = Head::new(BlockKind::Outputs, *first_at, cycle);
        let head = Head { last_at, first: *first, last: *last, ..head };
        let mut raw = Vec::with_capacity(self.bytes + 4 * self.outputs.len());
        self.outputs.iter().for_each(|(.., written)| put(&mut raw, written));
        Some((head, self.names.iter().map(String::as_str).collect(), raw))
    }

    /// The outputs, oldest first, with their sequences.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &[u8])> {
        self.outputs.iter().map(|(sequence, _, written)| (*sequence, written.as_slice()))
    }
}
