//! The requirement that a target does not meet, and what the target publishes, as the notes of a
//! decision state them.

use crate::output::decision::{Decision, Fate};

/// Both, for the fate of a target; `None`: no note is about its filter.
pub(crate) fn wanted(decision: &Decision, fate: &Fate) -> Option<String> {
    let (wanted, listed) = decision.notes.iter().find_map(|note| {
        let rest = note.strip_prefix(&*fate.filter)?.strip_prefix("(wanted ")?;
        rest.strip_suffix(')')?.split_once(": ")
    })?;
    let begin = format!("{} has ", fate.queue);
    let has = match listed.strip_prefix(&begin) {
        Some(has) => Some(has),
        None => listed.split_once(&format!(", {begin}")).map(|(_, has)| has),
    };
    let Some(has) = has else { return Some(format!("wanted is {wanted}")) };
    let has = match has.match_indices(", ").find(|(at, _)| begins_target(&has[at + 2..])) {
        Some((end, _)) => &has[..end],
        None => without_rest(has),
    };
    match &*fate.filter {
        "no_location" => Some(has.to_owned()),
        _ => Some(format!("wanted is {wanted}, it has {has}")),
    }
}

/// Whether a note goes on with another target, `CLUSTER/QUEUE has ...`.
fn begins_target(note: &str) -> bool {
    note.split_once(" has ").is_some_and(|(name, _)| name.contains('/') && !name.contains(' '))
}

/// Without how many more targets the note does not list.
fn without_rest(listed: &str) -> &str {
    match listed.rsplit_once(" and ") {
        Some((listed, rest)) if rest.strip_suffix(" more").is_some_and(is_number) => listed,
        _ => listed,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::decision::Outcome;

    fn fate(queue: &str, filter: &'static str) -> Fate {
        let (queue, filter) = (queue.into(), filter.into());
        Fate { queue, filter, reason: "any".into(), measured: 0.0, limit: 0.0 }
    }

    #[test]
    fn the_requirement_and_what_a_target_has_are_read_from_the_notes() {
        let outcome = Outcome::Reject { reason: "no_target_left".into() };
        let mut decision = Decision::new("nordugrid", "j1", 0, 1, outcome);
        decision.fates = vec![
            fate("a/q", "match_memory"),
            fate("b/q", "match_memory"),
            fate("c/q", "match_memory"),
            fate("a/r", "no_location"),
        ];
        decision.notes = vec![
            "discovery(all, 3 clusters)".into(),
            "match_memory(wanted 9000 MB: a/q has 10 MB, b/q has nothing and 1 more)".into(),
            "no_location(wanted every input file: a/r has no way to in.dat from gsiftp://x/y \
             (no_location: no replica is known))"
                .into(),
        ];
        let found = decision.fates.iter().map(|fate| wanted(&decision, fate).unwrap());
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                "wanted is 9000 MB, it has 10 MB",
                "wanted is 9000 MB, it has nothing",
                "wanted is 9000 MB",
                "no way to in.dat from gsiftp://x/y (no_location: no replica is known)",
            ]
        );
        assert_eq!(wanted(&decision, &fate("a/q", "queue_full")), None);
    }
}
