//! Many complaints of an import, summed up for people.

use std::collections::{BTreeMap, BTreeSet};

/// So many complaints of one kind are printed one by one; of more, only a summary.
const ONE_BY_ONE: usize = 3;
/// So many kinds of complaints are printed.
const KINDS: usize = 40;

/// The lines to print for complaints of the form `thing: what is wrong`. Complaints that have
/// the same of many things become one line, repetitions are dropped, what is left out is counted.
pub fn summary(complaints: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut things: Vec<(&str, Vec<&str>)> = Vec::new();
    for complaint in complaints.iter().filter(|complaint| seen.insert(complaint.as_str())) {
        let (thing, what) = complaint.split_once(": ").unwrap_or(("", complaint));
        let kind = *kinds.entry(what).or_insert_with(|| {
            things.push((what, Vec::new()));
            things.len() - 1
        });
        things[kind].1.push(thing);
    }
    let mut lines: Vec<String> = things.iter().take(KINDS).flat_map(lines_of).collect();
    if things.len() > KINDS {
        let left: usize = things[KINDS..].iter().map(|(_, things)| things.len()).sum();
        lines.push(format!("{left} further complaints of {} other kinds", things.len() - KINDS));
    }
    lines
}

/// The lines of one kind of complaint.
fn lines_of((what, things): &(&str, Vec<&str>)) -> Vec<String> {
    if things.len() <= ONE_BY_ONE {
        let line = |thing: &&str| match *thing {
            "" => (*what).to_owned(),
            thing => format!("{thing}: {what}"),
        };
        return things.iter().map(line).collect();
    }
    let (shown, left) = things.split_at(ONE_BY_ONE);
    vec![format!("{}, and {} more: {what}", shown.join(", "), left.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_complaints_are_summed_up() {
        let of = |number: usize| format!("queue Q{number}: field `type` is missing");
        let mut complaints: Vec<String> = (0..1_000).map(of).collect();
        complaints.push("queue Q1: field `type` is missing".into());
        complaints.push("queue X: left out".into());
        assert_eq!(
            summary(&complaints),
            [
                "queue Q0, queue Q1, queue Q2, and 997 more: field `type` is missing",
                "queue X: left out"
            ]
        );
        let distinct: Vec<String> = (0..100).map(|at| format!("queue Q: found {at}")).collect();
        let lines = summary(&distinct);
        assert_eq!(lines.len(), KINDS + 1);
        assert_eq!(lines[KINDS], "60 further complaints of 60 other kinds");
    }
}
