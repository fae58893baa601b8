//! Storage from what PanDA's Configurator reads: CRIC's endpoints and their status, Rucio's usage.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use yardmaster::core::event::{Configuration, Storage};
use yardmaster::core::unit::GIB;
use yardmaster::wire::import::{Imported, Sites, storage};

const NOW: i64 = 1_760_000_000_000;

/// Entries as CRIC's `ddmendpoint` has them.
fn endpoints() -> Value {
    let endpoint = |kind: &str, tape: bool, state: &str| {
        json!({"type": kind, "is_tape": tape, "state": state, "rc_site": "CERN-PROD",
            "token": format!("ATLAS{kind}"), "space_method": "storage", "status": "",
            "arprotocols": {"read_lan": [{"endpoint": "s3://x/", "id": 29}]}})
    };
    json!({
        "A_DATADISK": endpoint("DATADISK", false, "ACTIVE"),
        "B_DATADISK": endpoint("DATADISK", false, "ACTIVE"),
        "B_DATATAPE": endpoint("DATATAPE", true, "ACTIVE"),
        "OLD_DATADISK": endpoint("DATADISK", false, "DISABLED"),
    })
}

/// As CRIC's `ddmendpointstatus` has it.
fn status() -> Value {
    let of = |value: &str| json!({"status": {"value": value, "reason": "x"}, "probe": "p"});
    json!({
        "A_DATADISK": {"read_wan": of("OFF"), "write_wan": of("TEST"), "delete_wan": of("OFF")},
        "B_DATADISK": {"read_lan": of("ON")},
        "ELSEWHERE": {"read_lan": of("OFF")},
    })
}

/// As Rucio's `rse_usage` has it.
fn usage() -> Value {
    let used = |bytes: u64| json!({"used": bytes, "updated_at": "2025-10-09 08:00:00"});
    let storage = |used: u64, free: Value| json!({"used": used, "free": free, "updated_at": "2025-10-09 08:00:00"});
    json!({
        "A_DATADISK": {"storage": storage(600 * GIB, json!(400 * GIB)), "rucio": used(7),
            "expired": used(30 * GIB), "min_free_space": used(20 * GIB),
            "unavailable": used(10 * GIB)},
        "B_DATADISK": {"storage": storage(GIB, json!(9 * GIB))},
        "OLD_DATADISK": {"storage": storage(1, json!(1))},
        "ELSEWHERE": {"storage": storage(1, json!(1))},
    })
}

fn read(texts: &[Value]) -> Imported {
    let texts: Vec<String> = texts.iter().map(Value::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    storage(&texts, NOW, &Sites::new()).expect("an import")
}

fn by_name(imported: &Imported) -> BTreeMap<&str, &Storage> {
    let records = imported.records.iter().map(|record| match record {
        Configuration::Storage(it) => (it.name.as_str(), it),
        other => panic!("{other:?}"),
    });
    records.collect()
}

#[test]
fn an_endpoint_has_the_space_of_rucio_and_the_services_of_cric() {
    let imported = read(&[status(), usage(), endpoints()]);
    assert_eq!((&imported.complaints, imported.unreadable), (&vec![], 0));
    let storages = by_name(&imported);
    let names: Vec<&str> = storages.keys().copied().collect();
    assert_eq!(names, ["A_DATADISK", "B_DATADISK", "B_DATATAPE"], "those that are active");
    let a = storages["A_DATADISK"];
    assert_eq!((a.total_bytes, a.free_bytes, a.expired_bytes), (1000 * GIB, 400 * GIB, 30 * GIB));
    assert_eq!((a.min_free_bytes, a.unavailable_bytes), (20 * GIB, 10 * GIB));
    assert_eq!([a.read_lan, a.write_lan, a.read_wan, a.write_wan], [true, true, false, false]);
    assert_eq!((a.site.as_str(), a.kind.as_str(), a.changed_at), ("CERN-PROD", "DATADISK", NOW));
    let b = storages["B_DATADISK"];
    assert_eq!((b.free_bytes, b.min_free_bytes, b.read_lan), (9 * GIB, 0, true));
    let tape = storages["B_DATATAPE"];
    assert_eq!((tape.tape, tape.total_bytes, tape.free_bytes), (true, 0, 0), "as PanDA has it");
    assert!(imported.notes.iter().any(|note| note.starts_with("1 are not in the usage")));
}

#[test]
fn rows_of_rucios_usage_are_its_dump() {
    let rows: Vec<Value> = usage()
        .as_object()
        .into_iter()
        .flatten()
        .flat_map(|(rse, sources)| {
            let row = |(source, it): (&String, &Value)| {
                json!({"rse": rse, "source": source, "used": it["used"], "free": it["free"]})
            };
            sources.as_object().into_iter().flatten().map(row).collect::<Vec<Value>>()
        })
        .collect();
    let wanted = read(&[endpoints(), usage()]).records;
    assert_eq!(read(&[endpoints(), json!(rows)]).records, wanted);
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    let endpoints = endpoints().to_string();
    let imported = storage(&[&endpoints, &lines.join("\n")], NOW, &Sites::new());
    assert_eq!(imported.expect("lines").records, wanted);
    let names: Vec<String> = read(&[usage()]).records.iter().map(Configuration::name).collect();
    let alone = ["A_DATADISK", "B_DATADISK", "ELSEWHERE", "OLD_DATADISK"];
    assert_eq!(names, alone, "without a dump of endpoints");
}

#[test]
fn what_cannot_be_read_is_left_out_by_its_name() {
    let mut broken = usage();
    broken["A_DATADISK"]["storage"]["free"] = json!("much");
    let mut closed = status();
    closed["B_DATADISK"]["read_lan"]["status"]["value"] = json!(7);
    let imported = read(&[endpoints(), broken, closed]);
    let names: Vec<&str> = by_name(&imported).keys().copied().collect();
    assert_eq!(names, ["B_DATATAPE"]);
    assert_eq!((imported.unreadable, imported.unnamed), (2, 0));
    assert_eq!(imported.left_out, ["A_DATADISK", "B_DATADISK"]);
    let wants = "usage of A_DATADISK: field `storage.free`: found \"much\", wants bytes; left out";
    assert_eq!(imported.complaints[0], wants);
    assert!(
        imported.complaints[1].starts_with("status of B_DATADISK: field `read_lan.status.value`")
    );
}

/// An endpoint whose entry cannot be understood stays as it was; only one that no dump names is gone.
#[test]
fn an_entry_of_another_shape_is_left_out() {
    for broken in [json!(null), json!([]), json!({"storage": {"used": 7, "free": null}})] {
        let mut usage = usage();
        usage["B_DATADISK"] = broken;
        let imported = read(&[endpoints(), usage]);
        assert_eq!((imported.unreadable, &*imported.left_out), (1, &["B_DATADISK".to_owned()][..]));
    }
    for broken in [json!(null), json!("OFF"), json!(["OFF"])] {
        let mut status = status();
        status["B_DATADISK"] = broken;
        let imported = read(&[endpoints(), usage(), status]);
        assert_eq!((imported.unreadable, &*imported.left_out), (1, &["B_DATADISK".to_owned()][..]));
    }
    let mut other = status();
    other["B_DATADISK"]["delete_wan"] = json!({"status": null});
    assert_eq!(read(&[endpoints(), usage(), other]).unreadable, 0, "it is not read");
    let mut closed = usage();
    closed["OLD_DATADISK"]["storage"]["free"] = json!("much");
    assert_eq!(read(&[endpoints(), closed]).left_out, [""; 0], "it is inactive whatever it has");
    let rows =
        json!([{"RSE": "A_DATADISK", "SOURCE": "storage", "USED": 1, "FREE": 2}, {"rse": null}]);
    let imported = read(&[endpoints(), rows]);
    assert_eq!((by_name(&imported)["A_DATADISK"].total_bytes, imported.unnamed), (3, 1));
    let alone = read(&[status()]).complaints;
    assert_eq!(alone, ["a status alone names no endpoints: add CRIC's ddmendpoint"]);
}

#[test]
fn endpoints_without_any_figure_of_their_space_are_no_import() {
    let imported = read(&[endpoints(), status()]);
    assert_eq!((imported.records.len(), imported.left_out.len()), (0, 3));
    let complaint = &imported.complaints[0];
    assert!(complaint.starts_with("3 endpoints, none with a figure of its space"), "{complaint}");
    assert!(complaint.contains("add Rucio's usage"), "{complaint}");
}
