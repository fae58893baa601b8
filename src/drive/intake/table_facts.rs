//! Rows of PanDA's configuration tables to the records that the imports would publish.
//!
//! Nothing of it is kept: the committed offset of a partition with such rows does not pass their
//! first one, so the tables are read again at each start (their topics are few and compacted).
//! Nothing is published before all partitions of all sources were read to their end, since half a
//! table makes other records than the whole: a tree of shares without its root, a queue without
//! the site of its storage. After that what differs from what was published last is published, and
//! what no row makes any more is removed; not in the middle of a partition, nor while rows come,
//! since PanDA writes some tables again in one transaction, all of their rows deleted first, and
//! the connector sends them in parts.

use super::{Records, TABLE_TOPICS};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configuration, Configured, confirmed, uncounted_nodes};
use yardmaster_core::id::hash;
use yardmaster_core::limits::Limits;
use yardmaster_core::unit::{MINUTE, Millis};
use yardmaster_wire::dialect::change::{FactRow, FactTable};
use yardmaster_wire::import::{Parents, Tables};
use yardmaster_wire::oversize::{left_out, oversize};
use yardmaster_wire::record;

/// How often it is published that the facts of a topic were found as they are. PanDA writes its
/// queues again every few minutes.
const CONFIRM: Millis = 10 * MINUTE;

/// Rows rest for the part of `intake_settle_ms` that this divides it into before what they make is
/// published: the connector may be in the middle of a transaction where a partition ends.
const QUIET: Millis = 10;

/// The tables, and what was published of them.
#[derive(Default)]
pub(super) struct TableFacts {
    tables: Tables,
    /// When each row changed, so that what a connector sends again does not bring it back.
    changed: BTreeMap<(FactTable, String), Millis>,
    /// Offset of the first row of each partition that has any.
    lanes: BTreeMap<(String, u32), u64>,
    /// Of each topic, by key, the hash of the record without its change time.
    published: BTreeMap<Topic, BTreeMap<String, u64>>,
    /// The newest record of each key of a topic, of any publisher.
    newest: BTreeMap<(Topic, String), Newest>,
    /// When rows of a topic were last seen, and when that was last published; ms since 1970.
    seen: BTreeMap<Topic, Millis>,
    confirmed: BTreeMap<Topic, Millis>,
    /// Since when something is to be published; ms since 1970.
    due_since: Option<Millis>,
    /// Whether a row changed since that was last looked at, and when it was last found so; ms since
    /// 1970.
    is_stirred: bool,
    stirred_at: Millis,
    /// Partitions that were read to their end, until all were.
    ended: BTreeSet<(String, u32)>,
    is_whole: bool,
    /// Whether it is published that nodes without a job are not counted.
    states_uncounted: bool,
}

/// A record on a topic.
struct Newest {
    /// The time that it states; ms since 1970.
    changed_at: Millis,
    /// The hash of its other content; `None`: records of one time differ.
    content: Option<u64>,
}

impl Newest {
    fn of(record: &Configuration) -> Newest {
        let mut bytes = Vec::new();
        record::write_configuration(&mut bytes, &record.changed(0));
        Newest { changed_at: record.changed_at(), content: Some(hash(&bytes)) }
    }
}

impl TableFacts {
    /// Nothing known yet; of these unified queues a record of the whole will be made.
    pub fn new(parents: Parents) -> TableFacts {
        TableFacts { tables: Tables::new(parents), ..TableFacts::default() }
    }

    /// A record was there at the start.
    pub fn read_back(&mut self, record: &Configuration) {
        if !TABLE_TOPICS.contains(&record.topic()) {
            return;
        }
        let (place, new) = ((record.topic(), record.name()), Newest::of(record));
        match self.newest.get_mut(&place) {
            Some(known) if known.changed_at > new.changed_at => {}
            Some(known) if known.changed_at == new.changed_at => {
                known.content = known.content.filter(|content| Some(*content) == new.content);
            }
            _ => drop(self.newest.insert(place, new)),
        }
    }

    /// A null was there at the start.
    pub fn read_back_removal(&mut self, topic: Topic, key: &str) {
        self.newest.remove(&(topic, key.to_owned()));
    }

    /// Publishes, once, that reports of nodes name those alone that got a job.
    pub fn state_uncounted(&mut self, domain: &str, at: Millis, records: &mut Records) {
        if std::mem::replace(&mut self.states_uncounted, true) {
            return;
        }
        let parameter = uncounted_nodes(domain, at);
        let key = parameter.name();
        if !self.newest.contains_key(&(Topic::Parameter, key.clone())) {
            records.push(Topic::Parameter, key.as_bytes(), |out| record::write(out, &parameter));
        }
    }

    /// Takes a row in, as it is since `at`, ms since 1970. Whether it is newer than what is known.
    ///
    /// # Errors
    /// Why no record can be made of it.
    pub fn put(&mut self, row: &FactRow, at: Millis) -> Result<bool, String> {
        if self.is_newer(row.table, &row.key, at) {
            self.tables.put(row.clone(), at)?;
            self.note(row.table, at);
            return Ok(true);
        }
        Ok(false)
    }

    /// A row was deleted at `at`, ms since 1970. Whether that is newer than what is known.
    pub fn remove(&mut self, table: FactTable, key: &str, at: Millis) -> bool {
        let is_newer = self.is_newer(table, key, at);
        if is_newer {
            self.tables.remove(table, key);
            self.note(table, at);
        }
        is_newer
    }

    /// Changes of one transaction have the same time, and come in their order.
    fn is_newer(&mut self, table: FactTable, key: &str, at: Millis) -> bool {
        let changed = self.changed.entry((table, key.to_owned())).or_insert(at);
        let is_newer = at >= *changed;
        *changed = at.max(*changed);
        is_newer
    }

    fn note(&mut self, table: FactTable, at: Millis) {
        self.is_stirred = true;
        self.tables.note(table, at);
        let seen = self.seen.entry(Tables::topic(table)).or_default();
        *seen = at.max(*seen);
    }

    /// A row of a table was at this place.
    pub fn note_place(&mut self, topic: &str, partition: u32, offset: u64) {
        let place = (topic.to_owned(), partition);
        let first = self.lanes.entry(place).or_insert(offset);
        *first = offset.min(*first);
    }

    /// The offset that the committed one of a partition must not pass.
    pub fn held(&self, topic: &str, partition: u32) -> Option<u64> {
        self.lanes.get(&(topic.to_owned(), partition)).copied()
    }

    /// Whether a record may have to be published.
    pub fn is_unsettled(&self) -> bool {
        let is_due = |(topic, at): (&Topic, &Millis)| {
            at - self.confirmed.get(topic).copied().unwrap_or(0) >= CONFIRM
        };
        self.tables.has_due() || self.seen.iter().any(is_due)
    }

    /// Publishes what changed; gives what cannot be published, and why. `reach`: topic and number
    /// of each partition of each source, and whether it was read to its end. `now`: ms since 1970.
    pub fn settle<'a>(
        &mut self,
        (domain, limits): (&str, &Limits),
        now: Millis,
        reach: impl Iterator<Item = (&'a str, u32, bool)> + Clone,
        records: &mut Records,
    ) -> Vec<String> {
        let mut refused = Vec::new();
        if !self.is_whole {
            let mut is_whole = true;
            for (topic, number, is_at_end) in reach.clone() {
                let place = (topic.to_owned(), number);
                if is_at_end {
                    self.ended.insert(place);
                } else {
                    is_whole &= self.ended.contains(&place);
                }
            }
            if !is_whole {
                return refused;
            }
            self.is_whole = true;
        }
        if self.tables.has_due() {
            let since = *self.due_since.get_or_insert(now);
            if std::mem::take(&mut self.is_stirred) {
                self.stirred_at = now;
            }
            let patience = limits.intake_settle_ms;
            let is_quiet = now.saturating_sub(self.stirred_at) >= patience / QUIET;
            let mut reach = reach;
            let is_midway = reach
                .any(|(topic, number, is_at_end)| !is_at_end && self.held(topic, number).is_some());
            if (is_midway || !is_quiet) && now.saturating_sub(since) < patience {
                return refused;
            }
            self.due_since = None;
        }
        for topic in self.tables.take_due() {
            refused.extend(self.publish(topic, limits, records));
        }
        for (topic, at) in &self.seen {
            let confirmed_at = self.confirmed.entry(*topic).or_default();
            if at - *confirmed_at >= CONFIRM {
                *confirmed_at = *at;
                let parameter = confirmed(domain, *topic, *at);
                let key = parameter.name();
                records.push(Topic::Parameter, key.as_bytes(), |out| {
                    record::write(out, &parameter);
                });
            }
        }
        refused
    }

    /// Publishes what changed of a topic, each record later than the one that it replaces; gives
    /// what cannot be, since the engine would not read it. What was published under its key before
    /// stays.
    fn publish(&mut self, topic: Topic, limits: &Limits, records: &mut Records) -> Vec<String> {
        let mut refused = Vec::new();
        let published = self.published.entry(topic).or_default();
        let mut before = std::mem::take(published);
        let mut bytes = Vec::new();
        let mut imported = self.tables.records(topic);
        for it in imported.records {
            let key = it.name();
            bytes.clear();
            record::write_configuration(&mut bytes, &it);
            if let Some(why) = oversize(topic, &bytes, limits) {
                refused.push(left_out(topic, &key, &why));
                imported.left_out.push(key);
                continue;
            }
            bytes.clear();
            record::write_configuration(&mut bytes, &it.changed(0));
            let content = hash(&bytes);
            let place = (topic, key.clone());
            let newest = self.newest.get(&place);
            let is_there = newest.is_some_and(|newest| newest.content == Some(content));
            if before.remove(&key) != Some(content) && !is_there {
                let it = newest.map_or(it.clone(), |newest| it.after(newest.changed_at));
                records.push(topic, key.as_bytes(), |out| record::write_configuration(out, &it));
                let (changed_at, content) = (it.changed_at(), Some(content));
                self.newest.insert(place, Newest { changed_at, content });
            }
            published.insert(key, content);
        }
        for (key, content) in before {
            if imported.unnamed > 0 || imported.left_out.contains(&key) {
                // There is a row of it, of which no record can be made now.
                published.insert(key, content);
            } else {
                records.push_removal(topic, key.as_bytes());
                self.newest.remove(&(topic, key));
            }
        }
        refused
    }
}
