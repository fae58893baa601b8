//! Servers of one test's own, with the operator's files.

use crate::broker::free_ports;
use crate::kill::SECOND;
use crate::kill::process::wait_until;
use postgres::{Client, NoTls};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The password of the connector's role.
pub const PASSWORD: &str = "a test's";
const DATABASE: &str = "panda_db";

/// A file of the repository.
pub fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn script(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/panda").join(name))
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

/// A PostgreSQL with PanDA's tables; ended when it is dropped.
pub struct Postgres {
    dir: TempDir,
    bin: PathBuf,
    pub port: u16,
}

impl Postgres {
    /// One with these settings beside those that capturing needs; `None`, and says so, where there
    /// is no PostgreSQL.
    pub fn start(settings: &[&str]) -> Option<Postgres> {
        let Some(bin) = std::env::var_os("YARDMASTER_TEST_POSTGRES") else {
            println!("left out: YARDMASTER_TEST_POSTGRES names no PostgreSQL");
            return None;
        };
        let [port] = free_ports();
        let postgres = Postgres { dir: TempDir::new().unwrap(), bin: bin.into(), port };
        let mut start = script("postgres.sh");
        start.arg("start").arg(&postgres.bin).arg(postgres.dir.path()).arg(port.to_string());
        run(start.args(settings));
        Some(postgres)
    }

    /// The same with PanDA's tables, and what the operator's files make.
    pub fn panda(settings: &[&str]) -> Option<Postgres> {
        let postgres = Postgres::start(settings)?;
        let mut client = postgres.client("postgres");
        client.batch_execute(&format!("CREATE DATABASE {DATABASE}")).unwrap();
        let mut client = postgres.client(DATABASE);
        client.batch_execute(&file("tests/panda/schema.sql")).unwrap();
        let quoted = PASSWORD.replace('\'', "''");
        let role =
            file("examples/panda-cdc/role.sql").replace(":'password'", &format!("'{quoted}'"));
        client.batch_execute(&role).unwrap();
        postgres.publish("publication.sql").unwrap();
        Some(postgres)
    }

    /// Runs a file of the operator with the rights of the owner of PanDA's tables, and no others.
    pub fn publish(&self, name: &str) -> Result<(), postgres::Error> {
        let mut client = self.client(DATABASE);
        client.batch_execute("SET ROLE panda")?;
        client.batch_execute(&file(&format!("examples/panda-cdc/{name}")))
    }

    fn client(&self, database: &str) -> Client {
        let port = self.port;
        let url = format!("postgres://postgres:postgres@127.0.0.1:{port}/{database}");
        Client::connect(&url, NoTls).unwrap()
    }

    /// The server's version.
    pub fn major(&self) -> i32 {
        let version = "SELECT current_setting('server_version_num')::int / 10000";
        self.client("postgres").query_one(version, &[]).unwrap().get(0)
    }

    /// A connection that may do all, to PanDA's tables.
    pub fn owner(&self) -> Client {
        let mut client = self.client(DATABASE);
        client.batch_execute("SET search_path = doma_panda; SET timezone = 'UTC'").unwrap();
        client
    }

    /// It encrypts from now on, for those that want it, with this certificate and key.
    pub fn encrypt(&self, certificate: &str, key: &str) {
        let mut client = self.client("postgres");
        for (text, name) in [(certificate, "server.crt"), (key, "server.key")] {
            // The server's own user writes them, into its directory.
            let lines: Vec<String> = text.lines().map(|line| format!("('{line}')")).collect();
            let values = lines.join(", ");
            let write = format!("COPY (VALUES {values}) TO PROGRAM 'umask 077; cat > {name}'");
            client.batch_execute(&write).unwrap();
        }
        client.batch_execute("ALTER SYSTEM SET ssl = on").unwrap();
        client.batch_execute("SELECT pg_reload_conf()").unwrap();
        let is_on = || {
            let mut client = self.client("postgres");
            client.query_one("SHOW ssl", &[]).unwrap().get::<_, String>(0) == "on"
        };
        wait_until(30 * SECOND, || "ssl is off".to_owned(), is_on);
    }

    /// Where a role finds PanDA's database.
    pub fn url(&self, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{DATABASE}", self.port)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = script("postgres.sh").arg("stop").arg(self.dir.path()).output();
    }
}

/// A Kafka Connect with the operator's connector; killed when it is dropped.
pub struct Connect {
    dir: TempDir,
    /// The port of its REST interface.
    rest: u16,
    /// The beginning of its topics' names.
    pub prefix: String,
}

impl Connect {
    /// One that reads this database and writes to this Kafka; `None`, and says so, where there are
    /// no jars to start it from.
    pub fn start(postgres: &Postgres, bootstrap: &str, prefix: &str) -> Option<Connect> {
        let Some(jars) = std::env::var_os("YARDMASTER_TEST_CONNECT") else {
            println!("left out: YARDMASTER_TEST_CONNECT names no Kafka Connect");
            return None;
        };
        let [rest] = free_ports();
        let connect = Connect { dir: TempDir::new().unwrap(), rest, prefix: prefix.to_owned() };
        let secret = connect.dir.path().join("secret.properties");
        std::fs::write(&secret, format!("password={PASSWORD}\n")).unwrap();
        let mut start = script("connect.sh");
        start.arg("start").arg(jars).arg(connect.dir.path()).arg(rest.to_string());
        start.arg(format!("bootstrap.servers={bootstrap}"));
        start.args([
            "--",
            "database.hostname=127.0.0.1",
            "topic.creation.default.replication.factor=1",
            "topic.creation.configuration.replication.factor=1",
        ]);
        start.arg(format!("database.port={}", postgres.port));
        start.arg(format!("database.password=${{file:{}:password}}", secret.display()));
        run(start.arg(format!("topic.prefix={prefix}")));
        Some(connect)
    }

    /// Waits until it has noted a position after its snapshot: killed before, it would begin with
    /// another snapshot.
    #[track_caller]
    pub fn wait_for_position(&self) {
        let noted = || {
            let bytes = std::fs::read(self.dir.path().join("offsets")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let is_noted = || {
            let text = noted();
            text.contains("lsn_commit") && !text.contains("snapshot")
        };
        wait_until(60 * SECOND, || format!("Connect has noted: {}", noted()), is_noted);
    }

    /// Kills it hard.
    pub fn kill(&self) {
        run(script("connect.sh").arg("kill").arg(self.dir.path()));
    }

    /// Starts it again where it was.
    pub fn restart(&self) {
        run(script("connect.sh").arg("restart").arg(self.dir.path()));
    }

    /// Its REST interface.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.rest)
    }

    /// The topic of the jobs.
    pub fn jobs(&self) -> String {
        format!("{}.jobs", self.prefix)
    }

    /// The topic of another table.
    pub fn topic(&self, table: &str) -> String {
        format!("{}.doma_panda.{table}", self.prefix)
    }
}

impl Drop for Connect {
    fn drop(&mut self) {
        let _ = script("connect.sh").arg("kill").arg(self.dir.path()).output();
    }
}
