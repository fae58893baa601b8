//! Users and central workflows that make no progress: none of their jobs starts while some wait.
//! How long one job waits is no sign of that: fair share lets a user's older jobs wait while
//! others of the same user run elsewhere.

use std::collections::BTreeMap;
use yardmaster_core::event::Class;
use yardmaster_core::unit::Millis;

/// Times of the last start, and longest waits without one, by user or workflow.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    last_start: BTreeMap<String, Millis>,
    /// The longest time without a start while a job waited, by class.
    longest: [BTreeMap<String, Millis>; 2],
}

impl Progress {
    /// A job waited since then, up to now: it starts, or it is the end.
    pub fn waited(&mut self, class: Class, who: &str, since: Millis, now: Millis) {
        let since = self.last_start.get(who).map_or(since, |last| since.max(*last));
        let longest = self.longest[class as usize].entry(who.to_owned()).or_default();
        *longest = (*longest).max(now - since);
    }

    /// A job started.
    pub fn started(&mut self, who: &str, now: Millis) {
        self.last_start.insert(who.to_owned(), now);
    }

    /// How many made no progress for longer than this.
    pub fn beyond(&self, class: Class, bound: Millis) -> u64 {
        self.longest[class as usize].values().filter(|time| **time > bound).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_starves_while_jobs_wait_and_none_starts() {
        let mut progress = Progress::default();
        let class = Class::Analysis;
        progress.waited(class, "ann", 0, 5);
        progress.started("ann", 5);
        // A job that waited from the beginning, while others of ann started.
        progress.waited(class, "ann", 0, 9);
        progress.started("ann", 9);
        assert_eq!((progress.beyond(class, 4), progress.beyond(class, 5)), (1, 0));
        progress.waited(class, "bob", 3, 20);
        assert_eq!((progress.beyond(class, 16), progress.beyond(Class::Central, 0)), (1, 0));
    }
}
