//! Decisions: the answer to a request or an offer, with its reasons.

pub use super::id::DecisionId;
use super::limit_use::LimitUse;
use crate::domain::cms::output::Matched;
use crate::domain::nordugrid::output::Placed;

use super::common::{About, Folded, moved, stamped};
use crate::cut::Topic;
use crate::event::Task;
use crate::record::{Coded, Decode, Decoder, Encode, Encoder, Published, record};
use crate::unit::Millis;
use std::borrow::Cow;
use std::sync::Arc;

/// The largest attempt that a record can state.
pub const ATTEMPT_MAX: u64 = i64::MAX as u64;

/// Name of one attempt of a request: what jobs carry of the decision that placed them.
pub fn request_name(subject: &str, attempt: u64) -> String {
    format!("{subject}:{attempt}")
}

impl Task {
    /// The request this record makes.
    pub fn request(&self) -> String {
        request_name(&self.subject, self.attempt)
    }
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Its name.
    pub id: DecisionId,
    /// Domain that answers.
    pub domain: String,
    /// Subject of the request, or name of the offer or job.
    pub subject: String,
    /// Which asking of the subject is answered.
    pub attempt: u64,
    /// The task.
    pub task: String,
    /// Which answer to this request it is, from 1; without gap.
    pub ordinal: u32,
    /// Epoch of the leader that gave it.
    pub epoch: u64,
    /// Cycle it was made in; its cut is in `progress`.
    pub cycle: u64,
    /// Its number within the cycle, from 0.
    pub number: u32,
    /// The moment it takes for now: the cycle's.
    pub now: Millis,
    /// When this request was first answered; 0: not known.
    pub first_answered_at: Millis,
    /// Policy that gave it.
    pub policy: String,
    /// Hash of the policy's list and parameters, 16 hex digits.
    pub policy_hash: String,
    /// Leaf share the work counts for.
    pub gshare: String,
    /// User the work counts for; empty when not known.
    pub user: String,
    /// Working group the work counts for; empty when there is none.
    pub working_group: String,
    /// Whether its jobs merge output.
    pub merge: bool,
    /// Nucleus its output goes to.
    pub nucleus: String,
    /// The answer itself.
    pub outcome: Outcome,
    /// Names of the weight's factors, in the order of `Ranked::factors`.
    pub factor_names: Vec<String>,
    /// Names of the filters that rejected, with how many candidates each rejected; all of them.
    pub counts: Vec<FilterCount>,
    /// Filter and figures of each candidate that was rejected. In a repeated deferral only those
    /// that changed since the one before (`full` is false), but every tenth carries all.
    pub fates: Vec<Fate>,
    /// Whether `fates` holds every rejected candidate (but for `fates_cut`).
    pub full: bool,
    /// How many fates were left out for the limits on size and number.
    pub fates_cut: u32,
    /// Notes on the facts: `partial_history`, `pilots_of_workers`, `input_stale(topic, age)`,
    /// `input_absent(topics)` of topics that never had a record, `links_old(n of m to nucleus)`.
    pub notes: Vec<String>,
    /// Whether it is only published, not to be carried out. It reserves nothing.
    pub dry_run: bool,
    /// Resources that the assignment of one job takes at its target; `None` where a chunk of jobs
    /// is assigned.
    pub placed: Option<Placed>,
    /// The job that got the offered slots; `None` where no offer is answered, or no job fits.
    pub matched: Option<Matched>,
    /// Limits that hold for what was chosen.
    pub limits: Vec<LimitUse>,
}

impl Decision {
    /// The `ordinal`-th answer to (subject, attempt) in a domain: a base value. It states nothing
    /// of any candidate, and all else is empty or 0.
    pub fn new(domain: &str, subject: &str, attempt: u64, ordinal: u32, outcome: Outcome) -> Self {
        Decision {
            id: DecisionId::derive(domain, subject, attempt, ordinal),
            domain: domain.to_owned(),
            subject: subject.to_owned(),
            attempt,
            task: String::new(),
            ordinal,
            epoch: 0,
            cycle: 0,
            number: 0,
            now: 0,
            first_answered_at: 0,
            policy: String::new(),
            policy_hash: String::new(),
            gshare: String::new(),
            user: String::new(),
            working_group: String::new(),
            merge: false,
            nucleus: String::new(),
            outcome,
            factor_names: Vec::new(),
            counts: Vec::new(),
            fates: Vec::new(),
            full: true,
            fates_cut: 0,
            notes: Vec::new(),
            dry_run: false,
            placed: None,
            matched: None,
            limits: Vec::new(),
        }
    }

    /// Whether it answers an offer of slots: a job got a place of it, or none fits. A deferral of
    /// anything else names its task.
    pub fn answers_offer(&self) -> bool {
        let is_deferred = matches!(self.outcome, Outcome::Defer { .. });
        self.matched.is_some() || (is_deferred && self.task.is_empty())
    }
}

impl Folded for Decision {
    fn topic(&self) -> Topic {
        Topic::Decision
    }

    fn key(&self) -> String {
        self.subject.clone()
    }

    fn title(&self) -> String {
        self.subject.clone()
    }

    fn subject(&self) -> String {
        self.subject.clone()
    }

    fn ordinal(&self) -> u32 {
        self.ordinal
    }

    fn has_right_id(&self) -> bool {
        let Decision { id, domain, subject, attempt, ordinal, .. } = self;
        // Before engine revision 8 an answer to an offer was named as one to a job.
        *id == DecisionId::derive(domain, subject, *attempt, *ordinal)
            || self.answers_offer()
                && *id == DecisionId::of_offer(domain, subject, *attempt, *ordinal)
    }

    stamped!();

    fn effect(&self) -> &'static str {
        self.outcome.name()
    }

    fn rule(&self) -> &str {
        &self.policy
    }

    fn gshare(&self) -> &str {
        &self.gshare
    }

    fn user(&self) -> &str {
        &self.user
    }

    fn task(&self) -> &str {
        &self.task
    }

    fn queues(&self) -> Vec<&str> {
        let ranked = self.outcome.ranked().iter().filter(|it| it.jobs > 0);
        ranked.map(|it| it.queue.as_str()).collect()
    }

    fn amount(&self) -> u64 {
        self.outcome.ranked().iter().map(|it| u64::from(it.jobs)).sum()
    }

    fn is_about(&self, what: About, name: &str) -> bool {
        match what {
            About::Queue => {
                // A nucleus or target comes to no number of jobs.
                let has_no_jobs = self.amount() == 0;
                let is_chosen = |it: &&Ranked| has_no_jobs || it.jobs > 0;
                let mut chosen = self.outcome.ranked().iter().filter(is_chosen);
                chosen.any(|it| it.queue == name || it.unified == name)
            }
            About::Share => self.gshare == name,
            About::User => self.user == name,
            About::Group => self.working_group == name,
            About::Task => self.task == name || self.subject == name,
            About::Job => {
                self.subject == name || self.matched.as_ref().is_some_and(|it| it.job == name)
            }
            About::Rule => self.policy == name,
        }
    }

    fn names(&self) -> Vec<&str> {
        let Decision { subject, task, gshare, user, working_group, nucleus, policy, .. } = self;
        let fixed = [subject, task, gshare, user, working_group, nucleus, policy];
        let mut names: Vec<&str> = fixed.into_iter().map(String::as_str).collect();
        names.extend(self.matched.iter().map(|it| it.job.as_str()));
        let ranked = self.outcome.ranked().iter();
        names.extend(ranked.flat_map(|it| [it.queue.as_str(), it.unified.as_str()]));
        names
    }

    fn count_at(&mut self, now: Millis) {
        if let Outcome::Defer { until } = &mut self.outcome {
            *until = moved(*until, self.now, now);
        }
        self.now = now;
    }
}

/// The answer itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The work goes to these queues, best first.
    Assign(Vec<Ranked>),
    /// Not now.
    Defer {
        /// Asked again then at the latest.
        until: Millis,
    },
    /// Never.
    Reject {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Their names.
    pub const NAMES: [&str; 3] = ["assign", "defer", "reject"];

    /// Its name on the wire and in metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Assign(_) => "assign",
            Outcome::Defer { .. } => "defer",
            Outcome::Reject { .. } => "reject",
        }
    }

    /// The queues that were chosen, best first; none unless work is assigned.
    pub fn ranked(&self) -> &[Ranked] {
        if let Outcome::Assign(ranked) = self { ranked } else { &[] }
    }

    /// Whether nothing follows it.
    pub fn is_final(&self) -> bool {
        !matches!(self, Outcome::Defer { .. })
    }
}

/// A queue that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Queue or pseudo-queue.
    pub queue: String,
    /// Name under which its jobs are counted.
    pub unified: String,
    /// Its weight.
    pub weight: f64,
    /// How many of the chunk's jobs go there.
    pub jobs: u32,
    /// Cores of each of them; 0: not known.
    pub cores: u32,
    /// The factors of the weight and the figures behind it, as named by `factor_names`.
    pub factors: Vec<f64>,
    /// The platform that jobs use there where the task's platform is an expression; else empty.
    pub platform: String,
}

/// How many candidates a filter rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterCount {
    /// Filter.
    pub filter: String,
    /// Candidates it was the first to reject.
    pub rejected: u32,
}

/// Filter and figures of a rejected candidate. `filter` empty: in a delta, the candidate is no
/// longer rejected or no longer there.
#[derive(Clone, Debug, PartialEq)]
pub struct Fate {
    /// Queue or pseudo-queue. Shared: a decision has very many of them.
    pub queue: Arc<str>,
    /// Filter that objected first.
    pub filter: Cow<'static, str>,
    /// Its reason, one of those the filter declares.
    pub reason: Cow<'static, str>,
    /// Measured value, in the filter's unit.
    pub measured: f64,
    /// Value that would have passed, in the filter's unit.
    pub limit: f64,
}

record!(Decision {
    id,
    domain,
    subject,
    attempt,
    task,
    ordinal,
    epoch,
    cycle,
    number,
    now,
    first_answered_at,
    policy,
    policy_hash,
    gshare,
    user,
    working_group,
    merge,
    nucleus,
    outcome,
    factor_names,
    counts,
    fates as Fates,
    full,
    fates_cut,
    notes,
    dry_run,
    placed,
    limits,
    matched,
});
record!(Ranked { queue, unified, weight, jobs, cores, factors, platform });
record!(FilterCount { filter, rejected });
record!(Fate { queue, filter, reason, measured, limit });

/// Fates of rejected candidates, which are most of a decision: skipped where only the answer
/// is wanted.
struct Fates;

impl<'a> Coded<'a, Vec<Fate>> for Fates {
    fn encode<E: Encoder>(value: &Vec<Fate>, to: &mut E) {
        value.encode(to);
    }

    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Vec<Fate>, D::Fault> {
        if !from.is_brief() {
            return Decode::decode(from);
        }
        loop {
            match from.items()? {
                0 => return Ok(Vec::new()),
                count => {
                    for _ in 0..count {
                        let mut texts = from.run(3)?;
                        for _ in 0..3 {
                            D::next(&mut texts)?;
                        }
                        from.number()?;
                        from.number()?;
                    }
                }
            }
        }
    }
}

/// The answer, and a field for each of the three.
impl Encode for Outcome {
    fn encode<E: Encoder>(&self, to: &mut E) {
        let (answer, ranked, until, reason) = match self {
            Outcome::Assign(ranked) => (0, &ranked[..], None, ""),
            Outcome::Defer { until } => (1, &[][..], Some(*until), ""),
            Outcome::Reject { reason } => (2, &[][..], None, &reason[..]),
        };
        to.symbol(answer);
        ranked.encode(to);
        until.encode(to);
        reason.encode(to);
    }
}

impl<'a> Decode<'a> for Outcome {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Outcome, D::Fault> {
        let answer = from.symbol(3)?;
        if answer == 1 {
            // The fates of one that waits say what is to change.
            from.read_whole();
        }
        let (ranked, until, reason) = Decode::decode(from)?;
        Ok(match answer {
            0 => Outcome::Assign(ranked),
            1 => Outcome::Defer { until: Option::ok_or_else(until, || from.refuse())? },
            _ => Outcome::Reject { reason },
        })
    }
}

impl Published for Decision {
    const TOPIC: Topic = Topic::Decision;
}
