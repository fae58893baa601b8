//! Much at once, drawn from a seed: facts that come and go while requests wait for them. What wakes
//! which must not depend on what a process remembers: a rebuild from any store wakes the same.

use super::check::*;
use super::play::Reached;
use super::ports::Dice;
use crate::drive::yard::{Yard, config_with, epoch_config_with, job, queue, storage, task};
use crate::world::parameter;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::*;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;

/// Short lives, so that everything expires while the storm lasts.
const SHORT: [(&str, &str); 8] = [
    ("reservation_lifetime_h = 2", "reservation_lifetime_h = 1"),
    ("ended_job_lifetime_h = 24", "ended_job_lifetime_h = 2"),
    ("stub_lifetime_h = 6", "stub_lifetime_h = 1"),
    ("node_window_h = 3", "node_window_h = 1"),
    ("worker_report_age_min = 60", "worker_report_age_min = 4"),
    ("link_sample_age_min = 60", "link_sample_age_min = 4"),
    ("judgements_per_cycle = 256", "judgements_per_cycle = 3"),
    ("transfer_ended_lifetime_h = 24", "transfer_ended_lifetime_h = 1"),
];

const QUEUES: usize = 7;

fn config(instance: &str) -> Config {
    config_with(instance, epoch_config_with(&SHORT))
}

fn name_of(at: usize) -> String {
    format!("QUEUE_{at:02}")
}

/// Something happens. Once it is calm, configuration stands still: then each process relies on what
/// it remembers of who waits for what.
fn gust(yard: &Yard, dice: &mut Dice, round: usize, is_calm: bool) {
    let now = yard.now;
    let name = name_of(dice.below(QUEUES));
    let kind = dice.below(14);
    match if is_calm && [0, 1, 11, 13].contains(&kind) { 6 } else { kind } {
        0 | 1 => {
            let status = QueueStatus::ALL[[0, 0, 1, 3][dice.below(4)]];
            let max_rss_mb = [2_000, 2_000, 2_000, 9_000][dice.below(4)];
            let max_time_s = [0, 50_000][dice.below(2)];
            let transferring_limit = [0, 2][dice.below(2)];
            let max_disk_io_kbps = [0, 900][dice.below(2)];
            let base = queue(&name, now);
            let queue = Queue {
                status,
                max_rss_mb,
                max_time_s,
                transferring_limit,
                max_disk_io_kbps,
                ..base
            };
            yard.configure(&queue);
        }
        2 => {
            let queue = queue(&name, now);
            let free_bytes = [1 << 49, 1 << 30][dice.below(2)];
            let write_lan = dice.below(5) > 0;
            let base = storage(&queue.endpoints.write[0], &queue.site, now);
            let storage = Storage { free_bytes, write_lan, ..base };
            yard.configure(&storage);
        }
        3 => link(yard, dice),
        4 | 5 => pilot(yard, dice, &name),
        6 | 7 => work(yard, dice, &name),
        8 => transfer(yard, dice),
        9 | 10 => ask(yard, dice, round),
        11 => {
            let key = ["NQUEUED_SAT_CAP", "STORAGE_MIN_FREE_SIZE"][dice.below(2)];
            let parameter = parameter(key, ["150", "400", "3"][dice.below(3)], now);
            yard.publish(Topic::Parameter, &parameter.key, |out| {
                record::write(out, &parameter);
            });
        }
        12 => outcome(yard, dice),
        _ => oddity(yard, dice, &name),
    }
}

fn link(yard: &Yard, dice: &mut Dice) {
    let sites = ["NORTH", "SOUTH"];
    let source = sites[dice.below(2)];
    let queued = LinkQueued {
        activity: "Production Output".into(),
        files: [0, 10, 500][dice.below(3)],
        bytes: 5,
    };
    let link = Link {
        source: source.into(),
        destination: sites[dice.below(2)].into(),
        changed_at: yard.now,
        closeness: [None, Some(3), Some(-1)][dice.below(3)],
        mbps_1h: [None, Some(20.5)][dice.below(2)],
        mbps_1d: Some(7.25),
        queued: vec![queued],
        queued_known: dice.below(2) == 0,
        ..Link::default()
    };
    yard.configure(&link);
}

fn pilot(yard: &Yard, dice: &mut Dice, queue: &str) {
    let at = yard.now;
    let node = ["n1", "n2", "n3"][dice.below(3)];
    let report = match dice.below(4) {
        0 => Pilot::AskedJob { queue, node, at },
        1 => Pilot::UpdatedJob { queue, node, at },
        2 => {
            let running = dice.below(9) as u32;
            let (harvester, resource_type) = ("h1", "SCORE");
            Pilot::Workers { queue, harvester, resource_type, submitted: 2, running, at }
        }
        _ => {
            let expires_at = [0, at + 30_000, at + 400_000][dice.below(3)];
            let slots = [-1, 0, 30][dice.below(3)];
            let gshare = ["", "MC 16 simul"][dice.below(2)];
            Pilot::Slots { queue, gshare, resource_type: "", slots, expires_at, at }
        }
    };
    yard.publish(Topic::Pilot, queue, |out| record::write(out, &report));
}

fn work(yard: &Yard, dice: &mut Dice, queue: &str) {
    for _ in 0..12 {
        let number = dice.below(150);
        let name = number.to_string();
        let status = Status::ALL[dice.below(Status::ALL.len())];
        let job = job(&name, queue, "", status, yard.now - dice.below(20_000) as i64);
        let task = ["0", "1", "2"][number % 3];
        yard.job(&JobState { task, created_at: yard.now - 90_000, ..job });
    }
    let beat = Heartbeat {
        job: &dice.below(170).to_string(),
        at: yard.now,
        events: 1,
        cpu_s: 9,
        disk_io_kbps: dice.below(9_000) as u32,
        rss_mb: 9,
        ..Heartbeat::default()
    };
    yard.publish(Topic::Heartbeat, beat.job, |out| record::write(out, &beat));
}

fn transfer(yard: &Yard, dice: &mut Dice) {
    for _ in 0..5 {
        let request = format!("t{}", dice.below(40));
        let transfer = Transfer {
            request: &request,
            state: TransferStatus::ALL[dice.below(4)],
            changed_at: yard.now,
            activity: "Production Output",
            source: ["NORTH", "SOUTH"][dice.below(2)],
            destination: "NORTH",
            bytes: 1 << 31,
            files: 60,
            ..Transfer::default()
        };
        yard.publish(Topic::Transfer, &request, |out| record::write(out, &transfer));
    }
}

fn ask(yard: &Yard, dice: &mut Dice, round: usize) {
    let subject = format!("{}/{}", dice.below(3), dice.below(25));
    let base = task(&subject, 10 + dice.below(60) as u32, yard.now);
    let asked = Task {
        attempt: (round / 100) as u64,
        priority: 300 + dice.below(8) as i32 * 100,
        ram_count_mb: [None, Some(1_500), Some(7_000), Some(7_500)][dice.below(4)],
        nucleus: ["NORTH", "SOUTH", "NOWHERE", ""][dice.below(4)].into(),
        processing_type: ["simul", "simul", "urgent"][dice.below(3)].into(),
        base_walltime_s: [None, Some(70_000)][dice.below(2)],
        disk_io_kbps: [None, Some(2_000)][dice.below(2)],
        phase: if dice.below(9) == 0 { TaskPhase::Ended } else { TaskPhase::Asking },
        ..base
    };
    yard.ask(&asked);
}

fn outcome(yard: &Yard, dice: &mut Dice) {
    let decisions = yard.decisions();
    if decisions.is_empty() {
        return;
    }
    let decision = &decisions[dice.below(decisions.len())];
    let kinds = [OutcomeKind::Accepted, OutcomeKind::Refused, OutcomeKind::Failed];
    let outcome = DecisionOutcome {
        subject: decision.subject.clone(),
        decision: decision.id,
        about: OutcomeAbout::Decision,
        kind: kinds[dice.below(3)],
        at: yard.now,
        reason: String::new(),
    };
    yard.publish(Topic::Outcome, &outcome.subject, |out| record::write(out, &outcome));
}

fn oddity(yard: &Yard, dice: &mut Dice, name: &str) {
    let inputs: Vec<Lane> = yard
        .paper
        .spans()
        .into_iter()
        .map(|span| span.lane)
        .filter(|lane| !lane.topic.is_own())
        .collect();
    let lane = inputs[dice.below(inputs.len())];
    let value = [None, Some(&b"\xc3\x01 nothing of ours"[..])][dice.below(2)];
    yard.paper.append(lane, Some(name.as_bytes()), value, &[], None);
}

fn lead_on(yard: &Yard, drive: &mut Drive<PaperLog, PaperStore>) {
    drive.pump(Duration::ZERO).unwrap();
    if drive.leads() {
        drive.lead(yard.now).unwrap();
    } else {
        drive.follow().unwrap();
        if drive.may_lead(yard.now, 0, 0) {
            drive.take_lead(yard.now).unwrap();
        }
    }
}

/// A storm of so many rounds, in which the leader dies now and then.
fn storm(seed: u64, rounds: usize, is_calm: bool) {
    let mut dice = Dice::new(seed);
    let mut yard = Yard::new();
    let store = PaperStore::default();
    let mut lives = 0;
    let mut begin = |yard: &Yard| {
        lives += 1;
        Drive::start(yard.log(), store.clone(), config(&format!("life {lives}"))).unwrap()
    };
    let mut drive = begin(&yard);
    for round in 0..rounds {
        for _ in 0..dice.below(6) {
            gust(&yard, &mut dice, round, is_calm && round > 25);
        }
        for _ in 0..1 + dice.below(3) {
            yard.pass([15, 120, 1_100][dice.below(3)]);
            lead_on(&yard, &mut drive);
        }
        yard.pass([100, 5_000, 20_000, 70_000][dice.below(4)]);
        if dice.below(20) == 0 {
            yard.pass(900_000);
        }
        if dice.below(if is_calm { 60 } else { 25 }) == 0 {
            drive = begin(&yard);
        }
    }
    while !drive.leads() {
        yard.pass(1_100);
        lead_on(&yard, &mut drive);
    }
    drive.finish(yard.now).unwrap();
    assert_eq!(audit(drive.state()), vec![]);
    check_words(&yard);
    let reached = Reached { number: drive.state().number, digest: digest(drive.state()) };
    let woken = yard.decisions().iter().filter(|decision| decision.ordinal > 1).count();
    assert!(woken > 5, "seed {seed}: only {woken} answers that are not the first");
    let count = store.count();
    let kept = std::iter::once(0).chain((0..6).map(|_| dice.below(count + 1)));
    for kept in kept.collect::<Vec<_>>() {
        let mut reader = config("a reader");
        reader.verify = true;
        let mut again = Drive::start(yard.log(), store.older(kept), reader).unwrap();
        follow_to_end(&mut again);
        let report = again.take_report();
        assert_eq!(report.notices, Vec::<String>::new());
        let differences = &report.differences;
        assert_eq!(report.verified[1..], [0, 0], "seed {seed} store {kept}: {differences:#?}");
        assert_eq!(audit(again.state()), vec![]);
        assert_eq!(digest(again.state()), reached.digest, "seed {seed} store {kept}");
    }
}

#[test]
fn a_storm_is_replayed_from_any_store() {
    (0..4).for_each(|seed| storm(seed, 150, seed % 2 == 1));
}

#[test]
#[ignore = "minutes: sixty storms, longer ones"]
fn many_storms_are_replayed_from_any_store() {
    super::each_of(60, |seed| storm(1_000 + seed as u64, 200, seed % 3 > 0));
}
