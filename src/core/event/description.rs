//! A job as its user describes it, for brokerage of NorduGrid.

use crate::record::record;
use crate::unit::Bytes;

/// A job as its user describes it (spec cms-nordugrid B.9), with what was stated beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobDescription {
    /// The description, in xRSL.
    pub text: String,
    /// Whether times are in seconds where no unit is stated, as servers have them; else minutes.
    pub server_dialect: bool,
    /// Which of the jobs of a description with several it is, from 0.
    pub job: u32,
    /// Clusters that are accepted, and with a leading minus those that are rejected (N-01 to N-05).
    pub clusters: Vec<String>,
    /// Index servers where clusters are looked for (N-03).
    pub index_servers: Vec<String>,
    /// Input files that the submitter uploads.
    pub uploads: Vec<Upload>,
}

/// An input file that the submitter uploads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upload {
    /// Name in the session directory.
    pub name: String,
    /// Size; `None`: not known.
    pub bytes: Option<Bytes>,
}

record!(Upload { name, bytes });
record!(JobDescription { text, server_dialect, job, clusters, index_servers, uploads });
