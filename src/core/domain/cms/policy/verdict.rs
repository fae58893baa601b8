//! Conclusions about a workflow from its test jobs (C-47, C-49, C-50).

use super::autocluster::Autocluster;
use super::bounds::whole;
use super::decision::PoolAction;
use super::effective::is_test_member;
use super::entry::{Standing, WorkflowEntry};
use super::facts::Workflow;
use super::look::is_final_failure;
use super::moment::Moment;
use super::pool::Pool;
use super::scaling::Needs;
use super::settings::Settings;
use super::shapes::Shapes;
use crate::domain::cms::state::PoolEnded;
use crate::event::listed_sites;
use crate::turns::{has_turn, parts};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a workflow is killed or reported.
const ALL_FAILED: &str = "test_failed_100pct";
/// The same where no node of any site that it may run at could hold its jobs (C-50).
const NO_SITE: &str = "no_site_can_host";

/// The verdicts on the workflows whose test jobs ended, and on those that no site can host, as far
/// as they are new; and whether workflows took turns.
pub fn verdicts(pool: &Pool, at: &Moment<'_>) -> (Vec<PoolAction>, bool) {
    let live = pool.workflows().filter(|(_, entry, workflow)| {
        workflow.is_live() && entry.test_jobs > 0 && !entry.known.ended.is_empty()
    });
    let mut live: Vec<_> = live.map(|(_, entry, workflow)| (entry, workflow)).collect();
    live.sort_by(|(a, _), (b, _)| a.known.workflow.cmp(&b.known.workflow));
    let verdicts = live.into_iter().flat_map(|(entry, workflow)| verdict(pool, entry, workflow));
    let mut actions: Vec<PoolAction> = verdicts.collect();
    let (mut not_hosted, takes_turns) = not_hosted(pool, at);
    let ends: BTreeSet<&str> = actions.iter().filter_map(about).collect();
    not_hosted.retain(|action| about(action).is_none_or(|workflow| !ends.contains(workflow)));
    actions.extend(not_hosted);
    (actions, takes_turns)
}

/// The workflow that an action kills or reports.
fn about(action: &PoolAction) -> Option<&str> {
    match action {
        PoolAction::Kill { workflow, .. } | PoolAction::Alert { workflow, .. } => Some(workflow),
        _ => None,
    }
}

/// How a test job ended, as far as that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is tried again: a site or the infrastructure failed it, or its next attempt is there.
    Open,
    /// It was taken away, or its last attempt failed by a site: it says nothing of its program.
    Void,
    Succeeded,
    Failed,
}

fn fate(pool: &Pool, (attempt, ended): (i64, &PoolEnded)) -> Fate {
    let is_retried = pool.job(&ended.job).is_some_and(|known| known.job().attempt > attempt);
    let stated = ended.failure.filter(|_| ended.exit_code.is_none());
    let codes = &pool.settings().exit_codes;
    match ended.failure.and_then(|_| codes.failure(stated, ended.exit_code)) {
        _ if is_retried => Fate::Open,
        None => Fate::Succeeded,
        Some(failure) if is_final_failure(failure) => Fate::Failed,
        Some(_) if ended.is_last => Fate::Void,
        Some(_) => Fate::Open,
    }
}

/// How the test jobs of a workflow ended so far, as far as they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestTally {
    /// Test jobs in all.
    pub members: i64,
    /// Those that succeeded.
    pub succeeded: usize,
    /// Those that failed by their program.
    pub failed: usize,
    /// Those that say nothing: taken away, or failed by a site for the last time.
    pub void: usize,
    /// Those that failed by a site and are tried again.
    pub open: usize,
}

/// The tally of a workflow's test jobs; `None`: it has none.
pub fn test_tally(pool: &Pool, workflow: &str) -> Option<TestTally> {
    let entry = pool.workflow(pool.name(workflow)?).filter(|entry| entry.test_jobs > 0)?;
    let mut tally = TestTally { members: entry.test_jobs, ..TestTally::default() };
    for member in last_attempts(entry) {
        let count = match fate(pool, member) {
            Fate::Open => &mut tally.open,
            Fate::Void => &mut tally.void,
            Fate::Succeeded => &mut tally.succeeded,
            Fate::Failed => &mut tally.failed,
        };
        *count += 1;
    }
    Some(tally)
}

fn verdict(pool: &Pool, entry: &WorkflowEntry, of: Workflow<'_>) -> Vec<PoolAction> {
    let members = last_attempts(entry).into_iter();
    let members: Vec<(Fate, &PoolEnded)> =
        members.map(|member| (fate(pool, member), member.1)).collect();
    let with = |fate: Fate| -> Vec<&PoolEnded> {
        members.iter().filter(|(it, _)| *it == fate).map(|(_, ended)| *ended).collect()
    };
    let (succeeded, failed) = (with(Fate::Succeeded), with(Fate::Failed));
    let are_over = members.len() as i64 == entry.test_jobs && with(Fate::Open).is_empty();
    let workflow = || of.known.workflow.clone();
    if !are_over {
        return Vec::new();
    }
    if !succeeded.is_empty() {
        let learnt = learnt(&succeeded, pool.settings()).filter(|_| of.known.profile.is_none());
        let learnt =
            learnt.map(|profile| PoolAction::ProfileUpdated { workflow: workflow(), profile });
        return learnt.into_iter().collect();
    }
    if failed.is_empty() || !is_certain(pool, entry, &failed) {
        return Vec::new();
    }
    match pool.settings().auto_kill.of(of.facts().class) {
        true => vec![kill(pool, entry, ALL_FAILED)],
        false if of.known.alerted => Vec::new(),
        false => vec![PoolAction::Alert { workflow: workflow(), reason: ALL_FAILED }],
    }
}

fn kill(pool: &Pool, entry: &WorkflowEntry, reason: &'static str) -> PoolAction {
    let pending_jobs = pending_jobs(pool, entry);
    PoolAction::Kill { workflow: entry.known.workflow.clone(), reason, pending_jobs }
}

/// The workflows none of whose waiting jobs any site could host: by what their test jobs needed,
/// or by what they state once the first has waited as long as one that a node is drained for.
/// `true`: workflows took turns.
fn not_hosted(pool: &Pool, at: &Moment<'_>) -> (Vec<PoolAction>, bool) {
    let settings = pool.settings();
    let is_asked =
        |of: Workflow<'_>| of.is_live() && (!of.known.alerted || settings.kill_if_impossible);
    let parts = parts(pool.clusters().len(), pool.sites().count(), at.budget.comparisons);
    let mut asked: BTreeMap<&str, (&WorkflowEntry, Vec<&Autocluster>)> = BTreeMap::new();
    for cluster in pool.clusters() {
        let Some(entry) = pool.workflow(cluster.signature.workflow) else { continue };
        let name = entry.known.workflow.as_str();
        if entry.workflow().is_some_and(is_asked) && has_turn(name, at.budget.cycle, parts) {
            asked.entry(name).or_insert((entry, Vec::new())).1.push(cluster);
        }
    }
    let is_due = |(entry, kinds): &(&WorkflowEntry, Vec<&Autocluster>)| {
        let waited = |it: &Autocluster| Some(at.now_s.saturating_sub(it.oldest()?.queued_at_s));
        let longest = kinds.iter().filter_map(|kind| waited(kind)).max();
        entry.known.profile.is_some() || longest.is_some_and(|it| it >= settings.drain_wait_s)
    };
    let mut shapes: Option<Shapes<'_>> = None;
    let mut actions = Vec::new();
    for (entry, kinds) in asked.into_values().filter(is_due) {
        let shapes = shapes.get_or_insert_with(|| Shapes::of(pool));
        if kinds.iter().any(|kind| shapes.hold(pool, kind) != Some(false)) {
            continue;
        }
        if !entry.known.alerted {
            let workflow = entry.known.workflow.clone();
            actions.push(PoolAction::Alert { workflow, reason: NO_SITE });
        }
        if settings.kill_if_impossible {
            actions.push(kill(pool, entry, NO_SITE));
        }
    }
    (actions, parts > 1)
}

/// The last attempt of each test job that ended, with its number.
fn last_attempts(entry: &WorkflowEntry) -> Vec<(i64, &PoolEnded)> {
    let ended = entry.known.ended.iter();
    let of_members = ended.filter(|((seq, _), _)| is_test_member(*seq, entry.test_jobs));
    let last: BTreeMap<i64, (i64, &PoolEnded)> =
        of_members.map(|((seq, attempt), ended)| (*seq, (*attempt, ended))).collect();
    last.into_values().collect()
}

/// Largest run time and memory of the jobs that succeeded, with a margin (C-50); 0 where it is not
/// known of any, `None` where neither is.
fn learnt(succeeded: &[&PoolEnded], settings: &Settings) -> Option<Needs> {
    let needs = |ended: &&PoolEnded| {
        let measured = Needs { wall_s: ended.wall_s, rss_mb: ended.rss_mb };
        let at_base = measured.measured_at(ended.cores, ended.base_cores, settings);
        // What was not measured cannot be scaled either.
        let known = |measured: i64, at_base: i64| if measured > 0 { at_base } else { 0 };
        Needs {
            wall_s: known(ended.wall_s, at_base.wall_s),
            rss_mb: known(ended.rss_mb, at_base.rss_mb),
        }
    };
    let needs: Vec<Needs> = succeeded.iter().map(needs).collect();
    let most = |of: fn(&Needs) -> i64| needs.iter().map(of).max().unwrap_or(0);
    let with_margin = |value: i64, tenths: i64| {
        whole((i128::from(value) * i128::from(tenths) + 9).div_euclid(10))
    };
    let learnt = Needs {
        wall_s: with_margin(most(|needs| needs.wall_s), 12),
        rss_mb: with_margin(most(|needs| needs.rss_mb), 11),
    };
    (learnt.wall_s > 0 || learnt.rss_mb > 0).then_some(learnt)
}

/// Whether the failures can not be those of one bad site: they are of several, where the workflow
/// may run at several (C-49, CD-09).
fn is_certain(pool: &Pool, entry: &WorkflowEntry, failed: &[&PoolEnded]) -> bool {
    let sites: BTreeSet<&str> = failed.iter().map(|ended| ended.site.as_str()).collect();
    entry.test_jobs == 1 || sites.len() >= 2 || possible_sites(pool, entry) < 2
}

/// At how many known sites the workflow may run by the whitelists of its jobs.
fn possible_sites(pool: &Pool, entry: &WorkflowEntry) -> usize {
    let jobs = entry.jobs.iter().filter_map(|(_, job)| pool.job(job));
    let of_jobs = jobs.map(|standing| {
        let listed = standing.job().site_whitelist.as_ref()?;
        Some(listed.iter().map(String::as_str).collect::<Vec<&str>>())
    });
    let of_ended = entry.known.ended.values();
    let of_ended = of_ended.map(|it| Some(listed_sites(it.site_whitelist.as_ref()?).collect()));
    let mut sites: BTreeSet<&str> = BTreeSet::new();
    for whitelist in of_jobs.chain(of_ended) {
        match whitelist {
            None => return pool.sites().count(),
            Some(listed) => sites.extend(listed),
        }
    }
    let is_known = |site: &&str| pool.name(site).is_some_and(|name| pool.site(name).is_some());
    sites.into_iter().filter(is_known).count()
}

fn pending_jobs(pool: &Pool, entry: &WorkflowEntry) -> Vec<Arc<str>> {
    let waits = |job: &&Arc<str>| matches!(pool.job(job), Some(Standing::Pending(_)));
    let mut jobs: Vec<Arc<str>> =
        entry.jobs.iter().map(|(_, job)| job).filter(waits).cloned().collect();
    jobs.sort();
    jobs
}
