//! From a case to a judgement: records written, read and folded, the policy run over them.

use super::figures::{Figures, WithFigures};
use super::grid::{Facts, facts};
use super::json::moment;
use super::judged::{Judged, compiled, read_back, state_of};
use super::{Recorded, request};
use yardmaster_core::event::Scope;
use yardmaster_core::judge::view::Grid;
use yardmaster_core::policy::{
    Candidates, Case, Policy, PolicySpec, Preassigned, Resolved, Rules, kind,
};

/// The kind of policy that answers a kind of case.
fn kind_of(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "prod_job" => Some(("production-job", "atlas-production-job")),
        "anal_job" => Some(("analysis-job", "atlas-analysis-job")),
        _ => None,
    }
}

pub(super) fn judge(recorded: &Recorded, rules: Rules) -> Result<Judged, String> {
    let scenario = &recorded.whole["scenario"];
    match recorded.kind.as_str() {
        "prod_task" => return super::nucleus::judge(recorded, rules),
        "xrsl" => return super::xrsl::judge(recorded),
        "nordugrid" => return super::nordugrid::judge(recorded),
        "cms" => return super::cms::judge(recorded),
        _ => {}
    }
    let (name, kind_name) = kind_of(&recorded.kind).ok_or_else(|| {
        format!(
            "field `kind`: found {:?}, wants prod_job, anal_job, prod_task, cms, nordugrid, xrsl",
            recorded.kind
        )
    })?;
    let flavour = kind(kind_name).ok_or_else(|| format!("no policy of kind {kind_name}"))?;
    let spec = PolicySpec::full(name, flavour, rules);
    let policy = compiled(&spec)?;
    let now = moment(&scenario["now"]);
    let facts = facts(&recorded.whole, now)?;
    let mut state = state_of(&facts, now)?;
    let mut grid = Grid::default();
    grid.update(&mut state, true);
    let view = grid.view(&state);
    let task = read_back(&request::request(&recorded.whole, name, now))?;
    let lookup = |component: &str, key: &str| state.parameter(component, key);
    let resolved = policy.resolve(&lookup, &task.gshare);
    let recorded_owner = |_| super::analysis::owner(scenario);
    let (case, survey) = view.case_of(&policy, &resolved, &task, recorded_owner);
    let indices = match case.preassigned {
        Preassigned::No => view.world.queue_indices(|queue| policy.lists(queue, &resolved)),
        Preassigned::One | Preassigned::List => view.world.admitted(&policy, &case, &resolved),
    };
    let gathered = view.gather(&case, &survey, indices.into());
    let figures = Figures::of(scenario);
    let candidates = WithFigures { candidates: &gathered, figures: &figures };
    Ok(conclude(&policy, &resolved, &case, &candidates, &facts))
}

fn conclude<C: Candidates>(
    policy: &Policy,
    resolved: &Resolved,
    case: &Case<'_>,
    candidates: &C,
    facts: &Facts,
) -> Judged {
    let judgement = policy.judge(case, candidates, resolved);
    let mut judged = Judged { verdict: "pending", ..Judged::default() };
    for chosen in &judgement.ranked {
        let queue = candidates.queue(chosen.candidate);
        let entry = (queue.name.clone(), queue.unified.clone(), chosen.weighed.total);
        judged.candidates.push(entry);
    }
    if !judged.candidates.is_empty() {
        judged.verdict = "assigned";
    }
    if let Some(wait) = &judgement.wait {
        judged.reason = wait.reason.name().to_owned();
        if wait.reason.rule().is_some() {
            judged.verdict = "throttled";
        }
        return judged;
    }
    let is_analysis = case.scope == Scope::Analysis;
    let is_listed = is_analysis || case.preassigned == Preassigned::No;
    let parents = facts.parents.iter().filter(|(_, _)| is_listed);
    let parents = parents.filter(|(_, analysis)| *analysis || !is_analysis).map(|(name, _)| name);
    for parent in parents {
        judged.skipped.insert(parent.clone(), "unified_parent".to_owned());
    }
    // PanDA asks for data by unified names, before it drops these.
    for refused in judgement.fates.iter().filter(|it| it.objection.reason.name == "no_data") {
        let unified = &candidates.queue(refused.candidate).unified;
        if let Some(tag) = judged.skipped.get_mut(unified) {
            *tag = "no_data".to_owned();
        }
    }
    for index in 0..candidates.count() as u32 {
        judged.skipped.insert(candidates.queue(index).name.clone(), "low_weight".to_owned());
    }
    for chosen in &judgement.ranked {
        judged.skipped.remove(&candidates.queue(chosen.candidate).name);
    }
    for refused in &judgement.fates {
        let queue = &candidates.queue(refused.candidate).name;
        let filter = policy.filter(usize::from(refused.filter)).map_or("", |filter| filter.name);
        let tag = criteria(filter, refused.objection.reason.name);
        if tag == "jumbo_jobs" {
            judged.skipped.remove(queue);
            continue;
        }
        judged.skipped.insert(queue.clone(), tag.to_owned());
    }
    judged
}

/// PanDA's word for a filter's reason.
fn criteria<'a>(filter: &'a str, reason: &'a str) -> &'a str {
    match (filter, reason) {
        ("status", _) => "status",
        ("link", "link_full") => "link_unusable",
        ("nucleus_queue", _) => "links_full",
        ("cpucore", "max_cpucore") => "max_cpucore",
        ("cpucore" | "diskIO" | "transferring" | "nopilot" | "zeroshare", _) => filter,
        ("cap" | "cap_rt", _) => filter,
        ("io" | "io_second_chance", _) => "io",
        ("connectivity", _) => "network",
        ("opportunistic", _) => "opportunistic",
        (_, "beyond_the_best") => "low_weight",
        _ => reason,
    }
}
