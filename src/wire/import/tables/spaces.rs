//! `ddm_endpoint`: space, type and site of each endpoint.

use super::super::{Imported, Sites};
use crate::dialect::change::FactRow;
use yardmaster_core::event::{Configuration, Storage};
use yardmaster_core::unit::{Bytes, GIB, Millis};

/// Storage records. As in the import of a dump, an endpoint whose size is not known (or is 0) has
/// none: it would count as full.
pub(super) fn records<'a>(
    rows: impl Iterator<Item = &'a FactRow>,
    now: Millis,
    sites: &Sites,
) -> Imported {
    let records = rows.filter_map(|row| record(row, now, sites)).map(Configuration::Storage);
    Imported { records: records.collect(), ..Imported::default() }
}

fn record(row: &FactRow, now: Millis, sites: &Sites) -> Option<Storage> {
    let bytes =
        |column: &str| (row.number(column).unwrap_or(0.0).max(0.0) as u64).saturating_mul(GIB);
    let total: Bytes = bytes("space_total");
    if total == 0 {
        return None;
    }
    let name = row.key.clone();
    let kind = match row.text("type") {
        "" => name.rsplit_once('_').map_or("", |(_, kind)| kind),
        kind => kind,
    };
    let tape = match row.text("is_tape") {
        "" => kind.contains("TAPE"),
        flag => is_yes(flag),
    };
    let site = match row.text("site_name") {
        "" | "NULL" => sites.of(&name).map_or("", |(site, _)| site),
        site => site,
    };
    // `blacklisted` is the older column, of writing.
    let can_write = !["blacklisted", "blacklisted_write"].iter().any(|it| is_yes(row.text(it)));
    let can_read = !is_yes(row.text("blacklisted_read"));
    let measured_at = row.time("space_timestamp");
    Some(Storage {
        changed_at: if measured_at == 0 { now } else { measured_at },
        site: site.to_owned(),
        kind: kind.to_owned(),
        tape,
        total_bytes: total,
        free_bytes: bytes("space_free").min(total),
        expired_bytes: bytes("space_expired"),
        read_lan: can_read,
        write_lan: can_write,
        read_wan: can_read,
        write_wan: can_write,
        name,
        ..Storage::default()
    })
}

fn is_yes(flag: &str) -> bool {
    flag.eq_ignore_ascii_case("y")
}
