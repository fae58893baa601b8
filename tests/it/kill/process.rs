//! A running `yardmaster`, and what can be done to one.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// The program.
pub fn yardmaster(args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).output().expect("the program")
}

/// Where the program lies.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_yardmaster");

/// `yardmaster run`, killed when it is dropped.
pub struct Process {
    child: Child,
    store: PathBuf,
    log: PathBuf,
}

/// State in `/readyz`, as far as the tests ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    pub leading: bool,
    pub speaks: bool,
    pub epoch: u64,
}

impl Process {
    /// Starts one with a store of its own; what it logs goes to a file beside the store.
    pub fn start(bootstrap: &str, topology: &Path, store: &Path) -> Process {
        Process::start_by(Command::new(PROGRAM), bootstrap, topology, store, &[])
    }

    /// The same with more flags, and by another command (a shell with limits, say) that takes the
    /// program's arguments.
    pub fn start_by(
        mut command: Command,
        bootstrap: &str,
        topology: &Path,
        store: &Path,
        more: &[&str],
    ) -> Process {
        command.args(["run", "--bootstrap-server", bootstrap, "--topology"]).arg(topology);
        command.args(more);
        Process::spawn(command, store)
    }

    /// A `run` with all its flags but for those of its store and of HTTP.
    pub fn spawn(mut command: Command, store: &Path) -> Process {
        let log = store.with_extension("log");
        let stderr: File = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        // The addresses of an earlier life would be taken for this one's.
        let of_domains = std::fs::read_dir(store).into_iter().flatten().flatten();
        let folders = of_domains.map(|it| it.path()).chain([store.to_owned()]);
        folders.for_each(|it| drop(std::fs::remove_file(it.join("address"))));
        let child = command
            .args(["--http", "127.0.0.1:0", "--store"])
            .arg(store)
            .stdin(Stdio::null())
            .stderr(stderr)
            .spawn()
            .expect("the program");
        Process { child, store: store.to_owned(), log }
    }

    /// SIGKILL; it must have been alive until now.
    pub fn kill(mut self) {
        self.must_live();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and how it ended; within 40 s.
    pub fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        self.end(Duration::from_secs(40))
    }

    /// Waits until it ends, by itself or on demand.
    #[track_caller]
    pub fn end(&mut self, limit: Duration) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < limit, "no end after {limit:?}: {}", self.logged());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Everything that was logged beside this store.
    pub fn all_logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success(), "kill -s {name} {pid}");
    }

    /// Fails if it ended.
    pub fn must_live(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            panic!(
                "the process ended by itself ({status}); the end of its log:\n{}",
                self.logged()
            );
        }
    }

    /// Where it can be asked, as its store has it; `None` while it cannot.
    pub fn address(&self) -> Option<SocketAddr> {
        address_in(&self.store)
    }

    /// The same of a process of several domains, as the store of one of them has it.
    pub fn address_for(&self, domain: &str) -> Option<SocketAddr> {
        address_in(&self.store.join(domain))
    }

    /// Its answer when it is asked for a page; `None` while it gives none.
    pub fn page(&self, path: &str) -> Option<String> {
        get(self.address()?, path)
    }

    /// Answer of a process of several domains about one of them; `path` has no query.
    pub fn page_of(&self, domain: &str, path: &str) -> Option<String> {
        get(self.address_for(domain)?, &format!("{path}?domain={domain}"))
    }

    /// Whether a process of several domains leads one of them and may speak there.
    pub fn leads_in(&self, domain: &str) -> bool {
        let answer = self.page_of(domain, "/readyz").unwrap_or_default();
        let body: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
        body["state"]["leading"] == true && body["ready"] == true
    }

    /// Its state by its own answer; `None` while it gives none.
    pub fn ready(&self) -> Option<Ready> {
        let body: serde_json::Value = serde_json::from_str(&self.page("/readyz")?).ok()?;
        Some(Ready {
            leading: body["state"]["leading"].as_bool()?,
            speaks: body["ready"].as_bool()?,
            epoch: body["state"]["epoch"].as_u64()?,
        })
    }

    /// Whether it leads and may speak.
    pub fn leads(&self) -> bool {
        self.ready().is_some_and(|ready| ready.leading && ready.speaks)
    }

    /// The end of its log.
    pub fn logged(&self) -> String {
        let text = self.all_logged();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

/// Where the process that holds a store can be asked: what stands before a query names its server.
fn address_in(store: &Path) -> Option<SocketAddr> {
    let text = std::fs::read_to_string(store.join("address")).ok()?;
    text.trim().split('/').next()?.parse().ok()
}

/// The body of an answer; `None` if there is none.
pub fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

/// A child that ends with this, also where a test fails before it ended it.
pub struct Ending(pub Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so; fails after `limit` with what `what` says. A look that takes long is
/// taken seldom, so that looking leaves the processor to what is looked at.
#[track_caller]
pub fn wait_until(limit: Duration, what: impl Fn() -> String, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    loop {
        let look = Instant::now();
        if is_so() {
            return;
        }
        let nap = (4 * look.elapsed()).clamp(Duration::from_millis(50), Duration::from_secs(2));
        assert!(start.elapsed() < limit, "not within {limit:?}: {}", what());
        std::thread::sleep(nap);
    }
}
