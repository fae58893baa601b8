//! Throttles: an owner, a task or a share that is throttled as a whole, or no longer.

use super::common::{About, Folded, moved, stamped};
use crate::cut::Topic;
use crate::event::Task;
use crate::record::{Published, record, symbols};
use crate::unit::Millis;
use sha2::{Digest, Sha256};

/// Id of a throttle record. Derived, not drawn: the first 16 bytes of
/// SHA-256(domain, rule, subject, ordinal), so that the same record has the same id on every
/// process and however often it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThrottleId(pub [u8; 16]);

impl ThrottleId {
    /// The id of the `ordinal`-th record of (rule, subject) in a domain; the subject as the
    /// record's key has it.
    pub fn derive(domain: &str, rule: &str, subject: &str, ordinal: u32) -> ThrottleId {
        let mut hasher = Sha256::new();
        for part in ["throttle", domain, rule, subject] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(ordinal.to_le_bytes());
        let mut id = [0u8; 16];
        id.copy_from_slice(&hasher.finalize()[..16]);
        ThrottleId(id)
    }
}

impl std::fmt::Display for ThrottleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// Kind of a throttled subject. The numbers are persisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SubjectKind {
    /// A user.
    User = 0,
    /// A working group.
    Group = 1,
    /// A task.
    Task = 2,
    /// A queue.
    Queue = 3,
    /// A share and resource type: see [`work_queue`].
    Share = 4,
}

impl SubjectKind {
    /// All kinds, in order of their numbers.
    pub const ALL: [SubjectKind; 5] = [
        SubjectKind::User,
        SubjectKind::Group,
        SubjectKind::Task,
        SubjectKind::Queue,
        SubjectKind::Share,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            SubjectKind::User => "user",
            SubjectKind::Group => "group",
            SubjectKind::Task => "task",
            SubjectKind::Queue => "queue",
            SubjectKind::Share => "share",
        }
    }
}

/// A subject that may be throttled: its kind and its name.
pub type Subject = (SubjectKind, String);

/// The one a task is for: its working group if it has one, else its user.
pub fn owner_of(task: &Task) -> (SubjectKind, &str) {
    match task.working_group.as_str() {
        "" => (SubjectKind::User, &task.user),
        group => (SubjectKind::Group, group),
    }
}

/// A share and resource type as a subject: the share, a slash, the resource type.
pub fn work_queue(gshare: &str, resource_type: &str) -> Subject {
    (SubjectKind::Share, format!("{gshare}/{resource_type}"))
}

/// The share and the resource type of a subject that [`work_queue`] gives.
pub fn share_and_type(subject: &str) -> (&str, &str) {
    // A share may have a slash in its name, a resource type has none.
    subject.rsplit_once('/').unwrap_or((subject, ""))
}

/// Whether a subject is throttled or free. The numbers are persisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// Throttled: nothing more is to be made for it.
    Set = 0,
    /// Free.
    Lift = 1,
}

impl Action {
    /// Both, in order of their numbers.
    pub const ALL: [Action; 2] = [Action::Set, Action::Lift];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Set => "set",
            Action::Lift => "lift",
        }
    }
}

/// One throttle record. The newest of each (rule, subject) is in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Throttle {
    /// Its name.
    pub id: ThrottleId,
    /// Domain that publishes it.
    pub domain: String,
    /// Kind of the throttled subject.
    pub kind: SubjectKind,
    /// Name of the thing.
    pub subject: String,
    /// Whether it is throttled or free.
    pub action: Action,
    /// Rule that gave it (spec atlas 8.1); one of another version may be unknown here.
    pub rule: String,
    /// Which record of this (rule, subject) it is, from 1; without gap.
    pub ordinal: u32,
    /// Name of the counter that was compared.
    pub counter: String,
    /// Measured value, in the rule's unit.
    pub measured: f64,
    /// Value that would have passed, in the rule's unit.
    pub limit: f64,
    /// Unit of the figures.
    pub unit: String,
    /// When it lapses unless it is published again; `None` when lifted.
    pub until: Option<Millis>,
    /// Epoch of the leader that published it.
    pub epoch: u64,
    /// Cycle it was made in.
    pub cycle: u64,
    /// Its number among the throttles of the cycle, from 0.
    pub number: u32,
    /// The cycle's now.
    pub now: Millis,
    /// Policy that gave it.
    pub policy: String,
    /// Hash of the policy's list and parameters, 16 hex digits.
    pub policy_hash: String,
    /// Notes on the facts: `partial_history`, `input_stale(topic, age)`, `input_absent(topics)`.
    pub notes: Vec<String>,
    /// Since when it stands so, renewals included; `None`: as of now.
    pub since: Option<Millis>,
    /// Largest measured value at which it is lifted, in the rule's unit.
    pub lift_limit: f64,
    /// It is lifted no earlier; `None` when lifted.
    pub lift_from: Option<Millis>,
    /// Whether it is only published, not to be obeyed. It holds nothing back.
    pub dry_run: bool,
}

impl Throttle {
    /// The `ordinal`-th record of (rule, subject) in a domain: a base value. All else is empty
    /// or 0.
    pub fn new(
        domain: &str,
        rule: &str,
        of: (SubjectKind, &str),
        ordinal: u32,
        action: Action,
    ) -> Self {
        let (kind, subject) = of;
        Throttle {
            id: ThrottleId::derive(domain, rule, &key(kind, subject), ordinal),
            domain: domain.to_owned(),
            kind,
            subject: subject.to_owned(),
            action,
            rule: rule.to_owned(),
            ordinal,
            counter: String::new(),
            measured: 0.0,
            limit: 0.0,
            unit: String::new(),
            until: None,
            epoch: 0,
            cycle: 0,
            number: 0,
            now: 0,
            policy: String::new(),
            policy_hash: String::new(),
            notes: Vec::new(),
            since: None,
            lift_limit: 0.0,
            lift_from: None,
            dry_run: false,
        }
    }

    /// The subject as the record's key has it.
    pub fn key(&self) -> String {
        key(self.kind, &self.subject)
    }

    /// The subject if it is of a kind; else empty.
    fn subject_of(&self, kind: SubjectKind) -> &str {
        if self.kind == kind { &self.subject } else { "" }
    }

    /// The name under which it is stored: all records of one (rule, subject) have the same.
    pub fn name(&self) -> String {
        name(self.kind, &self.subject, &self.rule)
    }

    /// Whether the subject is throttled by it at a moment.
    pub fn stands(&self, now: Millis) -> bool {
        self.action == Action::Set && self.until.is_none_or(|until| until > now)
    }

    /// Whether it keeps the subject from being brokered at a moment.
    pub fn holds(&self, now: Millis) -> bool {
        self.stands(now) && !self.dry_run
    }

    /// Since when it stands so.
    pub fn since(&self) -> Millis {
        self.since.unwrap_or(self.now)
    }

    /// When it is published again if it still stands: half way to its lapse.
    pub fn renew_at(&self) -> Option<Millis> {
        self.until.map(|until| self.now.saturating_add(until.saturating_sub(self.now) / 2))
    }

    /// When it throttles nothing any more; for one that stands, unless it is published again.
    pub fn over_at(&self) -> Millis {
        match self.action {
            Action::Set => self.until.unwrap_or(Millis::MAX),
            Action::Lift => self.now,
        }
    }
}

impl Folded for Throttle {
    fn topic(&self) -> Topic {
        Topic::Throttle
    }

    fn key(&self) -> String {
        Throttle::key(self)
    }

    fn title(&self) -> String {
        self.name()
    }

    fn subject(&self) -> String {
        self.key()
    }

    fn ordinal(&self) -> u32 {
        self.ordinal
    }

    fn has_right_id(&self) -> bool {
        self.id == ThrottleId::derive(&self.domain, &self.rule, &self.key(), self.ordinal)
    }

    stamped!();

    fn effect(&self) -> &'static str {
        self.action.name()
    }

    fn rule(&self) -> &str {
        &self.rule
    }

    fn gshare(&self) -> &str {
        share_and_type(self.subject_of(SubjectKind::Share)).0
    }

    fn user(&self) -> &str {
        self.subject_of(SubjectKind::User)
    }

    fn task(&self) -> &str {
        self.subject_of(SubjectKind::Task)
    }

    fn queues(&self) -> Vec<&str> {
        Vec::new()
    }

    fn amount(&self) -> u64 {
        0
    }

    fn is_about(&self, what: About, name: &str) -> bool {
        let kind = match what {
            About::Queue => SubjectKind::Queue,
            About::User => SubjectKind::User,
            About::Group => SubjectKind::Group,
            About::Task => SubjectKind::Task,
            About::Rule => return self.rule == name,
            About::Share => return self.gshare() == name && !name.is_empty(),
            About::Job => return false,
        };
        self.kind == kind && self.subject == name
    }

    fn names(&self) -> Vec<&str> {
        vec![&self.subject, &self.rule, &self.policy]
    }

    fn count_at(&mut self, now: Millis) {
        let Throttle { until, since, lift_from, .. } = self;
        for time in [until, since, lift_from].into_iter().flatten() {
            *time = moved(*time, self.now, now);
        }
        self.now = now;
    }
}

/// A subject as the key of its records.
pub fn key(kind: SubjectKind, subject: &str) -> String {
    format!("{}/{subject}", kind.name())
}

/// The name under which the records of one (rule, subject) are stored.
pub fn name(kind: SubjectKind, subject: &str, rule: &str) -> String {
    format!("{}/{subject} {rule}", kind.name())
}

symbols!(SubjectKind, Action);
record!(ThrottleId(bytes));
record!(Throttle {
    id,
    domain,
    kind,
    subject,
    action,
    rule,
    ordinal,
    counter,
    measured,
    limit,
    unit,
    until,
    epoch,
    cycle,
    number,
    now,
    policy,
    policy_hash,
    notes,
    since,
    lift_limit,
    lift_from,
    dry_run,
});

impl Published for Throttle {
    const TOPIC: Topic = Topic::Throttle;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_group_of_one_name_are_two() {
        let of = |kind| ThrottleId::derive("atlas", "A1", &key(kind, "top"), 1);
        assert_ne!(of(SubjectKind::User), of(SubjectKind::Group));
        assert_ne!(of(SubjectKind::User), ThrottleId::derive("atlas", "A2", "user/top", 1));
        assert_ne!(of(SubjectKind::User), ThrottleId::derive("atlas", "A1", "user/top", 2));
        assert_eq!(of(SubjectKind::User), ThrottleId::derive("atlas", "A1", "user/top", 1));
    }
}
