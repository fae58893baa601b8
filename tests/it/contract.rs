//! The contract of a log, whichever it is: the loop relies on this and on nothing else.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster::core::cut::{Cut, Lane, Topic};
use yardmaster::core::limits::BATCH_BYTES;
use yardmaster::core::output::progress::LaneFlags;
use yardmaster::drive::port::{Batch, Log, LogError, Mark, OutputRecord};

/// Two input lanes and two own ones.
pub const LANES: [Lane; 4] = [
    Lane::new(Topic::JobState, 0),
    Lane::new(Topic::JobState, 1),
    Lane::new(Topic::Decision, 0),
    Lane::new(Topic::Progress, 0),
];
pub const JOBS: Lane = LANES[0];
pub const MORE_JOBS: Lane = LANES[1];
pub const DECISIONS: Lane = LANES[2];
pub const PROGRESS: Lane = LANES[3];

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A log of one kind, with [`LANES`], all empty.
pub trait World {
    type L: Log;
    /// The process that speaks.
    fn publisher(&mut self) -> Self::L;
    /// A process that only reads.
    fn reader(&mut self) -> Self::L;
    /// Some producer appends to an input lane; done when it returns.
    fn append(&mut self, lane: Lane, key: Option<&[u8]>, value: Option<&[u8]>);
}

/// One record as the tests compare it.
pub type Seen = (u64, Option<Vec<u8>>, Option<Vec<u8>>);

/// A reader that remembers everything.
pub struct Reading {
    pub lanes: BTreeMap<Lane, Vec<Seen>>,
    pub stamps: BTreeMap<Lane, Vec<i64>>,
    pub marks: BTreeMap<Lane, Mark>,
    pub mark_count: usize,
}

impl Reading {
    pub fn new() -> Reading {
        let (lanes, stamps, marks) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Reading { lanes, stamps, marks, mark_count: 0 }
    }

    /// One `take`, noted down.
    pub fn take<L: Log>(&mut self, log: &mut L, max: usize, wait: Duration) -> usize {
        let mut batch = Batch::default();
        log.take(&mut batch, max, wait).unwrap();
        assert!(batch.records.len() <= max, "{} records, {max} allowed", batch.records.len());
        for raw in &batch.records {
            let (key, value) = (batch.key(raw), batch.value(raw));
            let seen = (raw.offset, key.map(<[u8]>::to_vec), value.map(<[u8]>::to_vec));
            self.lanes.entry(raw.lane).or_default().push(seen);
            self.stamps.entry(raw.lane).or_default().push(raw.appended_at);
        }
        for mark in &batch.marks {
            self.mark_count += 1;
            self.marks.insert(mark.lane, *mark);
        }
        batch.records.len()
    }

    /// Takes until `done`, or fails.
    pub fn until<L: Log>(&mut self, log: &mut L, max: usize, done: impl Fn(&Reading) -> bool) {
        let start = Instant::now();
        while !done(self) {
            assert!(start.elapsed() < PATIENCE, "waited in vain; seen {}", self.summary());
            self.take(log, max, Duration::from_millis(50));
        }
    }

    pub fn count(&self, lane: Lane) -> usize {
        self.lanes.get(&lane).map_or(0, Vec::len)
    }

    pub fn at_end(&self, lane: Lane) -> bool {
        self.marks.get(&lane).is_some_and(|mark| mark.flags.at_end)
    }

    pub fn summary(&self) -> String {
        let counts: Vec<String> =
            self.lanes.iter().map(|(lane, seen)| format!("{lane}: {}", seen.len())).collect();
        format!("{counts:?} {:?}", self.marks)
    }
}

pub fn cut(lanes: &[(Lane, u64)]) -> Cut {
    Cut(lanes.iter().copied().collect())
}

pub fn all_from_start() -> Cut {
    cut(&LANES.map(|lane| (lane, 0)))
}

pub fn output(lane: Lane, text: &str) -> OutputRecord {
    OutputRecord {
        lane,
        key: text.to_owned().into(),
        value: Some(format!("value of {text}").into()),
        headers: vec![("why".into(), b"test".to_vec())],
    }
}

/// Says some decisions and a progress record, and waits.
pub fn publish_cycle<L: Log>(
    log: &mut L,
    decisions: &[&str],
    progress: &str,
) -> Result<(), LogError> {
    let outputs = decisions.iter().map(|text| output(DECISIONS, text)).collect();
    log.publish(outputs, output(PROGRESS, progress))?;
    log.settle()
}

pub fn keys(seen: &[Seen]) -> Vec<String> {
    let text = |key: &Option<Vec<u8>>| {
        String::from_utf8(key.clone().unwrap_or_else(|| b"-".to_vec())).unwrap()
    };
    seen.iter().map(|(_, key, _)| text(key)).collect()
}

/// The whole contract, in one story.
pub fn contract<W: World>(world: &mut W) {
    let mut log = world.publisher();
    empty_lanes_are_read_to_their_end(&mut log);
    let mut reading = everything_arrives_once_and_in_order(world, &mut log);
    what_is_published_is_read_by_all(world, &mut log, &mut reading);
    paused_lanes_lose_nothing(world, &mut log, &mut reading);
    the_end_of_a_lane_is_known_though_it_is_not_read(world, &mut log);
    reading_begins_at_the_assigned_offsets(world, &reading);
    batches_of_large_records_are_bounded(world, &mut log);
    duties_of_the_caller_are_checked(world, &mut log);
}

fn empty_lanes_are_read_to_their_end<L: Log>(log: &mut L) {
    let spans = log.lanes().unwrap();
    for lane in LANES {
        let span = spans.iter().find(|span| span.lane == lane).unwrap();
        assert_eq!((span.first, span.stable_end, span.end), (0, 0, 0), "{lane}");
    }
    log.assign(&all_from_start()).unwrap();
    let mut reading = Reading::new();
    reading.until(log, 100, |reading| LANES.iter().all(|lane| reading.at_end(*lane)));
    assert!(reading.marks.values().all(|mark| mark.position == 0));
}

fn everything_arrives_once_and_in_order<W: World>(world: &mut W, log: &mut W::L) -> Reading {
    for number in 0..100u32 {
        let value = vec![number as u8; number as usize];
        world.append(JOBS, Some(&number.to_be_bytes()), Some(&value));
        if number % 2 == 0 {
            world.append(MORE_JOBS, None, (number % 4 == 0).then_some(b"x".as_slice()));
        }
    }
    let mut reading = Reading::new();
    reading.until(log, 7, |reading| {
        let ends = reading.at_end(JOBS) && reading.at_end(MORE_JOBS);
        ends && reading.count(JOBS) == 100 && reading.count(MORE_JOBS) == 50
    });
    for (index, (offset, key, value)) in reading.lanes[&JOBS].iter().enumerate() {
        assert_eq!(*offset, index as u64);
        assert_eq!(key.as_deref(), Some((index as u32).to_be_bytes().as_slice()));
        assert_eq!(value.as_deref(), Some(vec![index as u8; index].as_slice()));
    }
    for (index, (_, key, value)) in reading.lanes[&MORE_JOBS].iter().enumerate() {
        assert_eq!((key, value.is_some()), (&None, index % 2 == 0));
    }
    assert_eq!(reading.marks[&JOBS].position, 100);
    reading
}

fn what_is_published_is_read_by_all<W: World>(
    world: &mut W,
    log: &mut W::L,
    reading: &mut Reading,
) {
    log.lead().unwrap();
    publish_cycle(log, &["a", "b"], "p1").unwrap();
    publish_cycle(log, &[], "p2").unwrap();
    log.publish(vec![output(DECISIONS, "c")], output(PROGRESS, "p3")).unwrap();
    let start = Instant::now();
    while !log.is_settled() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    log.settle().unwrap();
    let complete = |reading: &Reading| {
        let ends = reading.at_end(DECISIONS) && reading.at_end(PROGRESS);
        ends && reading.count(DECISIONS) == 3 && reading.count(PROGRESS) == 3
    };
    reading.until(log, 100, complete);
    let mut other = world.reader();
    other.assign(&all_from_start()).unwrap();
    let mut fresh = Reading::new();
    fresh.until(&mut other, 1000, |reading| complete(reading) && reading.count(JOBS) == 100);
    for seen in [&*reading, &fresh] {
        assert_eq!(keys(&seen.lanes[&DECISIONS]), ["a", "b", "c"]);
        assert_eq!(keys(&seen.lanes[&PROGRESS]), ["p1", "p2", "p3"]);
        assert_eq!(seen.lanes[&DECISIONS][0].2.as_deref(), Some(b"value of a".as_slice()));
    }
    assert_eq!(reading.lanes, fresh.lanes);
    let spans = other.lanes().unwrap();
    for lane in LANES {
        let span = spans.iter().find(|span| span.lane == lane).unwrap();
        assert_eq!(span.stable_end, span.end, "{lane}");
        assert_eq!(span.stable_end, fresh.marks[&lane].position, "{lane}");
    }
}

fn paused_lanes_lose_nothing<W: World>(world: &mut W, log: &mut W::L, reading: &mut Reading) {
    let before = reading.count(JOBS);
    for number in 0..500u32 {
        world.append(JOBS, Some(&number.to_be_bytes()), None);
    }
    // Some of it is read, more of it is already on its way, when the lane is held.
    reading.until(log, 10, |reading| reading.count(JOBS) >= before + 10);
    log.set_paused(&[JOBS], true).unwrap();
    let stopped = reading.count(JOBS);
    world.append(MORE_JOBS, None, Some(b"goes on"));
    let others = reading.count(MORE_JOBS);
    reading.until(log, 100, |reading| reading.count(MORE_JOBS) == others + 1);
    for _ in 0..5 {
        reading.take(log, 100, Duration::from_millis(20));
    }
    assert_eq!(reading.count(JOBS), stopped, "a held lane delivers nothing");
    log.set_paused(&[JOBS], false).unwrap();
    reading.until(log, 100, |reading| reading.count(JOBS) >= before + 100);
    log.set_paused(&[JOBS], true).unwrap();
    log.set_paused(&[JOBS], false).unwrap();
    reading.until(log, 100, |reading| reading.count(JOBS) >= before + 500 && reading.at_end(JOBS));
    let offsets: Vec<u64> = reading.lanes[&JOBS].iter().map(|(offset, ..)| *offset).collect();
    assert_eq!(offsets, (0..600).collect::<Vec<u64>>(), "no gap, nothing twice");
    let quiet = reading.mark_count;
    for _ in 0..5 {
        reading.take(log, 100, Duration::from_millis(5));
    }
    assert_eq!(reading.mark_count, quiet, "no news, no marks");
}

fn the_end_of_a_lane_is_known_though_it_is_not_read<W: World>(world: &mut W, log: &mut W::L) {
    let end = |log: &mut W::L, lane: Lane| {
        let ends = log.ends();
        assert!(ends.iter().all(|(lane, _)| LANES.contains(lane)), "{ends:?}");
        ends.into_iter().find(|(known, _)| *known == lane).map(|(_, end)| end)
    };
    assert_eq!(end(log, JOBS), Some(600));
    log.set_paused(&[MORE_JOBS], true).unwrap();
    let before = end(log, MORE_JOBS).unwrap();
    for _ in 0..10 {
        world.append(MORE_JOBS, None, Some(b"nobody reads this yet"));
    }
    let start = Instant::now();
    while end(log, MORE_JOBS) != Some(before + 10) {
        assert!(start.elapsed() < PATIENCE, "{:?} after {before}", end(log, MORE_JOBS));
        std::thread::sleep(Duration::from_millis(20));
    }
    log.set_paused(&[MORE_JOBS], false).unwrap();
}

fn reading_begins_at_the_assigned_offsets<W: World>(world: &mut W, reading: &Reading) {
    let mut log = world.reader();
    for start in [0u64, 1, 57, 99, 100, 350, 599] {
        log.assign(&cut(&[(JOBS, start), (DECISIONS, 1)])).unwrap();
        let mut part = Reading::new();
        part.until(&mut log, 1000, |part| part.at_end(JOBS) && part.at_end(DECISIONS));
        assert_eq!(part.lanes[&JOBS], reading.lanes[&JOBS][start as usize..], "from {start}");
        assert_eq!(keys(&part.lanes[&DECISIONS]), ["b", "c"]);
        assert_eq!(part.count(MORE_JOBS), 0, "lanes that are not named are not read");
    }
    log.assign(&cut(&[(JOBS, 600)])).unwrap();
    let mut part = Reading::new();
    part.until(&mut log, 1000, |part| part.at_end(JOBS));
    assert_eq!((part.count(JOBS), part.marks[&JOBS].position), (0, 600));
    let beyond = log.assign(&cut(&[(JOBS, 601)])).unwrap_err();
    assert!(matches!(&beyond, LogError::Stop(text) if text.contains("600")), "{beyond}");
}

/// Few records of half a megabyte are as much memory as very many small ones.
fn batches_of_large_records_are_bounded<W: World>(world: &mut W, log: &mut W::L) {
    let span =
        |log: &mut W::L| log.lanes().unwrap().into_iter().find(|span| span.lane == JOBS).unwrap();
    let first = span(log).end;
    let large = vec![b'x'; 500_000];
    for number in 0..60u32 {
        world.append(JOBS, Some(&number.to_be_bytes()), Some(&large));
    }
    // The mock of a broker forgets what is beyond some megabytes.
    let (first, end) = (first.max(span(log).first), first + 60);
    log.assign(&cut(&[(JOBS, first)])).unwrap();
    let (mut offsets, began) = (Vec::new(), Instant::now());
    while offsets.last() != Some(&(end - 1)) {
        assert!(began.elapsed() < PATIENCE, "only {offsets:?} came");
        let mut batch = Batch::default();
        log.take(&mut batch, 10_000, Duration::from_millis(50)).unwrap();
        assert!(batch.bytes.len() <= 3 * BATCH_BYTES, "{} bytes in a batch", batch.bytes.len());
        offsets.extend(batch.records.iter().map(|raw| raw.offset));
    }
    assert_eq!(offsets, (first..end).collect::<Vec<u64>>(), "no gap, nothing twice");
}

fn duties_of_the_caller_are_checked<W: World>(world: &mut W, log: &mut W::L) {
    let mut other = world.reader();
    assert!(
        matches!(publish_cycle(&mut other, &[], "p"), Err(LogError::Stop(_))),
        "say without lead"
    );
    log.publish(vec![], output(PROGRESS, "p4")).unwrap();
    let twice = log.publish(vec![], output(PROGRESS, "p5"));
    assert!(matches!(twice, Err(LogError::Stop(_))), "say before settle");
    log.settle().unwrap();
    let at_end = LaneFlags { at_end: true, ..LaneFlags::default() };
    let mut reading = Reading::new();
    other.assign(&cut(&[(PROGRESS, 0)])).unwrap();
    reading.until(&mut other, 100, |reading| reading.count(PROGRESS) == 4);
    let flags = |reading: &Reading| reading.marks.get(&PROGRESS).map(|mark| mark.flags);
    reading.until(&mut other, 100, |reading| flags(reading) == Some(at_end));
}
