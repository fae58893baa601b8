//! Commands in the documents. A fenced `sh` block below `<!-- runnable -->` is run, in the order of
//! the page and in one directory for the page; in all others the flags that are named must exist.

use super::{Page, pages};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const MARK: &str = "<!-- runnable -->";
const PROGRAM: &str = env!("CARGO_BIN_EXE_yardmaster");

/// A block of commands: the line it begins at, whether it is to be run, and its text.
#[derive(Debug, PartialEq)]
pub struct Block {
    pub line: usize,
    pub is_runnable: bool,
    pub script: String,
}

/// The `sh` blocks of a page. A mark without a block below it is an error.
pub fn blocks(page: &Page) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut mark, mut is_open) = (None, false);
    for (line, text, is_fenced) in page.lines() {
        let text = text.trim();
        if is_fenced && text == "```sh" {
            let is_runnable = mark.take().is_some();
            blocks.push(Block { line, is_runnable, script: String::new() });
            is_open = true;
        } else if is_fenced && text.starts_with("```") {
            is_open = false;
        } else if let Some(block) = blocks.last_mut().filter(|_| is_open) {
            block.script += text;
            block.script += "\n";
        } else if text == MARK {
            mark = Some(line);
        }
        if let Some(marked) = mark {
            assert!(line == marked, "{}:{marked}: a mark without a block", page.path);
        }
    }
    blocks
}

#[test]
fn every_block_that_is_marked_as_runnable_runs() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = Path::new(PROGRAM).parent().expect("a folder").to_owned();
    let dirs = std::iter::once(beside).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(dirs).expect("a path");
    let mut count = 0;
    for page in pages() {
        let dir = TempDir::new().unwrap();
        for block in blocks(&page).into_iter().filter(|block| block.is_runnable) {
            let mut shell = Command::new("sh");
            shell.args(["-euc", &block.script]).current_dir(dir.path()).env("PATH", &path);
            let output = shell.env_remove("YARDMASTER_LOG").output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let place = format!("{}:{}", page.path, block.line);
            let (printed, errors) = (text(&output.stdout), text(&output.stderr));
            let status = output.status;
            assert!(status.success(), "{place}: {status}\n{}{printed}{errors}", block.script);
            assert!(!printed.is_empty(), "{place}: nothing was printed");
            count += 1;
        }
    }
    assert!(count > 5, "{count} blocks are marked");
}

/// The commands of a script, those that go on in the next line joined.
pub fn commands(script: &str) -> Vec<Vec<String>> {
    let script = script.replace("\\\n", " ");
    let lines = script.lines().map(|line| line.split(" # ").next().unwrap_or_default());
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let run = "cargo run --release --";
    lines.map(|line| words(&line.replacen(run, "yardmaster", 1))).collect()
}

/// The help of a verb, and of what of it is named.
fn help(words: &[String]) -> String {
    let output = Command::new(PROGRAM).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_flag_that_a_command_has_exists() {
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for block in blocks(&page) {
            for words in commands(&block.script) {
                let Some((_, args)) = words.split_first().filter(|(it, _)| *it == "yardmaster")
                else {
                    continue;
                };
                let verb: Vec<String> =
                    args.iter().take(2).take_while(|it| !it.starts_with('-')).cloned().collect();
                let help = helps.entry(verb.clone()).or_insert_with(|| help(&verb));
                let is_known = |flag: &str| {
                    let mut names = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
                    names.any(|name| name == flag)
                };
                for flag in args.iter().filter(|it| it.starts_with("--")) {
                    count += 1;
                    if !is_known(flag.split('=').next().unwrap_or_default()) {
                        wrong.push(format!("{}:{}: {flag} of {verb:?}", page.path, block.line));
                    }
                }
            }
        }
    }
    assert!(count > 50, "{count} flags are named");
    assert!(wrong.is_empty(), "flags that do not exist:\n{}", wrong.join("\n"));
}

/// Flags that every verb of a kind has (reads a log, serves HTTP, asks a process that does):
/// `docs/verbs.md` has tables of their own for them.
const COMMON: [&str; 15] = [
    "--bootstrap-server",
    "--command-config",
    "--dir",
    "--help",
    "--http-ca",
    "--http-cert",
    "--http-client-ca",
    "--http-host",
    "--http-key",
    "--http-token-file",
    "--log",
    "--log-format",
    "--property",
    "--topology",
    "--version",
];

/// The flags that a help text lists.
fn flags(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words =
        lines.filter_map(|line| line.split([' ', ',', '=']).find(|it| it.starts_with("--")));
    words.map(str::to_owned).collect()
}

/// The rows of the table of verbs: the verbs of each, and all else that the row names.
fn verbs(page: &str) -> Vec<(Vec<Vec<String>>, String)> {
    let table = page.split("## The verbs").nth(1).and_then(|it| it.split("\n## ").next());
    let rows = table.expect("a table of verbs").lines().filter_map(|line| line.strip_prefix("| "));
    let row = |row: &str| {
        let named = row.split('`').nth(1).expect("a verb");
        let words: Vec<&str> = named.split(' ').collect();
        let is_verb = |word: &&&str| word.starts_with(|c: char| c.is_ascii_lowercase());
        let under = words.get(1).filter(is_verb).map(|word| word.split("\\|"));
        let with = |under: &str| vec![words[0].to_owned(), under.to_owned()];
        let named = match under {
            Some(under) => under.map(with).collect(),
            None => vec![vec![words[0].to_owned()]],
        };
        (named, row.to_owned())
    };
    rows.skip(1).map(row).collect()
}

#[test]
fn the_table_of_verbs_has_every_flag() {
    let pages = pages();
    let page = pages.iter().find(|page| page.path == "docs/verbs.md").expect("a page of verbs");
    let mut wrong = Vec::new();
    let rows = verbs(&page.text);
    assert!(rows.len() > 15, "{} rows", rows.len());
    for (verbs, row) in rows {
        let known: Vec<String> = verbs.iter().flat_map(|verb| flags(&help(verb))).collect();
        let mut parts = row.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let named: Vec<&str> = parts.by_ref().filter(|it| it.starts_with("--")).collect();
        let is_shown = |flag: &&String| named.contains(&flag.as_str());
        let is_common = |flag: &&String| COMMON.contains(&flag.as_str());
        let missing = known.iter().filter(|it| !is_shown(it) && !is_common(it));
        wrong.extend(missing.map(|flag| format!("{verbs:?}: {flag} is missing")));
        let unknown = named.iter().filter(|it| !known.iter().any(|flag| flag == *it));
        wrong.extend(unknown.map(|flag| format!("{verbs:?}: there is no {flag}")));
    }
    assert!(wrong.is_empty(), "docs/verbs.md:\n{}", wrong.join("\n"));
}

#[test]
fn blocks_are_found_and_marks_belong_to_them() {
    let page = Page::new(
        "a.md",
        "```sh\none\n```\n<!-- runnable -->\n```sh\ntwo \\\n  --x\n```\n```toml\nthree = 3\n```\n",
    );
    let block =
        |line, is_runnable, script: &str| Block { line, is_runnable, script: script.into() };
    assert_eq!(blocks(&page), [block(1, false, "one\n"), block(5, true, "two \\\n--x\n")]);
    assert_eq!(commands("a \\\n--x # why\ncargo run --release -- demo\n").len(), 2);
}

#[test]
#[should_panic(expected = "a.md:1: a mark without a block")]
fn a_mark_without_a_block_is_an_error() {
    blocks(&Page::new("a.md", "<!-- runnable -->\ntext\n"));
}
