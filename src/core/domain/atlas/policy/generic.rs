//! PanDA's generic jobs, of installations outside ATLAS: which queues are candidates, how many are
//! chosen, and which tasks are rejected.

use super::candidate::Candidate;
use super::case::{Case, Dispatch, Generic, Preassigned, WholeCopies};
use super::filter::{
    FAILURES as FAILURE_REASONS, GENERIC_JOB as FILTERS, NO_QUEUE_FITS, OF_THE_GENERIC_QUEUE,
    UNLISTED,
};
use super::production::is_parent;
use super::room::Room;
use super::site::SiteRules;
use super::weight::GENERIC_JOB as WEIGHTS;
use crate::event::{ChunkKind, Dataset, Queue, Scope, Task};
use crate::math::pattern::Pattern;
use crate::policy::declare::{RuleBook, typed};
use crate::policy::flavour::{Flavour, Found, Plan, QueueStyle, Style};
use crate::policy::param::Param;
use crate::policy::typed::{params, read};
use crate::unit::HOUR;
use std::sync::Arc;

params! {
    /// Parameters of the kind.
    Own {
        disable_file_dispatch: bool = Param::flag("disable_file_dispatch", false, false).help(
            "whether jobs go only where their whole input is on disk: disable_file_dispatch of \
             panda_server.cfg",
        ),
        dispatch_after_cut: bool = Param::flag("dispatch_after_cut", false, true)
            .help("whether that is asked of the best alone, and none takes their place"),
        lists_files: bool = Param::flag("lists_files", true, true).help(
            "whether PanDA's data management client lists files: AtlasDDMClient does, GenDDMClient \
             does not, and a task with input then finds no queue",
        ),
        unified_parent: bool = Param::flag("unified_parent", false, true)
            .help("whether a unified queue is a candidate beside its parts"),
        parts_apart: bool = Param::flag("parts_apart", false, true).help(
            "whether pilots, jobs, files and use of a unified queue do not count at its parts",
        ),
        final_failures: bool = Param::flag("final_failures", true, false).help(
            "whether a task is rejected at once that no waiting helps: it names no queue, its input is \
             not listed, or no queue of its cloud fits as both are configured",
        ),
    }
}

/// Reason of a task that is rejected: its site is no name of a queue and no pattern.
pub const SITE_PATTERN: &str = "site_pattern_fails";
/// Reason of a task that is rejected: there is no queue of the name that its input is bound to.
pub const UNKNOWN_QUEUE: &str = "unknown_queue_fails";
/// The same: no queue has the name that the task states, nor matches it.
const UNKNOWN_SITE: &str = "unknown_site";
/// The same: the input cannot be listed.
const FILES_NOT_LISTED: &str = "files_not_listed";
/// The same: no queue fits.
const NO_FIT: &str = "no_queue_fits";

/// Reasons of tasks that are rejected where PanDA's own broker fails.
pub const FAILURES: [&str; 5] = [
    SITE_PATTERN,
    UNKNOWN_QUEUE,
    FAILURE_REASONS[0].name,
    FAILURE_REASONS[1].name,
    FAILURE_REASONS[2].name,
];

/// Brokerage of PanDA's generic jobs.
pub(crate) static GENERIC_JOB: Flavour = Flavour {
    name: "generic-job",
    spec: "panda-generic 1",
    help: "queues for the jobs of a task outside ATLAS, as PanDA's generic broker chooses them",
    params: Own::DECLARED,
    defer: HOUR,
    style: Style::Queues(QueueStyle {
        rules: RuleBook { filters: FILTERS, weights: WEIGHTS },
        lists: typed!(Own: lists(queue)),
        admits: |case, _, queue, values| admits(case, queue, &read!(Own, values)),
        express: |_, _| false,
        whole_copies: |task, _| whole_copies(task),
        preassigned: |task, _, _| preassigned(task),
        turns_at: |_, _, _| None,
        waits: |_, _| None,
        room: |_| Room::default(),
        select: |select, dice| select.in_proportion(dice),
        of_make: &[],
        of_queue: OF_THE_GENERIC_QUEUE,
        throttling: None,
        plan: Some(&Plan {
            scope,
            sites: |_| SiteRules::default(),
            owner: |_, owner, _| owner,
            generic: typed!(Own: generic(task, known)),
            user_early: &[],
            first_pass: |case, _, _| case.clone(),
            next_pass: |case| case.clone(),
            again: |_, _, _| false,
            rejects: typed!(Own: rejects(found)),
            most: |_, most, preferred| most.max(preferred),
        }),
    }),
};

/// Name of a queue that stands for none.
const NO_QUEUE: &str = "NA";

/// Before the name of a nucleus that stands for a queue (spec panda-generic L1n).
const NUCLEUS: &str = "nucleus:";

/// Whether a queue is in the list of a cloud.
fn is_in_cloud(queue: &Queue, own: &Own) -> bool {
    queue.production && queue.is_mapped() && (own.unified_parent || !is_parent(queue))
}

/// All queues for production that are of a cloud (spec panda-generic L3).
fn lists(queue: &Queue, own: &Own) -> bool {
    is_in_cloud(queue, own) && queue.name != NO_QUEUE
}

/// The queues that a task names: the one of that name, else those of its cloud whose names match
/// it; else the one that its input is bound to (spec panda-generic L1, L2).
fn admits(case: &Case<'_>, queue: &Queue, own: &Own) -> bool {
    let (site, bound) = (case.task.site.as_str(), case.task.options.chunk_site.as_str());
    match (site.is_empty(), bound.is_empty()) {
        (true, true) => lists(queue, own),
        (true, false) => queue.name == bound && queue.is_mapped(),
        (false, _) if case.generic.is_site_queue => queue.name == site,
        (false, _) => {
            let matches = |site: &Arc<Pattern>| site.is_found_in(&queue.name);
            is_in_cloud(queue, own)
                && case.is_of_cloud(queue)
                && case.generic.site.as_ref().is_some_and(matches)
        }
    }
}

fn preassigned(task: &Task) -> Preassigned {
    match task.site.is_empty() && task.options.chunk_site.is_empty() {
        true => Preassigned::No,
        false => Preassigned::List,
    }
}

fn whole_copies(task: &Task) -> WholeCopies {
    match task.chunk {
        ChunkKind::Merge => WholeCopies::OfNone,
        ChunkKind::Normal | ChunkKind::Scout => WholeCopies::OfSecondary,
    }
}

fn scope(task: &Task) -> Scope {
    match task.label.as_str() {
        "user" | "panda" => Scope::Analysis,
        _ => Scope::Default,
    }
}

fn generic(task: &Task, known: Generic, own: &Own) -> Generic {
    let dispatch = match (own.disable_file_dispatch, own.dispatch_after_cut) {
        _ if !own.lists_files && real_files(task, true) > 0 => Dispatch::None,
        (false, _) => Dispatch::All,
        (true, false) => Dispatch::Whole,
        (true, true) => Dispatch::WholeOfBest,
    };
    let is_pattern = !known.is_site_queue && !task.site.is_empty();
    let site = if is_pattern { Pattern::new(&task.site).map(Arc::new) } else { None };
    Generic { site, names_patterns: true, parts_apart: own.parts_apart, dispatch, ..known }
}

/// Files of the input that have to lie somewhere, by whether those count that each queue has.
fn real_files(task: &Task, with_cached: bool) -> u32 {
    let input = &task.input;
    if input.datasets.is_empty() {
        return task.total_files;
    }
    let is_real = |it: &Dataset| !it.pseudo && (with_cached || !is_cached(it));
    let is_real = |at: u32| input.datasets.get(at as usize).is_none_or(is_real);
    let real = input.placements.iter().filter(|placement| is_real(placement.dataset));
    real.map(|placement| placement.files).sum()
}

/// Whether each queue has a dataset's files in its software area: a release of a database.
fn is_cached(dataset: &Dataset) -> bool {
    let Some((_, version)) = dataset.name.rsplit_once('v') else { return false };
    let is_version = version.len() == 6 && version.bytes().all(|it| it.is_ascii_digit());
    dataset.name.starts_with("ddo") && is_version
}

impl Case<'_> {
    /// Whether a queue is of the task's cloud; one that no queue is of stands for all.
    pub fn is_of_cloud(&self, queue: &Queue) -> bool {
        !self.generic.is_cloud_known || queue.first_cloud() == self.task.options.cloud
    }

    /// Whether a candidate is a part of a unified queue whose figures do not count at its parts.
    pub fn is_apart(&self, candidate: &Candidate<'_>) -> bool {
        self.generic.parts_apart && !candidate.queue.resource_type.is_empty()
    }

    /// Files of the input that a queue may lack.
    pub fn files_to_have(&self) -> u32 {
        real_files(self.task, false)
    }
}

/// Why a task is rejected to whose names no queue answers.
fn rejects_name(case: &Case<'_>, own: &Own) -> Option<&'static str> {
    let (site, bound) = (case.task.site.as_str(), case.task.options.chunk_site.as_str());
    match (site.is_empty(), bound.is_empty()) {
        // There will be queues, and its may be one of them.
        _ if case.generic.is_without_queues => None,
        (true, true) => None,
        (true, false) => Some(UNKNOWN_QUEUE),
        (false, _) if case.generic.site.is_none() => Some(SITE_PATTERN),
        // PanDA takes the name of a nucleus for a queue.
        (false, _) if site.starts_with(NUCLEUS) => None,
        (false, _) => own.final_failures.then_some(UNKNOWN_SITE),
    }
}

/// Why a task is rejected: where PanDA's own broker fails, and where no waiting helps.
fn rejects(found: &Found<'_>, own: &Own) -> Option<&'static str> {
    let Found { case, judgement, filters } = found;
    let failures = judgement.fates.iter().filter_map(|fate| {
        let failure = FAILURE_REASONS.iter().find(|it| it.name == fate.objection.reason.name)?;
        Some((fate.filter, failure.name))
    });
    if let Some((_, failure)) = failures.min() {
        return Some(failure);
    }
    if !judgement.ranked.is_empty() {
        return None;
    }
    if judgement.fates.is_empty() {
        return rejects_name(case, own);
    }
    let is_of = |filter: u16, name: &str| {
        filters.get(usize::from(filter)).is_some_and(|filter| filter.name == name)
    };
    let fates = &judgement.fates;
    if fates.iter().any(|fate| is_of(fate.filter, UNLISTED.filter.name)) {
        return own.final_failures.then_some(FILES_NOT_LISTED);
    }
    let is_final = |filter: u16| NO_QUEUE_FITS.iter().any(|it| is_of(filter, it.filter.name));
    let no_queue_fits = fates.iter().all(|fate| is_final(fate.filter));
    (own.final_failures && no_queue_fits).then_some(NO_FIT)
}
