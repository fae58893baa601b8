//! The configuration as judging wants it: queues in order of their names, links and storage at
//! hand. Derived from the state, updated at the cut. `gather` makes candidates of it.

mod queues;
#[cfg(test)]
mod tests;

use crate::domain::atlas::policy::{Bare, Case, Nucleus};
use crate::event::is_newer;
use crate::event::{Configured, Link, Queue, Release, Scope, Storage};
use crate::id::{Name, stir};
use crate::policy::{Policy, Resolved};
use crate::state::State;
use crate::state::record::Fact;
use crate::state::slab::Index;
use queues::Makes;
pub use queues::QueueView;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A nucleus with what belongs to it (spec atlas 0.3).
pub struct NucleusView {
    /// Name.
    pub name: String,
    /// Whether it is in service.
    pub active: bool,
    /// Whether it takes full chains: as stated for its first queue.
    pub bare: Bare,
    /// Nucleus where the outputs of full chains lie (`secondaryNucleus`); empty: at itself.
    pub secondary: String,
    /// Its production queues, by their indices.
    pub queues: Vec<u32>,
    /// Endpoints it writes: output of its queues that lies at its site.
    pub(crate) outputs: Vec<u32>,
    /// Endpoints it reads.
    pub(crate) inputs: Vec<u32>,
    /// Default output endpoint.
    pub(crate) output: Option<u32>,
}

/// Queues, nuclei, storage and links of the configuration, with indices by name.
#[derive(Default)]
pub struct World {
    /// Queues in order of their names.
    pub queues: Vec<QueueView>,
    /// Their names, as decisions share them.
    pub(crate) names: Vec<Arc<str>>,
    by_name: BTreeMap<String, u32>,
    /// Queues in order of their unified names.
    by_unified: Vec<u32>,
    /// Queues in order of their sites.
    by_site: Vec<u32>,
    /// Of which make each queue is.
    pub(crate) makes: Makes,
    /// Clouds that queues are of.
    clouds: BTreeSet<String>,
    /// How many storage sites the queues have.
    pub(crate) sites: u32,
    /// Nuclei in order of their names.
    pub nuclei: Vec<NucleusView>,
    nucleus_at: BTreeMap<String, u32>,
    /// Nuclei whose default output endpoint cannot be written over the WAN (spec atlas F18).
    pub(crate) shut: Vec<Name>,
    /// Sites that are no nuclei and take full chains (spec atlas 7).
    pub(crate) satellites: Vec<NucleusView>,
    software: Vec<Release>,
    software_at: BTreeMap<String, u32>,
    /// The union of all tags.
    pub(crate) all_software: Option<u32>,
    pub(crate) storages: Vec<Option<Storage>>,
    storage_at: BTreeMap<String, u32>,
    /// Endpoint to the queues that read it.
    readers: BTreeMap<String, Vec<u32>>,
    /// The same for analysis.
    analysis_readers: BTreeMap<String, Vec<u32>>,
    links: Vec<Option<Link>>,
    link_at: BTreeMap<String, u32>,
    link_index: Index,
    link_names: Vec<(Name, Name)>,
    into: BTreeMap<Name, Vec<u32>>,
    from: BTreeMap<Name, u32>,
}

impl World {
    /// Brings everything up to date with what the state notes as touched; all of it at first.
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
        if state.touched.queues || state.touched.settings || everything {
            self.set_software(state);
            self.set_queues(state);
            self.set_nuclei(state);
        }
        let is_other = state.touched.queues || state.touched.settings || everything;
        if is_other || state.touched.storage {
            let is_shut = |view: &&NucleusView| {
                self.storage_of(view.output).is_some_and(|storage| !storage.write_wan)
            };
            let shut = self.nuclei.iter().filter(is_shut);
            self.shut = shut.map(|view| state.name(&view.name)).collect();
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

    fn set_nuclei(&mut self, state: &State) {
        self.nuclei.clear();
        self.nucleus_at.clear();
        for (name, fact) in state.facts.sites.iter() {
            let Some(site) = fact.current(is_newer).filter(|site| site.nucleus) else { continue };
            let output = match site.output_endpoint.as_str() {
                "" => None,
                endpoint => Some(self.storage(endpoint)),
            };
            let nucleus = self.nucleus_of(name, site.active, output);
            self.nucleus_at.insert(name.to_owned(), self.nuclei.len() as u32);
            self.nuclei.push(nucleus);
        }
        self.set_satellites(state);
    }

    fn set_satellites(&mut self, state: &State) {
        let takes_chains = |view: &&QueueView| Bare::of(&view.queue) != Bare::No;
        let mut names: Vec<String> =
            self.queues.iter().filter(takes_chains).map(|view| view.queue.site.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| !self.nucleus_at.contains_key(name));
        let is_active = |name: &str| {
            let site = state.facts.sites.of(name).and_then(|fact| fact.current(is_newer));
            site.is_none_or(|site| site.active)
        };
        let views = names.iter().map(|name| self.nucleus_of(name, is_active(name), None));
        self.satellites = views.filter(|view| view.bare != Bare::No).collect();
    }

    /// A site as a nucleus, whether it is one or not.
    pub(crate) fn site_of(&self, name: &str) -> NucleusView {
        self.nucleus_of(name, true, None)
    }

    fn nucleus_of(&self, name: &str, active: bool, output: Option<u32>) -> NucleusView {
        let own = |at: &u32| self.queues[*at as usize].queue.production;
        let queues: Vec<u32> = self.of_site(name).iter().copied().filter(own).collect();
        let (mut outputs, mut inputs): (Vec<u32>, Vec<u32>) = Default::default();
        for at in &queues {
            let view = &self.queues[*at as usize];
            for endpoint in &view.outputs {
                let is_local = self.storages[*endpoint as usize]
                    .as_ref()
                    .is_none_or(|storage| storage.site == name);
                if is_local && !outputs.contains(endpoint) {
                    outputs.push(*endpoint);
                }
            }
            for endpoint in &view.inputs {
                if !inputs.contains(endpoint) {
                    inputs.push(*endpoint);
                }
            }
        }
        let first = queues.first().map(|at| &self.queues[*at as usize]);
        let bare = first.map_or(Bare::No, |view| Bare::of(&view.queue));
        let secondary = first.and_then(|view| view.queue.flag("secondaryNucleus"));
        let secondary = secondary.unwrap_or_default().to_owned();
        let output = output.or_else(|| first.and_then(|view| view.output));
        NucleusView {
            name: name.to_owned(),
            active,
            bare,
            secondary,
            queues,
            outputs,
            inputs,
            output,
        }
    }

    /// A task's nucleus: one that is stated as such, or any other site that has queues for
    /// production, since a task may be bound to that too (spec atlas 1.1, 7).
    pub(crate) fn nucleus(&self, name: &str) -> Nucleus {
        let of = |view: &NucleusView| {
            let write_wan = self.storage_of(view.output).is_none_or(|storage| storage.write_wan);
            Nucleus { known: true, bare: view.bare, write_wan }
        };
        if let Some(at) = self.nucleus_at.get(name) {
            return of(&self.nuclei[*at as usize]);
        }
        if let Some(view) = self.satellites.iter().find(|view| view.name == name) {
            return of(view);
        }
        if self.has_production(name) {
            return of(&self.site_of(name));
        }
        // Where no site is stated as a nucleus, any name may be one.
        Nucleus { known: self.nuclei.is_empty(), ..Nucleus::UNKNOWN }
    }

    /// Software that a queue publishes.
    pub(crate) fn software_of(&self, at: Option<u32>) -> Option<&Release> {
        at.and_then(|at| self.software.get(at as usize))
    }

    /// A storage endpoint by its name.
    pub(crate) fn storage_named(&self, name: &str) -> Option<&Storage> {
        self.storage_of(self.storage_at.get(name).copied())
    }

    /// The index of a storage endpoint.
    pub(crate) fn storage_index(&self, name: &str) -> Option<u32> {
        self.storage_at.get(name).copied()
    }

    /// The index of a queue.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The indices of the queues that `admits` lets through.
    pub(crate) fn queue_indices(&self, admits: impl Fn(&Queue) -> bool) -> Vec<u32> {
        let views = (0..).zip(&self.queues);
        views.filter(|(_, view)| admits(&view.queue)).map(|(at, _)| at).collect()
    }

    /// The indices of the queues on the candidate list of a task that names some.
    pub(crate) fn admitted(
        &self,
        policy: &Policy,
        case: &Case<'_>,
        resolved: &Resolved,
    ) -> Vec<u32> {
        let bound = self.find(&case.task.options.chunk_site);
        let home = bound.map(|at| &self.queues[at as usize].queue);
        self.queue_indices(|queue| policy.admits(case, home, queue, resolved))
    }

    /// A link, if it is published.
    pub(crate) fn link(&self, source: Name, destination: Name) -> Option<&Link> {
        let same = |at: u32| self.link_names[at as usize] == (source, destination);
        let at = self.link_index.find(link_key(source, destination), same)?;
        self.links[at as usize].as_ref()
    }

    /// Whether any link from a site is published.
    pub(crate) fn knows_from(&self, source: Name) -> bool {
        self.from.get(&source).is_some_and(|links| *links > 0)
    }

    /// The links into a destination that are published.
    pub(crate) fn links_into(&self, destination: Name) -> impl Iterator<Item = &Link> {
        let links = self.into.get(&destination).into_iter().flatten();
        links.filter_map(|at| self.links[*at as usize].as_ref())
    }

    /// The queues that read an endpoint.
    pub(crate) fn readers(&self, endpoint: &str, scope: Scope) -> &[u32] {
        let readers = match scope {
            Scope::Default => &self.readers,
            Scope::Analysis => &self.analysis_readers,
        };
        readers.get(endpoint).map_or(&[], Vec::as_slice)
    }

    /// A storage endpoint by its index.
    pub(crate) fn storage_of(&self, at: Option<u32>) -> Option<&Storage> {
        at.and_then(|at| self.storages[at as usize].as_ref())
    }
}

fn link_key(source: Name, destination: Name) -> u64 {
    stir(u64::from(source.0) << 32 | u64::from(destination.0))
}

fn current<T: Configured>(fact: Option<&Fact<T>>) -> Option<T> {
    fact.and_then(|fact| fact.current(is_newer)).cloned()
}
