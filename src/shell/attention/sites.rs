//! Sites with what is wrong there, those in trouble first.

use super::Severity;
use super::facts::Facts;
use super::queues::{QueueFinding, site_of};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;

/// So many sites are listed.
const SITES_MAX: usize = 2_000;

/// A site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteState {
    /// Its name.
    pub site: String,
    /// What it is shown among: a cloud, a tier, a country.
    pub group: String,
    /// That of its worst trouble; `None`: there is none.
    pub severity: Option<Severity>,
    /// The worst first.
    pub troubles: Vec<SiteTrouble>,
    /// Its queues.
    pub queues: u64,
    /// Jobs that run there.
    pub running: u64,
    /// Jobs queued there.
    pub queued: u64,
    /// Jobs that failed there lately.
    pub failed: u64,
    /// Jobs that ended there lately.
    pub ended: u64,
    /// Newest start of a job.
    pub last_start_at: Option<Millis>,
    /// Newest report of a pilot.
    pub last_pilot_at: Option<Millis>,
    /// Jobs for which commands are held back.
    pub held_back: u64,
}

/// Trouble of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteTrouble {
    /// How urgent it is.
    pub severity: Severity,
    /// The rule that saw it.
    pub rule: &'static str,
    /// A verdict.
    pub title: String,
    /// One sentence with figures.
    pub text: String,
    /// Since when, as far as it is known.
    pub since: Option<Millis>,
    /// The queue that has it.
    pub queue: String,
}

/// All sites.
pub(super) fn sites(facts: &Facts<'_>, found: &[QueueFinding]) -> Vec<SiteState> {
    let mut sites: BTreeMap<&str, SiteState> = BTreeMap::new();
    let mut site_of_queue: BTreeMap<&str, &str> = BTreeMap::new();
    for queue in &facts.view.queues {
        let name = site_of(queue);
        site_of_queue.insert(&queue.queue, name);
        let site = sites.entry(name).or_default();
        name.clone_into(&mut site.site);
        if site.group.is_empty() {
            queue.group.clone_into(&mut site.group);
        }
        site.queues += 1;
        site.running += queue.running;
        site.queued += queue.queued;
        let [failed, ended] = facts.ended.get(&queue.queue).copied().unwrap_or_default();
        site.failed += failed;
        site.ended += ended;
        site.last_start_at = site.last_start_at.max(queue.last_start_at);
        site.last_pilot_at = site.last_pilot_at.max(queue.last_pilot_at);
    }
    for (_, report) in facts.state.commands.held.iter() {
        let name = site_of_queue.get(report.queue.as_str()).copied();
        if let Some(site) = name.and_then(|name| sites.get_mut(name)) {
            site.held_back += report.amount;
        }
    }
    for finding in found {
        if let Some(site) = sites.get_mut(finding.site.as_str()) {
            site.troubles.push(trouble(finding));
        }
    }
    let mut sites: Vec<SiteState> = sites.into_values().collect();
    for site in &mut sites {
        site.troubles.sort_by(|a, b| (a.severity, &a.queue).cmp(&(b.severity, &b.queue)));
        site.severity = site.troubles.first().map(|it| it.severity);
    }
    sites.sort_by(|a, b| {
        let rank = |site: &SiteState| (site.severity.is_none(), site.severity);
        let size = |site: &SiteState| Reverse(site.running + site.queued);
        (rank(a), size(a), &a.site).cmp(&(rank(b), size(b), &b.site))
    });
    sites.truncate(SITES_MAX);
    sites
}

fn trouble(finding: &QueueFinding) -> SiteTrouble {
    SiteTrouble {
        severity: finding.severity,
        rule: finding.rule,
        title: finding.title.clone(),
        text: finding.text.clone(),
        since: finding.since,
        queue: finding.queue.clone(),
    }
}
