//! Queues of a case as rows of PanDA's tables, which the import of a process that runs reads.

use super::super::json::{entries, flag, items, number, text, texts};
use serde_json::{Map, Value, json};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configuration, Queue};
use yardmaster_core::unit::Millis;
use yardmaster_wire::dialect::change::{FactRow, FactTable};
use yardmaster_wire::import::Tables;

/// Fields of a case's queue, and what `schedconfig_json` calls them.
const FIELDS: [(&str, &str); 27] = [
    ("type", "type"),
    ("status", "status"),
    ("cloud", "cloud"),
    ("nickname", "nickname"),
    ("capability", "capability"),
    ("catchall", "catchall"),
    ("params", "params"),
    ("core_count", "corecount"),
    ("core_power_hs06", "corepower"),
    ("max_rss_mb", "maxrss"),
    ("min_rss_mb", "minrss"),
    ("max_time_s", "maxtime"),
    ("min_time_s", "mintime"),
    ("max_wdir_mb", "maxwdir"),
    ("max_input_size_mb", "maxinputsize"),
    ("max_disk_io_kbps_per_core", "maxdiskio"),
    ("transferring_limit", "transferringlimit"),
    ("pledged_cpu", "pledgedcpu"),
    ("fairshare_policy", "fairsharepolicy"),
    ("workflow", "workflow"),
    ("wn_connectivity", "wnconnectivity"),
    ("direct_access_lan", "direct_access_lan"),
    ("direct_access_wan", "direct_access_wan"),
    ("releases", "releases"),
    ("job_seed", "jobseed"),
    ("space_gb", "space"),
    ("is_cvmfs", "is_cvmfs"),
];

/// Whose the queues are: of another than ATLAS a unified queue itself is published too, and cases
/// of all brokers have it among the queues that are skipped.
const VO: &str = "wlcg";

/// The records of a case's queues.
///
/// # Errors
/// The first queue of which no record can be made, and why.
pub(super) fn records(scenario: &Value, now: Millis) -> Result<Vec<Queue>, String> {
    let mut tables = Tables::default();
    let mut put = |table: FactTable, key: &str, columns: Value| {
        let columns = match columns {
            Value::Object(columns) => columns,
            _ => Map::new(),
        };
        tables.note(table, now);
        tables.put(FactRow { table, key: key.to_owned(), columns, missing: Vec::new() }, now)
    };
    for kind in items(&scenario["resource_types"]) {
        let columns = json!({
            "resource_name": kind["name"], "mincore": kind["min_core"], "maxcore": kind["max_core"],
            "minrampercore": kind["min_ram_per_core_mb"],
            "maxrampercore": kind["max_ram_per_core_mb"],
        });
        put(FactTable::ResourceTypes, &text(&kind["name"]), columns)?;
    }
    for (name, endpoint) in entries(&scenario["storage_endpoints"]) {
        put(FactTable::Endpoints, name, json!({"site_name": endpoint["site"]}))?;
    }
    for (name, queue) in entries(&scenario["queues"]) {
        put(FactTable::PandaSites, name, json!({"site_name": queue["site"]}))?;
        put(FactTable::Queues, name, json!({"data": schedconfig(name, queue)}))?;
    }
    let records = tables.records(Topic::Queue).records.into_iter();
    Ok(records
        .filter_map(|record| match record {
            Configuration::Queue(queue) => Some(queue),
            _ => None,
        })
        .collect())
}

/// A queue as `schedconfig_json` has it. A field that the case does not state has the default of
/// the cases' format; null is null.
fn schedconfig(name: &str, queue: &Value) -> Value {
    let mut data = json!({
        "vo_name": VO, "nickname": name, "type": "production", "status": "online", "corecount": 1,
        "maxtime": 0, "maxrss": 0, "minrss": 0, "releases": ["ANY"],
    });
    for (theirs, name) in FIELDS {
        if let Some(value) = queue.get(theirs) {
            data[name] = value.clone();
        }
    }
    let mut storages = Map::new();
    for (scope, suffix) in [("default", ""), ("analysis", "_analysis")] {
        for (role, default, order) in [
            ("read_lan", "default_read", "order_read"),
            ("write_lan", "default_write", "order_write"),
        ] {
            let names = endpoints(queue, scope, role, [default, order]);
            if !names.is_empty() {
                storages.insert(format!("{role}{suffix}"), json!(names));
            }
        }
    }
    data["astorages"] = Value::Object(storages);
    data
}

/// Endpoints of a scope and role, by their order, the default first.
fn endpoints(queue: &Value, scope: &str, role: &str, [default, order]: [&str; 2]) -> Vec<String> {
    let mut found: Vec<(bool, i64, String)> = items(&queue["endpoints"])
        .filter(|it| it["scope"].as_str().unwrap_or("default") == scope)
        .filter(|it| it["roles"].is_null() || texts(&it["roles"]).iter().any(|it| it == role))
        .map(|it| {
            let order = number(&it[order]).map_or(1, |order| order as i64);
            (!flag(&it[default]), order, text(&it["endpoint"]))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, _, name)| name).collect()
}
