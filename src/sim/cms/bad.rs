//! Jobs that cannot be: each code of admission has its own (A.9).

use super::Cms;
use super::agenda::CmsStep;
use super::jobs::{Bad, CmsJob, CmsStage};
use super::work::{JobRequirements, Kind};
use std::sync::Arc;
use yardmaster_core::event::Class;
use yardmaster_core::unit::{MINUTE, Millis};

/// The codes, in turn.
const CODES: [&str; 8] = [
    "class_conflict",
    "no_workflow",
    "workflow_unknown",
    "empty_whitelist",
    "highio_without_whitelist",
    "system_flag_unauthorised",
    "bad_core_request",
    "bad_resource_request",
];
/// How often one comes.
const OFTEN: (Millis, Millis) = (MINUTE, 5 * MINUTE);
/// Place in its workflow: beyond all others.
const SEQ: i64 = 1_000_000;

impl Cms {
    /// A job that cannot be is submitted.
    pub(super) fn bad_job(&mut self) {
        if self.now < self.end {
            self.after_between(OFTEN.0, OFTEN.1, CmsStep::BadJob);
        }
        let known = self.workflows.iter();
        let known = known.map(|(_, it)| it).find(|it| it.kind == Kind::Analysis && it.is_known);
        let Some(workflow) = known else { return };
        self.bad_jobs += 1;
        let code = CODES[self.bad_jobs as usize % CODES.len()];
        let name = format!("bad-{:06}", self.bad_jobs);
        let wanted = spoilt(code, &workflow.wanted);
        let stated = match code {
            "no_workflow" => String::new(),
            "workflow_unknown" => format!("lost-{:06}", self.bad_jobs),
            _ => workflow.name.clone(),
        };
        let user = self.users[workflow.user].name.clone();
        let job = CmsJob {
            name: name.clone(),
            workflow: None,
            seq: SEQ + self.bad_jobs,
            wanted: Arc::new(wanted),
            runs_s: 60,
            attempt: 0,
            created_at: self.now,
            stage: CmsStage::Waiting,
            holding: None,
            matched: None,
            started_at: 0,
            fails: None,
            last_failure: None,
            bad: Some(Bad { code, workflow: stated, user }),
        };
        let handle = self.jobs.insert(job);
        self.job_by_name.insert(name, handle);
        self.count.bad_jobs += 1;
        self.waits(handle);
    }
}

/// Requirements of a job that is to be rejected by a code.
fn spoilt(code: &str, good: &JobRequirements) -> JobRequirements {
    let good = good.clone();
    let cores_min = good.cores_min;
    let bare = JobRequirements { sites: None, whitelist: None, ..good.clone() };
    match code {
        "class_conflict" => JobRequirements { class: Some(Class::Central), ..good },
        "empty_whitelist" => JobRequirements { whitelist: Some(String::new()), ..bare },
        "highio_without_whitelist" => JobRequirements { high_io: true, ..bare },
        "system_flag_unauthorised" => JobRequirements { system_job: true, ..good },
        "bad_core_request" => {
            JobRequirements { cores_min: cores_min + 1, cores_max: Some(cores_min), ..good }
        }
        "bad_resource_request" => JobRequirements { max_rss_mb: Some(0), ..good },
        _ => good,
    }
}
