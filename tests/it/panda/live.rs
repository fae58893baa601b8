//! From PanDA's database to the counters: rows moved as PanDA moves them, Kafka Connect killed, its slot
//! dropped, and at the end what the process counts is what `SELECT ... GROUP BY` counts.

use super::servers::{Connect, Postgres};
use super::writer::{NewJob, Writer};
use crate::kill::bus::{Bus, now, text};
use crate::kill::process::{Process, wait_until};
use crate::kill::witness::in_order;
use crate::kill::{Dice, SECOND, hasty};
use postgres::Client;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Event;
use yardmaster::shell::kafka::{KafkaAdmin, KafkaConf, NewTopicSpec};
use yardmaster::wire::avro::{Arena, Codec};

/// Jobs and cores by queue, share, resource type and state.
pub type Counts = BTreeMap<[String; 4], (i64, i64)>;

/// States of jobs that live, then states of those that ended.
pub const STATES: [&str; 12] = [
    "pending",
    "defined",
    "assigned",
    "activated",
    "sent",
    "starting",
    "running",
    "holding",
    "transferring",
    "finished",
    "failed",
    "cancelled",
];
/// Counts are equal within so long. A transaction that a slow broker ended is begun again after a
/// minute at the latest.
const SETTLED: Duration = Duration::from_secs(150);
/// How many of them are of jobs that live.
pub const LIVE: usize = 9;
const QUEUES: [&str; 3] = ["SYNTH_ALPHA", "SYNTH_BETA", "SYNTH_GAMMA"];

/// Counts in PanDA's tables.
pub fn of_tables(client: &mut Client, states: &[&str]) -> Counts {
    let rows = "SELECT computingsite, gshare, resource_type, jobstatus, count(*),
            sum(COALESCE(NULLIF(actualcorecount, 0), corecount))::bigint
        FROM (SELECT * FROM jobsdefined4 UNION ALL SELECT * FROM jobsactive4
            UNION ALL SELECT * FROM jobsarchived4) AS jobs
        WHERE jobstatus = ANY ($1) GROUP BY 1, 2, 3, 4";
    let rows = client.query(rows, &[&states]).unwrap();
    let count = |row: &postgres::Row| {
        let key = [0, 1, 2, 3].map(|at| row.get::<_, String>(at));
        (key, (row.get::<_, i64>(4), row.get::<_, i64>(5)))
    };
    rows.iter().map(count).collect()
}

/// Counts of the process.
pub fn of_process(process: &Process, states: &[&str]) -> Option<Counts> {
    let page: Value = serde_json::from_str(&process.page("/api/v1/counters?by=load")?).ok()?;
    let mut counts = Counts::new();
    for load in page["counters"].as_array()? {
        let name = |what: &str| load[what].as_str().unwrap_or_default().to_owned();
        for status in states {
            let figure = |what: &str| load[format!("{what}_{status}")].as_i64().unwrap_or(0);
            if figure("jobs") > 0 {
                let [queue, gshare, resource_type] = ["queue", "gshare", "resource_type"].map(name);
                let key = [queue, gshare, resource_type, (*status).to_owned()];
                counts.insert(key, (figure("jobs"), figure("cores")));
            }
        }
    }
    Some(counts)
}

/// Rows that differ, as text.
fn difference(tables: &Counts, process: &Counts) -> String {
    let keys = tables.keys().chain(process.keys()).collect::<std::collections::BTreeSet<_>>();
    let differ = keys.into_iter().filter(|key| tables.get(*key) != process.get(*key));
    let line = |key: &[String; 4]| {
        format!("{key:?}: tables {:?}, process {:?}\n", tables.get(key), process.get(key))
    };
    differ.map(line).collect()
}

/// A run that takes PanDA's changes.
pub struct Place {
    pub bus: Bus,
    pub prefix: String,
    pub topology: PathBuf,
    pub store: PathBuf,
}

impl Place {
    /// Topics on a real broker; `change` changes limits and policy of the topology that ships.
    pub fn real(change: impl FnOnce(&mut Table, &mut Table)) -> Option<Place> {
        Place::with(&["harvester_worker_stats", "jedi_tasks"], change)
    }

    /// The same that takes these tables besides those of the jobs, of schema `doma_panda` where none is
    /// named.
    pub fn with(tables: &[&str], change: impl FnOnce(&mut Table, &mut Table)) -> Option<Place> {
        let bus = Bus::real(change)?;
        let prefix = format!("{}.cdc", bus.domain);
        let topic = |table: &&str| match table.contains('.') {
            true => format!("{prefix}.{table}"),
            false => format!("{prefix}.doma_panda.{table}"),
        };
        let tables: Vec<String> = tables.iter().map(topic).collect();
        let topics = [&[format!("{prefix}.jobs")][..], &tables].concat();
        let spec = |name: &String| {
            let (name, configs) = (name.clone(), Vec::new());
            NewTopicSpec { name, partitions: 4, replication: -1, configs }
        };
        let conf = KafkaConf::new(&bus.bootstrap, &bus.domain, Vec::new());
        let specs: Vec<NewTopicSpec> = topics.iter().map(spec).collect();
        KafkaAdmin::open(&conf).unwrap().create(&specs).unwrap();
        let source = |topic: &String| {
            format!("[[intake.source]]\ntopic = \"{topic}\"\ndialect = \"panda-cdc\"\n")
        };
        let sources: String = topics.iter().map(source).collect();
        let topology = bus.path("intake.toml");
        let file = std::fs::read_to_string(&bus.topology).unwrap();
        std::fs::write(&topology, format!("{file}\n[intake]\nin_run = true\n{sources}")).unwrap();
        let store = bus.path("store");
        Some(Place { bus, prefix, topology, store })
    }

    /// Waits until process and tables count the same of these states; no row moves now.
    #[track_caller]
    pub fn settle(&self, process: &Process, tables: &mut Client, states: &[&str]) {
        let expected = of_tables(tables, states);
        let found = || of_process(process, states).unwrap_or_default();
        let what = || format!("{}{}", difference(&expected, &found()), process.logged());
        wait_until(SETTLED, what, || found() == expected);
        assert!(!expected.is_empty());
    }
}

impl Place {
    /// How many states of jobs were published; none twice, each later than the one before.
    #[track_caller]
    fn states_once(&self) -> usize {
        let codec = Codec::default();
        let records = in_order(&self.bus.bootstrap, &self.bus.topic(Topic::JobState));
        let mut newest: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for (key, value) in &records {
            let mut arena = Arena::default();
            let event = codec.read(Topic::JobState, Some(key), Some(value), &mut arena);
            let Event::JobState(job) = event else { panic!("no state of a job: {event:?}") };
            let before = newest.insert(key.clone(), job.revision);
            assert!(before < Some(job.revision), "{}: {before:?}, {}", job.job, job.revision);
        }
        records.len()
    }
}

/// Jobs that live their lives, and where each is in its own.
struct Story {
    writer: Writer,
    jobs: BTreeMap<i64, usize>,
    next: i64,
    dice: Dice,
}

impl Story {
    fn new(writer: Writer) -> Story {
        Story { writer, jobs: BTreeMap::new(), next: 1, dice: Dice(18) }
    }

    /// So many moves of rows.
    fn go_on(&mut self, moves: u64) {
        for _ in 0..moves {
            let is_new = self.jobs.len() < 40 || self.dice.below(6) == 0;
            if is_new { self.begin() } else { self.step() }
        }
    }

    fn begin(&mut self) {
        let job = self.next;
        self.next += 1;
        let queue = QUEUES[self.dice.below(3) as usize];
        let cores = if self.dice.below(2) == 0 { 1 } else { 8 };
        let task = 45_000_000 + self.dice.below(10) as i64;
        self.writer.insert(&NewJob::of(job, task, queue, cores), now());
        self.jobs.insert(job, 0);
    }

    /// The next state of some job; now and then it is tried again, goes back, fails, or its row goes.
    fn step(&mut self) {
        let at = self.dice.below(self.jobs.len() as u64) as usize;
        let (&job, &stage) = self.jobs.iter().nth(at).unwrap();
        let (writer, now) = (&mut self.writer, now());
        let mut next = Some(stage + 1);
        match (stage, self.dice.below(12)) {
            (4..10, 0) => {
                writer.retry(job, now);
                next = Some(4);
            }
            (4..8, 1) => {
                writer.reset(job, now);
                next = Some(3);
            }
            (4..10, 2) => {
                writer.archive(job, "failed", now);
                next = None;
            }
            (4..10, 3) => {
                writer.remove(job);
                next = None;
            }
            (0..3, 0) => {
                writer.archive_defined(job, "cancelled", now);
                next = None;
            }
            (0, _) => writer.define(job, now),
            (1, _) => writer.assign(job, now),
            (2 | 3, _) => {
                writer.activate(job, now);
                next = Some(4);
            }
            (4, _) => writer.send(job, "wn1.synthetic.example", now),
            (5, _) => writer.starting(job, "wn1.synthetic.example", now),
            (6, _) => writer.running(job, now),
            (7, _) => writer.heartbeat(job, 600, now),
            (8, _) => writer.holding(job, now),
            (9, _) => writer.transferring(job, now),
            (_, _) => {
                writer.archive(job, "finished", now);
                next = None;
            }
        }
        match next {
            Some(stage) => drop(self.jobs.insert(job, stage)),
            None => drop(self.jobs.remove(&job)),
        }
    }
}

#[test]
fn the_counters_are_those_of_the_tables_through_every_gap() {
    let Some(postgres) = Postgres::panda(&[]) else { return };
    let Some(place) = Place::real(hasty) else { return };
    let (mut story, mut tables) = (Story::new(Writer::new(postgres.owner())), postgres.owner());
    // Not in a snapshot are those that ended before it.
    (0..60).for_each(|_| story.begin());
    let (bus, prefix) = (&place.bus, &place.prefix);
    let Some(connect) = Connect::start(&postgres, &bus.bootstrap, prefix) else { return };
    let start = || Process::start(&bus.bootstrap, &place.topology, &place.store);
    let mut process = start();
    story.go_on(300);
    place.settle(&process, &mut tables, &STATES);

    // The process killed while rows move: each state is published once, and counts once.
    for _ in 0..4 {
        story.go_on(60);
        std::thread::sleep(Duration::from_millis(story.dice.below(1_500)));
        process.kill();
        story.go_on(40);
        process = start();
    }
    place.settle(&process, &mut tables, &STATES);
    println!("{} states, each once", place.states_once());

    // Killed while rows move: changes are sent again, and count once.
    connect.wait_for_position();
    story.go_on(50);
    connect.kill();
    story.go_on(100);
    connect.restart();
    story.go_on(50);
    place.settle(&process, &mut tables, &STATES);

    // Its slot dropped: a snapshot, in which what left meanwhile is missing.
    connect.kill();
    let drop_slot = "SELECT pg_drop_replication_slot('yardmaster')";
    wait_until(30 * SECOND, || drop_slot.to_owned(), || tables.execute(drop_slot, &[]).is_ok());
    story.go_on(200);
    connect.restart();
    story.go_on(100);
    // How those ended that are missing, no message states.
    place.settle(&process, &mut tables, &STATES[..LIVE]);

    latency(&process, &mut story, Duration::from_millis(100));
    println!("audit: {}", bus.verb("audit", 0, &["--store", text(&place.store)]).trim());
}

/// Commit in the database to what the process answers: half of the changes within `limit`.
fn latency(process: &Process, story: &mut Story, limit: Duration) {
    let mut times: Vec<Duration> = Vec::new();
    for at in 0..40 {
        let queue = format!("LATENCY_{at}");
        // Not in step with the process, which counts in cycles of cycle_idle_ms.
        std::thread::sleep(Duration::from_millis(story.dice.below(100)));
        story.writer.insert(&NewJob::of(1_000_000 + at, 45_000_000, &queue, 1), now());
        let committed = Instant::now();
        let is_counted = || {
            let counts = of_process(process, &STATES).unwrap_or_default();
            counts.keys().any(|[it, ..]| *it == queue)
        };
        while !is_counted() {
            assert!(committed.elapsed() < 20 * SECOND, "{queue}: {}", process.logged());
            std::thread::sleep(Duration::from_millis(2));
        }
        times.push(committed.elapsed());
    }
    times.sort();
    let (half, most) = (times[times.len() / 2], times[times.len() * 9 / 10]);
    println!("commit to counter: p50 {half:?}, p90 {most:?}");
    // A machine that is shared by other tests is slower: the bound holds for a quiet one.
    let bound = if std::env::var_os("YARDMASTER_LONG").is_some() { limit } else { 20 * limit };
    assert!(half < bound, "p50 {half:?}");
}
