//! A program that brings a domain of its own: partitions of Slurm, as in `examples/own-domain`. The
//! facts are what a real Slurm printed at three moments, cut down to what the example reads; the
//! choices were worked out by hand.

use crate::kill::process::{Process, wait_until};
use crate::own_kind::program;
use crate::verbs::printed;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::wire::topology::ATLAS;

const MOMENTS: [&str; 3] = [
    include_str!("own_domain/m1.json"),
    include_str!("own_domain/m2.json"),
    include_str!("own_domain/m3.json"),
];
/// A process has taken its part by then; it waits for no broker.
const SOON: Duration = Duration::from_secs(60);

/// A log of its own, and the program.
struct Slurm {
    dir: TempDir,
    program: PathBuf,
    /// Records of the moment, one a line.
    records: String,
}

impl Slurm {
    /// A log with the records of a moment.
    fn at(moment: &Value) -> Slurm {
        let mut slurm = Slurm::new();
        for name in ["nodes", "partitions", "reservations", "sshare", "jobs"] {
            let text = moment[name].to_string();
            std::fs::write(slurm.path(&format!("{name}.json")), text).unwrap();
        }
        let now = moment["now"].to_string();
        let captured = slurm.dir.path().to_str().unwrap();
        let (code, records, errors) = slurm.say(&["capture", captured, "--now", &now]);
        assert_eq!(code, Some(0), "{errors}");
        slurm.feed(&records, &[]);
        slurm.records = records;
        slurm
    }

    fn new() -> Slurm {
        let (dir, program) = (TempDir::new().unwrap(), program("own-domain"));
        Slurm { dir, program, records: String::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn say(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(&self.program);
        printed(&command.args(words).env_remove("YARDMASTER_LOG").output().unwrap())
    }

    /// What a verb prints of the log.
    #[track_caller]
    fn ask(&self, words: &[&str]) -> String {
        let (dir, topology) = (self.path("yard"), topology());
        let log = ["--dir", dir.to_str().unwrap(), "--topology", topology.to_str().unwrap()];
        let (code, shown, errors) = self.say(&[words, &log[..]].concat());
        assert_eq!(code, Some(0), "{words:?}: {shown}\n{errors}");
        shown
    }

    fn feed(&self, records: &str, flags: &[&str]) {
        let file = self.path("records.jsonl");
        std::fs::write(&file, records).unwrap();
        self.ask(&[&["import", "domain-records", file.to_str().unwrap()], flags].concat());
    }

    fn start(&self) -> Process {
        self.start_by(&topology())
    }

    fn start_by(&self, topology: &Path) -> Process {
        let mut command = Command::new(&self.program);
        command.arg("run").arg("--dir").arg(self.path("yard")).arg("--topology").arg(topology);
        Process::spawn(command, &self.path("store"))
    }

    /// The last outputs of a kind, in the order of their making.
    fn outputs(&self, field: &str) -> Vec<Value> {
        let all = self.ask(&["tail", "--json", "--no-follow", "--from", "1000000000000"]);
        let all = all.lines().map(|line| serde_json::from_str(line).expect(line));
        all.filter(|it: &Value| !it[field].is_null()).collect()
    }

    /// Waits until so many jobs have an answer.
    fn wait_for_answers(&self, process: &Process, jobs: usize) {
        wait_until(
            SOON,
            || format!("{jobs} answers: {}", process.logged()),
            || {
                let page = process.page("/api/v1/decisions?limit=100").unwrap_or_default();
                page.matches("\"kind\":\"decision\"").count() >= jobs
            },
        );
    }
}

fn topology() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/own-domain/slurm.toml")
}

fn moments() -> [Value; 3] {
    MOMENTS.map(|text| serde_json::from_str(text).expect("JSON"))
}

/// Job and choice, in the order in which the jobs are served; `none` and `wait`: there is none.
fn choices(moment: &Value) -> Vec<(String, String)> {
    let row = |row: &Value| [0, 1].map(|at| row[at].as_str().unwrap().to_owned());
    moment["choices"].as_array().unwrap().iter().map(|it| row(it).into()).collect()
}

#[test]
fn each_pending_job_is_sent_to_the_partition_that_was_worked_out() {
    for moment in moments() {
        let slurm = Slurm::at(&moment);
        let expected = choices(&moment);
        let process = slurm.start();
        slurm.wait_for_answers(&process, expected.len());
        assert!(process.stop().success());
        let found: Vec<(String, String)> = slurm
            .outputs("outcome")
            .iter()
            .map(|decision| {
                let queue = decision["ranked"][0]["queue"].as_str().unwrap_or("none");
                (decision["subject"].as_str().unwrap().to_owned(), queue.to_owned())
            })
            .collect();
        let is_chosen = |choice: String| if choice == "wait" { "none".to_owned() } else { choice };
        let expected: Vec<(String, String)> =
            expected.into_iter().map(|(job, choice)| (job, is_chosen(choice))).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_domain_is_asked_killed_rebuilt_audited_and_explained() {
    let [moment, ..] = moments();
    let slurm = Slurm::at(&moment);
    let process = slurm.start();
    slurm.wait_for_answers(&process, choices(&moment).len());
    process.kill();

    // Partition long goes down: the jobs that were sent there are to be moved.
    let long = moment["partitions"]["partitions"].as_array().unwrap();
    assert!(long.iter().any(|it| it["name"] == "long"), "{long:?}");
    slurm.feed(r#"{"kind": "partition", "name": "long", "values": {"state": "DOWN"}}"#, &[]);
    let process = slurm.start();
    wait_until(
        SOON,
        || process.logged(),
        || {
            process.page("/api/v1/queues").is_some_and(|page| {
                let page: Value = serde_json::from_str(&page).unwrap_or_default();
                let tiles = page["queues"].as_array().into_iter().flatten();
                tiles.clone().any(|it| it["queue"] == "long" && it["status"] == "down")
                    && tiles.clone().any(|it| it["queue"] == "main" && it["queued_cores"] == 86)
            })
        },
    );
    wait_until(
        SOON,
        || process.logged(),
        || {
            let page = process.page("/api/v1/decisions?limit=100").unwrap_or_default();
            page.matches("\"reassign\"").count() >= 3
        },
    );
    process.kill();

    let commands = slurm.outputs("rule");
    let moved: BTreeMap<&str, &str> = commands
        .iter()
        .map(|it| (it["subject"].as_str().unwrap(), it["queue"].as_str().unwrap()))
        .collect();
    assert_eq!(moved, BTreeMap::from([("14", "long"), ("17", "long"), ("30", "long")]));
    assert_eq!(commands.len(), 3, "each once: {commands:?}");

    // Nothing was decided twice, and all of it is made again from the log alone.
    assert_eq!(slurm.outputs("outcome").len(), choices(&moment).len());
    std::fs::remove_dir_all(slurm.path("store")).unwrap();
    assert!(slurm.ask(&["replay", "--verify"]).contains("26 same, 0 different, 0 not verifiable"));
    assert!(slurm.ask(&["audit"]).contains(" 0 drifted"));

    let why = slurm.ask(&["explain", "14", "--fates"]);
    assert!(why.contains("1. long: weight 5") && why.contains("free_cores 5"), "{why}");
    assert!(why.contains("main: rank: not_best: measured -23, limit 5"), "{why}");
    assert!(why.contains("stranded: partition long is DOWN"), "{why}");
    let why = slurm.ask(&["explain", "16", "--fates"]);
    assert!(why.contains("short: time: the job wants 120 min of 30"), "{why}");
}

#[test]
fn the_policy_of_a_domain_is_alone_and_wants_its_records() {
    let slurm = Slurm::new();
    let text = std::fs::read_to_string(topology()).unwrap();
    let check = |text: &str| {
        let file = slurm.path("own.toml");
        std::fs::write(&file, text).unwrap();
        slurm.say(&["topology", "check", "--strict", "--topology", file.to_str().unwrap()])
    };
    assert_eq!(check(&text).0, Some(0), "{:?}", check(&text));
    let without: String = text
        .lines()
        .filter(|it| !it.starts_with("domain-record"))
        .map(|it| format!("{it}\n"))
        .collect();
    assert!(check(&without).2.contains("no [topics.domain-record]"), "{:?}", check(&without));
    let shipped = format!("{}\n[[rule]]\nname = \"domain\"\nmode = \"on\"\n", ATLAS);
    assert!(check(&shipped).1.contains("it never acts"), "{:?}", check(&shipped));
    let other = "\n[[policy]]\nname = \"other\"\nkind = \"nordugrid\"\nfilters = \"all\"\nweights = \
                 \"all\"\n";
    let both = check(&format!("{text}{other}")).2;
    assert!(
        both.contains("beside policy slurm-job") && both.contains("a domain of its own"),
        "{both}"
    );
}

#[test]
fn answers_of_a_policy_that_is_tried_are_explained_as_a_dry_run() {
    let [moment, ..] = moments();
    let slurm = Slurm::at(&moment);
    let file = slurm.path("tried.toml");
    let kind = "kind = \"slurm\"";
    let text = std::fs::read_to_string(topology()).unwrap();
    std::fs::write(&file, text.replace(kind, &format!("{kind}\nmode = \"dry_run\""))).unwrap();
    let expected = choices(&moment);
    let process = slurm.start_by(&file);
    slurm.wait_for_answers(&process, expected.len());
    assert!(process.stop().success());
    let why = slurm.ask(&["explain", &expected[0].0]);
    let first = why.lines().find(|line| line.starts_with("decision ")).expect(&why);
    assert!(first.ends_with(", dry run: not to be carried out"), "{why}");
}

#[test]
fn no_demo_stands_for_the_grid_of_a_domain() {
    let slurm = Slurm::new();
    let [dir, file] = [slurm.path("demo"), topology()];
    let place = ["--dir", dir.to_str().unwrap(), "--topology", file.to_str().unwrap()];
    let (code, shown, errors) = slurm.say(&[&["demo"], &place[..]].concat());
    assert_eq!(code, Some(2), "{shown}\n{errors}");
    assert!(
        errors.contains("policy slurm-job") && errors.contains("import domain-records"),
        "{errors}"
    );
    assert!(!dir.exists(), "nothing is written");
}

#[test]
fn what_is_taken_back_waits_no_more_and_is_not_moved() {
    let [moment, ..] = moments();
    let slurm = Slurm::at(&moment);
    let process = slurm.start();
    slurm.wait_for_answers(&process, choices(&moment).len());
    assert!(process.stop().success());

    // A record that is older than the one that holds takes nothing back.
    let stale = "{\"kind\": \"job\", \"name\": \"20\", \"changed_at\": -5, \"values\": {}}";
    slurm.feed(stale, &[]);
    // Jobs 14 (sent to long) and 21 (held) are pending no more; long goes down, then is drained; and
    // the policy has another name, which no job knows of.
    let is_left = |it: &&str| !["\"14\"", "\"21\""].iter().any(|job| it.contains(job));
    let renamed = slurm.path("renamed.toml");
    let text = std::fs::read_to_string(topology()).unwrap();
    std::fs::write(&renamed, text.replace("\"slurm-job\"", "\"slurm-two\"")).unwrap();
    for state in ["DOWN", "DRAIN"] {
        let is_long = |it: &str| it.contains("\"partition\",\"name\":\"long\"");
        let long = |it: &str| match is_long(it) {
            true => it.replace("\"UP\"", &format!("{state:?}")),
            false => it.to_owned(),
        };
        let records: Vec<String> = slurm.records.lines().filter(is_left).map(long).collect();
        assert_ne!(records.join("\n"), slurm.records);
        slurm.feed(&records.join("\n"), &["--prune"]);
        let process = slurm.start_by(&renamed);
        wait_until(
            SOON,
            || process.logged(),
            || {
                let page = process.page("/api/v1/decisions?limit=1000").unwrap_or_default();
                page.matches("\"reassign\"").count() >= 2 && page.contains("slurm-two")
            },
        );
        assert!(process.stop().success());
    }
    // Partition old comes up: job 27 waited for it alone, and its deferral lasts ten minutes.
    let old = slurm.records.lines().find(|it| it.contains("\"partition\",\"name\":\"old\""));
    slurm.feed(&old.unwrap().replace("\"DOWN\"", "\"UP\""), &[]);
    let process = slurm.start_by(&renamed);
    wait_until(
        SOON,
        || process.logged(),
        || {
            let page = process.page("/api/v1/decisions?limit=1000").unwrap_or_default();
            let page: Value = serde_json::from_str(&page).unwrap_or_default();
            let mut items = page["items"].as_array().into_iter().flatten();
            items.any(|it| it["subject"] == "27" && it["what"] == "assign")
        },
    );
    assert!(process.stop().success());
    let orders = slurm.outputs("rule");
    let moved: Vec<&str> = orders.iter().map(|it| it["subject"].as_str().unwrap()).collect();
    assert_eq!(moved, ["17", "30"], "{orders:?}");
    let decisions = slurm.outputs("outcome");
    let last = |job: &str| decisions.iter().rfind(|it| it["subject"] == job).unwrap().to_string();
    assert!(
        last("21").contains("withdrawn(at 17") && last("21").contains("reject"),
        "{}",
        last("21")
    );
    assert!(last("20").contains("defer") && last("20").contains("slurm-two"), "{}", last("20"));
    assert!(last("27").contains("\"queue\":\"old\""), "{}", last("27"));
    assert!(slurm.ask(&["replay", "--verify"]).contains(" 0 different, 0 not verifiable"));
    assert!(slurm.ask(&["audit"]).contains(" 0 drifted"));
}
