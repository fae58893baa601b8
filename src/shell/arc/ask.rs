//! A cluster is asked: REST, and LDAP where an index server or its own document names that.

use super::ldap::search;
use crate::fetch::{Fetch, Source};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use yardmaster_wire::import::arc::{
    ArcCluster, ArcInterfaces, ArcJob, CLUSTER_ATTRIBUTES, LdapEntry, LdapFilter, LdapSearch,
    LdapUrl, arc_jobs, ended_jobs, glue2, joined, nordugrid, unended,
};

/// Most jobs that are asked for by their ids in one search.
const IDS_MAX: usize = 200;
/// How far a search goes: the base alone, the entries directly below it, all.
const BASE: u8 = 0;
const BELOW: u8 = 1;
const ALL: u8 = 2;

/// Asks clusters and GIIS.
pub struct ArcClient {
    fetch: Fetch,
    timeout: Duration,
}

/// An answer of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArcAnswer {
    /// The cluster as both interfaces state it, or the one that was asked.
    pub cluster: ArcCluster,
    /// The cluster as LDAP states it, without jobs; `None`: it was not asked, or did not answer.
    pub ldap: Option<ArcCluster>,
    /// Why LDAP, which was to be asked as well, did not answer: jobs are not known then.
    pub ldap_failed: Option<String>,
}

impl ArcClient {
    /// One that gives each server so long.
    pub fn new(fetch: Fetch, timeout: Duration) -> ArcClient {
        ArcClient { fetch, timeout }
    }

    /// Asks a cluster. `live`: ids of its jobs, by the name that it states, that were published and
    /// were not over: it is asked for the end of those that it no longer lists.
    ///
    /// # Errors
    /// It does not answer, or with what makes no sense: REST if it has that, since LDAP goes on for
    /// hours after the door was shut, else LDAP. The text names address and remedy.
    pub fn ask(
        &self,
        interfaces: &ArcInterfaces,
        live: &dyn Fn(&str) -> BTreeSet<String>,
    ) -> Result<ArcAnswer, String> {
        let document = interfaces.rest.as_ref().map(|url| {
            let url = format!("{url}/rest/1.0/info?schema=glue2");
            let text = self.fetch.get(&url, "application/xml");
            let document = text.and_then(|text| glue2(&text));
            document.map_err(|why| {
                let remedy = remedy(&why);
                format!("{}: {why}{remedy}", Source::Url(url))
            })
        });
        let document = document.transpose()?;
        let named = document.as_ref().and_then(|it| it.ldap.as_deref());
        let named = named.map(LdapUrl::parse).transpose();
        let url = match (&interfaces.ldap, named) {
            (Some(url), _) => Ok(Some(url.clone())),
            (None, named) => named,
        };
        let ldap = url.and_then(|url| url.map(|url| self.entries(&url, live)).transpose());
        match (document, ldap) {
            (None, ldap) => {
                let cluster = ldap?.ok_or("no interface that is read")?;
                Ok(ArcAnswer { cluster, ..ArcAnswer::default() })
            }
            (Some(rest), Ok(None)) => {
                Ok(ArcAnswer { cluster: rest.cluster, ..ArcAnswer::default() })
            }
            (Some(rest), Ok(Some(ldap))) if ldap.name != rest.cluster.name => {
                let why = format!("its LDAP has the entries of {}", ldap.name);
                let cluster = rest.cluster;
                Ok(ArcAnswer { cluster, ldap_failed: Some(why), ldap: None })
            }
            (Some(rest), Ok(Some(ldap))) => {
                let own = ArcCluster { jobs: Vec::new(), ..ldap.clone() };
                let cluster = joined(rest.cluster, ldap);
                Ok(ArcAnswer { cluster, ldap: Some(own), ldap_failed: None })
            }
            (Some(rest), Err(why)) => {
                Ok(ArcAnswer { cluster: rest.cluster, ldap_failed: Some(why), ldap: None })
            }
        }
    }

    /// A cluster by its entries in LDAP.
    fn entries(
        &self,
        url: &LdapUrl,
        live: &dyn Fn(&str) -> BTreeSet<String>,
    ) -> Result<ArcCluster, String> {
        let until = Instant::now() + self.timeout;
        let find = |filter| self.search(url, ALL, filter, &CLUSTER_ATTRIBUTES, until);
        let named = |why: String| format!("ldap://{}:{}/{}: {why}", url.host, url.port, url.base);
        let mut cluster = nordugrid(&find(unended())?).map_err(named)?;
        let listed: BTreeSet<&str> = cluster.jobs.iter().map(|job| job.id.as_str()).collect();
        let live = live(&cluster.name);
        let gone: Vec<&str> = live.iter().map(String::as_str).collect();
        let gone: Vec<&str> = gone.into_iter().filter(|id| !listed.contains(id)).collect();
        let mut ended: Vec<ArcJob> = Vec::new();
        for ids in gone.chunks(IDS_MAX) {
            let entries = find(ended_jobs(ids.iter().copied()))?;
            ended.extend(arc_jobs(&cluster.name, cluster.as_of, &entries));
        }
        cluster.jobs.extend(ended);
        Ok(cluster)
    }

    /// Entries of a GIIS, which answers to a search of its base with all that are registered there;
    /// other servers have them below it.
    ///
    /// # Errors
    /// It does not answer; the text names it.
    pub fn registered(&self, url: &LdapUrl) -> Result<Vec<LdapEntry>, String> {
        let until = Instant::now() + self.timeout;
        let is_registration = |entry: &LdapEntry| !entry.one("Mds-Service-hn").is_empty();
        let mut entries = Vec::new();
        for scope in [BASE, BELOW] {
            entries = self.search(url, scope, LdapFilter::Has("objectClass"), &[], until)?;
            if entries.iter().any(is_registration) {
                break;
            }
        }
        Ok(entries)
    }

    fn search(
        &self,
        url: &LdapUrl,
        scope: u8,
        filter: LdapFilter,
        attributes: &[&str],
        until: Instant,
    ) -> Result<Vec<LdapEntry>, String> {
        let limit_s = u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX);
        let wanted = LdapSearch { base: &url.base, scope, filter, attributes, limit_s };
        search(url, &wanted, until)
            .map_err(|why| format!("ldap://{}:{}/{}: {why}", url.host, url.port, url.base))
    }
}

/// The remedy of a common mistake, as it stands behind the cause.
fn remedy(why: &str) -> &'static str {
    if why.contains("certificate") {
        "; give the authority of the cluster with --ca PATH, or in X509_CERT_DIR"
    } else if why.contains("404 Not Found") {
        "; is the path right? That of most is /arex"
    } else {
        ""
    }
}
