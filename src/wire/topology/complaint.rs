//! Mistakes in a topology file, each with its line.

use std::fmt;

/// One mistake: where, what was found, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Name of the file, as the reader gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The value that was found.
    pub found: String,
    /// The values that are allowed.
    pub allowed: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Complaint { file, line, found, allowed } = self;
        write!(f, "{file}:{line}: found {found}; allowed: {allowed}")
    }
}

/// The known word nearest to a wrong one, if it is near enough to be what was meant: at most a
/// third of its letters changed.
pub(super) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let distance = |word: &str| edits(&wrong.to_lowercase(), &word.to_lowercase());
    known
        .into_iter()
        .map(|word| (distance(word), word))
        .filter(|(distance, word)| *distance <= word.len().max(3) / 3)
        .min()
        .map(|(_, word)| word)
}

/// The list of what is allowed, with a guess at what was meant.
pub(super) fn one_of(wrong: &str, known: &[&str]) -> String {
    match nearest(wrong, known.iter().copied()) {
        Some(word) => format!("one of {} (did you mean `{word}`?)", known.join(", ")),
        None => format!("one of {}", known.join(", ")),
    }
}

/// How many letters must be put in, left out or changed to make one word of another.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in
            [("", "", 0), ("abc", "abc", 0), ("", "ab", 2), ("retenton", "retention", 1)]
        {
            assert_eq!(edits(from, to), count, "{from} {to}");
            assert_eq!(edits(to, from), count, "{to} {from}");
        }
    }

    #[test]
    fn a_guess_is_made_only_when_it_is_near() {
        assert_eq!(nearest("partition", ["partitions", "cleanup"]), Some("partitions"));
        assert_eq!(nearest("colour", ["partitions", "cleanup"]), None);
    }
}
