//! Which clusters a job may go to (N-01 to N-06).

use super::names::{NumberedNames, Numbers};
use crate::event::{ChildKind, Registration, RegistrationStatus};
use crate::unit::{Millis, SECOND};
use std::collections::BTreeSet;

/// Registrations of all index servers.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// By the number of the index server.
    children: Vec<Vec<Child>>,
}

#[derive(Clone, Debug)]
struct Child {
    number: u32,
    registration: Registration,
}

/// Clusters that the user asked for beside the job, and where to look for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Names of clusters, from `-c` and `-C` of a submission or `-k` and `-K` of a resubmission;
    /// one with a leading minus is rejected.
    pub clusters: Vec<String>,
    /// Index servers to begin with: from `-g` and `-G`, else of the first list that the submitter
    /// has (N-03).
    pub index_servers: Vec<String>,
}

/// How clusters were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryMode {
    /// The user named them.
    Explicit,
    /// Index servers were read.
    Index,
}

impl DiscoveryMode {
    /// Its name in records and answers.
    pub const fn name(self) -> &'static str {
        match self {
            DiscoveryMode::Explicit => "explicit",
            DiscoveryMode::Index => "index",
        }
    }
}

/// Clusters that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// How.
    pub mode: DiscoveryMode,
    /// Index servers that were read, each once, in the order of the walk.
    pub index_servers: Vec<String>,
    /// Clusters, after the reject list, by their numbers.
    pub clusters: Numbers,
    /// Clusters that the user named and nobody else ever did.
    pub unknown: BTreeSet<String>,
    /// Names that the user rejected and that no cluster has, in the order given.
    pub rejected_unknown: Vec<String>,
    /// Index servers that were read and have no registration that holds, in the order of the walk.
    pub empty_servers: Vec<String>,
}

/// No index server is stated (N-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoIndexServer;

impl Registry {
    /// Takes a registration in the place of an earlier one of the same child. One that lacks its
    /// kind or its address is skipped, and so are storage elements (N-04).
    pub fn put(&mut self, names: &mut NumberedNames, registration: &Registration) {
        let registry = names.number(&registration.registry) as usize;
        let number = names.number(&registration.child);
        if self.children.len() <= registry {
            self.children.resize_with(registry + 1, Vec::new);
        }
        let children = &mut self.children[registry];
        children.retain(|child| child.number != number);
        let is_used = matches!(registration.kind, ChildKind::Registry | ChildKind::Computing);
        if is_used && registration.addressed {
            children.push(Child { number, registration: registration.clone() });
        }
    }

    /// Forgets a child of an index server.
    pub fn remove(&mut self, names: &NumberedNames, registry: &str, child: &str) {
        let numbers = names.find(registry).zip(names.find(child));
        if let Some((registry, child)) = numbers
            && let Some(children) = self.children.get_mut(registry as usize)
        {
            children.retain(|it| it.number != child);
        }
    }

    /// Finds clusters. `clusters_named`: those with a name or second name, which is given in lower
    /// case; `ttl_min_s`: the least time to live of a registration that states none.
    ///
    /// # Errors
    /// If there is no index server to begin with.
    pub fn discover(
        &self,
        names: &NumberedNames,
        clusters_named: &dyn Fn(&str) -> Vec<u32>,
        start: &Start,
        now: Millis,
        ttl_min_s: u64,
    ) -> Result<Discovery, NoIndexServer> {
        let named = |name: &&String| !name.starts_with('-');
        let mut found = match start.clusters.iter().any(|name| named(&name)) {
            true => explicit(names, clusters_named, start.clusters.iter().filter(named)),
            false if start.index_servers.is_empty() => return Err(NoIndexServer),
            false => self.walk(names, &start.index_servers, now, ttl_min_s),
        };
        for rejected in start.clusters.iter().filter_map(|name| name.strip_prefix('-')) {
            let lower = rejected.to_lowercase();
            let is_named = |name: &str| name.to_lowercase() == lower;
            let clusters = clusters_named(&lower);
            let spelt = found.clusters.all().filter(|number| is_named(names.name(*number)));
            let spelt: Vec<u32> = spelt.collect();
            let unknown = found.unknown.len();
            found.unknown.retain(|name| !is_named(name));
            if clusters.is_empty() && spelt.is_empty() && found.unknown.len() == unknown {
                found.rejected_unknown.push(rejected.to_owned());
            }
            clusters.into_iter().chain(spelt).for_each(|number| found.clusters.remove(number));
        }
        Ok(found)
    }

    /// Reads every index server once, beginning with some (N-04).
    fn walk(
        &self,
        names: &NumberedNames,
        roots: &[String],
        now: Millis,
        ttl_min_s: u64,
    ) -> Discovery {
        let mut found = Discovery::of(DiscoveryMode::Index);
        let (mut seen, mut unknown) = (Numbers::default(), BTreeSet::new());
        let mut unread = Vec::new();
        for root in roots {
            match names.find(root) {
                Some(number) if seen.insert_new(number) => unread.push(number),
                None if unknown.insert(root) => found.index_servers.push(root.clone()),
                Some(_) | None => {}
            }
        }
        found.empty_servers.clone_from(&found.index_servers);
        let mut at = 0;
        while let Some(registry) = unread.get(at).copied() {
            at += 1;
            let children = self.children.get(registry as usize).into_iter().flatten();
            let mut is_empty = true;
            for child in children.filter(|child| child.is_live(now, ttl_min_s)) {
                is_empty = false;
                match child.registration.kind {
                    ChildKind::Registry if seen.insert_new(child.number) => {
                        unread.push(child.number)
                    }
                    ChildKind::Computing => found.clusters.insert(child.number),
                    ChildKind::Registry | ChildKind::Storage | ChildKind::Unknown => {}
                }
            }
            found.index_servers.push(names.name(registry).to_owned());
            if is_empty {
                found.empty_servers.push(names.name(registry).to_owned());
            }
        }
        // A process that was restarted may not know the same names as one that never was.
        found.empty_servers.sort();
        found
    }
}

impl Discovery {
    fn of(mode: DiscoveryMode) -> Discovery {
        Discovery {
            mode,
            index_servers: Vec::new(),
            clusters: Numbers::default(),
            unknown: BTreeSet::new(),
            rejected_unknown: Vec::new(),
            empty_servers: Vec::new(),
        }
    }
}

impl Child {
    /// Whether it was not withdrawn and was refreshed within its time to live: the stated one, else
    /// twice the announced time between refreshes and no less than `ttl_min_s` (ND-02).
    fn is_live(&self, now: Millis, ttl_min_s: u64) -> bool {
        let it = &self.registration;
        let default = || it.announced_refresh_s.saturating_mul(2).max(ttl_min_s);
        let ttl_s = it.ttl_s.unwrap_or_else(default);
        let ttl = Millis::try_from(ttl_s).unwrap_or(Millis::MAX).saturating_mul(SECOND);
        let is_fresh = !it.expires || now.saturating_sub(it.changed_at) <= ttl;
        it.status != RegistrationStatus::Purged && is_fresh
    }
}

/// The clusters that the user named (N-02): names and second names, whatever their case.
fn explicit<'a>(
    names: &NumberedNames,
    clusters_named: &dyn Fn(&str) -> Vec<u32>,
    named: impl Iterator<Item = &'a String>,
) -> Discovery {
    let mut found = Discovery::of(DiscoveryMode::Explicit);
    for name in named {
        let clusters = clusters_named(&name.to_lowercase());
        let is_known = !clusters.is_empty();
        clusters.into_iter().for_each(|number| found.clusters.insert(number));
        match names.find(name) {
            _ if is_known => {}
            Some(number) => found.clusters.insert(number),
            None => {
                found.unknown.insert(name.clone());
            }
        }
    }
    found
}
