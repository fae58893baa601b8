//! Points about the publication: which tables and columns it has, and that PanDA's own writes work.

use crate::cli::panda::catalog::{CatalogNames, Database, Table, published};
use crate::cli::panda::point::Point;
use serde_json::Value;
use yardmaster_wire::dialect::change::wanted::{self, WANTED};

/// All of them.
pub fn points(database: &Database, asked: &CatalogNames) -> Vec<Point> {
    let Some(publication) = &database.publication else {
        let found = format!("{} does not exist", asked.publication);
        let remedy = "run role.sql and publication.sql of examples/panda-cdc in PanDA's database";
        return vec![Point::wrong("publication", found, remedy)];
    };
    vec![
        form(database, asked, publication),
        tables(database, asked),
        keys(database, asked),
        identities(database, asked),
        schema(database, asked),
        columns(database, asked),
    ]
}

/// How it was made.
fn form(database: &Database, asked: &CatalogNames, publication: &Value) -> Point {
    let name = "publication";
    let is = |field: &str| publication[field].as_bool() == Some(true);
    let pub_name = &asked.publication;
    let found = |what: &str| format!("{pub_name} {what}");
    let all = "a table without a key makes PanDA's own UPDATE and DELETE fail: ";
    if is("puballtables") || !database.schemas.is_empty() {
        let remedy = format!("{all}name the tables one by one, as publication.sql has them");
        return Point::wrong(name, found("is for all tables of the database or a schema"), remedy);
    }
    if !is("pubviaroot") {
        let remedy = format!(
            "ALTER PUBLICATION {pub_name} SET (publish_via_partition_root = true): else \
             jobsarchived4 and jedi_tasks come under the names of their partitions"
        );
        return Point::wrong(name, found("publishes partitions by their own names"), remedy);
    }
    if !["pubinsert", "pubupdate", "pubdelete"].into_iter().all(is) {
        let remedy =
            format!("ALTER PUBLICATION {pub_name} SET (publish = 'insert, update, delete')");
        return Point::wrong(name, found("leaves out inserts, updates or deletes"), remedy);
    }
    Point::ok(name, found("publishes tables by name, partitions as their table"))
}

/// Which tables are in it.
fn tables(database: &Database, asked: &CatalogNames) -> Point {
    let name = "tables";
    let published = published(database, asked);
    let has = |table: &str| published.iter().any(|(name, _)| name == table);
    let missing = |is_needed: bool| {
        let wanted = WANTED.iter().filter(|wanted| wanted.is_needed == is_needed);
        wanted.map(|wanted| wanted.table).filter(|table| !has(table)).collect::<Vec<_>>()
    };
    let other: Vec<&str> = published.iter().map(|(name, _)| name.as_str()).collect();
    let other: Vec<&str> = other.into_iter().filter(|it| wanted::of(it).is_none()).collect();
    let filtered = published.iter().filter(|(_, row)| !row["rowfilter"].is_null());
    let filtered: Vec<&str> = filtered.map(|(name, _)| name.as_str()).collect();
    let found = format!("{} published", published.len());
    let with = |what: &str, names: &[&str]| format!("{found}, {what}: {}", names.join(", "));
    let pub_name = &asked.publication;
    if !filtered.is_empty() {
        let remedy =
            "a row that its filter leaves looks like one that was deleted: publish all rows";
        return Point::wrong(name, with("with a filter of rows", &filtered), remedy);
    }
    if !missing(true).is_empty() {
        return Point::wrong(name, with("missing", &missing(true)), "run publication.sql");
    }
    if !other.is_empty() {
        let remedy = format!("nobody reads them: ALTER PUBLICATION {pub_name} DROP TABLE ...");
        return Point::wrong(name, with("not read by Yardmaster", &other), remedy);
    }
    if !missing(false).is_empty() {
        let note = "import these facts from files, as docs/connect.md has it";
        return Point::note(name, with("not published", &missing(false)), note);
    }
    Point::ok(name, found)
}

/// That each has a key: without one PanDA's own writes fail.
fn keys(database: &Database, asked: &CatalogNames) -> Point {
    let name = "keys";
    let published = published(database, asked);
    let is_published = |table: &&Table| published.iter().any(|(name, _)| *name == table.name);
    let keyless: Vec<&str> = database
        .tables
        .iter()
        .filter(is_published)
        .filter(|table| table.key.is_empty() && !table.identities.iter().any(|it| it == "f"))
        .map(|table| table.name.as_str())
        .collect();
    if keyless.is_empty() {
        return Point::ok(name, "each published table has a primary key");
    }
    let remedy = format!(
        "PanDA's UPDATE and DELETE of them fail now: ALTER PUBLICATION {} DROP TABLE {}",
        asked.publication,
        keyless.iter().map(|it| format!("{}.{it}", asked.schema)).collect::<Vec<_>>().join(", ")
    );
    Point::wrong(name, format!("none in {}", keyless.join(", ")), remedy)
}

/// That the replica identity is the default, the primary key, and is published.
fn identities(database: &Database, asked: &CatalogNames) -> Point {
    let name = "replica_identity";
    let published = published(database, asked);
    for table in &database.tables {
        let Some((_, row)) = published.iter().find(|(name, _)| *name == table.name) else {
            continue;
        };
        let at = format!("{}.{}", asked.schema, table.name);
        if let Some(other) = table.identities.iter().find(|it| *it != "d") {
            let found = format!("{other} in {at} or a partition of it");
            let remedy = format!(
                "ALTER TABLE {at} REPLICA IDENTITY DEFAULT (and its partitions): FULL writes each row \
                 twice to the log, and beside a list of columns makes PanDA's UPDATE fail; NOTHING \
                 publishes no key"
            );
            return Point::wrong(name, found, remedy);
        }
        let listed = names(&row["attnames"]);
        let hidden = table.key.iter().find(|key| has_list(row) && !listed.contains(key));
        if let Some(hidden) = hidden {
            let remedy = "PanDA's UPDATE and DELETE fail now: add the key to the list of columns";
            return Point::wrong(name, format!("{at}: {hidden} is not published"), remedy);
        }
    }
    Point::ok(name, "default, the primary key, in all published tables")
}

/// That the tables have the columns that are read.
fn schema(database: &Database, asked: &CatalogNames) -> Point {
    let name = "schema";
    let (mut missing, mut later) = (Vec::new(), Vec::new());
    for table in &database.tables {
        let Some(wanted) = wanted::of(&table.name) else { continue };
        for column in wanted.columns.iter().filter(|it| !table.has(it)) {
            let is_lasting = wanted.lasting().any(|it| it == *column);
            let list = if is_lasting { &mut missing } else { &mut later };
            list.push(format!("{}.{column}", table.name));
        }
    }
    if !missing.is_empty() {
        let remedy = format!(
            "renamed or dropped in {}: what jobs and facts have there stays as it was, and new ones \
             have nothing; rename it back, or ask for a Yardmaster that reads the new name",
            asked.schema
        );
        return Point::wrong(name, format!("missing: {}", few(&missing)), remedy);
    }
    if !later.is_empty() {
        let note = "newer schemas of PanDA have them; without them the facts are less exact";
        return Point::note(name, format!("missing: {}", few(&later)), note);
    }
    Point::ok(name, "the tables have the columns that are read")
}

fn has_list(published: &Value) -> bool {
    published["has_list"].as_bool() == Some(true)
}

/// Which columns are in it: all, or those of a list (15 and later).
fn columns(database: &Database, asked: &CatalogNames) -> Point {
    let name = "columns";
    let mut listed = published(database, asked);
    listed.retain(|(_, row)| has_list(row));
    if listed.is_empty() {
        return Point::ok(name, "whole tables: PanDA's patches may change each of them");
    }
    let (mut missing, mut other) = (Vec::new(), Vec::new());
    for (table, row) in &listed {
        let found = database.tables.iter().find(|it| it.name == *table);
        let (Some(wanted), Some(found)) = (wanted::of(table), found) else { continue };
        let names = names(&row["attnames"]);
        let is_hidden = |it: &&&str| found.has(it) && !names.iter().any(|name| name == **it);
        let hidden = wanted.columns.iter().filter(is_hidden);
        missing.extend(hidden.map(|it| format!("{table}.{it}")));
        let more = names.iter().filter(|it| !wanted.columns.contains(&it.as_str()));
        other.extend(more.map(|it| format!("{table}.{it}")));
    }
    let remedy = "run publication.sql, and publication-columns.sql if lists are wanted (never DROP \
                  PUBLICATION while it is used)";
    if !missing.is_empty() {
        return Point::wrong(name, format!("missing: {}", few(&missing)), remedy);
    }
    if !other.is_empty() {
        let found = format!("published and not read: {}", few(&other));
        return Point::wrong(name, found, remedy);
    }
    let note = "a patch of PanDA's schema that drops one of them or changes its type fails: run \
                publication.sql before it, and both files after it";
    Point::note(name, "lists of those that are read", note)
}

fn names(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(ToOwned::to_owned).collect()
}

/// The first of them, and how many more there are.
pub fn few(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}
