//! Which copies of a file a decision is made by: the newest record counts, whatever its name, until
//! it is removed or evicted.

use super::{DataKind, Decision, Grid, Location, MIB, Outcome, Replica, active, cluster, target};
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::unit::DAY;

const TARGET: &str = "ce-a/grid";

fn grid(limits: &str) -> Grid {
    let mut grid = Grid::with_limits(limits);
    grid.cluster(TARGET, cluster(&["se1"], None), active(100), "50");
    grid.rounds(2);
    grid
}

fn wants(source: &str) -> String {
    format!("&(executable=a)(inputfiles=(\"f\" \"{source}\"))")
}

fn factor(decision: &Decision, name: &str) -> f64 {
    let at = decision.factor_names.iter().position(|it| it == name).expect("a factor");
    match &decision.outcome {
        Outcome::Assign(ranked) => ranked[0].factors[at],
        other => panic!("{other:?} of {decision:#?}"),
    }
}

fn is_nowhere(decision: &Decision) -> bool {
    let reason = decision.fates.iter().find(|fate| &*fate.queue == TARGET);
    reason.is_some_and(|fate| fate.reason == "no_location")
}

/// A record about a file at one endpoint, as of an age.
fn at_endpoint(grid: &Grid, source: &str, endpoint: &str, is_there: bool, age: i64, mb: u64) {
    let location = Location { endpoint: endpoint.into(), complete: true, ..Location::default() };
    grid.yard.configure(&Replica {
        name: source.into(),
        changed_at: grid.yard.now - age,
        kind: DataKind::File,
        bytes: mb * MIB,
        locations: Some(location).filter(|_| is_there).into_iter().collect(),
        endpoint: endpoint.into(),
        ..Replica::default()
    });
}

#[test]
fn a_file_that_is_evicted_has_no_copy_before_and_after_a_restart() {
    let mut grid = grid("replicas_max = 1");
    grid.file("rls://x/f1", 100, &[("far", false)]);
    grid.rounds(2);
    assert_eq!(target(&grid.submit("job-1", &wants("rls://x/f1"))), TARGET);
    grid.yard.pass(1_000);
    grid.file("rls://x/f2", 100, &[("far", false)]);
    grid.rounds(2);
    assert!(is_nowhere(&grid.submit("job-2", &wants("rls://x/f1"))));
    let mut grid = grid.restart();
    assert!(is_nowhere(&grid.submit("job-3", &wants("rls://x/f1"))));
    assert_eq!(target(&grid.submit("job-4", &wants("rls://x/f2"))), TARGET);
    grid.check();
}

#[test]
fn a_file_whose_record_is_old_is_where_the_record_says() {
    let mut grid = grid("");
    grid.file("rls://x/f1", 100, &[("far", false)]);
    grid.rounds(2);
    grid.yard.pass(31 * DAY);
    grid.cluster(TARGET, cluster(&["se1"], None), active(100), "50");
    grid.file("rls://x/other", 100, &[("far", false)]);
    grid.rounds(3);
    assert_eq!(target(&grid.submit("job-1", &wants("rls://x/f1"))), TARGET);
    grid.check();
}

#[test]
fn of_two_records_of_a_file_the_newer_counts_whatever_it_is_about() {
    let mut grid = grid("");
    // An hour ago nothing was at se1 and the file had 7 MB; now all copies are listed.
    at_endpoint(&grid, "rls://x/f1", "se1", false, 3_600_000, 7);
    grid.file("rls://x/f1", 100, &[("se1", false)]);
    // This file was at the far element alone; now it is at se1 as well, and smaller.
    grid.file("rls://x/f2", 100, &[("far", false)]);
    grid.yard.pass(1_000);
    at_endpoint(&grid, "rls://x/f2", "se1", true, 0, 7);
    grid.rounds(2);
    let first = grid.submit("job-1", &wants("rls://x/f1"));
    let bytes = |decision: &Decision| {
        (factor(decision, "remote_bytes"), factor(decision, "local_bytes") / MIB as f64)
    };
    assert_eq!(bytes(&first), (0.0, 100.0));
    let second = grid.submit("job-2", &wants("rls://x/f2"));
    assert_eq!(bytes(&second), (0.0, 7.0));
    // A newer list of all copies takes away what an older record of one endpoint says.
    grid.yard.pass(1_000);
    grid.file("rls://x/f2", 50, &[("far", false)]);
    grid.rounds(2);
    let third = grid.submit("job-3", &wants("rls://x/f2"));
    assert_eq!(
        (factor(&third, "remote_bytes"), factor(&third, "local_bytes")),
        (50.0 * MIB as f64, 0.0)
    );
    grid.check();
}

#[test]
fn a_source_with_a_bar_in_its_name_is_found() {
    let source = "lfc://h1|http://h2/f2";
    let mut grid = grid("");
    grid.file(source, 100, &[("se1", false)]);
    at_endpoint(&grid, "lfc://h1", "http://h2/f3", true, 0, 1);
    grid.rounds(2);
    let first = grid.submit("job-1", &wants(source));
    assert_eq!(factor(&first, "local_bytes"), 100.0 * MIB as f64);
    assert_eq!(factor(&grid.submit("job-2", &wants("lfc://h1")), "remote_bytes"), MIB as f64);
    // What is about one endpoint is found by its source as well, and goes with its record.
    grid.yard.pass(1_000);
    at_endpoint(&grid, source, "se1", false, 0, 100);
    grid.rounds(2);
    assert!(is_nowhere(&grid.submit("job-3", &wants(source))));
    remove(&mut grid, &format!("{source}|se1"));
    assert_eq!(target(&grid.submit("job-4", &wants(source))), TARGET);
    grid.check();
}

/// A record is removed: a null under its key.
fn remove(grid: &mut Grid, name: &str) {
    let partition = yardmaster::core::id::hash(name.as_bytes()) % 2;
    let lane = Lane::new(Topic::Replica, partition as u32);
    grid.yard.paper.append(lane, Some(name.as_bytes()), None, &[], None);
    grid.rounds(3);
}
