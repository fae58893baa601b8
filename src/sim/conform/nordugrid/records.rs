//! The records of a case: what others published of clusters, queues, users, files and jobs, and
//! where our earlier decisions placed jobs.

use super::super::json::{count, entries, flag, items, moment, text, texts, whole};
use super::super::world::World;
use serde_json::Value;
use yardmaster_core::cut::Topic;
use yardmaster_core::domain::nordugrid::output::Placed;
use yardmaster_core::event::{
    self, BatchFacts, ChildKind, ClusterFacts, JobDescription, JobState, Location, OutcomeAbout,
    OutcomeKind, Queue, Registration, RegistrationStatus, Replica, Site, Status, Task, Upload,
    UserShare,
};
use yardmaster_core::output::decision::{Decision, Outcome, Ranked};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// The user of all cases.
const USER: &str = "user";
/// The index server of a case that names none.
const INDEX_SERVER: &str = "index-1";
/// When caches were looked at of which a case states no time: before all decisions.
const LONG_AGO: Millis = 1;

/// Publishes all of a case.
///
/// # Errors
/// That a record cannot be read.
pub(super) fn publish(world: &mut World, scenario: &Value, now: Millis) -> Result<(), String> {
    world.pass(now - 1);
    read_back(world, scenario)?;
    registrations(world, scenario, now)?;
    for (name, it) in entries(&scenario["clusters"]) {
        let site = Site {
            name: name.clone(),
            changed_at: now,
            active: true,
            cluster: Some(cluster(it)),
            ..Site::default()
        };
        world.read(Topic::Site, now, |out| record::write(out, &site))?;
        caches(world, name, it, now)?;
        for (queue, it) in entries(&it["queues"]) {
            publish_queue(world, &format!("{name}/{queue}"), it, now)?;
        }
    }
    for (source, it) in entries(&scenario["files"]) {
        let locations =
            texts(&it["replicas"]).into_iter().map(|endpoint| location(endpoint, false));
        let bytes = it["size_bytes"].as_u64().unwrap_or(0);
        let locations = locations.collect();
        let name = source.clone();
        let file = Replica { name, changed_at: now, bytes, locations, ..Replica::default() };
        world.read(Topic::Replica, now, |out| record::write(out, &file))?;
    }
    for it in items(&scenario["jobs"]) {
        publish_job(world, it, now)?;
    }
    publish_request(world, scenario, now)
}

fn location(endpoint: String, cache: bool) -> Location {
    Location { endpoint, cache, complete: true, ..Location::default() }
}

fn registrations(world: &mut World, scenario: &Value, now: Millis) -> Result<(), String> {
    let stated = &scenario["registrations"];
    let all: Vec<Registration> = match stated.is_array() {
        true => items(stated).map(|it| registration(it, now)).collect(),
        false => {
            let of = |child: &String| Registration {
                registry: INDEX_SERVER.to_owned(),
                child: child.clone(),
                changed_at: now,
                kind: ChildKind::Computing,
                addressed: true,
                ..Registration::default()
            };
            entries(&scenario["clusters"]).map(|(name, _)| of(name)).collect()
        }
    };
    for registration in &all {
        world.read(Topic::Registration, now, |out| record::write(out, registration))?;
    }
    Ok(())
}

fn registration(it: &Value, now: Millis) -> Registration {
    let has = |name: &str| it.get(name).is_none_or(|value| !value.is_null());
    let refreshed_at = optional_moment(&it["refreshed_at"]);
    Registration {
        registry: text(&it["registry_id"]),
        child: text(&it["child_id"]),
        changed_at: refreshed_at.unwrap_or(now),
        kind: match it["child_kind"].as_str() {
            Some("registry") => ChildKind::Registry,
            Some("computing") => ChildKind::Computing,
            Some("storage") => ChildKind::Storage,
            Some(_) | None => ChildKind::Unknown,
        },
        status: match it["status"].as_str() {
            Some("PURGED") => RegistrationStatus::Purged,
            Some("INVALID") => RegistrationStatus::Invalid,
            Some(_) | None => RegistrationStatus::Valid,
        },
        addressed: ["host", "port", "suffix"].into_iter().all(has),
        expires: refreshed_at.is_some(),
        ttl_s: it["ttl_s"].as_u64(),
        announced_refresh_s: it["announced_refresh_s"].as_u64().unwrap_or(0),
    }
}

fn cluster(it: &Value) -> ClusterFacts {
    let has = |access: &str| texts(&it["node_access"]).iter().any(|it| it == access);
    ClusterFacts {
        answered: it["answered"].as_bool().unwrap_or(true),
        alias: text(&it["alias"]),
        total_slots: it["total_slots"].as_u64(),
        node_memory_mb: it["node_memory_mb"].as_u64(),
        clock_mhz: it["clock_mhz"].as_u64(),
        architecture: text(&it["architecture"]),
        middleware: texts(&it["middleware"]),
        runtime_environments: texts(&it["runtime_environments"]),
        operating_systems: texts(&it["operating_systems"]),
        inbound: has("inbound"),
        outbound: has("outbound"),
        local_storage: texts(&it["local_storage"]),
        cache_free_bytes: it["cache_free_bytes"].as_u64(),
        ..ClusterFacts::default()
    }
}

/// Known content of a cluster's cache: a list without a time, and newer reports.
fn caches(world: &mut World, cluster: &str, it: &Value, now: Millis) -> Result<(), String> {
    let listed = texts(&it["cached_files"]).into_iter().map(|source| (source, true, LONG_AGO));
    let reports = entries(&it["cache_content"])
        .map(|(source, it)| (source.clone(), flag(&it["present"]), moment(&it["as_of"])));
    for (name, is_present, changed_at) in listed.chain(reports) {
        let locations = is_present.then(|| location(cluster.to_owned(), true));
        let replica = Replica {
            name,
            changed_at,
            locations: locations.into_iter().collect(),
            endpoint: cluster.to_owned(),
            ..Replica::default()
        };
        world.read(Topic::Replica, now, |out| record::write(out, &replica))?;
    }
    Ok(())
}

fn publish_queue(world: &mut World, target: &str, it: &Value, now: Millis) -> Result<(), String> {
    let as_of = optional_moment(&it["as_of"]).unwrap_or(now);
    let batch = BatchFacts {
        status: text(&it["status"]),
        total_slots: it["total_slots"].as_u64(),
        max_slots_per_job: it["max_slots_per_job"].as_u64(),
        max_queuable_jobs: it["max_queuable_jobs"].as_u64(),
        grid_queued_jobs: it["grid_queued_jobs"].as_u64().unwrap_or(0),
        local_queued_jobs: it["local_queued_jobs"].as_u64().unwrap_or(0),
        min_cpu_time_s: it["min_cpu_time_s"].as_u64(),
        max_cpu_time_s: it["max_cpu_time_s"].as_u64(),
        max_total_cpu_time_s: it["max_total_cpu_time_s"].as_u64(),
        default_cpu_time_s: it["default_cpu_time_s"].as_u64(),
        default_wall_time_s: it["default_wall_time_s"].as_u64(),
        min_wall_time_s: it["min_wall_time_s"].as_u64(),
        max_wall_time_s: it["max_wall_time_s"].as_u64(),
        max_memory_mb: it["max_memory_mb"].as_u64(),
    };
    let queue = Queue {
        name: target.to_owned(),
        changed_at: as_of,
        batch: Some(batch),
        ..Queue::default()
    };
    world.read(Topic::Queue, now, |out| record::write(out, &queue))?;
    let user = &it["user"];
    if !user.is_object() {
        return Ok(());
    }
    let share = UserShare {
        queue: target.to_owned(),
        user: USER.to_owned(),
        changed_at: optional_moment(&user["as_of"]).unwrap_or(as_of),
        authorised: user["authorised"].as_bool().unwrap_or(true),
        free_slots: text(&user["free_slots"]),
        disk_free_bytes: user["disk_free_bytes"].as_u64(),
    };
    world.read(Topic::UserShare, now, |out| record::write(out, &share))
}

/// The state of ours that a word of ARC's is mapped to (docs/nordugrid.md).
fn status_of(word: &str) -> Status {
    let word = word.strip_prefix("PENDING:").unwrap_or(word);
    match word.split(':').next().unwrap_or(word) {
        "INLRMS" if word.ends_with(":R") => Status::Running,
        "RUNNING" | "EXITINGLRMS" | "OTHER" => Status::Running,
        "INLRMS" | "QUEUING" | "HELD" => Status::Sent,
        "FINISHING" | "CANCELING" | "EXECUTED" | "KILLING" => Status::Transferring,
        "FINISHED" => Status::Finished,
        "FAILED" => Status::Failed,
        "KILLED" | "DELETED" | "WIPED" => Status::Cancelled,
        _ => Status::Assigned,
    }
}

fn publish_job(world: &mut World, it: &Value, now: Millis) -> Result<(), String> {
    let (job, target, word) = (text(&it["job_id"]), text(&it["target"]), text(&it["state"]));
    let state = JobState {
        job: &job,
        queue: &target,
        status: status_of(&word),
        sub_status: &word,
        cores: it["count"].as_u64().map_or(1, |_| count(&it["count"])),
        cpu_time_s: count(&it["cpu_time_s"]),
        wall_time_s: count(&it["wall_time_s"]),
        created_at: LONG_AGO,
        activated_at: optional_moment(&it["reached_batch_at"]).unwrap_or(0),
        started_at: if flag(&it["staged"]) { LONG_AGO } else { 0 },
        changed_at: now,
        ..JobState::default()
    };
    world.read(Topic::JobState, now, |out| record::write(out, &state))
}

/// Reads our earlier decisions back, with what became of them: reservations, files that jobs bring
/// into caches, targets that refused the case's own job.
fn read_back(world: &mut World, scenario: &Value) -> Result<(), String> {
    let now = moment(&scenario["now"]);
    let reservations = items(&scenario["reservations"]).count() as u32;
    for (ordinal, it) in (1..).zip(items(&scenario["reservations"])) {
        let placed = Placed {
            count: it["count"].as_u64().unwrap_or(1),
            time_s: it["time_s"].as_u64(),
            disk_bytes: it["disk_bytes"].as_u64().unwrap_or(0),
            cache_bytes: it["cache_bytes"].as_u64().unwrap_or(0),
            ..Placed::default()
        };
        let (job, target) = (text(&it["job_id"]), text(&it["target"]));
        let at = optional_moment(&it["decided_at"]).unwrap_or(now - 1);
        let decision = placed_at(world, &job, (0, ordinal), &target, placed, at);
        let outcome = match it["outcome"].as_str() {
            Some("accepted") => Some(OutcomeKind::Accepted),
            Some("failed") => Some(OutcomeKind::Refused),
            Some(_) | None => None,
        };
        carried_out(world, decision, outcome)?;
    }
    for (ordinal, it) in (reservations + 1..).zip(items(&scenario["tags"])) {
        // At a queue that nobody can choose, where it holds nothing but its tag.
        let (job, target) = (text(&it["job_id"]), format!("{}/tags", text(&it["cluster"])));
        let placed = Placed { tags: vec![text(&it["file"])], ..Placed::default() };
        let decision =
            placed_at(world, &job, (0, ordinal), &target, placed, moment(&it["tagged_at"]));
        carried_out(world, decision, Some(OutcomeKind::Accepted))?;
    }
    let job = text(&scenario["job_id"]);
    let first = first_attempt(scenario);
    for (attempt, target) in (first..).zip(texts(&scenario["excluded_targets"])) {
        let decision = placed_at(world, &job, (attempt, 1), &target, Placed::default(), now - 1);
        carried_out(world, decision, Some(OutcomeKind::Refused))?;
    }
    Ok(())
}

/// The attempt with which the case's own job was submitted: each refusal was one more.
fn first_attempt(scenario: &Value) -> u64 {
    let refused = items(&scenario["excluded_targets"]).count() as u64;
    (whole(&scenario["attempt"]).max(0) as u64).saturating_sub(refused)
}

fn placed_at(
    world: &World,
    job: &str,
    (attempt, ordinal): (u64, u32),
    target: &str,
    placed: Placed,
    now: Millis,
) -> Decision {
    let ranked = Ranked {
        queue: target.to_owned(),
        unified: target.to_owned(),
        weight: 1.0,
        jobs: 1,
        cores: u32::try_from(placed.count).unwrap_or(u32::MAX),
        factors: Vec::new(),
        platform: String::new(),
    };
    Decision {
        now,
        policy: world.policy.clone(),
        placed: Some(placed),
        ..Decision::new(&world.domain, job, attempt, ordinal, Outcome::Assign(vec![ranked]))
    }
}

fn carried_out(
    world: &mut World,
    decision: Decision,
    kind: Option<OutcomeKind>,
) -> Result<(), String> {
    let (subject, id, at) = (decision.subject.clone(), decision.id, decision.now);
    world.read_back(&decision.into())?;
    let Some(kind) = kind else { return Ok(()) };
    let outcome = event::DecisionOutcome {
        subject,
        decision: id,
        about: OutcomeAbout::Decision,
        kind,
        at,
        reason: String::new(),
    };
    world.read(Topic::Outcome, at, |out| record::write(out, &outcome))
}

/// Publishes the case's own job. Which list of index servers holds is for the submitter to say: the
/// user's, the toolkit's or the machine's, the first that exists (N-03).
fn publish_request(world: &mut World, scenario: &Value, now: Millis) -> Result<(), String> {
    let options = &scenario["options"];
    let both = |names: [&str; 2]| -> Vec<String> {
        names.iter().flat_map(|name| texts(&options[*name])).collect()
    };
    let is_again = options["command"].as_str() == Some("resubmit");
    let lists = &scenario["index_server_lists"];
    let named = both(["g", "G"]);
    let index_servers = match (named.is_empty(), lists.is_null()) {
        (false, _) => named,
        (true, true) => vec![INDEX_SERVER.to_owned()],
        (true, false) => {
            let mut all = ["user", "toolkit", "machine"].iter().map(|name| &lists[*name]);
            all.find(|list| list.is_array()).map(texts).unwrap_or_default()
        }
    };
    let upload = |(name, it): (&String, &Value)| Upload { name: name.clone(), bytes: it.as_u64() };
    let description = JobDescription {
        text: text(&scenario["xrsl"]),
        server_dialect: scenario["dialect"].as_str() == Some("server"),
        job: count(&scenario["job_index"]),
        clusters: both(if is_again { ["k", "K"] } else { ["c", "C"] }),
        index_servers,
        uploads: entries(&scenario["uploads"]).map(upload).collect(),
    };
    let job = text(&scenario["job_id"]);
    let task = Task {
        subject: job.clone(),
        attempt: first_attempt(scenario),
        task: job,
        domain: world.domain.clone(),
        policy: world.policy.clone(),
        asked_at: now,
        changed_at: now,
        jobs: 1,
        user: USER.to_owned(),
        description: Some(description),
        ..Task::default()
    };
    world.read(Topic::Task, now, |out| record::write(out, &task))
}

fn optional_moment(value: &Value) -> Option<Millis> {
    value.as_str().map(|_| moment(value))
}
