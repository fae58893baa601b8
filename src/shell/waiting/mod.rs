//! Requests that wait: which there are, and the reason why each does. Metrics, the API and
//! `waiting` sort them by this.

mod look;
mod past;
mod pool;
mod rows;
mod title;

pub use look::{WORKFLOWS, Waiting};
pub use past::{RequestFigures, as_whole, figures};
pub use rows::WaitingRow;
pub use title::title;
pub use yardmaster_core::explain::{OPEN_MAX, each_open};

use std::collections::BTreeMap;
use std::sync::Arc;
use yardmaster_core::engine::Engine;
use yardmaster_core::explain::moves;
use yardmaster_core::output::throttle::{SubjectKind, Throttle, owner_of, work_queue};
use yardmaster_core::policy::Policy;
use yardmaster_core::state::State;
use yardmaster_core::state::blockers::{Blockers, Cause};
use yardmaster_core::state::record::{Answer, RequestState};

/// No answer to this attempt was given yet.
pub const NOT_JUDGED: &str = "not_judged";
/// Its owner, task or share is held by a throttle.
pub const THROTTLED: &str = "throttled";
/// It waits for another reason than a throttle, before any candidate is looked at.
pub const AS_WHOLE: &str = "deferred_as_whole";
/// Reasons that are shown of each policy, be there any or none.
pub const FIXED: [&str; 3] = [NOT_JUDGED, THROTTLED, AS_WHOLE];

/// Help that lets a request go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Helps {
    /// Its turn to be judged comes.
    Turn,
    /// Time: what objects is about figures that move.
    Time,
    /// The throttle is lifted.
    Throttle,
    /// Another configuration, or another request: waiting alone does not help.
    Configuration,
}

impl Helps {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Helps::Turn => "turn",
            Helps::Time => "time",
            Helps::Throttle => "throttle",
            Helps::Configuration => "configuration",
        }
    }
}

/// A reason with what helps against it.
pub type Reason<'a> = (&'a str, Helps);

/// The reason why a request waits.
#[derive(Clone, Copy, Debug)]
pub struct Sorted<'a> {
    /// One of those above, or a filter: of those whose figures move the one that rejected most
    /// candidates; where none of them objects, the one that candidates met last, which those
    /// nearest to passing have.
    pub reason: &'a str,
    /// Help that lets it go.
    pub helps: Helps,
    /// The throttle that holds it; of several the one that lapses last.
    pub held_by: Option<&'a Throttle>,
    /// The deferral that answers its present attempt.
    pub deferral: Option<&'a Answer>,
}

/// Sorts requests by their reasons.
pub struct ReasonSorter<'a> {
    policies: BTreeMap<&'a str, &'a Policy>,
    held: BTreeMap<(SubjectKind, &'a str), &'a Throttle>,
    /// By the lists that equal deferrals share, and the kind of their policy.
    known: BTreeMap<(*const Arc<Cause>, *const u16, &'a str), Reason<'a>>,
}

impl<'a> ReasonSorter<'a> {
    /// Of the requests of an engine.
    pub fn new(engine: &'a Engine) -> ReasonSorter<'a> {
        let policies = engine.policies().iter();
        ReasonSorter {
            policies: policies.map(|it| (it.spec.name.as_str(), it)).collect(),
            held: held(&engine.state),
            known: BTreeMap::new(),
        }
    }

    /// Why a request waits; `None` if it asks nothing.
    pub fn sort(&mut self, request: &'a RequestState) -> Option<Sorted<'a>> {
        let task = request.task.as_ref()?;
        let deferral = request.answer.as_ref().filter(|it| it.attempt >= task.attempt);
        let Some(answer) = deferral else {
            return Some(Sorted {
                reason: NOT_JUDGED,
                helps: Helps::Turn,
                held_by: None,
                deferral,
            });
        };
        if !answer.blockers.is_empty() {
            let (reason, helps) = self.of_blockers(&task.policy, &answer.blockers);
            return Some(Sorted { reason, helps, held_by: None, deferral });
        }
        let (kind, of) = work_queue(&task.gshare, &task.resource_type);
        let subjects = [owner_of(task), (SubjectKind::Task, &task.task), (kind, &of)];
        let holding = subjects.iter().filter_map(|it| self.held.get(it).copied());
        let held_by = holding.max_by_key(|throttle| throttle.until);
        let (reason, helps) = match held_by {
            Some(_) => (THROTTLED, Helps::Throttle),
            None => (AS_WHOLE, Helps::Time),
        };
        Some(Sorted { reason, helps, held_by, deferral })
    }

    fn of_blockers(&mut self, policy: &'a str, blockers: &'a Blockers) -> Reason<'a> {
        let lists = (blockers.causes().as_ptr(), blockers.of_queue().as_ptr(), policy);
        let policy = self.policies.get(policy).copied();
        *self.known.entry(lists).or_insert_with(|| reason_of(policy, blockers))
    }
}

/// Throttles in force, by subject: of several the one that lapses last.
fn held(state: &State) -> BTreeMap<(SubjectKind, &str), &Throttle> {
    let mut held: BTreeMap<(SubjectKind, &str), &Throttle> = BTreeMap::new();
    for (_, throttle) in state.throttles.iter().filter(|(_, it)| it.holds(state.now)) {
        let first = held.entry((throttle.kind, &throttle.subject)).or_insert(throttle);
        if throttle.until > first.until {
            *first = throttle;
        }
    }
    held
}

/// The filter that stands for all that object; of equals the first by name.
fn reason_of<'a>(policy: Option<&Policy>, blockers: &'a Blockers) -> Reason<'a> {
    let mut by_cause = vec![0_u64; blockers.causes().len()];
    for cause in blockers.of_queue() {
        if let Some(count) = by_cause.get_mut(usize::from(*cause)) {
            *count += 1;
        }
    }
    let mut by_filter: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, count) in blockers.causes().iter().zip(by_cause) {
        *by_filter.entry(&cause.filter).or_default() += count;
    }
    let moves = |filter: &str| policy.is_none_or(|policy| moves(policy.flavour, filter));
    let position = |filter: &str| policy.and_then(|policy| policy.position(filter));
    let most = by_filter
        .into_iter()
        .rev()
        .map(|(filter, count)| (moves(filter), count, filter))
        .max_by_key(|(moves, count, filter)| match moves {
            true => (true, None, *count),
            false => (false, position(filter), *count),
        });
    match most {
        Some((true, _, filter)) => (filter, Helps::Time),
        Some((false, _, filter)) => (filter, Helps::Configuration),
        None => (AS_WHOLE, Helps::Time),
    }
}
