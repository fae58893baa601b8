//! ATLAS: how a chunk of a task is judged, whose jobs go to queues, and how a task is, whose output
//! is gathered at a nucleus (`task/`).
//!
//! From below: what is judged (`case`, `candidate`), how (`queues`, `filter/`, `weight/`), the
//! kinds of policy (`production`, `analysis`, `task/`), and judging with a policy that is ready
//! (`walk`, `joint`, `pipeline`). A program's own kind of policy over queues is written with `Case`
//! and `Candidate` too: `crate::policy` names them for it.

pub(crate) mod analysis;
pub(crate) mod candidate;
mod caps;
pub(crate) mod case;
mod class;
mod completeness;
pub(crate) mod divide;
mod early;
mod filter;
pub(crate) mod generic;
mod holder;
mod job_throttler;
mod joint;
pub(crate) mod judgement;
pub mod locality;
mod make;
pub mod owner;
mod pipeline;
pub(crate) mod production;
pub(crate) mod queues;
mod retired;
pub mod room;
pub mod site;
pub mod software;
mod stabilizer;
pub mod task;
pub mod throttling;
mod walk;
mod weighed;
mod weight;
pub mod work_queue;

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

pub use analysis::PREASSIGNED_REFUSED;
pub use candidate::{Candidate, LinkView, Row, Stores};
pub use case::{
    Asked, Bare, Case, Dispatch, Generic, Known, Nucleus, Preassigned, Times, WholeCopies,
};
pub use class::{TASK_CLASSES, task_class_name};
pub use generic::{FAILURES, SITE_PATTERN, UNKNOWN_QUEUE};
pub use judgement::{Candidates, Chosen, Judgement, Refused};
pub use locality::{Locality, Source};
pub use make::{Make, OneByOne};
pub use owner::{CLASSED, Owner, Slots, UserView};
pub use queues::{QueueFilter, QueueWeight, Queues};
pub use retired::RETIRED;
pub use room::Room;
pub use site::SiteRules;
pub use software::Wanted;
pub use weighed::Weighed;
