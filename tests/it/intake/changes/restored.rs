//! A database that was restored, and changes that are only sent again.

use super::Run;
use super::source::Panda;
use std::collections::BTreeMap;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::Status;
use yardmaster::core::id::Key;
use yardmaster::core::state::{Setting, State};
use yardmaster::drive::intake::Noted;
use yardmaster::wire::avro::{Arena, Codec};

/// Job 3 runs, job 6 is defined; a copy of the database is made; both go on.
fn before() -> (Panda, Panda, Run) {
    let mut panda = Panda::new();
    panda.run(3);
    panda.pending(6);
    let copy = panda.clone();
    panda.beat(3);
    panda.set(6, "defined");
    panda.shift(6, "jobsactive4", "activated", false);
    let mut run = Run::new(&panda.take());
    run.read_all().settle();
    let mut copy = copy;
    copy.take();
    copy.now = panda.now + 600_000;
    (panda, copy, run)
}

#[test]
fn changes_of_a_restored_database_are_not_taken_for_repeats() {
    for restarts in [false, true] {
        let (_, mut copy, mut run) = before();
        if restarts {
            run.restart();
        }
        copy.set(6, "assigned");
        copy.set(3, "holding");
        run.append(&copy.take());
        run.read_all().settle();
        assert!(run.job(6).contains("status: Assigned"), "{}", run.job(6));
        assert!(run.job(3).contains("status: Holding"), "{}", run.job(3));
        assert_eq!(run.noted(Noted::Restored), 1, "both are in one partition");
        let notice = run.notices();
        assert!(notice.contains("restored") && notice.contains("era 2"), "{notice}");
        // The era is known to another life.
        run.restart();
        copy.set(3, "transferring");
        run.append(&copy.take());
        run.read_all().settle();
        assert!(run.job(3).contains("status: Transferring"), "{}", run.job(3));
        assert_eq!(run.noted(Noted::Restored), 1);
    }
}

/// A copy that was made by a dump has a log of its own, which may be longer than the original's; its
/// transactions are numbered from the beginning.
#[test]
fn a_copy_whose_log_is_longer_shows_by_the_numbers_of_its_transactions() {
    let hour = 3_600_000;
    for (from, to, pause, restored) in [
        (90_000_000, 800, hour, 1),
        // A transaction that was open for long.
        (90_000_000, 89_000_000, hour, 0),
        // The numbers begin again after 2^32.
        (u32::MAX - 10, 800, hour, 0),
        // So long after the last change either may be the older.
        (90_000_000, 800, 30 * hour, 0),
    ] {
        let mut panda = Panda::new();
        panda.transaction = from.into();
        panda.run(3);
        let mut run = Run::new(&panda.take());
        run.read_all().settle();
        (panda.transaction, panda.lsn, panda.now) = (to, 1 << 40, panda.now + pause);
        panda.set(3, "holding");
        run.append(&panda.take());
        run.read_all().settle();
        assert_eq!(run.noted(Noted::Restored), restored, "{from} {to}");
        assert!(run.job(3).contains("status: Holding"), "{}", run.job(3));
    }
}

#[test]
fn changes_that_are_sent_again_are_no_restore() {
    let mut panda = Panda::new();
    (1..=6).for_each(|job| panda.run(job));
    let all = panda.take();
    for back in [1, 7, 20, 40, all.len()] {
        for restarts in [false, true] {
            let mut run = Run::new(&all);
            run.read_all();
            let states = run.published.len();
            if restarts {
                run.restart();
            }
            run.append(&all[all.len() - back..]);
            run.read_all();
            assert_eq!(run.noted(Noted::Restored), 0, "{back}");
            let news = run.published.len() - states;
            // What was not published cannot be known to have been read: signs of life.
            assert!(news == 0 || restarts, "{news} of {back}");
            assert!((1..=6).all(|job| run.job(job).contains("status: Running")));
        }
    }
}

#[test]
fn a_snapshot_of_a_restored_database_brings_its_states() {
    let (_, mut copy, mut run) = before();
    copy.snapshot(&["jobsdefined4", "jobsactive4"], true);
    run.append(&copy.take());
    run.read_all().settle();
    assert_eq!(run.noted(Noted::Restored), 1);
    assert!(run.job(6).contains("status: Pending"), "{}", run.job(6));
    assert!(run.job(3).contains("status: Running"), "{}", run.job(3));
}

/// The states of jobs that the engine knows: of all records, and of those that compaction leaves.
fn known(run: &Run, jobs: &[u64]) -> Vec<Option<Status>> {
    let (codec, mut arena) = (Codec::default(), Arena::default());
    let all: Vec<_> = run.published.iter().filter(|it| it.0 == Topic::JobState).collect();
    let last: BTreeMap<_, _> = all.iter().map(|it| (it.1.clone(), *it)).collect();
    let mut fold = |records: Vec<&(Topic, Vec<u8>, Vec<u8>)>| {
        let mut state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
        for (offset, (topic, key, value)) in records.into_iter().enumerate() {
            let event = codec.read(*topic, Some(key), Some(value), &mut arena);
            state.fold(Lane::new(*topic, 0), offset as u64, run.now, &event);
            arena.clear();
        }
        let status = |job: &u64| {
            let slot = state.jobs.find(Key::of(job.to_string().as_bytes()))?;
            state.jobs.slab.get(slot)?.status
        };
        jobs.iter().map(status).collect::<Vec<_>>()
    };
    let (all, last) = (fold(all.clone()), fold(last.into_values().collect()));
    assert_eq!(all, last, "compaction keeps another");
    all
}

/// Rows that an administrator deleted, or that a table lost: back, they are jobs again, whatever
/// process reads them.
#[test]
fn a_row_that_comes_back_is_a_job_again() {
    for restarts in [false, true] {
        let mut panda = Panda::new();
        (1..=4).for_each(|job| panda.run(job));
        let rows = panda.rows.clone();
        panda.begin();
        (1..=4).for_each(|job| panda.delete(job, "jobsactive4"));
        panda.pending(9);
        let mut run = Run::new(&panda.take());
        run.read_all().settle();
        assert_eq!(known(&run, &[1, 2, 3, 4]), [Some(Status::Closed); 4]);
        if restarts {
            run.restart();
        }
        panda.begin();
        (1..=3).for_each(|job| panda.insert(job, rows[&job].clone()));
        panda.beat(1);
        panda.finish(2);
        run.append(&panda.take());
        run.read_all().settle();
        let wants = [Status::Running, Status::Finished, Status::Running, Status::Closed];
        assert_eq!(known(&run, &[1, 2, 3, 4]), wants.map(Some));
        assert_eq!((run.noted(Noted::Returned), run.noted(Noted::Restored)), (3, 0));
        // Gone and back once more; what is sent again takes nothing back.
        panda.begin().delete(1, "jobsactive4");
        panda.begin().insert(1, rows[&1].clone());
        let again = panda.take();
        run.append(&again);
        run.append(&again);
        run.read_all().settle();
        assert_eq!(known(&run, &[1]), [Some(Status::Running)]);
    }
}

/// A database of long ago: jobs that ended since run in it, and its numbers are given again.
#[test]
fn jobs_that_a_restored_database_has_are_jobs_again() {
    for (snapshot, restarts) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut panda = Panda::new();
        (1..=3).for_each(|job| panda.run(job));
        let mut copy = panda.clone();
        (1..=2).for_each(|job| panda.finish(job));
        (4..=5).for_each(|job| panda.run(job));
        panda.finish(4);
        panda.begin().delete(5, "jobsactive4");
        panda.pending(8);
        let mut run = Run::new(&panda.take());
        run.read_all().settle();
        let before = [Status::Finished, Status::Finished, Status::Running, Status::Finished];
        assert_eq!(known(&run, &[1, 2, 3, 4]), before.map(Some));
        if restarts {
            run.restart();
        }
        copy.take();
        copy.now = panda.now + 600_000;
        (4..=5).for_each(|job| copy.give_again(job));
        if snapshot {
            copy.snapshot(&["jobsdefined4", "jobsactive4"], true);
        }
        (1..=5).for_each(|job| copy.beat(job));
        run.append(&copy.take());
        run.read_all().settle();
        let wants = [[Status::Running; 3].as_slice(), &[Status::Activated; 2]].concat();
        let wants: Vec<_> = wants.into_iter().map(Some).collect();
        assert_eq!(known(&run, &[1, 2, 3, 4, 5]), wants, "{snapshot} {restarts}");
    }
}
