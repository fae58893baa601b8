//! A domain that a program brings: what asks, its candidates, its rules and commands, beside those
//! built in. Its facts are records of the topic `domain-record`, which the engine keeps as they
//! are; everything else that is known of it is made of them.

use crate::event::{DomainRecord, Task, TaskPhase, domain_record_name, is_newer};
use crate::output::command::CommandKind;
use crate::policy::applicable::walk_before;
use crate::policy::declare::{DescribedRules, Filter, Judged, Never, RuleBook, RulesOf, Weight};
use crate::policy::resolved::Resolved;
use crate::policy::verdict::Objection;
use crate::state::State;
use crate::state::record::{Answer, RequestState};
use crate::unit::Millis;
use std::any::Any;
use std::sync::Arc;

/// The declaration that joins a domain to the engine.
pub struct Domain {
    /// Kind of the records that ask for an answer.
    pub asks: &'static str,
    /// The request that such a record makes; `None`: it asks nothing, or no longer. Subject, domain
    /// and policy are set by the engine.
    pub request: fn(&DomainRecord) -> Option<Task>,
    /// Its filters and weights.
    pub rules: &'static dyn DomainRules,
    /// All that its rules need of the facts at a cut. It is kept while these do not change, so
    /// nothing in it may depend on the moment: that belongs into an answer.
    pub view: fn(DomainFacts<'_>) -> Box<dyn DomainView>,
}

/// Facts of a domain, as of a cut and the answers since. It is made again of the facts at every cut
/// at which a record, a request or a reservation changed, so that nothing in it can drift.
pub trait DomainView: Send {
    /// Requests of a higher rank are judged first; those of one rank in the order in which they
    /// asked.
    fn rank(&self, task: &Task) -> i64 {
        task.priority.into()
    }

    /// The answer to a request.
    fn answer(&self, asked: &DomainQuestion<'_>) -> DomainAnswer;

    /// A request was answered: what that changes counts from now on.
    fn note_answer(&mut self, facts: DomainFacts<'_>, subject: &str);

    /// Commands that are wanted at the cut. Each is published once for its job and moment, in the
    /// bounds of the governor, by the rule `domain`.
    fn commands(&self, facts: DomainFacts<'_>) -> Vec<DomainCommand> {
        let _ = facts;
        Vec::new()
    }

    /// Its candidates at a glance: a tile each on the page, a row in `top`. A standby makes a view
    /// for it.
    fn tiles(&self) -> Vec<DomainTile> {
        Vec::new()
    }
}

/// A request under judgement.
pub struct DomainQuestion<'a> {
    /// The facts.
    pub facts: DomainFacts<'a>,
    /// The request.
    pub task: &'a Task,
    /// The rules of the policy that answers.
    pub(crate) rules: &'a PickedRules,
    /// Its parameters in force.
    pub resolved: &'a Resolved,
}

impl<'a> DomainQuestion<'a> {
    /// The filters and weights of the policy; `None`: the domain's are of another kind of
    /// candidates.
    pub fn rules<K: Judged>(&self) -> Option<&'a RulesOf<K>> {
        self.rules.downcast_ref()
    }
}

/// An answer of a domain.
#[derive(Debug, Default)]
pub struct DomainAnswer {
    /// What is chosen; `None`: the request waits.
    pub chosen: Option<DomainChoice>,
    /// Candidates that a filter objects to: their names, the filter as [`RulesOf::sift`] gives it,
    /// why.
    pub refused: Vec<(String, FilterIndex, Objection)>,
    /// Candidates that passed and are not chosen: their names, and what was less than what of the
    /// one chosen.
    pub passed_over: Vec<(String, f64, f64)>,
    /// The moment from which on a request that waits may be answered otherwise by the passing of
    /// time alone; `None`: the policy's `defer_s` holds.
    pub recheck_at: Option<Millis>,
}

/// A filter of the policy that answers, by its place there. Only [`RulesOf::sift`] makes one, so
/// that none of them is of a filter that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterIndex(pub(super) u16);

/// The candidate that an answer chooses.
#[derive(Debug, Default)]
pub struct DomainChoice {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: f64,
    /// Cores that the job takes there.
    pub cores: u32,
    /// Values of the policy's weights, in its order.
    pub factors: Vec<f64>,
}

/// A command that a domain wants.
#[derive(Clone, Debug)]
pub struct DomainCommand {
    /// Kind.
    pub kind: CommandKind,
    /// The job that it is about: the subject of its request.
    pub subject: String,
    /// Where the job is.
    pub queue: String,
    /// The clock that ran out, by name.
    pub clock: &'static str,
    /// Since when there is reason for it; ms since 1970.
    pub since: Millis,
    /// Why, for a reader.
    pub note: String,
}

/// A candidate at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainTile {
    /// Its name.
    pub name: String,
    /// Its status, a word.
    pub status: String,
    /// Jobs that run there.
    pub running: u64,
    /// Jobs that were sent there and wait.
    pub queued: u64,
    /// Cores of jobs that run.
    pub running_cores: u64,
    /// Cores of jobs that wait.
    pub queued_cores: u64,
}

/// What a domain may read of the state at a cut.
#[derive(Clone, Copy)]
pub struct DomainFacts<'a> {
    state: &'a State,
}

impl<'a> DomainFacts<'a> {
    /// Those of a state.
    pub(crate) fn of(state: &'a State) -> DomainFacts<'a> {
        DomainFacts { state }
    }

    /// The cycle's now; ms since 1970.
    pub fn now(self) -> Millis {
        self.state.now
    }

    /// The records of a kind, in the order of their names.
    pub fn records(self, kind: &'a str) -> impl Iterator<Item = &'a DomainRecord> {
        let all = &self.state.facts.domain_records.by_name;
        let first = domain_record_name(kind, "");
        let held = all.range(first.clone()..).take_while(move |(name, _)| name.starts_with(&first));
        held.filter_map(move |(name, _)| {
            self.state.facts.domain_records.of(name)?.current(is_newer)
        })
    }

    /// The record of a name.
    pub fn record(self, kind: &str, name: &str) -> Option<&'a DomainRecord> {
        self.state.facts.domain_records.of(&domain_record_name(kind, name))?.current(is_newer)
    }

    /// The requests that were not withdrawn, each with its last answer, in the order of their
    /// subjects.
    pub fn requests(self) -> impl Iterator<Item = (&'a Task, Option<&'a Answer>)> {
        let all = self.state.requests.iter().map(|(_, request)| request);
        all.filter_map(asked)
    }

    /// The request of a subject, with its last answer.
    pub fn request(self, subject: &str) -> Option<(&'a Task, Option<&'a Answer>)> {
        asked(self.state.requests.of(subject)?)
    }

    /// Where the last answer sends a subject's job, as long as that is reserved: until its outcome
    /// is published, the subject asks again or `reservation_lifetime_h` is over.
    pub fn sent_to(self, subject: &str) -> Option<&'a str> {
        let request = self.state.requests.of(subject)?;
        let (_, answer) = asked(request)?;
        let made_at = answer.filter(|answer| answer.is_final)?.now;
        let reservation = request.reservations.iter().find(|it| it.now == made_at)?;
        Some(reservation.queues.first()?.queue.as_str())
    }
}

fn asked(request: &RequestState) -> Option<(&Task, Option<&Answer>)> {
    let task = request.task.as_ref().filter(|task| task.phase == TaskPhase::Asking)?;
    Some((task, request.answer.as_ref().filter(|answer| answer.attempt == task.attempt)))
}

/// Filters and weights of a domain, whatever its candidates are.
pub trait DomainRules: DescribedRules {
    /// Those of some names, with their functions.
    fn pick(&self, filters: &[&Filter], weights: &[&Weight]) -> PickedRules;
}

/// Rules of a domain in a policy: a [`RulesOf`] of its kind.
pub type PickedRules = Arc<dyn Any + Send + Sync>;

/// Candidates of a domain are asked one by one, before they are ranked by keys: a kind with other
/// functions, which nobody would call, is none of a domain.
impl<K> DomainRules for RuleBook<K>
where
    K: Judged<After = Never, Whole = Never, Figure = Never, Factor = Never>,
{
    fn pick(&self, filters: &[&Filter], weights: &[&Weight]) -> PickedRules {
        Arc::new(self.of(filters, weights))
    }
}

impl<K: Judged> RulesOf<K> {
    /// The candidates of a case that pass, and those that do not, each by its place: the filter and
    /// its objection.
    pub fn sift(
        &self,
        case: &K::Case<'_>,
        candidates: &[K::Candidate<'_>],
        resolved: &Resolved,
    ) -> (Vec<usize>, Vec<(usize, FilterIndex, Objection)>) {
        let filters = self.applicable(case, resolved).before;
        let (mut passed, mut refused) = (Vec::new(), Vec::new());
        for (at, candidate) in candidates.iter().enumerate() {
            match walk_before(case, candidate, &resolved.filters, &filters) {
                Some((filter, objection)) => refused.push((at, FilterIndex(filter), objection)),
                None => passed.push(at),
            }
        }
        (passed, refused)
    }

    /// The functions of the keys that candidates are ranked by, in the policy's order.
    pub fn keys(&self) -> impl Iterator<Item = K::Key> {
        self.weights.iter().filter_map(|weight| weight.key_function())
    }
}
