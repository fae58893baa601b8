//! Things that need a person, and sites by their trouble.

use super::domains::Of;
use super::query::{DOMAIN, Params, Query};
use super::{Refused, json, lists};
use crate::attention::{Attention, Item, SiteState, SiteTrouble, order, process_items};
use crate::described::described;
use crate::trouble::Trouble;
use axum::response::Response;
use yardmaster_core::unit::Millis;

pub(super) async fn attention(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    Query::new(&given, &[DOMAIN])?;
    // A process that shows no cycle has its own troubles to show.
    let looked = api.views.attention.get(api.client.answer_max()).await;
    let looked = looked.as_ref().map(|it| &it.view);
    Ok(json(&AttentionAnswer::of(looked, &api.status.troubles(), api.status.get().now)))
}

pub(super) async fn sites(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    Query::new(&given, &[DOMAIN])?;
    let looked = api.views.attention.get(api.client.answer_max()).await.ok_or_else(lists::late)?;
    Ok(json(&SitesAnswer::of(&looked.view)))
}

described! {
    /// Things that need a person.
    struct AttentionAnswer of (looked: Option<&Attention>, troubles: &[Trouble], now: Millis) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = looked.map_or(now, |it| it.now),
        /// That cycle; null: the process shows no cycle, and only its own troubles.
        cycle: Option<u64> = looked.map(|it| it.cycle),
        /// The most urgent first.
        items: Vec<ItemAnswer> = all(looked, troubles).iter().map(ItemAnswer::of).collect(),
        /// Items that are not listed: 200 are, and troubles of the process.
        more: usize = looked.map_or(0, |it| it.more),
    }

    /// A thing that needs a person.
    struct ItemAnswer of (it: &Item) {
        /// One of act (somebody has to), watch, note.
        severity: &'static str = it.severity.name(),
        /// The rule that found it.
        rule: &'static str = it.rule,
        /// Kind of the thing: queue, site, share, user, group, task, workflow, request, command,
        /// process, topic.
        kind: &'static str = it.kind,
        /// Its name; of several things what they have in common.
        name: String = it.name.clone(),
        /// Names of several things, at most 20.
        names: Vec<String> = it.names.clone(),
        /// A verdict.
        title: String = it.title.clone(),
        /// A sentence with figures.
        text: String = it.text.clone(),
        /// Since when, as far as it is known; ms since 1970. Of the process by the clock of its
        /// computer.
        since: Option<Millis> = it.since,
        /// Of how many things, jobs or requests it speaks; equals are ordered by it.
        count: u64 = it.count,
    }

    /// Sites by their trouble.
    struct SitesAnswer of (looked: &Attention) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = looked.now,
        /// That cycle.
        cycle: u64 = looked.cycle,
        /// Those in trouble first, then those with most jobs; at most 2000.
        sites: Vec<SiteAnswer> = looked.sites.iter().map(SiteAnswer::of).collect(),
    }

    /// A site.
    struct SiteAnswer of (it: &SiteState) {
        /// Site; the name of the queue or cluster where no fact names a site.
        site: String = it.site.clone(),
        /// What it is shown among: a cloud, a tier, a country; empty: not known.
        group: String = it.group.clone(),
        /// That of its worst trouble; null: there is none.
        severity: Option<&'static str> = it.severity.map(|severity| severity.name()),
        /// The worst first.
        troubles: Vec<SiteTroubleAnswer> = it.troubles.iter().map(SiteTroubleAnswer::of).collect(),
        /// Its queues.
        queues: u64 = it.queues,
        /// Jobs that run.
        running: u64 = it.running,
        /// Jobs queued.
        queued: u64 = it.queued,
        /// Jobs that failed within failing_h of [attention], 3 h by default.
        failed_3h: u64 = it.failed,
        /// Jobs that ended within the same span.
        ended_3h: u64 = it.ended,
        /// Newest start of a job; ms since 1970.
        last_start_at: Option<Millis> = it.last_start_at,
        /// Newest report of a pilot; ms since 1970.
        last_pilot_at: Option<Millis> = it.last_pilot_at,
        /// Jobs for which commands are held back.
        held_back: u64 = it.held_back,
    }

    /// Trouble of a site.
    struct SiteTroubleAnswer of (it: &SiteTrouble) {
        /// act, watch or note.
        severity: &'static str = it.severity.name(),
        /// The rule that saw it.
        rule: &'static str = it.rule,
        /// A verdict.
        title: String = it.title.clone(),
        /// A sentence with figures.
        text: String = it.text.clone(),
        /// Since when, as far as it is known; ms since 1970.
        since: Option<Millis> = it.since,
        /// The queue that has it.
        queue: String = it.queue.clone(),
    }
}

fn all(looked: Option<&Attention>, troubles: &[Trouble]) -> Vec<Item> {
    let mut items = process_items(troubles);
    items.extend(looked.into_iter().flat_map(|it| it.items.iter().cloned()));
    order(&mut items);
    items
}
