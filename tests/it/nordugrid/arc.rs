//! What clusters of ARC 6 and 7 publish: shares of virtual organisations instead of users, states in
//! the words of REST, and jobs that their submitter reports as well as the cluster.

use super::small::*;
use std::time::Duration;
use yardmaster::core::event::{JobState, Status, User, UserShare};
use yardmaster::core::output::decision::Outcome;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::Drive;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;

type Leader = Drive<PaperLog, PaperStore>;

const JOB: &str = "&(executable=/bin/a)";

fn share_of(who: &str, target: &str, authorised: bool, now: i64) -> UserShare {
    UserShare { user: who.into(), authorised, ..share(target, "10", 9000, now) }
}

fn member_of(vos: &[&str], now: i64) -> User {
    let vos = vos.iter().map(|vo| (*vo).to_owned()).collect();
    User { name: "ann".into(), changed_at: now, vos, ..User::default() }
}

/// A cluster whose queue publishes nothing for ann.
fn closed(grid: &Small, target: &str) {
    let (name, now) = (target.split('/').next().unwrap(), grid.yard.now);
    grid.yard.configure(&registration(name, now));
    grid.yard.configure(&cluster(name, &[], Some(9000), now));
    grid.yard.configure(&queue(target, "active", now));
}

/// N-11: the record of the user, else that of an organisation of the user's, else that of all.
#[test]
fn a_member_of_a_virtual_organisation_may_submit_where_that_may() {
    let mut grid = Small::new();
    let now = grid.yard.now;
    ["ce-a/q", "ce-b/q", "ce-c/q", "ce-d/q"].iter().for_each(|target| closed(&grid, target));
    grid.yard.configure(&share_of("vo:atlas", "ce-a/q", true, now));
    grid.yard.configure(&share_of("*", "ce-b/q", true, now));
    grid.yard.configure(&share_of("vo:atlas", "ce-c/q", true, now));
    grid.yard.configure(&share_of("ann", "ce-c/q", false, now));
    grid.yard.configure(&share_of("vo:atlas", "ce-d/q", false, now));
    grid.yard.configure(&share_of("vo:bio", "ce-d/q", true, now));
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let mut at = |grid: &mut Small, job: &str, cluster: &str| {
        grid.ask(job, JOB, &[cluster], &[]);
        grid.lead(&mut drive);
        let decision = grid.last(job);
        match &decision.outcome {
            Outcome::Assign(_) => target(&decision),
            _ => decision.fates[0].reason.to_string(),
        }
    };
    assert_eq!(at(&mut grid, "1", "ce-a"), "not_authorised", "in no organisation");
    assert_eq!(at(&mut grid, "2", "ce-b"), "ce-b/q", "open to all");
    grid.yard.configure(&member_of(&["cms", "atlas"], now + 1));
    assert_eq!(at(&mut grid, "3", "ce-a"), "ce-a/q");
    assert_eq!(at(&mut grid, "4", "ce-c"), "not_authorised", "its own record counts first");
    assert_eq!(at(&mut grid, "5", "ce-d"), "not_authorised");
    grid.yard.configure(&member_of(&["atlas", "bio"], now + 2));
    assert_eq!(at(&mut grid, "6", "ce-d"), "ce-d/q", "one of them may");
    grid.yard.configure(&member_of(&[], now + 3));
    assert_eq!(at(&mut grid, "7", "ce-a"), "not_authorised", "it left them");
}

/// Free CPUs of a queue as the next job finds them.
fn free(grid: &mut Small, drive: &mut Leader, job: &str) -> f64 {
    grid.ask(job, JOB, &["ce-a"], &[]);
    grid.lead(drive);
    ranked(&grid.last(job)).weight
}

/// A job that its submitter reports with the cluster's id, and the importer under that id.
#[test]
fn a_job_that_two_publish_is_counted_once() {
    for is_first in [true, false] {
        let mut grid = Small::new();
        grid.add("ce-a/q", &[], Some(9000), ("20", 9000), "active");
        grid.add("ce-d/q", &[], Some(9000), ("20", 9000), "active");
        let mut drive = grid.start();
        grid.lead(&mut drive);
        let four = "&(executable=/bin/a)(count=4)";
        grid.ask("mine", four, &["ce-a"], &[]);
        grid.lead(&mut drive);
        let now = grid.yard.now;
        let record = JobState { cores: 4, status: Status::Assigned, ..at("mine", "ce-a/q", now) };
        let ours = JobState { cluster_job: "urn:idfe:1", sub_status: "ACCEPTED", ..record.clone() };
        let theirs = JobState { job: "urn:idfe:1", sub_status: "PREPARING", ..record.clone() };
        // A job of that id at another cluster is another job.
        let other = JobState { queue: "ce-d/q", ..theirs.clone() };
        let both = if is_first { [&ours, &theirs] } else { [&theirs, &ours] };
        for record in both {
            grid.job(record);
            grid.lead(&mut drive);
        }
        assert_eq!(free(&mut grid, &mut drive, "one"), 16.0, "20 less 4, once");

        // The first record of the end ends it.
        let ended = JobState { status: Status::Finished, changed_at: grid.yard.now, ..theirs };
        grid.job(&JobState { sub_status: "FINISHED", ..ended });
        grid.lead(&mut drive);
        assert_eq!(free(&mut grid, &mut drive, "two"), 19.0, "the jobs one and two remain");
        grid.job(&other);
        grid.lead(&mut drive);
        assert_eq!(free(&mut grid, &mut drive, "three"), 18.0);
        assert_eq!(audit(drive.state()), vec![]);
        // A restart from the store, and one from the log alone, find the same.
        let (_, store) = drive.into_ports();
        let mut warm = Drive::start(grid.log(), store, grid.config("two")).unwrap();
        grid.yard.pass(20_000);
        (0..4).for_each(|_| grid.lead(&mut warm));
        assert_eq!(free(&mut grid, &mut warm, "four"), 17.0);
        let mut cold =
            Drive::start(grid.log(), PaperStore::default(), grid.config("three")).unwrap();
        while cold.pump(Duration::ZERO).unwrap() + cold.follow().unwrap() as usize > 0 {}
        assert_eq!(digest(cold.state()), digest(warm.state()));
    }
}

/// The words of REST of ARC 6 and 7 (`EXECUTED`, `QUEUING` ...), whatever the status says.
#[test]
fn a_job_that_left_the_batch_system_holds_no_cpus() {
    for (word, free_after) in [
        ("ACCEPTING", 15.0),
        ("SUBMITTING", 15.0),
        ("EXECUTED", 19.0),
        ("KILLING", 19.0),
        ("WIPED", 19.0),
    ] {
        let mut grid = Small::new();
        grid.add("ce-a/q", &[], Some(9000), ("20", 9000), "active");
        let mut drive = grid.start();
        grid.lead(&mut drive);
        let now = grid.yard.now;
        let job = at("urn:idfe:2", "ce-a/q", now);
        grid.job(&JobState { cores: 4, status: Status::Running, sub_status: word, ..job });
        grid.lead(&mut drive);
        free(&mut grid, &mut drive, "first");
        assert_eq!(free(&mut grid, &mut drive, "one"), free_after, "{word}");
    }
}
