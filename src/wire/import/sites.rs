//! Which site a storage endpoint belongs to. CRIC's queue dump does not have it, and the network
//! matrix is keyed by storage sites, so it is put together from what is at hand.

use super::object;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Names of sites, and the site of each endpoint. An endpoint's site is, first that is known:
///
/// 1. what an endpoint dump (AGIS/CRIC ddmendpoints) has: `rc_site`;
/// 2. the longest site name that the endpoint's name begins with (its own name is the site's, a
///    suffix such as `-CEPH`, and its type), sites with measured traffic before others;
/// 3. the site of most of the queues that write to it by default;
/// 4. nothing: a queue then takes its own site.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    stated: BTreeMap<String, String>,
    /// Site names by their comparable form; whether traffic was measured there.
    known: BTreeMap<String, (String, bool)>,
    votes: BTreeMap<String, BTreeMap<String, u32>>,
    /// The site of each queue that PanDA's `panda_site` has one of.
    of_queues: BTreeMap<String, String>,
}

/// How an endpoint's site was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    Stated,
    Name,
    Vote,
    Own,
}

impl Found {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Found::Stated => "stated by the endpoint dump",
            Found::Name => "by the endpoint's name",
            Found::Vote => "by the site of most queues that write there",
            Found::Own => "the queue's own site",
        }
    }
}

impl Sites {
    /// Nothing known yet.
    pub fn new() -> Sites {
        Sites::default()
    }

    /// Learns from a dump: queues, network matrix, or endpoints, distinguished by their shape.
    pub fn learn(&mut self, text: &str) -> Result<(), String> {
        let dump = object("site names", text)?;
        self.learn_from(&dump);
        Ok(())
    }

    pub(super) fn learn_from(&mut self, dump: &Map<String, Value>) {
        for (name, value) in dump {
            let text = |key: &str| value.get(key).and_then(Value::as_str);
            if value.get("astorages").is_some() {
                self.learn_queue(value);
            } else if let (Some(source), Some(destination)) = (text("src"), text("dst")) {
                let measured = value.get("mbps").is_some() || value.get("files").is_some();
                self.know(source, measured);
                self.know(destination, measured);
            } else if let Some(site) = text("rc_site").filter(|site| *site != "NULL") {
                self.stated.insert(name.clone(), site.to_string());
            }
        }
    }

    /// PanDA's `panda_site` has a site for a queue.
    pub(super) fn put_queue(&mut self, queue: &str, site: &str) {
        self.of_queues.insert(queue.to_owned(), site.to_owned());
    }

    /// The site that PanDA's `panda_site` has for a queue.
    pub(super) fn of_queue(&self, queue: &str) -> Option<&str> {
        self.of_queues.get(queue).map(String::as_str)
    }

    fn learn_queue(&mut self, queue: &Value) {
        for key in ["atlas_site", "rc_site"] {
            if let Some(site) = queue.get(key).and_then(Value::as_str) {
                self.know(site, false);
            }
        }
        let Some(site) = queue.get("atlas_site").and_then(Value::as_str) else { return };
        let storages = &queue["astorages"];
        let written = ["write_lan", "pw"].iter().find_map(|key| storages[key][0].as_str());
        if let Some(endpoint) = written {
            let votes = self.votes.entry(endpoint.to_string()).or_default();
            *votes.entry(site.to_string()).or_default() += 1;
        }
    }

    fn know(&mut self, site: &str, measured: bool) {
        let entry = self.known.entry(comparable(site)).or_insert((site.to_string(), false));
        // The matrix' spelling wins: its keys are what is looked up.
        if measured && !entry.1 {
            *entry = (site.to_string(), true);
        }
    }

    /// The site of an endpoint, and how it was found.
    pub(super) fn of(&self, endpoint: &str) -> Option<(&str, Found)> {
        if let Some(site) = self.stated.get(endpoint) {
            return Some((self.spelled(site), Found::Stated));
        }
        if let Some(site) = self.by_name(endpoint) {
            return Some((site, Found::Name));
        }
        let votes = self.votes.get(endpoint)?;
        // Of equals the first by name: votes are in the order of names, and `max_by_key` would
        // take the last.
        let (site, _) = votes.iter().rev().max_by_key(|(_, votes)| **votes)?;
        Some((self.spelled(site), Found::Vote))
    }

    /// A site's name as the network matrix spells it.
    pub(super) fn spelled<'a>(&'a self, site: &'a str) -> &'a str {
        self.known.get(&comparable(site)).map_or(site, |(name, _)| name)
    }

    fn by_name(&self, endpoint: &str) -> Option<&str> {
        let (base, _) = endpoint.rsplit_once('_')?;
        let base = comparable(base);
        // Every beginning of the name that ends at a hyphen, longest first.
        let cuts = base.match_indices('-').map(|(at, _)| at).rev();
        let found =
            std::iter::once(base.len()).chain(cuts).filter_map(|end| self.known.get(&base[..end]));
        let found: Vec<&(String, bool)> = found.collect();
        let best = found.iter().find(|(_, measured)| *measured).or(found.first());
        best.map(|(name, _)| name.as_str())
    }
}

/// Names differ in case and in hyphens from dump to dump.
fn comparable(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}
