//! Metrics: counted in plain local integers, added to the exported ones once per batch.
//!
//! The loop owns [`Metrics`]; the HTTP server gets a [`Scrape`]. Nothing is registered
//! globally.

mod commands;
mod table;

pub use table::{Bound, EventOutcome, Kind, Metric};

use crate::core::command::CommandRule;
use crate::core::cut::Topic;
use crate::core::event::Status;
use crate::core::oddity::Oddity;
use crate::core::output::command::Command;
use crate::core::output::decision::Decision;
use crate::core::output::throttle::Throttle;
use crate::core::policy::rule::Rule;
use crate::core::state::State;
use crate::core::unit::{Millis, SECOND};
use crate::drive::intake::Taken;
use crate::drive::stray::{Stray, StrayCounts};
use crate::shell::intake::IntakeReport;
use crate::wire::dialect::Dialect;
use commands::CommandMetrics;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::formatting::sanitize_label_value;
use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How many queues get a label of their own if nothing else is stated.
pub const QUEUES_MAX: usize = 500;
/// How many pairs of policy and outcome, or policy and filter, get labels of their own. They come
/// from the topology file and are few; this bounds what a strange one could do.
const PAIRS_MAX: usize = 1_000;
/// The label for what is beyond a bound.
const OTHER: &str = "other";

const METADATA: Metadata<'static> = Metadata::new("yardmaster", Level::INFO, None);

/// What the loop counts. Every `record_*` is a few additions; [`Metrics::add`] makes it visible.
pub struct Metrics {
    recorder: PrometheusRecorder,
    queues: Arc<Queues>,
    events: Vec<PendingCounter>,
    oddities: BTreeMap<(Topic, Oddity), PendingCounter>,
    strays: BTreeMap<(Topic, Stray), PendingCounter>,
    decisions: Pairs,
    rejections: Pairs,
    throttles: Pairs,
    commands: CommandMetrics,
    standing: BTreeMap<&'static str, Gauge>,
    restored: PendingCounter,
    lead_changes: PendingCounter,
    restore_ratio: Gauge,
    intake: BTreeMap<(Dialect, Taken), PendingCounter>,
    intake_dropped: Option<PendingCounter>,
    intake_waiting: Option<[Gauge; 2]>,
    imports: [Pairs; 2],
    import_age: Option<Gauge>,
    waiting_for_registry: Gauge,
    topics: BTreeMap<(Topic, Metric), Gauge>,
    fold: Histogram,
    judge: Histogram,
    answer: Histogram,
    cycle: Histogram,
    commit: Histogram,
    checkpoint: Histogram,
}

/// A counter and what was not yet added to it.
struct PendingCounter {
    pending: u64,
    counter: Counter,
}

impl PendingCounter {
    fn add(&mut self) {
        if self.pending > 0 {
            self.counter.increment(std::mem::take(&mut self.pending));
        }
    }
}

/// Counters of one metric with two labels, by the first and the second.
struct Pairs {
    metric: Metric,
    count: usize,
    counters: BTreeMap<String, BTreeMap<String, PendingCounter>>,
}

/// Load of one queue, by [`Status::index`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueLoad {
    /// Queue.
    pub queue: String,
    /// Jobs.
    pub jobs: [u64; Status::COUNT],
    /// Their cores.
    pub cores: [u64; Status::COUNT],
}

/// The load of all queues, and how many of them are shown by name.
struct Queues {
    shown_max: usize,
    loads: Mutex<Vec<QueueLoad>>,
}

/// Gives the text that Prometheus reads.
#[derive(Clone)]
pub struct Scrape {
    handle: PrometheusHandle,
    queues: Arc<Queues>,
}

impl Metrics {
    /// All metrics at zero; of the queues at most `queues_max` get a label of their own, those with
    /// the most jobs.
    pub fn new(queues_max: usize) -> Metrics {
        let recorder = recorder();
        let events = Topic::ALL.iter().flat_map(|topic| {
            EventOutcome::ALL.iter().map(|outcome| [topic.name(), outcome.name()])
        });
        let histogram = |metric| recorder.register_histogram(&key(metric, &[]), &METADATA);
        Metrics {
            queues: Arc::new(Queues { shown_max: queues_max, loads: Mutex::default() }),
            events: events.map(|labels| pending(&recorder, Metric::Events, &labels)).collect(),
            oddities: BTreeMap::new(),
            strays: BTreeMap::new(),
            decisions: Pairs::new(Metric::Decisions),
            rejections: Pairs::new(Metric::Rejections),
            throttles: Pairs::new(Metric::Throttles),
            commands: CommandMetrics::new(),
            standing: BTreeMap::new(),
            restored: pending(&recorder, Metric::RestoredRecords, &[]),
            lead_changes: pending(&recorder, Metric::LeadChanges, &[]),
            restore_ratio: recorder.register_gauge(&key(Metric::RestoreRatio, &[]), &METADATA),
            intake: BTreeMap::new(),
            intake_dropped: None,
            intake_waiting: None,
            imports: [Metric::ImportReads, Metric::ImportRecords].map(Pairs::new),
            import_age: None,
            waiting_for_registry: recorder.register_gauge(&key(Metric::HeldBack, &[]), &METADATA),
            topics: BTreeMap::new(),
            fold: histogram(Metric::Fold),
            judge: histogram(Metric::Judge),
            answer: histogram(Metric::Answer),
            cycle: histogram(Metric::Cycle),
            commit: histogram(Metric::Commit),
            checkpoint: histogram(Metric::Checkpoint),
            recorder,
        }
    }

    /// For the HTTP server.
    pub fn scrape(&self) -> Scrape {
        Scrape { handle: self.recorder.handle(), queues: self.queues.clone() }
    }

    /// Records of a topic, and what became of them.
    pub fn record_events(&mut self, topic: Topic, outcome: EventOutcome, count: u64) {
        self.events[topic as usize * EventOutcome::ALL.len() + outcome as usize].pending += count;
    }

    /// Records that wait for the schema registry.
    pub fn record_waiting_for_registry(&mut self, count: u64) {
        self.waiting_for_registry.set(count as f64);
    }

    /// Oddities, as the core counted them.
    pub fn record_oddities(&mut self, seen: &[(Topic, Oddity, u64)]) {
        for (topic, oddity, count) in seen {
            let new = || pending(&self.recorder, Metric::Oddities, &[topic.name(), oddity.name()]);
            self.oddities.entry((*topic, *oddity)).or_insert_with(new).pending += count;
        }
    }

    /// Records on our own topics that were passed over.
    pub fn record_strays(&mut self, seen: &StrayCounts) {
        for ((topic, stray), count) in seen {
            let new = || pending(&self.recorder, Metric::Strays, &[topic.name(), stray.name()]);
            self.strays.entry((*topic, *stray)).or_insert_with(new).pending += count;
        }
    }

    /// A batch of `records` that took `took` to decode and fold.
    pub fn record_fold(&mut self, records: u64, took: Duration) {
        if records > 0 {
            self.fold.record(took.as_secs_f64() / records as f64);
        }
    }

    /// A request that took `took` to judge.
    pub fn record_judged(&mut self, took: Duration) {
        self.judge.record(took);
    }

    /// A decision that was published.
    pub fn record_decision(&mut self, decision: &Decision) {
        let policy = &decision.policy;
        self.decisions.count(&self.recorder, policy, decision.outcome.name(), 1);
        for count in &decision.counts {
            let rejected = u64::from(count.rejected);
            self.rejections.count(&self.recorder, policy, &count.filter, rejected);
        }
    }

    /// A throttle that was published.
    pub fn record_throttle(&mut self, throttle: &Throttle) {
        let rule = Rule::from_name(&throttle.rule).map_or(OTHER, Rule::name);
        self.throttles.count(&self.recorder, rule, throttle.action.name(), 1);
    }

    /// A command that was published.
    pub fn record_command(&mut self, command: &Command) {
        self.commands.record(&self.recorder, command);
    }

    /// Commands that were not answered, and what is held back.
    pub fn record_commands(&mut self, state: &State) {
        self.commands.record_standing(&self.recorder, state);
    }

    /// Jobs that a rule left alone since they have sent no heartbeat.
    pub fn record_without_heartbeat(&mut self, rule: CommandRule, jobs: u64) {
        self.commands.without_heartbeat.count(&self.recorder, rule.name(), "no_heartbeat", jobs);
    }

    /// The rules by which subjects are throttled now, one for each subject.
    pub fn record_standing<'a>(&mut self, rules: impl Iterator<Item = &'a str>) {
        let mut counts: BTreeMap<&'static str, u64> =
            Rule::ALL.iter().map(|rule| (rule.name(), 0)).collect();
        for rule in rules {
            *counts.entry(Rule::from_name(rule).map_or(OTHER, Rule::name)).or_default() += 1;
        }
        for rule in self.standing.keys() {
            counts.entry(rule).or_default();
        }
        for (rule, count) in counts {
            let new = || self.recorder.register_gauge(&key(Metric::Standing, &[rule]), &METADATA);
            self.standing.entry(rule).or_insert_with(new).set(count as f64);
        }
    }

    /// A request whose first answer was confirmed `waited` after it was appended.
    pub fn record_answer(&mut self, waited: Duration) {
        self.answer.record(waited);
    }

    /// A cycle.
    pub fn record_cycle(&mut self, took: Duration) {
        self.cycle.record(took);
    }

    /// A confirmed transaction.
    pub fn record_commit(&mut self, took: Duration) {
        self.commit.record(took);
    }

    /// A checkpoint that is durable.
    pub fn record_checkpoint(&mut self, took: Duration) {
        self.checkpoint.record(took);
    }

    /// How many records of a topic are not folded yet.
    pub fn record_lag(&mut self, topic: Topic, records: u64) {
        self.topic(topic, Metric::LagRecords).set(records as f64);
    }

    /// How many lanes of a topic cannot be read on.
    pub fn record_stuck(&mut self, topic: Topic, lanes: usize) {
        self.topic(topic, Metric::StuckLanes).set(lanes as f64);
    }

    /// The time of a topic's slowest lane, against `now`; both in ms since 1970.
    pub fn record_time(&mut self, topic: Topic, time: Millis, now: Millis) {
        let behind = now.saturating_sub(time).max(0) as f64 / SECOND as f64;
        self.topic(topic, Metric::LagSeconds).set(behind);
        self.topic(topic, Metric::LaneTime).set(time as f64 / SECOND as f64);
    }

    /// Age of what is known of a configuration topic; ms.
    pub fn record_facts_age(&mut self, topic: Topic, age: Millis) {
        self.topic(topic, Metric::FactsAge).set(age as f64 / SECOND as f64);
    }

    /// What an import of a name changed: records written, removed and left as they were; `None`: it
    /// failed. A process that imports nothing shows none of this.
    pub fn record_import(&mut self, name: &str, done: Option<(usize, usize, usize)>) {
        let [rounds, records] = &mut self.imports;
        let outcome = if done.is_some() { "succeeded" } else { "failed" };
        rounds.count(&self.recorder, name, outcome, 1);
        let (written, removed, unchanged) = done.unwrap_or_default();
        let counts = [("written", written), ("removed", removed), ("unchanged", unchanged)];
        for (outcome, count) in counts {
            records.count(&self.recorder, name, outcome, count as u64);
        }
    }

    /// Age of what an import of a name found last; ms.
    pub fn record_import_age(&mut self, name: &str, age: Millis) {
        let gauge = self.import_age.get_or_insert_with(|| {
            self.recorder.register_gauge(&key(Metric::ImportAge, &[name]), &METADATA)
        });
        gauge.set(age as f64 / SECOND as f64);
    }

    /// What became of foreign messages. A process that takes none in shows none of this.
    pub fn record_intake(&mut self, report: &IntakeReport) {
        let recorder = &self.recorder;
        for dialect in Dialect::ALL {
            for taken in Taken::ALL {
                let labels = [dialect.name(), taken.name()];
                let new = || pending(recorder, Metric::IntakeRecords, &labels);
                let count = report.counts.of(dialect, *taken);
                self.intake.entry((dialect, *taken)).or_insert_with(new).pending += count;
            }
        }
        let dropped = || pending(recorder, Metric::IntakeDropped, &[]);
        self.intake_dropped.get_or_insert_with(dropped).pending += report.counts.dropped;
        let gauges = [Metric::IntakeWaiting, Metric::IntakeQueued];
        let new = || gauges.map(|it| recorder.register_gauge(&key(it, &[]), &METADATA));
        let [waiting, queued] = self.intake_waiting.get_or_insert_with(new);
        waiting.set(report.waiting as f64);
        queued.set(report.queued as f64);
    }

    fn topic(&mut self, topic: Topic, metric: Metric) -> &Gauge {
        self.topics.entry((topic, metric)).or_insert_with(|| {
            self.recorder.register_gauge(&key(metric, &[topic.name()]), &METADATA)
        })
    }

    /// How far the replay at the start has come: `ratio` from 0 to 1, and records since the last
    /// call.
    pub fn record_restore(&mut self, ratio: f64, records: u64) {
        self.restored.pending += records;
        self.restore_ratio.set(ratio.clamp(0.0, 1.0));
    }

    /// How often the lead was seen to change.
    pub fn record_lead_change(&mut self, changes: u64) {
        self.lead_changes.pending += changes;
    }

    /// The load of all queues, in place of what was set before.
    pub fn record_queues(&mut self, loads: Vec<QueueLoad>) {
        *self.queues.loads.lock().unwrap_or_else(PoisonError::into_inner) = loads;
    }

    /// Adds what was counted to what is exported. Once per batch.
    pub fn add(&mut self) {
        self.events.iter_mut().for_each(PendingCounter::add);
        self.oddities.values_mut().for_each(PendingCounter::add);
        self.strays.values_mut().for_each(PendingCounter::add);
        let CommandMetrics { published, without_heartbeat, .. } = &mut self.commands;
        let pairs = [&mut self.decisions, &mut self.rejections, &mut self.throttles];
        let pairs = pairs.into_iter().chain([published, without_heartbeat]);
        pairs.chain(&mut self.imports).flat_map(|it| it.counters.values_mut()).for_each(
            |by_second| {
                by_second.values_mut().for_each(PendingCounter::add);
            },
        );
        self.restored.add();
        self.lead_changes.add();
        self.intake.values_mut().chain(&mut self.intake_dropped).for_each(PendingCounter::add);
    }
}

impl Pairs {
    fn new(metric: Metric) -> Pairs {
        Pairs { metric, count: 0, counters: BTreeMap::new() }
    }

    /// Allocates only when a pair is seen for the first time.
    fn count(&mut self, recorder: &PrometheusRecorder, first: &str, second: &str, count: u64) {
        if let Some(pending) = self.counters.get_mut(first).and_then(|it| it.get_mut(second)) {
            pending.pending += count;
            return;
        }
        let (first, second) = if self.count < PAIRS_MAX { (first, second) } else { (OTHER, OTHER) };
        self.count += 1;
        let by_second = self.counters.entry(first.to_string()).or_default();
        let new = || pending(recorder, self.metric, &[first, second]);
        by_second.entry(second.to_string()).or_insert_with(new).pending += count;
    }
}

impl Scrape {
    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = self.handle.render();
        self.queues.render(&mut text);
        text
    }

    /// Tidies up observations; to be called every few seconds where the text is not read.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

impl Queues {
    /// Written here rather than by the exporter, which never forgets a label: queues come and go,
    /// and only the ones with the most jobs now are to be seen.
    fn render(&self, text: &mut String) {
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let jobs = |load: &QueueLoad| load.jobs.iter().sum::<u64>();
        loads.sort_by(|a, b| jobs(b).cmp(&jobs(a)).then_with(|| a.queue.cmp(&b.queue)));
        if loads.len() > self.shown_max {
            let mut other = QueueLoad { queue: OTHER.to_string(), ..QueueLoad::default() };
            for load in loads.drain(self.shown_max..) {
                for status in 0..Status::COUNT {
                    other.jobs[status] += load.jobs[status];
                    other.cores[status] += load.cores[status];
                }
            }
            loads.push(other);
        }
        if loads.is_empty() {
            return;
        }
        for (metric, of) in [
            (Metric::QueueJobs, (|load| &load.jobs) as fn(&QueueLoad) -> &[u64; Status::COUNT]),
            (Metric::QueueCores, |load| &load.cores),
        ] {
            let name = metric.name();
            // Writing to a `String` does not fail.
            let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} gauge", metric.help());
            for load in &loads {
                let queue = sanitize_label_value(&load.queue);
                for (status, value) in Status::ALL.iter().zip(of(load)) {
                    let status = status.name();
                    let _ =
                        writeln!(text, "{name}{{queue=\"{queue}\",status=\"{status}\"}} {value}");
                }
            }
        }
    }
}

/// A recorder that knows the buckets and the help of every metric.
fn recorder() -> PrometheusRecorder {
    let mut builder = PrometheusBuilder::new();
    for metric in Metric::ALL {
        if let Kind::Histogram(bounds) = metric.kind() {
            let seconds: Vec<f64> = bounds.iter().map(|micros| *micros as f64 / 1e6).collect();
            let name = Matcher::Full(metric.name().to_string());
            builder = builder
                .set_buckets_for_metric(name, &seconds)
                // cannot fail: it objects to an empty list alone, and the table has none.
                .expect("the table's lists of bounds are not empty");
        }
    }
    let recorder = builder.build_recorder();
    for metric in Metric::ALL {
        let name = KeyName::from_const_str(metric.name());
        match metric.kind() {
            Kind::Counter => recorder.describe_counter(name, None, metric.help().into()),
            Kind::Gauge => recorder.describe_gauge(name, None, metric.help().into()),
            Kind::Histogram(_) => recorder.describe_histogram(name, None, metric.help().into()),
        }
    }
    recorder
}

fn pending(recorder: &PrometheusRecorder, metric: Metric, labels: &[&str]) -> PendingCounter {
    PendingCounter {
        pending: 0,
        counter: recorder.register_counter(&key(metric, labels), &METADATA),
    }
}

/// The key of a metric with the values of its labels, in the order of the table.
fn key(metric: Metric, values: &[&str]) -> Key {
    assert_eq!(metric.labels().len(), values.len(), "labels of {}", metric.name());
    let labels: Vec<Label> = metric
        .labels()
        .iter()
        .zip(values)
        .map(|(name, value)| Label::new(*name, value.to_string()))
        .collect();
    Key::from_parts(metric.name(), labels)
}

#[cfg(test)]
mod tests;
