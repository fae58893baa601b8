//! Every reason a filter gives is one it declares, and the other way round: `explain` and the metrics
//! rest on it. Kept by reading the source.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use yardmaster::core::policy::kinds;

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("the source").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// Text of all that judges, without tests.
fn text() -> String {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core");
    let domains = fs::read_dir(core.join("domain")).expect("the domains").flatten();
    let folders = domains.map(|domain| domain.path().join("policy")).chain([core.join("policy")]);
    let mut found = Vec::new();
    for folder in folders.filter(|folder| folder.is_dir()) {
        sources(&folder, &mut found);
    }
    let is_test = |path: &PathBuf| path.iter().any(|part| part.to_string_lossy().contains("tests"));
    found.retain(|path| !is_test(path));
    found.iter().map(|path| fs::read_to_string(path).expect("a text")).collect()
}

fn declared() -> BTreeSet<&'static str> {
    let filters = kinds().iter().flat_map(|kind| kind.filters());
    filters.flat_map(|filter| filter.reasons).map(|reason| reason.name).collect()
}

/// Reasons as the source has them: the names of their constants, with their own names.
fn constants(text: &str) -> BTreeSet<(&str, &str)> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(": Reason =") {
        let before = text[..at].rsplit_once("const ").expect("a constant").1;
        let (_, value) = text[at..].split_once("Reason::new(").expect("a reason");
        let (_, name) = value.split_once('"').expect("a name");
        found.insert((before, name.split_once('"').expect("a name").0));
    }
    found
}

/// How often a constant is named outside of lists of reasons: where a filter gives it.
fn times_given(text: &str, constant: &str) -> usize {
    let named = format!("&{constant}");
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("reasons:"));
    let lines = lines.filter(|line| !line.contains("REASONS: &[&Reason]"));
    let is_whole = |line: &str, at: usize| {
        let next = line[at + named.len()..].chars().next();
        next.is_none_or(|next| next != '_' && !next.is_ascii_alphanumeric())
    };
    let times =
        |line: &str| line.match_indices(&named).filter(|(at, _)| is_whole(line, *at)).count();
    lines.map(times).sum()
}

#[test]
fn what_is_declared_is_given() {
    let text = text();
    let constants = constants(&text);
    for reason in declared() {
        let mut named = constants.iter().filter(|(_, name)| *name == reason).peekable();
        assert!(named.peek().is_some(), "{reason:?} is no constant");
        for (constant, _) in named {
            let is_given = times_given(&text, constant) > 0;
            assert!(is_given, "{reason:?} is declared, and no filter gives it");
        }
    }
}

#[test]
fn what_is_given_is_declared() {
    let (text, declared) = (text(), declared());
    let given = constants(&text);
    assert!(given.len() > 30, "{given:?}");
    let unknown: Vec<_> = given.iter().filter(|(_, name)| !declared.contains(name)).collect();
    assert!(unknown.is_empty(), "given and not declared: {unknown:?}");
}

/// Whether a place is one of a specification.
fn is_rule(spec: &str) -> bool {
    ["atlas ", "cms-nordugrid ", "panda-generic "].iter().any(|document| spec.starts_with(document))
}

#[test]
fn each_filter_is_described() {
    for kind in kinds() {
        for filter in kind.filters() {
            let name = format!("{} of {}", filter.name, kind.name);
            assert!(!filter.help.is_empty(), "{name}");
            assert!(
                is_rule(filter.spec) || filter.spec == "not in atlas",
                "{name}: {}",
                filter.spec
            );
        }
        for weight in kind.weights() {
            assert!(is_rule(weight.spec), "{} of {}", weight.name, kind.name);
        }
    }
}
