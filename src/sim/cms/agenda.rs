//! Events that can be planned.

use crate::grid::Handle;

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CmsStep {
    /// Sites, users and grants are published.
    Begins,
    /// A pilot starts on a node.
    PilotStarts(u32),
    /// The pilot of a number on a node announces what is free.
    Announces(u32, u64),
    /// The announcement of a pilot runs out.
    RunsOut(u32, u64),
    /// A pilot takes no more jobs, and later ends.
    PilotCloses(u32, u64),
    /// A pilot is over.
    PilotEnds(u32, u64),
    /// A pilot is lost with its jobs.
    PilotIsLost(u32, u64),
    /// A node that is drained takes back what it offers.
    Withdraws(u32),
    /// Operations inject central work.
    CentralArrives,
    /// Operations inject work that reads heavily.
    SkimArrives,
    /// A workflow arrives that something is wrong with, or that is rare: by number.
    RareArrives(u32),
    /// A user without steady demand submits work.
    UserSubmits(u32),
    /// A user with steady demand submits more, if little of it waits.
    UserGoesOn(u32),
    /// The record of a workflow is published.
    RecordArrives(Handle),
    /// A user ends a workflow.
    UserKills(Handle),
    /// Priorities are changed.
    PriorityChanges,
    /// A priority that was overtaken is published late.
    LatePriority(Handle),
    /// A job that cannot be is submitted.
    BadJob,
    /// A match is taken up, by the job's attempt.
    Starts(Handle, u32),
    /// A match is not taken up.
    NeverStarts(Handle, u32),
    /// A job that was held is released, by its attempt.
    Released(Handle, u32),
    /// A job ends.
    Ends(Handle, u32),
    /// A job is submitted again after a failure.
    TriesAgain(Handle),
    /// A site changes its status, and is back later.
    StatusChanges,
    /// A site is online again.
    ComesBack(u32),
    /// A site makes jobs fail for a while.
    SiteFails,
    /// A site publishes another pledge; one of them cannot be.
    PledgeChanges(u32),
}
