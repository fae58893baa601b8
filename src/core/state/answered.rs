//! Answers of requests that were forgotten: attempt, ordinal and time, without the content.
//!
//! Without it, a request that is published again would get a second final answer under the name of
//! the first. There may be hundreds of thousands, so a record holds nothing else.

use crate::record::record;
use crate::state::NamedTable;
use crate::state::record::Answer;
use crate::unit::Millis;
use std::collections::BTreeSet;

/// The newest answer to a subject, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Subject.
    pub subject: String,
    /// Attempt it answers.
    pub attempt: u64,
    /// Ordinal.
    pub ordinal: u32,
    /// Whether nothing follows.
    pub is_final: bool,
    /// The decision's now.
    pub now: Millis,
}

/// Answers whose requests were forgotten.
#[derive(Clone, Debug, Default)]
pub struct AnswerTable {
    /// The records.
    pub table: NamedTable<Answered>,
    /// Slots by the time of the answer; derived.
    by_age: BTreeSet<(Millis, u32)>,
}

impl Answered {
    /// The lasting part of an answer.
    pub fn of(subject: &str, answer: &Answer) -> Answered {
        let Answer { attempt, ordinal, is_final, now, .. } = *answer;
        Answered { subject: subject.to_owned(), attempt, ordinal, is_final, now }
    }

    /// The answer, as far as it is known. A deferral is due at once.
    pub fn answer(&self) -> Answer {
        Answer {
            attempt: self.attempt,
            ordinal: self.ordinal,
            is_final: self.is_final,
            until: 0,
            now: self.now,
            first_answered_at: self.now,
            policy_hash: String::new(),
            nucleus: String::new(),
            blockers: Default::default(),
        }
    }
}

impl AnswerTable {
    /// Keeps what is left of an answer.
    pub fn insert(&mut self, answered: Answered) {
        self.remove(&answered.subject);
        let (subject, now) = (answered.subject.clone(), answered.now);
        let slot = self.table.slab.insert(answered);
        self.table.by_name.insert(subject, slot);
        self.by_age.insert((now, slot));
    }

    /// Takes a record out.
    pub fn remove(&mut self, subject: &str) -> Option<Answered> {
        let slot = self.table.by_name.remove(subject)?;
        let answered = self.table.slab.remove(slot)?;
        self.by_age.remove(&(answered.now, slot));
        Some(answered)
    }

    /// Forgets all answers that were given at `horizon` or before.
    pub fn forget_until(&mut self, horizon: Millis) {
        while let Some((now, slot)) = self.by_age.first().copied().filter(|it| it.0 <= horizon) {
            self.by_age.remove(&(now, slot));
            if let Some(answered) = self.table.slab.remove(slot) {
                self.table.by_name.remove(&answered.subject);
            }
        }
    }

    /// Finds every record again after the slots were filled from a store.
    pub fn settle(&mut self) {
        self.table.slab.settle();
        for (slot, answered) in self.table.slab.iter() {
            self.table.by_name.insert(answered.subject.clone(), slot);
            self.by_age.insert((answered.now, slot));
        }
    }
}

record!(Answered { subject, attempt, ordinal, is_final, now });

#[cfg(test)]
mod tests {
    use super::*;

    /// Hundreds of thousands are held.
    #[test]
    fn a_record_is_small() {
        assert!(size_of::<Answered>() <= 48);
    }
}
