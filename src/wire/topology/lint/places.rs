//! On which line a value of the file is.

use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Lines by paths: tables by their keys, tables of a list by their `name`, words of a list by
/// themselves.
pub(super) struct Places {
    lines: BTreeMap<Vec<String>, usize>,
}

impl Places {
    /// The places of a text that was read without a mistake.
    pub(super) fn of(text: &str) -> Places {
        let (root, _) = DeTable::parse_recoverable(text);
        let mut walk = Walk { text, path: Vec::new(), lines: BTreeMap::new() };
        walk.table(root.get_ref());
        Places { lines: walk.lines }
    }

    /// Whether there is such a value.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        self.exact(path).is_some()
    }

    /// The line of a value, or of the nearest around it that the file has; 1 for none.
    pub(super) fn line(&self, path: &[&str]) -> usize {
        let shorter = (1..=path.len()).rev().map(|end| &path[..end]);
        shorter.into_iter().find_map(|path| self.exact(path)).unwrap_or(1)
    }

    fn exact(&self, path: &[&str]) -> Option<usize> {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        self.lines.get(&path).copied()
    }
}

struct Walk<'a> {
    text: &'a str,
    path: Vec<String>,
    lines: BTreeMap<Vec<String>, usize>,
}

impl Walk<'_> {
    fn table(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            self.at(key.get_ref().to_string(), key.span().start, value);
        }
    }

    fn at(&mut self, name: String, start: usize, value: &Spanned<DeValue<'_>>) {
        self.path.push(name);
        let line = 1 + self.text[..start].bytes().filter(|byte| *byte == b'\n').count();
        self.lines.entry(self.path.clone()).or_insert(line);
        match value.get_ref() {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(list) => {
                for (number, value) in list.iter().enumerate() {
                    let name = name_of(value).unwrap_or_else(|| number.to_string());
                    self.at(name, value.span().start, value);
                }
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
        self.path.pop();
    }
}

/// The name by which a value of a list is found.
fn name_of(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(word) => Some(word.to_string()),
        DeValue::Table(table) => table.get("name")?.get_ref().as_str().map(str::to_owned),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names_and_else_what_is_around_them() {
        let text =
            "a = 1\n[[policy]]\nname = \"p\"\nfilters = [\"x\",\n { name = \"y\", z = 2 }]\n";
        let places = Places::of(text);
        let line = |path: &[&str]| places.line(path);
        assert_eq!(line(&["a"]), 1);
        assert_eq!(line(&["policy", "p"]), 2);
        assert_eq!(line(&["policy", "p", "filters", "x"]), 4);
        assert_eq!(line(&["policy", "p", "filters", "y", "z"]), 5);
        assert_eq!(line(&["policy", "p", "filters", "w", "z"]), 4);
        assert_eq!(line(&["policy", "q"]), 2);
        assert_eq!(line(&["b"]), 1);
        assert!(places.has(&["a"]) && !places.has(&["b"]));
    }
}
