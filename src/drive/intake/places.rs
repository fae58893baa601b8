//! Which request a job belongs to, where its source does not state it: the places that assignments
//! keep at queues, and the jobs that take them.
//!
//! An assignment of task T to queue Q with n jobs is n places. A job of T at Q that names no
//! request takes one of them, of the oldest assignment that has one left, if it was created while
//! the assignment was open: from the decision's `now` until the reservation ends. That is when its
//! lifetime is over, when a higher attempt of its subject is answered, or when an outcome states
//! that it is not carried out. All of these are times that the records state, and not times at
//! which they were read. A job for which there is no place yet waits for one: the topic with the
//! decisions may lag.

use super::number::ByNumber;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use yardmaster_core::event::{DecisionOutcome, OutcomeAbout, OutcomeKind};
use yardmaster_core::id::Key;
use yardmaster_core::limits::Limits;
use yardmaster_core::output::decision::{Decision, DecisionId, Outcome, request_name};
use yardmaster_core::unit::{MINUTE, Millis, SECOND};

/// A job counts as created after a decision if its stamp is not before it by more: the clocks are
/// two, and some sources have whole seconds.
const CLOCKS_APART: Millis = 10 * SECOND;
/// So long, by the decisions' time, a job without a place waits for a decision read after it.
const DECISION_LATE: Millis = 10 * MINUTE;
/// Between two looks at what is over, at least so many records are learned.
const SWEPT_AFTER: usize = 1_024;

/// Places at one queue.
struct Room {
    /// Unified name.
    queue: Box<str>,
    /// Jobs assigned.
    jobs: u32,
    /// Jobs that are there.
    taken: u32,
}

/// An assignment that keeps places.
struct Assignment {
    now: Millis,
    ends_at: Millis,
    task: u64,
    rooms: Vec<Room>,
}

/// Where a task has places left: the decision's `now`, the request, the queue.
type Open = (Millis, Arc<str>, Box<str>);

impl Assignment {
    /// Whether a job that was created then may take a place.
    fn covers(&self, created_at: Millis) -> bool {
        created_at >= self.now.saturating_sub(CLOCKS_APART) && created_at < self.ends_at
    }
}

/// A job that gets a place which was not known when it was met.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// Number of the job.
    pub job: u64,
    /// Queue of the place.
    pub queue: Arc<str>,
    /// The request.
    pub request: Arc<str>,
}

/// Assignments with the places that are left, and jobs that wait for one.
pub(super) struct Places {
    domain: String,
    lifetime: Millis,
    most: usize,
    /// By request.
    assignments: HashMap<Arc<str>, Assignment>,
    /// By decision, the request.
    requests: HashMap<DecisionId, Arc<str>>,
    /// By task, where it has places left: oldest first, those of one `now` by name.
    open: ByNumber<Vec<Open>>,
    /// When each attempt of a subject was first answered.
    answered: BTreeMap<(Box<str>, u64), Millis>,
    /// Decisions that are not carried out: since when, and the decisions' time when that was read.
    ended: HashMap<DecisionId, (Millis, Millis)>,
    /// Jobs without a place: task, created, job; the queue.
    waiting: BTreeMap<(u64, Millis, u64), Arc<str>>,
    /// Newest decision.
    newest: Millis,
    learned: usize,
}

impl Places {
    /// Without any.
    pub fn new(domain: &str, limits: &Limits) -> Places {
        Places {
            domain: domain.to_owned(),
            lifetime: limits.reservation_lifetime_ms,
            most: limits.intake_places_max,
            assignments: HashMap::new(),
            requests: HashMap::new(),
            open: ByNumber::default(),
            answered: BTreeMap::new(),
            ended: HashMap::new(),
            waiting: BTreeMap::new(),
            newest: 0,
            learned: 0,
        }
    }

    /// How many records and jobs are remembered.
    pub fn len(&self) -> usize {
        let records = self.assignments.len() + self.answered.len() + self.ended.len();
        records + self.waiting.len()
    }

    /// Takes one of our own decisions in. Jobs that waited and get its places are returned, the
    /// earliest created first: each of them has taken its place.
    pub fn learn_decision(&mut self, decision: &Decision) -> Vec<Given> {
        if decision.domain != self.domain || decision.dry_run {
            return Vec::new();
        }
        self.newest = self.newest.max(decision.now);
        self.sweep();
        self.note_answer(&decision.subject, decision.attempt, decision.now);
        let Some((request, assignment)) = self.assignment(decision) else { return Vec::new() };
        if self.assignments.contains_key(&request) {
            return Vec::new();
        }
        self.requests.insert(decision.id, Arc::clone(&request));
        self.assignments.insert(Arc::clone(&request), assignment);
        let given = self.give(&request);
        self.open_rooms(&request);
        given
    }

    /// Takes what became of a decision in. One that is not carried out has no places for jobs that
    /// are created from then on; one that is carried out keeps them, since its jobs may be read
    /// after it.
    pub fn learn_outcome(&mut self, outcome: &DecisionOutcome) {
        if outcome.about != OutcomeAbout::Decision || outcome.kind == OutcomeKind::Accepted {
            return;
        }
        self.sweep();
        let (at, _) = self.ended.entry(outcome.decision).or_insert((outcome.at, self.newest));
        *at = outcome.at.min(*at);
        let at = *at;
        if let Some(request) = self.requests.get(&outcome.decision)
            && let Some(assignment) = self.assignments.get_mut(request)
        {
            assignment.ends_at = assignment.ends_at.min(at);
        }
    }

    /// A place for a job that names no request: the request, if there is one now. Without one the
    /// job waits. To be called whenever its task, its queue or its creation becomes known; not
    /// for a job that has a request.
    pub fn meet(
        &mut self,
        job: u64,
        task: u64,
        queue: &Arc<str>,
        created_at: Millis,
    ) -> Option<Arc<str>> {
        if task == 0 || queue.is_empty() || created_at <= 0 {
            return None;
        }
        let request = self.take(task, queue, created_at);
        if request.is_none() && created_at >= self.newest.saturating_sub(DECISION_LATE) {
            self.waiting.insert((task, created_at, job), Arc::clone(queue));
        }
        request
    }

    /// A job with a request is at a queue: it was read back, or came there.
    pub fn hold(&mut self, request: &str, queue: &str) {
        self.count(request, queue, |taken| taken.saturating_add(1));
    }

    /// A job with a request is no longer at a queue: its place is open again.
    pub fn leave(&mut self, request: &str, queue: &str) {
        self.count(request, queue, |taken| taken.saturating_sub(1));
    }

    fn count(&mut self, request: &str, queue: &str, change: impl FnOnce(u32) -> u32) {
        let Some((request, _)) = self.assignments.get_key_value(request) else { return };
        let request = Arc::clone(request);
        let Some(assignment) = self.assignments.get_mut(&request) else { return };
        let (task, now) = (assignment.task, assignment.now);
        let room = assignment.rooms.iter_mut().find(|room| *room.queue == *queue);
        let Some(room) = room else { return };
        room.taken = change(room.taken);
        let has_place = room.taken < room.jobs;
        let list = self.open.entry(task).or_default();
        let place = (now, request, Box::from(queue));
        match (list.binary_search(&place), has_place) {
            (Ok(at), false) => drop(list.remove(at)),
            (Err(at), true) => list.insert(at, place),
            _ => {}
        }
        if list.is_empty() {
            self.open.remove(&task);
        }
    }

    /// Notes where an assignment has places left.
    fn open_rooms(&mut self, request: &Arc<str>) {
        let Some(assignment) = self.assignments.get(request) else { return };
        for room in assignment.rooms.iter().filter(|room| room.taken < room.jobs) {
            let list = self.open.entry(assignment.task).or_default();
            let place = (assignment.now, Arc::clone(request), room.queue.clone());
            if let Err(at) = list.binary_search(&place) {
                list.insert(at, place);
            }
        }
    }

    /// The oldest place that a job may take.
    fn take(&mut self, task: u64, queue: &str, created_at: Millis) -> Option<Arc<str>> {
        let is_open = |(_, request, at): &&Open| {
            let assignment = self.assignments.get(request);
            **at == *queue && assignment.is_some_and(|it| it.covers(created_at))
        };
        let list = self.open.get(&task)?;
        let request = list.iter().find(is_open).map(|(_, request, _)| Arc::clone(request))?;
        self.hold(&request, queue);
        Some(request)
    }

    /// Gives the places of a new assignment to jobs that wait.
    fn give(&mut self, request: &Arc<str>) -> Vec<Given> {
        let mut given = Vec::new();
        let Some(assignment) = self.assignments.get_mut(request) else { return Vec::new() };
        let task = assignment.task;
        for (key, queue) in
            self.waiting.range((task, Millis::MIN, 0)..=(task, Millis::MAX, u64::MAX))
        {
            let (_, created_at, job) = *key;
            let is_covered = assignment.covers(created_at);
            let room = assignment.rooms.iter_mut().find(|room| *room.queue == **queue);
            if let Some(room) = room.filter(|room| is_covered && room.taken < room.jobs) {
                room.taken += 1;
                let (queue, request) = (Arc::clone(queue), Arc::clone(request));
                given.push((*key, Given { job, queue, request }));
            }
        }
        given.iter().for_each(|(key, _)| _ = self.waiting.remove(key));
        given.into_iter().map(|(_, given)| given).collect()
    }

    /// Notes an answer; assignments of lower attempts end with it.
    fn note_answer(&mut self, subject: &str, attempt: u64, now: Millis) {
        let first = self.answered.entry((subject.into(), attempt)).or_insert(now);
        *first = now.min(*first);
        let of_subject = (Box::from(subject), 0)..(Box::from(subject), attempt);
        let lower: Vec<u64> = self.answered.range(of_subject).map(|((_, at), _)| *at).collect();
        for attempt in lower {
            let request = request_name(subject, attempt);
            if let Some(assignment) = self.assignments.get_mut(&*request) {
                assignment.ends_at = assignment.ends_at.min(now);
            }
        }
    }

    /// The places of an assignment of jobs, if it keeps any.
    fn assignment(&self, decision: &Decision) -> Option<(Arc<str>, Assignment)> {
        let Outcome::Assign(ranked) = &decision.outcome else { return None };
        let task = Key::of(decision.task.as_bytes());
        if !task.is_decimal() || decision.placed.is_some() || decision.matched.is_some() {
            return None;
        }
        let mut rooms: BTreeMap<&str, u32> = BTreeMap::new();
        for ranked in ranked.iter().filter(|ranked| ranked.jobs > 0) {
            let jobs = rooms.entry(&ranked.unified).or_default();
            *jobs = jobs.saturating_add(ranked.jobs);
        }
        if rooms.is_empty() {
            return None;
        }
        let subject: Box<str> = decision.subject.as_str().into();
        let later = (subject.clone(), decision.attempt.saturating_add(1))..;
        let of_subject = self.answered.range(later).take_while(|((of, _), _)| *of == subject);
        let superseded_at = of_subject.map(|(_, now)| *now).min().unwrap_or(Millis::MAX);
        let ended_at = self.ended.get(&decision.id).map_or(Millis::MAX, |(at, _)| *at);
        let lapses_at = decision.now.saturating_add(self.lifetime);
        let assignment = Assignment {
            now: decision.now,
            ends_at: lapses_at.min(superseded_at).min(ended_at),
            task: task.0,
            rooms: rooms
                .into_iter()
                .map(|(queue, jobs)| Room { queue: queue.into(), jobs, taken: 0 })
                .collect(),
        };
        Some((request_name(&decision.subject, decision.attempt).into(), assignment))
    }

    /// Forgets now and then what is over: by the decisions' time, a lifetime after it ended at the
    /// latest. Of more than the limit the oldest go.
    fn sweep(&mut self) {
        self.learned += 1;
        let held = self.assignments.len().max(self.answered.len()).max(self.ended.len());
        if self.learned < SWEPT_AFTER.max(held.max(self.waiting.len()) / 4) {
            return;
        }
        self.learned = 0;
        let since = self.newest.saturating_sub(self.lifetime.saturating_mul(2));
        let since = since.max(oldest(self.assignments.values().map(|it| it.now), self.most));
        self.assignments.retain(|_, it| it.now >= since);
        let held = &self.assignments;
        self.requests.retain(|_, request| held.contains_key(request));
        self.open.retain(|_, list| {
            list.retain(|(_, request, _)| held.contains_key(request));
            !list.is_empty()
        });
        let since = since.max(oldest(self.answered.values().copied(), self.most));
        self.answered.retain(|_, now| *now >= since);
        let since = since.max(oldest(self.ended.values().map(|(_, read)| *read), self.most));
        self.ended.retain(|_, (_, read)| *read >= since);
        let since = self.newest.saturating_sub(DECISION_LATE);
        let since =
            since.max(oldest(self.waiting.keys().map(|(_, created, _)| *created), self.most));
        self.waiting.retain(|(_, created, _), _| *created >= since);
        while self.waiting.len() > self.most.saturating_mul(2) {
            self.waiting.pop_first();
        }
    }
}

/// The time from which on no more than so many lie; the least there is where all of them may stay.
fn oldest(times: impl Iterator<Item = Millis>, most: usize) -> Millis {
    let mut times: Vec<Millis> = times.collect();
    match times.len().checked_sub(most) {
        None | Some(0) => Millis::MIN,
        Some(beyond) => *times.select_nth_unstable(beyond).1,
    }
}
