//! Blind means quiet, and a wrong clock means silence.

use super::check::*;
use crate::drive::yard::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Pilot, Queue, Status, Task, confirmed};
use yardmaster::core::oddity::Oddity;
use yardmaster::core::output::decision::Outcome;
use yardmaster::core::output::progress::Progress;
use yardmaster::core::state::digest::digest;
use yardmaster::core::state::record::RequestState;
use yardmaster::core::unit::HOUR;
use yardmaster::drive::port::{Log, Store};
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::faulty::{Fault, Faulty, Schedule};
use yardmaster::sim::paper::store::PaperStore;

fn begin(yard: &Yard, name: &str) -> Drive<PaperLog, PaperStore> {
    Drive::start(yard.log(), PaperStore::default(), super::play::config(name)).unwrap()
}

/// Turns of so many ms; the first of them takes the lead.
fn turns<L: Log, S: Store>(
    yard: &mut Yard,
    drive: &mut Drive<L, S>,
    count: usize,
    span: i64,
) -> Result<(), Halt> {
    for _ in 0..count {
        yard.pass(span);
        drive.pump(Duration::ZERO)?;
        if drive.leads() {
            drive.lead(yard.now)?;
        } else {
            drive.follow()?;
            if drive.may_lead(yard.now, 0, 0) {
                drive.take_lead(yard.now)?;
            }
        }
    }
    Ok(())
}

#[test]
fn nothing_is_decided_before_every_lane_is_where_it_was_at_the_start() {
    let mut yard = Yard::new();
    yard.build(4);
    yard.ask(&task("1/1", 40, yard.now));
    // More than five cycles can fold.
    for number in 0..300 {
        let name = number.to_string();
        yard.job(&job(&name, "QUEUE_01", "", Status::Running, yard.now));
    }
    let ends: BTreeMap<Lane, u64> =
        yard.paper.spans().iter().map(|span| (span.lane, span.stable_end)).collect();
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 40, 20).unwrap();
    let mut cut: BTreeMap<Lane, u64> = BTreeMap::new();
    let (mut quiet, mut loud) = (0, 0);
    for cycle in yard.progress() {
        cut.extend(cycle.lanes.iter().copied());
        let is_caught_up = ends
            .iter()
            .all(|(lane, end)| lane.topic.is_own() || cut.get(lane).copied().unwrap_or(0) >= *end);
        assert_eq!(cycle.quiet, !is_caught_up, "{cycle:?}");
        if cycle.quiet { quiet += 1 } else { loud += 1 }
    }
    assert!(quiet > 5 && loud > 0, "{quiet} {loud}");
    assert_eq!(yard.decisions().len(), 1);
    check_words(&yard);
}

#[test]
fn a_foreign_transaction_holds_a_lanes_time_and_nothing_else() {
    let mut yard = Yard::new();
    yard.build(2);
    let lane = Lane::new(Topic::JobState, 0);
    yard.pass(7);
    let running = job("1", "QUEUE_01", "", Status::Running, yard.now);
    let mut value = Vec::new();
    yardmaster::wire::record::write(&mut value, &running);
    yard.paper.append(lane, Some(b"1"), Some(&value), &[], None);
    let read_at = yard.now;
    yard.pass(1_000);
    yard.paper.open(lane, &value);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 20, 100).unwrap();
    yard.ask(&task("1/1", 40, yard.now));
    turns(&mut yard, &mut drive, 100, 1_000).unwrap();
    assert_eq!(yard.decisions().len(), 1, "quiet, but not for ever");
    let known = drive.state().times.lanes.get(lane).unwrap();
    assert_eq!(known.flags.blocked_at, Some(read_at));
    let time = drive.state().times.of(Topic::JobState);
    assert_eq!((time.time, time.is_fresh), (read_at, false));
    let stale = |note: &String| note.starts_with("input_stale(job-state");
    assert!(yard.decisions()[0].notes.iter().any(stale), "{:?}", yard.decisions()[0].notes);
    // When it ends, the lane's time is now again.
    yard.paper.close(lane, true);
    turns(&mut yard, &mut drive, 3, 1_000).unwrap();
    let time = drive.state().times.of(Topic::JobState);
    assert!(time.is_fresh && time.time == drive.state().now);
    check_words(&yard);
}

#[test]
fn a_wrong_clock_means_silence_and_a_message() {
    for skew in [9_000, -9_000] {
        let mut yard = Yard::new();
        yard.build(2);
        yard.ask(&task("1/1", 40, yard.now));
        let mut drive = begin(&yard, "a host");
        let mut halt = None;
        for _ in 0..20 {
            yard.pass(100);
            let clock = yard.now + skew;
            drive.pump(Duration::ZERO).unwrap();
            let done = if drive.leads() {
                drive.lead(clock).map(|_| ())
            } else {
                drive.follow().unwrap();
                drive.take_lead(clock)
            };
            if let Err(error) = done {
                halt = Some(error);
                break;
            }
        }
        let halt = halt.expect("it does not notice");
        assert!(matches!(halt, Halt::Clock { .. }), "{halt}");
        let side = if skew > 0 { "9000 ms ahead of" } else { "ms behind" };
        for part in [side, "(a host)", "clock_skew_s", "NTP"] {
            assert!(halt.to_string().contains(part), "{halt}");
        }
        // The record that opened the epoch is all that was published, and it moved no clock.
        let published = yard.progress();
        assert_eq!((published.len(), published[0].now), (1, 0));
        assert_eq!(yard.decisions(), vec![]);
    }
}

#[test]
fn a_clock_that_jumps_ends_the_lead() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 20, 100).unwrap();
    let published = yard.progress().len();
    let mut halted = 0;
    for _ in 0..30 {
        yard.pass(100);
        drive.pump(Duration::ZERO).unwrap();
        if drive.lead(yard.now + 60_000).is_err() {
            halted += 1;
            break;
        }
    }
    assert_eq!(halted, 1);
    assert_eq!(
        yard.progress().len(),
        published + 1,
        "one cycle was published before it was noticed"
    );
    // A leader with the right clock finds that now and is silent until the broker's time is there.
    let mut other = begin(&yard, "two");
    let halt = turns(&mut yard, &mut other, 20, 100).unwrap_err();
    assert!(halt.to_string().contains("the last now found in progress"), "{halt}");
    yard.pass(56_000);
    let mut third = begin(&yard, "three");
    turns(&mut yard, &mut third, 20, 100).unwrap();
    assert!(third.leads());
    check_words(&yard);
}

#[test]
fn a_broker_that_is_slow_is_not_a_wrong_clock() {
    let mut yard = Yard::new();
    yard.build(2);
    let schedule = Schedule::default();
    let log = Faulty::new(yard.log(), &schedule);
    let mut drive = Drive::start(log, PaperStore::default(), super::play::config("one")).unwrap();
    turns(&mut yard, &mut drive, 20, 100).unwrap();
    // Published now, appended nine seconds later, confirmed at once then.
    (0..50).for_each(|call| schedule.on(schedule.count() + call, Fault::Slow(2)));
    turns(&mut yard, &mut drive, 12, 100).unwrap();
    yard.pass(9_000);
    turns(&mut yard, &mut drive, 12, 100).unwrap();
    assert!(drive.leads());
    let last = yard.progress().len();
    assert!(last > 4, "{last}");
    check_words(&yard);
}

#[test]
fn now_never_goes_back() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 20, 100).unwrap();
    let before = yard.progress().len();
    for round in 0..40 {
        yard.pass(100);
        drive.pump(Duration::ZERO).unwrap();
        // A clock that wanders within the limit.
        drive.lead(yard.now + [0, 3_000, -3_000, 1_000][round % 4]).unwrap();
    }
    assert!(yard.progress().len() - before >= 20, "a clock set back means no silence");
    check_words(&yard);
}

#[test]
fn a_deadline_within_the_second_is_not_lost_while_quiet() {
    let mut yard = Yard::new();
    for name in ["QUEUE_00", "QUEUE_01"] {
        let queue = Queue { max_rss_mb: 2_000, ..queue(name, yard.now) };
        yard.configure(&queue);
    }
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 20, 100).unwrap();
    yard.pass(1_850 - yard.now.rem_euclid(1_000));
    yard.ask(&Task { ram_count_mb: Some(90_000), ..task("1/1", 10, yard.now) });
    turns(&mut yard, &mut drive, 10, 10).unwrap();
    let Outcome::Defer { until } = yard.decisions()[0].outcome else { panic!("not deferred") };
    assert!(until.rem_euclid(1_000) > 850, "late in its second");
    // A new leader is quiet in the second in which the deferral falls due, but not so long.
    drive.finish(yard.now).unwrap();
    for number in 0..100 {
        let name = number.to_string();
        yard.job(&job(&name, "QUEUE_01", "", Status::Running, yard.now));
    }
    yard.now = until - 700;
    yard.pass(0);
    let mut again = begin(&yard, "two");
    turns(&mut yard, &mut again, 40, 50).unwrap();
    let quiet = |cycle: &&Progress| cycle.quiet && cycle.now / 1_000 == until / 1_000;
    assert!(yard.progress().iter().filter(quiet).count() > 1);
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), 2, "the deferral fell due at {until}, now is {}", yard.now);
    assert!((0..300).contains(&(decisions[1].now - until)));
    check_words(&yard);
}

#[test]
fn nothing_is_published_before_the_first_progress_record_was_read_back() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 1, 100).unwrap();
    assert!(drive.leads());
    let lane = Lane::new(Topic::Progress, 0);
    yard.paper.set_unreadable(lane, true);
    yard.ask(&task("1/1", 40, yard.now));
    turns(&mut yard, &mut drive, 30, 100).unwrap();
    assert_eq!(yard.paper.records(lane).len(), 1, "whether the clocks agree is not known yet");
    yard.paper.set_unreadable(lane, false);
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    assert_eq!(yard.decisions().len(), 1);
}

thread_local! {
    static UPTIME: Cell<i64> = const { Cell::new(0) };
}

fn begin_with_uptime(yard: &Yard, name: &str) -> Drive<PaperLog, PaperStore> {
    let uptime = Some((|| UPTIME.get()) as fn() -> i64);
    let config = Config { uptime, ..super::play::config(name) };
    Drive::start(yard.log(), PaperStore::default(), config).unwrap()
}

/// Turns of 100 ms with a clock that is `step` ms ahead, until one fails.
fn stepped(
    yard: &mut Yard,
    drive: &mut Drive<PaperLog, PaperStore>,
    step: i64,
) -> Result<(), Halt> {
    for _ in 0..30 {
        yard.pass(100);
        UPTIME.set(UPTIME.get() + 100);
        drive.pump(Duration::ZERO)?;
        if drive.leads() {
            drive.lead(yard.now + step)?;
        } else {
            drive.follow()?;
            drive.take_lead(yard.now + step)?;
        }
    }
    Ok(())
}

#[test]
fn a_now_that_the_broker_does_not_confirm_is_never_published() {
    for step in [240_000, 366 * 86_400_000, -240_000] {
        let mut yard = Yard::new();
        yard.build(2);
        let mut drive = begin_with_uptime(&yard, "one");
        stepped(&mut yard, &mut drive, 0).unwrap();
        let halt = stepped(&mut yard, &mut drive, step).unwrap_err();
        assert!(matches!(halt, Halt::Clock { .. }), "{halt}");
        for part in ["our clock", "(one)", "clock_skew_s", "NTP"] {
            assert!(halt.to_string().contains(part), "{halt}");
        }
        let newest = yard.progress().iter().map(|it| it.now).max().unwrap();
        assert!(newest <= yard.now, "{} ms ahead was published", newest - yard.now);
        // Right again, the same host leads at once, and so does any other.
        let mut again = begin_with_uptime(&yard, "one again");
        stepped(&mut yard, &mut again, 0).unwrap();
        let age = yard.now - yard.progress().last().unwrap().now;
        assert!((0..=1_000).contains(&age), "the last cycle is {age} ms old");
        check_words(&yard);
    }
}

#[test]
fn a_call_that_waits_long_for_the_broker_is_no_step_of_the_clock() {
    thread_local! {
        static WAIT: Cell<i64> = const { Cell::new(0) };
    }
    let mut yard = Yard::new();
    yard.build(2);
    let uptime = Some((|| UPTIME.get()) as fn() -> i64);
    let stopwatch = || {
        UPTIME.set(UPTIME.get() + WAIT.get());
        0
    };
    let config = Config { uptime, stopwatch, ..super::play::config("one") };
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
    drive.pump(Duration::ZERO).unwrap();
    let began = UPTIME.get();
    WAIT.set(60_000);
    drive.take_lead(yard.now).unwrap();
    WAIT.set(0);
    assert!(UPTIME.get() - began >= 60_000, "nothing waited");
    yard.pass(UPTIME.get() - began);
    yard.ask(&task("1/1", 10, yard.now));
    let asked_at = yard.now;
    stepped(&mut yard, &mut drive, 0).unwrap();
    assert!(yard.progress()[1].now >= asked_at, "{:?}", yard.progress()[1]);
    let decisions = yard.decisions();
    let outcomes: Vec<_> = decisions.iter().map(|it| &it.outcome).collect();
    assert!(matches!(outcomes[..], [Outcome::Assign { .. }]), "{outcomes:?}");
}

#[test]
fn a_clock_that_stepped_while_stopping_is_not_published_either() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin_with_uptime(&yard, "one");
    stepped(&mut yard, &mut drive, 0).unwrap();
    drive.finish(yard.now + 240_000).unwrap();
    let last = yard.progress().pop().unwrap();
    assert!(last.farewell && last.now <= yard.now, "{last:?}");
}

#[test]
fn a_suspended_machine_looks_at_the_brokers_time_and_goes_on() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin_with_uptime(&yard, "one");
    stepped(&mut yard, &mut drive, 0).unwrap();
    let before = yard.progress().last().unwrap().clone();
    // An hour passes for all but the uptime.
    yard.pass(3_600_000);
    stepped(&mut yard, &mut drive, 0).unwrap();
    assert!(drive.leads());
    let first = yard.progress().into_iter().find(|it| it.number == before.number + 1).unwrap();
    assert_eq!(first.now, before.now, "not before the broker confirmed the clock");
    let age = yard.now - yard.progress().last().unwrap().now;
    assert!((0..=1_000).contains(&age), "the last cycle is {age} ms old");
    check_words(&yard);
}

const YEAR: i64 = 366 * 86_400_000;

fn report(yard: &Yard, topic: Topic, at: Option<i64>, write: impl Fn(&mut Vec<u8>)) {
    let mut value = Vec::new();
    write(&mut value);
    yard.paper.append(Lane::new(topic, 0), Some(b"key"), Some(&value), &[], at);
}

fn report_all(yard: &Yard, at: i64, stamp: Option<i64>) {
    use yardmaster::wire::record;
    let pilot = Pilot::AskedJob { queue: "QUEUE_00", node: "a node of next year", at };
    report(yard, Topic::Pilot, stamp, |out| record::write(out, &pilot));
    let state = job("4711", "QUEUE_00", "", Status::Running, at);
    report(yard, Topic::JobState, stamp, |out| record::write(out, &state));
    let beat = yardmaster::core::event::Heartbeat {
        job: "4712",
        at,
        cpu_s: 1,
        disk_io_kbps: 1,
        rss_mb: 1,
        events: 1,
        ..yardmaster::core::event::Heartbeat::default()
    };
    report(yard, Topic::Heartbeat, stamp, |out| record::write(out, &beat));
}

/// Nothing that is known lies after `now`.
fn assert_of_this_year(drive: &Drive<PaperLog, PaperStore>, now: i64) {
    let state = drive.state();
    let newest = state.marks.values().map(|marks| marks.pilot.max(marks.start)).max();
    assert!(newest.unwrap_or(0) <= now, "a queue was active in {newest:?}, now is {now}");
    // A heartbeat is a sign of life whatever its clock says, as of its stamp.
    assert!(state.jobs.slab.iter().all(|(_, job)| job.changed_at <= now));
    assert!(state.stubs.keys().all(|(at, _)| *at <= now));
    assert!(state.times.lanes.iter().all(|(_, lane)| lane.newest <= now));
}

#[test]
fn records_stamped_a_year_ahead_have_no_effect_and_are_dead_letters() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    let at = yard.now + YEAR;
    report_all(&yard, at, Some(at));
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    assert_of_this_year(&drive, yard.now);
    let garbled: usize = yard.progress().iter().map(|cycle| cycle.garbled.len()).sum();
    assert_eq!(garbled, 3, "each is named in progress");
    let letters = yard.paper.records(Lane::new(Topic::DeadLetter, 0));
    let reason = |(name, value): &(String, Vec<u8>)| name == "reason" && value == b"stamp_ahead";
    assert_eq!(letters.iter().filter(|it| it.headers.iter().any(reason)).count(), 3);
    // Who follows knows the same, whatever its clock.
    let mut other = begin(&yard, "two");
    for _ in 0..40 {
        other.pump(Duration::ZERO).unwrap();
        other.follow().unwrap();
    }
    assert_eq!(other.state().number, drive.state().number);
    assert_of_this_year(&other, yard.now);
    check_words(&yard);
}

#[test]
fn reports_that_state_a_time_a_year_ahead_are_ordered_by_arrival_and_counted() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    drive.take_report();
    report_all(&yard, yard.now + YEAR, None);
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    assert_of_this_year(&drive, yard.now);
    let oddities = drive.take_report().oddities;
    for topic in [Topic::Pilot, Topic::JobState, Topic::Heartbeat] {
        assert!(oddities.contains(&(topic, Oddity::FromTheFuture, 1)), "{oddities:?}");
    }
    // The state is known, and a later one of a clock that is right replaces it, at once.
    let known = |drive: &Drive<PaperLog, PaperStore>| {
        let jobs = &drive.state().jobs;
        jobs.slab.iter().filter_map(|(_, job)| job.status).collect::<Vec<_>>()
    };
    assert_eq!(known(&drive), [Status::Running]);
    let ended = job("4711", "QUEUE_00", "", Status::Failed, yard.now);
    report(&yard, Topic::JobState, None, |out| {
        yardmaster::wire::record::write(out, &ended);
    });
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    assert_eq!(known(&drive), [Status::Failed]);
    check_words(&yard);
}

#[test]
fn a_topic_without_any_record_is_absent_and_not_decades_old() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    yard.ask(&task("1/1", 40, yard.now));
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    let notes = yard.decisions()[0].notes.clone();
    let absent = "input_absent(job-state, heartbeat, transfer, link)".to_owned();
    assert!(notes.contains(&absent), "{notes:?}");
}

/// Configuration that nobody published again is stale in decisions, until it is published or an
/// import finds it as it was; that finding wakes no request.
#[test]
fn configuration_that_nobody_confirms_is_noted_as_stale() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    let mut asked = 0;
    let mut stale = |yard: &mut Yard, drive: &mut _| {
        asked += 1;
        yard.ask(&task(&format!("{asked}/1"), 1, yard.now));
        turns(yard, drive, 10, 100).unwrap();
        let notes = yard.decisions().last().unwrap().notes.clone();
        notes.into_iter().find(|note| note.starts_with("input_stale(queue"))
    };
    assert_eq!(stale(&mut yard, &mut drive), None);
    yard.pass(25 * HOUR);
    let noted = stale(&mut yard, &mut drive).expect("a note");
    assert!(noted.starts_with("input_stale(queue, 900"), "{noted}");
    // A request that nothing can take waits for facts to change; that they did not is no change.
    yard.ask(&Task { ram_count_mb: Some(900_000), ..task("99/1", 1, yard.now) });
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    let decided = yard.decisions().len();
    yard.configure(&confirmed("atlas", Topic::Queue, yard.now));
    turns(&mut yard, &mut drive, 10, 1_000).unwrap();
    assert_eq!(yard.decisions().len(), decided);
    assert_eq!(stale(&mut yard, &mut drive), None);
    yard.pass(25 * HOUR);
    assert!(stale(&mut yard, &mut drive).is_some());
}

/// A request that is stamped a year ahead is answered, and neither its answer nor what is kept of it
/// outlives others'; the subject's next record of this year is the newer one.
#[test]
fn a_request_stamped_a_year_ahead_is_answered_as_of_now() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, "one");
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    let at = yard.now + YEAR;
    let ask = |yard: &Yard, request: &Task, stamp: i64| {
        let mut value = Vec::new();
        yardmaster::wire::record::write(&mut value, request);
        let lane = Lane::new(Topic::Task, 0);
        yard.paper.append(lane, Some(b"1"), Some(&value), &[], Some(stamp));
    };
    let request = Task { asked_at: at, ..task("1/1", 5, at) };
    ask(&yard, &Task { core_count: Some(8), ..request.clone() }, at);
    turns(&mut yard, &mut drive, 10, 100).unwrap();
    assert_eq!(yard.decisions().len(), 1, "it is deferred: no queue has so many cores");
    let is_of_this_year = |drive: &Drive<_, _>, now: i64| {
        let lanes = drive.state().times.lanes.of(Topic::Task);
        let newest = lanes.map(|(_, lane)| lane.newest).max().unwrap();
        let of = |book: &yardmaster::core::state::NamedTable<RequestState>| {
            let task = book.of("1/1").and_then(|ask| ask.task.clone()).unwrap();
            task.changed_at.max(task.asked_at)
        };
        assert!(newest <= now && of(&drive.state().requests) <= now, "{newest} {now}");
    };
    is_of_this_year(&drive, yard.now);
    // Who follows knows the same.
    let mut other = begin(&yard, "two");
    for _ in 0..40 {
        other.pump(Duration::ZERO).unwrap();
        other.follow().unwrap();
    }
    assert_eq!(digest(other.state()), digest(drive.state()));
    // Its next record is of now, and the newer one.
    yard.pass(1_000);
    let now = yard.now;
    ask(&yard, &Task { changed_at: now, asked_at: now, core_count: Some(1), ..request }, now);
    turns(&mut yard, &mut drive, 20, 100).unwrap();
    let known = drive.state().requests.of("1/1").and_then(|ask| ask.task.clone()).unwrap();
    assert_eq!((known.core_count, known.changed_at), (Some(1), now));
    check_words(&yard);
}
