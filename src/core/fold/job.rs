//! Job states and heartbeats.

use crate::cut::Topic;
use crate::event::{Heartbeat, JobState, Status, era};
use crate::id::{Key, Name, cut};
use crate::oddity::Oddity;
use crate::state::job::{AtCluster, Job, LastHeartbeat, Sample, counts_closed};
use crate::state::prefetch::Sought;
use crate::state::reserve::seen_row;
use crate::state::{SUB_STATES_SEEN, State};
use crate::unit::Millis;
use std::cmp::Ordering;

impl State {
    pub(super) fn fold_job_state(&mut self, event: &JobState<'_>, sought: Sought, bound: Millis) {
        self.fold_pool_job(event, bound);
        let key = sought.key;
        if !self.is_same_job(key, event.job) {
            return self.odd(Topic::JobState, Oddity::NameMeeting);
        }
        let slot = self.jobs.find_sought(sought);
        match slot.and_then(|slot| Some((slot, *self.jobs.slab.get(slot)?))) {
            Some((slot, old)) => self.join_job(slot, &old, event, bound),
            None => self.meet_job(key, event, bound),
        }
    }

    /// A job that is not known yet. One that ended so long ago that it may have been forgotten is
    /// taken up all the same, and leaves without a trace at the cut: what else is read of it until
    /// then must not depend on which came first.
    fn meet_job(&mut self, key: Key, event: &JobState<'_>, bound: Millis) {
        let job = self.read_job(key, None, event, bound);
        self.mark_start(self.ledger.queue_of(&job), job.started_at);
        if event.status.is_ended() && job.over_at() <= self.jobs_horizon() {
            self.odd(Topic::JobState, Oddity::TooLate);
        }
        self.note_job_name(key, event.job);
        let slot = self.jobs.insert(job);
        self.met_jobs.push(key);
        self.note_at_cluster(key, event);
        self.note_look(slot, None, &job);
        self.count_job(None, &job);
    }

    /// Notes when a job whose state changed is to be looked at by the rules that give commands, and
    /// that it may wait at its queue.
    #[inline]
    fn note_look(&mut self, slot: u32, old: Option<&Job>, job: &Job) {
        if !self.looks.is_warm {
            return;
        }
        let waits = |job: &Job| job.status.is_some_and(Status::is_queued);
        if waits(job) && old.is_none_or(|old| !waits(old) || old.load != job.load) {
            self.looks.note_queued(slot, job.load, job.names[1]);
        }
        let minute = self.looks.note(slot, job, job.look);
        if minute != job.look
            && let Some(held) = self.jobs.slab.get_mut(slot)
        {
            held.look = minute;
        }
    }

    /// Keeps the name of a job whose number is not its name.
    fn note_job_name(&mut self, key: Key, name: &str) {
        if !key.is_decimal() {
            let name = cut(name, self.setting.limits.name_bytes);
            self.job_names.insert(key, name.to_owned());
        }
    }

    /// Keeps what a job states of itself at a cluster.
    #[inline]
    fn note_at_cluster(&mut self, key: Key, event: &JobState<'_>) {
        match at_cluster(event) {
            it if it.is_nothing() && self.at_clusters.is_empty() => {}
            it if it.is_nothing() => _ = self.at_clusters.remove(&key),
            it => _ = self.at_clusters.insert(key, it),
        }
    }

    /// A job that is known: the newer state wins.
    fn join_job(&mut self, slot: u32, old: &Job, event: &JobState<'_>, bound: Millis) {
        let order = old.status.map_or(Ordering::Greater, |known| order(event, bound, old, known));
        if order == Ordering::Less {
            self.mark_stale_start(event, old, bound);
            let after_end = event.attempt == old.attempt
                && !event.status.is_ended()
                && old.status.is_some_and(Status::is_ended);
            let oddity = if after_end { Oddity::AfterEnd } else { Oddity::Stale };
            return self.odd(Topic::JobState, oddity);
        }
        let new = self.read_job(old.key, Some(old), event, bound);
        if old.started_at != new.started_at || old.load != new.load || old.status.is_none() {
            self.mark_start(self.ledger.queue_of(&new), new.started_at);
        }
        if order == Ordering::Equal {
            let known = self.at_clusters.get(&old.key).cloned().unwrap_or_default();
            let content = self.content(&new).cmp(&self.content(old));
            let content = content.then(at_cluster(event).cmp(&known));
            match content {
                Ordering::Less => return self.odd(Topic::JobState, Oddity::Stale),
                Ordering::Equal => return self.odd(Topic::JobState, Oddity::Repeated),
                Ordering::Greater => {}
            }
        }
        if old.attempt == new.attempt && old.status > new.status {
            self.odd(Topic::JobState, Oddity::Backwards);
        }
        if old.status.is_none() {
            self.stubs.remove(&(old.heartbeat.at, old.key));
            self.met_jobs.push(old.key);
        }
        if let Some(held) = self.jobs.slab.get_mut(slot) {
            *held = new;
        }
        self.note_at_cluster(old.key, event);
        self.note_look(slot, Some(old), &new);
        let is_moved = old.status.is_none() || old.load != new.load;
        if is_moved && new.heartbeat.at != 0 {
            self.signs.push(slot);
        }
        self.count_job(Some(old), &new);
    }

    /// Takes the old record's contributions out and puts the new one's in.
    #[inline]
    fn count_job(&mut self, old: Option<&Job>, new: &Job) {
        match old {
            Some(old) => {
                self.ledger.job_changed(old, new);
                if old.status.is_some() && old.load != new.load {
                    self.touched.load.add(self.ledger.queue_of(old));
                }
            }
            None => self.ledger.job(new, 1),
        }
        self.touched.load.add(self.ledger.queue_of(new));
        if self.setting.judges_targets {
            self.touched.jobs.insert(new.key);
        }
        let was_over = old.filter(|old| old.status.is_some_and(Status::is_ended));
        if new.status.is_some_and(Status::is_ended)
            && was_over.is_none_or(|old| old.over_at() != new.over_at())
        {
            let lifetime = self.setting.limits.ended_job_lifetime_ms;
            self.timers.jobs.set(new.over_at().saturating_add(lifetime), new.key);
        }
    }

    /// Ended jobs older than this may have been forgotten.
    pub(crate) fn jobs_horizon(&self) -> Millis {
        self.times.of(Topic::JobState).time - self.setting.limits.ended_job_lifetime_ms
    }

    fn is_same_job(&self, key: Key, name: &str) -> bool {
        key.is_decimal()
            || self
                .job_names
                .get(&key)
                .is_none_or(|known| known == cut(name, self.setting.limits.name_bytes))
    }

    /// Every start that is published counts, stale or not, so that the order does not matter.
    fn mark_start(&mut self, queue: Name, start: Millis) {
        if start > 0 {
            let marks = self.marks.entry(queue).or_default();
            marks.start = marks.start.max(start);
        }
    }

    #[cold]
    fn mark_stale_start(&mut self, event: &JobState<'_>, old: &Job, bound: Millis) {
        let start = event.started_at.min(bound);
        if start > 0 && (old.started_at != start || !self.is_at(old, event.queue)) {
            let queue = self.name(event.queue);
            self.mark_start(queue, start);
        }
    }

    fn is_at(&self, job: &Job, queue: &str) -> bool {
        job.status.is_some() && self.names.is(self.ledger.queue_of(job), queue)
    }

    /// The record that a job state makes, with what the old one knew from elsewhere. Names that
    /// did not change keep their rows.
    #[inline]
    fn read_job(
        &mut self,
        key: Key,
        old: Option<&Job>,
        event: &JobState<'_>,
        bound: Millis,
    ) -> Job {
        let known = old.filter(|old| old.status.is_some());
        let has_sub_state = if event.sub_status.is_empty() { 0 } else { SUB_STATES_SEEN };
        self.seen_states |= 1 << event.status.index() | has_sub_state;
        let sample = Sample::of(event);
        let (names, [load, user, group, nucleus]) =
            self.names_and_rows(known, event, sample.is_merge());
        let request = match event.request {
            "" => Key::NONE,
            request => Key::of(request.as_bytes()),
        };
        let task = Key::of(event.task.as_bytes());
        let place = (task, request, names[0]);
        let seen = match known {
            Some(old) if (old.task, old.request, old.names[0]) == place => old.seen,
            _ => seen_row(&mut self.ledger, request, task, names[0]),
        };
        Job {
            key,
            task,
            request,
            changed_at: event.changed_at.min(bound),
            created_at: event.created_at.min(bound),
            activated_at: event.ready_at().min(bound),
            started_at: event.started_at.min(bound),
            ended_at: event.ended_at.min(bound),
            input_bytes: event.input_bytes,
            output_bytes: event.output_bytes,
            heartbeat: old.map_or_else(LastHeartbeat::default, |old| old.heartbeat),
            attempt: event.attempt,
            revision: event.revision,
            priority: event.priority,
            cores: event.cores.clamp(1, 1 << 20),
            load,
            user,
            group,
            nucleus,
            seen,
            names,
            workflow: self.same_name(known.map(|old| old.workflow), event.workflow),
            label: self.same_name(known.map(|old| old.label), event.label),
            sub_status: self.same_name(known.map(|old| old.sub_status), event.sub_status),
            status: Some(event.status),
            sample,
            counts_closed: counts_closed(event.sub_status),
            awaits_heartbeat: old.is_some_and(|old| old.awaits_heartbeat),
            look: old.map_or(0, |old| old.look),
        }
    }

    /// See [`Job::names`] and [`crate::state::ledger::Ledger::job_rows`].
    #[inline]
    fn names_and_rows(
        &mut self,
        known: Option<&Job>,
        event: &JobState<'_>,
        is_merge: bool,
    ) -> ([Name; 6], [u32; 4]) {
        let JobState { queue, gshare, resource_type, user, group, nucleus, .. } = *event;
        let texts = [queue, gshare, resource_type, user, group, nucleus];
        if let Some(old) = known
            && old.sample.is_merge() == is_merge
            && old.names.iter().zip(texts).all(|(name, text)| self.names.is(*name, text))
        {
            return (old.names, [old.load, old.user, old.group, old.nucleus]);
        }
        let names = texts.map(|text| self.name(text));
        (names, self.ledger.job_rows(names, is_merge))
    }

    #[inline]
    fn same_name(&mut self, known: Option<Name>, text: &str) -> Name {
        match known {
            Some(name) if self.names.is(name, text) => name,
            _ => self.name(text),
        }
    }

    /// The figure that decides between two states that agree in attempt, time, revision and rank:
    /// any order will do that is total and reads nothing but what was published.
    fn content<'a>(&'a self, job: &Job) -> impl Ord + 'a {
        let text = |name: Name| self.names.text(name);
        let [queue, gshare, resource_type, user, group, nucleus] = job.names.map(text);
        (
            (job.task, job.request, queue, gshare, resource_type),
            (user, group, nucleus),
            (text(job.workflow), text(job.label), text(job.sub_status)),
            (job.created_at, job.started_at, job.ended_at, job.cores, job.priority),
            (job.input_bytes, job.output_bytes, job.activated_at, job.sample),
        )
    }

    /// `at`: the log's stamp. By what clock a node states its times decides nothing about its jobs.
    pub(super) fn fold_heartbeat(&mut self, event: &Heartbeat<'_>, sought: Sought, at: Millis) {
        let key = sought.key;
        let heartbeat = LastHeartbeat {
            attempt: event.attempt,
            at: at.max(0),
            events: event.events,
            cpu_s: event.cpu_s,
            disk_io_kbps: event.disk_io_kbps,
            rss_mb: event.rss_mb,
        };
        let Some(slot) = self.jobs.find_sought(sought) else {
            return self.note_stub(key, event.job, heartbeat);
        };
        if !self.is_same_job(key, event.job) {
            return self.odd(Topic::Heartbeat, Oddity::NameMeeting);
        }
        let Some(job) = self.jobs.slab.get(slot) else { return };
        match heartbeat.cmp(&job.heartbeat) {
            Ordering::Less => return self.odd(Topic::Heartbeat, Oddity::Stale),
            Ordering::Equal => return self.odd(Topic::Heartbeat, Oddity::Repeated),
            Ordering::Greater => {}
        }
        let Some(job) = self.jobs.slab.get_mut(slot) else { return };
        let (old, before) = (job.heartbeat, job.disk_io_per_core());
        job.heartbeat = heartbeat;
        self.signs.push(slot);
        let is_awaited = job.awaits_heartbeat && heartbeat.attempt >= job.attempt;
        let is_news = is_awaited || heartbeat.attempt != old.attempt;
        if is_news && self.looks.is_warm {
            job.awaits_heartbeat &= !is_awaited;
            job.look = self.looks.note_heartbeat(slot, job, job.look);
        }
        if job.status.is_none() {
            self.stubs.remove(&(old.at, key));
            self.stubs.insert((heartbeat.at, key), ());
        } else if before != job.disk_io_per_core() {
            self.ledger.job_disk(job.load, before, job.disk_io_per_core());
            self.touched.load.add(self.ledger.queue_of(job));
        }
    }

    /// A sign of life of a job that is not known: remembered as a stub, however old, until the
    /// cut; the job may be published before that.
    fn note_stub(&mut self, key: Key, name: &str, heartbeat: LastHeartbeat) {
        self.odd(Topic::Heartbeat, Oddity::UnknownJob);
        self.note_job_name(key, name);
        self.jobs.insert(Job { heartbeat, ..Job::stub(key) });
        self.stubs.insert((heartbeat.at, key), ());
    }
}

/// The statements of a record of a job at a cluster. An id that is longer than a name may be makes
/// the record unreadable, so that it is whole.
fn at_cluster(event: &JobState<'_>) -> AtCluster {
    AtCluster {
        cpu_time_s: event.cpu_time_s,
        wall_time_s: event.wall_time_s,
        cluster_job: event.cluster_job.to_owned(),
    }
}

/// Which of two states of a job is newer: by era, attempt, ended or not, time, revision, rank.
#[inline]
fn order(event: &JobState<'_>, bound: Millis, old: &Job, known: Status) -> Ordering {
    let new = (
        era(event.revision),
        event.attempt,
        event.status.is_ended(),
        event.changed_at.min(bound),
        event.revision,
        event.status,
    );
    let old =
        (era(old.revision), old.attempt, known.is_ended(), old.changed_at, old.revision, known);
    new.cmp(&old)
}
