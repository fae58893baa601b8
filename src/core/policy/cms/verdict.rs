//! Conclusions about a workflow from its test jobs (C-47, C-49, C-50).

use super::bounds::whole;
use super::decision::Action;
use super::effective::is_test_member;
use super::entry::{Standing, WorkflowEntry};
use super::facts::{EndedJob, Profile, Workflow};
use super::look::is_final_failure;
use super::pool::Pool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a workflow is killed or reported.
const ALL_FAILED: &str = "test_failed_100pct";

/// The verdicts on the workflows whose test jobs ended, as far as they are new.
pub fn verdicts(pool: &Pool) -> Vec<Action> {
    let live = pool.workflows().filter(|(_, entry, record)| {
        record.status.is_live() && entry.test_jobs > 0 && !entry.ended.is_empty()
    });
    let mut live: Vec<_> = live.map(|(_, entry, record)| (entry, record)).collect();
    live.sort_by(|a, b| a.1.workflow.cmp(&b.1.workflow));
    live.into_iter().flat_map(|(entry, record)| verdict(pool, entry, record)).collect()
}

fn verdict(pool: &Pool, entry: &WorkflowEntry, record: &Workflow) -> Vec<Action> {
    let members = last_attempts(entry);
    let (succeeded, failed): (Vec<&EndedJob>, Vec<&EndedJob>) =
        members.iter().partition(|ended| ended.failure.is_none());
    let is_retried = |ended: &EndedJob| {
        pool.job(&ended.job).is_some_and(|known| known.job().attempt > ended.attempt)
    };
    let is_final =
        |ended: &&EndedJob| ended.failure.is_none_or(is_final_failure) && !is_retried(ended);
    let all_final = members.len() as i64 == entry.test_jobs && members.iter().all(is_final);
    let mut actions = Vec::new();
    let workflow = || record.workflow.clone();
    if all_final && !succeeded.is_empty() && record.profile.is_none() {
        let profile = learnt(&succeeded);
        actions.push(Action::ProfileUpdated { workflow: workflow(), profile });
    }
    if all_final && succeeded.is_empty() && is_certain(pool, entry, &failed) {
        if pool.settings().auto_kill.of(record.class) {
            let pending_jobs = pending_jobs(pool, entry);
            let reason = ALL_FAILED;
            actions.push(Action::Kill { workflow: workflow(), reason, pending_jobs });
        } else if !record.alerted {
            actions.push(Action::Alert { workflow: workflow(), reason: ALL_FAILED });
        }
    }
    actions
}

/// The last attempt of each test job that ended.
fn last_attempts(entry: &WorkflowEntry) -> Vec<&EndedJob> {
    let of_members =
        entry.ended.iter().filter(|((seq, _), _)| is_test_member(*seq, entry.test_jobs));
    let last: BTreeMap<i64, &EndedJob> =
        of_members.map(|((seq, _), ended)| (*seq, ended)).collect();
    last.into_values().collect()
}

/// Largest run time and memory of the jobs that succeeded, with a margin (C-50).
fn learnt(succeeded: &[&EndedJob]) -> Profile {
    let most = |of: fn(&EndedJob) -> i64| succeeded.iter().map(|it| of(it)).max().unwrap_or(0);
    let with_margin = |value: i64, tenths: i64| {
        whole((i128::from(value) * i128::from(tenths) + 9).div_euclid(10))
    };
    Profile {
        wall_s: with_margin(most(|ended| ended.wall_s), 12),
        rss_mb: with_margin(most(|ended| ended.rss_mb), 11),
    }
}

/// Whether the failures can not be those of one bad site: they are of several, where the workflow
/// may run at several (C-49, CD-09).
fn is_certain(pool: &Pool, entry: &WorkflowEntry, failed: &[&EndedJob]) -> bool {
    let sites: BTreeSet<&str> = failed.iter().map(|ended| ended.run_site.as_str()).collect();
    entry.test_jobs == 1 || sites.len() >= 2 || possible_sites(pool, entry) < 2
}

/// At how many known sites the workflow may run by the whitelists of its jobs.
fn possible_sites(pool: &Pool, entry: &WorkflowEntry) -> usize {
    let jobs = entry.jobs.iter().filter_map(|(_, job)| pool.job(job));
    let of_jobs = jobs.map(|standing| &standing.job().site_whitelist);
    let of_ended = entry.ended.values().map(|ended| &ended.site_whitelist);
    let mut sites: BTreeSet<&str> = BTreeSet::new();
    for whitelist in of_jobs.chain(of_ended) {
        match whitelist {
            None => return pool.sites().count(),
            Some(listed) => sites.extend(listed.iter().map(String::as_str)),
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
