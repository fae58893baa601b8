//! Filters of PanDA's generic jobs (spec panda-generic 1.1).

mod input;
mod list;
mod place;
mod size;

pub(crate) use input::UNLISTED;
pub(crate) use list::{FAILURES, GENERIC_JOB, NO_QUEUE_FITS, OF_THE_GENERIC_QUEUE};
