//! A request that waits as a whole: why, in words, and which facts end that.

use crate::output::decision::Decision;
use crate::policy::note::Note;
use crate::policy::rule::Rule;
use crate::policy::wait::WaitReason;

/// Why a request waits as a whole.
pub(super) struct WholeWait {
    /// The reason as a sentence, with the figures where a rule has some.
    pub(super) sentence: String,
    /// Kinds of facts whose change ends it.
    pub(super) wakes: Vec<&'static str>,
}

/// Why the request of a deferral waits as a whole; `None`: candidates were looked at.
pub(super) fn whole_wait(decision: &Decision) -> Option<WholeWait> {
    if !decision.counts.is_empty() {
        return None;
    }
    let notes = || decision.notes.iter().filter_map(|note| Some((note, Note::read(note)?)));
    let reason = notes().find_map(|(_, note)| match note {
        Note::Wait(reason) => Some(Ok(reason)),
        Note::WaitOtherwise(name) => Some(Err(name)),
        Note::Throttled { .. } => None,
    })?;
    let throttled = notes().find_map(|(text, note)| match note {
        Note::Throttled { rule, subject } => Some(throttled(text, rule, subject)),
        Note::Wait(_) | Note::WaitOtherwise(_) => None,
    });
    let plain = || match reason {
        Ok(reason) => reason.sentence().to_owned(),
        Err(name) => format!("{name}, a reason of another version"),
    };
    Some(WholeWait {
        sentence: throttled.unwrap_or_else(plain),
        wakes: reason.map_or(&[][..], WaitReason::wakes).to_vec(),
    })
}

/// A throttle by the note of a decision that it holds, as a sentence.
pub(super) fn throttled(note: &str, rule: &str, subject: &str) -> String {
    let figures = note.rsplit_once(", ").map_or("", |(_, figures)| figures);
    let figures = figures.strip_suffix(')').unwrap_or(figures);
    match (Rule::from_name(rule), figures.split_once(" of ")) {
        (Some(known), Some((measured, limit))) => {
            let (help, counter) = (known.text().help, known.text().counter.replace('_', " "));
            format!("{subject} is throttled by {rule}, {help}: {counter} {measured}, limit {limit}")
        }
        _ => format!("{subject} is throttled by {rule}: {figures}"),
    }
}
