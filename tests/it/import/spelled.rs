//! Values and files as others write them: numbers as text, what Python's `json` writes, lists in
//! place of tables, one queue alone, gzip.

use super::standing::{held, printed, verb};
use super::{CRIC, NOW, agl, queue};
use crate::intake::{fresh, says};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use tempfile::TempDir;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Queue;
use yardmaster::core::limits::Limits;
use yardmaster::wire::dialect::Dialect;
use yardmaster::wire::import::{Sites, cric};

/// The multi-core queue of AGLT2 with one field changed, and the complaints.
fn changed(field: &str, value: &Value) -> (Queue, Vec<String>) {
    let imported = cric(&agl(field, Some(value.clone())), NOW, &Sites::new()).unwrap();
    (queue(&imported, "AGLT2/MCORE").clone(), imported.complaints)
}

/// Spec atlas 12.1, and what PanDA's reader of the same JSON makes of it.
#[test]
fn a_number_of_a_queue_is_read_however_it_is_written() {
    type Figure = fn(&Queue) -> i64;
    let cases: [(&str, Value, Figure, i64); 13] = [
        ("corecount", json!("8"), |it| it.cores.into(), 8),
        ("corecount", json!(8.0), |it| it.cores.into(), 8),
        ("maxtime", json!("345600.0"), |it| it.max_time_s.into(), 345_600),
        ("maxtime", json!(""), |it| it.max_time_s.into(), 0),
        ("maxtime", json!("None"), |it| it.max_time_s.into(), 0),
        ("pledgedcpu", json!("-1"), |it| it.pledged_cpu.into(), -1),
        ("pledgedcpu", json!(""), |it| it.pledged_cpu.into(), 0),
        ("corepower", json!("14.5"), |it| it.core_power_mhs06.into(), 14_500),
        ("transferringlimit", json!("2000"), |it| it.transferring_limit.into(), 2_000),
        ("maxwdir", json!("50000"), |it| it.max_wdir_mb.into(), 50_000),
        ("maxwdir", Value::Null, |it| it.max_wdir_mb.into(), 0),
        ("direct_access_lan", json!("True"), |it| it.direct_access_lan.into(), 0),
        ("direct_access_lan", json!(true), |it| it.direct_access_lan.into(), 1),
    ];
    for (field, value, figure, wants) in cases {
        let (queue, complaints) = changed(field, &value);
        assert_eq!(figure(&queue), wants, "{field}: {value}");
        let is_odd_flag = value == json!("True");
        assert_eq!(complaints.len(), usize::from(is_odd_flag), "{field}: {value}: {complaints:?}");
    }
    let flags = changed("params", &json!({"jobChunkSize": 10.0, "gpu": false})).0.catchall;
    assert!(flags.contains("jobChunkSize=10") && !flags.contains("10.0"), "{flags}");
}

#[test]
fn what_is_no_number_is_not_set_and_named() {
    for (field, value) in [
        ("maxrss", json!("lots")),
        ("corecount", json!(-1)),
        ("maxtime", json!([1])),
        ("corepower", json!(-2.5)),
        ("transferringlimit", json!("NaN")),
    ] {
        let dump = agl(field, Some(value));
        let complaints = cric(&dump, NOW, &Sites::new()).unwrap().complaints;
        assert_eq!(complaints.len(), 1, "{field}: {complaints:?}");
        let says = format!("queue AGLT2: field `{field}`: found ");
        assert!(complaints[0].starts_with(&says), "{complaints:?}");
        assert!(complaints[0].ends_with("taken as not set"), "{complaints:?}");
    }
    let room = |input: Value| {
        let dump: Value = serde_json::from_str(CRIC).unwrap();
        let mut one = dump["AGLT2"].clone();
        one["maxwdir"] = json!("unlimited");
        one["maxinputsize"] = input;
        let imported = cric(&json!({"AGLT2": one}).to_string(), NOW, &Sites::new()).unwrap();
        queue(&imported, "AGLT2/MCORE").max_wdir_mb
    };
    assert_eq!([json!(14_336), json!(0), Value::Null].map(room), [16_336, 0, 0]);
    assert_eq!(room(json!("20000")), 22_000);
}

/// Others than ATLAS state less: the site is that of PanDA or the queue's own, and a queue that
/// names no type runs production (spec atlas 12.1).
#[test]
fn a_queue_of_a_small_panda_is_one() {
    for (queue_facts, site) in [
        (json!({"status": "online", "panda_site": "DESY"}), "DESY"),
        (json!({"status": "online"}), "TEST"),
    ] {
        let imported = cric(&json!({"TEST": queue_facts}).to_string(), NOW, &Sites::new()).unwrap();
        let queue = queue(&imported, "TEST");
        assert_eq!((queue.site.as_str(), queue.production, queue.analysis), (site, true, false));
    }
}

/// One dump in every form in which it was met.
#[test]
fn a_dump_is_the_same_in_any_form() {
    let place = TempDir::new().unwrap();
    let dump: Value = serde_json::from_str(CRIC).unwrap();
    let named = |name: &str| {
        let mut queue = dump[name].clone();
        // PanDA takes no queue by the name ALL.
        queue["name"] = json!(name.replace("ALL", "ALONE"));
        queue
    };
    let (one, two) = (named("BNL"), named("ALL"));
    let both = json!({"BNL": one, "ALONE": two}).to_string();
    let nan = both.replacen("\"corepower\":", "\"of_no_use\":NaN,\"corepower\":", 1);
    assert_ne!(nan, both);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(both.as_bytes()).unwrap();
    let all = ["ALONE", "BNL/MCORE", "BNL/MCORE_HIMEM", "BNL/SCORE", "BNL/SCORE_HIMEM"];
    for (form, bytes, keys) in [
        ("table", both.clone().into_bytes(), &all[..]),
        ("mark", format!("\u{feff}{both}").into_bytes(), &all),
        ("nan", nan.into_bytes(), &all),
        ("list", json!([one, two]).to_string().into_bytes(), &all),
        ("gzip", packed.finish().unwrap(), &all),
        ("alone", one.to_string().into_bytes(), &all[1..]),
    ] {
        let (file, dir) = (place.path().join("queues"), place.path().join(form));
        std::fs::write(&file, bytes).unwrap();
        let args = ["import", "cric", file.to_str().unwrap(), "--dir", dir.to_str().unwrap()];
        let (code, out, errors) = printed(&verb(&args).output().unwrap());
        assert_eq!(code, Some(0), "{form}: {out}{errors}");
        let held: Vec<String> = held(&dir, Topic::Queue).into_keys().collect();
        assert_eq!(held, keys, "{form}: {errors}");
    }
}

#[test]
fn a_message_with_a_number_that_json_does_not_have_is_read() {
    let message = r#"{"event_type": "transfer-queued", "created_at": "2025-03-20 20:15:43",
        "payload": {"request-id": "r1", "duration": NaN, "scope": "mc", "name": "t",
            "src-rse": "A_DATADISK", "dst-rse": "B_DATADISK", "reason": "no NaN"}}"#;
    for text in [message.to_owned(), format!("\u{feff}{message}")] {
        let published = says(&mut fresh(&Limits::default()), Dialect::Rucio, &text);
        let topics: Vec<Topic> = published.iter().map(|(topic, _, _)| *topic).collect();
        assert_eq!(topics, [Topic::Transfer], "{published:?}");
    }
    let cut = message.replace("no NaN\"}}", "no NaN\"}");
    let published = says(&mut fresh(&Limits::default()), Dialect::Rucio, &cut);
    assert_eq!(published[0].0, Topic::DeadLetter, "{published:?}");
    assert!(published[0].2.contains("NaN"), "as it came: {published:?}");
}
