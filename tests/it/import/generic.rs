//! Facts of a queue that PanDA's generic broker reads, from `schedconfig_json` as from CRIC.

use super::standing::{held, printed, verb};
use super::{NOW, of};
use serde_json::{Value, json};
use tempfile::TempDir;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Queue, QueueStatus};
use yardmaster::wire::import::{Sites, cric};

/// A queue of a PanDA outside ATLAS, with some fields stated.
fn queue(fields: Value) -> Queue {
    let mut queue = json!({
        "status": "online", "type": "production", "cloud": "US,UK", "vo_name": "wlcg",
        "corecount": 1, "nickname": "SLAC", "maxtime": 0
    });
    let (Value::Object(all), Value::Object(more)) = (&mut queue, fields) else { panic!("objects") };
    all.extend(more);
    let imported = cric(&json!({"SLAC": queue}).to_string(), NOW, &Sites::new()).expect("a dump");
    assert_eq!(imported.unreadable, 0, "{:?}", imported.complaints);
    of::<Queue>(&imported)[0].clone()
}

/// What is complained of in such a queue, but for fields that are missing.
fn complaints(fields: Value) -> Vec<String> {
    let (mut queue, Value::Object(more)) = (json!({"status": "online"}), fields) else {
        panic!("an object")
    };
    queue.as_object_mut().expect("an object").extend(more);
    let imported = cric(&json!({"SLAC": queue}).to_string(), NOW, &Sites::new()).expect("a dump");
    let of_fields = imported.complaints.into_iter().filter(|it| !it.contains("is missing"));
    of_fields.map(|it| it.trim_start_matches("queue SLAC: ").to_owned()).collect()
}

#[test]
fn free_space_and_all_clouds_are_kept() {
    let queue = queue(json!({"space": 150}));
    assert_eq!((queue.space_gb, queue.cloud.as_str(), queue.first_cloud()), (150, "US,UK", "US"));
    assert!(queue.faults.is_empty());
}

#[test]
fn what_panda_fails_at_is_a_fault() {
    for (fields, fault) in [
        (json!({"maxtime": null}), Queue::NULL_MAXTIME),
        (json!({"maxtime": ""}), Queue::NULL_MAXTIME),
        (json!({"maxtime": "3600"}), Queue::NULL_MAXTIME),
        (json!({"nickname": "SLAC-nick"}), Queue::OTHER_NICKNAME),
        (json!({"nickname": null}), Queue::OTHER_NICKNAME),
        (json!({"nickname": 7}), Queue::OTHER_NICKNAME),
        (json!({"params": {"allowed_processing": ["a"]}}), Queue::PROCESSING_LIST),
        (json!({"params": {"excluded_processing": {"a": 1}}}), Queue::PROCESSING_LIST),
        (json!({"params": {"excluded_processing": 7}}), Queue::PROCESSING_LIST),
        (json!({"params": {"excluded_processing": true}}), Queue::PROCESSING_LIST),
    ] {
        assert_eq!(queue(fields).faults, [fault]);
    }
    for nothing in [json!([]), json!({}), json!(0), json!(false), json!("")] {
        let queue = queue(json!({"catchall": "allowed_processing=a",
            "params": {"allowed_processing": nothing}}));
        assert!(queue.faults.is_empty(), "{:?}", queue.faults);
        assert_eq!(queue.flag("allowed_processing").filter(|it| !it.is_empty()), None);
    }
}

#[test]
fn what_is_not_stated_is_a_fault_as_null_is() {
    let dump = json!({"SLAC": {"status": "online", "cloud": "US"}});
    let imported = cric(&dump.to_string(), NOW, &Sites::new()).expect("a dump");
    let wants = [Queue::NULL_MAXTIME, Queue::OTHER_NICKNAME];
    assert_eq!(of::<Queue>(&imported)[0].faults, wants);
}

/// PanDA has them in its map by their own names.
#[test]
fn the_parts_of_a_queue_have_no_nickname_to_fail_at() {
    let queue = json!({"status": "online", "capability": "ucore", "corecount": 8, "maxtime": 0,
        "maxrss": 16_000, "minrss": 0, "vo_name": "wlcg", "nickname": "OTHER"});
    let imported = cric(&json!({"SLAC": queue}).to_string(), NOW, &Sites::new()).expect("a dump");
    let queues = of::<Queue>(&imported);
    assert_eq!((queues.len(), &queues[0].faults[..]), (5, &["nickname".to_owned()][..]));
    assert!(queues[1..].iter().all(|part| part.faults.is_empty()));
}

/// As memory is, where limits are given for each core.
#[test]
fn scratch_space_per_core_is_multiplied_out() {
    let of = |catchall: &str, cores: u32, room: Value| {
        let stated = json!({"catchall": catchall, "corecount": cores, "maxwdir": room,
            "maxrss": 2_000, "maxinputsize": 3_000});
        let queue = queue(stated);
        (queue.max_wdir_mb, queue.max_rss_mb)
    };
    assert_eq!(of("per_core_attr", 8, json!(2_500)), (20_000, 16_000));
    assert_eq!(of("per_core_attr", 8, json!("2500")), (20_000, 16_000));
    assert_eq!(of("per_core_attr", 8, json!("lots")), (40_000, 16_000));
    assert_eq!(of("per_core_attr", 0, json!(2_500)), (2_500, 2_000));
    assert_eq!(of("", 8, json!(2_500)), (2_500, 2_000));
    assert_eq!(of("per_core_attribute", 8, json!(2_500)), (20_000, 16_000));
}

/// PanDA multiplies before it takes params up.
#[test]
fn limits_are_for_each_core_by_catchall_alone() {
    for (catchall, flag, wants) in [("", true, 2_000), ("per_core_attr", false, 16_000)] {
        let params = json!({"per_core_attr": flag});
        let stated =
            json!({"catchall": catchall, "params": params, "corecount": 8, "maxrss": 2_000});
        assert_eq!(queue(stated).max_rss_mb, wants, "{catchall:?}");
    }
}

/// Room for the input and 2,000 MB, but where the input has no limit.
#[test]
fn scratch_space_that_is_no_number_has_no_limit_where_input_has_none() {
    for (input, wants) in [
        (Value::Null, 0),
        (json!(0), 0),
        (json!(3_000), 5_000),
        (json!(-1), 1_999),
        (json!("some"), 16_336),
    ] {
        for room in [json!("lots"), json!([1]), json!("")] {
            let stated = json!({"maxwdir": room, "maxinputsize": input});
            assert_eq!(queue(stated).max_wdir_mb, wants, "{room} {input}");
        }
        assert_eq!(queue(json!({"maxwdir": null, "maxinputsize": input})).max_wdir_mb, 0);
    }
}

/// PanDA looks for a flag at the very beginning of its part of the text.
#[test]
fn a_blank_before_a_flag_stays() {
    let catchall = "x, allowed_processing=zz, per_core_attr, grandly_unified";
    let queue = queue(json!({"catchall": catchall, "corecount": 8, "maxrss": 2_000}));
    assert_eq!((queue.catchall.as_str(), queue.max_rss_mb), (catchall, 2_000));
    assert!(!queue.analysis);
}

#[test]
fn a_unified_queue_whose_memory_is_null_has_no_parts() {
    for (most, least) in [(Value::Null, json!(0)), (json!(16_000), Value::Null)] {
        let stated = |vo: &str| {
            let queue = json!({"status": "online", "capability": "ucore", "corecount": 8,
                "vo_name": vo, "maxrss": most, "minrss": least});
            cric(&json!({"SLAC": queue}).to_string(), NOW, &Sites::new()).expect("a dump")
        };
        let imported = stated("wlcg");
        let names: Vec<_> = of::<Queue>(&imported).iter().map(|it| it.name.clone()).collect();
        assert_eq!(names, ["SLAC"]);
        let is_named = |it: &String| it.contains("a unified queue without them has no parts");
        assert!(imported.complaints.iter().any(is_named), "{:?}", imported.complaints);
        let imported = stated("atlas");
        assert_eq!((imported.records.len(), imported.left_out.len()), (0, 0));
    }
}

/// What there is less of than 1 GB counts as that: 0 would be no limit.
#[test]
fn space_that_means_nothing_takes_no_queue_away() {
    for (stated, wants) in [
        (json!(-5), 1),
        (json!(0.5), 1),
        (json!(0), 0),
        (json!(150.7), 150),
        (json!("150"), 150),
        (json!("lots"), 0),
        (json!([1]), 0),
        (Value::Null, 0),
    ] {
        assert_eq!(queue(json!({"space": stated})).space_gb, wants, "{stated}");
    }
    let wants = "field `space`: found \"lots\", wants a number; taken as not set";
    assert_eq!(complaints(json!({"space": "lots"})), [wants]);
}

#[test]
fn a_flag_that_is_no_word_takes_no_queue_away() {
    let flags = |params: Value| queue(json!({"params": params})).catchall;
    assert_eq!(flags(json!({"allow_no_pilot": [1]})), "allow_no_pilot");
    assert_eq!(flags(json!({"jobChunkSize": [1], "bareNucleus": {}})), "");
    assert_eq!(flags(json!({"gpu": [1]})), "gpu", "asked whether it is there");
    let wants = |name: &str, wants: &str, taken: &str| {
        format!("field `params.{name}`: found a list, wants {wants}; taken as {taken}")
    };
    for (name, taken) in [("jobChunkSize", "not set"), ("allow_no_pilot", "set"), ("gpu", "set")] {
        let found = complaints(json!({"params": {name: [1]}}));
        assert_eq!(found, [wants(name, "a flag, number or word", taken)]);
    }
    let found = complaints(json!({"params": {"allowed_processing": [1]}}));
    assert_eq!(found, [wants("allowed_processing", "text", "not set")]);
}

/// PanDA reads `params` before `catchall`, and asks of one flag only whether it is there.
#[test]
fn flags_of_params_take_the_place_of_those_of_catchall() {
    let queue = queue(json!({
        "catchall": "allowed_processing=a,allow_no_pilot",
        "params": {"allowed_processing": "b|c", "allow_no_pilot": false}
    }));
    assert_eq!(queue.flag("allowed_processing"), Some("b|c"));
    assert_eq!(queue.flag("allow_no_pilot"), Some("false"));
}

/// With whatever value: null is one too.
#[test]
fn a_flag_of_params_holds_with_any_value() {
    let flags = |catchall: &str, params: Value| {
        queue(json!({"catchall": catchall, "params": params})).catchall
    };
    let list = "allowed_processing=x";
    assert_eq!(flags(list, json!({"allowed_processing": null})), "");
    assert_eq!(flags(list, json!({"allowed_processing": "a,b|c"})), "allowed_processing=a%2Cb|c");
    assert_eq!(flags("bareNucleus=only", json!({"bareNucleus": null})), "");
    for value in [Value::Null, json!(false)] {
        let params = json!({"allow_no_pilot": value, "gpu": value});
        assert_eq!(flags("", params), "gpu,allow_no_pilot=false");
        let params = json!({"grandly_unified": value});
        let unified = queue(json!({"type": "analysis", "params": params}));
        assert!(unified.production && unified.analysis, "{value}");
    }
    let grand =
        |catchall: &str| queue(json!({"type": "analysis", "catchall": catchall})).production;
    let found =
        ["grandly_unified=x", "grandly_unifieds", "a,grandly_unified", "", " grandly_unified"];
    assert_eq!(found.map(grand), [true, true, true, false, false]);
}

/// PanDA compares words as they are.
#[test]
fn a_status_that_panda_does_not_know_takes_no_jobs() {
    for status in
        [json!("ONLINE"), json!("online "), json!("sleepy"), json!(""), json!(1), json!(null)]
    {
        assert_eq!(queue(json!({"status": status})).status, QueueStatus::Offline, "{status}");
        let found = complaints(json!({"status": status}));
        assert!(found.len() == 1 && found[0].ends_with("; taken as offline"), "{found:?}");
    }
    assert_eq!(queue(json!({"status": "standby"})).status, QueueStatus::Standby);
}

/// Only a type that is not stated is that of production.
#[test]
fn a_queue_of_no_type_is_on_no_list() {
    for kind in [Value::Null, json!(""), json!("special")] {
        let queue = queue(json!({"type": kind}));
        assert!(!queue.production && !queue.analysis, "{kind}");
    }
}

/// PanDA passes these over without a word.
#[test]
fn rows_that_are_no_queues_are_passed_over() {
    let queue = json!({"status": "online", "type": "production", "cloud": "US"});
    let dump = json!({"ALL": queue, "": queue, "SLAC": queue}).to_string();
    let imported = cric(&dump, NOW, &Sites::new()).expect("a dump");
    let names: Vec<&str> = of::<Queue>(&imported).iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, imported.left_out.len()), (vec!["SLAC"], 0));
}

/// GenJobBroker keeps the whole of a unified queue whatever its VO; the brokers of ATLAS drop it.
#[test]
fn the_topology_tells_whether_a_unified_queue_is_kept_beside_its_parts() {
    let place = TempDir::new().expect("a place");
    let queue = |vo: Value| {
        json!({"status": "online", "capability": "ucore", "corecount": 8, "maxrss": 16_000,
            "minrss": 0, "vo_name": vo})
    };
    let mut unstated = queue(Value::Null);
    unstated.as_object_mut().expect("an object").remove("vo_name");
    let dump = json!({"A": queue(json!("atlas")), "N": queue(Value::Null), "U": unstated,
        "W": queue(json!("wlcg"))});
    let file = place.path().join("queues");
    std::fs::write(&file, dump.to_string()).expect("a file");
    for (topology, wants) in [("panda", &["A", "N", "U", "W"][..]), ("atlas", &["W"][..])] {
        let dir = place.path().join(topology);
        let (file, at) = (file.to_str().expect("a path"), dir.to_str().expect("a path"));
        let args = ["import", "cric", file, "--topology", topology, "--dir", at];
        let (code, out, errors) = printed(&verb(&args).output().expect("a process"));
        assert_eq!(code, Some(0), "{out}{errors}");
        let held = held(&dir, Topic::Queue);
        let whole: Vec<&str> =
            held.keys().map(String::as_str).filter(|name| !name.contains('/')).collect();
        assert_eq!((whole, held.len()), (wants.to_vec(), 16 + wants.len()), "{topology}");
    }
}

/// Outside ATLAS jobs go to a unified queue itself; its parts stand beside it.
#[test]
fn a_unified_queue_is_kept_beside_its_parts_outside_atlas() {
    let names = |vo: Value| {
        let queue = json!({
            "status": "online", "capability": "ucore", "corecount": 8, "maxrss": 16_000,
            "minrss": 0, "vo_name": vo
        });
        let text = json!({"SLAC": queue}).to_string();
        let imported = cric(&text, NOW, &Sites::new()).expect("a dump");
        of::<Queue>(&imported).iter().map(|queue| queue.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(json!("atlas")), names(json!(null)));
    assert!(!names(json!("atlas")).contains(&"SLAC".to_owned()));
    let outside = names(json!("wlcg"));
    assert_eq!((outside[0].as_str(), &outside[1..]), ("SLAC", &names(json!("atlas"))[..]));
}
