//! A database that was restored, and changes that are only sent again.

use super::Run;
use super::source::Panda;
use yardmaster::drive::intake::Noted;

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
