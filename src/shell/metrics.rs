//! Metrics: counted in plain local integers, added to the exported ones once per batch.
//!
//! The loop owns [`Metrics`]; the HTTP server gets a [`Scrape`]. Nothing is registered
//! globally.

mod commands;
mod comparisons;
mod counters;
mod current;
mod document;
mod export;
mod figures;
mod glance;
mod intake;
mod memory;
mod merge;
mod queues;
mod rules;
mod scrape;
mod table;
mod waiting;
mod weights;

pub use document::document;
pub use merge::merge;
pub use queues::QueueLoad;
pub use scrape::Scrape;
pub use table::{Bound, EventOutcome, Kind, Metric};

use crate::attention::{Item, counted};
use crate::estimates::{MeasuredEstimate, RESULTS};
use crate::intake::IntakeReport;
use crate::status::Status;
use crate::waiting::OPEN_MAX;
use commands::CommandMetrics;
use comparisons::ComparisonMetrics;
use counters::{ByLabel, Pairs, PendingCounter};
use current::Current;
use export::{gauge, histogram, recorder};
use figures::Links;
use intake::IntakeMetrics;
use metrics::{Gauge, Histogram};
use metrics_exporter_prometheus::PrometheusRecorder;
use queues::QueueLoads;
use rules::RuleMetrics;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use weights::Weights;
use yardmaster_core::budget::{CycleLoop, Exceeded};
use yardmaster_core::comparison::Counted;
use yardmaster_core::cut::Topic;
use yardmaster_core::engine::Engine;
use yardmaster_core::oddity::Oddity;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::policy::rule::Rule;
use yardmaster_core::state::State;
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_drive::stray::{Stray, StrayCounts};

/// How many queues get a label of their own if nothing else is stated.
pub const QUEUES_MAX: usize = 500;
/// The label for what is beyond a bound.
const OTHER: &str = "other";

/// Counters of the loop. Every `record_*` is a few additions; [`Metrics::add`] makes it visible.
pub struct Metrics {
    recorder: PrometheusRecorder,
    queues: Arc<QueueLoads>,
    current: Arc<Current>,
    events: Vec<PendingCounter>,
    oddities: BTreeMap<(Topic, Oddity), PendingCounter>,
    strays: BTreeMap<(Topic, Stray), PendingCounter>,
    /// Policies that are labels.
    policies: BTreeSet<String>,
    decisions: Pairs,
    rejections: Pairs,
    assigned_jobs: ByLabel,
    repeated_assignments: PendingCounter,
    nucleus_assignments: ByLabel,
    weights: Weights,
    classed: Pairs,
    /// By loop, in the order of `CycleLoop::ALL`.
    exceeded: Vec<PendingCounter>,
    rules: RuleMetrics,
    throttles: Pairs,
    commands: CommandMetrics,
    comparisons: ComparisonMetrics,
    standing: BTreeMap<&'static str, Gauge>,
    restored: PendingCounter,
    lead_changes: PendingCounter,
    restore_ratio: Gauge,
    intake: IntakeMetrics,
    waiting_for_registry: Gauge,
    topics: BTreeMap<(Topic, Metric), Gauge>,
    stuck: BTreeMap<String, Gauge>,
    links: Links,
    estimated_starts: ByLabel,
    estimate_ratio: Histogram,
    fold: Histogram,
    judge: Histogram,
    answer: Histogram,
    cycle: Histogram,
    commit: Histogram,
    checkpoint: Histogram,
}

impl Metrics {
    /// All metrics of a domain at zero; of the queues at most `labels_max` get a label of their
    /// own, and so do nuclei: of queues as they stand those with the most jobs.
    pub fn new(domain: &str, labels_max: usize) -> Metrics {
        let recorder = recorder(domain);
        let events = Topic::ALL.iter().flat_map(|topic| {
            EventOutcome::ALL.iter().map(|outcome| [topic.name(), outcome.name()])
        });
        let counter = |metric, labels: &[&str]| PendingCounter::new(&recorder, metric, labels);
        let histogram = |metric| histogram(&recorder, metric);
        Metrics {
            queues: Arc::new(QueueLoads::new(domain, labels_max)),
            current: Arc::new(Current::new(domain)),
            events: events.map(|labels| counter(Metric::Events, &labels)).collect(),
            oddities: BTreeMap::new(),
            strays: BTreeMap::new(),
            policies: BTreeSet::new(),
            decisions: Pairs::new(Metric::Decisions),
            rejections: Pairs::new(Metric::Rejections),
            assigned_jobs: ByLabel::new(Metric::AssignedJobs, labels_max),
            repeated_assignments: counter(Metric::RepeatedAssignments, &[]),
            nucleus_assignments: ByLabel::new(Metric::NucleusAssignments, labels_max),
            weights: Weights::new(),
            classed: Pairs::new(Metric::ClassedDecisions),
            exceeded: CycleLoop::ALL
                .iter()
                .map(|it| counter(Metric::ExceededBudgets, &[it.name()]))
                .collect(),
            rules: RuleMetrics::default(),
            throttles: Pairs::new(Metric::Throttles),
            commands: CommandMetrics::new(),
            comparisons: ComparisonMetrics::new(),
            standing: BTreeMap::new(),
            restored: counter(Metric::RestoredRecords, &[]),
            lead_changes: counter(Metric::LeadChanges, &[]),
            restore_ratio: gauge(&recorder, Metric::RestoreRatio, &[]),
            intake: IntakeMetrics::new(),
            waiting_for_registry: gauge(&recorder, Metric::HeldBack, &[]),
            topics: BTreeMap::new(),
            stuck: BTreeMap::new(),
            links: Links::default(),
            estimated_starts: ByLabel::new(Metric::EstimatedStarts, RESULTS.len()),
            estimate_ratio: histogram(Metric::EstimateRatio),
            fold: histogram(Metric::Fold),
            judge: histogram(Metric::Judge),
            answer: histogram(Metric::Answer),
            cycle: histogram(Metric::Cycle),
            commit: histogram(Metric::Commit),
            checkpoint: histogram(Metric::Checkpoint),
            recorder,
        }
    }

    /// For the HTTP server; the status is shown too.
    pub fn scrape(&self, status: Arc<Status>) -> Scrape {
        Scrape::new(&self.recorder, self.queues.clone(), self.current.clone(), status)
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
            let new = || {
                PendingCounter::new(
                    &self.recorder,
                    Metric::Oddities,
                    &[topic.name(), oddity.name()],
                )
            };
            self.oddities.entry((*topic, *oddity)).or_insert_with(new).pending += count;
        }
    }

    /// Records on our own topics that were passed over.
    pub fn record_strays(&mut self, seen: &StrayCounts) {
        for ((topic, stray), count) in seen {
            let new = || {
                PendingCounter::new(&self.recorder, Metric::Strays, &[topic.name(), stray.name()])
            };
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

    /// Policies of the topology: a request may name any other, which is no label.
    pub fn know_policies<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        self.policies = names.map(str::to_owned).collect();
    }

    /// A decision that was published.
    pub fn record_decision(&mut self, decision: &Decision) {
        let policy = self.policies.get(&decision.policy).map_or(OTHER, String::as_str);
        self.decisions.count(&self.recorder, policy, decision.outcome.name(), 1);
        for count in &decision.counts {
            let rejected = u64::from(count.rejected);
            self.rejections.count(&self.recorder, policy, &count.filter, rejected);
        }
        if let (Outcome::Assign(ranked), false) = (&decision.outcome, decision.dry_run) {
            let jobs = ranked.iter().filter(|it| it.jobs > 0);
            jobs.for_each(|it| {
                self.assigned_jobs.count(&self.recorder, &it.unified, u64::from(it.jobs));
            });
            // The answer to a task that wants a nucleus: the nucleus alone, without jobs.
            let is_nucleus = match ranked.as_slice() {
                [chosen] => chosen.jobs == 0 && chosen.queue == decision.nucleus,
                _ => false,
            };
            if is_nucleus {
                self.nucleus_assignments.count(&self.recorder, &decision.nucleus, 1);
            }
            self.weights.record(&self.recorder, decision, ranked, is_nucleus);
        }
    }

    /// So many queues were given jobs of a task from which such jobs had been taken back.
    pub fn record_repeated(&mut self, assignments: u64) {
        self.repeated_assignments.pending += assignments;
    }

    /// Decisions on tasks of a class, with an outcome.
    pub fn record_classed(&mut self, [class, outcome]: [&str; 2], decisions: u64) {
        self.classed.count(&self.recorder, class, outcome, decisions);
    }

    /// How often budgets of cycles left work for later ones.
    pub fn record_exceeded(&mut self, exceeded: &Exceeded) {
        for (of, cycles) in exceeded.iter() {
            self.exceeded[of as usize].pending += cycles;
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

    /// A request that another broker answered as well.
    pub fn record_comparison(&mut self, counted: &Counted) {
        self.comparisons.record(&self.recorder, counted);
    }

    /// Records of such requests that cannot be read.
    pub fn record_unreadable_comparisons(&mut self, count: u64) {
        self.comparisons.record_unreadable(&self.recorder, count);
    }

    /// Commands that were not answered, and what is held back.
    pub fn record_commands(&mut self, state: &State) {
        self.commands.record_standing(&self.recorder, state);
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
            let new = || gauge(&self.recorder, Metric::Standing, &[rule]);
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

    /// Partitions that cannot be read on, each by its topic, ours or a foreign one, and its number.
    pub fn record_stuck(&mut self, partitions: BTreeSet<(&str, u32)>) {
        let topics = Topic::ALL.iter().map(|topic| topic.name());
        for topic in topics.chain(partitions.iter().map(|(topic, _)| *topic)) {
            if !self.stuck.contains_key(topic) {
                let gauge = gauge(&self.recorder, Metric::StuckLanes, &[topic]);
                self.stuck.insert(topic.to_owned(), gauge);
            }
        }
        for (topic, gauge) in &self.stuck {
            gauge.set(partitions.iter().filter(|it| it.0 == topic).count() as f64);
        }
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

    /// How many counters drifted in the last recount, and how long ago that was.
    pub fn record_audit(&self, drifted: usize, age: Duration) {
        let none: [&str; 0] = [];
        self.current.set(Metric::AuditDrifted, std::iter::once((none, drifted as f64)));
        self.current.set(Metric::AuditAge, std::iter::once((none, age.as_secs_f64())));
    }

    /// How an estimate of a start was.
    pub fn record_estimate(&mut self, measured: MeasuredEstimate) {
        self.estimated_starts.count(&self.recorder, measured.result, 1);
        measured.ratio.into_iter().for_each(|ratio| self.estimate_ratio.record(ratio));
    }

    /// Counts the records of an import of a name by outcome; `None`: it failed.
    pub fn record_import(&mut self, name: &str, done: Option<&[(&str, usize)]>) {
        self.intake.record_import(&self.recorder, name, done);
    }

    /// Age of what an import of a name found last; ms.
    pub fn record_import_age(&mut self, name: &str, age: Millis) {
        self.intake.record_import_age(&self.recorder, name, age);
    }

    /// Counts foreign messages by their outcome.
    pub fn record_intake(&mut self, report: &IntakeReport) {
        self.intake.record_intake(&self.recorder, report);
    }

    fn topic(&mut self, topic: Topic, metric: Metric) -> &Gauge {
        let new = || gauge(&self.recorder, metric, &[topic.name()]);
        self.topics.entry((topic, metric)).or_insert_with(new)
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
        self.queues.set(loads);
    }

    /// Figures that are counted over many records of the state: to be called every ten seconds.
    pub fn record_figures(&mut self, state: &State) {
        let Metrics { current, links, .. } = self;
        figures::shares(current, state);
        figures::users(current, state);
        figures::budgets(current, state);
        links.record(current, state);
    }

    /// Requests that wait: to be called every ten seconds, by a process that leads. Nothing is
    /// shown of them else.
    pub fn record_waiting(&mut self, engine: &Engine) {
        waiting::record(&self.current, engine, OPEN_MAX);
    }

    /// This process does not lead, and shows no requests that wait.
    pub fn forget_waiting(&mut self) {
        waiting::forget(&self.current);
    }

    /// Things that need a person.
    pub fn record_attention<'a>(&mut self, items: impl Iterator<Item = &'a Item>) {
        let counts = counted(items).into_iter();
        let samples = counts.map(|((severity, rule), it)| ([severity.name(), rule], it as f64));
        self.current.set(Metric::AttentionItems, samples);
    }

    /// The domain at a glance: to be called every ten seconds, by a process that leads.
    pub fn record_glance(&mut self, engine: &Engine) {
        glance::record(&self.current, engine, self.queues.shown_max);
    }

    /// This process does not lead, and shows nothing of that.
    pub fn forget_glance(&mut self) {
        glance::forget(&self.current);
    }

    /// By what is decided: to be called every ten seconds, by a process that leads.
    pub fn record_rules(&mut self, engine: &Engine) {
        self.rules.record(&self.current, engine);
    }

    /// This process does not lead, and decides by nothing.
    pub fn forget_rules(&mut self) {
        rules::forget(&self.current);
    }

    /// Adds what was counted to what is exported. Once per batch.
    pub fn add(&mut self) {
        self.events.iter_mut().for_each(PendingCounter::add);
        self.oddities.values_mut().for_each(PendingCounter::add);
        self.strays.values_mut().for_each(PendingCounter::add);
        self.exceeded.iter_mut().for_each(PendingCounter::add);
        self.repeated_assignments.add();
        let pairs = [&mut self.decisions, &mut self.rejections, &mut self.throttles];
        let of_others = [&mut self.commands.published, &mut self.classed];
        pairs.into_iter().chain(of_others).for_each(Pairs::add);
        self.assigned_jobs.add();
        self.estimated_starts.add();
        self.nucleus_assignments.add();
        self.intake.add();
        self.comparisons.add();
        self.restored.add();
        self.lead_changes.add();
    }
}

#[cfg(test)]
mod tests;
