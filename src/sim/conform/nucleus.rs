//! Cases of task brokerage: nuclei in the order in which PanDA looked at them, with the figures of
//! the case in place of those that were counted.

use super::figures::{Figures, WithFigures};
use super::grid::facts;
use super::json::{entries, items, moment, number, text, texts};
use super::judged::{Judged, compiled, read_back, state_of};
use super::{Recorded, request};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::event::Task;
use yardmaster_core::judge::nuclei::{JobCheck, Work, as_jobs};
use yardmaster_core::judge::view::Grid;
use yardmaster_core::policy::task::{NucleusCandidate, TaskCase};
use yardmaster_core::policy::{Policy, PolicySpec, Resolved, Rules, kind};
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;

/// Files that are more than any cap: of a nucleus that counts as backlogged.
const BACKLOGGED: u64 = 1 << 50;

/// All that stays the same from task to task of a case.
struct Bench<'a> {
    scenario: &'a Value,
    state: State,
    grid: Grid,
    now: Millis,
    policy: Policy,
    jobs: Policy,
    order: Vec<String>,
    /// Work of the share that remains, by least priority, then nucleus.
    ahead: BTreeMap<i64, BTreeMap<String, f64>>,
}

pub(super) fn judge(recorded: &Recorded, rules: Rules) -> Result<Judged, String> {
    let scenario = &recorded.whole["scenario"];
    let now = moment(&scenario["now"]);
    let facts = facts(&recorded.whole, now)?;
    let mut state = state_of(&facts, now)?;
    let mut grid = Grid::default();
    grid.update(&mut state, true);
    let full = |kind_name: &str| {
        let flavour = kind(kind_name).ok_or_else(|| format!("no policy of kind {kind_name}"))?;
        Ok::<PolicySpec, String>(PolicySpec::full(kind_name, flavour, rules))
    };
    let policy = compiled(&full("atlas-production-task")?)?;
    let jobs = compiled(&policy.flavour.dry_run_of(&full("atlas-production-job")?))?;
    let brokerage = &scenario["task_brokerage"];
    let ahead = entries(&brokerage["remaining_work_by_priority"]).filter_map(|(priority, work)| {
        let of = |(name, work): (&String, &Value)| (name.clone(), number(work).unwrap_or(0.0));
        Some((priority.parse().ok()?, entries(work).map(of).collect()))
    });
    let mut bench = Bench {
        scenario,
        state,
        grid,
        now,
        policy,
        jobs,
        order: order(scenario),
        ahead: ahead.collect(),
    };
    let units: Vec<f64> = match &scenario["random_u"] {
        Value::Array(units) => units.iter().filter_map(number).collect(),
        unit => number(unit).into_iter().collect(),
    };
    let mut units = units.into_iter();
    let mut next = || units.next().unwrap_or(0.5);
    let mut judged = bench.one(&recorded.whole, next())?;
    for other in items(&scenario["more_tasks"]) {
        let mut whole = recorded.whole.clone();
        whole["scenario"]["task"] = other.clone();
        judged.more.push(bench.one(&whole, next())?);
    }
    Ok(judged)
}

/// The nuclei in PanDA's order, as far as it is known.
fn order(scenario: &Value) -> Vec<String> {
    let mut order: Vec<String> =
        entries(&scenario["derived"]["nuclei"]).map(|(name, _)| name.clone()).collect();
    for role in ["nucleus", "satellite"] {
        for (_, queue) in entries(&scenario["queues"]) {
            let site = text(&queue["site"]);
            if queue["role"].as_str() == Some(role) && !order.contains(&site) {
                order.push(site);
            }
        }
    }
    order
}

impl Bench<'_> {
    fn one(&mut self, whole: &Value, unit: f64) -> Result<Judged, String> {
        let (name, now) = (self.policy.spec.name.clone(), self.now);
        let task = read_back(&request::request(whole, &name, now))?;
        let parent = match &self.scenario["task_brokerage"]["parent_task"] {
            Value::Null => None,
            given => {
                let mut parent = whole.clone();
                parent["scenario"]["task"] = given.clone();
                Some(read_back(&request::request(&parent, &name, now))?)
            }
        };
        let lookup = |component: &str, key: &str| self.state.parameter(component, key);
        let resolved = self.policy.resolve(&lookup, &task.gshare);
        let of_jobs = self.jobs.resolve(&lookup, &task.gshare);
        let jobs = as_jobs(&task);
        let view = self.grid.view(&self.state);
        let (case, survey) = view.case(&self.jobs, &of_jobs, &jobs);
        let all = view.world.queue_indices(|_| true);
        let gathered = view.gather(&case, &survey, all.into());
        let figures = Figures::of(&whole["scenario"]);
        let candidates = WithFigures { candidates: &gathered, figures: &figures };
        let check = JobCheck::new(&self.jobs, &of_jobs, &case, &candidates);
        let runs = |queues: &[u32]| check.runs(queues);
        let parent =
            parent.as_ref().map(|parent| (parent.options.full_chain, parent.nucleus.as_str()));
        let case = view.world.task_case(&task, now, parent, &runs);
        let nuclei = self.nuclei(&task);
        let judged = self.conclude(&case, &nuclei, &resolved, unit);
        if let Some(nucleus) = &judged.nucleus {
            let given = &self.scenario["task_brokerage"]["task_remaining_work"];
            let work = number(&given[&task.task]).unwrap_or(0.0);
            let (nucleus, priority) = (nucleus.clone(), i64::from(task.priority));
            for (_, at) in self.ahead.range_mut(..=priority) {
                *at.entry(nucleus.clone()).or_default() += work;
            }
        }
        Ok(judged)
    }

    /// The nuclei with the figures of the case.
    fn nuclei(&self, task: &Task) -> Vec<NucleusCandidate<'_>> {
        let brokerage = &self.scenario["task_brokerage"];
        let ahead = self.ahead.get(&i64::from(task.priority));
        let work = |name: &str| Work {
            all: number(&brokerage["remaining_work_all"][name]).unwrap_or(0.0),
            ahead: ahead.and_then(|at| at.get(name)).copied().unwrap_or(0.0),
        };
        let backlogged = texts(&brokerage["backlogged_nuclei"]);
        let mut nuclei = self.grid.world().nuclei_of(&self.state, task, self.now, work);
        for nucleus in &mut nuclei {
            let is_full = backlogged.iter().any(|name| name == nucleus.name);
            nucleus.queued_files = if is_full { BACKLOGGED } else { 0 };
        }
        let place = |name: &str| self.order.iter().position(|it| it == name);
        nuclei.sort_by_key(|nucleus| place(nucleus.name).unwrap_or(usize::MAX));
        nuclei
    }

    fn conclude(
        &self,
        case: &TaskCase<'_>,
        nuclei: &[NucleusCandidate<'_>],
        resolved: &Resolved,
        unit: f64,
    ) -> Judged {
        let mut judged = Judged { verdict: "pending", ..Judged::default() };
        if self.grid.world().is_site(&case.task.nucleus) {
            judged.verdict = "assigned";
            judged.nucleus = Some(case.task.nucleus.clone());
            return judged;
        }
        let choice = self.policy.choose(case, nuclei, resolved, unit);
        let name = |at: u32| nuclei[at as usize].name.to_owned();
        for refused in &choice.fates {
            let tag = criteria(refused.objection.reason.name).to_owned();
            judged.skipped.insert(name(refused.candidate), tag);
        }
        for passed in &choice.passed {
            judged.weighed.insert(name(passed.candidate), passed.weighed.total);
        }
        if let Some(wait) = choice.wait {
            judged.reason = wait.reason.name().to_owned();
            // PanDA names no nucleus when none has a queue.
            judged.skipped.retain(|_, tag| tag != "job");
        } else if choice.passed.is_empty() {
            judged.reason = "no_candidates".to_owned();
        }
        if let Some(drawn) = choice.drawn {
            judged.verdict = "assigned";
            judged.nucleus = Some(name(choice.passed[drawn].candidate));
        }
        judged
    }
}

/// PanDA's word for a reason.
fn criteria(reason: &str) -> &str {
    match reason {
        "not_full_chain" | "parent" => "full_chain",
        _ => reason,
    }
}
