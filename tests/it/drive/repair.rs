//! A log whose leader's clock jumped ahead, and its repair: every process, from any store, counts
//! what a log without the jump gives, but for the final answers that were given.

use super::owner::{build, own, parameter};
use super::yard::*;
use crate::crash::check::follow_to_end;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Queue, Status, Task};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::output::progress::Progress;
use yardmaster::core::output::repair::NowRepair;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::counters::counters;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::{DAY, MINUTE};
use yardmaster::drive::repair::{ClockRepair, Plan};
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::counter::to_json;
use yardmaster::wire::record;

type Driven = Drive<PaperLog, PaperStore>;

const YEAR: i64 = 366 * DAY;
/// Cycles that are published before the leader reads the first of them back.
const AHEAD: usize = 6;

/// A log with all that can expire, a standby that follows it, and all stores on the way.
struct Story {
    yard: Yard,
    standby: Driven,
    /// The leader's checkpoints.
    kept: PaperStore,
    /// How many of them there were when the clock jumped, and after.
    before: usize,
    within: usize,
    /// The last cycle before the jump.
    last_right: Progress,
}

fn begin(yard: &Yard, name: &str, store: PaperStore) -> Driven {
    Drive::start(yard.log(), store, config(name)).unwrap()
}

/// No queue has so much memory.
fn unplaceable(subject: &str, at: i64) -> Task {
    Task { ram_count_mb: Some(90_000), ..task(subject, 10, at) }
}

/// The leader's clock is ahead by `jump` for some cycles, as an older version published them.
fn story(jump: i64) -> Story {
    let mut yard = Yard::new();
    build(&yard, 3);
    for at in 0..3 {
        let queue = queue(&format!("QUEUE_{at:02}"), yard.now + 2);
        let queue = Queue { analysis: true, max_rss_mb: 2_000, ..queue };
        yard.configure(&queue);
    }
    parameter(&yard, "prio_mgr", "CAP_RUNNING_USER_JOBS", "2");
    let kept = PaperStore::default();
    let mut leader = begin(&yard, "one", kept.clone());
    lead(&mut yard, &mut leader, 5).unwrap();
    for number in 0..4 {
        yard.job(&own(&format!("9{number}"), "ann", Status::Running, yard.now));
        let name = format!("8{number}");
        yard.job(&job(&name, "QUEUE_01", "", Status::Running, yard.now));
    }
    yard.job(&job("70", "QUEUE_02", "", Status::Finished, yard.now));
    yard.ask(&asking("7/1", yard.now));
    yard.ask(&task("1/1", 30, yard.now));
    lead(&mut yard, &mut leader, 10).unwrap();
    yard.pass(5 * MINUTE);
    yard.ask(&unplaceable("2/1", yard.now));
    lead(&mut yard, &mut leader, 10).unwrap();
    let mut standby = begin(&yard, "two", PaperStore::default());
    follow_to_end(&mut standby);
    let last_right = yard.progress().pop().unwrap();
    let before = kept.count();
    // Asked just before, and read by nobody yet.
    yard.ask(&unplaceable("5/1", yard.now));
    leader.pump(Duration::ZERO).unwrap();
    for _ in 0..AHEAD {
        yard.pass(1_000);
        leader.lead(yard.now + jump).unwrap();
        leader.settle(yard.now).unwrap();
    }
    follow_to_end(&mut standby);
    let noticed = lead(&mut yard, &mut leader, 5);
    assert_eq!(noticed.is_err(), jump > 0, "{:?}", noticed.err());
    let within = kept.count();
    Story { yard, standby, kept, before, within, last_right }
}

fn repair(yard: &Yard) -> ClockRepair<PaperLog> {
    ClockRepair::new(yard.log(), epoch_config(), "a repair".to_owned(), true)
}

fn execute(yard: &Yard) -> Option<Plan> {
    repair(yard).execute(&|| yard.now).unwrap()
}

fn figures(drive: &Driven) -> BTreeMap<String, String> {
    counters(drive.state()).iter().map(|line| (line.key(), to_json(line))).collect()
}

fn finals(decisions: &[Decision]) -> BTreeMap<String, u32> {
    let mut finals = BTreeMap::new();
    for decision in decisions.iter().filter(|decision| decision.outcome.is_final()) {
        *finals.entry(decision.subject.clone()).or_default() += 1;
    }
    finals
}

#[test]
fn a_dry_run_names_the_cycles_and_changes_nothing() {
    let Story { yard, last_right, .. } = story(YEAR);
    let last = yard.progress().pop().unwrap();
    assert!(last.now > yard.now + 360 * DAY);
    let published = yard.progress().len();
    let mut repair = repair(&yard);
    let plan = repair.look(yard.now).unwrap().unwrap();
    let (from_cycle, until_cycle) = (last_right.number + 1, last.number);
    assert_eq!(plan.repair, NowRepair { from_cycle, until_cycle, now: last_right.now });
    assert_eq!((plan.published, plan.real), (last.now, yard.now));
    let answers = repair.answers(&plan).unwrap();
    let count = |kind: &str| answers.finals.get(kind).copied();
    assert_eq!(
        (count("reject gave_up"), count("reject expired")),
        (Some(2), Some(1)),
        "{answers:?}"
    );
    assert_eq!(yard.progress().len(), published);
}

#[test]
fn where_nothing_is_ahead_nothing_is_published() {
    let Story { yard, .. } = story(0);
    let published = yard.progress().len();
    assert_eq!(execute(&yard), None);
    assert_eq!(yard.progress().len(), published);
    let yard = Yard::new();
    assert_eq!(execute(&yard), None);
}

#[test]
fn a_clock_that_is_wrong_itself_repairs_nothing() {
    for wrong in [-YEAR, -10 * MINUTE, 10 * MINUTE] {
        let Story { yard, .. } = story(YEAR);
        let halt = repair(&yard).execute(&|| yard.now + wrong).unwrap_err();
        assert!(matches!(halt, Halt::Clock { .. }), "{wrong}: {halt}");
        assert!(yard.progress().iter().all(|it| it.now_repairs.is_empty()));
        // The right clock still can.
        assert!(execute(&yard).is_some());
    }
}

/// Cycles that other processes tried in vain to lead with belong to it.
#[test]
fn every_process_counts_a_repaired_log_alike() {
    let Story { mut yard, mut standby, kept, before, within, last_right } = story(YEAR);
    let mut mute = begin(&yard, "three", kept.older(within));
    let halt = lead(&mut yard, &mut mute, 5).unwrap_err();
    assert!(halt.to_string().contains("yardmaster repair clock"), "{halt}");
    follow_to_end(&mut standby);
    let plan = execute(&yard).unwrap();
    assert_eq!(plan.repair.from_cycle, last_right.number + 1);
    assert_eq!(plan.repair.now, last_right.now);
    let published = yard.progress().len();
    assert_eq!(execute(&yard), None, "there is nothing left to repair");
    assert_eq!(yard.progress().len(), published);
    let last = yard.progress().pop().unwrap();
    assert_eq!((last.now, &last.now_repairs[..]), (yard.now, &[plan.repair][..]));

    // The standby that counted the far cycles ends, and begins again.
    standby.pump(Duration::ZERO).unwrap();
    let halt = standby.follow().unwrap_err();
    assert!(matches!(halt, Halt::Repaired { .. }), "{halt}");
    let (_, of_standby) = standby.into_ports();
    let reached = check_alike(&yard, &kept, (before, within), of_standby.clone());

    // From the store within, a process leads at once and goes on.
    let mut next = begin(&yard, "four", kept.older(within));
    yard.ask(&task("6/1", 10, yard.now));
    lead(&mut yard, &mut next, 20).unwrap();
    assert!(next.leads());
    assert_ne!(digest(next.state()), reached);
    next.finish(yard.now).unwrap();
    assert_eq!(audit(next.state()), vec![]);
    let led = check_alike(&yard, &kept, (before, within), of_standby);
    assert_eq!(digest(next.state()), led);
    let newest = yard.progress().pop().unwrap();
    assert_eq!((newest.now, &newest.now_repairs[..]), (yard.now, &[plan.repair][..]));
    for (subject, count) in finals(&yard.decisions()) {
        assert_eq!(count, 1, "{subject}");
    }

    let verify = Config { verify: true, ..config("a reader") };
    let mut reader = Drive::start(yard.log(), PaperStore::default(), verify).unwrap();
    follow_to_end(&mut reader);
    let report = reader.take_report();
    assert!(report.notices.iter().any(|it| it.contains("was repaired")), "{:?}", report.notices);
    let [same, different, other] = report.verified;
    let words = yard.outputs();
    let within = |cycle: u64| plan.repair.covers(cycle);
    let in_doubt = yard.decisions().iter().filter(|it| within(it.cycle)).count()
        + yard.throttles().iter().filter(|it| within(it.cycle)).count()
        + yard.commands().iter().filter(|it| within(it.cycle)).count();
    assert!(in_doubt >= 2);
    assert_eq!((different, other), (0, in_doubt as u64), "{:#?}", report.differences);
    assert_eq!(same, (words - in_doubt) as u64);
}

/// The digest that is reached without a store, from the leader's last store before the jump, the
/// first and the last within it, and the standby's.
fn check_alike(
    yard: &Yard,
    kept: &PaperStore,
    (before, within): (usize, usize),
    of_standby: PaperStore,
) -> String {
    let reach = |store: PaperStore| {
        let mut drive = begin(yard, "a reader", store);
        let is_refused = drive.take_report().notices.iter().any(|it| it.contains("rebuilt"));
        follow_to_end(&mut drive);
        assert_eq!(audit(drive.state()), vec![]);
        (digest(drive.state()).to_string(), is_refused)
    };
    let (reached, _) = reach(PaperStore::default());
    assert!(within > before + 1, "{before} {within}");
    for (count, refused) in [(before, false), (before + 1, true), (within, true)] {
        assert_eq!(reach(kept.older(count)), (reached.clone(), refused), "store {count}");
    }
    assert_eq!(reach(of_standby).0, reached, "the standby's store");
    reached
}

#[test]
fn a_repaired_log_counts_what_one_without_the_jump_does() {
    let reached = [0, YEAR].map(|jump| {
        let Story { mut yard, kept, .. } = story(jump);
        if jump > 0 {
            assert!(execute(&yard).is_some());
        }
        yard.pass(MINUTE);
        let mut next = begin(&yard, "four", kept);
        lead(&mut yard, &mut next, 20).unwrap();
        assert!(next.leads());
        next.finish(yard.now).unwrap();
        // What would have been forgotten is known.
        let state = next.state();
        assert_eq!(state.jobs.slab.len(), 9);
        assert_eq!(state.opened.len(), 1, "the reservation to 1/1 is open");
        assert!(state.throttles.of("user/ann A1").is_some_and(|it| it.stands(state.now)));
        assert_eq!(state.now, yard.now);
        (figures(&next), yard)
    });
    let [(right, _), (repaired, yard)] = reached;
    assert!(right.len() > 10);
    assert_eq!(repaired, right);
    let is_out = |it: &&Decision| matches!(it.outcome, Outcome::Reject { .. });
    let out: Vec<String> =
        yard.decisions().iter().filter(is_out).map(|it| it.subject.clone()).collect();
    let out = BTreeSet::from_iter(out);
    assert_eq!(
        out,
        BTreeSet::from(["2/1", "5/1", "7/1"].map(String::from)),
        "given while the clock was wrong, they stand"
    );
}

/// A later jump is repaired beside the first; both are known to the next process.
#[test]
fn a_second_jump_is_repaired_too() {
    let Story { mut yard, .. } = story(YEAR);
    let first = execute(&yard).unwrap();
    yard.pass(MINUTE);
    let mut next = begin(&yard, "four", PaperStore::default());
    lead(&mut yard, &mut next, 20).unwrap();
    yard.pass(1_000);
    next.lead(yard.now + 60 * MINUTE).unwrap();
    next.settle(yard.now).unwrap();
    let second = execute(&yard).unwrap();
    let last = yard.progress().pop().unwrap();
    assert_eq!(last.now_repairs, [first.repair, second.repair]);
    let cycle = second.repair.from_cycle;
    let published: Vec<Progress> = yard.progress();
    let before = published.iter().find(|it| it.number + 1 == cycle).unwrap();
    assert_eq!(second.repair.now, before.now);
    let mut reader = begin(&yard, "a reader", PaperStore::default());
    follow_to_end(&mut reader);
    assert_eq!(reader.state().now, yard.now);
}

/// A version that does not know of repairs led meanwhile, and its records name none.
#[test]
fn a_repair_that_the_newest_record_does_not_name_is_found() {
    let Story { mut yard, kept, before, within, .. } = story(YEAR);
    execute(&yard).unwrap();
    let lane = Lane::new(Topic::Progress, 0);
    let last = yard.progress().pop().unwrap();
    for number in 1..=300 {
        let of_epoch = Progress { full: number == 1, farewell: false, ..last.clone() };
        let cycle = Progress {
            epoch: last.epoch + 1,
            number: last.number + number,
            instance: "an older version".to_owned(),
            policies: (number == 1).then(|| epoch_config().text),
            engine: 2,
            now_repairs: Vec::new(),
            ..of_epoch
        };
        let mut value = Vec::new();
        record::write(&mut value, &cycle);
        yard.paper.append(lane, Some(b"atlas"), Some(&value), &[], None);
    }
    yard.pass(1_000);
    check_alike(&yard, &kept, (before, within), PaperStore::default());
    // A leader of this version carries it on.
    let mut next = begin(&yard, "four", PaperStore::default());
    follow_to_end(&mut next);
    next.take_lead(yard.now).unwrap();
    assert_eq!(yard.progress().pop().unwrap().now_repairs, last.now_repairs);
}

thread_local! {
    static CLOCK: Cell<i64> = const { Cell::new(0) };
}

/// The time comes while the repair runs.
#[test]
fn a_now_that_has_come_meanwhile_is_left_as_it_is() {
    let Story { yard, .. } = story(10_000);
    let looks = Cell::new(0);
    let clock = || {
        looks.set(looks.get() + 1);
        CLOCK.set(yard.now + if looks.get() > 1 { 30_000 } else { 0 });
        yard.paper.set_now(CLOCK.get());
        CLOCK.get()
    };
    assert_eq!(repair(&yard).execute(&clock).unwrap(), None);
    let last = yard.progress().pop().unwrap();
    assert!(last.farewell && last.now_repairs.is_empty());
}
