//! Throttle evaluation: the throttles that are set, renewed and lifted at a cut (spec atlas 8.1,
//! 10.5).
//!
//! Levels, not edges: what is published of a subject depends on the state at the cut and on the
//! throttles published before. What is remembered here only shows which subjects cannot have
//! changed.

use crate::domain::atlas::policy::throttling;
use crate::domain::atlas::policy::throttling::{
    Gauge, Margin, OwnerThrottling, ThrottleChange, Throttling,
};
use crate::event::{Task, TaskPhase};
use crate::id::Name;
use crate::judge::judging::JudgingInputs;
use crate::judge::notes::time_notes;
use crate::judge::policies::{Policies, Ready};
use crate::judge::view::CutView;
use crate::output::throttle::{
    Action, Subject, SubjectKind, Throttle, ThrottleId, key, name, owner_of,
};
use crate::policy::Policy;
use crate::policy::rule::Rule;
use crate::request::requests::Requests;
use crate::request::whole_waits::evaluates_whole_waits;
use crate::state::State;
use crate::state::ledger::GROUP;
use crate::turns::has_turn;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Subjects whose throttles are evaluated in a cycle, with the owner of each request.
#[derive(Default)]
pub(crate) struct ThrottleEvaluation {
    /// Owners that are evaluated in this cycle.
    owners: BTreeSet<Subject>,
    /// Requests judged in this cycle.
    pub(super) judged: Vec<String>,
    /// Whether tasks and shares are evaluated in this cycle of which nothing was judged in it.
    pub(super) with_held: bool,
    /// By request of a task that may ask for more: its owner.
    owner_of: BTreeMap<String, Subject>,
    /// How many such requests each owner has.
    asking: BTreeMap<Subject, u32>,
    /// Whether the budget of the last cycle left owners for the next.
    is_cut_off: bool,
}

impl ThrottleEvaluation {
    /// Notes that a request was judged.
    pub(crate) fn note_judged(&mut self, subject: &str) {
        self.judged.push(subject.to_owned());
    }

    /// Notes the owner of a request, which is evaluated then; `None` if the request belongs to no
    /// task that may ask for more.
    fn note_owner(&mut self, subject: &str, owner: Option<Subject>) {
        let before = match owner.clone() {
            Some(owner) => self.owner_of.insert(subject.to_owned(), owner),
            None => self.owner_of.remove(subject),
        };
        if before == owner {
            return;
        }
        if let Some(before) = before
            && let Some(count) = self.asking.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                self.asking.remove(&before);
            }
        }
        if let Some(owner) = owner {
            *self.asking.entry(owner.clone()).or_default() += 1;
            self.owners.insert(owner);
        }
    }
}

/// A policy that throttles, ready for no share in particular.
pub(super) struct Throttler<'a> {
    pub(super) judging: JudgingInputs<'a>,
    pub(super) at: usize,
    pub(super) policy: &'a Policy,
    pub(super) throttling: &'static Throttling,
    own: Arc<Ready>,
    margin: Margin,
}

impl<'a> Throttler<'a> {
    /// The first policy that throttles owners: a subject has one throttle of each rule.
    fn of_owners(judging: JudgingInputs<'a>) -> Option<(Throttler<'a>, &'static OwnerThrottling)> {
        let all = judging.policies.all();
        let owners = |policy: &Policy| policy.throttling()?.of_owners.as_ref();
        let at = all.iter().position(|policy| owners(policy).is_some())?;
        Some((Throttler::at(judging, at)?, owners(&all[at])?))
    }

    /// The policy at an index, if it throttles.
    pub(super) fn at(judging: JudgingInputs<'a>, at: usize) -> Option<Throttler<'a>> {
        let policy = judging.policies.at(at);
        let throttling = policy.throttling()?;
        let own = judging.policies.ready(at, "", judging.view);
        let margin = (throttling.margin)(&own.resolved.own);
        Some(Throttler { judging, at, policy, throttling, own, margin })
    }
}

/// By user: what the rules that hold owners measure, and their limits. It may be asked at any time:
/// it reads counters and records alone, and nothing that was found out at a cut.
pub(crate) fn gauges_of_users(
    view: CutView<'_>,
    policies: &Policies,
) -> impl Fn(&str) -> Vec<Gauge> {
    let mut all = policies.all().iter();
    let look_up = |component: &str, name: &str| view.state.parameter(component, name);
    let found = all.find_map(|policy| {
        let owners = policy.throttling()?.of_owners.as_ref()?;
        Some((owners, policy.resolve(&look_up, "")))
    });
    move |user| {
        let Some((owners, resolved)) = &found else { return Vec::new() };
        let owner = view.owner((SubjectKind::User, user));
        (owners.of_owner)(&owner, SubjectKind::User, &resolved.own)
    }
}

impl ThrottleEvaluation {
    /// Finds which owners are evaluated in the cycle, before what was touched is forgotten.
    pub(crate) fn begin_cycle(&mut self, judging: JudgingInputs<'_>, is_cold: bool) {
        let state = judging.view.state;
        self.judged.clear();
        self.with_held = evaluates_whole_waits(state);
        let Some((throttler, _)) = Throttler::of_owners(judging) else { return };
        let touched = &state.touched;
        let everyone = is_cold || touched.everyone || touched.queues || touched.settings;
        self.note_requests(state, &throttler.policy.spec.name, is_cold);
        if everyone {
            self.owners.extend(self.asking.keys().cloned());
            let throttles = state.throttles.iter();
            self.owners.extend(throttles.map(|(_, it)| (it.kind, it.subject.clone())));
            return;
        }
        for [owner, kind] in &touched.owners {
            let kind = if *kind == GROUP { SubjectKind::Group } else { SubjectKind::User };
            self.owners.insert((kind, state.names.text(Name(*owner)).to_owned()));
        }
        self.owners.extend(touched.accounts.iter().cloned());
        let due = touched.throttles.iter().filter_map(|name| state.throttles.of(name));
        self.owners.extend(due.map(|it| (it.kind, it.subject.clone())));
    }

    /// Brings up to date which owners have a task that may ask for more; all of it at first.
    fn note_requests(&mut self, state: &State, policy: &str, is_cold: bool) {
        let mut subjects: BTreeSet<&str> = BTreeSet::new();
        if is_cold {
            self.owner_of.clear();
            self.asking.clear();
            subjects.extend(state.requests.by_name.keys().map(String::as_str));
        }
        for subject in &state.touched.subjects {
            subjects.insert(subject);
            // The end of a task is that of its chunks.
            subjects.extend(state.chunks.get(subject).into_iter().flatten().map(String::as_str));
        }
        for subject in subjects {
            let task = state.requests.of(subject).and_then(|request| request.task.as_ref());
            let requests = task.filter(|task| {
                let whole = state.requests.of(&task.task).and_then(|request| request.task.as_ref());
                let is_over = whole.is_some_and(|whole| whole.phase == TaskPhase::Ended);
                task.phase == TaskPhase::Asking && task.policy == policy && !is_over
            });
            let owner = requests.map(owner_of).map(|(kind, name)| (kind, name.to_owned()));
            self.note_owner(subject, owner);
        }
    }

    /// The throttles that are published in this cycle, after its decisions; not folded yet.
    pub(crate) fn evaluate(
        &mut self,
        judging: JudgingInputs<'_>,
        requests: &Requests,
    ) -> VecDeque<Throttle> {
        let mut throttles = Vec::new();
        let budget = judging.view.state.setting.limits.throttles_per_cycle;
        self.is_cut_off = false;
        if let Some((throttler, rules)) = Throttler::of_owners(judging) {
            self.of_owners((&throttler, rules), requests, &mut throttles);
        }
        for (at, subject, asks) in self.work_queues(judging, requests) {
            let Some(throttler) = Throttler::at(judging, at) else { continue };
            let of_work_queue = throttler.of_work_queue(&subject, asks);
            // What has no room is evaluated again with those that wait as a whole.
            if throttles.len() + of_work_queue.len() > budget {
                self.is_cut_off = true;
                break;
            }
            throttles.extend(of_work_queue);
        }
        for (number, throttle) in throttles.iter_mut().enumerate() {
            throttle.number = number as u32;
        }
        throttles.into()
    }

    /// The throttles of owners and tasks.
    fn of_owners(
        &mut self,
        (throttler, rules): (&Throttler<'_>, &OwnerThrottling),
        requests: &Requests,
        throttles: &mut Vec<Throttle>,
    ) {
        let state = throttler.judging.view.state;
        let budget = state.setting.limits.throttles_per_cycle;
        // Reservations that the decisions of this cycle made.
        self.note_totals(state);
        while let Some(subject) = self.owners.pop_first() {
            let requests = self.asking.contains_key(&subject);
            let of_owner = throttler.of_owner(rules, &subject, requests);
            if throttles.len() + of_owner.len() > budget {
                self.owners.insert(subject);
                self.is_cut_off = true;
                break;
            }
            throttles.extend(of_owner);
        }
        for (task, request) in self.tasks(throttler, requests) {
            if throttles.len() < budget {
                throttles.extend(throttler.of_task(rules, task, request));
            }
        }
    }

    /// Whether the budget of the last cycle left owners for the next.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Notes the owners whose figures changed since the cut was closed.
    fn note_totals(&mut self, state: &State) {
        for (key, _, _) in state.ledger.owner.changed() {
            let kind = if key[1] == GROUP { SubjectKind::Group } else { SubjectKind::User };
            self.owners.insert((kind, state.names.text(Name(key[0])).to_owned()));
        }
    }

    /// The waiting tasks that are evaluated, each with its first waiting request: those with a
    /// request that was judged in this cycle; from time to time all, or in each cycle those whose
    /// turn it is.
    fn tasks<'a>(
        &self,
        throttler: &Throttler<'a>,
        requests: &Requests,
    ) -> BTreeMap<&'a str, &'a Task> {
        let state = throttler.judging.view.state;
        let request = |subject: &str| state.requests.of(subject)?.task.as_ref();
        let task = |subject: &str| Some(request(subject)?.task.as_str());
        let judged = self.judged.iter().filter(|subject| requests.waits(subject));
        let mut tasks: BTreeSet<&str> = judged.filter_map(|subject| task(subject)).collect();
        // Where requests take turns, so do these.
        let (number, parts) = (state.number, requests.parts());
        if self.with_held || parts > 1 {
            tasks.extend(requests.whole_waits_in_turn(number).filter_map(task));
            let stands = state.throttles.iter().filter(|(_, it)| it.stands(state.now));
            let of_tasks = stands.filter(|(_, it)| it.kind == SubjectKind::Task);
            let in_turn = of_tasks.filter(|(_, it)| has_turn(&it.subject, number, parts));
            tasks.extend(in_turn.map(|(_, it)| it.subject.as_str()));
        }
        let wanted = throttler.policy.spec.name.as_str();
        let first = |task: &'a str| {
            let waiting = state.chunks.get(task)?.iter().filter(|it| requests.waits(it));
            let mut asked = waiting.filter_map(|subject| request(subject));
            Some((task, asked.find(|request| request.policy == wanted)?))
        };
        tasks.into_iter().filter_map(first).collect()
    }
}

impl Throttler<'_> {
    /// Throttle records of an owner, one per rule at most; `requests`: whether it has a request
    /// that may ask for more.
    fn of_owner(
        &self,
        rules: &OwnerThrottling,
        subject: &Subject,
        requests: bool,
    ) -> Vec<Throttle> {
        let (kind, owner) = subject;
        let view = self.judging.view;
        let known = |rule: Rule| view.state.throttles.of(&name(*kind, owner, rule.name()));
        let stands = |rule: Rule| known(rule).is_some_and(|it| it.stands(view.state.now));
        // Most have nothing to be held, and are not held.
        if !requests && !Rule::OF_OWNERS.into_iter().any(stands) {
            return Vec::new();
        }
        let facts = view.owner((*kind, owner.as_str()));
        let gauges = (rules.of_owner)(&facts, *kind, &self.own.resolved.own);
        let throttle = |rule: Rule| {
            let gauge = gauges.iter().find(|gauge| gauge.rule == rule);
            self.throttle(subject, rule, gauge, requests)
        };
        Rule::OF_OWNERS.into_iter().filter_map(throttle).collect()
    }

    /// Throttle record of a task, if any, by one of its requests.
    fn of_task(&self, rules: &OwnerThrottling, task: &str, request: &Task) -> Option<Throttle> {
        let JudgingInputs { view, policies, .. } = self.judging;
        let request = view.tagged(request);
        let ready = policies.ready(self.at, &request.gshare, view);
        let (case, _) = view.case(self.policy, &ready.resolved, &request);
        let gauge = (rules.of_task)(&case, &ready.resolved.own);
        let subject = (SubjectKind::Task, task.to_owned());
        self.throttle(&subject, Rule::Share, gauge.as_ref(), true)
    }

    /// Throttle record of a subject by a rule, if any.
    pub(super) fn throttle(
        &self,
        subject: &Subject,
        rule: Rule,
        gauge: Option<&Gauge>,
        requests: bool,
    ) -> Option<Throttle> {
        let (state, margin, policy) = (self.judging.view.state, &self.margin, self.policy);
        let (kind, named) = subject;
        let before = state.throttles.of(&name(*kind, named, rule.name()));
        let step = throttling::step(before, gauge, requests, margin, state.now)?;
        let (measured, limit) = gauge.map_or((0.0, 0.0), |it| (it.measured, it.limit));
        let ordinal = before.map_or(1, |before| before.ordinal.saturating_add(1));
        let text = rule.text();
        let domain = state.setting.domain.as_str();
        let (action, since) = match step {
            ThrottleChange::Set(since) => (Action::Set, since),
            ThrottleChange::Lift => (Action::Lift, state.now),
        };
        let if_set = |at: i64| (action == Action::Set).then_some(at);
        let mut notes = time_notes(state);
        if gauge.is_none() {
            notes.push(NO_LIMIT.to_owned());
        }
        Some(Throttle {
            id: ThrottleId::derive(domain, text.name, &key(*kind, named), ordinal),
            domain: domain.to_owned(),
            kind: *kind,
            subject: named.clone(),
            action,
            rule: text.name.to_owned(),
            ordinal,
            counter: text.counter.to_owned(),
            measured,
            limit,
            unit: text.unit.to_owned(),
            until: if_set(state.now.saturating_add(margin.lapse)),
            epoch: state.epoch,
            cycle: state.number,
            number: 0,
            now: state.now,
            policy: policy.spec.name.clone(),
            policy_hash: policy.hash().to_owned(),
            notes,
            since: Some(since),
            lift_limit: margin.lift_limit(limit),
            lift_from: if_set(since.saturating_add(margin.dwell)),
            dry_run: policy.spec.dry_run,
        })
    }
}

/// Noted where a throttle is lifted since its rule has no limit any more.
const NO_LIMIT: &str = "no_limit";
