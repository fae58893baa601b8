//! Columns that a row should have and has not: they were renamed or dropped in the database, or are
//! not captured. A job keeps what was known of it, a fact what was published; each column is named
//! once, and rows are counted.

use super::job::Tracked;
use crate::intake::Intake;
use crate::intake::counts::Noted;
use std::borrow::Cow;
use yardmaster_wire::dialect::change::{Change, JobRow, Row};

impl Intake {
    /// Names what a change misses, and puts what is known in its place.
    pub(super) fn note_missing(&mut self, change: &mut Change<'_>) {
        if change.missing.is_empty() {
            return;
        }
        self.counts.note(Noted::ColumnMissing, 1);
        let table = change.table;
        let named = &mut self.changes.missing;
        let mut new = change.missing.clone();
        new.retain(|column| named.insert((table, column)));
        if !new.is_empty() {
            self.changes.notices.push(format!(
                "a row of PanDA's {} lacks {}: renamed or dropped in the database, or not captured \
                 (column.include.list). Jobs and facts keep what was known there; new jobs have \
                 nothing, and no fact is published of which nothing was known",
                table.name(),
                new.join(", ")
            ));
        }
        let Row::Job(row) = &mut change.row else { return };
        if let Some(job) = self.changes.jobs.held.get(&row.job) {
            change.missing.iter().for_each(|column| keep(row, column, job));
        }
    }
}

/// Gives a row what is known of its job in a column. Times and figures of the work done stay empty.
fn keep(row: &mut JobRow<'_>, column: &str, job: &Tracked) {
    let facts = &*job.facts;
    let (text, known) = match column {
        "computingsite" => (&mut row.queue, &*job.queue),
        "produsername" => (&mut row.user, &*facts.user),
        "workinggroup" => (&mut row.group, &*facts.group),
        "gshare" => (&mut row.gshare, &*facts.gshare),
        "resource_type" => (&mut row.resource_type, &*facts.resource_type),
        "nucleus" => (&mut row.nucleus, &*facts.nucleus),
        "prodsourcelabel" => (&mut row.label, &*facts.label),
        "processingtype" => (&mut row.processing_type, &*facts.processing_type),
        "jobsubstatus" => (&mut row.sub_status, &*facts.sub_status),
        "jeditaskid" => return row.task = job.task,
        "attemptnr" => return row.attempt = job.attempt,
        "currentpriority" => return row.priority = facts.priority,
        "corecount" | "actualcorecount" if row.cores == 0 => return row.cores = facts.cores,
        _ => return,
    };
    *text = Cow::Owned(known.to_owned());
}
