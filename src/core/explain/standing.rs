//! How a name stands at a cut: a job, the requests of a task, what is known of an owner. A job, a
//! request or a task is looked up and costs the loop next to nothing; for any other name the open
//! requests, and in a pool the jobs, are walked over, so many at most.

use super::{JobStanding, OPEN_MAX, SITES_SHOWN, each_open, explain_job, explain_pool_name};
use crate::engine::Engine;
use crate::event::Task;
use crate::output::throttle::Throttle;
use crate::state::State;
use crate::state::admit::is_open;
use crate::state::ledger::{GROUP, Totals, USER};
use crate::state::record::RequestState;
use crate::unit::Millis;
use std::collections::BTreeSet;

/// Most requests of a task that are listed.
const REQUESTS_MAX: usize = 1_000;

/// How a name stands.
#[derive(Clone, Debug, Default)]
pub struct NameStanding {
    /// The cycle.
    pub cycle: u64,
    /// Its `now`.
    pub now: Millis,
    /// Of a job: how it stands, each rule to it, and why it waits.
    pub job: Option<JobStanding>,
    /// Of a workflow or user of a pool: how it stands, as text.
    pub pool: Option<String>,
    /// Whether a workflow of a pool has the name.
    pub is_workflow: bool,
    /// Requests of this task, or the one of this subject.
    pub requests: Vec<RequestStanding>,
    /// Throttles of this subject, whether they stand or not.
    pub throttles: Vec<Throttle>,
    /// Offers of slots at a site of this name that were not forgotten yet.
    pub offers: BTreeSet<String>,
    /// Requests of a share of this name that wait; 0 of a request, a task or a job.
    pub waiting: u64,
    /// Requests of a user, and of a working group, of this name that wait, likewise.
    pub asking: [u64; 2],
    /// Requests that wait beyond those that were looked at for these counts.
    pub uncounted: usize,
    /// Totals of a user of this name on the grid.
    pub user: Option<Totals>,
    /// Totals of a working group of this name on the grid.
    pub group: Option<Totals>,
}

/// How a request stands.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestStanding {
    /// Subject of the request.
    pub subject: String,
    /// Its attempt.
    pub attempt: u64,
    /// When it first asked.
    pub asked_at: Millis,
    /// Whether it waits for an answer, or for a better one.
    pub is_open: bool,
    /// When it is judged again at the latest, where it was deferred.
    pub until: Option<Millis>,
    /// Whether no answer was given to this attempt.
    pub is_unanswered: bool,
    /// Its task.
    pub task: String,
    /// Policy that is to answer.
    pub policy: String,
    /// Leaf share.
    pub gshare: String,
    /// User.
    pub user: String,
    /// Working group; empty: none.
    pub group: String,
    /// Priority.
    pub priority: i32,
    /// Nucleus; empty: none, or not chosen yet.
    pub nucleus: String,
    /// Jobs that it makes.
    pub jobs: u32,
}

impl NameStanding {
    /// How a name stands as of the last cut.
    pub fn of(engine: &Engine, name: &str) -> NameStanding {
        let state = &engine.state;
        let of_task = state.chunks.get(name).into_iter().flatten().map(String::as_str);
        let requests: Vec<RequestStanding> = std::iter::once(name)
            .chain(of_task.filter(|subject| *subject != name))
            .filter_map(|subject| request(state.requests.of(subject)?))
            .take(REQUESTS_MAX)
            .collect();
        let throttles = state.throttles.iter().map(|(_, throttle)| throttle);
        let totals = |kind: u32| {
            let number = state.known_name(name)?;
            let is_owner = state.ledger.owner.of([number.0, kind, 0, 0]).is_some();
            is_owner.then(|| state.ledger.totals_shown(number, kind))
        };
        let job = explain_job(engine, name, SITES_SHOWN);
        let of_owner =
            |task: &Task| [&task.gshare, &task.user, &task.working_group].map(|it| it == name);
        let ([waiting, asking @ ..], uncounted) = match requests.is_empty() && job.is_none() {
            true => counted(engine, of_owner),
            false => Default::default(),
        };
        NameStanding {
            cycle: state.number,
            now: state.now,
            job,
            pool: explain_pool_name(engine, name),
            is_workflow: state.pool.workflows.of(name).is_some(),
            requests,
            throttles: throttles
                .filter(|throttle| throttle.subject == name || throttle.key() == name)
                .cloned()
                .collect(),
            offers: offers_at(state, name),
            waiting,
            asking,
            uncounted,
            user: totals(USER),
            group: totals(GROUP),
        }
    }

    /// Whether nothing of this name is known.
    pub fn is_unknown(&self) -> bool {
        let owner = self.user.or(self.group);
        let has_nothing = self.requests.is_empty() && self.throttles.is_empty();
        self.job.is_none()
            && self.pool.is_none()
            && has_nothing
            && owner.is_none_or(|it| it == Totals::default())
    }
}

/// Offers of slots at a site that were not forgotten yet.
pub fn offers_at(state: &State, site: &str) -> BTreeSet<String> {
    let offers = state.pool.offers.iter().filter(|(_, offer)| offer.site == site);
    offers.map(|(name, _)| name.to_owned()).collect()
}

/// Requests of a share that wait for an answer, or for a better one, of the first [`OPEN_MAX`].
pub fn waiting_of(engine: &Engine, gshare: &str) -> u64 {
    let ([count], _) = counted(engine, |task| [task.gshare == gshare]);
    count
}

/// How many requests wait of which something is so; and how many were not looked at.
fn counted<const N: usize>(engine: &Engine, is: impl Fn(&Task) -> [bool; N]) -> ([u64; N], usize) {
    let mut counts = [0; N];
    let mut count = |task: &Task| {
        counts.iter_mut().zip(is(task)).for_each(|(count, is)| *count += u64::from(is));
    };
    // In a pool the workflows of which jobs wait stand for requests.
    for record in engine.state.waiting_workflows() {
        count(&Task {
            gshare: record.facts.class.name().to_owned(),
            user: record.user.clone(),
            working_group: record.working_group.clone(),
            ..Task::default()
        });
    }
    let open = each_open(engine, OPEN_MAX, |request| request.task.iter().for_each(&mut count));
    (counts, open.saturating_sub(OPEN_MAX))
}

fn request(request: &RequestState) -> Option<RequestStanding> {
    let task = request.task.as_ref()?;
    let answer = request.answer.as_ref().filter(|answer| answer.attempt >= task.attempt);
    Some(RequestStanding {
        subject: request.subject.clone(),
        attempt: task.attempt,
        asked_at: task.asked_at,
        is_open: is_open(request),
        until: answer.filter(|answer| !answer.is_final).map(|answer| answer.until),
        is_unanswered: answer.is_none(),
        task: task.task.clone(),
        policy: task.policy.clone(),
        gshare: task.gshare.clone(),
        user: task.user.clone(),
        group: task.working_group.clone(),
        priority: task.priority,
        nucleus: task.nucleus.clone(),
        jobs: task.jobs,
    })
}
