//! Shares, parameters, quotas and software: what is right becomes a record, what is wrong is named
//! with thing and field, and the rest goes on.

use super::NOW;
use super::of;
use serde_json::json;
use yardmaster::core::event::{
    Configured, DomainRecord, HardwareKind, Location, Parameter, Quota, QuotaKind, Release,
    Replica, Share, SoftwareTag,
};
use yardmaster::core::judge::share::Tree;
use yardmaster::wire::import::{
    Sites, SlotRow, cric, domain_records, gdpconfig, quotas, releases, replicas, shares, slots,
};

#[test]
fn rows_of_global_shares_become_a_tree() {
    let rows = json!([
        {"NAME": "Production", "VALUE": 80, "PARENT": null, "QUEUE_ID": 1, "THROTTLED": "N"},
        {"name": "Analysis", "value": 20.0, "parent": "", "vo": "atlas", "throttled": "Y"},
        {"name": "Data", "value": 40, "parent": "Production", "prodsourcelabel": "managed"},
        {"name": "MC", "value": 60, "parent": "Production", "prodsourcelabel": "managed",
         "workinggroup": "(?!(GP_|SOFT)).*", "campaign": "MC23", "processingtype": "^(simul|pile)$",
         "transpath": ".*", "rtype": "", "queue_id": 42},
    ]);
    let imported = shares(&rows.to_string(), NOW).expect("a list");
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    let read = of::<Share>(&imported);
    assert_eq!((read[0].queue_id, read[0].throttled, read[0].changed_at), (1, false, NOW));
    assert_eq!((read[1].position, &read[1].vo[..], read[1].throttled), (1, "atlas", true));
    let mc = read[3];
    assert_eq!((&mc.parent[..], mc.value, mc.position), ("Production", 60.0, 1));
    assert_eq!(mc.label.as_deref(), Some("managed"));
    assert_eq!(mc.working_group.as_deref(), Some("(?!(GP_|SOFT)).*"));
    assert_eq!(mc.campaign.as_deref(), Some("MC23"));
    assert_eq!(mc.processing_type.as_deref(), Some("^(simul|pile)$"));
    assert_eq!((mc.trans_path.as_deref(), mc.resource_type.as_deref()), (Some(".*"), None));
    let tree = Tree::new(read);
    let leaves: Vec<(&str, f64)> = tree.leaves().map(|it| (&it.name[..], it.value)).collect();
    assert_eq!(leaves, [("Data", 32.0), ("MC", 48.0), ("Analysis", 20.0)]);
}

/// PanDA limits the jobs of a share unless its column says N.
#[test]
fn only_n_makes_a_share_unthrottled() {
    for (value, throttled) in [
        (json!("Y"), true),
        (json!("0"), true),
        (json!(0), true),
        (json!(""), true),
        (json!(null), true),
        (json!("N"), false),
        (json!("n"), false),
        (json!(false), false),
    ] {
        let rows = json!([{"name": "A", "value": 1, "throttled": value}]);
        let imported = shares(&rows.to_string(), NOW).expect("a list");
        assert_eq!(
            (&imported.complaints, of::<Share>(&imported)[0].throttled),
            (&vec![], throttled)
        );
    }
}

/// No rule reads it.
#[test]
fn a_wrong_number_of_a_share_takes_it_not_away() {
    let rows = json!([{"name": "A", "value": 1, "queue_id": -3},
        {"name": "B", "value": 1, "parent": "A", "queue_id": "x"}]);
    let imported = shares(&rows.to_string(), NOW).expect("a list");
    let found: Vec<_> = of::<Share>(&imported).iter().map(|it| (&*it.name, it.queue_id)).collect();
    assert_eq!(found, [("A", 0), ("B", 0)]);
    let complaint = "share A: field `queue_id`: found -3, wants a whole number \
                     0..=9223372036854775807; taken as not set";
    assert_eq!((imported.complaints.len(), &*imported.complaints[0]), (2, complaint));
}

#[test]
fn a_wrong_share_is_named_and_left_out() {
    for (row, says) in [
        (json!({"name": "B", "value": "much"}), "share B: field `value`: found \"much\""),
        (json!({"name": "B", "value": -1}), "share B: field `value`: found -1"),
        (json!({"name": "A", "value": 1}), "share A: field `name`: found \"A\""),
        (json!({"value": 1}), "share number 2: field `name`: found nothing, wants a word"),
        (
            json!({"name": "B", "value": 1, "workinggroup": "("}),
            "field `workinggroup`: found \"(\"",
        ),
        (json!({"name": "B", "value": 1, "rtype": 3}), "field `rtype`: found 3, wants text"),
        (json!({"name": "B", "value": 1, "parent": "no"}), "share B: field `parent`: found \"no\""),
        (json!({"name": "B", "value": 1, "parent": "B"}), "share B: field `parent`: found \"B\""),
        (json!(7), "share number 2: found 7, wants an object"),
    ] {
        let rows = json!([{"name": "A", "value": 1}, row]);
        let imported = shares(&rows.to_string(), NOW).expect("a list");
        assert_eq!(imported.complaints.len(), 1, "{:?}", imported.complaints);
        let report = &imported.complaints[0];
        assert!(report.contains(says) && report.ends_with("left out"), "{report}");
        assert_eq!(of::<Share>(&imported).len(), 1, "{report}");
    }
    assert!(shares("{}", NOW).is_err_and(|it| it.contains("wants a JSON list")));
}

#[test]
fn parameters_come_as_a_list_or_as_an_object() {
    let rows = json!([
        {"app": "jedi", "component": "jobbroker", "key": "NQUEUELIMITSITE_User Analysis",
         "vo": "atlas", "value": "20", "type": "integer"},
        {"APP": "jedi", "COMPONENT": "jobbroker", "KEY": "NW_ACTIVE", "VALUE": "True",
         "TYPE": "boolean", "VO": null},
        {"app": "jedi", "component": "jobbroker", "key": "NW_THRESHOLD", "value": 1.7},
        {"app": "a", "component": "b", "key": "c", "value": [1], "type": "json"},
        {"app": "a", "component": "b", "key": "d", "value": " x ", "type": "string"},
    ]);
    let imported = gdpconfig(&rows.to_string(), NOW).expect("a list");
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    let report: Vec<(&str, &str, &str)> = of::<Parameter>(&imported)
        .iter()
        .map(|it| (&it.key[..], &it.vo[..], &it.value[..]))
        .collect();
    assert_eq!(
        report,
        [
            ("NQUEUELIMITSITE_User Analysis", "atlas", "20"),
            ("NW_ACTIVE", "", "true"),
            ("NW_THRESHOLD", "", "1.7"),
            ("c", "", "[1]"),
            ("d", "", " x "),
        ]
    );
    let object = json!({
        "jedi.jobbroker.NW_ACTIVE": false,
        "pandaserver.rebroker.ANALY_TIMEOUT_phys.top":
            {"value": 12, "type": "float", "vo": "atlas"},
    });
    let imported = gdpconfig(&object.to_string(), NOW).expect("an object");
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    let read = of::<Parameter>(&imported);
    assert_eq!((&read[0].component[..], &read[0].value[..]), ("jobbroker", "false"));
    assert_eq!((&read[1].key[..], &read[1].vo[..]), ("ANALY_TIMEOUT_phys.top", "atlas"));
    assert_eq!((&read[1].value[..], read[1].changed_at), ("12", NOW));
}

#[test]
fn a_parameter_of_another_type_than_declared_is_named() {
    for (value, kind, wants) in [
        (json!("abc"), "integer", "an integer"),
        (json!(2.5), "integer", "an integer"),
        (json!(true), "integer", "an integer"),
        (json!("1,7"), "float", "a float"),
        (json!("inf"), "float", "a float"),
        (json!("yes"), "boolean", "true or false"),
        (json!(1), "boolean", "true or false"),
        (json!(1), "string", "a string"),
        (json!("{"), "json", "JSON"),
    ] {
        let rows = json!([
            {"app": "jedi", "component": "jobbroker", "key": "K", "value": value, "type": kind},
            {"app": "jedi", "component": "jobbroker", "key": "L", "value": 1},
        ]);
        let imported = gdpconfig(&rows.to_string(), NOW).expect("a list");
        assert_eq!(imported.complaints.len(), 1, "{:?}", imported.complaints);
        let report = &imported.complaints[0];
        assert!(
            report.starts_with("parameter jedi.jobbroker.K: field `value`: found "),
            "{report}"
        );
        assert!(report.contains(wants) && report.contains("as its type is"), "{report}");
        assert_eq!(of::<Parameter>(&imported).len(), 1);
    }
    for (row, says) in [
        (json!({"app": "a", "component": "b", "key": "c", "value": 1, "type": "blob"}), "`type`"),
        (json!({"app": "a", "component": "b", "key": "c"}), "`value`: found nothing"),
        (json!({"app": "a", "key": "c", "value": 1}), "parameter number 1: field `component`"),
    ] {
        let imported = gdpconfig(&json!([row]).to_string(), NOW).expect("a list");
        assert_eq!(imported.complaints.len(), 1, "{:?}", imported.complaints);
        assert!(imported.complaints[0].contains(says), "{:?}", imported.complaints);
    }
    let imported = gdpconfig(r#"{"jedi.KEY": 1, "a.b.c": 2}"#, NOW).expect("an object");
    assert!(
        imported.complaints[0].contains("wants app.component.KEY"),
        "{:?}",
        imported.complaints
    );
    let row = json!({"app": "a", "component": "b", "key": "c", "value": 1});
    let imported = gdpconfig(&json!([row, row]).to_string(), NOW).expect("a list");
    assert!(imported.complaints[0].contains("a.b.c: field `key`"), "{:?}", imported.complaints);
    assert!(gdpconfig("3", NOW).is_err());
}

#[test]
fn quotas_of_users_and_groups() {
    let rows = json!([
        {"account": "jphys", "rse_expression": "type=SCRATCHDISK", "bytes_limit": 1000,
         "used_bytes": 900, "used_files": 3},
        {"group": "phys-top", "endpoint": "CERN-PROD_PHYS-TOP", "limit_bytes": -1},
        {"user": "ann", "endpoint": "X", "bytes_limit": "Infinity", "used_bytes": null},
    ]);
    let imported = quotas(&rows.to_string(), NOW).expect("a list");
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    let read = of::<Quota>(&imported);
    let scratch = Quota {
        kind: QuotaKind::User,
        subject: "jphys".into(),
        expression: "type=SCRATCHDISK".into(),
        changed_at: NOW,
        limit_bytes: Some(1000),
        used_bytes: 900,
        used_files: 3,
    };
    assert_eq!(*read[0], scratch);
    assert_eq!((read[1].kind, read[1].limit_bytes), (QuotaKind::Group, None));
    assert_eq!((&read[2].subject[..], read[2].limit_bytes, read[2].used_bytes), ("ann", None, 0));
}

#[test]
fn a_wrong_quota_is_named_and_left_out() {
    let good = json!({"account": "a", "endpoint": "E", "bytes_limit": 1});
    for (row, says) in [
        (json!({"endpoint": "E"}), "quota number 2: field `account`: found nothing"),
        (json!({"account": "b"}), "quota of b: field `rse_expression`: found nothing"),
        (json!({"account": "b", "endpoint": "E", "bytes_limit": "x"}), "field `bytes_limit`"),
        (
            json!({"account": "b", "endpoint": "E", "used_bytes": -1}),
            "quota of b at E: field `used",
        ),
        (json!({"account": 3, "endpoint": "E"}), "field `account`: found 3"),
        (good.clone(), "quota of a at E: field `account`: found \"a\", wants one quota"),
        (json!("x"), "quota number 2: found \"x\", wants an object"),
    ] {
        let imported = quotas(&json!([good, row]).to_string(), NOW).expect("a list");
        assert_eq!(imported.complaints.len(), 1, "{:?}", imported.complaints);
        assert!(imported.complaints[0].contains(says), "{:?}", imported.complaints);
        assert_eq!(of::<Quota>(&imported).len(), 1);
    }
}

/// As in the brokerage document, with a container added.
fn published() -> serde_json::Value {
    json!({"AGLT2": {
        "cmtconfigs": ["x86_64-centos7-gcc62-opt", "x86_64-slc6-gcc8-opt"],
        "containers": ["any", "/cvmfs"],
        "cvmfs": ["atlas", "nightlies"],
        "architectures": [
            {"arch": ["x86_64"], "instr": ["avx2"], "type": "cpu", "vendor": ["intel", "excl"]},
            {"type": "gpu", "vendor": ["nvidia", "excl"], "model": ["kt100"]},
        ],
        "tags": [
            {"cmtconfig": "x86_64-slc6-gcc62-opt", "container_name": "", "project": "AthDerivation",
             "release": "21.2.2.0", "sources": [], "tag": "VO-atlas-AthDerivation-21.2.2.0"},
            {"cmtconfig": "x86_64-el9-gcc13-opt", "container_name": "atlas/athena:1",
             "project": "Athena", "release": "1", "sources": ["/cvmfs/unpacked.cern.ch/a"],
             "tag": "T"},
        ],
    }})
}

#[test]
fn what_a_queue_publishes() {
    let imported = releases(&published().to_string(), NOW).expect("an object");
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    let read = of::<Release>(&imported);
    let agl = read[0];
    assert_eq!((&agl.queue[..], agl.changed_at), ("AGLT2", NOW));
    assert_eq!((agl.cmtconfigs.len(), &agl.containers[1][..], agl.cvmfs.len()), (2, "/cvmfs", 2));
    let (cpu, gpu) = (&agl.hardware[0], &agl.hardware[1]);
    assert_eq!((cpu.kind, gpu.kind), (HardwareKind::Cpu, HardwareKind::Gpu));
    assert_eq!((&cpu.arch[0][..], &cpu.instr[0][..]), ("x86_64", "avx2"));
    assert_eq!((&cpu.vendor[1][..], &gpu.model[0][..]), ("excl", "kt100"));
    let athena = SoftwareTag {
        tag: "T".into(),
        cmtconfig: "x86_64-el9-gcc13-opt".into(),
        project: "Athena".into(),
        release: "1".into(),
        container_name: "atlas/athena:1".into(),
        sources: vec!["/cvmfs/unpacked.cern.ch/a".into()],
    };
    assert_eq!(agl.tags[1], athena);
    // The union of tags is made where the dump has none, and kept where it has one.
    assert_eq!((read.len(), &read[1].queue[..], &read[1].tags[..]), (2, "ALL", &[athena][..]));
    let mut dump = published();
    dump["ALL"] = json!({"cmtconfigs": [], "containers": [], "cvmfs": [], "architectures": [],
                         "tags": [{"tag": "U"}]});
    let imported = releases(&dump.to_string(), NOW).expect("an object");
    let all = of::<Release>(&imported).into_iter().find(|it| it.queue == "ALL").expect("ALL");
    assert_eq!((all.tags.len(), &all.tags[0].tag[..]), (1, "U"));
}

#[test]
fn what_is_wrong_in_what_a_queue_publishes_is_named() {
    for (field, value, says) in [
        ("cvmfs", json!("atlas"), "field `cvmfs`: found \"atlas\", wants a list of words"),
        ("tags", json!([3]), "field `tags`: found a list, wants a list of objects"),
        ("tags", json!([{"project": 3}]), "field `tags[0].project`: found 3, wants text"),
        ("tags", json!([{}, {"sources": "x"}]), "field `tags[1].sources`: found \"x\""),
        ("architectures", json!([{"type": "tpu"}]), "field `architectures[0].type`: found \"tpu\""),
        ("architectures", json!([{"type": "cpu", "arch": 1}]), "field `architectures[0].arch`"),
    ] {
        let mut dump = published();
        dump["BNL"] = dump["AGLT2"].clone();
        dump["BNL"][field] = value;
        let imported = releases(&dump.to_string(), NOW).expect("an object");
        assert_eq!(imported.complaints.len(), 1, "{:?}", imported.complaints);
        let report = &imported.complaints[0];
        assert!(report.starts_with("queue BNL: ") && report.contains(says), "{report}");
        assert!(of::<Release>(&imported).iter().all(|it| it.queue != "BNL"));
        assert!(of::<Release>(&imported).iter().any(|it| it.queue == "AGLT2"));
    }
    let imported = releases(r#"{"X": {}, "Y": 1}"#, NOW).expect("an object");
    assert_eq!(imported.complaints.len(), 6, "five fields missing, one wrong entry");
    assert_eq!(of::<Release>(&imported).len(), 1);
}

#[test]
fn a_queue_has_endpoints_of_scope_analysis_where_cric_has_them() {
    let read = super::read_cric();
    let agl = super::queue(&read, "AGLT2/SCORE");
    assert_eq!(agl.analysis_endpoints.write[0], "AGLT2_SCRATCHDISK");
    assert_eq!(agl.analysis_endpoints.read, agl.endpoints.read, "reading has no scope of its own");
    let slac = super::queue(&read, "ANALY_SLAC_GPU/SCORE");
    assert!(slac.analysis_endpoints.read.is_empty() && slac.analysis_endpoints.write.is_empty());
    let with = |storages| {
        let text = super::agl("astorages", Some(storages));
        let imported = cric(&text, NOW, &Sites::new()).expect("an object");
        super::queue(&imported, "AGLT2/SCORE").analysis_endpoints.clone()
    };
    let own = with(json!({"read_lan": ["A"], "read_lan_analysis": ["B"]}));
    assert_eq!((own.read, own.write), (vec!["B".to_string()], vec![]));
    let empty = with(json!({"read_lan": ["A"], "write_lan_analysis": []}));
    assert_eq!((empty.read.len(), empty.write.len()), (0, 0));
}

#[test]
fn flags_of_params_stand_with_the_free_form_ones() {
    let with = |params, catchall: &str| {
        let text = super::agl("params", Some(params));
        let mut dump: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        dump["AGLT2"]["catchall"] = json!(catchall);
        let imported = cric(&dump.to_string(), NOW, &Sites::new()).expect("an object");
        super::queue(&imported, "AGLT2/SCORE").catchall.clone()
    };
    let params = json!({"max_io_intensity": 500, "nStandby": 3, "jobChunkSize": "20",
                        "use_only_local_data": true, "ups_core_target": 1});
    let all = "use_only_local_data,jobChunkSize=20,nStandby=3,max_io_intensity=500";
    assert_eq!(with(params, "nStandby=7,max_io_intensity=1"), all);
    assert_eq!(with(json!({}), "a,max_io_intensity=1"), "a", "counts in params alone");
}

#[test]
fn replicas_of_datasets_from_a_list_or_from_lines() {
    let whole = json!({"scope": "mc", "name": "set", "rse": "BNL_DATADISK", "length": 9, "bytes": 90,
        "available_length": 9, "available_bytes": 90, "state": "AVAILABLE"});
    let part = json!({"scope": "mc", "name": "set", "rse": "RAL_DATADISK", "length": 9, "bytes": 90,
        "available_length": 2, "available_bytes": 20, "state": "UNAVAILABLE"});
    let none = json!({"scope": "mc", "name": "set", "rse": "CERN_DATADISK", "length": 9,
        "available_length": 0});
    let lines = format!("{whole}\n{part}\n\n{none}\n");
    let list = json!([whole, part, none]).to_string();
    let imported = replicas(&lines, NOW).expect("lines");
    assert_eq!(imported, replicas(&list, NOW).expect("a list"));
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    let read = of::<Replica>(&imported);
    let at = |endpoint: &str, files: u64, complete| Location {
        endpoint: endpoint.into(),
        files,
        bytes: files * 10,
        complete,
        ..Location::default()
    };
    assert_eq!(read[0].locations, vec![at("BNL_DATADISK", 9, true)]);
    assert_eq!((&read[0].name[..], read[0].files, read[0].changed_at), ("mc:set", 9, NOW));
    assert_eq!((&read[1].endpoint[..], read[1].locations.len()), ("CERN_DATADISK", 0));
    assert_eq!(read[2].locations, vec![at("RAL_DATADISK", 2, false)]);
    for (rows, part) in [
        (json!([{"name": "set"}]), "replica of set: field `rse`: found nothing"),
        (json!([whole, whole]), "replica of set at BNL_DATADISK: field `rse`"),
        (json!([{"name": "set", "rse": "A", "length": -1}]), "replica of set at A: field `length`"),
    ] {
        let complaints = replicas(&rows.to_string(), NOW).expect("a list").complaints;
        assert!(complaints[0].contains(part), "{complaints:?}");
    }
    let why = replicas("{\"name\": 1}\nnothing", NOW).expect_err("no JSON");
    assert!(why.contains("line 2") && why.contains("wants a JSON list"), "{why}");
}

#[test]
fn things_of_a_domain_from_a_list_or_from_lines() {
    let partition = json!({"kind": "partition", "name": "batch", "changed_at": 5,
        "values": {"cpus": 8, "state": "UP", "accounts": ["a"]}});
    let job = json!({"kind": "job", "name": "4711"});
    let lines = format!("{partition}\n{job}\n");
    let imported = domain_records(&lines, NOW).expect("lines");
    let list = json!([partition, job]).to_string();
    assert_eq!(imported, domain_records(&list, NOW).expect("a list"));
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    let read = of::<DomainRecord>(&imported);
    assert_eq!((read[0].name().as_str(), read[0].changed_at), ("job|4711", NOW));
    assert_eq!((read[1].name().as_str(), read[1].changed_at), ("partition|batch", 5));
    assert_eq!((read[1].whole("cpus"), read[1].text("state")), (Some(8), Some("UP")));
    for (row, part) in [
        (json!({"kind": "a|b", "name": "c"}), "domain record a|b c: wants a kind without a `|`"),
        (json!({"kind": "a"}), "domain record number 1: field name: it is missing"),
        (json!({"kind": "a", "name": "b", "values": {"c": null}}), "field values.c: found null"),
        (json!({"kind": "a", "name": "b", "cpus": 1}), "field cpus: there is no such field"),
        (json!(7), "domain record number 1: "),
    ] {
        let found = domain_records(&json!([row]).to_string(), NOW).expect("a list");
        assert!(found.complaints[0].contains(part) && found.records.is_empty(), "{found:?}");
    }
}

#[test]
fn rows_of_slots_become_figures_for_a_queue_a_share_and_a_resource_type() {
    let rows = json!([
        {"PANDAQUEUENAME": "AGLT2/SCORE", "GSHARE": "MC/A", "RESOURCETYPE": "SCORE",
         "NUMSLOTS": 800, "EXPIRATIONTIME": "2025-10-10 08:00:00",
         "MODIFICATIONTIME": "2025-10-09 08:00:00.123456"},
        {"pandaqueuename": "BNL", "gshare": null, "resourcetype": null, "numslots": 0,
         "expirationtime": null, "modificationtime": null},
        {"pandaqueuename": "BNL", "numslots": 7},
        {"pandaqueuename": "RAL", "numslots": null},
        {"pandaqueuename": "RAL", "numslots": 1, "expirationtime": "soon"},
        {"numslots": 1},
    ]);
    let (read, imported) = slots(&rows.to_string(), NOW).expect("a list");
    let bnl = SlotRow {
        queue: "BNL".into(),
        gshare: String::new(),
        resource_type: String::new(),
        slots: 0,
        expires_at: 0,
        at: NOW,
    };
    let aglt2 = SlotRow {
        queue: "AGLT2/SCORE".into(),
        gshare: "MC/A".into(),
        resource_type: "SCORE".into(),
        slots: 800,
        expires_at: 1_760_083_200_000,
        at: 1_759_996_800_123,
    };
    assert_eq!(read, [aglt2.clone(), bnl]);
    for (thing, why) in [
        ("slots of BNL", "one row for a queue, share and resource type"),
        ("slots of RAL", "`numslots`: found nothing"),
        ("slots of RAL", "`expirationtime`: found \"soon\""),
        ("slot row number 6", "`pandaqueuename`"),
    ] {
        let named = |it: &&String| it.starts_with(thing) && it.contains(why);
        assert!(imported.complaints.iter().any(|it| named(&it)), "{:?}", imported.complaints);
    }
    // Taken back, the figure is one that is ignored.
    let gone = SlotRow::withdrawn(&aglt2.key(), NOW).expect("a key of slots");
    assert_eq!((gone.key(), gone.slots, gone.expires_at), (aglt2.key(), -1, NOW));
    assert_eq!(SlotRow::withdrawn("AGLT2/pilot/node", NOW), None);
}
