//! A grid as it stands, for readers that have read nothing of it: what an operator imports who
//! connects a grid that has long been running.

use super::Grid;
use super::Record;
use super::jobs::publish;
use super::pool::Handle;
use super::summary::{GridSummary, Spans};
use std::collections::BTreeSet;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::TransferStatus;

/// Topics whose facts are published when they change, and otherwise confirmed.
const CONFIRMED: [Topic; 5] =
    [Topic::Queue, Topic::Site, Topic::Storage, Topic::Share, Topic::Release];

impl Grid {
    /// Publishes all there is, as of the time reached: the configuration, workers, jobs that live,
    /// transfers under way, and requests that wait, which ask again. From now on the facts that do
    /// not change are confirmed. What the summary counts begins again. Appends what is published.
    pub fn stand(&mut self, out: &mut Vec<Record>) {
        self.publisher.out = std::mem::take(out);
        self.confirms = &CONFIRMED;
        self.say_facts();
        for at in 0..self.queues.all.len() as u32 {
            self.say_workers(at);
        }
        self.say_jobs();
        self.say_silent();
        self.say_transfers();
        let chunks: Vec<Handle> = self.by_subject.values().copied().collect();
        chunks.into_iter().for_each(|chunk| self.asks_again(chunk));
        self.forget_counts();
        *out = std::mem::take(&mut self.publisher.out);
    }

    fn say_jobs(&mut self) {
        let Grid { jobs, chunks, queues, publisher, by_name, .. } = self;
        for handle in by_name.values() {
            let Some(job) = jobs.get_mut(*handle) else { continue };
            let Some(chunk) = chunks.get(job.chunk) else { continue };
            let queue = &queues.all[job.queue as usize];
            job.is_reported &= publish(publisher, job, chunk, queue, "");
        }
    }

    fn say_transfers(&mut self) {
        let Grid { links, publisher, .. } = self;
        let waiting = links.all.iter().flat_map(|link| link.waiting());
        let waiting: BTreeSet<Handle> = waiting.collect();
        for (handle, transfer) in links.transfers.iter() {
            let state = match waiting.contains(&handle) {
                true => TransferStatus::Queued,
                false => TransferStatus::Submitted,
            };
            transfer.publish(publisher, state, "");
        }
    }

    fn forget_counts(&mut self) {
        let GridSummary { cores, running, chunks_waiting, .. } = self.count;
        self.count = GridSummary { cores, running, chunks_waiting, ..GridSummary::default() };
        for spans in [
            &mut self.waits,
            &mut self.answers,
            &mut self.assignments,
            &mut self.starts,
            &mut self.task_ends,
        ] {
            *spans = Spans::default();
        }
        self.publisher.published = self.publisher.out.len() as u64;
    }
}
