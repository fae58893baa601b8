//! Names in the map of the source and in the pages of the design: the files, folders and tests that
//! they name exist.

use super::{Page, pages, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A source file: its path below the repository, and its text.
struct Source {
    path: String,
    text: String,
}

/// The files below a folder; the text of one that is no text is empty.
fn files(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut left = vec![root().join(folder)];
    while let Some(dir) = left.pop() {
        for path in fs::read_dir(dir).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                left.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let path = path.strip_prefix(root()).expect("below the root").to_string_lossy();
                found.push(Source { path: path.into_owned(), text });
            }
        }
    }
    found
}

/// The code spans of a page, each with the line that its paragraph begins at.
fn spans(page: &Page) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (number, line, is_fenced) in page.lines() {
        let is_text = !is_fenced && !line.trim().is_empty();
        match paragraphs.last_mut().filter(|_| is_text && is_open) {
            Some((_, text)) => {
                text.push(' ');
                text.push_str(line.trim());
            }
            None if is_text => paragraphs.push((number, line.trim().to_owned())),
            None => {}
        }
        is_open = is_text;
    }
    let of = |(number, text): (usize, String)| {
        let spans = text.split('`').skip(1).step_by(2).map(str::to_owned);
        spans.map(|span| (number, span)).collect::<Vec<_>>()
    };
    paragraphs.into_iter().flat_map(of).collect()
}

/// The names that `a/{b,c}.rs` stands for.
fn spelled_out(name: &str) -> Vec<String> {
    let braces = name.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    let Some((head, (within, tail))) = braces else { return vec![name.to_owned()] };
    within.split(',').map(|part| format!("{head}{part}{tail}")).collect()
}

/// Whether a span is the name of files: it has a folder, and ends with one or with a known ending.
fn is_path(span: &str) -> bool {
    let is_of_names = |c: char| c.is_ascii_alphanumeric() || "/._-{},".contains(c);
    let ends = ["/", ".rs", ".md", ".toml", ".py", ".sh", ".avsc", ".json", ".js", ".txt"];
    let is_below = span.contains('/') && !span.starts_with('/');
    is_below && span.chars().all(is_of_names) && ends.iter().any(|end| span.ends_with(end))
}

/// Whether a span is the name of tests, `laws::recount` or `topology::a_rule_*`; names of types
/// have capitals.
fn is_test(span: &str) -> bool {
    let is_of_names = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:*".contains(c);
    let is_whole = !span.ends_with("::") && !span.starts_with("yardmaster::");
    span.contains("::") && is_whole && span.chars().all(is_of_names)
}

/// The module that a file is: `laws::recount`, `core::policy::tests`.
fn module(path: &str) -> Option<String> {
    let path = path.strip_prefix("tests/it/").or_else(|| path.strip_prefix("src/"))?;
    let path = path.strip_suffix(".rs")?;
    let path = ["/mod", "/lib"].iter().find_map(|it| path.strip_suffix(it)).unwrap_or(path);
    Some(path.replace('/', "::"))
}

/// Whether one name is another, or ends with it after `::`.
fn ends_with(whole: &str, end: &str) -> bool {
    let before = whole.strip_suffix(end);
    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

/// Whether there is a module of a name, or a test in one.
fn is_known(name: &str, sources: &[Source]) -> bool {
    let (within, last) = name.rsplit_once("::").unwrap_or(("", name));
    let (last, end) = match last.strip_suffix('*') {
        Some(begin) => (begin, ""),
        None => (last, "("),
    };
    let function = format!("fn {last}{end}");
    // Tests that lie beside the code may be in a module of their own within the file.
    let beside = within.strip_suffix("::tests").unwrap_or(within);
    sources.iter().any(|source| {
        let Some(module) = module(&source.path) else { return false };
        let is_within = ends_with(&module, within) || ends_with(&module, beside);
        ends_with(&module, name)
            || ends_with(&module, beside) && last == "tests"
            || is_within && source.text.contains(&function)
    })
}

/// What a page names and is not there. `exists` states whether there is a file or folder.
fn missing(page: &Page, sources: &[Source], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let paths: BTreeSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    // In a column of one folder a name is what comes after it.
    let is_below = |name: &str| {
        let (inner, end) = (format!("/{name}"), name.ends_with('/'));
        paths.iter().any(|path| if end { path.contains(&inner) } else { path.ends_with(&inner) })
    };
    for (number, span) in spans(page) {
        let names = if is_path(&span) { spelled_out(&span) } else { Vec::new() };
        for name in names {
            let is_there = exists(Path::new(&name)) || exists(&Path::new("src").join(&name));
            if !is_there && !is_below(&name) {
                found.push(format!("{}:{number}: {name}: there is no such file", page.path));
            }
        }
        if is_test(&span) && !is_known(&span, sources) {
            found.push(format!("{}:{number}: {span}: there is no such test", page.path));
        }
    }
    found
}

#[test]
fn files_and_tests_that_the_design_names_exist() {
    let mut sources = files("src");
    sources.extend(files("tests"));
    let is_design =
        |page: &Page| page.path == "ARCHITECTURE.md" || page.path.starts_with("docs/design/");
    let pages: Vec<Page> = pages().into_iter().filter(is_design).collect();
    let named: usize = pages.iter().map(|page| spans(page).len()).sum();
    assert!(pages.len() > 5 && named > 300, "{named} spans on {} pages", pages.len());
    let exists = |path: &Path| root().join(path).exists();
    let found: Vec<String> =
        pages.iter().flat_map(|page| missing(page, &sources, exists)).collect();
    assert!(found.is_empty(), "{} names:\n{}", found.len(), found.join("\n"));
}

#[test]
fn names_of_nothing_are_seen() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let sources = [
        source("tests/it/laws/recount.rs", "fn nothing_stays() {}"),
        source("src/core/state/time.rs", "mod tests { fn a_topic_stops_its_clock() {} }"),
        source("src/core/domain/cms/judge/cut.rs", ""),
    ];
    let text = "`core/state/time.rs` `core/{state,gone}/time.rs` `judge/cut.rs` `other/cut.rs`\n\
                `laws::recount` `laws::recount::nothing_stays` `laws::recount::nothing_*`\n\
                `laws::gone` `laws::recount::nothing` `core::state::time::tests::a_topic_*`\n\
                `Topic::is_own` `/readyz`\n\n```sh\n`no/such/file.rs`\n```\n";
    let exists = |path: &Path| path == Path::new("src/core/state/time.rs");
    let found = missing(&Page::new("a.md", text), &sources, exists);
    let expected = [
        "a.md:1: core/gone/time.rs: there is no such file",
        "a.md:1: other/cut.rs: there is no such file",
        "a.md:1: laws::gone: there is no such test",
        "a.md:1: laws::recount::nothing: there is no such test",
    ];
    assert_eq!(found, expected);
}
