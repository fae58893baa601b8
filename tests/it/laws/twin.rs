//! A dumb twin: the same records kept in plain maps, joined by plain comparison, every counter
//! summed again at each cut. Slow, small, and made without a look at how the ledger does it.

use super::counters::{Sums, add, without_zeroes};
use crate::world::{Cycle, Entry};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, JobState, Pilot, Status, TransferStatus};
use yardmaster::core::id::Key;
use yardmaster::core::limits::Limits;
use yardmaster::core::output::decision::{Decision, DecisionId, Outcome};
use yardmaster::core::state::State;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, Millis};

type Job = JobState<'static>;
/// Attempt, at, events, CPU, disk I/O, memory.
type LastHeartbeat = (u32, Millis, u32, u32, u32, u32);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Moved {
    state: TransferStatus,
    at: Millis,
    revision: u32,
    path: (&'static str, &'static str, &'static str),
    bytes: u64,
    files: u32,
}

struct Reservation {
    request: String,
    task: String,
    gshare: String,
    /// Resource type and priority of its request.
    level: (String, i32),
    user: String,
    group: String,
    merge: bool,
    now: Millis,
    clock: Millis,
    queues: Vec<(String, u32, u32)>,
}

#[derive(Default)]
pub struct Twin {
    jobs: BTreeMap<&'static str, Job>,
    beats: BTreeMap<&'static str, LastHeartbeat>,
    moves: BTreeMap<&'static str, Moved>,
    asked: BTreeMap<(&'static str, &'static str), Millis>,
    updated: BTreeMap<(&'static str, &'static str), Millis>,
    workers: BTreeMap<(&'static str, &'static str, &'static str), (Millis, u32, u32)>,
    counted: BTreeMap<&'static str, (Millis, u32, u32)>,
    reservations: BTreeMap<DecisionId, Reservation>,
    /// Newest answer by subject, and all outcomes.
    answered: BTreeMap<String, (u64, u32)>,
    settled: BTreeSet<DecisionId>,
    /// Amounts that forgotten records left in windows: by the counter's name and its bucket's end
    /// of life.
    left: Vec<(Millis, String, i128)>,
    met: BTreeSet<&'static str>,
    met_moves: BTreeSet<&'static str>,
    swept: [Millis; 2],
}

impl Twin {
    /// A cycle that was closed: its records, between the state before and the state after.
    pub fn closed(&mut self, cycle: &Cycle, before: &State, after: &State) {
        cycle.lanes.iter().flatten().for_each(|published| self.fold(published, before));
        self.close(before, after);
    }

    /// Our decisions at a cycle.
    pub fn after_outputs(&mut self, cycle: &Cycle, after: &State) {
        cycle.decisions.iter().for_each(|decision| self.decision(decision, after));
    }

    fn fold(&mut self, published: &Entry, before: &State) {
        let bound = published.appended_at + before.setting.limits.own_time_ahead_ms;
        let own = match &published.event {
            Event::JobState(it) => it.changed_at,
            Event::Heartbeat(it) => it.at,
            Event::Transfer(it) => it.changed_at,
            Event::Pilot(it) => it.at(),
            Event::Outcome(it) => it.at,
            _ => 0,
        };
        // A heartbeat is a sign of life whatever its clock says.
        let bound = if own > bound { published.appended_at } else { bound };
        match &published.event {
            Event::JobState(event) => {
                let new = bounded(event, bound);
                match self.jobs.get(event.job) {
                    Some(old) if order(old) >= order(&new) => {}
                    known => {
                        if known.is_none() {
                            self.met.insert(event.job);
                        }
                        self.jobs.insert(event.job, new);
                    }
                }
            }
            Event::Heartbeat(it) => {
                let at = published.appended_at.max(0);
                let new = (it.attempt, at, it.events, it.cpu_s, it.disk_io_kbps, it.rss_mb);
                let beat = self.beats.entry(it.job).or_insert(new);
                *beat = new.max(*beat);
            }
            Event::Transfer(it) => {
                let new = Moved {
                    state: it.state,
                    at: it.changed_at.min(bound),
                    revision: it.revision,
                    path: (it.source, it.destination, it.activity),
                    bytes: it.bytes,
                    files: it.files.max(1),
                };
                if !self.moves.contains_key(it.request) {
                    self.met_moves.insert(it.request);
                }
                let held = self.moves.entry(it.request).or_insert(new);
                if rank(&new) > rank(held) {
                    *held = new;
                }
            }
            Event::Pilot(it) => self.pilot(it, bound),
            Event::Outcome(it) => {
                self.settled.insert(it.decision);
                self.reservations.remove(&it.decision);
            }
            _ => {}
        }
    }

    fn pilot(&mut self, event: &Pilot<'static>, bound: Millis) {
        let newest = |held: &mut Millis, at: Millis| *held = at.min(bound).max(*held);
        match *event {
            Pilot::AskedJob { queue, node, at } => {
                newest(self.asked.entry((queue, node)).or_default(), at);
            }
            Pilot::UpdatedJob { queue, node, at } => {
                newest(self.updated.entry((queue, node)).or_default(), at);
            }
            Pilot::Workers { queue, harvester, resource_type, submitted, running, at } => {
                let held = self.workers.entry((queue, harvester, resource_type)).or_default();
                *held = (at.min(bound), submitted, running).max(*held);
            }
            Pilot::Nodes { queue, nodes_asked, nodes_updated, at } => {
                let held = self.counted.entry(queue).or_default();
                *held = (at.min(bound), nodes_asked, nodes_updated).max(*held);
            }
            Pilot::Slots { .. } | Pilot::SlotOffer { .. } | Pilot::SlotWithdrawn { .. } => {}
        }
    }

    fn decision(&mut self, decision: &Decision, after: &State) {
        let place = (decision.attempt, decision.ordinal);
        if self.answered.get(&decision.subject).is_some_and(|known| *known >= place) {
            return;
        }
        self.answered.insert(decision.subject.clone(), place);
        let Outcome::Assign(ranked) = &decision.outcome else { return };
        if self.settled.contains(&decision.id) {
            return;
        }
        let asked = after.requests.of(&decision.subject).and_then(|it| it.task.as_ref());
        let reservation = Reservation {
            request: format!("{}:{}", decision.subject, decision.attempt),
            task: decision.task.clone(),
            gshare: decision.gshare.clone(),
            level: asked.map(|it| (it.resource_type.clone(), it.priority)).unwrap_or_default(),
            user: decision.user.clone(),
            group: decision.working_group.clone(),
            merge: decision.merge,
            now: decision.now,
            clock: after.times.of(Topic::JobState).clock,
            queues: ranked
                .iter()
                .map(|it| (it.unified.clone(), it.jobs, it.cores.max(1)))
                .collect(),
        };
        self.reservations.insert(decision.id, reservation);
    }

    fn close(&mut self, before: &State, after: &State) {
        let limits = &after.setting.limits;
        self.forget_jobs(before, after, limits);
        self.forget_moves(before, after, limits);
        let clock = after.times.of(Topic::JobState).clock;
        self.reservations.retain(|_, it| clock - it.clock < limits.reservation_lifetime_ms);
        // A subject that is forgotten takes its answers, outcomes and reservations with it.
        let forgotten: Vec<String> = self
            .answered
            .keys()
            .filter(|subject| after.requests.of(subject).is_none())
            .cloned()
            .collect();
        for subject in forgotten {
            self.answered.remove(&subject);
            self.reservations.retain(|_, it| !it.request.starts_with(&format!("{subject}:")));
        }
        let asks = after.requests.iter().flat_map(|(_, ask)| ask.outcomes.keys());
        self.settled = asks.copied().collect();
    }

    fn forget_jobs(&mut self, before: &State, after: &State, limits: &Limits) {
        let (then, time) =
            (before.times.of(Topic::JobState).time, after.times.of(Topic::JobState).time);
        let sweeps = then / DAY != time / DAY;
        for (name, job) in self.jobs.clone() {
            let ended = job.status.is_ended();
            let over = over_at(&job);
            let last = job.changed_at.max(self.beats.get(name).map_or(0, |beat| beat.1));
            if ended && over + limits.ended_job_lifetime_ms <= time {
                // Met only now though it may have been counted and forgotten before: no trace.
                if !(over <= then - limits.ended_job_lifetime_ms && self.met.contains(name)) {
                    let windows = ended_windows(&job, limits).chain(start(&job));
                    let windows = windows.chain(work(&job, limits));
                    self.left.extend(windows.map(|(end, name)| (end, name, 1)));
                    self.left.extend(waited(&job));
                }
            } else if sweeps && !ended && last <= time - limits.silent_job_lifetime_ms {
                self.left.extend(start(&job).map(|(end, name)| (end, name, 1)));
                self.left.extend(waited(&job));
            } else {
                continue;
            }
            self.jobs.remove(name);
            self.beats.remove(name);
        }
        self.met.clear();
        let jobs = &self.jobs;
        let mut stubs: Vec<(Millis, Key, &str)> = self
            .beats
            .iter()
            .filter(|(name, _)| !jobs.contains_key(*name))
            .map(|(name, beat)| (beat.1, Key::of(name.as_bytes()), *name))
            .collect();
        stubs.sort_unstable();
        let old = stubs.iter().filter(|it| it.0 + limits.stub_lifetime_ms <= time).count();
        let gone = old.max(stubs.len().saturating_sub(limits.stubs_max));
        stubs[..gone].iter().for_each(|(_, _, name)| _ = self.beats.remove(name));
    }

    fn forget_moves(&mut self, before: &State, after: &State, limits: &Limits) {
        let (then, time) =
            (before.times.of(Topic::Transfer).time, after.times.of(Topic::Transfer).time);
        let sweeps = self.swept[0] / DAY != time / DAY;
        if sweeps {
            self.swept[0] = time;
        }
        for (name, it) in self.moves.clone() {
            let lifetime = limits.transfer_ended_lifetime_ms;
            if it.state.is_ended() && it.at + lifetime <= time {
                if !(it.at <= then - lifetime && self.met_moves.contains(name)) {
                    self.left.extend(rates(&it).map(|(end, name)| (end, name, it.bytes.into())));
                }
            } else if !(sweeps
                && !it.state.is_ended()
                && it.at <= time - limits.silent_transfer_lifetime_ms)
            {
                continue;
            }
            self.moves.remove(name);
        }
        self.met_moves.clear();
    }

    /// Every counter, by its name.
    pub fn counters(&self, state: &State) -> Sums {
        let mut sums = Sums::new();
        let now = state.now;
        self.jobs.values().for_each(|job| self.count_job(&mut sums, job, state));
        for it in self.moves.values() {
            let (source, destination, activity) = it.path;
            if it.state == TransferStatus::Done {
                for (_, name) in rates(it).filter(|(end, _)| *end > now) {
                    add(&mut sums, name, it.bytes.into());
                }
            }
            if !it.state.is_ended() {
                for name in [
                    format!("flow {source}/{destination}/{activity}"),
                    format!("into {destination}/{activity}"),
                ] {
                    add(&mut sums, format!("{name} files"), it.files.into());
                    add(&mut sums, format!("{name} bytes"), it.bytes.into());
                }
            }
        }
        for (_, name, amount) in self.left.iter().filter(|(end, _, _)| *end > now) {
            add(&mut sums, name.clone(), *amount);
        }
        self.users(&mut sums);
        self.capacity(&mut sums, state);
        self.reserved(&mut sums);
        without_zeroes(sums)
    }

    fn count_job(&self, sums: &mut Sums, job: &Job, state: &State) {
        let JobState { queue, gshare, resource_type, user, group, nucleus, .. } = *job;
        let decision = job.status.name();
        let mut rows =
            vec![format!("load {queue}/{gshare}/{resource_type}"), format!("queue {queue}")];
        let merges = job.processing_type == "pmerge";
        let kind = if group.is_empty() { 0 } else { 2 } + if merges { 4 } else { 0 };
        rows.extend((!user.is_empty()).then(|| format!("who {kind} {user}/{queue}/{gshare}")));
        rows.extend((!group.is_empty()).then(|| format!("who 1 {group}/{queue}/{gshare}")));
        rows.extend((!nucleus.is_empty()).then(|| format!("nucleus {nucleus}")));
        for row in rows {
            add(sums, format!("{row} {decision} jobs"), 1);
            add(sums, format!("{row} {decision} cores"), job.cores.into());
        }
        add(sums, format!("share {queue}/{gshare} {decision}"), 1);
        let waits = [Status::Defined, Status::Assigned, Status::Activated, Status::Starting];
        if waits.contains(&job.status) {
            add(sums, format!("level {gshare}/{resource_type}/{} jobs", job.priority), 1);
        }
        if merges && job.status == Status::Running {
            add(sums, format!("share {queue}/{gshare} merging"), 1);
        }
        if let Some(beat) = self.beats.get(job.job)
            && job.status == Status::Running
            && beat.0 == job.attempt
            && beat.1 != 0
            && beat.4 != 0
        {
            add(
                sums,
                format!("queue {queue} disk_io"),
                i128::from(beat.4) * 1000 / i128::from(job.cores),
            );
            add(sums, format!("queue {queue} disk_io_jobs"), 1);
        }
        let limits = &state.setting.limits;
        let windows = ended_windows(job, limits).chain(start(job)).chain(work(job, limits));
        for (_, name) in windows.filter(|(end, _)| *end > state.now) {
            add(sums, name, 1);
        }
        for (_, name, amount) in waited(job).into_iter().filter(|(end, ..)| *end > state.now) {
            add(sums, name, amount);
        }
        if job.status == Status::Transferring && !nucleus.is_empty() {
            add(sums, format!("bound {queue}/{nucleus}"), 1);
        }
        if let Some(name) = waiting(job) {
            add(sums, name, 1);
        }
    }

    /// Users with a job that is not over, by (queue, share).
    fn users(&self, sums: &mut Sums) {
        let active = self.jobs.values().filter(|it| {
            !it.status.is_ended() && !it.user.is_empty() && it.processing_type != "pmerge"
        });
        let users: BTreeSet<_> = active.map(|it| (it.queue, it.gshare, it.user)).collect();
        for (queue, gshare, _) in users {
            add(sums, format!("share {queue}/{gshare} users"), 1);
        }
    }

    fn capacity(&self, sums: &mut Sums, state: &State) {
        let time = state.times.of(Topic::Pilot).time;
        let limits = &state.setting.limits;
        for (parts, decision) in [(&self.asked, "asked"), (&self.updated, "updated")] {
            for ((queue, _), _) in
                parts.iter().filter(|(_, at)| **at > time - limits.node_window_ms)
            {
                add(sums, format!("queue {queue} {decision}"), 1);
            }
        }
        for ((queue, _, _), (at, submitted, running)) in &self.workers {
            if *at > time - limits.worker_report_age_ms {
                add(sums, format!("queue {queue} submitted"), (*submitted).into());
                add(sums, format!("queue {queue} running"), (*running).into());
            }
        }
        self.counted(sums, time - limits.node_window_ms);
    }

    fn counted(&self, sums: &mut Sums, since: Millis) {
        for (queue, (_, asked, updated)) in self.counted.iter().filter(|(_, it)| it.0 > since) {
            add(sums, format!("queue {queue} counts"), 1);
            add(sums, format!("queue {queue} counted asked"), (*asked).into());
            add(sums, format!("queue {queue} counted updated"), (*updated).into());
        }
    }

    fn reserved(&self, sums: &mut Sums) {
        for it in self.reservations.values() {
            for (queue, jobs, cores) in &it.queues {
                let comes = |job: &&Job| match job.request {
                    "" => {
                        job.task == it.task
                            && job.created_at.div_euclid(1000) > it.now.div_euclid(1000)
                    }
                    request => request == it.request,
                };
                let here = self.jobs.values().filter(|job| job.queue == queue);
                let seen = here.filter(comes).count() as i128;
                let waiting = (i128::from(*jobs) - seen).max(0);
                add(sums, format!("share {queue}/{} reserved", it.gshare), waiting);
                add(sums, format!("queue {queue} reserved"), waiting);
                let (kind, priority) = &it.level;
                let level = format!("level {}/{kind}/{priority}", it.gshare);
                add(sums, format!("{level} reserved"), waiting);
                if !it.merge && !it.user.is_empty() {
                    add(sums, format!("reserved {}/{queue}/{}", it.user, it.gshare), waiting);
                }
                let owner = match (it.user.as_str(), it.group.as_str()) {
                    ("", "") => continue,
                    (user, "") => format!("owner 0 {user}"),
                    (_, group) => format!("owner 1 {group}"),
                };
                add(sums, format!("{owner} reserved jobs"), waiting);
                add(sums, format!("{owner} reserved cores"), waiting * i128::from(*cores));
            }
        }
    }
}

fn bounded(event: &Job, bound: Millis) -> Job {
    JobState {
        changed_at: event.changed_at.min(bound),
        created_at: event.created_at.min(bound),
        activated_at: match (event.activated_at, event.status) {
            (0, Status::Activated) => event.changed_at.min(bound),
            (at, _) => at.min(bound),
        },
        started_at: event.started_at.min(bound),
        ended_at: event.ended_at.min(bound),
        cores: event.cores.max(1),
        ..event.clone()
    }
}

/// The order of a job's states: the law's list, then the content.
fn order(job: &Job) -> impl Ord {
    let key = |name: &str| if name.is_empty() { None } else { Some(Key::of(name.as_bytes())) };
    let era = (job.revision >> 52).max(16);
    (
        (era, job.attempt, job.status.is_ended(), job.changed_at, job.revision, job.status),
        (Key::of(job.task.as_bytes()), key(job.request).unwrap_or(Key::NONE)),
        (job.queue, job.gshare, job.resource_type, job.user, job.group, job.nucleus),
        (job.workflow, job.label, job.sub_status),
        (job.created_at, job.started_at, job.ended_at, job.cores, job.priority),
        (job.activated_at, sample(job)),
    )
}

fn rank(it: &Moved) -> impl Ord {
    (it.state.is_ended(), it.at, it.revision, it.state, it.path, it.bytes, it.files)
}

fn over_at(job: &Job) -> Millis {
    if job.ended_at != 0 { job.ended_at } else { job.changed_at }
}

/// The bucket an ended job counts in: when it stops counting, and its name.
fn ended_windows(job: &Job, limits: &Limits) -> impl Iterator<Item = (Millis, String)> {
    let which = match job.status {
        Status::Finished => Some(0),
        Status::Failed => Some(1),
        Status::Closed if ["", "toreassign"].contains(&job.sub_status) => Some(2),
        _ => None,
    };
    let task = Key::of(job.task.as_bytes()).0;
    let (queue, over, reach) = (job.queue, over_at(job), limits.done_jobs_window_ms);
    which.into_iter().map(move |which| {
        let bucket = over.div_euclid(10 * MINUTE);
        let end = (bucket + 1) * 10 * MINUTE + reach;
        (end, format!("ended {task}/{queue} {which} {bucket}"))
    })
}

/// The bucket in which a finished job counts as work of its task, likewise.
fn work(job: &Job, limits: &Limits) -> Option<(Millis, String)> {
    let counts = job.status == Status::Finished && !job.nucleus.is_empty();
    let bucket = over_at(job).div_euclid(HOUR);
    let end = (bucket + 1) * HOUR + limits.request_lifetime_ms + 2 * HOUR;
    let task = Key::of(job.task.as_bytes()).0;
    (counts && job.processing_type != "pmerge").then(|| (end, format!("work {task} {bucket}")))
}

/// The bucket a started job counts in, likewise.
fn start(job: &Job) -> Option<(Millis, String)> {
    let goes_on = matches!(job.status, Status::Running | Status::Holding | Status::Transferring);
    let counts = goes_on || matches!(job.status, Status::Finished | Status::Cancelled);
    let bucket = job.started_at.div_euclid(5 * MINUTE);
    let end = (bucket + 1) * 5 * MINUTE + 6 * HOUR + 5 * MINUTE;
    (counts && job.started_at > 0).then(|| (end, format!("starts {} {bucket}", job.queue)))
}

/// Whether a job tells of waiting times: by what it does, or by its owner.
fn sample(job: &Job) -> u8 {
    match (job.gshare, job.processing_type, job.user) {
        ("User Analysis", "pmerge", _) => 1,
        (_, "pmerge", _) => 3,
        ("User Analysis", _, "gangarbt") => 2,
        _ => 0,
    }
}

/// Contributions of a sample job that started: how many, their waits, and the squares of those.
fn waited(job: &Job) -> Vec<(Millis, String, i128)> {
    let waited = job.started_at - job.activated_at;
    if !matches!(sample(job), 1 | 2) || job.activated_at <= 0 || job.started_at <= 0 || waited < 0 {
        return Vec::new();
    }
    let bucket = job.started_at.div_euclid(10 * MINUTE);
    let end = (bucket + 1) * 10 * MINUTE + 4 * DAY + 10 * MINUTE;
    let seconds = i128::from(waited.min(999_999_000) / 1_000);
    let name = |what| format!("waits {} {what} {bucket}", job.queue);
    [1, seconds, seconds * seconds]
        .into_iter()
        .enumerate()
        .map(|(what, amount)| (end, name(what), amount))
        .collect()
}

/// Where a merge job that did not start counts.
fn waiting(job: &Job) -> Option<String> {
    let which = match job.status {
        Status::Activated | Status::Sent => 0,
        Status::Starting => 1,
        _ => return None,
    };
    let counts = sample(job) == 1 && job.activated_at > 0 && job.started_at <= 0;
    let minute = job.activated_at.div_euclid(MINUTE);
    counts.then(|| format!("waits {} queued {which} {minute}", job.queue))
}

/// The buckets an arrived transfer counts in.
fn rates(it: &Moved) -> impl Iterator<Item = (Millis, String)> {
    let grains = [(5 * MINUTE, HOUR), (HOUR, DAY), (6 * HOUR, 7 * DAY)];
    let (at, path, is_done) = (it.at, it.path, it.state == TransferStatus::Done);
    grains.into_iter().enumerate().filter(move |_| is_done).map(move |(which, (grain, reach))| {
        let bucket = at.div_euclid(grain);
        ((bucket + 1) * grain + reach, format!("rate {}/{} {which} {bucket}", path.0, path.1))
    })
}
