//! `yardmaster panda check` on a real PostgreSQL.

use super::servers::{PASSWORD, Postgres};
use crate::broker::script;
use serde_json::Value;
use std::net::TcpListener;
use std::process::Command;
use tempfile::TempDir;

/// The points as people read them.
pub fn found(postgres: &Postgres, role: &str, more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(["panda", "check", "--postgres", &postgres.url(role)])
        .args(more)
        .env("PGPASSWORD", PASSWORD)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Exit code, and the verdict of each point.
pub fn check(
    postgres: &Postgres,
    role: &str,
    more: &[&str],
) -> (Option<i32>, Vec<(String, String)>) {
    let password = if role == "postgres" { "postgres" } else { PASSWORD };
    let output = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(["panda", "check", "--json", "--postgres", &postgres.url(role)])
        .args(more)
        .env("PGPASSWORD", password)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let point = |line: &str| {
        let point: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| point[name].as_str().unwrap().to_owned();
        assert!(point["verdict"] == "ok" || point["remedy"].is_string(), "{line}");
        (field("point"), field("verdict"))
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!text.is_empty(), "{errors}");
    (output.status.code(), text.lines().map(point).collect())
}

pub fn wrong(points: &[(String, String)]) -> Vec<&str> {
    let wrong = points.iter().filter(|(_, verdict)| verdict == "wrong");
    wrong.map(|(point, _)| point.as_str()).collect()
}

/// Objects that the operator's files make are right, asked as the role that they make; each fault
/// that breaks PanDA's writes, or lets more out than is read, is found.
#[test]
fn what_the_operators_files_make_is_right_and_what_breaks_panda_is_found() {
    let Some(postgres) = Postgres::panda(&[]) else { return };
    let role = "yardmaster_cdc";
    let (code, points) = check(&postgres, role, &["--before-start"]);
    assert_eq!((code, wrong(&points)), (Some(0), vec![]), "{points:?}");
    assert!(points.len() >= 12, "{points:?}");
    let (code, points) = check(&postgres, role, &[]);
    assert_eq!((code, wrong(&points)), (Some(1), vec!["slot"]));

    let mut owner = postgres.owner();
    // The trap: PanDA's own statements fail, and the check names the cause.
    owner.batch_execute("ALTER PUBLICATION yardmaster ADD TABLE harvester_slots").unwrap();
    owner.batch_execute("INSERT INTO harvester_slots VALUES ('Q', 'S', 'SCORE', 1)").unwrap();
    let error = owner.batch_execute("UPDATE harvester_slots SET numslots = 2").unwrap_err();
    let error = error.as_db_error().unwrap().message().to_owned();
    assert!(error.contains("does not have a replica identity"), "{error}");
    let (_, points) = check(&postgres, role, &["--before-start"]);
    assert_eq!(wrong(&points), ["tables", "keys"]);
    owner.batch_execute("ALTER PUBLICATION yardmaster DROP TABLE harvester_slots").unwrap();
    owner.batch_execute("UPDATE harvester_slots SET numslots = 2").unwrap();

    owner.batch_execute("INSERT INTO site VALUES ('S', 'site', 2)").unwrap();
    owner.batch_execute("ALTER TABLE jobsactive4 REPLICA IDENTITY FULL").unwrap();
    let (_, points) = check(&postgres, role, &["--before-start"]);
    assert_eq!(wrong(&points), ["replica_identity"]);
    owner.batch_execute("ALTER TABLE jobsactive4 REPLICA IDENTITY DEFAULT").unwrap();

    owner.batch_execute("GRANT SELECT ON jobsactive4 TO yardmaster_cdc").unwrap();
    let (_, points) = check(&postgres, role, &["--before-start"]);
    assert_eq!(wrong(&points), ["grants"]);
    owner.batch_execute("REVOKE SELECT ON jobsactive4 FROM yardmaster_cdc").unwrap();
    // PostgreSQL takes the grants of columns back with it.
    let (_, points) = check(&postgres, role, &["--before-start"]);
    assert_eq!(wrong(&points), ["grants"]);

    // A slot that is not read.
    let slot = "SELECT pg_create_logical_replication_slot('yardmaster', 'pgoutput')";
    owner.batch_execute(slot).unwrap();
    let (_, points) = check(&postgres, role, &[]);
    assert_eq!(wrong(&points), ["grants", "slot_reader"]);
}

/// Another cluster, and PandaIDs that are given again: both are wrong until the file is removed.
#[test]
fn a_database_that_was_replaced_or_forgot_is_found_by_what_an_earlier_check_saw() {
    let (Some(first), Some(second)) = (Postgres::panda(&[]), Postgres::panda(&[])) else { return };
    let dir = TempDir::new().unwrap();
    let memory = dir.path().join("memory.json");
    let look = |postgres: &Postgres| {
        let words = ["--before-start", "--memory", memory.to_str().unwrap()];
        check(postgres, "yardmaster_cdc", &words).1
    };
    let mut owner = first.owner();
    let sequence = |at: i64| format!("SELECT setval('jobsdefined4_pandaid_seq', {at})");
    owner.batch_execute(&sequence(70)).unwrap();
    let points = look(&first);
    assert_eq!(wrong(&points), [] as [&str; 0]);
    for name in ["source_identity", "source_position", "source_ids"] {
        assert!(points.contains(&(name.to_owned(), "ok".to_owned())), "{points:?}");
    }
    owner.batch_execute(&sequence(69)).unwrap();
    assert_eq!(wrong(&look(&first)), ["source_ids"]);
    // It may be past them again: what was given twice stays so.
    owner.batch_execute(&sequence(71)).unwrap();
    assert_eq!(wrong(&look(&first)), ["source_restored"]);
    std::fs::remove_file(&memory).unwrap();
    assert_eq!(wrong(&look(&first)), [] as [&str; 0]);
    second.owner().batch_execute(&sequence(72)).unwrap();
    let points = look(&second);
    assert!(wrong(&points).contains(&"source_identity"), "{points:?}");
    std::fs::remove_file(&memory).unwrap();
    assert_eq!(wrong(&look(&second)), [] as [&str; 0]);
}

/// Where a table has no key the operator's file publishes nothing, and says which and what to do.
#[test]
fn the_operators_file_publishes_nothing_where_a_table_has_no_key() {
    let Some(postgres) = Postgres::panda(&[]) else { return };
    let mut owner = postgres.owner();
    let none = "ALTER PUBLICATION yardmaster DROP TABLE global_shares";
    owner.batch_execute(none).unwrap();
    owner.batch_execute("ALTER TABLE global_shares DROP CONSTRAINT global_shares_pkey").unwrap();
    let error = postgres.publish("publication.sql").unwrap_err();
    let error = error.as_db_error().unwrap();
    assert!(error.message().starts_with("no primary key: global_shares."), "{error}");
    assert!(error.hint().unwrap().contains("an import brings the same facts"), "{error}");
    let count = "SELECT count(*) FROM pg_publication_tables WHERE tablename = 'global_shares'";
    assert_eq!(owner.query_one(count, &[]).unwrap().get::<_, i64>(0), 0);
}

/// The check reads; it changes nothing, and refuses what it cannot do with the reason.
#[test]
fn a_server_with_other_settings_and_a_wrong_password_are_named() {
    let settings = ["wal_level=replica", "max_slot_wal_keep_size=-1"];
    let Some(postgres) = Postgres::panda(&settings) else { return };
    // A superuser may ask; the role that is looked at is the connector's.
    let (code, points) = check(&postgres, "postgres", &["--before-start"]);
    assert_eq!((code, wrong(&points)), (Some(1), vec!["wal_level", "max_slot_wal_keep_size"]));
    let refused = |url: &str, password: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
            .args(["panda", "check", "--postgres", url])
            .env("PGPASSWORD", password)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = refused(&postgres.url("yardmaster_cdc"), "geheim");
    assert_eq!(code, Some(1));
    let expected = "as yardmaster_cdc: ";
    assert!(error.contains(expected) && error.contains("pg_hba.conf"), "{error}");
    assert!(!error.contains("geheim"), "{error}");
    let (code, error) = refused("postgres://x@127.0.0.1:1/panda_db", "geheim");
    assert_eq!(code, Some(1));
    assert!(error.contains("127.0.0.1:1") && error.contains("refused"), "{error}");
    // One that accepts, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let (code, error) = refused(&format!("postgres://x@{at}/panda_db"), "geheim");
    assert_eq!(code, Some(1));
    assert!(error.contains("no answer within 30 s") && error.contains(&at.to_string()), "{error}");
    let (code, error) = refused("panda_db", "");
    assert_eq!(code, Some(2));
    assert!(error.contains("give postgres://"), "{error}");
}

/// With an authority the connection is encrypted, and the server is the one that the URL names.
#[cfg(feature = "tls")]
#[test]
fn with_an_authority_only_a_server_that_proves_its_name_is_asked() {
    let Some(postgres) = Postgres::panda(&[]) else { return };
    let dir = TempDir::new().unwrap();
    let made = Command::new(script("certificates.sh")).arg(dir.path()).status().unwrap();
    assert!(made.success(), "openssl makes certificates");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let role = "yardmaster_cdc";
    let asked = |ca: &str, url: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
            .args(["panda", "check", "--before-start", "--ca", &path(ca), "--postgres", url])
            .env("PGPASSWORD", PASSWORD)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = asked("ca.pem", &postgres.url(role));
    assert_eq!(code, Some(1));
    assert!(error.contains("does not support TLS"), "{error}");

    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    postgres.encrypt(&read("broker.crt"), &read("broker.key"));
    let (code, error) = asked("ca.pem", &postgres.url(role));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let by_name = postgres.url(role).replace("127.0.0.1", "localhost");
    assert_eq!(asked("ca.pem", &by_name).0, Some(0));
    let (code, error) = asked("other-ca.pem", &postgres.url(role));
    assert_eq!(code, Some(1));
    assert!(error.contains("certificate verify failed"), "{error}");
    // The same server under a name that its certificate does not have.
    let other_name = postgres.url(role).replace("127.0.0.1", "db.synthetic.example");
    let (code, error) = asked("ca.pem", &format!("{other_name}?hostaddr=127.0.0.1"));
    assert_eq!(code, Some(1));
    assert!(error.contains("ostname mismatch"), "{error}");
    let (code, error) = asked("none.pem", &postgres.url(role));
    assert_eq!(code, Some(1));
    assert!(error.contains("--ca") && error.contains("none.pem"), "{error}");
}
