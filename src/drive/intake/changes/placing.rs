//! The same as of jobs of other dialects: they take places of assignments.

use crate::intake::places::Given;
use crate::intake::{Intake, Records};
use std::sync::Arc;
use yardmaster_core::unit::Millis;

impl Intake {
    /// Before a job is published: it takes a place if it has no request and one is open; and gives
    /// its place up if it was at another queue `before`.
    pub(super) fn place_tracked(&mut self, number: u64, before: Option<&Arc<str>>) {
        let Some(job) = self.changes.jobs.held.get_mut(&number) else { return };
        match (&job.request, before) {
            (None, _) => {
                let [created_at, ..] = job.stamps;
                job.request = self.places.meet(number, job.task, &job.queue, created_at);
            }
            (Some(request), Some(before)) if *before != job.queue => {
                self.places.leave(request, before);
                self.places.hold(request, &job.queue);
            }
            (Some(_), _) => {}
        }
    }

    /// A job that waited got a place: it is published again. Whether it is one that is known of its
    /// rows.
    pub(in crate::intake) fn give_tracked(&mut self, given: &Given) -> bool {
        let Some(job) = self.changes.jobs.held.get_mut(&given.job) else { return false };
        if job.request.is_none() && job.queue == given.queue {
            job.request = Some(Arc::clone(&given.request));
            self.changes.again.push_back(given.job);
        } else {
            self.places.leave(&given.request, &given.queue);
        }
        true
    }

    /// All was read back: jobs with a request hold their places.
    pub(in crate::intake) fn hold_tracked(&mut self) {
        for job in self.changes.jobs.held.values() {
            if let Some(request) = &job.request {
                self.places.hold(request, &job.queue);
            }
        }
    }

    /// Jobs without a request: when they were created, and their numbers.
    pub(in crate::intake) fn unplaced(&self) -> impl Iterator<Item = (Millis, u64)> {
        let jobs = self.changes.jobs.held.iter();
        let without = jobs.filter(|(_, job)| job.request.is_none());
        without.map(|(number, job)| (job.stamps[0], *number))
    }

    /// A job without a request takes what is left, after all was read back.
    pub(in crate::intake) fn place_left(&mut self, number: u64) {
        self.place_tracked(number, None);
        let has = |it: &super::job::Tracked| it.request.is_some();
        if self.changes.jobs.held.get(&number).is_some_and(has) {
            self.changes.again.push_back(number);
        }
    }

    /// Publishes jobs that got a request, until there are so many records in all.
    pub(in crate::intake) fn publish_given(&mut self, most: usize, records: &mut Records) {
        while records.len() < most {
            let Some(number) = self.changes.again.pop_front() else { break };
            self.publish_tracked(number, records);
        }
    }
}
