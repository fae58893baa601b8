//! Commands against a dumb twin: an engine that looks at a job only when a rule can be due for it gives
//! the same commands as one that looks at every job in each cycle, on random stories with short limits.

use super::super::yard::{queue, task};
use super::stage::QUEUE;
use crate::world::{Chance, DAWN, fold, lane, published, text};
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::engine::Engine;
use yardmaster::core::event::*;
use yardmaster::core::output::Output;
use yardmaster::core::output::command::Command;
use yardmaster::core::output::decision::DecisionId;
use yardmaster::core::state::State;
use yardmaster::core::state::audit::audit;
use yardmaster::core::unit::{MINUTE, Millis, SECOND};
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::sim::scenario::feed;
use yardmaster::wire::topology;

const QUEUES: [&str; 3] = [QUEUE, "QUEUE_01", ""];
const JOBS: usize = 60;

/// The topology with all rules on, limits of minutes and small budgets; `reading`: whose jobs the
/// timeouts are about.
fn short(reading: &str) -> EpochConfig {
    let mut is_governor = false;
    let limits = [4, 6, 9, 5, 8, 7, 6, 3, 40, 5, 6, 3, 7, 4, 8, 8, 20, 3];
    let mut limits = limits.into_iter().cycle();
    let line = |line: &str| match line.split_once(" = ") {
        Some(("rules", _)) if is_governor => format!("rules = {reading:?}"),
        None => {
            is_governor |= line == "[governor]";
            line.to_owned()
        }
        Some(("limit_min", _)) => format!("limit_min = {}", limits.next().unwrap()),
        Some(("mode", "\"dry_run\"")) => "mode = \"on\"".to_owned(),
        Some(("dwell_min" | "no_start_min", _)) => {
            line.split(' ').next().unwrap().to_owned() + " = 5"
        }
        Some(("jobs_per_queue", _)) => "jobs_per_queue = 5".to_owned(),
        Some(("percent_of_queue", _)) => "percent_of_queue = 0".to_owned(),
        Some(("moves_per_job", _)) => "moves_per_job = 2".to_owned(),
        Some(("rest_h", _)) => "rest_h = 0".to_owned(),
        Some(("rebrokered_tasks_per_cycle", _)) => "rebrokered_tasks_per_cycle = 2".to_owned(),
        Some(("commands_per_cycle", _)) => "commands_per_cycle = 7".to_owned(),
        Some(("batch_jobs", _)) => "batch_jobs = 3".to_owned(),
        Some(("window_min" | "expires_after_min", _)) => {
            line.split(' ').next().unwrap().to_owned() + " = 10"
        }
        Some(("repeat_after_min" | "report_interval_min", _)) => {
            line.split(' ').next().unwrap().to_owned() + " = 2"
        }
        _ => line.to_owned(),
    };
    let lines: Vec<String> = topology::ATLAS.lines().map(line).collect();
    EpochConfig::of("short.toml", &lines.join("\n")).unwrap()
}

struct Twins {
    engines: [Engine; 2],
    now: Millis,
    chance: Chance,
    /// Jobs that were commanded, and what became of it is not published yet.
    open: Vec<Command>,
    by_rule: BTreeMap<String, u64>,
}

impl Twins {
    fn new(seed: u64) -> Twins {
        let config = short(if seed.is_multiple_of(2) { "documented" } else { "panda" });
        let engine = || {
            let policies = config.policies.clone();
            Engine::new(State::new(config.setting.clone()), policies)
        };
        let engines = [engine(), engine()];
        let mut twins = Twins {
            engines,
            now: DAWN,
            chance: Chance(seed),
            open: vec![],
            by_rule: BTreeMap::new(),
        };
        for name in &QUEUES[..2] {
            twins.read(Topic::Queue, Event::from(queue(name, DAWN)));
        }
        twins.parameter("rebroker", "FAST_REBRO_THRESHOLD_NQUEUE_Test", "4");
        twins
    }

    fn read(&mut self, topic: Topic, event: Event<'static>) {
        let record = published(lane(topic, 0), event);
        self.engines.iter_mut().for_each(|engine| fold(&mut engine.state, &record));
    }

    fn parameter(&mut self, component: &str, key: &str, value: &str) {
        let parameter = Parameter {
            app: "pandaserver".into(),
            component: component.into(),
            key: key.into(),
            value: value.into(),
            changed_at: self.now,
            ..Parameter::default()
        };
        self.read(Topic::Parameter, Event::from(parameter));
    }

    /// Something happens.
    fn happen(&mut self) {
        match self.chance.below(40) {
            0..=19 => self.job(),
            20..=27 => self.heartbeat(),
            28..=30 => {
                let node = "node";
                let queue = self.chance.of(&QUEUES[..2]);
                self.read(
                    Topic::Pilot,
                    Event::Pilot(Pilot::AskedJob { queue, node, at: self.now }),
                );
            }
            31 => {
                let name = self.chance.of(&QUEUES[..2]);
                let mut queue = queue(name, self.now);
                queue.status = self.chance.of(&[
                    QueueStatus::Online,
                    QueueStatus::Online,
                    QueueStatus::Paused,
                ]);
                queue.catchall =
                    self.chance.of(&["", "transtimehi=0.002,transtimelo=0.003"]).into();
                self.read(Topic::Queue, Event::from(queue));
            }
            32 => {
                let key = self.chance.of(&["HEARTBEAT_TIMEOUT_production", "HEARTBEAT_TIMEOUT_x"]);
                let value = self.chance.of(&["0.05", "0.2", "1"]);
                self.parameter("watcher", key, value);
            }
            33 => {
                let value = self.chance.of(&["0.04", "0.1"]);
                self.parameter("job_timeout", "TIMEOUT_defined", value);
            }
            34 => {
                let parameter = Parameter {
                    app: "yardmaster".into(),
                    component: "governor".into(),
                    key: "kill_switch".into(),
                    vo: "atlas".into(),
                    value: self.chance.of(&["on", "off", "off", "off"]).into(),
                    changed_at: self.now,
                };
                self.read(Topic::Parameter, Event::from(parameter));
            }
            35 | 36 => self.task(),
            _ => self.answer(),
        }
    }

    fn job(&mut self) {
        let number = self.chance.below(JOBS);
        let name = text((1_000 + number).to_string());
        let back = self.chance.of(&[0, 0, 30 * SECOND, 3 * MINUTE, 20 * MINUTE]);
        let at = self.now - back;
        let status = self.chance.of(&[
            Status::Pending,
            Status::Defined,
            Status::Assigned,
            Status::Activated,
            Status::Activated,
            Status::Throttled,
            Status::Sent,
            Status::Starting,
            Status::Running,
            Status::Running,
            Status::Holding,
            Status::Transferring,
            Status::Finished,
        ]);
        let job = JobState {
            job: name,
            status,
            changed_at: at,
            created_at: at - self.chance.of(&[0, MINUTE, 10 * MINUTE]),
            attempt: self.chance.of(&[0, 0, 0, 1]),
            task: self.chance.of(&["1", "2", "3", ""]),
            queue: self.chance.of(&QUEUES),
            gshare: "Test",
            label: self.chance.of(&["managed", "managed", "test", "user", "panda"]),
            sub_status: self.chance.of(&["", "", "stageout"]),
            priority: self.chance.of(&[0, 500, 900]),
            started_at: if status == Status::Running { at } else { 0 },
            ended_at: if status == Status::Holding { at - MINUTE } else { 0 },
            ..JobState::default()
        };
        self.read(Topic::JobState, Event::JobState(job));
    }

    fn heartbeat(&mut self) {
        let heartbeat = Heartbeat {
            job: text((1_000 + self.chance.below(JOBS)).to_string()),
            at: self.now - self.chance.of(&[0, 0, MINUTE, 6 * MINUTE]),
            attempt: self.chance.of(&[0, 0, 0, 1]),
            ..Heartbeat::default()
        };
        self.read(Topic::Heartbeat, Event::Heartbeat(heartbeat));
    }

    fn task(&mut self) {
        let name = self.chance.of(&["1/1", "2/1", "3/1"]);
        let options = Options {
            disable_reassign: self.chance.below(2) == 0,
            event_service: self.chance.below(2) == 0,
            ..Options::default()
        };
        let task = Task {
            options,
            priority: self.chance.of(&[100, 900]),
            task_priority: 0,
            phase: TaskPhase::Ended,
            ..task(name, 1, self.now)
        };
        self.read(Topic::Task, Event::Task(Box::new(task)));
    }

    /// Publishes the outcome of a command; some commands never get one.
    fn answer(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let at = self.chance.below(self.open.len());
        let command = self.open.swap_remove(at);
        let kinds = [OutcomeKind::Accepted, OutcomeKind::Refused, OutcomeKind::Failed];
        let outcome = DecisionOutcome {
            subject: command.subject,
            decision: DecisionId(command.id.0),
            about: OutcomeAbout::Command,
            kind: self.chance.of(&kinds),
            at: self.now,
            reason: String::new(),
        };
        self.read(Topic::Outcome, Event::Outcome(outcome));
    }

    /// Closes a cycle; the commands of both must be the same.
    fn cycle(&mut self, what: &str) {
        let mut commands: [Vec<Command>; 2] = Default::default();
        for (twin, engine) in self.engines.iter_mut().enumerate() {
            feed::close_at_end(&mut engine.state, self.now);
            if twin == 1 {
                engine.forget_derived();
            }
            engine.settle();
            while let Some(output) = engine.next_output() {
                engine.fold_output(&output);
                if let Output::Command(command) = output {
                    commands[twin].push(*command);
                }
            }
        }
        let [quick, dumb] = commands;
        let differs = |all: &[Command], others: &[Command]| -> Vec<String> {
            let missing = all.iter().filter(|one| !others.contains(one));
            missing
                .map(|it| {
                    format!(
                        "{} {} {} {:?} {:?}",
                        it.rule, it.subject, it.repeat, it.amount, it.notes
                    )
                })
                .collect()
        };
        let (more, less) = (differs(&quick, &dumb), differs(&dumb, &quick));
        assert!(more.is_empty() && less.is_empty(), "{what}: too much {more:?}, missing {less:?}");
        assert_eq!(quick, dumb, "{what}");
        for command in quick.into_iter().filter(|it| it.is_order()) {
            let repeat = if command.repeat > 0 { " again" } else { "" };
            *self.by_rule.entry(format!("{}{repeat}", command.rule)).or_default() += 1;
            self.open.push(command);
        }
    }
}

#[test]
fn an_engine_that_looks_only_at_what_can_be_due_commands_like_one_that_looks_at_everything() {
    let mut by_rule: BTreeMap<String, u64> = BTreeMap::new();
    let by_hand = std::env::var("SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = if std::env::var_os("YARDMASTER_LONG").is_some() { 200 } else { 24 };
    for seed in by_hand.map_or(0..seeds, |seed| seed..seed + 1) {
        let mut twins = Twins::new(seed);
        for step in 0..400 {
            for _ in 0..twins.chance.below(6) {
                twins.happen();
            }
            twins.now += twins.chance.of(&[100, SECOND, 20 * SECOND, 70 * SECOND]);
            twins.cycle(&format!("seed {seed}, step {step}"));
        }
        assert_eq!(audit(&twins.engines[0].state), vec![]);
        for (rule, count) in twins.by_rule {
            *by_rule.entry(rule).or_default() += count;
        }
    }
    println!("{by_rule:?}");
    // Every rule is among them, and repeats are.
    let rules = by_rule.keys().filter(|rule| !rule.ends_with(" again")).count();
    assert!(by_hand.is_some() || rules == 19 && by_rule.len() > 23, "{by_rule:?}");
}
