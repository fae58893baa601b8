//! Filters of ATLAS analysis jobs, where their rule is not that of production (spec atlas 8.3).

mod choice;
mod crowd;
mod list;
mod size;
mod software;
mod storage;
mod usable;

pub(crate) use list::{ANALYSIS_JOB, OF_THE_QUEUE, OF_THE_USER, USER_EARLY};
pub(crate) use usable::PREASSIGNED;
