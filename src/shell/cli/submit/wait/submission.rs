//! A submission that is waited for.

use super::args::WaitArgs;
use super::job::{LastRead, SubmittedJob};
use crate::cli::log_args::{LogArgs, Read};
use std::path::PathBuf;
use yardmaster_core::event::Task;

/// A submission that is waited for.
pub struct Submission<'a> {
    /// Where the log is.
    pub log_args: &'a LogArgs,
    /// Its topology.
    pub read: &'a Read,
    /// How jobs are handed over.
    pub args: &'a WaitArgs,
    /// Where files are that are uploaded.
    pub files: PathBuf,
    /// Who submits, where that is stated.
    pub user: Option<&'a str>,
    /// Whether the description is read from the log, where others may write, too.
    pub is_from_log: bool,
}

impl Submission<'_> {
    /// A job of it; `read` has the description that was read last.
    ///
    /// # Errors
    /// The description is none, or has no such job.
    pub(super) fn job(&self, task: Task, read: &mut LastRead) -> anyhow::Result<SubmittedJob> {
        let job = SubmittedJob::new(task, self.files.clone(), read)?;
        Ok(SubmittedJob { retries: self.args.retries, is_shared: self.is_from_log, ..job })
    }
}
