//! Rows of PanDA's configuration tables make the records that the imports make of files with the
//! same facts.

use super::{CRIC, ENDPOINTS, NETMETRICS, NOW, SITE_INFO};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Configuration, Parameter, Queue, QueueStatus, Site, Storage};
use yardmaster::core::unit::GIB;
use yardmaster::wire::dialect::change::{FactRow, FactTable, Message, Row, read};
use yardmaster::wire::import::{
    Imported, Parents, Sites, Tables, cric, cric_with, gdpconfig, netmetrics, nuclei,
    resource_types, shares, storage,
};
use yardmaster::wire::topology::{ATLAS, PANDA, Topology};

/// The row of a change message, as the connector would publish it. Columns that are not stated are
/// null there.
fn row(table: FactTable, columns: &Value) -> FactRow {
    let message = json!({
        "before": null, "after": columns, "op": "u",
        "source": {"table": table.name(), "lsn": 1, "txId": 1, "ts_ms": NOW, "snapshot": "false"},
    });
    match read(None, Some(message.to_string().as_bytes())) {
        Ok(Message::Change(change)) => match change.row {
            Row::Fact(row) => FactRow { missing: Vec::new(), ..*row },
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn put(tables: &mut Tables, table: FactTable, columns: Value) {
    tables.put(row(table, &columns), NOW).expect("a row");
    tables.note(table, NOW);
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn by_name(imported: &Imported) -> BTreeMap<String, Configuration> {
    imported.records.iter().map(|it| (it.name(), it.clone())).collect()
}

#[track_caller]
fn same(tables: &Tables, topic: Topic, wants: &Imported) {
    let (found, wants) = (by_name(&tables.records(topic)), by_name(wants));
    assert!(!wants.is_empty());
    assert_eq!(found.keys().collect::<Vec<_>>(), wants.keys().collect::<Vec<_>>());
    for (name, record) in wants {
        assert_eq!(found[&name], record, "{name}");
    }
}

/// The network matrix as PanDA keeps it: whole numbers, one row for each figure, no bytes.
pub fn network() -> (String, Vec<Value>) {
    let mut matrix = parse(NETMETRICS);
    let mut rows = Vec::new();
    for link in matrix.as_object_mut().expect("an object").values_mut() {
        let (src, dst) = (link["src"].clone(), link["dst"].clone());
        let mut put = |key: String, value: &Value, ts: &Value| {
            rows.push(json!({"src": src, "dst": dst, "key": key, "value": value, "ts": ts}));
        };
        link.as_object_mut().expect("a link").remove("bytes");
        if let Some(closeness) = link.get("closeness") {
            put("AGIS_closeness".into(), &closeness["latest"], &closeness["timestamp"]);
        }
        if let Some(dashb) = link.get_mut("mbps").and_then(|mbps| mbps.get_mut("dashb")) {
            for span in ["1h", "1d", "1w"] {
                let Some(rate) = dashb.get(span).and_then(Value::as_f64) else { continue };
                dashb[span] = json!(rate.round() as i64);
                put(format!("dashb_mbps_{span}"), &dashb[span], &dashb["timestamp"]);
            }
        }
        let queued = link.get("files").and_then(|files| files.get("queued"));
        for (activity, it) in queued.and_then(Value::as_object).into_iter().flatten() {
            put(format!("{activity}_queued"), &it["latest"], &it["timestamp"]);
        }
    }
    (matrix.to_string(), rows)
}

/// Tables with the network and the endpoints of the fixtures, whose sizes are whole GiB here; and
/// the dump of sizes to match.
fn tables() -> (Tables, String) {
    let mut tables = Tables::default();
    for figure in network().1 {
        put(&mut tables, FactTable::Network, figure);
    }
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    let mut info = parse(SITE_INFO);
    for queue in info.as_object_mut().expect("queues").values_mut() {
        let Some(rses) = queue["RSE"].as_object_mut() else { continue };
        for (name, tb) in rses {
            let stated = tb.as_f64().or_else(|| tb.as_str()?.trim().parse().ok());
            let gib = stated.map_or(0, |tb| (tb * 1e12 / GIB as f64) as u64);
            *tb = json!((gib * GIB) as f64 / 1e12);
            let known = sizes.entry(name.clone()).or_default();
            *known = gib.max(*known);
        }
    }
    let endpoints = parse(ENDPOINTS);
    let names = endpoints.as_object().expect("endpoints").keys().chain(sizes.keys());
    for name in names {
        let known = &endpoints[name];
        let is_tape = known["is_tape"].as_bool().map(|is| if is { "Y" } else { "N" });
        put(
            &mut tables,
            FactTable::Endpoints,
            json!({
                "ddm_endpoint_name": name, "site_name": known["rc_site"], "type": known["type"],
                "is_tape": is_tape, "space_total": sizes.get(name), "space_free": sizes.get(name),
            }),
        );
    }
    (tables, info.to_string())
}

fn put_queues(tables: &mut Tables) {
    for (name, data) in parse(CRIC).as_object().expect("queues") {
        let columns = json!({"PANDA_QUEUE": name, "DATA": data.to_string(), "LAST_UPDATE": NOW});
        put(tables, FactTable::Queues, columns);
    }
}

fn sites() -> Sites {
    let mut sites = Sites::new();
    for text in [&network().0, ENDPOINTS] {
        sites.learn(text).expect("an object");
    }
    sites
}

#[test]
fn rows_of_schedconfig_make_the_records_of_cric() {
    let (mut tables, _) = tables();
    put_queues(&mut tables);
    same(&tables, Topic::Queue, &cric(CRIC, NOW, &sites()).expect("queues"));
    // A queue that goes takes all its records with it.
    tables.remove(FactTable::Queues, "AGLT2");
    let left = by_name(&tables.records(Topic::Queue));
    assert!(!left.is_empty() && left.keys().all(|name| !name.starts_with("AGLT2")));
}

#[test]
fn rows_of_the_network_matrix_make_its_links() {
    let (tables, _) = tables();
    same(&tables, Topic::Link, &netmetrics(&network().0, NOW).expect("links"));
}

#[test]
fn rows_of_endpoints_make_their_storage_records() {
    let (mut tables, info) = tables();
    put_queues(&mut tables);
    let mut known = sites();
    known.learn(CRIC).expect("queues");
    let wants = storage(&[&info, ENDPOINTS], NOW, &known).expect("sizes");
    let (found, wants) = (by_name(&tables.records(Topic::Storage)), by_name(&wants));
    for (name, record) in &found {
        let storage = <&Storage>::try_from(record).expect("storage");
        match wants.get(name) {
            Some(wants) => assert_eq!(record, wants),
            // As PanDA has it, and unlike a dump of sizes that does not name it.
            None => assert_eq!((storage.total_bytes, storage.free_bytes), (0, 0), "{name}"),
        }
    }
    assert!(!wants.is_empty() && wants.keys().all(|name| found.contains_key(name)));
}

#[test]
fn an_endpoint_has_the_space_and_the_flags_of_its_row() {
    let mut tables = Tables::default();
    let columns = json!({
        "ddm_endpoint_name": "CERN_DATADISK", "site_name": "CERN", "type": "DATADISK",
        "is_tape": "N", "space_total": "100", "space_free": 40.0, "space_expired": 7,
        "blacklisted": "Y", "blacklisted_read": "N",
        "space_timestamp": (NOW - 1_000) * 1_000,
    });
    put(&mut tables, FactTable::Endpoints, columns);
    let records = tables.records(Topic::Storage).records;
    let storage = <&Storage>::try_from(&records[0]).expect("storage");
    let space = (storage.total_bytes, storage.free_bytes, storage.expired_bytes);
    assert_eq!(space, (100 * GIB, 40 * GIB, 7 * GIB));
    assert_eq!((storage.read_wan, storage.write_wan), (true, false));
    assert_eq!(storage.changed_at, NOW - 1_000);
    // Columns that a change leaves out stay as they were.
    let change = json!({"ddm_endpoint_name": "CERN_DATADISK", "space_free": 30,
        "site_name": "__debezium_unavailable_value"});
    put(&mut tables, FactTable::Endpoints, change);
    let records = tables.records(Topic::Storage).records;
    let storage = <&Storage>::try_from(&records[0]).expect("storage");
    assert_eq!((storage.free_bytes, &*storage.site), (30 * GIB, "CERN"));
}

#[test]
fn an_endpoint_is_closed_by_its_status_and_keeps_space_free() {
    let column = |status: Value, blacklisted: &str, read: &str| {
        let mut tables = Tables::default();
        let columns = json!({"ddm_endpoint_name": "A_DATADISK", "site_name": "A",
            "blacklisted": blacklisted, "blacklisted_read": read, "detailed_status": status,
            "space_total": 100, "space_free": "40", "space_expired": null,
            "space_min_free": "30", "space_unavailable": 5.0});
        put(&mut tables, FactTable::Endpoints, columns);
        let records = tables.records(Topic::Storage).records;
        let storage = <&Storage>::try_from(&records[0]).expect("storage").clone();
        let space = (storage.expired_bytes, storage.min_free_bytes, storage.unavailable_bytes);
        assert_eq!(space, (0, 30 * GIB, 5 * GIB));
        [storage.read_lan, storage.write_lan, storage.read_wan, storage.write_wan]
    };
    let off =
        json!({"read_lan": "OFF", "write_wan": "TEST", "read_wan": "ON", "delete_wan": "OFF"});
    assert_eq!(column(off.clone(), "N", "N"), [false, true, true, false]);
    assert_eq!(column(json!(off.to_string()), "N", "N"), [false, true, true, false], "as text");
    assert_eq!(column(json!("{}"), "Y", "N"), [true; 4], "the details are the newer");
    assert_eq!(column(json!("{}"), "N", "Y"), [false, true, true, true], "no input any more");
    assert_eq!(column(Value::Null, "Y", "N"), [true, false, true, false]);
    assert_eq!(column(json!("{"), "N", "Y"), [false, true, false, true]);
}

#[test]
fn rows_of_resource_types_make_the_pseudo_queues() {
    let (mut tables, _) = tables();
    put_queues(&mut tables);
    let names = |tables: &Tables, queue: &str| -> Vec<String> {
        let names = by_name(&tables.records(Topic::Queue)).into_keys();
        names.filter(|name| name.starts_with(&format!("{queue}/"))).collect()
    };
    let usual = ["AGLT2/MCORE", "AGLT2/MCORE_HIMEM", "AGLT2/SCORE", "AGLT2/SCORE_HIMEM"];
    assert_eq!(names(&tables, "AGLT2"), usual);
    let rows = [
        json!({"resource_name": "SCORE", "mincore": 1, "maxcore": "1", "minrampercore": 0, "maxrampercore": 2000}),
        json!({"resource_name": "SCORE_VHIMEM", "mincore": 1.0, "maxcore": 1, "minrampercore": 4001, "maxrampercore": null}),
    ];
    for columns in rows.clone() {
        put(&mut tables, FactTable::ResourceTypes, columns);
    }
    assert_eq!(names(&tables, "AGLT2"), ["AGLT2/SCORE", "AGLT2/SCORE_VHIMEM"]);
    let (kinds, _) = resource_types(&json!(rows).to_string()).expect("resource types");
    same(
        &tables,
        Topic::Queue,
        &cric_with(CRIC, NOW, &sites(), &kinds, Parents::ByVo).expect("queues"),
    );
    tables.remove(FactTable::ResourceTypes, "SCORE_VHIMEM");
    assert_eq!(names(&tables, "AGLT2"), ["AGLT2/SCORE"]);
    let bad = json!({"resource_name": "SCORE", "mincore": "some"});
    let why = tables.put(row(FactTable::ResourceTypes, &bad), NOW).expect_err("no number");
    assert!(why.starts_with("resource type SCORE: field `mincore`: found \"some\""), "{why}");
    assert_eq!(names(&tables, "AGLT2"), ["AGLT2/SCORE"], "it stays as it was");
}

#[test]
fn rows_of_sites_make_the_nuclei() {
    let mut tables = Tables::default();
    for (name, role, tier, state) in [
        ("CERN", "nucleus", 0, "ACTIVE"),
        ("BNL", "nucleus", 1, "DOWN"),
        ("AGLT2", "satelite", 2, "ACTIVE"),
    ] {
        let columns = json!({"site_name": name, "role": role, "tier_level": tier, "state": state});
        put(&mut tables, FactTable::Sites, columns);
    }
    let columns = json!({"site_name": "FZK", "role": "nucleus", "tier_level": 1});
    put(&mut tables, FactTable::Sites, columns);
    for (queue, endpoint) in [("Q1", "CERN_A"), ("Q2", "CERN_B"), ("Q3", "CERN_B"), ("Q4", "")] {
        let columns = json!({"panda_site_name": queue, "site_name": "X",
            "storage_site_name": "CERN", "default_ddm_endpoint": endpoint});
        put(&mut tables, FactTable::PandaSites, columns);
    }
    let text = json!([{"name": "CERN", "tier": 0, "active": true, "output_endpoint": "CERN_B"},
        {"name": "BNL", "tier": 1, "active": false}, {"name": "FZK", "tier": 1}]);
    same(&tables, Topic::Site, &nuclei(&text.to_string(), NOW).expect("nuclei"));
    tables.remove(FactTable::PandaSites, "Q3");
    let of_cern = by_name(&tables.records(Topic::Site))["CERN"].clone();
    assert_eq!(<&Site>::try_from(&of_cern).expect("a site").output_endpoint, "CERN_A");
}

/// As PanDA reads them: of the queues of the nucleus, scope default, where output is written.
#[test]
fn a_nucleus_writes_where_the_relations_of_its_queues_say() {
    let mut tables = Tables::default();
    let columns = json!({"site_name": "CERN", "role": "nucleus", "tier_level": 0});
    put(&mut tables, FactTable::Sites, columns);
    for (queue, site) in [("Q1", "CERN"), ("Q2", "CERN"), ("Q3", "CERN"), ("FAR", "X")] {
        let columns = json!({"panda_site_name": queue, "site_name": site,
            "storage_site_name": "CERN", "default_ddm_endpoint": "OLD_DATADISK"});
        put(&mut tables, FactTable::PandaSites, columns);
    }
    let endpoint = |tables: &Tables| {
        let site = by_name(&tables.records(Topic::Site))["CERN"].clone();
        <&Site>::try_from(&site).expect("a site").output_endpoint.clone()
    };
    assert_eq!(endpoint(&tables), "OLD_DATADISK", "no relations are captured");
    for (queue, endpoint, scope, roles, default_write) in [
        ("Q1", "B_DATADISK", "default", "read_lan,write_lan", "Y"),
        ("Q1", "A_DATADISK", "default", "write_lan", "N"),
        ("Q1", "A_SCRATCH", "analysis", "write_lan", "Y"),
        ("Q2", "A_SCRATCH", "analysis", "write_lan", "Y"),
        ("Q3", "A_SCRATCH", "analysis", "write_lan", "Y"),
        ("Q2", "A_DATADISK", "default", "read_lan", "Y"),
        ("Q2", "B_DATADISK", "default", "write_lan", "Y"),
        ("Q3", "A_DATADISK", "default", "write_lan", "Y"),
        ("FAR", "A_DATADISK", "default", "write_lan", "Y"),
    ] {
        let columns = json!({"panda_site_name": queue, "ddm_endpoint_name": endpoint,
            "scope": scope, "roles": roles, "default_write": default_write});
        put(&mut tables, FactTable::Relations, columns);
    }
    assert_eq!(endpoint(&tables), "B_DATADISK");
    tables.remove(FactTable::Relations, "Q2\u{1f}B_DATADISK\u{1f}default");
    assert_eq!(endpoint(&tables), "A_DATADISK", "one queue each: the first by name");
}

#[test]
fn rows_of_shares_and_parameters_make_their_records() {
    let mut tables = Tables::default();
    let rows = json!([
        {"name": "Production", "value": 80, "parent": null, "queue_id": 1, "throttled": "N"},
        {"name": "Analysis", "value": 20, "parent": "", "queue_id": 2, "throttled": "Y"},
        {"name": "MC", "value": 60, "parent": "Production", "queue_id": 3, "rtype": "",
         "prodsourcelabel": "managed", "workinggroup": "(?!(GP_|SOFT)).*"},
        {"name": "Data", "value": 40, "parent": "Production", "queue_id": 4, "vo": "atlas"},
    ]);
    // The children come first: what a row is worth does not depend on the order.
    for columns in rows.as_array().expect("rows").iter().rev() {
        put(&mut tables, FactTable::Shares, columns.clone());
    }
    same(&tables, Topic::Share, &shares(&rows.to_string(), NOW).expect("shares"));
    let rows = json!([
        {"app": "jedi", "component": "prod", "key": "LIMIT", "value": "10", "type": "integer",
         "vo": "atlas", "descr": "of jobs"},
        {"app": "jedi", "component": "prod", "key": "RATE", "value": "0.5", "type": "float"},
        {"app": "jedi", "component": "prod", "key": "ON", "value": "True", "type": "boolean"},
        {"app": "jedi", "component": "prod", "key": "RULES", "value": "-", "type": "json",
         "value_json": "{\"most\": 4}"},
    ]);
    for columns in rows.as_array().expect("rows") {
        put(&mut tables, FactTable::Config, columns.clone());
    }
    let json = by_name(&tables.records(Topic::Parameter))["jedi/prod/RULES/"].clone();
    assert_eq!(<&Parameter>::try_from(&json).expect("a parameter").value, "{\"most\": 4}");
    same(&tables, Topic::Parameter, &gdpconfig(&rows.to_string(), NOW).expect("parameters"));
}

/// PanDA compares a task's PandaSite with the site of this table.
#[test]
fn a_queue_is_of_the_site_of_its_row_of_panda_site() {
    let mut tables = Tables::default();
    let by_hand = json!({"status": "online", "vo_name": "wlcg"});
    for name in ["SLAC_A", "SLAC_B"] {
        put(&mut tables, FactTable::Queues, json!({"panda_queue": name, "data": by_hand}));
    }
    put_queues(&mut tables);
    let site = |tables: &Tables, name: &str| {
        let record = by_name(&tables.records(Topic::Queue))[name].clone();
        <&Queue>::try_from(&record).expect("a queue").site.clone()
    };
    assert_eq!(site(&tables, "SLAC_A"), "SLAC_A", "no row");
    let atlas = site(&tables, "AGLT2/SCORE");
    tables.take_due();
    let row_of = |queue: &str, site: Value, endpoint: &str| json!({"panda_site_name": queue, "site_name": site, "default_ddm_endpoint": endpoint});
    put(&mut tables, FactTable::PandaSites, row_of("SLAC_A", json!("SLAC"), "A"));
    // As PanDA's configurator fills it from CRIC.
    put(&mut tables, FactTable::PandaSites, row_of("AGLT2", json!(atlas), "A"));
    put(&mut tables, FactTable::PandaSites, row_of("SLAC_B", Value::Null, "A"));
    assert!(tables.take_due().contains(&Topic::Queue));
    let sites = |tables: &Tables| ["SLAC_A", "SLAC_B", "AGLT2/SCORE"].map(|it| site(tables, it));
    assert_eq!(sites(&tables), ["SLAC", "SLAC_B", &atlas]);
    put(&mut tables, FactTable::PandaSites, row_of("SLAC_A", json!("SLAC"), "B"));
    assert!(!tables.take_due().contains(&Topic::Queue), "the site is the same");
    tables.remove(FactTable::PandaSites, "SLAC_A");
    assert!(tables.take_due().contains(&Topic::Queue));
    assert_eq!(site(&tables, "SLAC_A"), "SLAC_A");
}

/// One field that means nothing keeps no status away.
#[test]
fn a_queue_that_goes_offline_is_read_whatever_its_space_is() {
    let (mut tables, _) = tables();
    put_queues(&mut tables);
    let mut closed = parse(CRIC)["BNL"].clone();
    closed["status"] = json!("offline");
    closed["space"] = json!("lots");
    closed["params"] = json!({"gpu": [1], "allow_no_pilot": [1]});
    put(&mut tables, FactTable::Queues, json!({"panda_queue": "BNL", "data": closed}));
    let records = by_name(&tables.records(Topic::Queue));
    let queue = <&Queue>::try_from(&records["BNL/SCORE"]).expect("a queue");
    assert_eq!(queue.status, QueueStatus::Offline);
}

/// By the topology, as of a file.
#[test]
fn a_unified_queue_is_kept_beside_its_parts_outside_atlas() {
    for (topology, is_kept) in [(PANDA, true), (ATLAS, false)] {
        let topology = Topology::parse("topology", topology).expect("shipped");
        let mut tables = Tables::new(topology.parents());
        put_queues(&mut tables);
        let names = by_name(&tables.records(Topic::Queue));
        assert_eq!(names.contains_key("AGLT2"), is_kept);
        assert!(names.contains_key("AGLT2/SCORE"));
    }
}

/// As in PanDA, where such a queue is not online.
#[test]
fn a_queue_whose_status_means_nothing_does_not_stay_online() {
    let (mut tables, _) = tables();
    put_queues(&mut tables);
    for status in [json!("ONLINE"), Value::Null, json!("missing")] {
        let mut data = parse(CRIC)["BNL"].clone();
        match status.as_str() {
            Some("missing") => drop(data.as_object_mut().expect("an object").remove("status")),
            _ => data["status"] = status.clone(),
        }
        put(&mut tables, FactTable::Queues, json!({"panda_queue": "BNL", "data": data}));
        let records = by_name(&tables.records(Topic::Queue));
        let queue = <&Queue>::try_from(&records["BNL/SCORE"]).expect("a queue");
        assert_eq!(queue.status, QueueStatus::Offline, "{status}");
    }
    let data = json!({"status": "online", "cloud": "US"});
    put(&mut tables, FactTable::Queues, json!({"panda_queue": "ALL", "data": data}));
    assert!(!by_name(&tables.records(Topic::Queue)).contains_key("ALL"), "PanDA passes it over");
}

#[test]
fn a_row_without_a_record_is_refused_and_the_one_before_stays() {
    let (mut tables, _) = tables();
    put_queues(&mut tables);
    let before = by_name(&tables.records(Topic::Queue));
    let mut bad = parse(CRIC)["BNL"].clone();
    bad["cloud"] = json!(7);
    for (table, columns, wants) in [
        (
            FactTable::Queues,
            json!({"panda_queue": "BNL", "data": bad.to_string()}),
            "queue BNL: field `cloud`: found 7",
        ),
        (FactTable::Queues, json!({"panda_queue": "BNL", "data": "{"}), "queue BNL: field `data`"),
        (
            FactTable::Network,
            json!({"src": "A", "dst": "B", "key": "AGIS_closeness", "value": 12}),
            "link A:B: field `AGIS_closeness`: found 12",
        ),
        (
            FactTable::Shares,
            json!({"name": "A", "value": 1, "campaign": "("}),
            "share A: field `campaign`",
        ),
        (
            FactTable::Config,
            json!({"app": "a", "component": "c", "key": "K", "value": "x", "type": "int"}),
            "parameter a.c.K: field `value`",
        ),
    ] {
        let why = tables.put(row(table, &columns), NOW).expect_err("refused");
        assert!(why.starts_with(wants), "{why}");
    }
    assert_eq!(by_name(&tables.records(Topic::Queue)), before);
    assert!(tables.records(Topic::Share).records.is_empty());
}

#[test]
fn topics_are_due_only_when_a_fact_changed() {
    let (mut tables, _) = tables();
    put_queues(&mut tables);
    assert_eq!(tables.take_due().into_iter().collect::<Vec<_>>().len(), 3);
    // PanDA writes all its queues every time, with a new time alone.
    put_queues(&mut tables);
    assert!(tables.take_due().is_empty());
    let mut closed = parse(CRIC)["BNL"].clone();
    closed["status"] = json!("offline");
    let columns = json!({"panda_queue": "BNL", "data": closed.to_string()});
    put(&mut tables, FactTable::Queues, columns);
    assert!(tables.take_due().contains(&Topic::Queue));
    // A large text that did not change is not in the message.
    let columns = json!({"panda_queue": "BNL", "data": "__debezium_unavailable_value"});
    put(&mut tables, FactTable::Queues, columns);
    assert!(tables.take_due().is_empty());
}
