//! The queues of the configuration: kept where nothing of them changed, and found by what requests
//! name.

use super::World;
use crate::domain::atlas::policy::Make;
use crate::event::is_newer;
use crate::event::{Queue, Scope};
use crate::id::Name;
use crate::state::State;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Cloud of all queues outside ATLAS, also where it is that of some (spec panda-generic L3).
const ALL_QUEUES: &str = "WORLD";

/// A queue with the numbers of what belongs to it.
pub struct QueueView {
    /// Its configuration.
    pub queue: Queue,
    /// Unified name: where its jobs and pilots are counted.
    pub unified: Name,
    /// Storage site.
    pub storage_site: Name,
    /// Dense number of the storage site.
    pub(crate) site: u32,
    /// Default write endpoint.
    pub(crate) output: Option<u32>,
    /// Default read endpoint.
    pub(crate) input: Option<u32>,
    /// Every endpoint it reads, the default first.
    pub(crate) inputs: Vec<u32>,
    /// Every endpoint it writes, the default first.
    pub(crate) outputs: Vec<u32>,
    /// Every endpoint it reads for analysis.
    pub(crate) analysis_inputs: Vec<u32>,
    /// Every endpoint it writes for analysis.
    pub(crate) analysis_outputs: Vec<u32>,
    /// Index of the software that it publishes.
    pub(crate) software: Option<u32>,
}

impl QueueView {
    /// Endpoints it reads and writes in a scope, the default first.
    pub(crate) fn stores(&self, scope: Scope) -> (&[u32], &[u32]) {
        match scope {
            Scope::Default => (&self.inputs, &self.outputs),
            Scope::Analysis => (&self.analysis_inputs, &self.analysis_outputs),
        }
    }
}

/// Name under which the union of all tags is published (spec atlas 3.1).
const ALL_SOFTWARE: &str = "ALL";

/// Of which make each queue is.
#[derive(Default)]
pub(crate) struct Makes {
    /// By index of the queue: the number of its make.
    pub(crate) of_queue: Vec<u32>,
    /// How many makes there are.
    pub(crate) count: usize,
}

impl Makes {
    fn of(queues: &[QueueView]) -> Makes {
        let mut numbers: BTreeMap<Make<'_>, u32> = BTreeMap::new();
        let mut of_queue = Vec::with_capacity(queues.len());
        for view in queues {
            let next = numbers.len() as u32;
            of_queue.push(*numbers.entry(Make::of(&view.queue)).or_insert(next));
        }
        Makes { of_queue, count: numbers.len() }
    }
}

/// Whether a queue is found by the same names as it was, and has what it had at the same sites and
/// endpoints.
fn is_placed_alike(was: &Queue, is: &Queue) -> bool {
    (&was.unified, &was.site, &was.storage_site) == (&is.unified, &is.site, &is.storage_site)
        && (&was.endpoints, &was.analysis_endpoints) == (&is.endpoints, &is.analysis_endpoints)
}

impl World {
    /// Takes up what changed of the queues. As a rule that is one of very many: views of the others
    /// are kept, and as long as none came, went or moved, all that leads to them too.
    pub(super) fn set_queues(&mut self, state: &mut State) {
        let facts = &state.facts.queues;
        let current = || facts.iter().filter_map(|(_, fact)| fact.current(is_newer));
        let names = self.queues.iter().map(|view| &view.queue.name);
        let mut is_moved = !names.eq(current().map(|queue| &queue.name));
        if is_moved {
            self.names = current().map(|queue| queue.name.as_str().into()).collect();
            self.queues.clear();
        }
        let mut changed: Vec<(usize, Queue)> = Vec::new();
        for (at, queue) in current().enumerate() {
            let held = self.queues.get(at).map(|view| &view.queue);
            if held.is_none_or(|held| held != queue) {
                is_moved |= held.is_none_or(|held| !is_placed_alike(held, queue));
                changed.push((at, queue.clone()));
            }
        }
        for (at, queue) in changed {
            let site = self.queues.get(at).map_or(0, |view| view.site);
            let view = QueueView { site, ..self.queue_view(queue, state) };
            match self.queues.get_mut(at) {
                Some(held) => *held = view,
                None => self.queues.push(view),
            }
        }
        self.makes = Makes::of(&self.queues);
        self.find_clouds();
        if is_moved {
            self.find_queues();
            self.number_sites();
        }
        self.link_software();
    }

    fn queue_view(&mut self, queue: Queue, state: &mut State) -> QueueView {
        let unified = state.name(&queue.unified);
        let storage_site = state.name(&queue.storage_site);
        let outputs: Vec<u32> =
            queue.endpoints.write.iter().map(|name| self.storage(name)).collect();
        let inputs: Vec<u32> = queue.endpoints.read.iter().map(|name| self.storage(name)).collect();
        let (output, input) = (outputs.first().copied(), inputs.first().copied());
        let reads = queue.reads(Scope::Analysis).iter();
        let analysis_inputs = reads.map(|name| self.storage(name)).collect();
        let writes = queue.writes(Scope::Analysis).iter();
        let analysis_outputs = writes.map(|name| self.storage(name)).collect();
        QueueView {
            unified,
            storage_site,
            site: 0,
            output,
            input,
            inputs,
            outputs,
            analysis_inputs,
            analysis_outputs,
            software: None,
            queue,
        }
    }

    /// Makes the indices of queues by name, unified name, site and endpoint.
    fn find_queues(&mut self) {
        let World { queues, by_name, by_unified, by_site, readers, analysis_readers, .. } = self;
        by_name.clear();
        readers.clear();
        analysis_readers.clear();
        for (at, view) in (0..).zip(queues.iter()) {
            let queue = &view.queue;
            by_name.insert(queue.name.clone(), at);
            for endpoint in &queue.endpoints.read {
                readers.entry(endpoint.clone()).or_default().push(at);
            }
            for endpoint in queue.reads(Scope::Analysis) {
                analysis_readers.entry(endpoint.clone()).or_default().push(at);
            }
        }
        *by_unified = (0..queues.len() as u32).collect();
        by_site.clone_from(by_unified);
        let queue = |at: &u32| &queues[*at as usize].queue;
        by_unified.sort_by(|a, b| queue(a).unified.cmp(&queue(b).unified));
        by_site.sort_by(|a, b| queue(a).site.cmp(&queue(b).site));
    }

    fn find_clouds(&mut self) {
        self.clouds.clear();
        for view in &self.queues {
            let cloud = view.queue.cloud.as_str();
            if !["", ALL_QUEUES].contains(&cloud) && !self.clouds.contains(cloud) {
                self.clouds.insert(cloud.to_owned());
            }
        }
    }

    fn number_sites(&mut self) {
        let mut sites: BTreeMap<Name, u32> = BTreeMap::new();
        for view in &mut self.queues {
            let next = sites.len() as u32;
            view.site = *sites.entry(view.storage_site).or_insert(next);
        }
        self.sites = sites.len() as u32;
    }

    /// Takes up what queues publish. As a rule nothing of it changed.
    pub(super) fn set_software(&mut self, state: &State) {
        let releases = state.facts.releases.iter();
        let releases = releases.filter_map(|(_, fact)| fact.current(is_newer));
        let (mut count, mut is_other) = (0, false);
        for release in releases {
            match self.software.get_mut(count) {
                Some(held) if *held == *release => {}
                Some(held) => (*held, is_other) = (release.clone(), true),
                None => {
                    self.software.push(release.clone());
                    is_other = true;
                }
            }
            count += 1;
        }
        if is_other || self.software.len() != count {
            self.software.truncate(count);
            let places = (0..).zip(&self.software);
            self.software_at = places.map(|(at, it)| (it.queue.clone(), at)).collect();
            self.all_software = self.software_at.get(ALL_SOFTWARE).copied();
        }
    }

    fn link_software(&mut self) {
        for view in &mut self.queues {
            view.software = self.software_at.get(&view.queue.unified).copied();
        }
    }

    /// The queues of a unified name, in order of their names.
    fn of_unified(&self, name: &str) -> &[u32] {
        equal(&self.by_unified, |at| self.queues[at as usize].queue.unified.as_str().cmp(name))
    }

    /// The queues of a site, in order of their names.
    pub(super) fn of_site(&self, name: &str) -> &[u32] {
        equal(&self.by_site, |at| self.queues[at as usize].queue.site.as_str().cmp(name))
    }

    /// Whether a queue that PanDA's map has is of exactly this name.
    pub(crate) fn is_mapped_queue(&self, name: &str) -> bool {
        let is_mapped = |at: &u32| self.queues[*at as usize].queue.is_mapped();
        self.by_name.get(name).is_some_and(is_mapped)
    }

    /// Whether no queue is known at all.
    pub(crate) fn is_without_queues(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Whether any queue is of this cloud.
    pub(crate) fn is_cloud(&self, name: &str) -> bool {
        self.clouds.contains(name)
    }

    /// Whether any queue has this name, this unified name or this site.
    pub(crate) fn names_queue(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
            || !self.of_unified(name).is_empty()
            || !self.of_site(name).is_empty()
    }

    /// Whether a site has a queue for production.
    pub(crate) fn has_production(&self, site: &str) -> bool {
        let is_for_production = |at: &u32| self.queues[*at as usize].queue.production;
        !site.is_empty() && self.of_site(site).iter().any(is_for_production)
    }

    /// Whether a name stands for several queues: a unified queue and its parts.
    pub(crate) fn stands_for_several(&self, name: &str) -> bool {
        let of_unified = self.of_unified(name);
        let is_another = |at: &u32| !of_unified.contains(at);
        of_unified.len() + usize::from(self.by_name.get(name).is_some_and(is_another)) > 1
    }
}

/// The part of an ordered list that is equal to what is looked for.
fn equal(list: &[u32], order: impl Fn(u32) -> Ordering) -> &[u32] {
    let first = list.partition_point(|at| order(*at) == Ordering::Less);
    let count = list[first..].partition_point(|at| order(*at) == Ordering::Equal);
    &list[first..first + count]
}
