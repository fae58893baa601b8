//! `submit --wait`: jobs are handed over to the clusters that decisions name, and followed to their
//! ends.

pub(super) mod args;
#[cfg(feature = "tls")]
mod carry;
#[cfg(feature = "tls")]
mod clusters;
#[cfg(feature = "tls")]
mod decision_log;
#[cfg(feature = "tls")]
mod fetched;
#[cfg(feature = "tls")]
mod job;
#[cfg(feature = "tls")]
mod lines;
#[cfg(feature = "tls")]
mod resumed;
#[cfg(feature = "tls")]
mod waiting;

use crate::cli::Ended;
use crate::cli::import::Entry;
use crate::cli::log_args::{LogArgs, Read};
use args::WaitArgs;
use std::path::PathBuf;
use yardmaster_core::event::Task;

/// A submission that is waited for.
pub(super) struct Submission<'a> {
    pub log_args: &'a LogArgs,
    pub read: &'a Read,
    pub args: &'a WaitArgs,
    /// Where files are that are uploaded.
    pub files: PathBuf,
}

impl Submission<'_> {
    /// Publishes the records of tasks, and waits until their jobs are over.
    ///
    /// # Errors
    /// Credentials that are of no use, a file that is to be uploaded and is not there, a log that
    /// cannot be read or written.
    #[cfg(feature = "tls")]
    pub fn submit(&self, tasks: &[Task], entries: &[Entry]) -> Ended {
        waiting::WaitedJobs::submit(self, tasks, entries)?.run()
    }

    /// Goes on with the jobs of an id.
    ///
    /// # Errors
    /// As [`Submission::submit`]; or the log has no such job.
    #[cfg(feature = "tls")]
    pub fn resume(&self, name: &str) -> Ended {
        waiting::WaitedJobs::resume(self, name)?.run()
    }

    /// Never comes so far: the flags are refused.
    #[cfg(not(feature = "tls"))]
    pub fn submit(&self, _: &[Task], _: &[Entry]) -> Ended {
        Ok(std::process::ExitCode::FAILURE)
    }

    /// See the other.
    #[cfg(not(feature = "tls"))]
    pub fn resume(&self, _: &str) -> Ended {
        Ok(std::process::ExitCode::FAILURE)
    }
}
