//! Facts that rules read beside a job's own record: its queue, its task, run-time parameters.
//! Derived from the configuration and of the tasks that are known.

use super::timeout::{GovernedJob, Overrides};
use crate::command::{CommandRule, Reading, RuleSetting};
use crate::cut::Topic;
use crate::event::is_newer;
use crate::event::{Queue, QueueStatus, Status};
use crate::id::{Key, Name};
use crate::state::State;
use crate::state::crowded::is_exempt;
use crate::state::gaps::Gaps;
use crate::state::job::Job;
use crate::state::looks::FirstLooks;
use crate::unit::{DAY, HOUR, MINUTE, Millis};
use std::collections::{BTreeMap, BTreeSet};

/// Fields of a queue that rules read.
#[derive(Clone, Debug, Default, PartialEq)]
struct QueueFacts {
    is_exempt: bool,
    workflow: String,
    transferring_high: Option<Millis>,
    transferring_low: Option<Millis>,
    /// Whether it takes no new work for good: offline or in test.
    is_out: bool,
}

/// Fields of a task that rules read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TaskFacts {
    priority: i32,
    keeps_queue: bool,
    is_event_service: bool,
}

impl TaskFacts {
    /// Whether jobs may be due earlier by these facts than by those known before.
    fn is_earlier_than(self, known: TaskFacts) -> bool {
        self.priority != known.priority
            || known.keeps_queue && !self.keeps_queue
            || self.is_event_service && !known.is_event_service
    }
}

/// Run-time parameters that override limits.
#[derive(Clone, Debug, Default, PartialEq)]
struct Parameters {
    defined: Option<Millis>,
    holding: Option<Millis>,
    heartbeat: BTreeMap<String, Millis>,
    /// By working group; the empty one: of all.
    analysis: BTreeMap<String, Millis>,
    /// Shares that have a threshold for fast rebrokerage.
    rebrokered: BTreeSet<String>,
}

/// Queues, tasks and parameters as rules read them.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    queues: BTreeMap<String, QueueFacts>,
    tasks: BTreeMap<Key, TaskFacts>,
    /// Names of those whose number is not their name.
    task_names: BTreeMap<Key, String>,
    /// Tasks that jobs were looked at by before they were known.
    missed: BTreeSet<Key>,
    parameters: Parameters,
}

/// Component of the parameters on heartbeats.
const WATCHER: &str = "watcher";
/// Key of such a parameter, before the workflow.
const HEARTBEAT: &str = "HEARTBEAT_TIMEOUT_";
/// Component of the parameters on brokering again.
const REBROKER: &str = "rebroker";
/// Key of how long a user's job waits for a pilot, before a `_` and the working group.
const ANALYSIS: &str = "ANALY_TIMEOUT";
/// How long a user's job waits for a pilot at least, and at a queue that takes no new work (spec
/// atlas 5).
const OUT_OF_SERVICE: Millis = 3 * HOUR;

impl Surroundings {
    /// All of it, as of a cut.
    pub fn of(state: &State) -> Surroundings {
        let mut surroundings = Surroundings::default();
        surroundings.read_queues(state);
        surroundings.read_parameters(state);
        surroundings.read_tasks(state, state.chunks.keys().map(String::as_str));
        surroundings
    }

    /// Takes up what changed since the last cut. Gives whether a job may be due earlier than was
    /// found before.
    pub(super) fn update(&mut self, state: &State) -> bool {
        let touched = &state.touched;
        let mut is_other = false;
        if touched.queues {
            let before = std::mem::take(&mut self.queues);
            self.read_queues(state);
            let limits = |queues: &BTreeMap<String, QueueFacts>| -> Vec<_> {
                let each = queues.iter().map(|(name, it)| {
                    let QueueFacts { workflow, transferring_high, transferring_low, .. } = it;
                    let days = [*transferring_high, *transferring_low];
                    (name.clone(), workflow.clone(), days, it.is_out)
                });
                each.collect()
            };
            is_other |= limits(&before) != limits(&self.queues);
        }
        if touched.settings {
            let before = std::mem::take(&mut self.parameters);
            self.read_parameters(state);
            is_other |= before != self.parameters;
        }
        let subjects = touched
            .subjects
            .iter()
            .filter_map(|subject| Some(state.requests.of(subject)?.task.as_ref()?.task.as_str()));
        is_other
            | self.read_tasks(state, subjects.chain(touched.subjects.iter().map(String::as_str)))
    }

    fn read_queues(&mut self, state: &State) {
        let queues = state.facts.queues.iter().filter_map(|(_, fact)| fact.current(is_newer));
        let days = |queue: &Queue, flag: &str| {
            let stated: f64 = queue.flag(flag)?.parse().ok()?;
            let limit = (stated * DAY as f64) as Millis;
            (stated.is_finite() && stated > 0.0).then_some(limit.max(MINUTE))
        };
        for queue in queues {
            let is_first = !self.queues.contains_key(&queue.unified);
            let facts = self.queues.entry(queue.unified.clone()).or_default();
            facts.is_exempt |= is_exempt(queue);
            facts.workflow.clone_from(&queue.workflow);
            facts.transferring_high = days(queue, "transtimehi").or(facts.transferring_high);
            facts.transferring_low = days(queue, "transtimelo").or(facts.transferring_low);
            // A unified queue is out where all of its records are.
            let is_out = matches!(queue.status, QueueStatus::Offline | QueueStatus::Test);
            facts.is_out = is_out && (is_first || facts.is_out);
        }
    }

    fn read_parameters(&mut self, state: &State) {
        let hours = |stated: &str| {
            let stated: f64 = stated.trim().parse().ok()?;
            let limit = (stated * HOUR as f64) as Millis;
            (stated.is_finite() && stated > 0.0).then_some(limit.max(MINUTE))
        };
        let of = |key: &str| state.parameter("job_timeout", key).and_then(hours);
        self.parameters.defined = of("TIMEOUT_defined");
        self.parameters.holding = of("TIMEOUT_holding");
        let limit = |component: &str, prefix: &str, name: &str| {
            let limit = state.parameter(component, &format!("{prefix}{name}"));
            Some((name.to_owned(), limit.and_then(hours)?))
        };
        let of = |component: &str, prefix: &str| {
            let all = state.facts.parameters.iter();
            let parameters = all.filter_map(|(_, fact)| fact.current(is_newer));
            let keys = parameters.filter(|it| it.component == component);
            let names = keys.filter_map(|it| it.key.strip_prefix(prefix));
            names.filter_map(|name| limit(component, prefix, name)).collect::<BTreeMap<_, _>>()
        };
        self.parameters.heartbeat = of(WATCHER, HEARTBEAT);
        let analysis = of(REBROKER, ANALYSIS).into_iter().filter_map(|(name, limit)| {
            match name.strip_prefix('_') {
                Some(group) => Some((group.to_owned(), limit)),
                None => name.is_empty().then_some((name, limit)),
            }
        });
        let analysis = analysis.map(|(group, limit)| (group, limit.max(OUT_OF_SERVICE)));
        self.parameters.analysis = analysis.collect();
        self.parameters.rebrokered = state.rebrokered_shares();
    }

    /// Reads tasks; whether one differs from what was known of it in a way that makes a job due
    /// earlier: it has another priority, or lets its jobs be moved. A task that is new makes none
    /// due earlier, unless jobs of it were looked at before.
    fn read_tasks<'a>(&mut self, state: &State, tasks: impl Iterator<Item = &'a str>) -> bool {
        let mut is_other = false;
        for task in tasks {
            let key = Key::of(task.as_bytes());
            let request = |subject: &str| state.requests.of(subject)?.task.as_ref();
            let chunks = state.chunks.get(task).into_iter().flatten();
            // The task's own record before those of its chunks.
            let mut records = request(task).into_iter().chain(
                chunks.filter(|subject| *subject != task).filter_map(|subject| request(subject)),
            );
            let Some(first) = records.next() else {
                self.task_names.remove(&key);
                is_other |= self.tasks.remove(&key).is_some_and(|known| known.keeps_queue);
                continue;
            };
            let keeps = first.options.disable_reassign
                || records.any(|record| record.options.disable_reassign);
            let priority =
                if first.task_priority != 0 { first.task_priority } else { first.priority };
            let is_event_service = first.options.event_service && !first.options.job_cloning;
            let facts = TaskFacts { priority, keeps_queue: keeps, is_event_service };
            if !key.is_decimal() {
                self.task_names.insert(key, task.to_owned());
            }
            let known = self.tasks.insert(key, facts);
            is_other |= match known {
                Some(known) => facts.is_earlier_than(known),
                None => self.missed.remove(&key) && facts.is_earlier_than(TaskFacts::default()),
            };
        }
        is_other
    }

    /// The name of a task of which a request is known.
    pub(crate) fn task_name(&self, task: Key) -> Option<String> {
        self.tasks.get(&task)?;
        match task.is_decimal() {
            true => Some(task.0.to_string()),
            false => self.task_names.get(&task).cloned(),
        }
    }

    /// Notes that a job is looked at by what is known of its task now.
    pub(super) fn note_looked_at(&mut self, state: &State, job: &Job) {
        let commands = &state.setting.commands;
        let asks_task = job.priority == 0
            || commands.reading == Reading::Panda
                && commands.rule(CommandRule::EventService).is_some();
        if asks_task && !self.tasks.contains_key(&job.task) {
            self.missed.insert(job.task);
        }
    }

    /// Shares whose waiting jobs may be brokered again.
    pub(super) fn rebrokered(&self) -> impl Iterator<Item = &str> {
        self.parameters.rebrokered.iter().map(String::as_str)
    }

    /// Whether no rule applies to jobs of a queue.
    pub fn is_exempt(&self, queue: &str) -> bool {
        self.queues.get(queue).is_some_and(|queue| queue.is_exempt)
    }

    /// Whether a queue takes no new work for good.
    pub(super) fn is_out(&self, queue: &str) -> bool {
        self.queues.get(queue).is_some_and(|queue| queue.is_out)
    }

    /// Shortest times after which any rule can be due, state by state.
    pub(super) fn first_looks(&self, state: &State) -> [FirstLooks; Status::COUNT] {
        let mut first = [FirstLooks::default(); Status::COUNT];
        let is_panda = state.setting.commands.reading == Reading::Panda;
        for setting in state.setting.commands.active() {
            use CommandRule as R;
            let limit = setting.limit();
            let of_queues = |limit: fn(&QueueFacts) -> Option<Millis>| {
                self.queues.values().filter_map(limit).min().unwrap_or(Millis::MAX)
            };
            let with = |stated: Option<Millis>| stated.unwrap_or(limit);
            let mut changed = |states: &[Status], limit| {
                states.iter().for_each(|it| least(&mut first[it.index()].changed, limit));
            };
            match setting.rule {
                R::T1 => least(&mut first[Status::Pending.index()].created, limit),
                R::T2 => {
                    let limit = with(self.parameters.defined);
                    changed(&[Status::Defined], limit);
                    least(&mut first[Status::Defined.index()].created, limit);
                }
                R::T3 => changed(&[Status::Pending, Status::Defined, Status::Assigned], limit),
                R::T4 => least(&mut first[Status::Throttled.index()].created, limit),
                R::T5a => changed(&[Status::Activated], limit),
                R::T5b => changed(&[Status::Starting], limit),
                R::T6 => changed(&[Status::Activated, Status::Starting], limit),
                R::T7 => changed(&[Status::Sent], limit),
                R::T8 if !is_panda => least(&mut first[Status::Running.index()].ended, limit),
                R::T9 | R::T10 => {
                    let shortest = self.parameters.heartbeat.values().copied().min();
                    let limit = shortest.map_or(limit, |shortest| shortest.min(limit));
                    let states: &[Status] = match setting.rule {
                        R::T9 => &[Status::Running, Status::Starting],
                        _ => &[Status::Transferring],
                    };
                    states.iter().for_each(|it| least(&mut first[it.index()].alive, limit));
                }
                R::T11a => least(&mut first[Status::Holding.index()].ended, limit),
                R::T11b => {
                    least(&mut first[Status::Holding.index()].ended, with(self.parameters.holding));
                }
                R::T12a => {
                    let limit = limit.min(of_queues(|queue| queue.transferring_high));
                    least(&mut first[Status::Transferring.index()].ended, limit);
                }
                R::T12b => {
                    let limit = limit.min(of_queues(|queue| queue.transferring_low));
                    least(&mut first[Status::Transferring.index()].ended, limit);
                }
                R::T8 | R::AnalysisTimeout | R::Age | R::EventService if is_panda => {
                    self.first_looks_of_panda(setting, &mut first);
                }
                R::T8 | R::AnalysisTimeout | R::Age | R::EventService => {}
                R::FastRebrokerage => {}
                // They are about no clock of a job.
                R::Boost | R::KillWorkflow | R::Alert | R::Profile | R::Drain | R::Undrain => {}
                R::Domain => {}
            }
        }
        first
    }

    /// The same of the rules that are about other jobs in PanDA's code, or are in it alone.
    fn first_looks_of_panda(&self, setting: &RuleSetting, first: &mut [FirstLooks; Status::COUNT]) {
        use Status::{Activated, Assigned, Defined, Pending, Running, Starting};
        let limit = setting.limit();
        let shortest = match setting.rule {
            CommandRule::AnalysisTimeout => {
                let out = self.queues.values().any(|queue| queue.is_out);
                let stated = self.parameters.analysis.values().copied();
                stated.chain(out.then_some(OUT_OF_SERVICE)).fold(limit, Millis::min)
            }
            _ => limit,
        };
        for status in Status::ALL.into_iter().filter(|status| !status.is_ended()) {
            let first = &mut first[status.index()];
            match (setting.rule, status) {
                (CommandRule::T8, _)
                | (CommandRule::AnalysisTimeout, Defined | Assigned | Activated | Starting)
                | (CommandRule::Age, Pending | Defined | Assigned | Activated) => {
                    least(&mut first.created, shortest);
                }
                (CommandRule::Age, _) => least(&mut first.alive, limit),
                (CommandRule::EventService, Starting | Running) => {
                    least(&mut first.changed, limit);
                }
                _ => {}
            }
        }
    }

    /// A job with all that the rules read of it; `None` for one without a state, or that ended.
    pub fn case<'a>(&self, state: &'a State, job: &'a Job) -> Option<GovernedJob<'a>> {
        let status = job.status.filter(|status| !status.is_ended())?;
        let text = |name: Name| state.names.text(name);
        let queue = self.queues.get(text(job.names[0]));
        let task = self.tasks.get(&job.task).copied().unwrap_or_default();
        let workflow = match text(job.workflow) {
            "" => queue.map_or("", |queue| queue.workflow.as_str()),
            workflow => workflow,
        };
        let Parameters { defined, holding, heartbeat, analysis, .. } = &self.parameters;
        let of_group = || analysis.get(text(job.names[4])).filter(|_| job.names[4] != Name::NONE);
        let is_out = queue.is_some_and(|queue| queue.is_out);
        let wait = match is_out {
            true => Some(OUT_OF_SERVICE),
            false => of_group().or_else(|| analysis.get("")).copied(),
        };
        let reading = state.setting.commands.reading;
        // PanDA has one limit for all jobs of users.
        let of_workflow = || match (reading, text(job.label)) {
            (Reading::Panda, "user" | "panda") => None,
            _ => heartbeat.get(workflow),
        };
        let of_kind = || match text(job.label) {
            "user" | "panda" => heartbeat.get("analysis"),
            _ => heartbeat.get("production"),
        };
        Some(GovernedJob {
            job,
            status,
            label: text(job.label),
            has_sub_status: !text(job.sub_status).is_empty(),
            has_task: job.task != Key::NONE && job.task != Key::of(b""),
            priority: if job.priority != 0 { job.priority } else { task.priority },
            keeps_queue: task.keeps_queue,
            last_start: state
                .marks
                .get(&job.names[0])
                .map_or(0, |it| it.start)
                .max(state.known_since),
            is_event_service: task.is_event_service,
            is_out,
            reading,
            overrides: Overrides {
                analysis: wait,
                defined: *defined,
                holding: *holding,
                heartbeat: of_workflow().or_else(of_kind).copied(),
                transferring_high: queue.and_then(|queue| queue.transferring_high),
                transferring_low: queue.and_then(|queue| queue.transferring_low),
            },
        })
    }
}

/// Takes a time that is shorter than all before.
fn least(held: &mut Option<Millis>, limit: Millis) {
    *held = Some(held.map_or(limit, |held| held.min(limit)));
}

/// The spans that do not count for a rule at a queue: of the topics that it needs, and of the
/// queue.
pub(crate) fn gaps(state: &State, rule: CommandRule, queue: Name) -> Vec<&Gaps> {
    let of_topics = rule.text().needs.iter().map(|it| &state.times.gaps[*it as usize]);
    let of_queue = state.signs_of(queue).map(|signs| &signs.gaps);
    of_topics.chain(of_queue).filter(|gaps| !gaps.spans().is_empty()).collect()
}

/// Up to when what a rule needs is known: the earliest time of its topics. One that never had a
/// record, and is none that jobs are known by, is not waited for.
pub(crate) fn known_until(state: &State, rule: CommandRule) -> Millis {
    let topics = rule.text().needs.iter().map(|topic| (*topic, state.times.of(*topic).time));
    let times = topics.filter(|(topic, time)| *time != 0 || !is_optional(*topic));
    times.map(|(_, time)| time).min().unwrap_or(state.now).min(state.now)
}

/// Whether a domain can do without a topic: commands are given although it never had a record.
pub(super) fn is_optional(topic: Topic) -> bool {
    !matches!(topic, Topic::JobState | Topic::Heartbeat)
}
