//! `packaging/`: units, Debian package, Helm chart. What they name exists, every flag is one of the
//! program, and the tools of each look at it where they are there: `systemd-analyze`, `sh`, `helm`
//! (or what `YARDMASTER_TEST_HELM` names), and `kubernetes-validate` of the Python that
//! `YARDMASTER_TEST_PYTHON` names.

mod chart;
mod debian;
mod units;

use crate::kill::process::yardmaster;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of a folder, in the order of their names.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The program of a name, if it is there.
fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|it| it.is_file());
    if found.is_none() {
        println!("left out: there is no {name} here");
    }
    found
}

/// Output of a program; it must exit with 0.
#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program");
    let [out, errors] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert!(output.status.success(), "{command:?}\n{out}\n{errors}");
    out.into_owned()
}

/// The verb of a command line (`topology apply`), and its flags without their values. A verb's
/// words come before its flags.
fn verb_and_flags(words: &[String]) -> (Vec<&str>, BTreeSet<&str>) {
    let is_verb = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let words = words.iter().map(String::as_str);
    let verb = words.clone().take_while(|word| !word.starts_with('-') && is_verb(word));
    let flags = words.filter(|word| word.starts_with("--"));
    let name = |flag| str::split(flag, '=').next().unwrap_or_default();
    (verb.collect(), flags.map(name).collect())
}

/// Flags of a command line that the program does not have.
fn unknown_flags(words: &[String]) -> Vec<String> {
    let (verb, flags) = verb_and_flags(words);
    let help = yardmaster(&[&verb[..], &["--help"]].concat());
    assert!(help.status.success(), "there is no verb {verb:?}");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let known: BTreeSet<&str> =
        help.split([' ', ',', '\n', '[', '(']).filter(|word| word.starts_with("--")).collect();
    flags.difference(&known).map(|flag| format!("{verb:?} has no flag {flag}")).collect()
}

#[test]
fn a_flag_that_the_program_does_not_have_is_seen() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
    assert_eq!(unknown_flags(&words("run --http=127.0.0.1:1 --dry-run")), Vec::<String>::new());
    let wrong = unknown_flags(&words("topology apply --dry-run --bootstrap-servers a:1"));
    assert_eq!(wrong, ["[\"topology\", \"apply\"] has no flag --bootstrap-servers"]);
}
