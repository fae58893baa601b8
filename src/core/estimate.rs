//! When the first job of a task begins to run, estimated from how long the tasks of a day waited.
//!
//! Tasks are counted whole: from when one first asked, or from when its first job came to a queue,
//! to its first start. Those that still wait count as having waited that long (the estimator of
//! Kaplan and Meier), or the longest waits would be missing because they are not over. A task that
//! waits is compared with those that had waited as long as it has.

use crate::explain::iso;
use crate::id::{Key, Name};
use crate::state::State;
use crate::state::admit::is_open;
use crate::state::job::Job;
use crate::state::ledger::starts_per_hour;
use crate::state::record::RequestState;
use crate::unit::{HOUR, MINUTE, Millis};
use std::collections::BTreeMap;

/// Fewer tasks that began say nothing.
const BEGAN_MIN: usize = 5;
/// However few waits there are, an estimate reaches no further than this part of them.
const PART_MAX: f64 = 0.99;
/// One of ten begins before an estimate's `from`, one of ten after its `to`.
const TAIL: f64 = 0.1;

/// How long tasks waited for their first start.
#[derive(Debug, Default)]
pub struct TaskWaits {
    now: Millis,
    tasks: BTreeMap<Key, TaskWait>,
    of_share: BTreeMap<String, Curve>,
    /// By queue and share; a share that is empty stands for all.
    at_queue: BTreeMap<(Name, String), Curve>,
    /// By queue: priorities of jobs that are queued there, ascending, and starts per hour.
    queues: BTreeMap<Name, (Vec<i32>, f64)>,
    names: BTreeMap<Name, String>,
}

/// How a task stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWait {
    /// When it first asked; 0: no request of it is known.
    pub asked_at: Millis,
    /// Whether one of its requests waits for an answer, or for a better one.
    pub is_open: bool,
    /// Its share.
    pub gshare: String,
    /// When the first of its jobs began to run; `None`: none has, as far as jobs are remembered.
    pub began_at: Option<Millis>,
    at: BTreeMap<Name, AtQueue>,
}

/// Jobs of a task at a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AtQueue {
    came_at: Millis,
    began_at: Option<Millis>,
    queued: u32,
    priority: i32,
}

/// When a task's first job is expected to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct StartEstimate {
    /// One of ten such tasks begins before.
    pub from: Millis,
    /// Half of them begin before; `None`: fewer than half of those that waited as long have begun.
    pub middle: Option<Millis>,
    /// Nine of ten begin before; `None`: too few have begun after as long a wait to say so.
    pub to: Option<Millis>,
    /// The queue at which it is expected to begin; empty: it has no job at a queue yet.
    pub queue: String,
    /// The estimate's basis, as a sentence.
    pub basis: String,
}

/// Jobs before those of a task at a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueAhead {
    /// Jobs of other tasks that are queued there with its priority or a higher one.
    pub jobs: usize,
    /// Jobs that start there in an hour, of late.
    pub starts_per_hour: f64,
}

/// Jobs of other tasks of a priority that is no lower; `priorities` ascending.
fn before(priorities: &[i32], at: &AtQueue) -> usize {
    let all = priorities.len() - priorities.partition_point(|it| *it < at.priority);
    all.saturating_sub(at.queued as usize)
}

/// Waits, ascending, and whether each is over.
#[derive(Debug, Default)]
struct Curve(Vec<(Millis, bool)>);

impl Curve {
    fn began(&self) -> usize {
        self.0.iter().filter(|(_, is_over)| *is_over).count()
    }

    /// Those that had waited at least as long: how many of them began.
    fn began_after(&self, waited: Millis) -> usize {
        self.0.iter().filter(|(wait, is_over)| *is_over && *wait > waited).count()
    }

    /// By which wait a part of those that had waited so long have begun. Beyond the longest wait
    /// that is over, they go on to begin at the rate at which they did; `None`: none did.
    fn quantile(&self, part: f64, waited: Millis) -> Option<Millis> {
        let after = self.0.partition_point(|(wait, _)| *wait <= waited);
        let (mut left, mut waiting) = (self.0.len() - after, 1.0);
        let (mut began, mut spent, mut last) = (0.0, 0.0, waited);
        for (wait, is_over) in &self.0[after..] {
            spent += (*wait - waited) as f64;
            if *is_over {
                waiting *= 1.0 - 1.0 / left as f64;
                (began, last) = (began + 1.0, *wait);
            }
            left -= 1;
            if 1.0 - waiting >= part {
                return Some(*wait);
            }
        }
        let per_ms: f64 = began / spent;
        let beyond = (waiting / (1.0 - part)).ln() / per_ms;
        (began > 0.0 && part < 1.0).then(|| last.saturating_add(beyond as Millis))
    }
}

impl TaskWaits {
    /// What the jobs and requests of a state show. It reads all of them: for a copy beside the
    /// loop.
    pub fn of(state: &State) -> TaskWaits {
        let mut waits = TaskWaits { now: state.now, ..TaskWaits::default() };
        state.requests.iter().for_each(|(_, request)| waits.take_request(request));
        state.jobs.slab.iter().for_each(|(_, job)| waits.take_job(state, job));
        for (key, starts) in state.ledger.starts.iter() {
            let queue = waits.queues.entry(Name(key[0])).or_default();
            queue.1 = starts_per_hour(starts, state.now);
        }
        waits.queues.values_mut().for_each(|(priorities, _)| priorities.sort_unstable());
        // Of a task that is older, the first jobs may be forgotten.
        waits.draw(state.now.saturating_sub(state.setting.limits.ended_job_lifetime_ms));
        waits
    }

    fn take_request(&mut self, request: &RequestState) {
        let Some(task) = &request.task else { return };
        let known = self.tasks.entry(Key::of(task.task.as_bytes())).or_default();
        if known.asked_at == 0 || task.asked_at < known.asked_at {
            known.asked_at = task.asked_at;
        }
        known.is_open |= is_open(request);
        known.gshare.clone_from(&task.gshare);
    }

    fn take_job(&mut self, state: &State, job: &Job) {
        let Some(status) = job.status else { return };
        let [queue, gshare, ..] = job.names;
        if job.task == Key::NONE {
            return;
        }
        let task = self.tasks.entry(job.task).or_default();
        if task.gshare.is_empty() {
            state.names.text(gshare).clone_into(&mut task.gshare);
        }
        let at = task.at.entry(queue).or_default();
        if at.came_at == 0 || job.created_at < at.came_at {
            at.came_at = job.created_at;
        }
        let began_at = Some(job.started_at).filter(|began_at| *began_at > 0);
        let first = |known: Option<Millis>| known.into_iter().chain(began_at).min();
        at.began_at = first(at.began_at);
        task.began_at = first(task.began_at);
        if status.is_queued() {
            at.queued += 1;
            at.priority = at.priority.max(job.priority);
            self.queues.entry(queue).or_default().0.push(job.priority);
            let name = self.names.entry(queue).or_default();
            if name.is_empty() {
                state.names.text(queue).clone_into(name);
            }
        }
    }

    fn draw(&mut self, since: Millis) {
        let wait = |from: Millis, began_at: Option<Millis>| {
            let until = began_at.unwrap_or(self.now);
            (until.saturating_sub(from).max(0), began_at.is_some())
        };
        for task in self.tasks.values() {
            if task.asked_at >= since && (task.began_at.is_some() || task.is_waiting()) {
                let curve = self.of_share.entry(task.gshare.clone()).or_default();
                curve.0.push(wait(task.asked_at, task.began_at));
            }
            let at_queues = task.at.iter().filter(|(_, at)| at.came_at >= since);
            for (queue, at) in at_queues.filter(|(_, at)| at.began_at.is_some() || at.queued > 0) {
                for share in [task.gshare.clone(), String::new()] {
                    let curve = self.at_queue.entry((*queue, share)).or_default();
                    curve.0.push(wait(at.came_at, at.began_at));
                }
            }
        }
        self.of_share.values_mut().for_each(|curve| curve.0.sort_unstable());
        self.at_queue.values_mut().for_each(|curve| curve.0.sort_unstable());
    }

    /// How a task stands.
    pub fn task(&self, task: Key) -> Option<&TaskWait> {
        self.tasks.get(&task)
    }

    /// The tasks that wait for their first start.
    pub fn waiting(&self) -> impl Iterator<Item = Key> {
        let all = self.tasks.iter();
        all.filter(|(_, task)| task.began_at.is_none() && task.is_waiting()).map(|(key, _)| *key)
    }

    /// When the first job of a task is expected to begin; `None`: one has, nothing of it waits, or
    /// too few tasks began to compare it with.
    pub fn estimate(&self, task: Key) -> Option<StartEstimate> {
        let task = self.tasks.get(&task)?;
        if task.began_at.is_some() || !task.is_waiting() {
            return None;
        }
        let at_queues = task.at.iter().filter(|(_, at)| at.queued > 0);
        // The first of several starts is earlier than each of them mostly is.
        let tail = TAIL / at_queues.clone().count().max(1) as f64;
        let at_queues = at_queues.filter_map(|(queue, at)| self.at_queue(task, *queue, at, tail));
        let at_queues: Vec<StartEstimate> = at_queues.collect();
        let from = at_queues.iter().map(|it| it.from).min();
        let last = |it: &StartEstimate| (it.to.unwrap_or(Millis::MAX), it.middle, it.from);
        let first = at_queues.into_iter().min_by_key(last);
        let first = first.zip(from).map(|(it, from)| StartEstimate { from, ..it });
        first.or_else(|| self.undecided(task))
    }

    /// Jobs that go before those of a task at each queue where some of it are queued, by the name
    /// of the queue.
    pub fn ahead(&self, task: Key) -> BTreeMap<String, QueueAhead> {
        let at = self.tasks.get(&task).into_iter().flat_map(|task| &task.at);
        let queued = at.filter(|(_, at)| at.queued > 0);
        let known = queued.filter_map(|(queue, at)| {
            let (name, (priorities, starts_per_hour)) =
                (self.names.get(queue)?, self.queues.get(queue)?);
            let jobs = before(priorities, at);
            Some((name.clone(), QueueAhead { jobs, starts_per_hour: *starts_per_hour }))
        });
        known.collect()
    }

    /// Why a task that waits for its first start has no estimate, as a sentence; `None`: it has
    /// one, or it waits no more.
    pub fn no_estimate(&self, task: Key) -> Option<String> {
        let known = self.tasks.get(&task)?;
        let waits = known.began_at.is_none() && known.is_waiting();
        (waits && self.estimate(task).is_none()).then(|| {
            let is_at_queue = known.at.values().any(|at| at.queued > 0);
            let at_queue = if is_at_queue { ", or at a queue that has jobs of it," } else { "" };
            format!(
                "no estimate: not so many as {BEGAN_MIN} tasks of its share{at_queue} began within \
                 a day"
            )
        })
    }

    /// Of a task with jobs at a queue.
    fn at_queue(
        &self,
        task: &TaskWait,
        queue: Name,
        at: &AtQueue,
        tail: f64,
    ) -> Option<StartEstimate> {
        let curve = |share: &str| self.at_queue.get(&(queue, share.to_owned()));
        let is_enough = |curve: &&Curve| curve.began() >= BEGAN_MIN;
        let of_share = curve(&task.gshare).filter(is_enough).map(|it| (it, &task.gshare[..]));
        let (curve, share) = of_share.or_else(|| Some((curve("").filter(is_enough)?, "")))?;
        let name = self.names.get(&queue).map_or("", String::as_str);
        let (priorities, rate) = self.queues.get(&queue)?;
        let ahead = before(priorities, at);
        let whose =
            if share.is_empty() { "any share".to_owned() } else { format!("share {share}") };
        let basis = format!(
            "{} tasks of {whose} began at {name} within a day, {} of them after as long a wait; \
             {ahead} jobs of its priority or a higher one are queued there, and {rate:.1} start an \
             hour",
            curve.began(),
            curve.began_after(self.now - at.came_at)
        );
        let mut estimate = self.read(curve, at.came_at, tail, (name, basis));
        if *rate > 0.0 {
            // Those before it have to start first, if they do.
            let by_rate = self.now + (ahead as f64 / rate * HOUR as f64) as Millis;
            estimate.to = estimate.to.map(|to| to.max(by_rate));
        }
        Some(estimate)
    }

    /// Of a task without a job at a queue.
    fn undecided(&self, task: &TaskWait) -> Option<StartEstimate> {
        let curve = self.of_share.get(&task.gshare);
        let curve = curve.filter(|curve| curve.began() >= BEGAN_MIN)?;
        let before = self.tasks.values().filter(|other| {
            let is_like = other.gshare == task.gshare && other.asked_at < task.asked_at;
            is_like && other.is_open && other.began_at.is_none()
        });
        let basis = format!(
            "{} tasks of share {} began within a day, {} of them after as long a wait; {}",
            curve.began(),
            task.gshare,
            curve.began_after(self.now - task.asked_at),
            match before.count() {
                1 => "1 other of it asked before and waits".to_owned(),
                others => format!("{others} others of it asked before and wait"),
            }
        );
        Some(self.read(curve, task.asked_at, TAIL, ("", basis)))
    }

    /// Reads an estimate off a curve. Of `n` waits a new one is the longest with a chance of one in
    /// `n + 1`: few of them say little about the tails.
    fn read(
        &self,
        curve: &Curve,
        from: Millis,
        tail: f64,
        (queue, basis): (&str, String),
    ) -> StartEstimate {
        let waited = self.now.saturating_sub(from);
        let began = curve.began_after(waited) as f64;
        let at = |part: f64| {
            let part = (part * (began + 1.0) / began.max(1.0)).min(PART_MAX);
            Some(from.saturating_add(curve.quantile(part, waited)?))
        };
        let is_known = tail * (began + 1.0) >= 1.0;
        StartEstimate {
            from: at(tail).filter(|_| is_known).unwrap_or(self.now),
            middle: at(0.5),
            to: at(1.0 - TAIL),
            queue: queue.to_owned(),
            basis,
        }
    }
}

impl TaskWait {
    /// Whether a request or a job of it waits.
    pub fn is_waiting(&self) -> bool {
        self.is_open || self.at.values().any(|at| at.queued > 0)
    }
}

impl StartEstimate {
    /// It as a sentence.
    pub fn sentence(&self) -> String {
        let minute = |at: Millis| iso(at - at.rem_euclid(MINUTE)).replace(":00.000Z", "Z");
        let to = self.to.map_or("an unknown moment".to_owned(), minute);
        let middle = self.middle.map(|at| format!(", likely by {}", minute(at)));
        let at = if self.queue.is_empty() { String::new() } else { format!(" at {}", self.queue) };
        let (from, middle) = (minute(self.from), middle.unwrap_or_default());
        format!("begins between {from} and {to}{middle}{at}: {}", self.basis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(waits: &[(Millis, bool)]) -> Curve {
        Curve(waits.to_vec())
    }

    #[test]
    fn waits_that_are_not_over_hold_the_estimate_up() {
        let over = curve(&[(1, true), (2, true), (3, true), (4, true)]);
        assert_eq!([0.1, 0.5, 0.9].map(|it| over.quantile(it, 0)), [Some(1), Some(2), Some(4)]);
        // The example of Kaplan and Meier's estimator: 6 of 8, two still wait.
        let mixed = curve(&[(3, true), (5, false), (7, true), (9, true), (18, false), (19, true)]);
        // S: 5/6 at 3, then 5/6 * 3/4 = 0.625 at 7, * 2/3 = 0.4167 at 9, 0 at 19.
        assert_eq!(mixed.quantile(0.3, 0), Some(7));
        assert_eq!(mixed.quantile(0.5, 0), Some(9));
        assert_eq!(mixed.quantile(0.9, 0), Some(19));
        assert_eq!(curve(&[(2, false), (3, false)]).quantile(0.5, 0), None);
        // One began in 6 ms of waiting, two thirds wait: half of all have begun after another
        // ln(2/3 / 0.5) * 6 ms.
        assert_eq!(curve(&[(1, true), (2, false), (3, false)]).quantile(0.5, 0), Some(1 + 1));
    }

    #[test]
    fn a_task_is_compared_with_those_that_waited_as_long() {
        let all = curve(&[(1, true), (2, true), (3, true), (40, true), (50, true)]);
        assert_eq!(all.quantile(0.5, 0), Some(3));
        assert_eq!(all.quantile(0.5, 3), Some(40));
        assert_eq!(all.quantile(0.5, 50), None);
    }
}
