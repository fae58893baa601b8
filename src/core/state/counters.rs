//! The counters as a reader wants them: by name, with every figure that is not 0.

use crate::event::Status;
use crate::id::{Key, Name};
use crate::state::State;
use crate::state::ledger::{Count, GROUP, RATE_GRAINS};
use crate::state::rows::RowKey;
use crate::state::window::Window;
use std::collections::BTreeMap;

/// One counter: what it counts, of which things, and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// `load`, `queue`, `share`, `user`, `group`, `nucleus`, `task`, `starts`, `waits`, `link`,
    /// `into`, `rate`.
    pub kind: &'static str,
    /// Names of the things it is of, by what they are.
    pub names: Vec<(&'static str, String)>,
    /// Figures, by name with unit; those that are 0 are left out.
    pub figures: Vec<(String, i64)>,
}

impl Counter {
    /// Its readable key: kind and names with slashes between. A slash or backslash in a name has a
    /// backslash before it, so that no two counters have the same key.
    pub fn key(&self) -> String {
        key_of(self.kind, self.names.iter().map(|(_, name)| &name[..]))
    }
}

/// The key of a counter of this kind with these names, in their order.
pub fn key_of<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut key = kind.to_owned();
    for name in names {
        key.push('/');
        let mut rest = name;
        while let Some(at) = rest.find(['/', '\\']) {
            key.push_str(&rest[..at]);
            key.push('\\');
            key.push_str(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
        key.push_str(rest);
    }
    key
}

/// Every counter, in order of kinds and names.
pub fn counters(state: &State) -> Vec<Counter> {
    let mut all = counters_in_any_order(state);
    all.sort_by(|a, b| (a.kind, &a.names).cmp(&(b.kind, &b.names)));
    all
}

/// Every counter: what is put in order by its key need not be in order before.
pub fn counters_in_any_order(state: &State) -> Vec<Counter> {
    let mut all = Vec::new();
    loads(state, &mut all);
    queues(state, &mut all);
    people(state, &mut all);
    tasks(state, &mut all);
    starts(state, &mut all);
    waits(state, &mut all);
    links(state, &mut all);
    all.retain(|counter| !counter.figures.is_empty());
    all
}

/// No more than so many are in [`counters`], without making them.
pub fn counters_at_most(state: &State) -> usize {
    let ledger = &state.ledger;
    ledger.load.len()
        + ledger.share.len()
        + ledger.nucleus.len()
        + ledger.queue.len()
        + ledger.who.len()
        + ledger.ended.len()
        + ledger.starts.len()
        + ledger.waits.len()
        + ledger.flow.len()
        + ledger.into.len()
        + ledger.rate.len()
}

fn names<const N: usize>(
    state: &State,
    key: RowKey,
    of: [&'static str; N],
) -> Vec<(&'static str, String)> {
    of.into_iter()
        .enumerate()
        .map(|(at, what)| (what, state.names.text(Name(key[at])).to_owned()))
        .collect()
}

fn by_status(jobs: &[u32; Status::COUNT], what: &str) -> Vec<(String, i64)> {
    Status::ALL
        .iter()
        .filter(|status| jobs[status.index()] > 0)
        .map(|status| (format!("{what}_{}", status.name()), i64::from(jobs[status.index()])))
        .collect()
}

fn of_count(count: &Count) -> Vec<(String, i64)> {
    let mut figures = by_status(&count.jobs(), "jobs");
    figures.extend(by_status(&count.cores(), "cores"));
    figures
}

fn figure(figures: &mut Vec<(String, i64)>, name: &str, value: i64) {
    if value != 0 {
        figures.push((name.to_owned(), value));
    }
}

fn loads(state: &State, all: &mut Vec<Counter>) {
    for (key, load) in state.ledger.load.iter() {
        let names = names(state, key, ["queue", "gshare", "resource_type"]);
        all.push(Counter { kind: "load", names, figures: of_count(&load.count) });
    }
    for (key, share) in state.ledger.share.iter() {
        let names = names(state, key, ["queue", "gshare"]);
        let mut figures = by_status(&share.jobs, "jobs");
        figure(&mut figures, "jobs_promised", i64::from(share.reserved));
        all.push(Counter { kind: "share", names, figures });
    }
    for (key, count) in state.ledger.nucleus.iter() {
        let names = names(state, key, ["nucleus"]);
        all.push(Counter { kind: "nucleus", names, figures: of_count(count) });
    }
}

fn queues(state: &State, all: &mut Vec<Counter>) {
    for (key, queue) in state.ledger.queue.iter() {
        let mut figures = of_count(&queue.count);
        if queue.disk_io_jobs > 0 {
            let mean = queue.disk_io / u64::from(queue.disk_io_jobs);
            figure(&mut figures, "disk_io_bytes_per_second_per_core", mean as i64);
        }
        let [asked, updated] = queue.nodes();
        figure(&mut figures, "nodes_asked", i64::from(asked));
        figure(&mut figures, "nodes_updated", i64::from(updated));
        figure(&mut figures, "workers_submitted", i64::from(queue.workers_submitted));
        figure(&mut figures, "workers_running", i64::from(queue.workers_running));
        figure(&mut figures, "jobs_promised", i64::from(queue.reserved));
        figures.extend(slots(state, Name(key[0])));
        if let Some(marks) = state.marks.get(&Name(key[0])) {
            figure(&mut figures, "last_pilot_ms", marks.pilot);
            figure(&mut figures, "last_start_ms", marks.start);
        }
        let names = names(state, key, ["queue"]);
        all.push(Counter { kind: "queue", names, figures });
    }
}

/// Slot figures of a queue, in order of their names. The numbers of names follow the order of their
/// first coming, which differs between processes.
fn slots(state: &State, queue: Name) -> Vec<(String, i64)> {
    let of_queue = state.slots.values().filter(|slots| slots.queue == queue);
    let mut figures: Vec<(String, i64)> = of_queue
        .map(|slots| {
            let gshare = state.names.text(slots.gshare);
            let resource_type = state.names.text(slots.resource_type);
            (format!("slots[{gshare}/{resource_type}]"), slots.slots)
        })
        .collect();
    figures.sort_unstable();
    figures
}

/// Users and groups, their jobs of all shares together.
fn people(state: &State, all: &mut Vec<Counter>) {
    let mut people: BTreeMap<RowKey, Count> = BTreeMap::new();
    for (key, count) in state.ledger.who.iter() {
        let is_group = u32::from(key[2] == GROUP);
        people.entry([key[0], key[1], is_group, 0]).or_default().join(count);
    }
    for (key, count) in people {
        let kind = if key[2] == 0 { "user" } else { "group" };
        let names = names(state, key, [kind, "queue"]);
        all.push(Counter { kind, names, figures: of_count(&count) });
    }
}

fn tasks(state: &State, all: &mut Vec<Counter>) {
    for (key, jobs) in state.ledger.ended.iter() {
        let task = Key(u64::from(key[0]) | u64::from(key[1]) << 32);
        let queue = state.names.text(Name(key[2])).to_owned();
        let sum = |window: &Window| window.sum(i64::MIN, i64::MAX) as i64;
        let mut figures = Vec::new();
        for (name, window) in
            ["jobs_finished", "jobs_failed", "jobs_closed"].iter().zip(&jobs.ended)
        {
            figure(&mut figures, name, sum(window));
        }
        let names = vec![("task", task.0.to_string()), ("queue", queue)];
        all.push(Counter { kind: "task", names, figures });
    }
}

/// Starts within reach of their window.
fn starts(state: &State, all: &mut Vec<Counter>) {
    for (key, starts) in state.ledger.starts.iter() {
        let mut figures = Vec::new();
        let jobs = starts.sum(i64::MIN, i64::MAX) as i64;
        figure(&mut figures, "jobs_started_6h", jobs);
        all.push(Counter { kind: "starts", names: names(state, key, ["queue"]), figures });
    }
}

/// Waiting times of sample jobs within reach of their windows, and sample jobs that wait.
fn waits(state: &State, all: &mut Vec<Counter>) {
    for (key, waits) in state.ledger.waits.iter() {
        let mut figures = Vec::new();
        let sum = |window: &Window| window.sum(i64::MIN, i64::MAX) as i64;
        figure(&mut figures, "sample_jobs_4d", sum(&waits.over[0]));
        figure(&mut figures, "sample_jobs_waited_s", sum(&waits.over[1]));
        figure(&mut figures, "merge_jobs_activated", sum(&waits.queued[0]));
        figure(&mut figures, "merge_jobs_starting", sum(&waits.queued[1]));
        all.push(Counter { kind: "waits", names: names(state, key, ["queue"]), figures });
    }
}

fn links(state: &State, all: &mut Vec<Counter>) {
    for (key, flow) in state.ledger.flow.iter() {
        let mut figures = Vec::new();
        figure(&mut figures, "queued_files", flow.files as i64);
        figure(&mut figures, "queued_bytes", flow.bytes as i64);
        let names = names(state, key, ["source", "destination", "activity"]);
        all.push(Counter { kind: "link", names, figures });
    }
    for (key, flow) in state.ledger.into.iter() {
        let mut figures = Vec::new();
        figure(&mut figures, "queued_files", flow.files as i64);
        figure(&mut figures, "queued_bytes", flow.bytes as i64);
        let names = names(state, key, ["destination", "activity"]);
        all.push(Counter { kind: "into", names, figures });
    }
    for (key, rate) in state.ledger.rate.iter() {
        let mut figures = Vec::new();
        let windows = [("1h", &rate.hour), ("1d", &rate.day), ("1w", &rate.week)];
        for ((name, window), (grain, reach)) in windows.into_iter().zip(RATE_GRAINS) {
            let last = state.now.div_euclid(grain);
            let bytes = window.sum(last - reach / grain + 1, last) as i64;
            figure(&mut figures, &format!("arrived_bytes_{name}"), bytes);
        }
        let names = names(state, key, ["source", "destination"]);
        all.push(Counter { kind: "rate", names, figures });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_different_names_have_different_keys() {
        let texts = ["a", "a/b", "b", "a\\", "\\", "/", "", "a\\/b"];
        let mut keys = BTreeMap::new();
        for one in texts {
            for other in texts {
                for third in texts {
                    let names = [one, other, third].map(|name| ("name", name.to_owned()));
                    let counter = Counter { kind: "link", names: names.into(), figures: vec![] };
                    let before = keys.insert(counter.key(), counter.names.clone());
                    assert_eq!(before, None, "{:?} has the same key", counter.names);
                }
            }
        }
        let names = vec![("queue", "CERN, T0=1%".to_owned()), ("gshare", String::new())];
        let counter = Counter { kind: "share", names, figures: vec![] };
        assert_eq!(counter.key(), "share/CERN, T0=1%/");
    }
}
