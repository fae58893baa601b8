//! Texts as ARC's own parser reads them (versions 6.17 and 7.2 alike), or as they are refused:
//! `arc.txt`. A block there is a name and what becomes of ARC's reading, the text, then the jobs
//! with their alternatives or the code of the error, the notes, and the same job in ADL as ARC
//! writes it. `same`: read as ARC does; `warn`: the same with a note; `refuse`: ARC shrugs, an
//! error is better; `own`: ARC slips.

use super::{Alternative, Description};
use crate::domain::nordugrid::xrsl::{Dialect, NameCondition, SoftwareCondition, read_to_run};
use std::fmt::Write;

const TABLE: &str = include_str!("arc.txt");

/// A block of the table.
#[derive(Default)]
pub struct Row {
    pub name: &'static str,
    pub text: String,
    adl: String,
    /// What it comes to.
    expected: Vec<&'static str>,
}

pub fn rows() -> Vec<Row> {
    let unescaped = |text: &str| text.replace("\\n", "\n");
    let row = |block: &'static str| {
        let mut lines = block.lines();
        let name = lines.next().expect("a block has a name");
        let mut row = Row { name, ..Row::default() };
        for line in lines {
            match line.split_once(' ') {
                Some(("text", text)) => row.text = unescaped(text),
                Some(("adl", text)) => row.adl = unescaped(text),
                _ => row.expected.push(line),
            }
        }
        row
    };
    TABLE.split("\n\n").filter(|block| !block.trim().is_empty()).map(row).collect()
}

/// What a text comes to, in the lines of the table.
fn reading(text: &str) -> Vec<String> {
    let description = match read_to_run(text, Dialect::User) {
        Ok(description) => description,
        Err(error) => return vec![format!("refused {}", error.code.name())],
    };
    let mut lines = Vec::new();
    for (job, alternatives) in description.jobs.iter().enumerate() {
        for (at, alternative) in alternatives.iter().enumerate() {
            lines.push(format!("job {job}.{at} {}", words(alternative, at == 0)));
        }
    }
    lines.extend(notes(&description));
    lines
}

fn words(it: &Alternative, has_uploads: bool) -> String {
    let mut words = vec![format!("count={}", it.count)];
    let mut number = |name: &str, figure: Option<u64>| {
        words.extend(figure.map(|figure| format!("{name}={figure}")));
    };
    number("cpu", it.cpu_time_s);
    number("wall", it.wall_time_s);
    number("grid", it.grid_time_s);
    number("memory", it.memory_mb);
    number("disk", Some(it.disk_bytes).filter(|disk| *disk > 0));
    let name = |it: &NameCondition| format!("queue{}{}", it.relation.name(), it.name);
    words.extend(it.queue.iter().map(name));
    for (name, conditions) in [
        ("runtimeenvironment", &it.runtime_environment),
        ("opsys", &it.operating_system),
        ("middleware", &it.middleware),
    ] {
        words.extend(conditions.iter().map(|it: &SoftwareCondition| {
            let dash = if it.version.is_empty() { "" } else { "-" };
            format!("{name}{}{}{dash}{}", it.relation.name(), it.name, it.version)
        }));
    }
    words.extend(it.node_access.iter().flatten().map(|it| format!("access={}", it.name())));
    words.extend(it.count_per_node.map(|count| format!("pernode={count}")));
    words.extend(it.priority.map(|priority| format!("priority={priority}")));
    for file in &it.input_files {
        let kind = if file.source.is_empty() { "upload" } else { "url" };
        let executable = if file.executable { ":executable" } else { "" };
        words.push(format!("input={}:{kind}:{}{executable}", file.name, file.cache.name()));
    }
    let listed = it.input_files.iter().filter(|file| file.source.is_empty());
    let mut uploads: Vec<&String> =
        listed.map(|file| &file.name).chain(&it.implied_uploads).collect();
    uploads.sort();
    words.extend(uploads.iter().filter(|_| has_uploads).map(|name| format!("upload={name}")));
    words.join(" ").replace("Scientific Linux", "Scientific_Linux")
}

fn notes(description: &Description) -> Option<String> {
    let mut line = String::new();
    for it in description.jobs.iter().flatten() {
        for name in &it.unknown_attributes {
            write!(line, " unknown_attribute({name})").expect("a text takes all");
        }
        for note in &it.notes {
            write!(line, " {}({})", note.code.name(), note.attribute).expect("a text takes all");
        }
    }
    Some(format!("note{line}")).filter(|_| !line.is_empty())
}

#[test]
fn every_text_is_read_as_arc_reads_it_or_refused() {
    let rows = rows();
    assert_eq!(rows.len(), 108);
    let wrong: Vec<String> = rows
        .iter()
        .map(|row| (row, reading(&row.text)))
        .filter(|(row, reading)| row.expected != *reading)
        .map(|(row, reading)| {
            let Row { name, text, expected, .. } = row;
            format!("{name}\n{text}\n{expected:#?}\n{reading:#?}\n")
        })
        .collect();
    assert!(wrong.is_empty(), "{}\n{} differ", wrong.concat(), wrong.len());
}

/// The ADL is what ARC made of the text: there the program and its standard input stand among the
/// input files.
#[test]
fn a_job_in_adl_is_read_as_the_same_job_in_xrsl() {
    let listed = [
        "input=run.sh:upload:yes:executable ",
        "input=run.sh:upload:yes ",
        "input=data.txt:upload:yes ",
    ];
    let mut compared = 0;
    for row in rows().iter().filter(|row| !row.adl.is_empty()) {
        let without =
            |line: &str| listed.iter().fold(line.to_owned(), |it, part| it.replace(part, ""));
        let read: Vec<String> = reading(&row.adl).iter().map(|line| without(line)).collect();
        let expected: Vec<String> = row.expected.iter().map(|line| without(line)).collect();
        assert_eq!(read, expected, "{}\n{}", row.name, row.adl);
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}
