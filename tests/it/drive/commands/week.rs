//! A week of the simulated grid on which much goes wrong, with all rules on: heartbeats die for
//! three hours, a site is silent for a day, its links are blocked, a topic is late and flows, a foreign
//! transaction is left open, clocks are wrong, the leader's too, and no process runs for six hours.

use super::super::yard::{config_with, epoch_config_with, outputs};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Event, Status};
use yardmaster::core::id::hash;
use yardmaster::core::output::command::{Command, CommandId};
use yardmaster::core::output::decision::Decision;
use yardmaster::core::state::audit::audit;
use yardmaster::core::unit::{DAY, HOUR, MINUTE};
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::sim::detour::{self, Detour};
use yardmaster::sim::grid::{Facts, Grid, GridPlan, GridSummary, Record};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::sim::paper::{Paper, PaperLog};
use yardmaster::wire::avro::{Arena, Codec};

const START: i64 = 1_760_400_000_000;
const STEP: i64 = 2 * MINUTE;
const PARTITIONS: u64 = 2;
const WEEK: i64 = 7 * DAY;

/// Lines on the governor and on staleness as the topology ships them, and those that turn both off.
const UNGUARDED: &[(&str, &str)] = &[
    ("silence_limit_s = 600", "silence_limit_s = 86_400"),
    ("silence_limit_s = 1800", "silence_limit_s = 86_400"),
    ("queue_silence_min = 60", "queue_silence_min = 10_080"),
    ("jobs_per_queue = 100", "jobs_per_queue = 1_000_000"),
    ("jobs_per_rule = 2_000", "jobs_per_rule = 1_000_000"),
    ("jobs = 5_000", "jobs = 1_000_000"),
    ("moves_per_job = 3", "moves_per_job = 1_000"),
];

/// The size of the grid beside ATLAS, and the seed.
const SIZE: (f64, u64) = (0.0025, 5);

struct Week {
    paper: Paper,
    grid: Grid,
    detour: Detour,
    drive: Drive<PaperLog, PaperStore>,
    now: i64,
    decisions: Vec<Decision>,
    /// Commands published and not yet carried out.
    commands: Vec<Command>,
    config: &'static [(&'static str, &'static str)],
    seen: Seen,
}

/// Counts for the checks.
#[derive(Default)]
struct Seen {
    /// Orders as they were first published, with what the budget of their queue was.
    orders: BTreeMap<CommandId, (Command, u64)>,
    /// Why commands were held back.
    held: BTreeSet<String>,
    /// Commands carried out in a step in which one was wrong.
    wrong: Vec<Command>,
    /// How each try of a job ended.
    ends: BTreeMap<(String, u32), Vec<Status>>,
}

fn topology(changes: &[(&str, &str)]) -> yardmaster::drive::epoch_config::EpochConfig {
    let on = ("mode = \"dry_run\"", "mode = \"on\"");
    epoch_config_with(&[&[on], changes].concat())
}

impl Week {
    fn new(changes: &'static [(&'static str, &'static str)]) -> Week {
        let lanes: Vec<Lane> = Topic::read()
            .flat_map(|topic| {
                let partitions = if topic == Topic::Progress { 1 } else { PARTITIONS as u32 };
                (0..partitions).map(move |partition| Lane::new(topic, partition))
            })
            .collect();
        let paper = Paper::new(&lanes);
        paper.set_now(START);
        let facts = Facts::built_in();
        let names = facts.queues.iter().map(|it| it.unified.clone()).collect();
        let detour = Detour::new(SIZE.1, detour::week(START, &names));
        let domain = "atlas".to_owned();
        let plan = GridPlan {
            seed: SIZE.1,
            scale: SIZE.0,
            start: START,
            hours: 7 * 24,
            domain,
            facts,
            speed: 1,
            series: 0,
        };
        let mut week = Week {
            drive: begin(&paper, PaperStore::default(), "one", changes),
            paper,
            grid: Grid::new(plan).unwrap(),
            detour,
            now: START,
            decisions: Vec::new(),
            commands: Vec::new(),
            config: changes,
            seen: Seen::default(),
        };
        week.drive.take_lead(START).unwrap();
        week.drive.settle(START).unwrap();
        week
    }

    /// The whole of it. Without YARDMASTER_LONG it is five days and a half.
    fn pass(mut self) -> Week {
        let is_long = std::env::var_os("YARDMASTER_LONG").is_some();
        let (last, end) = if is_long { (6 * DAY, WEEK) } else { (5 * DAY, 5 * DAY + 12 * HOUR) };
        self.until(detour::BLOCKED.0);
        self.block_links(true);
        self.until(detour::BLOCKED.1);
        self.block_links(false);
        self.until(last - 12 * HOUR);
        let lane = Lane::new(Topic::JobState, 1);
        self.paper.open(lane, b"a foreign record");
        self.until(last - 11 * HOUR);
        self.paper.close(lane, false);
        self.until(last - 4 * HOUR);
        self.wrong_clock();
        self.until(last);
        self.outage(6 * HOUR);
        self.until(end);
        self
    }

    fn until(&mut self, moment: i64) {
        while self.now < START + moment {
            self.step();
            self.cycle().unwrap();
        }
    }

    /// The grid goes on for a step, and what it publishes arrives.
    fn step(&mut self) {
        self.now += STEP;
        self.paper.set_now(self.now);
        let mut records = Vec::new();
        let commands = std::mem::take(&mut self.commands);
        let wrong = self.grid.wrongly_commanded();
        self.grid.obey(&commands, &mut records);
        if self.grid.wrongly_commanded() > wrong {
            self.seen.wrong.extend(commands);
        }
        let decisions = std::mem::take(&mut self.decisions);
        self.grid.advance(self.now, &decisions, &mut records);
        self.publish(records);
    }

    fn publish(&mut self, records: Vec<Record>) {
        self.seen.count_ends(&records);
        for record in self.detour.pass(records, self.now) {
            let lane = Lane::new(record.topic, (hash(&record.key) % PARTITIONS) as u32);
            self.paper.append(
                lane,
                Some(&record.key),
                record.value.as_deref(),
                &[],
                Some(record.at),
            );
        }
    }

    /// The leader reads all there is, and makes a cycle of it.
    fn cycle(&mut self) -> Result<(), Halt> {
        loop {
            while self.drive.pump(Duration::ZERO)? > 0 {}
            self.drive.lead(self.now)?;
            self.drive.settle(self.now)?;
            let report = self.drive.take_report();
            self.decisions.extend(report.decisions().cloned());
            self.seen.count(report.commands(), &self.drive);
            self.commands.extend(report.commands().filter(|it| it.is_order()).cloned());
            if !self.drive.has_more() {
                return Ok(());
            }
            self.now += 200;
            self.paper.set_now(self.now);
        }
    }

    /// The links out of a site, the largest but for the silent one, take nothing.
    fn block_links(&mut self, blocked: bool) {
        let mut records = Vec::new();
        let site = Facts::built_in().sites[1].name.clone();
        self.grid.set_blocked(&site, blocked, &mut records);
        assert!(!records.is_empty(), "{site} has no links");
        self.publish(records);
    }

    /// Another process takes the lead whose clock is ten minutes ahead; then the first one again.
    fn wrong_clock(&mut self) {
        let mut wrong = begin(&self.paper, PaperStore::default(), "wrong", self.config);
        let published = self.paper.records(Lane::new(Topic::Progress, 0)).len();
        let ahead = self.now + 10 * MINUTE;
        let mut led = wrong.take_lead(ahead);
        for _ in 0..1_000 {
            if led.is_err() {
                break;
            }
            led = wrong.pump(Duration::ZERO).and_then(|_| wrong.lead(ahead)).map(drop);
        }
        assert!(matches!(led, Err(Halt::Clock { .. })), "{led:?}");
        let now = self.now;
        let later = self.paper.records(Lane::new(Topic::Progress, 0)).len() - published;
        assert!(later <= 2, "{later} cycles of a leader with a wrong clock");
        drop(wrong);
        self.restart("one again");
        assert!(self.drive.state().now <= now);
    }

    /// No process runs; the grid goes on.
    fn outage(&mut self, lasts: i64) {
        let end = self.now + lasts;
        while self.now < end {
            self.step();
        }
        self.restart("after an outage");
    }

    /// Another process with the store of the one before.
    fn restart(&mut self, name: &str) {
        let old = begin(&self.paper, PaperStore::default(), "placeholder", self.config);
        let (_, store) = std::mem::replace(&mut self.drive, old).into_ports();
        self.drive = begin(&self.paper, store, name, self.config);
        self.drive.take_lead(self.now).unwrap();
        self.drive.settle(self.now).unwrap();
    }

    fn summary(&self) -> GridSummary {
        self.grid.summary()
    }
}

thread_local! {
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// A clock for reports and checkpoints that goes on by 5 ms at each look: what is stored is copied
/// now and then only.
fn stopwatch() -> u64 {
    LOOKS.with(|looks| {
        looks.set(looks.get() + 1);
        looks.get() * 5_000_000
    })
}

/// A process that has read all that the log has.
fn begin(
    paper: &Paper,
    store: PaperStore,
    name: &str,
    changes: &[(&str, &str)],
) -> Drive<PaperLog, PaperStore> {
    let config = Config { stopwatch, ..config_with(name, topology(changes)) };
    let mut drive = Drive::start(paper.log("yardmaster-atlas"), store, config).unwrap();
    for _ in 0..1_000_000 {
        let read = drive.pump(Duration::ZERO).unwrap();
        let counted = drive.follow().unwrap();
        if read == 0 && counted == 0 && drive.own_lanes_at_end() {
            break;
        }
    }
    drive
}

impl Seen {
    fn count<'a>(
        &mut self,
        commands: impl Iterator<Item = &'a Command>,
        drive: &Drive<PaperLog, PaperStore>,
    ) {
        let state = drive.state();
        for command in commands {
            if let Some(why) = command.held_back() {
                let why = why.split([',', ')']).next().unwrap_or(why);
                self.held.insert(format!("{} {why}", command.rule));
            } else if command.is_order() && !self.orders.contains_key(&command.id) {
                let governor = &state.setting.commands.governor;
                let live = state.jobs.slab.iter().filter(|(_, job)| {
                    job.status.is_some_and(|status| !status.is_ended())
                        && state.names.text(job.names[0]) == command.queue
                });
                let part = live.count() as u64 * governor.percent_of_queue / 100;
                let budget = governor.jobs_per_queue.max(part);
                self.orders.insert(command.id, (command.clone(), budget));
            }
        }
    }

    fn count_ends(&mut self, records: &[Record]) {
        let codec = Codec::default();
        let mut arena = Arena::default();
        for record in records.iter().filter(|record| record.topic == Topic::JobState) {
            let value = record.value.as_deref();
            let read = codec.read(record.topic, Some(&record.key), value, &mut arena);
            let Event::JobState(job) = read else { continue };
            if job.status.is_ended() {
                let ends = self.ends.entry((job.job.to_owned(), job.attempt)).or_default();
                // A record published twice is one end.
                if ends.last() != Some(&job.status) {
                    ends.push(job.status);
                }
            }
        }
    }

    /// The most that was commanded within any window, over what was allowed then.
    fn check_budgets(&self) {
        let mut orders: Vec<&(Command, u64)> = self.orders.values().collect();
        orders.sort_by_key(|(command, _)| (command.now, command.cycle, command.number));
        for (at, (last, budget)) in orders.iter().enumerate() {
            let window = orders[..=at].iter().map(|(command, _)| command);
            let window = window.filter(|it| it.now > last.now - HOUR);
            let (mut all, mut of_rule, mut of_queue) = (0, 0, 0);
            for command in window {
                all += command.amount;
                of_rule += if command.rule == last.rule { command.amount } else { 0 };
                of_queue += if command.queue == last.queue { command.amount } else { 0 };
            }
            assert!(all <= 5_000 && of_rule <= 2_000, "{all} and {of_rule} at {last:?}");
            assert!(of_queue <= *budget, "{of_queue} of {budget} at {last:?}");
        }
    }

    /// No job is moved more often than it may be.
    fn check_moves(&self) {
        let mut moves: BTreeMap<&str, u32> = BTreeMap::new();
        let kind_moves = self.orders.values().filter(|(command, _)| command.kind.moves());
        for job in kind_moves.flat_map(|(command, _)| command.about()) {
            *moves.entry(job).or_default() += 1;
        }
        assert!(moves.values().all(|moves| *moves <= 3), "{moves:?}");
    }

    fn by_rule(&self) -> BTreeMap<&str, u64> {
        let mut rules = BTreeMap::new();
        for (command, _) in self.orders.values() {
            *rules.entry(command.rule.as_str()).or_default() += command.amount;
        }
        rules
    }
}

#[test]
fn in_a_week_of_faults_no_job_is_killed_that_lives() {
    let mut week = Week::new(&[]).pass();
    let summary = week.summary();
    println!("{summary:#?}\n{:?}\n{:#?}", week.seen.by_rule(), week.seen.held);
    assert_eq!(summary.commanded_wrong, 0, "{:#?}", week.seen.wrong);
    week.seen.check_budgets();
    week.seen.check_moves();
    // Nothing goes in circles: what is taken back is not given to the same queue again and again.
    assert!(week.seen.by_rule().contains_key("fast_rebrokerage"));
    assert!(summary.given_most <= 3, "{summary:?}");
    // Every job ends once, as the grid counts it.
    assert!(week.seen.ends.values().all(|ends| ends.len() == 1));
    let ended = summary.finished + summary.failed + summary.cancelled + summary.closed;
    assert_eq!(week.seen.ends.len() as u64, ended);
    // What is dead in fact is found.
    assert!(summary.commanded_ended > summary.silent / 4, "{summary:?}");
    week.drive.finish(week.now).unwrap();
    assert_eq!(audit(week.drive.state()), vec![]);
    verify(&week);
}

/// A process with an empty store makes every output again.
fn verify(week: &Week) {
    let config = Config { verify: true, ..config_with("a reader", topology(week.config)) };
    let log = week.paper.log("yardmaster-atlas");
    let mut reader = Drive::start(log, PaperStore::default(), config).unwrap();
    let last = week.drive.state().number;
    let mut verified = [0; 3];
    for _ in 0..10_000_000 {
        reader.pump(Duration::ZERO).unwrap();
        reader.follow().unwrap();
        let report = reader.take_report();
        assert_eq!(report.differences, Vec::<String>::new());
        (0..3).for_each(|at| verified[at] += report.verified[at]);
        if reader.state().number == last {
            break;
        }
    }
    let of = |topic| -> usize {
        (0..PARTITIONS as u32).map(|it| outputs(&week.paper, Lane::new(topic, it)).len()).sum()
    };
    let all = of(Topic::Decision) + of(Topic::Throttle) + of(Topic::Command);
    assert_eq!(verified, [all as u64, 0, 0]);
    assert_eq!(audit(reader.state()), vec![]);
}

#[test]
fn three_days_of_it_without_staleness_and_governor_kills_what_lives() {
    let mut week = Week::new(UNGUARDED);
    week.until(3 * DAY + HOUR);
    let summary = week.summary();
    println!("{summary:#?}\n{:?}", week.seen.by_rule());
    assert!(summary.commanded_wrong > 20, "{summary:?}");
}
