//! From rows of PanDA's configuration tables, one change at a time, to the records that the imports
//! make of files with the same facts.
//!
//! | table | records |
//! |---|---|
//! | `schedconfig_json` | `queue`, as of CRIC's dump |
//! | `ddm_endpoint` | `storage`: space, and the services that `detailed_status` closes |
//! | `panda_site` | the site of each `queue` |
//! | `site`, `panda_site`, `panda_ddm_relation` | `site` of each nucleus |
//! | `global_shares` | `share`; siblings in the order of `queue_id` |
//! | `config` | `parameter` |
//! | `network_matrix_kv` | `link` |
//! | `resource_types` | the pseudo-queues of each unified queue |

mod links;
mod nuclei;
mod spaces;

use super::pseudo::{self, RESOURCE_TYPES};
use super::{Imported, Parents, Sites, cric, gdpconfig, shares};
use crate::dialect::change::{FactRow, FactTable};
use links::Links;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::Topic;
use yardmaster_core::unit::Millis;

/// When PanDA last saw a queue. It moves with every upsert of the same facts.
const LAST_UPDATE: &str = "last_update";

/// The tables as they are known.
#[derive(Debug, Default)]
pub struct Tables {
    /// `schedconfig_json`, parsed: CRIC's dump.
    queues: Map<String, Value>,
    links: Links,
    rows: BTreeMap<FactTable, BTreeMap<String, FactRow>>,
    /// Time of the newest change of each table; ms since 1970.
    newest: BTreeMap<FactTable, Millis>,
    /// Topics whose records are to be made again.
    due: BTreeSet<Topic>,
    parents: Parents,
}

impl Tables {
    /// No rows yet; of these unified queues a record of the whole will be made.
    pub fn new(parents: Parents) -> Tables {
        Tables { parents, ..Tables::default() }
    }

    /// The topic of the records that are made of a table.
    pub const fn topic(table: FactTable) -> Topic {
        match table {
            FactTable::Queues | FactTable::ResourceTypes => Topic::Queue,
            FactTable::Endpoints => Topic::Storage,
            FactTable::Sites | FactTable::PandaSites | FactTable::Relations => Topic::Site,
            FactTable::Shares => Topic::Share,
            FactTable::Config => Topic::Parameter,
            FactTable::Network => Topic::Link,
        }
    }

    /// How many rows are known.
    pub fn rows(&self) -> usize {
        let rows: usize = self.rows.values().map(BTreeMap::len).sum();
        self.queues.len() + self.links.figures() + rows
    }

    /// Takes a row as it is since `at`, ms since 1970. Columns that it does not have stay as they
    /// were.
    ///
    /// # Errors
    /// Why no record can be made of it. What was known before stays.
    pub fn put(&mut self, mut row: FactRow, at: Millis) -> Result<(), String> {
        row.columns.remove(LAST_UPDATE);
        match row.table {
            FactTable::Queues => self.put_queue(row)?,
            FactTable::Network => {
                if self.links.put(&row, at)? {
                    self.due.extend([Topic::Queue, Topic::Storage]);
                }
                self.due.insert(Topic::Link);
            }
            _ => self.put_row(row, at)?,
        }
        Ok(())
    }

    fn put_queue(&mut self, row: FactRow) -> Result<(), String> {
        let Some(data) = row.columns.get("data") else { return Ok(()) };
        let mut data = match data {
            Value::String(text) => serde_json::from_str(text)
                .map_err(|error| format!("queue {}: field `data`: not JSON: {error}", row.key))?,
            other => other.clone(),
        };
        if let Value::Object(data) = &mut data {
            // Each row is a queue, whether it states a status or none.
            data.entry("status").or_insert(Value::Null);
        }
        let alone = Map::from_iter([(row.key.clone(), data)]);
        refuse(&cric::queues(&alone, 0, &Sites::new(), &RESOURCE_TYPES, self.parents))?;
        for (name, data) in alone {
            if self.queues.get(&name) != Some(&data) {
                self.queues.insert(name, data);
                self.due.extend([Topic::Queue, Topic::Storage]);
            }
        }
        Ok(())
    }

    fn put_row(&mut self, mut row: FactRow, at: Millis) -> Result<(), String> {
        let table = row.table;
        let rows = self.rows.entry(table).or_default();
        let old = rows.get(&row.key);
        for (name, value) in old.iter().flat_map(|old| &old.columns) {
            row.columns.entry(name).or_insert_with(|| value.clone());
        }
        row.missing.retain(|column| !row.columns.contains_key(*column));
        if old.is_some_and(|old| old.columns == row.columns) {
            return Ok(());
        }
        let value = Value::Object(row.columns.clone());
        match table {
            // Whether its parents lead to the root depends on the other rows.
            FactTable::Shares => {
                let mut root = value;
                root["parent"] = Value::Null;
                refuse(&shares::tree(&[root], at))?;
            }
            FactTable::Config => refuse(&gdpconfig::parameters(&[value], at))?,
            FactTable::ResourceTypes => {
                let mut imported = Imported::default();
                pseudo::of_rows(&[value], &mut imported);
                refuse(&imported)?;
            }
            _ => {}
        }
        if matches!(table, FactTable::Endpoints | FactTable::PandaSites)
            && old.is_none_or(|old| old.text("site_name") != row.text("site_name"))
        {
            self.due.insert(Topic::Queue);
        }
        rows.insert(row.key.clone(), row);
        self.due.insert(Tables::topic(table));
        Ok(())
    }

    /// A row was deleted.
    pub fn remove(&mut self, table: FactTable, key: &str) {
        match table {
            FactTable::Queues => {
                self.queues.remove(key);
                self.due.insert(Topic::Storage);
            }
            FactTable::Network => {
                self.links.remove(key);
                self.due.extend([Topic::Queue, Topic::Storage]);
            }
            FactTable::Endpoints | FactTable::PandaSites => {
                self.due.insert(Topic::Queue);
                self.rows.entry(table).or_default().remove(key);
            }
            _ => {
                self.rows.entry(table).or_default().remove(key);
            }
        }
        self.due.insert(Tables::topic(table));
    }

    /// A table was changed, or its rows were confirmed, at `at`; ms since 1970.
    pub fn note(&mut self, table: FactTable, at: Millis) {
        let newest = self.newest.entry(table).or_default();
        *newest = at.max(*newest);
    }

    /// Whether records are to be made again.
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The topics whose records are to be made again, which are none after this.
    pub fn take_due(&mut self) -> BTreeSet<Topic> {
        std::mem::take(&mut self.due)
    }

    /// All records of a topic as of now. Their change time is that of the newest change of the
    /// tables that they are made of, or their own.
    pub fn records(&self, topic: Topic) -> Imported {
        let newest = |tables: &[FactTable]| {
            let times = tables.iter().filter_map(|table| self.newest.get(table));
            times.copied().max().unwrap_or(0)
        };
        match topic {
            Topic::Queue => {
                let now = newest(&[
                    FactTable::Queues,
                    FactTable::Endpoints,
                    FactTable::Network,
                    FactTable::PandaSites,
                    FactTable::ResourceTypes,
                ]);
                let rows = values(self.of(FactTable::ResourceTypes));
                let stated = pseudo::of_rows(&rows, &mut Imported::default());
                let kinds = if rows.is_empty() { &RESOURCE_TYPES[..] } else { &stated };
                cric::queues(&self.queues, now, &self.sites(), kinds, self.parents)
            }
            Topic::Storage => {
                let now = newest(&[FactTable::Queues, FactTable::Endpoints, FactTable::Network]);
                let (whole, unsure) = self.by_whole(FactTable::Endpoints);
                let records = spaces::records(whole.into_iter(), now, &self.sites());
                Imported { left_out: unsure, ..records }
            }
            Topic::Site => {
                let now = newest(&[FactTable::Sites, FactTable::PandaSites, FactTable::Relations]);
                let queues = self.rows.get(&FactTable::PandaSites);
                let outputs = nuclei::outputs(queues, self.of(FactTable::Relations));
                let (whole, unsure) = self.by_whole(FactTable::Sites);
                let records = nuclei::records(whole.into_iter(), &outputs, now);
                let mut records = Imported { left_out: unsure, ..records };
                let places = [FactTable::PandaSites, FactTable::Relations];
                if places.into_iter().any(|table| !self.by_whole(table).1.is_empty()) {
                    let kept = records.records.drain(..).map(|record| record.name());
                    records.left_out.extend(kept);
                }
                records
            }
            Topic::Share => {
                let mut rows: Vec<&FactRow> = self.of(FactTable::Shares).collect();
                rows.sort_by_key(|row| row.number("queue_id").unwrap_or(0.0) as i64);
                shares::tree(&values(rows), newest(&[FactTable::Shares]))
            }
            Topic::Parameter => {
                let rows = values(self.of(FactTable::Config));
                gdpconfig::parameters(&rows, newest(&[FactTable::Config]))
            }
            Topic::Link => self.links.records(),
            _ => Imported::default(),
        }
    }

    /// Rows of a table, in the order of their keys.
    fn of(&self, table: FactTable) -> impl Iterator<Item = &FactRow> {
        self.rows.get(&table).into_iter().flat_map(BTreeMap::values)
    }

    /// The rows of a table all of whose columns are known, and the keys of the others: what was
    /// published of these still holds.
    fn by_whole(&self, table: FactTable) -> (Vec<&FactRow>, Vec<String>) {
        let (whole, unsure): (Vec<_>, Vec<_>) =
            self.of(table).partition(|row| row.missing.is_empty());
        (whole, unsure.into_iter().map(|row| row.key.clone()).collect())
    }

    /// Sites and endpoints, as the tables show them.
    fn sites(&self) -> Sites {
        let mut sites = Sites::new();
        sites.learn_from(&self.links.matrix());
        let endpoint = |row: &FactRow| (row.key.clone(), json!({"rc_site": row.text("site_name")}));
        let stated = self.of(FactTable::Endpoints).filter(|row| !row.text("site_name").is_empty());
        sites.learn_from(&stated.map(endpoint).collect());
        sites.learn_from(&self.queues);
        for row in self.of(FactTable::PandaSites) {
            if !row.text("site_name").is_empty() {
                sites.put_queue(&row.key, row.text("site_name"));
            }
        }
        sites
    }
}

fn values<'a>(rows: impl IntoIterator<Item = &'a FactRow>) -> Vec<Value> {
    rows.into_iter().map(|row| Value::Object(row.columns.clone())).collect()
}

/// Refuses a row of which no record can be made; what is not set is no reason.
fn refuse(imported: &Imported) -> Result<(), String> {
    match imported.complaints.iter().find(|complaint| complaint.ends_with("left out")) {
        Some(complaint) => Err(complaint.clone()),
        None => Ok(()),
    }
}
