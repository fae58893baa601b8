//! Nuclei: sites where the output of tasks is brought together.

use super::field::Fields;
use super::sites::Found;
use super::{Imported, Sites, cric, list, object};
use crate::loose;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::{Configuration, Queue, QueueStatus, Site};
use yardmaster_core::unit::Millis;

/// How many tier-2 sites [`nuclei_from_cric`] takes.
pub const NUCLEI_TIER2: usize = 10;

/// Limit on transferring jobs where a queue sets none (spec atlas F18); jobs.
const TRANSFERRING_DEFAULT: u64 = 2_000;

/// Site records from a JSON list of nuclei: names, or objects with `name` and, where known,
/// `output_endpoint`, `tier`, `active`.
pub fn nuclei(text: &str, now: Millis) -> Result<Imported, String> {
    let list = list("nuclei", text)?;
    let mut imported = Imported::default();
    for (at, value) in list.iter().enumerate() {
        let site = match value.as_str().filter(|name| !name.is_empty()) {
            Some(name) => Some(nucleus(name, now)),
            None => object_site(at + 1, value, now, &mut imported),
        };
        imported.records.extend(site.map(Configuration::Site));
    }
    imported.notes.push(format!("{} of {} nuclei", imported.records.len(), list.len()));
    Ok(imported)
}

fn nucleus(name: &str, now: Millis) -> Site {
    Site { name: name.to_string(), changed_at: now, nucleus: true, active: true, ..Site::default() }
}

fn object_site(number: usize, value: &Value, now: Millis, imported: &mut Imported) -> Option<Site> {
    let mut fields = Fields::of(format!("nucleus number {number}"), None, value, imported)?;
    let mut site = nucleus(fields.needed("name"), now);
    if fields.deep(&["output_endpoint"]).is_some() {
        site.output_endpoint = fields.text("output_endpoint").to_string();
    }
    if fields.deep(&["tier"]).is_some() {
        site.tier = fields.whole("tier", 0..=4) as u32;
    }
    if fields.deep(&["active"]).is_some() {
        site.active = fields.flag("active");
    }
    (!fields.is_left_out_by(|| site.name.clone())).then_some(site)
}

/// Tier, parents and endpoints of one storage site, as CRIC's queues have them.
#[derive(Default)]
struct Seen {
    tier: Option<u32>,
    parents: BTreeSet<String>,
    endpoints: BTreeMap<String, Endpoint>,
}

/// An endpoint that queues write to by default.
struct Endpoint {
    found: Found,
    queues: u32,
    size: u64,
}

/// Nuclei for CRIC's dump of queues, which names none: every tier-0 and tier-1 site, and the
/// [`NUCLEI_TIER2`] largest tier-2 sites. A site is the storage site of its queues, its tier the
/// best of theirs; only online queues that run production count. Size is the sum of their limits
/// on transferring jobs (2000 where none is set): the one figure of the dump that grows with a
/// site. Endpoints that are only guessed to be the site's (by the site of most queues that write
/// there) count where it has no other. Of equals the first by name. The default output endpoint is
/// the one most queues write to.
pub fn nuclei_from_cric(text: &str, now: Millis, sites: &Sites) -> Result<Imported, String> {
    let dump = object("queues", text)?;
    let queues = cric(text, now, sites)?;
    let mut sites = sites.clone();
    sites.learn_from(&dump);
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    for event in &queues.records {
        let Configuration::Queue(queue) = event else { continue };
        let counts = queue.production && queue.status == QueueStatus::Online;
        let Some(endpoint) = queue.endpoints.write.first().filter(|_| counts) else { continue };
        let found = sites.of(endpoint).map_or(Found::Own, |(_, found)| found);
        see(seen.entry(&queue.storage_site).or_default(), queue, found, tier(&dump, queue));
    }
    let of_tier = |wanted: fn(u32) -> bool| {
        let sites = seen.iter().filter(move |(_, site)| site.tier.is_some_and(wanted));
        sites.map(|(name, _)| *name)
    };
    let first: BTreeSet<&str> = of_tier(|tier| tier <= 1).collect();
    let mut second: Vec<&str> = of_tier(|tier| tier == 2).collect();
    second.sort_by_key(|name| (std::cmp::Reverse(seen[name].size()), *name));
    second.truncate(NUCLEI_TIER2);
    // Which sites are the largest is not known while a queue is not.
    let unnamed = queues.left_out.len() + queues.unnamed;
    let mut imported = Imported {
        complaints: queues.complaints,
        unreadable: queues.unreadable,
        unnamed,
        ..Imported::default()
    };
    for (name, site) in &seen {
        if first.contains(name) || second.contains(name) {
            imported.records.push(Configuration::Site(site.record(name, now)));
        }
    }
    imported.notes.push(format!(
        "CRIC's dump names no nuclei: taken are its {} tier-0 and tier-1 sites and the {} largest \
         of its tier-2 sites, by the sum of transferring limits of their online queues: {}",
        first.len(),
        second.len(),
        second.join(", ")
    ));
    Ok(imported)
}

fn see(site: &mut Seen, queue: &Queue, found: Found, tier: Option<u32>) {
    // A unified queue comes once for each resource type.
    if !site.parents.insert(queue.unified.clone()) {
        return;
    }
    site.tier = site.tier.into_iter().chain(tier).min();
    let limit = match queue.transferring_limit {
        0 => TRANSFERRING_DEFAULT,
        limit => u64::from(limit),
    };
    let name = queue.endpoints.write[0].clone();
    let endpoint = site.endpoints.entry(name).or_insert(Endpoint { found, queues: 0, size: 0 });
    endpoint.queues += 1;
    endpoint.size += limit;
}

impl Seen {
    /// The endpoints that are surely the site's, else all.
    fn own(&self) -> impl Iterator<Item = (&String, &Endpoint)> {
        let guessed = |endpoint: &Endpoint| endpoint.found >= Found::Vote;
        let all_guessed = self.endpoints.values().all(guessed);
        self.endpoints.iter().filter(move |(_, endpoint)| all_guessed || !guessed(endpoint))
    }

    fn size(&self) -> u64 {
        self.own().map(|(_, endpoint)| endpoint.size).sum()
    }

    fn record(&self, name: &str, now: Millis) -> Site {
        let most = self.own().min_by_key(|(name, e)| (std::cmp::Reverse(e.queues), *name));
        let output_endpoint = most.map(|(name, _)| name.clone()).unwrap_or_default();
        Site { tier: self.tier.unwrap_or(0), output_endpoint, ..nucleus(name, now) }
    }
}

/// Tier level of a queue; CRIC has it, a queue record does not.
fn tier(dump: &Map<String, Value>, queue: &Queue) -> Option<u32> {
    let tier = dump.get(&queue.unified)?.get("tier_level").and_then(loose::whole_in)?;
    u32::try_from(tier).ok()
}
