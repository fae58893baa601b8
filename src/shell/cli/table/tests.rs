use super::*;

/// Columns as those of commands are, and two rows.
fn columns() -> Vec<Column> {
    vec![
        Column::text("published", 4),
        Column::text("subject", 0),
        Column::text("state", 1),
        Column::figure("jobs", 3),
        Column::text("why", 2),
        Column::text("id", 5).unusual(),
    ]
}

fn rows() -> Vec<Vec<String>> {
    let row = |cells: [&str; 6]| cells.map(str::to_owned).to_vec();
    vec![
        row([
            "2025-10-14T01:11:00Z",
            "WEST_T2A/Validation",
            "done",
            "30",
            "crowded_since 2025-10-14T00:31:00Z",
            "0a1b",
        ]),
        row(["2025-10-14T01:21:00Z", "日本の長い名前の仕事", "open", "1234567", "", "ffff"]),
    ]
}

/// Text that is printed at a width, and the columns that are left out.
fn printed(columns: &[&str], width: Option<usize>) -> (String, Vec<String>) {
    let asked = columns.iter().map(|name| (*name).to_owned()).collect();
    let args = TableArgs { columns: asked, json: false };
    let mut out = Vec::new();
    let mut printer = args.sheet(self::columns(), width).printer(&mut out);
    rows().into_iter().for_each(|row| printer.push(row).unwrap());
    let left_out = printer.end().unwrap();
    (String::from_utf8(out).unwrap(), left_out)
}

#[test]
fn a_wide_terminal_shows_the_usual_columns_in_full() {
    let wide = "\
published             subject               state     jobs  why
2025-10-14T01:11:00Z  WEST_T2A/Validation   done        30  \
                crowded_since 2025-10-14T00:31:00Z
2025-10-14T01:21:00Z  日本の長い名前の仕事  open   1234567  -
";
    assert_eq!(printed(&[], Some(200)), (wide.to_owned(), vec![]));
    assert_eq!(printed(&[], None), (wide.to_owned(), vec![]), "no terminal: nothing is cut");
}

#[test]
fn at_80_columns_texts_that_matter_less_are_shortened() {
    let expected = "\
published     subject               state     jobs  why
2025-10-14T…  WEST_T2A/Validation   done        30  crowded_since 2025-10-14T00…
2025-10-14T…  日本の長い名前の仕事  open   1234567  -
";
    assert_eq!(printed(&[], Some(80)), (expected.to_owned(), vec![]));
    assert!(expected.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80));
}

#[test]
fn at_60_columns_the_first_of_them_gets_what_room_is_left() {
    let expected = "\
published     subject           state     jobs  why
2025-10-14T…  WEST_T2A/Valida…  done        30  crowded_sin…
2025-10-14T…  日本の長い名前…   open   1234567  -
";
    assert_eq!(printed(&[], Some(60)), (expected.to_owned(), vec![]));
}

#[test]
fn at_42_columns_those_that_matter_least_are_left_out() {
    let expected = "\
subject       state     jobs  why
WEST_T2A/Va…  done        30  crowded_sin…
日本の長い…   open   1234567  -
";
    let (text, left_out) = printed(&[], Some(42));
    assert_eq!(left_out, ["published"]);
    assert_eq!(text, expected);
    assert_eq!(printed(&[], Some(41)).1, ["published", "jobs"], "in the order of the table");
    let (text, left_out) = printed(&[], Some(8));
    assert_eq!(left_out, ["published", "state", "jobs", "why"]);
    assert!(text.starts_with("subject\nWEST_T2A/Va"), "one column always stays: {text}");
}

#[test]
fn columns_that_are_asked_for_stay_in_their_order() {
    let (text, left_out) = printed(&["id", "why", "subject"], Some(30));
    let expected = "\
id    why           subject
0a1b  crowded_sin…  WEST_T2A/Va…
ffff  -             日本の長い…
";
    assert_eq!((text.as_str(), left_out), (expected, vec![]));
    let (text, _) = printed(&["all"], Some(30));
    assert!(text.lines().next().unwrap().ends_with("  id"), "{text}");
    assert!(text.contains("crowded_since 2025-10-14T00:31:00Z"), "in full: {text}");
}

#[test]
fn an_unknown_column_is_refused_with_those_there_are() {
    let args = TableArgs { columns: vec!["id".into(), "idd".into()], json: false };
    let columns = columns();
    let error = args.check(columns.iter().map(|it| it.name.as_str())).unwrap_err().to_string();
    assert_eq!(
        error,
        "--columns idd: there is no such column; give some of published, subject, state, jobs, \
         why, id, or all"
    );
}

#[test]
fn names_cannot_command_the_terminal() {
    let args = TableArgs::default();
    let mut out = Vec::new();
    let mut printer = args.sheet(vec![Column::text("name", 0)], None).printer(&mut out);
    for name in ["\u{1b}[2Jgone\n", "\u{202e}drow", ""] {
        printer.push(vec![name.to_owned()]).unwrap();
    }
    printer.end().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "name\n\\u{1b}[2Jgone\\n\n\\u{202e}drow\n-\n");
}

#[test]
fn rows_after_the_first_thousand_are_printed_as_they_come() {
    let mut out = Vec::new();
    let sheet = TableArgs::default().sheet(vec![Column::text("n", 0), Column::text("m", 1)], None);
    let mut printer = sheet.printer(&mut out);
    for number in 0..SAMPLE {
        printer.push(vec![number.to_string(), "x".into()]).unwrap();
    }
    assert!(printer.layout.is_some());
    printer.push(vec!["1234567".into(), "x".into()]).unwrap();
    printer.end().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), SAMPLE + 2);
    assert!(text.ends_with("\n1234567  x\n"), "what is longer is not cut");
}

#[test]
fn a_table_without_rows_has_no_head() {
    let mut out = Vec::new();
    let printer = TableArgs::default().sheet(columns(), None).printer(&mut out);
    assert_eq!(printer.end().unwrap(), Vec::<String>::new());
    assert!(out.is_empty());
}

#[test]
fn a_moment_is_whole_or_left_out() {
    let columns = || vec![Column::whole("when", 1), Column::text("subject", 0)];
    let row = || vec!["2025-10-14T01:11:00Z".to_owned(), "WEST_T2A/Validation".to_owned()];
    let shown = |width| {
        let mut out = Vec::new();
        let mut printer = TableArgs::default().sheet(columns(), Some(width)).printer(&mut out);
        printer.push(row()).unwrap();
        printer.end().unwrap();
        String::from_utf8(out).unwrap().lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(shown(34), "2025-10-14T01:11:00Z  WEST_T2A/Va…");
    assert_eq!(shown(33), "WEST_T2A/Validation");
}
