//! The way that the README shows to a running pair, on a Kafka of its own: the topics, the imports,
//! two processes of which one leads, a request, and the reason of its answer.

use super::runnable::{blocks, commands};
use super::{Page, pages, root};
use crate::broker::{Broker, is_possible};
use crate::kill::process::{PROGRAM, Process, wait_until};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(60);

/// The commands below a heading of a page, each as its arguments.
fn below(page: &Page, heading: &str) -> Vec<Vec<String>> {
    let line = |start: &str| page.lines().find(|(_, line, _)| line.starts_with(start));
    let begin = line(heading).expect("the heading").0;
    let later = |(at, line, is_fenced): &(usize, &str, bool)| {
        *at > begin && !is_fenced && line.starts_with("## ")
    };
    let end = page.lines().find(later).map_or(usize::MAX, |(at, _, _)| at);
    let within = blocks(page).into_iter().filter(|block| (begin..end).contains(&block.line));
    let all: Vec<Vec<String>> = within.flat_map(|block| commands(&block.script)).collect();
    let ours = |words: &Vec<String>| words.first().is_some_and(|it| it == "yardmaster");
    all.into_iter().filter(ours).map(|words| words[1..].to_vec()).collect()
}

/// Files of the names that the README uses.
fn files(dir: &Path) {
    let copy = |from: &str, to: &str| {
        fs::copy(root().join(from), dir.join(to)).expect("copied");
    };
    copy("tests/fixtures/cric.json", "pandaqueues.json");
    for name in ["netmetrics.json", "site_info.json", "ddmendpoints.json"] {
        copy(&format!("tests/fixtures/{name}"), name);
    }
    for name in ["nuclei.json", "global_shares.json", "task.json"] {
        copy(&format!("examples/facts/{name}"), name);
    }
    let status = r#"{"BNL-OSG2_DATADISK": {"write_wan": {"status": {"value": "OFF"}}}}"#;
    let usage =
        r#"{"BNL-OSG2_DATADISK": {"storage": {"used": 900000000000, "free": 100000000000}}}"#;
    for (name, text) in [("ddmendpointstatus.json", status), ("rse_usage.json", usage)] {
        fs::write(dir.join(name), text).expect("written");
    }
}

fn pair(bootstrap: &str, dir: &Path) -> [Process; 2] {
    let topology = root().join("topology/atlas.toml");
    let start = |store: &str| Process::start(bootstrap, &topology, &dir.join(store));
    let mut pair = [start("one"), start("two")];
    wait_until(
        LIMIT,
        || "a pair".to_owned(),
        || {
            pair.iter_mut().for_each(Process::must_live);
            let ready = pair.iter().filter(|it| it.ready().is_some_and(|ready| ready.speaks));
            ready.count() == 2 && pair.iter().any(Process::leads)
        },
    );
    pair
}

#[test]
fn the_way_that_the_readme_shows_leads_to_a_running_pair() {
    if !is_possible() {
        return;
    }
    let broker = Broker::with("");
    let bootstrap = broker.address();
    let dir = TempDir::new().unwrap();
    files(dir.path());
    let verb = |args: &[String]| {
        let output = Command::new(PROGRAM).args(args).current_dir(dir.path()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    };
    let pages = pages();
    let readme = pages.iter().find(|page| page.path == "README.md").expect("a README");
    let mut running = None;
    let mut done = Vec::new();
    for args in below(readme, "## Plug it in") {
        let args: Vec<String> =
            args.iter().map(|it| it.replace("kafka:9092", &bootstrap)).collect();
        match args[0].as_str() {
            "run" => running = Some(pair(&bootstrap, dir.path())),
            "explain" => {
                wait_until(LIMIT, || "an answer".to_owned(), || verb(&args).0);
                let (_, text) = verb(&args);
                assert!(text.contains("rejected by filter"), "{text}");
            }
            _ => {
                let (is_done, text) = verb(&args);
                assert!(is_done, "yardmaster {args:?}\n{text}");
            }
        }
        done.push(args[0].clone());
    }
    for needed in ["topology", "import", "run", "publish", "explain"] {
        assert!(done.iter().any(|verb| verb == needed), "{needed} is not in the README");
    }
    for process in running.expect("a pair") {
        assert!(process.stop().success());
    }
}
