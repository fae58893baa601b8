//! A job that is over takes nothing at its target, also once it is forgotten.

use super::{Grid, MIB, MINUTE, OutcomeKind, Status, active, cluster, target};

const TARGET: &str = "ce-a/grid";
const WANTS_MOST: &str = "&(executable=run.sh)(count=4)(cputime=60)(disk=3000)";

#[test]
fn a_job_that_ended_and_is_forgotten_takes_nothing() {
    let mut grid = Grid::new();
    grid.cluster(TARGET, cluster(&[], None), active(4), "4");
    let first = grid.submit("first", WANTS_MOST);
    assert_eq!(target(&first), TARGET);
    grid.outcome(&first, OutcomeKind::Accepted);
    let at = grid.yard.now;
    grid.job("first", TARGET, Status::Running, "INLRMS:R", at);
    grid.job("first", TARGET, Status::Finished, "FINISHED", at);

    // ended_job_lifetime_h is 24; the time of the topic goes on with the next record.
    grid.yard.pass(25 * 60 * MINUTE);
    grid.job("other", TARGET, Status::Finished, "FINISHED", 0);
    grid.queue(TARGET, active(4));
    grid.share(TARGET, "4", 5_000 * MIB);
    grid.rounds(3);
    let second = grid.submit("second", WANTS_MOST);
    assert_eq!(target(&second), TARGET);
    assert_eq!(second.limits[0].before, 0, "{second:#?}");
    grid.check();
}
