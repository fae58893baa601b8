//! Jobs take places of assignments: what [`Places`] gives is published with the job.
//!
//! A request that a job has once is carried on by all that is published of it. A job that leaves a
//! queue gives its place there up, and takes none where it comes to.
//!
//! [`Places`]: super::places::Places

use super::Intake;
use super::places::Given;
use std::sync::Arc;
use yardmaster_core::unit::Millis;

impl Intake {
    /// Before a job is published: it takes a place if it names no request and one is open.
    pub(super) fn place(&mut self, number: u64) {
        if self.is_reading_back {
            return;
        }
        let Some(job) = self.jobs.held.get_mut(&number) else { return };
        if job.request.is_none() {
            let [created_at, ..] = job.stamps;
            job.request = self.places.meet(number, job.task, &job.queue, created_at);
        }
    }

    /// A job was at a queue before a message was read: its place there is open again if it is at
    /// another now.
    pub(super) fn note_move(&mut self, number: u64, before: &Arc<str>) {
        let Some(job) = self.jobs.held.get(&number) else { return };
        if let Some(request) = &job.request
            && *before != job.queue
        {
            self.places.leave(request, before);
            self.places.hold(request, &job.queue);
        }
    }

    /// Jobs that waited got places: they are published again.
    pub(super) fn take_given(&mut self, given: Vec<Given>) {
        for Given { job: number, queue, request } in given {
            let given = Given { job: number, queue, request };
            if self.give_tracked(&given) {
                continue;
            }
            let Given { queue, request, .. } = given;
            match self.jobs.held.get_mut(&number) {
                Some(job) if job.request.is_none() && job.queue == queue => {
                    job.request = Some(request);
                    job.is_torn = true;
                    self.call(number, false);
                }
                _ => self.places.leave(&request, &queue),
            }
        }
    }

    /// All was read back: the jobs with a request hold their places, and those without take what
    /// is left, in the order in which they were created.
    pub(super) fn place_all(&mut self) {
        self.hold_tracked();
        let mut without: Vec<(Millis, u64)> = self.unplaced().collect();
        for (number, job) in &self.jobs.held {
            match &job.request {
                Some(request) => self.places.hold(request, &job.queue),
                None => without.push((job.stamps[0], *number)),
            }
        }
        without.sort_unstable();
        for (_, number) in without {
            if self.changes.jobs.held.contains_key(&number) {
                self.place_left(number);
                continue;
            }
            self.place(number);
            if let Some(job) = self.jobs.held.get_mut(&number) {
                job.is_torn |= job.request.is_some();
            }
        }
    }
}
