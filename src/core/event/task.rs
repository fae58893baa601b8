//! Requests, and the ends of the answers to them.

use super::description::JobDescription;
use super::input::{Input, OutputDataset};
use super::options::Options;
use crate::domain::cms::event::pool::WorkflowFacts;
use crate::output::id::DecisionId;
use crate::record::{Derived, Quantity, record, symbols};
use crate::unit::{Bytes, Cores, Millis};

/// The phase of a request at the workload system. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TaskPhase {
    /// An answer is wanted.
    #[default]
    Asking = 0,
    /// Nothing is wanted any more: the task ended, or took its request back.
    Ended = 1,
}

/// Kind of the jobs that a chunk makes. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ChunkKind {
    /// Ordinary jobs.
    #[default]
    Normal = 0,
    /// The first small jobs of a task.
    Scout = 1,
    /// Merge jobs of pre-merged files.
    Merge = 2,
}

/// Unit of a task's memory figure. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RamUnit {
    /// MB for the whole job.
    #[default]
    Mb = 0,
    /// MB for each core.
    MbPerCore = 1,
}

/// The part of a chunk's input that lies at one storage endpoint, as of the asking.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplicaSummary {
    /// Storage endpoint.
    pub endpoint: String,
    /// Distinct files of the chunk there.
    pub files: u32,
    /// Their size.
    pub bytes: Bytes,
    /// Whether the endpoint is tape.
    pub tape: bool,
}

/// A task, or a chunk of it, asks for brokerage. (subject, attempt) is a request; the record
/// carries all that the policies need to know of it. Absent figures are `None`; absent text is
/// empty (spec atlas 12.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Name of what asks: a task id, or task id and chunk id with a slash between.
    pub subject: String,
    /// Which asking of that subject this is, from 0.
    pub attempt: u64,
    /// Name of the task.
    pub task: String,
    /// Domain (VO or pool) whose policies answer.
    pub domain: String,
    /// Policy that is to answer (`production-job`).
    pub policy: String,
    /// Whether an answer is wanted.
    pub phase: TaskPhase,
    /// When it first asked, by its own clock.
    pub asked_at: Millis,
    /// When this was last changed, by its own clock.
    pub changed_at: Millis,
    /// Raised when the same is published again with more known.
    pub revision: u32,
    /// Kind of jobs.
    pub chunk: ChunkKind,
    /// Number of jobs the chunk makes.
    pub jobs: u32,
    /// Current priority.
    pub priority: i32,
    /// Priority the task was given.
    pub task_priority: i32,
    /// Production source label (managed, user, test ...).
    pub label: String,
    /// Processing type (simul, evgen, urgent ...).
    pub processing_type: String,
    /// Working group.
    pub working_group: String,
    /// Campaign (mc23e ...).
    pub campaign: String,
    /// Path of the transformation.
    pub trans_path: String,
    /// User.
    pub user: String,
    /// Leaf of the global share tree; empty: the one that the rules of the tree give.
    pub gshare: String,
    /// Resource type.
    pub resource_type: String,
    /// Nucleus the output goes to.
    pub nucleus: String,
    /// Pre-assigned queues, comma separated.
    pub site: String,
    /// Cores a job wants: 1 single, 0 any, more: multi-core.
    pub core_count: Option<Cores>,
    /// Cores a merge job wants.
    pub merge_core_count: Option<Cores>,
    /// Most cores a job can use.
    pub max_core_count: Option<Cores>,
    /// Memory; see `ram_unit`.
    pub ram_count_mb: Option<u32>,
    /// The thing that `ram_count_mb` is for.
    pub ram_unit: RamUnit,
    /// Memory that does not grow with cores; MB.
    pub base_ram_mb: Option<u32>,
    /// Memory of a merge job; MB.
    pub merge_ram_mb: Option<u32>,
    /// CPU time of one event; HS06 s.
    pub cpu_hs06s_per_event: Option<f64>,
    /// CPU efficiency; %.
    pub cpu_efficiency: Option<u32>,
    /// Walltime that does not grow with events; s.
    pub base_walltime_s: Option<u32>,
    /// Walltime of one MB of input, where no CPU time is known; s.
    pub walltime_s_per_mb: Option<f64>,
    /// Output of one event; bytes. Wins over `output_per_mb`.
    pub output_per_event: Option<f64>,
    /// Output of one MB of input; bytes.
    pub output_per_mb: Option<f64>,
    /// Scratch space that does not grow with input; bytes.
    pub work_bytes: Option<Bytes>,
    /// Disk I/O of a job; kB/s.
    pub disk_io_kbps: Option<u32>,
    /// Input rate while it runs; kB/s.
    pub io_intensity_kbps: Option<u32>,
    /// Largest input of one job; bytes (spec atlas 0.4, atomBytes).
    pub atom_bytes: Bytes,
    /// Largest effective input of one job; MB (spec atlas 0.4, atomEffMB).
    pub atom_effective_mb: f64,
    /// Most events of one job (spec atlas 0.4, atomEvents).
    pub atom_events: u64,
    /// Size of the chunk's input.
    pub total_bytes: Bytes,
    /// Distinct files of the chunk's input.
    pub total_files: u32,
    /// Input may be read over the LAN where the queue allows it (allowInputLAN is set).
    pub allow_input_lan: bool,
    /// Input must be copied to scratch.
    pub use_local_io: bool,
    /// Where the input lies, by endpoint; used where `input` is empty.
    pub replicas: Vec<ReplicaSummary>,
    /// Task parameters that steer brokerage and that few tasks set.
    pub options: Options,
    /// The input in detail.
    pub input: Input,
    /// Datasets the task writes.
    pub output: Vec<OutputDataset>,
    /// The job as its user describes it; `None` where the fields above say what is wanted.
    pub description: Option<JobDescription>,
    /// The workflow of a pool of slots that it is; `None`: it is a request to be answered.
    pub workflow: Option<WorkflowFacts>,
    /// Figures that cannot be, with their names, as stated, and how they were read. Made by the
    /// reader that reads the record; no field of it.
    pub impossible: Vec<String>,
}

impl Task {
    /// Whether its jobs are scouts, those of a merge chunk too.
    pub fn has_scouts(&self) -> bool {
        self.chunk == ChunkKind::Scout || self.options.merge_scout
    }

    /// Names of queues that are blank are none: a list left empty comes as `[""]` or `","`.
    pub(crate) fn drop_blanks(&mut self) {
        let options = &mut self.options;
        for list in
            [&mut options.included_sites, &mut options.excluded_sites, &mut options.used_queues]
        {
            list.retain(|name| !name.trim().is_empty());
        }
        if self.site.split(',').all(|name| name.trim().is_empty()) {
            self.site.clear();
        }
    }

    /// Cores that each of its jobs has at a queue whose slots have so many (spec atlas F9); at
    /// least 1.
    pub fn cores_at(&self, queue: Cores) -> Cores {
        let stated = match (self.chunk, self.merge_core_count) {
            (ChunkKind::Merge, Some(cores)) => Some(cores),
            (ChunkKind::Merge, None) | (ChunkKind::Normal | ChunkKind::Scout, _) => self.core_count,
        };
        match stated {
            None => 1,
            Some(0) => queue.max(1),
            Some(cores) => cores,
        }
    }
}

/// The thing that an outcome is about. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum OutcomeAbout {
    /// A decision.
    #[default]
    Decision = 0,
    /// A command.
    Command = 1,
}

impl OutcomeAbout {
    /// Both, in order of their numbers.
    pub const ALL: [OutcomeAbout; 2] = [OutcomeAbout::Decision, OutcomeAbout::Command];
}

/// The end of a decision or command. The numbers are persisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OutcomeKind {
    /// Carried out: all its jobs are generated.
    Accepted = 0,
    /// Not carried out, on purpose.
    Refused = 1,
    /// Not carried out, for a fault.
    Failed = 2,
    /// Not carried out in time.
    Expired = 3,
}

/// The end of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionOutcome {
    /// Subject the decision was about.
    pub subject: String,
    /// The decision or command, by its id.
    pub decision: DecisionId,
    /// Which of both it is about.
    pub about: OutcomeAbout,
    /// Its end.
    pub kind: OutcomeKind,
    /// When, by its own clock.
    pub at: Millis,
    /// Why, for a reader.
    pub reason: String,
}

record!(DecisionOutcome { subject, decision, kind, at, reason, about });
symbols!(TaskPhase: [Asking, Ended]);
symbols!(ChunkKind: [Normal, Scout, Merge]);
symbols!(RamUnit: [Mb, MbPerCore]);
symbols!(OutcomeKind: [Accepted, Refused, Failed, Expired]);
symbols!(OutcomeAbout);
record!(ReplicaSummary { endpoint, files, bytes, tape });
record!(Task {
    subject,
    attempt,
    task,
    domain,
    policy,
    phase,
    asked_at,
    changed_at,
    revision,
    chunk,
    jobs,
    priority,
    task_priority,
    label,
    processing_type,
    working_group,
    campaign,
    trans_path,
    user,
    gshare,
    resource_type,
    nucleus,
    site,
    core_count,
    merge_core_count,
    max_core_count,
    ram_count_mb,
    ram_unit,
    base_ram_mb,
    merge_ram_mb,
    cpu_hs06s_per_event as Quantity,
    cpu_efficiency,
    base_walltime_s,
    walltime_s_per_mb as Quantity,
    output_per_event as Quantity,
    output_per_mb as Quantity,
    work_bytes,
    disk_io_kbps,
    io_intensity_kbps,
    atom_bytes,
    atom_effective_mb as Quantity,
    atom_events,
    total_bytes,
    total_files,
    allow_input_lan,
    use_local_io,
    replicas,
    options,
    input,
    output,
    description,
    workflow,
    impossible as Derived,
});
