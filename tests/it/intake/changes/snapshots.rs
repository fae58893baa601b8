//! Snapshots after a gap.

use super::Run;
use super::source::{Message, PARTITIONS, Panda, partition};
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::Noted;

const BOTH: [&str; 2] = ["jobsdefined4", "jobsactive4"];

/// Jobs 1 to 9 run, 10 to 12 are defined; then nobody reads, and some leave.
fn gap() -> (Panda, Run) {
    let mut panda = Panda::new();
    (1..=9).for_each(|job| panda.run(job));
    (10..=12).for_each(|job| panda.pending(job));
    let mut run = Run::new(&panda.take());
    run.read_all().settle();
    panda.is_captured = false;
    [2, 3].into_iter().for_each(|job| panda.finish(job));
    panda.begin().delete(4, "jobsactive4");
    panda.begin().delete(11, "jobsdefined4");
    panda.set(5, "transferring");
    panda.is_captured = true;
    (panda, run)
}

fn closed(run: &Run) -> Vec<u64> {
    (1..=30).filter(|job| run.job(*job).contains("status: Closed")).collect()
}

#[test]
fn jobs_that_a_complete_snapshot_does_not_have_are_over() {
    let (mut panda, mut run) = gap();
    panda.snapshot(&BOTH, true);
    run.append(&panda.take());
    run.read_all();
    assert!(run.job(5).contains("status: Transferring"));
    assert!(closed(&run).is_empty(), "the partitions may have more of it");
    run.settle();
    assert_eq!(closed(&run), [2, 3, 4, 11]);
    assert!(run.job(2).contains("row_gone"));
    assert_eq!(run.noted(Noted::EndedBySnapshot), 4);
    let notice = run.notices();
    assert!(notice.contains("4 jobs that are not in it end"), "{notice}");
    // The end that the archive has comes with a change of its own, if at all.
    panda.set(6, "transferring");
    run.append(&panda.take());
    run.read_all().settle();
    assert_eq!(closed(&run), [2, 3, 4, 11]);
}

#[test]
fn a_snapshot_without_its_last_row_ends_nothing_until_changes_follow_it() {
    let (mut panda, mut run) = gap();
    panda.snapshot(&BOTH, false);
    run.append(&panda.take());
    run.read_all().settle();
    assert!(closed(&run).is_empty(), "it may be begun anew");
    assert!(run.intake.is_unsettled());
    // It is: the newer one counts.
    panda.is_captured = false;
    panda.begin().delete(7, "jobsactive4");
    panda.is_captured = true;
    panda.snapshot(&BOTH, false);
    run.append(&panda.take());
    run.read_all().settle();
    assert!(closed(&run).is_empty());
    // The last row was of a table of another topic: the changes that follow show it.
    panda.set(6, "transferring");
    run.append(&panda.take());
    run.read_all().settle();
    assert_eq!(closed(&run), [2, 3, 4, 7, 11]);
    assert!(!run.intake.is_unsettled());
}

#[test]
fn a_partition_that_was_not_read_to_its_end_keeps_a_snapshot_open() {
    let (mut panda, mut run) = gap();
    panda.snapshot(&BOTH, true);
    run.append(&panda.take());
    for partition in [0, 1] {
        while run.step(partition) {}
    }
    run.settle();
    assert!(closed(&run).is_empty());
    // Another life reads all of it again.
    run.restart();
    run.read_all().settle();
    assert_eq!(closed(&run), [2, 3, 4, 11]);
    let all = run.next;
    assert_eq!(run.committed(), all);
}

#[test]
fn killed_anywhere_a_snapshot_is_read_again_and_ends_the_same() {
    let (mut panda, mut wanted) = gap();
    panda.snapshot(&BOTH, true);
    (5..=6).for_each(|job| panda.beat(job));
    panda.finish(8);
    panda.run(20);
    let messages = panda.take();
    wanted.append(&messages);
    wanted.read_all().settle();
    let wanted = wanted.finals();
    for at in 0..messages.len() {
        let (_, mut run) = gap();
        run.append(&messages);
        for step in 0..at {
            run.step((step * 7 + at) % PARTITIONS);
        }
        run.restart();
        if at % 2 == 0 {
            run.read_all();
            run.restart();
        }
        run.read_all().settle();
        assert_eq!(run.finals(), wanted, "killed after {at}");
    }
}

#[test]
fn a_table_that_is_not_in_a_snapshot_does_not_end_its_jobs() {
    let limits = Limits { intake_absent_max: 2, ..Limits::default() };
    let mut panda = Panda::new();
    (1..=4).for_each(|job| panda.run(job));
    (10..=12).for_each(|job| panda.pending(job));
    let mut run = Run::with(&panda.take(), limits);
    run.read_all().settle();
    panda.snapshot(&["jobsactive4"], true);
    run.append(&panda.take());
    run.read_all().settle();
    assert!(closed(&run).is_empty(), "three are more than two");
    assert_eq!(run.noted(Noted::KeptAfterSnapshot), 3);
    let notice = run.notices();
    for part in ["no row of jobsdefined4", "3 jobs", "snapshot.include.collection.list"] {
        assert!(notice.contains(part), "{part} is not in {notice}");
    }
    // Two may have left a table that is empty now.
    panda.is_captured = false;
    panda.finish(12);
    panda.is_captured = true;
    panda.begin().delete(12, "jobsdefined4");
    (10..=11).for_each(|job| panda.rows.remove(&job).map_or((), |_| ()));
    run.append(&panda.take());
    run.read_all().settle();
    panda.snapshot(&BOTH, true);
    run.append(&panda.take());
    run.read_all().settle();
    assert_eq!(closed(&run), [10, 11, 12], "{}", run.job(12));
    // A snapshot of the archive alone ends nothing.
    panda.shift(1, "jobsarchived4", "finished", false);
    run.append(&panda.take());
    run.read_all();
    panda.snapshot(&["jobsarchived4"], true);
    run.append(&panda.take());
    run.read_all().settle();
    assert_eq!(closed(&run), [10, 11], "the archive has how 12 ended");
}

/// A transaction that began before the snapshot and was committed after it: its changes stand before
/// the snapshot, which did not see them.
#[test]
fn a_change_that_a_snapshot_did_not_see_is_taken_though_it_stands_before_it() {
    let mut panda = Panda::new();
    panda.run(3);
    let mut run = Run::new(&panda.take());
    run.read_all().settle();
    let old = panda.rows[&3].clone();
    panda.set(3, "holding");
    let unseen = panda.take();
    panda.rows.insert(3, old);
    panda.snapshot(&BOTH, true);
    run.append(&panda.take());
    run.append(&unseen);
    run.read_all();
    assert!(run.job(3).contains("status: Holding"), "{}", run.job(3));
    assert_eq!(run.noted(Noted::Restored), 0);
}

/// JEDI's bulk inserts are written to the log before a snapshot's place and committed after its view.
#[test]
fn a_job_that_was_inserted_while_a_snapshot_was_taken_goes_on() {
    for first in [true, false] {
        let (mut panda, mut run) = gap();
        // One in each partition; the last has no row of the snapshot.
        panda.pending(20);
        panda.pending(22);
        let in_flight = panda.take();
        panda.rows.retain(|job, _| ![20, 22].contains(job));
        panda.begin();
        panda.snapshot(&BOTH, true);
        let mut of_snapshot = panda.take();
        of_snapshot.retain(|it| it.partition != partition(22));
        let later = |it: &Message| Message { value: committed(it, panda.now + 1), ..it.clone() };
        let in_flight: Vec<Message> = in_flight.iter().map(later).collect();
        if first {
            // The partitions are read in turns: this one before all rows of the snapshot.
            let (before, after): (Vec<Message>, Vec<Message>) =
                in_flight.into_iter().partition(|it| it.partition == partition(22));
            run.append(&before);
            run.read_all();
            run.append(&[of_snapshot, after].concat());
        } else {
            run.append(&[of_snapshot, in_flight].concat());
        }
        run.read_all().settle();
        for job in [20, 22] {
            assert!(run.job(job).contains("status: Pending"), "{job}: {}", run.job(job));
        }
        assert!(closed(&run).contains(&11), "others that are not in it are over");
    }
}

/// The message of a change that was committed at `at`.
fn committed(message: &Message, at: i64) -> Option<String> {
    let mut value: serde_json::Value = serde_json::from_str(message.value.as_ref()?).unwrap();
    value["source"]["ts_ms"] = at.into();
    Some(value.to_string())
}

/// A database that was restored, intake started again, and then a snapshot: rows that show the
/// restore come in the middle of it, and jobs that did not change have older places than before.
#[test]
fn a_restore_that_shows_within_a_snapshot_ends_no_job_that_is_in_it() {
    let mut panda = Panda::new();
    (1..=9).for_each(|job| panda.run(job));
    let backup = panda.clone();
    [7, 8, 9].into_iter().for_each(|job| panda.set(job, "transferring"));
    let mut run = Run::new(&panda.take());
    run.read_all().settle();
    let mut restored = backup;
    restored.take();
    restored.now = panda.now + 60_000;
    restored.lsn = 1_200;
    restored.is_captured = false;
    (4..=6).for_each(|job| restored.set(job, "transferring"));
    restored.is_captured = true;
    run.restart();
    restored.snapshot(&BOTH, true);
    run.append(&restored.take());
    run.read_all().settle();
    assert!(closed(&run).is_empty(), "{:?}", closed(&run));
}
