//! Cases of task brokerage: a nucleus for a task, or for several in one cycle.

use super::super::json::{entries, items, moment, number, text, texts};
use super::super::judged::Unstated;
use super::super::rulebook::Rulebook;
use super::super::{Judged, Recorded};
use super::answer::wait_of;
use super::publisher::CasePublisher;
use super::{decisions, request};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::domain::atlas::judge::gather::link::PRODUCTION;
use yardmaster_core::event::{Link, LinkQueued, Task, TaskPhase};
use yardmaster_core::output::decision::{Decision, Outcome, Ranked};
use yardmaster_core::policy::Rules;
use yardmaster_wire::record;

/// Files that are more than any cap: on their way to a nucleus that counts as backlogged.
const BACKLOG_FILES: u64 = 1 << 40;
/// Most cycles that are tried until the dice fall as those of the case.
const CYCLES_MAX: usize = 1_000;
/// The filter that a nucleus that passed and was not drawn is listed with.
const DRAW: &str = "draw";

/// Judges a case: each of its tasks behind those that asked before it, in one cycle. Its nucleus is
/// drawn with the case's own number from the weights that are published.
///
/// # Errors
/// The first thing of the case that cannot be read.
pub(super) fn judge(recorded: &Recorded, rulebook: &Rulebook) -> Result<Judged, String> {
    let scenario = &recorded.whole["scenario"];
    let units: Vec<f64> = match &scenario["random_u"] {
        Value::Array(units) => units.iter().filter_map(number).collect(),
        unit => number(unit).into_iter().collect(),
    };
    let order = order(scenario);
    let rules = rulebook.rules;
    let mut tasks = tasks(&recorded.whole, rulebook)?;
    let mut all: Vec<Judged> = Vec::new();
    for at in 0..tasks.len() {
        let (answer, unstated) = answer(recorded, rulebook, &mut tasks[..=at], &all)?;
        let unit = units.get(at).copied().unwrap_or(0.5);
        all.push(Judged { unstated, rules, ..of_nuclei(&answer, &tasks[at], &order, unit, rules) });
    }
    let mut all = all.into_iter();
    let first = all.next().unwrap_or_default();
    Ok(Judged { more: all.collect(), ..first })
}

/// The answer to the last of some tasks; `before`: what those before it came to. What is decided
/// counts for tasks that are no more urgent, so the dice of the engine must fall as those of the
/// case: attempts of the requests are tried until they do.
fn answer(
    recorded: &Recorded,
    rulebook: &Rulebook,
    tasks: &mut [Task],
    before: &[Judged],
) -> Result<(Decision, Unstated), String> {
    let urgency = tasks.last().map_or(0, |task| task.priority);
    for _ in 0..CYCLES_MAX {
        let mut publisher = CasePublisher::new(&recorded.whole, rulebook)?;
        publisher.publish(&recorded.whole)?;
        publisher.earlier_tasks(rulebook)?;
        publisher.backlogs()?;
        tasks.iter().try_for_each(|task| publisher.ask(task))?;
        let unstated = std::mem::take(&mut publisher.unstated);
        let mut answers = decisions(publisher);
        let of = |task: &Task| answers.iter().position(|answer| answer.subject == task.subject);
        let is_other = |(task, judged): (&Task, &Judged)| {
            let meant = judged.nucleus.as_ref().filter(|_| task.priority >= urgency);
            meant.is_some_and(|meant| of(task).is_none_or(|at| answers[at].nucleus != *meant))
        };
        if let Some(at) = tasks.iter().zip(before).position(is_other) {
            tasks[at].attempt += 1;
            continue;
        }
        let last = tasks.last().and_then(of).ok_or("the engine gives no answer")?;
        return Ok((answers.swap_remove(last), unstated));
    }
    Err(format!("the dice fell otherwise in {CYCLES_MAX} cycles"))
}

/// The tasks of a case, in the order in which they ask.
fn tasks(whole_case: &Value, rulebook: &Rulebook) -> Result<Vec<Task>, String> {
    let scenario = &whole_case["scenario"];
    let all = std::iter::once(&scenario["task"]).chain(items(&scenario["more_tasks"]));
    let tasks = all.map(|stated| task(whole_case, stated, rulebook));
    let mut tasks = tasks.collect::<Result<Vec<Task>, String>>()?;
    let count = tasks.len() as i64;
    for (at, task) in (0..).zip(&mut tasks) {
        task.asked_at -= count - at;
    }
    Ok(tasks)
}

/// The request that a task makes, with the work that remains of it.
fn task(whole_case: &Value, stated: &Value, rulebook: &Rulebook) -> Result<Task, String> {
    let mut whole = whole_case.clone();
    whole["scenario"]["task"] = stated.clone();
    let scenario = &whole["scenario"];
    let now = moment(&scenario["now"]);
    let mut task = request::request(&whole, rulebook, now)?;
    let work = number(&scenario["task_brokerage"]["task_remaining_work"][&task.task]);
    if let (Some(work), Some(cpu)) = (work, task.cpu_hs06s_per_event.filter(|cpu| *cpu > 0.0)) {
        task.options.remaining_events = (work / cpu) as u64;
    }
    Ok(task)
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

impl CasePublisher<'_> {
    /// Reads back tasks that got their nuclei before, so that as much work remains there as stated:
    /// in all, and of the share by least priority. And the task that the case's is made of.
    fn earlier_tasks(&mut self, rulebook: &Rulebook) -> Result<(), String> {
        let brokerage = &self.scenario["task_brokerage"];
        let by_priority = entries(&brokerage["remaining_work_by_priority"]);
        let mut levels: Vec<(i32, &Value)> =
            by_priority.filter_map(|(level, work)| Some((level.parse().ok()?, work))).collect();
        levels.sort_by_key(|(level, _)| -level);
        let gshare = text(&self.scenario["task"]["gshare"]);
        let mut counted: BTreeMap<&str, f64> = BTreeMap::new();
        for (level, work) in levels {
            for (nucleus, work) in entries(work) {
                let before = counted.entry(nucleus).or_default();
                let more = number(work).unwrap_or(0.0) - *before;
                *before += more;
                self.work(nucleus, (&gshare, level), more)?;
            }
        }
        let all = &brokerage["remaining_work_all"];
        entries(all).for_each(|(nucleus, _)| _ = counted.entry(nucleus).or_default());
        for (nucleus, counted) in counted {
            let more = number(&all[nucleus]).unwrap_or(0.0) - counted;
            self.work(nucleus, ("other", 0), more)?;
        }
        let parent = &brokerage["parent_task"];
        if parent.is_object() {
            let whole = serde_json::json!({"scenario": {
                "task": parent, "input": self.scenario["input"], "now": self.scenario["now"],
            }});
            let parent = task(&whole, parent, rulebook)?;
            self.ask(&Task { phase: TaskPhase::Ended, ..parent })?;
        }
        Ok(())
    }

    /// A task that got its nucleus, of which so much work remains.
    fn work(&mut self, nucleus: &str, of: (&str, i32), work: f64) -> Result<(), String> {
        if work < 0.0 {
            self.note("less work remains in all than of a part", &["weight ", "space"]);
        }
        if work <= 0.0 {
            return Ok(());
        }
        let (gshare, priority) = of;
        let subject = format!("earlier/{nucleus}/{gshare}/{priority}");
        let ranked = Ranked {
            queue: nucleus.to_owned(),
            unified: nucleus.to_owned(),
            weight: 1.0,
            jobs: 0,
            cores: 0,
            factors: Vec::new(),
            platform: String::new(),
        };
        let (domain, policy) = (self.world.domain.clone(), self.world.policy.clone());
        let decision = Decision {
            task: subject.clone(),
            now: self.now - 1,
            policy: policy.clone(),
            gshare: gshare.to_owned(),
            nucleus: nucleus.to_owned(),
            ..Decision::new(&domain, &subject, 0, 1, Outcome::Assign(vec![ranked]))
        };
        self.world.read_back(&decision.into())?;
        let mut task = Task {
            subject: subject.clone(),
            task: subject,
            domain,
            policy,
            asked_at: self.now - 1,
            changed_at: self.now - 1,
            gshare: gshare.to_owned(),
            priority,
            cpu_hs06s_per_event: Some(work),
            ..Task::default()
        };
        task.options.remaining_events = 1;
        self.ask(&task)
    }

    /// Files on their way to nuclei, more than are let through.
    fn backlogs(&mut self) -> Result<(), String> {
        for nucleus in texts(&self.scenario["task_brokerage"]["backlogged_nuclei"]) {
            let queued =
                LinkQueued { activity: PRODUCTION.to_owned(), files: BACKLOG_FILES, bytes: 0 };
            let link = Link {
                source: "elsewhere".to_owned(),
                destination: nucleus,
                changed_at: self.now,
                queued: vec![queued],
                queued_known: true,
                ..Link::default()
            };
            self.world.read(Topic::Link, self.now, |out| record::write(out, &link))?;
        }
        Ok(())
    }
}

/// A decision on a task's nucleus in the shape of what was recorded; `unit` draws among those that
/// passed, in an order.
fn of_nuclei(
    decision: &Decision,
    task: &Task,
    order: &[String],
    unit: f64,
    rules: Rules,
) -> Judged {
    let mut judged = Judged { verdict: "pending", ..Judged::default() };
    if let Outcome::Reject { reason } = &decision.outcome {
        (judged.verdict, judged.reason) = ("rejected", reason.clone());
        return judged;
    }
    let assigned = match &decision.outcome {
        Outcome::Assign(ranked) => ranked.first(),
        _ => None,
    };
    if assigned.is_some() {
        judged.verdict = "assigned";
    }
    if assigned.is_some() && !task.nucleus.is_empty() {
        judged.nucleus = Some(decision.nucleus.clone());
        return judged;
    }
    for fate in decision.fates.iter() {
        match (&*fate.filter, &*fate.reason) {
            (DRAW, _) => _ = judged.weighed.insert(fate.queue.to_string(), fate.measured),
            (_, reason) => {
                judged.skipped.insert(fate.queue.to_string(), criteria(reason).to_owned());
            }
        }
    }
    if let Some(assigned) = assigned {
        judged.weighed.insert(assigned.queue.clone(), assigned.weight);
        judged.nucleus = drawn(&judged.weighed, order, unit, rules);
    }
    if let Some(reason) = wait_of(decision) {
        judged.reason = reason.name().to_owned();
        // PanDA names no nucleus when none has a queue.
        judged.skipped.retain(|_, tag| tag != "job");
    } else if assigned.is_none() {
        judged.reason = "no_candidates".to_owned();
    }
    judged
}

/// One of the nuclei, in proportion to their weights. Where all weights are 0, PanDA takes the
/// first; by the documentation each is as likely as any other.
fn drawn(
    weighed: &BTreeMap<String, f64>,
    order: &[String],
    unit: f64,
    rules: Rules,
) -> Option<String> {
    let place = |name: &str| order.iter().position(|it| it == name).unwrap_or(usize::MAX);
    let mut all: Vec<(&String, f64)> =
        weighed.iter().map(|(name, weight)| (name, *weight)).collect();
    all.sort_by_key(|(name, _)| place(name));
    let sum: f64 = all.iter().map(|(_, weight)| weight).sum();
    let mut left = unit * sum;
    let is_first = rules == Rules::Panda;
    if sum == 0.0 {
        let index = if is_first { 0 } else { (unit * all.len() as f64) as usize };
        return all.get(index).map(|(name, _)| (*name).clone());
    }
    for (name, weight) in &all {
        left -= weight;
        if left <= 0.0 && (*weight > 0.0 || is_first) {
            return Some((*name).clone());
        }
    }
    all.iter().rfind(|(_, weight)| *weight > 0.0).map(|(name, _)| (*name).clone())
}

/// PanDA's word for a reason.
fn criteria(reason: &str) -> &str {
    match reason {
        "not_full_chain" | "parent" => "full_chain",
        _ => reason,
    }
}
