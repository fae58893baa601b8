//! Points about the server: its version, and the settings that logical replication needs.

use crate::cli::panda::catalog::{CatalogNames, Database};
use crate::cli::panda::point::Point;
use crate::cli::units;
use yardmaster_core::unit::MINUTE;

/// The first and the last version that was tried.
const VERSIONS: (i64, i64) = (14, 17);
/// An idle slot must outlive a weekend without an operator, minutes.
const IDLE_MIN: i64 = 3 * 24 * 60;

/// All of them.
pub fn points(database: &Database, asked: &CatalogNames) -> Vec<Point> {
    let mut points = vec![
        version(database),
        wal_level(database),
        slots(database),
        senders(database, asked),
        wal_kept(database),
    ];
    points.extend(standby(database));
    points.extend(idle(database));
    points
}

fn version(database: &Database) -> Point {
    let name = "version";
    let found = format!("PostgreSQL {}", database.text("server_version"));
    let major = database.major();
    if major < VERSIONS.0 {
        let remedy = "14 is the oldest version that is supported: use the overlap poll of \
                      docs/panda-cdc.md";
        return Point::wrong(name, found, remedy);
    }
    if major > VERSIONS.1 {
        return Point::note(name, found, "newer than what was tried (14 to 17)");
    }
    Point::ok(name, found)
}

fn wal_level(database: &Database) -> Point {
    let (name, level) = ("wal_level", database.text("wal_level"));
    if level == "logical" {
        return Point::ok(name, level);
    }
    let where_to = if database.is_standby { " on the primary and here" } else { "" };
    let remedy = format!("ALTER SYSTEM SET wal_level = logical{where_to}, then restart the server");
    Point::wrong(name, level, remedy)
}

fn slots(database: &Database) -> Point {
    let name = "max_replication_slots";
    let max = database.number(name).unwrap_or(0);
    let found = format!("{max}, {} in use", database.slots);
    if database.slot.is_some() || database.slots < max {
        return Point::ok(name, found);
    }
    let more = database.slots + 2;
    Point::wrong(name, found, format!("ALTER SYSTEM SET {name} = {more}, then restart the server"))
}

fn senders(database: &Database, asked: &CatalogNames) -> Point {
    let name = "max_wal_senders";
    let max = database.number(name).unwrap_or(0);
    let found = format!("{max}, {} in use", database.senders);
    let is_connected =
        database.slot.as_ref().is_some_and(|slot| slot.row["active"].as_bool() == Some(true));
    if is_connected || database.senders < max {
        return Point::ok(name, found);
    }
    let more = database.senders + 2;
    let remedy = format!(
        "ALTER SYSTEM SET {name} = {more}, then restart the server: slot {} needs one",
        asked.slot
    );
    Point::wrong(name, found, remedy)
}

/// Less log than this is written in minutes; MB.
const WAL_KEPT_MIN_MB: u64 = 1_024;

/// How much a connector that stands still may keep of the database's disk.
fn wal_kept(database: &Database) -> Point {
    let name = "max_slot_wal_keep_size";
    // Megabytes; -1 is no limit.
    let megabytes = database.number(name).unwrap_or(-1);
    if let Ok(bytes) = u64::try_from(megabytes) {
        let found = units::bytes(bytes.saturating_mul(1 << 20));
        if bytes >= WAL_KEPT_MIN_MB {
            return Point::ok(name, found);
        }
        let remedy = format!(
            "a connector that stands still for minutes loses its slot: ALTER SYSTEM SET {name} = \
             '50GB' (what the disk can spare)"
        );
        return Point::wrong(name, found, remedy);
    }
    let remedy = format!(
        "a connector that stands still would fill the disk of PanDA's database: \
         ALTER SYSTEM SET {name} = '50GB' (what the disk can spare; a day of ATLAS is 50 to 100 GB)"
    );
    Point::wrong(name, "no limit", remedy)
}

fn standby(database: &Database) -> Option<Point> {
    let name = "standby";
    if !database.is_standby {
        return None;
    }
    let found = "this server is a standby";
    if database.major() < 16 {
        let remedy = "a standby decodes its log from PostgreSQL 16 on: name the primary";
        return Some(Point::wrong(name, found, remedy));
    }
    if database.text("hot_standby_feedback") != "on" {
        let remedy = "ALTER SYSTEM SET hot_standby_feedback = on: without it the primary removes \
                      rows of its catalogs that the slot needs, and the slot is lost";
        return Some(Point::wrong(name, found, remedy));
    }
    let note = "a new slot waits for a checkpoint of the primary (pg_log_standby_snapshot() \
                there); the primary must keep a physical slot for this standby";
    Some(Point::note(name, found, note))
}

/// From 18 on a slot that is not used can be invalidated.
fn idle(database: &Database) -> Option<Point> {
    let name = "idle_replication_slot_timeout";
    // Seconds; 0 is never.
    let seconds = database.number(name)?;
    let found = if seconds == 0 { "off".to_owned() } else { units::span(seconds * 1_000) };
    if seconds == 0 || seconds >= IDLE_MIN * MINUTE / 1_000 {
        return Some(Point::ok(name, found));
    }
    let remedy = format!("ALTER SYSTEM SET {name} = '3d': a slot that is lost costs a snapshot");
    Some(Point::wrong(name, found, remedy))
}
