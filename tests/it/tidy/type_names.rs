//! A public type's name stands for one type within a crate, so that a search for it ends at one
//! place. Private types of one file are left alone.

use super::{File, code_of, is_test_file, without_tests};
use std::collections::BTreeMap;

/// The words that declare a type.
const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// The name of the public type that a line declares at the top level of a file.
fn declared(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')')?.1,
        None => rest,
    };
    let (kind, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    KINDS.contains(&kind).then_some(name)
}

/// Public types whose name an earlier one of their crate has: both places.
pub(super) fn names_twice(files: &[File]) -> Vec<String> {
    let mut places: BTreeMap<(&str, String), String> = BTreeMap::new();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.path.contains("/tests/")) {
        let Some(floor) = file.floor().filter(|_| !is_test_file(&file.path, files)) else {
            continue;
        };
        for (at, line) in without_tests(&code_of(&file.text)).lines().enumerate() {
            let Some(name) = declared(line) else { continue };
            let place = format!("{}:{}", file.path, at + 1);
            if let Some(first) = places.get(&(floor, name.to_owned())) {
                let remedy = "name one by what it is, or make it private to its file";
                found.push(
                    file.complaint(at, format!("`{name}` is a type at {first} too; {remedy}")),
                );
            } else {
                places.insert((floor, name.to_owned()), place);
            }
        }
    }
    found
}

#[test]
fn a_type_name_that_occurs_twice_is_seen() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let found = |first: &str, second: &str, path: &str| {
        names_twice(&[file("src/core/a.rs", first), file(path, second)])
    };
    let twice = found("\npub struct Step;", "pub(super) enum Step<'a> {}", "src/core/b/mod.rs");
    let both = ["src/core/b/mod.rs:1: `Step`", "src/core/a.rs:2 too"];
    assert!(twice.len() == 1 && both.iter().all(|part| twice[0].contains(part)), "{twice:?}");
    let inside = found("pub(in crate::a) type Step = u8;", "pub trait Step {}", "src/core/b.rs");
    assert_eq!(inside.len(), 1, "{inside:?}");
    let step = "pub struct Step;";
    for (second, path) in [
        ("struct Step;", "src/core/b.rs"),
        ("pub struct Steps;", "src/core/b.rs"),
        ("pub fn step() -> Step {}", "src/core/b.rs"),
        ("mod b {\n    pub struct Step;\n}", "src/core/b.rs"),
        ("#[cfg(test)]\nmod tests {\n}\n#[cfg(test)]\npub struct Step;", "src/core/b.rs"),
        ("// A comment:\n/*\npub struct Step;\n*/", "src/core/b.rs"),
        (step, "src/core/b/tests/c.rs"),
        (step, "src/wire/b.rs"),
    ] {
        assert_eq!(found(step, second, path), [""; 0], "{second} in {path}");
    }
}
