//! PanDA's schema is patched while its changes flow, and a slot is lost under the connector.

use super::captured::changes;
use super::check::{check, found, wrong};
use super::servers::{Connect, Postgres};
use super::writer::{NewJob, Writer};
use crate::kill::SECOND;
use crate::kill::bus::now;
use crate::kill::process::wait_until;
use serde_json::Value;

const ROLE: &str = "yardmaster_cdc";

/// A database whose changes flow; `None`, and says so, where there are no servers.
struct Flow {
    postgres: Postgres,
    bootstrap: String,
    connect: Connect,
    writer: Writer,
    next: i64,
}

impl Flow {
    fn start(settings: &[&str]) -> Option<Flow> {
        let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
            println!("left out: YARDMASTER_TEST_KAFKA names no broker");
            return None;
        };
        let postgres = Postgres::panda(settings)?;
        let connect = Connect::start(&postgres, &bootstrap, &format!("patches-{}", now()))?;
        let writer = Writer::new(postgres.owner());
        Some(Flow { postgres, bootstrap, connect, writer, next: 1 })
    }

    /// The row of another job, as it comes through.
    #[track_caller]
    fn row(&mut self) -> Value {
        let job = self.next;
        self.next += 1;
        let mut new = NewJob::of(job, 45_000_000, "SYNTH_ALPHA", 8);
        new.gshare = format!("share {job}");
        self.writer.insert(&new, now());
        let of_job = || {
            let all = changes(&self.bootstrap, &self.connect.jobs());
            all.into_iter().find(|it| it["after"]["pandaid"] == job).map(|it| it["after"].clone())
        };
        wait_until(120 * SECOND, || format!("job {job}"), || of_job().is_some());
        of_job().unwrap()
    }

    fn check(&self) -> Vec<String> {
        let (_, points) = check(&self.postgres, ROLE, &["--connect", &self.connect.url()]);
        wrong(&points).into_iter().map(ToOwned::to_owned).collect()
    }
}

#[test]
fn pandas_schema_may_be_patched_while_its_changes_flow() {
    let Some(mut flow) = Flow::start(&[]) else { return };
    let mut owner = flow.postgres.owner();
    let has = |row: &Value, column: &str| row.as_object().unwrap().contains_key(column);
    let row = flow.row();
    assert!(row["gshare"] == "share 1" && has(&row, "nucleus") && has(&row, "maxrss"), "{row}");
    assert_eq!(flow.check(), [] as [&str; 0]);

    // Lists stand in the way of a patch; the file that takes them back may be run at any time.
    let patch = "ALTER TABLE jobsdefined4 ALTER COLUMN gshare TYPE varchar(300)";
    if flow.postgres.major() >= 15 {
        flow.postgres.publish("publication-columns.sql").unwrap();
        let error = owner.batch_execute(patch).unwrap_err();
        let error = error.as_db_error().unwrap();
        let what = "in publication yardmaster depends on column \"gshare\"";
        assert!(error.detail().is_some_and(|it| it.contains(what)), "{error:?}");
        assert_eq!(flow.row()["gshare"], "share 2");
        flow.postgres.publish("publication.sql").unwrap();
    }
    owner.batch_execute(patch).unwrap();
    let row = flow.row();
    assert_eq!(row["gshare"], format!("share {}", flow.next - 1));

    // What is gone from the table is gone from its rows, and is named.
    for patch in [
        "ALTER TABLE jobsdefined4 ALTER COLUMN diskio TYPE numeric(20,2)",
        "ALTER TABLE jobsdefined4 ADD COLUMN added varchar",
        "ALTER TABLE jobsdefined4 RENAME COLUMN nucleus TO core",
        "ALTER TABLE jobsdefined4 DROP COLUMN maxrss",
    ] {
        owner.batch_execute(patch).unwrap();
    }
    let row = flow.row();
    assert!(!["nucleus", "core", "maxrss", "added"].iter().any(|it| has(&row, it)), "{row}");
    assert_eq!(flow.check(), ["schema", "grants"], "what was granted under the old name");
    owner.batch_execute("ALTER TABLE jobsdefined4 RENAME COLUMN core TO nucleus").unwrap();
    owner.batch_execute("ALTER TABLE jobsdefined4 ADD COLUMN maxrss bigint").unwrap();
    let row = flow.row();
    assert!(has(&row, "nucleus") && has(&row, "maxrss"), "{row}");
    // A column that was made again is granted to nobody.
    assert_eq!(flow.check(), ["grants"]);
    flow.postgres.publish("publication.sql").unwrap();
    assert_eq!(flow.check(), [] as [&str; 0]);
}

/// Connect states that the connector runs while it waits for its slot; the check names it, and
/// dropping the slot is all that is to be done.
#[test]
fn a_connector_whose_slot_is_lost_is_named_and_goes_on_when_the_slot_is_dropped() {
    let small = ["max_slot_wal_keep_size=16MB", "max_wal_size=32MB", "min_wal_size=32MB"];
    let Some(mut flow) = Flow::start(&small) else { return };
    assert_eq!(flow.row()["gshare"], "share 1");
    assert_eq!(flow.check(), ["max_slot_wal_keep_size"]);
    flow.connect.wait_for_position();
    flow.connect.kill();
    let mut owner = flow.postgres.owner();
    let status = "SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'yardmaster'";
    let is_lost = || {
        let filled = "CREATE TABLE filler AS SELECT repeat(md5(i::text), 30) FROM
            generate_series(1, 20000) i; DROP TABLE filler";
        owner.batch_execute(filled).unwrap();
        owner.batch_execute("SELECT pg_switch_wal(); CHECKPOINT").unwrap();
        owner.query_one(status, &[]).unwrap().get::<_, String>(0) == "lost"
    };
    wait_until(120 * SECOND, || "the slot is kept".to_owned(), is_lost);
    let lost = ["max_slot_wal_keep_size", "slot_wal", "slot_reader", "connector"];
    std::thread::scope(|threads| {
        // Comes back when its task runs.
        let restarted = threads.spawn(|| flow.connect.restart());
        // Connect answers some time after it was started.
        let ask = || found(&flow.postgres, ROLE, &["--connect", &flow.connect.url()]);
        wait_until(60 * SECOND, ask, || ask().contains("RUNNING, and has no task"));
        assert_eq!(flow.check(), lost);
        owner.batch_execute("SELECT pg_drop_replication_slot('yardmaster')").unwrap();
        restarted.join().unwrap();
    });
    assert_eq!(flow.row()["gshare"], "share 2");
    assert_eq!(flow.check(), ["max_slot_wal_keep_size"]);
}
