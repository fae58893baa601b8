//! The topology of a pool of slots: the shipped one is right, and what cannot be together or cannot be
//! meant is named.

use crate::verbs::{printed, yardmaster};
use std::path::Path;
use yardmaster::core::cut::Topic;
use yardmaster::core::policy::{Policy, kind};
use yardmaster::core::topic::Need;
use yardmaster::core::unit::{DAY, HOUR};
use yardmaster::wire::topology::{
    ATLAS, CMS, Cleanup, Complaint, NORDUGRID, Topology, conflicts, describe, findings, mermaid,
    readers,
};

/// The shipped file with one text replaced by another, which must be there.
fn changed(from: &str, to: &str) -> String {
    assert!(CMS.contains(from), "{from:?} is not in the shipped file");
    CMS.replacen(from, to, 1)
}

fn complaints(text: &str) -> String {
    let found = Topology::parse("my.toml", text).expect_err("the file is wrong");
    found.iter().map(Complaint::to_string).collect::<Vec<_>>().join("\n")
}

fn found(text: &str) -> Vec<String> {
    let topology = Topology::parse("my.toml", text).expect("a file without a mistake");
    findings("my.toml", text, &topology).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn assert_says(report: &str, parts: &[&str]) {
    for part in parts {
        assert!(report.contains(part), "{part:?} is not in {report:?}");
    }
}

/// The shipped file with more keys of its policy.
fn policy_with(keys: &str) -> String {
    changed("kind = \"cms\"\n", &format!("kind = \"cms\"\n{keys}\n"))
}

#[test]
fn the_shipped_topology_is_right() {
    let topology = Topology::default_cms();
    assert_eq!(topology.domain, "cms");
    let has = |it: &&Topic| ![Need::Targets, Need::Domains].contains(&it.need());
    assert!(topology.topics.keys().eq(Topic::ALL.iter().filter(has)));
    for (topic, settings) in &topology.topics {
        assert_eq!(settings.name, format!("yardmaster.cms.{}", topic.name()));
    }
    assert_eq!(topology.transactional_id(), "yardmaster-cms-yardmaster.cms.progress");
    assert_eq!(topology.topic(Topic::Task).cleanup, Cleanup::CompactDelete);
    assert_eq!(topology.topic(Topic::Pilot).retention_ms, Some(14 * DAY));
    assert_eq!(topology.topic(Topic::Grant).cleanup, Cleanup::Compact);
    assert_eq!(found(CMS), Vec::<String>::new());
    let policy = &topology.policies[0];
    assert_eq!((topology.policies.len(), &policy.name[..], &policy.kind[..]), (1, "cms", "cms"));
    let kind = kind("cms").expect("built in");
    let names = |steps: &[yardmaster::core::policy::ListedStep]| -> Vec<String> {
        steps.iter().map(|step| step.name.clone()).collect()
    };
    let all: Vec<&str> = kind.filters().iter().map(|it| it.name).collect();
    assert_eq!(names(&policy.filters), all);
    let all: Vec<&str> = kind.weights().iter().map(|it| it.name).collect();
    assert_eq!(names(&policy.weights), all);
}

/// Each parameter of the kind stands in the file as a comment, with its default: without the comment
/// signs the policy is the same.
#[test]
fn parameters_are_shown_with_their_defaults() {
    let (_, policy) = CMS.split_once("[[policy]]").expect("a policy");
    let kind = kind("cms").expect("built in");
    let mut text = CMS.to_owned();
    for param in kind.params {
        let line = policy.lines().find_map(|line| {
            line.strip_prefix("# ").filter(|line| line.starts_with(&format!("{} = ", param.name)))
        });
        let line = line.unwrap_or_else(|| panic!("{} is not in the file", param.name));
        text = text.replace(&format!("\n# {line}\n"), &format!("\n{line}\n"));
    }
    let shown = Topology::parse("my.toml", &text).expect("right");
    assert_eq!(shown.policies[0].args.len(), kind.params.len());
    let hash = |topology: &Topology| {
        let policy = Policy::compile(&topology.policies[0]).expect("a policy");
        (policy.hash().to_owned(), policy.unchanged().own)
    };
    let (_, values) = hash(&shown);
    let (_, defaults) = hash(&Topology::default_cms());
    assert_eq!(format!("{values:?}"), format!("{defaults:?}"));
    for choice in (1..=11).map(|number| format!("CD-{number:02}")) {
        assert!(CMS.contains(&choice), "{choice} is not named");
    }
}

#[test]
fn it_can_stand_beside_those_of_other_domains() {
    let of = |name, text| Topology::parse(name, text).expect("shipped");
    let [atlas, nordugrid, cms] = [("atlas", ATLAS), ("nordugrid", NORDUGRID), ("cms", CMS)]
        .map(|(name, text)| of(name, text));
    let files = [("atlas", &atlas), ("nordugrid", &nordugrid), ("cms", &cms)];
    assert_eq!(conflicts(&files), Vec::<String>::new());
}

#[test]
fn one_policy_answers_all_offers_and_no_other_is_beside_it() {
    let second =
        "\n[[policy]]\nname = \"other\"\nkind = \"cms\"\nfilters = \"all\"\nweights = \"all\"\n";
    let first = CMS.lines().position(|line| line == "[[policy]]").expect("a policy") + 1;
    let report = complaints(&format!("{CMS}{second}"));
    let wanted = format!(
        "policy other of kind \"cms\" beside policy cms (line {first}), which answers slot offers"
    );
    assert_says(&report, &[&wanted, "another domain has a file of its own"]);
    // Of another style, whichever comes first.
    let report = complaints(&format!("{CMS}{}", second.replace("\"cms\"", "\"nordugrid\"")));
    assert_says(&report, &["policy other of kind \"nordugrid\" beside policy cms"]);
    let pool = second.replace("other", "pool");
    let grant = "\n[topics.grant]\npartitions = 1\ncleanup = \"compact\"\n";
    let report = complaints(&format!("{ATLAS}{grant}{pool}"));
    assert_says(
        &report,
        &["policy production-job of kind \"atlas-production-job\" beside policy pool"],
    );
}

#[test]
fn a_pool_has_grants_and_its_workflows_are_compacted() {
    let report = complaints(&changed("[topics.grant]", "[topics.grants]"));
    assert_says(&report, &["no [topics.grant]", "did you mean `grant`?"]);
    // Elsewhere a task asks for several things under one key.
    let task = "[topics.task]\npartitions = 4\ncleanup = \"delete\"";
    assert!(ATLAS.contains(task));
    let text = ATLAS.replace(task, &task.replace("delete", "compact,delete"));
    assert_says(&complaints(&text), &["cleanup \"compact,delete\" for task"]);
}

#[test]
fn outputs_that_a_pool_is_known_by_are_kept_as_long_as_it() {
    let report = complaints(&changed("retention_hours = 1440", "retention_hours = 700"));
    assert_says(&report, &["decision kept 700 h, jobs 720 h", "a rejected job would wait again"]);
    let command = "cms.command\"\npartitions = 1\ncleanup = \"delete\"\nretention_hours = ";
    let report = complaints(&changed(&format!("{command}2160"), &format!("{command}1000")));
    assert_says(&report, &["command kept 1000 h, workflows 2160 h", "killed would run again"]);
    let text =
        changed("cleanup = \"compact,delete\"\nretention_hours = 2160", "cleanup = \"compact\"")
            .replace(&format!("{command}2160"), &format!("{command}744"));
    let topology = Topology::parse("my.toml", &text).expect("workflows that are never deleted");
    assert_eq!(topology.topic(Topic::Command).retention_ms, Some(744 * HOUR));
    // No request is answered, so none twice.
    let cms = Topology::default_cms();
    assert!(readers(&cms, Topic::Decision).iter().all(|it| !it.name.contains("requests")));
}

#[test]
fn what_cannot_be_meant_of_a_pool_is_found() {
    for (keys, parts) in [
        ("bunch = 5", &["warning: policy cms has bunch [not-read]", "leave bunch out"][..]),
        ("wake = \"timer\"\ndwell_s = 10", &["policy cms has wake", "policy cms has dwell_s"]),
        ("tail_fraction_permille = 1_001", &["error: ", "[contradiction]", "ever has a tail"]),
        ("restricted_charge_permille = 2_000", &["error: ", "count for more than they are"]),
        (
            "reservation_ttl_s = 0",
            &["error: ", "[cap-of-zero]", "given up before its job can start"],
        ),
        ("workflow_hold_s = 0", &["warning: ", "comes after it is rejected"]),
        ("max_tail_workflows = 0", &["warning: ", "no workflow's tail is ever boosted"]),
        ("test_band_user_cap = 0", &["warning: ", "no test job goes before others"]),
        ("max_draining = 0", &["warning: ", "no node is ever kept free"]),
        ("drain_rate_per_hour = 0", &["warning: ", "no node is ever kept free"]),
        ("default_wall_time_s = 0", &["warning: ", "states nothing fits every offer"]),
        ("default_rss_mb_per_core = 0", &["warning: ", "states nothing fits every offer"]),
    ] {
        assert_says(&found(&policy_with(keys)).join("\n"), parts);
    }
    assert_eq!(
        found(&policy_with("half_life_s = 3_600\nmode = \"dry_run\"")),
        Vec::<String>::new()
    );
    let pilot = "cleanup = \"compact,delete\"\nretention_hours = 336";
    let kept = found(&changed(pilot, "cleanup = \"compact\"")).join("\n");
    assert_says(
        &kept,
        &["pilot is compacted only [kept-for-ever]", "each offer has a name of its own"],
    );
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/topology.md");
    let docs = std::fs::read_to_string(docs).expect("a page");
    assert_says(&docs, &["| `kept-for-ever` |"]);
    let open = changed("filters = \"all\"", "filters = [\"whitelist\"]");
    assert_says(&found(&open).join("\n"), &["does not list the filter site_status [no-filter]"]);
}

/// A list that is one parameter: what it may be, where it is wrong, and that it is part of what
/// decides.
#[test]
fn the_roles_of_system_jobs_are_a_list_of_names() {
    for (given, parts) in [
        (
            "\"production\"",
            &["system_roles: \"production\"; allowed: a list of different names"][..],
        ),
        ("7", &["system_roles: 7; allowed: a list of different names"]),
        ("[\"a\", \"\"]", &["system_roles: \"\" in [\"a\", \"\"]; allowed: "]),
        ("[\"a\", \" b\"]", &["system_roles: \" b\" in "]),
        ("[\"a\", \"a\"]", &["system_roles: \"a\" twice in [\"a\", \"a\"]"]),
        ("[1]", &["system_roles", "a list of names"]),
    ] {
        assert_says(&complaints(&policy_with(&format!("system_roles = {given}"))), parts);
    }
    assert_says(&complaints(&policy_with("half_life_s = [\"a\"]")), &["half_life_s: [\"a\"]"]);
    assert_says(
        &complaints(&policy_with("system_role = [\"a\"]")),
        &["memory_step_mb, system_roles"],
    );
    let policy = |keys: &str| {
        let text = policy_with(keys);
        assert_eq!(found(&text), Vec::<String>::new());
        let topology = Topology::parse("my.toml", &text).expect("a file without a mistake");
        Policy::compile(&topology.policies[0]).expect("a policy without a mistake")
    };
    let roles = |policy: &Policy| policy.pool_settings(&policy.unchanged()).system_roles;
    let [unstated, default, none, two] = [
        "",
        "system_roles = [\"production\"]",
        "system_roles = []",
        "system_roles = [\"t1access\", \"production\"]",
    ]
    .map(policy);
    assert_eq!((roles(&unstated), roles(&default)), (roles(&default), vec!["production".into()]));
    assert_eq!((roles(&none), roles(&two).len()), (vec![], 2));
    assert_eq!(unstated.hash(), default.hash(), "the same policy");
    assert!(none.hash() != default.hash() && two.hash() != none.hash(), "{}", none.text());
    let text = two.describe(&Default::default());
    assert_says(&text, &["system_roles = [\"t1access\", \"production\"]: C-05"]);
}

#[test]
fn mistakes_in_parameters_are_named_with_their_lines() {
    let report = complaints(&policy_with("overflow_unit = \"slots\"\nhalf_life = 5"));
    assert_says(
        &report,
        &[
            "overflow_unit: \"slots\"; allowed: one of jobs, cores",
            "half_life",
            "did you mean `half_life_s`",
        ],
    );
}

#[test]
fn it_is_described() {
    let topology = Topology::default_cms();
    let text = describe(&topology);
    let defer = "an offer that no job fits is deferred, again each 900 s";
    assert_says(&text, &["domain cms", "yardmaster.cms.grant", "policy cms: kind cms", defer]);
    assert_says(&text, &["filter site_status (cms-nordugrid C-36)", "half_life_s = 86400"]);
    assert!(!text.contains("bunches"), "{text}");
    assert_says(&mermaid(&topology), &["start0([offer]) --> p0s0[\"filter site_status\"]"]);
}

#[test]
fn every_verb_knows_it_by_its_name() {
    let (code, out, errors) =
        printed(&yardmaster(&["topology", "check", "--strict", "--topology", "cms"]));
    assert_eq!((code, &errors[..]), (Some(0), ""), "{out}");
    assert_says(&out, &["cms.toml (built in)", "no mistake found"]);
    let (code, _, errors) = printed(&yardmaster(&["topology", "check", "--topology", "cmss"]));
    assert_eq!(code, Some(2));
    assert_says(&errors, &["one of atlas, panda, nordugrid, cms"]);
}
