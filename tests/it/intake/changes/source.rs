//! PanDA's tables and the connector that reads them: rows change as PanDA's server changes them, and
//! each change is a message as Debezium writes it.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub const TOPIC: &str = "panda-cdc.jobs";
pub const PARTITIONS: usize = 3;
pub const T0: i64 = 1_760_000_000_000;

/// A message on the topic.
#[derive(Clone, Debug)]
pub struct Message {
    pub partition: usize,
    /// Appended at; ms.
    pub at: i64,
    pub key: String,
    pub value: Option<String>,
}

/// A row of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub table: &'static str,
    pub status: &'static str,
    pub created_at: i64,
    pub changed_at: i64,
    pub modified_at: i64,
    pub attempt: u32,
    pub started_at: i64,
    pub cores: u32,
    pub cpu_s: u32,
}

/// The database.
#[derive(Clone)]
pub struct Panda {
    pub rows: BTreeMap<u64, Job>,
    pub lsn: u64,
    commit: u64,
    pub transaction: u64,
    pub now: i64,
    /// The highest number that a job had, and those of jobs that have no row any more.
    pub newest: u64,
    gone: BTreeSet<u64>,
    /// Whether anybody reads the changes.
    pub is_captured: bool,
    pub messages: Vec<Message>,
}

impl Panda {
    pub fn new() -> Panda {
        Panda {
            rows: BTreeMap::new(),
            lsn: 1_000,
            commit: 1_000,
            transaction: 500,
            now: T0,
            newest: 0,
            gone: BTreeSet::new(),
            is_captured: true,
            messages: Vec::new(),
        }
    }

    /// Another transaction begins, a second later.
    pub fn begin(&mut self) -> &mut Panda {
        self.commit = self.lsn;
        self.transaction += 1;
        self.now += 1_000;
        self.lsn += 100;
        self
    }

    fn source(&self, table: &str, snapshot: &str) -> Value {
        let sequence = match snapshot {
            "false" => format!("[\"{}\",\"{}\"]", self.commit, self.lsn),
            _ => format!("[null,\"{}\"]", self.lsn),
        };
        json!({
            "version": "3.6.3.Final", "connector": "postgresql", "name": "panda-cdc",
            "ts_ms": self.now, "snapshot": snapshot, "db": "panda_db", "sequence": sequence,
            "schema": "doma_panda", "table": table, "txId": self.transaction, "lsn": self.lsn,
        })
    }

    pub fn emit(&mut self, key: Value, partition: usize, mut value: Value, table: &str) {
        self.lsn += 8;
        if !self.is_captured {
            return;
        }
        value["source"] = self.source(table, "false");
        value["ts_ms"] = json!(self.now + 5);
        let (at, key) = (self.now + 20, key.to_string());
        self.messages.push(Message { partition, at, key, value: Some(value.to_string()) });
    }

    fn emit_job(&mut self, op: &str, number: u64, table: &str, after: Value) {
        // A delete's row has the key, and the defaults of other columns.
        let before = match op {
            "d" => json!({"pandaid": number, "jobstatus": "activated", "statechangetime": 0}),
            _ => Value::Null,
        };
        let value = json!({"before": before, "after": after, "op": op});
        self.emit(json!({"pandaid": number}), partition(number), value, table);
    }

    pub fn insert(&mut self, number: u64, job: Job) {
        let row = row(number, &job);
        let table = job.table;
        self.newest = self.newest.max(number);
        self.rows.insert(number, job);
        self.emit_job("c", number, table, row);
    }

    pub fn delete(&mut self, number: u64, table: &str) {
        self.emit_job("d", number, table, Value::Null);
        if self.rows.get(&number).is_some_and(|job| job.table == table) {
            self.rows.remove(&number);
            self.gone.insert(number);
        }
    }

    /// One statement: UPDATE.
    pub fn update(&mut self, number: u64, change: impl FnOnce(&mut Job)) {
        let Some(job) = self.rows.get_mut(&number) else { return };
        change(job);
        let (row, table) = (row(number, job), job.table);
        self.emit_job("u", number, table, row);
    }

    /// A transaction that sets a state, and writes the row twice as PanDA does.
    pub fn set(&mut self, number: u64, status: &'static str) {
        let now = self.begin().now;
        self.update(number, |job| {
            (job.status, job.changed_at, job.modified_at) = (status, now - 3, now - 2);
            if matches!(status, "sent" | "running") {
                job.started_at = now - 3;
            }
            job.cores = if status == "running" { 8 } else { job.cores };
        });
        self.update(number, |_| {});
    }

    /// A transaction of the pilot's heartbeat.
    pub fn beat(&mut self, number: u64) {
        let now = self.begin().now;
        self.update(number, |job| (job.modified_at, job.cpu_s) = (now - 2, job.cpu_s + 60));
        self.update(number, |_| {});
    }

    pub fn pending(&mut self, number: u64) {
        let now = self.begin().now;
        let (changed_at, modified_at) = (now - 3, now - 3);
        // A number that is given again is another job's.
        let created_at = if self.gone.contains(&number) { now - 3 } else { T0 };
        self.insert(
            number,
            Job {
                table: "jobsdefined4",
                status: "pending",
                created_at,
                changed_at,
                modified_at,
                attempt: 0,
                started_at: 0,
                cores: 0,
                cpu_s: 0,
            },
        );
    }

    /// A job under a number that was given before, up to `activated`.
    pub fn give_again(&mut self, number: u64) {
        self.gone.insert(number);
        self.pending(number);
        self.shift(number, "jobsactive4", "activated", false);
    }

    /// A transaction that moves a row to another table; the insert is first or last.
    pub fn shift(&mut self, number: u64, to: &'static str, status: &'static str, first: bool) {
        let Some(old) = self.rows.get(&number).cloned() else { return };
        let now = self.begin().now;
        let new = Job { table: to, status, changed_at: now - 3, modified_at: now - 2, ..old };
        if first {
            self.insert(number, new);
            self.delete(number, old.table);
        } else {
            self.delete(number, old.table);
            self.insert(number, new);
        }
    }

    /// The tables as they are, read by a snapshot; `tables` are those that it reads.
    pub fn snapshot(&mut self, tables: &[&str], ends: bool) {
        self.begin();
        let of = |job: &Job| tables.contains(&job.table);
        let rows: Vec<(u64, Job)> = self
            .rows
            .iter()
            .filter(|(_, job)| of(job))
            .map(|(at, job)| (*at, job.clone()))
            .collect();
        let last = rows.len();
        for (at, (number, job)) in rows.into_iter().enumerate() {
            let mark = match at + 1 == last && ends {
                true => "last",
                false if at == 0 => "first",
                false => "true",
            };
            let mut value = json!({"before": null, "after": row(number, &job), "op": "r"});
            value["source"] = self.source(job.table, mark);
            let (at, key) = (self.now + 20, json!({"pandaid": number}).to_string());
            let partition = partition(number);
            self.messages.push(Message { partition, at, key, value: Some(value.to_string()) });
        }
    }

    /// The messages so far, taken.
    pub fn take(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// A whole life up to a state of `running`.
    pub fn run(&mut self, number: u64) {
        self.pending(number);
        self.set(number, "defined");
        self.set(number, "assigned");
        self.shift(number, "jobsactive4", "activated", false);
        self.set(number, "sent");
        self.set(number, "starting");
        self.set(number, "running");
    }

    pub fn finish(&mut self, number: u64) {
        self.shift(number, "jobsarchived4", "finished", false);
    }
}

pub fn partition(number: u64) -> usize {
    number as usize % PARTITIONS
}

fn row(number: u64, job: &Job) -> Value {
    let host = if job.status == "running" || job.status == "sent" { "slot1@wn7" } else { "panda" };
    json!({
        "pandaid": number, "jeditaskid": 45_000_000 + number % 7, "jobstatus": job.status,
        "statechangetime": job.changed_at * 1_000, "modificationtime": job.modified_at * 1_000,
        "creationtime": job.created_at * 1_000, "starttime": job.started_at * 1_000, "endtime": 0,
        "attemptnr": job.attempt, "computingsite": "SYNTH_ALPHA", "produsername": "Ann Example",
        "workinggroup": null, "gshare": "User Analysis", "resource_type": "SCORE", "nucleus": null,
        "prodsourcelabel": "user", "processingtype": "panda-client-1.5", "corecount": 4,
        "actualcorecount": if job.cores > 0 { json!(job.cores) } else { Value::Null },
        "currentpriority": 999, "inputfilebytes": 123_456_789, "outputfilebytes": 0,
        "modificationhost": host, "jobsubstatus": null, "cpuconsumptiontime": f64::from(job.cpu_s),
        "maxpss": 1_402_880, "maxrss": 1_500_000, "diskio": 102, "nevents": 300,
    })
}
