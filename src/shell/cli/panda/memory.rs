//! Points about the database being the one that it was, by what an earlier check saw of it. If one
//! was wrong, that stays until the file is removed: a connector that was ahead of a restored
//! database is never sent what was written up to its place.

use crate::cli::panda::catalog::{CatalogNames, Database, DatabaseMarks};
use crate::cli::panda::point::{Point, Verdict};
use crate::cli::units;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::Path;

/// What the file has.
#[derive(Debug, Serialize, Deserialize)]
struct Memory {
    #[serde(flatten)]
    marks: DatabaseMarks,
    /// A point was wrong, though the log and the PandaIDs may be past it by now.
    is_wrong: bool,
}

/// Compares with what an earlier check kept in a file, and keeps there what this one saw, or that a
/// point was wrong.
///
/// # Errors
/// The file cannot be read or written, or is another.
pub fn look(path: &Path, database: &Database, asked: &CatalogNames) -> anyhow::Result<Vec<Point>> {
    let at = || format!("--memory {}", path.display());
    let now = database.source.clone();
    let mut memory = match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(at)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Memory { marks: now.clone(), is_wrong: false }
        }
        Err(error) => return Err(error).with_context(at),
    };
    let before = memory.marks.clone();
    let mut points = vec![
        identity(&now, asked, &before),
        position(&now, asked, &before),
        jobs(&now, asked, &before),
    ];
    if points.iter().any(|point| point.verdict == Verdict::Wrong) {
        memory.is_wrong = true;
    } else if memory.is_wrong {
        let found = "an earlier check found it restored or replaced";
        points.push(Point::wrong("source_restored", found, again(asked)));
    } else {
        let (system, timeline) = (now.system.or(before.system), now.timeline.or(before.timeline));
        memory.marks = DatabaseMarks { system, timeline, job: now.job.or(before.job), ..now };
    }
    // Whole or not at all.
    let new = path.with_extension("new");
    std::fs::write(&new, serde_json::to_vec(&memory)?).with_context(at)?;
    std::fs::rename(&new, path).with_context(at)?;
    Ok(points)
}

fn again(asked: &CatalogNames) -> String {
    format!(
        "stop the connector, SELECT pg_drop_replication_slot('{}') if it is there, start it: it takes \
         a snapshot; then remove the file of --memory",
        asked.slot
    )
}

fn identity(now: &DatabaseMarks, asked: &CatalogNames, before: &DatabaseMarks) -> Point {
    let name = "source_identity";
    let (Some(system), Some(timeline)) = (&now.system, now.timeline) else {
        let note = "EXECUTE on pg_control_system() and pg_control_checkpoint() shows it";
        return Point::note(name, "not to be read by this role", note);
    };
    let found = format!("system {system}, timeline {timeline}");
    if before.system.as_ref().is_some_and(|before| before != system) {
        let remedy = format!("another cluster than before: {}", again(asked));
        return Point::wrong(name, found, remedy);
    }
    match before.timeline {
        Some(before) if timeline < before => {
            let remedy = format!("its timeline was {before}, so this is a copy: {}", again(asked));
            Point::wrong(name, found, remedy)
        }
        Some(before) if timeline > before => {
            let note = format!(
                "its timeline was {before}: a standby was promoted, or a backup recovered; the other \
                 points show whether it forgot anything"
            );
            Point::note(name, found, note)
        }
        _ => Point::ok(name, found),
    }
}

fn position(now: &DatabaseMarks, asked: &CatalogNames, before: &DatabaseMarks) -> Point {
    let name = "source_position";
    match u64::try_from(before.position - now.position) {
        Ok(back) if back > 0 => {
            let found = format!("{} back in its log", units::bytes(back));
            Point::wrong(name, found, format!("the database was restored: {}", again(asked)))
        }
        _ => Point::ok(name, "its log went on"),
    }
}

fn jobs(now: &DatabaseMarks, asked: &CatalogNames, before: &DatabaseMarks) -> Point {
    let (name, schema) = ("source_ids", &asked.schema);
    let Some(job) = now.job else {
        let note = format!(
            "GRANT SELECT ON SEQUENCE {schema}.jobsdefined4_pandaid_seq TO {} shows it",
            asked.role
        );
        return Point::note(name, "no PandaID was given, or it is not to be read", note);
    };
    match before.job {
        Some(before) if job < before => {
            let remedy = format!(
                "PandaIDs up to {before} are given again, to other jobs: SELECT \
                 setval('{schema}.jobsdefined4_pandaid_seq', {before}) by its owner; then {}",
                again(asked)
            );
            Point::wrong(name, format!("the last PandaID is {job}"), remedy)
        }
        _ => Point::ok(name, format!("the last PandaID is {job}")),
    }
}
