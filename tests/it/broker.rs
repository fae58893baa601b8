//! A real Kafka of a test's own, for what would disturb the others: other users, a quick log
//! cleaner, several nodes, a death at a chosen moment. `YARDMASTER_TEST_KAFKA_JARS` is a directory
//! with Kafka's jars; without it those tests are left out, and say so.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// A script beside the broker's.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kafka").join(name)
}

/// Ports that nobody listens on, below those that the system gives to outgoing connections.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut at = (since.subsec_nanos() ^ std::process::id().wrapping_mul(7_919)) % 11_000;
    // Held until all are found, so that they differ.
    let mut held = Vec::new();
    while held.len() < N {
        at = (at + 17) % 11_000;
        held.extend(TcpListener::bind(("127.0.0.1", 20_000 + at as u16)));
    }
    std::array::from_fn(|index| held[index].local_addr().unwrap().port())
}

/// Ports and properties that a broker is started with.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Where it listens.
    pub port: u16,
    /// Where its controller listens.
    pub controller: u16,
    /// Further properties of the broker.
    pub properties: String,
    /// Further words for `StorageTool format`.
    pub format: Vec<String>,
}

/// A broker, killed when it is dropped.
pub struct Broker {
    dir: TempDir,
    pub port: u16,
}

/// Whether there are jars to start one from; says so if not.
pub fn is_possible() -> bool {
    let possible = std::env::var_os("YARDMASTER_TEST_KAFKA_JARS").is_some();
    if !possible {
        println!("left out: YARDMASTER_TEST_KAFKA_JARS names no jars to start a broker from");
    }
    possible
}

impl Broker {
    /// Starts one and waits until it listens.
    pub fn start(wanted: &Wanted) -> Broker {
        let jars = std::env::var("YARDMASTER_TEST_KAFKA_JARS").expect("jars");
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("more.properties");
        std::fs::write(&file, &wanted.properties).unwrap();
        let (port, controller) = (wanted.port.to_string(), wanted.controller.to_string());
        let broker = Broker { dir, port: wanted.port };
        let data = broker.data();
        let output = Command::new(script("broker.sh"))
            .args(["start", &jars])
            .arg(&data)
            .args([&port, &controller])
            .arg(&file)
            .args(&wanted.format)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        broker
    }

    /// One with these properties, and ports of its own.
    pub fn with(properties: &str) -> Broker {
        let [port, controller] = free_ports();
        let properties = properties.to_owned();
        Broker::start(&Wanted { port, controller, properties, format: Vec::new() })
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(&self) {
        self.order("stop");
    }

    /// Kills it hard.
    pub fn kill(&self) {
        self.order("kill");
    }

    /// Sends it a signal, by name.
    pub fn signal(&self, name: &str) {
        let pid = std::fs::read_to_string(self.data().join("pid")).unwrap();
        assert!(Command::new("kill").args(["-s", name, pid.trim()]).status().unwrap().success());
    }

    /// Starts it again over what it had written, and waits until it listens.
    pub fn start_again(&self) {
        self.order("restart");
    }

    /// Takes the last batches off a partition, as if they had not been flushed when the machine went
    /// down. The broker must not run.
    pub fn cut_off(&self, topic: &str, partition: u32, batches: usize) {
        let dir = self.data().join("log").join(format!("{topic}-{partition}"));
        let files = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path());
        let (logs, others): (Vec<PathBuf>, Vec<PathBuf>) =
            files.partition(|path| path.extension().is_some_and(|it| it == "log"));
        let [log] = &logs[..] else { panic!("one segment: {logs:?}") };
        // What is known of the end goes too: it is found again from the segment.
        let is_of_end = |path: &&PathBuf| {
            path.extension()
                .is_some_and(|it| ["index", "timeindex", "snapshot"].iter().any(|ext| it == *ext))
        };
        others.iter().filter(is_of_end).for_each(|path| std::fs::remove_file(path).unwrap());
        let bytes = std::fs::read(log).unwrap();
        let (mut at, mut starts) = (0, Vec::new());
        // Each batch: its first offset in 8 bytes, the length of what follows in 4.
        while let Some(length) = bytes.get(at + 8..at + 12) {
            starts.push(at);
            at += 12 + u32::from_be_bytes(length.try_into().unwrap()) as usize;
        }
        let end = starts[starts.len() - batches];
        let file = std::fs::OpenOptions::new().write(true).open(log).unwrap();
        file.set_len(end as u64).unwrap();
        let marks = self.data().join("log");
        for name in ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"] {
            let _ = std::fs::remove_file(marks.join(name));
        }
    }

    fn order(&self, verb: &str) {
        let output = Command::new(script("broker.sh")).arg(verb).arg(self.data()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = Command::new(script("broker.sh")).arg("kill").arg(self.data()).output();
    }
}
