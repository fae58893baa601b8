//! The digest of a state: SHA-256 over its records in order of their names, never over internal
//! numbers. Two states with the same digest give the same decisions from then on.

use super::job::AtCluster;
use crate::content::{Content, content_of};
use crate::cut::Topic;
use crate::event::is_newer;
use crate::event::{Configured, Status, each_configuration};
use crate::id::{Key, Name};
use crate::record::Encode;
use crate::state::job::{Job, JobNumbers};
use crate::state::record::{Fact, Node, SlotFigure, TransferState, Workers};
use crate::state::rows::NO_ROW;
use crate::state::window::Window;
use crate::state::{NamedTable, State};
use crate::unit::Millis;
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;

/// Revision of the digest: two states that are the same have the same digest only where it was
/// taken by programs of the same revision. Raised when what it is taken of changes; decisions do
/// not depend on it.
const DIGEST_REVISION: i64 = 9;

/// The digest, as 64 hex digits.
pub fn digest(state: &State) -> String {
    let mut sink = Sink::of(state);
    sink.head();
    sink.records();
    let facts = &state.facts;
    macro_rules! books {
        ($($kind:ident $field:ident,)*) => {
            $(sink.table(Topic::$kind.name(), &facts.$field);)*
        };
    }
    each_configuration!(books);
    sink.hex()
}

/// The digest of what is known, wherever it was read: of all records, without cut, lanes and times.
pub fn records_digest(state: &State) -> String {
    let mut sink = Sink::of(state);
    sink.records();
    let facts = &state.facts;
    macro_rules! books {
        ($($kind:ident $field:ident,)*) => {
            $(sink.facts(Topic::$kind.name(), &facts.$field);)*
        };
    }
    each_configuration!(books);
    sink.hex()
}

struct Sink<'a> {
    hasher: Sha256,
    state: &'a State,
}

impl JobNumbers for Sink<'_> {
    type Fault = Infallible;

    fn long(&mut self, number: &mut i64) -> Result<(), Infallible> {
        self.number(*number);
        Ok(())
    }

    fn near(&mut self, moment: &mut Millis, _: Millis) -> Result<(), Infallible> {
        self.long(moment)
    }

    fn word(&mut self, word: &mut u64) -> Result<(), Infallible> {
        self.long(&mut (*word as i64))
    }

    fn count(&mut self, count: &mut u32) -> Result<(), Infallible> {
        self.long(&mut i64::from(*count))
    }

    fn int(&mut self, number: &mut i32) -> Result<(), Infallible> {
        self.long(&mut i64::from(*number))
    }
}

impl<'a> Sink<'a> {
    fn of(state: &'a State) -> Sink<'a> {
        let mut sink = Sink { hasher: Sha256::new(), state };
        sink.number(DIGEST_REVISION);
        sink
    }

    fn number(&mut self, number: i64) {
        self.hasher.update(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.hasher.update((text.len() as u32).to_le_bytes());
        self.hasher.update(text.as_bytes());
    }

    fn name(&mut self, name: Name) {
        let text = self.state.names.text(name);
        self.text(text);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.hasher.update((bytes.len() as u32).to_le_bytes());
        self.hasher.update(bytes);
    }

    /// Contents in a fixed order, their number first.
    fn contents(&mut self, kind: &str, contents: impl Iterator<Item = Content>) {
        let contents: Vec<Content> = contents.collect();
        self.text(kind);
        self.number(contents.len() as i64);
        contents.iter().for_each(|content| self.bytes(&content.0));
    }

    /// Contents in order of their bytes.
    fn sorted(&mut self, kind: &str, contents: impl Iterator<Item = Content>) {
        let mut contents: Vec<Content> = contents.collect();
        contents.sort_unstable();
        self.contents(kind, contents.into_iter());
    }

    /// Records by name.
    fn table<T: Encode>(&mut self, kind: &str, table: &NamedTable<T>) {
        self.contents(kind, table.iter().map(|record| content_of(&record)));
    }

    /// All that is no configuration.
    fn records(&mut self) {
        self.jobs();
        self.transfers();
        self.capacity();
        self.table("ask", &self.state.requests);
        self.table("answered", &self.state.answered.table);
        self.table("throttle", &self.state.throttles);
        self.table("command", &self.state.commands.table);
        self.table("held back", &self.state.commands.held);
        self.left();
        self.pool();
    }

    /// Records of a pool of slots. Where none are kept the digest is what it was without them.
    fn pool(&mut self) {
        let pool = &self.state.pool;
        if pool.is_empty() {
            return;
        }
        self.table("pool job", &pool.jobs);
        self.table("pool workflow", &pool.workflows);
        self.table("pool offer", &pool.offers);
        self.table("pool user", &pool.users);
        self.table("pool node", &pool.nodes);
    }

    /// Adds the current content of each configuration record.
    fn facts<T: Configured>(&mut self, kind: &str, facts: &NamedTable<Fact<T>>) {
        let current = |(name, fact): (&str, &Fact<T>)| content_of(&(name, fact.current(is_newer)));
        self.contents(kind, facts.iter().map(current));
    }

    fn hex(self) -> String {
        hex::encode(self.hasher.finalize())
    }

    /// Where the reading stands: cycle, time, and since when all is known. The last is written on
    /// decisions and keeps old requests from being judged, so two states that differ in it alone
    /// do not decide the same.
    fn head(&mut self) {
        let state = self.state;
        self.text(&state.setting.domain);
        for number in [state.number as i64, state.now, state.known_since] {
            self.number(number);
        }
        for (lane, held) in state.times.lanes.iter() {
            // Own lanes hold outputs only: how far they were read depends on the process.
            if !lane.topic.is_own() {
                self.bytes(&content_of(&(lane, *held)).0);
            }
        }
        for topic in &state.times.topics {
            self.bytes(&content_of(topic).0);
        }
        for gaps in &state.times.gaps {
            self.bytes(&content_of(gaps).0);
        }
        let text = |name: Name| state.names.text(name);
        let signs = state.queue_signs.iter();
        self.sorted("signs", signs.map(|(queue, it)| content_of(&(text(*queue), it))));
        let crowded = state.crowded.iter();
        let named = crowded.map(|((queue, gshare), it)| ((text(*queue), text(*gshare)), it));
        self.sorted("crowded", named.map(|it| content_of(&it)));
    }

    fn jobs(&mut self) {
        let mut jobs: Vec<&Job> = self.state.jobs.slab.iter().map(|(_, job)| job).collect();
        jobs.sort_unstable_by_key(|job| job.key);
        self.number(jobs.len() as i64);
        for job in jobs {
            self.job(job);
        }
    }

    fn job(&mut self, job: &Job) {
        let ledger = &self.state.ledger;
        if !job.key.is_decimal() {
            let name = self.state.job_name(job.key);
            self.text(&name);
        }
        let at = self.state.at_clusters.get(&job.key).cloned().unwrap_or_default();
        let AtCluster { cpu_time_s, wall_time_s, cluster_job } = at;
        if !cluster_job.is_empty() {
            self.text(&cluster_job);
        }
        let mut listed = *job;
        let Ok(()) = listed.each_number(self);
        for number in [
            job.key.0 as i64,
            job.sample as i64,
            i64::from(cpu_time_s) << 32 | i64::from(wall_time_s),
            job.heartbeat.at,
            i64::from(job.heartbeat.attempt) << 32 | i64::from(job.heartbeat.events),
            i64::from(job.heartbeat.cpu_s) << 32 | i64::from(job.heartbeat.disk_io_kbps),
            i64::from(job.heartbeat.rss_mb),
            job.status.map_or(-1, |status: Status| status as i64),
        ] {
            self.number(number);
        }
        if job.status.is_none() {
            return;
        }
        let load = ledger.load.key(job.load);
        let owner = |row: u32| match row {
            NO_ROW => Name::NONE,
            row => Name(ledger.who.key(row)[0]),
        };
        let nucleus = match job.nucleus {
            NO_ROW => Name::NONE,
            row => Name(ledger.nucleus.key(row)[0]),
        };
        for name in [Name(load[0]), Name(load[1]), Name(load[2]), owner(job.user), owner(job.group)]
        {
            self.name(name);
        }
        self.name(nucleus);
        listed.texts().into_iter().for_each(|name| self.name(*name));
    }

    fn transfers(&mut self) {
        let mut all: Vec<&TransferState> =
            self.state.transfers.slab.iter().map(|(_, held)| held).collect();
        all.sort_unstable_by_key(|wait| wait.key);
        self.number(all.len() as i64);
        for held in all {
            let flow = self.state.ledger.flow.key(held.flow);
            for number in [
                held.key.0 as i64,
                held.state as i64,
                held.changed_at,
                i64::from(held.revision),
                i64::from(held.files),
                held.bytes as i64,
                held.replica.0 as i64,
                held.first_at,
            ] {
                self.number(number);
            }
            flow[..3].iter().for_each(|name| self.name(Name(*name)));
        }
    }

    /// Nodes, workers, slots and newest moments.
    fn capacity(&mut self) {
        let state = self.state;
        let text = |name: Name| state.names.text(name);
        let nodes = state.nodes.slab.iter().map(|(_, node)| {
            let Node { key, queue, asked_at, updated_at } = *node;
            content_of(&((key, text(queue)), (asked_at, updated_at)))
        });
        self.sorted("node", nodes);
        let workers =
            state.workers.slab.iter().map(|(_, workers)| {
                let Workers {
                    key,
                    queue,
                    harvester,
                    resource_type,
                    at,
                    submitted,
                    running,
                    are_nodes,
                } = *workers;
                let names = vec![text(queue), text(harvester), text(resource_type)];
                content_of(&((key, names), (at, (submitted, running)), are_nodes))
            });
        self.sorted("workers", workers);
        let slots = state.slots.values().map(|held| {
            let SlotFigure { queue, gshare, resource_type, at, slots, expires_at } = *held;
            let names = vec![text(queue), text(gshare), text(resource_type)];
            content_of(&(names, (at, (slots, expires_at))))
        });
        self.sorted("slots", slots);
        let marks = state.marks.iter().map(|(queue, marks)| content_of(&(text(*queue), *marks)));
        self.sorted("marks", marks);
    }

    /// Adds the amounts that forgotten records left behind in windows.
    fn left(&mut self) {
        let state = self.state;
        let mut left: Vec<Content> = Vec::new();
        for (key, jobs) in state.ledger.ended.iter() {
            let task = Key(u64::from(key[0]) | u64::from(key[1]) << 32);
            let name = format!("tally {} {}", task.0, state.names.text(Name(key[2])));
            jobs.ended.iter().enumerate().for_each(|(at, w)| lines(&mut left, &name, at, w));
        }
        for (key, work) in state.ledger.work.iter() {
            let task = Key(u64::from(key[0]) | u64::from(key[1]) << 32);
            lines(&mut left, &format!("work {}", task.0), 0, work);
        }
        for (key, starts) in state.ledger.starts.iter() {
            let name = format!("starts {}", state.names.text(Name(key[0])));
            lines(&mut left, &name, 0, starts);
        }
        for (key, waits) in state.ledger.waits.iter() {
            let name = format!("waits {}", state.names.text(Name(key[0])));
            waits.over.iter().enumerate().for_each(|(at, w)| lines(&mut left, &name, at, w));
        }
        for (key, rate) in state.ledger.rate.iter() {
            let text = |at: usize| state.names.text(Name(key[at]));
            let name = format!("rate {} {}", text(0), text(1));
            for (at, window) in [&rate.hour, &rate.day, &rate.week].into_iter().enumerate() {
                lines(&mut left, &name, at, window);
            }
        }
        self.sorted("left", left.into_iter());
    }
}

fn lines(all: &mut Vec<Content>, name: &str, which: usize, window: &Window) {
    for bucket in window.buckets().iter().filter(|bucket| bucket.left > 0) {
        let of = (name, which as u64);
        all.push(content_of(&(of, (bucket.number, bucket.left))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Setting;

    #[test]
    fn how_far_back_the_log_was_known_is_part_of_what_is_known() {
        let setting = Setting { domain: "atlas".into(), ..Setting::default() };
        let whole = State::new(setting.clone());
        let mut partial = State::new(setting);
        partial.known_since = 1;
        assert_ne!(digest(&whole), digest(&partial));
        assert_eq!(records_digest(&whole), records_digest(&partial));
    }
}
