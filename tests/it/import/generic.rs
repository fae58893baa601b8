//! Facts of a queue that PanDA's generic broker reads, from `schedconfig_json` as from CRIC.

use super::{NOW, of};
use serde_json::{Value, json};
use yardmaster::core::event::Queue;
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
    let wrong = imported.complaints.iter().find(|it| it.to_string().contains("found"));
    assert!(wrong.is_none(), "{wrong:?}");
    of::<Queue>(&imported)[0].clone()
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
        (json!({"nickname": "SLAC-nick"}), Queue::OTHER_NICKNAME),
        (json!({"params": {"allowed_processing": ["a"]}}), Queue::PROCESSING_LIST),
        (json!({"params": {"excluded_processing": []}}), Queue::PROCESSING_LIST),
    ] {
        assert_eq!(queue(fields).faults, [fault]);
    }
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

/// Outside ATLAS jobs go to a unified queue itself; its parts stand beside it.
#[test]
fn a_unified_queue_is_kept_beside_its_parts_outside_atlas() {
    let names = |vo: Value| {
        let queue = json!({
            "status": "online", "capability": "ucore", "corecount": 8, "maxrss": 16_000,
            "vo_name": vo
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
