//! Changes of facts, configuration and lead, as they are kept: each as JSON.

use super::block::{BlockKind, pieces, put};
use super::files::Place;
use super::look::History;
use crate::changes::ChangeView;
use yardmaster_core::unit::Millis;

/// Changes that are given in one answer at most.
const FOUND_MAX: usize = 100_000;

/// The body of a block.
pub(super) fn body(changes: &[ChangeView]) -> Vec<u8> {
    let mut raw = Vec::new();
    for change in changes {
        // A struct of numbers and texts always has a JSON.
        put(&mut raw, &serde_json::to_vec(change).unwrap_or_default());
    }
    raw
}

impl History {
    /// The changes between two moments, both included, that are wanted; the oldest first, and of
    /// too many the newest.
    pub fn changes(
        &self,
        from: Millis,
        to: Millis,
        wants: impl Fn(&ChangeView) -> bool,
    ) -> Vec<ChangeView> {
        let is_within = |place: &&Place| {
            let head = &place.head;
            head.kind == BlockKind::Facts && head.last_at >= from && head.first_at <= to
        };
        let places: Vec<Place> =
            self.inner().files().places().iter().rev().filter(is_within).cloned().collect();
        let mut found: Vec<ChangeView> = Vec::new();
        for place in places {
            if found.len() >= FOUND_MAX {
                break;
            }
            let raw = self.inner().body(&place).unwrap_or_default();
            let changes = pieces(&raw).filter_map(|piece| serde_json::from_slice(piece).ok());
            let is_wanted = |it: &ChangeView| it.at >= from && it.at <= to && wants(it);
            found.extend(changes.filter(is_wanted));
        }
        found.sort();
        found.split_off(found.len().saturating_sub(FOUND_MAX))
    }
}
