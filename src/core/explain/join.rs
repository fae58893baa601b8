//! Repeated deferrals carry only what changed: here each gets the rest back.

use crate::output::decision::{Decision, Fate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds to each deferral what earlier decisions published and it does not repeat. Decisions on one
/// request lie side by side, in order. One without the decision before it stays as it is.
pub fn join(decisions: &mut [Decision]) {
    for at in 1..decisions.len() {
        let (before, rest) = decisions.split_at_mut(at);
        let (Some(before), Some(decision)) = (before.last(), rest.first_mut()) else { continue };
        let is_next = (&before.subject, before.attempt) == (&decision.subject, decision.attempt)
            && before.ordinal + 1 == decision.ordinal;
        if is_next && !decision.full && before.full {
            add(before, decision);
        }
    }
}

fn add(before: &Decision, decision: &mut Decision) {
    let mut all: BTreeMap<Arc<str>, Fate> =
        before.fates.iter().map(|fate| (fate.queue.clone(), fate.clone())).collect();
    for fate in decision.fates.drain(..) {
        all.insert(fate.queue.clone(), fate);
    }
    // An objection that disappeared is published with an empty filter.
    decision.fates = all.into_values().filter(|fate| !fate.filter.is_empty()).collect();
    decision.full = true;
    decision.fates_cut = decision.fates_cut.max(before.fates_cut);
    decision.notes.push("figures that did not change much are those of an earlier answer".into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::tests::decision;
    use crate::output::decision::Outcome;

    fn fate(queue: &str, filter: &'static str, measured: f64) -> Fate {
        let (queue, filter, reason) = (queue.into(), filter.into(), filter.into());
        Fate { queue, filter, reason, measured, limit: 1.0 }
    }

    fn deferral(ordinal: u32, full: bool, fates: Vec<Fate>) -> Decision {
        Decision { ordinal, full, ..decision(Outcome::Defer { until: 0 }, fates, Vec::new()) }
    }

    #[test]
    fn each_deferral_gets_back_what_it_did_not_say_again() {
        let first = vec![fate("A", "cap", 9.0), fate("B", "status", 0.0), fate("C", "cap", 7.0)];
        let second = vec![fate("A", "cap", 5.0), fate("B", "", 0.0)];
        let mut found = vec![
            deferral(4, true, first),
            deferral(5, false, second),
            deferral(6, false, Vec::new()),
        ];
        join(&mut found);
        let wanted = vec![fate("A", "cap", 5.0), fate("C", "cap", 7.0)];
        assert_eq!([&found[1].fates, &found[2].fates], [&wanted, &wanted]);
        // The answer before is not there: nothing is made up.
        let mut lonely = vec![deferral(4, true, wanted), deferral(6, false, Vec::new())];
        join(&mut lonely);
        assert!(!lonely[1].full && lonely[1].fates.is_empty());
    }
}
