//! Explanations of a pool of slots for people: by `explain` and `tail` from a directory log, by the
//! API of the process that leads it.

use crate::http::ask;
use crate::kill::process::Ending;
use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use yardmaster::core::cut::Lane;
use yardmaster::core::event::{
    Class, Configured, JobState, Pilot, Requirements, Site, SlotOffer, SlotQuota, Status, Task,
    WorkflowFacts,
};
use yardmaster::core::topic::Topic;
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, DirWriter, Mode};
use yardmaster::shell::store::SledStore;
use yardmaster::wire::record;
use yardmaster::wire::topology::Topology;

const PATIENCE: Duration = Duration::from_secs(120);

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

struct World {
    dir: PathBuf,
    writer: DirWriter,
}

impl World {
    fn new(dir: &Path) -> World {
        let topology = Topology::default_cms();
        let topic = |topic: Topic| {
            let settings = topology.topic(topic);
            DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
        };
        let topics: Vec<DirTopic> = topology.read_topics().map(topic).collect();
        let log = DirLog::open(dir, Mode::Write, &topics, DirOptions::default()).unwrap();
        World { dir: dir.to_owned(), writer: log.writer().unwrap() }
    }

    fn put(&mut self, topic: Topic, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        let mut value = Vec::new();
        write(&mut value);
        let (lane, key) = (Lane::new(topic, 0), key.as_bytes());
        self.writer.append(lane, Some(key), Some(&value), &[], now()).unwrap();
    }

    fn job<'a>(&mut self, job: &'a str, wants: Requirements<&'a str>) {
        let state = JobState {
            job,
            task: "mc",
            user: "ops",
            status: Status::Activated,
            changed_at: now(),
            created_at: now(),
            requirements: Some(Box::new(wants)),
            ..JobState::default()
        };
        self.put(Topic::JobState, job, |out| record::write(out, &state));
    }

    /// A site, a central workflow with three jobs: one that fits, one of another site, one that may
    /// not do what it wants; and an offer with more cores than the first takes.
    fn small(&mut self) {
        let site = Site {
            name: "T2_X".into(),
            changed_at: now(),
            active: true,
            slot_quota: Some(SlotQuota {
                revision: 1,
                tier: "T2".into(),
                pledged_slots: 100,
                central_permille: 500,
                corepower_mhs06: 12_000,
                ..SlotQuota::default()
            }),
            ..Site::default()
        };
        self.put(Topic::Site, &site.name(), |out| record::write(out, &site));
        let workflow = Task {
            subject: "mc".into(),
            task: "mc".into(),
            domain: "cms".into(),
            policy: "cms".into(),
            user: "ops".into(),
            asked_at: now(),
            changed_at: now(),
            workflow: Some(WorkflowFacts {
                class: Class::Central,
                priority: 110,
                priority_revision: 1,
                ..WorkflowFacts::default()
            }),
            ..Task::default()
        };
        self.put(Topic::Task, "mc", |out| record::write(out, &workflow));
        let wants = Requirements {
            seq: Some(1),
            cores_min: 4,
            max_wall_time_s: Some(7_200),
            max_rss_mb: Some(8_000),
            ..Requirements::default()
        };
        self.job("mc.1", wants.clone());
        self.job(
            "mc.2",
            Requirements { seq: Some(2), site_whitelist: Some("T2_Y"), ..wants.clone() },
        );
        self.job("mc.3", Requirements { seq: Some(3), system_job: true, ..wants });
        let offer = SlotOffer {
            offer: "glidein-7",
            cores_free: 6,
            cores_total: 6,
            wall_left_s: 86_400,
            mem_free_mb: 12_000,
            node: "wn1",
            expires_at: now() + 3_600_000,
            ..SlotOffer::default()
        };
        let report = Pilot::SlotOffer { queue: "T2_X", offer: Box::new(offer), at: now() };
        self.put(Topic::Pilot, "glidein-7", |out| record::write(out, &report));
        self.writer.flush().unwrap();
    }
}

/// A verb on the log: what it prints.
fn shown(dir: &Path, verb: &[&str], more: &[&str]) -> String {
    let place = ["--topology", "cms", "--dir", dir.to_str().unwrap()];
    let (code, shown, errors) = printed(&yardmaster(&[verb, &place, more].concat()));
    assert_eq!(code, Some(0), "{verb:?} {more:?}: {shown}{errors}");
    shown
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

fn get(address: SocketAddr, path: &str) -> Value {
    let (head, body) = ask(address, path);
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head} {body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn a_person_reads_who_got_an_offer_and_why_and_why_others_wait() {
    let scratch = TempDir::new().unwrap();
    let (dir, store) = (scratch.path().join("pool"), scratch.path().join("store"));
    let mut world = World::new(&dir);
    world.small();
    let World { dir, writer } = world;
    drop(writer);
    let run = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(["run", "--topology", "cms", "--http", "127.0.0.1:0", "--log", "warn"])
        .args(["--dir".as_ref(), dir.as_os_str(), "--store".as_ref(), store.as_os_str()])
        .stderr(Stdio::null())
        .spawn();
    let run = Ending(run.unwrap());
    let tail = ["tail", "--no-follow", "--from", "1000000000000"];
    let until = Instant::now() + PATIENCE;
    while shown(&dir, &tail, &["--json"]).lines().count() < 3 {
        assert!(Instant::now() < until, "no decisions came: {}", shown(&dir, &tail, &[]));
        std::thread::sleep(Duration::from_millis(200));
    }
    of_the_api(SledStore::read_address(&store).expect("it serves").as_str());
    // A job that waits is shown as the process has it.
    let waits = shown(&dir, &["explain", "mc.2"], &["--store", store.to_str().unwrap()]);
    let wanted = ["workflow  mc: central, of ops, priority 110", "wants     4 cores, 2 h"];
    has(&waits, &wanted);
    has(&waits, &["sites     T2_Y", "pool      waits for an offer, queued "]);
    has(
        &waits,
        &["    T2_X: 1 offer: no_known_site: no site of", "    T2_Y: no offer was seen, and no"],
    );
    let store_dir = store.to_str().unwrap();
    let all = shown(&dir, &["explain", "mc.2"], &["--store", store_dir, "--fates"]);
    has(&all, &["  at all sites:\n    T2_X: 1 offer: no_known_site: "]);
    let address = SledStore::read_address(&store).unwrap();
    let at_address = |job| printed(&yardmaster(&["explain", job, "--http", &address, "--fates"]));
    has(&at_address("mc.2").1, &["  at all sites:\n    T2_X: 1 offer: no_known_site: "]);
    let (code, _, errors) = at_address("mc.1");
    assert_eq!(code, Some(2), "{errors}");
    has(&errors, &["--fates: a process answers it of a job of a pool that waits", "--dir DIR"]);
    drop(run);
    // Without a process it is made of the log.
    let rebuilt = shown(&dir, &["explain", "mc.2"], &[]);
    has(&rebuilt, &["at each site now, what objects first (C-60):\n    T2_X: "]);

    let matched = shown(&dir, &["explain", "mc.1"], &[]);
    has(
        &matched,
        &[
            "offer     glidein-7, announcement 0, answer 1",
            "site      T2_X, node wn1",
            "matched: job mc.1, attempt 0, gets 4 cores and 8000 MB for 2 h",
            "workflow  mc, class central",
            "weight    4.8 cores by power",
            "chosen by, in this order",
            "band: a test job (cms-nordugrid C-11)",
            "     1  no_known_site: ",
        ],
    );
    let offer = shown(&dir, &["explain", "glidein-7"], &[]);
    has(&offer, &["matched: job mc.1", "nothing fits: none of 1 jobs fits, 1 of them by "]);
    assert!(offer.find("matched: job") < offer.find("nothing fits"), "in order: {offer}");
    let rejected = shown(&dir, &["explain", "mc.3"], &[]);
    let remedy = "what to do: the user of the job's workflow may not flag system jobs";
    has(&rejected, &["job       mc.3, attempt 0", "for good: system_flag_unauthorised", remedy]);
    has(&shown(&dir, &["explain", "mc"], &["--all"]), &["job       mc.3", "matched: job mc.1"]);
    let lines = shown(&dir, &tail, &["--job", "mc.1"]);
    assert!(lines.ends_with("cms: job mc.1 of mc gets 4 cores at T2_X\n"), "{lines}");
    has(&shown(&dir, &tail, &[]), &["nothing fits: none of 1 jobs fits", "published again by"]);
}

fn of_the_api(address: &str) {
    let address = address.trim_start_matches("http://");
    let address: SocketAddr = address.split('/').next().unwrap().parse().unwrap();
    let until = Instant::now() + PATIENCE;
    let offer = loop {
        let (head, body) = ask(address, "/api/v1/explain?name=glidein-7");
        let answer: Value = serde_json::from_str(&body).unwrap_or_default();
        if head.starts_with("HTTP/1.1 200") && answer["decisions"].as_array().unwrap().len() == 2 {
            break answer;
        }
        assert!(Instant::now() < until, "{head} {body}");
        std::thread::sleep(Duration::from_millis(200));
    };
    assert_eq!((&offer["kind"], &offer["state"]), (&"offer".into(), &"pending".into()));
    has(offer["headline"].as_str().unwrap(), &["2 answers, at last: Nothing fits: none of 1"]);
    let job = get(address, "/api/v1/explain?name=mc.1");
    assert_eq!(job["kind"], "job");
    let decision = &job["decisions"][0];
    assert_eq!(decision["headline"], "Matched: job mc.1 of mc gets 4 cores at T2_X");
    assert_eq!(decision["matched"]["node"], "wn1");
    has(job["text"].as_str().unwrap(), &["matched: job mc.1", "pool      holds 4 cores (4.8 by"]);
    let waits = &get(address, "/api/v1/explain?name=mc.2")["job"]["waits"];
    assert_eq!(waits["blocked"], Value::Null);
    let sites: Vec<&str> =
        waits["sites"].as_array().unwrap().iter().map(|it| it["site"].as_str().unwrap()).collect();
    assert_eq!(sites, ["T2_X", "T2_Y"]);
    assert_eq!(waits["sites"][0]["offers"], 1);
    assert_eq!(waits["sites"][0]["objections"][0]["filter"], "no_known_site");
    assert_eq!(
        (&waits["sites"][1]["known"], &waits["sites"][1]["offers"]),
        (&false.into(), &0.into())
    );
    let rejected = get(address, "/api/v1/explain?name=mc.3");
    assert_eq!(rejected["state"], "rejected");
    has(rejected["decisions"][0]["remedy"].as_str().unwrap(), &["may not flag system jobs"]);
}
