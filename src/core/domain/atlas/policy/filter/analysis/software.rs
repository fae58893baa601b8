//! Software and hardware of analysis tasks: their releases are named otherwise (spec atlas 3.8).

use super::super::software::{CACHE, REGEXPCMTCONFIG, Software as Production, TaskSoftware};
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::software::WantedRelease;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::math::pattern::Pattern;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

params! {
    /// Parameters of `software` for analysis jobs.
    Software {
        software: Production,
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether a single pre-assigned queue is not asked"),
    }
}

pub(super) const FILTER: QueueFilter = queue_filter!(Software {
    name: "software",
    spec: "atlas G10, 3, DIFF-24, DIFF-25, DIFF-26, DIFF-43",
    help: "the queue publishes the release, container, platform and hardware that the task needs",
    reasons: &[&CACHE, &REGEXPCMTCONFIG],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, params: &Software) -> bool {
    !params.preassigned_exempt || case.preassigned != Preassigned::One
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Software) -> Verdict {
    let asked = TaskSoftware { task: case.task, wanted: &case.wanted, params: &params.software };
    if asked.is_skipped(candidate) {
        return Verdict::Pass;
    }
    let options = &case.task.options;
    let is_auto = candidate.queue.releases == ["AUTO"];
    let has = match candidate.queue.releases.as_slice() {
        [word] if word == "ANY" => !asked.asks_for_hardware(),
        _ if is_auto => candidate.software.is_some_and(|release| {
            let all = candidate.all_software;
            let names = case.wanted.names(|| names(&options.trans_home, &options.trans_uses));
            asked.hardware(release) && names.iter().any(|name| asked.release(release, all, name))
        }),
        _ => false,
    };
    if !has {
        return object(&CACHE, 0.0, 1.0);
    }
    if is_auto && asked.is_unresolved(candidate) {
        return object(&REGEXPCMTCONFIG, 0.0, 1.0);
    }
    Verdict::Pass
}

/// Releases that `transHome` and `transUses` ask for: any of these will do.
fn names(home: &str, uses: &str) -> Vec<WantedRelease> {
    let ends = |text: &str, pattern: &str| {
        Pattern::new(pattern).is_some_and(|pattern| pattern.is_found_in(text))
    };
    let own = home.split_once('-').map_or("", |(_, own)| own.trim_start_matches('-'));
    let own = own.replace('_', "-");
    let is_nightly = ends(&own, r"rel_\d+$")
        || ends(&own, r"rel-\d+$")
        || ends(&own, r"\d\d\d\d-\d\d-\d\dT\d\d\d\d$");
    let is_release = ends(&own, r"-\d+\.\d+\.\d+$");
    let mut parts = own.splitn(3, '-');
    let (project, version) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let by_home = WantedRelease::Release(project.to_owned(), version.to_owned());
    if !home.is_empty() && home != "AnalysisTransforms" && !is_nightly && !is_release {
        return vec![by_home];
    }
    let is_by_uses = own.is_empty() && !uses.is_empty();
    if is_by_uses || is_release && !ends(uses, r"-\d+\.\d+$") {
        if !uses.is_empty() {
            let version = uses.rsplit('-').next().unwrap_or("");
            return vec![WantedRelease::Release("AtlasOffline".to_owned(), version.to_owned())];
        }
        return if own.split('-').count() == 2 { vec![by_home] } else { Vec::new() };
    }
    vec![if home.is_empty() { WantedRelease::None } else { WantedRelease::Nightly }]
}

params! {
    /// Parameters of `gpu_architecture`.
    GpuArchitecture {
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const NEEDS_ARCHITECTURE: Reason =
    Reason::new("gpu_needs_architecture", "the task names no platform");
const ARCHITECTURE_UNAVAILABLE: Reason =
    Reason::new("gpu_architecture_unavailable", "the queue does not publish its software");

pub(super) const GPU: QueueFilter = queue_filter!(GpuArchitecture {
    name: "gpu_architecture",
    spec: "atlas G8",
    help: "a queue with the flag gpu gets work that names a platform the queue publishes",
    reasons: &[&NEEDS_ARCHITECTURE, &ARCHITECTURE_UNAVAILABLE],
    reads: &[],
    temporary: false,
    applies: When(gpu_applies),
    judge: Before(gpu),
});

fn gpu_applies(case: &Case<'_>, params: &GpuArchitecture) -> bool {
    params.active && !case.task.options.hpo_workflow
}

fn gpu(case: &Case<'_>, candidate: &Candidate<'_>, _: &GpuArchitecture) -> Verdict {
    if candidate.queue.flag("gpu").is_none() {
        return Verdict::Pass;
    }
    if case.wanted.platform.is_empty() {
        return object(&NEEDS_ARCHITECTURE, 0.0, 1.0);
    }
    if candidate.queue.releases != ["AUTO"] || candidate.software.is_none() {
        return object(&ARCHITECTURE_UNAVAILABLE, 0.0, 1.0);
    }
    Verdict::Pass
}
