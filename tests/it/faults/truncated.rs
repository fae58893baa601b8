//! A partition that lost its end and was written on since, as on a broker that lost what it had not
//! flushed: it reaches to where it was read, and other records are there.

use super::{answered, must_stop, publish, quick};
use crate::broker::{Broker, is_possible};
use crate::kill::SECOND;
use crate::kill::bus::{Bus, text};
use crate::kill::process::{Process, wait_until, yardmaster};
use yardmaster::core::cut::Topic;

const SAYS: [&str; 3] = [
    "has lost records below offset",
    "an unclean election of a leader",
    "new names in the topology",
];

struct Site {
    broker: Broker,
    bus: Bus,
}

impl Site {
    fn new() -> Option<Site> {
        if !is_possible() {
            return None;
        }
        let broker = Broker::with("");
        let bus = Bus::on(&broker.address(), &[], quick);
        bus.queue("QUEUE_00", 1, 0);
        bus.flush();
        Some(Site { broker, bus })
    }

    fn start(&self) -> Process {
        Process::start(&self.bus.bootstrap, &self.bus.topology, &self.bus.path("store"))
    }

    /// A leader that knows 20 jobs.
    fn with_jobs(&self) -> Process {
        publish(&self.bus, 0..20);
        let process = self.start();
        wait_until(60 * SECOND, || process.logged(), || process.leads());
        self.wait_for(&process, 20);
        process
    }

    /// Waits until this process knows so many jobs.
    fn wait_for(&self, process: &Process, jobs: usize) {
        let wanted = format!("\"jobs_running\":{jobs}");
        let counters = || process.page("/api/v1/counters?by=queue").unwrap_or_default();
        let what = || format!("{}\n{}", counters(), process.logged());
        wait_until(60 * SECOND, what, || counters().contains(&wanted));
    }

    /// Waits until what the process knows is counted by a cycle in the log: what no cycle counted is
    /// not missed.
    fn wait_for_commit(&self, process: &Process) {
        self.bus.ask("1/1", 1, 500);
        self.bus.flush();
        wait_until(60 * SECOND, || process.logged(), || answered(&self.bus).contains("1/1"));
    }

    /// Kills the broker, takes the last batches of each partition of job states, and starts it
    /// again.
    fn cut_off(&self, batches: usize) {
        self.cut_off_of(Topic::JobState, 2, batches);
    }

    fn cut_off_of(&self, topic: Topic, partitions: u32, batches: usize) {
        self.broker.kill();
        for partition in 0..partitions {
            self.broker.cut_off(&self.bus.topic(topic), partition, batches);
        }
        self.broker.start_again();
    }
}

#[test]
fn a_leader_that_runs_stops_and_so_does_one_that_goes_on_from_its_store() {
    let Some(site) = Site::new() else { return };
    let process = site.with_jobs();
    site.wait_for_commit(&process);
    site.cut_off(3);
    publish(&site.bus, 100..140);
    // It may look before anything is written on.
    must_stop(process, &SAYS[1..]);
    must_stop(site.start(), &SAYS);
    std::fs::remove_dir_all(site.bus.path("store")).unwrap();
    must_stop(site.start(), &SAYS);
}

#[test]
#[ignore = "a part of the test before: test.sh --long"]
fn one_that_did_not_run_meanwhile_stops_at_its_start() {
    let Some(site) = Site::new() else { return };
    let process = site.with_jobs();
    assert_eq!(process.stop().code(), Some(0));
    site.cut_off(3);
    publish(&site.bus, 100..140);
    must_stop(site.start(), &SAYS);
}

/// Answers of a cycle that is lost were read by others: they are not given otherwise.
#[test]
fn one_whose_last_cycles_are_lost_stops_at_its_start_also_when_others_followed() {
    let Some(site) = Site::new() else { return };
    let process = site.with_jobs();
    assert_eq!(process.stop().code(), Some(0));
    // Of a transaction there is a batch, and one that ends it.
    site.cut_off_of(Topic::Progress, 1, 2);
    let says = ["progress[0] has lost cycle", SAYS[1], SAYS[2]];
    must_stop(site.start(), &says);
    // Nor is it of help that there are as many again.
    let store = site.bus.path("other");
    let other = Process::start(&site.bus.bootstrap, &site.bus.topology, &store);
    wait_until(60 * SECOND, || other.logged(), || other.leads());
    site.wait_for(&other, 20);
    std::thread::sleep(6 * SECOND);
    assert_eq!(other.stop().code(), Some(0));
    must_stop(site.start(), &says);
}

/// Records that nobody had read may go: the others are counted, and a process is compared with a
/// recount.
#[test]
fn what_was_cut_off_before_it_was_read_is_not_missed() {
    let Some(site) = Site::new() else { return };
    let process = site.with_jobs();
    assert_eq!(process.stop().code(), Some(0));
    publish(&site.bus, 20..60);
    site.cut_off(2);
    publish(&site.bus, 100..110);
    let process = site.start();
    wait_until(60 * SECOND, || process.logged(), || process.leads());
    site.wait_for(&process, 66);
    let store = site.bus.path("store");
    let args = [&["audit", "--store", text(&store)], &site.bus.place()[..]].concat();
    let audit = yardmaster(&args);
    let audit = String::from_utf8_lossy(&audit.stdout).into_owned();
    assert!(audit.contains("compared with the process, 0 drifted"), "{audit}");
    assert_eq!(process.stop().code(), Some(0));
}
