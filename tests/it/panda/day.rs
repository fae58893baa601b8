//! A day of the simulated grid whose jobs live in PanDA's database: brokered over Kafka as a client in
//! `lead` does, written as PanDA's server writes, captured, and every simulated hour counted by
//! `SELECT ... GROUP BY`.

mod reservations;
mod rows;

use super::live::{Place, STATES, of_process};
use super::servers::{Connect, Postgres};
use super::writer::Writer;
use crate::kill::bus::{Bus, now, text};
use crate::kill::process::{Process, wait_until};
use crate::kill::{SECOND, hasty};
use reservations::{Open, Reservations};
use rows::Rows;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster::core::cut::{Cut, Topic};
use yardmaster::core::event::{Event, OutcomeKind};
use yardmaster::core::output::Output;
use yardmaster::core::output::command::Command;
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::unit::{HOUR, MINUTE};
use yardmaster::drive::listing::Listing;
use yardmaster::drive::port::{Batch, Log};
use yardmaster::shell::kafka::{KafkaConf, KafkaLog, TopicMap};
use yardmaster::sim::grid::{Facts, Grid, GridPlan, Record};
use yardmaster::wire::avro::{Arena, Codec};

/// How many times shorter all steps of a job are, and how many times more jobs there are: an hour
/// of the grid is ten seconds.
const SPEED: u32 = 360;
const HOUR_MS: i64 = HOUR / SPEED as i64;
/// Size beside ATLAS: some 900 cores.
const SCALE: f64 = 0.003;
/// The first task of a grid arrives within so long; ms.
const BEFORE: i64 = 180_000;
/// The longest that a reservation may wait for its jobs, in the grid's time (`reservation_lifetime_h`).
const LIFETIME_MIN: i64 = 120;
const OUTPUTS: [Topic; 3] = [Topic::Decision, Topic::Throttle, Topic::Command];

/// Outputs of the `run` that count.
struct Answers {
    log: KafkaLog,
    codec: Codec,
    listing: Listing,
    batch: Batch,
    reservations: Reservations,
    decisions: Vec<Decision>,
    commands: Vec<Command>,
    /// Assignments, deferrals, rejections.
    counts: [u64; 3],
}

impl Answers {
    fn new(bus: &Bus) -> Answers {
        let read = [&OUTPUTS[..], &[Topic::Progress, Topic::JobState]].concat();
        let map = |topic: &Topic| TopicMap { topic: *topic, name: bus.topic(*topic) };
        let topics = read.iter().map(map).collect();
        let conf = KafkaConf::new(&bus.bootstrap, "a reader", topics);
        let mut log = KafkaLog::open(conf).unwrap();
        let mut cut = Cut::default();
        log.lanes().unwrap().iter().for_each(|span| cut.advance(span.lane, span.first));
        log.assign(&cut).unwrap();
        Answers {
            log,
            codec: Codec::new(usize::MAX),
            listing: Listing::new(&bus.domain, &OUTPUTS),
            batch: Batch::default(),
            reservations: Reservations::default(),
            decisions: Vec::new(),
            commands: Vec::new(),
            counts: [0; 3],
        }
    }

    /// Takes in what is new; waits so long for it.
    fn look(&mut self, wait: Duration) {
        self.batch.clear();
        self.log.take(&mut self.batch, 10_000, wait).unwrap();
        let mut news = Vec::new();
        for raw in &self.batch.records {
            let (place, value) = ((raw.lane, raw.offset), self.batch.value(raw));
            match raw.lane.topic {
                Topic::Progress => news.extend(self.listing.progress(&self.codec, place, value)),
                Topic::JobState => {
                    let mut arena = Arena::default();
                    match self.codec.read(Topic::JobState, None, value, &mut arena) {
                        Event::JobState(job) => self.reservations.job(&job),
                        other => panic!("no state of a job: {other:?}"),
                    }
                }
                _ => news.extend(self.listing.output(&self.codec, place, value, &|_| true)),
            }
        }
        for output in news.into_iter().map(|listed| listed.output) {
            match output {
                Output::Decision(decision) => {
                    self.reservations.decision(&decision);
                    let kind = match decision.outcome {
                        Outcome::Assign(_) => 0,
                        Outcome::Defer { .. } => 1,
                        Outcome::Reject { .. } => 2,
                    };
                    self.counts[kind] += 1;
                    self.decisions.push(*decision);
                }
                Output::Command(command) => self.commands.push(*command),
                Output::Throttle(_) => {}
            }
        }
    }
}

/// The grid, its database and its Kafka.
struct Day<'a> {
    place: &'a Place,
    grid: Grid,
    rows: Rows,
    answers: Answers,
    /// How far the grid's clock, which stands while counts are compared, is behind.
    stood: i64,
    /// The oldest reservation that was open at the end of an hour, in the grid's minutes.
    oldest_min: i64,
}

impl Day<'_> {
    /// Until the first task arrives, which takes a minute or more at any speed, the grid's clock
    /// is turned on. Returns when that is, by the grid's clock, which goes on from there.
    fn begin(&mut self) -> i64 {
        let (mut clock, mut records) = (self.grid.start(), Vec::new());
        while !records.iter().any(|it: &Record| it.topic == Topic::Task) {
            clock += SECOND.as_millis() as i64;
            self.grid.advance(clock, &[], &mut records);
        }
        self.write(records);
        self.stood = now() - clock;
        clock
    }

    fn clock(&self) -> i64 {
        now() - self.stood
    }

    /// Each step of the grid is written.
    fn run_until(&mut self, until: i64) {
        while self.clock() < until {
            self.answers.look(Duration::from_millis(20));
            let (mut records, clock) = (Vec::new(), self.clock());
            self.grid.obey(&std::mem::take(&mut self.answers.commands), &mut records);
            let decisions = std::mem::take(&mut self.answers.decisions);
            self.grid.advance(clock, &decisions, &mut records);
            self.write(records);
        }
    }

    fn write(&mut self, records: Vec<Record>) {
        let codec = Codec::default();
        for Record { topic, key, value, at } in self.rows.write(records) {
            if topic == Topic::Outcome {
                let mut arena = Arena::default();
                match codec.read(topic, None, value.as_deref(), &mut arena) {
                    // As JEDI's client in `lead`: an outcome states what was not carried out.
                    // One that accepts would end a reservation before its jobs are seen.
                    Event::Outcome(outcome) => {
                        self.answers.reservations.outcome(&outcome);
                        if outcome.kind == OutcomeKind::Accepted {
                            continue;
                        }
                    }
                    other => panic!("no outcome: {other:?}"),
                }
            }
            let (key, value) = (String::from_utf8(key).unwrap(), value.unwrap());
            self.place.bus.publish_at(topic, &key, Some(at), |out| *out = value);
        }
        self.place.bus.flush();
    }

    /// While nothing is written: the process counts what the tables hold, and reserves what the
    /// topics leave open.
    fn compare(&mut self, hour: i64, process: &Process, tables: &mut postgres::Client) {
        let began = Instant::now();
        self.place.settle(process, tables, &STATES);
        let settled = now();
        let answers = &mut self.answers;
        let open = RefCell::new(Open::default());
        let what =
            || format!("reserved: {:?}, by the topics {:?}", reserved(process), open.borrow());
        wait_until(20 * SECOND, what, || {
            answers.look(Duration::from_millis(100));
            *open.borrow_mut() = answers.reservations.open();
            reserved(process).is_some_and(|it| it == open.borrow().jobs)
        });
        let open = open.into_inner();
        let minutes =
            |since: Option<i64>| since.map_or(0, |at| settled - at) * i64::from(SPEED) / MINUTE;
        let [oldest, carried_out] = [open.since, open.carried_out_since].map(minutes);
        self.oldest_min = self.oldest_min.max(oldest);
        let jobs: i64 = of_process(process, &STATES).unwrap().values().map(|it| it.0).sum();
        println!(
            "hour {hour}: {jobs} jobs are counted as the tables have them, after {:?}; {} are \
             reserved, the oldest for {oldest} min of the grid ({carried_out} min of those whose \
             jobs were made)",
            began.elapsed(),
            open.jobs.values().sum::<i64>(),
        );
        // How soon the grid carries a decision out depends on the machine.
        assert!(carried_out <= LIFETIME_MIN, "reserved for {carried_out} min beside the jobs");
        assert!(!is_long() || oldest <= LIFETIME_MIN, "reserved for {oldest} min");
        self.stood += began.elapsed().as_millis() as i64;
    }

    /// Figures of all of it.
    fn print(&self, hours: i64, wall: Duration, tables: &mut postgres::Client) {
        let sum = "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint FROM pg_stat_user_tables";
        let changed: i64 = tables.query_one(sum, &[]).unwrap().get(0);
        let (summary, [with, without]) = (self.grid.summary(), self.answers.reservations.jobs());
        let [assigned, deferred, rejected] = self.answers.counts;
        println!(
            "{hours} h of the grid in {wall:?}: {} tasks, {} requests; decisions: {assigned} assign, \
             {deferred} defer, {rejected} reject; {} jobs, {with} of them with a request that intake \
             inferred, {without} without; {} states, heartbeats and reports written, {changed} rows \
             changed; {} jobs finished, {} failed, {} closed, {} cancelled; the oldest open \
             reservation at an hour's end {} min of the grid",
            summary.tasks.0,
            summary.requests,
            self.rows.inserted,
            self.rows.written,
            summary.finished,
            summary.failed,
            summary.closed,
            summary.cancelled,
            self.oldest_min,
        );
    }
}

/// By queue, jobs that the process has reserved room for; `None` if it does not answer.
fn reserved(process: &Process) -> Option<BTreeMap<String, i64>> {
    let page = process.page("/api/v1/counters?by=queue")?;
    let page: Value = serde_json::from_str(&page).ok()?;
    let figure =
        |it: &Value| Some((it["queue"].as_str()?.to_owned(), it["jobs_promised"].as_i64()?));
    let queues = page["counters"].as_array()?.iter().filter_map(figure);
    Some(queues.filter(|(_, jobs)| *jobs > 0).collect())
}

fn is_long() -> bool {
    std::env::var_os("YARDMASTER_LONG").is_some()
}

fn plan(domain: &str) -> GridPlan {
    GridPlan {
        seed: 18,
        scale: SCALE,
        start: now() - BEFORE,
        hours: u32::MAX,
        domain: domain.to_owned(),
        facts: Facts::built_in(),
        speed: SPEED,
        series: 0,
    }
}

#[test]
#[ignore = "panda::live counts the same tables through faults: test.sh --long"]
fn a_day_of_the_grid_in_pandas_database_is_counted_as_the_tables_have_it() {
    let Some(postgres) = Postgres::panda(&[]) else { return };
    let quick = |limits: &mut toml::Table, policy: &mut toml::Table| {
        hasty(limits, policy);
        limits.remove("judgements_per_cycle");
    };
    let Some(place) = Place::real(quick) else { return };
    let (bus, prefix) = (&place.bus, &place.prefix);
    let Some(_connect) = Connect::start(&postgres, &bus.bootstrap, prefix) else { return };
    let process = Process::start(&bus.bootstrap, &place.topology, &place.store);
    wait_until(60 * SECOND, || process.logged(), || process.leads());
    let mut tables = postgres.owner();
    let mut day = Day {
        place: &place,
        grid: Grid::new(plan(&bus.domain)).unwrap(),
        rows: Rows::new(Writer::new(postgres.owner())),
        answers: Answers::new(bus),
        stood: 0,
        oldest_min: 0,
    };
    // A reservation can outlast its bound in three hours at the least.
    let hours = if is_long() { 24 } else { 3 };
    let (start, began) = (day.begin(), Instant::now());
    for hour in 1..=hours {
        day.run_until(start + hour * HOUR_MS);
        day.compare(hour, &process, &mut tables);
    }
    day.print(hours, began.elapsed(), &mut tables);
    let [with, without] = day.answers.reservations.jobs();
    assert_eq!((with + without) as u64, day.rows.inserted);
    assert!(with > 500 && day.answers.counts[0] > 20);
    assert!(without * 10 < with, "{without} jobs have no request, {with} have one");
    println!("audit: {}", bus.verb("audit", 0, &["--store", text(&place.store)]).trim());
}
