//! Conclusions about a workflow from its test jobs (C-47, C-49, C-50).

use super::bounds::whole;
use super::decision::PoolAction;
use super::effective::is_test_member;
use super::entry::{Standing, WorkflowEntry};
use super::facts::Workflow;
use super::look::is_final_failure;
use super::pool::Pool;
use super::scaling::Needs;
use super::settings::Settings;
use crate::domain::cms::state::PoolEnded;
use crate::event::listed_sites;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a workflow is killed or reported.
const ALL_FAILED: &str = "test_failed_100pct";

/// The verdicts on the workflows whose test jobs ended, as far as they are new.
pub fn verdicts(pool: &Pool) -> Vec<PoolAction> {
    let live = pool.workflows().filter(|(_, entry, workflow)| {
        workflow.is_live() && entry.test_jobs > 0 && !entry.known.ended.is_empty()
    });
    let mut live: Vec<_> = live.map(|(_, entry, workflow)| (entry, workflow)).collect();
    live.sort_by(|(a, _), (b, _)| a.known.workflow.cmp(&b.known.workflow));
    live.into_iter().flat_map(|(entry, workflow)| verdict(pool, entry, workflow)).collect()
}

fn verdict(pool: &Pool, entry: &WorkflowEntry, of: Workflow<'_>) -> Vec<PoolAction> {
    let members = last_attempts(entry);
    let (succeeded, failed): (Vec<&PoolEnded>, Vec<&PoolEnded>) =
        members.iter().map(|(_, ended)| *ended).partition(|ended| ended.failure.is_none());
    let is_retried = |(attempt, ended): &(i64, &PoolEnded)| {
        pool.job(&ended.job).is_some_and(|known| known.job().attempt > *attempt)
    };
    let is_final = |member: &(i64, &PoolEnded)| {
        member.1.failure.is_none_or(is_final_failure) && !is_retried(member)
    };
    let all_final = members.len() as i64 == entry.test_jobs && members.iter().all(is_final);
    let mut actions = Vec::new();
    let workflow = || of.known.workflow.clone();
    if all_final && !succeeded.is_empty() && of.known.profile.is_none() {
        let profile = learnt(&succeeded, pool.settings());
        actions.push(PoolAction::ProfileUpdated { workflow: workflow(), profile });
    }
    if all_final && succeeded.is_empty() && is_certain(pool, entry, &failed) {
        if pool.settings().auto_kill.of(of.facts().class) {
            let pending_jobs = pending_jobs(pool, entry);
            let reason = ALL_FAILED;
            actions.push(PoolAction::Kill { workflow: workflow(), reason, pending_jobs });
        } else if !of.known.alerted {
            actions.push(PoolAction::Alert { workflow: workflow(), reason: ALL_FAILED });
        }
    }
    actions
}

/// The last attempt of each test job that ended, with its number.
fn last_attempts(entry: &WorkflowEntry) -> Vec<(i64, &PoolEnded)> {
    let ended = entry.known.ended.iter();
    let of_members = ended.filter(|((seq, _), _)| is_test_member(*seq, entry.test_jobs));
    let last: BTreeMap<i64, (i64, &PoolEnded)> =
        of_members.map(|((seq, attempt), ended)| (*seq, (*attempt, ended))).collect();
    last.into_values().collect()
}

/// Largest run time and memory of the jobs that succeeded, with a margin (C-50).
fn learnt(succeeded: &[&PoolEnded], settings: &Settings) -> Needs {
    let needs = |ended: &&PoolEnded| {
        let measured = Needs { wall_s: ended.wall_s, rss_mb: ended.rss_mb };
        measured.measured_at(ended.cores, ended.base_cores, settings)
    };
    let needs: Vec<Needs> = succeeded.iter().map(needs).collect();
    let most = |of: fn(&Needs) -> i64| needs.iter().map(of).max().unwrap_or(0);
    let with_margin = |value: i64, tenths: i64| {
        whole((i128::from(value) * i128::from(tenths) + 9).div_euclid(10))
    };
    Needs {
        wall_s: with_margin(most(|needs| needs.wall_s), 12),
        rss_mb: with_margin(most(|needs| needs.rss_mb), 11),
    }
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
