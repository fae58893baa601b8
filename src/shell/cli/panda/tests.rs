use super::catalog::{CatalogNames, ConnectorRole, Database, Slot, Table};
use super::point::{Point, Verdict};
use super::points;
use super::wanted::WANTED;
use serde_json::json;

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
        let mut row = json!({"schemaname": "doma_panda", "tablename": wanted.table});
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
    let expected = [("version", note), ("columns", note), ("slot_failover", note)];
    assert_eq!(not_ok(&database(14)), expected);
    assert_eq!(not_ok(&database(15)), [("slot_failover", note)]);
    assert_eq!(not_ok(&database(16)), [("slot_failover", note)]);
    assert_eq!(not_ok(&database(17)), []);
    assert_eq!(not_ok(&database(18)), [("version", note)]);
}

/// Each fault makes its point wrong, and no other.
#[test]
fn each_fault_makes_one_point_wrong() {
    type Fault = (&'static str, fn(&mut Database));
    let faults: [Fault; 29] = [
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
        ("replica_identity", |it| it.tables[4].key.push("hidden".to_owned())),
        ("columns", |it| it.published[0]["attnames"] = json!(["pandaid"])),
        ("columns", |it| {
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
    let (publication, grants) = sql.split_once("GRANT USAGE").unwrap();
    for wanted in WANTED {
        let columns = |text: &str| -> Vec<String> {
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            flat.split(", ").map(|it| it.trim().to_owned()).collect()
        };
        let from = publication.find(&format!("    {} (", wanted.table)).expect(wanted.table);
        let list = publication[from..].split(['(', ')']).nth(1).unwrap();
        assert_eq!(columns(list), wanted.columns, "{}", wanted.table);
        let is_of = |grant: &&str| {
            let on = grant.split(") ON ").nth(1).unwrap_or_default();
            on.split([',', ' ']).any(|it| it == wanted.table)
        };
        let grant = grants.split(';').find(is_of).expect(wanted.table);
        let list = grant.split(['(', ')']).nth(1).unwrap();
        assert_eq!(columns(list), wanted.columns, "grant of {}", wanted.table);
    }
    assert_eq!(publication.matches(" (\n").count(), WANTED.len());
}
