//! A fold that other stream engines are measured by, done by the whole line: job records of a
//! foreign schema in, every changed counter out at every commit, exactly once.
//!
//! The environment says what to do (PEER_BOOTSTRAP, PEER_TOPIC, PEER_END, PEER_OUT, PEER_ID,
//! PEER_STATE; PEER_TELL_MS if counters are to be told less often than at every commit), and
//! `FIRST`, `LAST` and `START` on standard output say how far it is. The records are turned into
//! ours as they are read, and go through the same log, loop, ledger, transactions and store as in
//! `run`.

use crate::core::changed::{Changed, Of};
use crate::core::cut::{Cut, Lane, Topic};
use crate::core::event::{JobState, Status};
use crate::core::unit::{DAY, Millis};
use crate::drive::port::{Batch, LaneSpan, Log, LogError, Output};
use crate::drive::tell::{Moment, Tell};
use crate::drive::{Config, Drive};
use crate::shell::cli::place::{Read, open_store};
use crate::shell::clock;
use crate::shell::kafka::{KafkaAdmin, KafkaConf, KafkaLog, NewTopicSpec, TopicMap};
use crate::shell::ports::AnyStore;
use crate::wire::avro::{Cursor, Fault};
use crate::wire::record::write_job_state;
use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Marker and fingerprint before each record of the foreign schema.
const HEADER: [u8; 10] = [0xC3, 0x01, 0x7A, 0xB0, 0xFE, 0x79, 0xC1, 0xAF, 0x9F, 0x3C];
const RESOURCE_TYPES: [&str; 4] = ["SCORE", "MCORE", "SCORE_HIMEM", "MCORE_HIMEM"];

/// What the environment asks for.
struct Task {
    bootstrap: String,
    topic: String,
    out: String,
    id: String,
    state: String,
    /// End offset of each partition, exclusive; empty: until told to stop.
    end: Vec<u64>,
    /// Least time between two tellings of counters; ms. At 0 they are told at every commit.
    tell: Millis,
}

impl Task {
    fn read() -> anyhow::Result<Task> {
        let get = |name: &str| std::env::var(name).with_context(|| format!("{name} is not set"));
        let end = get("PEER_END")?;
        let end = end.split(',').filter(|part| !part.is_empty()).map(str::parse);
        let tell = std::env::var("PEER_TELL_MS").unwrap_or_else(|_| "0".to_owned());
        Ok(Task {
            bootstrap: get("PEER_BOOTSTRAP")?,
            topic: get("PEER_TOPIC")?,
            out: get("PEER_OUT")?,
            id: get("PEER_ID")?,
            state: get("PEER_STATE")?,
            end: end.collect::<Result<_, _>>().context("PEER_END: give o0,o1,...")?,
            tell: tell.parse().with_context(|| format!("PEER_TELL_MS {tell}: give ms"))?,
        })
    }
}

/// Runs until told to stop.
pub fn run(read: &Read) -> anyhow::Result<()> {
    let task = Task::read()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let conf = conf(&task)?;
    let mut log = Peers {
        log: KafkaLog::open(conf)?,
        raw: Batch::default(),
        bytes: Vec::new(),
        ids: Ids::default(),
    };
    let is_again =
        log.lanes()?.iter().any(|span| span.lane.topic == Topic::Progress && span.end > 0);
    std::fs::create_dir_all(&task.state)?;
    say("START", "");
    let store = open_store(&Path::new(&task.state).join("store"))?;
    let mut drive = Drive::start(log, store, config(&task, read)?)?;
    let mut marks = Marks { is_again, ..Marks::default() };
    while !stop.load(Ordering::Relaxed) {
        let rest = if drive.leads() { drive.rest(clock::now()).max(1) } else { 5 };
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
    Ok(drive.farewell(clock::now())?)
}

/// What was said of how far it is.
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
    fn look(&mut self, drive: &Drive<Peers, AnyStore>, taken: usize, end: &[u64]) {
        let begins = match self.is_again {
            false => taken > 0,
            true => self.led_at.is_some_and(|at| position(drive) > at),
        };
        if begins && !self.is_begun {
            self.is_begun = true;
            say("FIRST", "");
        }
        let next = |partition| drive.state().next(Lane::new(Topic::JobState, partition as u32));
        let ends = || end.iter().enumerate().all(|(partition, end)| next(partition) >= *end);
        if !self.is_ended && !end.is_empty() && ends() {
            self.is_ended = true;
            say("LAST", &end.iter().sum::<u64>().to_string());
        }
    }
}

/// How many records were folded, gaps included.
fn position(drive: &Drive<Peers, AnyStore>) -> u64 {
    drive.state().times.lanes.of(Topic::JobState).map(|(_, lane)| lane.next).sum()
}

fn say(word: &str, more: &str) {
    println!("{}", format!("{word} {} {more}", clock::now()).trim_end());
    // Nobody reads on: then nobody is told.
    let _ = std::io::stdout().flush();
}

/// Topics as the others use them, and one for `progress`.
fn conf(task: &Task) -> anyhow::Result<KafkaConf> {
    // Topics whose names begin with the id have eight partitions each: so those who weigh them say.
    let progress = format!("progress-{}", task.id);
    let map = |topic, name: &str| TopicMap { topic, name: name.to_owned() };
    let topics = vec![
        map(Topic::JobState, &task.topic),
        map(Topic::Counter, &task.out),
        map(Topic::Progress, &progress),
    ];
    let mut conf = KafkaConf::new(&task.bootstrap, &task.id, topics);
    conf.group = None;
    let configs = vec![("message.timestamp.type".to_owned(), "LogAppendTime".to_owned())];
    let spec = NewTopicSpec { name: progress, partitions: 1, replication: -1, configs };
    KafkaAdmin::open(&conf)?.create(&[spec])?;
    Ok(conf)
}

fn config(task: &Task, read: &Read) -> anyhow::Result<Config> {
    let mut terms = read.terms()?;
    let limits = &mut terms.setting.limits;
    limits.batch_records = 200_000;
    // Nothing is forgotten: the counters are of all jobs there ever were.
    limits.ended_job_lifetime_ms = 40_000 * DAY;
    limits.silent_job_lifetime_ms = 40_000 * DAY;
    let tell = Tell { interval: task.tell, is_early: true, write };
    Ok(Config {
        instance: task.id.clone(),
        terms,
        stopwatch: clock::stopwatch,
        verify: false,
        keeps: true,
        counters: Some(tell),
    })
}

/// `Q|queue|gshare|resource type|status` with jobs and cores, `U|user|queue|status` with jobs.
fn write(changed: &Changed<'_>, _: &Moment<'_>, put: &mut dyn FnMut(Vec<u8>, Vec<u8>)) {
    let mut key = String::with_capacity(64);
    let jobs = u64::from(changed.jobs).to_be_bytes();
    let (names, value): (&[&str], Vec<u8>) = match &changed.of {
        Of::Load(names) => {
            key.push('Q');
            (names, [jobs, u64::from(changed.cores).to_be_bytes()].concat())
        }
        Of::User(names) => {
            key.push('U');
            (names, jobs.to_vec())
        }
        Of::Group(_) | Of::Nucleus(_) => return,
    };
    for name in names.iter().copied().chain([changed.status.name()]) {
        key.push('|');
        key.push_str(name);
    }
    put(key.into_bytes(), value);
}

/// The log, with records of the foreign schema turned into ours.
struct Peers {
    log: KafkaLog,
    raw: Batch,
    bytes: Vec<u8>,
    ids: Ids,
}

/// Numbers as text, of the record at hand.
#[derive(Default)]
struct Ids {
    job: String,
    task: String,
}

/// Writes a number in place of what stood there.
fn number(text: &mut String, number: i64) {
    text.clear();
    // Writing to a `String` cannot fail.
    let _ = write!(text, "{number}");
}

impl Log for Peers {
    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        self.raw.clear();
        self.log.take(&mut self.raw, max, wait)?;
        for raw in &self.raw.records {
            let value = self.raw.value(raw);
            self.bytes.clear();
            let foreign = value.filter(|_| raw.lane.topic == Topic::JobState);
            let is_ours =
                foreign.is_none_or(|value| turn(value, &mut self.ids, &mut self.bytes).is_err());
            // What cannot be read is handed on as it is, and becomes a dead letter.
            let value = if is_ours { value } else { Some(self.bytes.as_slice()) };
            batch.push(raw.lane, raw.offset, raw.appended_at, None, value);
        }
        batch.marks.extend(&self.raw.marks);
        Ok(())
    }

    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        self.log.lanes()
    }
    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        self.log.assign(from)
    }
    fn hold(&mut self, lanes: &[Lane], held: bool) -> Result<(), LogError> {
        self.log.hold(lanes, held)
    }
    fn ends(&mut self) -> Vec<(Lane, u64)> {
        self.log.ends()
    }
    fn lead(&mut self) -> Result<(), LogError> {
        self.log.lead()
    }
    fn say(&mut self, outputs: Vec<Output>, progress: Output) -> Result<(), LogError> {
        self.log.say(outputs, progress)
    }
    fn is_settled(&mut self) -> bool {
        self.log.is_settled()
    }
    fn settle(&mut self) -> Result<(), LogError> {
        self.log.settle()
    }
}

/// A record of the foreign schema as one of ours. Its `seq` orders the states of a job.
fn turn(value: &[u8], ids: &mut Ids, out: &mut Vec<u8>) -> Result<(), Fault> {
    let datum = value.strip_prefix(&HEADER).ok_or(Fault::WrongSchema)?;
    let at = &mut Cursor::new(datum);
    number(&mut ids.job, at.long()?);
    number(&mut ids.task, at.long()?);
    let _attempt = at.int()?;
    let status = Status::ALL.get(at.index()?).copied().ok_or(Fault::Malformed)?;
    let [queue, user] = at.strings()?;
    let group = text_if_known(at)?;
    let gshare = at.string()?;
    let resource_type = RESOURCE_TYPES.get(at.index()?).copied().ok_or(Fault::Malformed)?;
    let (cores, priority) = (at.int()?, at.int()?);
    let nucleus = text_if_known(at)?;
    let (input_bytes, changed_at): (i64, Millis) = (at.long()?, at.long()?);
    let revision = at.int()?;
    at.end()?;
    let state = JobState {
        job: &ids.job,
        status,
        changed_at,
        revision: revision.max(0) as u32,
        attempt: 0,
        task: &ids.task,
        request: "",
        queue,
        user,
        group,
        gshare,
        resource_type,
        nucleus,
        workflow: "",
        label: "",
        processing_type: "",
        sub_status: "",
        cores: cores.max(0) as u32,
        priority,
        created_at: 0,
        activated_at: 0,
        started_at: 0,
        ended_at: 0,
        input_bytes: input_bytes.max(0) as u64,
        output_bytes: 0,
    };
    write_job_state(out, &state);
    Ok(())
}

/// A union of null and text; null as the empty text.
fn text_if_known<'a>(at: &mut Cursor<'a>) -> Result<&'a str, Fault> {
    match at.index()? {
        0 => Ok(""),
        1 => at.string(),
        _ => Err(Fault::Malformed),
    }
}
