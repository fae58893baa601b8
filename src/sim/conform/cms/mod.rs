//! A recorded case of the CMS policy, judged on the way that runs: what it states becomes records
//! on topics and earlier outputs of ours, which are read, folded and judged by the engine at a cut.

mod compare;
mod cut;
mod outputs;
mod read;
mod records;
mod show;

pub(super) use compare::compare;

use super::Recorded;
use super::json::{entries, items, show, text, whole};
use super::judged::Judged;
use super::rulebook::Configuration;
use super::world::World;
use outputs::Slots;
use read::{number, one_of};
use records::millis;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use yardmaster_core::domain::cms::policy::admission::{Admission, admit, max_overflow_sites};
use yardmaster_core::domain::cms::policy::effective::effective_test_jobs;
use yardmaster_core::domain::cms::policy::entry::{Standing, WorkflowEntry};
use yardmaster_core::domain::cms::policy::facts::Seconds;
use yardmaster_core::domain::cms::policy::why::{Blocked, PoolWait};
use yardmaster_core::event::{Class, JobState, Status};

/// Cores of a node that a case has drained and does not list.
const DRAINED_CORES: i64 = 64;

/// Judges a case.
///
/// # Errors
/// The part of the case that cannot be read.
pub(super) fn judge(recorded: &Recorded, by: Configuration<'_>) -> Result<Judged, String> {
    let scenario = &recorded.whole["scenario"];
    let subject = &scenario["subject"];
    let now_s = whole(&scenario["now_s"]);
    let mut world = cut::world(by, &scenario["params"])?;
    let result = match subject["kind"].as_str() {
        Some("offers" | "tick") => offers(&mut world, scenario, now_s)?,
        Some("job_admission") => job(&mut world, scenario, now_s)?,
        Some("workflow_admission") => workflow(&mut world, subject, now_s)?,
        Some("site_config") => site_config(&mut world, scenario, now_s)?,
        Some("job_event") => job_event(&mut world, subject, now_s)?,
        Some("usage") => usage(&mut world, subject, now_s)?,
        _ => {
            let found = show(&subject["kind"]);
            return Err(format!(
                "field `subject.kind`: found {found}, wants offers, tick, job_admission, \
                 workflow_admission, site_config, job_event or usage"
            ));
        }
    };
    Ok(Judged { verdict: "cms", result: Some(result), ..Judged::default() })
}

/// Why a case cannot be published, if it cannot: what has a revision has one content, and of two
/// the later record holds.
pub(super) fn contradiction(scenario: &Value) -> Option<&'static str> {
    let has_two = |value: &Value| {
        items(&value["priority_changes"])
            .any(|change| whole(&change["rev"]) == whole(&value["priority_rev"]))
    };
    if items(&scenario["workflows"]).any(has_two) {
        return Some("two priorities have one revision");
    }
    let config = &scenario["subject"]["config"];
    let is_other = |site: &Value| {
        site["site"] == config["site"]
            && whole(&site["revision"]) == whole(&config["revision"])
            && site != config
    };
    let is_double = items(&scenario["sites"]).any(is_other);
    is_double.then_some("two configurations have one revision")
}

/// Publishes all of a case but its subject, and what was decided before its moment.
fn publish(world: &mut World, scenario: &Value, now_s: Seconds) -> Result<(), String> {
    world.pass(millis(now_s - 1));
    outputs::read_back(world, scenario, now_s)?;
    records::publish_facts(world, scenario, now_s)?;
    for value in items(&scenario["workflows"]) {
        outputs::publish_overflowed(world, value, now_s)?;
        over(world, scenario, value, now_s)?;
    }
    for value in items(&scenario["ended_jobs"]) {
        records::publish_ended(world, value, now_s - 1)?;
    }
    for value in items(&scenario["pending_jobs"]) {
        records::publish_pending(world, value, now_s)?;
    }
    for value in items(&scenario["running_jobs"]) {
        match outputs::is_started(value) {
            true => records::publish_running(world, value, now_s)?,
            false => records::publish_pending(world, value, now_s)?,
        }
    }
    for value in items(&scenario["nodes"]) {
        records::publish_node(world, value, now_s - 1)?;
    }
    // A node that is drained is there, whether the case lists it or not.
    let is_listed = |node: &Value| items(&scenario["nodes"]).any(|it| it["node"] == node["node"]);
    for value in items(&scenario["draining"]).filter(|value| !is_listed(value)) {
        let (node, site) = (&value["node"], &value["site"]);
        let value = json!({"node": node, "site": site, "cores_total": DRAINED_CORES});
        records::publish_node(world, &value, now_s - 1)?;
    }
    Ok(())
}

/// Jobs of a workflow that are done beside those that a case names.
fn over(world: &mut World, scenario: &Value, value: &Value, now_s: Seconds) -> Result<(), String> {
    let name = text(&value["workflow"]);
    let of_it = items(&scenario["ended_jobs"]).filter(|ended| text(&ended["workflow"]) == name);
    let named = of_it.filter(|ended| ended["state"] == "done").count() as i64;
    let done = whole(&value["done_jobs"]) - named;
    records::publish_over(world, &name, Status::Finished, done, now_s - 1)?;
    let failed = whole(&value["failed_final_jobs"]);
    records::publish_over(world, &name, Status::Cancelled, failed, now_s - 1)
}

fn offers(world: &mut World, scenario: &Value, now_s: Seconds) -> Result<Value, String> {
    publish(world, scenario, now_s)?;
    for value in items(&scenario["subject"]["offers"]) {
        records::publish_offer(world, scenario, value, now_s)?;
    }
    Ok(show::cut(&cut::cut(world, now_s), now_s))
}

fn job(world: &mut World, scenario: &Value, now_s: Seconds) -> Result<Value, String> {
    let subject = &scenario["subject"];
    let first_s = number(&subject["first_seen_at_s"]).unwrap_or(now_s);
    records::publish_pending(world, &subject["job"], first_s)?;
    if first_s < now_s {
        world.pass(millis(first_s));
    }
    records::publish_facts(world, scenario, now_s)?;
    for value in items(&scenario["nodes"]) {
        records::publish_node(world, value, now_s - 1)?;
    }
    let decided = cut::cut(world, now_s);
    let name = text(&subject["job"]["job"]);
    if let Some(code) = decided.refused.get(&name) {
        return Ok(json!({"verdict": "reject", "code": code}));
    }
    if let Some(PoolWait::Blocked(Blocked::OnHold(until))) = world.engine.why_waits(&name) {
        let until_s = until.div_euclid(1_000);
        return Ok(json!({"verdict": "hold", "code": "workflow_unknown", "until_s": until_s}));
    }
    let pool = cut::pool(world)?;
    let Some(Standing::Pending(pending)) = pool.job(&name) else {
        return Ok(json!({"verdict": "lost"}));
    };
    match admit(pool, pending, first_s, now_s) {
        Admission::Accept(admitted) => Ok(show::accepted(pending, &admitted)),
        Admission::Hold(_) | Admission::Reject(_) => Ok(json!({"verdict": "lost"})),
    }
}

fn workflow(world: &mut World, subject: &Value, now_s: Seconds) -> Result<Value, String> {
    records::publish_workflow(world, &subject["workflow"], now_s)?;
    cut::cut(world, now_s);
    let pool = cut::pool(world)?;
    let entry =
        pool.name(&text(&subject["workflow"]["workflow"])).and_then(|name| pool.workflow(name));
    let Some(workflow) = entry.and_then(WorkflowEntry::workflow) else {
        return Ok(json!({"verdict": "lost"}));
    };
    let (facts, settings) = (workflow.facts(), pool.settings());
    let stated = workflow.known.priority.unwrap_or_default();
    Ok(json!({
        "verdict": "accept",
        "workflow": {
            "class": facts.class.name(),
            "priority": stated.priority,
            "priority_rev": stated.revision,
            "allow_overflow": facts.allow_overflow,
            "max_overflow_sites": max_overflow_sites(facts, settings),
            "test_jobs_effective": effective_test_jobs(facts, settings),
            "tail_fraction_permille": facts.tail_permille.unwrap_or(settings.tail_permille),
        },
    }))
}

fn site_config(world: &mut World, scenario: &Value, now_s: Seconds) -> Result<Value, String> {
    let config = &scenario["subject"]["config"];
    let site = text(&config["site"]);
    records::publish_facts(world, scenario, now_s - 1)?;
    cut::cut(world, now_s - 1);
    let before = in_force(world, &site)?;
    records::publish_site(world, config, now_s)?;
    cut::cut(world, now_s);
    let after = in_force(world, &site)?;
    let mut result = match records::quota(config)?.parts().count() {
        Err(bad) => json!({"verdict": "reject", "code": bad.code()}),
        Ok(_) if before == after => json!({"verdict": "ignore"}),
        Ok(_) => json!({"verdict": "accept"}),
    };
    if let Some(after) = after {
        result["in_force"] = after;
    }
    Ok(result)
}

fn in_force(world: &World, site: &str) -> Result<Option<Value>, String> {
    let pool = cut::pool(world)?;
    let terms = pool.name(site).and_then(|name| pool.site(name));
    Ok(terms.map(show::in_force))
}

/// State of a job: attempt, state, whether a slot is reserved for it.
fn standing(world: &World) -> Option<(u32, Status, bool)> {
    let known = world.engine.state.pool.jobs.of("j")?;
    let state = known.state.as_ref()?;
    let is_ours = |it: &&yardmaster_core::domain::cms::state::PoolMatch| {
        it.matched.job_attempt == state.attempt
    };
    Some((state.attempt, state.status, known.matched.as_ref().filter(is_ours).is_some()))
}

fn job_event(world: &mut World, subject: &Value, now_s: Seconds) -> Result<Value, String> {
    if let Some(known) = read::known(&subject["known"]) {
        report(world, known, now_s - 2)?;
    }
    world.pass(millis(now_s - 1));
    let before = standing(world);
    report(world, &subject["event"], now_s)?;
    world.pass(millis(now_s));
    Ok(json!({"applied": standing(world) != before}))
}

/// Publishes a state of a job; that a slot is reserved for it is a decision of ours.
fn report(world: &mut World, value: &Value, at_s: Seconds) -> Result<(), String> {
    let wants = "pending, reserved, running, done, failed or removed";
    let status = one_of(&value["state"], "state", wants, |name| {
        Some(match name {
            "pending" | "reserved" => Status::Pending,
            "running" => Status::Running,
            "done" => Status::Finished,
            "failed" => Status::Failed,
            "removed" => Status::Cancelled,
            _ => return None,
        })
    })?;
    let attempt = records::attempt(value);
    let state = JobState {
        job: "j",
        task: "w",
        status,
        attempt,
        created_at: millis(at_s),
        changed_at: millis(at_s),
        ..JobState::default()
    };
    records::publish_state(world, &state, at_s)?;
    if value["state"] == "reserved" {
        let slots = Slots {
            job: "j".to_owned(),
            attempt,
            workflow: "w".to_owned(),
            user: String::new(),
            class: Class::Central,
            site: "T2_X".to_owned(),
            cores: 1,
            power: 0,
            wall_time_s: 1,
            charged_group: String::new(),
            at_s,
        };
        let decision = outputs::given(world, &slots);
        world.read_back(&decision.into())?;
    }
    Ok(())
}

/// Users' jobs as they start and end, cycle by cycle.
fn usage(world: &mut World, subject: &Value, now_s: Seconds) -> Result<Value, String> {
    // A moment of 0 is none: all is later by whole half-lives, which changes nothing.
    let later_s = 1_000 * cut::settings(world).half_life_s;
    let now_s = now_s + later_s;
    let histories: Vec<(&String, usize, &Value)> = entries(&subject["histories"])
        .flat_map(|(user, history)| {
            items(history).enumerate().map(move |(at, stay)| (user, at, stay))
        })
        .collect();
    let moments = histories.iter().flat_map(|(_, _, stay)| {
        let ended_s = number(&stay["ended_at_s"]).map(|ended_s| ended_s + later_s);
        [Some(whole(&stay["started_at_s"]) + later_s), ended_s].into_iter().flatten()
    });
    let moments: BTreeSet<Seconds> = moments.filter(|at_s| *at_s <= now_s).collect();
    world.pass(millis(moments.first().copied().unwrap_or(now_s) - 1));
    for at_s in moments {
        for (user, number_of, stay) in &histories {
            follow(world, (user, *number_of), stay, (at_s, later_s))?;
        }
        world.pass(millis(at_s));
    }
    cut::cut(world, now_s);
    let pool = cut::pool(world)?;
    let mut users = Map::new();
    for (user, _) in entries(&subject["histories"]) {
        let usage = pool.name(user).map(|name| pool.counters().user(name).usage);
        let (usage, growth) = (usage.unwrap_or_default(), pool.decay().growth(now_s));
        let shown = json!({
            "decayed_usage_milli": usage.decayed_milli(growth) as i64,
            "running_milli": usage.running,
            "fair_share_milli": usage.fair_share_milli(growth) as i64,
        });
        users.insert(user.clone(), shown);
    }
    Ok(json!({"users": users}))
}

/// Publishes that a job of a user's history starts or ends at a moment.
fn follow(
    world: &mut World,
    (user, number_of): (&str, usize),
    stay: &Value,
    (at_s, later_s): (Seconds, Seconds),
) -> Result<(), String> {
    let started_s = whole(&stay["started_at_s"]) + later_s;
    let ended_s = number(&stay["ended_at_s"]).map(|ended_s| ended_s + later_s);
    let job = format!("{user} {number_of}");
    let state = JobState {
        job: &job,
        task: user,
        queue: "T2_X",
        status: Status::Running,
        cores: super::json::count(&stay["cores"]),
        created_at: millis(started_s),
        started_at: millis(started_s),
        changed_at: millis(at_s),
        ..JobState::default()
    };
    if started_s == at_s {
        let power =
            number(&stay["corepower_mhs06"]).unwrap_or(cut::settings(world).reference_mhs06);
        let slots = Slots {
            job: job.clone(),
            attempt: 0,
            workflow: user.to_owned(),
            user: user.to_owned(),
            class: Class::Analysis,
            site: "T2_X".to_owned(),
            cores: whole(&stay["cores"]),
            power,
            wall_time_s: 1,
            charged_group: String::new(),
            at_s,
        };
        let decision = outputs::given(world, &slots);
        world.read_back(&decision.into())?;
        records::publish_state(world, &state, at_s)?;
    }
    if ended_s == Some(at_s) {
        let ended = JobState { status: Status::Finished, ended_at: millis(at_s), ..state };
        records::publish_state(world, &ended, at_s)?;
    }
    Ok(())
}
