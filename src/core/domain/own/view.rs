//! Candidates of a domain that a program brings, at a glance: its own tiles.

use crate::engine::Engine;
use crate::policy::DomainTile;
use crate::view::row::{ViewRow, ViewRows};

/// Puts the tiles in the place of what is counted; reservations stay.
pub(crate) fn describe(rows: &mut ViewRows, engine: &Engine) {
    for tile in engine.domain_tiles() {
        let DomainTile { name, status, running, queued, running_cores, queued_cores } = tile;
        let row = rows.at(&name);
        let reserved = row.reserved;
        *row = ViewRow {
            name,
            status,
            running,
            queued,
            running_cores,
            queued_cores,
            reserved,
            ..ViewRow::default()
        };
    }
}
