//! Hints: the rows in which a queue's counters were found last.

use crate::state::rows::{NO_ROW, RowKey, Rows};
use std::sync::atomic::{AtomicU32, Ordering};

/// The rows of a queue's counters when last looked at. Rows move only when they stood empty.
pub(crate) struct RowHints {
    pub(crate) queue: AtomicU32,
    pub(crate) share: AtomicU32,
    pub(crate) load: AtomicU32,
}

impl Default for RowHints {
    fn default() -> Self {
        let [queue, share, load] = [NO_ROW; 3].map(AtomicU32::new);
        RowHints { queue, share, load }
    }
}

/// The counters of a key, first looked for in the row where they were the last time.
#[inline]
pub(crate) fn find<'a, V: Default>(
    rows: &'a Rows<V>,
    hint: Option<&AtomicU32>,
    key: RowKey,
) -> Option<&'a V> {
    let noted = hint.map_or(NO_ROW, |hint| hint.load(Ordering::Relaxed));
    let row = rows.refind(noted, key)?;
    if let Some(hint) = hint.filter(|_| row != noted) {
        hint.store(row, Ordering::Relaxed);
    }
    rows.get(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that stood empty may be another's by now, or its key's counters lie elsewhere.
    #[test]
    fn a_hint_never_gives_the_counters_of_another_key() {
        let [ours, other] = [[1, 2, 3, 0], [4, 5, 6, 0]];
        let mut rows: Rows<u32> = Rows::default();
        let hint = AtomicU32::new(NO_ROW);
        assert_eq!(find(&rows, Some(&hint), ours), None);
        let first = rows.row(ours);
        *rows.at(first) = 7;
        assert_eq!(find(&rows, Some(&hint), ours), Some(&7));
        assert_eq!(hint.load(Ordering::Relaxed), first);
        rows.sweep();
        assert_eq!(find(&rows, Some(&hint), ours), None, "swept away");
        let reused = rows.row(other);
        *rows.at(reused) = 8;
        assert_eq!((reused, find(&rows, Some(&hint), ours)), (first, None), "another's now");
        let second = rows.row(ours);
        *rows.at(second) = 9;
        assert_eq!(find(&rows, Some(&hint), ours), Some(&9), "elsewhere now");
        assert_eq!((hint.load(Ordering::Relaxed), find(&rows, None, ours)), (second, Some(&9)));
    }
}
