//! Every error, at its line and column.

use crate::domain::nordugrid::xrsl::{Dialect, ErrorCode, ErrorKind, read, read_to_run};

/// Text, code, line, column.
type Wrong = (&'static str, &'static str, u64, u64);

const SYNTAX: &[Wrong] = &[
    ("", "no_attribute", 1, 1),
    (" \t", "no_attribute", 1, 3),
    ("&", "missing_parenthesis", 1, 2),
    ("&&(a=1)", "missing_parenthesis", 1, 2),
    ("&()", "no_attribute", 1, 3),
    ("&(\"\"=1)", "no_attribute", 1, 3),
    ("&(\"a+\"=1)", "no_attribute", 1, 3),
    ("<ActivityDescription>\n<A></B>", "bad_xml", 2, 4),
    ("<JobDefinition/>", "unknown_language", 1, 1),
    ("(a=1)", "no_attribute", 1, 1),
    ("&(a!1)", "no_operator", 1, 4),
    ("executable", "no_operator", 1, 11),
    ("&(a==1)", "missing_parenthesis", 1, 5),
    ("&(a> =1)", "missing_parenthesis", 1, 6),
    ("&(a=1)b=2)", "text_after_end", 1, 7),
    ("&(a=1)(b=2\n", "missing_parenthesis", 2, 1),
    ("&(a=(b c)(d=1)", "missing_parenthesis", 1, 12),
    ("a=1 b=2", "text_after_end", 1, 6),
    ("+(a=1)+", "text_after_end", 1, 7),
    ("&(a=1)\n(b= \"x\n\n)", "unterminated_string", 2, 5),
    ("&(a=^", "unterminated_string", 1, 5),
    ("&(a=^xyz)", "unterminated_string", 1, 5),
    ("&(a=1 (* x )(b=2)", "unterminated_comment", 1, 7),
    ("&(a=1)(*)", "unterminated_comment", 1, 7),
    ("&(a=1)(+(b=2))", "plus_inside", 1, 8),
    ("+(|(a=1)(+(b=2)))", "plus_inside", 1, 10),
    ("&(a=#b)", "no_value", 1, 5),
    ("&(a=b # (* *) )", "no_value", 1, 15),
    ("&(a=b#=c)", "no_value", 1, 7),
    ("&(a=$B)", "bad_variable", 1, 5),
    ("&(a=$ (B))", "bad_variable", 1, 5),
    ("&(a=$(\"B\"))", "bad_variable", 1, 5),
    ("&(a=$(B$(C)))", "missing_parenthesis", 1, 8),
    ("&(a=\"😀\")b", "text_after_end", 1, 9),
    ("&(\ta\t1)", "no_operator", 1, 6),
];

const MEANING: &[Wrong] = &[
    ("&(executable=a)(count=eight)", "not_integer", 1, 17),
    ("&(executable=a)(count=\"\")", "not_integer", 1, 17),
    ("&(executable=a)(count=\"+4\")", "not_integer", 1, 17),
    ("&(executable=a)(count=4 5)", "bad_value", 1, 17),
    ("&(executable=a)(count=-1)", "out_of_range", 1, 17),
    ("&(executable=a)(disk=-5)", "out_of_range", 1, 17),
    ("&(disk=99999999999999999999999999999999999999999999)", "out_of_range", 1, 3),
    ("&(executable=a)(ftpthreads=11)", "out_of_range", 1, 17),
    ("&(executable=a)(cputime=long)", "bad_time", 1, 17),
    ("&(executable=a)(gridtime=600)(cputime=60)", "gridtime_conflict", 1, 17),
    ("&(walltime=60)(cputime=x)\n (gridtime=600)", "bad_time", 1, 16),
    ("&(gridtime=600)(cputime=x)", "gridtime_conflict", 1, 3),
    ("&(executable=a)(|(count=4)(countpernode=2))", "count_missing", 1, 28),
    ("&(inputfiles=(\"a\" \"\"))(executables=b)", "executable_not_staged", 1, 24),
    ("&(stdout=o)(stderr=e)(join=yes)", "join_conflict", 1, 23),
    ("&(join=TRUE)(stdin=x)", "join_conflict", 1, 3),
    ("&(executable=a)\n\n  (queue>b)", "bad_operator", 3, 4),
    ("&(cluster>=a)", "bad_operator", 1, 3),
    ("&(architecture!=x86_64)", "bad_operator", 1, 3),
    ("&(opsys=\"\")", "bad_value", 1, 3),
    ("&(notify=b)", "bad_value", 1, 3),
    ("&(notify=\"x a@example.org\")", "bad_value", 1, 3),
    ("&(notify=\"b a@example.org example.org\")", "bad_value", 1, 3),
    ("&(inputfiles=a b)", "bad_value", 1, 3),
    ("&(inputfiles=(\"a\"))", "bad_value", 1, 3),
    ("&(inputfiles=(\"a\" \"u:a\" cache))", "bad_option", 1, 3),
    ("&(inputfiles=(\"a\" \"file://a\"))", "bad_source", 1, 3),
    ("&(inputfiles=(\"a\" \"\")(\"a\" \"b\"))", "duplicate_input", 1, 3),
    ("&(outputfiles=(\"a\" \"http://h/a\" x))", "bad_option", 1, 3),
    ("&(memory=\"2 GB\")", "not_integer", 1, 3),
    ("&(benchmarks=(a 1 \"\"))", "bad_time", 1, 3),
    ("&(benchmarks=(a 1 5))(gridtime=5)", "gridtime_conflict", 1, 23),
    ("&(rsl_substitution=A)", "bad_substitution", 1, 3),
    ("&(rsl_substitution=(A b c))", "bad_substitution", 1, 3),
    ("&(x=(b)#c)", "bad_join", 1, 3),
    ("&(executable=a)(arguments=1)(|(queue=q)(arguments=2))", "multiply_defined", 1, 41),
    ("&(architecture=a)(architecture=b)", "multiply_defined", 1, 19),
    ("&(stdin=x)(StdIn=y)", "multiply_defined", 1, 12),
    ("&(executable=a)(|(queue=q)(action=clean))", "action_not_allowed", 1, 28),
    ("+(&(executable=a))(&(executable=b)(count=x))", "not_integer", 1, 36),
    ("&(jobname=\"日本語\")\n(é=1)(count=x)", "not_integer", 2, 7),
];

/// Code, line and column of a text's error.
fn wrong(text: &str) -> (&'static str, u64, u64) {
    let error = read(text, Dialect::User).expect_err(text);
    (error.code.name(), error.line, error.column)
}

#[test]
fn every_error_has_its_code_line_and_column() {
    for (kind, table) in [(ErrorKind::Syntax, SYNTAX), (ErrorKind::Meaning, MEANING)] {
        for (text, code, line, column) in table {
            assert_eq!(wrong(text), (*code, *line, *column), "{text:?}");
            let error = read(text, Dialect::User).expect_err(text);
            assert_eq!(error.kind(), kind, "{text:?}");
        }
    }
}

/// The bounds have texts of their own (`hostile`), and so has what jobs need that are to run.
#[test]
fn every_code_is_reached() {
    let elsewhere =
        ["too_long", "too_deep", "too_large", "too_many_alternatives", "executable_missing"];
    for code in ErrorCode::ALL.iter().map(|code| code.name()).filter(|it| !elsewhere.contains(it)) {
        let all = || SYNTAX.iter().chain(MEANING);
        assert!(all().any(|(_, it, _, _)| *it == code), "{code}");
    }
}

/// TN-41.
#[test]
fn four_texts_that_break_the_grammar_are_reported_at_their_positions() {
    assert_eq!(wrong("&(a=1"), ("missing_parenthesis", 1, 6));
    assert_eq!(wrong("&(a \"x\")"), ("no_operator", 1, 5));
    assert_eq!(wrong("&(+(a=1)(b=2))"), ("plus_inside", 1, 3));
    assert_eq!(wrong("(* open"), ("unterminated_comment", 1, 1));
}

#[test]
fn a_message_names_the_place_what_stands_there_and_what_is_expected() {
    let message = |text: &str| read(text, Dialect::User).expect_err(text).to_string();
    assert_eq!(
        message("&(executable=a)\n(count=eight)"),
        "xRSL, line 2, column 2: found `count=eight)`: a whole number in decimal digits is \
         expected (meaning error not_integer)"
    );
    let end = message("&(a=1");
    assert!(end.starts_with("xRSL, line 1, column 6: found the end of the text: "), "{end}");
    let long = message(&format!("&(count={})", "x".repeat(100)));
    assert!(long.contains(&format!("`count={} ...`", "x".repeat(34))), "{long}");
}

#[test]
fn a_job_that_is_to_run_names_its_program() {
    let code = |text: &str| {
        let error =
            read_to_run(text, Dialect::User).map_err(|error| (error.code.name(), error.column));
        error.err()
    };
    assert_eq!(code("&(jobname=a)(count=1)"), Some(("executable_missing", 3)));
    assert_eq!(code("&(executable=a)"), None);
    let adl = "<ActivityDescription><Application/></ActivityDescription>";
    assert_eq!(code(adl), Some(("executable_missing", 1)));
    let adl = |text| read(text, Dialect::User).map_err(|error| error.code.name()).err();
    assert_eq!(adl("<ActivityDescription></ActivityDescription>"), Some("executable_missing"));
    assert!(read("&(jobname=a)", Dialect::User).is_ok());
}

#[test]
fn an_action_is_for_the_server_alone() {
    assert!(read("&(executable=a)(action=request)", Dialect::Server).is_ok());
    assert_eq!(wrong("action=request"), ("action_not_allowed", 1, 1));
}
