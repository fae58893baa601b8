//! The weights, one file each: figures first, then factors. Only + - * / and sqrt, so that the
//! bytes agree on every machine; never NaN, never infinite.

mod analysis;
mod basic;
mod data;
mod figure;
mod generic;
mod list;
mod network;
mod nucleus;
mod running;

pub(super) use list::{ANALYSIS_JOB, GENERIC_JOB, PRODUCTION_JOB};
