//! Points about the connector, as Kafka Connect's REST interface states it. It may state that all
//! is well while nothing flows: a connector whose slot was lost asks for it again and again,
//! without a task or with one that counts as running. The points about the slot show that.

use crate::cli::panda::catalog::{CatalogNames, Database};
use crate::cli::panda::point::Point;
use crate::cli::units;
use crate::fetch::{Fetch, Source};
use serde_json::Value;

/// What Connect answered.
#[derive(Clone, Debug)]
pub struct Connector {
    pub name: String,
    /// The state of the connector and its tasks, or why there is none.
    pub status: Result<Value, String>,
    /// How far it read, where Connect tells (from 3.5 on): a place in the database's log.
    pub position: Option<i64>,
}

/// Asks Connect, before the database is asked: what was read until now is in its log then.
pub fn ask(url: &str, name: &str) -> Connector {
    let fetch = Fetch::default();
    let get = |what: &str| {
        let url = format!("{}/connectors/{name}/{what}", url.trim_end_matches('/'));
        let text = fetch.text(&Source::from(url.as_str()), &[])?;
        serde_json::from_str(&text).map_err(|error| format!("no JSON: {error}"))
    };
    let offsets: Result<Value, String> = get("offsets");
    let position = offsets.ok().and_then(|it| it["offsets"][0]["offset"]["lsn"].as_i64());
    Connector { name: name.to_owned(), status: get("status"), position }
}

/// All of them.
pub fn points(connector: &Connector, database: &Database, asked: &CatalogNames) -> Vec<Point> {
    let mut points = vec![state(connector, asked)];
    points.extend(position(connector, database, asked));
    points
}

fn state(connector: &Connector, asked: &CatalogNames) -> Point {
    let name = "connector";
    let at = &connector.name;
    let status = match &connector.status {
        Ok(status) => status,
        Err(why) => {
            let found = format!("{at}: no state of it from Connect: {why}");
            return Point::wrong(name, found, "see whether Connect runs, and has this connector");
        }
    };
    let text = |value: &Value| value["state"].as_str().unwrap_or("without a state").to_owned();
    let state = text(&status["connector"]);
    if state != "RUNNING" {
        let remedy = "resume or restart it at Connect's REST interface";
        return Point::wrong(name, format!("{at}: {state}"), remedy);
    }
    let tasks = status["tasks"].as_array().map_or(&[][..], Vec::as_slice);
    if tasks.is_empty() {
        let remedy = format!(
            "it waits for its slot, which is lost or another's: see slot_wal, slot_reader and the \
             log of Connect; when it is lost, SELECT pg_drop_replication_slot('{}')",
            asked.slot
        );
        return Point::wrong(name, format!("{at}: {state}, and has no task"), remedy);
    }
    if let Some(task) = tasks.iter().find(|task| text(task) != "RUNNING") {
        let trace = task["trace"].as_str().and_then(|it| it.lines().next()).unwrap_or("no trace");
        let remedy = "mend the cause, then restart the task at Connect's REST interface";
        return Point::wrong(name, format!("{at}: its task is {}: {trace}", text(task)), remedy);
    }
    Point::ok(name, format!("{at}: {state}, with its task"))
}

/// Whether what it has read is in the database's log.
fn position(connector: &Connector, database: &Database, asked: &CatalogNames) -> Option<Point> {
    let name = "connector_position";
    let (read, written) = (connector.position?, database.source.position);
    let ahead = u64::try_from(read - written).unwrap_or(0);
    if ahead == 0 {
        return Some(Point::ok(name, "within the database's log"));
    }
    let found = format!("it has read {} more than the database has written", units::bytes(ahead));
    let remedy = format!(
        "the database was restored or replaced: stop the connector, SELECT \
         pg_drop_replication_slot('{}') if it is there, start it: it takes a snapshot",
        asked.slot
    );
    Some(Point::wrong(name, found, remedy))
}
