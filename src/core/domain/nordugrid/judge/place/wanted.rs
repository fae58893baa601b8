//! Notes on why targets were rejected: for each filter that compares what is asked for with what is
//! published, both; for files that cannot come, their names, URLs and classes.

use super::evidence::shown;
use crate::domain::nordugrid::policy::case::{InputKind, JobCase};
use crate::domain::nordugrid::policy::choice::Choice;
use crate::domain::nordugrid::policy::staging::FileClass;
use crate::domain::nordugrid::policy::target::TargetCandidate;
use crate::domain::nordugrid::xrsl::{Alternative, NameCondition, SoftwareCondition};
use crate::output::decision::Decision;
use crate::policy::Policy;

/// Most targets that a note names.
const TARGETS_NOTED: usize = 10;
/// Most files that a note names of a target.
const FILES_NOTED: usize = 5;
/// Most items of software that a note names of a target.
const SOFTWARE_NOTED: usize = 5;

/// Adds a note for each filter that rejected a target by what it publishes.
pub(super) fn note_wanted(
    decision: &mut Decision,
    policy: &Policy,
    case: &JobCase<'_>,
    choice: &Choice,
) {
    for (at, filter) in (0u16..).zip((0..).map_while(|at| policy.filter(at))) {
        let refused = || choice.refused.iter().filter(|it| it.filter == at);
        let candidates = refused().filter_map(|it| {
            let share = case.facts.share(it.target)?;
            TargetCandidate::of(case, share)
        });
        let has = |candidate: &TargetCandidate<'_>| {
            let has = match filter.name {
                "no_location" => files(case, candidate),
                name => published(name, case, candidate)?,
            };
            Some(format!("{} has {has}", shown(candidate.id(case))))
        };
        let listed: Vec<String> =
            candidates.take(TARGETS_NOTED).filter_map(|candidate| has(&candidate)).collect();
        if listed.is_empty() {
            continue;
        }
        let more = match refused().count().saturating_sub(listed.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let wanted = wanted(filter.name, case.job).unwrap_or("every input file".to_owned());
        let listed = listed.join(", ");
        decision.notes.push(format!("{}(wanted {wanted}: {listed}{more})", filter.name));
    }
}

/// The requirement that a filter compares. `None`: it compares none.
fn wanted(filter: &str, job: &Alternative) -> Option<String> {
    Some(match filter {
        "match_cluster" => names(&job.cluster),
        "match_queue" => names(&job.queue),
        "match_architecture" => names(&job.architecture),
        "match_count" => format!("{} CPUs", job.count),
        "match_cputime" => cpu_time(job.cpu_time_s?, job),
        "match_gridtime" => cpu_time(job.grid_time_s?, job),
        "match_walltime" => format!("{} s", job.wall_time_s?),
        "match_memory" => format!("{} MB", job.memory_mb?),
        "match_middleware" => software(&job.middleware),
        "match_runtimeenvironment" => software(&job.runtime_environment),
        "match_opsys" => software(&job.operating_system),
        "match_nodeaccess" => {
            job.node_access.iter().flatten().map(|it| it.name()).collect::<Vec<_>>().join(" ")
        }
        _ => return None,
    })
}

/// CPU time that a filter compares with limits for a slot.
fn cpu_time(time_s: u64, job: &Alternative) -> String {
    match job.count {
        0 | 1 => format!("{time_s} s"),
        count => format!("{time_s} s by {count} CPUs"),
    }
}

/// What a target publishes of that. `None`: the filter compares nothing that is published.
fn published(filter: &str, case: &JobCase<'_>, at: &TargetCandidate<'_>) -> Option<String> {
    let (share, cluster) = (&at.share.facts, &at.cluster.facts);
    let (least, most) = (share.min_cpu_time_s, share.max_cpu_time_s);
    let cpu_limits = || match share.max_total_cpu_time_s {
        Some(all) => format!("{} a CPU, at most {all} s in all", window(least, most)),
        None => format!("{} a CPU", window(least, most)),
    };
    Some(match filter {
        "match_cluster" => match cluster.alias.as_str() {
            "" => "no second name".to_owned(),
            alias => format!("the second name {}", shown(alias)),
        },
        "match_queue" => "another name".to_owned(),
        "match_count" => {
            let all = [share.total_slots, cluster.total_slots, share.max_slots_per_job];
            amount(all.into_iter().flatten().min(), "CPUs")
        }
        "match_cputime" => cpu_limits(),
        "match_gridtime" => format!("{} at {} MHz", cpu_limits(), case.clock_mhz(at.cluster)),
        "match_walltime" => window(share.min_wall_time_s, share.max_wall_time_s),
        "match_memory" => amount(share.max_memory_mb.or(cluster.node_memory_mb), "MB"),
        "match_architecture" => or_nothing(&cluster.architecture),
        "match_middleware" => of_names(&cluster.middleware, &case.job.middleware),
        "match_runtimeenvironment" => {
            of_names(&cluster.runtime_environments, &case.job.runtime_environment)
        }
        "match_opsys" => of_names(&cluster.operating_systems, &case.job.operating_system),
        "match_nodeaccess" => match (cluster.inbound, cluster.outbound) {
            (true, false) => "inbound".to_owned(),
            (false, true) => "outbound".to_owned(),
            _ => "nothing".to_owned(),
        },
        _ => return None,
    })
}

/// Published software of the names that are asked for; without any, that there is none.
fn of_names(published: &[String], wanted: &[SoftwareCondition]) -> String {
    let is_wanted = |text: &&String| wanted.iter().any(|it| text.starts_with(it.name.as_str()));
    let found: Vec<&str> = published.iter().filter(is_wanted).map(|it| shown(it)).collect();
    match (published.len(), found.as_slice()) {
        (0, _) => "nothing".to_owned(),
        (_, []) => "none of that name".to_owned(),
        (_, found) => found[..found.len().min(SOFTWARE_NOTED)].join(" "),
    }
}

/// Input files that cannot come to a target.
fn files(case: &JobCase<'_>, at: &TargetCandidate<'_>) -> String {
    let has_cache = at.cluster.facts.cache_free_bytes.is_some();
    let inputs = case.job.input_files.iter().zip(&case.inputs);
    let mut lost = inputs.filter(|(_, input)| {
        FileClass::of(input, at.cluster.number, has_cache) == FileClass::NoLocation
    });
    let named = lost.by_ref().take(FILES_NOTED).map(|(file, input)| {
        let class = FileClass::NoLocation.name();
        let why = match input.kind {
            InputKind { is_local: true, .. } => "local=yes, and no copy is near",
            _ => "no replica is known",
        };
        format!("no way to {} from {} ({class}: {why})", shown(&file.name), shown(&file.source))
    });
    let named = named.collect::<Vec<_>>().join(" and ");
    match lost.count() {
        0 => named,
        more => format!("{named} and {more} more files"),
    }
}

fn names(conditions: &[NameCondition]) -> String {
    let one = |it: &NameCondition| format!("{}{}", it.relation.name(), shown(&it.name));
    conditions.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn software(conditions: &[SoftwareCondition]) -> String {
    let one = |it: &SoftwareCondition| {
        let dash = if it.version.is_empty() { "" } else { "-" };
        let (relation, name, version) = (it.relation.name(), shown(&it.name), shown(&it.version));
        format!("{relation}{name}{dash}{version}")
    };
    conditions.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn window(least: Option<u64>, most: Option<u64>) -> String {
    match (least, most) {
        (None, None) => "no limit".to_owned(),
        (Some(least), None) => format!("at least {least} s"),
        (None, Some(most)) => format!("at most {most} s"),
        (Some(least), Some(most)) => format!("{least} to {most} s"),
    }
}

fn amount(amount: Option<u64>, unit: &str) -> String {
    amount.map_or("nothing".to_owned(), |amount| format!("{amount} {unit}"))
}

fn or_nothing(text: &str) -> String {
    if text.is_empty() { "nothing".to_owned() } else { shown(text).to_owned() }
}
