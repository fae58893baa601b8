//! Import: real records of CRIC, the network matrix and storage dumps become ours; what is wrong
//! is named and does not stop the rest.

pub mod arc;
mod facts;
mod generic;
mod kept;
mod later;
mod oversized;
mod pool;
mod spelled;
mod standing;
mod storage;
pub mod tables;
mod wrong;

use serde_json::{Value, json};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Configuration, Link, Queue, QueueStatus, Site, Storage};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::import::{
    Imported, RESOURCE_TYPES, Sites, cric, jobs, netmetrics, nuclei, nuclei_from_cric, storage,
};

pub const CRIC: &str = include_str!("../fixtures/cric.json");
const NETMETRICS: &str = include_str!("../fixtures/netmetrics.json");
const SITE_INFO: &str = include_str!("../fixtures/site_info.json");
pub const ENDPOINTS: &str = include_str!("../fixtures/ddmendpoints.json");
const NOW: i64 = 1_760_000_000_000;

/// The imported records of a kind.
fn of<'a, T>(imported: &'a Imported) -> Vec<&'a T>
where
    &'a T: TryFrom<&'a Configuration>,
{
    imported.records.iter().filter_map(|it| <&T>::try_from(it).ok()).collect()
}

fn queues(imported: &Imported) -> Vec<&Queue> {
    of(imported)
}

#[track_caller]
fn queue<'a>(imported: &'a Imported, name: &str) -> &'a Queue {
    queues(imported).into_iter().find(|queue| queue.name == name).expect(name)
}

fn read_cric() -> Imported {
    let mut sites = Sites::new();
    sites.learn(NETMETRICS).expect("an object");
    cric(CRIC, NOW, &sites).expect("an object")
}

/// The queue AGLT2 with one field changed, as the only queue of a dump; `None` takes it away.
fn agl(field: &str, value: Option<Value>) -> String {
    let dump: Value = serde_json::from_str(CRIC).expect("JSON");
    let mut queue = dump["AGLT2"].clone();
    let map = queue.as_object_mut().expect("an object");
    match value {
        Some(value) => drop(map.insert(field.to_string(), value)),
        None => drop(map.remove(field)),
    }
    json!({ "AGLT2": queue, "BNL": dump["BNL"] }).to_string()
}

#[test]
fn a_unified_queue_becomes_one_queue_for_each_resource_type() {
    let imported = read_cric();
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    assert!(queues(&imported).iter().all(|queue| queue.name != "AGLT2"), "the parent is none");
    let shape = |name: &str| {
        let queue = queue(&imported, name);
        assert_eq!((queue.unified.as_str(), queue.ucore), ("AGLT2", true));
        (queue.cores, queue.min_rss_mb, queue.max_rss_mb)
    };
    // The parent has 8 cores and 48000 MB.
    assert_eq!(shape("AGLT2/SCORE"), (1, 0, 2_000));
    assert_eq!(shape("AGLT2/SCORE_HIMEM"), (1, 2_001, 6_000));
    assert_eq!(shape("AGLT2/MCORE"), (8, 0, 16_000));
    assert_eq!(shape("AGLT2/MCORE_HIMEM"), (8, 16_001, 48_000));
}

#[test]
fn the_worked_example_of_the_specification() {
    let parent = |cores: u32| {
        let text = agl("corecount", Some(json!(cores)));
        let mut dump: Value = serde_json::from_str(&text).expect("JSON");
        dump["AGLT2"]["maxrss"] = json!(32_000);
        cric(&dump.to_string(), NOW, &Sites::new()).expect("an object")
    };
    let imported = parent(8);
    let mcore = queue(&imported, "AGLT2/MCORE_HIMEM");
    assert_eq!((mcore.cores, mcore.min_rss_mb, mcore.max_rss_mb), (8, 16_001, 32_000));
    let one_core = parent(1);
    let names: Vec<&str> = queues(&one_core).iter().map(|queue| queue.name.as_str()).collect();
    assert!(!names.contains(&"AGLT2/MCORE") && names.contains(&"AGLT2/SCORE"), "{names:?}");
    assert_eq!(RESOURCE_TYPES.len(), 4);
}

#[test]
fn fields_of_a_queue_come_with_their_units() {
    let imported = read_cric();
    let queue = queue(&imported, "AGLT2/MCORE");
    assert_eq!(queue.status, QueueStatus::Online);
    assert!(queue.production && queue.analysis);
    assert_eq!((queue.cloud.as_str(), queue.site.as_str()), ("US", "AGLT2"));
    assert_eq!(queue.core_power_mhs06, 13_510);
    assert_eq!((queue.max_time_s, queue.min_time_s), (258_000, 0));
    assert_eq!((queue.max_wdir_mb, queue.max_input_mb), (106_498, 16_000));
    assert_eq!((queue.max_disk_io_kbps, queue.transferring_limit), (5_000, 3_000));
    assert_eq!((queue.pledged_cpu, queue.changed_at), (0, NOW));
    assert_eq!(queue.wn_connectivity, "full#IPv4");
    assert_eq!((queue.jobseed.as_str(), queue.catchall.as_str()), ("eshigh", "es_to_zip"));
    assert_eq!(queue.workflow, "pull_ups");
    assert_eq!(queue.endpoints.write[0], "AGLT2_DATADISK");
    assert_eq!(queue.endpoints.read.len(), 4);
    assert_eq!(queue.resource_type, "MCORE");
}

#[test]
fn the_storage_site_is_that_of_the_default_write_endpoint_as_the_matrix_names_it() {
    let imported = read_cric();
    for (name, site) in [
        ("BNL/SCORE", "BNL-ATLAS"), // BNL-OSG2_DATADISK: most queues that write there
        ("RAL/SCORE", "RAL-LCG2"),  // RAL-LCG2-ECHO has no traffic of its own
        ("GRIF-LAL/SCORE", "GRIF"), // GRIF_DATADISK
        ("SLAC/SCORE", "WT2"),      // SLACXRD_DATADISK
        ("FZK-LCG2/SCORE", "FZK-LCG2"),
    ] {
        assert_eq!(queue(&imported, name).storage_site, site, "{name}");
    }
    let mut sites = Sites::new();
    sites.learn(r#"{"KIT-T2_DATADISK": {"rc_site": "FZK-LCG2", "type": "DATADISK"}}"#).expect("");
    let mut dump: Value = serde_json::from_str(CRIC).expect("JSON");
    dump["SINGLE"] = dump["ALL"].clone();
    let imported = cric(&dump.to_string(), NOW, &sites).expect("an object");
    assert_eq!(queue(&imported, "SINGLE").storage_site, "CERN-PROD", "no endpoints: its own site");
    assert_eq!(queue(&imported, "EMMY_KIT/SCORE").storage_site, "FZK-LCG2", "as a dump states it");
}

#[test]
fn a_wrong_field_is_named_and_the_queue_left_out_and_the_rest_goes_on() {
    for (field, value, says) in [
        ("cloud", json!(7), "field `cloud`: found 7, wants text"),
        ("releases", json!([1]), "field `releases`: found a list, wants a list of words"),
        ("astorages", json!({"write_lan": 3}), "field `astorages.write_lan`: found 3"),
    ] {
        let imported = cric(&agl(field, Some(value)), NOW, &Sites::new()).expect("an object");
        assert_eq!(imported.complaints.len(), 1, "{field}: {:?}", imported.complaints);
        let report = &imported.complaints[0];
        assert!(report.starts_with("queue AGLT2: ") && report.contains(says), "{report}");
        let left = queues(&imported);
        assert!(left.iter().all(|queue| queue.unified == "BNL") && left.len() == 4, "{field}");
    }
}

#[test]
fn a_missing_field_is_named_and_taken_as_not_set_unless_it_is_needed() {
    let imported = cric(&agl("maxtime", None), NOW, &Sites::new()).expect("an object");
    let report = "queue AGLT2: field `maxtime` is missing; taken as not set";
    assert_eq!(imported.complaints, [report]);
    assert_eq!(queue(&imported, "AGLT2/MCORE").max_time_s, 0);
    let imported = cric(&agl("status", None), NOW, &Sites::new()).expect("an object");
    assert_eq!(imported.complaints.len(), 1, "{:?}", imported.complaints);
    assert_eq!(queues(&imported).len(), 4);
}

#[test]
fn unknown_fields_are_ignored() {
    let text = agl("colour_of_the_roof", Some(json!({"deep": [1, 2]})));
    let imported = cric(&text, NOW, &Sites::new()).expect("an object");
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    assert_eq!(queues(&imported).len(), 8);
}

#[test]
fn flags_of_params_win_over_those_of_catchall() {
    let mut dump: Value = serde_json::from_str(&agl("x", None)).expect("JSON");
    dump["AGLT2"]["catchall"] = json!("jobChunkSize=7, bareNucleus=only,Pull");
    let params = json!({"jobChunkSize": false, "bareNucleus": "allow", "gpu": true});
    dump["AGLT2"]["params"] = params;
    let imported = cric(&dump.to_string(), NOW, &Sites::new()).expect("an object");
    assert_eq!(queue(&imported, "AGLT2/SCORE").catchall, "Pull,bareNucleus=allow,gpu");
    dump["AGLT2"]["catchall"] = json!("per_core_attr");
    dump["AGLT2"]["maxrss"] = json!(4_000);
    let imported = cric(&dump.to_string(), NOW, &Sites::new()).expect("an object");
    assert_eq!(queue(&imported, "AGLT2/MCORE_HIMEM").max_rss_mb, 32_000, "for 8 cores");
}

#[test]
fn text_of_another_shape_is_one_clear_error() {
    let sites = Sites::new();
    let report = cric("[1, 2]", NOW, &sites).expect_err("a list");
    assert_eq!(report, "queues: in the list: found 1, wants a `name`");
    assert!(cric("{\"AGLT2\": ", NOW, &sites).expect_err("cut").starts_with("queues: not JSON: "));
    assert!(netmetrics("7", NOW).expect_err("a number").contains("found 7"));
    assert!(storage(&["null"], NOW, &sites).expect_err("null").contains("found nothing"));
    assert!(nuclei("{}", NOW).expect_err("an object").contains("wants a JSON list"));
    assert!(Sites::new().learn("7").is_err());
    let imported = cric("{\"AGLT2\": 3}", NOW, &sites).expect("an object");
    assert_eq!(imported.complaints, ["queue AGLT2: found 3, wants an object; left out"]);
}

fn links(text: &str) -> (Vec<Link>, Vec<String>) {
    let imported = netmetrics(text, NOW).expect("an object");
    (of::<Link>(&imported).into_iter().cloned().collect(), imported.complaints)
}

#[test]
fn links_carry_the_figures_of_the_matrix() {
    let (links, complaints) = links(NETMETRICS);
    assert!(complaints.is_empty(), "{complaints:?}");
    let of = |source: &str, destination: &str| {
        let found = |link: &&Link| link.source == source && link.destination == destination;
        links.iter().find(found).expect("the link")
    };
    let link = of("CERN-PROD", "BNL-ATLAS");
    assert_eq!(link.closeness, Some(1));
    assert_eq!(link.mbps_1h, Some(3271.86));
    assert_eq!((link.mbps_1d, link.mbps_1w), (Some(3736.54), Some(2043.8)));
    assert_eq!(link.changed_at, 1_723_120_516_000, "the newest of its stamps");
    let express = link.queued.iter().find(|queued| queued.activity == "Express").expect("Express");
    assert_eq!((express.files, express.bytes), (78, 102_031_982_268));
    let quiet = of("GRIF-LAL", "BNL-ATLAS");
    assert_eq!((quiet.mbps_1w, quiet.queued.len(), quiet.queued_known), (None, 0, true));
}

#[test]
fn where_nothing_of_queues_is_published_nothing_is_known_of_them() {
    let (links, complaints) = links(r#"{"A:B": {"src": "A", "dst": "B"}}"#);
    assert!(complaints.is_empty(), "{complaints:?}");
    assert_eq!(
        (links[0].queued_known, links[0].closeness, links[0].changed_at),
        (false, None, NOW)
    );
}

#[test]
fn wrong_links_are_named_and_left_out() {
    let text = json!({
        "A:B": {"src": "A", "dst": "B", "closeness": {"latest": 12}},
        "A:C": {"src": "A", "dst": "C", "closeness": {"latest": -1}},
        "A:D": {"src": "A", "mbps": {"dashb": {"1h": "fast"}}},
        "A:E": {"src": "A", "dst": "E", "closeness": {"latest": 1, "timestamp": "yesterday"}},
        "A:F": {"src": "A", "dst": "F", "files": {"queued": {"Express": {"latest": -5}}}},
        "A:G": {"src": "A", "dst": "G", "files": {"queued": {"Express": {"latest": 5}}},
            "bytes": {"queued": {"Express": {"latest": -5}}}},
    });
    let (links, complaints) = links(&text.to_string());
    assert_eq!(links.len(), 2);
    assert_eq!(links[0].closeness, Some(-1), "blocked");
    assert_eq!((links[1].queued[0].files, links[1].queued[0].bytes), (5, 0), "files alone count");
    let complaints = complaints.join("\n");
    for part in [
        "link A:B: field `closeness.latest`: found 12, wants a whole number -1..=11",
        "link A:D: field `mbps.dashb.1h`: found \"fast\"",
        "link A:D: field `dst`: found nothing",
        "link A:E: field `closeness.timestamp`: found \"yesterday\"",
        "link A:F: field `files.queued.Express.latest`: found -5",
    ] {
        assert!(complaints.contains(part), "{part} is not in\n{complaints}");
    }
}

fn endpoints(texts: &[&str]) -> (Vec<Storage>, Imported) {
    let mut sites = Sites::new();
    sites.learn(CRIC).expect("an object");
    let imported = storage(texts, NOW, &sites).expect("an object");
    (of::<Storage>(&imported).into_iter().cloned().collect(), imported)
}

#[test]
fn space_and_type_of_an_endpoint_come_from_two_dumps() {
    let (found, imported) = endpoints(&[SITE_INFO, ENDPOINTS]);
    assert!(imported.complaints.is_empty(), "{:?}", imported.complaints);
    let of = |name: &str| found.iter().find(|storage| storage.name == name);
    let disk = of("AGLT2_DATADISK").expect("stated");
    assert_eq!((disk.total_bytes, disk.free_bytes), (11_239_990_000_000_000, disk.total_bytes));
    assert_eq!((disk.kind.as_str(), disk.tape, disk.site.as_str()), ("DATADISK", false, "AGLT2"));
    let cern = of("CERN-PROD_DATADISK").expect("stated by both");
    assert_eq!((cern.kind.as_str(), cern.site.as_str()), ("DATADISK", "CERN-PROD"));
    assert!(of("BNL-OSG2_DATATAPE").is_none(), "a record without space would say it is full");
}

#[test]
fn wrong_sizes_are_named() {
    let text = r#"{"Q": {"RSE": {"X_DATADISK": "big", "Y_DATADISK": "1.5"}}, "R": {"RSE": 3}}"#;
    let (found, imported) = endpoints(&[text]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].total_bytes, 1_500_000_000_000);
    let report = imported.complaints.join("\n");
    assert!(report.contains("queue Q: field `RSE.X_DATADISK`: found \"big\""), "{report}");
    assert!(report.contains("queue R: field `RSE`: found 3, wants an object"), "{report}");
}

/// Of its size alone an endpoint would be taken for one of another type.
#[test]
fn an_endpoint_that_cannot_be_read_is_left_out_with_its_size() {
    let space = r#"{"Q": {"RSE": {"X_DATADISK": 1, "Y_DATADISK": 2}}}"#;
    let kinds = r#"{"X_DATADISK": {"type": 7, "is_tape": true, "rc_site": "S"}, "Y_DATADISK": 3}"#;
    for texts in [[space, kinds], [kinds, space]] {
        let (found, imported) = endpoints(&texts);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(imported.left_out, ["X_DATADISK", "Y_DATADISK"]);
        assert_eq!((imported.unreadable, imported.unnamed), (2, 0));
    }
}

fn sites(imported: &Imported) -> Vec<&Site> {
    of(imported)
}

#[test]
fn nuclei_are_names_or_objects() {
    let text = r#"["CERN-PROD", {"name": "BNL-ATLAS", "output_endpoint": "BNL-OSG2_DATADISK",
        "tier": 1, "active": false}, {"tier": 1}, "", 7]"#;
    let imported = nuclei(text, NOW).expect("a list");
    let found = sites(&imported);
    assert_eq!(found.len(), 2);
    assert!(found[0].nucleus && found[0].active && found[0].name == "CERN-PROD");
    assert_eq!((found[1].tier, found[1].active), (1, false));
    assert_eq!(found[1].output_endpoint, "BNL-OSG2_DATADISK");
    let report = imported.complaints.join("\n");
    assert!(report.contains("nucleus number 3: field `name`: found nothing"), "{report}");
    assert!(report.contains("nucleus number 5: found 7"), "{report}");
}

#[test]
fn nuclei_of_cric_are_its_first_tiers_and_the_largest_second_ones_with_a_note() {
    let mut known = Sites::new();
    known.learn(NETMETRICS).expect("an object");
    let imported = nuclei_from_cric(CRIC, NOW, &known).expect("an object");
    let found = sites(&imported);
    let names: Vec<&str> = found.iter().map(|site| site.name.as_str()).collect();
    for name in ["BNL-ATLAS", "FZK-LCG2", "RAL-LCG2", "MWT2", "AGLT2", "GRIF"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert!(!names.contains(&"WT2"), "tier 3");
    let bnl = found.iter().find(|site| site.name == "BNL-ATLAS").expect("there");
    assert_eq!((bnl.tier, bnl.output_endpoint.as_str()), (1, "BNL-OSG2_DATADISK"));
    assert!(imported.notes[0].contains("names no nuclei"), "{:?}", imported.notes);
}

#[test]
fn the_same_text_gives_the_same_records() {
    assert_eq!(read_cric(), read_cric());
}

#[track_caller]
fn one_job(row: &Value) -> Result<String, String> {
    let (rows, imported) = jobs(&row.to_string());
    match (rows.as_slice(), imported.complaints.as_slice()) {
        ([row], []) => {
            let (codec, mut arena) = (Codec::default(), Arena::default());
            let event = codec.read(Topic::JobState, None, Some(&row.value), &mut arena);
            Ok(format!("{} {event:?}", row.job))
        }
        ([], [complaint]) => Err(complaint.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_of_a_job_table_become_job_states_whatever_the_case_of_their_columns() {
    let row = json!({
        "PANDAID": 6_543_210_001u64, "JediTaskID": "45123456", "jobstatus": "running",
        "COMPUTINGSITE": "CERN", "PRODUSERNAME": "A User", "PRODUSERID": "/DC=ch/CN=a",
        "WORKINGGROUP": null, "GSHARE": "Express", "RESOURCE_TYPE": "MCORE", "CORECOUNT": 8.0,
        "CURRENTPRIORITY": -5, "NUCLEUS": "CERN", "PRODSOURCELABEL": "managed",
        "JOBSUBSTATUS": "NULL", "MODIFICATIONTIME": "2025-03-20T21:00:00",
        "STATECHANGETIME": "2025-03-20 20:15:43.153695", "CREATIONTIME": 1_742_500_000,
        "STARTTIME": "2025-03-20 20:15:43", "ENDTIME": null, "INPUTFILEBYTES": 12_345,
        "OUTPUTFILEBYTES": -1, "ATTEMPTNR": 3, "ANYTHING": [1],
    });
    let report = one_job(&row).unwrap();
    for part in [
        "6543210001 ",
        "task: \"45123456\"",
        "status: Running",
        "queue: \"CERN\"",
        "user: \"A User\"",
        "group: \"\"",
        "gshare: \"Express\"",
        "resource_type: \"MCORE\"",
        "cores: 8",
        "priority: -5",
        "nucleus: \"CERN\"",
        "label: \"managed\"",
        "sub_status: \"\"",
        "changed_at: 1742501743153",
        "created_at: 1742500000000",
        "started_at: 1742501743000",
        "ended_at: 0",
        "input_bytes: 12345",
        "output_bytes: 0",
        // PanDA gives each try an id of its own, so a PandaID has one attempt.
        "attempt: 0",
    ] {
        assert!(report.contains(part), "{part:?} is not in {report}");
    }
    let with = |column: &str, value: Value| {
        let mut row = row.clone();
        row[column] = value;
        one_job(&row)
    };
    assert!(with("PRODUSERNAME", Value::Null).unwrap().contains("user: \"/DC=ch/CN=a\""));
    assert!(with("STATECHANGETIME", Value::Null).unwrap().contains("changed_at: 1742504400000"));
    for (column, value) in [
        ("PANDAID", json!(0)),
        ("PANDAID", json!("x")),
        ("jobstatus", json!("asleep")),
        ("CORECOUNT", json!("many")),
        ("STARTTIME", json!("2025-03-20")),
        ("GSHARE", json!({})),
    ] {
        let why = with(column, value).unwrap_err();
        let named = why.contains(&format!("column {}", column.to_uppercase()));
        assert!(named && why.starts_with("line 1: ") && why.ends_with("; left out"), "{why}");
    }
}

#[test]
fn a_wrong_line_of_a_job_table_does_not_stop_the_rest() {
    let row = |job: u64| json!({"pandaid": job, "jobstatus": "failed", "modificationtime": 9});
    let text = format!("{}\n\nnothing\n[1]\n{}\n", row(1), row(2));
    let (rows, imported) = jobs(&text);
    assert_eq!(rows.iter().map(|row| row.job.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    let lines: Vec<&str> = imported.complaints.iter().map(|it| &it[..7]).collect();
    assert_eq!(lines, ["line 3:", "line 4:"]);
}
