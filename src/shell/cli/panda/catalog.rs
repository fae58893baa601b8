//! Reads PostgreSQL's catalogs: the publication, its tables, the slot and the role. Rows are read
//! as JSON objects, whose columns may differ between versions.

use anyhow::Context;
use postgres::{Client, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_wire::dialect::change::wanted::WANTED;

/// Names of the objects that are looked for.
#[derive(Clone, Debug, Default)]
pub struct CatalogNames {
    pub schema: String,
    pub publication: String,
    pub slot: String,
    pub role: String,
    /// The connector was not started yet.
    pub is_before_start: bool,
}

/// Objects and settings that were found.
#[derive(Clone, Debug, Default)]
pub struct Database {
    pub name: String,
    pub is_standby: bool,
    pub source: DatabaseMarks,
    /// Settings by name, in their own units; what this version does not have is missing.
    pub settings: BTreeMap<String, String>,
    pub slots: i64,
    pub senders: i64,
    pub slot: Option<Slot>,
    /// `pg_publication`'s row.
    pub publication: Option<Value>,
    /// Schemas that are published as a whole.
    pub schemas: Vec<String>,
    /// `pg_publication_tables`' rows; `has_list` where the columns are listed.
    pub published: Vec<Value>,
    /// The tables of PanDA's schema that are read or published.
    pub tables: Vec<Table>,
    pub role: Option<ConnectorRole>,
}

/// Marks by which a database that was restored or replaced differs from what it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DatabaseMarks {
    /// The number that initdb gave the cluster; `None` where the role may not read it.
    pub system: Option<String>,
    /// Rises when a standby is promoted, or a backup was recovered to some point.
    pub timeline: Option<i64>,
    /// Place in the log.
    pub position: i64,
    /// The last PandaID that was given; `None` where there is none, or the role may not read it.
    pub job: Option<i64>,
}

/// The replication slot.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// `pg_replication_slots`' row.
    pub row: Value,
    /// WAL written since what the connector confirmed, bytes.
    pub lag: Option<i64>,
    /// WAL that is kept for it, bytes.
    pub kept: Option<i64>,
    /// Seconds since it became inactive (17 and later).
    pub inactive_s: Option<i64>,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub name: String,
    pub columns: Vec<String>,
    /// Columns of the primary key.
    pub key: Vec<String>,
    /// Replica identities (`d`, `f`, `i`, `n`) of the table and its partitions.
    pub identities: Vec<String>,
    /// Columns that the role may read.
    pub readable: Vec<String>,
    /// Whether the role may read the table, whatever columns it gets.
    pub is_readable_whole: bool,
    pub is_writable: bool,
}

/// The connector's role.
#[derive(Clone, Debug, Default)]
pub struct ConnectorRole {
    pub can_login: bool,
    pub can_replicate: bool,
    pub is_superuser: bool,
    pub can_connect: bool,
    pub has_schema: bool,
}

/// The rows of `pg_publication_tables` by table, those of other schemas with it before the name.
pub fn published<'a>(database: &'a Database, asked: &CatalogNames) -> Vec<(String, &'a Value)> {
    let name = |row: &Value| {
        let field = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let (schema, table) = (field("schemaname"), field("tablename"));
        if schema == asked.schema { table } else { format!("{schema}.{table}") }
    };
    database.published.iter().map(|row| (name(row), row)).collect()
}

impl Table {
    /// Whether it has a column.
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|it| it == column)
    }
}

impl Database {
    /// A setting as a number; `None` if this version does not have it.
    pub fn number(&self, setting: &str) -> Option<i64> {
        self.settings.get(setting)?.parse().ok()
    }

    pub fn text(&self, setting: &str) -> &str {
        self.settings.get(setting).map_or("", String::as_str)
    }

    /// The major version.
    pub fn major(&self) -> i64 {
        self.number("server_version_num").unwrap_or(0) / 10_000
    }
}

const SETTINGS: [&str; 8] = [
    "server_version",
    "server_version_num",
    "wal_level",
    "max_replication_slots",
    "max_wal_senders",
    "max_slot_wal_keep_size",
    "hot_standby_feedback",
    "idle_replication_slot_timeout",
];

/// Who may run the functions can be changed. Sequences that the role may not read have null.
const SOURCE: &str = "
    SELECT CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
            THEN (SELECT system_identifier::text FROM pg_control_system()) END,
        CASE WHEN has_function_privilege('pg_control_checkpoint()', 'EXECUTE')
            THEN (SELECT timeline_id::bigint FROM pg_control_checkpoint()) END,
        pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery()
            THEN COALESCE(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
            ELSE pg_current_wal_lsn() END, '0/0')::bigint,
        (SELECT last_value FROM pg_sequences
            WHERE schemaname = $1 AND sequencename = 'jobsdefined4_pandaid_seq')";

const SLOT: &str = "
    WITH here AS (SELECT CASE WHEN pg_is_in_recovery()
        THEN COALESCE(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
        ELSE pg_current_wal_lsn() END AS lsn)
    SELECT to_jsonb(s)::text,
        pg_wal_lsn_diff(here.lsn, s.confirmed_flush_lsn)::bigint,
        pg_wal_lsn_diff(here.lsn, s.restart_lsn)::bigint,
        EXTRACT(epoch FROM now() - (to_jsonb(s)->>'inactive_since')::timestamptz)::bigint
    FROM pg_replication_slots s, here WHERE s.slot_name = $1";

const TABLES: &str = "
    SELECT c.oid, CASE WHEN n.nspname = $1 THEN '' ELSE n.nspname || '.' END || c.relname,
        ARRAY(SELECT a.attname::text FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
        ARRAY(SELECT a.attname::text FROM pg_index i
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = c.oid AND i.indisprimary),
        ARRAY(SELECT DISTINCT l.relreplident::text FROM pg_class l WHERE l.oid = c.oid
            OR l.oid IN (SELECT relid FROM pg_partition_tree(c.oid)))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND (n.nspname = $1 AND c.relname = ANY ($2)
        OR n.nspname || '.' || c.relname = ANY ($2))
    ORDER BY c.relname";

const RIGHTS: &str = "
    SELECT ARRAY(SELECT a.attname::text FROM pg_attribute a
            WHERE a.attrelid = $2::oid AND a.attnum > 0 AND NOT a.attisdropped
            AND has_column_privilege($1::oid, $2::oid, a.attnum, 'SELECT')),
        has_table_privilege($1::oid, $2::oid, 'SELECT'),
        has_table_privilege($1::oid, $2::oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            OR has_any_column_privilege($1::oid, $2::oid, 'INSERT, UPDATE')";

const ROLE: &str = "
    SELECT r.oid, r.rolcanlogin, r.rolreplication, r.rolsuper,
        has_database_privilege(r.oid, current_database(), 'CONNECT'),
        COALESCE((SELECT bool_and(has_schema_privilege(r.oid, n.oid, 'USAGE'))
            FROM pg_namespace n WHERE n.nspname = $2 OR n.nspname IN (
                SELECT schemaname FROM pg_publication_tables WHERE pubname = $3)), false)
    FROM pg_roles r WHERE r.rolname = $1";

/// Reads all of it in one read-only transaction.
///
/// # Errors
/// The connection ends, or the server is none that has these catalogs.
pub fn read(client: &mut Client, asked: &CatalogNames) -> anyhow::Result<Database> {
    let mut transaction = client.build_transaction().read_only(true).start()?;
    let mut database = server(&mut transaction).context("reading the server's settings")?;
    database.source = source(&mut transaction, asked).context("reading its position")?;
    database.slot = slot(&mut transaction, asked).context("reading pg_replication_slots")?;
    publication(&mut transaction, asked, &mut database).context("reading pg_publication")?;
    tables(&mut transaction, asked, &mut database).context("reading the tables")?;
    transaction.rollback()?;
    Ok(database)
}

fn server(transaction: &mut Transaction) -> anyhow::Result<Database> {
    let row = transaction.query_one(
        "SELECT current_database()::text, pg_is_in_recovery(),
            (SELECT count(*) FROM pg_replication_slots),
            (SELECT count(*) FROM pg_stat_replication)",
        &[],
    )?;
    let names: Vec<&str> = SETTINGS.to_vec();
    let settings = "SELECT name, setting FROM pg_settings WHERE name = ANY ($1)";
    let settings = transaction.query(settings, &[&names])?;
    Ok(Database {
        name: row.try_get(0)?,
        is_standby: row.try_get(1)?,
        slots: row.try_get(2)?,
        senders: row.try_get(3)?,
        settings: settings
            .iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
            .collect::<anyhow::Result<_>>()?,
        ..Database::default()
    })
}

fn source(transaction: &mut Transaction, asked: &CatalogNames) -> anyhow::Result<DatabaseMarks> {
    let row = transaction.query_one(SOURCE, &[&asked.schema])?;
    Ok(DatabaseMarks {
        system: row.try_get(0)?,
        timeline: row.try_get(1)?,
        position: row.try_get(2)?,
        job: row.try_get(3)?,
    })
}

fn slot(transaction: &mut Transaction, asked: &CatalogNames) -> anyhow::Result<Option<Slot>> {
    let Some(row) = transaction.query_opt(SLOT, &[&asked.slot])? else { return Ok(None) };
    Ok(Some(Slot {
        row: object(row.try_get(0)?)?,
        lag: row.try_get(1)?,
        kept: row.try_get(2)?,
        inactive_s: row.try_get(3)?,
    }))
}

fn object(text: &str) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(text)?)
}

fn publication(
    transaction: &mut Transaction,
    asked: &CatalogNames,
    database: &mut Database,
) -> anyhow::Result<()> {
    let name = &asked.publication;
    let row = "SELECT to_jsonb(p)::text FROM pg_publication p WHERE pubname = $1";
    let Some(row) = transaction.query_opt(row, &[name])? else { return Ok(()) };
    database.publication = Some(object(row.try_get(0)?)?);
    // A list of columns can be given from 15 on: before, the field is missing.
    let rows = "SELECT (to_jsonb(t) || jsonb_build_object('has_list', EXISTS (
            SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
            JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE p.pubname = t.pubname AND to_jsonb(r)->>'prattrs' IS NOT NULL
                AND n.nspname = t.schemaname AND c.relname = t.tablename)))::text
        FROM pg_publication_tables t WHERE pubname = $1";
    for row in transaction.query(rows, &[name])? {
        database.published.push(object(row.try_get(0)?)?);
    }
    // Whole schemas can be published from 15 on.
    if database.major() >= 15 {
        let rows = "SELECT n.nspname::text FROM pg_publication_namespace x
            JOIN pg_publication p ON p.oid = x.pnpubid JOIN pg_namespace n ON n.oid = x.pnnspid
            WHERE p.pubname = $1";
        for row in transaction.query(rows, &[name])? {
            database.schemas.push(row.try_get(0)?);
        }
    }
    Ok(())
}

fn tables(
    transaction: &mut Transaction,
    asked: &CatalogNames,
    database: &mut Database,
) -> anyhow::Result<()> {
    let mut role = None;
    let of_role = [&asked.role, &asked.schema, &asked.publication];
    if let Some(row) = transaction.query_opt(ROLE, &of_role.map(|it| it as _))? {
        role = Some(row.try_get::<_, u32>(0)?);
        database.role = Some(ConnectorRole {
            can_login: row.try_get(1)?,
            can_replicate: row.try_get(2)?,
            is_superuser: row.try_get(3)?,
            can_connect: row.try_get(4)?,
            has_schema: row.try_get(5)?,
        });
    }
    let mut names: Vec<String> = WANTED.iter().map(|wanted| wanted.table.to_owned()).collect();
    names.extend(published(database, asked).into_iter().map(|(name, _)| name));
    let rows = transaction.query(TABLES, &[&asked.schema, &names])?;
    for row in rows {
        let mut table = Table {
            name: row.try_get(1)?,
            columns: row.try_get(2)?,
            key: row.try_get(3)?,
            identities: row.try_get(4)?,
            ..Table::default()
        };
        if let Some(role) = role {
            let rights = transaction.query_one(RIGHTS, &[&role, &row.try_get::<_, u32>(0)?])?;
            table.readable = rights.try_get(0)?;
            table.is_readable_whole = rights.try_get(1)?;
            table.is_writable = rights.try_get(2)?;
        }
        database.tables.push(table);
    }
    Ok(())
}
