//! `panda`: what a PanDA that feeds Yardmaster needs, looked at where it is.

mod catalog;
mod connection;
mod connector;
mod memory;
mod passfile;
mod point;
mod publication;
mod role;
mod server;
mod slot;

use super::Ended;
use catalog::{CatalogNames, Database};
use clap::{Args, Subcommand};
use point::{Point, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// The catalogs are read within so long.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Checks what PanDA's side needs so that its changes come.
#[derive(Args)]
pub struct Panda {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    #[command(about = "Whether PanDA's PostgreSQL gives its changes as docs/panda-cdc.md has it")]
    Check(Check),
}

/// Checks PanDA's PostgreSQL for change data capture: the server's settings, the replication slot,
/// the publication, keys and columns of its tables, and the rights of the connector's role; where
/// asked also the connector, and whether the database was restored. Each point is ok, a note, or
/// wrong with a remedy. Reads catalogs in one read-only transaction, no table of PanDA; any role
/// that may connect can run it. Exits 1 if a point is wrong.
///
/// The password is that of the URL, of PGPASSWORD, or of the password file (PGPASSFILE, else
/// ~/.pgpass), in this order.
///
/// Examples:
///   yardmaster panda check --postgres postgres://yardmaster_cdc@panda-db:5432/panda_db
///   yardmaster panda check --postgres postgres://yardmaster_cdc@panda-db/panda_db --ca db-ca.pem
///   yardmaster panda check --postgres postgres://postgres@localhost/panda_db --before-start
///   yardmaster panda check --postgres postgres://yardmaster_cdc@panda-db/panda_db \
///       --connect http://localhost:8083 --memory /var/lib/yardmaster/panda-db.json
#[derive(Args)]
#[command(verbatim_doc_comment)]
struct Check {
    /// PanDA's database, as postgres://USER@HOST:PORT/DATABASE.
    #[arg(long, value_name = "URL")]
    postgres: String,
    /// The authority of the server's certificate: TLS is then required, and certificate and name
    /// are checked. Without it, TLS encrypts if the URL's sslmode and the server have it so, and
    /// nothing is checked.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The schema of PanDA's tables.
    #[arg(long, value_name = "NAME", default_value = "doma_panda")]
    schema: String,
    /// The publication that the connector reads.
    #[arg(long, value_name = "NAME", default_value = "yardmaster")]
    publication: String,
    /// The connector's replication slot.
    #[arg(long, value_name = "NAME", default_value = "yardmaster")]
    slot: String,
    /// The role with which the connector reads.
    #[arg(long, value_name = "NAME", default_value = "yardmaster_cdc")]
    role: String,
    /// Keeps in this file what the database was (system, timeline, place in its log, last PandaID),
    /// and compares with what an earlier check kept: a database that was restored or replaced is
    /// wrong until the file is removed. One file for each server.
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
    /// Kafka Connect's REST interface: looks at the connector and its task, and whether what they
    /// have read is in the database's log.
    #[arg(long, value_name = "URL")]
    connect: Option<String>,
    /// The connector's name there.
    #[arg(long, value_name = "NAME", default_value = "panda-cdc")]
    connector: String,
    /// The connector was not started yet: it is right that its slot is missing.
    #[arg(long)]
    before_start: bool,
    /// One JSON object a line for each point: point, verdict, found, remedy.
    #[arg(long)]
    json: bool,
}

impl Panda {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let Verb::Check(check) = self.verb;
        check.run()
    }
}

impl Check {
    fn run(self) -> Ended {
        let asked = CatalogNames {
            schema: self.schema,
            publication: self.publication,
            slot: self.slot,
            role: self.role,
            is_before_start: self.before_start,
        };
        let asked = Arc::new(asked);
        let connector = self.connect.map(|url| connector::ask(&url, &self.connector));
        let database = read(self.postgres, self.ca, &asked)?;
        let mut points = points(&database, &asked);
        points.extend(connector.iter().flat_map(|it| connector::points(it, &database, &asked)));
        if let Some(path) = self.memory {
            points.extend(memory::look(&path, &database, &asked)?);
        }
        for point in &points {
            println!("{}", if self.json { point.json() } else { point.text() });
        }
        let count = |verdict| points.iter().filter(|point| point.verdict == verdict).count();
        let wrong = count(Verdict::Wrong);
        if !self.json {
            let (ok, notes) = (count(Verdict::Ok), count(Verdict::Note));
            println!("{} points: {ok} ok, {notes} to note, {wrong} wrong", points.len());
        }
        Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Reads the catalogs. A server that accepts a connection and then says nothing is waited for as
/// long as one that is far away.
fn read(url: String, ca: Option<PathBuf>, asked: &Arc<CatalogNames>) -> anyhow::Result<Database> {
    let server = connection::server(&url);
    let (done, answer) = mpsc::channel();
    let asked = Arc::clone(asked);
    crate::thread::spawn("postgres", move || {
        let read = || catalog::read(&mut connection::connect(&url, ca.as_deref())?, &asked);
        // Nobody waits for it any more after the time-out.
        let _ = done.send(read());
    })?;
    let seconds = ANSWER_MAX.as_secs();
    answer.recv_timeout(ANSWER_MAX).unwrap_or_else(|_| {
        Err(anyhow::anyhow!(
            "--postgres: no answer within {seconds} s from {server}: see whether the server, or what \
             stands before it, works"
        ))
    })
}

/// All points, in the order in which they are put right.
fn points(database: &Database, asked: &CatalogNames) -> Vec<Point> {
    let mut points = server::points(database, asked);
    points.extend(publication::points(database, asked));
    points.extend(role::points(database, asked));
    points.extend(slot::points(database, asked));
    points
}

#[cfg(test)]
mod tests;
