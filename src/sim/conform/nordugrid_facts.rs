//! The facts and the submission of a recorded case of NorduGrid brokering.

use super::json::{entries, flag, items, moment, show, text, texts, whole};
use serde_json::Value;
use yardmaster_core::policy::nordugrid::decide::JobSubmission;
use yardmaster_core::policy::nordugrid::discovery::Start;
use yardmaster_core::policy::nordugrid::facts::{
    CacheReport, CacheTag, ChildKind, Cluster, FileRecord, JobRecord, Registration, Share,
    Submission, TargetReservation, UserShare,
};
use yardmaster_core::policy::nordugrid::grid_facts::GridFacts;
use yardmaster_core::policy::nordugrid::job_state::JobState;
use yardmaster_core::unit::Millis;
use yardmaster_core::xrsl::{Alternative, NodeAccess};

/// The user of all cases.
const USER: &str = "user";
/// The index server of a case that names none.
const INDEX_SERVER: &str = "index-1";

/// Folds the facts of a case.
///
/// # Errors
/// What of the case cannot be read.
pub(super) fn facts(scenario: &Value) -> Result<GridFacts, String> {
    let mut facts = GridFacts::default();
    let now = moment(&scenario["now"]);
    for registration in registrations(scenario) {
        facts.put_registration(&registration);
    }
    for (name, it) in entries(&scenario["clusters"]) {
        facts.put_cluster(cluster(name, it));
        cache(&mut facts, name, it);
        for (queue, it) in entries(&it["queues"]) {
            facts.put_share(share(name, queue, it, now));
            if it["user"].is_object() {
                facts.put_user_share(&user_share(name, queue, &it["user"]));
            }
        }
    }
    for (source, it) in entries(&scenario["files"]) {
        let (size_bytes, replicas) = (it["size_bytes"].as_u64(), texts(&it["replicas"]));
        facts.put_file(&FileRecord { source: source.clone(), size_bytes, replicas });
    }
    for it in items(&scenario["jobs"]) {
        facts.put_job(job(it)?);
    }
    for it in items(&scenario["reservations"]) {
        facts.put_reservation(reservation(it));
    }
    for it in items(&scenario["tags"]) {
        facts.put_tag(&CacheTag {
            cluster: text(&it["cluster"]),
            source: text(&it["file"]),
            job_id: text(&it["job_id"]),
            attempt: 0,
            target: None,
            tagged_at: moment(&it["tagged_at"]),
        });
    }
    Ok(facts)
}

/// What the submitter of a case states.
pub(super) fn submission(scenario: &Value, alternatives: Vec<Alternative>) -> JobSubmission {
    let options = &scenario["options"];
    let both = |names: [&str; 2]| names.iter().flat_map(|name| texts(&options[*name])).collect();
    let is_again = options["command"].as_str() == Some("resubmit");
    let list = |name: &str| {
        let lists = &scenario["index_server_lists"];
        match (lists.is_null(), name) {
            (true, "toolkit") => Some(vec![INDEX_SERVER.to_owned()]),
            _ => lists[name].as_array().map(|_| texts(&lists[name])),
        }
    };
    let uploads = entries(&scenario["uploads"]);
    JobSubmission {
        job_id: text(&scenario["job_id"]),
        attempt: whole(&scenario["attempt"]) as u64,
        cut_id: text(&scenario["cut_id"]),
        now: moment(&scenario["now"]),
        user: USER.to_owned(),
        alternatives,
        start: Start {
            clusters: both(if is_again { ["k", "K"] } else { ["c", "C"] }),
            index_servers: both(["g", "G"]),
            lists: ["user", "toolkit", "machine"].map(list),
        },
        uploads: uploads.filter_map(|(name, it)| Some((name.clone(), it.as_u64()?))).collect(),
        excluded_targets: texts(&scenario["excluded_targets"]),
    }
}

fn registrations(scenario: &Value) -> Vec<Registration> {
    let stated = &scenario["registrations"];
    if stated.is_array() {
        return items(stated).map(registration).collect();
    }
    let every = entries(&scenario["clusters"]).map(|(name, _)| Registration {
        registry_id: INDEX_SERVER.to_owned(),
        child_id: name.clone(),
        child_kind: Some(ChildKind::Computing),
        has_address: true,
        ..Registration::default()
    });
    every.collect()
}

fn registration(it: &Value) -> Registration {
    let has = |name: &str| it.get(name).is_none_or(|value| !value.is_null());
    Registration {
        registry_id: text(&it["registry_id"]),
        child_id: text(&it["child_id"]),
        child_kind: match it["child_kind"].as_str() {
            Some("registry") => Some(ChildKind::Registry),
            Some("computing") => Some(ChildKind::Computing),
            Some("storage") => Some(ChildKind::Storage),
            Some(_) | None => None,
        },
        is_purged: it["status"].as_str() == Some("PURGED"),
        has_address: ["host", "port", "suffix"].into_iter().all(has),
        refreshed_at: optional_moment(&it["refreshed_at"]),
        ttl_s: it["ttl_s"].as_u64(),
        announced_refresh_s: it["announced_refresh_s"].as_u64().unwrap_or(0),
    }
}

fn cluster(name: &str, it: &Value) -> Cluster {
    let access = items(&it["node_access"]).filter_map(|access| match access.as_str() {
        Some("inbound") => Some(NodeAccess::Inbound),
        Some("outbound") => Some(NodeAccess::Outbound),
        Some(_) | None => None,
    });
    Cluster {
        name: name.to_owned(),
        answered: it["answered"].as_bool().unwrap_or(true),
        alias: it["alias"].as_str().map(str::to_owned),
        total_slots: it["total_slots"].as_u64(),
        node_memory_mb: it["node_memory_mb"].as_u64(),
        clock_mhz: it["clock_mhz"].as_u64(),
        architecture: it["architecture"].as_str().map(str::to_owned),
        middleware: texts(&it["middleware"]),
        runtime_environments: texts(&it["runtime_environments"]),
        operating_systems: texts(&it["operating_systems"]),
        node_access: access.collect(),
        local_storage: texts(&it["local_storage"]),
        cache_free_bytes: it["cache_free_bytes"].as_u64(),
    }
}

/// What a cluster's cache is known to hold: a list without a time, and newer reports.
fn cache(facts: &mut GridFacts, cluster: &str, it: &Value) {
    let report = |source: &str, is_present: bool, as_of: Option<Millis>| CacheReport {
        cluster: cluster.to_owned(),
        source: source.to_owned(),
        is_present,
        as_of,
    };
    for source in texts(&it["cached_files"]) {
        facts.put_cache_report(&report(&source, true, None));
    }
    for (source, it) in entries(&it["cache_content"]) {
        facts.put_cache_report(&report(source, flag(&it["present"]), Some(moment(&it["as_of"]))));
    }
}

fn share(cluster: &str, queue: &str, it: &Value, now: Millis) -> Share {
    Share {
        cluster: cluster.to_owned(),
        queue: queue.to_owned(),
        status: it["status"].as_str().map(str::to_owned),
        as_of: optional_moment(&it["as_of"]).unwrap_or(now),
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
    }
}

fn user_share(cluster: &str, queue: &str, it: &Value) -> UserShare {
    UserShare {
        cluster: cluster.to_owned(),
        queue: queue.to_owned(),
        user: USER.to_owned(),
        is_authorised: it["authorised"].as_bool().unwrap_or(true),
        free_slots: text(&it["free_slots"]),
        disk_free_bytes: it["disk_free_bytes"].as_u64(),
        as_of: optional_moment(&it["as_of"]),
    }
}

fn job(it: &Value) -> Result<JobRecord, String> {
    let state = text(&it["state"]);
    let state = JobState::parse(&state)
        .ok_or_else(|| format!("field `state`: found {}, wants a job's state", show(&it["state"])));
    Ok(JobRecord {
        job_id: text(&it["job_id"]),
        target: text(&it["target"]),
        state: state?,
        count: it["count"].as_u64().unwrap_or(1),
        cpu_time_s: it["cpu_time_s"].as_u64(),
        wall_time_s: it["wall_time_s"].as_u64(),
        changed_at: None,
        reached_batch_at: optional_moment(&it["reached_batch_at"]),
        is_staged: flag(&it["staged"]),
    })
}

fn reservation(it: &Value) -> TargetReservation {
    TargetReservation {
        job_id: text(&it["job_id"]),
        attempt: 0,
        target: text(&it["target"]),
        count: it["count"].as_u64().unwrap_or(1),
        time_s: it["time_s"].as_u64(),
        disk_bytes: it["disk_bytes"].as_u64().unwrap_or(0),
        cache_bytes: it["cache_bytes"].as_u64().unwrap_or(0),
        decided_at: moment(&it["decided_at"]),
        is_expired: false,
        outcome: match it["outcome"].as_str() {
            Some("accepted") => Some(Submission::Accepted),
            Some("failed") => Some(Submission::Failed),
            Some(_) | None => None,
        },
    }
}

fn optional_moment(value: &Value) -> Option<Millis> {
    value.as_str().map(|_| moment(value))
}
