//! ATLAS, CMS and NorduGrid on one Kafka: led by one process, and by one process each; killed, and
//! none touches another's decisions.

use crate::kill::bus::{Bus, now, parts, text};
use crate::kill::process::{PROGRAM, Process, wait_until};
use crate::kill::witness::{decisions, glance};
use crate::kill::{Dice, SECOND, hasty};
use crate::nordugrid::small;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{
    Class, Configured, JobDescription, JobState, Pilot, Requirements, Site, SlotOffer, SlotQuota,
    Status, Task, WorkflowFacts,
};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::wire::record;
use yardmaster::wire::topology::{ATLAS, CMS, NORDUGRID};

/// Requests, jobs and submissions before each kill.
const ASKED: usize = 12;
const KILLS: usize = 3;

/// The three domains, in the order ATLAS, CMS, NorduGrid.
struct Three {
    buses: [Bus; 3],
    asked: usize,
}

fn configure<T: Configured>(bus: &Bus, record: &T) {
    bus.publish(T::TOPIC, &record.name(), |out| record::write(out, record));
}

impl Three {
    /// `None`, and says so, when no broker is named.
    fn new() -> Option<Three> {
        let bus = |shipped| Bus::real_of(shipped, |file| parts(file, hasty));
        let three = Three { buses: [bus(ATLAS)?, bus(CMS)?, bus(NORDUGRID)?], asked: 0 };
        let [atlas, cms, nordugrid] = &three.buses;
        (0..4).for_each(|at| atlas.queue(&format!("QUEUE_{at:02}"), 1, 100));
        let slot_quota = SlotQuota {
            revision: 1,
            tier: "T2".into(),
            pledged_slots: 10_000,
            central_permille: 500,
            corepower_mhs06: 10_000,
            ..SlotQuota::default()
        };
        let at = now();
        configure(
            cms,
            &Site {
                name: "T2_X".into(),
                changed_at: at,
                active: true,
                slot_quota: Some(slot_quota),
                ..Site::default()
            },
        );
        let workflow =
            WorkflowFacts { class: Class::Central, test_jobs: Some(0), ..WorkflowFacts::default() };
        let task = Task {
            subject: "wf".into(),
            task: "wf".into(),
            domain: cms.domain.clone(),
            policy: "cms".into(),
            user: "ops".into(),
            asked_at: at,
            changed_at: at,
            workflow: Some(workflow),
            ..Task::default()
        };
        cms.publish(Topic::Task, "wf", |out| record::write(out, &task));
        configure(nordugrid, &small::registration("ce-a", at));
        configure(nordugrid, &small::cluster("ce-a", &[], Some(9_000), at));
        configure(nordugrid, &small::queue("ce-a/q", "active", at));
        configure(nordugrid, &small::share("ce-a/q", "1000", 9_000, at));
        three.flush();
        Some(three)
    }

    fn flush(&self) {
        self.buses.iter().for_each(Bus::flush);
    }

    /// As many requests of each domain, under the same names.
    fn ask(&mut self) {
        for number in self.asked..self.asked + ASKED {
            let name = format!("1/{number}");
            self.buses[0].ask(&name, 1, 500);
            self.ask_cms(&name);
            self.ask_nordugrid(&name);
        }
        self.asked += ASKED;
        self.flush();
    }

    fn ask_cms(&self, job: &str) {
        let (bus, at) = (&self.buses[1], now());
        let requirements =
            Requirements { seq: Some(1_000), cores_min: 1, ..Requirements::default() };
        let state = JobState {
            job,
            task: "wf",
            status: Status::Activated,
            changed_at: at,
            created_at: at,
            requirements: Some(Box::new(requirements)),
            ..JobState::default()
        };
        bus.publish(Topic::JobState, job, |out| record::write(out, &state));
        let name = format!("slot of {job}");
        let offer = SlotOffer {
            offer: name.as_str(),
            cores_free: 1,
            cores_total: 1,
            wall_left_s: 86_400,
            mem_free_mb: 4_000,
            expires_at: at + 3_600_000,
            ..SlotOffer::default()
        };
        let report = Pilot::SlotOffer { queue: "T2_X", offer: Box::new(offer), at };
        bus.publish(Topic::Pilot, &name, |out| record::write(out, &report));
    }

    fn ask_nordugrid(&self, job: &str) {
        let (bus, at) = (&self.buses[2], now());
        let description = JobDescription {
            text: "&(executable=/bin/date)(cputime=10)".into(),
            index_servers: vec!["index".into()],
            ..JobDescription::default()
        };
        let task = Task {
            subject: job.into(),
            task: job.into(),
            domain: bus.domain.clone(),
            policy: "nordugrid-job".into(),
            asked_at: at,
            changed_at: at,
            jobs: 1,
            user: "ann".into(),
            description: Some(description),
            ..Task::default()
        };
        bus.publish(Topic::Task, job, |out| record::write(out, &task));
    }

    fn decided(&self, at: usize) -> Vec<Decision> {
        let bus = &self.buses[at];
        decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)))
    }

    /// Waits until each domain has assigned all that was asked of it.
    fn wait(&self, processes: &mut [Process]) {
        for at in 0..3 {
            let logged = || processes.iter().map(Process::logged).collect::<Vec<_>>().join("\n");
            wait_until(180 * SECOND, logged, || {
                let decided = self.decided(at).into_iter();
                decided.filter(|it| matches!(it.outcome, Outcome::Assign(_))).count() >= self.asked
            });
        }
        processes.iter_mut().for_each(Process::must_live);
    }

    /// Each domain assigned each thing once and answered without gap, its outputs can be made
    /// again, its counters are right, and none of its decisions is another domain's.
    fn check(&self, store: impl Fn(&Bus) -> PathBuf) {
        for (at, bus) in self.buses.iter().enumerate() {
            let decided = self.decided(at);
            let mut things = BTreeSet::new();
            let mut ordinals: BTreeMap<(String, u64), Vec<u32>> = BTreeMap::new();
            for decision in &decided {
                assert_eq!(decision.domain, bus.domain);
                let answers = ordinals.entry((decision.subject.clone(), decision.attempt));
                answers.or_default().push(decision.ordinal);
                if let Outcome::Assign(_) = decision.outcome {
                    let matched = decision.matched.as_ref().map(|it| it.job.clone());
                    let thing = matched.unwrap_or_else(|| decision.subject.clone());
                    assert!(things.insert(thing), "assigned twice: {decision:#?}");
                }
            }
            assert_eq!(things.len(), self.asked, "{}", bus.domain);
            for (subject, mut answers) in ordinals {
                answers.sort_unstable();
                let without_gap: Vec<u32> = (1..=answers.len() as u32).collect();
                assert_eq!(answers, without_gap, "{subject:?}");
            }
            println!("audit: {}", bus.verb("audit", 0, &["--store", text(&store(bus))]).trim());
            let replayed = bus.verb("replay", 0, &["--verify"]);
            assert!(replayed.contains(" 0 different, 0 not verifiable"), "{replayed}");
        }
    }

    fn start(&self, store: &Path) -> Process {
        let [atlas, cms, nordugrid] = &self.buses;
        let [cms, nordugrid] = [text(&cms.topology), text(&nordugrid.topology)];
        let more = ["--topology", cms, "--topology", nordugrid];
        let command = Command::new(PROGRAM);
        Process::start_by(command, &atlas.bootstrap, &atlas.topology, store, &more)
    }
}

#[test]
fn one_process_that_leads_all_three_kinds_is_killed_and_each_goes_on() {
    let Some(mut three) = Three::new() else { return };
    let store = three.buses[0].path("store");
    let mut dice = Dice(5);
    for kill in 0..KILLS {
        three.ask();
        let process = three.start(&store);
        if kill % 2 == 0 {
            let leads = || three.buses.iter().all(|bus| process.leads_in(&bus.domain));
            wait_until(60 * SECOND, || process.logged(), leads);
        }
        std::thread::sleep(Duration::from_millis(dice.below(1_500)));
        process.kill();
    }
    three.ask();
    let mut process = [three.start(&store)];
    three.wait(&mut process);
    let [process] = process;
    assert_eq!(process.stop().code(), Some(0));
    three.check(|bus| store.join(&bus.domain));
}

#[test]
fn a_process_of_each_kind_is_killed_in_turns_and_none_notices_the_others() {
    let Some(mut three) = Three::new() else { return };
    let stores = [0, 1, 2].map(|at: usize| three.buses[at].path("store"));
    let start = |three: &Three, at: usize| {
        let bus = &three.buses[at];
        Process::start(&bus.bootstrap, &bus.topology, &stores[at])
    };
    let mut processes: Vec<Process> = (0..3).map(|at| start(&three, at)).collect();
    let mut dice = Dice(6);
    for victim in 0..3 {
        three.ask();
        wait_until(60 * SECOND, || processes[victim].logged(), || processes[victim].leads());
        std::thread::sleep(Duration::from_millis(dice.below(1_000)));
        processes.remove(victim).kill();
        processes.insert(victim, start(&three, victim));
    }
    three.wait(&mut processes);
    for process in processes {
        let logged = process.all_logged();
        assert!(!logged.contains("another process took the lead"), "{logged}");
        assert_eq!(process.stop().code(), Some(0));
    }
    three.check(|bus| bus.path("store"));
}
