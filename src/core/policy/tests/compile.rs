//! Reading a policy: all mistakes at once, gdpconfig on top, one text and one hash.

use crate::domain::atlas::policy::RETIRED;
use crate::domain::atlas::policy::sample::policy;
use crate::limits::Limits;
use crate::policy::{Arg, ListedStep, Policy, PolicySpec, Resolved, Rules, kind, kinds};
use std::collections::BTreeSet;

fn step(name: &str, args: &[(&str, Arg)]) -> ListedStep {
    let args = args.iter().map(|(name, arg)| (name.to_string(), arg.clone())).collect();
    ListedStep { name: name.into(), args }
}

fn spec(filters: Vec<ListedStep>, weights: Vec<ListedStep>) -> PolicySpec {
    PolicySpec { filters, weights, ..PolicySpec::empty("p", "atlas-production-job") }
}

fn mistakes(spec: &PolicySpec) -> Vec<String> {
    let found = Policy::compile(spec).err().unwrap_or_default();
    found.iter().map(|mistake| mistake.to_string()).collect()
}

#[test]
fn every_mistake_is_found_at_once() {
    let mut wrong = spec(
        vec![
            step("memroy", &[]),
            step("memory", &[("compensation", Arg::Float(f64::NAN)), ("colour", Arg::Int(1))]),
            step(
                "link",
                &[("NQUEUED_SAT_CAP", Arg::Int(-1)), ("boundary", Arg::Text("at".into()))],
            ),
            step("link", &[]),
            step("status", &[("standby", Arg::Int(1)), ("standby", Arg::Bool(true))]),
            step("transferring", &[("default_limit", Arg::Float(0.5))]),
        ],
        vec![step("basic", &[]), step("running", &[]), step("luck", &[])],
    );
    wrong.args = vec![("exclude_tset".into(), Arg::Bool(true))];
    (wrong.candidates_max, wrong.bunch, wrong.defer) = (0, 0, 0);
    let found = mistakes(&wrong);
    for part in [
        "filter memroy: not known; allowed: one of status, nucleus_queue, link",
        "filter memory, compensation: NaN; allowed: a number 0..=10",
        "filter memory, colour: not known; allowed: one of compensation, base_always",
        "filter link, NQUEUED_SAT_CAP: -1; allowed: a whole number 0..=",
        "filter link, boundary: \"at\"; allowed: one of above, at_least",
        "filter link: listed twice; allowed: once",
        "filter status, standby: 1; allowed: true or false",
        "filter status, standby: given twice",
        "filter transferring, default_limit: 0.5; allowed: a whole number",
        "weight running: stands after a weight that may use its figures",
        "weight luck: not known; allowed: one of running, basic, data, nucleus, network",
        "exclude_tset: not known; allowed: one of exclude_test",
        "candidates_max: 0; allowed: 1..=1000",
        "bunch: 0; allowed: 1..=",
        "defer_s: 0 s; allowed: 1..=2592000 s",
    ] {
        assert!(found.iter().any(|text| text.starts_with(part)), "{part:?} is not in {found:#?}");
    }
    assert_eq!(found.len(), 15, "{found:#?}");
}

#[test]
fn an_unknown_kind_is_a_mistake() {
    let found = mistakes(&PolicySpec::empty("p", "lottery"));
    assert_eq!(
        found,
        ["kind: \"lottery\" is not known; allowed: one of atlas-analysis-job, \
             atlas-production-job, atlas-production-task, cms, generic-job, nordugrid"]
    );
}

#[test]
fn the_text_and_the_hash_change_with_everything_that_decides() {
    let base = spec(vec![step("memory", &[]), step("link", &[])], vec![step("basic", &[])]);
    let mut all = vec![base.clone()];
    let mut add = |change: fn(&mut PolicySpec)| {
        let mut spec = base.clone();
        change(&mut spec);
        all.push(spec);
    };
    add(|spec| spec.name = "q".into());
    add(|spec| spec.rules = Rules::Panda);
    add(|spec| spec.wake = crate::policy::Wake::Timer);
    add(|spec| spec.defer += 1);
    add(|spec| spec.dwell += 1);
    add(|spec| spec.candidates_max += 1);
    add(|spec| spec.bunch += 1);
    add(|spec| spec.bunch_scout += 1);
    add(|spec| spec.args = vec![("exclude_test".into(), Arg::Bool(false))]);
    add(|spec| spec.filters.reverse());
    add(|spec| spec.filters.truncate(1));
    add(|spec| spec.weights.clear());
    add(|spec| spec.filters[0].args = vec![("compensation".into(), Arg::Float(0.8))]);
    add(|spec| spec.weights[0].args = vec![("many_assigned".into(), Arg::Text("plus_one".into()))]);
    let compiled = |spec: &PolicySpec| Policy::compile(spec).expect("allowed");
    let hashes: BTreeSet<String> = all.iter().map(|s| compiled(s).hash().to_string()).collect();
    assert_eq!(hashes.len(), all.len());
    assert!(hashes.iter().all(|hash| hash.len() == 16));
    // A stated value that equals the default comes to the same.
    let mut stated = base.clone();
    stated.filters[0].args = vec![("compensation".into(), Arg::Float(0.9))];
    assert_eq!(compiled(&stated).text(), compiled(&base).text());
    assert_eq!(compiled(&base).hash(), compiled(&base).hash());
}

#[test]
fn gdpconfig_wins_over_the_topology() {
    let given = [("NQUEUED_SAT_CAP", Arg::Int(99))];
    let policy = Policy::compile(&spec(vec![step("link", &given), step("cap", &[])], vec![]));
    let policy = policy.expect("allowed");
    let value = |resolved: &Resolved, filter: &str, name: &str| -> f64 {
        policy.value(resolved, filter, name).expect("a parameter").parse().expect("a number")
    };
    assert_eq!(value(&policy.unchanged(), "link", "NQUEUED_SAT_CAP"), 99.0);
    let lookup = |component: &str, key: &str| match (component, key) {
        ("jobbroker", "NQUEUED_SAT_CAP") => Some("7"),
        ("jobbroker", "NQUEUELIMITSITE_Express") => Some("40"),
        _ => None,
    };
    let express = policy.resolve(&lookup, "Express");
    assert_eq!(value(&express, "link", "NQUEUED_SAT_CAP"), 7.0);
    assert_eq!(value(&express, "cap", "NQUEUELIMITSITE"), 40.0);
    assert_eq!(express.notes, Vec::<String>::new());
    let other = policy.resolve(&lookup, "MC Default");
    assert_eq!(value(&other, "cap", "NQUEUELIMITSITE"), 20.0);
    assert_ne!(express, other);
}

#[test]
fn a_value_of_the_wrong_type_is_ignored_and_noted() {
    let policy = Policy::compile(&spec(vec![step("link", &[])], vec![])).expect("allowed");
    let value = |resolved: &Resolved| -> f64 {
        let shown = policy.value(resolved, "link", "NQUEUED_SAT_CAP");
        shown.expect("a parameter").parse().expect("a number")
    };
    for wrong in ["many", "", "-5", "1.5", "NaN", "inf", "true", "1e300"] {
        let resolved = policy.resolve(&|_, key| (key == "NQUEUED_SAT_CAP").then_some(wrong), "");
        assert_eq!(value(&resolved), 150.0, "{wrong}");
        assert_eq!(resolved.notes.len(), 1, "{wrong}");
        assert!(resolved.notes[0].contains("jobbroker/NQUEUED_SAT_CAP"), "{:?}", resolved.notes);
    }
    let resolved = policy.resolve(&|_, _| Some(" 160.0 "), "");
    assert_eq!(value(&resolved), 160.0);
}

/// The shipped topology names every filter and weight there is, in the specification's order, and
/// none that is retired.
#[test]
fn the_shipped_topology_lists_all() {
    let shipped = include_str!("../../../../topology/atlas.toml");
    let (_, mut rest) = shipped.split_once("kind = \"atlas-production-job\"").expect("its kind");
    let flavour = kind("atlas-production-job").expect("built in");
    let names = flavour.filters().into_iter().map(|filter| filter.name);
    for name in names.chain(flavour.weights().into_iter().map(|weight| weight.name)) {
        let quoted = format!("\"{name}\"");
        if RETIRED.contains(&name) {
            assert!(!shipped.contains(&quoted), "{name} is retired");
            continue;
        }
        let at = rest.find(&quoted).unwrap_or_else(|| panic!("{name} is not there, or misplaced"));
        rest = &rest[at + quoted.len()..];
    }
}

#[test]
fn the_registry_is_consistent() {
    for flavour in kinds() {
        assert_eq!(kind(flavour.name).map(|found| found.name), Some(flavour.name));
        let filters = flavour.filters().into_iter().map(|filter| filter.name);
        let weights = flavour.weights().into_iter().map(|weight| weight.name);
        let names: BTreeSet<&str> = filters.clone().chain(weights.clone()).collect();
        assert_eq!(names.len(), filters.count() + weights.count(), "a name is one thing");
        let params = [flavour.params].into_iter();
        let params = params.chain(flavour.filters().into_iter().map(|filter| filter.params));
        for params in params.chain(flavour.weights().into_iter().map(|weight| weight.params)) {
            let names: BTreeSet<&str> = params.iter().map(|param| param.name).collect();
            assert_eq!(names.len(), params.len());
            for param in params {
                assert!(!param.help.is_empty(), "{} has no help", param.name);
                for rules in Rules::ALL {
                    let shown = param.show(param.default_under(rules));
                    let read = param.read_text(shown.trim_matches('"'));
                    assert_eq!(read, Some(param.default_under(rules)), "{}", param.name);
                }
                assert!(param.gdp.is_none_or(|key| key.contains('/')), "{}", param.name);
            }
        }
        let text = flavour.describe();
        if flavour.name != "atlas-production-job" {
            continue;
        }
        assert!(text.contains("NQUEUED_SAT_CAP = 150 (a whole number 0..="), "{text}");
        assert!(text.contains("DIFF-22"), "{text}");
    }
    let (policy, _) = policy(Rules::Panda);
    assert!(policy.describe(&Limits::default()).contains("standby = true"));
}
