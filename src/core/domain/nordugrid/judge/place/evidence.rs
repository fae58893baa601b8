//! Evidence in a decision on a single job: ranks of the best targets that were not chosen, and
//! notes on missing facts (spec cms-nordugrid C.4).

use crate::domain::nordugrid::policy::case::JobCase;
use crate::domain::nordugrid::policy::changes::TargetChanges;
use crate::domain::nordugrid::policy::choice::Choice;
use crate::domain::nordugrid::policy::decide::{JobSubmission, TargetDecision};
use crate::domain::nordugrid::policy::grid_facts::GridFacts;
use crate::domain::nordugrid::xrsl::NoteCode;
use crate::draw::SeededDraw;
use crate::output::decision::{Decision, Ranked};
use crate::policy::Policy;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Most targets of an assignment that are listed with their ranks, the chosen one counted.
const RANKED_MAX: usize = 10;
/// Most targets of a draw that are listed in a decision.
pub(super) const DRAW_LISTED: usize = 1_000;
/// Most alternatives without a target that have a note each.
const ALTERNATIVES_NOTED: usize = 10;
/// Most names that a note lists.
const NAMES_NOTED: usize = 20;
/// Most characters of a name that a note shows.
const NAME_SHOWN: usize = 200;

/// The chosen target and the best of the others with their ranks, best first; of equals the first
/// by name. Only the chosen one has a job.
pub(super) fn ranked(
    case: &JobCase<'_>,
    choice: &Choice,
    chosen: usize,
    count: u64,
) -> Vec<Ranked> {
    let mut others: Vec<usize> = (0..choice.ranked.len()).filter(|at| *at != chosen).collect();
    let by_rank = |a: &usize, b: &usize| choice.rank(*a).cmp(choice.rank(*b)).then(a.cmp(b));
    if others.len() >= RANKED_MAX {
        others.select_nth_unstable_by(RANKED_MAX - 1, by_rank);
        others.truncate(RANKED_MAX - 1);
    }
    others.sort_unstable_by(by_rank);
    let ranked = |at: usize| {
        let target = case.facts.targets.name(choice.ranked[at].target);
        Ranked {
            queue: target.to_owned(),
            unified: target.to_owned(),
            weight: choice.ranked[at].draw_weight() as f64,
            jobs: u32::from(at == chosen),
            cores: u32::try_from(count).unwrap_or(u32::MAX),
            factors: choice.rank(at).iter().map(|key| key.shown()).collect(),
            platform: String::new(),
        }
    };
    std::iter::once(chosen).chain(others).map(ranked).collect()
}

/// Notes on clusters and index servers: what was found, and names that led nowhere.
pub(super) fn note_discovery(decision: &mut Decision, found: &TargetDecision) {
    let Some(discovery) = &found.discovery else { return };
    let clusters = discovery.clusters.all().count();
    let mode = discovery.mode.name();
    decision.notes.push(format!("discovery({mode}, {clusters} clusters)"));
    note_names(decision, "no_registrations", &discovery.empty_servers);
    note_names(decision, "rejected_unknown", &discovery.rejected_unknown);
    note_names(decision, "no_information", &found.no_information);
}

/// A note on each alternative that was tried before the last: how many targets each filter
/// rejected, with the figures of the first.
pub(super) fn note_alternatives(
    decision: &mut Decision,
    policy: &Policy,
    facts: &GridFacts,
    tried: &[Choice],
) {
    let Some((_, before)) = tried.split_last() else { return };
    for (at, choice) in before.iter().enumerate().take(ALTERNATIVES_NOTED) {
        let mut note = format!("alternative({at}");
        if choice.refused.is_empty() {
            note += ", no target";
        }
        for (filter, known) in (0u16..).zip((0..).map_while(|at| policy.filter(at))) {
            let refused = || choice.refused.iter().filter(|it| it.filter == filter);
            let Some(first) = refused().next() else { continue };
            let (name, target) = (known.name, shown(facts.targets.name(first.target)));
            let (count, it) = (refused().count(), first.objection);
            // Writing to a String cannot fail.
            let _ = write!(
                note,
                ", {name} {count}: {target} measured {}, limit {}",
                it.measured, it.limit
            );
        }
        decision.notes.push(note + ")");
    }
    let left_out = before.len().saturating_sub(ALTERNATIVES_NOTED);
    if left_out > 0 {
        decision.notes.push(format!("alternatives_cut({left_out})"));
    }
}

/// Notes on attributes that no alternative takes, and on those that are read otherwise than they
/// may be meant (B.9).
pub(super) fn note_description(decision: &mut Decision, submission: &JobSubmission) {
    let alternatives = || submission.alternatives.iter();
    let names = alternatives().flat_map(|alternative| &alternative.unknown_attributes);
    note_names(decision, "unknown_attribute", distinct(names));
    for code in NoteCode::ALL {
        let notes = alternatives().flat_map(|alternative| &alternative.notes);
        let names = notes.filter(|note| note.code == *code).map(|note| &note.attribute);
        note_names(decision, code.name(), distinct(names));
    }
}

/// Notes on what is not known where a job was assigned (N-15, N-19), and on what the assignment
/// does not list.
pub(super) fn note_assignment(
    decision: &mut Decision,
    case: &JobCase<'_>,
    choice: &Choice,
    changes: &TargetChanges,
    submission: &JobSubmission,
) {
    let passed = choice.ranked.len();
    if passed > RANKED_MAX {
        decision.notes.push(format!("passed({passed} targets, {RANKED_MAX} listed)"));
    }
    if case.is_size_unknown {
        let has_no_size = |source: &str, name: &str| match source {
            "" => !submission.uploads.contains_key(name),
            _ => case.facts.files.find(source).and_then(|row| row.size_bytes).is_none(),
        };
        let inputs = case.job.input_files.iter();
        let unknown = inputs.filter(|file| has_no_size(&file.source, &file.name));
        note_names(decision, "size_unknown", distinct(unknown.map(|file| &file.name)));
    }
    if changes.disk_free_bytes_after.is_none() {
        note_names(decision, "disk_unknown", [&changes.target]);
    }
    let draw = choice.chosen.as_ref().and_then(|chosen| chosen.draw.as_ref());
    decision.notes.extend(draw.and_then(draw_note));
}

/// Summary of a draw whose list is too long for the record: sum, number and digest (B.10.5).
fn draw_note(draw: &SeededDraw) -> Option<String> {
    let SeededDraw { total, drawn, weights, .. } = draw;
    if weights.len() <= DRAW_LISTED && u64::try_from(*drawn).is_ok() {
        return None;
    }
    let mut hash = Sha256::new();
    for (name, weight) in weights {
        hash.update(format!("{name}\u{1f}{weight}\n"));
    }
    let (targets, digest) = (weights.len(), hex::encode(hash.finalize()));
    Some(format!("draw({targets} targets, total {total}, drawn {drawn}, sha256 {digest})"))
}

/// Each once, in order of first mention.
fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut seen = std::collections::BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// A note that lists names; none without a name.
fn note_names<'a>(
    decision: &mut Decision,
    note: &str,
    names: impl IntoIterator<Item = &'a String>,
) {
    let mut names = names.into_iter();
    let listed: Vec<&str> = names.by_ref().take(NAMES_NOTED).map(|name| shown(name)).collect();
    if listed.is_empty() {
        return;
    }
    let more = match names.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    decision.notes.push(format!("{note}({}{more})", listed.join(", ")));
}

/// The beginning of a name.
pub(super) fn shown(name: &str) -> &str {
    name.char_indices().nth(NAME_SHOWN).map_or(name, |(end, _)| &name[..end])
}
