//! Messages of a real connector (Debezium 3.6.3 on PostgreSQL 15, PanDA's own code writing), and
//! what other connectors and settings make of the same.

use super::*;
use serde_json::{Value, json};
use yardmaster_core::event::Status;

const LIFE: &str = include_str!("../../../../tests/fixtures/panda/life.ndjson");
const WORKERS: &str = include_str!("../../../../tests/fixtures/panda/workers.ndjson");
const TASKS: &str = include_str!("../../../../tests/fixtures/panda/tasks.ndjson");
const MARKERS: &str = include_str!("../../../../tests/fixtures/panda/markers.ndjson");
const SNAPSHOT: &str = include_str!("../../../../tests/fixtures/panda/snapshot.ndjson");
const WITH_SCHEMA: &str = include_str!("../../../../tests/fixtures/panda/with_schema.ndjson");
const WIDE: &str = include_str!("../../../../tests/fixtures/panda/wide.ndjson");

/// Key and value of each line; `None` for a tombstone.
fn lines(text: &str) -> Vec<(Value, Option<Value>)> {
    let parse = |line| serde_json::from_str::<Value>(line).expect("JSON");
    let pair = |mut line: Value| (line["key"].take(), Some(line["value"].take()));
    let pairs = text.lines().map(parse).map(pair);
    pairs.map(|(key, value)| (key, value.filter(|it| !it.is_null()))).collect()
}

/// Reads a message and lets the test look at it.
fn with<T>(
    (key, value): &(Value, Option<Value>),
    look: impl FnOnce(Result<Message<'_>, String>) -> T,
) -> T {
    let value = value.as_ref().map(Value::to_string);
    look(read(Some(key.to_string().as_bytes()), value.as_deref().map(str::as_bytes)))
}

#[track_caller]
fn change<T>(line: &(Value, Option<Value>), look: impl FnOnce(Change<'_>) -> T) -> T {
    with(line, |message| match message {
        Ok(Message::Change(change)) => look(change),
        other => panic!("no change: {other:?}"),
    })
}

#[track_caller]
fn job<T>(line: &(Value, Option<Value>), look: impl FnOnce(&JobRow<'_>) -> T) -> T {
    change(line, |change| match change.row {
        Row::Job(job) => look(&job),
        other => panic!("no job: {other:?}"),
    })
}

#[track_caller]
fn error(line: &(Value, Option<Value>)) -> String {
    with(line, |message| message.expect_err("an error"))
}

/// The update to `running` of the life, with columns changed; null takes one away.
fn running(columns: Value) -> (Value, Option<Value>) {
    let mut line = lines(LIFE).swap_remove(9);
    let after = &mut line.1.as_mut().expect("a value")["after"];
    assert_eq!(after["jobstatus"], "running");
    let after = after.as_object_mut().expect("a row");
    for (name, value) in columns.as_object().expect("columns") {
        after.remove(name);
        if value != "absent" {
            after.insert(name.clone(), value.clone());
        }
    }
    line
}

fn source(line: &mut (Value, Option<Value>)) -> &mut Value {
    &mut line.1.as_mut().expect("a value")["source"]
}

#[test]
fn the_life_of_a_job_is_read() {
    let mut seen = Vec::new();
    for line in lines(LIFE) {
        with(&line, |message| match message.expect("read") {
            Message::Change(change) => match change.row {
                Row::Job(job) => {
                    assert_eq!(job.job, 11);
                    seen.push((change.op, change.table, Some(job.status)));
                }
                Row::JobGone { job: 11 } => seen.push((change.op, change.table, None)),
                other => panic!("{other:?}"),
            },
            Message::Tombstone => {}
            Message::Other => panic!("other"),
        });
    }
    let defined = |op, status| (op, Table::JobsDefined, Some(status));
    let active = |op, status| (op, Table::JobsActive, Some(status));
    let mut wants = vec![
        defined(RowOperation::Create, Status::Pending),
        defined(RowOperation::Update, Status::Defined),
        defined(RowOperation::Update, Status::Assigned),
        (RowOperation::Delete, Table::JobsDefined, None),
        active(RowOperation::Create, Status::Activated),
        active(RowOperation::Update, Status::Sent),
        active(RowOperation::Update, Status::Starting),
        active(RowOperation::Update, Status::Starting),
    ];
    wants.extend([active(RowOperation::Update, Status::Running); 8]);
    wants.extend([active(RowOperation::Update, Status::Holding); 3]);
    wants.push((RowOperation::Delete, Table::JobsActive, None));
    wants.push((RowOperation::Create, Table::JobsArchived, Some(Status::Failed)));
    assert_eq!(seen, wants);
}

#[test]
fn every_field_of_a_job_has_its_column() {
    let wants = JobRow {
        job: 11,
        task: 45_000_010,
        status: Status::Running,
        changed_at: 1_000_000_000_001,
        attempt: 2,
        queue: "SYNTH_ALPHA".into(),
        user: "Synthetic User".into(),
        group: "AP_SYNTH".into(),
        gshare: "MC Default evgensimul".into(),
        resource_type: "MCORE".into(),
        nucleus: "SYNTH_NUC".into(),
        label: "managed".into(),
        processing_type: "pmerge".into(),
        sub_status: "merging".into(),
        cores: 4,
        priority: -900,
        created_at: 1_000_000_000_002,
        started_at: 1_000_000_000_003,
        ended_at: 0,
        input_bytes: 123_456_789,
        output_bytes: 5_000_000_000,
        modified_at: 1_000_000_000_004,
        host: "slot1@wn3.synthetic.example".into(),
        cpu_s: 1_800,
        disk_io_kbps: 102,
        rss_mb: 1_369,
        events: 300,
    };
    let line = running(json!({
        "statechangetime": 1_000_000_000_001_999_i64,
        "attemptnr": 2,
        "processingtype": "pmerge",
        "jobsubstatus": "merging",
        "actualcorecount": 4,
        "corecount": 8,
        "currentpriority": -900,
        "creationtime": 1_000_000_000_002_999_i64,
        "starttime": 1_000_000_000_003_999_i64,
        "endtime": 0,
        "outputfilebytes": 5_000_000_000_i64,
        "modificationtime": 1_000_000_000_004_999_i64,
        "modificationhost": "slot1@wn3.synthetic.example",
        "cpuconsumptiontime": 1800.9,
        "diskio": 102,
        "maxpss": 1_402_000,
        "maxrss": 1_700_000,
        "nevents": 300,
    }));
    job(&line, |row| {
        assert_eq!(row, &wants);
        assert_eq!(row.node(), "wn3.synthetic.example");
    });
    // What stands in for a column that is not set.
    let line = running(json!({"actualcorecount": null, "maxpss": null, "maxrss": 2048}));
    job(&line, |row| assert_eq!((row.cores, row.rss_mb), (8, 2)));
}

#[test]
fn columns_are_found_in_either_case_and_most_need_not_be_captured() {
    let value = json!({
        "after": {"PANDAID": {"scale": 0, "value": "AYNuIwA="}, "JOBSTATUS": "running",
            "STATECHANGETIME": 1_795_368_940_435_i64, "DATA": {"a": [1]}},
        "source": {"table": "JOBSACTIVE4", "scn": "1234567", "commit_scn": "1234570",
            "txId": "0a001b00", "ts_ms": 1_795_368_940_999_i64, "snapshot": "false"},
        "transaction": {"id": "0a001b00"}, "op": "u"
    });
    change(&(Value::Null, Some(value)), |change| {
        assert_eq!((change.position, change.commit_position), (1_234_567, Some(1_234_570)));
        assert_eq!(change.committed_at, 1_795_368_940_999);
        assert_eq!(change.transaction, Some(hash(b"0a001b00")));
        let Row::Job(job) = change.row else { panic!("no job") };
        let wants = JobRow {
            job: 6_500_000_512,
            status: Status::Running,
            changed_at: 1_795_368_940_435,
            ..JobRow::default()
        };
        assert_eq!(*job, wants);
    });
}

#[test]
fn a_column_that_must_be_captured_is_named() {
    for (column, wants) in [
        ("pandaid", "field `pandaid` is missing, wants a whole number above 0"),
        ("jobstatus", "field `jobstatus` is missing, wants a word"),
        ("statechangetime", "field `statechangetime` is missing, wants a time: capture the column"),
    ] {
        let why = error(&running(json!({ column: "absent" })));
        assert!(why.starts_with(wants), "{why}");
    }
    // Captured and null: the row did not change since it was made.
    let line = running(json!({"statechangetime": null}));
    job(&line, |row| assert_eq!(row.changed_at, row.modified_at));
    let line = running(json!({"statechangetime": null, "modificationtime": 0}));
    assert!(error(&line).contains("are not set"));
}

/// Null is a value: the column is there. A delete has its key alone.
#[test]
fn columns_that_a_row_lacks_are_named() {
    let missing = |line: &(Value, Option<Value>)| change(line, |change| change.missing);
    let whole = json!({"maxrss": 0, "nucleus": null, "GSHARE": "x", "gshare": "absent"});
    assert_eq!(missing(&running(whole.clone())), [] as [&str; 0]);
    let mut renamed = whole;
    renamed["GSHARE"] = json!("absent");
    assert_eq!(missing(&running(renamed)), ["gshare"]);
    let all = lines(LIFE);
    let delete = all.iter().find(|line| line.1.as_ref().is_some_and(|it| it["op"] == "d"));
    assert_eq!(missing(delete.expect("a delete")), [] as [&str; 0]);

    let workers = lines(WORKERS);
    let is_row = |line: &&(Value, Option<Value>)| line.1.as_ref().is_some_and(|it| it["op"] == "c");
    let mut report = workers.iter().find(is_row).expect("a report").clone();
    assert_eq!(missing(&report), [] as [&str; 0]);
    let after = &mut report.1.as_mut().expect("a value")["after"];
    after.as_object_mut().expect("a row").remove("n_workers");
    assert_eq!(missing(&report), ["n_workers"]);

    let mut share = running(json!({}));
    source(&mut share)["table"] = json!("site");
    share.1.as_mut().expect("a value")["after"] = json!({"SITE_NAME": "S", "tier_level": 2});
    assert_eq!(missing(&share), ["role"]);
    // A schema before 0.0.29 has no detailed_status.
    source(&mut share)["table"] = json!("ddm_endpoint");
    let columns = wanted::of("ddm_endpoint").expect("it is read").lasting();
    let columns = columns.map(|column| (column.to_owned(), json!("x")));
    share.1.as_mut().expect("a value")["after"] = columns.collect();
    assert_eq!(missing(&share), [] as [&str; 0]);
}

#[test]
fn a_job_is_read_for_the_columns_that_are_captured() {
    let mut wants = wanted::of("jobsactive4").expect("it is read").columns.to_vec();
    let mut found: Vec<&str> =
        Columns::default().missing(rows::wanted(Table::JobsActive)).collect();
    wants.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, wants);
}

#[test]
fn numbers_are_read_as_double_or_text_and_base64_names_the_setting() {
    for (found, wants) in [
        (json!(1800.0), 1_800),
        (json!("1800"), 1_800),
        (json!("1800.5"), 1_800),
        (json!("1.8E+3"), 1_800),
        (json!({"scale": 0, "value": "Bwg="}), 1_800),
        (json!({"scale": 2, "value": "Sw=="}), 0),
        (json!(-1), 0),
        (json!(1e300), u32::MAX),
        (Value::Null, 0),
    ] {
        let line = running(json!({"cpuconsumptiontime": found}));
        job(&line, |row| assert_eq!(row.cpu_s, wants, "{found}"));
    }
    for line in [running(json!({"cpuconsumptiontime": "Bwg="})), lines(WIDE).swap_remove(0)] {
        let why = error(&line);
        assert!(why.starts_with("field `cpuconsumptiontime`: found \""), "{why}");
        assert!(why.contains("decimal.handling.mode=double"), "{why}");
    }
    let line = running(json!({"pandaid": "6500000512", "jeditaskid": 45_000_010.0}));
    job(&line, |row| assert_eq!((row.job, row.task), (6_500_000_512, 45_000_010)));
    for none in [json!(0), json!(0.0), Value::Null] {
        job(&running(json!({"jeditaskid": none})), |row| assert_eq!(row.task, 0));
    }
}

#[test]
fn times_are_read_in_each_precision_and_0_is_not_set() {
    let wants = 1_795_368_940_435;
    for found in [
        json!(1_795_368_940_435_i64),
        json!(1_795_368_940_435_879_i64),
        json!(1_795_368_940_435_879_123_i64),
        json!("2026-11-22T17:35:40.435879Z"),
    ] {
        job(&running(json!({"starttime": found})), |row| assert_eq!(row.started_at, wants));
    }
    for none in [json!(0), Value::Null, json!("absent"), json!("1970-01-01T00:00:00Z")] {
        job(&running(json!({"starttime": none})), |row| assert_eq!(row.started_at, 0));
    }
    for wrong in [json!(1_795_368_940), json!("yesterday"), json!(-5), json!([])] {
        let why = error(&running(json!({ "starttime": wrong })));
        assert!(why.starts_with("field `starttime`: found "), "{why}");
    }
}

#[test]
fn of_a_delete_the_key_alone_is_read() {
    let all = lines(LIFE);
    let delete = all.iter().rfind(|line| line.1.as_ref().is_some_and(|it| it["op"] == "d"));
    let (key, value) = delete.expect("a delete").clone();
    assert_eq!(key, json!({"pandaid": 11}));
    // The columns' defaults, whatever the row had.
    assert_eq!(value.as_ref().expect("a value")["before"]["jobstatus"], "activated");
    let gone = |key: Value, value: Value| {
        change(&(key, Some(value)), |change| {
            assert_eq!(change.row, Row::JobGone { job: 11 });
        });
    };
    let value = value.expect("a value");
    gone(key.clone(), value.clone());
    gone(json!({"schema": {"type": "struct"}, "payload": {"PANDAID": 11}}), value.clone());
    gone(Value::Null, value.clone());
    gone(json!("11"), value.clone());
    let mut without = value.clone();
    without["before"] = Value::Null;
    gone(key, without.clone());
    let why = error(&(Value::Null, Some(without)));
    assert_eq!(why, "field `pandaid` is missing, wants a whole number above 0");
}

#[test]
fn a_schema_may_stand_beside_the_message_and_its_key() {
    let mut all = lines(WITH_SCHEMA);
    change(&all[1], |change| {
        assert_eq!((change.op, change.row), (RowOperation::Delete, Row::JobGone { job: 119 }));
    });
    all[1].0 = Value::Null;
    change(&all[1], |change| assert_eq!(change.row, Row::JobGone { job: 119 }));
    let mut set = |name: &str, value| {
        all[0].1.as_mut().expect("a value")["payload"]["after"][name] = value;
        all[0].clone()
    };
    let line = set("statechangetime", json!(1_795_368_940_435_879_i64));
    assert!(error(&line).contains("decimal.handling.mode"));
    set("cpuconsumptiontime", json!(1800.0));
    job(&all[0], |row| assert_eq!((row.job, row.cpu_s), (119, 1_800)));
}

#[test]
fn transactions_are_equal_by_their_number_not_by_debeziums_id() {
    let all = lines(WORKERS);
    let ids: Vec<_> = all.iter().filter_map(|it| it.1.as_ref()).collect();
    // The id of the transaction has the position of the change in it.
    assert_ne!(ids[0]["transaction"]["id"], ids[1]["transaction"]["id"]);
    let mut transactions: Vec<_> = all
        .iter()
        .filter(|line| line.1.is_some())
        .map(|line| change(line, |change| change.transaction))
        .collect();
    transactions.dedup();
    assert_eq!(transactions, [Some(3037), Some(3041), Some(3055)]);
    // Without a number, the id up to the position.
    let transactions = [0, 1].map(|which| {
        let mut line = all[which].clone();
        source(&mut line)["txId"] = Value::Null;
        change(&line, |change| change.transaction)
    });
    assert_eq!(transactions, [Some(hash(b"3037")); 2]);
}

#[test]
fn positions_are_those_of_the_change_and_of_the_commit_before() {
    let all = lines(WORKERS);
    change(&all[1], |change| {
        assert_eq!((change.position, change.commit_position), (43_633_928, Some(43_633_600)));
        assert_eq!(change.snapshot, Snapshot::No);
        assert_eq!(change.committed_at, 1_795_368_739_140);
    });
    let mut line = all[1].clone();
    source(&mut line)["lsn"] = Value::Null;
    assert!(error(&line).starts_with("field `source.lsn` is missing"));
}

#[test]
fn rows_of_a_snapshot_are_marked_and_so_is_the_last() {
    let found = lines(SNAPSHOT);
    let marks: Vec<_> = found
        .iter()
        .map(|line| change(line, |it| (it.op, it.snapshot, it.commit_position)))
        .collect();
    assert_eq!(
        marks,
        [(RowOperation::Read, Snapshot::Yes, None), (RowOperation::Read, Snapshot::Last, None)]
    );
    for (word, wants) in [
        (json!("first"), Snapshot::Yes),
        (json!("last_in_data_collection"), Snapshot::Yes),
        (json!("last"), Snapshot::Last),
        (json!("incremental"), Snapshot::No),
        (json!("false"), Snapshot::No),
        (json!(false), Snapshot::No),
        (json!(true), Snapshot::Yes),
        (Value::Null, Snapshot::Yes),
    ] {
        let mut line = found[0].clone();
        source(&mut line)["snapshot"] = word.clone();
        change(&line, |change| assert_eq!(change.snapshot, wants, "{word}"));
    }
}

#[test]
fn workers_are_read_and_their_deletes_by_all_columns_of_the_key() {
    let all = lines(WORKERS);
    let key = WorkerKey {
        harvester: "synth-harvester".into(),
        queue: "SYNTH_ALPHA".into(),
        resource_type: "MCORE".into(),
        status: "running".into(),
        job_type: "managed".into(),
    };
    change(&all[2], |change| {
        let row = WorkerRow { key: key.clone(), count: 2, at: 1_795_368_739_136 };
        assert_eq!(change.row, Row::Worker(Box::new(row)));
    });
    // The record's key may have fewer columns (message.key.columns): the rest is in `before`.
    let few = json!({"harvester_id": "synth-harvester", "computingsite": "SYNTH_ALPHA"});
    for (place, record_key) in [(3, all[3].0.clone()), (3, few), (3, Value::Null)] {
        let line = (record_key, all[place].1.clone());
        change(&line, |change| assert_eq!(change.row, Row::WorkerGone(key.clone())));
    }
}

#[test]
fn tasks_are_read_and_which_states_end_them() {
    let all = lines(TASKS);
    let ends: Vec<_> = all[..2]
        .iter()
        .map(|line| {
            change(line, |change| match change.row {
                Row::Task(task) => (task.task, task.status.to_string(), task.is_ended),
                other => panic!("{other:?}"),
            })
        })
        .collect();
    let wants = [("running", false), ("done", true)];
    assert_eq!(ends, wants.map(|(status, ends)| (45_000_010, status.to_owned(), ends)));
    change(&all[2], |change| {
        assert_eq!((change.op, change.row), (RowOperation::Delete, Row::Other))
    });
    for status in [
        "exhausted",
        "broken",
        "tobroken",
        "aborted",
        "failed",
        "finished",
        "passed",
        "ready",
        "pending",
    ] {
        let mut line = all[0].clone();
        line.1.as_mut().expect("a value")["after"]["status"] = json!(status);
        change(&line, |change| {
            let Row::Task(task) = change.row else { panic!("no task") };
            assert_eq!(task.is_ended, !matches!(status, "ready" | "pending"), "{status}");
        });
    }
}

#[test]
fn what_is_no_change_of_a_row_is_passed_over() {
    for line in lines(MARKERS) {
        with(&line, |message| assert_eq!(message, Ok(Message::Other)));
    }
    for other in [
        json!({"ts_ms": 1_795_368_739_134_i64}),
        json!({"schema": {}, "payload": {"ts_ms": 1_795_368_739_134_i64}}),
        json!({"source": {}, "ts_ms": 1, "databaseName": "P", "ddl": "CREATE", "tableChanges": []}),
        json!({"source": {"table": "jobsactive4"}, "op": "t", "before": null, "after": null}),
        json!({"source": {"table": ""}, "op": "m", "message": {"prefix": "x"}}),
    ] {
        with(&(Value::Null, Some(other)), |message| assert_eq!(message, Ok(Message::Other)));
    }
    for nothing in [None, Some(&b""[..]), Some(b"null")] {
        assert_eq!(read(Some(b"{}"), nothing), Ok(Message::Tombstone));
    }
    let why = read(None, Some(br#"{"pandaid": 1, "jobstatus": "running"}"#)).expect_err("a row");
    assert!(why.starts_with("field `op` is missing"), "{why}");
}

#[test]
fn what_has_no_counterpart_is_another_row() {
    let line = running(json!({"jobstatus": "waiting"}));
    change(&line, |change| assert_eq!(change.row, Row::Other));
    let mut line = running(json!({}));
    source(&mut line)["table"] = json!("filestable4");
    change(&line, |change| assert_eq!((change.table, change.row), (Table::Other, Row::Other)));
    let why = error(&running(json!({"jobstatus": "dreaming"})));
    assert_eq!(why, "field `jobstatus`: found \"dreaming\", wants a state of a PanDA job");
}
