//! The size of a decision when it is published, and what is left out above the limit.

use crate::limits::Limits;
use crate::output::decision::{Decision, Fate, Outcome};

/// About what a fate takes of a record beyond its texts; bytes.
const FATE_BYTES: usize = 24;

/// Keeps an answer below the limits on what is published: fates beyond them become counts, notes
/// beyond a quarter of the bytes are left out, and a note counts them.
pub(crate) fn limit(decision: &mut Decision, limits: &Limits) {
    let max_output_bytes = limits.max_output_bytes;
    limit_notes(&mut decision.notes, max_output_bytes / 4);
    let fixed = bytes_without_fates(decision);
    let mut left = max_output_bytes.saturating_sub(fixed);
    let mut kept = 0;
    for fate in decision.fates.iter().take(limits.fates_max) {
        let takes = bytes_of_fate(fate);
        if takes > left {
            break;
        }
        left -= takes;
        kept += 1;
    }
    decision.fates_cut += (decision.fates.len() - kept) as u32;
    decision.fates.truncate(kept);
}

/// About what a decision takes when it is published, at least as much as it does; bytes.
pub(crate) fn bytes_of(decision: &Decision) -> usize {
    bytes_without_fates(decision) + decision.fates.iter().map(bytes_of_fate).sum::<usize>()
}

fn bytes_of_fate(fate: &Fate) -> usize {
    fate.queue.len() + fate.filter.len() + fate.reason.len() + FATE_BYTES
}

fn bytes_without_fates(decision: &Decision) -> usize {
    let names = [
        &decision.subject,
        &decision.task,
        &decision.policy,
        &decision.gshare,
        &decision.user,
        &decision.working_group,
        &decision.nucleus,
        &decision.domain,
    ];
    4_096
        // The subject is the record's key as well.
        + decision.subject.len()
        + names.into_iter().map(String::len).sum::<usize>()
        + decision.notes.iter().map(String::len).sum::<usize>()
        + decision.placed.as_ref().map_or(0, |placed| placed.bytes())
        + decision.limits.iter().map(|it| it.name.len() + it.of.len() + 40).sum::<usize>()
        + match &decision.outcome {
            Outcome::Assign(ranked) => ranked
                .iter()
                .map(|r| {
                    let names = r.queue.len() + r.unified.len() + r.platform.len();
                    names + 38 + 8 * r.factors.len()
                })
                .sum(),
            Outcome::Defer { .. } => 0,
            Outcome::Reject { reason } => reason.len(),
        }
}

/// Leaves out the notes beyond so many bytes; one more note counts them.
fn limit_notes(notes: &mut Vec<String>, bytes: usize) {
    let mut used = 0;
    let fits = |note: &&String| {
        used += note.len() + 8;
        used <= bytes
    };
    let kept = notes.iter().take_while(fits).count();
    let left_out = notes.len() - kept;
    if left_out > 0 {
        notes.truncate(kept);
        notes.push(format!("notes_cut({left_out})"));
    }
}
