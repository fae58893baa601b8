//! The configuration of a case as records: queues, storage, sites, links, software, parameters.

use super::super::json::{amount, count, entries, flag, items, number, show, text, texts, whole};
use super::super::world::World;
use serde_json::Value;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Endpoints, Gpu, Hardware, HardwareKind, Link, LinkQueued, Parameter, Pilot, Queue, QueueStatus,
    Release, Site, SoftwareTag, Storage,
};
use yardmaster_core::unit::{Bytes, GIB, Millis};
use yardmaster_wire::import::{ResourceType, expand};
use yardmaster_wire::record;

/// Publishes the configuration of a case.
///
/// # Errors
/// The first thing of it that cannot be read.
pub(super) fn publish(world: &mut World, whole_case: &Value, now: Millis) -> Result<(), String> {
    let scenario = &whole_case["scenario"];
    for (name, value) in entries(&scenario["storage_endpoints"]) {
        let storage = storage(name, value, now);
        world.read(Topic::Storage, now, |out| record::write(out, &storage))?;
    }
    queues(world, scenario, now)?;
    let nucleus = text(&scenario["task"]["nucleus"]);
    for (source, value) in entries(&scenario["network"]) {
        let link = link(source, &nucleus, value, now);
        world.read(Topic::Link, now, |out| record::write(out, &link))?;
    }
    for (name, value) in entries(&scenario["software"]["sw_map"]) {
        let gpus = &scenario["software"]["gpus"][name];
        let release = release(name, value, gpus, now);
        world.read(Topic::Release, now, |out| record::write(out, &release))?;
    }
    for (name, value) in entries(&whole_case["gdpconfig"]) {
        let parameter = parameter(name, value, now)?;
        world.read(Topic::Parameter, now, |out| record::write(out, &parameter))?;
    }
    Ok(())
}

/// Queues, those that they are expanded to, their slots and their sites.
fn queues(world: &mut World, scenario: &Value, now: Millis) -> Result<(), String> {
    let kinds: Vec<ResourceType<'_>> =
        items(&scenario["resource_types"]).filter_map(resource_type).collect();
    let mut sites: Vec<Site> = Vec::new();
    for (name, value) in entries(&scenario["queues"]) {
        let queue = queue(name, value, scenario, now)?;
        if let Some(site) = site(&queue, value, scenario, now)
            && !sites.iter().any(|known| known.name == site.name)
        {
            sites.push(site);
        }
        if queue.ucore {
            world.read(Topic::Queue, now, |out| record::write(out, &queue))?;
        }
        for slots in items(&value["num_slots"]) {
            let (gshare, kind) = (text(&slots["gshare"]), text(&slots["resource_type"]));
            let pilot = Pilot::Slots {
                queue: name,
                gshare: &gshare,
                resource_type: &kind,
                slots: whole(&slots["slots"]),
                expires_at: 0,
                at: now,
            };
            world.read(Topic::Pilot, now, |out| record::write(out, &pilot))?;
        }
        // Of a unified queue whose memory is null there are no parts.
        let has_parts = !["max_rss_mb", "min_rss_mb"].iter().any(|it| is_null(value, it));
        let queues = if has_parts || !queue.ucore { expand(queue, &kinds) } else { Vec::new() };
        for queue in queues {
            world.read(Topic::Queue, now, |out| record::write(out, &queue))?;
        }
    }
    for site in &sites {
        world.read(Topic::Site, now, |out| record::write(out, site))?;
    }
    Ok(())
}

fn resource_type(value: &Value) -> Option<ResourceType<'_>> {
    let known = |name: &str| number(&value[name]).map(|number| number as u32);
    Some(ResourceType {
        name: value["name"].as_str()?.into(),
        min_cores: known("min_core").unwrap_or(0),
        max_cores: known("max_core"),
        min_ram_mb_per_core: known("min_ram_per_core_mb"),
        max_ram_mb_per_core: known("max_ram_per_core_mb"),
    })
}

fn gib(value: &Value) -> Bytes {
    (number(value).unwrap_or(0.0).max(0.0) * GIB as f64) as Bytes
}

fn storage(name: &str, value: &Value, now: Millis) -> Storage {
    let is_open = |activity: &str| {
        !matches!(value["activity_status"][activity].as_str(), Some("OFF" | "TEST"))
    };
    Storage {
        name: name.to_owned(),
        changed_at: now,
        site: text(&value["site"]),
        kind: text(&value["type"]),
        tape: flag(&value["is_tape"]),
        total_bytes: gib(&value["space_total_gb"]),
        free_bytes: gib(&value["space_free_gb"]),
        expired_bytes: gib(&value["space_expired_gb"]),
        min_free_bytes: gib(&value["space_min_free_gb"]),
        unavailable_bytes: gib(&value["space_unavailable_gb"]),
        read_lan: is_open("read_lan"),
        write_lan: is_open("write_lan"),
        read_wan: is_open("read_wan"),
        write_wan: is_open("write_wan"),
    }
}

/// Endpoints of a scope, by their order, the default first.
fn endpoints(value: &Value, scope: &str) -> Endpoints {
    let of = |role: &str, default: &str, order: &str| {
        let mut found: Vec<(bool, i64, String)> = items(&value["endpoints"])
            .filter(|it| it["scope"].as_str().unwrap_or("default") == scope)
            .filter(|it| it["roles"].is_null() || texts(&it["roles"]).iter().any(|it| it == role))
            .map(|it| {
                let order = number(&it[order]).map_or(1, |order| order as i64);
                (!flag(&it[default]), order, text(&it["endpoint"]))
            })
            .collect();
        found.sort();
        found.into_iter().map(|(_, _, name)| name).collect()
    };
    Endpoints {
        read: of("read_lan", "default_read", "order_read"),
        write: of("write_lan", "default_write", "order_write"),
    }
}

fn queue(name: &str, value: &Value, scenario: &Value, now: Millis) -> Result<Queue, String> {
    let kind = value["type"].as_str().unwrap_or("production");
    // A status that is null is none of those that take jobs.
    let absent = if is_null(value, "status") { "offline" } else { "online" };
    let word = value["status"].as_str().unwrap_or(absent);
    let status = QueueStatus::ALL.into_iter().find(|status| status.name() == word);
    let status = status.ok_or_else(|| format!("queue {name}: status {word:?} is not known"))?;
    let scopes = [endpoints(value, "default"), endpoints(value, "analysis")];
    let [endpoints, analysis_endpoints] = scopes;
    let site = text(&value["site"]);
    let storage_site = match endpoints.write.first() {
        Some(endpoint) => text(&scenario["storage_endpoints"][endpoint]["site"]),
        None => String::new(),
    };
    let catchall = flags(value);
    let has = |flag: &str| catchall.split(',').any(|it| it.split('=').next() == Some(flag));
    let everything = has("grandly_unified");
    let cores = number(&value["core_count"]);
    let cores = cores.map_or(u32::from(!is_null(value, "core_count")), |it| it.max(0.0) as u32);
    let per_slot = if has("per_core_attr") { cores.max(1) } else { 1 };
    let mb = |field: &str| count(&value[field]).saturating_mul(per_slot);
    Ok(Queue {
        name: name.to_owned(),
        unified: name.to_owned(),
        changed_at: now,
        status,
        production: kind == "production" || kind == "unified" || everything,
        analysis: kind == "analysis" || kind == "unified" || everything,
        cloud: text(&value["cloud"]),
        site,
        storage_site,
        cores,
        core_power_mhs06: power(value),
        max_rss_mb: mb("max_rss_mb"),
        min_rss_mb: mb("min_rss_mb"),
        max_time_s: count(&value["max_time_s"]),
        min_time_s: count(&value["min_time_s"]),
        max_wdir_mb: match value["max_wdir_mb"].as_str() {
            Some(stated) => stated.parse().unwrap_or(0),
            None => mb("max_wdir_mb"),
        },
        max_input_mb: whole(&value["max_input_size_mb"]) as i32,
        max_disk_io_kbps: count(&value["max_disk_io_kbps_per_core"]),
        transferring_limit: count(&value["transferring_limit"]),
        pledged_cpu: whole(&value["pledged_cpu"]) as i32,
        fairshare_policy: text(&value["fairshare_policy"]),
        workflow: text(&value["workflow"]),
        ucore: value["capability"].as_str() == Some("ucore"),
        wn_connectivity: value["wn_connectivity"].as_str().unwrap_or("").to_owned(),
        direct_access_lan: flag(&value["direct_access_lan"]),
        direct_access_wan: flag(&value["direct_access_wan"]),
        releases: match &value["releases"] {
            Value::Null => vec!["ANY".to_owned()],
            releases => texts(releases),
        },
        jobseed: value["job_seed"].as_str().unwrap_or("std").to_owned(),
        catchall,
        endpoints,
        analysis_endpoints,
        space_gb: count(&value["space_gb"]),
        faults: faults(name, value),
        ..Queue::default()
    })
}

/// Whether a field is there and null.
fn is_null(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(Value::is_null)
}

/// The free-form flags, with those of `params` in their place.
fn flags(value: &Value) -> String {
    let catchall = text(&value["catchall"]);
    let mut flags: Vec<String> = catchall.split(',').map(str::to_owned).collect();
    for (name, value) in entries(&value["params"]) {
        flags.retain(|flag| flag.split('=').next() != Some(name));
        match value {
            Value::Bool(true) => flags.push(name.clone()),
            // PanDA asks whether this one is there, whatever its value.
            Value::Bool(false) if name == "allow_no_pilot" => flags.push(format!("{name}=false")),
            Value::Bool(false) | Value::Array(_) => {}
            other => flags.push(format!("{name}={}", text(other))),
        }
    }
    flags.retain(|flag| !flag.is_empty());
    flags.join(",")
}

/// Faults of a queue at which PanDA's generic broker fails.
fn faults(name: &str, value: &Value) -> Vec<String> {
    let nickname = value["nickname"].as_str();
    let mut types = ["allowed_processing", "excluded_processing"].into_iter();
    let found = [
        (Queue::NULL_MAXTIME, is_null(value, "max_time_s")),
        (Queue::OTHER_NICKNAME, nickname.is_some_and(|it| it != name)),
        (Queue::PROCESSING_LIST, types.any(|it| value["params"][it].is_array())),
    ];
    found.iter().filter(|(_, is_there)| *is_there).map(|(fault, _)| (*fault).to_owned()).collect()
}

/// Power of a core of each queue; mHS06.
pub(super) fn powers(scenario: &Value) -> impl Iterator<Item = (String, u32)> {
    entries(&scenario["queues"]).map(|(name, queue)| (name.clone(), power(queue)))
}

fn power(queue: &Value) -> u32 {
    (number(&queue["core_power_hs06"]).unwrap_or(0.0) * 1000.0).round() as u32
}

/// The site of a production queue, when the queue is stated as a nucleus.
fn site(queue: &Queue, value: &Value, scenario: &Value, now: Millis) -> Option<Site> {
    (queue.production && value["role"].as_str() == Some("nucleus")).then(|| Site {
        name: queue.site.clone(),
        changed_at: now,
        nucleus: true,
        active: scenario["nucleus_states"][&queue.site].as_str().unwrap_or("ACTIVE") == "ACTIVE",
        ..Site::default()
    })
}

fn link(source: &str, destination: &str, value: &Value, now: Millis) -> Link {
    let queued = entries(value).filter_map(|(name, files)| {
        let activity = name.strip_suffix("_queued")?;
        Some(LinkQueued { activity: activity.to_owned(), files: amount(files), bytes: 0 })
    });
    Link {
        source: source.to_owned(),
        destination: destination.to_owned(),
        changed_at: now,
        closeness: number(&value["AGIS_closeness"]).map(|closeness| closeness as i32),
        mbps_1h: number(&value["dashb_mbps_1h"]),
        mbps_1d: number(&value["dashb_mbps_1d"]),
        mbps_1w: number(&value["dashb_mbps_1w"]),
        queued: queued.collect(),
        queued_known: true,
    }
}

fn release(name: &str, value: &Value, gpus: &Value, now: Millis) -> Release {
    let hardware = items(&value["architectures"]).map(|it| Hardware {
        kind: if it["type"].as_str() == Some("gpu") {
            HardwareKind::Gpu
        } else {
            HardwareKind::Cpu
        },
        arch: texts(&it["arch"]),
        vendor: texts(&it["vendor"]),
        instr: texts(&it["instr"]),
        model: texts(&it["model"]),
    });
    let tags = items(&value["tags"]).map(|it| SoftwareTag {
        tag: text(&it["tag"]),
        cmtconfig: text(&it["cmtconfig"]),
        project: text(&it["project"]),
        release: text(&it["release"]),
        container_name: text(&it["container_name"]),
        sources: texts(&it["sources"]),
    });
    let gpus = items(gpus).map(|it| Gpu {
        vendor: text(&it["vendor"]),
        model: text(&it["model"]),
        vram_mb: amount(&it["vram"]),
        microarchitecture: text(&it["architecture"]),
        framework_version: text(&it["framework_version"]),
        driver_version: text(&it["driver_version"]),
    });
    Release {
        queue: name.to_owned(),
        changed_at: now,
        cmtconfigs: texts(&value["cmtconfigs"]),
        containers: texts(&value["containers"]),
        cvmfs: texts(&value["cvmfs"]),
        hardware: hardware.collect(),
        tags: tags.collect(),
        gpus: gpus.collect(),
    }
}

fn parameter(name: &str, value: &Value, now: Millis) -> Result<Parameter, String> {
    let mut parts = name.splitn(3, '.');
    let (Some(app), Some(component), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("gdpconfig key {name:?}: wants app.component.KEY"));
    };
    let value = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        other => return Err(format!("gdpconfig {name}: found {}, wants a value", show(other))),
    };
    Ok(Parameter {
        app: app.to_owned(),
        component: component.to_owned(),
        key: key.to_owned(),
        value,
        changed_at: now,
        ..Parameter::default()
    })
}
