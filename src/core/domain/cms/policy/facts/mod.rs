//! The facts that the policy of the CMS global queue decides by (spec cms-nordugrid A.2). Times are
//! seconds since the epoch; weights are thousandths of a core of the reference power; memory is MB.

mod class;
mod job;
mod workflow;

pub use class::{Class, MilliWeight, PerClass, Seconds, seconds};
pub use job::{Band, CoresMax, FailureClass, HeldJob, PendingJob};
pub use workflow::Workflow;

pub use crate::event::{ExtraBlock, SiteStatus, SlotQuota, Tier};
