//! A running `demo`, for tests that look at what it serves.

use crate::kill::process::{Ending, PROGRAM};
use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A demo that runs for much longer than a test, and is ended when it is dropped.
pub struct Demo {
    /// Where it serves.
    pub address: SocketAddr,
    process: RefCell<Ending>,
}

impl Demo {
    /// Starts one with its log in a directory, and more flags.
    pub fn start(dir: &Path, more: &[&str]) -> Demo {
        Demo::with(dir, &[&["--scale", "0.02", "--commands", "on"], more].concat())
    }

    /// One of a topology that is built in.
    pub fn of(topology: &str, dir: &Path) -> Demo {
        Demo::with(dir, &["--scale", "0.01", "--topology", topology])
    }

    fn with(dir: &Path, more: &[&str]) -> Demo {
        let mut child = Command::new(PROGRAM)
            .args(["demo", "--hours", "8760", "--http", "127.0.0.1:0", "--dir"])
            .arg(dir)
            .args(more)
            .env_remove("YARDMASTER_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let process = Ending(child);
        let address = lines.find_map(|line| {
            let line = line.ok()?;
            line.strip_prefix("metrics on http://")?.strip_suffix("/metrics")?.parse().ok()
        });
        // What else it prints is read, so that it does not wait.
        std::thread::spawn(move || lines.for_each(drop));
        Demo { address: address.expect("the demo serves HTTP"), process: process.into() }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.process.borrow().0.id()
    }

    /// Whether it still runs, or how it ended.
    pub fn fate(&self) -> String {
        match self.process.borrow_mut().0.try_wait() {
            Ok(None) => "the demo runs".into(),
            Ok(Some(status)) => format!("the demo ended: {status}"),
            Err(error) => format!("the demo: {error}"),
        }
    }
}
