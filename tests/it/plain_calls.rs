//! Verbs as somebody calls them who knows a log and little else: without its topology, by the name
//! of a user or workflow, with ages in place of moments, with fields that the pages name.

use crate::other_rules::simulated;
use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

const DOMAINS: [(&str, &str); 3] = [("atlas", "0.005"), ("cms", "0.002"), ("nordugrid", "0.02")];

/// Logs of the three domains, an hour of a small grid each, in one directory.
struct Logs(TempDir);

impl Logs {
    fn log(&self, domain: &str) -> String {
        self.0.path().join(domain).to_str().unwrap().to_owned()
    }

    /// A verb on a log that it can read: its answer.
    fn shown(&self, domain: &str, verb: &[&str]) -> String {
        let log = self.log(domain);
        let args = [verb, &["--dir", &log]].concat();
        let (code, out, errors) = printed(&yardmaster(&args));
        assert_eq!(code, Some(0), "{domain} {verb:?}: {errors}");
        out
    }

    /// What is wrong with a call.
    fn refused(&self, args: &[&str]) -> String {
        let (code, _, errors) = printed(&yardmaster(args));
        assert_eq!(code, Some(2), "{args:?}: {errors}");
        errors
    }
}

#[test]
fn a_log_answers_somebody_who_knows_little_else() {
    let logs = Logs(TempDir::new().unwrap());
    for (topology, scale) in DOMAINS {
        simulated(logs.0.path(), topology, "1", scale);
    }
    the_topology_is_that_of_the_log(&logs);
    users_and_workflows_are_explained(&logs);
    ages_are_reckoned_from_the_last_cycle(&logs);
    fields_of_the_pages_can_be_supposed(&logs);
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn the_topology_is_that_of_the_log(logs: &Logs) {
    let verbs: [&[&str]; 6] = [
        &["waiting", "--json"],
        &["attention", "--json"],
        &["changes", "--json"],
        &["counters", "--at", "0s", "--json"],
        &["commands", "--state", "all", "--json"],
        &["tail", "--no-follow", "--json"],
    ];
    for (domain, _) in DOMAINS {
        for verb in verbs {
            let without = logs.shown(domain, verb);
            assert_eq!(
                without,
                logs.shown(domain, &[verb, &["--topology", domain]].concat()),
                "{verb:?}"
            );
            assert!(
                !without.is_empty() || !["changes", "counters", "tail"].contains(&verb[0]),
                "{verb:?}"
            );
        }
        let log = logs.log(domain);
        for (other, _) in DOMAINS.into_iter().filter(|(other, _)| *other != domain) {
            let args = ["waiting", "--topology", other, "--dir", &log];
            let errors = logs.refused(&args);
            assert!(errors.contains(&format!("give --topology {domain}")), "{errors}");
        }
    }
    let errors = logs.refused(&["usage", "--dir", logs.0.path().to_str().unwrap()]);
    assert!(DOMAINS.iter().all(|(domain, _)| errors.contains(&logs.log(domain))), "{errors}");
}

fn users_and_workflows_are_explained(logs: &Logs) {
    let used = lines(&logs.shown("atlas", &["usage", "--by", "user", "--json"]));
    let user = used.iter().max_by_key(|it| it["jobs"]["running"].as_u64()).unwrap();
    let (name, jobs) = (user["owner"].as_str().unwrap(), &user["jobs"]);
    let text = logs.shown("atlas", &["explain", name]);
    let [running, cores] = ["running", "running_cores"].map(|it| jobs[it].as_u64().unwrap());
    assert!(running > 0, "{user}");
    for part in [&format!("{name}: a user, as of "), &format!("{running} run on {cores} cores,")] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert_eq!(logs.shown("atlas", &["explain", &format!("user/{name}")]), text);

    let waiting = lines(&logs.shown("cms", &["waiting", "--json"]));
    assert!(waiting.len() > 2, "{waiting:?}");
    for it in waiting.iter().take(3) {
        let text = logs.shown("cms", &["explain", it["task"].as_str().unwrap()]);
        let [title, reason] = ["title", "reason"].map(|name| it[name].as_str().unwrap());
        let why = format!("  waits     {} jobs: {title} ({reason}): ", it["jobs"]);
        let helps = match it["helps"].as_str().unwrap() {
            "time" => "\n  helps     goes by itself; ",
            "configuration" => "\n  helps     waiting does not help; ",
            _ => "\n  helps     judged soon; ",
        };
        assert!(text.contains(&why) && text.contains(helps), "{why}{helps} is not in:\n{text}");
    }
}

fn ages_are_reckoned_from_the_last_cycle(logs: &Logs) {
    let last = lines(&logs.shown("atlas", &["counters", "--json"]));
    assert!(!last.is_empty());
    // The hour of a demo ends at 01:00.
    let half = "2025-10-14T00:30:00Z";
    let set = ["replay", "--set", "queue.EAST_T1.status=offline", "--format", "json"];
    let verbs: [(&[&str], &str); 5] = [
        (&["counters", "--json"], "--at"),
        (&["counters", "--json"], "--against"),
        (&["tail", "--no-follow", "--json"], "--from"),
        (&set, "--from"),
        (&set, "--to"),
    ];
    for (verb, flag) in verbs {
        let of = |when: &str| logs.shown("atlas", &[verb, &[flag, when]].concat());
        let age = of("30m");
        assert!(age == of(half) && age != of("10m"), "{verb:?} {flag}: {age}");
    }
}

fn fields_of_the_pages_can_be_supposed(logs: &Logs) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verbs.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (domain, _) in DOMAINS {
        let row = format!("| {domain} | `");
        let rows = page.lines().filter_map(|line| line.strip_prefix(&row));
        let sets: Vec<&str> = rows.map(|rest| rest.split('`').next().unwrap()).collect();
        assert_eq!(sets.len(), 3, "{domain}");
        for set in sets {
            let report = logs.shown(domain, &["replay", "--from", "10m", "--set", set]);
            assert!(report.starts_with(&format!("{set} beside the log")), "{report}");
        }
    }
    let set = "site.T1_DE_01.status=drain";
    let log = logs.log("cms");
    let args = ["replay", "--dir", &log, "--set", set];
    let errors = logs.refused(&args);
    assert!(errors.contains("slot_quota has one, slot_quota.status"), "{errors}");
}
