//! Judging: every candidate through the filters, what is left weighed, the best kept.

use super::compile::{Asked, Late, Policy, Resolved};
use super::flavour::{Plan, Select};
use super::rule::Throttling;
use super::{
    Candidate, Case, Judge, Nucleus, Objection, Owner, Preassigned, SiteRules, Wanted, Weighed,
};
use crate::core::dice::Dice;
use crate::core::event::{Queue, Scope, Task};
use crate::core::unit::Millis;

/// Where candidates come from: a list of them, or the world, which makes each as it is looked at.
/// The same place gives the same candidate throughout a judgement.
pub trait Candidates {
    /// How many there are.
    fn count(&self) -> usize;
    /// The candidate at a place below the count.
    fn at(&self, place: u32) -> Candidate<'_>;
    /// The queue of the candidate at a place below the count.
    fn queue(&self, place: u32) -> &Queue;
}

impl Candidates for [Candidate<'_>] {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, place: u32) -> Candidate<'_> {
        self[place as usize]
    }

    fn queue(&self, place: u32) -> &Queue {
        self[place as usize].queue
    }
}

/// What became of all candidates of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The best that passed, by weight, then by name.
    pub ranked: Vec<Chosen>,
    /// Those that did not pass, in the order of the candidates.
    pub fates: Vec<Refused>,
    /// Per filter of the policy, how many candidates it was the first to refuse.
    pub counts: Vec<u32>,
    /// Why no candidate was looked at: the task as a whole must wait.
    pub held: Option<Objection>,
    /// How many passed, those beyond the policy's `candidates_max` included.
    pub passed: u32,
    /// The pass it was found in, from 1; 0 where no candidate was looked at.
    pub pass: u8,
}

/// A candidate that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Its place in the list of candidates.
    pub candidate: u32,
    /// Its weight.
    pub weighed: Weighed,
}

/// A candidate that did not pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refused {
    /// Its place in the list of candidates.
    pub candidate: u32,
    /// The filter that objected first, by its index in the policy.
    pub filter: u16,
    /// What it said.
    pub objection: Objection,
    /// Its weight, where it was weighed before; else 0.
    pub weight: f64,
}

/// Most passes over the candidates.
const PASSES_MAX: u8 = 2;

impl Policy {
    /// Whether a queue is on the candidate list of a task that names no queues.
    pub fn lists(&self, queue: &Queue, resolved: &Resolved) -> bool {
        (self.flavour.lists)(queue, &resolved.own)
    }

    /// Whether a queue is on the candidate list of a task.
    pub fn admits(
        &self,
        case: &Case<'_>,
        home: Option<&Queue>,
        queue: &Queue,
        resolved: &Resolved,
    ) -> bool {
        (self.flavour.admits)(case, home, queue, &resolved.own)
    }

    /// The case of a task; the figures of its nucleus are for the caller to fill in.
    pub fn case<'a>(&self, task: &'a Task, now: Millis, resolved: &Resolved) -> Case<'a> {
        let express = (self.flavour.express)(task, &resolved.own);
        let preassigned: Preassigned = (self.flavour.preassigned)(task, now, &resolved.own);
        Case {
            task,
            now,
            express,
            preassigned,
            queued_to_nucleus: 0,
            queued_to_nucleus_until: None,
            nucleus: Nucleus::UNKNOWN,
            remote_source: true,
            readable_source: true,
            wanted: Wanted::of(task),
            pass: 1,
            scope: self.flavour.plan.map_or(Scope::Default, |plan| plan.scope),
            sources: Vec::new(),
            locality: None,
            included: Vec::new(),
            owner: Owner::default(),
            sites: self
                .flavour
                .plan
                .map_or_else(SiteRules::default, |plan| (plan.sites)(&resolved.own)),
        }
    }

    /// Completes a case whose figures are filled in, for candidates to be made and judged.
    pub fn complete(&self, case: &mut Case<'_>, resolved: &Resolved) {
        if let Some(plan) = self.flavour.plan {
            (plan.complete)(case, &resolved.own);
        }
    }

    /// How it holds owners and tasks as a whole, if it does.
    pub fn throttling(&self) -> Option<&'static Throttling> {
        self.flavour.plan.map(|plan| plan.throttling)
    }

    /// Whether the task as a whole must wait.
    pub fn holds(&self, case: &Case<'_>, resolved: &Resolved) -> bool {
        (self.flavour.hold)(case, &resolved.own).is_some()
    }

    /// Judges a case. Nothing is looked up and nothing remembered: the same arguments give the
    /// same answer, and the order of the candidates does not matter to it.
    pub fn judge<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
    ) -> Judgement {
        match self.flavour.plan {
            None => self.judge_once(case, candidates, resolved),
            Some(_) => self.judge_here(&mut case.clone(), candidates, resolved, &mut |_, _| ()),
        }
    }

    /// The same; what is found out on the way stays in the case. `passed` sees each pass over the
    /// candidates that another one follows: the case of that pass, and what was found.
    pub fn judge_here<C: Candidates + ?Sized>(
        &self,
        case: &mut Case<'_>,
        candidates: &C,
        resolved: &Resolved,
        passed: &mut dyn FnMut(&Case<'_>, &Judgement),
    ) -> Judgement {
        match self.flavour.plan {
            None => self.judge_once(case, candidates, resolved),
            Some(plan) => self
                .held(case, resolved)
                .unwrap_or_else(|| self.judge_by(plan, case, candidates, resolved, passed)),
        }
    }

    /// Judges a case in one pass, unless the task as a whole must wait.
    fn judge_once<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
    ) -> Judgement {
        self.held(case, resolved).unwrap_or_else(|| self.judge_pass(case, candidates, resolved))
    }

    fn held(&self, case: &Case<'_>, resolved: &Resolved) -> Option<Judgement> {
        let held = Some((self.flavour.hold)(case, &resolved.own)?);
        Some(Judgement { held, counts: vec![0; self.filters.len()], ..Judgement::default() })
    }

    /// Whether what is said of one candidate hangs on the others.
    pub fn judges_together(&self, case: &Case<'_>, resolved: &Resolved) -> bool {
        self.flavour.plan.is_some() || self.sees_all(case, resolved)
    }

    /// Judges a case in as many passes as it takes.
    fn judge_by<C: Candidates + ?Sized>(
        &self,
        plan: &Plan,
        case: &mut Case<'_>,
        candidates: &C,
        resolved: &Resolved,
        passed: &mut dyn FnMut(&Case<'_>, &Judgement),
    ) -> Judgement {
        let all: Vec<Candidate<'_>> =
            (0..candidates.count() as u32).map(|place| candidates.at(place)).collect();
        loop {
            (plan.prepare)(case, &all, &resolved.own);
            let judgement = match self.asked_of(case, resolved) {
                None => self.judge_all(case, &all, resolved),
                Some(asked) => self.judge_each(case, all.as_slice(), resolved, &asked),
            };
            let is_last = case.pass >= PASSES_MAX;
            if is_last || !(plan.again)(self, case, &judgement, &resolved.own) {
                return judgement;
            }
            passed(case, &judgement);
            case.pass += 1;
        }
    }

    /// Judges a case once.
    fn judge_pass<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
    ) -> Judgement {
        if let Some(asked) = self.asked_of(case, resolved) {
            return self.judge_each(case, candidates, resolved, &asked);
        }
        let all: Vec<Candidate<'_>> =
            (0..candidates.count() as u32).map(|place| candidates.at(place)).collect();
        self.judge_all(case, &all, resolved)
    }

    /// Judges candidate by candidate, by the filters that have anything to say.
    fn judge_each<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
        (before, after): &(Vec<Asked>, Vec<Late>),
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
        for place in 0..count as u32 {
            let candidate = candidates.at(place);
            let found = self.walk_before(case, &candidate, resolved, before).or_else(|| {
                self.weigh(case, &candidate, resolved, &mut weighed, &[]);
                self.walk_after(case, &candidate, resolved, &weighed, after)
            });
            match found {
                Some((filter, objection)) => {
                    judgement.counts[usize::from(filter)] += 1;
                    let weight = self.weight_by(filter, &weighed);
                    judgement.fates.push(Refused { candidate: place, filter, objection, weight });
                }
                None => passed.push((weighed.total, place)),
            }
        }
        judgement.passed = passed.len() as u32;
        best(&mut passed, candidates, self.most(case));
        for (_, place) in passed {
            let mut weighed = Weighed::kept();
            self.weigh(case, &candidates.at(place), resolved, &mut weighed, &[]);
            judgement.ranked.push(Chosen { candidate: place, weighed });
        }
        judgement
    }

    /// Whether a filter has anything to say of a case.
    pub(super) fn applies(&self, at: u16, case: &Case<'_>, resolved: &Resolved) -> bool {
        let at = usize::from(at);
        let args = &resolved.filters[at];
        self.filters[at].0.applies.is_none_or(|applies| applies(case, args))
    }

    /// Whether a filter that has anything to say of a case, or a weight, sees all candidates.
    fn sees_all(&self, case: &Case<'_>, resolved: &Resolved) -> bool {
        let mut all = self.whole.iter().map(|it| it.0).chain(self.last.iter().map(|it| it.0));
        self.weighs_all || all.any(|at| self.applies(at, case, resolved))
    }

    /// The filters that have anything to say of a case, before and after weighing; `None` when one
    /// of them, or a weight, sees all candidates.
    fn asked_of(&self, case: &Case<'_>, resolved: &Resolved) -> Option<(Vec<Asked>, Vec<Late>)> {
        if self.sees_all(case, resolved) {
            return None;
        }
        let applies = |at: u16| self.applies(at, case, resolved);
        let before = self.before.iter().filter(|asked| applies(asked.at)).copied().collect();
        let after = self.after.iter().filter(|(at, _)| applies(*at)).copied().collect();
        Some((before, after))
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
        (self.flavour.select)(&Select { policy: self, own, case, ranked, judgement }, dice)
    }

    /// Most queues in an answer.
    pub(super) fn most(&self, case: &Case<'_>) -> usize {
        let most = self.spec.candidates_max as usize;
        self.flavour.plan.map_or(most, |plan| (plan.most)(case, most))
    }

    /// The weight known when a filter objected.
    fn weight_by(&self, filter: u16, weighed: &Weighed) -> f64 {
        match self.filters[usize::from(filter)].0.judge {
            Judge::Before(_) | Judge::Whole(_) | Judge::Nuclei(_) => 0.0,
            Judge::After(_) | Judge::Last(_) => weighed.total,
        }
    }
}

/// The `most` heaviest, heaviest first; equal weights by name.
pub(super) fn best<C: Candidates + ?Sized>(
    passed: &mut Vec<(f64, u32)>,
    candidates: &C,
    most: usize,
) {
    let name = |place: u32| candidates.queue(place).name.as_str();
    let order =
        |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then_with(|| name(a.1).cmp(name(b.1)));
    if passed.len() > most && most > 0 {
        passed.select_nth_unstable_by(most - 1, order);
    }
    passed.truncate(most);
    passed.sort_unstable_by(order);
}
