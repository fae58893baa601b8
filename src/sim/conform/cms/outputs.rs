//! Our own earlier outputs of a case: what holds slots, what was boosted, learnt, killed, drained.

use super::super::json::{items, text, texts, whole};
use super::super::world::World;
use super::cut;
use super::read::{known, named, number};
use super::records::{attempt, millis, owners, publish_state};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::domain::cms::output::Matched;
use yardmaster_core::domain::cms::policy::facts::Seconds;
use yardmaster_core::event::{self, Band, Class, JobState, OutcomeAbout, OutcomeKind, Status};
use yardmaster_core::output::Output;
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::output::decision::{Decision, Outcome, Ranked};
use yardmaster_core::output::id::DecisionId;
use yardmaster_core::unit::HOUR;
use yardmaster_wire::record;

/// The power of a core at each site of a case: of the highest revision that can be in force.
fn powers(scenario: &Value) -> BTreeMap<String, i64> {
    let mut newest: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for value in items(&scenario["sites"]) {
        let Ok(quota) = super::records::quota(value) else { continue };
        if quota.parts().count().is_err() {
            continue;
        }
        let entry = newest.entry(text(&value["site"])).or_insert((i64::MIN, 0));
        *entry = (*entry).max((quota.revision, quota.corepower_mhs06));
    }
    newest.into_iter().map(|(site, (_, power))| (site, power)).collect()
}

/// Reads back what was decided of workflows, nodes and jobs before a moment.
///
/// # Errors
/// The part of the case that cannot be read.
pub(super) fn read_back(world: &mut World, scenario: &Value, now_s: Seconds) -> Result<(), String> {
    for value in items(&scenario["workflows"]) {
        of_workflow(world, value, now_s - 1)?;
    }
    drains(world, scenario, now_s)?;
    let (owners, powers) = (owners(scenario), powers(scenario));
    for value in items(&scenario["running_jobs"]).filter(|value| is_matched(value)) {
        let site = text(&value["run_site"]);
        let power = number(&value["corepower_mhs06"]).or(powers.get(&site).copied());
        let matched = matched(world, value, &owners, power.unwrap_or(0), now_s);
        world.read_back(&matched)?;
    }
    Ok(())
}

fn of_workflow(world: &mut World, value: &Value, at_s: Seconds) -> Result<(), String> {
    let name = text(&value["workflow"]);
    let command = |kind: CommandKind| Command {
        kind,
        now: millis(at_s),
        ..Command::new("cms", kind.name(), &name, 0, None)
    };
    if value["boosted"] == true {
        carried_out(world, command(CommandKind::Boost))?;
    }
    if value["status"] == "killed" {
        carried_out(world, command(CommandKind::KillWorkflow))?;
    }
    if let Some(profile) = known(&value["profile"]) {
        let command = Command {
            measured: whole(&profile["wall_s"]) as f64,
            limit: whole(&profile["rss_mb"]) as f64,
            ..command(CommandKind::Profile)
        };
        carried_out(world, command)?;
    }
    Ok(())
}

/// Reads a command back, and what became of it.
fn carried_out(world: &mut World, command: Command) -> Result<(), String> {
    let outcome = event::DecisionOutcome {
        subject: command.subject.clone(),
        decision: DecisionId(command.id.0),
        about: OutcomeAbout::Command,
        kind: OutcomeKind::Accepted,
        at: command.now,
        reason: String::new(),
    };
    let at = command.now;
    world.read_back(&command.into())?;
    world.read(Topic::Outcome, at, |out| record::write(out, &outcome))
}

/// The drains under way, and those begun within the last hour.
fn drains(world: &mut World, scenario: &Value, now_s: Seconds) -> Result<(), String> {
    let drained: Vec<String> = items(&scenario["draining"]).map(|it| text(&it["node"])).collect();
    for value in items(&scenario["draining"]) {
        // So long ago that its begin counts for no rate any more.
        let begun_s = now_s - 2 * 3_600;
        let (node, site) = (text(&value["node"]), text(&value["site"]));
        let until_s = whole(&value["until_s"]);
        let job = text(&value["job"]);
        carried_out(world, drain(&node, &site, &job, (begun_s, until_s)))?;
    }
    for (number, value) in items(&scenario["drain_starts"]).enumerate() {
        let (site, begun_s) = (text(&value["site"]), whole(&value["started_at_s"]));
        let free = items(&scenario["nodes"])
            .find(|node| text(&node["site"]) == site && !drained.contains(&text(&node["node"])));
        let node = free.map_or(format!("gone-{number}"), |node| text(&node["node"]));
        carried_out(world, drain(&node, &site, "", (begun_s, begun_s)))?;
        let kind = CommandKind::Undrain;
        let ended = Command::new("cms", kind.name(), &node, 0, Some(millis(begun_s)));
        carried_out(world, Command { kind, now: millis(begun_s), ..ended })?;
    }
    Ok(())
}

fn drain(node: &str, site: &str, job: &str, (begun_s, until_s): (Seconds, Seconds)) -> Command {
    let kind = CommandKind::Drain;
    Command {
        kind,
        queue: site.to_owned(),
        jobs: vec![job.to_owned()],
        measured: (until_s - begun_s) as f64,
        now: millis(begun_s),
        ..Command::new("cms", kind.name(), node, 0, Some(millis(begun_s)))
    }
}

/// Whether a job holds its slots by a decision; else it was only seen running.
fn is_matched(value: &Value) -> bool {
    const OF_DECISIONS: [&str; 7] = [
        "band",
        "overflow_source",
        "charged_group",
        "node",
        "expected_end_s",
        "started_at_s",
        "corepower_mhs06",
    ];
    value["state"] == "reserved" || OF_DECISIONS.iter().any(|name| !value[*name].is_null())
}

/// Whether a job of a case has started.
pub(super) fn is_started(value: &Value) -> bool {
    value["state"] != "reserved"
}

/// The decision that gave a job its slots.
fn matched(
    world: &World,
    value: &Value,
    owners: &BTreeMap<String, (Class, String)>,
    power: i64,
    now_s: Seconds,
) -> Output {
    let workflow = text(&value["workflow"]);
    let (class, user) = owners.get(&workflow).cloned().unwrap_or_default();
    let at_s = match is_started(value) {
        true => now_s - 1,
        false => number(&value["reserved_at_s"]).unwrap_or(now_s - 1),
    };
    // It counts from its start, which is now, else from the decision.
    let from_s = if is_started(value) { now_s } else { at_s };
    let wall_limit_s =
        number(&value["max_wall_time_s"]).unwrap_or(cut::settings(world).default_wall_time_s);
    let started_s = number(&value["started_at_s"]).unwrap_or(from_s);
    let end_s = number(&value["expected_end_s"]).unwrap_or(started_s + wall_limit_s);
    let band = match number(&value["band"]) {
        Some(0) => Band::System,
        Some(1) => Band::Test,
        Some(_) | None => Band::Normal,
    };
    let slots = Slots {
        job: text(&value["job"]),
        attempt: attempt(value),
        workflow,
        user,
        class,
        site: text(&value["run_site"]),
        cores: whole(&value["alloc_cores"]),
        power,
        wall_time_s: end_s - from_s,
        charged_group: named(&value["charged_group"]).unwrap_or_default(),
        at_s,
    };
    let mut decision = given(world, &slots);
    if let Some(matched) = &mut decision.matched {
        matched.band = band;
        matched.node = text(&value["node"]);
        matched.overflow_source = text(&value["overflow_source"]);
    }
    decision.into()
}

/// Slots that a job got.
pub(super) struct Slots {
    /// The job.
    pub job: String,
    /// Its attempt.
    pub attempt: u32,
    /// Its workflow.
    pub workflow: String,
    /// Its user.
    pub user: String,
    /// Its class.
    pub class: Class,
    /// Where.
    pub site: String,
    /// How many.
    pub cores: i64,
    /// Power of each, thousandths of HS06.
    pub power: i64,
    /// For how long, s.
    pub wall_time_s: Seconds,
    /// The restricted pool that is charged; empty: none.
    pub charged_group: String,
    /// When that was decided.
    pub at_s: Seconds,
}

/// The decision by which a job got slots.
pub(super) fn given(world: &World, slots: &Slots) -> Decision {
    let settings = cut::settings(world);
    let weight_milli = slots.cores.saturating_mul(settings.kappa_milli(slots.power));
    let is_charged = !slots.charged_group.is_empty();
    let ranked = Ranked {
        queue: slots.site.clone(),
        unified: slots.site.clone(),
        weight: 1.0,
        jobs: 1,
        cores: u32::try_from(slots.cores).unwrap_or(u32::MAX),
        factors: Vec::new(),
        platform: String::new(),
    };
    let outcome = Outcome::Assign(vec![ranked]);
    Decision {
        now: millis(slots.at_s),
        policy: "cms".to_owned(),
        task: slots.workflow.clone(),
        user: slots.user.clone(),
        gshare: slots.class.name().to_owned(),
        full: false,
        matched: Some(Matched {
            job: slots.job.clone(),
            job_attempt: slots.attempt,
            class: slots.class,
            cores: slots.cores,
            weight_milli,
            usage_milli: settings.charge_milli(weight_milli, is_charged),
            wall_time_s: slots.wall_time_s,
            charged_group: slots.charged_group.clone(),
            ..Matched::default()
        }),
        ..Decision::new("cms", &format!("once/{}", slots.job), 0, 1, outcome)
    }
}

/// Publishes jobs that ended where their workflow overflowed to (C-40).
///
/// # Errors
/// That a record cannot be read.
pub(super) fn publish_overflowed(
    world: &mut World,
    value: &Value,
    now_s: Seconds,
) -> Result<(), String> {
    let workflow = text(&value["workflow"]);
    for site in texts(&value["overflow_sites_used"]) {
        let job = format!("{workflow}/overflow/{site}");
        let slots = Slots {
            job: job.clone(),
            attempt: 0,
            workflow: workflow.clone(),
            user: text(&value["user"]),
            class: Class::Central,
            site: site.clone(),
            cores: 0,
            power: 0,
            wall_time_s: 1,
            charged_group: String::new(),
            at_s: now_s - 3,
        };
        let mut decision = given(world, &slots);
        if let Some(matched) = &mut decision.matched {
            matched.overflow_source = "elsewhere".to_owned();
        }
        world.read_back(&decision.into())?;
        let state = JobState {
            job: &job,
            task: &workflow,
            queue: &site,
            status: Status::Failed,
            cores: 1,
            created_at: millis(now_s) - HOUR,
            started_at: millis(now_s - 2),
            ended_at: millis(now_s - 1),
            changed_at: millis(now_s - 1),
            ..JobState::default()
        };
        publish_state(world, &state, now_s)?;
    }
    Ok(())
}
