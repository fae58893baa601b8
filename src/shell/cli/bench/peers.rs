//! A fold that other stream engines are measured by, done by the whole line: job records of a
//! foreign schema in, every changed counter out at every commit, exactly once.
//!
//! The environment has what to do (PEER_BOOTSTRAP, PEER_TOPIC, PEER_END, PEER_OUT, PEER_ID,
//! PEER_STATE; PEER_COMMIT_MS for the time between two commits, PEER_TELL_MS if counters are to be
//! published less often than at every commit), and
//! `FIRST`, `LAST` and `START` on standard output show how far it is. The records are turned into
//! ours as they are read, and go through the same log, loop, ledger, transactions and store as in
//! `run`.

use crate::cli::log_args::{LogArgs, Read, open_store};
use crate::clock;
use crate::kafka::{KafkaAdmin, KafkaConf, KafkaLog, NewTopicSpec, TopicMap};
use crate::ports::AnyStore;
use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::Status;
use yardmaster_core::state::changed::{Changed, Of};
use yardmaster_core::unit::{DAY, Millis};
use yardmaster_drive::counters::{CounterPublishing, Moment};
use yardmaster_drive::port::Log;
use yardmaster_drive::{Config, Drive};
use yardmaster_wire::avro::{Cursor, Fault, Sink};

/// Marker and fingerprint before each record of the foreign schema.
const HEADER: [u8; 10] = [0xC3, 0x01, 0x7A, 0xB0, 0xFE, 0x79, 0xC1, 0xAF, 0x9F, 0x3C];
const RESOURCE_TYPES: [&str; 4] = ["SCORE", "MCORE", "SCORE_HIMEM", "MCORE_HIMEM"];

/// Settings of the measurement, from the environment.
struct Task {
    bootstrap: String,
    topic: String,
    out: String,
    id: String,
    state: String,
    /// End offset of each partition, exclusive; empty: until it is stopped.
    end: Vec<u64>,
    /// Least time between two publications of counters; ms. At 0 they are published at every
    /// commit.
    publish_ms: Millis,
    /// Least time between two commits; ms.
    commit_ms: Millis,
}

impl Task {
    fn read() -> anyhow::Result<Task> {
        let get = |name: &str| std::env::var(name).with_context(|| format!("{name} is not set"));
        let end = get("PEER_END")?;
        let end = end.split(',').filter(|part| !part.is_empty()).map(str::parse);
        let span = |name: &str, default: Millis| match std::env::var(name) {
            Ok(given) => given.parse().with_context(|| format!("{name} {given}: give ms")),
            Err(_) => Ok(default),
        };
        Ok(Task {
            bootstrap: get("PEER_BOOTSTRAP")?,
            topic: get("PEER_TOPIC")?,
            out: get("PEER_OUT")?,
            id: get("PEER_ID")?,
            state: get("PEER_STATE")?,
            end: end.collect::<Result<_, _>>().context("PEER_END: give o0,o1,...")?,
            publish_ms: span("PEER_TELL_MS", 0)?,
            commit_ms: span("PEER_COMMIT_MS", 100)?,
        })
    }
}

/// Runs until it is stopped.
pub fn run(log_args: &LogArgs, read: &Read) -> anyhow::Result<()> {
    let task = Task::read()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let conf = conf(log_args, read, &task)?;
    let mut log = KafkaLog::open(conf)?;
    let is_again =
        log.lanes()?.iter().any(|span| span.lane.topic == Topic::Progress && span.end > 0);
    std::fs::create_dir_all(&task.state)?;
    print("START", "");
    let store = open_store(&Path::new(&task.state).join("store"))?;
    let mut drive = Drive::start(log, store, config(&task, read)?)?;
    let mut marks = Marks { is_again, ..Marks::default() };
    while !stop.load(Ordering::Relaxed) {
        let rest = if drive.leads() { drive.rest(clock::now()).clamp(1, 5) } else { 5 };
        let taken = match drive.has_backlog() {
            true => 0,
            false => drive.pump(Duration::from_millis(rest as u64))?,
        };
        if drive.leads() {
            drive.lead(clock::now())?;
        } else {
            drive.follow()?;
            if drive.may_lead(clock::now(), clock::now(), 0) {
                drive.take_lead(clock::now())?;
                marks.led_at = Some(position(&drive));
            }
        }
        marks.look(&drive, taken, &task.end);
        drive.take_report();
    }
    Ok(drive.finish(clock::now())?)
}

/// Milestones of the measurement that were printed.
#[derive(Default)]
struct Marks {
    /// There was a life before this one: the first record is the first that it had not read.
    is_again: bool,
    /// How many records were folded when the lead was taken.
    led_at: Option<u64>,
    is_begun: bool,
    is_ended: bool,
}

impl Marks {
    fn look(&mut self, drive: &Drive<KafkaLog, AnyStore>, taken: usize, end: &[u64]) {
        let begins = match self.is_again {
            false => taken > 0,
            true => self.led_at.is_some_and(|at| position(drive) > at),
        };
        if begins && !self.is_begun {
            self.is_begun = true;
            print("FIRST", "");
        }
        let next = |partition| drive.state().next(Lane::new(Topic::JobState, partition as u32));
        let ends = || end.iter().enumerate().all(|(partition, end)| next(partition) >= *end);
        if !self.is_ended && !end.is_empty() && ends() {
            self.is_ended = true;
            print("LAST", &end.iter().sum::<u64>().to_string());
        }
    }
}

/// How many records were folded, gaps included.
fn position(drive: &Drive<KafkaLog, AnyStore>) -> u64 {
    drive.state().times.lanes.of(Topic::JobState).map(|(_, lane)| lane.next).sum()
}

fn print(word: &str, more: &str) {
    println!("{}", format!("{word} {} {more}", clock::now()).trim_end());
    // Nothing reads on: then nothing is printed.
    let _ = std::io::stdout().flush();
}

/// Topics as the others use them, and one for `progress`.
fn conf(log_args: &LogArgs, read: &Read, task: &Task) -> anyhow::Result<KafkaConf> {
    // Topics whose names begin with the id have eight partitions each: so the comparison asks for
    // it.
    let progress = format!("progress-{}", task.id);
    let map = |topic, name: &str| TopicMap { topic, name: name.to_owned() };
    let topics = vec![
        map(Topic::JobState, &task.topic),
        map(Topic::Counter, &task.out),
        map(Topic::Progress, &progress),
    ];
    let bootstrap_server = Some(task.bootstrap.clone());
    let mut conf = LogArgs { bootstrap_server, ..log_args.clone() }.kafka(&read.topology)?;
    (conf.topics, conf.transactional_id) = (topics, task.id.clone());
    conf.group = None;
    conf.turn = Some(turn);
    let configs = vec![("message.timestamp.type".to_owned(), "LogAppendTime".to_owned())];
    let spec = NewTopicSpec { name: progress, partitions: 1, replication: -1, configs };
    KafkaAdmin::open(&conf)?.create(&[spec])?;
    Ok(conf)
}

fn config(task: &Task, read: &Read) -> anyhow::Result<Config> {
    let mut epoch_config = read.epoch_config()?;
    let limits = &mut epoch_config.setting.limits;
    // About what comes in 100 ms, the time between two commits, where all that comes is folded.
    limits.batch_records = 65_536;
    limits.cycle_idle_ms = task.commit_ms;
    // A cycle takes all that came since the last commit, as theirs do: it is bounded by what
    // progress can name of records that cannot be read, and here there are none.
    limits.max_output_bytes = 64 << 20;
    // All that changed goes out at once, as the others do it, and not in slices.
    limits.counters_per_cycle = usize::MAX;
    // Nothing is forgotten: the counters are of all jobs there ever were.
    limits.ended_job_lifetime_ms = 40_000 * DAY;
    limits.silent_job_lifetime_ms = 40_000 * DAY;
    // Nothing else is published, so there is no topic for it.
    epoch_config.setting.commands.rules.clear();
    let publish_ms = CounterPublishing { interval: task.publish_ms, is_early: true, write };
    Ok(Config {
        instance: task.id.clone(),
        epoch_config,
        stopwatch: clock::stopwatch,
        uptime: None,
        verify: false,
        keeps: true,
        store_not_before: 0,
        counters: Some(publish_ms),
    })
}

/// `Q|queue|gshare|resource type|status` with jobs and cores, `U|user|queue|status` with jobs.
fn write(changed: &Changed<'_>, _: &Moment<'_>, put: &mut dyn FnMut(&[u8], &[u8])) {
    let mut key = String::with_capacity(64);
    let mut value = [0; 16];
    value[..8].copy_from_slice(&u64::from(changed.jobs).to_be_bytes());
    value[8..].copy_from_slice(&u64::from(changed.cores).to_be_bytes());
    let (names, value): (&[&str], &[u8]) = match &changed.of {
        Of::Load(names) => {
            key.push('Q');
            (names, &value)
        }
        Of::User(names) => {
            key.push('U');
            (names, &value[..8])
        }
        Of::Group(_) | Of::Nucleus(_) => return,
    };
    for name in names.iter().copied().chain([changed.status.name()]) {
        key.push('|');
        key.push_str(name);
    }
    put(key.as_bytes(), value);
}

/// A record of the foreign schema as one of ours. What cannot be read is handed on as it is, and
/// becomes a dead letter.
fn turn(topic: Topic, value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if topic != Topic::JobState || rewrite(value, out).is_err() {
        out.truncate(start);
        out.extend_from_slice(value);
    }
}

/// A number as decimal text.
struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    fn of(number: i64) -> Decimal {
        let (mut digits, mut start, mut left) = ([0; 20], 20, number.unsigned_abs());
        loop {
            start -= 1;
            digits[start] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if number < 0 {
            start -= 1;
            digits[start] = b'-';
        }
        Decimal { digits, start }
    }

    fn text(&self) -> &str {
        // Digits and a sign are UTF-8.
        std::str::from_utf8(&self.digits[self.start..]).unwrap_or_default()
    }
}

/// The same for what can be read. Texts and numbers have one form in both schemas, so what lies
/// together there and here is copied together. Its `seq` orders the states of a job.
fn rewrite(value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let datum = value.strip_prefix(&HEADER).ok_or(Fault::WrongSchema)?;
    let at = &mut Cursor::new(datum);
    let (job, task) = (Decimal::of(at.long()?), Decimal::of(at.long()?));
    let _attempt = at.int()?;
    let status = Status::ALL.get(at.index()?).copied().ok_or(Fault::Malformed)?;
    let queue_and_user = copied(at, |at| at.bytes().and_then(|_| at.bytes()))?;
    let group = text_if_known(at)?;
    let gshare = copied(at, Cursor::bytes)?;
    let resource_type = RESOURCE_TYPES.get(at.index()?).copied().ok_or(Fault::Malformed)?;
    let cores_and_priority = copied(at, |at| at.long().and_then(|_| at.long()))?;
    let nucleus = text_if_known(at)?;
    let input_bytes = copied(at, Cursor::long)?;
    let changed_at = copied(at, Cursor::long)?;
    let revision = copied(at, Cursor::int)?;
    at.end()?;
    let mut sink = Sink::begin(out, Topic::JobState);
    sink.string(job.text());
    sink.index(status.index());
    sink.raw(changed_at);
    sink.raw(revision);
    sink.raw(&[0; 1]); // attempt
    sink.string(task.text());
    sink.raw(&[0; 1]); // request
    sink.raw(queue_and_user);
    sink.raw(group);
    sink.raw(gshare);
    sink.string(resource_type);
    sink.raw(nucleus);
    sink.raw(&[0; 4]); // workflow, label, processing type, sub-status
    sink.raw(cores_and_priority);
    sink.raw(&[0; 4]); // when it was created, activated, started and ended
    sink.raw(input_bytes);
    sink.raw(&[0; 5]); // output bytes, CPU and wall time asked for, requirements, cluster's id
    Ok(())
}

/// The bytes of what is read.
fn copied<'a, T>(
    at: &mut Cursor<'a>,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Fault>,
) -> Result<&'a [u8], Fault> {
    let before = at.rest();
    read(at)?;
    Ok(&before[..before.len() - at.rest().len()])
}

/// The bytes of the text in a union of null and text; those of the empty text for null.
fn text_if_known<'a>(at: &mut Cursor<'a>) -> Result<&'a [u8], Fault> {
    match at.index()? {
        0 => Ok(&[0]),
        1 => copied(at, Cursor::bytes),
        _ => Err(Fault::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::event::{Event, JobState};
    use yardmaster_wire::avro::{Arena, Codec};

    fn foreign(group: Option<&str>, nucleus: Option<&str>) -> Vec<u8> {
        let mut value = HEADER.to_vec();
        let mut sink = Sink { out: &mut value };
        sink.long(4_711);
        sink.long(-7);
        sink.int(2);
        sink.index(Status::Running.index());
        sink.string("DESY-HH");
        sink.string("ada");
        sink.option(group, |sink, text| sink.string(text));
        sink.string("MC");
        sink.index(1);
        sink.int(8);
        sink.int(-900);
        sink.option(nucleus, |sink, text| sink.string(text));
        sink.long(5_000_000_000);
        sink.long(1_700_000_000_000);
        sink.int(300);
        value
    }

    #[test]
    fn a_foreign_record_is_read_as_ours() {
        for (group, nucleus) in [(None, Some("CERN")), (Some("AP_TOP"), None)] {
            let mut ours = b"before".to_vec();
            turn(Topic::JobState, &foreign(group, nucleus), &mut ours);
            let (codec, mut arena) = (Codec::default(), Arena::default());
            let event = codec.read(Topic::JobState, None, Some(&ours[6..]), &mut arena);
            let Event::JobState(job) = event else { panic!("{event:?}") };
            assert_eq!((job.job, job.task, job.status), ("4711", "-7", Status::Running));
            assert_eq!((job.queue, job.user, job.gshare), ("DESY-HH", "ada", "MC"));
            assert_eq!((job.group, job.nucleus), (group.unwrap_or(""), nucleus.unwrap_or("")));
            assert_eq!((job.resource_type, job.cores, job.priority), ("MCORE", 8, -900));
            let JobState { input_bytes, changed_at, revision, .. } = job;
            assert_eq!(
                (input_bytes, changed_at, revision),
                (5_000_000_000, 1_700_000_000_000, 300)
            );
        }
    }

    #[test]
    fn what_is_not_theirs_stays_as_it_is() {
        let value = foreign(None, None);
        for cut in 0..value.len() {
            let mut out = b"before".to_vec();
            turn(Topic::JobState, &value[..cut], &mut out);
            assert_eq!(out, [b"before", &value[..cut]].concat());
        }
        let mut out = Vec::new();
        turn(Topic::Progress, &value, &mut out);
        assert_eq!(out, value);
    }
}
