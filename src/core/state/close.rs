//! The end of a cycle: times, forgetting, expiry, evictions, at its cut and by a total order on
//! content. So the state is a function of the published cycles.

use crate::cut::{Lane, Topic};
use crate::id::Key;
use crate::output::progress::LaneFlags;
use crate::state::State;
use crate::state::admit::is_open;
use crate::state::answered::Answered;
use crate::state::job::Job;
use crate::state::record::{Node, Placement};
use crate::state::reserve;
use crate::state::timer::NodePart;
use crate::unit::{DAY, Millis};

/// Gaps are remembered for so long: longer than any deadline.
const GAPS_REACH: Millis = 60 * DAY;

/// Epoch, number, `now` and lane flags that end a cycle, beside its cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Closing {
    /// Leader's term.
    pub epoch: u64,
    /// Number of the cycle.
    pub number: u64,
    /// Its now.
    pub now: Millis,
    /// Lanes whose flags changed.
    pub flags: Vec<(Lane, LaneFlags)>,
}

impl State {
    /// Ends a cycle: what was folded since the last one is now seen as of `now`.
    pub fn close(&mut self, closing: &Closing) {
        for (lane, flags) in &closing.flags {
            self.times.lanes.at(*lane).flags = *flags;
        }
        let before = self.times.of(Topic::JobState).time;
        let (jobs_horizon, transfers_horizon) = (self.jobs_horizon(), self.transfers_horizon());
        // The first cycle has no span: time before it is nobody's.
        let span = if self.now == 0 { 0 } else { closing.now.saturating_sub(self.now) };
        let silence = self.setting.silence;
        self.bound_requests(closing.now);
        self.times.close(closing.now, span, &|topic: Topic| silence[topic as usize]);
        self.epoch = closing.epoch;
        self.number = closing.number;
        self.before = self.now;
        self.now = closing.now;
        self.close_pool(jobs_horizon);
        self.forget_jobs(before, jobs_horizon);
        self.forget_transfers(transfers_horizon);
        self.expire_nodes();
        self.expire_workers();
        self.expire_promises();
        self.times.forget_gaps(closing.now.saturating_sub(GAPS_REACH));
        self.forget_subjects();
        self.forget_replicas();
        self.look_at_throttles();
        self.note_signs();
        self.look_at_commands();
        self.note_crowded();
        self.note_owners();
        self.note_work();
        self.ledger.expire(closing.now);
        self.ledger.sweep();
    }

    /// `horizon` is the one that stood while this cycle was folded: what was met only now and had
    /// ended before it may have been counted and forgotten before, so it leaves nothing behind.
    fn forget_jobs(&mut self, before: Millis, horizon: Millis) {
        let limits = &self.setting.limits;
        let time = self.times.of(Topic::JobState).time;
        let lifetime = limits.ended_job_lifetime_ms;
        let met = sorted(&mut self.met_jobs);
        for key in self.timers.jobs.take(time) {
            let Some(slot) = self.jobs.find(key) else { continue };
            let Some(job) = self.jobs.slab.get(slot).copied() else { continue };
            if !job.status.is_some_and(|status| status.is_ended()) {
                continue;
            }
            let over = job.over_at().saturating_add(lifetime);
            if over > time {
                if is_near(over, time) {
                    self.timers.jobs.set(over, key);
                }
            } else if job.over_at() <= horizon && met.binary_search(&key).is_ok() {
                self.touched.load.add(self.ledger.queue_of(&job));
                self.ledger.job(&job, -1);
                self.leave_target(&job);
                self.jobs.remove(slot);
                self.job_names.remove(&key);
                self.at_clusters.remove(&key);
            } else {
                self.forget_job(slot, &job);
            }
        }
        self.forget_stubs(time);
        if before.div_euclid(DAY) != time.div_euclid(DAY) {
            self.forget_silent(time);
        }
    }

    fn forget_job(&mut self, slot: u32, job: &Job) {
        if job.status.is_some() {
            self.touched.load.add(self.ledger.queue_of(job));
        }
        self.ledger.job_left(job);
        self.leave_target(job);
        self.jobs.remove(slot);
        self.job_names.remove(&job.key);
        self.at_clusters.remove(&job.key);
    }

    /// A job is forgotten: what decisions before its end placed takes nothing at its target any
    /// more. Without its record it would count as on its way there.
    fn leave_target(&mut self, job: &Job) {
        if !self.setting.judges_targets {
            return;
        }
        self.touched.jobs.insert(job.key);
        let (name, over_at) = (self.job_name(job.key), job.over_at());
        let is_over = |placement: &Placement| placement.now <= over_at;
        let known = self.requests.of(&name);
        if known.is_some_and(|request| request.placements.iter().any(is_over))
            && let Some(request) = self.requests.at_known(&name)
        {
            request.placements.retain(|placement| !is_over(placement));
            self.touched.subjects.insert(name);
        }
    }

    /// Stubs that are too old, and the oldest beyond the limit on their number.
    fn forget_stubs(&mut self, time: Millis) {
        let lifetime = self.setting.limits.stub_lifetime_ms;
        while let Some((at, key)) = self.stubs.keys().next().copied() {
            if at.saturating_add(lifetime) > time
                && self.stubs.len() <= self.setting.limits.stubs_max
            {
                break;
            }
            self.stubs.pop_first();
            if let Some(slot) = self.jobs.find(key) {
                self.jobs.remove(slot);
                self.job_names.remove(&key);
                self.at_clusters.remove(&key);
            }
        }
    }

    /// Once a day: jobs and transfers that gave no sign for so long that nobody will end them.
    fn forget_silent(&mut self, time: Millis) {
        let horizon = time - self.setting.limits.silent_job_lifetime_ms;
        let silent: Vec<(u32, Job)> = self
            .jobs
            .slab
            .iter()
            .filter(|(_, job)| job.status.is_some_and(|status| !status.is_ended()))
            .filter(|(_, job)| job.changed_at.max(job.heartbeat.at) <= horizon)
            .map(|(slot, job)| (slot, *job))
            .collect();
        for (slot, job) in silent {
            self.forget_job(slot, &job);
        }
    }

    fn forget_transfers(&mut self, horizon: Millis) {
        let time = self.times.of(Topic::Transfer).time;
        let lifetime = self.setting.limits.transfer_ended_lifetime_ms;
        let met = sorted(&mut self.met_transfers);
        let mut due: Vec<Key> = self.timers.transfers.take(time);
        due.extend(self.forget_silent_transfers(time));
        while let Some(key) = due.pop() {
            let Some(slot) = self.transfers.find(key) else { continue };
            let Some(record) = self.transfers.slab.get(slot).copied() else { continue };
            if !record.state.is_ended() {
                continue;
            }
            let over = record.changed_at.saturating_add(lifetime);
            if over > time {
                if is_near(over, time) {
                    self.timers.transfers.set(over, key);
                }
                continue;
            }
            if self.is_needed_by_older(&record) {
                continue;
            }
            if record.changed_at <= horizon && met.binary_search(&key).is_ok() {
                self.ledger.transfer(&record, -1);
            } else {
                self.ledger.transfer_left(&record);
            }
            self.transfers.remove(slot);
            due.extend(self.leave_replica(&record));
        }
    }

    /// Once a day, as for jobs. Returns those that were kept for one that is forgotten now.
    fn forget_silent_transfers(&mut self, time: Millis) -> Vec<Key> {
        let mut alone = Vec::new();
        let silent = self.setting.limits.silent_transfer_lifetime_ms;
        if self.transfers_swept.div_euclid(DAY) != time.div_euclid(DAY) {
            self.transfers_swept = time;
            let silent: Vec<u32> = self
                .transfers
                .slab
                .iter()
                .filter(|(_, held)| !held.state.is_ended() && held.changed_at <= time - silent)
                .map(|(slot, _)| slot)
                .collect();
            for slot in silent {
                if let Some(record) = self.transfers.remove(slot) {
                    self.touch_flow(&record);
                    self.ledger.transfer(&record, -1);
                    alone.extend(self.leave_replica(&record));
                }
            }
        }
        alone
    }

    fn expire_nodes(&mut self) {
        let time = self.times.of(Topic::Pilot).time;
        let window = self.setting.limits.node_window_ms;
        for (key, part) in self.timers.nodes.take(time) {
            let Some(slot) = self.nodes.find(key) else { continue };
            let Some(old) = self.nodes.slab.get(slot).copied() else { continue };
            let (at, new) = match part {
                NodePart::Asked => (old.asked_at, Node { asked_at: 0, ..old }),
                NodePart::Updated => (old.updated_at, Node { updated_at: 0, ..old }),
            };
            let over = at.saturating_add(window);
            if over > time {
                self.timers.nodes.set(over, (key, part));
                continue;
            }
            self.ledger.node(&old, -1);
            self.touched.pilot.add(old.queue);
            if new.asked_at == 0 && new.updated_at == 0 {
                self.nodes.remove(slot);
            } else {
                self.ledger.node(&new, 1);
                if let Some(held) = self.nodes.slab.get_mut(slot) {
                    *held = new;
                }
            }
        }
    }

    fn expire_workers(&mut self) {
        let time = self.times.of(Topic::Pilot).time;
        let counted = self.ledger.counted_queues;
        for key in self.timers.workers.take(time) {
            let Some(slot) = self.workers.find(key) else { continue };
            let Some(report) = self.workers.slab.get(slot).copied() else { continue };
            let over = report.over_at(&self.setting.limits);
            if over <= time {
                self.ledger.workers(&report, -1);
                self.touched.pilot.add(report.queue);
                self.workers.remove(slot);
            } else {
                self.timers.workers.set(over, key);
            }
        }
        self.note_counted(counted);
    }

    /// Reservations that nothing ended in time, by the clock that stands while job states lag.
    fn expire_promises(&mut self) {
        let clock = self.times.of(Topic::JobState).clock;
        let lifetime = self.setting.limits.reservation_lifetime_ms;
        for subject in self.timers.reservations.take(clock) {
            if self.requests.of(&subject).is_none() {
                continue;
            }
            let Some(request) = self.requests.at(&subject, Default::default) else { continue };
            let (over, open): (Vec<_>, Vec<_>) = std::mem::take(&mut request.reservations)
                .into_iter()
                .partition(|reservation| reserve::is_over(reservation, clock, lifetime));
            let next =
                open.iter().map(|reservation| reservation.clock.saturating_add(lifetime)).min();
            request.reservations = open;
            for reservation in over {
                self.close_reservation(reservation.decision);
            }
            if let Some(next) = next.filter(|next| is_near(*next, clock)) {
                self.timers.reservations.set(next, subject);
            }
        }
    }

    fn forget_subjects(&mut self) {
        let time = self.times.of(Topic::Task).time;
        // All are asked before any goes: a chunk's end may be that of a task that goes with it.
        let mut due = self.timers.subjects.take(time);
        due.retain(|subject| {
            let over = self.subject_over(subject);
            if let Some(over) = over.filter(|over| *over > time) {
                self.timers.subjects.set(over, subject);
            }
            over.is_some_and(|over| over <= time)
        });
        for subject in due {
            if self.requests.of(&subject).is_some_and(is_open) {
                // It gets its final answer first; that sets the deadline again.
                self.touched.subjects.insert(subject);
            } else {
                self.forget_subject(&subject);
            }
        }
        let lifetime = self.setting.limits.answer_lifetime_ms;
        self.answered.forget_until(time.saturating_sub(lifetime));
    }

    fn forget_subject(&mut self, subject: &str) {
        let Some(request) = self.requests.remove(subject) else { return };
        for reservation in &request.reservations {
            self.close_reservation(reservation.decision);
        }
        if let Some(task) = &request.task {
            self.leave_datasets(task);
            self.forget_chunk(&task.task, subject);
            // What depends on the task is to be looked at.
            self.touched.subjects.insert(task.task.clone());
        }
        if let Some(answer) = &request.answer {
            self.answered.insert(Answered::of(subject, answer));
        }
        self.touched.subjects.insert(subject.to_owned());
    }

    /// Throttles whose time has come: those long over are forgotten, the others evaluated.
    fn look_at_throttles(&mut self) {
        let lifetime = self.setting.limits.throttle_lifetime_ms;
        for name in self.timers.throttles.take(self.now) {
            let Some(throttle) = self.throttles.of(&name) else { continue };
            if throttle.over_at().saturating_add(lifetime) <= self.now {
                self.throttles.remove(&name);
            }
            self.touched.throttles.insert(name);
        }
    }

    /// Owners whose figures changed, forgetting included.
    fn note_owners(&mut self) {
        let touched = &mut self.touched.owners;
        self.ledger.owner.publish_all(|key, _, _| touched.push([key[0], key[1]]));
    }

    /// Tasks of which jobs finished, or were found not to have finished.
    fn note_work(&mut self) {
        let touched = &mut self.touched.worked;
        self.ledger.work.publish_all(|key, _, _| {
            touched.push(Key(u64::from(key[0]) | u64::from(key[1]) << 32));
        });
    }

    /// The name of a job.
    pub fn job_name(&self, key: Key) -> String {
        self.job_names.get(&key).cloned().unwrap_or_else(|| key.0.to_string())
    }
}

/// Whether a deadline lies in the turn of the wheel that has begun, so that it must be looked at
/// again; a later one was set when the record moved.
fn is_near(over: Millis, time: Millis) -> bool {
    over < time.saturating_add(2_000)
}

/// The keys noted since the last cycle, in order; the note is cleared.
fn sorted(noted: &mut Vec<Key>) -> Vec<Key> {
    let mut noted = std::mem::take(noted);
    noted.sort_unstable();
    noted
}
