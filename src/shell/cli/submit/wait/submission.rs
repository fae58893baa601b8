//! A submission that is waited for.

use super::args::WaitArgs;
use crate::cli::log_args::{LogArgs, Read};
use std::path::PathBuf;

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
