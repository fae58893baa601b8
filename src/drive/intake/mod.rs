//! Intake: a stage of its own, that turns messages of other systems into records of ours.
//!
//! It stores nothing but what it published: at its start it reads its own `job-state` and `task`
//! records back, and what it remembers is made of them. Nothing it publishes depends on the order
//! in which messages came, or came again; so a process that publishes its records in one
//! transaction with the offsets of what they were made of publishes each of them once, however
//! often it ends in between.
//!
//! No clock, no log: bytes come in, and go out as [`Records`].

mod again;
mod changes;
mod counts;
mod facts;
mod jobs;
mod meet;
mod number;
mod places;
mod placing;
mod records;
mod stateless;
mod table_facts;

pub use changes::Reach;
pub use counts::{IntakeCounts, Noted, Taken};
pub use records::{Entry, Headers, Records};

use again::Again;
use changes::Changes;
use facts::{Facts, Tasks};
use jobs::{Job, Jobs};
use number::ByNumber;
use places::Places;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use table_facts::TableFacts;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Configuration, Configured, Event, JobState, Oversize, Storage, Task, history_since,
};
use yardmaster_core::id::Key;
use yardmaster_core::limits::Limits;
use yardmaster_core::output::Output;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::dialect::{JobMessage, OWN, TaskMessage, learned};
use yardmaster_wire::import::Parents;
use yardmaster_wire::record;

/// Topics of ours that intake reads.
pub const READ_TOPICS: [Topic; 5] =
    [Topic::JobState, Topic::Task, Topic::Storage, Topic::Decision, Topic::Outcome];

/// Topics of ours that intake publishes to.
pub const PUBLISHED_TOPICS: [Topic; 8] = [
    Topic::JobState,
    Topic::Heartbeat,
    Topic::Transfer,
    Topic::Pilot,
    Topic::Task,
    Topic::Parameter,
    Topic::Replica,
    Topic::DeadLetter,
];

/// The same of rows of configuration tables, which sources of dialect `panda-cdc` alone may have.
pub const TABLE_TOPICS: [Topic; 6] =
    [Topic::Queue, Topic::Storage, Topic::Site, Topic::Share, Topic::Link, Topic::Parameter];

/// Where a foreign message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Name of its topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: u32,
    /// Offset.
    pub offset: u64,
    /// The broker's stamp; ms since 1970.
    pub appended_at: Millis,
}

/// The stage.
pub struct Intake {
    domain: String,
    limits: Limits,
    /// RSE to site, as the topology has it; wins over the storage facts.
    sites: BTreeMap<String, String>,
    storage: HashMap<String, String>,
    codec: Codec,
    arena: Arena,
    jobs: Jobs<Job>,
    /// Jobs that are known of change messages are there and not in `jobs`.
    changes: Changes,
    /// PanDA's configuration tables.
    tables: TableFacts,
    tasks: Tasks,
    /// By task, the jobs that wait for it.
    waiting: ByNumber<Vec<u64>>,
    waiting_count: usize,
    again: Again,
    places: Places,
    /// Texts that many jobs share.
    queues: HashSet<Arc<str>>,
    shared: HashSet<Arc<Facts>>,
    requests: HashSet<Arc<str>>,
    is_reading_back: bool,
    has_published: bool,
    counts: IntakeCounts,
    /// Facts of a job of which none are known.
    nothing: Facts,
}

impl Intake {
    /// With nothing remembered yet.
    pub fn new(domain: &str, sites: BTreeMap<String, String>, limits: &Limits) -> Intake {
        Intake {
            domain: domain.to_owned(),
            limits: limits.clone(),
            sites,
            storage: HashMap::new(),
            codec: Codec::new(limits.max_record_bytes),
            arena: Arena::default(),
            jobs: Jobs::default(),
            changes: Changes::default(),
            tables: TableFacts::default(),
            tasks: Tasks::default(),
            waiting: ByNumber::default(),
            waiting_count: 0,
            again: Again::default(),
            places: Places::new(domain, limits),
            queues: HashSet::new(),
            shared: HashSet::new(),
            requests: HashSet::new(),
            is_reading_back: true,
            has_published: false,
            counts: IntakeCounts::default(),
            nothing: Facts::default(),
        }
    }

    /// The same, which makes a record of the whole of these unified queues too.
    pub fn with_parents(self, parents: Parents) -> Intake {
        Intake { tables: TableFacts::new(parents), ..self }
    }

    /// How many jobs wait for their task's facts.
    pub fn waiting(&self) -> usize {
        self.waiting_count
    }

    /// Whether a record that intake published was read back: one of a job with a revision of
    /// intake's own, and facts that are its task's.
    pub fn has_published(&self) -> bool {
        self.has_published
    }

    /// How many jobs are remembered.
    pub fn jobs(&self) -> usize {
        self.jobs.held.len() + self.changes.jobs.held.len()
    }

    /// How many decisions, outcomes, and jobs without a place are remembered.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Counts since this was last asked.
    pub fn take_counts(&mut self) -> IntakeCounts {
        std::mem::take(&mut self.counts)
    }

    /// Takes a record of one of our own topics in. A job's state counts until all was read back
    /// only: after that no other process publishes them. What cannot be read is passed over; the
    /// leader makes a dead letter of it. Publishes the end of a task again that another record
    /// overtook; jobs that are to be published again are published by `publish_again`.
    pub fn learn(
        &mut self,
        topic: Topic,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        records: &mut Records,
    ) {
        let mut arena = std::mem::take(&mut self.arena);
        let event = self.codec.read(topic, key, value, &mut arena);
        let (bytes, most) = (value.map_or(0, <[u8]>::len), self.limits.name_bytes);
        match event {
            _ if Oversize::of_event(&event, bytes, most).is_some() => {}
            Event::JobState(job) if self.is_reading_back => self.learn_job(&job),
            Event::Task(task) => self.learn_task(&task, records),
            Event::Output(Output::Decision(decision)) => {
                let given = self.places.learn_decision(&decision);
                self.take_given(given);
            }
            Event::Outcome(outcome) => self.places.learn_outcome(&outcome),
            Event::Configuration(it) => {
                if self.is_reading_back {
                    self.tables.read_back(&it);
                }
                if let Configuration::Storage(Storage { name, site, .. }) = *it {
                    self.storage.insert(name, site);
                }
            }
            Event::Removed { topic, name } => {
                if self.is_reading_back {
                    self.tables.read_back_removal(topic, name);
                }
                if topic == Topic::Storage {
                    self.storage.remove(name);
                }
            }
            _ => {}
        }
        self.arena = arena;
    }

    /// All was read back: from now on messages may come.
    pub fn caught_up(&mut self) {
        self.is_reading_back = false;
        self.shared = HashSet::new();
        self.requests = HashSet::new();
        self.place_all();
        self.look_round();
    }

    /// Publishes that records of a source before `since` are not known: it was cleaned before it
    /// was read. It is published as a parameter, so that decisions note `partial_history` until
    /// their window is past it. Known of many gaps, the last of them counts.
    pub fn note_history(&self, since: Millis, records: &mut Records) {
        let parameter = history_since(&self.domain, since);
        let key = parameter.name();
        records.push(Topic::Parameter, key.as_bytes(), |out| record::write(out, &parameter));
    }

    fn job(&mut self, message: &JobMessage<'_>, records: &mut Records) -> bool {
        // Its rows tell more of it, and in order.
        if self.changes.jobs.held.contains_key(&message.job) {
            return true;
        }
        let queues = &mut self.queues;
        let most = self.limits.names_max;
        match self.jobs.held.get_mut(&message.job) {
            Some(job) => {
                let (was_over, was_at) = (job.status.is_ended(), Arc::clone(&job.queue));
                if !job.meet(message, |queue| share(queues, queue, most)) {
                    return true;
                }
                if !was_over && job.status.is_ended() {
                    self.jobs.note_end(message.job);
                }
                self.note_move(message.job, &was_at);
            }
            None => {
                let job = Job::new(message, share(queues, &message.queue, most));
                self.meet_job(message.job, job);
            }
        }
        self.enlist(message.job);
        self.place(message.job);
        self.publish_job(message.job, records);
        true
    }

    fn meet_job(&mut self, number: u64, job: Job) {
        let is_over = job.status.is_ended();
        self.jobs.meet(number, job);
        if is_over {
            self.jobs.note_end(number);
        }
        if let Some((gone, job)) =
            self.jobs.forget(self.limits.intake_jobs_max, |it| it.status.is_ended())
        {
            // One that is over and complete is forgotten as a matter of course.
            if !job.status.is_ended() || job.waits || job.is_outdated {
                self.counts.dropped += 1;
            }
            if job.waits {
                self.leave(job.task, gone);
            }
        }
    }

    fn publish_job(&mut self, number: u64, records: &mut Records) {
        let Some(job) = self.jobs.held.get_mut(&number) else { return };
        job.is_torn = false;
        let mut digits = ([0; 20], [0; 20]);
        let name = decimal(number, &mut digits.0);
        let task = if job.task == 0 { "" } else { decimal(job.task, &mut digits.1) };
        let state = job.record(name, task, &self.nothing);
        records.push(Topic::JobState, name.as_bytes(), |out| record::write(out, &state));
    }

    fn learn_job(&mut self, record: &JobState<'_>) {
        let (number, task) = (Key::of(record.job.as_bytes()), Key::of(record.task.as_bytes()));
        // A name that is no number is no job of PanDA's.
        if !number.is_decimal() {
            return;
        }
        self.has_published |= learned(record).is_some_and(|learned| learned != OWN);
        if self.learn_tracked(record) {
            return self.has_published |= learned(record).is_none();
        }
        let task = if task.is_decimal() { task.0 } else { 0 };
        let queue = share(&mut self.queues, record.queue, self.limits.names_max);
        let request = match record.request {
            "" => None,
            request => Some(share(&mut self.requests, request, self.limits.names_max)),
        };
        let shared = &mut self.shared;
        let job = Job::of_record(record, (queue, request), task, |facts| {
            let known = shared.get(&facts).cloned().unwrap_or_else(|| Arc::new(facts));
            shared.insert(Arc::clone(&known));
            known
        });
        match self.jobs.held.get_mut(&number.0) {
            Some(held) => {
                let waited_for = held.task;
                held.join(job);
                let left = held.waits && (held.facts.is_some() || held.task != waited_for);
                held.waits &= !left;
                if held.status.is_ended() {
                    self.jobs.note_end(number.0);
                }
                if left {
                    self.leave(waited_for, number.0);
                }
            }
            None => self.meet_job(number.0, job),
        }
        self.enlist(number.0);
    }

    fn learn_task(&mut self, record: &Task, records: &mut Records) {
        let task = Key::of(record.task.as_bytes());
        if !task.is_decimal() || record.domain != self.domain {
            return;
        }
        let news = self.tasks.learn(task.0, record, self.limits.intake_tasks_max);
        if self.is_reading_back {
            return;
        }
        if news {
            self.wake(task.0);
        }
        if let Some(end) = self.tasks.overtaken(task.0) {
            self.publish_end(task.0, end, records);
        }
    }

    fn publish_task(&mut self, message: TaskMessage, records: &mut Records) -> bool {
        if !message.ended {
            return false;
        }
        if let Some(end) = self.tasks.end(message.task, message.at, self.limits.intake_tasks_max) {
            self.publish_end(message.task, end, records);
        }
        true
    }
}

/// One text for all that have the same. Beyond the limit each has its own.
fn share(texts: &mut HashSet<Arc<str>>, text: &str, most: usize) -> Arc<str> {
    if let Some(known) = texts.get(text) {
        return Arc::clone(known);
    }
    let new: Arc<str> = text.into();
    if texts.len() < most {
        texts.insert(Arc::clone(&new));
    }
    new
}

/// A number as text.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    // cannot fail: digits are ASCII.
    std::str::from_utf8(&digits[at..]).unwrap_or("")
}
