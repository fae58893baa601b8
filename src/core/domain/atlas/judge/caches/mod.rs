//! Caches of judging. No decision depends on them: without them, the same values are computed
//! again.

mod census;
mod hints;
mod shares;
mod sites;
mod work_queues;

pub(crate) use hints::{RowHints, find};
pub(crate) use sites::{RankedSites, SiteClasses};
pub(crate) use work_queues::WorkQueues;

use crate::domain::atlas::policy::work_queue::JobLimits;
use crate::domain::atlas::policy::{LinkView, SiteRules};
use crate::id::Name;
use crate::state::{Flags, State};
use crate::unit::Millis;
use shares::Shares;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Most entries of a cache; beyond, all of them are dropped.
const ENTRIES_MAX: usize = 32;

/// By index of the queue: its slot figure, where that was looked up.
pub(crate) type SlotFigures = [OnceLock<Option<u32>>];

/// Caches of judging, by how long their entries stay valid.
#[derive(Default)]
pub(crate) struct Caches {
    config: ConfigCaches,
    cut: CutCaches,
}

/// By key: what was found.
type Cache<K, V> = RefCell<BTreeMap<K, Arc<V>>>;

/// Caches that stay valid until the configuration changes.
#[derive(Default)]
struct ConfigCaches {
    /// By share and resource type: where each queue's counters were when last looked at.
    row_hints: Cache<(Option<Name>, Option<Name>), [RowHints]>,
    /// Ranks of sites, by the rules they are made by.
    ranks: RefCell<Vec<Arc<RankedSites>>>,
    shares: Shares,
    /// By component of gdpconfig, share and resource type: the limits of the job throttler.
    job_limits: RefCell<BTreeMap<WorkQueueKey, JobLimits>>,
}

/// Component of gdpconfig, share and resource type.
type WorkQueueKey = (&'static str, (Name, Name));

/// Caches that are valid at one cut.
#[derive(Default)]
struct CutCaches {
    /// By nucleus, and whether express: the links to the nucleus.
    outlooks: Cache<(Option<Name>, bool), Outlook>,
    /// Queues (unified names) with slot figures.
    slotted: Flags,
    /// By share and resource type: the slot figure of each queue.
    slots: Cache<(Option<Name>, Option<Name>), SlotFigures>,
    /// Classes of sites, by the rules they are made by.
    classes: RefCell<Vec<Arc<SiteClasses>>>,
    /// By index of the queue: jobs that start an hour.
    starts: OnceLock<Box<[OnceLock<f64>]>>,
    /// Notes of a decision on the age of the facts.
    time_notes: OnceLock<Vec<String>>,
    /// Whether workers count as pilots.
    workers_are_pilots: OnceLock<bool>,
    /// Jobs of each share and resource type.
    work_queues: OnceLock<WorkQueues>,
}

/// How many links into a nucleus there are, and of how many a throughput of the last hour or the
/// files queued are stated and too old to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OldLinks {
    pub(crate) old: u32,
    pub(crate) all: u32,
}

/// State of the links to a nucleus at a cut.
pub(crate) struct Outlook {
    /// Files queued to the nucleus from all sources.
    pub(crate) queued: u64,
    /// When the newest figure in `queued` becomes too old to count; `None`: never.
    pub(crate) queued_until: Option<Millis>,
    /// Links whose figures are too old to count.
    pub(crate) old: OldLinks,
    /// Whether any of the links is blocked.
    pub(crate) has_blocked: bool,
    /// By dense number of the source.
    pub(crate) links: Box<[OnceLock<LinkView>]>,
}

impl Outlook {
    /// With links from so many sources, none of them looked at yet.
    pub(crate) fn new(queued: u64, queued_until: Option<Millis>, sources: u32) -> Outlook {
        let links = std::iter::repeat_with(OnceLock::new).take(sources as usize).collect();
        let old = OldLinks::default();
        Outlook { queued, queued_until, old, has_blocked: false, links }
    }
}

impl CutCaches {
    /// Those of a cut, in which nothing was looked at yet.
    fn of(state: &State) -> CutCaches {
        let mut caches = CutCaches::default();
        state.slots.keys().for_each(|(queue, _, _)| caches.slotted.add(*queue));
        caches
    }
}

impl Caches {
    /// A new cut; `is_other`: queues, sites, shares or settings changed.
    pub(crate) fn begin_cut(&mut self, state: &State, is_other: bool) {
        self.cut = CutCaches::of(state);
        self.config.shares.begin_cut();
        if is_other {
            self.config = ConfigCaches::default();
        }
    }

    /// Where the counters of each of so many queues are, for a share and resource type.
    pub(crate) fn row_hints(
        &self,
        gshare: Option<Name>,
        resource_type: Option<Name>,
        queues: usize,
    ) -> Arc<[RowHints]> {
        let make = || std::iter::repeat_with(RowHints::default).take(queues).collect();
        entry(&self.config.row_hints, (gshare, resource_type), make)
    }

    /// State of the links to a nucleus; made by `make` at the first call in a cut.
    pub(crate) fn outlook(
        &self,
        nucleus: Option<Name>,
        express: bool,
        make: impl FnOnce() -> Outlook,
    ) -> Arc<Outlook> {
        entry(&self.cut.outlooks, (nucleus, express), || Arc::new(make()))
    }

    /// The slot figures of so many queues for a share and resource type, none of them looked up at
    /// the first call in a cut; `None`: no queue has any.
    pub(crate) fn slots(
        &self,
        gshare: Option<Name>,
        resource_type: Option<Name>,
        queues: usize,
    ) -> Option<Arc<SlotFigures>> {
        if self.cut.slotted.is_empty() {
            return None;
        }
        let make = || std::iter::repeat_with(OnceLock::new).take(queues).collect();
        Some(entry(&self.cut.slots, (gshare, resource_type), make))
    }

    /// Whether a queue has slot figures.
    pub(crate) fn has_slots(&self, queue: Name) -> bool {
        self.cut.slotted.has(queue)
    }

    /// The tree of shares and how they stand.
    pub(crate) fn shares(&self) -> &Shares {
        &self.config.shares
    }

    /// The ranks of sites by some rules; `is_current` tells whether those of before still hold.
    pub(crate) fn ranks(
        &self,
        rules: &SiteRules,
        is_current: impl Fn(&RankedSites) -> bool,
        make: impl FnOnce() -> RankedSites,
    ) -> Arc<RankedSites> {
        let mut all = self.config.ranks.borrow_mut();
        if let Some(held) = all.iter_mut().find(|wait| wait.rules == *rules) {
            if !is_current(held) {
                *held = Arc::new(make());
            }
            return held.clone();
        }
        push(&mut all, Arc::new(make()))
    }

    /// The classes of sites by some rules.
    pub(crate) fn classes(
        &self,
        rules: &SiteRules,
        make: impl FnOnce() -> SiteClasses,
    ) -> Arc<SiteClasses> {
        let held = self.cut.classes.borrow().iter().find(|wait| wait.rules == *rules).cloned();
        held.unwrap_or_else(|| push(&mut self.cut.classes.borrow_mut(), Arc::new(make())))
    }

    /// Notes of a decision on the age of the facts; made by `make` at the first call in a cut.
    pub(crate) fn time_notes(&self, make: impl FnOnce() -> Vec<String>) -> &[String] {
        self.cut.time_notes.get_or_init(make)
    }

    /// Whether workers count as pilots; found by `find` at the first call in a cut.
    pub(crate) fn workers_are_pilots(&self, find: impl FnOnce() -> bool) -> bool {
        *self.cut.workers_are_pilots.get_or_init(find)
    }

    /// Jobs of each share and resource type at the cut.
    pub(crate) fn work_queues(&self, state: &State) -> &WorkQueues {
        self.cut.work_queues.get_or_init(|| WorkQueues::of(state))
    }

    /// The limits of the job throttler for a share and resource type.
    pub(crate) fn job_limits(
        &self,
        of: WorkQueueKey,
        make: impl FnOnce() -> JobLimits,
    ) -> JobLimits {
        entry(&self.config.job_limits, of, make)
    }

    /// Jobs that start an hour at one of so many queues.
    pub(crate) fn starts(&self, queue: u32, queues: usize, make: impl FnOnce() -> f64) -> f64 {
        let all = std::iter::repeat_with(OnceLock::new).take(queues);
        let starts = self.cut.starts.get_or_init(|| all.collect());
        match starts.get(queue as usize) {
            Some(held) => *held.get_or_init(make),
            None => make(),
        }
    }
}

/// The entry of a key, made if there is none.
fn entry<K: Ord, V: Clone>(all: &RefCell<BTreeMap<K, V>>, key: K, make: impl FnOnce() -> V) -> V {
    if let Some(held) = all.borrow().get(&key) {
        return held.clone();
    }
    let made = make();
    let mut all = all.borrow_mut();
    if all.len() >= ENTRIES_MAX {
        all.clear();
    }
    all.insert(key, made.clone());
    made
}

fn push<V: Clone>(all: &mut Vec<V>, made: V) -> V {
    if all.len() >= ENTRIES_MAX {
        all.clear();
    }
    all.push(made.clone());
    made
}
