//! No two files import each other, directly or by way of others. A re-export counts as the file
//! that defines the item.

use super::{File, code_of, is_test_file, uses, without_tests};
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Module = Vec<String>;

/// The files of a source tree by their modules, and what each names.
struct Graph {
    files: BTreeMap<Module, String>,
    /// By module and name: the module that defines what it re-exports.
    exported: BTreeMap<(Module, String), Module>,
}

impl Graph {
    /// The file of the longest beginning of a path, and what is left of the path.
    fn resolve(&self, path: &[String]) -> Option<(Module, Module)> {
        let length = (1..=path.len()).rev().find(|end| self.files.contains_key(&path[..*end]))?;
        Some((path[..length].to_vec(), path[length..].to_vec()))
    }

    /// The file that defines what a path names; re-exports are followed.
    fn target(&self, path: &[String]) -> Option<Module> {
        let (mut module, mut rest) = self.resolve(path)?;
        while let Some(name) = rest.first() {
            let Some(other) = self.exported.get(&(module.clone(), name.clone())) else { break };
            module = other.clone();
            rest.truncate(1);
        }
        Some(module)
    }

    /// The modules that a file names, in `use` trees or spelled out.
    fn named(&self, module: &Module, code: &str) -> BTreeSet<Module> {
        let targets = paths_in(module, code).filter_map(|path| self.target(&path));
        targets.filter(|target| target != module).collect()
    }
}

/// The paths in a file's code that lie in its own crate, as seen from `src`.
pub(super) fn paths(path: &str, code: &str) -> Vec<Vec<String>> {
    module_of(path).map_or_else(Vec::new, |module| paths_in(&module, code).collect())
}

fn paths_in(module: &Module, code: &str) -> impl Iterator<Item = Module> {
    let used = uses(code).into_iter().map(|(_, path)| path);
    used.chain(spelled(code)).filter_map(|path| absolute(module, &path))
}

/// A file's module: `src/core/a/mod.rs` is `core::a`, `src/core/lib.rs` is `core`.
pub(super) fn module_of(path: &str) -> Option<Module> {
    let path = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").or_else(|| path.strip_suffix("/lib")).unwrap_or(path);
    Some(path.split('/').map(str::to_owned).collect())
}

/// A path as seen from `src`; `None`: it is of a foreign crate, or names something local.
fn absolute(module: &Module, path: &str) -> Option<Module> {
    let path = path.split(" as ").next().unwrap_or(path);
    let mut parts = path.split("::").map(str::trim).filter(|part| !part.is_empty()).peekable();
    let mut base = match parts.next()? {
        "crate" | "$crate" => module.iter().take(1).cloned().collect(),
        "self" => module.clone(),
        "super" => module[..module.len().saturating_sub(1)].to_vec(),
        _ => return None,
    };
    while parts.next_if_eq(&"super").is_some() {
        base.pop();
    }
    base.extend(parts.map(str::to_owned));
    Some(base)
}

/// Paths in code that begin with `crate` or `super`, outside of `use`.
fn spelled(code: &str) -> impl Iterator<Item = String> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$');
    let code = outside_of_use(code);
    let words = code.split(move |c: char| !is_path(c));
    let words = words.filter(|word| {
        ["crate::", "$crate::", "super::"].iter().any(|start| word.starts_with(start))
    });
    words.map(|word| word.trim_end_matches(':').to_owned()).collect::<Vec<_>>().into_iter()
}

/// The code with its `use` trees blanked.
fn outside_of_use(code: &str) -> String {
    let mut left = code.to_owned();
    let is_own_word = |at: usize| code[..at].chars().next_back().is_none_or(char::is_whitespace);
    for (start, _) in code.match_indices("use ").filter(|(at, _)| is_own_word(*at)) {
        let Some(length) = code[start..].find(';') else { continue };
        left.replace_range(start..start + length, &" ".repeat(length));
    }
    left
}

/// Re-exports of each module, and where they come from.
fn exports(module: &Module, code: &str) -> Vec<(String, Module)> {
    let mut found = Vec::new();
    let public = |line: &str| line.trim_start().starts_with("pub");
    for (line, path) in uses(code) {
        if !code.lines().nth(line).is_some_and(public) {
            continue;
        }
        let (path, renamed) = match path.split_once(" as ") {
            Some((path, name)) => (path.to_owned(), Some(name.trim().to_owned())),
            None => (path, None),
        };
        let path = match absolute(module, &path) {
            Some(path) => path,
            // `pub use child::Name;`
            None => absolute(module, &format!("self::{path}")).unwrap_or_default(),
        };
        if let Some(name) = renamed.or_else(|| path.last().cloned()) {
            found.push((name, path));
        }
    }
    found
}

/// By module: the modules whose items its file names. Files for tests are left alone.
pub(super) fn named(files: &[File]) -> BTreeMap<Module, BTreeSet<Module>> {
    let code = |file: &File| without_tests(&code_of(&file.text));
    let sources = files.iter().filter(|file| !is_test_file(&file.path, files));
    let sources: BTreeMap<Module, String> =
        sources.filter_map(|file| Some((module_of(&file.path)?, code(file)))).collect();
    let mut graph = Graph { files: sources.clone(), exported: BTreeMap::new() };
    for (module, code) in &sources {
        for (name, path) in exports(module, code) {
            if let Some((target, _)) = graph.resolve(&path).filter(|(target, _)| target != module) {
                graph.exported.insert((module.clone(), name), target);
            }
        }
    }
    let named = |(module, code): (Module, String)| (module.clone(), graph.named(&module, &code));
    sources.into_iter().map(named).collect()
}

/// Every circle there is: the files of each.
pub(super) fn circles(files: &[File]) -> Vec<Vec<String>> {
    let named = named(files);
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        named.keys().map(|module| (module, reach(module, &named))).collect();
    let mut found = BTreeSet::new();
    for (module, all) in &reached {
        if all.contains(*module) {
            let is_of = |other: &&Module| reached[other].contains(*module);
            let circle = all.iter().filter(is_of).map(|module| module.join("::"));
            found.insert(circle.collect::<Vec<String>>());
        }
    }
    found.into_iter().collect()
}

/// All that a module names, directly or by way of others.
fn reach(module: &Module, named: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let mut left = vec![module.clone()];
    while let Some(next) = left.pop() {
        for other in named.get(&next).into_iter().flatten() {
            if found.insert(other.clone()) {
                left.push(other.clone());
            }
        }
    }
    found
}

fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<File> = files
        .iter()
        .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
        .collect();
    circles(&files).into_iter().map(|circle| circle.join(" ")).collect()
}

#[test]
fn files_that_import_each_other_are_seen() {
    let one = ("src/core/a.rs", "use crate::b::B; pub struct A;");
    let back = ("src/core/b.rs", "fn f() -> crate::a::A { todo() }");
    assert_eq!(circles_of(&[one, back]), ["core::a core::b"]);
    assert_eq!(circles_of(&[one, ("src/core/b.rs", "pub struct B;")]), [""; 0]);
    let by = ("src/core/b.rs", "use super::c::C;");
    let end = ("src/core/c.rs", "use crate::{d::D, a::A};");
    assert_eq!(circles_of(&[one, by, end]), ["core::a core::b core::c"]);
}

#[test]
fn a_reexport_counts_as_the_file_that_defines_the_item() {
    let parent = ("src/core/p/mod.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;");
    let one = ("src/core/p/a.rs", "use super::B;");
    assert_eq!(circles_of(&[parent, one, ("src/core/p/b.rs", "")]), [""; 0]);
    let other = ("src/core/p/b.rs", "use crate::p::A;");
    assert_eq!(circles_of(&[parent, one, other]), ["core::p::a core::p::b"]);
    let tests = ("src/core/p/b.rs", "#[cfg(test)]\nmod tests { use crate::p::A; }");
    assert_eq!(circles_of(&[parent, one, tests]), [""; 0]);
    let parent = ("src/core/p/mod.rs", "pub use crate::q::A;\nmod b;\npub use b::{B, C};");
    let tree = ("src/core/q.rs", "use crate::p::{B, C}; pub struct A;");
    assert_eq!(circles_of(&[parent, tree, ("src/core/p/b.rs", "")]), [""; 0]);
}
