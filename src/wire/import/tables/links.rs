//! `network_matrix_kv`: one row is one figure of a link. The names of the figures are those that
//! PanDA's network configurator writes.

use super::super::Imported;
use crate::dialect::change::FactRow;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::{Configuration, Link, LinkQueued};
use yardmaster_core::unit::Millis;

const CLOSENESS: &str = "AGIS_closeness";
const MBPS: [&str; 3] = ["dashb_mbps_1h", "dashb_mbps_1d", "dashb_mbps_1w"];
/// End of a figure's name, behind the activity.
const QUEUED: &str = "_queued";

/// One figure and its time.
type Figure = (f64, Millis);

/// The figures of a link.
#[derive(Debug, Default)]
struct OneLink {
    source: String,
    destination: String,
    figures: BTreeMap<String, Figure>,
}

/// All links.
#[derive(Debug, Default)]
pub(super) struct Links {
    links: BTreeMap<String, OneLink>,
    /// Sites that a figure of traffic names.
    measured: BTreeSet<String>,
}

impl Links {
    /// How many figures are known.
    pub fn figures(&self) -> usize {
        self.links.values().map(|link| link.figures.len()).sum()
    }

    /// Takes a figure in. Whether it names a site that no figure did before.
    ///
    /// # Errors
    /// Why it is none.
    pub fn put(&mut self, row: &FactRow, at: Millis) -> Result<bool, String> {
        let (source, destination, name) = (row.text("src"), row.text("dst"), row.text("key"));
        if !is_read(name) {
            return Ok(false);
        }
        let value = row.number("value");
        let range = if name == CLOSENESS { -1.0..=11.0 } else { 0.0..=f64::from(u32::MAX) };
        let Some(value) = value.filter(|value| range.contains(value)) else {
            let (from, to) = (range.start(), range.end());
            return Err(format!(
                "link {source}:{destination}: field `{name}`: found {}, wants a number {from}..={to}",
                row.columns.get("value").unwrap_or(&Value::Null)
            ));
        };
        let link = self.links.entry(link_key(&row.key).to_owned()).or_insert_with(|| OneLink {
            source: source.to_owned(),
            destination: destination.to_owned(),
            figures: BTreeMap::new(),
        });
        let time = match row.time("ts") {
            0 => at,
            time => time,
        };
        link.figures.insert(name.to_owned(), (value, time));
        let is_new =
            [source, destination].map(|site| self.measured.insert(site.to_owned())).contains(&true);
        Ok(is_new)
    }

    pub fn remove(&mut self, key: &str) {
        let (link, name) = key.rsplit_once('\u{1f}').unwrap_or((key, ""));
        if let Some(known) = self.links.get_mut(link) {
            known.figures.remove(name);
            if known.figures.is_empty() {
                self.links.remove(link);
                let named = |link: &OneLink| [link.source.clone(), link.destination.clone()];
                self.measured = self.links.values().flat_map(named).collect();
            }
        }
    }

    /// The links as the network matrix has them, as far as site names are found in it.
    pub fn matrix(&self) -> Map<String, Value> {
        let link = |link: &OneLink| {
            let mut row = json!({"src": link.source, "dst": link.destination});
            if link.figures.keys().any(|name| name != CLOSENESS) {
                row["mbps"] = json!({});
            }
            (format!("{}:{}", link.source, link.destination), row)
        };
        self.links.values().map(link).collect()
    }

    pub fn records(&self) -> Imported {
        let mut names = self.links.values().flat_map(|link| link.figures.keys());
        let queued_known = names.any(|name| name.ends_with(QUEUED));
        let links = self.links.values().map(|link| Configuration::Link(link.record(queued_known)));
        Imported { records: links.collect(), ..Imported::default() }
    }
}

impl OneLink {
    fn record(&self, queued_known: bool) -> Link {
        let value = |name: &str| self.figures.get(name).map(|(value, _)| *value);
        let queued = self.figures.iter().filter_map(|(name, (value, _))| {
            let activity = name.strip_suffix(QUEUED)?.to_owned();
            Some(LinkQueued { activity, files: *value as u64, bytes: 0 })
        });
        let [mbps_1h, mbps_1d, mbps_1w] = MBPS.map(value);
        Link {
            source: self.source.clone(),
            destination: self.destination.clone(),
            changed_at: self.figures.values().map(|(_, at)| *at).max().unwrap_or(0),
            closeness: value(CLOSENESS).map(|closeness| closeness as i32),
            mbps_1h,
            mbps_1d,
            mbps_1w,
            queued: queued.collect(),
            queued_known,
        }
    }
}

fn is_read(name: &str) -> bool {
    name == CLOSENESS || MBPS.contains(&name) || name.ends_with(QUEUED)
}

/// The part of a row's key that is the link's.
fn link_key(key: &str) -> &str {
    key.rsplit_once('\u{1f}').map_or(key, |(link, _)| link)
}
