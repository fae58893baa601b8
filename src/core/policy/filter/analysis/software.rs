//! Software and hardware of analysis tasks: their releases are named otherwise (spec atlas 3.8).

use super::super::software::{Asked, PARAMS as PRODUCTION};
use super::object;
use crate::core::math::pattern::Pattern;
use crate::core::policy::software::Name;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Preassigned, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "software",
    spec: "atlas G10, 3, DIFF-24, DIFF-25, DIFF-26, DIFF-43",
    help: "the queue publishes the release, container, platform and hardware that the task needs; \
           not asked of a pre-assigned queue",
    reasons: &[
        ("cache", "the queue does not publish the software or hardware that the task needs"),
        ("regexpcmtconfig", "none of the queue's platforms matches the task's"),
    ],
    params: &[
        PRODUCTION[0],
        PRODUCTION[1],
        PRODUCTION[2],
        PRODUCTION[3],
        PRODUCTION[4],
        Param::flag("any_ignores_tags", false, true)
            .help("whether a queue with releases ANY takes containers that must be published tags"),
    ],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(judge),
};

const ANY_IGNORES_TAGS: usize = 5;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if case.preassigned == Preassigned::One {
        return Verdict::Pass;
    }
    let asked = Asked { task: case.task, wanted: &case.wanted, args };
    let options = &case.task.options;
    let is_auto = candidate.queue.releases == ["AUTO"];
    let has = match candidate.queue.releases.as_slice() {
        [word] if word == "ANY" => {
            let is_bound = options.only_tags && !options.container_name.is_empty();
            asked.is_free_of_hardware() && (args.flag(ANY_IGNORES_TAGS) || !is_bound)
        }
        _ if is_auto => candidate.software.is_some_and(|release| {
            let all = candidate.all_software;
            let names = case.wanted.names(|| names(&options.trans_home, &options.trans_uses));
            asked.hardware(release) && names.iter().any(|name| asked.release(release, all, name))
        }),
        _ => false,
    };
    if !has {
        return object("cache", 0.0, 1.0);
    }
    if is_auto && asked.is_unresolved(candidate) {
        return object("regexpcmtconfig", 0.0, 1.0);
    }
    Verdict::Pass
}

/// What `transHome` and `transUses` ask for: any of these will do.
fn names(home: &str, uses: &str) -> Vec<Name> {
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
    let by_home = Name::Release(project.to_owned(), version.to_owned());
    if !home.is_empty() && home != "AnalysisTransforms" && !is_nightly && !is_release {
        return vec![by_home];
    }
    let is_by_uses = own.is_empty() && !uses.is_empty();
    if is_by_uses || is_release && !ends(uses, r"-\d+\.\d+$") {
        if !uses.is_empty() {
            let version = uses.rsplit('-').next().unwrap_or("");
            return vec![Name::Release("AtlasOffline".to_owned(), version.to_owned())];
        }
        return if own.split('-').count() == 2 { vec![by_home] } else { Vec::new() };
    }
    vec![if home.is_empty() { Name::None } else { Name::Nightly }]
}

pub(super) const GPU: Filter = Filter {
    name: "gpu_architecture",
    spec: "atlas G8",
    help: "a queue with the flag gpu gets work that names a platform the queue publishes",
    reasons: &[
        ("gpu_needs_architecture", "the task names no platform"),
        ("gpu_architecture_unavailable", "the queue does not publish its software"),
    ],
    params: &[Param::flag("active", false, true).help("whether this is asked at all")],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(gpu),
};

fn gpu(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if !args.flag(0) || candidate.queue.flag("gpu").is_none() {
        return Verdict::Pass;
    }
    if case.wanted.platform.is_empty() {
        return object("gpu_needs_architecture", 0.0, 1.0);
    }
    if candidate.queue.releases != ["AUTO"] || candidate.software.is_none() {
        return object("gpu_architecture_unavailable", 0.0, 1.0);
    }
    Verdict::Pass
}
