//! Judging: every candidate through the filters, what is left weighed, the best kept.

use super::case::{Asked, Case, Known, Preassigned, Times};
use super::judgement::{Candidates, Chosen, Judgement, Refused};
use super::owner::Owner;
use super::queues::Queues;
use super::site::SiteRules;
use super::software::Wanted;
use super::throttling::Throttling;
use super::weighed::Weighed;
use crate::dice::Dice;
use crate::event::{Queue, Scope, Task};
use crate::id::{hash, stir};
use crate::policy::applicable::Applicable;
use crate::policy::compile::Policy;
use crate::policy::declare::FilterFunction;
use crate::policy::flavour::{Found, Plan, Select};
use crate::policy::resolved::Resolved;
use crate::unit::Millis;
use std::sync::Arc;

/// Most passes over the candidates.
const PASSES_MAX: u8 = 2;

impl Policy {
    /// Whether a queue is on the candidate list of a task that names no queues.
    pub fn lists(&self, queue: &Queue, resolved: &Resolved) -> bool {
        (self.flavour.queues().lists)(queue, &resolved.own)
    }

    /// Whether a queue is on the candidate list of a task.
    pub fn admits(
        &self,
        case: &Case<'_>,
        home: Option<&Queue>,
        queue: &Queue,
        resolved: &Resolved,
    ) -> bool {
        (self.flavour.queues().admits)(case, home, queue, &resolved.own)
    }

    /// The next moment after this one at which a task is judged otherwise by the passing of time
    /// alone, if there is one.
    pub fn turns_at(&self, task: &Task, times: Times, resolved: &Resolved) -> Option<Millis> {
        (self.flavour.queues().turns_at)(task, times, &resolved.own)
    }

    /// Properties of a request by itself by which its case is looked up.
    pub fn asked(&self, task: &Task, resolved: &Resolved) -> Asked {
        let plan = self.flavour.plan();
        Asked {
            express: (self.flavour.queues().express)(task, &resolved.own),
            scope: plan.map_or(Scope::Default, |plan| (plan.scope)(task)),
            sites: plan.map_or_else(SiteRules::default, |plan| (plan.sites)(&resolved.own)),
            whole_copies: (self.flavour.queues().whole_copies)(task, &resolved.own),
            throttler: self.throttler(resolved),
        }
    }

    /// The case of a task.
    pub fn case<'a>(
        &self,
        task: &'a Task,
        now: Millis,
        asked: Asked,
        known: Known,
        resolved: &Resolved,
    ) -> Case<'a> {
        let own = &resolved.own;
        let times = Times { now, first_answered_at: known.first_answered_at };
        let preassigned = (self.flavour.queues().preassigned)(task, times, own);
        let is_list = asked.scope == Scope::Default && known.is_site_several;
        let is_one = preassigned == Preassigned::One;
        Case {
            task,
            now,
            express: asked.express,
            preassigned: if is_one && is_list { Preassigned::List } else { preassigned },
            queued_to_nucleus: known.queued_to_nucleus,
            queued_to_nucleus_until: known.queued_to_nucleus_until,
            has_blocked_links: known.has_blocked_links,
            nucleus: known.nucleus,
            remote_source: known.remote_source,
            readable_source: known.readable_source,
            wanted: Wanted::of(task),
            pass: 1,
            scope: asked.scope,
            sources: known.sources,
            locality: None,
            included: Arc::default(),
            owner: self.owner(task, known.owner, resolved),
            work_queue: known.work_queue,
            sites: asked.sites,
            room: (self.flavour.queues().room)(own),
            generic: match self.flavour.plan() {
                Some(plan) => (plan.generic)(task, known.generic, own),
                None => known.generic,
            },
        }
    }

    /// An owner as counted, with what follows from its figures for a task.
    pub(super) fn owner(&self, task: &Task, counted: Owner, resolved: &Resolved) -> Owner {
        match self.flavour.plan() {
            Some(plan) => (plan.owner)(task, counted, &resolved.own),
            None => counted,
        }
    }

    /// How it holds work as a whole, if it does.
    pub fn throttling(&self) -> Option<&'static Throttling> {
        self.flavour.queues().throttling
    }

    /// Component of gdpconfig with the limits of its job throttler, if that is on.
    pub fn throttler(&self, resolved: &Resolved) -> Option<&'static str> {
        let throttling = self.throttling()?;
        (throttling.throttles_jobs)(&resolved.own).then_some(throttling.component)
    }

    /// Whether the task as a whole must wait.
    pub fn waits(&self, case: &Case<'_>, resolved: &Resolved) -> bool {
        (self.flavour.queues().waits)(case, &resolved.own).is_some()
    }

    /// Judges a case. Nothing is looked up and nothing remembered: the same arguments give the
    /// same answer, and the order of the candidates does not matter to it.
    pub fn judge<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
    ) -> Judgement {
        self.judge_passes(case, candidates, resolved, &mut |_, _| ())
    }

    /// The same; `passed` sees each pass over the candidates: its case, and what was found. A case
    /// that is held as a whole has none.
    pub fn judge_passes<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
        passed: &mut dyn FnMut(&Case<'_>, &Judgement),
    ) -> Judgement {
        if let Some(waiting) = self.waiting(case, resolved) {
            return waiting;
        }
        match self.flavour.plan() {
            None => self.judge_pass(case, candidates, resolved),
            Some(plan) => self.judge_by(plan, case, candidates, resolved, passed),
        }
    }

    fn waiting(&self, case: &Case<'_>, resolved: &Resolved) -> Option<Judgement> {
        let wait = Some((self.flavour.queues().waits)(case, &resolved.own)?);
        Some(Judgement { wait, counts: vec![0; self.filters.len()], ..Judgement::default() })
    }

    /// Whether the verdict on one candidate depends on the others.
    pub fn judges_together(&self, case: &Case<'_>, resolved: &Resolved) -> bool {
        self.flavour.plan().is_some()
            || self.sees_all(&self.queue_rules().applicable(case, resolved))
    }

    /// Judges a case in as many passes as it takes.
    fn judge_by<C: Candidates + ?Sized>(
        &self,
        plan: &Plan,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
        passed: &mut dyn FnMut(&Case<'_>, &Judgement),
    ) -> Judgement {
        let queues: Vec<&Queue> =
            (0..candidates.count() as u32).map(|index| candidates.queue(index)).collect();
        let mut case = (plan.first_pass)(case, &queues, &resolved.own);
        loop {
            let applicable = self.queue_rules().applicable(&case, resolved);
            let is_user_late = self.is_user_late(plan, &applicable);
            let judgement = self.judge_all(&case, candidates, is_user_late, resolved, &applicable);
            passed(&case, &judgement);
            let found = Found { case: &case, judgement: &judgement, filters: &self.filters };
            if case.pass >= PASSES_MAX || !(plan.again)(&case, &found, &resolved.own) {
                return judgement;
            }
            case = (plan.next_pass)(&case);
        }
    }

    /// Whether what is known of the user is needed only for the candidates that are weighed.
    fn is_user_late(&self, plan: &Plan, applicable: &Applicable<Queues>) -> bool {
        !applicable.before.iter().any(|filter| {
            let name = self.filters[usize::from(filter.at)].name;
            plan.user_early.iter().any(|it| it.filter.name == name)
        })
    }

    /// Why a task is rejected for good by what was found, if it is.
    pub fn rejects(
        &self,
        case: &Case<'_>,
        judgement: &Judgement,
        resolved: &Resolved,
    ) -> Option<&'static str> {
        let found = Found { case, judgement, filters: &self.filters };
        (self.flavour.plan()?.rejects)(&found, &resolved.own)
    }

    /// Judges a case once.
    fn judge_pass<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
    ) -> Judgement {
        let applicable = self.queue_rules().applicable(case, resolved);
        if !self.sees_all(&applicable) {
            return self.judge_each(case, candidates, resolved, &applicable);
        }
        self.judge_all(case, candidates, false, resolved, &applicable)
    }

    /// Judges candidate by candidate.
    fn judge_each<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
        applicable: &Applicable<Queues>,
    ) -> Judgement {
        let count = candidates.count();
        let mut judgement = Judgement {
            fates: Vec::with_capacity(count),
            counts: vec![0; self.filters.len()],
            pass: case.pass,
            ..Judgement::default()
        };
        let mut passed: Vec<(f64, u32)> = Vec::with_capacity(count);
        let mut weighed = Weighed::default();
        let mut all = self.one_by_one(case, candidates, resolved, applicable);
        for index in 0..count as u32 {
            let found = self.object_at(&mut all, index, &mut weighed);
            match found {
                Some((filter, objection)) => {
                    judgement.counts[usize::from(filter)] += 1;
                    let weight = self.weight_by(filter, &weighed);
                    judgement.fates.push(Refused { candidate: index, filter, objection, weight });
                }
                None => passed.push((weighed.total, index)),
            }
        }
        judgement.passed = passed.len() as u32;
        best(&mut passed, candidates, self.most(case, 0), self.lots(case));
        for (_, index) in passed {
            let mut weighed = Weighed::kept();
            self.weigh(case, &candidates.without_user(index), resolved, &mut weighed, &[]);
            judgement.ranked.push(Chosen { candidate: index, weighed });
        }
        judgement
    }

    /// Whether any of a case's filters, or a weight, sees all candidates.
    fn sees_all(&self, applicable: &Applicable<Queues>) -> bool {
        self.weighs_all || applicable.sees_all()
    }

    /// How many of the chunk's jobs go to each ranked candidate.
    pub fn divide<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        judgement: &Judgement,
        resolved: &Resolved,
        dice: &mut Dice,
    ) -> Vec<u32> {
        let chosen = judgement.ranked.iter();
        let ranked: Vec<_> = chosen.map(|chosen| candidates.at(chosen.candidate)).collect();
        let (own, ranked) = (&resolved.own, ranked.as_slice());
        (self.flavour.queues().select)(
            &Select { spec: &self.spec, own, case, ranked, judgement },
            dice,
        )
    }

    /// Most queues in an answer, of which some are preferred.
    pub(super) fn most(&self, case: &Case<'_>, preferred: usize) -> usize {
        let most = self.spec.candidates_max as usize;
        self.flavour.plan().map_or(most, |plan| (plan.most)(case, most, preferred))
    }

    /// The lot of each queue among those of equal weight, where the kind keeps few of the best, as
    /// PanDA shuffles these (spec atlas 8.7, panda-generic S2); else 0. Each attempt of a request
    /// draws its own, the same in each cycle and replay.
    pub(super) fn lots(&self, case: &Case<'_>) -> impl Fn(&str) -> u64 {
        let task = case.task;
        let seed = self.flavour.plan().map(|_| stir(hash(task.subject.as_bytes()) ^ task.attempt));
        move |queue| seed.map_or(0, |seed| stir(hash(queue.as_bytes()) ^ seed))
    }

    /// The weight known when a filter objected.
    fn weight_by(&self, filter: u16, weighed: &Weighed) -> f64 {
        match self.queue_rules().filters[usize::from(filter)].judge {
            FilterFunction::Before(_) | FilterFunction::Whole(_) => 0.0,
            FilterFunction::After(_) | FilterFunction::Last(_) | FilterFunction::Kept(_) => {
                weighed.total
            }
        }
    }
}

/// The `most` heaviest, heaviest first; equal weights by a lot that is drawn for the name, then by
/// name.
pub(super) fn best<C: Candidates + ?Sized>(
    passed: &mut Vec<(f64, u32)>,
    candidates: &C,
    most: usize,
    lot: impl Fn(&str) -> u64,
) {
    let name = |index: u32| candidates.queue(index).name.as_str();
    let drawn = |index: u32| (lot(name(index)), name(index));
    let order = |a: &(f64, u32), b: &(f64, u32)| {
        b.0.total_cmp(&a.0).then_with(|| drawn(a.1).cmp(&drawn(b.1)))
    };
    if passed.len() > most && most > 0 {
        passed.select_nth_unstable_by(most - 1, order);
    }
    passed.truncate(most);
    passed.sort_unstable_by(order);
}
