//! Words that the source does not use, since an engineer would look for the thing under another
//! one: names and comments are plain engineering English.

use super::{File, code_of, is_word};

/// A word, and what is used in its place.
const WORDS: [(&str, &str); 14] = [
    ("said", "published, stated, reported"),
    ("told", "published, reported, known"),
    ("spoken", "published"),
    ("spoke", "published, led"),
    ("mouth", "producer"),
    ("speaker", "producer, leader"),
    ("whoever", "a process that, a caller that"),
    ("whom", "which subject, which process"),
    ("anew", "again"),
    ("hangs", "depends"),
    ("promise", "reservation"),
    ("promised", "reserved"),
    ("slate", "joint evaluation"),
    ("asker", "client, request"),
];

/// Where a word stands for something else: a foreign name, or a term of the language.
const ALLOWED: [(&str, &str); 1] = [("src/shell/pages.rs", "promises")];

/// Where literals are names that operators read: they are looked at too.
const NAMES: [&str; 2] = ["src/shell/metrics/table.rs", "src/drive/intake/counts.rs"];

/// Code without literals, and comments: each line with its number.
fn lines(file: &File) -> Vec<(usize, String)> {
    if NAMES.contains(&file.path.as_str()) {
        return file.text.lines().map(str::to_owned).enumerate().collect();
    }
    let code = code_of(&file.text);
    let code = code.lines().map(str::to_owned).enumerate();
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let comments = file.text.lines().enumerate().filter(|(_, line)| is_comment(line));
    code.chain(comments.map(|(at, line)| (at, line.to_owned()))).collect()
}

/// The words of a line, those of a name too: `is_told` has two.
fn words(line: &str) -> impl Iterator<Item = String> {
    let parts = line.split(|c: char| !c.is_ascii_alphabetic());
    parts.filter(|part| !part.is_empty()).map(str::to_ascii_lowercase)
}

/// The words not to be used in the source.
pub(super) fn plain_words(file: &File) -> Vec<String> {
    complaints(file, lines(file))
}

/// The words not to be used in a text. What stands between backticks is a name, not a word.
pub(super) fn plain_text(file: &File) -> Vec<String> {
    let prose = |line: &str| line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    complaints(file, file.text.lines().map(prose).enumerate().collect())
}

fn complaints(file: &File, lines: Vec<(usize, String)>) -> Vec<String> {
    let mut found = Vec::new();
    for (at, line) in lines {
        for word in words(&line) {
            let used = WORDS.iter().find(|(banned, _)| *banned == word);
            let is_allowed = ALLOWED.contains(&(file.path.as_str(), word.as_str()));
            if let Some((_, instead)) = used.filter(|_| !is_allowed) {
                found.push(file.complaint(at, format!("`{word}`; say instead: {instead}")));
            }
        }
    }
    found
}

#[test]
fn words_not_to_be_used_are_seen() {
    assert!(is_word(Some(b'a')));
    let count = |text: &str| {
        plain_words(&File { path: "src/core/a.rs".to_owned(), text: text.to_owned() }).len()
    };
    assert_eq!(count("/// What was said.\nfn is_told() {}"), 2);
    assert_eq!(count("const LABEL: &str = \"said\";\n/// What was published."), 0);
    let name = "const NAME: &str = \"yardmaster_said_decisions_total\";";
    let file = File { path: NAMES[0].to_owned(), text: name.to_owned() };
    assert_eq!(plain_words(&file).len(), 1, "names of metrics");
    let text = "the metric `yardmaster_said_decisions_total` counts what was said";
    let file = File { path: "README.md".to_owned(), text: text.to_owned() };
    assert_eq!(plain_text(&file).len(), 1, "names are left alone");
}
