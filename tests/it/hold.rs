//! `demo --hold`: the page after the day, and what the summary names.

use crate::kill::process::{Ending, PROGRAM, get};
use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;
use yardmaster::wire::topology::ATLAS;

/// A demo that holds, and the lines of its summary.
fn held(dir: &Path, more: &[&str]) -> (Ending, Vec<String>) {
    let mut child = Command::new(PROGRAM)
        .args(["demo", "--hours", "1", "--hold", "--http", "127.0.0.1:0", "--dir", "yard"])
        .args(more)
        .current_dir(dir)
        .env_remove("YARDMASTER_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let process = Ending(child);
    let mut summary: Vec<String> = lines.by_ref().take_while(|it| it != "look next:").collect();
    summary.extend(lines.take(4));
    (process, summary)
}

/// The page answers as of the day's end, each command that is named works on what is there, before
/// and after the end, and the end is in order.
#[test]
fn the_page_stays_and_the_commands_that_are_named_work() {
    for more in [
        &["--scale", "0.005"][..],
        &["--topology", "cms", "--scale", "0.002"],
        &["--topology", "nordugrid", "--scale", "0.02"],
    ] {
        let dir = TempDir::new().unwrap();
        let (mut process, summary) = held(dir.path(), more);
        let next = &summary[summary.len() - 4..];
        let address = next[0].trim().strip_prefix("http://").unwrap();
        let address: SocketAddr = address.split('/').next().unwrap().parse().unwrap();
        let status: Value = serde_json::from_str(&get(address, "/api/v1/status").unwrap()).unwrap();
        assert_eq!((&status["leading"], &status["ready"]), (&true.into(), &true.into()));
        assert_eq!(status["now"], 1_760_403_600_000_i64, "{more:?}: no time passes");
        run_all(dir.path(), &next[1..]);
        as_the_api_answers(&address.to_string(), next[1].trim().split(' ').nth(2).unwrap());
        curves_end_with_the_jobs_of_now(address);
        // Another demo does not clear what this one shows.
        let yard = dir.path().join("yard");
        let (code, _, errors) = printed(&yardmaster(&["demo", "--dir", yard.to_str().unwrap()]));
        assert!(code == Some(2) && errors.contains("another process writes here"), "{errors}");
        let of_process = more.contains(&"cms").then(|| of_pool(address));
        let pid = process.0.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        assert!(process.0.wait().unwrap().success(), "{more:?}");
        run_all(dir.path(), &next[1..]);
        if let Some(of_process) = of_process {
            // The same is made of the log alone.
            let listed = |verb: &str| -> Vec<Value> {
                let (code, out, errors) = printed(&yardmaster(&[
                    verb,
                    "--json",
                    "--topology",
                    "cms",
                    "--dir",
                    dir.path().join("yard").to_str().unwrap(),
                ]));
                assert_eq!(code, Some(0), "{verb}: {errors}");
                out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
            };
            assert_eq!(of_process, [listed("usage"), listed("waiting")]);
        }
        // What the summary counts lies in the log.
        let stated = summary.iter().find_map(|it| it.strip_prefix("decisions: ")).unwrap();
        let figures = stated.split(", ").map(|it| it.split(' ').next().unwrap());
        let stated: usize = figures.map(|it| it.parse::<usize>().unwrap()).sum();
        let yard = dir.path().join("yard");
        let args = ["tail", "--no-follow", "-n", "100000", "--kind", "decision", "--json", "--dir"];
        let topology = more.iter().position(|it| *it == "--topology").map(|at| &more[at..at + 2]);
        let args = [&args[..], &[yard.to_str().unwrap()], topology.unwrap_or(&[])].concat();
        let (code, shown, errors) = printed(&yardmaster(&args));
        assert_eq!((code, shown.lines().count()), (Some(0), stated), "{more:?}: {errors}");
    }
}

/// The curve of each task ends with its jobs as they are counted by queue.
fn curves_end_with_the_jobs_of_now(address: SocketAddr) {
    let api = |path: &str| -> Value {
        serde_json::from_str(&get(address, &format!("/api/v1/{path}")).unwrap()).unwrap()
    };
    let sent = api("decisions?kind=decision&what=assign&limit=300");
    let task = |it: &Value| it["task"].as_str().unwrap().to_owned();
    let tasks: BTreeSet<String> = sent["items"].as_array().unwrap().iter().map(task).collect();
    let mut all = [0, 0];
    for task in tasks.iter().take(12) {
        let answer = api(&format!("task?name={task}"));
        let queues = answer["queues"].as_array().unwrap();
        let sum = |name: &str| queues.iter().map(|it| it[name].as_u64().unwrap()).sum::<u64>();
        let counted = ["queued", "running"].map(sum);
        let last = answer["curve"].as_array().unwrap().last();
        let last =
            last.map_or([0, 0], |it| ["queued", "running"].map(|of| it[of].as_u64().unwrap()));
        assert_eq!(last, counted, "{task}: {answer}");
        all = [all[0] + counted[0], all[1] + counted[1]];
    }
    assert!(all[1] > 0, "{all:?} of {tasks:?}");
}

/// Shares and waiting workflows as the process of a pool shows them.
fn of_pool(address: SocketAddr) -> [Vec<Value>; 2] {
    let api = |path: &str| -> Value {
        serde_json::from_str(&get(address, &format!("/api/v1/{path}")).unwrap()).unwrap()
    };
    let names = |of: &Value| -> Vec<String> {
        of.as_array().unwrap().iter().map(|it| it["gshare"].as_str().unwrap().to_owned()).collect()
    };
    let shares = api("shares");
    assert_eq!(names(&shares["shares"]), ["analysis", "central"]);
    let explained = api("explain?name=analysis");
    assert_eq!(explained["kind"], "share");
    let usage = api("usage");
    let jobs = &usage["shares"].as_array().unwrap().iter().find(|it| it["gshare"] == "analysis");
    let [running, queued] = ["running", "queued"].map(|name| jobs.unwrap()["jobs"][name].clone());
    let stated = format!("{running} jobs run, {queued} are queued");
    assert!(explained["headline"].as_str().unwrap().ends_with(&stated), "{explained}");
    assert!(running.as_u64() > Some(0) && queued.as_u64() > Some(0), "{usage}");
    let refused = api("waiting?queue=T1_DE_01");
    assert!(refused["remedy"].as_str().is_some_and(|it| it.contains("explain 'site/T1_DE_01'")));
    let list = |of: &Value| of.as_array().unwrap().clone();
    [list(&usage["shares"]), list(&api("waiting")["requests"])]
}

/// `explain` and `changes` print what the process at an address answers.
fn as_the_api_answers(address: &str, name: &str) {
    let api = |path: String| -> Value {
        serde_json::from_str(&get(address.parse().unwrap(), &path).unwrap()).unwrap()
    };
    let shown = |verb: &[&str]| printed(&yardmaster(&[verb, &["--http", address]].concat()));
    let (code, text, errors) = shown(&["explain", name]);
    assert_eq!(code, Some(0), "{errors}");
    let answer = api(format!("/api/v1/explain?name={name}"));
    assert!(text.ends_with(&format!("{}\n", answer["text"].as_str().unwrap())), "{text}");
    let (code, changes, errors) = shown(&["changes", "--kind", "lead,policy", "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    let made = api("/api/v1/changes?kind=lead,policy".to_owned());
    let ats = |of: &Value| of["at"].as_i64();
    let mut wanted: Vec<_> = made["changes"].as_array().unwrap().iter().map(ats).collect();
    wanted.reverse();
    let lines = changes.lines().map(|line| ats(&serde_json::from_str(line).unwrap()));
    assert_eq!(lines.collect::<Vec<_>>(), wanted);
    for (verb, remedy) in [("commands", "attention --http"), ("explain", "--dir DIR")] {
        let (code, _, errors) = match verb {
            "explain" => shown(&["explain", "nobody-of-that-name"]),
            verb => shown(&[verb]),
        };
        assert!(code != Some(0) && errors.contains(remedy), "{verb}: {errors}");
    }
}

/// A user that is throttled, and one that only asks, are one text at an address, by the store of the
/// process, and from the log.
#[test]
fn an_owner_is_one_text_by_all_routes() {
    let dir = TempDir::new().unwrap();
    let line = "name = \"analysis-job\"\n";
    let file = dir.path().join("own.toml");
    std::fs::write(&file, ATLAS.replace(line, &format!("{line}CAP_RUNNING_USER_JOBS = 2\n")))
        .unwrap();
    let (mut process, summary) = held(dir.path(), &["--topology", "own.toml", "--scale", "0.01"]);
    let address = summary[summary.len() - 4].trim().trim_start_matches("http://");
    let address = address.split('/').next().unwrap();
    let api = |path: &str| -> Value {
        serde_json::from_str(&get(address.parse().unwrap(), path).unwrap()).unwrap()
    };
    let waiting = api("/api/v1/waiting?limit=1000");
    let waiting = waiting["requests"].as_array().unwrap();
    let throttled = &api("/api/v1/throttles")["throttles"][0];
    let used = api("/api/v1/usage");
    let of_user = |name: &str| {
        let users = used["users"].as_array().unwrap();
        users.iter().find(|it| it["owner"] == name).map(|it| it["jobs"]["running"].clone())
    };
    let asks = waiting.iter().filter_map(|it| it["user"].as_str());
    let asks = asks.clone().find(|user| of_user(user).is_none()).expect("a user that only asks");
    let throttled = throttled["subject"].as_str().unwrap();
    let wanted = [(asks, false), (throttled, true)].map(|(name, is_throttled)| {
        let count = waiting.iter().filter(|it| it["user"] == name).count();
        let running = of_user(name).unwrap_or(0.into());
        let throttle =
            if is_throttled { format!("user/{name}: throttled\n") } else { String::new() };
        (name, [throttle, format!("{running} run on "), format!("requests  {count} wait: ")])
    });
    let yard = dir.path().join("yard");
    let yard = yard.to_str().unwrap();
    let shown = |place: &[&str]| {
        wanted.each_ref().map(|(name, parts)| {
            let (code, text, errors) = printed(&yardmaster(&[&["explain", name], place].concat()));
            assert_eq!(code, Some(0), "{name} {place:?}: {errors}");
            assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} not in:\n{text}");
            text.trim_end().to_owned()
        })
    };
    let at_address = shown(&["--http", address]);
    assert_eq!(shown(&["--dir", yard]), at_address, "by the store");
    let pid = process.0.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    assert!(process.0.wait().unwrap().success());
    assert_eq!(shown(&["--dir", yard]), at_address, "from the log");
}

/// Runs commands as a shell does.
fn run_all(dir: &Path, commands: &[String]) {
    let beside = Path::new(PROGRAM).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    for command in commands {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(dir);
        shell.env("PATH", format!("{}:{path}", beside.display()));
        let (code, shown, errors) = printed(&shell.output().unwrap());
        assert_eq!(code, Some(0), "{command}: {errors}");
        assert!(!shown.is_empty(), "{command}: {errors}");
    }
}
