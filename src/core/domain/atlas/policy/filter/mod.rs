//! The filters, one file each. What a filter sees is its arguments; what it gives is a verdict
//! with its figures.

mod analysis;
mod bound;
mod cap;
mod cap_rt;
mod connectivity;
mod cpucore;
mod disk_io;
mod event_service;
mod full_chain;
mod generic;
mod inactive;
mod io;
mod io_intensity;
mod jumbo;
mod last;
mod link;
mod list;
mod memory;
mod nopilot;
mod nucleus_queue;
mod opportunistic;
mod pledge;
mod remoteio;
mod room;
mod scratch;
mod software;
mod status;
mod storage;
mod t1weight;
mod transferring;
mod walltime;
mod zeroshare;

pub(super) use analysis::{
    ANALYSIS_JOB, OF_THE_QUEUE as OF_THE_ANALYSIS_QUEUE, OF_THE_USER, PREASSIGNED, USER_EARLY,
};
pub(super) use bound::Boundary;
pub(super) use generic::{FAILURES, GENERIC_JOB, NO_QUEUE_FITS, OF_THE_GENERIC_QUEUE, UNLISTED};
pub(super) use list::{OF_THE_MAKE, OF_THE_QUEUE, PRODUCTION_JOB, TASK_DRY_RUN};
