//! Reads PostgreSQL's catalogs: the publication, its tables, the slot and the role. Rows are read
//! as JSON objects, whose columns may differ between versions.

use crate::cli::panda::wanted::WANTED;
use anyhow::Context;
use postgres::{Client, Transaction};
use serde_json::Value;
use std::collections::BTreeMap;

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
    /// Settings by name, in their own units; what this version does not have is missing.
    pub settings: BTreeMap<String, String>,
    pub slots: i64,
    pub senders: i64,
    pub slot: Option<Slot>,
    /// `pg_publication`'s row.
    pub publication: Option<Value>,
    /// Schemas that are published as a whole.
    pub schemas: Vec<String>,
    /// `pg_publication_tables`' rows.
    pub published: Vec<Value>,
    /// The tables of PanDA's schema that are read or published.
    pub tables: Vec<Table>,
    pub role: Option<ConnectorRole>,
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
    SELECT c.oid, c.relname::text,
        ARRAY(SELECT a.attname::text FROM pg_index i
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = c.oid AND i.indisprimary),
        ARRAY(SELECT DISTINCT l.relreplident::text FROM pg_class l WHERE l.oid = c.oid
            OR l.oid IN (SELECT relid FROM pg_partition_tree(c.oid)))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND c.relname = ANY ($2)
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
        COALESCE((SELECT has_schema_privilege(r.oid, n.oid, 'USAGE')
            FROM pg_namespace n WHERE n.nspname = $2), false)
    FROM pg_roles r WHERE r.rolname = $1";

/// Reads all of it in one read-only transaction.
///
/// # Errors
/// The connection ends, or the server is none that has these catalogs.
pub fn read(client: &mut Client, asked: &CatalogNames) -> anyhow::Result<Database> {
    let mut transaction = client.build_transaction().read_only(true).start()?;
    let mut database = server(&mut transaction).context("reading the server's settings")?;
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
    let rows = "SELECT to_jsonb(t)::text FROM pg_publication_tables t WHERE pubname = $1";
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
    if let Some(row) = transaction.query_opt(ROLE, &[&asked.role, &asked.schema])? {
        role = Some(row.try_get::<_, u32>(0)?);
        database.role = Some(ConnectorRole {
            can_login: row.try_get(1)?,
            can_replicate: row.try_get(2)?,
            is_superuser: row.try_get(3)?,
            can_connect: row.try_get(4)?,
            has_schema: row.try_get(5)?,
        });
    }
    let mut names: Vec<&str> = WANTED.iter().map(|wanted| wanted.table).collect();
    names.extend(database.published.iter().filter_map(|row| row["tablename"].as_str()));
    let rows = transaction.query(TABLES, &[&asked.schema, &names])?;
    for row in rows {
        let mut table = Table {
            name: row.try_get(1)?,
            key: row.try_get(2)?,
            identities: row.try_get(3)?,
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
