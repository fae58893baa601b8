//! A program that is built on the library and brings a kind of policy of its own.

use crate::verbs::{printed, yardmaster};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use yardmaster::wire::topology::ATLAS;

/// A program in `examples`, built as the program under test was.
pub fn program(name: &str) -> PathBuf {
    let ours = Path::new(env!("CARGO_BIN_EXE_yardmaster"));
    let profile = ours.parent().unwrap();
    let program = profile.join("examples").join(name);
    // What runs the tests has built it with them, and may build something else now.
    if std::env::var_os("NEXTEST").is_some() && program.is_file() {
        return program;
    }
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked", "--workspace", "--example", name]);
    build.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    build.arg("--target-dir").arg(profile.parent().unwrap());
    if cfg!(feature = "tls") {
        build.args(["--features", "tls"]);
    }
    if profile.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success(), "{build:?}");
    program
}

/// The topology of ATLAS, but production jobs go by the kind of `examples/own-policy`.
fn topology() -> String {
    let begin = ATLAS.find("[[policy]]").unwrap();
    let end = begin + ATLAS[begin + 1..].find("[[policy]]").unwrap();
    let own = "[[policy]]\nname = \"production-job\"\nkind = \"shortest-queue\"\n\
               filters = [\"online\", { name = \"waiting\", most = 40 }]\n\
               weights = [\"shortness\"]\n\n";
    format!("{}{own}{}", &ATLAS[..begin], &ATLAS[end + 1..])
}

#[test]
fn a_program_brings_a_kind_of_policy_of_its_own() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("own.toml");
    std::fs::write(&file, topology()).unwrap();
    let (file, log) = (file.to_str().unwrap(), dir.path().join("yard"));
    let log = log.to_str().unwrap();
    let program = program("own-policy");
    let own = |args: &[&str]| {
        let mut command = Command::new(&program);
        printed(&command.args(args).env_remove("YARDMASTER_LOG").output().unwrap())
    };

    // The program as it is distributed knows no such kind, and says which it knows.
    let (code, _, errors) = printed(&yardmaster(&["topology", "check", "--topology", file]));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("shortest-queue") && errors.contains("atlas-production-job"));
    let (code, shown, errors) = own(&["topology", "describe", "--topology", file]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(shown.contains("at most 40 jobs wait there"), "{shown}");

    // It decides on a whole grid, its decisions are made again, and its reasons are explained.
    let grid = ["demo", "--hours", "3", "--scale", "0.01", "--dir", log, "--topology", file];
    let (code, shown, errors) = own(&grid);
    assert_eq!(code, Some(0), "{shown}\n{errors}");
    let (code, shown, errors) = own(&["replay", "--verify", "--dir", log, "--topology", file]);
    assert_eq!(code, Some(0), "{shown}\n{errors}");
    let tail = [
        "tail",
        "--json",
        "--no-follow",
        "--from",
        "1000000000000",
        "--dir",
        log,
        "--topology",
        file,
    ];
    let (code, shown, errors) = own(&tail);
    assert_eq!(code, Some(0), "{errors}");
    let decisions = shown.lines().filter(|line| line.contains("\"production-job\""));
    let chosen = decisions.filter(|line| line.contains("waiting_jobs")).count();
    assert!(chosen > 5, "{chosen} assignments by the kind in\n{shown}");
    assert!(shown.contains("too_many_wait"), "no queue was ever full");
}
