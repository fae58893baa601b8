//! Annotations of the boards: a line where something changes, and no other.

use super::boards;
use super::live::{is_installed, promtool};
use std::collections::BTreeSet;
use std::fmt::Write;
use tempfile::TempDir;

/// Series of a domain, by minutes: a policy gets another hash after ten; parameters of a component
/// change then, and those of another come in after fifteen; after twenty nothing is scraped for
/// five minutes, and the same comes back. In another domain all stays as it is.
const SERIES: [(&str, &str); 7] = [
    (r#"yardmaster_ready{domain="atlas",instance="a"}"#, "1x20 _x5 1x20"),
    (r#"yardmaster_policy_info{domain="atlas",instance="a",policy="p",hash="old"}"#, "1x10"),
    (
        r#"yardmaster_policy_info{domain="atlas",instance="a",policy="p",hash="new"}"#,
        "_x11 1x9 _x5 1x20",
    ),
    (r#"yardmaster_policy_info{domain="other",instance="b",policy="p",hash="old"}"#, "1x45"),
    (PARAMETERS[0], "100x10 660x10 _x5 660x20"),
    (PARAMETERS[1], "_x16 900x4 _x5 900x20"),
    (r#"yardmaster_ready{domain="other",instance="b"}"#, "1x45"),
];

/// The series of two components.
const PARAMETERS: [&str; 2] = [
    r#"yardmaster_parameters_changed_timestamp_seconds{domain="atlas",instance="a",component="c"}"#,
    r#"yardmaster_parameters_changed_timestamp_seconds{domain="atlas",instance="a",component="d"}"#,
];

/// The lines of an annotation: the minute, the labels, the value.
type Lines = &'static [(usize, &'static str, u64)];

/// By annotation.
const EXPECTED: [(&str, Lines); 2] = [
    ("Policy changes", &[(11, r#"{domain="atlas",policy="p",hash="new"}"#, 1)]),
    (
        "Parameter changes",
        &[
            (11, r#"{domain="atlas",component="c"}"#, 660),
            (16, r#"{domain="atlas",component="d"}"#, 900),
        ],
    ),
];

#[test]
fn annotations_show_a_line_where_something_changes_and_no_other() {
    if !is_installed() {
        return;
    }
    let mut file = String::from("evaluation_interval: 1m\ntests:\n  - interval: 1m\n");
    file.push_str("    input_series:\n");
    for (series, values) in SERIES {
        // Writing to a `String` does not fail.
        let _ = writeln!(file, "      - series: '{series}'\n        values: '{values}'");
    }
    file.push_str("    promql_expr_test:\n");
    let boards = boards();
    for (name, lines) in EXPECTED {
        let exprs: BTreeSet<&str> = boards.iter().map(|board| board.annotation(name)).collect();
        assert_eq!(exprs.len(), 1, "{name} is not the same on all boards: {exprs:?}");
        let expr = exprs.first().expect("one").replace("$domain", "atlas");
        for minute in 0..=45 {
            let _ = writeln!(file, "      - expr: '{expr}'\n        eval_time: {minute}m");
            file.push_str("        exp_samples:\n");
            for (_, labels, value) in lines.iter().filter(|(at, ..)| *at == minute) {
                let _ =
                    writeln!(file, "          - labels: '{labels}'\n            value: {value}");
            }
        }
    }
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("annotations.yml");
    std::fs::write(&path, file).unwrap();
    promtool(&["test", "rules", path.to_str().unwrap()]);
}
