//! Fast rebrokerage: jobs of a share that a queue will not start soon are brokered again.

use super::stage::*;
use yardmaster::core::event::*;
use yardmaster::core::output::command::Command;
use yardmaster::core::unit::{DAY, MINUTE};

/// The threshold of the stories' share.
pub fn threshold(stage: &mut Stage, jobs: u32) {
    let key = format!("FAST_REBRO_THRESHOLD_NQUEUE_{}", stage.job("1", Status::Activated).gshare);
    stage.yard.set("rebroker", &key, &jobs.to_string());
}

/// Jobs from a number on, activated now.
pub fn activated(stage: &mut Stage, from: u32, count: u32) {
    for number in from..from + count {
        let name = number.to_string();
        let job = stage.job(&name, Status::Activated);
        stage.yard.job(&job);
    }
    stage.turn();
}

pub fn moves(stage: &Stage) -> Vec<Command> {
    let all = stage.yard.commands().into_iter().filter(|it| it.rule == "fast_rebrokerage");
    all.filter(|it| it.held_back().is_none()).collect()
}

pub const WIDE: (&str, &str) = (
    "jobs_per_queue = 100\npercent_of_queue = 10",
    "jobs_per_queue = 1_000\npercent_of_queue = 10",
);

#[test]
fn the_oldest_jobs_beyond_the_threshold_move_after_the_dwell() {
    // The worked example: 500 queued, none running, threshold 300: 200 move, in two batches.
    let mut stage = Stage::new(&[WIDE]);
    threshold(&mut stage, 300);
    activated(&mut stage, 1_000, 500);
    let at = stage.now();
    stage.until(at + 39 * MINUTE);
    assert_eq!(moves(&stage), []);
    stage.until(at + 50 * MINUTE);
    let found = moves(&stage);
    let sizes: Vec<(u32, u64, usize)> =
        found.iter().map(|it| (it.attempt, it.amount, it.jobs.len())).collect();
    assert_eq!(sizes, [(0, 100, 100), (1, 100, 100)]);
    let named: Vec<&String> = found.iter().flat_map(|it| &it.jobs).collect();
    let oldest: Vec<String> = (1_000..1_200).map(|number| number.to_string()).collect();
    assert_eq!(named, oldest.iter().collect::<Vec<_>>());
    assert_eq!((found[0].measured, found[0].limit, found[0].unit.as_str()), (500.0, 300.0, "jobs"));
    // Jobs that are commanded are no longer queued: nothing more moves, though they are still there.
    stage.pass(10 * MINUTE);
    assert_eq!(moves(&stage).len(), 2);
    stage.check();
}

#[test]
fn a_queue_that_starts_its_jobs_within_the_dwell_keeps_them() {
    let mut stage = Stage::new(&[WIDE]);
    threshold(&mut stage, 300);
    activated(&mut stage, 1_000, 500);
    stage.pass(30 * MINUTE);
    for number in 1_000..1_250 {
        let name = number.to_string();
        let job = stage.job(&name, Status::Running);
        stage.yard.job(&job);
    }
    stage.turn();
    stage.pass(2 * 60 * MINUTE);
    assert_eq!(moves(&stage), []);
    stage.check();
}

#[test]
fn a_share_without_a_threshold_a_paused_queue_and_one_with_slots_of_its_own_keep_their_jobs() {
    let mut stage = Stage::new(&[WIDE]);
    activated(&mut stage, 1_000, 500);
    stage.pass(2 * 60 * MINUTE);
    assert_eq!(moves(&stage), []);
    threshold(&mut stage, 300);
    stage.configure(|queue| queue.status = QueueStatus::Paused);
    stage.pass(2 * 60 * MINUTE);
    assert_eq!(moves(&stage), []);
    stage.configure(|_| {});
    let slots = Pilot::Slots {
        queue: QUEUE,
        gshare: "",
        resource_type: "",
        at: stage.now(),
        slots: 1_000,
        expires_at: stage.now() + DAY,
    };
    let key = QUEUE;
    stage.yard.publish(yardmaster::core::cut::Topic::Pilot, key, |out| {
        yardmaster::wire::record::write(out, &slots);
    });
    stage.pass(2 * 60 * MINUTE);
    assert_eq!(moves(&stage), []);
    // The figure runs out.
    stage.pass(23 * 60 * MINUTE);
    assert!(!moves(&stage).is_empty());
    stage.check();
}

#[test]
fn a_budget_lets_part_of_them_move_and_the_dwell_begins_again() {
    let mut stage = Stage::new(&[]);
    threshold(&mut stage, 300);
    activated(&mut stage, 1_000, 500);
    stage.pass(50 * MINUTE);
    let amount = |stage: &Stage| {
        moves(stage).iter().filter(|it| it.repeat == 0).map(|it| it.amount).sum::<u64>()
    };
    assert_eq!(amount(&stage), 100);
    assert_eq!(stage.held("fast_rebrokerage"), [(100, "queue_budget, 100 of 100 jobs".to_owned())]);
    for command in moves(&stage) {
        stage.answer(&command, OutcomeKind::Accepted);
    }
    stage.pass(30 * MINUTE);
    assert_eq!(amount(&stage), 100);
    stage.pass(45 * MINUTE);
    assert_eq!(amount(&stage), 200);
    stage.check();
}

#[test]
fn for_people_to_see_it_is_published_once_while_it_lasts() {
    let mut stage = Stage::with(&[WIDE]);
    threshold(&mut stage, 300);
    activated(&mut stage, 1_000, 500);
    stage.pass(5 * 60 * MINUTE);
    let found = moves(&stage);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|it| it.dry_run));
    stage.check();
}

#[test]
fn run_time_parameters_say_how_many_times_the_running_jobs_and_which_part_of_all_pass() {
    // 500 are queued and 100 run: 4 times as many pass, and then 9 of 10.
    let ratio = "FAST_REBRO_THRESHOLD_NQNR_RATIO";
    let part = "FAST_REBRO_THRESHOLD_NQUEUE_FRAC";
    for (set, moved) in [(ratio, "6", 0), (ratio, "4", 100), (part, "0.9", 50)]
        .map(|(key, value, moved)| ((key, value), moved))
    {
        let mut stage = Stage::new(&[WIDE]);
        threshold(&mut stage, 100);
        stage.yard.set("rebroker", set.0, set.1);
        for number in 1_000..1_100 {
            let name = number.to_string();
            let job = stage.job(&name, Status::Running);
            stage.yard.job(&job);
        }
        activated(&mut stage, 2_000, 500);
        stage.pass(50 * MINUTE);
        let amount: u64 = moves(&stage).iter().map(|it| it.amount).sum();
        assert_eq!(amount, moved, "{set:?}");
        stage.check();
    }
}
