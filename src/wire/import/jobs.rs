//! Job states from a table of PanDA jobs, JSON lines: a first snapshot for intake, or all there is.

use super::Imported;
use super::field::show;
use crate::dialect::{Grades, OWN, job_status, revision};
use crate::{loose, record, stamp};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use yardmaster_core::event::JobState;
use yardmaster_core::unit::{Millis, SECOND};

/// So many lines are read between two reports of how far the text is.
const LINES_BETWEEN: usize = 1_000;

/// A job's record, ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// PandaID: the record's key.
    pub job: String,
    /// The record.
    pub value: Vec<u8>,
}

/// The records of a table, with what was missing or wrong. A row is an object of columns, in any
/// case: PANDAID, JOBSTATUS and one of STATECHANGETIME and MODIFICATIONTIME are needed. Columns
/// that are not known are ignored; a row with a wrong one is left out and named.
pub fn jobs(text: &str) -> (Vec<JobRecord>, Imported) {
    jobs_with(text, |_| ())
}

/// The same; from time to time `done` is called with how far the text is read, in bytes.
pub fn jobs_with(text: &str, mut done: impl FnMut(usize)) -> (Vec<JobRecord>, Imported) {
    let (mut rows, mut imported) = (Vec::new(), Imported::default());
    let mut read = 0;
    for (at, line) in text.lines().enumerate() {
        if at % LINES_BETWEEN == 0 {
            done(read);
        }
        read += line.len() + 1;
        if line.trim().is_empty() {
            continue;
        }
        let place = format!("line {}", at + 1);
        let row = match loose::read(line.as_bytes(), |line| serde_json::from_slice(line)) {
            Ok(Value::Object(columns)) => match Row::of(columns).read() {
                Ok(None) => continue,
                Ok(Some(row)) => Ok(row),
                Err(why) => Err(why),
            },
            Ok(other) => Err(format!("found {}, wants an object", show(&other))),
            Err(error) => Err(format!("not JSON: {error}")),
        };
        match row {
            Ok(row) => rows.push(row),
            Err(why) => imported.complaints.push(format!("{place}: {why}; left out")),
        }
    }
    (rows, imported)
}

/// A row's columns by their names in small letters.
struct Row(BTreeMap<String, Value>);

impl Row {
    fn of(columns: Map<String, Value>) -> Row {
        let small = |(name, value): (String, Value)| (name.to_lowercase(), value);
        Row(columns.into_iter().map(small).filter(|(_, value)| !value.is_null()).collect())
    }

    /// The record of a row; `None` of a job that has no counterpart here.
    fn read(&self) -> Result<Option<JobRecord>, String> {
        let job = self.number("pandaid")?.filter(|job| *job > 0);
        let job = job.ok_or("column PANDAID is missing, wants a whole number above 0")?.to_string();
        let status = self.text("jobstatus")?;
        let Some(status) = job_status("column JOBSTATUS", &status)? else { return Ok(None) };
        let changed_at = match self.time("statechangetime")? {
            0 => self.time("modificationtime")?,
            at => at,
        };
        if changed_at == 0 {
            return Err("columns STATECHANGETIME and MODIFICATIONTIME are missing".to_owned());
        }
        let times = [self.time("creationtime")?, self.time("starttime")?, self.time("endtime")?];
        let task = self.number("jeditaskid")?.filter(|task| *task > 0);
        let task = task.map_or(String::new(), |task| task.to_string());
        let user = match self.text("produsername")? {
            name if name.is_empty() => self.text("produserid")?,
            name => name,
        };
        let [queue, group, gshare, resource_type, nucleus, label, processing_type, sub_status] = [
            self.text("computingsite")?,
            self.text("workinggroup")?,
            self.text("gshare")?,
            self.text("resource_type")?,
            self.text("nucleus")?,
            self.text("prodsourcelabel")?,
            self.text("processingtype")?,
            self.text("jobsubstatus")?,
        ];
        let knows_task = [&user, &gshare, &resource_type].iter().any(|text| !text.is_empty());
        let state = JobState {
            job: &job,
            status,
            changed_at,
            revision: revision(
                status,
                Grades::sure(times),
                if knows_task { OWN } else { 0 },
                false,
            ),
            task: &task,
            queue: &queue,
            user: &user,
            group: &group,
            gshare: &gshare,
            resource_type: &resource_type,
            nucleus: &nucleus,
            label: &label,
            processing_type: &processing_type,
            sub_status: &sub_status,
            cores: self.count("actualcorecount")?.or(self.count("corecount")?).unwrap_or(0),
            priority: self.signed("currentpriority")?,
            created_at: times[0],
            started_at: times[1],
            ended_at: times[2],
            input_bytes: self.number("inputfilebytes")?.unwrap_or(0),
            output_bytes: self.number("outputfilebytes")?.unwrap_or(0),
            ..JobState::default()
        };
        let mut value = Vec::new();
        record::write(&mut value, &state);
        Ok(Some(JobRecord { job, value }))
    }

    fn wrong<T>(&self, column: &str, wants: &str) -> Result<T, String> {
        let found = self.0.get(column).unwrap_or(&Value::Null);
        let (column, found) = (column.to_uppercase(), show(found));
        Err(format!("column {column}: found {found}, wants {wants}"))
    }

    /// Text; empty when not set. Tables write NULL for that too.
    fn text(&self, column: &str) -> Result<String, String> {
        match self.0.get(column) {
            None => Ok(String::new()),
            Some(Value::String(text)) if text == "NULL" => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(_) => self.wrong(column, "text"),
        }
    }

    /// A whole number, also as text or as a float that a table made of it. Below 0, as PanDA has
    /// it for sizes, is not known.
    fn whole(&self, column: &str) -> Result<Option<i64>, String> {
        let number = match self.0.get(column) {
            None => return Ok(None),
            Some(Value::String(text)) if loose::is_unset(text) => return Ok(None),
            // One with a fraction is no number of anything.
            Some(value) => loose::whole_in(value)
                .filter(|whole| loose::number_in(value) == Some(*whole as f64)),
        };
        number.map_or_else(|| self.wrong(column, "a whole number"), |number| Ok(Some(number)))
    }

    fn number(&self, column: &str) -> Result<Option<u64>, String> {
        Ok(self.whole(column)?.and_then(|number| u64::try_from(number).ok()))
    }

    fn count(&self, column: &str) -> Result<Option<u32>, String> {
        let count = self.whole(column)?.map(|number| number.clamp(0, i64::from(u32::MAX)) as u32);
        Ok(count.filter(|count| *count > 0))
    }

    fn signed(&self, column: &str) -> Result<i32, String> {
        let number = self.whole(column)?.unwrap_or(0);
        Ok(number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
    }

    /// A time: a stamp in UTC, or a number of seconds or, beyond what seconds can be, of
    /// milliseconds since 1970; 0 when not set.
    fn time(&self, column: &str) -> Result<Millis, String> {
        const SECONDS_MAX: i64 = 100_000_000_000;
        let text = match self.0.get(column) {
            Some(Value::String(text)) if text.contains('-') => text,
            _ => {
                let number = self.whole(column)?.unwrap_or(0).max(0);
                return Ok(if number < SECONDS_MAX { number * SECOND } else { number });
            }
        };
        match stamp::parse(text) {
            Some(at) => Ok(at),
            None => self.wrong(column, "a time as 2025-03-20 20:15:43 in UTC, or a number"),
        }
    }
}
