//! The reader of cases: what cannot be read is named with its place, and what differs is seen.

use super::grid::Base;
use super::read::CaseFile;
use super::run::run;
use super::{BASE, differences};

/// The error of the only case of a text.
#[track_caller]
fn error(text: &str) -> String {
    let file = CaseFile::read("x.txt", text).expect("a file of cases");
    run(&BASE, &file.cases[0].lines).expect_err("the case cannot be read")
}

#[track_caller]
fn assert_error(line: &str, parts: &[&str]) {
    let found = error(&format!("# A rule\n\ncase a line\nqueue A\n{line}\n"));
    for part in parts.iter().chain(&["x.txt:5: "]) {
        assert!(found.contains(part), "{part:?} is not in {found:?}");
    }
}

#[test]
fn a_line_that_cannot_be_read_is_named_with_its_place() {
    assert_error("queue B colour=red", &["Queue has no field \"colour\"", "max_rss_mb"]);
    assert_error("queue B status=onlin", &["status=onlin", "online, brokeroff"]);
    assert_error("queue B max_rss_mb=much", &["max_rss_mb=much", "whole number"]);
    assert_error("queue B ucore=yes", &["true or false"]);
    assert_error("queue B changed_at=-3x", &["span of time"]);
    assert_error("queue B C", &["\"C\"", "queue takes name"]);
    assert_error("queue B like=C", &["there is no C above"]);
    assert_error("request 7 options.colour=red", &["TaskOptions has no field \"colour\""]);
    assert_error("request 7 replicas={endpoint=A size=3}", &["ReplicaSummary has no field"]);
    assert_error("request 7 nucleus.name=CERN", &["no fields in it"]);
    assert_error("jobs A", &["how many"]);
    assert_error("jobs A running=some", &["running=some"]);
    assert_error("jobs A running=1 colour=red", &["JobState has no field"]);
    assert_error("quue A", &["\"quue\" is no kind of line", "quota"]);
    assert_error("cycle soon", &["span of time"]);
    assert_error("set production-job colour=red", &["colour"]);
    assert_error("set production-job filter moonphase x=1", &["nothing of that name"]);
    let open = CaseFile::read("x.txt", "case a\nqueue \"A\n").expect_err("a quote is open");
    assert!(open.contains("x.txt:2: a quote"), "{open}");
    assert!(Base::read("y", "queue A\n").is_err());
}

const CASE: &str = "\
# A rule

case a queue that is offline
queue  AGLT2  status=offline
queue  BNL
request 7  jobs=1
--- documented
    assigned
";

#[test]
fn what_differs_is_shown_and_rewritten() {
    let file = CaseFile::read("x.txt", CASE).expect("a file of cases");
    let found = run(&BASE, &file.cases[0].lines).expect("a case");
    let shown = differences(&file.cases[0], &found);
    assert!(shown.starts_with("x.txt:3: case a queue that is offline"), "{shown}");
    assert!(shown.contains("  - assigned\n"), "{shown}");
    assert!(shown.contains("  +   AGLT2: status: the queue is offline, not online\n"), "{shown}");
    let text = file.write(std::slice::from_ref(&found.texts));
    assert!(text.starts_with(&CASE[..CASE.find("---").expect("a mark")]), "{text}");
    let again = CaseFile::read("x.txt", &text).expect("a file of cases");
    assert_eq!(differences(&again.cases[0], &found), "");
    assert_eq!(again.write(&[found.texts]), text);
}

/// Rules that answer alike are shown once, others each for themselves.
#[test]
fn each_rules_answer_is_shown() {
    let texts = |status: &str| {
        let lines = "set production-job weights=none\nrules documented panda";
        let text = CASE.replace("offline\nqueue", &format!("{status}\n{lines}\nqueue"));
        let file = CaseFile::read("x.txt", &text).expect("a file of cases");
        run(&BASE, &file.cases[0].lines).expect("a case").texts
    };
    assert_eq!(texts("offline")[0].0, "documented panda");
    let standby = texts("standby");
    assert_eq!([&*standby[0].0, &*standby[1].0], ["documented", "panda"]);
    assert!(standby[0].1.contains("AGLT2: status") && !standby[1].1.contains("AGLT2: status"));
}
