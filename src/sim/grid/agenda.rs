//! What will happen, in order of time; what happens at one moment, in the order it was planned.

use super::pool::Handle;
use crate::core::unit::Millis;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Planned {
    /// The grid publishes what it is made of.
    Begins,
    /// A task arrives.
    TaskArrives,
    /// A chunk asks for queues.
    ChunkAsks(Handle),
    /// An answer to a chunk is carried out.
    Answered(Handle),
    /// A job goes on to what follows its state.
    JobStep(Handle),
    /// A running job gives a sign of life.
    Heartbeat(Handle),
    /// A user or operator kills a job.
    Killed(Handle),
    /// A transfer goes on to what follows its state.
    TransferStep(Handle),
    /// Pilots of a queue fetch jobs.
    Fetch(u32),
    /// Pilots of a queue look for jobs, whether there are any or not.
    Look(u32),
    /// A harvester reports the workers of a queue.
    Workers(u32),
    /// A queue goes out of service.
    GoesDown(u32),
    /// The waiting jobs of a queue that is still out of service are taken away.
    Cleared(u32),
    /// A queue comes back into service.
    ComesBack(u32),
    /// A link is measured.
    LinkMeasured(u32),
    /// Storage endpoints are measured.
    StorageMeasured,
    /// The import of the queues finds them as they are.
    QueuesConfirmed,
    /// A span of the grid's use ends.
    UseSpan,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(Millis, u64, Planned)>>,
    planned: u64,
}

impl Agenda {
    /// Plans something for a time.
    pub fn plan(&mut self, at: Millis, what: Planned) {
        self.planned += 1;
        self.heap.push(Reverse((at, self.planned, what)));
    }

    /// The next thing at or before a time.
    pub fn next(&mut self, until: Millis) -> Option<(Millis, Planned)> {
        let Reverse((at, _, _)) = self.heap.peek()?;
        if *at > until {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, what))| (at, what))
    }
}
