//! Task parameters that steer brokerage.

use crate::record::{record, symbols};
use crate::unit::Millis;

/// Part in a full chain: a workflow that stays at one nucleus (spec atlas 7). The numbers are
/// persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FullChain {
    /// None.
    #[default]
    No = 0,
    /// Only at a nucleus for full chains alone.
    Only = 1,
    /// At a nucleus that takes full chains.
    Require = 2,
    /// Where its parent is, if that is such a nucleus; else as any task.
    Capable = 3,
}

impl FullChain {
    /// Every part, in order of their numbers.
    pub const ALL: [FullChain; 4] =
        [FullChain::No, FullChain::Only, FullChain::Require, FullChain::Capable];
}

/// Parameters of a task that few tasks set (spec atlas 12.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Weight of queues at the nucleus; below 0: only those (spec atlas 2.5.4, F19b).
    pub t1_weight: i32,
    /// Whether its output is merged (spec atlas F5).
    pub merge_output: bool,
    /// Platform and hardware it needs (spec atlas 3.2).
    pub architecture: String,
    /// Release, `project-version` (spec atlas 3.8).
    pub trans_home: String,
    /// Older form of the release (spec atlas 3.8).
    pub trans_uses: String,
    /// Container it runs in (spec atlas 3.7).
    pub container_name: String,
    /// Whether its container must be a published tag (onlyTagsForFC).
    pub only_tags: bool,
    /// Network it needs, `net#ip` (spec atlas F16).
    pub ip_connectivity: String,
    /// Whether input must be read directly over the LAN (allowInputLAN = only).
    pub input_lan_only: bool,
    /// Whether input may be read over the WAN.
    pub input_wan: bool,
    /// Part in a full chain (spec atlas 7).
    pub full_chain: FullChain,
    /// Task it was made of; empty or its own name when there is none.
    pub parent_task: String,
    /// Whether its input is brought to disk beforehand (spec atlas 1.6).
    pub input_prestaging: bool,
    /// Whether only the primary dataset counts for locality (taskBrokerOnMaster).
    pub primary_only: bool,
    /// Whether it is an event service task (spec atlas F17).
    pub event_service: bool,
    /// Whether each job runs at several queues at once.
    pub job_cloning: bool,
    /// Event service: consumers per job.
    pub es_consumers: Option<u32>,
    /// Event service: attempts per job.
    pub es_attempts_max: Option<u32>,
    /// Fewest events of a job whose number of events is set as it starts (spec atlas 2.4).
    pub dynamic_events: Option<u64>,
    /// Most events of a job.
    pub events_per_job_max: Option<u64>,
    /// Longest run of events without a gap in its input.
    pub longest_event_run: u64,
    /// Whether it has jumbo jobs (spec atlas F7).
    pub jumbo: bool,
    /// Events that are ready to be processed.
    pub ready_events: Option<u64>,
    /// Whether neither its CPU time nor its walltime is known (spec atlas 2.4).
    pub walltime_unknown: bool,
    /// Since when it made no progress.
    pub frozen_at: Option<Millis>,
    /// Queue the chunk is bound to: merging of files that lie there (spec atlas 2.1).
    pub chunk_site: String,
    /// Queues it must not use, `*` for any letters (spec atlas G14).
    pub excluded_sites: Vec<String>,
    /// Queues it may use; empty: all (spec atlas G14).
    pub included_sites: Vec<String>,
    /// Whether queues with virtual placement are avoided (spec atlas G6).
    pub avoid_vp: bool,
    /// Cloud it is bound to; empty: any.
    pub cloud: String,
    /// Whether it starts with part of its input (allowIncompleteInDS).
    pub incomplete_input: bool,
    /// Queues each job runs at.
    pub sites_per_job: Option<u32>,
    /// Input of one job; GB of 1024^3 bytes.
    pub gb_per_job: Option<u32>,
    /// Queues that have jobs of it already (spec atlas 8.7).
    pub used_queues: Vec<String>,
    /// Events not processed yet: the work that remains (spec atlas 1.2).
    pub remaining_events: u64,
    /// Input files that are done (spec atlas 8.1.2).
    pub finished_files: u64,
    /// Input files that are not.
    pub remaining_files: u64,
    /// Jobs that remain.
    pub remaining_jobs: u64,
    /// Events that each job processes: `remaining_events` falls by so many with each job that
    /// finishes. `None`: it holds until it is stated again.
    pub events_per_job: Option<u64>,
    /// Whether its jobs stay at their queues: no timeout closes one to broker it again (spec atlas
    /// 5).
    pub disable_reassign: bool,
    /// Whether the chunk is of jumbo jobs alone or stands in for them (useJumbo `only`, `fake`):
    /// queues for jumbo jobs take its jobs too (spec atlas F7).
    pub jumbo_chunk: bool,
    /// Whether a merge chunk is one of scouts (spec atlas 2.4).
    pub merge_scout: bool,
    /// Whether the task still is to have scouts (useScout): virtual copies do not count (spec atlas
    /// G6).
    pub scouts_due: bool,
    /// Whether it optimizes hyper-parameters: a GPU queue takes it without a platform (spec atlas
    /// G8).
    pub hpo_workflow: bool,
    /// Whether its CPU time is in HS06 s per event, known or not (spec atlas 2.4).
    pub cpu_in_hs06: bool,
    /// Site whose queues alone it may use (PandaSite); empty: any (spec panda-generic F1b).
    pub panda_site: String,
    /// Walltime as it states it, whatever else states the length of its jobs; s. 0: not stated
    /// (spec panda-generic F4).
    pub walltime_s: i32,
}

symbols!(FullChain);
record!(Options {
    t1_weight,
    merge_output,
    architecture,
    trans_home,
    trans_uses,
    container_name,
    only_tags,
    ip_connectivity,
    input_lan_only,
    input_wan,
    full_chain,
    parent_task,
    input_prestaging,
    primary_only,
    event_service,
    job_cloning,
    es_consumers,
    es_attempts_max,
    dynamic_events,
    events_per_job_max,
    longest_event_run,
    jumbo,
    ready_events,
    walltime_unknown,
    frozen_at,
    chunk_site,
    excluded_sites,
    included_sites,
    avoid_vp,
    cloud,
    incomplete_input,
    sites_per_job,
    gb_per_job,
    used_queues,
    remaining_events,
    finished_files,
    remaining_files,
    remaining_jobs,
    events_per_job,
    disable_reassign,
    jumbo_chunk,
    merge_scout,
    scouts_due,
    hpo_workflow,
    cpu_in_hs06,
    panda_site,
    walltime_s,
});
