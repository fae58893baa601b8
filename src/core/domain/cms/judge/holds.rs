//! Jobs that wait for their workflow's record, by when they waited long enough (spec cms-nordugrid
//! C-02).

use crate::domain::cms::policy::facts::Seconds;
use std::collections::{BTreeMap, BTreeSet};

/// Jobs on hold, with the time until which each waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Holds {
    until_s: BTreeMap<String, Seconds>,
    order: BTreeSet<(Seconds, String)>,
}

impl Holds {
    /// Puts a job in, or to another time.
    pub(super) fn insert(&mut self, job: &str, until_s: Seconds) {
        self.remove(job);
        self.until_s.insert(job.to_owned(), until_s);
        self.order.insert((until_s, job.to_owned()));
    }

    /// Takes a job out.
    pub(super) fn remove(&mut self, job: &str) {
        if let Some((job, until_s)) = self.until_s.remove_entry(job) {
            self.order.remove(&(until_s, job));
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.until_s.len()
    }

    /// Whether a job has waited long enough.
    pub(super) fn is_over(&self, job: &str, now_s: Seconds) -> bool {
        self.until_s.get(job).is_some_and(|until_s| *until_s <= now_s)
    }

    /// The jobs that have waited long enough, the longest first.
    pub(super) fn over(&self, now_s: Seconds) -> impl Iterator<Item = &str> {
        let over = self.order.iter().take_while(move |(until_s, _)| *until_s <= now_s);
        over.map(|(_, job)| job.as_str())
    }
}
