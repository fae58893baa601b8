//! The configuration of a case as records: queues, storage, sites, links, software, parameters.

use super::super::json::{amount, entries, flag, items, number, show, text, texts, whole};
use super::super::world::World;
use super::queues;
use serde_json::Value;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Gpu, Hardware, HardwareKind, Link, LinkQueued, Parameter, Pilot, Queue, Release, Site,
    SoftwareTag, Storage,
};
use yardmaster_core::unit::{Bytes, GIB, Millis};
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

/// Queues, their slots and their sites.
fn queues(world: &mut World, scenario: &Value, now: Millis) -> Result<(), String> {
    let records = queues::records(scenario, now)?;
    for queue in &records {
        world.read(Topic::Queue, now, |out| record::write(out, queue))?;
    }
    let mut sites: Vec<Site> = Vec::new();
    for (name, value) in entries(&scenario["queues"]) {
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
        if let Some(queue) = records.iter().find(|queue| queue.unified == *name)
            && let Some(site) = site(queue, value, scenario, now)
            && !sites.iter().any(|known| known.name == site.name)
        {
            sites.push(site);
        }
    }
    for site in &sites {
        world.read(Topic::Site, now, |out| record::write(out, site))?;
    }
    Ok(())
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
