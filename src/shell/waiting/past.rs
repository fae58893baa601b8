//! The figures by which candidates of waiting requests were rejected: the state keeps the reasons
//! alone, decisions in the history have their figures.
//!
//! A repeated deferral states what changed since the one before, and every tenth states all. So the
//! history is read backwards until all is known of each request, or until a bound.

use super::WaitingRow;
use crate::history::{History, Search};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use yardmaster_core::cut::Topic;
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::{Decision, Fate, Outcome};
use yardmaster_core::policy::note::Note;
use yardmaster_core::unit::Millis;

/// Decisions read at a time.
const PAGE: usize = 500;
/// No more are read than so many times.
const PAGES_MAX: usize = 40;
/// Requests whose figures are looked for, the oldest first: of each all candidates are held.
const REQUESTS_MAX: usize = 300;
/// Reading ends after so long.
const READS_FOR: Duration = Duration::from_secs(2);

/// Figures of one request.
#[derive(Clone, Debug)]
pub struct RequestFigures {
    /// The newest decision that was found, without its fates.
    pub newest: Decision,
    /// The newest fate of each candidate, by name.
    pub fates: BTreeMap<Arc<str>, Fate>,
    /// Whether nothing is missing.
    pub is_whole: bool,
}

/// Why a request waits as a whole, of a decision's notes; `None` where candidates were looked at.
pub fn as_whole(decision: &Decision) -> Option<String> {
    decision.notes.iter().find_map(|note| match Note::read(note)? {
        Note::Wait(reason) => Some(reason.name().replace('_', " ")),
        Note::WaitOtherwise(name) => Some(name.replace('_', " ")),
        Note::Throttled { .. } => None,
    })
}

/// The figures of some requests, by subject, as far as they are found: of the first 300.
pub fn figures(past: &History, rows: &[&WaitingRow]) -> BTreeMap<String, RequestFigures> {
    let rows = &rows[..rows.len().min(REQUESTS_MAX)];
    let wanted: BTreeMap<&str, &WaitingRow> =
        rows.iter().map(|row| (row.subject.as_str(), *row)).collect();
    let judged = rows.iter().filter_map(|row| Some((row.first_judged_at?, row.judged_at?)));
    let Some((from, to)) = judged.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
        return BTreeMap::new();
    };
    let mut reading = Reading { found: BTreeMap::new(), missing: wanted.len() };
    let began = Instant::now();
    let mut before = u64::MAX;
    for _ in 0..PAGES_MAX {
        let page = past.search(&Search {
            topics: &[Topic::Decision],
            after: 0,
            before,
            from,
            to,
            names: &[],
            wants: &|output| is_wanted(output, &wanted),
            limit: PAGE,
        });
        for (_, output) in page.outputs {
            if let Output::Decision(decision) = output {
                reading.take(*decision);
            }
        }
        match page.more_before {
            Some(next) if reading.missing > 0 && began.elapsed() < READS_FOR => before = next,
            _ => break,
        }
    }
    reading.found
}

fn is_wanted(output: &Output, wanted: &BTreeMap<&str, &WaitingRow>) -> bool {
    let Output::Decision(decision) = output else { return false };
    let row = wanted.get(decision.subject.as_str());
    row.is_some_and(|row| {
        let since = row.first_judged_at.unwrap_or(Millis::MAX);
        let is_deferral = matches!(decision.outcome, Outcome::Defer { .. });
        is_deferral && decision.attempt == row.attempt && decision.now >= since
    })
}

struct Reading {
    found: BTreeMap<String, RequestFigures>,
    /// Requests of which something is missing.
    missing: usize,
}

impl Reading {
    /// Takes a decision; the newest come first.
    fn take(&mut self, mut decision: Decision) {
        let fates = std::mem::take(&mut decision.fates);
        let full = decision.full;
        let figures = self.found.entry(decision.subject.clone()).or_insert_with(|| {
            RequestFigures { newest: decision, fates: BTreeMap::new(), is_whole: false }
        });
        if figures.is_whole {
            return;
        }
        for fate in fates {
            figures.fates.entry(fate.queue.clone()).or_insert(fate);
        }
        figures.is_whole = full;
        self.missing -= usize::from(full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(full: bool, fates: &[(&str, f64)]) -> Decision {
        let fate = |(queue, measured): &(&str, f64)| Fate {
            queue: (*queue).into(),
            filter: "cap".into(),
            reason: "any".into(),
            measured: *measured,
            limit: 1.0,
        };
        let deferral = Decision::new("atlas", "7", 1, 1, Outcome::Defer { until: 9 });
        Decision { full, fates: fates.iter().map(fate).collect(), ..deferral }
    }

    #[test]
    fn the_newest_figure_of_each_candidate_counts_up_to_the_last_whole_decision() {
        let mut reading = Reading { found: BTreeMap::new(), missing: 1 };
        reading.take(decision(false, &[("A", 5.0)]));
        assert_eq!(reading.missing, 1);
        reading.take(decision(true, &[("A", 4.0), ("B", 3.0)]));
        assert_eq!(reading.missing, 0);
        reading.take(decision(true, &[("C", 2.0)]));
        let figures = &reading.found["7"];
        let all: Vec<(&str, f64)> =
            figures.fates.values().map(|fate| (&*fate.queue, fate.measured)).collect();
        assert_eq!(all, [("A", 5.0), ("B", 3.0)]);
    }
}
