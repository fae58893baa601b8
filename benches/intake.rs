//! Intake of PanDA's JSON on one core: reading alone, and all of it (reading, joining, our record's
//! bytes); reading of change messages. `cargo bench --bench intake`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Task;
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Intake, Noted, Origin, Records, Taken};
use yardmaster::sim::scenario::records::request;
use yardmaster::wire::dialect::{Dialect, change, read};
use yardmaster::wire::record;

fn main() {
    divan::main();
}

const JOBS: u64 = 200_000;
const TASKS: u64 = 2_000;
/// Messages between two transactions.
const BATCH: usize = 20_000;

/// A message as PanDA says it, of an ordinary job with two input files.
fn message(job: u64, status: &str, at: u64) -> String {
    format!(
        "{{\"msg_type\": \"job_status\", \"jobid\": {job}, \"taskid\": {}, \"status\": \"{status}\", \
         \"timestamp\": {at}, \"computingsite\": \"QUEUE_{:03}\", \
         \"inputs\": [\"EVNT.{job}._000001.pool.root.1\", \"EVNT.{job}._000002.pool.root.1\"], \
         \"piloterrorcode\": 0, \"piloterrordiag\": null, \"exeerrorcode\": 0, \"exeerrordiag\": null}}",
        45_000_000 + job % TASKS,
        job % 170,
    )
}

/// Four states of every job, jobs in between each other, as they come.
fn messages() -> Vec<String> {
    let states = ["defined", "activated", "running", "finished"];
    let mut all = Vec::new();
    for (at, status) in states.iter().enumerate() {
        let published = |job| message(6_500_000_000 + job, status, 1_760_000_000 + at as u64 * 600);
        all.extend((0..JOBS).map(published));
    }
    all
}

/// Keys and values of change messages: the changes of a job's life, of some 1,070 bytes each, or one
/// with all 127 columns.
fn changes(is_wide: bool) -> Vec<(String, Option<String>)> {
    let text = match is_wide {
        true => include_str!("../tests/fixtures/panda/wide.ndjson"),
        false => include_str!("../tests/fixtures/panda/life.ndjson"),
    };
    // The wide one was made with a setting that is refused.
    let text = text.replace("\"cpuconsumptiontime\":\"Alg=\"", "\"cpuconsumptiontime\":1800.0");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let value = |value: &Value| (!value.is_null()).then(|| value.to_string());
    lines.map(|line| (line["key"].to_string(), value(&line["value"]))).collect()
}

/// A stage that knows every task.
fn intake() -> Intake {
    let mut intake = Intake::new("atlas", BTreeMap::new(), &Limits::default());
    let mut bytes = Vec::new();
    for number in 0..TASKS {
        bytes.clear();
        record::write(&mut bytes, &task(&(45_000_000 + number).to_string()));
        intake.learn(Topic::Task, None, Some(&bytes), &mut Records::default());
    }
    intake.caught_up();
    intake
}

fn task(name: &str) -> Task {
    Task {
        user: "atlas-dpd-production".into(),
        gshare: "MC Default evgensimul".into(),
        resource_type: "MCORE".into(),
        nucleus: "CERN".into(),
        core_count: Some(8),
        ..request(name, 100, 1)
    }
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn read_panda(bencher: Bencher<'_, '_>) {
    let all = messages();
    bencher.counter(ItemsCount::new(all.len())).bench_local(|| {
        for message in &all {
            black_box(read(Dialect::Panda, black_box(message.as_bytes())).expect("a message"));
        }
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn whole_panda(bencher: Bencher<'_, '_>) {
    let all = messages();
    bencher.counter(ItemsCount::new(all.len())).with_inputs(intake).bench_local_values(
        |mut intake| {
            let mut words = Records::default();
            for (offset, message) in all.iter().enumerate() {
                if words.len() >= BATCH {
                    black_box(&words);
                    words.clear();
                }
                let origin =
                    Origin { topic: "panda", partition: 0, offset: offset as u64, appended_at: 1 };
                intake.meet(Dialect::Panda, origin, None, Some(message.as_bytes()), &mut words);
            }
            black_box(&words);
            intake
        },
    );
}

#[divan::bench(sample_count = 10, sample_size = 1, args = ["lean", "wide"])]
fn read_changes(bencher: Bencher<'_, '_>, columns: &str) {
    let all = changes(columns == "wide");
    let times = 100_000 / all.len();
    bencher.counter(ItemsCount::new(times * all.len())).bench_local(|| {
        for (key, value) in (0..times).flat_map(|_| &all) {
            let value = value.as_deref().map(str::as_bytes);
            black_box(change::read(Some(key.as_bytes()), black_box(value)).expect("a change"));
        }
    });
}

const ROWS: u64 = 5_000;

/// A change of a job's row, as the connector writes it.
fn row(op: &str, job: u64, status: &str, step: u64, half: u64) -> (String, String) {
    let lsn = 40_000_000 + (step * ROWS + job) * 400 + half * 100;
    let at = 1_760_000_000_000 + step * 60_000 + job;
    let table = match status {
        "pending" | "defined" | "assigned" => "jobsdefined4",
        "finished" => "jobsarchived4",
        _ => "jobsactive4",
    };
    let after = format!(
        "{{\"pandaid\":{job},\"creationtime\":1760000000000000,\"modificationtime\":{at}000,\
         \"modificationhost\":\"slot1@wn{}.example\",\"prodsourcelabel\":\"user\",\
         \"currentpriority\":999,\"attemptnr\":0,\"jobstatus\":\"{status}\",\"starttime\":0,\
         \"endtime\":0,\"cpuconsumptiontime\":{step}.0,\"computingsite\":\"QUEUE_{:03}\",\
         \"nevents\":300,\"statechangetime\":{at}000,\"workinggroup\":null,\
         \"processingtype\":\"panda-client-1.5\",\"produsername\":\"User {}\",\"corecount\":1,\
         \"inputfilebytes\":123456789,\"outputfilebytes\":0,\"jeditaskid\":{},\
         \"jobsubstatus\":null,\"actualcorecount\":1,\"maxpss\":1402000,\"nucleus\":null,\
         \"gshare\":\"User Analysis\",\"resource_type\":\"SCORE\",\"diskio\":102}}",
        job % 500,
        job % 170,
        job % 90,
        45_000_000 + job % TASKS,
    );
    let key = format!("{{\"pandaid\":{job}}}");
    let (before, after) = match op {
        "d" => (key.clone(), "null".to_owned()),
        _ => ("null".to_owned(), after),
    };
    let value = format!(
        "{{\"before\":{before},\"after\":{after},\"source\":{{\"version\":\"3.6.3.Final\",\
         \"connector\":\"postgresql\",\"name\":\"panda\",\"ts_ms\":{at},\"snapshot\":\"false\",\
         \"db\":\"panda_db\",\"sequence\":\"[\\\"{}\\\",\\\"{lsn}\\\"]\",\"ts_us\":{at}000,\
         \"ts_ns\":{at}000000,\"schema\":\"doma_panda\",\"table\":\"{table}\",\
         \"txId\":{},\"lsn\":{lsn},\"xmin\":null}},\"transaction\":null,\"op\":\"{op}\",\
         \"ts_ms\":{at}}}",
        lsn - half * 100 - 50,
        step * ROWS + job,
    );
    (key, value)
}

/// The changes of whole lives, as PanDA writes rows: twice in a transaction, moves as a delete and
/// an insert; jobs in between each other.
fn lives() -> Vec<(String, String)> {
    let steps: [(&str, &str, &str); 11] = [
        ("c", "", "pending"),
        ("u", "", "defined"),
        ("u", "", "assigned"),
        ("d", "c", "activated"),
        ("u", "", "sent"),
        ("u", "u", "starting"),
        ("u", "u", "running"),
        ("u", "u", "running"),
        ("u", "u", "holding"),
        ("u", "", "transferring"),
        ("d", "c", "finished"),
    ];
    let mut all = Vec::new();
    for (step, (first, second, status)) in steps.into_iter().enumerate() {
        for job in 1..=ROWS {
            all.push(row(first, job, status, step as u64, 0));
            if !second.is_empty() {
                all.push(row(second, job, status, step as u64, 1));
            }
        }
    }
    all
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn whole_changes(bencher: Bencher<'_, '_>) {
    let all = lives();
    bencher.counter(ItemsCount::new(all.len())).with_inputs(intake).bench_local_values(
        |mut intake| {
            let mut words = Records::default();
            for (offset, (key, value)) in all.iter().enumerate() {
                if words.len() >= BATCH {
                    black_box(&words);
                    words.clear();
                }
                let origin =
                    Origin { topic: "panda", partition: 0, offset: offset as u64, appended_at: 1 };
                let (key, value) = (Some(key.as_bytes()), Some(value.as_bytes()));
                intake.meet(Dialect::PandaCdc, origin, key, value, &mut words);
            }
            black_box(&words);
            let counts = intake.take_counts();
            assert_eq!(counts.of(Dialect::PandaCdc, Taken::DeadLetter), 0);
            assert_eq!(counts.noted(Noted::EndedByDelete), 0);
            intake
        },
    );
}
