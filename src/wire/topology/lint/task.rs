//! Policies whose candidates are nuclei: what no nucleus can fulfil, and which policy of jobs their
//! dry run has.

use super::finding::{Findings, Report};
use super::part::{Part, filter};
use crate::topology::Topology;
use yardmaster_core::policy::{PolicySpec, kind};

/// The kind of policy that the dry run of nuclei takes its filters from (spec atlas N7).
const JOBS: &str = "atlas-production-job";

/// Looks at a policy if its candidates are nuclei.
pub(super) fn look(found: &mut Findings, topology: &Topology, policy: &PolicySpec) {
    if !kind(&policy.kind).is_some_and(|kind| kind.judges_nuclei()) {
        return;
    }
    if let Some(locality) = filter(policy, "locality") {
        for param in ["INPUT_SIZE_FRACTION", "INPUT_NUM_FRACTION"] {
            fraction(found, &locality, param);
        }
    }
    if filter(policy, "job").is_some_and(|job| job.is("checked", "true")) {
        dry_run(found, topology, policy);
    }
}

fn fraction(found: &mut Findings, locality: &Part<'_>, param: &str) {
    let Some(percent) = locality.value(param) else { return };
    // With `above`, all of the input is not enough where all of it is asked for.
    if percent > 100.0 || percent == 100.0 && locality.is("boundary", "\"above\"") {
        found.error(
            &locality.path(param),
            Report {
                code: "contradiction",
                found: format!("{} is {percent} %", locality.place(param)),
                why: "no nucleus has more than all of the input: every one is refused to tasks \
                      that need their input near"
                    .to_owned(),
                remedy: "a part below 100 %".to_owned(),
            },
        );
    }
}

fn dry_run(found: &mut Findings, topology: &Topology, policy: &PolicySpec) {
    let of_jobs = || topology.policies.iter().filter(|other| other.kind == JOBS);
    let Some(first) = of_jobs().next() else { return };
    let acts = of_jobs().find(|other| !other.dry_run);
    if let Some(acts) = acts.filter(|_| first.dry_run) {
        found.warning(
            &["policy", &first.name],
            Report {
                code: "contradiction",
                found: format!(
                    "policy {} is tried (mode = \"dry_run\") and stands before {}",
                    first.name, acts.name
                ),
                why: format!(
                    "the dry run of policy {} judges the queues of a nucleus by the first policy \
                     of kind {JOBS}: by the one that is tried, though its jobs go by the other",
                    policy.name
                ),
                remedy: format!("list {} first", acts.name),
            },
        );
    }
}
