//! `ddm_endpoint`: space, type and site of each endpoint.

use super::super::services::Services;
use super::super::{Imported, Sites};
use crate::dialect::change::FactRow;
use serde_json::Value;
use yardmaster_core::event::{Configuration, Storage};
use yardmaster_core::unit::{GIB, Millis};

/// Storage records. Space that is not stated counts as none, as PanDA has it (spec atlas N6).
pub(super) fn records<'a>(
    rows: impl Iterator<Item = &'a FactRow>,
    now: Millis,
    sites: &Sites,
) -> Imported {
    let records = rows.map(|row| Configuration::Storage(record(row, now, sites)));
    Imported { records: records.collect(), ..Imported::default() }
}

fn record(row: &FactRow, now: Millis, sites: &Sites) -> Storage {
    let bytes =
        |column: &str| (row.number(column).unwrap_or(0.0).max(0.0) as u64).saturating_mul(GIB);
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
    let services = services(row);
    let measured_at = row.time("space_timestamp");
    Storage {
        changed_at: if measured_at == 0 { now } else { measured_at },
        site: site.to_owned(),
        kind: kind.to_owned(),
        tape,
        total_bytes: bytes("space_total"),
        free_bytes: bytes("space_free"),
        expired_bytes: bytes("space_expired"),
        min_free_bytes: bytes("space_min_free"),
        unavailable_bytes: bytes("space_unavailable"),
        read_lan: services.read_lan,
        write_lan: services.write_lan,
        read_wan: services.read_wan,
        write_wan: services.write_wan,
        name,
    }
}

/// Services by `detailed_status`, JSON of a status by activity. A database older than that column
/// has `blacklisted` (for writing) and `blacklisted_read` alone. An endpoint that is blacklisted
/// for reading is no input of a queue whatever the details are.
fn services(row: &FactRow) -> Services {
    let can_read = !is_yes(row.text("blacklisted_read"));
    let mut services = Services::default();
    let details = match row.columns.get("detailed_status") {
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(Value::Object(details)) => Some(details.clone()),
        _ => None,
    };
    match details {
        Some(details) => {
            for (activity, status) in &details {
                services.take(activity, status.as_str().unwrap_or(""));
            }
            services.read_lan &= can_read;
        }
        None => {
            let can_write =
                !["blacklisted", "blacklisted_write"].iter().any(|it| is_yes(row.text(it)));
            services = Services {
                read_lan: can_read,
                read_wan: can_read,
                write_lan: can_write,
                write_wan: can_write,
            };
        }
    }
    services
}

fn is_yes(flag: &str) -> bool {
    flag.eq_ignore_ascii_case("y")
}
