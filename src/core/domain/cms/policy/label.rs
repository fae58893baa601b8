//! Named resources and labels: what a job needs beside cores, memory and time.

use super::autocluster::Signature;
use super::look::{Look, Pending};
use crate::domain::cms::state::PoolNode;
use crate::event::{Label, NeededLabel, Resource};
use std::cmp::Ordering;

/// The first named resource of which less is left than a job takes: its name, what is left, and
/// what the job takes.
pub(super) fn scarce<'a>(
    look: &Look<'_>,
    pending: &Pending<'a>,
) -> Option<(&'a Resource<String>, i64)> {
    let wanted = pending.cluster.signature.resources.iter();
    wanted.map(|it| (it, look.offer.resource_left(&it.name))).find(|(it, left)| *left < it.amount)
}

/// The first label that a job needs and the offer has not.
pub(super) fn missing<'a>(
    look: &Look<'_>,
    pending: &Pending<'a>,
) -> Option<&'a NeededLabel<String>> {
    let offered = &look.offer.offer.labels;
    pending.cluster.signature.labels.iter().find(|needed| !has(offered, needed))
}

/// Whether a node has the named resources and the labels that jobs need, while nothing runs on it.
pub(super) fn suffices(node: &PoolNode, signature: &Signature) -> bool {
    let most = |name: &str| node.resources_most.get(name).copied().unwrap_or(0);
    signature.resources.iter().all(|it| it.amount <= most(&it.name))
        && signature.labels.iter().all(|needed| has(&node.labels, needed))
}

/// Labels of a slot of which nothing is known but that it has what is needed.
pub fn as_needed(labels: &[NeededLabel<String>]) -> Vec<Label<String>> {
    let of = |it: &NeededLabel<String>| {
        let least = it.at_least.iter().cloned();
        let values = it.any_of.iter().cloned().chain(least).collect();
        Label { name: it.name.clone(), values }
    };
    labels.iter().map(of).collect()
}

/// What a job needs and the offer has not, as text; `None`: neither a resource nor a label.
pub fn lack(look: &Look<'_>, pending: &Pending<'_>, filter: &str) -> Option<String> {
    match filter {
        "resources" => {
            let (wanted, left) = scarce(look, pending)?;
            Some(format!("{}: {left} left, it takes {}", wanted.name, wanted.amount))
        }
        "labels" => {
            let needed = missing(look, pending)?;
            let values = look.offer.offer.labels.iter().filter(|it| it.name == needed.name);
            let values: Vec<&str> = values.flat_map(|it| &it.values).map(String::as_str).collect();
            let has = if values.is_empty() { "not stated".to_owned() } else { values.join(", ") };
            Some(format!("{}: {has}; it needs {}", needed.name, wish(needed)))
        }
        _ => None,
    }
}

/// The values that a job needs of a label, as text.
pub fn wish(needed: &NeededLabel<String>) -> String {
    match (needed.any_of.is_empty(), &needed.at_least) {
        (true, None) => "any value".to_owned(),
        (true, Some(least)) => format!("{least} or newer"),
        (false, None) => needed.any_of.join(" or "),
        (false, Some(least)) => format!("{}, {least} or newer", needed.any_of.join(" or ")),
    }
}

fn has(offered: &[Label<String>], needed: &NeededLabel<String>) -> bool {
    let values = || offered.iter().filter(|it| it.name == needed.name).flat_map(|it| &it.values);
    let is_one = |value: &String| needed.any_of.iter().any(|it| it.eq_ignore_ascii_case(value));
    let reaches = |least: &String| {
        values().any(|it| compare(it, least).is_some_and(|order| order != Ordering::Less))
    };
    values().next().is_some()
        && (needed.any_of.is_empty() || values().any(is_one))
        && needed.at_least.as_ref().is_none_or(reaches)
}

/// The order of two versions: figures in them compare as numbers, all else must be the same;
/// `None`: it is not. A version that goes on where the other ends is the newer one.
fn compare(left: &str, right: &str) -> Option<Ordering> {
    let (mut left, mut right) = (left, right);
    loop {
        let ((a, rest_of_left), (b, rest_of_right)) = (token(left), token(right));
        (left, right) = (rest_of_left, rest_of_right);
        let figure = |text: &str| text.parse::<u64>().ok();
        match (figure(a), figure(b)) {
            _ if a.is_empty() || b.is_empty() => return Some(a.len().cmp(&b.len())),
            (Some(a), Some(b)) if a != b => return Some(a.cmp(&b)),
            (Some(_), Some(_)) => {}
            _ if a.eq_ignore_ascii_case(b) => {}
            _ => return None,
        }
    }
}

/// The figures, or all up to the next figure, that a text begins with; and the rest.
fn token(text: &str) -> (&str, &str) {
    let is_figure = |it: char| it.is_ascii_digit();
    let first = text.starts_with(is_figure);
    text.split_at(text.find(|it| is_figure(it) != first).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_their_figures() {
        use Ordering::{Equal, Greater, Less};
        for (left, right, order) in [
            ("x86_64-v3", "x86_64-v2", Some(Greater)),
            ("x86_64-v2", "x86_64-v3", Some(Less)),
            ("7.5", "10.0", Some(Less)),
            ("el9", "EL9", Some(Equal)),
            ("12.2.1", "12.2", Some(Greater)),
            ("aarch64", "x86_64-v2", None),
            ("rhel8", "el8", None),
        ] {
            assert_eq!(compare(left, right), order, "{left} {right}");
        }
    }
}
