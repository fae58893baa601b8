//! The rules of a pool of slots in a topology file: on where nothing is stated, and found fault with
//! where they cannot be meant.

use crate::verbs::{printed, yardmaster};
use yardmaster::core::command::{CommandRule, Mode};
use yardmaster::wire::topology::{ATLAS, CMS, Topology, findings};

fn with(text: &str, rules: &str) -> String {
    format!("{text}\n{rules}\n")
}

fn parsed(text: &str) -> Topology {
    Topology::parse("my.toml", text).unwrap_or_else(|complaints| panic!("{complaints:#?}"))
}

fn modes(topology: &Topology) -> Vec<(&'static str, Mode)> {
    let of_pool = topology.commands.rules.iter().filter(|it| it.rule.is_of_pool());
    of_pool.map(|it| (it.rule.name(), it.mode)).collect()
}

fn found(text: &str) -> Vec<String> {
    findings("my.toml", text, &parsed(text)).iter().map(ToString::to_string).collect()
}

const NAMES: [&str; 6] = ["boost", "kill_workflow", "alert", "profile", "drain", "undrain"];

#[test]
fn a_pool_has_its_rules_where_nothing_is_stated() {
    assert_eq!(modes(&parsed(CMS)), NAMES.map(|name| (name, Mode::On)));
    assert_eq!(modes(&parsed(ATLAS)), []);
    let about_jobs = parsed(CMS).commands.rules.iter().filter(|it| !it.rule.is_of_pool()).count();
    assert_eq!(about_jobs, 0, "none that looks at jobs");
}

#[test]
fn what_is_stated_of_a_rule_of_a_pool_holds() {
    let text = with(
        CMS,
        "[[rule]]\nname = \"drain\"\nmode = \"off\"\n\n[[rule]]\nname = \"kill_workflow\"\n\
         batch_jobs = 7\n\n[[rule]]\nname = \"boost\"\nmode = \"dry_run\"",
    );
    let topology = parsed(&text);
    let expected = NAMES.map(|name| match name {
        "drain" => (name, Mode::Off),
        "boost" => (name, Mode::DryRun),
        _ => (name, Mode::On),
    });
    assert_eq!(modes(&topology), expected);
    let killed = topology.commands.rule(CommandRule::KillWorkflow).unwrap();
    assert_eq!(killed.value("batch_jobs"), 7.0);
    assert_ne!(topology.commands.hash, parsed(CMS).commands.hash);
    let wrong = with(CMS, "[[rule]]\nname = \"drain\"\nlimit_min = 5");
    let complaints = Topology::parse("my.toml", &wrong).unwrap_err();
    assert!(complaints[0].to_string().contains("limit_min"), "{complaints:#?}");
}

#[test]
fn rules_that_cannot_be_meant_in_a_pool_or_without_one_are_found() {
    assert_eq!(found(CMS), Vec::<String>::new());
    let one = |text: &str, rules: &str, parts: &[&str]| {
        let found = found(&with(text, rules));
        assert_eq!(found.len(), 1, "{found:#?}");
        parts.iter().for_each(|part| assert!(found[0].contains(part), "{part}: {found:#?}"));
    };
    one(
        ATLAS,
        "[[rule]]\nname = \"drain\"",
        &["warning: rule drain is stated, and no policy answers slot offers [not-read]"],
    );
    one(
        CMS,
        "[[rule]]\nname = \"undrain\"\nmode = \"off\"",
        &["error: rule drain is on, rule undrain off [contradiction]"],
    );
    assert_eq!(
        found(&with(
            CMS,
            "[[rule]]\nname = \"drain\"\nmode = \"dry_run\"\n\n[[rule]]\nname = \"undrain\"\nmode = \"off\""
        )),
        Vec::<String>::new()
    );
    let waits = found(&with(CMS, "[[rule]]\nname = \"T1\"\nmode = \"on\""));
    let is_about_waiting = "error: rule T1 is on, and a policy answers slot offers [contradiction]";
    assert!(waits.iter().any(|it| it.contains(is_about_waiting)), "{waits:#?}");
    let governed = found(&with(CMS, "[governor]\njobs = 0"));
    assert!(governed[0].contains("governor.jobs is 0 [cap-of-zero]"), "{governed:#?}");
}

#[test]
fn they_are_described() {
    let (code, out, _) = printed(&yardmaster(&["topology", "describe", "--topology", "cms"]));
    assert_eq!(code, Some(0), "{out}");
    for part in [
        "rule boost (cms-nordugrid C-16): on, boost:",
        "rule kill_workflow (cms-nordugrid C-49): on, kill_workflow:",
        "batch_jobs = 100",
        "rule undrain (cms-nordugrid C-55): on, undrain:",
    ] {
        assert!(out.contains(part), "{part:?} is not in:\n{out}");
    }
    let (_, out, _) = printed(&yardmaster(&["topology", "describe", "--topology", "atlas"]));
    assert!(!out.contains("kill_workflow") && !out.contains("undrain"), "{out}");
}
