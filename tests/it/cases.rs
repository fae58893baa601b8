//! The rules as people of the field review them: `tests/cases/*.txt`, one file a rule. Each case
//! states a few facts and a request, and below them the text that `explain --fates` prints for
//! the answer. `UPDATE=1 cargo test --test it cases` rewrites what is expected; a review reads it.

mod compare;
mod config;
mod grid;
mod read;
mod run;
mod tests;
mod value;

use compare::diff;
use grid::Base;
use read::{Case, CaseFile};
use run::{Outcome, run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use yardmaster::core::policy::kinds;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

static BASE: LazyLock<Base> = LazyLock::new(|| {
    let name = "base.facts";
    let text = std::fs::read_to_string(folder().join(name)).expect("the base values");
    Base::read(name, &text).unwrap_or_else(|error| panic!("{error}"))
});

/// A file of cases, and what each of them comes to.
struct Judged {
    file: CaseFile,
    found: Vec<Result<Outcome, String>>,
}

/// Every file of cases, in the order of their names.
static ALL: LazyLock<Vec<Judged>> = LazyLock::new(|| {
    let entries = std::fs::read_dir(folder()).expect("the cases").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "txt"));
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        let text = std::fs::read_to_string(path).expect("a text");
        let file = CaseFile::read(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        let lines = |case: &Case| [file.common.clone(), case.lines.clone()].concat();
        let found = file.cases.iter().map(|case| run(&BASE, &lines(case))).collect();
        Judged { file, found }
    };
    paths.iter().map(read).collect()
});

fn is_update() -> bool {
    std::env::var("UPDATE").is_ok_and(|it| it == "1")
}

/// Differences between the answer that a case expects and the one that was found.
fn differences(case: &Case, found: &Outcome) -> String {
    let none = (String::new(), String::new());
    let count = case.expected.len().max(found.texts.len());
    let pair =
        |at: usize| (case.expected.get(at).unwrap_or(&none), found.texts.get(at).unwrap_or(&none));
    let differ = (0..count).map(pair).filter(|(expected, found)| expected != found);
    let shown = differ.map(|((was, expected), (rules, text))| {
        let title = &case.lines[0].text;
        let head = format!(
            "{}: {title}; rules {}\n",
            case.place,
            if rules.is_empty() { was } else { rules }
        );
        head + &diff(expected, text)
    });
    shown.collect()
}

#[test]
fn every_case_comes_to_what_is_expected_and_every_reason_is_given() {
    compare();
    find_reasons();
}

fn compare() {
    let mut wrong = String::new();
    for Judged { file, found } in ALL.iter() {
        let mut texts = Vec::new();
        for (case, outcome) in file.cases.iter().zip(found) {
            match outcome {
                Ok(outcome) => {
                    wrong += &differences(case, outcome);
                    texts.push(outcome.texts.clone());
                }
                Err(error) => panic!("tests/cases/{error}"),
            }
        }
        if is_update() {
            std::fs::write(folder().join(&file.name), file.write(&texts)).expect("written");
        }
    }
    assert!(
        wrong.is_empty() || is_update(),
        "what is expected (-) and what is found (+) in tests/cases differ:\n{wrong}\
         if it is meant: UPDATE=1 cargo test --test it cases"
    );
}

/// Reasons that a filter declares and that nothing leads to.
const NOT_REACHED: [[&str; 3]; 4] = [
    // These two filters share the reasons of the production one, and each gives two of them.
    ["atlas-analysis-job", "walltime", "scout_walltime"],
    ["atlas-analysis-job", "walltime", "min_walltime"],
    ["atlas-analysis-job", "walltime_day", "shortwalltime"],
    ["atlas-analysis-job", "walltime_day", "longwalltime"],
];

/// Kinds whose reasons have tests beside their filters: cases here are grids of PanDA queues.
const TESTED_BESIDE: [&str; 2] = ["cms", "nordugrid"];

/// Every reason that a filter of a kind declares is given in some case.
fn find_reasons() {
    let outcomes = ALL.iter().flat_map(|judged| &judged.found).flatten();
    let given: BTreeSet<[&str; 3]> = outcomes
        .flat_map(|outcome| &outcome.reasons)
        .map(|reason| reason.each_ref().map(String::as_str))
        .collect();
    let mut missing = Vec::new();
    for kind in kinds().iter().filter(|kind| !TESTED_BESIDE.contains(&kind.name)) {
        for filter in kind.filters() {
            for reason in filter.reasons {
                let wanted = [kind.name, filter.name, reason.name];
                let as_hold = [kind.name, "held", reason.name];
                let is_given = given.contains(&wanted) || given.contains(&as_hold);
                if !is_given && !NOT_REACHED.contains(&wanted) {
                    missing.push(wanted.join(" "));
                }
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "no case in tests/cases leads to these");
}
