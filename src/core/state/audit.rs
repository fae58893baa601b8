//! The recount: every counter made again from live records and from what forgotten ones left
//! behind, and compared with the one that was kept.

use crate::id::{Key, Name};
use crate::output::decision::DecisionId;
use crate::state::State;
use crate::state::job::Job;
use crate::state::ledger::{EndedJobs, Ledger, Rate};
use crate::state::record::{ReservedJobs, TransferState};
use crate::state::reservation::Seen;
use crate::state::reserve::{ReservedAt, seen_row};
use crate::state::rows::{Chains, NO_ROW, RowKey, Rows};
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// A counter that is not what a recount gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The counter, by kind and names.
    pub counter: String,
    /// The kept value.
    pub kept: String,
    /// The recounted value.
    pub recount: String,
}

/// Counts everything again.
pub fn recount(state: &State) -> Ledger {
    let mut fresh = Ledger {
        now: state.ledger.now,
        ended_reach: state.ledger.ended_reach,
        work_reach: state.ledger.work_reach,
        ..Ledger::default()
    };
    restore_left(state, &mut fresh);
    for (_, job) in state.jobs.slab.iter().filter(|(_, job)| job.status.is_some()) {
        let moved = move_job(state, &mut fresh, job);
        fresh.job(&moved, 1);
    }
    for (_, record) in state.transfers.slab.iter() {
        let flow = fresh.flow.row(state.ledger.flow.key(record.flow));
        fresh.transfer(&TransferState { flow, ..*record }, 1);
    }
    state.nodes.slab.iter().for_each(|(_, node)| fresh.node(node, 1));
    state.workers.slab.iter().for_each(|(_, workers)| fresh.workers(workers, 1));
    for (_, request) in state.requests.iter() {
        for reservation in &request.reservations {
            let known = |name: &str| state.known_name(name);
            let owner = (known(&reservation.user), known(&reservation.working_group));
            for ReservedJobs { queue, jobs, cores } in &reservation.queues {
                let of = (known(&reservation.gshare), known(&reservation.resource_type));
                if let (
                    Some(queue),
                    (Some(gshare), Some(resource_type)),
                    (Some(user), Some(group)),
                ) = (known(queue), of, owner)
                {
                    let (jobs, cores) = (*jobs, *cores);
                    let at = ReservedAt { queue, gshare, resource_type, user, group, jobs, cores };
                    fresh.open(reservation, &at);
                }
            }
        }
    }
    fresh
}

/// The same job, with its rows in another ledger.
fn move_job(state: &State, fresh: &mut Ledger, job: &Job) -> Job {
    let load = state.ledger.load.key(job.load);
    let owner = |fresh: &mut Ledger, row: u32| match row {
        NO_ROW => NO_ROW,
        row => fresh.who.row(state.ledger.who.key(row)),
    };
    Job {
        load: fresh.load_row(Name(load[0]), Name(load[1]), Name(load[2])),
        user: owner(fresh, job.user),
        group: owner(fresh, job.group),
        nucleus: match job.nucleus {
            NO_ROW => NO_ROW,
            row => fresh.nucleus.row(state.ledger.nucleus.key(row)),
        },
        seen: seen_row(fresh, job.request, job.task, Name(load[0])),
        ..*job
    }
}

/// Takes over the amounts that forgotten records left behind in windows: no record contributes them
/// any more.
fn restore_left(state: &State, fresh: &mut Ledger) {
    for (key, jobs) in state.ledger.ended.iter() {
        for (which, window) in jobs.ended.iter().enumerate() {
            for bucket in window.buckets().iter().filter(|bucket| bucket.left > 0) {
                fresh.restore_tally(key, which, bucket.number, bucket.left);
            }
        }
    }
    for (key, work) in state.ledger.work.iter() {
        for bucket in work.buckets().iter().filter(|bucket| bucket.left > 0) {
            fresh.restore_work(key, bucket.number, bucket.left);
        }
    }
    for (key, starts) in state.ledger.starts.iter() {
        for bucket in starts.buckets().iter().filter(|bucket| bucket.left > 0) {
            fresh.restore_starts(key, bucket.number, bucket.left);
        }
    }
    for (key, waits) in state.ledger.waits.iter() {
        for (which, window) in waits.over.iter().enumerate() {
            for bucket in window.buckets().iter().filter(|bucket| bucket.left > 0) {
                fresh.restore_wait(key, which, bucket.number, bucket.left);
            }
        }
    }
    for (key, rate) in state.ledger.rate.iter() {
        for (which, window) in [&rate.hour, &rate.day, &rate.week].into_iter().enumerate() {
            for bucket in window.buckets().iter().filter(|bucket| bucket.left > 0) {
                fresh.restore_rate(key, which, bucket.number, bucket.left);
            }
        }
    }
}

/// Every counter that differs from its recount; empty when clean.
pub fn audit(state: &State) -> Vec<Drift> {
    let fresh = recount(state);
    let kept = &state.ledger;
    let mut drifts = Vec::new();
    let mut see = |kind: &str, name: &dyn Fn(RowKey) -> String, pairs: Pairs| {
        for (key, (kept, recount)) in pairs {
            if kept != recount {
                drifts.push(Drift { counter: format!("{kind} {}", name(key)), kept, recount });
            }
        }
    };
    let names = |count: usize| {
        move |key: RowKey| {
            let texts: Vec<&str> =
                key[..count].iter().map(|n| state.names.text(Name(*n))).collect();
            texts.join("/")
        }
    };
    let numbered = |key: RowKey| {
        let number = Key(u64::from(key[0]) | u64::from(key[1]) << 32);
        format!("{}/{}", number.0, state.names.text(Name(key[2])))
    };
    see("load", &names(3), pair(&kept.load, &fresh.load, |load| format!("{:?}", load.count)));
    see("queue", &names(1), pair(&kept.queue, &fresh.queue, |queue| format!("{queue:?}")));
    see("share", &names(2), pair(&kept.share, &fresh.share, |share| format!("{share:?}")));
    let person = |key: RowKey| names(3)([key[0], key[1], key[3], 0]);
    see("who", &person, pair(&kept.who, &fresh.who, |count| format!("{count:?}")));
    see("owner", &names(1), pair(&kept.owner, &fresh.owner, |totals| format!("{totals:?}")));
    let reserved = pair(&kept.reserved, &fresh.reserved, u32::to_string);
    see("reserved", &names(3), reserved);
    see("nucleus", &names(1), pair(&kept.nucleus, &fresh.nucleus, |count| format!("{count:?}")));
    let level = |key: RowKey| format!("{}/{}", names(2)(key), key[2].cast_signed());
    see("levels", &level, pair(&kept.levels, &fresh.levels, |level| format!("{level:?}")));
    see("bound", &names(2), pair(&kept.bound, &fresh.bound, u32::to_string));
    see("seen", &numbered, pair(&kept.seen, &fresh.seen, Seen::text));
    see("ended_jobs", &numbered, pair(&kept.ended, &fresh.ended, ended_text));
    see("work", &numbered, pair(&kept.work, &fresh.work, |work| format!("{work:?}")));
    see("starts", &names(1), pair(&kept.starts, &fresh.starts, |starts| format!("{starts:?}")));
    see("waits", &names(1), pair(&kept.waits, &fresh.waits, |waits| format!("{waits:?}")));
    see("flow", &names(3), pair(&kept.flow, &fresh.flow, |flow| format!("{flow:?}")));
    see("into", &names(2), pair(&kept.into, &fresh.into, |flow| format!("{flow:?}")));
    see("rate", &names(2), pair(&kept.rate, &fresh.rate, rate_text));
    for (kind, pairs) in referenced(kept, &fresh) {
        see(kind, &|key| format!("held {key:?}"), pairs);
    }
    lists(state, &mut drifts);
    drifts
}

/// How many records count in each row: one too many and a row never goes, one too few and it goes
/// while somebody counts in it.
fn referenced(kept: &Ledger, fresh: &Ledger) -> [(&'static str, Pairs); 17] {
    fn both<V: Default, C: Chains>(kept: &Rows<V, C>, fresh: &Rows<V, C>) -> Pairs {
        let nothing = || ("0".to_owned(), "0".to_owned());
        let mut pairs = Pairs::new();
        for (key, held) in kept.referenced() {
            pairs.entry(key).or_insert_with(nothing).0 = held.to_string();
        }
        for (key, held) in fresh.referenced() {
            pairs.entry(key).or_insert_with(nothing).1 = held.to_string();
        }
        pairs
    }
    [
        ("load", both(&kept.load, &fresh.load)),
        ("queue", both(&kept.queue, &fresh.queue)),
        ("share", both(&kept.share, &fresh.share)),
        ("who", both(&kept.who, &fresh.who)),
        ("owner", both(&kept.owner, &fresh.owner)),
        ("reserved", both(&kept.reserved, &fresh.reserved)),
        ("nucleus", both(&kept.nucleus, &fresh.nucleus)),
        ("levels", both(&kept.levels, &fresh.levels)),
        ("bound", both(&kept.bound, &fresh.bound)),
        ("seen", both(&kept.seen, &fresh.seen)),
        ("ended_jobs", both(&kept.ended, &fresh.ended)),
        ("work", both(&kept.work, &fresh.work)),
        ("starts", both(&kept.starts, &fresh.starts)),
        ("waits", both(&kept.waits, &fresh.waits)),
        ("flow", both(&kept.flow, &fresh.flow)),
        ("into", both(&kept.into, &fresh.into)),
        ("rate", both(&kept.rate, &fresh.rate)),
    ]
}

/// Lists that are kept beside the records, against the records.
fn lists(state: &State, drifts: &mut Vec<Drift>) {
    let mut see = |counter: &str, kept: String, recount: String| {
        if kept != recount {
            drifts.push(Drift { counter: counter.to_owned(), kept, recount });
        }
    };
    let stubs: BTreeSet<(Millis, Key)> = state
        .jobs
        .slab
        .iter()
        .filter(|(_, job)| job.status.is_none())
        .map(|(_, job)| (job.heartbeat.at, job.key))
        .collect();
    let kept: BTreeSet<(Millis, Key)> = state.stubs.keys().copied().collect();
    see("stubs", format!("{kept:?}"), format!("{stubs:?}"));
    let reservations: BTreeSet<DecisionId> = state
        .requests
        .iter()
        .flat_map(|(_, request)| &request.reservations)
        .map(|it| it.decision)
        .collect();
    let opened: BTreeSet<DecisionId> = state.opened.keys().copied().collect();
    see("reservations", format!("{opened:?}"), format!("{reservations:?}"));
    let mut chunks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (subject, request) in state.requests.iter() {
        if let Some(task) = &request.task {
            chunks.entry(&task.task).or_default().insert(subject);
        }
    }
    see("chunks", format!("{:?}", *state.chunks), format!("{chunks:?}"));
    let mut of_workflow: BTreeMap<&str, usize> = BTreeMap::new();
    for state in state.pool.jobs.iter().filter_map(|(_, job)| job.state.as_ref()) {
        *of_workflow.entry(&state.workflow).or_default() += 1;
    }
    see("pool jobs of", format!("{:?}", state.pool.jobs_of), format!("{of_workflow:?}"));
    let mut newest: BTreeMap<Key, (Millis, Key)> = BTreeMap::new();
    let transfers = || state.transfers.slab.iter().map(|(_, it)| it);
    for transfer in transfers().filter(|it| it.replica != TransferState::NO_REPLICA) {
        let age = newest.entry(transfer.replica).or_insert(transfer.age());
        *age = transfer.age().max(*age);
    }
    let is_older = |it: &&TransferState| newest.get(&it.replica).is_some_and(|age| it.age() < *age);
    let keys = |is_one: &dyn Fn(&&TransferState) -> bool| -> BTreeSet<Key> {
        transfers().filter(is_one).map(|it| it.key).collect()
    };
    let (noted, found) = (keys(&|it| it.superseded), keys(&is_older));
    see("superseded transfers", format!("{noted:?}"), format!("{found:?}"));
    let named = state.jobs.slab.iter().filter(|(_, job)| !job.key.is_decimal()).count();
    see("job names", state.job_names.len().to_string(), named.to_string());
    let tables = [
        ("jobs", state.jobs.index.len(), state.jobs.slab.len()),
        ("transfers", state.transfers.index.len(), state.transfers.slab.len()),
        ("nodes", state.nodes.index.len(), state.nodes.slab.len()),
        ("workers", state.workers.index.len(), state.workers.slab.len()),
        ("pool jobs", state.pool.jobs.len(), state.pool.jobs.slab.len()),
        ("pool workflows", state.pool.workflows.len(), state.pool.workflows.slab.len()),
        ("pool offers", state.pool.offers.len(), state.pool.offers.slab.len()),
        ("pool users", state.pool.users.len(), state.pool.users.slab.len()),
        ("pool nodes", state.pool.nodes.len(), state.pool.nodes.slab.len()),
    ];
    for (name, indexed, held) in tables {
        see(name, indexed.to_string(), held.to_string());
    }
}

fn ended_text(jobs: &EndedJobs) -> String {
    format!("{jobs:?}")
}

fn rate_text(rate: &Rate) -> String {
    format!("{rate:?}")
}

type Pairs = BTreeMap<RowKey, (String, String)>;

/// Rows of both, side by side; a row of one that the other lacks is held against an empty one.
fn pair<V: Default, C: Chains>(
    kept: &Rows<V, C>,
    fresh: &Rows<V, C>,
    text: fn(&V) -> String,
) -> Pairs {
    let nothing = text(&V::default());
    let mut pairs = Pairs::new();
    for (key, value) in kept.iter() {
        pairs.insert(key, (text(value), nothing.clone()));
    }
    for (key, value) in fresh.iter() {
        let recount = text(value);
        pairs.entry(key).or_insert_with(|| (nothing.clone(), String::new())).1 = recount;
    }
    pairs
}
