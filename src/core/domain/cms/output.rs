//! Which job got slots that a pilot offered.

use crate::event::Band;
use crate::event::{Class, Resource};
use crate::record::record;

/// A job that got a place of an offer (spec cms-nordugrid A.8, C.4). Its workflow is the decision's
/// task, its user and working group the decision's, its site the queue that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// The job.
    pub job: String,
    /// Which attempt of the job.
    pub job_attempt: u32,
    /// Its class.
    pub class: Class,
    /// The band it was chosen in.
    pub band: Band,
    /// Node of the offer; empty: not known.
    pub node: String,
    /// Cores it gets.
    pub cores: i64,
    /// Weight: cores by power, thousandths (F-1, C-33).
    pub weight_milli: i64,
    /// The part of the weight that counts in its user's fair share (CD-10).
    pub usage_milli: i64,
    /// Its run time at so many cores, s.
    pub wall_time_s: i64,
    /// Its memory at so many cores, MB.
    pub rss_mb: i64,
    /// The site whose storage serves it, where it overflows; else empty (C-39).
    pub overflow_source: String,
    /// Slots of that site's overflow limit that it uses (C-43).
    pub overflow_cost: i64,
    /// The restricted pool that is charged; else empty (C-30).
    pub charged_group: String,
    /// The storage that a HighIO job reads; else empty (C-44).
    pub io_source: String,
    /// Amounts of named resources that it takes.
    pub resources: Vec<Resource<String>>,
    /// Rules that were relaxed for it: `surplus` (C-28), `overflow` (C-41), `drained` (C-55).
    pub relaxed: Vec<String>,
    /// The job that came second; `None`: no other fits.
    pub second: Option<SecondJob>,
}

/// The job that would have got the slots otherwise, and by how much it came second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondJob {
    /// The job.
    pub job: String,
    /// Its workflow.
    pub workflow: String,
    /// The first rank key in which both differ; `job`: their names decided.
    pub key: String,
    /// The key's value of the job that got the slots.
    pub of_match: String,
    /// The key's value of this one.
    pub of_second: String,
}

record!(Matched {
    job,
    job_attempt,
    class,
    band,
    node,
    cores,
    weight_milli,
    usage_milli,
    wall_time_s,
    rss_mb,
    overflow_source,
    overflow_cost,
    charged_group,
    io_source,
    resources,
    relaxed,
    second,
});
record!(SecondJob { job, workflow, key, of_match, of_second });
