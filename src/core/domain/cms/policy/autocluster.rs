//! Pending jobs that are alike: one look at an autocluster stands for one at each of its jobs.

use super::facts::{CoresMax, FailureClass, PendingJob, Seconds};
use super::settings::Settings;
use crate::event::{NeededLabel, Resource};
use crate::id::{Name, Names};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::collections::btree_set::Iter;
use std::ops::Bound;
use std::sync::Arc;

/// All of a job that a look at it reads, but when it was queued and its place in the workflow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// Workflow.
    pub workflow: Name,
    /// Sites of the whitelist, in the order of their numbers.
    pub whitelist: Option<Vec<Name>>,
    /// Whether it may overflow; `None`: as its workflow (C-06).
    pub allow_overflow: Option<bool>,
    /// Whether it counts as HighIO (C-04).
    pub high_io: bool,
    /// Whether it is a system job.
    pub system_job: bool,
    /// Whether it takes a node alone.
    pub whole_node: bool,
    /// Fewest cores.
    pub cores_min: i64,
    /// Most cores.
    pub cores_max: CoresMax,
    /// Cores at which run time and memory are stated.
    pub base_cores: i64,
    /// Run time.
    pub wall_s: Seconds,
    /// Memory, MB.
    pub rss_mb: i64,
    /// Order among one user's own jobs.
    pub user_priority: i64,
    /// Whether its last attempt failed on opening remote data.
    pub remote_open_failed: bool,
    /// Whether it is a test job (C-47).
    pub test_member: bool,
    /// Amounts of named resources, by name.
    pub resources: Vec<Resource<String>>,
    /// Labels, by name.
    pub labels: Vec<NeededLabel<String>>,
    /// Announcements of offers that its job does not get again.
    pub barred: Vec<(String, u32)>,
}

impl Signature {
    /// That of a job.
    pub fn of(
        job: &PendingJob,
        workflow: Name,
        test_member: bool,
        settings: &Settings,
        names: &mut Names,
    ) -> Signature {
        let whitelist = job.site_whitelist.as_ref().map(|sites| {
            let mut sites: Vec<Name> = sites.iter().map(|site| names.intern(site)).collect();
            sites.sort_unstable();
            sites.dedup();
            sites
        });
        let base_cores = job.base();
        Signature {
            workflow,
            whitelist,
            allow_overflow: job.allow_overflow,
            high_io: super::counters::is_high_io(job, settings),
            system_job: job.system_job,
            whole_node: job.whole_node,
            cores_min: job.cores_min,
            cores_max: job.most_cores(),
            base_cores,
            wall_s: job.max_wall_time_s.unwrap_or(settings.default_wall_time_s),
            rss_mb: job.max_rss_mb.unwrap_or_else(|| settings.default_rss_mb(base_cores)),
            user_priority: job.user_priority,
            remote_open_failed: settings.exit_codes.failure(job.last_failure, job.last_exit_code)
                == Some(FailureClass::RemoteOpen),
            test_member,
            resources: in_sum(&job.resources),
            labels: sorted(&job.labels),
            barred: sorted(&job.barred),
        }
    }

    /// Whether it may run at a site without overflow (C-34, C-35).
    pub fn is_local_to(&self, site: Name) -> bool {
        self.whitelist.as_ref().is_none_or(|sites| sites.binary_search(&site).is_ok())
    }
}

/// Amounts by name: what is stated twice is taken twice.
fn in_sum(resources: &[Resource<String>]) -> Vec<Resource<String>> {
    let mut sums: Vec<Resource<String>> = Vec::new();
    for it in sorted(resources) {
        match sums.last_mut().filter(|last| last.name == it.name) {
            Some(last) => last.amount = last.amount.saturating_add(it.amount),
            None => sums.push(it),
        }
    }
    sums
}

fn sorted<T: Clone + Ord>(list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    list.sort();
    list
}

/// A job's place in its autocluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// When it was queued.
    pub queued_at_s: Seconds,
    /// Place in the workflow.
    pub seq: i64,
    /// Name.
    pub job: Arc<str>,
}

/// A place, ordered by the place in the workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InWorkflow(Place);

impl Ord for InWorkflow {
    fn cmp(&self, other: &InWorkflow) -> Ordering {
        let key = |place: &InWorkflow| (place.0.seq, Arc::clone(&place.0.job), place.0.queued_at_s);
        self.0.seq.cmp(&other.0.seq).then_with(|| key(self).cmp(&key(other)))
    }
}

impl PartialOrd for InWorkflow {
    fn partial_cmp(&self, other: &InWorkflow) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Pending jobs of one signature. What a look reads of every autocluster lies in it, not behind a
/// pointer.
#[derive(Clone, Debug)]
pub struct Autocluster {
    /// Attributes that its jobs have in common.
    pub signature: Signature,
    /// A bit for each site of the whitelist, by its name's number modulo 64; all for no whitelist.
    listed: u64,
    /// The first site of the whitelist.
    first_listed: Option<Name>,
    /// The first of `by_age`.
    oldest: Option<Place>,
    /// The first of `by_seq`.
    lowest: Option<Place>,
    /// First come, first served: the order of system jobs and of the normal band.
    by_age: BTreeSet<Place>,
    /// By place in the workflow, of test jobs alone: the order of the test band.
    by_seq: BTreeSet<InWorkflow>,
}

impl Autocluster {
    /// An empty one.
    pub fn new(signature: Signature) -> Autocluster {
        let listed = signature
            .whitelist
            .as_ref()
            .map_or(u64::MAX, |sites| sites.iter().fold(0, |listed, site| listed | bit_of(*site)));
        let (by_age, by_seq) = (BTreeSet::new(), BTreeSet::new());
        let first_listed = signature.whitelist.iter().flatten().next().copied();
        let (oldest, lowest) = (None, None);
        Autocluster { signature, listed, first_listed, oldest, lowest, by_age, by_seq }
    }

    /// Whether its jobs may run at a site without overflow (C-34, C-35).
    pub fn is_local_to(&self, site: Name) -> bool {
        self.listed & bit_of(site) != 0 && self.signature.is_local_to(site)
    }

    /// Whether any site of the whitelist has a property; the first one is looked at first.
    pub fn lists_any(&self, has: impl Fn(Name) -> bool) -> bool {
        self.first_listed.is_some_and(&has)
            || self.signature.whitelist.iter().flatten().any(|site| has(*site))
    }

    /// Adds a job.
    pub fn insert(&mut self, place: Place) {
        if self.signature.test_member {
            self.by_seq.insert(InWorkflow(place.clone()));
        }
        self.by_age.insert(place);
        self.find_first();
    }

    /// Removes a job.
    pub fn remove(&mut self, place: &Place) {
        if self.signature.test_member {
            self.by_seq.remove(&InWorkflow(place.clone()));
        }
        self.by_age.remove(place);
        self.find_first();
    }

    fn find_first(&mut self) {
        if self.oldest.as_ref() != self.by_age.first() {
            self.oldest = self.by_age.first().cloned();
        }
        self.lowest = self.by_seq.first().map(|first| first.0.clone());
    }

    /// How many jobs.
    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_age.is_empty()
    }

    /// The job that was queued first.
    pub fn oldest(&self) -> Option<&Place> {
        self.oldest.as_ref()
    }

    /// The job that was queued last.
    pub fn newest(&self) -> Option<&Place> {
        self.by_age.last()
    }

    /// The first of the jobs that were queued later than a moment.
    pub fn first_queued_after(&self, at_s: Seconds) -> Option<&Place> {
        self.newest().filter(|newest| newest.queued_at_s > at_s)?;
        let from = Place { queued_at_s: at_s.saturating_add(1), seq: i64::MIN, job: "".into() };
        self.by_age.range(from..).next()
    }

    /// The first job in the order of the workflow among those queued no later than a moment.
    pub fn first_in_workflow(&self, queued_by_s: Seconds) -> Option<&Place> {
        let lowest = self.lowest.as_ref()?;
        if lowest.queued_at_s <= queued_by_s {
            return Some(lowest);
        }
        let mut places = self.by_seq.iter().map(|it| &it.0);
        places.find(|place| place.queued_at_s <= queued_by_s)
    }

    /// The job that was queued after another, no later than a moment.
    pub fn next(&self, place: &Place, queued_by_s: Seconds) -> Option<&Place> {
        let next = self.by_age.range((Bound::Excluded(place), Bound::Unbounded)).next();
        next.filter(|next| next.queued_at_s <= queued_by_s)
    }

    /// The same in the order of the workflow.
    pub fn next_in_workflow(&self, place: &Place, queued_by_s: Seconds) -> Option<&Place> {
        let after = (Bound::Excluded(InWorkflow(place.clone())), Bound::Unbounded);
        let mut places = self.by_seq.range(after).map(|it| &it.0);
        places.find(|place| place.queued_at_s <= queued_by_s)
    }

    /// The place of a job, if it is among them.
    pub fn find(&self, place: &Place) -> Option<&Place> {
        self.by_age.get(place)
    }

    /// All jobs, first queued first.
    pub fn places(&self) -> Iter<'_, Place> {
        self.by_age.iter()
    }
}

fn bit_of(site: Name) -> u64 {
    1 << (site.0 % 64)
}
