//! Outlets of a serving process: metrics, status, answers to questions.

use crate::answers::Answers;
use crate::api::{self, Api, Apis, LiveLook, Past, Reasons, Views};
use crate::attention::{Lookout, process_items};
use crate::changes::Lead;
use crate::clock;
use crate::following::{Following, StandbyPosition};
use crate::history::{HistoryIdentity, Keeper, Keeps, LoopPosition};
use crate::http::{Door, ServedDomain, Server};
use crate::intake::IntakeReport;
use crate::metrics::{EventOutcome, Metrics, QueueLoad};
use crate::page;
use crate::question::LoopClient;
use crate::rivals::Rivals;
use crate::stale::{Stale, old_inputs};
use crate::status::Status;
use crate::stuck::{Partition, Stuck, Waits};
use crate::traces::Traces;
use crate::unseen::Unseen;
use axum::Router;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use yardmaster_core::comparison::Counted;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::engine::Engine;
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;
use yardmaster_drive::Drive;
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_drive::port::{Log, Store};
use yardmaster_drive::report::Report;
use yardmaster_wire::topology::AttentionSettings;

/// How often gauges are brought up to date.
const GAUGES: Duration = Duration::from_secs(2);
/// How often figures are counted over many records.
const FIGURES: Duration = Duration::from_secs(10);

/// Outlets of a serving process for one domain, and its HTTP server, if it has one of its own.
pub struct Show {
    /// State of the process for the domain.
    pub status: Arc<Status>,
    domain: String,
    metrics: Metrics,
    server: Option<Server>,
    answers: Option<Answers>,
    views: Views,
    lookout: Lookout,
    past: Past,
    keeper: Option<Keeper>,
    traces: Option<Traces>,
    gauged: Option<Instant>,
    figured: Option<Instant>,
    stale: Stale,
    unseen: Unseen,
    following: Following,
    /// Something stands before the next cycle in the log.
    is_held: bool,
    /// Partitions that cannot be read on, with sentences: by the loop, by intake.
    stuck: [Vec<(Partition, String)>; 2],
}

/// The process that leads, as far as a drive knows.
fn lead_of<L: Log, S: Store>(drive: &Drive<L, S>) -> Lead<'_> {
    let epoch = drive.state().epoch;
    let newest = drive.newest_leader().filter(|leader| leader.epoch == epoch);
    let leader = match drive.leads() {
        true => Some(drive.instance()),
        false => newest.map(|leader| leader.instance),
    };
    Lead { epoch, leader, topology: drive.epoch_text() }
}

/// Serves metrics, health, the page and the API of domains on an address.
pub fn serve(
    address: SocketAddr,
    door: Door,
    domains: Vec<ServedDomain>,
    apis: Vec<Api>,
) -> anyhow::Result<Server> {
    let served = api::routes(Apis::new(apis)).merge(page::routes());
    let paths = [&["/"][..], &api::PATHS].concat();
    Ok(Server::start(address, domains, door, (served, &paths))?)
}

impl Show {
    /// Shows nothing over HTTP yet. Of queues and nuclei at most `labels_max` get a label each.
    pub fn new(domain: &str, labels_max: usize) -> Show {
        Show {
            status: Arc::new(Status::default()),
            domain: domain.to_owned(),
            metrics: Metrics::new(domain, labels_max),
            server: None,
            answers: None,
            views: Views::default(),
            lookout: Lookout::new(AttentionSettings::default(), LiveLook::default()),
            past: Past::default(),
            keeper: None,
            traces: None,
            gauged: None,
            figured: None,
            stale: Stale::default(),
            unseen: Unseen::default(),
            following: Following::default(),
            is_held: false,
            stuck: Default::default(),
        }
    }

    /// Serves metrics and health on an address.
    pub fn listen(&mut self, address: SocketAddr, door: Door) -> anyhow::Result<SocketAddr> {
        let server = Server::start(address, vec![self.served()], door, (Router::new(), &[]))?;
        Ok(self.server.insert(server).address())
    }

    /// Serves the API too, which explains decisions by a configuration.
    pub fn listen_with_api(
        &mut self,
        address: SocketAddr,
        door: Door,
        config: &EpochConfig,
    ) -> anyhow::Result<SocketAddr> {
        let api = self.api(door.answer_max, config);
        let server = serve(address, door, vec![self.served()], vec![api])?;
        Ok(self.server.insert(server).address())
    }

    /// The parts of the domain that a server shows beside the API.
    pub fn served(&self) -> ServedDomain {
        let scrape = self.metrics.scrape(Arc::clone(&self.status));
        ServedDomain { name: self.domain.clone(), scrape, status: Arc::clone(&self.status) }
    }

    /// The domain's part of the API, which explains decisions by a configuration; from now on
    /// questions are answered by [`Show::report`], each within `answer_max`.
    pub fn api(&mut self, answer_max: Duration, config: &EpochConfig) -> Api {
        let (client, asked) = LoopClient::new(answer_max);
        self.answers = Some(Answers::new(asked));
        self.lookout = Lookout::new(config.attention.clone(), self.views.attention.clone());
        Api {
            client,
            status: Arc::clone(&self.status),
            views: self.views.clone(),
            past: self.past.clone(),
            reasons: Arc::new(Reasons::of(config)),
        }
    }

    /// Keeps a history in a directory from now on, of what a drive does, as this process's own
    /// configuration has it: the state may be of an earlier one. Without it nothing but looks back
    /// are missing, so a directory that cannot be used is reported and no more.
    pub fn keep<L: Log, S: Store>(
        &mut self,
        dir: &Path,
        config: &EpochConfig,
        drive: &mut Drive<L, S>,
    ) {
        // The one of an earlier life is written before the next one is read.
        self.keeper = None;
        self.following = Following::default();
        let log = drive.log_id();
        let limits = &config.setting.limits;
        let of = HistoryIdentity { key: config.key_fingerprint.as_deref(), log: log.as_deref() };
        let keeps = Keeps {
            interval: limits.history_interval_ms,
            span: limits.history_span_ms,
            bytes: limits.history_bytes,
        };
        match Keeper::open(dir, keeps, of, drive.state()) {
            Ok(mut keeper) => {
                keeper.note_lead(drive.state(), lead_of(drive));
                self.past.set(Some(keeper.history()));
                self.keeper = Some(keeper);
                drive.report_written();
            }
            Err(error) => {
                self.past.set(None);
                let dir = dir.display();
                tracing::warn!("history: {dir} cannot be used: {error}; there is no look back");
            }
        }
    }

    /// Sends traces of what is answered from now on.
    pub fn trace(&mut self, traces: Traces) {
        self.traces = Some(traces);
    }

    /// The `now` at which the history is to look at the state next, at [`Show::report`].
    pub fn next_look(&self) -> Millis {
        self.keeper.as_ref().map_or(Millis::MAX, Keeper::next_look)
    }

    /// Reports what a drive did since the last call, and answers what was asked meanwhile, at a
    /// cycle's boundary. Gives the report on.
    pub fn report<L: Log, S: Store>(&mut self, drive: &mut Drive<L, S>) -> Report {
        let mut report = drive.take_report();
        if self.gauged.is_none_or(|gauged| gauged.elapsed() >= GAUGES) {
            let policies = drive.engine().policies().iter().map(|policy| policy.spec.name.as_str());
            self.metrics.know_policies(policies);
        }
        self.count(&report);
        let state = drive.state();
        let repeated = report.decisions().map(|decision| state.commands.repeated(decision));
        self.metrics.record_repeated(repeated.sum());
        let (leading, catching_up) = (drive.leads(), drive.leads() && !drive.has_published());
        let newest = drive.newest().max(state.number);
        let ratio = if newest == 0 { 1.0 } else { state.number as f64 / newest as f64 };
        let position = StandbyPosition {
            cycle: state.number,
            late: drive.late(),
            is_at_end: drive.is_at_end(),
            is_held: self.is_held,
        };
        let follows = self.following.look(position, Instant::now());
        let restoring = !leading && !follows;
        let folded = if leading { 0 } else { report.events.values().sum() };
        self.metrics.record_restore(if leading { 1.0 } else { ratio }, folded);
        self.status.update(|status| {
            status.restoring = restoring;
            status.restored_ratio = ratio;
            status.catching_up = catching_up;
            status.leading = leading;
            if !leading {
                status.old_inputs = None;
            }
            status.epoch = state.epoch;
            status.cycle = state.number;
            status.now = state.now;
        });
        if self.gauged.is_none_or(|gauged| gauged.elapsed() >= GAUGES) {
            self.gauged = Some(Instant::now());
            self.gauge(drive);
            // So that each has its moment, asked for or not.
            self.status.troubles();
        }
        self.metrics.add();
        self.status.turn();
        let is_cycle_end = drive.is_between_cycles();
        let is_settled = !restoring && !catching_up;
        if let Some(keeper) = &mut self.keeper {
            if is_cycle_end {
                keeper.note_lead(drive.state(), lead_of(drive));
            }
            let turn = LoopPosition { is_cycle_end, is_restoring: restoring };
            keeper.turn(&mut report, drive.engine_to_copy(), turn);
        }
        if let Some(traces) = &mut self.traces {
            traces.turn(&report, drive.state(), leading);
        }
        if is_cycle_end {
            self.show(drive.engine(), is_settled);
        }
        if let Some(answers) = &mut self.answers {
            answers.turn(drive.engine_to_copy(), is_cycle_end, is_settled);
        }
        report
    }

    /// Makes what somebody looks at, at a cycle's end.
    fn show(&mut self, engine: &Engine, is_settled: bool) {
        self.views.turn(engine);
        let attention = self.lookout.turn(engine, is_settled);
        let is_leading = self.status.get().leading && is_settled;
        if let Some(attention) = attention.filter(|_| is_leading) {
            let own = process_items(&self.status.troubles());
            self.metrics.record_attention(attention.view.items.iter().chain(&own));
        }
    }

    /// Reports what a process did that takes foreign messages in and nothing else.
    pub fn report_intake(&mut self, report: &IntakeReport) {
        self.status.update(|status| {
            status.restoring = report.is_reading_back;
        });
        self.count_intake(report);
        self.metrics.add();
    }

    /// Reports what an import of a name changed, by outcome, or why it failed.
    pub fn report_import(&mut self, name: &str, done: Result<&[(&'static str, usize)], String>) {
        self.metrics.record_import(name, done.as_ref().ok().copied());
        self.status.update(|status| status.import_failed = done.err());
        self.metrics.add();
    }

    /// Reports how old what an import of a name published is; ms. `None`: nothing yet.
    pub fn tell_import_age(&mut self, name: &str, age: Option<Millis>) {
        if let Some(age) = age {
            self.metrics.record_import_age(name, age);
        }
        self.status.turn();
    }

    /// Reports why intake beside the loop does not work; `None`: it works, or is not wanted.
    pub fn tell_intake_down(&mut self, why: Option<String>) {
        self.status.update(|status| status.intake_down = why);
    }

    /// Counts what became of foreign messages.
    pub fn count_intake(&mut self, report: &IntakeReport) {
        self.metrics.record_intake(report);
        self.tell_intake_stuck(report.stuck.clone());
        let dropped = report.counts.dropped;
        if dropped > 0 {
            tracing::warn!(
                "intake: {dropped} jobs forgotten, or not waiting for their task: the limits \
                 intake_jobs_max and intake_waiting_max are too low"
            );
        }
    }

    /// Counts requests that another broker answered as well, and records of such that cannot be
    /// read.
    pub fn count_comparisons(&mut self, came: &[Counted], unreadable: u64) {
        came.iter().for_each(|counted| self.metrics.record_comparison(counted));
        self.metrics.record_unreadable_comparisons(unreadable);
    }

    /// Reports how many records wait for the schema registry, and why.
    pub fn tell_waiting_for_registry(&mut self, held: Option<(u64, String)>) {
        let (count, why) = held.map_or((0, None), |(count, why)| (count, Some(why)));
        self.metrics.record_waiting_for_registry(count);
        self.status.update(|status| status.waits_for_schemas = why);
    }

    /// Reports whether the lead changed, and why it is not safe if it is not: in the log once, in
    /// the status as long as it is so.
    pub fn tell_lead(&mut self, has_changed: bool, rivals: &mut Rivals) {
        let (why, unsteady) = (rivals.contested(clock::uptime()), rivals.unsteady());
        self.metrics.record_lead_change(u64::from(has_changed));
        self.status.update(|status| {
            if let Some(why) = why.as_ref().filter(|_| status.contested != why) {
                tracing::warn!("{why}");
            }
            if let Some(unsteady) = unsteady.as_ref().filter(|_| status.unsteady.is_none()) {
                tracing::warn!("{unsteady}");
            }
            (status.contested, status.unsteady) = (why, unsteady);
        });
    }

    /// Reports which lanes cannot be read on: in the log once, in the status as long as it is so.
    pub fn tell_stuck(&mut self, stuck: &mut Stuck, lanes: &BTreeMap<Lane, LaneFlags>) {
        let waits = |lane: &Lane| if lane.topic.is_own() { Waits::Lead } else { Waits::Nothing };
        let stopped = lanes.iter().map(|(lane, it)| (stuck.partition(*lane, waits(lane)), *it));
        let stopped = stopped.collect();
        let report = stuck.look(&stopped, Instant::now());
        report.log();
        self.is_held = report.all.iter().any(|(it, _)| it.waits == Waits::Lead);
        self.stuck[0] = report.all;
        self.show_stuck();
    }

    /// Reports which partitions intake cannot read on.
    pub fn tell_intake_stuck(&mut self, stuck: Vec<(Partition, String)>) {
        if self.stuck[1] != stuck {
            self.stuck[1] = stuck;
            self.show_stuck();
        }
    }

    fn show_stuck(&mut self) {
        let all = self.stuck.iter().flatten();
        self.metrics.record_stuck(all.clone().map(|(it, _)| (&it.topic[..], it.number)).collect());
        self.status.update(|status| status.stuck = all.map(|(_, text)| text.clone()).collect());
    }

    /// Reports which topics are older than they may be or have no record: in the log once, in the
    /// status as long as it is so.
    fn tell_stale(&mut self, state: &State) {
        for topic in Topic::ALL.iter().filter(|topic| topic.is_configuration()) {
            if let Some(age) = state.facts_age(*topic) {
                self.metrics.record_facts_age(*topic, age);
            }
        }
        let report = self.stale.look(state);
        report.new.iter().for_each(|text| tracing::warn!("{text}"));
        report.over.iter().for_each(|text| tracing::info!("{text}"));
        self.status.update(|status| {
            (status.stale, status.absent) = (report.stale, report.absent);
            status.old_inputs = old_inputs(state);
        });
        self.unseen.look(state).iter().for_each(|text| tracing::warn!("{text}"));
    }

    fn count(&mut self, report: &Report) {
        let metrics = &mut self.metrics;
        for (topic, count) in &report.events {
            let odd: u64 = report.oddities.iter().filter(|it| it.0 == *topic).map(|it| it.2).sum();
            let garbled: u64 = report
                .garbled
                .iter()
                .filter(|((garbled, _), _)| garbled == topic)
                .map(|(_, count)| count)
                .sum();
            let odd = odd.saturating_sub(garbled).min(*count);
            metrics.record_events(*topic, EventOutcome::Odd, odd);
            metrics.record_events(*topic, EventOutcome::Garbled, garbled);
            let folded = count.saturating_sub(odd + garbled);
            metrics.record_events(*topic, EventOutcome::Folded, folded);
        }
        metrics.record_oddities(&report.oddities);
        metrics.record_strays(&report.strays);
        let events: u64 = report.events.values().sum();
        if events > 0 {
            metrics.record_fold(events, Duration::from_nanos(report.fold_ns));
        }
        for decision in report.decisions() {
            metrics.record_decision(decision);
            self.lookout.note(decision);
        }
        report.throttles().for_each(|throttle| metrics.record_throttle(throttle));
        report.commands().for_each(|command| metrics.record_command(command));
        metrics.record_exceeded(&report.exceeded);
        for (labels, decisions) in &report.classed {
            metrics.record_classed(*labels, *decisions);
        }
        let each = |all: &[u64], mut record: Box<dyn FnMut(Duration) + '_>| {
            all.iter().for_each(|ns| record(Duration::from_nanos(*ns)));
        };
        each(&report.decision_ns, Box::new(|took| metrics.record_judged(took)));
        each(&report.cycle_ns, Box::new(|took| metrics.record_cycle(took)));
        each(&report.commit_ns, Box::new(|took| metrics.record_commit(took)));
        each(&report.checkpoint_ns, Box::new(|took| metrics.record_checkpoint(took)));
        for ms in &report.latency_ms {
            metrics.record_answer(Duration::from_millis(u64::try_from(*ms).unwrap_or(0)));
        }
        for notice in &report.notices {
            tracing::warn!("{notice}");
        }
    }

    fn gauge<L: Log, S: Store>(&mut self, drive: &mut Drive<L, S>) {
        let lags = drive.lags();
        let is_current = drive.leads() && drive.has_published();
        let state = drive.state();
        if is_current {
            self.tell_stale(state);
        }
        for topic in Topic::ALL.iter().filter(|topic| !topic.is_own()) {
            if let Some(lag) = lags.get(topic) {
                self.metrics.record_lag(*topic, *lag);
            }
            if state.times.lanes.of(*topic).next().is_some() {
                self.metrics.record_time(*topic, state.times.of(*topic).time, state.now);
            }
        }
        self.metrics.record_queues(QueueLoad::of(state));
        let throttles = state.throttles.iter().map(|(_, throttle)| throttle);
        let standing = throttles.filter(|throttle| throttle.stands(state.now));
        self.metrics.record_standing(standing.map(|throttle| throttle.rule.as_str()));
        self.metrics.record_commands(state);
        if let Some((at, audited)) = self.answers.as_ref().and_then(Answers::audited) {
            self.metrics.record_audit(audited.drifts.len(), at.elapsed());
        }
        let measured = self.answers.as_ref().map(Answers::take_measured).unwrap_or_default();
        measured.into_iter().for_each(|it| self.metrics.record_estimate(it));
        if self.figured.is_none_or(|figured| figured.elapsed() >= FIGURES) {
            self.figured = Some(Instant::now());
            self.metrics.record_figures(state);
            if is_current {
                self.metrics.record_waiting(drive.engine());
                self.metrics.record_glance(drive.engine());
                self.metrics.record_rules(drive.engine());
            }
        }
        if !is_current {
            self.metrics.forget_waiting();
            self.metrics.record_attention(std::iter::empty());
            self.metrics.forget_glance();
            self.metrics.forget_rules();
        }
    }

    /// The loop of a process that has no drive turns.
    pub fn turn(&mut self) {
        self.metrics.add();
        self.status.turn();
    }

    /// Reports that the domain's loop ended with an error, while the process goes on with others.
    pub fn tell_stopped(&mut self, why: String) {
        tracing::error!("domain {} stopped: {why}", self.domain);
        self.status.update(|status| {
            status.leading = false;
            status.stopped = Some(why);
        });
        self.stop();
    }

    /// Stops answering and serving, and writes what the history does not have yet.
    pub fn stop(&mut self) {
        self.keeper = None;
        self.answers = None;
        self.traces = None;
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}
