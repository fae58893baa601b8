//! A queue, a site, a cluster or a share as it stands, for the API and for the terminal.

use crate::view::{QueueView, ShareView};
use std::collections::BTreeSet;
use std::fmt::Write;
use yardmaster_core::explain::{FilledBy, FilledOf, HeldJobs, PlaceStory, iso, jobs_text, span};
use yardmaster_core::policy::{Flavour, Policy};
use yardmaster_core::unit::{Millis, SECOND};

/// Names of a kind that a text lists.
const LISTED: usize = 5;

/// Kinds of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// A queue; of a pool of slots, a site.
    Queue,
    /// A site with its queues; of NorduGrid, a cluster.
    Site,
    /// A leaf share.
    Share,
}

/// The words of a domain for its places and for what asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceWords {
    queue: &'static str,
    site: &'static str,
    requests: &'static str,
    waiting: &'static str,
}

impl PlaceWords {
    /// Those of a domain with these policies.
    pub fn of<'a>(mut policies: impl Iterator<Item = &'a Policy>) -> PlaceWords {
        let flavour: Option<&Flavour> = policies.next().map(|policy| policy.flavour);
        match flavour {
            Some(it) if it.judges_offers() => {
                let (queue, waiting) = ("site", "workflow");
                PlaceWords { queue, site: queue, requests: "jobs passed over", waiting }
            }
            Some(it) if it.judges_targets() => {
                PlaceWords { queue: "queue", site: "cluster", requests: "jobs", waiting: "job" }
            }
            _ => {
                let waiting = "request";
                PlaceWords { queue: "queue", site: "site", requests: "requests", waiting }
            }
        }
    }

    /// The word for a kind of place.
    pub fn noun(&self, kind: PlaceKind) -> &'static str {
        match kind {
            PlaceKind::Queue => self.queue,
            PlaceKind::Site => self.site,
            PlaceKind::Share => "share",
        }
    }
}

/// A place of a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPlace {
    /// Its kind.
    pub kind: PlaceKind,
    /// Its name.
    pub name: String,
    /// Its queues; itself, where it is one.
    pub queues: Vec<QueueView>,
    /// Its part, where it is a share.
    pub share: Option<ShareView>,
}

impl NamedPlace {
    /// The place of a name, of this kind if one is given; `None`: there is none.
    pub fn find(
        queues: &[QueueView],
        shares: &[ShareView],
        name: &str,
        kind: Option<PlaceKind>,
    ) -> Option<NamedPlace> {
        let is_asked = |it: PlaceKind| kind.is_none_or(|kind| kind == it);
        let of = |kind, queues: Vec<QueueView>, share| {
            Some(NamedPlace { kind, name: name.to_owned(), queues, share })
        };
        let named = |name: &str| queues.iter().find(|it| it.queue == name);
        // A pseudo-queue is a part of its queue: QUEUE/SCORE.
        let one = named(name).or_else(|| named(name.rsplit_once('/')?.0));
        // Of a pool of slots each row is a site.
        let is_site = |it: &QueueView| it.site.is_empty() || it.site == it.queue;
        let fits = |it: &&QueueView| {
            is_asked(PlaceKind::Queue) || is_asked(PlaceKind::Site) && is_site(it)
        };
        if let Some(one) = one.filter(fits) {
            let (name, queues) = (one.queue.clone(), vec![one.clone()]);
            return Some(NamedPlace { kind: PlaceKind::Queue, name, queues, share: None });
        }
        let is_at = |it: &&QueueView| {
            let rest = it.queue.strip_prefix(name);
            it.site == name || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let at: Vec<QueueView> = queues.iter().filter(is_at).cloned().collect();
        if is_asked(PlaceKind::Site) && !at.is_empty() && !name.is_empty() {
            return of(PlaceKind::Site, at, None);
        }
        let share = shares.iter().find(|it| it.gshare == name);
        let share = share.filter(|_| is_asked(PlaceKind::Share))?;
        of(PlaceKind::Share, Vec::new(), Some(share.clone()))
    }

    /// Whose jobs are counted for it.
    pub fn filled_of(&self) -> FilledOf {
        match self.kind {
            PlaceKind::Share => FilledOf::Share(self.name.clone()),
            PlaceKind::Queue | PlaceKind::Site => FilledOf::Queues(self.queue_names()),
        }
    }

    /// Names of its queues.
    pub fn queue_names(&self) -> Vec<String> {
        self.queues.iter().map(|it| it.queue.clone()).collect()
    }

    /// Its story, of which no decision was looked at yet; `offers`: names of offers of slots there.
    pub fn story(&self, offers: BTreeSet<String>) -> PlaceStory {
        PlaceStory::new(self.queue_names(), offers)
    }

    /// One sentence on how it stands; of a queue with whether it gets jobs, and else why not.
    pub fn headline(&self, words: PlaceWords, filled: &FilledBy, story: &PlaceStory) -> String {
        let (noun, name) = (words.noun(self.kind), &self.name);
        let HeldJobs { running, queued, .. } = &filled.all;
        match (&self.share, &self.queues[..]) {
            (Some(share), _) => format!(
                "share {name} uses {:.1} % of what runs, its target is {:.1} %; {running} jobs \
                 run, {queued} are queued",
                share.r#use * 100.0,
                share.target * 100.0
            ),
            (None, [one]) if self.kind == PlaceKind::Queue => {
                let jobs = jobs_at(one);
                format!("{noun} {name} is {} {}; {jobs}", status_since(one), gets(one, story))
            }
            (None, all) => {
                let sum = |of: fn(&QueueView) -> u64| all.iter().map(of).sum::<u64>();
                let (running, queued) = (sum(|it| it.running), sum(|it| it.queued));
                let count = match all.len() {
                    1 => "1 queue".to_owned(),
                    many => format!("{many} queues"),
                };
                format!("{noun} {name} has {count}; {running} jobs run, {queued} are queued")
            }
        }
    }

    /// All of it as text. `waiting`: requests of a share that wait.
    pub fn text(
        &self,
        words: PlaceWords,
        now: Millis,
        filled: &FilledBy,
        (story, waiting): (&PlaceStory, Option<u64>),
    ) -> String {
        let mut text = format!("{}, as of {}\n", self.headline(words, filled, story), iso(now));
        for queue in &self.queues {
            write_queue(&mut text, queue, now, self.kind == PlaceKind::Site);
        }
        if let Some(waiting) = waiting.filter(|_| self.kind == PlaceKind::Share) {
            // Writing to a String cannot fail.
            let s = if waiting == 1 { "" } else { "s" };
            let _ = writeln!(text, "  waiting   {waiting} {}{s}", words.waiting);
        }
        let lists = [
            ("shares", &filled.shares, self.kind != PlaceKind::Share),
            ("users", &filled.users, true),
            ("queues", &filled.queues, self.kind == PlaceKind::Share),
        ];
        for (name, all, is_shown) in lists {
            if is_shown && !all.is_empty() {
                let has_queued = self.queues.iter().all(|queue| queue.offers.is_none());
                let _ = writeln!(text, "  {name:<9} {}", held(all, has_queued));
            }
        }
        if self.kind != PlaceKind::Share {
            text += &story.text(words.requests);
        }
        text
    }
}

/// Jobs of a queue; of a site of a pool, where nothing is queued, also what is free.
fn jobs_at(it: &QueueView) -> String {
    let (running, cores) = (it.running, it.running_cores);
    match (it.offers, it.free_cores) {
        (Some(offers), Some(free)) => {
            let s = if offers == 1 { "" } else { "s" };
            format!(
                "{running} jobs run on {cores} cores, {free} cores are free in {offers} live \
                 offer{s}"
            )
        }
        _ => format!("{running} jobs run, {} are queued", it.queued),
    }
}

/// Whether a queue gets jobs, and the filter that refused it most where it got none of late.
fn gets(queue: &QueueView, story: &PlaceStory) -> String {
    if queue.is_closed() {
        return "and gets no new jobs".to_owned();
    }
    let since = story.sent_since.map_or(String::new(), |since| format!(" since {}", iso(since)));
    let [decisions, jobs] = story.of_a_day;
    if decisions > 0 {
        let s = if decisions == 1 { "" } else { "s" };
        return format!("and was sent {} by {decisions} decision{s}{since}", jobs_text(jobs));
    }
    match story.by_frequency().first() {
        _ if story.decisions == 0 => "and no decision names it".to_owned(),
        None => format!("and was sent nothing{since}, though no filter refused it"),
        Some((filter, it)) => {
            let text = if it.text.is_empty() { &it.help } else { &it.text };
            let of = format!("in {} of {} decisions", it.decisions, story.decisions);
            format!("and was sent nothing{since}: {of} {filter} refused it ({text})")
        }
    }
}

/// The status, of a closed queue with since when it has it at least.
fn status_since(queue: &QueueView) -> String {
    let since = match (queue.is_silent(), queue.is_closed()) {
        (true, _) => queue.as_of.map(|at| format!(", what is known of it is of {}", iso(at))),
        (_, true) => queue.changed_at.map(|at| format!(", at least since {}", iso(at))),
        _ => None,
    };
    format!("{}{}", status(queue), since.unwrap_or_default())
}

fn status(queue: &QueueView) -> &str {
    if queue.status.is_empty() { "of no known status" } else { &queue.status }
}

fn write_queue(text: &mut String, it: &QueueView, now: Millis, is_named: bool) {
    let of = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let slots = it.slots.map(|slots| format!("{slots} slots to fill"));
    let figures = [
        of(it.running_cores, "cores run"),
        of(it.queued_cores, "cores queued"),
        of(it.transferring, "jobs transferring"),
        of(it.reserved, "jobs reserved and not seen yet"),
        of(it.pilots_running, "pilots run"),
        of(it.pilots_submitted, "pilots submitted"),
        slots,
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let ago = |at: Option<Millis>| {
        at.map_or("none known".to_owned(), |at| {
            format!("{} ago", span(now.saturating_sub(at) / SECOND))
        })
    };
    // Writing to a String cannot fail.
    if is_named {
        let (name, status) = (&it.queue, status(it));
        let (running, queued) = (it.running, it.queued);
        let _ = writeln!(text, "  queue     {name}: {status}, {running} run, {queued} queued");
        return;
    }
    if !it.site.is_empty() && it.site != it.queue {
        let _ = writeln!(text, "  site      {}", it.site);
    }
    if !figures.is_empty() {
        let _ = writeln!(text, "  has       {}", figures.join(", "));
    }
    if it.last_start_at.is_some() || it.last_pilot_at.is_some() {
        let (start, pilot) = (ago(it.last_start_at), ago(it.last_pilot_at));
        let _ = writeln!(text, "  last      start {start}, pilot {pilot}");
    }
}

fn held(all: &[HeldJobs], has_queued: bool) -> String {
    let one = |it: &HeldJobs| {
        let name = if it.name.is_empty() { "none" } else { &it.name };
        let queued = if has_queued { format!(", {} queued", it.queued) } else { String::new() };
        format!("{name} {} run{queued}", it.running)
    };
    let shown: Vec<String> = all.iter().take(LISTED).map(one).collect();
    let more = all.len().saturating_sub(LISTED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", shown.join("; "))
}
