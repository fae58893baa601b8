//! Points about the connector's role: what it needs, and nothing beyond.

use crate::cli::panda::catalog::{CatalogNames, ConnectorRole, Database, published};
use crate::cli::panda::point::Point;
use crate::cli::panda::publication::few;
use yardmaster_wire::dialect::change::wanted;

/// All of them.
pub fn points(database: &Database, asked: &CatalogNames) -> Vec<Point> {
    let Some(role) = &database.role else {
        let found = format!("{} does not exist", asked.role);
        let remedy = "run role.sql and publication.sql of examples/panda-cdc, or name it by --role";
        return vec![Point::wrong("role", found, remedy)];
    };
    vec![attributes(database, asked, role), grants(database, asked, role)]
}

fn attributes(database: &Database, asked: &CatalogNames, role: &ConnectorRole) -> Point {
    let (name, who) = ("role", &asked.role);
    let wrong = |what: &str, remedy: String| Point::wrong(name, format!("{who} {what}"), remedy);
    if role.is_superuser {
        let remedy = format!("ALTER ROLE {who} NOSUPERUSER: it needs REPLICATION and some columns");
        return wrong("is a superuser", remedy);
    }
    if !role.can_login || !role.can_replicate {
        let remedy = format!("ALTER ROLE {who} LOGIN REPLICATION");
        return wrong("may not log in, or not replicate", remedy);
    }
    if !role.can_connect {
        let remedy = format!("GRANT CONNECT ON DATABASE {} TO {who}", database.name);
        return wrong("may not connect to the database", remedy);
    }
    if !role.has_schema {
        let remedy = "run publication.sql again: it grants USAGE".to_owned();
        return wrong("may not use each schema of the tables", remedy);
    }
    Point::ok(name, format!("{who} may log in and replicate, and is no superuser"))
}

/// Checks the columns that it may read: those that are published, and no more.
fn grants(database: &Database, asked: &CatalogNames, role: &ConnectorRole) -> Point {
    let (name, who) = ("grants", &asked.role);
    if role.is_superuser {
        return Point::wrong(name, "all, by being a superuser", "see role");
    }
    let published = published(database, asked);
    let is_published = |table: &str| published.iter().any(|(name, _)| name == table);
    let (mut whole, mut written) = (Vec::new(), Vec::new());
    let (mut missing, mut other) = (Vec::new(), Vec::new());
    for table in &database.tables {
        let Some(wanted) = wanted::of(&table.name) else { continue };
        let at = |column: &str| format!("{}.{column}", table.name);
        whole.extend(table.is_readable_whole.then(|| table.name.clone()));
        written.extend(table.is_writable.then(|| table.name.clone()));
        let readable = |column: &&&str| table.readable.iter().any(|it| it == **column);
        if is_published(&table.name) {
            let not = wanted.columns.iter().filter(|it| table.has(it) && !readable(it));
            missing.extend(not.map(|column| at(column)));
        }
        let more = table.readable.iter().filter(|it| !wanted.columns.contains(&it.as_str()));
        other.extend(more.map(|column| at(column)));
    }
    if !written.is_empty() {
        let remedy = format!("REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON ... FROM {who}");
        return Point::wrong(name, format!("{who} may write {}", few(&written)), remedy);
    }
    if !whole.is_empty() {
        let remedy = format!(
            "a snapshot would read all columns of them: REVOKE SELECT ON ... FROM {who}, then \
             GRANT SELECT (columns), as publication.sql has it"
        );
        return Point::wrong(name, format!("{who} may read all of {}", few(&whole)), remedy);
    }
    if !missing.is_empty() {
        let remedy = "run publication.sql again: a snapshot fails without them";
        return Point::wrong(name, format!("{who} may not read {}", few(&missing)), remedy);
    }
    if !other.is_empty() {
        let remedy = format!("REVOKE SELECT (columns) ON ... FROM {who}: nobody needs them");
        return Point::wrong(name, format!("{who} may also read {}", few(&other)), remedy);
    }
    Point::ok(name, format!("{who} may select what is read, column by column, and no more"))
}
