//! Verbs as a user calls them: exit codes, what is printed, and what must not be.

use crate::drive::yard;
use crate::tail::SIGPIPE;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use yardmaster::core::unit::DAY;
use yardmaster::drive::Drive;
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, Mode};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::topology::{ATLAS, Topology};

pub(crate) fn yardmaster(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yardmaster"));
    command.args(args).env_remove("YARDMASTER_LOG").output().unwrap()
}

pub(crate) fn printed(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A network matrix given as queues: thousands of links, none of which is a queue.
#[test]
fn an_import_of_a_file_of_another_kind_fails_in_a_few_lines() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("netmetrics.json");
    let link = |at: usize| format!("\"A{at}:B\": {{\"closeness\": 3}}");
    let links: Vec<String> = (0..2_000).map(link).collect();
    std::fs::write(&file, format!("{{{}}}", links.join(","))).unwrap();
    let file = file.to_str().unwrap();
    let place = dir.path().join("log");
    let args = ["import", "cric", file, "--dir", place.to_str().unwrap(), "--dry-run"];
    let (code, _, errors) = printed(&yardmaster(&args));
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.lines().count() < 50, "{} lines", errors.lines().count());
    assert!(errors.contains("and 1997 more: field `type`"), "{errors}");
    assert!(errors.contains("nothing in") && errors.contains(file), "{errors}");
    let (code, _, errors) = printed(&yardmaster(&[&args[..], &["--verbose"]].concat()));
    assert_eq!(code, Some(1));
    assert!(errors.lines().count() > 10_000, "{} lines", errors.lines().count());
}

#[test]
fn a_name_or_a_file_of_cases_with_nothing_in_it_is_wrong_use() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("cases.jsonl");
    std::fs::write(&file, "").unwrap();
    for (args, expected) in [
        (["explain", ""], "a value is required"),
        (["conformance", file.to_str().unwrap()], "no case in the files"),
    ] {
        let (code, shown, errors) = printed(&yardmaster(&args));
        assert_eq!(code, Some(2), "{args:?}: {shown}{errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}

/// A mistyped directory is not made, and what is there is not written into.
#[test]
fn a_directory_without_a_log_is_refused_unless_a_log_is_to_be_made() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (typo, empty, other) = (path("typo"), path("empty"), path("thesis"));
    for made in [&empty, &other] {
        std::fs::create_dir(made).unwrap();
    }
    std::fs::write(format!("{other}/chapter-1.tex"), "years of work").unwrap();
    let run = |dir: &str, more: &[&str]| {
        let args = ["run", "--dir", dir, "--http", "127.0.0.1:0", "--dry-run"];
        printed(&yardmaster(&[&args[..], more].concat()))
    };
    for verb in ["replay", "audit", "run"] {
        for (dir, part) in [
            (&typo, "there is no such directory"),
            (&empty, "the directory is empty"),
            (&other, "it holds `chapter-1.tex`"),
        ] {
            let (code, _, errors) = match verb {
                "run" => run(dir, &[]),
                verb => printed(&yardmaster(&[verb, "--dir", dir])),
            };
            assert_eq!(code, Some(2), "{verb} {dir}: {errors}");
            assert!(errors.contains(dir.as_str()) && errors.contains(part), "{verb}: {errors}");
            assert!(errors.contains("run --create"), "{verb}: {errors}");
        }
    }
    let archive = ["archive", "--bootstrap-server", "127.0.0.1:1", "--dir", &other];
    let queues = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cric.json");
    let import = ["import", "cric", queues, "--dir", &other];
    for args in [&archive[..], &import] {
        let (code, _, errors) = printed(&yardmaster(args));
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains("neither empty nor a log"), "{errors}");
    }
    let (code, _, errors) = run(&other, &["--create"]);
    assert_eq!(code, Some(2), "{errors}");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
    assert!(!std::path::Path::new(&typo).exists());
}

/// As other verbs that print: `run --dry-run | head`.
#[test]
fn a_dry_run_whose_output_nobody_reads_ends_quietly() {
    let dir = TempDir::new().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(["run", "--create", "--dry-run", "--http", "127.0.0.1:0", "--dir"])
        .arg(dir.path().join("yard"))
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert_eq!(output.status.signal(), Some(SIGPIPE), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_log_level_that_does_not_exist_is_refused() {
    for wrong in ["loud", "info,rdkafka=verbose"] {
        let (code, _, errors) = printed(&yardmaster(&["--log", wrong, "topology", "describe"]));
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains("--log") && errors.contains("debug"), "{errors}");
    }
    let right = ["--log", "warn,rdkafka=off", "topology", "describe"];
    assert_eq!(yardmaster(&right).status.code(), Some(0));
}

/// Terminal escapes belong on a terminal only.
#[test]
fn a_log_that_goes_into_a_file_has_no_colours() {
    let dir = TempDir::new().unwrap();
    let store = dir.path().join("store");
    let nobody = ["run", "--bootstrap-server", "127.0.0.1:1", "--http", "127.0.0.1:0"];
    let mut run = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args([&nobody[..], &["--store", store.to_str().unwrap()]].concat())
        .env_remove("YARDMASTER_LOG")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It keeps trying to reach the broker, and logs that it does.
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let is_logged = |line: &String| line.contains("WARN") || line.contains("ERROR");
    let line = lines.by_ref().map(Result::unwrap).find(is_logged);
    run.kill().unwrap();
    run.wait().unwrap();
    let line = line.expect("something is logged");
    assert!(!line.contains('\u{1b}'), "{line:?}");
}

/// Mistyped names, values in the wrong place: whatever is wrong with a property, its value may be
/// a secret.
#[test]
fn no_complaint_about_a_property_shows_its_value() {
    let dir = TempDir::new().unwrap();
    let secret = dir.path().join("secret");
    std::fs::write(&secret, "hush\n").unwrap();
    let config = dir.path().join("client.properties");
    let lines = "sasl.pasword=hush\n\
                 sasl.jaas.config=org.apache.Login required password=\"hush\";\n\
                 linger.ms=hush\nsecurity.protocol=hush\nssl.key.passwort=hush\n";
    std::fs::write(&config, lines).unwrap();
    let reference = format!("sasl.pasword=${{file:{}}}", secret.display());
    let here = ["topology", "check", "--bootstrap-server", "127.0.0.1:1"];
    let given: [&[&str]; 3] = [
        &["-X", &reference],
        &["-X", "sasl.pasword=hush"],
        &["--command-config", config.to_str().unwrap()],
    ];
    for given in given {
        let (code, text, errors) = printed(&yardmaster(&[&here[..], given].concat()));
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains("sasl.pasword"), "{errors}");
        assert!(!errors.contains("hush") && !text.contains("hush"), "{text}{errors}");
    }
}

/// A dry run says what would happen, so it looks at what is there.
#[test]
fn a_dry_run_of_topology_apply_knows_the_topics_that_exist() {
    let Ok(kafka) = std::env::var("YARDMASTER_TEST_KAFKA") else {
        println!("left out: YARDMASTER_TEST_KAFKA names no broker");
        return;
    };
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("topology.toml");
    let mut text = String::new();
    let prefix = format!("verbs-{}", std::process::id());
    for line in yardmaster::wire::topology::ATLAS.lines() {
        text.push_str(line);
        text.push('\n');
        let topic = line.strip_prefix("[topics.").and_then(|line| line.strip_suffix(']'));
        if let Some(topic) = topic {
            text.push_str(&format!("name = \"{prefix}.{topic}\"\n"));
        }
    }
    std::fs::write(&file, text).unwrap();
    let args =
        ["topology", "apply", "--bootstrap-server", &kafka, "--topology", file.to_str().unwrap()];
    let dry = |wanted: &str, unwanted: &str| {
        let (code, text, errors) = printed(&yardmaster(&[&args[..], &["--dry-run"]].concat()));
        assert_eq!(code, Some(0), "{errors}");
        let line = text.lines().find(|line| line.starts_with(&format!("{prefix}.progress")));
        assert!(line.is_some_and(|line| line.contains(wanted)), "{text}");
        assert!(!text.contains(unwanted) && !text.contains('"'), "{text}");
    };
    let replicas = "would be made with 1 partition, the broker's default of replicas, cleanup";
    dry(replicas, "is there already");
    let (code, _, errors) = printed(&yardmaster(&args));
    assert_eq!(code, Some(0), "{errors}");
    dry("is there already", "would be made");
}

/// A directory whose machine had a clock that was a year ahead, and so are its stamps.
#[test]
fn a_directory_that_is_a_year_ahead_is_repaired() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("log");
    let atlas = Topology::parse("atlas.toml", ATLAS).unwrap();
    let topics = atlas.read_topics().map(|topic| {
        let settings = atlas.topic(topic);
        DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
    });
    let topics: Vec<DirTopic> = topics.collect();
    let begun = now() - 20_000;
    let clock = Arc::new(AtomicI64::new(begun));
    let shown = Arc::clone(&clock);
    let options =
        DirOptions { sync: false, clock: Arc::new(move || shown.load(Ordering::Relaxed)) };
    let log = DirLog::open(&place, Mode::Write, &topics, options).unwrap();
    let mut drive = Drive::start(log, PaperStore::default(), yard::config("one")).unwrap();
    drive.take_lead(begun).unwrap();
    for at in 0..8 {
        let ahead = if at < 4 { 0 } else { 366 * DAY };
        clock.store(begun + at * 2_000 + ahead, Ordering::Relaxed);
        drive.settle(now()).unwrap();
        drive.pump(Duration::from_millis(20)).unwrap();
        drive.lead(clock.load(Ordering::Relaxed)).unwrap();
    }
    drive.settle(now()).unwrap();
    let last = drive.state().now;
    assert!(last > now() + 360 * DAY);
    drop(drive);

    let place = place.to_str().unwrap();
    let verb = |args: &[&str]| {
        let (code, text, errors) = printed(&yardmaster(&[args, &["--dir", place]].concat()));
        assert_eq!(code, Some(0), "{args:?}: {text}{errors}");
        text
    };
    let dry = verb(&["repair", "clock"]);
    assert!(dry.contains("nothing was done") && dry.contains(" d "), "{dry}");
    let again = verb(&["repair", "clock"]);
    let named = |text: &str| text.lines().next().map(str::to_owned);
    assert_eq!(named(&again), named(&dry), "a dry run changes nothing");
    assert!(verb(&["repair", "clock", "--execute"]).contains("the lead is free"));
    assert!(verb(&["repair", "clock", "--execute"]).contains("nothing to repair"));
    let replayed = verb(&["replay", "--verify"]);
    assert!(replayed.contains("0 different"), "{replayed}");
    assert!(verb(&["audit"]).contains("0 drifted"));
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as i64
}

/// A log with commands in it: a pending job that is killed, one that is held back.
#[test]
fn commands_are_listed_and_a_job_is_explained() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("demo");
    let place = place.to_str().unwrap();
    let args = ["demo", "--dir", place, "--hours", "8", "--scale", "0.02", "--commands", "on"];
    let (code, shown, errors) =
        printed(&yardmaster(&[&args[..], &["--http", "127.0.0.1:0"]].concat()));
    assert_eq!(code, Some(0), "{errors}");
    assert!(shown.contains("commands: ") && shown.contains("; 0 of them wrongly"), "{shown}");
    let list = |more: &[&str]| {
        let args = [&["commands", "--dir", place][..], more].concat();
        let (code, shown, errors) = printed(&yardmaster(&args));
        assert_eq!(code, Some(0), "{errors}");
        shown
    };
    let all = list(&["--state", "all", "--json"]);
    // The usual list counts those that it does not show.
    let (_, shown, errors) = printed(&yardmaster(&["commands", "--dir", place, "--log", "error"]));
    let counted: usize = shown.lines().last().unwrap().split(' ').next().unwrap().parse().unwrap();
    let others = all.lines().count() - counted;
    assert!(others > 0 && errors.contains(&format!("{others} in other states")), "{errors}");
    let mut listed =
        all.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let first = listed.find(|it| it["rule"] == "T9").unwrap();
    let (rule, job) = (first["rule"].as_str().unwrap(), first["subject"].as_str().unwrap());
    assert_eq!((first["state"].as_str(), first["dry_run"].as_bool()), (Some("done"), Some(false)));
    let table = list(&["--state", "done", "--rule", rule]);
    assert!(table.starts_with("published"), "{table}");
    assert!(table.lines().any(|line| line.contains(job)), "{table}");
    assert!(table.lines().last().unwrap().contains(" done"), "{table}");
    assert_eq!(list(&["--state", "all", "--rule", "no such rule"]), "0 commands\n");
    // It follows a directory too, until it is stopped.
    let args = ["commands", "--dir", place, "--follow", "--json", "--state", "all"];
    let mut follow = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    let shown: Vec<String> = lines.by_ref().take(all.lines().count()).map(Result::unwrap).collect();
    assert_eq!(shown, all.lines().collect::<Vec<_>>());
    let pid = follow.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    assert_eq!((lines.count(), follow.wait().unwrap().code()), (0, Some(0)));

    // Of a topic that had no record before the first ten minutes are not called absence.
    let early = ["explain", "6500000001", "--dir", place, "--at", "2025-10-14T00:12:00Z"];
    let (code, text, errors) = printed(&yardmaster(&early));
    assert!(
        code == Some(0) && text.contains("held back: job-state has just begun"),
        "{text}{errors}"
    );
    assert!(!text.contains("(input_absent)"), "{text}");

    let (code, text, errors) = printed(&yardmaster(&["explain", job, "--dir", place]));
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.contains(&format!("{job}: failed, attempt 0, as of ")), "{text}");
    for part in [&format!("{job}: "), "  rule      ", "  clock     ", "  outcome   carried out"] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}
