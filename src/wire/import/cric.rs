//! CRIC's dump of PanDA queues (`core/pandaqueue`, JSON by queue name).

use super::field::Fields;
use super::pseudo::{self, RESOURCE_TYPES, ResourceType};
use super::sites::{Found, Sites};
use super::{Imported, object};
use crate::loose;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use yardmaster_core::event::{Configuration, Endpoints, Queue, QueueStatus};
use yardmaster_core::unit::Millis;

/// Flags that CRIC keeps in `params` as well as in `catchall`, where `params` wins (spec atlas
/// 12.1).
const FLAGS: [&str; 15] = [
    "bareNucleus",
    "secondaryNucleus",
    "disableReassign",
    "useJumboJobs",
    "minEventsForJumbo",
    "use_only_local_data",
    "jobChunkSize",
    "per_core_attr",
    "grandly_unified",
    "gpu",
    "nStandby",
    ALLOW_NO_PILOT,
    ALLOWED_PROCESSING,
    EXCLUDED_PROCESSING,
    MAX_IO_INTENSITY,
];

/// A flag of which PanDA's generic broker asks whether it is there, whatever its value.
const ALLOW_NO_PILOT: &str = "allow_no_pilot";
/// Flags that are lists of words in a text.
const ALLOWED_PROCESSING: &str = "allowed_processing";
/// See `ALLOWED_PROCESSING`.
const EXCLUDED_PROCESSING: &str = "excluded_processing";

/// VO whose jobs go to the parts of a unified queue alone.
const ATLAS: &str = "atlas";

/// A flag that counts in `params` alone.
const MAX_IO_INTENSITY: &str = "max_io_intensity";

/// Queue records from CRIC's dump; a unified queue (capability `ucore`) as one record for each
/// resource type. `now` becomes their change time: CRIC's own stamp does not move with every
/// change of status. `sites` is what is known of storage sites beyond this dump.
pub fn cric(text: &str, now: Millis, sites: &Sites) -> Result<Imported, String> {
    cric_with(text, now, sites, &RESOURCE_TYPES)
}

/// The same with resource types that are stated.
pub fn cric_with(
    text: &str,
    now: Millis,
    sites: &Sites,
    kinds: &[ResourceType<'_>],
) -> Result<Imported, String> {
    let dump = object("queues", text)?;
    let mut sites = sites.clone();
    sites.learn_from(&dump);
    Ok(queues(&dump, now, &sites, kinds))
}

/// The same of a dump that was read already and that `sites` has learned from.
pub(super) fn queues(
    dump: &Map<String, Value>,
    now: Millis,
    sites: &Sites,
    kinds: &[ResourceType<'_>],
) -> Imported {
    let mut imported = Imported::default();
    let mut how: BTreeMap<Found, u32> = BTreeMap::new();
    let (mut count, mut unified) = (0, 0);
    for (name, value) in dump {
        let thing = format!("queue {name}");
        let read = Fields::of(thing, Some(name), value, &mut imported).and_then(|mut fields| {
            let read = queue(name, &mut fields, now, sites);
            (!fields.is_left_out(name)).then_some(read)
        });
        let Some((queue, found)) = read else {
            // It may be a unified one, which is published under other names, and perhaps its own.
            imported.left_out.extend(pseudo::names(name, kinds));
            continue;
        };
        count += 1;
        unified += u32::from(queue.ucore);
        *how.entry(found).or_default() += 1;
        // PanDA's generic broker sends jobs to a unified queue itself; the ATLAS brokers never do.
        let is_atlas = value["vo_name"].as_str().is_none_or(|vo| vo == ATLAS);
        let whole = (queue.ucore && !is_atlas).then(|| queue.clone());
        let queues = whole.into_iter().chain(pseudo::expand(queue, kinds));
        imported.records.extend(queues.map(Configuration::from));
    }
    let records = imported.records.len();
    let note =
        format!("{count} of {} queues, {unified} of them unified: {records} records", dump.len());
    imported.notes.push(note);
    let how = how.iter().map(|(found, count)| format!("{count} {}", found.name()));
    imported.notes.push(format!("storage sites: {}", how.collect::<Vec<_>>().join(", ")));
    imported
}

fn queue(name: &str, fields: &mut Fields<'_>, now: Millis, sites: &Sites) -> (Queue, Found) {
    let kind = fields.word_or("type", "production");
    let status = status(fields);
    let catchall = catchall(fields);
    let everything = has_flag(&catchall, "grandly_unified");
    // Others than ATLAS have no such name, and one queue a site.
    let panda_site = fields.deep(&["panda_site"]).and_then(Value::as_str).unwrap_or("");
    let default = if panda_site.is_empty() { name } else { panda_site };
    let site = fields.word_or("atlas_site", default).to_string();
    let read = fields.first_words("astorages", &["read_lan", "pr"]);
    let write = fields.first_words("astorages", &["write_lan", "pw"]);
    let analysis_endpoints = analysis_endpoints(fields);
    let (storage_site, found) = match write.first().and_then(|endpoint| sites.of(endpoint)) {
        Some((site, found)) => (site.to_string(), found),
        None => (sites.spelled(&site).to_string(), Found::Own),
    };
    let cores = fields.count("corecount");
    // Where limits are given per core they are multiplied out: ours are per slot.
    let per_slot = if has_flag(&catchall, "per_core_attr") { cores.max(1) } else { 1 };
    let jobseed = fields.text("jobseed");
    let space = fields.whole_if_set("space", 0..=i64::from(u32::MAX)).unwrap_or(0);
    let max_input_mb = fields.whole("maxinputsize", -1..=i64::from(i32::MAX)) as i32;
    let queue = Queue {
        name: name.to_string(),
        unified: name.to_string(),
        changed_at: now,
        status,
        production: kind == "production" || kind == "unified" || everything,
        analysis: kind == "analysis" || kind == "unified" || everything,
        cloud: fields.text("cloud").to_string(),
        site,
        storage_site,
        cores,
        core_power_mhs06: (fields.number("corepower") * 1_000.0).round() as u32,
        max_rss_mb: fields.count("maxrss").saturating_mul(per_slot),
        min_rss_mb: fields.count("minrss").saturating_mul(per_slot),
        max_time_s: fields.count("maxtime"),
        min_time_s: fields.count("mintime"),
        max_wdir_mb: max_wdir_mb(fields, max_input_mb),
        max_input_mb,
        max_disk_io_kbps: fields.count("maxdiskio"),
        transferring_limit: fields.count("transferringlimit"),
        pledged_cpu: fields.whole("pledgedcpu", -1..=i64::from(i32::MAX)) as i32,
        fairshare_policy: fields.text("fairsharepolicy").to_string(),
        workflow: fields.text("workflow").to_string(),
        ucore: fields.text("capability") == "ucore",
        wn_connectivity: fields.text("wnconnectivity").to_string(),
        direct_access_lan: fields.flag("direct_access_lan"),
        direct_access_wan: fields.flag("direct_access_wan"),
        releases: fields.words("releases"),
        jobseed: if jobseed.is_empty() { "std" } else { jobseed }.to_string(),
        catchall,
        endpoints: Endpoints { read, write },
        analysis_endpoints,
        facility: fields.text("resource_type").to_string(),
        space_gb: space as u32,
        faults: faults(name, fields),
        ..Queue::default()
    };
    (queue, found)
}

/// Room for a job's files; MB, 0 where it is not checked. What cannot be read is taken for room for
/// the input and 2,000 MB, or 16,336 MB (spec atlas 12.1).
fn max_wdir_mb(fields: &mut Fields<'_>, max_input_mb: i32) -> u32 {
    const DEFAULT_MB: u32 = 16_336;
    let stated = fields.deep(&["maxwdir"]).and_then(Value::as_str);
    let is_readable = stated.is_none_or(|it| loose::is_unset(it) || loose::whole(it).is_some());
    match u32::try_from(max_input_mb) {
        _ if is_readable => fields.count("maxwdir"),
        Ok(0) | Err(_) => DEFAULT_MB,
        Ok(input_mb) => input_mb + 2_000,
    }
}

/// Endpoints of scope analysis; empty for a queue that has no such scope. Reading goes to those of
/// the other scope where only writing has its own.
fn analysis_endpoints(fields: &mut Fields<'_>) -> Endpoints {
    const SCOPE: [&str; 2] = ["read_lan_analysis", "write_lan_analysis"];
    if SCOPE.iter().all(|key| fields.deep(&["astorages", key]).is_none()) {
        return Endpoints::default();
    }
    let write = fields.first_words("astorages", &["write_lan_analysis"]);
    let own = fields.first_words("astorages", &["read_lan_analysis"]);
    if write.is_empty() && own.is_empty() {
        return Endpoints::default();
    }
    let read = match own.is_empty() {
        true => fields.first_words("astorages", &["read_lan", "pr"]),
        false => own,
    };
    Endpoints { read, write }
}

fn status(fields: &mut Fields<'_>) -> QueueStatus {
    let word = fields.needed("status");
    let is_it = |status: &QueueStatus| status.name().eq_ignore_ascii_case(word.trim());
    let status = QueueStatus::ALL.into_iter().find(is_it);
    if status.is_none() && !word.is_empty() {
        let words = QueueStatus::ALL.map(QueueStatus::name).join(", ");
        fields.wrong("status", &Value::from(word), &format!("one of {words}"));
    }
    status.unwrap_or(QueueStatus::Offline)
}

/// The free-form flags, with those of `params` put in their place.
fn catchall(fields: &mut Fields<'_>) -> String {
    let text = fields.text("catchall");
    let mut flags: Vec<String> = text.split(',').map(|flag| flag.trim().to_string()).collect();
    flags.retain(|flag| flag_name(flag) != MAX_IO_INTENSITY);
    for name in FLAGS {
        let Some(value) = fields.deep(&["params", name]) else { continue };
        flags.retain(|flag| flag_name(flag) != name);
        match value {
            Value::Bool(true) => flags.push(name.to_string()),
            Value::Bool(false) if name == ALLOW_NO_PILOT => flags.push(format!("{name}=false")),
            Value::Bool(false) => {}
            Value::Array(_) if [ALLOWED_PROCESSING, EXCLUDED_PROCESSING].contains(&name) => {}
            Value::String(text) => flags.push(format!("{name}={text}")),
            Value::Number(number) => match loose::whole_number(number) {
                Some(whole) if number.as_f64() == Some(whole as f64) => {
                    flags.push(format!("{name}={whole}"));
                }
                _ => flags.push(format!("{name}={number}")),
            },
            other => fields.wrong(&format!("params.{name}"), other, "a flag, number or word"),
        }
    }
    flags.retain(|flag| !flag.is_empty());
    flags.join(",")
}

/// Faults at which PanDA's generic broker fails.
fn faults(name: &str, fields: &Fields<'_>) -> Vec<String> {
    let text = |path: &[&str]| fields.deep(path).and_then(Value::as_str);
    let is_list = |flag: &str| fields.deep(&["params", flag]).is_some_and(Value::is_array);
    let found = [
        (Queue::NULL_MAXTIME, fields.field("maxtime").is_some_and(Value::is_null)),
        (Queue::OTHER_NICKNAME, text(&["nickname"]).is_some_and(|it| it != name)),
        (Queue::PROCESSING_LIST, is_list(ALLOWED_PROCESSING) || is_list(EXCLUDED_PROCESSING)),
    ];
    found.iter().filter(|(_, is_there)| *is_there).map(|(fault, _)| (*fault).to_owned()).collect()
}

fn has_flag(catchall: &str, name: &str) -> bool {
    catchall.split(',').any(|flag| flag_name(flag) == name)
}

fn flag_name(flag: &str) -> &str {
    flag.split('=').next().unwrap_or(flag)
}
