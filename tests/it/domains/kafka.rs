//! Two domains on a real Kafka: in one process, and in one process each.

use crate::kill::bus::{Bus, act_at_once, parts, text};
use crate::kill::process::{PROGRAM, Process, wait_until};
use crate::kill::witness::{commands, decisions, glance};
use crate::kill::{Dice, SECOND, hasty, settle_accounts, wait_for_answers};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::output::progress::Progress;
use yardmaster::wire::avro::Codec;

/// Requests of each domain before each kill.
const REQUESTS: usize = 40;
/// Kills; twice as many with YARDMASTER_LONG.
fn kills() -> usize {
    if std::env::var_os("YARDMASTER_LONG").is_some() { 4 } else { 2 }
}

/// Two domains that read requests from one topic, as two that share what is safe to share.
struct Pair {
    buses: [Bus; 2],
    /// Subjects of the requests of each.
    subjects: [BTreeSet<String>; 2],
}

impl Pair {
    /// `None`, and says so, when no broker is named.
    fn new() -> Option<Pair> {
        let quick = |file: &mut Table| {
            parts(file, hasty);
            act_at_once(file);
        };
        let one = Bus::real_with(quick)?;
        let task = one.topic(Topic::Task);
        let other = Bus::real_with(|file| {
            quick(file);
            super::set(file, ["topics", "task"], "name", &task);
        })?;
        for bus in [&one, &other] {
            // Room for all that is asked.
            (0..8).for_each(|at| bus.queue(&format!("QUEUE_{at:02}"), 1, 200));
            (0..10).for_each(|at| bus.old_job(&(900_000 + at).to_string()));
            bus.flush();
        }
        Some(Pair { buses: [one, other], subjects: Default::default() })
    }

    /// Requests of both domains: half of them under the same names, half under names of its own.
    fn ask(&mut self) {
        let shared = &self.buses[0];
        for number in self.subjects[0].len()..self.subjects[0].len() + REQUESTS {
            for (at, bus) in self.buses.iter().enumerate() {
                let task = if number % 2 == 0 { 1 } else { 2 + at };
                let subject = format!("{task}/{number}");
                let write = |out: &mut Vec<u8>| bus.request(&subject, 1, 500, out);
                shared.publish(Topic::Task, &subject, write);
                self.subjects[at].insert(subject);
            }
        }
        shared.flush();
    }

    /// Waits until both domains, or the first alone, have answered all.
    fn wait(&self, domains: usize, processes: &mut [Process]) {
        for (bus, subjects) in self.buses.iter().zip(&self.subjects).take(domains) {
            wait_for_answers(bus, subjects, processes);
        }
    }

    /// One process for both.
    fn start(&self, store: &Path) -> Process {
        let [one, other] = &self.buses;
        let more = ["--topology", text(&other.topology)];
        Process::start_by(Command::new(PROGRAM), &one.bootstrap, &one.topology, store, &more)
    }

    /// Each domain has answered all its requests without a gap, its outputs can be made again, its
    /// counters are right, and no record on its own topics is of the other domain.
    fn check(&self, stores: [&Path; 2]) {
        for ((bus, subjects), store) in self.buses.iter().zip(&self.subjects).zip(stores) {
            println!("{}: {}", bus.domain, settle_accounts(bus, subjects, &[store]));
            let decided = decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
            let is_other = |domain: &String| *domain != bus.domain;
            assert!(!decided.iter().any(|it| is_other(&it.domain)), "{}", bus.domain);
            let given = commands(&glance(&bus.bootstrap, &bus.topic(Topic::Command)));
            assert!(!given.is_empty() && !given.iter().any(|it| is_other(&it.domain)));
            let codec = Codec::default();
            let cycles = glance(&bus.bootstrap, &bus.topic(Topic::Progress));
            let cycles =
                cycles.iter().map(|(_, value)| codec.read_record::<Progress>(value).unwrap());
            let mut numbers: Vec<u64> = cycles
                .map(|progress| {
                    assert_eq!(progress.domain, bus.domain);
                    progress.number
                })
                .collect();
            numbers.sort_unstable();
            assert!(numbers.is_sorted_by(|one, next| one + 1 == *next), "{numbers:?}");
        }
    }
}

#[test]
#[ignore = "domains::kinds does it with three: test.sh --long"]
fn one_process_that_leads_two_domains_is_killed_and_each_goes_on_without_gap() {
    let Some(mut pair) = Pair::new() else { return };
    let store = pair.buses[0].path("store");
    let domains = [pair.buses[0].domain.clone(), pair.buses[1].domain.clone()];
    let leads = |process: &Process| domains.iter().all(|domain| process.leads_in(domain));
    let mut dice = Dice(1);
    for kill in 0..kills() {
        pair.ask();
        let process = pair.start(&store);
        if kill % 2 == 0 {
            wait_until(60 * SECOND, || process.logged(), || leads(&process));
        }
        std::thread::sleep(Duration::from_millis(dice.below(1_500)));
        process.kill();
    }
    pair.ask();
    let mut process = [pair.start(&store)];
    pair.wait(2, &mut process);
    let [process] = process;
    assert_eq!(process.stop().code(), Some(0));
    pair.check([&store, &store]);
    for domain in &domains {
        assert!(store.join(domain).join("history").is_dir(), "{domain}");
    }
}

#[test]
#[ignore = "domains::kinds does it with three: test.sh --long"]
fn two_processes_of_a_domain_each_are_killed_in_turns_and_neither_notices_the_other() {
    let Some(mut pair) = Pair::new() else { return };
    let stores = [pair.buses[0].path("store"), pair.buses[1].path("store")];
    let start = |pair: &Pair, at: usize| {
        let bus = &pair.buses[at];
        Process::start(&bus.bootstrap, &bus.topology, &stores[at])
    };
    let mut processes = vec![start(&pair, 0), start(&pair, 1)];
    let mut dice = Dice(2);
    for kill in 0..kills() {
        pair.ask();
        let victim = kill % 2;
        wait_until(60 * SECOND, || processes[victim].logged(), || processes[victim].leads());
        std::thread::sleep(Duration::from_millis(dice.below(1_000)));
        processes.remove(victim).kill();
        processes.insert(victim, start(&pair, victim));
    }
    pair.wait(2, &mut processes);
    for process in processes {
        let logged = process.all_logged();
        assert!(!logged.contains("another process took the lead"), "{logged}");
        assert_eq!(process.stop().code(), Some(0));
    }
    pair.check([&stores[0], &stores[1]]);
}

#[test]
fn a_domain_that_cannot_go_on_stops_and_the_other_decides_on() {
    let Some(mut pair) = Pair::new() else { return };
    let store = pair.buses[0].path("store");
    let domains = [pair.buses[0].domain.clone(), pair.buses[1].domain.clone()];
    let mut process = [pair.start(&store)];
    pair.ask();
    pair.wait(2, &mut process);
    // A newer version has written to the second domain's `progress`: no process of this one leads
    // it then.
    let newer = [&[0xc3, 0x01][..], &[7; 8], b"whatever it is"].concat();
    pair.buses[1].write_in(Topic::Progress, 0, domains[1].as_bytes(), Some(&newer));
    pair.buses[1].flush();
    let ready = |process: &Process, domain: &str| {
        let answer = process.page_of(domain, "/readyz").unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(&answer).unwrap_or_default()
    };
    let has_stopped = || ready(&process[0], &domains[1])["state"]["stopped"].is_string();
    wait_until(60 * SECOND, || process[0].logged(), has_stopped);
    assert!(process[0].leads_in(&domains[0]), "{}", process[0].logged());
    pair.ask();
    pair.wait(1, &mut process);
    let [process] = process;
    let why = process.all_logged();
    assert_eq!(process.stop().code(), Some(1), "{why}");
    assert!(why.contains(&format!("domain {} stopped: ", domains[1])), "{why}");
}
