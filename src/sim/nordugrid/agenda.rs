//! Events that can be planned.

use crate::grid::Handle;

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NordugridStep {
    /// The catalogue of files and the contents of caches are published.
    Begins,
    /// An index server registers at those above it.
    IndexRegisters(u32),
    /// A cluster registers at its index server.
    ClusterRegisters(u32),
    /// A cluster is asked what it has.
    Asked(u32),
    /// The answer of a cluster arrives.
    Arrives(u32),
    /// Jobs of local users begin or end at a queue.
    LocalLoad(u32),
    /// A cluster goes inactive, or answers no more.
    GoesDown(u32),
    /// It is back.
    ComesBack(u32),
    /// A registration is taken away, and comes back later.
    Purged(u32),
    /// A user submits a job.
    Submitted,
    /// A decision on a job is carried out.
    Answered(Handle),
    /// A job goes on to what follows its state.
    Step(Handle),
    /// A user gives a job up that gives no sign.
    GivenUp(Handle),
}
