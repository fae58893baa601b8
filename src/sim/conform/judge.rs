//! From a case to a judgement: records written, read and folded, the policy run over them.

use super::figures::{Figures, Told};
use super::grid::{Facts, facts};
use super::json::moment;
use super::{Recorded, ask};
use crate::core::cut::{Lane, Topic};
use crate::core::event::{Event, Scope, Task};
use crate::core::judge::view::Grid;
use crate::core::limits::Limits;
use crate::core::policy::{
    Candidates, Case, Policy, PolicySpec, Preassigned, Resolved, Rules, kind,
};
use crate::core::state::{Setting, State};
use crate::core::unit::Millis;
use crate::wire::avro::{Arena, Codec};
use crate::wire::record;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What we say of a case, in the shape of what was recorded.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// `assigned`, `pending` or `throttled`.
    pub verdict: &'static str,
    /// Why, where no candidate was looked at.
    pub reason: String,
    /// Chosen queues, best first: name, unified name, weight.
    pub candidates: Vec<(String, String, f64)>,
    /// Those that were refused, each with PanDA's word for the reason.
    pub skipped: BTreeMap<String, String>,
    /// The nucleus chosen, for a case of task brokerage.
    pub nucleus: Option<String>,
    /// Weights of all that were weighed, for a case of task brokerage.
    pub weighed: BTreeMap<String, f64>,
    /// Tasks that were judged after it in the same cycle.
    pub more: Vec<Judged>,
}

impl Judged {
    /// The same as JSON, in the shape of `expected`.
    pub fn to_json(&self) -> Value {
        let candidates: Vec<Value> = self
            .candidates
            .iter()
            .map(|(queue, unified, weight)| {
                json!({"queue": queue, "unified_queue": unified, "weight": weight})
            })
            .collect();
        let mut shown = json!({
            "verdict": self.verdict, "candidates": candidates, "skipped": self.skipped,
        });
        if !self.reason.is_empty() {
            shown["reason"] = json!(self.reason);
        }
        if let Some(nucleus) = &self.nucleus {
            shown["nucleus"] = json!(nucleus);
        }
        if !self.weighed.is_empty() {
            let weighed = self.weighed.iter();
            let candidates: Vec<Value> = weighed
                .map(|(nucleus, weight)| json!({"nucleus": nucleus, "weight": weight}))
                .collect();
            shown["candidates"] = json!(candidates);
        }
        if !self.more.is_empty() {
            shown["more_tasks"] = self.more.iter().map(Judged::to_json).collect();
        }
        shown
    }
}

/// The kind of policy that answers a kind of case.
fn kind_of(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "prod_job" => Some(("production-job", "atlas-production-job")),
        "anal_job" => Some(("analysis-job", "atlas-analysis-job")),
        _ => None,
    }
}

/// A state in which a case's records are folded.
pub(super) fn state_of(facts: &Facts, now: Millis) -> Result<State, String> {
    let silence = [None; Topic::ALL.len()];
    let setting = Setting { domain: "atlas".to_owned(), limits: Limits::default(), silence };
    let mut state = State::new(setting);
    let (codec, mut arena) = (Codec::default(), Arena::default());
    for (offset, (topic, bytes)) in (0u64..).zip(&facts.records) {
        let event = codec.read(*topic, None, Some(bytes), &mut arena);
        if let Event::Garbled(why) = event {
            return Err(format!("a record of {} is {}", topic.name(), why.name()));
        }
        state.fold(Lane::new(*topic, 0), offset, now, &event);
    }
    state.now = now;
    Ok(state)
}

/// A request as its record says it.
pub(super) fn read_back(task: &Task) -> Result<Task, String> {
    let (codec, mut arena, mut bytes) = (Codec::default(), Arena::default(), Vec::new());
    record::write_task(&mut bytes, task);
    match codec.read(Topic::Task, None, Some(&bytes), &mut arena) {
        Event::Task(task) => Ok(*task),
        _ => Err("the task's record cannot be read".to_owned()),
    }
}

/// A policy that judges, or what is wrong with it.
pub(super) fn compiled(spec: &PolicySpec) -> Result<Policy, String> {
    Policy::compile(spec)
        .map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

pub(super) fn judge(recorded: &Recorded, rules: Rules) -> Result<Judged, String> {
    let scenario = &recorded.whole["scenario"];
    if recorded.kind == "prod_task" {
        return super::nucleus::judge(recorded, rules);
    }
    let (name, kind_name) = kind_of(&recorded.kind).ok_or_else(|| {
        format!("field `kind`: found {:?}, wants prod_job, anal_job, prod_task", recorded.kind)
    })?;
    let flavour = kind(kind_name).ok_or_else(|| format!("no policy of kind {kind_name}"))?;
    let spec = PolicySpec::full(name, flavour, rules);
    let policy = compiled(&spec)?;
    let now = moment(&scenario["now"]);
    let facts = facts(&recorded.whole, now)?;
    let mut state = state_of(&facts, now)?;
    let mut grid = Grid::default();
    grid.update(&mut state, true);
    let view = grid.view(&state);
    let task = read_back(&ask::ask(&recorded.whole, name, now))?;
    let lookup = |component: &str, key: &str| state.parameter(component, key);
    let resolved = policy.resolve(&lookup, &task.gshare);
    let recorded_owner = |_| super::analysis::owner(scenario);
    let (case, survey) = view.case_of(&policy, &resolved, &task, recorded_owner);
    let places = match case.preassigned {
        Preassigned::No => view.world.places(|queue| policy.lists(queue, &resolved)),
        Preassigned::One | Preassigned::List => view.world.admitted(&policy, &case, &resolved),
    };
    let gathered = view.gather(&case, &survey, places.into());
    let figures = Figures::of(scenario);
    let told = Told { candidates: &gathered, figures: &figures };
    Ok(conclude(&policy, &resolved, &case, &told, &facts))
}

fn conclude<C: Candidates>(
    policy: &Policy,
    resolved: &Resolved,
    case: &Case<'_>,
    candidates: &C,
    facts: &Facts,
) -> Judged {
    let judgement = policy.judge(case, candidates, resolved);
    let mut judged = Judged { verdict: "pending", ..Judged::default() };
    for chosen in &judgement.ranked {
        let queue = candidates.queue(chosen.candidate);
        let entry = (queue.name.clone(), queue.unified.clone(), chosen.weighed.total);
        judged.candidates.push(entry);
    }
    if !judged.candidates.is_empty() {
        judged.verdict = "assigned";
    }
    if let Some(held) = &judgement.held {
        judged.reason = held.reason.name().to_owned();
        if held.reason.rule().is_some() {
            judged.verdict = "throttled";
        }
        return judged;
    }
    let is_analysis = case.scope == Scope::Analysis;
    let is_listed = is_analysis || case.preassigned == Preassigned::No;
    let parents = facts.parents.iter().filter(|(_, _)| is_listed);
    let parents = parents.filter(|(_, analysis)| *analysis || !is_analysis).map(|(name, _)| name);
    for parent in parents {
        judged.skipped.insert(parent.clone(), "unified_parent".to_owned());
    }
    // PanDA asks for data by unified names, before it drops these.
    for refused in judgement.fates.iter().filter(|it| it.objection.reason.name == "no_data") {
        let unified = &candidates.queue(refused.candidate).unified;
        if let Some(tag) = judged.skipped.get_mut(unified) {
            *tag = "no_data".to_owned();
        }
    }
    for place in 0..candidates.count() as u32 {
        judged.skipped.insert(candidates.queue(place).name.clone(), "low_weight".to_owned());
    }
    for chosen in &judgement.ranked {
        judged.skipped.remove(&candidates.queue(chosen.candidate).name);
    }
    for refused in &judgement.fates {
        let queue = &candidates.queue(refused.candidate).name;
        let filter = policy.filter(usize::from(refused.filter)).map_or("", |filter| filter.name);
        let tag = criteria(filter, refused.objection.reason.name);
        if tag == "jumbo_jobs" {
            judged.skipped.remove(queue);
            continue;
        }
        judged.skipped.insert(queue.clone(), tag.to_owned());
    }
    judged
}

/// PanDA's word for a filter's reason.
fn criteria<'a>(filter: &'a str, reason: &'a str) -> &'a str {
    match (filter, reason) {
        ("status", _) => "status",
        ("link", "link_full") => "link_unusable",
        ("nucleus_queue", _) => "links_full",
        ("cpucore", "max_cpucore") => "max_cpucore",
        ("cpucore" | "diskIO" | "transferring" | "nopilot" | "zeroshare", _) => filter,
        ("cap" | "cap_rt", _) => filter,
        ("io" | "io_second_chance", _) => "io",
        ("connectivity", _) => "network",
        ("opportunistic", _) => "opportunistic",
        _ => reason,
    }
}
