//! Commands: what others are asked to do to jobs.

use super::common::{About, Folded, moved, stamped};
use crate::cut::Topic;
use crate::record::{Published, record, symbols};
use crate::unit::Millis;
use sha2::{Digest, Sha256};

/// Id of a command. Derived, not drawn: the first 16 bytes of SHA-256(domain, rule, subject,
/// attempt, what the clock stood at), so that the same command has the same id on every process and
/// however often it is made. Its repeats have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub [u8; 16]);

impl CommandId {
    /// The id of what a rule commands of an attempt of a subject since a clock stood at `clock_at`.
    pub fn derive(
        domain: &str,
        rule: &str,
        subject: &str,
        attempt: u32,
        clock_at: Option<Millis>,
    ) -> CommandId {
        let mut hasher = Sha256::new();
        for part in ["command", domain, rule, subject] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(attempt.to_le_bytes());
        hasher.update(clock_at.unwrap_or(i64::MIN).to_le_bytes());
        let mut id = [0u8; 16];
        id.copy_from_slice(&hasher.finalize()[..16]);
        CommandId(id)
    }
}

impl std::fmt::Display for CommandId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// The action that a command asks for. The numbers are persisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CommandKind {
    /// Close jobs of a queue and share, and broker their input again.
    Rebroker = 0,
    /// Close a job, and broker its input again.
    Reassign = 1,
    /// End a job.
    Kill = 2,
    /// End a job as failed.
    Fail = 3,
    /// End a workflow.
    KillWorkflow = 4,
    /// Send a queue, or a node of it, nothing more.
    Drain = 5,
    /// Raise a task's priority.
    Boost = 6,
    /// Note what the jobs of a workflow need.
    Profile = 7,
    /// Tell operations of a workflow or task.
    Alert = 8,
    /// Send a node work again.
    Undrain = 9,
}

impl CommandKind {
    /// All kinds, in order of their numbers.
    pub const ALL: [CommandKind; 10] = [
        CommandKind::Rebroker,
        CommandKind::Reassign,
        CommandKind::Kill,
        CommandKind::Fail,
        CommandKind::KillWorkflow,
        CommandKind::Drain,
        CommandKind::Boost,
        CommandKind::Profile,
        CommandKind::Alert,
        CommandKind::Undrain,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            CommandKind::Rebroker => "rebroker",
            CommandKind::Reassign => "reassign",
            CommandKind::Kill => "kill",
            CommandKind::Fail => "fail",
            CommandKind::KillWorkflow => "kill_workflow",
            CommandKind::Drain => "drain",
            CommandKind::Boost => "boost",
            CommandKind::Profile => "profile",
            CommandKind::Alert => "alert",
            CommandKind::Undrain => "undrain",
        }
    }

    /// Whether the input of the jobs is brokered again, so that the jobs move.
    pub const fn moves(self) -> bool {
        matches!(self, CommandKind::Rebroker | CommandKind::Reassign)
    }

    /// Whether it is about a workflow of a pool of slots, or a task: its subject.
    pub const fn is_of_workflow(self) -> bool {
        use CommandKind::{Alert, Boost, KillWorkflow, Profile};
        matches!(self, KillWorkflow | Boost | Profile | Alert)
    }

    /// Whether it is about a node of a pool of slots, its subject; or a queue.
    pub const fn is_of_node(self) -> bool {
        matches!(self, CommandKind::Drain | CommandKind::Undrain)
    }

    /// Whether jobs end or move by it: nothing else is asked of them meanwhile.
    pub const fn takes_jobs(self) -> bool {
        use CommandKind::{Fail, Kill, KillWorkflow, Reassign, Rebroker};
        matches!(self, Rebroker | Reassign | Kill | Fail | KillWorkflow)
    }
}

/// One command record. Repeats of a command have its id and a higher `repeat`.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Its name.
    pub id: CommandId,
    /// Which record of this id it is, from 0; without gap.
    pub repeat: u32,
    /// Domain that publishes it.
    pub domain: String,
    /// Action to carry out.
    pub kind: CommandKind,
    /// Rule that gave it; one of another version may be unknown here.
    pub rule: String,
    /// The job, task, workflow or node it is about; for fast rebrokerage queue, share and task, for
    /// a report on what was held back the queue.
    pub subject: String,
    /// Attempt of the job; for fast rebrokerage the number of the batch; else 0.
    pub attempt: u32,
    /// Queue concerned.
    pub queue: String,
    /// Share concerned; empty when none is.
    pub gshare: String,
    /// Jobs to act on, in order; empty when the subject is the job. Of a workflow that is killed
    /// the first of those that wait; of a drain the job that the node is kept free for.
    pub jobs: Vec<String>,
    /// How many jobs it is about; 1 where it is about none.
    pub amount: u64,
    /// Clock that ran out.
    pub clock: String,
    /// Time at which that clock started.
    pub clock_at: Option<Millis>,
    /// Measured value, in `unit`.
    pub measured: f64,
    /// Value that would have passed, in `unit`; of a profile the memory in MB, of a drain the cores
    /// that the job waits for.
    pub limit: f64,
    /// Unit of the figures.
    pub unit: String,
    /// Not to be carried out after that; 0: for ever.
    pub expires_at: Millis,
    /// Epoch of the leader that published it.
    pub epoch: u64,
    /// Cycle it was made in.
    pub cycle: u64,
    /// Its number among the commands of the cycle, from 0.
    pub number: u32,
    /// The cycle's now.
    pub now: Millis,
    /// Name of the rule set that gave it: the rules of the topology file.
    pub policy: String,
    /// Hash of the rules and the governor as the topology file has them; 16 hex digits.
    pub policy_hash: String,
    /// Whether it is published only, and not to be carried out.
    pub dry_run: bool,
    /// Notes for a reader: why it was held back, which input is old.
    pub notes: Vec<String>,
    /// Task of its jobs; empty where no request of it is known.
    pub task: String,
}

/// Begins the note of a record that reports what was held back.
const HELD_BACK: &str = "held_back(";

impl Command {
    /// The first record of a command about one subject, to be carried out; blank but for what its
    /// id is derived of. Its kind is `Kill`.
    pub fn new(
        domain: &str,
        rule: &str,
        subject: &str,
        attempt: u32,
        clock_at: Option<Millis>,
    ) -> Command {
        Command {
            id: CommandId::derive(domain, rule, subject, attempt, clock_at),
            repeat: 0,
            domain: domain.to_owned(),
            kind: CommandKind::Kill,
            rule: rule.to_owned(),
            subject: subject.to_owned(),
            attempt,
            queue: String::new(),
            gshare: String::new(),
            jobs: Vec::new(),
            amount: 1,
            clock: String::new(),
            clock_at,
            measured: 0.0,
            limit: 0.0,
            unit: "ms".to_owned(),
            expires_at: 0,
            epoch: 0,
            cycle: 0,
            number: 0,
            now: 0,
            policy: "governor".to_owned(),
            policy_hash: String::new(),
            dry_run: false,
            notes: Vec::new(),
            task: String::new(),
        }
    }

    /// Why it was held back, as its note has it. Such a record is a report on all that a rule holds
    /// back at a queue, and nobody's to carry out.
    pub fn held_back(&self) -> Option<&str> {
        let note = self.notes.iter().find_map(|note| note.strip_prefix(HELD_BACK))?;
        Some(note.strip_suffix(')').unwrap_or(note))
    }

    /// Whether it is to be carried out.
    pub fn is_order(&self) -> bool {
        !self.dry_run
    }

    /// Whether it is too late to carry it out.
    pub fn is_expired(&self, now: Millis) -> bool {
        self.expires_at != 0 && self.expires_at <= now
    }

    /// Names of the jobs it is about; none for a report on what was held back.
    pub fn about(&self) -> &[String] {
        let is_of_job = !self.kind.is_of_workflow() && !self.kind.is_of_node();
        match (self.jobs.as_slice(), self.held_back()) {
            ([], None) if is_of_job => std::slice::from_ref(&self.subject),
            (jobs, _) => jobs,
        }
    }

    /// Unit of `limit`.
    pub fn limit_unit(&self) -> &str {
        match self.kind {
            CommandKind::Profile => "MB",
            CommandKind::Drain => "cores",
            _ => &self.unit,
        }
    }
}

impl Folded for Command {
    fn topic(&self) -> Topic {
        Topic::Command
    }

    fn key(&self) -> String {
        self.subject.clone()
    }

    fn title(&self) -> String {
        format!("{} {}", self.rule, self.subject)
    }

    fn subject(&self) -> String {
        self.subject.clone()
    }

    fn ordinal(&self) -> u32 {
        self.repeat.saturating_add(1)
    }

    fn has_right_id(&self) -> bool {
        let Command { id, domain, rule, subject, attempt, clock_at, .. } = self;
        *id == CommandId::derive(domain, rule, subject, *attempt, *clock_at)
    }

    stamped!();

    fn effect(&self) -> &'static str {
        self.kind.name()
    }

    fn rule(&self) -> &str {
        &self.rule
    }

    fn gshare(&self) -> &str {
        &self.gshare
    }

    fn user(&self) -> &str {
        ""
    }

    fn task(&self) -> &str {
        &self.task
    }

    fn queues(&self) -> Vec<&str> {
        Some(self.queue.as_str()).filter(|queue| !queue.is_empty()).into_iter().collect()
    }

    fn amount(&self) -> u64 {
        self.amount
    }

    fn is_about(&self, what: About, name: &str) -> bool {
        match what {
            About::Queue => self.queue == name,
            About::Share => self.gshare == name,
            About::User | About::Group => false,
            About::Task => self.subject == name || self.task == name,
            About::Job => self.about().iter().any(|job| job == name),
            About::Rule => self.rule == name,
        }
    }

    fn names(&self) -> Vec<&str> {
        let Command { subject, task, rule, queue, gshare, .. } = self;
        let mut names: Vec<&str> = vec![subject, task, rule, queue, gshare];
        names.extend(self.jobs.iter().map(String::as_str));
        names
    }

    fn count_at(&mut self, now: Millis) {
        // What its clock stood at is part of its id.
        self.expires_at = moved(self.expires_at, self.now, now);
        self.now = now;
    }
}

/// The note of a record that reports what was held back.
pub fn held_back_note(why: &str) -> String {
    format!("{HELD_BACK}{why})")
}

symbols!(CommandKind);
record!(CommandId(bytes));
record!(Command {
    id,
    repeat,
    domain,
    kind,
    rule,
    subject,
    attempt,
    queue,
    gshare,
    jobs,
    amount,
    clock,
    clock_at,
    measured,
    limit,
    unit,
    expires_at,
    epoch,
    cycle,
    number,
    now,
    policy,
    policy_hash,
    dry_run,
    notes,
    task,
});

impl Published for Command {
    const TOPIC: Topic = Topic::Command;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_attempt_or_clock_is_another_command() {
        let of = |attempt, at| CommandId::derive("atlas", "T9", "4711", attempt, at);
        assert_eq!(of(1, Some(5)), of(1, Some(5)));
        assert_ne!(of(1, Some(5)), of(2, Some(5)));
        assert_ne!(of(1, Some(5)), of(1, Some(6)));
        assert_ne!(of(1, Some(5)), CommandId::derive("atlas", "T8", "4711", 1, Some(5)));
    }
}
