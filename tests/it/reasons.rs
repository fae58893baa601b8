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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core/policy");
    let mut found = Vec::new();
    sources(&root, &mut found);
    let is_test = |path: &PathBuf| path.iter().any(|part| part.to_string_lossy().contains("tests"));
    found.retain(|path| !is_test(path));
    found.iter().map(|path| fs::read_to_string(path).expect("a text")).collect()
}

fn declared() -> BTreeSet<&'static str> {
    let filters = kinds().iter().flat_map(|kind| kind.filters);
    filters.flat_map(|filter| filter.reasons).map(|(reason, _)| *reason).collect()
}

/// The first argument of each call of `object` or `object_until` that is a literal.
fn given(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for call in ["object(", "object_until("] {
        for (at, _) in text.match_indices(call) {
            let rest = text[at + call.len()..].trim_start();
            if let Some(rest) = rest.strip_prefix('"') {
                found.extend(rest.split_once('"').map(|(reason, _)| reason));
            }
        }
    }
    found
}

#[test]
fn what_is_declared_is_given() {
    let text = text();
    for reason in declared() {
        let times = text.matches(&format!("\"{reason}\"")).count();
        assert!(times >= 2, "{reason:?} is declared, and no filter gives it");
    }
}

#[test]
fn what_is_given_is_declared() {
    let (text, declared) = (text(), declared());
    let given = given(&text);
    assert!(given.len() > 30, "{given:?}");
    let unknown: Vec<_> = given.iter().filter(|reason| !declared.contains(*reason)).collect();
    assert!(unknown.is_empty(), "given and not declared: {unknown:?}");
}

#[test]
fn each_filter_says_what_it_is() {
    for kind in kinds() {
        for filter in kind.filters {
            let name = format!("{} of {}", filter.name, kind.name);
            assert!(!filter.help.is_empty(), "{name}");
            assert!(filter.spec.starts_with("atlas "), "{name}: {}", filter.spec);
        }
        for weight in kind.weights {
            assert!(weight.spec.starts_with("atlas "), "{} of {}", weight.name, kind.name);
        }
    }
}
