//! Blind means quiet: rules wait while what could have prevented them is late.

use super::stage::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::*;
use yardmaster::core::unit::{HOUR, MINUTE, SECOND};

/// A running job with a heartbeat now.
fn running(stage: &mut Stage, name: &'static str) -> i64 {
    let job = stage.job(name, Status::Running);
    stage.publish(&job);
    let at = stage.now();
    stage.heartbeat(name, at);
    at
}

#[test]
fn heartbeats_that_died_and_come_back_all_at_once_kill_nothing() {
    for newest_first in [false, true] {
        let mut stage = Stage::new(&[]);
        let names: Vec<&'static str> = vec!["11", "12", "13", "14"];
        let at = names.iter().map(|name| running(&mut stage, name)).max().unwrap();
        // The pipeline of heartbeats dies for three hours; the jobs live.
        stage.alive.retain(|topic| *topic != Topic::Heartbeat);
        stage.pass(3 * HOUR);
        assert_eq!(commands(&stage), 0);
        let held = stage.held("T9");
        assert!(held[0].1.starts_with("input_stale(heartbeat, "), "{held:?}");
        // It comes back, with what was sent meanwhile, one job after the other.
        stage.alive.push(Topic::Heartbeat);
        let mut sent: Vec<(&'static str, i64)> = (1..=5)
            .flat_map(|half| names.iter().map(move |name| (*name, at + half * 30 * MINUTE)))
            .collect();
        if newest_first {
            sent.reverse();
        }
        for (name, at) in sent {
            stage.heartbeat(name, at);
            stage.pass(20 * SECOND);
        }
        stage.pass(HOUR);
        assert_eq!(commands(&stage), 0, "{:?}", stage.yard.commands());
        // One that is dead in fact fails in the end.
        for _ in 0..10 {
            for name in &names[1..] {
                let now = stage.now();
                stage.heartbeat(name, now);
            }
            stage.pass(30 * MINUTE);
        }
        assert_eq!(stage.rules("11"), ["T9"]);
        assert_eq!(commands(&stage), 1);
        stage.check();
    }
}

/// A broker that takes heartbeats late stamps them as of then. Of the clocks some are hours ahead.
#[test]
fn heartbeats_that_flow_two_hours_late_kill_nothing() {
    let late = 2 * HOUR;
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Running);
    stage.publish(&job);
    stage.alive.retain(|topic| *topic != Topic::Heartbeat);
    let began = stage.now();
    for turn in 1..=6 * 12 {
        let now = stage.now();
        stage.beat_stating("8", 0, now - late);
        stage.beat_stating("9", 0, now + 3 * HOUR);
        // It sends one every half hour.
        if now > began + late && turn % 6 == 0 {
            stage.beat_stating("7", 0, now - late);
        }
        stage.pass(5 * MINUTE);
    }
    assert_eq!(commands(&stage), 0, "{:?}", stage.yard.commands());
    let held = stage.held("T9");
    assert!(held[0].1.starts_with("input_stale(heartbeat, 72"), "{held:?}");
    // They are on time again, and it is dead.
    stage.alive.push(Topic::Heartbeat);
    stage.pass(2 * HOUR + 20 * MINUTE);
    assert_eq!(stage.rules("7"), ["T9"]);
    stage.check();
}

/// That a pilot's job has started is read two hours after it was sent there.
#[test]
fn states_that_flow_two_hours_late_kill_nothing() {
    let late = 2 * HOUR;
    let mut stage = Stage::new(&[]);
    stage.alive.retain(|topic| *topic != Topic::JobState);
    for turn in 1..=12 {
        let now = stage.now();
        let at = |name, status, at| JobState {
            changed_at: at,
            created_at: at,
            ..stage.job(name, status)
        };
        stage.yard.job(&at("8", Status::Activated, now - late));
        stage.yard.job(&at("9", Status::Activated, now + 3 * HOUR));
        match turn {
            6 => stage.yard.job(&at("7", Status::Sent, now - late)),
            7 => stage.yard.job(&at("7", Status::Starting, now - late)),
            _ => {}
        }
        stage.pass(5 * MINUTE);
    }
    assert_eq!(commands(&stage), 0, "{:?}", stage.yard.commands());
    let held = stage.held("T7");
    assert!(held[0].1.starts_with("input_stale(job-state, "), "{held:?}");
    stage.check();
}

fn commands(stage: &Stage) -> usize {
    stage.yard.commands().iter().filter(|it| it.held_back().is_none() && it.repeat == 0).count()
}

#[test]
fn a_topic_that_falls_silent_holds_back_what_is_due() {
    let mut stage = Stage::new(&[]);
    let at = running(&mut stage, "7");
    stage.until(at + 2 * HOUR - 15 * MINUTE);
    stage.alive.retain(|topic| *topic != Topic::Heartbeat);
    // Silent for longer than 600 s before the job is due: its clock stands still.
    stage.until(at + 4 * HOUR);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    stage.alive.push(Topic::Heartbeat);
    stage.pass(10 * MINUTE);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    // It was silent from 1 h 45 min on, and counts again 10 minutes after it came back.
    stage.until(at + 4 * HOUR + 5 * MINUTE + 10 * MINUTE + 15 * MINUTE);
    assert_eq!(stage.rules("7"), ["T9"]);
    stage.check();
}

#[test]
fn what_was_due_when_a_topic_fell_silent_is_held_back_and_named() {
    let mut stage = Stage::new(&[(
        "jobs_per_queue = 100\npercent_of_queue = 10",
        "jobs_per_queue = 0\npercent_of_queue = 0",
    )]);
    let job = stage.job("7", Status::Pending);
    stage.publish(&job);
    stage.pass(HOUR + MINUTE);
    assert_eq!(stage.held("T1"), [(1, "queue_budget, 0 of 0 jobs".to_owned())]);
    stage.alive.retain(|topic| *topic != Topic::JobState);
    stage.pass(HOUR);
    let last = stage.held("T1").pop().unwrap();
    assert!(last.1.starts_with("input_stale(job-state, "), "{last:?}");
    stage.check();
}

#[test]
fn what_reports_again_is_named_so_while_what_was_late_is_awaited() {
    let mut stage = Stage::new(&[
        ("report_interval_min = 30", "report_interval_min = 1"),
        ("jobs_per_queue = 100\npercent_of_queue = 10", "jobs_per_queue = 0\npercent_of_queue = 0"),
    ]);
    let job = stage.job("7", Status::Pending);
    stage.publish(&job);
    stage.pass(HOUR + MINUTE);
    let last = |stage: &Stage| stage.held("T1").pop().unwrap().1;
    assert_eq!(last(&stage), "queue_budget, 0 of 0 jobs");
    stage.alive.retain(|topic| *topic != Topic::JobState);
    stage.pass(HOUR);
    stage.alive.push(Topic::JobState);
    stage.pass(5 * MINUTE);
    assert_eq!(last(&stage), "input_returned(job-state, 600 s)");
    stage.pass(5 * MINUTE);
    assert_eq!(last(&stage), "input_returned(job-state, 300 s)");
    stage.pass(5 * MINUTE);
    assert_eq!(last(&stage), "queue_budget, 0 of 0 jobs");
    stage.queue_lives = false;
    stage.pass(3 * HOUR);
    assert!(last(&stage).starts_with("queue_silent("), "{}", last(&stage));
    stage.queue_lives = true;
    stage.pass(5 * MINUTE);
    assert!(last(&stage).starts_with("queue_returned("), "{}", last(&stage));
    stage.check();
}

#[test]
fn a_queue_that_gives_no_sign_loses_no_job_for_two_days() {
    let mut stage = Stage::new(&[]);
    let at = running(&mut stage, "7");
    running(&mut stage, "8");
    stage.queue_lives = false;
    stage.until(at + 24 * HOUR);
    assert_eq!(commands(&stage), 0);
    assert!(stage.held("T9")[0].1.starts_with("queue_silent("), "{:?}", stage.held("T9"));
    // It comes back: one of its jobs first, the other half an hour later.
    let now = stage.now();
    stage.queue_lives = true;
    stage.heartbeat("7", now);
    stage.pass(30 * MINUTE);
    let now = stage.now();
    stage.heartbeat("8", now);
    stage.pass(30 * MINUTE);
    assert_eq!(commands(&stage), 0, "{:?}", stage.yard.commands());
    stage.check();
}

#[test]
fn a_queue_that_stays_silent_counts_as_gone_in_the_end() {
    let mut stage = Stage::new(&[]);
    let at = running(&mut stage, "7");
    stage.queue_lives = false;
    stage.until(at + 47 * HOUR);
    assert_eq!(commands(&stage), 0);
    stage.until(at + 49 * HOUR);
    assert_eq!(stage.rules("7"), ["T9"]);
    stage.check();
}

#[test]
fn after_an_outage_of_six_hours_a_restart_kills_nothing_that_lives() {
    let mut stage = Stage::new(&[]);
    running(&mut stage, "7");
    running(&mut stage, "8");
    stage.drive.finish(stage.now()).unwrap();
    // The world goes on without us: 7 lives, 8 does not.
    let mut stage = stage.restarted();
    for _ in 0..12 {
        stage.without_a_process(30 * MINUTE, &["7"]);
    }
    stage.pass(MINUTE);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    stage.keep("7", 3 * HOUR);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    assert_eq!(stage.rules("8"), ["T9"]);
    stage.check();
}

#[test]
fn a_job_that_comes_back_to_life_and_dies_again_is_failed_again() {
    let mut stage = Stage::new(&[]);
    let at = running(&mut stage, "7");
    stage.until(at + 2 * HOUR);
    assert_eq!(stage.rules("7"), ["T9"]);
    // Nobody carried it out, and it lives.
    stage.pass(30 * MINUTE);
    let back = stage.now();
    stage.heartbeat("7", back);
    stage.until(back + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), ["T9"]);
    stage.until(back + 2 * HOUR);
    assert_eq!(stage.rules("7"), ["T9", "T9"]);
    stage.check();
}
