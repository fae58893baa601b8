//! The records of a case: what others published of its sites, users, workflows, jobs, nodes and
//! offers.

use super::super::json::{flag, items, text, texts, whole};
use super::super::world::World;
use super::cut;
use super::read::{failure, known, list, named, number, one_of};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::domain::cms::policy::facts::Seconds;
use yardmaster_core::event::{
    Class, ExtraBlock, FailureClass, Grant, GrantScopeKind, JobState, Pilot, PrincipalKind,
    Requirements, Site, SiteStatus, SlotOffer, SlotQuota, Status, Task, TaskPhase, User, UserKind,
    WorkflowFacts,
};
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_wire::record;

/// Memory in MB, and time in s, of a node: more than any job takes.
const AMPLE: i64 = 1_000_000_000;

/// A job that waits is published again after so long at the latest.
const PUBLISHED_AGAIN_S: Seconds = 7 * 86_400;

/// Time as records state it.
pub(super) fn millis(at_s: Seconds) -> Millis {
    at_s.saturating_mul(SECOND)
}

/// Publishes all configuration and all workflows of a case at its moment.
///
/// # Errors
/// The part of the case that cannot be read.
pub(super) fn publish_facts(
    world: &mut World,
    scenario: &Value,
    now_s: Seconds,
) -> Result<(), String> {
    for value in items(&scenario["sites"]) {
        publish_site(world, value, now_s)?;
    }
    for value in users(world, scenario, now_s).values() {
        world.read(Topic::User, millis(now_s), |out| record::write(out, value))?;
    }
    for (number, value) in items(&scenario["grants"]).enumerate() {
        let grant = grant(value, number, now_s)?;
        world.read(Topic::Grant, millis(now_s), |out| record::write(out, &grant))?;
    }
    for value in items(&scenario["workflows"]) {
        publish_workflow(world, value, now_s)?;
    }
    Ok(())
}

/// Publishes a revision of a site's configuration.
///
/// # Errors
/// The part of it that cannot be read.
pub(super) fn publish_site(world: &mut World, value: &Value, now_s: Seconds) -> Result<(), String> {
    let site = Site {
        name: text(&value["site"]),
        changed_at: millis(now_s),
        active: true,
        slot_quota: Some(quota(value)?),
        ..Site::default()
    };
    world.read(Topic::Site, millis(now_s), |out| record::write(out, &site))
}

/// The quota of a site.
///
/// # Errors
/// The part of it that cannot be read.
pub(super) fn quota(value: &Value) -> Result<SlotQuota, String> {
    let surplus = &value["accept_surplus"];
    let status = known(&value["status"]).map(|status| {
        one_of(status, "status", "online, drain, offline or test", SiteStatus::from_name)
    });
    Ok(SlotQuota {
        revision: whole(&value["revision"]),
        tier: text(&value["tier"]),
        status: status.transpose()?.unwrap_or(SiteStatus::Online),
        region: named(&value["region"]),
        pledged_slots: whole(&value["pledged_slots"]),
        central_permille: number(&value["pledged_central_fraction_permille"]).unwrap_or(500),
        central_slots: number(&value["central_slots"]),
        extra_blocks: items(&value["extra_blocks"]).map(block).collect::<Result<_, _>>()?,
        overflow_slots: whole(&value["overflow_slots"]),
        high_io_slots: number(&value["high_io_slots"]).unwrap_or(25),
        corepower_mhs06: number(&value["corepower_mhs06"]).unwrap_or(10_000),
        surplus_central: known(&surplus["central"]).map(flag),
        surplus_analysis: known(&surplus["analysis"]).map(flag),
    })
}

fn block(value: &Value) -> Result<ExtraBlock, String> {
    Ok(ExtraBlock {
        label: named(&value["block"]),
        slots: whole(&value["slots"]),
        central_slots: number(&value["central_slots"]),
        restricted_group: named(&value["restricted_group"]),
        priority_group: named(&value["priority_group"]),
        class_only: class(value, "class_only")?,
    })
}

fn class(value: &Value, field: &str) -> Result<Option<Class>, String> {
    let read = |it| one_of(it, field, "central or analysis", Class::from_name);
    known(&value[field]).map(read).transpose()
}

/// The users of a case; groups that sites define are groups as all others are. Whose system jobs
/// wait has the role for that: they were admitted (C-05).
fn users(world: &World, scenario: &Value, now_s: Seconds) -> BTreeMap<String, User> {
    let mut users: BTreeMap<String, User> = BTreeMap::new();
    let blank = |name: &str| User {
        kind: UserKind::User,
        name: name.to_owned(),
        changed_at: millis(now_s),
        ..User::default()
    };
    for value in items(&scenario["users"]) {
        let name = text(&value["user"]);
        let user = User {
            groups: texts(&value["groups"]),
            roles: texts(&value["roles"]),
            past_usage_milli: whole(&value["decayed_usage_milli"]),
            past_usage_at: millis(now_s),
            ..blank(&name)
        };
        users.insert(name, user);
    }
    for value in items(&scenario["groups"]) {
        for name in texts(&value["members"]) {
            let user = users.entry(name.clone()).or_insert_with(|| blank(&name));
            user.groups.push(text(&value["group"]));
        }
    }
    let owners = owners(scenario);
    let system = items(&scenario["pending_jobs"]).filter(|job| flag(&job["system_job"]));
    for (_, name) in system.filter_map(|job| owners.get(&text(&job["workflow"]))) {
        let user = users.entry(name.clone()).or_insert_with(|| blank(name));
        user.roles.extend(cut::settings(world).system_roles.first().cloned());
    }
    users
}

/// Class and user of each workflow of a case, by name.
pub(super) fn owners(scenario: &Value) -> BTreeMap<String, (Class, String)> {
    let each = items(&scenario["workflows"]).map(|value| {
        let class = value["class"].as_str().and_then(Class::from_name).unwrap_or_default();
        (text(&value["workflow"]), (class, text(&value["user"])))
    });
    each.collect()
}

fn grant(value: &Value, number_of: usize, now_s: Seconds) -> Result<Grant, String> {
    let scope = |it| one_of(it, "scope_kind", "global, region or site", GrantScopeKind::from_name);
    let kind = |it| one_of(it, "principal_kind", "user or group", PrincipalKind::from_name);
    let moment = |value: &Value| number(value).map_or(0, millis);
    Ok(Grant {
        name: format!("grant-{number_of}"),
        changed_at: millis(now_s),
        principal_kind: known(&value["principal_kind"]).map(kind).transpose()?.unwrap_or_default(),
        principal: text(&value["principal"]),
        only_with_group: text(&value["only_with_group"]),
        scope_kind: known(&value["scope_kind"]).map(scope).transpose()?.unwrap_or_default(),
        scope: text(&value["scope"]),
        level: whole(&value["level"]),
        factor_milli: None,
        cap_weight_milli: number(&value["cap_weight_milli"]),
        valid_from: moment(&value["valid_from_s"]),
        valid_to: moment(&value["valid_to_s"]),
    })
}

/// Publishes a workflow: a record for each change of its priority, and its own.
///
/// # Errors
/// The part of it that cannot be read.
pub(super) fn publish_workflow(
    world: &mut World,
    value: &Value,
    now_s: Seconds,
) -> Result<(), String> {
    let own = (whole(&value["priority_rev"]), whole(&value["priority"]), false);
    let changes = items(&value["priority_changes"]).map(|change| {
        (whole(&change["rev"]), whole(&change["priority"]), flag(&change["override_tail"]))
    });
    let name = text(&value["workflow"]);
    let stated_class =
        class(value, "class")?.ok_or("field `class`: found nothing, wants central or analysis")?;
    for (priority_revision, priority, override_tail) in changes.chain([own]) {
        let limit = |value: &Value| number(value).unwrap_or(-1);
        let facts = WorkflowFacts {
            class: stated_class,
            priority,
            priority_revision,
            override_tail,
            total_jobs: number(&value["total_jobs"]),
            allow_overflow: flag(&value["allow_overflow"]),
            overflow_sites: list(&value["overflow_sites_list"]),
            max_overflow_sites: value.get("max_overflow_sites").map(limit),
            test_jobs: number(&value["test_jobs"]),
            tail_permille: number(&value["tail_fraction_permille"]),
            site_test: flag(&value["site_test"]),
        };
        let task = Task {
            subject: name.clone(),
            task: name.clone(),
            domain: "cms".to_owned(),
            policy: "cms".to_owned(),
            phase: match value["status"].as_str() {
                Some("done") => TaskPhase::Ended,
                _ => TaskPhase::Asking,
            },
            asked_at: millis(whole(&value["injected_at_s"])),
            changed_at: millis(now_s),
            user: text(&value["user"]),
            working_group: text(&value["working_group"]),
            workflow: Some(facts),
            ..Task::default()
        };
        world.read(Topic::Task, millis(now_s), |out| record::write(out, &task))?;
    }
    Ok(())
}

/// The sites of a whitelist as a record has them.
pub(super) fn whitelist(value: &Value) -> Option<String> {
    list(&value["site_whitelist"]).map(|sites| sites.join(","))
}

/// The wishes of a job; `sites`: its whitelist as a record has it.
///
/// # Errors
/// The part of it that cannot be read.
pub(super) fn requirements<'a>(
    value: &Value,
    sites: Option<&'a str>,
) -> Result<Requirements<&'a str>, String> {
    let cores_max = known(&value["cores_max"]);
    let all_cores = cores_max.is_some_and(|most| most.as_str() == Some("node"));
    Ok(Requirements {
        seq: Some(whole(&value["seq"])),
        class: class(value, "class")?,
        site_whitelist: sites,
        allow_overflow: known(&value["allow_overflow"]).map(flag),
        high_io: flag(&value["high_io"]),
        system_job: flag(&value["system_job"]),
        whole_node: flag(&value["whole_node"]),
        cores_min: number(&value["cores_min"]).unwrap_or(1),
        cores_max: cores_max.filter(|_| !all_cores).map(whole),
        all_cores,
        base_cores: number(&value["base_cores"]),
        max_wall_time_s: number(&value["max_wall_time_s"]),
        max_rss_mb: number(&value["max_rss_mb"]),
        user_priority: whole(&value["user_priority"]),
        last_failure: failure(&value["last_failure_class"])?,
        ..Requirements::default()
    })
}

/// A job's attempt, 0 or more.
pub(super) fn attempt(value: &Value) -> u32 {
    super::super::json::count(&value["attempt"])
}

/// Publishes a job as it waits; `first_s`: since when its record lies there.
///
/// # Errors
/// The part of it that cannot be read.
pub(super) fn publish_pending(
    world: &mut World,
    value: &Value,
    first_s: Seconds,
) -> Result<(), String> {
    let queued_s = whole(&value["queued_at_s"]);
    let not_fitted_s = number(&value["not_fitted_since_s"]).unwrap_or(queued_s);
    let (job, workflow, sites) = (text(&value["job"]), text(&value["workflow"]), whitelist(value));
    let state = JobState {
        job: &job,
        task: &workflow,
        status: Status::Pending,
        attempt: attempt(value),
        created_at: millis(queued_s),
        // An attempt waits since its state changed: it has not fitted since then (C-55). One that
        // waits for long is published again, or it would be forgotten.
        changed_at: millis(not_fitted_s.max(first_s - PUBLISHED_AGAIN_S)),
        requirements: Some(Box::new(requirements(value, sites.as_deref())?)),
        ..JobState::default()
    };
    publish_state(world, &state, first_s)
}

/// Publishes a job as it runs, since this moment.
///
/// # Errors
/// The part of it that cannot be read.
pub(super) fn publish_running(
    world: &mut World,
    value: &Value,
    now_s: Seconds,
) -> Result<(), String> {
    let (job, workflow, sites) = (text(&value["job"]), text(&value["workflow"]), whitelist(value));
    let site = text(&value["run_site"]);
    let state = JobState {
        job: &job,
        task: &workflow,
        queue: &site,
        status: Status::Running,
        attempt: attempt(value),
        cores: super::super::json::count(&value["alloc_cores"]),
        created_at: millis(whole(&value["queued_at_s"])),
        started_at: millis(now_s),
        changed_at: millis(now_s),
        requirements: Some(Box::new(requirements(value, sites.as_deref())?)),
        ..JobState::default()
    };
    publish_state(world, &state, now_s)
}

/// Publishes a test job that ended.
///
/// # Errors
/// The part of it that cannot be read.
pub(super) fn publish_ended(
    world: &mut World,
    value: &Value,
    ended_s: Seconds,
) -> Result<(), String> {
    let (job, workflow, sites) = (text(&value["job"]), text(&value["workflow"]), whitelist(value));
    let (site, started_s) = (text(&value["run_site"]), ended_s - whole(&value["wall_s"]));
    let is_done = value["state"] == "done";
    let stated = failure(&value["failure_class"])?.unwrap_or(FailureClass::Payload);
    let state = JobState {
        job: &job,
        task: &workflow,
        queue: &site,
        status: if is_done { Status::Finished } else { Status::Failed },
        attempt: attempt(value),
        cores: 1,
        created_at: millis(started_s),
        started_at: millis(started_s),
        ended_at: millis(ended_s),
        changed_at: millis(ended_s),
        requirements: Some(Box::new(Requirements {
            failure: (!is_done).then_some(stated),
            used_rss_mb: whole(&value["rss_mb"]),
            ..requirements(value, sites.as_deref())?
        })),
        ..JobState::default()
    };
    publish_state(world, &state, ended_s)
}

/// Publishes that so many jobs of a workflow ended in a state; they were no test jobs.
///
/// # Errors
/// Never.
pub(super) fn publish_over(
    world: &mut World,
    workflow: &str,
    status: Status,
    jobs: i64,
    ended_s: Seconds,
) -> Result<(), String> {
    for number in 0..jobs {
        let job = format!("{workflow}/{}/{number}", status.name());
        let state = JobState {
            job: &job,
            task: workflow,
            status,
            ended_at: millis(ended_s),
            changed_at: millis(ended_s),
            ..JobState::default()
        };
        publish_state(world, &state, ended_s)?;
    }
    Ok(())
}

/// Publishes a job's state.
///
/// # Errors
/// That it cannot be read.
pub(super) fn publish_state(
    world: &mut World,
    state: &JobState<'_>,
    at_s: Seconds,
) -> Result<(), String> {
    world.read(Topic::JobState, millis(at_s), |out| record::write(out, state))
}

/// Publishes an offer. It names its node where the case has that: an offer that names one makes it
/// known.
///
/// # Errors
/// That it cannot be read.
pub(super) fn publish_offer(
    world: &mut World,
    scenario: &Value,
    value: &Value,
    now_s: Seconds,
) -> Result<(), String> {
    let (name, site, block) = (text(&value["offer"]), text(&value["site"]), text(&value["block"]));
    let is_known = items(&scenario["nodes"]).any(|node| node["node"] == value["node"]);
    let node = if is_known { text(&value["node"]) } else { String::new() };
    let offer = SlotOffer {
        offer: name.as_str(),
        attempt: 0,
        cores_free: whole(&value["cores_free"]),
        cores_total: whole(&value["cores_total"]),
        wall_left_s: whole(&value["wall_left_s"]),
        mem_free_mb: whole(&value["mem_free_mb"]),
        block: block.as_str(),
        node: node.as_str(),
        corepower_mhs06: number(&value["corepower_mhs06"]),
        expires_at: number(&value["expires_at_s"]).map_or(0, millis),
        ..SlotOffer::default()
    };
    let pilot = Pilot::SlotOffer { queue: &site, offer: Box::new(offer), at: millis(now_s) };
    world.read(Topic::Pilot, millis(now_s), |out| record::write(out, &pilot))
}

/// Publishes that a node is there: an offer named it that is over. The model that cases are
/// recorded of knows its cores alone.
///
/// # Errors
/// That it cannot be read.
pub(super) fn publish_node(
    world: &mut World,
    value: &Value,
    before_s: Seconds,
) -> Result<(), String> {
    let (node, site) = (text(&value["node"]), text(&value["site"]));
    let name = format!("once/{node}");
    let offer = SlotOffer {
        offer: name.as_str(),
        node: node.as_str(),
        cores_total: whole(&value["cores_total"]),
        mem_free_mb: AMPLE,
        wall_left_s: AMPLE,
        expires_at: millis(before_s),
        ..SlotOffer::default()
    };
    let pilot = Pilot::SlotOffer { queue: &site, offer: Box::new(offer), at: millis(before_s) };
    world.read(Topic::Pilot, millis(before_s), |out| record::write(out, &pilot))
}
