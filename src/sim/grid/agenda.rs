//! Events that can be planned.

use super::pool::Handle;

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GridStep {
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
