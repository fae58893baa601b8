//! NorduGrid from records to decisions: a small grid on paper, and the program as a user calls it.

mod arc;
mod door;
mod evidence;
mod refusals;
pub mod small;

use small::*;
use std::collections::BTreeMap;
use yardmaster::core::domain::nordugrid::output::Draw;
use yardmaster::core::draw::Seed;
use yardmaster::core::event::{JobState, OutcomeKind, Status};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::Drive;
use yardmaster::sim::paper::store::PaperStore;

/// The candidates of a draw with their weights.
fn weights(draw: &Draw) -> Vec<(String, u64)> {
    draw.weights.iter().map(|it| (it.name.clone(), it.weight)).collect()
}

/// Limits hold, no listed target has a better rank than the chosen one (TS-06), and a draw can be
/// made again from what its decision states.
fn check(decision: &Decision) {
    if let Outcome::Assign(ranked) = &decision.outcome {
        assert!(ranked.windows(2).all(|two| two[0].factors <= two[1].factors), "{ranked:?}");
        let jobs: Vec<u32> = ranked.iter().map(|it| it.jobs).collect();
        assert!(jobs[0] == 1 && jobs[1..].iter().all(|jobs| *jobs == 0), "{ranked:?}");
    }
    for limit in &decision.limits {
        assert!(limit.before <= limit.after && limit.after <= limit.max, "{limit:?}");
    }
    let Some(draw) = decision.placed.as_ref().and_then(|placed| placed.draw.as_ref()) else {
        return;
    };
    assert_eq!(draw.algorithm, "ngbroker.v1");
    let seed = Seed {
        algorithm: "ngbroker.v1",
        subject: &decision.subject,
        attempt: decision.attempt,
        cut_id: &draw.cut_id,
        round: draw.round,
    };
    let again = seed.draw(weights(draw)).unwrap();
    assert_eq!(again.winner(), target(decision));
    assert_eq!(u64::try_from(again.drawn).unwrap(), draw.x);
}

const EXAMPLE: &str = "&(executable=run.sh)(count=4)(cputime=120)(disk=500)(inputfiles=\
    (\"f1\" \"rls://f1\")(\"f2\" \"rls://f2\" \"cache=no\")(\"f3\" \"\")(\"f4\" \"rls://f4\"))";

/// B.12, TN-26.
#[test]
fn the_worked_example_is_decided_as_the_specification_works_it_out() {
    let mut grid = Small::new();
    grid.five_clusters();
    grid.job(&JobState {
        status: Status::Defined,
        sub_status: "ACCEPTED",
        cores: 2,
        cpu_time_s: 6_000,
        ..at("earlier", "ce-a/long", grid.yard.now)
    });
    let mut drive = grid.start();
    grid.lead(&mut drive);
    grid.ask("gsid-JN2", EXAMPLE, &[], &[("f3", 10)]);
    grid.lead(&mut drive);
    let decision = grid.last("gsid-JN2");
    check(&decision);
    let placed = decision.placed.clone().unwrap();
    let draw = placed.draw.unwrap();
    assert_eq!(weights(&draw), [("ce-a/long".to_owned(), 4), ("ce-d/main".to_owned(), 8)]);
    assert!(["ce-a/long", "ce-d/main"].contains(&target(&decision).as_str()));
    let fates = decision.fates.iter().map(|it| (it.queue.as_ref(), it.reason.as_ref()));
    let fates: BTreeMap<&str, &str> = fates.collect();
    assert_eq!(fates.get("ce-b/grid"), Some(&"cache_space"), "{fates:?}");
    assert_eq!(fates.get("ce-e/q"), Some(&"queue_status"), "{fates:?}");
    let is_a = target(&decision) == "ce-a/long";
    let (disk, cache) = if is_a { (810 * MB, 2150 * MB) } else { (2960 * MB, 0) };
    assert_eq!((placed.disk_bytes, placed.cache_bytes), (disk, cache), "{decision:?}");
    assert_eq!(audit(drive.state()), vec![]);
}

const PLAIN: &str = "&(executable=a)(count=4)(cputime=30)";

/// TN-34, TN-35.
#[test]
fn a_refused_job_goes_to_what_is_left_and_then_nowhere() {
    let mut grid = Small::new();
    grid.two_clusters();
    let mut drive = grid.start();
    grid.lead(&mut drive);
    grid.ask("one", PLAIN, &[], &[]);
    grid.lead(&mut drive);
    let first = grid.last("one");
    check(&first);
    assert_eq!(first.attempt, 0);
    grid.answer(&first, OutcomeKind::Refused);
    grid.lead(&mut drive);
    let second = grid.last("one");
    check(&second);
    assert_eq!(second.attempt, 1);
    assert_ne!(target(&first), target(&second));
    let excluded = second.fates.iter().filter(|fate| fate.reason == "excluded");
    let excluded: Vec<String> = excluded.map(|fate| fate.queue.to_string()).collect();
    assert_eq!(excluded, [target(&first)]);
    grid.answer(&second, OutcomeKind::Refused);
    grid.lead(&mut drive);
    assert_eq!(rejected(&grid.last("one")), "no_target_left");
    // All is as free as it was.
    grid.ask("two", PLAIN, &[], &[]);
    grid.lead(&mut drive);
    let draw = grid.last("two").placed.unwrap().draw.unwrap();
    assert_eq!(weights(&draw), [("ce-a/q".to_owned(), 10), ("ce-d/q".to_owned(), 10)]);
}

const SHARED: &str = "&(executable=a)(inputfiles=(\"f1\" \"rls://f1\"))";

/// TN-36, TN-37.
#[test]
fn a_file_that_a_job_brings_counts_as_cached_until_that_job_fails() {
    let mut grid = Small::new();
    grid.two_clusters();
    grid.file("rls://f1", 2000, "se1", &[]);
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let takes = |grid: &Small, job: &str| grid.last(job).placed.unwrap().cache_bytes;
    grid.ask("first", SHARED, &["ce-a"], &[]);
    grid.lead(&mut drive);
    assert_eq!(takes(&grid, "first"), 2000 * MB);
    grid.ask("second", SHARED, &["ce-a"], &[]);
    grid.lead(&mut drive);
    assert_eq!(takes(&grid, "second"), 0);
    let failed = JobState { status: Status::Failed, ..at("first", "ce-a/q", grid.yard.now) };
    grid.job(&JobState { sub_status: "FAILED", ..failed });
    grid.lead(&mut drive);
    grid.ask("third", SHARED, &["ce-a"], &[]);
    grid.lead(&mut drive);
    assert_eq!(takes(&grid, "third"), 2000 * MB);
}

/// TN-38, TN-44, TS-05: and a rebuild, with every decision made again, reaches the same state; so
/// does a restart from the store, whose next decision is the same.
#[test]
fn the_eleventh_job_of_a_cut_finds_ten_cpus_taken_and_a_rebuild_agrees() {
    let mut grid = Small::new();
    grid.two_clusters();
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let jobs: Vec<String> = (0..11).map(|at| format!("job-{at:02}")).collect();
    jobs.iter().for_each(|job| grid.ask(job, "&(executable=a)", &["ce-a"], &[]));
    grid.lead(&mut drive);
    let decisions: Vec<Decision> = jobs.iter().map(|job| grid.last(job)).collect();
    decisions.iter().for_each(check);
    let not_free = decisions.iter().filter(|it| ranked(it).factors[0] != 0.0).count();
    assert_eq!(not_free, 1);
    let cycles: Vec<u64> = decisions.iter().map(|it| it.cycle).collect();
    assert!(cycles.iter().all(|cycle| *cycle == cycles[0]), "{cycles:?}");

    let same = |grid: &Small| {
        let mut config = grid.config("again");
        config.verify = true;
        let mut again = Drive::start(grid.log(), PaperStore::default(), config).unwrap();
        while again.pump(std::time::Duration::ZERO).unwrap() + again.follow().unwrap() as usize > 0
        {
        }
        let report = again.take_report();
        assert_eq!(report.differences, Vec::<String>::new());
        assert_eq!(report.verified[1..], [0, 0]);
        digest(again.state())
    };
    assert_eq!(same(&grid), digest(drive.state()));
    let (_, store) = drive.into_ports();
    let mut restarted = Drive::start(grid.log(), store, grid.config("two")).unwrap();
    grid.yard.pass(20_000);
    for _ in 0..4 {
        grid.lead(&mut restarted);
    }
    grid.ask("job-11", "&(executable=a)", &["ce-a"], &[]);
    grid.lead(&mut restarted);
    assert_eq!(ranked(&grid.last("job-11")).factors[0], 1.0, "places were forgotten");
    assert_eq!(same(&grid), digest(restarted.state()));
}

/// TN-40.
#[test]
fn the_second_alternative_is_taken_where_nothing_matches_the_first() {
    let mut grid = Small::new();
    grid.two_clusters();
    let mut drive = grid.start();
    grid.lead(&mut drive);
    grid.ask("one", "&(executable=a)(|(queue=none)(cluster=ce-d))", &[], &[]);
    grid.lead(&mut drive);
    let decision = grid.last("one");
    assert_eq!(target(&decision), "ce-d/q");
    assert_eq!(decision.placed.unwrap().alternative, 1);
}

/// N-16, each class through topics and engine: what a file takes of the cache and of the disk where
/// it comes from far away, from close by or from the submitter, and what cannot come at all.
#[test]
fn input_files_of_every_class_take_what_their_class_takes() {
    let mut grid = Small::new();
    grid.add("ce-a/q", &["se1"], Some(9000), ("10", 9000), "active");
    grid.file("rls://near", 100, "se1", &[]);
    grid.file("rls://far", 200, "se9", &[]);
    grid.file("rls://cached", 400, "se9", &["ce-a"]);
    grid.file("http://h/known", 800, "se9", &[]);
    grid.file("rls://elsewhere", 1, "se9", &[]);
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let uploads = [("up", 1), ("path", 2), ("url", 4), ("run.sh", 8), ("in", 16)];
    for (job, inputs, disk, cache) in [
        ("remote", "(f \"rls://far\")", 0, 200),
        ("local", "(f \"rls://near\")", 0, 100),
        ("remote-no-cache", "(f \"rls://far\" \"cache=no\")", 200, 0),
        ("local-no-cache", "(f \"rls://near\" \"cache=no\")", 100, 0),
        ("cached", "(f \"rls://cached\")", 0, 0),
        ("uploads", "(up \"\")(path \"dir/x\")(url \"file:///etc/x\")", 7, 0),
        ("plain", "(f \"http://h/unknown\")", 0, 0),
        ("options", "(f \"http://h;cache=no;threads=2/known\")", 800, 0),
    ] {
        grid.ask(job, &format!("&(executable=/bin/a)(inputfiles={inputs})"), &[], &uploads);
        grid.lead(&mut drive);
        let decision = grid.last(job);
        check(&decision);
        let placed = decision.placed.unwrap_or_else(|| panic!("{job}: {:?}", decision.notes));
        assert_eq!((placed.disk_bytes, placed.cache_bytes), (disk * MB, cache * MB), "{job}");
        let is_unknown = decision.notes.contains(&"size_unknown(f)".to_owned());
        assert_eq!(is_unknown, job == "plain", "{job}: {:?}", decision.notes);
    }
    grid.ask("program", "&(executable=run.sh)(stdin=in)", &[], &uploads);
    grid.lead(&mut drive);
    assert_eq!(grid.last("program").placed.unwrap().disk_bytes, 24 * MB);
    for (job, input) in [
        ("nobody", "(f \"rls://nobody\")"),
        ("not-near", "(f \"rls://elsewhere\" \"local=yes\")"),
        ("not-near-either", "(f \"http://h;local=yes/known\")"),
    ] {
        grid.ask(job, &format!("&(executable=a)(inputfiles={input})"), &[], &[]);
        grid.lead(&mut drive);
        let decision = grid.last(job);
        assert_eq!(rejected(&decision), "no_target_left", "{job}");
        assert_eq!(decision.fates[0].reason, "no_location", "{job}");
    }
}
