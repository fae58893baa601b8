use super::catalog::{CatalogNames, ConnectorRole, Database, DatabaseMarks, Slot, Table};
use super::connector::{self, Connector};
use super::memory;
use super::point::{Point, Verdict};
use super::points;
use serde_json::json;
use yardmaster_wire::dialect::change::wanted::WANTED;

fn asked() -> CatalogNames {
    CatalogNames {
        schema: "doma_panda".to_owned(),
        publication: "yardmaster".to_owned(),
        slot: "yardmaster".to_owned(),
        role: "yardmaster_cdc".to_owned(),
        is_before_start: false,
    }
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A database as publication.sql makes it, of this version, with a connector that reads.
fn database(major: i64) -> Database {
    let version = (major * 10_000).to_string();
    let settings = [
        ("server_version", "as of the test"),
        ("server_version_num", version.as_str()),
        ("wal_level", "logical"),
        ("max_replication_slots", "10"),
        ("max_wal_senders", "10"),
        ("max_slot_wal_keep_size", "51200"),
        ("hot_standby_feedback", "off"),
    ];
    let published = WANTED.iter().map(|wanted| {
        let (schema, table) = wanted.table.split_once('.').unwrap_or(("doma_panda", wanted.table));
        let mut row = json!({"schemaname": schema, "tablename": table});
        row["has_list"] = json!(false);
        if major >= 15 {
            row["attnames"] = json!(wanted.columns);
        }
        row
    });
    let mut slot = json!({"slot_type": "logical", "plugin": "pgoutput", "database": "panda_db",
        "active": true, "active_pid": 7, "wal_status": "reserved"});
    if major >= 17 {
        slot["failover"] = json!(true);
    }
    Database {
        name: "panda_db".to_owned(),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        slots: 1,
        senders: 1,
        slot: Some(Slot { row: slot, lag: Some(9), kept: Some(99), inactive_s: None }),
        publication: Some(json!({"puballtables": false, "pubviaroot": true, "pubinsert": true,
            "pubupdate": true, "pubdelete": true})),
        published: published.collect(),
        tables: WANTED.iter().map(|wanted| table(wanted.table, wanted.columns)).collect(),
        role: Some(ConnectorRole {
            can_login: true,
            can_replicate: true,
            can_connect: true,
            has_schema: true,
            is_superuser: false,
        }),
        ..Database::default()
    }
}

fn table(name: &str, columns: &[&str]) -> Table {
    Table {
        name: name.to_owned(),
        columns: texts(&[columns, &["produserid", "hidden"]].concat()),
        key: texts(&columns[..1]),
        identities: texts(&["d"]),
        readable: texts(columns),
        ..Table::default()
    }
}

fn not_ok(database: &Database) -> Vec<(&'static str, Verdict)> {
    let points = points(database, &asked());
    let not_ok = points.iter().filter(|point| point.verdict != Verdict::Ok);
    not_ok.map(|point| (point.name, point.verdict)).collect()
}

#[test]
fn what_publication_sql_makes_is_right_on_each_version() {
    let (note, wrong) = (Verdict::Note, Verdict::Wrong);
    assert_eq!(not_ok(&database(13)).first(), Some(&("version", wrong)));
    assert_eq!(not_ok(&database(14)), [("slot_failover", note)]);
    assert_eq!(not_ok(&database(15)), [("slot_failover", note)]);
    assert_eq!(not_ok(&database(16)), [("slot_failover", note)]);
    assert_eq!(not_ok(&database(17)), []);
    assert_eq!(not_ok(&database(18)), [("version", note)]);
}

/// Each fault makes its point wrong, and no other.
#[test]
fn each_fault_makes_one_point_wrong() {
    type Fault = (&'static str, fn(&mut Database));
    let faults: [Fault; 30] = [
        ("wal_level", |it| set(it, "wal_level", "replica")),
        ("max_replication_slots", |it| {
            it.slots = 10;
            it.slot = None;
        }),
        ("max_wal_senders", |it| {
            it.senders = 10;
            slot(it, "active", json!(false));
        }),
        ("max_slot_wal_keep_size", |it| set(it, "max_slot_wal_keep_size", "-1")),
        ("max_slot_wal_keep_size", |it| set(it, "max_slot_wal_keep_size", "0")),
        ("idle_replication_slot_timeout", |it| set(it, "idle_replication_slot_timeout", "3600")),
        ("standby", |it| it.is_standby = true),
        ("publication", |it| it.publication = None),
        ("publication", |it| publication(it, "puballtables", true)),
        ("publication", |it| it.schemas.push("doma_panda".to_owned())),
        ("publication", |it| publication(it, "pubviaroot", false)),
        ("publication", |it| publication(it, "pubdelete", false)),
        ("tables", |it| drop(it.published.remove(1))),
        ("tables", |it| {
            it.published
                .push(json!({"schemaname": "other", "tablename": "jobs", "attnames": ["a"]}));
        }),
        ("tables", |it| it.published[0]["rowfilter"] = json!("(jobstatus = 'running')")),
        ("keys", |it| it.tables[3].key.clear()),
        ("replica_identity", |it| it.tables[1].identities.push("f".to_owned())),
        ("replica_identity", |it| {
            it.published[4]["has_list"] = json!(true);
            it.tables[4].key.push("hidden".to_owned());
        }),
        ("schema", |it| it.tables[1].columns.retain(|column| column != "gshare")),
        ("columns", |it| {
            it.published[0]["has_list"] = json!(true);
            it.published[0]["attnames"] = json!(["pandaid"]);
        }),
        ("columns", |it| {
            it.published[0]["has_list"] = json!(true);
            let list = it.published[0]["attnames"].as_array_mut().unwrap();
            list.push(json!("produserid"));
        }),
        ("role", |it| it.role = None),
        ("role", |it| it.role.as_mut().unwrap().can_replicate = false),
        ("role", |it| it.role.as_mut().unwrap().can_connect = false),
        ("role", |it| it.role.as_mut().unwrap().has_schema = false),
        ("grants", |it| it.tables[0].is_readable_whole = true),
        ("grants", |it| it.tables[0].is_writable = true),
        ("grants", |it| drop(it.tables[0].readable.pop())),
        ("grants", |it| it.tables[0].readable.push("produserid".to_owned())),
        ("slot", |it| slot(it, "plugin", json!("wal2json"))),
    ];
    for (at, (name, fault)) in faults.into_iter().enumerate() {
        let mut database = database(17);
        fault(&mut database);
        let wrong = not_ok(&database).into_iter().filter(|(_, it)| *it == Verdict::Wrong);
        let mut wrong: Vec<&str> = wrong.map(|(name, _)| name).collect();
        // A slot that is not read, or not there, is a fault of its own.
        wrong.retain(|it| *it == name || !it.starts_with("slot"));
        assert_eq!(wrong, [name], "fault {at}");
    }
}

/// Lists of columns are right and stand in the way of a patch; a schema before 0.0.29 lacks columns
/// that nobody can grant.
#[test]
fn lists_and_an_older_schema_are_noted() {
    let mut listed = database(17);
    listed.published.iter_mut().for_each(|row| row["has_list"] = json!(true));
    assert_eq!(not_ok(&listed), [("columns", Verdict::Note)]);
    let endpoint = listed.tables.iter_mut().find(|it| it.name == "ddm_endpoint").unwrap();
    endpoint.columns.retain(|column| column != "detailed_status");
    endpoint.readable.retain(|column| column != "detailed_status");
    listed.published.iter_mut().for_each(|row| row["has_list"] = json!(false));
    assert_eq!(not_ok(&listed), [("schema", Verdict::Note)]);
}

fn marks() -> DatabaseMarks {
    DatabaseMarks { system: Some("7".to_owned()), timeline: Some(2), position: 900, job: Some(50) }
}

#[test]
fn a_database_that_was_restored_or_replaced_is_wrong_until_the_file_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memory.json");
    let look = |source: DatabaseMarks| {
        let database = Database { source, ..database(17) };
        let points = memory::look(&path, &database, &asked()).unwrap();
        let not_ok = points.into_iter().filter(|point| point.verdict != Verdict::Ok);
        not_ok.map(|point| (point.name, point.verdict)).collect::<Vec<_>>()
    };
    let (note, wrong) = (Verdict::Note, Verdict::Wrong);
    let gone_on = || DatabaseMarks { position: 901, job: Some(51), ..marks() };
    for (change, expected) in [
        (DatabaseMarks { position: 899, ..marks() }, ("source_position", wrong)),
        (DatabaseMarks { job: Some(49), ..marks() }, ("source_ids", wrong)),
        (DatabaseMarks { system: Some("8".to_owned()), ..marks() }, ("source_identity", wrong)),
        (DatabaseMarks { timeline: Some(1), ..marks() }, ("source_identity", wrong)),
    ] {
        assert_eq!(look(marks()), []);
        assert_eq!(look(change.clone()), [expected], "{change:?}");
        // The log is past the place again, and the check is not over it.
        assert_eq!(look(gone_on()), [("source_restored", wrong)]);
        assert_eq!(look(change.clone()), [expected], "{change:?}");
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(look(marks()), []);
    // What the role may not read is not forgotten.
    let unread = DatabaseMarks { system: None, job: None, ..marks() };
    assert_eq!(look(unread), [("source_identity", note), ("source_ids", note)]);
    assert_eq!(look(DatabaseMarks { timeline: Some(3), ..gone_on() }), [("source_identity", note)]);
    assert_eq!(look(DatabaseMarks { timeline: Some(3), ..gone_on() }), []);
    let other = DatabaseMarks { system: Some("8".to_owned()), job: Some(50), ..gone_on() };
    assert_eq!(look(other), [("source_identity", wrong), ("source_ids", wrong)]);
}

#[test]
fn a_connector_without_a_task_or_ahead_of_the_database_is_wrong() {
    let point = |status: serde_json::Value, position| {
        let connector = Connector { name: "panda-cdc".to_owned(), status: Ok(status), position };
        let database = Database { source: marks(), ..database(17) };
        let points = connector::points(&connector, &database, &asked());
        let wrong = points.iter().filter(|point| point.verdict == Verdict::Wrong);
        wrong.map(|point| format!("{}: {}", point.name, point.found)).collect::<Vec<_>>()
    };
    let running =
        json!({"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]});
    let with = |tasks: serde_json::Value| {
        let mut status = running.clone();
        status["tasks"] = tasks;
        status
    };
    assert_eq!(point(running.clone(), Some(900)), [] as [&str; 0]);
    assert_eq!(point(running.clone(), None), [] as [&str; 0]);
    let ahead = "connector_position: it has read 100 B more than the database has written";
    assert_eq!(point(running.clone(), Some(1_000)), [ahead]);
    assert_eq!(point(with(json!([])), None), ["connector: panda-cdc: RUNNING, and has no task"]);
    let failed = with(json!([{"id": 0, "state": "FAILED", "trace": "Exception: why\n\tat"}]));
    assert_eq!(point(failed, None), ["connector: panda-cdc: its task is FAILED: Exception: why"]);
    let mut paused = running.clone();
    paused["connector"]["state"] = json!("PAUSED");
    assert_eq!(point(paused, None), ["connector: panda-cdc: PAUSED"]);
}

fn set(database: &mut Database, setting: &str, value: &str) {
    database.settings.insert(setting.to_owned(), value.to_owned());
}

fn slot(database: &mut Database, field: &str, value: serde_json::Value) {
    database.slot.as_mut().unwrap().row[field] = value;
}

fn publication(database: &mut Database, field: &str, value: bool) {
    database.publication.as_mut().unwrap()[field] = json!(value);
}

#[test]
fn a_slot_is_watched() {
    let wrong = |change: fn(&mut Database)| {
        let mut database = database(17);
        change(&mut database);
        not_ok(&database)
    };
    let one = |name| vec![(name, Verdict::Wrong)];
    assert_eq!(wrong(|it| slot(it, "active", json!(false))), one("slot_reader"));
    assert_eq!(wrong(|it| slot(it, "wal_status", json!("lost"))), one("slot_wal"));
    assert_eq!(wrong(|it| slot(it, "wal_status", json!("unreserved"))), one("slot_wal"));
    assert_eq!(wrong(|it| it.slot.as_mut().unwrap().kept = Some(26 << 30)), one("slot_wal"));
    assert_eq!(wrong(|it| it.slot = None), one("slot"));
    let mut new = database(17);
    new.slot = None;
    let points = points(&new, &CatalogNames { is_before_start: true, ..asked() });
    assert!(points.iter().all(|point| point.verdict == Verdict::Ok), "{points:#?}");
}

#[test]
fn a_standby_decodes_from_16_on_and_with_feedback() {
    let standby = |major, feedback| {
        let mut database = database(major);
        database.is_standby = true;
        set(&mut database, "hot_standby_feedback", feedback);
        not_ok(&database)
    };
    assert_eq!(standby(15, "on"), [("standby", Verdict::Wrong)]);
    assert_eq!(standby(16, "off"), [("standby", Verdict::Wrong)]);
    assert_eq!(standby(16, "on"), [("standby", Verdict::Note)]);
}

#[test]
fn a_point_is_a_line_and_what_to_do() {
    let point = Point::wrong("slot", "it is gone", "make it");
    assert_eq!(point.text(), "wrong  slot: it is gone\n       make it");
    let json = r#"{"point":"slot","verdict":"wrong","found":"it is gone","remedy":"make it"}"#;
    assert_eq!(point.json(), json);
    assert_eq!(Point::ok("keys", "all").text(), "ok     keys: all");
}

/// The tables and columns that the operator's file publishes and grants are those that are read:
/// one list, compared.
#[test]
fn publication_sql_has_the_tables_and_columns_that_are_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/panda-cdc/publication.sql");
    let sql = std::fs::read_to_string(path).unwrap();
    let words = |text: &str| -> Vec<String> {
        text.split(',').map(|it| it.split_whitespace().collect()).collect()
    };
    let list = |from: &str| words(sql.split(from).nth(1).unwrap().split('\'').nth(1).unwrap());
    let job = list("job CONSTANT text :=");
    for wanted in WANTED {
        let from = format!("['{}', ", wanted.table);
        let is_job = sql.contains(&format!("{from}job]"));
        let columns = if is_job { job.clone() } else { list(&from) };
        assert_eq!(columns, wanted.columns, "{}", wanted.table);
    }
    assert_eq!(sql.matches("        ['").count(), WANTED.len());
}
