//! A job that is submitted again, also to the target of an earlier attempt, takes what every job
//! takes there.

use super::{Decision, Grid, OutcomeKind, Status, active, cluster, target};
use yardmaster::core::unit::HOUR;

const TARGET: &str = "ce-a/grid";
/// All CPUs and most of the disk.
const WANTS_MOST: &str = "&(executable=run.sh)(count=4)(cputime=60)(disk=3000)";

fn grid() -> Grid {
    let mut grid = Grid::new();
    grid.cluster(TARGET, cluster(&[], None), active(4), "4");
    grid.rounds(2);
    grid
}

fn no_target_left(decision: &Decision) -> bool {
    decision.outcome == super::Outcome::Reject { reason: "no_target_left".into() }
}

/// Another job finds the disk of the only target taken.
fn is_held(grid: &mut Grid, other: &str) -> bool {
    no_target_left(&grid.submit(other, WANTS_MOST))
}

#[test]
fn a_job_placed_again_where_it_was_refused_takes_what_it_takes() {
    let mut grid = grid();
    let first = grid.submit("first", WANTS_MOST);
    grid.outcome(&first, OutcomeKind::Refused);
    assert!(no_target_left(&grid.last("first")), "the target refused it");
    let again = grid.submit_again("first", WANTS_MOST);
    assert_eq!((target(&again), again.attempt), (TARGET, 2));
    assert!(is_held(&mut grid, "second"), "before the outcome of the second attempt is known");
    grid.outcome(&again, OutcomeKind::Accepted);
    assert!(is_held(&mut grid, "third"), "and after it");
    grid.check();
}

#[test]
fn a_job_that_failed_and_is_submitted_again_takes_what_it_takes() {
    let mut grid = grid();
    let first = grid.submit("first", WANTS_MOST);
    grid.outcome(&first, OutcomeKind::Accepted);
    grid.job("first", TARGET, Status::Failed, "FAILED", 0);
    let again = grid.submit_again("first", WANTS_MOST);
    assert_eq!(target(&again), TARGET);
    assert!(is_held(&mut grid, "second"), "before the outcome of the second attempt is known");
    grid.outcome(&again, OutcomeKind::Accepted);
    assert!(is_held(&mut grid, "third"), "and after it");
    grid.job("first", TARGET, Status::Failed, "FAILED", 0);
    assert_eq!(target(&grid.submit("fourth", WANTS_MOST)), TARGET, "the second attempt is over");
    grid.check();
}

/// The file of a job that failed is on its way again once the job is submitted again.
#[test]
fn a_job_that_failed_and_is_submitted_again_brings_its_files() {
    let mut grid = Grid::new();
    grid.cluster(TARGET, cluster(&[], Some(900)), active(100), "50");
    grid.file("rls://x/f1", 100, &[("far", false)]);
    grid.rounds(2);
    let xrsl = "&(executable=a)(inputfiles=(\"f\" \"rls://x/f1\"))";
    let cache = |decision: &Decision| decision.placed.as_ref().map(|it| it.cache_bytes);
    let first = grid.submit("first", xrsl);
    assert_eq!(cache(&first), Some(100 << 20));
    grid.outcome(&first, OutcomeKind::Accepted);
    grid.job("first", TARGET, Status::Failed, "FAILED", 0);
    assert_eq!(cache(&grid.submit_again("first", xrsl)), Some(100 << 20));
    assert_eq!(cache(&grid.submit("second", xrsl)), Some(0), "the first job brings the file");
    grid.check();
}

#[test]
fn an_assignment_without_news_ends_after_the_lifetime_of_a_reservation() {
    let mut grid = grid();
    let first = grid.submit("first", WANTS_MOST);
    grid.outcome(&first, OutcomeKind::Accepted);
    // reservation_lifetime_h is 2; the queue's facts are stated again.
    grid.yard.pass(2 * HOUR - 10_000);
    grid.queue(TARGET, active(4));
    grid.rounds(3);
    assert!(is_held(&mut grid, "second"), "just before its end");
    grid.yard.pass(10_000);
    grid.rounds(3);
    let third = grid.submit("third", WANTS_MOST);
    assert_eq!(target(&third), TARGET);
    assert_eq!(third.limits[0].before, 0, "{third:#?}");
    // A job that is known to be there counts as long as it is.
    grid.job("third", TARGET, Status::Defined, "PREPARING", 0);
    grid.yard.pass(3 * HOUR);
    grid.queue(TARGET, active(4));
    grid.rounds(3);
    assert!(is_held(&mut grid, "fourth"), "its inputs are being staged");
    grid.check();
}
