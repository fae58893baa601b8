//! Changes that the operator's files capture: those of a job's life as Debezium has them, those
//! columns and no other, in one topic in their order; and a new snapshot when the slot is gone.

use super::servers::{Connect, Postgres};
use super::writer::{NewJob, Writer};
use crate::kill::SECOND;
use crate::kill::bus::now;
use crate::kill::process::wait_until;
use crate::kill::witness::glance;
use serde_json::Value;
use std::collections::BTreeSet;

/// The changes on a topic, in the order of the database's log.
pub fn changes(bootstrap: &str, topic: &str) -> Vec<Value> {
    let records = glance(bootstrap, topic);
    let values = records.iter().filter(|(_, value)| !value.is_empty());
    let mut changes: Vec<Value> =
        values.map(|(_, value)| serde_json::from_slice(value).unwrap()).collect();
    changes.sort_by_key(|change| change["source"]["lsn"].as_u64());
    changes
}

/// The key of a change's row.
fn job_of(change: &Value) -> Option<i64> {
    let row = if change["after"].is_null() { &change["before"] } else { &change["after"] };
    row["pandaid"].as_i64()
}

/// Operation, table and state of a job's changes.
fn life(changes: &[Value], job: i64) -> Vec<String> {
    let of_job = changes.iter().filter(|change| job_of(change) == Some(job));
    let word = |change: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let (op, table) = (text(&change["op"]), text(&change["source"]["table"]));
        format!("{op} {table} {}", text(&change["after"]["jobstatus"]))
    };
    of_job.map(word).collect()
}

/// A job from its brokerage to its end.
fn live(writer: &mut Writer, job: i64) {
    let at = now();
    writer.insert(&NewJob::of(job, 45_000_000, "SYNTH_ALPHA", 8), at);
    writer.define(job, at + 1);
    writer.assign(job, at + 2);
    writer.activate(job, at + 3);
    writer.send(job, "wn1.synthetic.example", at + 4);
    writer.starting(job, "wn1.synthetic.example", at + 5);
    writer.running(job, at + 6);
    writer.heartbeat(job, 600, at + 7);
    writer.holding(job, at + 8);
    writer.transferring(job, at + 9);
    writer.archive(job, "finished", at + 10);
}

/// A job that goes back, is tried again, and whose row is removed; and the end of its task.
fn stray(writer: &mut Writer, job: i64) {
    let at = now();
    writer.task(45_000_002, "user-1", at);
    writer.insert(&NewJob::of(job, 45_000_002, "SYNTH_BETA", 1), at);
    writer.define(job, at + 1);
    writer.assign(job, at + 2);
    writer.activate(job, at + 3);
    writer.send(job, "wn2.synthetic.example", at + 4);
    writer.reset(job, at + 5);
    writer.activate(job, at + 6);
    writer.send(job, "wn3.synthetic.example", at + 7);
    writer.retry(job, at + 8);
    writer.remove(job);
    writer.task_status(45_000_002, "done", at + 9);
}

#[test]
fn a_life_is_captured_in_order_with_the_columns_that_are_read() {
    let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
        println!("left out: YARDMASTER_TEST_KAFKA names no broker");
        return;
    };
    let Some(postgres) = Postgres::panda(&[]) else { return };
    let mut writer = Writer::new(postgres.owner());
    writer.insert(&NewJob::of(1, 45_000_001, "SYNTH_BETA", 1), now());
    let prefix = format!("captured-{}", now());
    let Some(connect) = Connect::start(&postgres, &bootstrap, &prefix) else { return };
    let seen = |what: &str| {
        let word = what.to_owned();
        wait_until(
            60 * SECOND,
            || word.clone(),
            || changes(&bootstrap, &connect.jobs()).iter().any(|it| it.to_string().contains(&word)),
        );
        changes(&bootstrap, &connect.jobs())
    };
    assert_eq!(life(&seen("\"snapshot\":\"last\""), 1), ["r jobsdefined4 pending"]);

    stray(&mut writer, 4);
    live(&mut writer, 2);
    writer.report_workers("h", "SYNTH_ALPHA", &[("SCORE", "running", 7)], now());
    writer.report_workers("h", "SYNTH_ALPHA", &[("SCORE", "running", 9)], now());
    let all = seen("\"table\":\"jobsarchived4\"");
    let [defined, active] = ["jobsdefined4", "jobsactive4"];
    let expected = [
        ("c", defined, "pending"),
        ("u", defined, "defined"),
        ("u", defined, "assigned"),
        ("d", defined, "-"),
        ("c", active, "activated"),
        ("u", active, "sent"),
        ("u", active, "starting"),
        ("u", active, "starting"),
        ("u", active, "running"),
        ("u", active, "running"),
        ("u", active, "running"),
        ("u", active, "running"),
        ("u", active, "holding"),
        ("u", active, "holding"),
        ("u", active, "transferring"),
        ("u", active, "finished"),
        ("d", active, "-"),
        ("c", "jobsarchived4", "finished"),
    ];
    let expected = expected.map(|(op, table, status)| format!("{op} {table} {status}"));
    assert_eq!(life(&all, 2), expected);

    // Back into jobsdefined4 within one attempt; another attempt in the same row; removed.
    let last: Vec<String> = life(&all, 4).split_off(6);
    let expected = [
        ("d", active, "-"),
        ("c", defined, "defined"),
        ("d", defined, "-"),
        ("c", active, "activated"),
        ("u", active, "sent"),
        ("u", active, "activated"),
        ("d", active, "-"),
    ];
    assert_eq!(last, expected.map(|(op, table, status)| format!("{op} {table} {status}")));
    // Of tasks, the end.
    let topic = connect.topic("jedi_tasks");
    wait_until(30 * SECOND, || "tasks".to_owned(), || changes(&bootstrap, &topic).len() == 2);
    assert_eq!(changes(&bootstrap, &topic)[1]["after"]["status"], "done");

    // The columns of the operator's list, and none beside; no name of a certificate.
    let columns = super::servers::file("examples/panda-cdc/publication.sql");
    let list = columns.split("job CONSTANT text := '").nth(1).unwrap().split('\'').next().unwrap();
    let wanted: BTreeSet<&str> = list.split(',').map(str::trim).collect();
    for change in &all {
        let Some(after) = change["after"].as_object() else { continue };
        assert_eq!(after.keys().map(String::as_str).collect::<BTreeSet<_>>(), wanted);
        assert!(!change.to_string().contains("/DC=org"), "{change}");
    }
    // The trap: a delete shows defaults of columns, whatever stood there.
    let delete = all.iter().find(|it| it["op"] == "d" && job_of(it) == Some(2)).unwrap();
    assert_eq!(delete["before"]["jobstatus"], "defined");
    assert_eq!(delete["before"]["produsername"], Value::Null);
    // A move is one transaction, and so is a report of workers.
    let of = |op: &str, status: &str| {
        let is = |it: &&Value| {
            job_of(it) == Some(2) && it["op"] == op && it["after"]["jobstatus"] == status
        };
        all.iter().find(is).unwrap()["source"]["txId"].clone()
    };
    assert_eq!(delete["source"]["txId"], of("c", "activated"));
    let topic = connect.topic("harvester_worker_stats");
    wait_until(30 * SECOND, || "reports".to_owned(), || changes(&bootstrap, &topic).len() == 3);
    let reports = changes(&bootstrap, &topic);
    let ops: Vec<&str> = reports.iter().map(|it| it["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["c", "d", "c"]);
    assert_eq!(reports[1]["source"]["txId"], reports[2]["source"]["txId"]);
    assert_eq!(reports[1]["before"]["resourcetype"], "SCORE");

    // Killed, its slot dropped: it comes back with a snapshot of what stands then.
    connect.kill();
    let mut owner = postgres.owner();
    let drop_slot = "SELECT pg_drop_replication_slot('yardmaster')";
    wait_until(30 * SECOND, || drop_slot.to_owned(), || owner.execute(drop_slot, &[]).is_ok());
    writer.insert(&NewJob::of(3, 45_000_001, "SYNTH_BETA", 1), now());
    writer.archive_defined(1, "closed", now());
    connect.restart();
    wait_until(
        60 * SECOND,
        || "a snapshot".to_owned(),
        || {
            let all = changes(&bootstrap, &connect.jobs());
            life(&all, 3) == ["r jobsdefined4 pending"]
        },
    );
    // The job that left meanwhile is in no message.
    assert_eq!(life(&changes(&bootstrap, &connect.jobs()), 1), ["r jobsdefined4 pending"]);
}
