//! The units of systemd.

use super::{files, output, root, text, tool, unknown_flags};
use crate::kill::process::{PROGRAM, yardmaster};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Lines of every unit, so that a process can do no more than it needs.
const HARDENING: [&str; 16] = [
    "User=yardmaster",
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=",
    "MemoryDenyWriteExecute=yes",
    "PrivateDevices=yes",
    "PrivateTmp=yes",
    "ProtectHome=yes",
    "ProtectSystem=strict",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
    "RestrictNamespaces=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "Restart=on-failure",
    // Back within two seconds, however often it dies.
    "RestartSec=1",
    "StartLimitIntervalSec=0",
    "RestartPreventExitStatus=2",
];

/// The units by their file names.
fn units() -> BTreeMap<String, String> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let read = |path: PathBuf| (name(&path), fs::read_to_string(&path).unwrap());
    files("packaging/systemd").into_iter().map(read).collect()
}

/// The variables of `/etc/default/yardmaster`, and of an import.
fn variables() -> BTreeMap<String, String> {
    let import = "YARDMASTER_IMPORT=cric https://cric.example.org/q.json\nYARDMASTER_EVERY=10m\n\
                  YARDMASTER_IMPORT_FLAGS=";
    let all = format!("{}\n{import}", text("packaging/debian/default"));
    let lines = all.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The command line of a unit, as systemd makes it of the variables: `${X}` is one word, `$X` as
/// many as it has.
fn command_line(unit: &str) -> Vec<String> {
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("ExecStart");
    let variables = variables();
    let value = |name: &str| {
        let value = variables.get(name);
        value.unwrap_or_else(|| panic!("{name} is in no environment file")).clone()
    };
    let mut words = Vec::new();
    for word in line.split(' ') {
        match (word.strip_prefix("${").and_then(|it| it.strip_suffix('}')), word.strip_prefix('$'))
        {
            (Some(name), _) => words.push(value(name)),
            (None, Some(name)) => {
                words.extend(value(name).split_whitespace().map(str::to_owned));
            }
            (None, None) => words.push(word.replace("%i", "cric")),
        }
    }
    words
}

#[test]
fn units_run_verbs_with_flags_that_there_are() {
    let units = units();
    assert_eq!(units.len(), 3);
    for (name, unit) in &units {
        let words = command_line(unit);
        assert_eq!(words[0], "/usr/bin/yardmaster", "{name}");
        assert_eq!(unknown_flags(&words[1..]), Vec::<String>::new(), "{name}");
        for wanted in HARDENING {
            assert!(unit.lines().any(|line| line == wanted), "{name} lacks {wanted}");
        }
    }
    let replaced = "RestartPreventExitStatus=3";
    assert!(units["yardmaster-intake.service"].lines().any(|line| line == replaced));
}

/// The command of the unit with the files of the package, up to where it would begin.
#[test]
fn what_the_unit_starts_is_accepted_by_the_program() {
    let dir = TempDir::new().unwrap();
    let places = [
        ("/etc/yardmaster/topology.toml", root().join("topology/atlas.toml")),
        ("/etc/yardmaster/kafka.properties", root().join("packaging/debian/kafka.properties")),
        ("/var/lib/yardmaster/store", dir.path().join("store")),
    ];
    let words = command_line(&units()["yardmaster.service"]);
    let words = words[1..].iter().map(|word| {
        let place = places.iter().find(|(place, _)| place == word);
        place.map_or(word.clone(), |(_, there)| there.to_string_lossy().into_owned())
    });
    let words: Vec<String> = words.chain(["--dry-run".to_owned()]).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = yardmaster(&words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("would serve domain atlas"));
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units_and_little_exposed() {
    let Some(analyze) = tool("systemd-analyze") else { return };
    let dir = TempDir::new().unwrap();
    let mut paths = Vec::new();
    for (name, unit) in units() {
        let path = dir.path().join(name);
        fs::write(&path, unit.replace("/usr/bin/yardmaster", PROGRAM)).unwrap();
        paths.push(path);
    }
    let verify = Command::new(&analyze).arg("verify").args(&paths).output().unwrap();
    let found = String::from_utf8_lossy(&verify.stderr).into_owned();
    // It reads the machine's own units, too; what it finds there is not ours.
    let ours: Vec<&str> = found.lines().filter(|line| line.contains("yardmaster")).collect();
    assert!(ours.is_empty() && verify.status.success(), "{found}");
    let offline = Command::new(&analyze).args(["security", "--help"]).output().unwrap();
    if !String::from_utf8_lossy(&offline.stdout).contains("--offline") {
        println!("left out: this systemd-analyze does not rate files");
        return;
    }
    for path in paths {
        // Of 0 (nothing exposed) to 100.
        output(
            Command::new(&analyze)
                .args(["security", "--offline=true", "--threshold=15", "--no-pager"])
                .arg(path),
        );
    }
}
