//! The configuration as judging wants it: queues in order of their names, links and storage at
//! hand, all figures of a candidate one look away. Derived from the state, updated at the cut.

use crate::core::cut::Topic;
use crate::core::event::{Link, Queue, Status, Storage, Task};
use crate::core::fold::is_newer;
use crate::core::id::{Name, stir};
use crate::core::ledger::{AtQueue, AtShare};
use crate::core::policy::{Candidate, Case, LinkView};
use crate::core::record::Fact;
use crate::core::slab::Index;
use crate::core::state::State;
use std::collections::BTreeMap;

/// A queue with the numbers of what belongs to it.
pub struct QueueView {
    /// Its configuration.
    pub queue: Queue,
    /// Unified name: where its jobs and pilots are counted.
    pub unified: Name,
    /// Storage site.
    pub storage_site: Name,
    /// Dense number of the storage site.
    site: u32,
    /// Default write and read endpoints, as places in `World::storages`.
    output: Option<u32>,
    input: Option<u32>,
}

/// See the module.
#[derive(Default)]
pub struct World {
    /// Queues in order of their names.
    pub queues: Vec<QueueView>,
    by_name: BTreeMap<String, u32>,
    sites: u32,
    storages: Vec<Option<Storage>>,
    storage_at: BTreeMap<String, u32>,
    /// Endpoint to the queues that read it.
    readers: BTreeMap<String, Vec<u32>>,
    links: Vec<Option<Link>>,
    link_at: BTreeMap<String, u32>,
    link_index: Index,
    link_names: Vec<(Name, Name)>,
    into: BTreeMap<Name, Vec<u32>>,
    from: BTreeMap<Name, u32>,
    /// What a queue has of which nothing was ever counted.
    nothing: (AtQueue, AtShare),
}

impl World {
    /// Brings everything up to date with what the state says was touched; all of it at first.
    pub fn update(&mut self, state: &mut State, everything: bool) {
        if everything {
            *self = World::default();
            for (name, _) in state.facts.storages.iter() {
                state.touched.storages.insert(name.to_owned());
            }
            for (name, _) in state.facts.links.iter() {
                state.touched.links.insert(name.to_owned());
            }
        }
        for name in std::mem::take(&mut state.touched.storages) {
            let current = current(state.facts.storages.of(&name));
            let at = self.storage(&name);
            self.storages[at as usize] = current;
            state.touched.storage = true;
        }
        for name in std::mem::take(&mut state.touched.links) {
            self.set_link(state, &name);
        }
        if state.touched.queues || everything {
            self.set_queues(state);
        }
    }

    fn storage(&mut self, name: &str) -> u32 {
        if let Some(at) = self.storage_at.get(name) {
            return *at;
        }
        let at = self.storages.len() as u32;
        self.storages.push(None);
        self.storage_at.insert(name.to_owned(), at);
        at
    }

    fn set_link(&mut self, state: &mut State, name: &str) {
        let link = current(state.facts.links.of(name));
        match (self.link_at.get(name).copied(), link) {
            (Some(at), link) => {
                let (source, _) = self.link_names[at as usize];
                let known = self.from.entry(source).or_default();
                match (&self.links[at as usize], &link) {
                    (None, Some(_)) => *known += 1,
                    (Some(_), None) => *known -= 1,
                    _ => {}
                }
                self.links[at as usize] = link;
            }
            (None, Some(link)) => {
                let at = self.links.len() as u32;
                let source = state.name(&link.source);
                let destination = state.name(&link.destination);
                self.link_names.push((source, destination));
                self.link_index.insert(link_key(source, destination), at);
                self.into.entry(destination).or_default().push(at);
                *self.from.entry(source).or_default() += 1;
                self.links.push(Some(link));
                self.link_at.insert(name.to_owned(), at);
            }
            (None, None) => {}
        }
    }

    fn set_queues(&mut self, state: &mut State) {
        self.queues.clear();
        self.by_name.clear();
        self.readers.clear();
        let mut sites: BTreeMap<Name, u32> = BTreeMap::new();
        let queues: Vec<Queue> = state
            .facts
            .queues
            .iter()
            .filter_map(|(_, fact)| fact.current(is_newer).cloned())
            .collect();
        for queue in queues {
            let at = self.queues.len() as u32;
            let unified = state.name(&queue.unified);
            let storage_site = state.name(&queue.storage_site);
            let next = sites.len() as u32;
            let site = *sites.entry(storage_site).or_insert(next);
            let output = queue.endpoints.write.first().map(|name| self.storage(name));
            let input = queue.endpoints.read.first().map(|name| self.storage(name));
            for endpoint in &queue.endpoints.read {
                self.readers.entry(endpoint.clone()).or_default().push(at);
            }
            self.by_name.insert(queue.name.clone(), at);
            self.queues.push(QueueView { queue, unified, storage_site, site, output, input });
        }
        self.sites = sites.len() as u32;
    }

    /// The place of a queue.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    fn link(&self, source: Name, destination: Name) -> Option<&Link> {
        let same = |at: u32| self.link_names[at as usize] == (source, destination);
        let at = self.link_index.find(link_key(source, destination), same)?;
        self.links[at as usize].as_ref()
    }

    /// Fills in what a case knows of its nucleus: files queued to it from all sources, from link
    /// facts where a network service publishes them, else counted from transfers.
    pub fn survey(&self, state: &State, case: &mut Case<'_>) -> Survey {
        let activity = if case.express { EXPRESS } else { PRODUCTION };
        let nucleus = match case.task.nucleus.as_str() {
            "" => None,
            nucleus => state.known_name(nucleus),
        };
        let survey = Survey {
            nucleus,
            activity: state.known_name(activity),
            activity_text: activity,
            gshare: state.known_name(&case.task.gshare),
            resource_type: state.known_name(&case.task.resource_type),
        };
        let Some(nucleus) = nucleus else { return survey };
        let age = state.setting.limits.link_sample_age_ms;
        let mut published = false;
        for at in self.into.get(&nucleus).into_iter().flatten() {
            let Some(link) = &self.links[*at as usize] else { continue };
            if link.queued_known && case.now.saturating_sub(link.changed_at) < age {
                published = true;
                let files = queued(link, activity);
                case.queued_to_nucleus = case.queued_to_nucleus.saturating_add(files);
                let until = link.changed_at.saturating_add(age);
                let first = case.queued_to_nucleus_until.map_or(until, |first| first.min(until));
                case.queued_to_nucleus_until = Some(first);
            }
        }
        if !published && let Some(activity) = survey.activity {
            let into = state.ledger.into.of([nucleus.0, activity.0, 0, 0]);
            case.queued_to_nucleus = into.map_or(0, |flow| flow.files);
        }
        survey
    }

    /// Whether any link from a site is published.
    fn knows_from(&self, source: Name) -> bool {
        self.from.get(&source).is_some_and(|links| *links > 0)
    }

    /// All that is known of a link, figures too old to count left out.
    fn view(&self, state: &State, case: &Case<'_>, survey: &Survey, source: Name) -> LinkView {
        let mut view = LinkView { source_known: self.knows_from(source), ..LinkView::default() };
        let Some(nucleus) = survey.nucleus else { return view };
        let age = state.setting.limits.link_sample_age_ms;
        let link = self
            .link(source, nucleus)
            .filter(|link| case.now.saturating_sub(link.changed_at) < age);
        if let Some(link) = link {
            view.closeness = link.closeness;
            view.mbps_1h = link.mbps_1h;
            view.mbps_1d = link.mbps_1d;
            view.mbps_1w = link.mbps_1w;
            view.until = Some(link.changed_at.saturating_add(age));
            if link.queued_known {
                view.queued_files = Some(queued(link, survey.activity_text));
            }
        }
        if view.queued_files.is_none()
            && let Some(activity) = survey.activity
            && let Some(flow) = state.ledger.flow.of([source.0, nucleus.0, activity.0, 0])
        {
            view.source_known = true;
            view.queued_files = Some(flow.files);
        }
        if view.mbps_1h.is_none()
            && view.mbps_1d.is_none()
            && view.mbps_1w.is_none()
            && let Some(rate) = state.ledger.rate.of([source.0, nucleus.0, 0, 0])
        {
            let time = state.times.of(Topic::Transfer).time;
            view.source_known = true;
            view.mbps_1h = rate.mbps(0, time);
            view.mbps_1d = rate.mbps(1, time);
            view.mbps_1w = rate.mbps(2, time);
        }
        view
    }

    /// Every queue that `admits` lets through, as a candidate; in order of names.
    pub fn gather<'a>(
        &'a self,
        state: &State,
        case: &Case<'_>,
        survey: &Survey,
        admits: impl Fn(&Queue) -> bool,
    ) -> Vec<Candidate<'a>> {
        let stock = self.stock(case.task);
        let mut views: Vec<Option<LinkView>> = vec![None; self.sites as usize];
        let mut all = Vec::with_capacity(self.queues.len());
        for (at, view) in self.queues.iter().enumerate() {
            if !admits(&view.queue) {
                continue;
            }
            let site = view.storage_site;
            let link = *views[view.site as usize]
                .get_or_insert_with(|| self.view(state, case, survey, site));
            let there = stock.get(at).copied().unwrap_or_default();
            all.push(self.candidate(state, case, survey, view, link, there));
        }
        all
    }

    /// One queue as a candidate.
    pub fn gather_one<'a>(
        &'a self,
        state: &State,
        case: &Case<'_>,
        survey: &Survey,
        at: u32,
    ) -> Candidate<'a> {
        let view = &self.queues[at as usize];
        let link = self.view(state, case, survey, view.storage_site);
        let mut there = (0, 0);
        for replica in case.task.replicas.iter().filter(|replica| !replica.tape) {
            if view.queue.endpoints.read.contains(&replica.endpoint) {
                there = there.max((replica.bytes, replica.files));
            }
        }
        self.candidate(state, case, survey, view, link, there)
    }

    /// Per queue, the most that one disk endpoint it reads holds of a task's input. A file on two
    /// endpoints cannot be told from two files, so this is a lower bound of their union.
    fn stock(&self, task: &Task) -> Vec<(u64, u32)> {
        if task.replicas.is_empty() {
            return Vec::new();
        }
        let mut stock = vec![(0, 0); self.queues.len()];
        for replica in task.replicas.iter().filter(|replica| !replica.tape) {
            for at in self.readers.get(&replica.endpoint).into_iter().flatten() {
                let there = &mut stock[*at as usize];
                *there = (*there).max((replica.bytes, replica.files));
            }
        }
        stock
    }

    fn candidate<'a>(
        &'a self,
        state: &State,
        case: &Case<'_>,
        survey: &Survey,
        view: &'a QueueView,
        link: LinkView,
        (available_bytes, available_files): (u64, u32),
    ) -> Candidate<'a> {
        let unified = view.unified.0;
        let nothing = &self.nothing;
        let at_queue = state.ledger.queue.of([unified, 0, 0, 0]).unwrap_or(&nothing.0);
        let at_share = survey
            .gshare
            .and_then(|gshare| state.ledger.share.of([unified, gshare.0, 0, 0]))
            .unwrap_or(&nothing.1);
        let of_type =
            survey.gshare.zip(survey.resource_type).and_then(|(gshare, resource_type)| {
                state.ledger.load.of([unified, gshare.0, resource_type.0, 0])
            });
        let storage = |at: Option<u32>| at.and_then(|at| self.storages[at as usize].as_ref());
        let disk_io = (at_queue.disk_io_jobs > 0)
            .then(|| at_queue.disk_io as f64 / f64::from(at_queue.disk_io_jobs) / 1000.0);
        Candidate {
            queue: &view.queue,
            load: at_share.jobs,
            load_type: of_type.map_or([0; Status::COUNT], |load| load.count.jobs()),
            load_all: at_queue.count.jobs(),
            promised: at_share.promised,
            at_nucleus: survey.nucleus == Some(view.storage_site),
            link,
            output: storage(view.output),
            input: storage(view.input),
            pilots: at_queue.asked.saturating_add(at_queue.updated),
            workers: at_queue.workers_submitted.saturating_add(at_queue.workers_running),
            slots: self.slots(state, case, survey, view.unified),
            disk_io_kbps: disk_io,
            available_bytes: available_bytes.min(case.task.total_bytes),
            available_files: available_files.min(case.task.total_files),
        }
    }

    /// The slot figure that fits best: of this share before any, then of this resource type
    /// before any (spec atlas 2.5.1). Expired and negative ones are no figures.
    fn slots(&self, state: &State, case: &Case<'_>, survey: &Survey, queue: Name) -> Option<u32> {
        if state.slots.is_empty() {
            return None;
        }
        let any = Some(Name::NONE);
        for gshare in [survey.gshare, any] {
            for resource_type in [survey.resource_type, any] {
                let (Some(gshare), Some(resource_type)) = (gshare, resource_type) else { continue };
                let held = state.slots.get(&(queue, gshare, resource_type));
                if let Some(slots) = held.filter(|slots| {
                    slots.slots >= 0 && (slots.expires_at == 0 || slots.expires_at > case.now)
                }) {
                    return Some(u32::try_from(slots.slots).unwrap_or(u32::MAX));
                }
            }
        }
        None
    }

    /// Whether any of what a filter reads of a queue was touched.
    pub fn is_touched(
        &self,
        state: &State,
        at: u32,
        nucleus: Option<Name>,
        reads: &[crate::core::policy::Reads],
    ) -> bool {
        use crate::core::policy::Reads;
        let view = &self.queues[at as usize];
        let touched = &state.touched;
        reads.iter().any(|reads| match reads {
            Reads::Load => touched.load.has(view.unified),
            Reads::Pilot => touched.pilot.has(view.unified),
            Reads::Link => touched.from.has(view.storage_site),
            Reads::Nucleus => nucleus.is_some_and(|nucleus| touched.into.has(nucleus)),
            Reads::Storage => touched.storage,
        })
    }
}

/// Names that a case's look-ups need, found once.
pub struct Survey {
    /// Nucleus.
    pub nucleus: Option<Name>,
    activity: Option<Name>,
    activity_text: &'static str,
    gshare: Option<Name>,
    resource_type: Option<Name>,
}

/// Activity of ordinary output on its way to a nucleus (spec atlas F3).
pub const PRODUCTION: &str = "Production Output";
/// Activity of express chunks (spec atlas F3).
pub const EXPRESS: &str = "Express";

fn link_key(source: Name, destination: Name) -> u64 {
    stir(u64::from(source.0) << 32 | u64::from(destination.0))
}

fn queued(link: &Link, activity: &str) -> u64 {
    let files = link.queued.iter().filter(|queued| queued.activity == activity).map(|q| q.files);
    files.fold(0, u64::saturating_add)
}

fn current<T: crate::core::fold::Configured>(fact: Option<&Fact<T>>) -> Option<T> {
    fact.and_then(|fact| fact.current(is_newer)).cloned()
}
