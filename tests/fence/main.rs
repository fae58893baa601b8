//! A fence around what the hot path costs: counts on a fixed input of 100,000 records, which do not
//! depend on how fast the machine is. `counts.txt` has them; a change of more than 5 % fails, to
//! the better as well, until `UPDATE=1 cargo test --test fence` has written the new ones, for the
//! commit that makes the change to state it.
//!
//! Instructions are those of this build (the profile that tests have), counted by valgrind where
//! it is installed.

mod allocator;
mod line;
#[path = "../it/drive/yard.rs"]
#[allow(dead_code, reason = "the tests of the drive use the rest of it")]
mod yard;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

#[global_allocator]
static MEMORY: allocator::Counting = allocator::Counting;

/// Figures by name.
type Figures = BTreeMap<String, u64>;

/// How far a figure may be from the one in the table; percent.
const FREE: f64 = 5.0;
/// Set where only what is measured is to run, under valgrind: which of it.
const UNDER_VALGRIND: &str = "YARDMASTER_FENCE";

#[test]
fn the_hot_path_costs_what_the_table_has() {
    if let Ok(name) = std::env::var(UNDER_VALGRIND) {
        line::PARTS.iter().filter(|(part, _)| *part == name).for_each(|(_, run)| drop(run()));
        return;
    }
    let mut found = Figures::new();
    for (part, run) in line::PARTS {
        found.extend(run().into_iter().map(|(name, count)| (format!("{part} {name}"), count)));
        match instructions(part) {
            Some(count) => drop(found.insert(format!("{part} instructions"), count)),
            None => eprintln!("instructions of {part} are not counted: there is no valgrind"),
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fence/counts.txt");
    if std::env::var_os("UPDATE").is_some() {
        let mut text = String::new();
        found.iter().for_each(|(name, count)| writeln!(text, "{count:>12} {name}").unwrap());
        std::fs::write(path, text).unwrap();
        return;
    }
    let table = read(&std::fs::read_to_string(path).unwrap());
    let mut beyond = Vec::new();
    for (name, was) in &table {
        let Some(is) = found.get(name) else { continue };
        let change = (*is as f64 / *was as f64 - 1.0) * 100.0;
        println!("{name:<32} {was:>12} {is:>12} {change:>+7.2} %");
        if change.abs() > FREE {
            beyond.push(format!("{name}: {was} in the table, {is} now ({change:+.1} %)"));
        }
    }
    let new = found.keys().filter(|name| !table.contains_key(*name));
    beyond.extend(new.map(|name| format!("{name}: not in the table")));
    assert!(beyond.is_empty(), "UPDATE=1 writes the table, state why:\n{}", beyond.join("\n"));
}

fn read(text: &str) -> Figures {
    let line = |line: &str| {
        let (count, name) = line.trim_start().split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    text.lines().map(line).collect()
}

/// Instructions in functions named `measured` while a part runs; `None` without valgrind.
fn instructions(part: &str) -> Option<u64> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(["--collect-atstart=no", "--toggle-collect=*line*measured*"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "the_hot_path_costs_what_the_table_has", "--test-threads=1"])
        .env(UNDER_VALGRIND, part)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{text}");
    let counted = text.lines().find_map(|line| line.split("Collected :").nth(1));
    Some(counted.expect("valgrind counts").trim().parse().unwrap())
}
