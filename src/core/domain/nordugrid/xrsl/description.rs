//! The meaning of a job description: jobs, each with alternatives in the order in which they are
//! tried (B.9).

use super::note::ReadingNote;
use super::{NoteCode, Relation};
use std::collections::BTreeSet;

/// A description that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Jobs in written order; `+` makes more than one. Each is a list of alternatives in written
    /// order, at least one, of which the first that any target accepts is used.
    pub jobs: Vec<Vec<Alternative>>,
}

/// A value without variables and joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A list in parentheses.
    List(Vec<Value>),
}

/// An attribute of an alternative, after substitution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Name in lower case without underscores.
    pub name: String,
    /// Relation.
    pub relation: Relation,
    /// Values; there may be none.
    pub values: Vec<Value>,
}

/// A name and whether it is asked for (`=`) or refused (`!=`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameCondition {
    /// `=` or `!=`.
    pub relation: Relation,
    /// Name of a cluster, queue or architecture, as written.
    pub name: String,
}

/// A condition on software that a cluster publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoftwareCondition {
    /// How what is published must compare with this.
    pub relation: Relation,
    /// Name without version.
    pub name: String,
    /// Version; empty: none.
    pub version: String,
}

/// Network access of a node (attribute `nodeaccess`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeAccess {
    /// Connections from outside reach the node.
    Inbound,
    /// The node reaches the outside.
    Outbound,
}

impl NodeAccess {
    /// Its word in xRSL.
    pub fn name(self) -> &'static str {
        match self {
            NodeAccess::Inbound => "inbound",
            NodeAccess::Outbound => "outbound",
        }
    }
}

/// Whether and how an input file may be taken from a cluster's cache (option `cache`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheOption {
    /// Cached and linked.
    #[default]
    Yes,
    /// Not cached.
    No,
    /// Cached and copied to the session directory.
    Copy,
    /// Fetched again, whatever the cache holds.
    Renew,
    /// Checked against its source whenever it is used.
    Check,
    /// Never checked again after the first time.
    Invariant,
}

impl CacheOption {
    /// Every option.
    pub const ALL: [CacheOption; 6] = [
        CacheOption::Yes,
        CacheOption::No,
        CacheOption::Copy,
        CacheOption::Renew,
        CacheOption::Check,
        CacheOption::Invariant,
    ];

    /// Its word in xRSL.
    pub fn name(self) -> &'static str {
        match self {
            CacheOption::Yes => "yes",
            CacheOption::No => "no",
            CacheOption::Copy => "copy",
            CacheOption::Renew => "renew",
            CacheOption::Check => "check",
            CacheOption::Invariant => "invariant",
        }
    }
}

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Name in the session directory.
    pub name: String,
    /// The URL it comes from, without options; empty: the submitter uploads it.
    pub source: String,
    /// Where the submitter has it; empty: it is not uploaded.
    pub path: String,
    /// Whether the job lists it under `executables`.
    pub executable: bool,
    /// Effective option: its own, else the general one unless it is an executable, else yes.
    pub cache: CacheOption,
    /// Whether only clusters that hold it locally will do (`local=yes`).
    pub local: bool,
}

/// One alternative of a job: what the job asks for if this one is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alternative {
    /// Every attribute in written order after substitution, unknown ones included.
    pub attributes: Vec<Attribute>,
    /// Slots; at least 1.
    pub count: u64,
    /// Whether `count` was given.
    pub count_given: bool,
    /// CPU time of the whole job; s.
    pub cpu_time_s: Option<u64>,
    /// Wall time; s.
    pub wall_time_s: Option<u64>,
    /// CPU time of the whole job on a CPU of 2800 MHz; s.
    pub grid_time_s: Option<u64>,
    /// Memory of a slot; MB.
    pub memory_mb: Option<u64>,
    /// Disk beyond the input files; bytes.
    pub disk_bytes: u64,
    /// Conditions on the cluster; every one must hold.
    pub cluster: Vec<NameCondition>,
    /// Conditions on the queue; every one must hold.
    pub queue: Vec<NameCondition>,
    /// Conditions on the architecture; every one must hold.
    pub architecture: Vec<NameCondition>,
    /// Conditions on the middleware; every one must hold.
    pub middleware: Vec<SoftwareCondition>,
    /// Conditions on runtime environments; every one must hold.
    pub runtime_environment: Vec<SoftwareCondition>,
    /// Conditions on the operating system; every one must hold.
    pub operating_system: Vec<SoftwareCondition>,
    /// Network access that nodes must give; `None`: not asked for.
    pub node_access: Option<BTreeSet<NodeAccess>>,
    /// Input files in written order.
    pub input_files: Vec<InputFile>,
    /// Names of files that the submitter uploads although `input_files` does not have them: the
    /// program and its standard input, where they are relative paths.
    pub implied_uploads: Vec<String>,
    /// Slots on one node.
    pub count_per_node: Option<u64>,
    /// Whether the job wants whole nodes; `None`: not stated.
    pub exclusive_execution: Option<bool>,
    /// Priority, at most 100.
    pub priority: Option<i64>,
    /// Names of attributes that are not known: ignored, with a note. Each once, in order of first
    /// mention.
    pub unknown_attributes: Vec<String>,
    /// Notes on how attributes are read, each once, in order of first mention.
    pub notes: Vec<ReadingNote>,
}

impl Alternative {
    /// Adds a note that it does not have.
    pub(super) fn note(&mut self, code: NoteCode, attribute: &str) {
        let note = ReadingNote { code, attribute: attribute.to_owned() };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
