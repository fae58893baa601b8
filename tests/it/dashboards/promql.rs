//! Reading PromQL well enough: which series a query selects by which labels, and what it groups by.

/// A series that a query selects, with the labels in its braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    pub series: String,
    pub labels: Vec<String>,
}

/// Labels that a query groups or matches by.
pub struct Grouping {
    pub labels: Vec<String>,
    /// The grouped selectors; `None` where two sides are matched.
    pub of: Option<Vec<Selector>>,
}

/// The words of a query outside of its strings, each with the place after it.
fn words(query: &str) -> Vec<(&str, usize)> {
    let bytes = query.as_bytes();
    let is_word = |at: usize| {
        bytes.get(at).is_some_and(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b':'))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'"' {
            at = string_end(query, at);
        } else if is_word(at) {
            let from = at;
            while is_word(at) {
                at += 1;
            }
            found.push((&query[from..at], at));
        } else {
            at += 1;
        }
    }
    found
}

/// The place after a string that begins at a place.
fn string_end(query: &str, at: usize) -> usize {
    let bytes = query.as_bytes();
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(bytes.len())
}

/// The text in the brackets that open at or after a place, behind nothing but spaces, and the place
/// after them.
fn enclosed(query: &str, at: usize, open: char, close: char) -> Option<(&str, usize)> {
    let from = at + query[at..].find(|it: char| !it.is_whitespace())?;
    if !query[from..].starts_with(open) {
        return None;
    }
    let (mut depth, mut end) = (0, from);
    while let Some(next) = query[end..].chars().next() {
        if next == '"' {
            end = string_end(query, end);
            continue;
        }
        depth += usize::from(next == open);
        end += next.len_utf8();
        if next == close {
            depth -= 1;
            if depth == 0 {
                return Some((&query[from + 1..end - 1], end));
            }
        }
    }
    None
}

fn names(list: &str) -> Vec<String> {
    words(list).into_iter().map(|(word, _)| word.to_owned()).collect()
}

/// The series that a query selects.
pub fn selectors(query: &str) -> Vec<Selector> {
    let is_series = |word: &str| word.starts_with("yardmaster_") || word == "ALERTS";
    let found = words(query).into_iter().filter(|(word, _)| is_series(word));
    found
        .map(|(word, end)| {
            let braces = query[end..].starts_with('{').then(|| enclosed(query, end, '{', '}'));
            let labels = braces.flatten().map(|(inner, _)| names(inner)).unwrap_or_default();
            Selector { series: word.to_owned(), labels }
        })
        .collect()
}

/// Labels by which a query groups and matches.
pub fn groupings(query: &str) -> Vec<Grouping> {
    let mut found = Vec::new();
    for (word, end) in words(query) {
        if !["by", "on", "without", "ignoring", "group_left", "group_right"].contains(&word) {
            continue;
        }
        let Some((labels, end)) = enclosed(query, end, '(', ')') else { continue };
        let grouped = || enclosed(query, end, '(', ')').map(|(inner, _)| selectors(inner));
        let of = ["by", "without"].contains(&word).then(grouped).flatten();
        found.push(Grouping { labels: names(labels), of });
    }
    found
}

/// The variables of Grafana in a query.
pub fn variables(query: &str) -> Vec<String> {
    let parts = query.split('$').skip(1);
    let name = |part: &str| {
        let part = part.strip_prefix('{').unwrap_or(part);
        part.chars().take_while(|it| it.is_ascii_alphanumeric() || *it == '_').collect()
    };
    parts.map(name).collect()
}
