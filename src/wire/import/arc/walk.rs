//! The walk over index servers: each is read once, so that it ends where they name each other.

use super::index::{IndexServer, Registered};
use super::url::{LdapUrl, host_of, rest_base};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::{ChildKind, Registration, RegistrationStatus};
use yardmaster_core::unit::Millis;

/// Most index servers that are read in one walk.
const SERVERS_MAX: usize = 5_000;
/// Most clusters that are found in one.
const CLUSTERS_MAX: usize = 10_000;

/// Where a cluster is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArcInterfaces {
    /// Address below which its REST interface is.
    pub rest: Option<String>,
    /// Its entries in LDAP.
    pub ldap: Option<LdapUrl>,
}

/// Index servers that are known and those that are still to be read.
#[derive(Clone, Debug, Default)]
pub struct IndexWalk {
    seen: BTreeSet<String>,
    unread: Vec<IndexServer>,
    registrations: BTreeMap<(String, String), Registration>,
    clusters: BTreeMap<String, ArcInterfaces>,
    notes: BTreeSet<String>,
}

impl IndexWalk {
    /// A walk that begins with some index servers.
    pub fn from(servers: impl IntoIterator<Item = IndexServer>) -> IndexWalk {
        let mut walk = IndexWalk::default();
        servers.into_iter().for_each(|server| walk.meet(server));
        walk
    }

    fn meet(&mut self, server: IndexServer) {
        let identity = server.identity();
        if self.seen.len() >= SERVERS_MAX {
            self.notes.insert(format!("more than {SERVERS_MAX} index servers; the rest left out"));
        } else if self.seen.insert(identity) {
            self.unread.push(server);
        }
    }

    /// The index servers to be read next, all at once; none: the walk is over.
    pub fn unread(&mut self) -> Vec<IndexServer> {
        std::mem::take(&mut self.unread)
    }

    /// Takes what is registered at one of them, as of now. A registration holds for `ttl_min_s` at
    /// least, so that it does not lapse before it is read again.
    pub fn put(&mut self, at: &IndexServer, found: &[Registered], now: Millis, ttl_min_s: u64) {
        let registry = at.name();
        for it in found {
            let key = (registry.clone(), it.child.clone());
            let registration = Registration {
                registry: registry.clone(),
                child: it.child.clone(),
                changed_at: now,
                kind: it.kind,
                status: it.status,
                addressed: it.is_addressed,
                expires: true,
                ttl_s: it.ttl_s.map(|ttl_s| ttl_s.max(ttl_min_s)),
                announced_refresh_s: 0,
            };
            // One thing may have several lines: it is in service if one of them is.
            let known = self.registrations.get(&key);
            let is_better = |known: &Registration| {
                let rank =
                    |it: &Registration| (it.addressed, it.status != RegistrationStatus::Purged);
                rank(known) < rank(&registration)
            };
            if known.is_none_or(is_better) {
                self.registrations.insert(key, registration);
            }
            if !it.is_usable() {
                continue;
            }
            match (it.kind, it.server()) {
                (ChildKind::Computing, _) => self.cluster(it),
                (_, Some(server)) => self.meet(server),
                (_, None) => {}
            }
        }
    }

    fn cluster(&mut self, it: &Registered) {
        if self.clusters.len() >= CLUSTERS_MAX && !self.clusters.contains_key(&it.child) {
            self.notes.insert(format!("more than {CLUSTERS_MAX} clusters; the rest left out"));
            return;
        }
        let known = self.clusters.entry(it.child.clone()).or_default();
        match it.interface.as_str() {
            "org.nordugrid.arcrest" => {
                known.rest.get_or_insert_with(|| rest_base(&it.url).to_owned());
            }
            "org.nordugrid.ldapng" => match LdapUrl::parse(&it.url) {
                Ok(url) => drop(known.ldap.get_or_insert(url)),
                Err(why) => drop(self.notes.insert(format!("{}: {why}", it.child))),
            },
            _ => {}
        }
    }

    /// Adds a cluster by its address of REST. Another one at the same host is known by its port as
    /// well, until it states its name.
    pub fn add_rest(&mut self, url: &str) {
        let (host, base) = (host_of(url), rest_base(url).to_owned());
        let is_other = |known: &ArcInterfaces| known.rest.as_ref().is_some_and(|it| *it != base);
        let is_taken = self.clusters.get(&host).is_some_and(is_other);
        let name = if is_taken { base.clone() } else { host };
        self.clusters.entry(name).or_default().rest = Some(base);
    }

    /// Adds a cluster by its address of LDAP, or that address to a cluster of the same host.
    ///
    /// # Errors
    /// Text that is no such address.
    pub fn add_ldap(&mut self, url: &str) -> Result<(), String> {
        let ldap = LdapUrl::parse(url)?;
        let host = host_of(url);
        let is_other = |known: &ArcInterfaces| known.ldap.as_ref().is_some_and(|it| *it != ldap);
        let is_taken = self.clusters.get(&host).is_some_and(is_other);
        let name = if is_taken { url.to_owned() } else { host };
        self.clusters.entry(name).or_default().ldap = Some(ldap);
        Ok(())
    }

    /// Registrations that were found, and clusters by the names of their hosts; clusters of which
    /// no interface is known that can be read are left out, and named among the notes.
    pub fn end(self) -> (Vec<Registration>, BTreeMap<String, ArcInterfaces>, Vec<String>) {
        let IndexWalk { registrations, mut clusters, mut notes, .. } = self;
        clusters.retain(|name, it| {
            let is_known = it.rest.is_some() || it.ldap.is_some();
            if !is_known {
                notes.insert(format!(
                    "{name}: registered without org.nordugrid.arcrest and org.nordugrid.ldapng; \
                     left out"
                ));
            }
            is_known
        });
        (registrations.into_values().collect(), clusters, notes.into_iter().collect())
    }
}
