//! Points about the replication slot.

use crate::cli::panda::catalog::{CatalogNames, Database, Slot};
use crate::cli::panda::point::Point;
use crate::cli::units;

const NAME: &str = "slot";

/// All of them.
pub fn points(database: &Database, asked: &CatalogNames) -> Vec<Point> {
    let Some(slot) = &database.slot else { return vec![missing(asked)] };
    let mut points = vec![kind(database, asked, slot)];
    if points.iter().all(|point| point.remedy.is_none()) {
        points.push(status(database, asked, slot));
        points.push(connected(asked, slot));
        points.extend(failover(database, asked, slot));
    }
    points
}

fn missing(asked: &CatalogNames) -> Point {
    let found = format!("{} does not exist", asked.slot);
    if asked.is_before_start {
        return Point::ok(NAME, format!("{found}: the connector makes it"));
    }
    let remedy = "start the connector, which makes it and takes a snapshot; before its first start \
                  this is as it should be (--before-start)";
    Point::wrong(NAME, found, remedy)
}

fn kind(database: &Database, asked: &CatalogNames, slot: &Slot) -> Point {
    let field = |name: &str| slot.row[name].as_str().unwrap_or("none");
    let (kind, plugin, of) = (field("slot_type"), field("plugin"), field("database"));
    let found = format!("{}: {kind}, {plugin}, database {of}", asked.slot);
    if (kind, plugin, of) == ("logical", "pgoutput", database.name.as_str()) {
        return Point::ok(NAME, found);
    }
    let name = &database.name;
    let remedy = format!(
        "it is another's: give the connector a slot of its own (slot.name), which \
                          is logical, pgoutput, of database {name}"
    );
    Point::wrong(NAME, found, remedy)
}

/// Whether the log that it needs is still there.
fn status(database: &Database, asked: &CatalogNames, slot: &Slot) -> Point {
    let name = "slot_wal";
    let size = |bytes: Option<i64>| {
        bytes.map_or("an unknown amount".to_owned(), |bytes| units::bytes(bytes.max(0) as u64))
    };
    let status = slot.row["wal_status"].as_str().unwrap_or("lost");
    let (lag, kept) = (size(slot.lag), size(slot.kept));
    let found = format!("{status}; {lag} behind, {kept} kept for it");
    let again = format!(
        "SELECT pg_drop_replication_slot('{}'): a connector that runs makes another within seconds, \
         and takes a snapshot; restart its task if that is FAILED by then",
        asked.slot
    );
    let limit = database.number("max_slot_wal_keep_size").filter(|limit| *limit > 0);
    let is_half = limit.is_some_and(|limit| slot.kept.unwrap_or(0) > (limit << 20) / 2);
    match status {
        "lost" => Point::wrong(name, found, format!("changes are lost: {again}")),
        "unreserved" => {
            let remedy = format!(
                "above the limit, and lost at a checkpoint soon: raise max_slot_wal_keep_size now if \
                 the connector reads; when it is lost, {again}"
            );
            Point::wrong(name, found, remedy)
        }
        _ if is_half => {
            let remedy = "more than half of max_slot_wal_keep_size: see why the connector does not \
                          read, or raise the limit";
            Point::wrong(name, found, remedy)
        }
        _ => Point::ok(name, found),
    }
}

fn connected(asked: &CatalogNames, slot: &Slot) -> Point {
    let name = "slot_reader";
    if slot.row["active"].as_bool() == Some(true) {
        let pid = &slot.row["active_pid"];
        return Point::ok(name, format!("connected, pid {pid}"));
    }
    let since = slot.inactive_s.map(|seconds| format!(" since {}", units::span(seconds * 1_000)));
    let found = format!("nobody reads{}", since.unwrap_or_default());
    let remedy = format!("start the connector, or drop slot {}: it keeps WAL", asked.slot);
    Point::wrong(name, found, remedy)
}

fn failover(database: &Database, asked: &CatalogNames, slot: &Slot) -> Option<Point> {
    let name = "slot_failover";
    if database.is_standby {
        return None;
    }
    let snapshot = "after a failover to a standby the slot is gone: the connector takes a snapshot";
    match slot.row["failover"].as_bool() {
        Some(true) => Some(Point::ok(name, "kept on standbys")),
        Some(false) => {
            let note = format!(
                "{snapshot}; with sync_replication_slots on the standby and a slot made with \
                 failover (slot.failover=true when the connector makes {}) it is kept",
                asked.slot
            );
            Some(Point::note(name, "not kept on standbys", note))
        }
        // Before 17 there are none.
        None => Some(Point::note(name, "not kept on standbys (from 17 on)", snapshot)),
    }
}
