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
const FLAGS: [&str; 14] = [
    "bareNucleus",
    "secondaryNucleus",
    "disableReassign",
    "useJumboJobs",
    "minEventsForJumbo",
    "use_only_local_data",
    "jobChunkSize",
    GRANDLY_UNIFIED,
    "gpu",
    "nStandby",
    ALLOW_NO_PILOT,
    ALLOWED_PROCESSING,
    EXCLUDED_PROCESSING,
    MAX_IO_INTENSITY,
];

/// Flags that have a value. Of the others PanDA asks whether they are there.
const VALUED: [&str; 6] = [
    "bareNucleus",
    "secondaryNucleus",
    "minEventsForJumbo",
    "jobChunkSize",
    "nStandby",
    MAX_IO_INTENSITY,
];

/// A flag of which PanDA's generic broker asks whether it is there, whatever its value.
const ALLOW_NO_PILOT: &str = "allow_no_pilot";
/// Flags that are lists of words in a text.
const ALLOWED_PROCESSING: &str = "allowed_processing";
/// See `ALLOWED_PROCESSING`.
const EXCLUDED_PROCESSING: &str = "excluded_processing";

/// A flag of queues for all work.
const GRANDLY_UNIFIED: &str = "grandly_unified";
/// A flag of queues whose limits are for each core. It counts in `catchall` alone: PanDA multiplies
/// before it takes `params` up.
const PER_CORE: &str = "per_core_attr";

/// VO whose jobs go to the parts of a unified queue alone.
const ATLAS: &str = "atlas";

/// Names of rows that PanDA passes over.
const NO_QUEUES: [&str; 2] = ["", "ALL"];

/// Stands for a comma in a value of `params`: flags are parted by commas.
const COMMA: &str = "%2C";

/// Of which unified queues a record of the whole is made, beside those of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// Of those of another VO than ATLAS, whose brokers never send jobs to the whole.
    #[default]
    ByVo,
    /// Of all, whatever their VO: so PanDA's generic broker has it.
    All,
}

/// A flag that counts in `params` alone.
const MAX_IO_INTENSITY: &str = "max_io_intensity";

/// Queue records from CRIC's dump; a unified queue (capability `ucore`) as one record for each
/// resource type. `now` becomes their change time: CRIC's own stamp does not move with every
/// change of status. `sites` is what is known of storage sites beyond this dump.
pub fn cric(text: &str, now: Millis, sites: &Sites) -> Result<Imported, String> {
    cric_with(text, now, sites, &RESOURCE_TYPES, Parents::default())
}

/// The same with resource types that are stated, and a record of the whole of these unified queues.
pub fn cric_with(
    text: &str,
    now: Millis,
    sites: &Sites,
    kinds: &[ResourceType<'_>],
    parents: Parents,
) -> Result<Imported, String> {
    let dump = object("queues", text)?;
    let mut sites = sites.clone();
    sites.learn_from(&dump);
    Ok(queues(&dump, now, &sites, kinds, parents))
}

/// The same of a dump that was read already and that `sites` has learned from.
pub(super) fn queues(
    dump: &Map<String, Value>,
    now: Millis,
    sites: &Sites,
    kinds: &[ResourceType<'_>],
    parents: Parents,
) -> Imported {
    let mut imported = Imported::default();
    let mut how: BTreeMap<Found, u32> = BTreeMap::new();
    let (mut count, mut unified) = (0, 0);
    for (name, value) in dump.iter().filter(|(name, _)| !NO_QUEUES.contains(&name.as_str())) {
        let thing = format!("queue {name}");
        let read = Fields::of(thing, Some(name), value, &mut imported).and_then(|mut fields| {
            let (queue, found) = queue(name, &mut fields, now, sites);
            let has_parts = !queue.ucore || has_memory(&mut fields);
            (!fields.is_left_out(name)).then_some((queue, found, has_parts))
        });
        let Some((queue, found, has_parts)) = read else {
            // It may be a unified one, which is published under other names, and perhaps its own.
            imported.left_out.extend(pseudo::names(name, kinds));
            continue;
        };
        count += 1;
        unified += u32::from(queue.ucore);
        *how.entry(found).or_default() += 1;
        let is_kept = match parents {
            Parents::All => true,
            Parents::ByVo => value["vo_name"].as_str().is_some_and(|vo| vo != ATLAS),
        };
        let whole = (queue.ucore && is_kept).then(|| queue.clone());
        let parts = if has_parts { pseudo::expand(queue, kinds) } else { Vec::new() };
        let queues = whole.into_iter().chain(parts);
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
    let kind = kind(fields);
    let status = status(fields);
    let catchall = catchall(fields);
    let everything = has_flag(&catchall, GRANDLY_UNIFIED);
    let site = site(name, fields, sites);
    let read = fields.first_words("astorages", &["read_lan", "pr"]);
    let write = fields.first_words("astorages", &["write_lan", "pw"]);
    let analysis_endpoints = analysis_endpoints(fields);
    let (storage_site, found) = match write.first().and_then(|endpoint| sites.of(endpoint)) {
        Some((site, found)) => (site.to_string(), found),
        None => (sites.spelled(&site).to_string(), Found::Own),
    };
    let cores = fields.count("corecount");
    // Where limits are given per core they are multiplied out: ours are per slot.
    let per_slot = if is_per_core(fields) { cores.max(1) } else { 1 };
    let jobseed = fields.text("jobseed");
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
        max_wdir_mb: max_wdir_mb(fields).saturating_mul(per_slot),
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
        space_gb: space_gb(fields),
        faults: faults(name, fields),
        ..Queue::default()
    };
    (queue, found)
}

/// What a queue is for: production where it states nothing, nothing where it states null.
fn kind<'a>(fields: &mut Fields<'a>) -> &'a str {
    match fields.field("type") {
        None => fields.word_or("type", "production"),
        Some(_) => fields.text("type"),
    }
}

/// Whether limits of a queue are for each core.
fn is_per_core(fields: &Fields<'_>) -> bool {
    fields.deep(&["catchall"]).and_then(Value::as_str).is_some_and(|it| has_flag(it, PER_CORE))
}

/// The site of a queue: as `panda_site` has it, which is what PanDA's brokers read; else as the
/// queue states it. Others than ATLAS have no such name, and one queue a site.
fn site(name: &str, fields: &mut Fields<'_>, sites: &Sites) -> String {
    if let Some(site) = sites.of_queue(name) {
        return site.to_owned();
    }
    let panda_site = fields.deep(&["panda_site"]).and_then(Value::as_str).unwrap_or("");
    let default = if panda_site.is_empty() { name } else { panda_site };
    fields.word_or("atlas_site", default).to_owned()
}

/// Whether PanDA can make the parts of a unified queue: it multiplies both limits of memory, and
/// fails where one is null.
fn has_memory(fields: &mut Fields<'_>) -> bool {
    let has = ["maxrss", "minrss"].map(|field| fields.deep(&[field]).is_some());
    if let Some(at) = has.iter().position(|has| !has) {
        let why = "a unified queue without them has no parts";
        fields.taken(["maxrss", "minrss"][at], &Value::Null, "MB", why);
    }
    has == [true; 2]
}

/// Room for a job's files; MB, 0 where it is not checked. What cannot be read is taken for room for
/// the input and 2,000 MB, for none where the input has no limit, or for 16,336 MB where that
/// cannot be read either (spec atlas 12.1).
fn max_wdir_mb(fields: &mut Fields<'_>) -> u32 {
    const DEFAULT_MB: u32 = 16_336;
    let whole = |field: &str| fields.deep(&[field]).map(loose::whole_in);
    match (whole("maxwdir"), whole("maxinputsize")) {
        (None | Some(Some(_)), _) => fields.count("maxwdir"),
        (Some(None), None | Some(Some(0))) => 0,
        (Some(None), Some(Some(input_mb))) => {
            u32::try_from(input_mb.saturating_add(2_000)).unwrap_or(0)
        }
        (Some(None), Some(None)) => DEFAULT_MB,
    }
}

/// Free space; GB, 0 where it is not stated. Less than 1 GB counts as that: PanDA refuses a queue
/// with less than none, or with a part of one.
fn space_gb(fields: &mut Fields<'_>) -> u32 {
    match fields.figure("space") {
        None | Some(0.0) => 0,
        Some(space) => space.clamp(1.0, f64::from(u32::MAX)) as u32,
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

/// The status, word for word. One that PanDA does not know takes no jobs, so that none before it
/// holds on; what has no status at all is perhaps no queue.
fn status(fields: &mut Fields<'_>) -> QueueStatus {
    let Some(found) = fields.field("status") else {
        fields.needed("status");
        return QueueStatus::Offline;
    };
    let is_it = |status: &QueueStatus| found.as_str() == Some(status.name());
    let status = QueueStatus::ALL.into_iter().find(is_it);
    if status.is_none() {
        let words = QueueStatus::ALL.map(QueueStatus::name).join(", ");
        fields.taken("status", found, &format!("one of {words}"), "taken as offline");
    }
    status.unwrap_or(QueueStatus::Offline)
}

/// The free-form flags, with those of `params` put in their place. Blanks stay: PanDA finds no flag
/// behind one.
fn catchall(fields: &mut Fields<'_>) -> String {
    let text = fields.text("catchall");
    let mut flags: Vec<String> = text.split(',').map(str::to_owned).collect();
    let forget = |flags: &mut Vec<String>, name: &str| {
        flags.retain(|flag| flag_name(flag.trim()) != name);
    };
    forget(&mut flags, MAX_IO_INTENSITY);
    for name in FLAGS {
        // Null is a value too.
        let value = fields.field("params").and_then(|params| params.get(name));
        let Some(value) = value else { continue };
        forget(&mut flags, name);
        flags.extend(flag_of(name, value, fields));
    }
    flags.retain(|flag| !flag.trim().is_empty());
    flags.join(",")
}

/// A flag of `params`; `None` where it is not set. One of which PanDA asks whether it is there is
/// set by any value.
fn flag_of(name: &str, value: &Value, fields: &mut Fields<'_>) -> Option<String> {
    let path = format!("params.{name}");
    if is_list(name) && !value.is_string() {
        if has_value(value) {
            fields.not_set(&path, value, "text");
        }
        return None;
    }
    match value {
        Value::Bool(true) => Some(name.to_owned()),
        Value::Null | Value::Bool(false) if name == ALLOW_NO_PILOT => Some(format!("{name}=false")),
        Value::Null | Value::Bool(false) => (!has_words(name)).then(|| name.to_owned()),
        Value::String(text) => {
            if is_list(name) && text.contains(',') {
                fields.taken(&path, value, "words with | between them", "its commas part none");
            }
            Some(format!("{name}={}", text.replace(',', COMMA)))
        }
        Value::Number(number) => Some(match loose::whole_number(number) {
            Some(whole) if number.as_f64() == Some(whole as f64) => format!("{name}={whole}"),
            _ => format!("{name}={number}"),
        }),
        Value::Array(_) | Value::Object(_) => {
            let wants = "a flag, number or word";
            if has_words(name) {
                fields.not_set(&path, value, wants);
                return None;
            }
            fields.taken(&path, value, wants, "taken as set");
            Some(name.to_owned())
        }
    }
}

/// Whether PanDA asks what a flag is, not whether it is there.
fn has_words(name: &str) -> bool {
    is_list(name) || VALUED.contains(&name)
}

/// Whether a flag is a list of words in a text.
fn is_list(name: &str) -> bool {
    [ALLOWED_PROCESSING, EXCLUDED_PROCESSING].contains(&name)
}

/// Whether Python takes a value for true.
fn has_value(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Faults at which PanDA's generic broker fails.
fn faults(name: &str, fields: &Fields<'_>) -> Vec<String> {
    let nickname = fields.field("nickname").and_then(Value::as_str);
    let is_number = |value: &Value| value.is_number() || value.is_boolean();
    let is_no_text = |flag: &str| {
        let value = fields.deep(&["params", flag]);
        value.is_some_and(|value| !value.is_string() && has_value(value))
    };
    let found = [
        (Queue::NULL_MAXTIME, !fields.field("maxtime").is_some_and(is_number)),
        (Queue::OTHER_NICKNAME, nickname != Some(name)),
        (
            Queue::PROCESSING_LIST,
            [ALLOWED_PROCESSING, EXCLUDED_PROCESSING].into_iter().any(is_no_text),
        ),
    ];
    found.iter().filter(|(_, is_there)| *is_there).map(|(fault, _)| (*fault).to_owned()).collect()
}

/// Whether PanDA finds a flag: one that begins so is enough.
fn has_flag(catchall: &str, name: &str) -> bool {
    catchall.split(',').any(|flag| flag.starts_with(name))
}

fn flag_name(flag: &str) -> &str {
    flag.split('=').next().unwrap_or(flag)
}
