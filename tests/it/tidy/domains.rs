//! Walls around the domains, the folders below `src/core/domain`: none names another, and what is
//! general names one only where the two are joined. A re-export counts as the file that defines the
//! item.

use super::File;
use super::circles::{Module, module_of, named};
use std::collections::{BTreeMap, BTreeSet};

/// Files of the core where a domain is joined to what is general.
const JOINS: [&str; 32] = [
    "engine.rs",
    "engine/again.rs",
    "event/job.rs",
    "event/mod.rs",
    "event/pilot.rs",
    "event/queue.rs",
    "event/site.rs",
    "event/task.rs",
    "explain/context.rs",
    "explain/job.rs",
    "explain/mod.rs",
    "explain/nearest.rs",
    "explain/why.rs",
    "govern/evaluation.rs",
    "govern/open.rs",
    "judge/alternative.rs",
    "judge/evaluation.rs",
    "judge/judging.rs",
    "judge/policies.rs",
    "judge/view.rs",
    "output/decision.rs",
    "policy/compile.rs",
    "policy/flavour.rs",
    "policy/kinds.rs",
    "policy/mod.rs",
    "policy/picked.rs",
    "request/requests.rs",
    "request/waiting.rs",
    "request/wake.rs",
    "state/model.rs",
    "state/record.rs",
    "view/mod.rs",
];

/// The domain that a module belongs to.
fn domain(module: &Module) -> Option<&str> {
    let is_in_one = module.starts_with(&["core".to_owned(), "domain".to_owned()]);
    module.get(2).filter(|_| is_in_one).map(String::as_str)
}

/// Names of domains where there should be none, and places of the list that join nothing.
pub(super) fn breaches(files: &[File], joins: &[&str]) -> Vec<String> {
    let paths: BTreeMap<Module, &File> =
        files.iter().filter_map(|file| Some((module_of(&file.path)?, file))).collect();
    let mut found = Vec::new();
    let mut unused: BTreeSet<&str> = joins.iter().copied().collect();
    for (module, others) in named(files).iter().filter(|(module, _)| module[0] == "core") {
        let file = paths[module];
        for other in others.iter().filter_map(domain) {
            match domain(module) {
                Some(own) if own == other => {}
                Some(own) => {
                    found.push(file.complaint(0, format!("domain `{own}` names `{other}`")));
                }
                None => {
                    let name = file.path.trim_start_matches("src/core/");
                    unused.remove(name);
                    if !joins.contains(&name) {
                        let what = format!("names domain `{other}`, and is not in `JOINS`");
                        found.push(file.complaint(0, what));
                    }
                }
            }
        }
    }
    found.extend(unused.iter().map(|name| format!("`JOINS`: {name} names no domain")));
    found.sort();
    found.dedup();
    found
}

/// The same, with the list.
pub(super) fn broken_walls(files: &[File]) -> Vec<String> {
    let mut found = breaches(files, &JOINS);
    if !JOINS.is_sorted() {
        found.push("`JOINS` is not sorted".to_owned());
    }
    found
}

/// What is found where there are files of two domains beside these.
fn breaches_of(files: &[(&str, &str)], joins: &[&str]) -> Vec<String> {
    let pool = ("src/core/domain/cms/state.rs", "pub struct Pool;");
    let world = ("src/core/domain/atlas/judge/world.rs", "pub struct World;");
    let file =
        |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
    let files: Vec<File> = [pool, world].iter().chain(files).map(file).collect();
    breaches(&files, joins)
}

#[test]
fn a_domain_that_names_another_is_seen() {
    let path = "src/core/domain/atlas/judge/size.rs";
    let other = breaches_of(&[(path, "use crate::domain::cms::state::Pool;")], &[]);
    assert!(other.len() == 1 && other[0].contains("domain `atlas` names `cms`"), "{other:?}");
    let spelled = breaches_of(&[(path, "fn f(a: &super::super::super::cms::state::Pool) {}")], &[]);
    assert!(spelled[0].contains("domain `atlas` names `cms`"), "{spelled:?}");
    assert_eq!(breaches_of(&[(path, "use super::world::World;")], &[]), [""; 0]);
    assert_eq!(breaches_of(&[(path, "use crate::state::State;")], &[]), [""; 0]);
    let tests = "#[cfg(test)]\nmod tests { use crate::domain::cms::state::Pool; }";
    assert_eq!(breaches_of(&[(path, tests)], &[]), [""; 0]);
}

#[test]
fn a_general_file_that_names_a_domain_is_seen() {
    let model = ("src/core/state/model.rs", "use crate::domain::cms::state::Pool;");
    let unlisted = breaches_of(&[model], &[]);
    assert!(unlisted[0].contains("model.rs:1: names domain `cms`"), "{unlisted:?}");
    assert_eq!(breaches_of(&[model], &["state/model.rs"]), [""; 0]);
    let unused = breaches_of(&[model], &["state/close.rs", "state/model.rs"]);
    assert_eq!(unused, ["`JOINS`: state/close.rs names no domain"]);
    let list = ("src/core/state/mod.rs", "pub use crate::domain::cms::state::Pool;");
    let by = ("src/core/fold/mod.rs", "use crate::state::Pool;");
    let reexported = breaches_of(&[list, by], &["state/mod.rs"]);
    assert!(reexported[0].contains("fold/mod.rs:1: names domain `cms`"), "{reexported:?}");
}
