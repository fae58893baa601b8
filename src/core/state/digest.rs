//! The digest of a state: SHA-256 over its records in order of their names, never over internal
//! numbers. Two states with the same digest give the same decisions from then on.

use crate::core::event::Status;
use crate::core::fold::{Configured, is_newer};
use crate::core::id::{Key, Name};
use crate::core::state::record::{Fact, Job, Move};
use crate::core::state::rows::NO_ROW;
use crate::core::state::window::Window;
use crate::core::state::{Book, State};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The digest, as 64 hex digits.
pub fn digest(state: &State) -> String {
    let mut sink = Sink { hasher: Sha256::new(), state };
    sink.head();
    sink.records();
    let facts = &state.facts;
    sink.texts("queue", facts.queues.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.texts("site", facts.sites.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.texts("storage", facts.storages.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.texts("link", facts.links.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.texts("parameter", facts.parameters.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.texts("release", facts.releases.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.texts("share", facts.shares.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.texts("quota", facts.quotas.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.texts("user", facts.users.iter().map(|(name, fact)| format!("{name} {fact:?}")));
    sink.hex()
}

/// The digest of what is known, wherever it was read: of all records, without cut, lanes and times.
pub fn records_digest(state: &State) -> String {
    let mut sink = Sink { hasher: Sha256::new(), state };
    sink.records();
    let facts = &state.facts;
    sink.facts("queue", &facts.queues);
    sink.facts("site", &facts.sites);
    sink.facts("storage", &facts.storages);
    sink.facts("link", &facts.links);
    sink.facts("parameter", &facts.parameters);
    sink.facts("release", &facts.releases);
    sink.facts("share", &facts.shares);
    sink.facts("quota", &facts.quotas);
    sink.facts("user", &facts.users);
    sink.hex()
}

struct Sink<'a> {
    hasher: Sha256,
    state: &'a State,
}

impl Sink<'_> {
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

    /// Texts in a fixed order, their number first.
    fn texts(&mut self, kind: &str, texts: impl Iterator<Item = String>) {
        let texts: Vec<String> = texts.collect();
        self.text(kind);
        self.number(texts.len() as i64);
        texts.iter().for_each(|text| self.text(text));
    }

    /// All that is no configuration.
    fn records(&mut self) {
        self.jobs();
        self.transfers();
        self.capacity();
        let asks = self.state.asks.iter();
        self.texts("ask", asks.map(|(name, ask)| format!("{name} {ask:?}")));
        let answered = self.state.answered.book.iter();
        self.texts("answered", answered.map(|(_, answered)| format!("{answered:?}")));
        let throttles = self.state.throttles.iter();
        self.texts("throttle", throttles.map(|(name, throttle)| format!("{name} {throttle:?}")));
        self.left();
    }

    /// What holds of each configuration record.
    fn facts<T: Configured>(&mut self, kind: &str, facts: &Book<Fact<T>>) {
        let text = |(name, fact): (&str, &Fact<T>)| format!("{name} {:?}", fact.current(is_newer));
        self.texts(kind, facts.iter().map(text));
    }

    fn hex(self) -> String {
        let mut hex = String::new();
        for byte in self.hasher.finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    /// Where the reading stands: cycle, time, and since when all is known. The last is said on
    /// decisions and keeps old requests from being judged, so two states that differ in it alone
    /// do not decide the same.
    fn head(&mut self) {
        let state = self.state;
        self.text(&state.setting.domain);
        for number in [state.number as i64, state.now, state.known_since] {
            self.number(number);
        }
        for (lane, held) in state.times.lanes.iter() {
            // Own lanes hold our words only: how far they were read tells nothing of the world.
            if !lane.topic.is_own() {
                self.text(lane.topic.name());
                self.number(i64::from(lane.partition));
                self.number(held.next as i64);
                self.text(&format!("{held:?}"));
            }
        }
        for topic in &state.times.topics {
            self.text(&format!("{topic:?}"));
        }
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
        for number in [
            job.key.0 as i64,
            job.task.0 as i64,
            job.request.0 as i64,
            job.changed_at,
            job.created_at,
            job.started_at,
            job.ended_at,
            job.activated_at,
            job.sample as i64,
            job.input_bytes as i64,
            job.output_bytes as i64,
            job.beat.at,
            i64::from(job.beat.attempt) << 32 | i64::from(job.beat.events),
            i64::from(job.beat.cpu_s) << 32 | i64::from(job.beat.disk_io_kbps),
            i64::from(job.beat.rss_mb),
            i64::from(job.attempt) << 32 | i64::from(job.revision),
            i64::from(job.priority),
            i64::from(job.cores),
            job.status.map_or(-1, |status: Status| status as i64),
        ] {
            self.number(number);
        }
        if job.status.is_none() {
            return;
        }
        let load = ledger.load.key(job.load);
        let who = |row: u32| match row {
            NO_ROW => Name::NONE,
            row => Name(ledger.who.key(row)[0]),
        };
        let nucleus = match job.nucleus {
            NO_ROW => Name::NONE,
            row => Name(ledger.nucleus.key(row)[0]),
        };
        for name in [Name(load[0]), Name(load[1]), Name(load[2]), who(job.user), who(job.group)] {
            self.name(name);
        }
        for name in [nucleus, job.workflow, job.label, job.sub_status] {
            self.name(name);
        }
    }

    fn transfers(&mut self) {
        let mut all: Vec<&Move> = self.state.transfers.slab.iter().map(|(_, held)| held).collect();
        all.sort_unstable_by_key(|held| held.key);
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
        let mut nodes: Vec<String> = state
            .nodes
            .slab
            .iter()
            .map(|(_, n)| format!("{} {} {} {}", n.key.0, text(n.queue), n.asked_at, n.updated_at))
            .collect();
        nodes.sort_unstable();
        self.texts("node", nodes.into_iter());
        let mut workers: Vec<String> = state
            .workers
            .slab
            .iter()
            .map(|(_, w)| {
                let names = [text(w.queue), text(w.harvester), text(w.resource_type)];
                format!("{} {names:?} {} {} {}", w.key.0, w.at, w.submitted, w.running)
            })
            .collect();
        workers.sort_unstable();
        self.texts("workers", workers.into_iter());
        let mut slots: Vec<String> = state
            .slots
            .values()
            .map(|s| {
                let names = [text(s.queue), text(s.gshare), text(s.resource_type)];
                format!("{names:?} {} {} {}", s.at, s.slots, s.expires_at)
            })
            .collect();
        slots.sort_unstable();
        self.texts("slots", slots.into_iter());
        let mut marks: Vec<String> = state
            .marks
            .iter()
            .map(|(queue, marks)| format!("{} {marks:?}", text(*queue)))
            .collect();
        marks.sort_unstable();
        self.texts("marks", marks.into_iter());
    }

    /// What forgotten records left behind in windows.
    fn left(&mut self) {
        let state = self.state;
        let mut left: Vec<String> = Vec::new();
        for (key, tally) in state.ledger.tally.iter() {
            let task = Key(u64::from(key[0]) | u64::from(key[1]) << 32);
            let name = format!("tally {} {}", task.0, state.names.text(Name(key[2])));
            tally.ended.iter().enumerate().for_each(|(at, w)| lines(&mut left, &name, at, w));
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
        left.sort_unstable();
        self.texts("left", left.into_iter());
    }
}

fn lines(all: &mut Vec<String>, name: &str, which: usize, window: &Window) {
    for bucket in window.buckets().iter().filter(|bucket| bucket.left > 0) {
        all.push(format!("{name} {which} {} {}", bucket.number, bucket.left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::cut::Topic;
    use crate::core::limits::Limits;
    use crate::core::state::Setting;

    #[test]
    fn how_far_back_the_log_was_known_is_part_of_what_is_known() {
        let silence = [None; Topic::ALL.len()];
        let setting = Setting { domain: "atlas".into(), limits: Limits::default(), silence };
        let whole = State::new(setting.clone());
        let mut partial = State::new(setting);
        partial.known_since = 1;
        assert_ne!(digest(&whole), digest(&partial));
        assert_eq!(records_digest(&whole), records_digest(&partial));
    }
}
