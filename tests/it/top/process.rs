//! `top --once` of a process that runs: its figures are those of the records that the log was given.

use super::top;
use crate::drive::yard;
use crate::kill::bus::now;
use crate::kill::process::{Ending, PROGRAM, wait_until};
use std::cell::RefCell;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Configured, JobState, Pilot, Queue, Status, Task};
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, DirWriter, Mode};
use yardmaster::wire::record;
use yardmaster::wire::topology::{ATLAS, Topology};

const TOKEN: &str = "a-token-of-a-test-0123456789";
const QUEUE: &str = "QUEUE_00";

/// Jobs of the queue, and those that a request brings.
const RUNNING: u32 = 5;
const QUEUED: u32 = 3;
const REQUESTED: u32 = 2;

/// Input topics that are written before a process starts.
pub(super) struct Inputs(DirWriter);

impl Inputs {
    /// A new log with the topics of a topology.
    pub(super) fn create(dir: &Path, topology: &Topology) -> Inputs {
        let topic = |topic: Topic| {
            let settings = topology.topic(topic);
            DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
        };
        let topics: Vec<DirTopic> = Topic::read().map(topic).collect();
        let log = DirLog::open(dir, Mode::Write, &topics, DirOptions::default()).unwrap();
        Inputs(log.writer().unwrap())
    }

    pub(super) fn flush(&mut self) {
        self.0.flush().unwrap();
    }

    pub(super) fn append(&mut self, topic: Topic, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        let mut value = Vec::new();
        write(&mut value);
        let lane = Lane::new(topic, 0);
        self.0.append(lane, Some(key.as_bytes()), Some(&value), &[], now()).unwrap();
    }

    pub(super) fn configure<T: Configured>(&mut self, record: &T) {
        self.append(T::TOPIC, &record.name(), |out| record::write(out, record));
    }

    fn jobs(&mut self, status: Status, count: u32) {
        for number in 0..count {
            let (id, at) = (format!("{}-{number}", status.name()), now());
            let job = yard::job(&id, QUEUE, "", status, at);
            let started_at = if status == Status::Running { at } else { job.started_at };
            let job = JobState { task: "0", cores: 8, started_at, ..job };
            self.append(Topic::JobState, &id, |out| record::write(out, &job));
        }
    }
}

/// A log of one queue with jobs, and of one request.
fn write_log(dir: &Path) {
    let mut inputs = Inputs::create(dir, &Topology::parse("atlas", ATLAS).unwrap());
    let queue = Queue { cores: 1, ..yard::queue(QUEUE, now()) };
    inputs.configure(&yard::storage(&queue.endpoints.write[0], &queue.site, now()));
    inputs.configure(&queue);
    let pilot = Pilot::AskedJob { queue: QUEUE, node: "node1", at: now() };
    inputs.append(Topic::Pilot, QUEUE, |out| record::write(out, &pilot));
    inputs.jobs(Status::Running, RUNNING);
    inputs.jobs(Status::Activated, QUEUED);
    let task = Task { core_count: Some(1), ..yard::task("4711/1", REQUESTED, now()) };
    inputs.append(Topic::Task, "4711/1", |out| record::write(out, &task));
    inputs.flush();
}

/// The columns of the queue's line, by their heads.
fn figures(frame: &str) -> Option<Vec<(String, String)>> {
    let words = |start: &str| -> Option<Vec<String>> {
        let line = frame.lines().find(|line| line.starts_with(start))?;
        Some(line.split_whitespace().map(str::to_owned).collect())
    };
    Some(words("queue ")?.into_iter().zip(words(QUEUE)?).collect())
}

#[test]
fn the_figures_of_a_queue_are_those_of_its_jobs_and_reservations() {
    let dir = TempDir::new().unwrap();
    let (yard, tokens) = (dir.path().join("yard"), dir.path().join("tokens"));
    write_log(&yard);
    std::fs::write(&tokens, TOKEN).unwrap();
    let log = dir.path().join("log");
    let child = Command::new(PROGRAM)
        .args(["run", "--http", "127.0.0.1:0", "--dir"])
        .arg(&yard)
        .arg("--http-token-file")
        .arg(&tokens)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let _run = Ending(child);
    let store = yard.join("store");
    let [store, tokens] = [&store, &tokens].map(|path| path.to_str().unwrap());
    let with_token = ["--once", "--store", store, "--http-token-file", tokens];
    let frame = RefCell::new(String::new());
    let seen = || format!("{}\n{}", frame.borrow(), std::fs::read_to_string(&log).unwrap());
    wait_until(Duration::from_secs(60), seen, || {
        *frame.borrow_mut() = top(&with_token).1;
        frame.borrow().contains("  assign") && figures(&frame.borrow()).is_some()
    });
    let frame = frame.into_inner();
    let figures = figures(&frame).unwrap();
    let figure = |head: &str| {
        let found = figures.iter().find(|(name, _)| name == head);
        found.unwrap_or_else(|| panic!("no column {head}: {frame}")).1.as_str()
    };
    assert_eq!(figure("running"), RUNNING.to_string(), "{frame}");
    assert_eq!(figure("queued"), QUEUED.to_string(), "{frame}");
    assert_eq!(figure("reserved"), REQUESTED.to_string(), "{frame}");
    assert_eq!(figure("r.cores"), (8 * RUNNING).to_string(), "{frame}");
    assert_eq!(figure("status"), "online", "{frame}");
    assert!(frame.contains("4711/1"), "{frame}");
    // Without the token nothing is shown.
    let (code, frame, errors) = top(&["--once", "--store", store]);
    assert_eq!((code, frame.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains("--http-token-file"), "{errors}");
}
