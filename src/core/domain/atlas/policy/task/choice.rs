//! Judging nuclei: filter by filter over all that are left, then a draw in proportion to weight.

use super::kind::{AllZero, Own};
use super::{Course, NucleusCandidate, NucleusRow, NucleusRows, Parent, TaskCase};
use crate::domain::atlas::policy::{Refused, Weighed};
use crate::event::FullChain;
use crate::policy::applicable::{Together, bounded};
use crate::policy::compile::Policy;
use crate::policy::declare::Weigh;
use crate::policy::resolved::Resolved;
use crate::policy::typed::read;
use crate::policy::{Verdict, Wait, WaitReason};

/// Judgement of all nuclei of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NucleusChoice {
    /// Those that passed, in the order of the candidates.
    pub passed: Vec<Passed>,
    /// The nucleus that was drawn, by its index in `passed`.
    pub drawn: Option<usize>,
    /// Those that did not pass, in the order of the candidates.
    pub fates: Vec<Refused>,
    /// Per filter of the policy, how many nuclei it was the first to refuse.
    pub counts: Vec<u32>,
    /// Why the task as a whole must wait, whatever the verdict on each nucleus is.
    pub wait: Option<Wait>,
}

/// A nucleus that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// Its index in the list of candidates.
    pub candidate: u32,
    /// Its weight.
    pub weighed: Weighed,
}

impl Policy {
    /// Judges nuclei; `unit` in [0, 1] draws among those that pass, in proportion to their weights
    /// and in the order of the candidates. Nothing is looked up and nothing remembered.
    pub fn choose(
        &self,
        case: &TaskCase<'_>,
        nuclei: &[NucleusCandidate<'_>],
        resolved: &Resolved,
        unit: f64,
    ) -> NucleusChoice {
        let mut choice =
            NucleusChoice { counts: vec![0; self.filters.len()], ..NucleusChoice::default() };
        let own = read!(Own, resolved.own);
        choice.wait = waits(case, &own);
        if choice.wait.is_some() {
            return choice;
        }
        let mut left: Vec<u32> = (0..nuclei.len() as u32).collect();
        let mut course = Course::default();
        for Together { at, judge, .. } in self.nucleus_rules().applicable(case, resolved).whole {
            let row = |index: &u32| NucleusRow {
                nucleus: nuclei[*index as usize],
                verdict: Verdict::Pass,
            };
            if left.is_empty() || choice.wait.is_some() {
                break;
            }
            let mut rows = NucleusRows { left: left.iter().map(row).collect(), course };
            judge(case, &mut rows, &resolved.filters[usize::from(at)]);
            course = rows.course;
            choice.wait = course.wait;
            let mut verdicts = rows.left.iter().map(|row| row.verdict);
            left.retain(|index| match verdicts.next() {
                Some(Verdict::Object(objection)) => {
                    let objection = bounded(objection);
                    choice.counts[usize::from(at)] += 1;
                    choice.fates.push(Refused {
                        candidate: *index,
                        filter: at,
                        objection,
                        weight: 0.0,
                    });
                    false
                }
                _ => true,
            });
        }
        choice.fates.sort_unstable_by_key(|refused| refused.candidate);
        if choice.wait.is_none() {
            let weigh = |candidate: u32| {
                let nucleus = &nuclei[candidate as usize];
                Passed { candidate, weighed: self.weigh_nucleus(case, nucleus, course, resolved) }
            };
            choice.passed = left.into_iter().map(weigh).collect();
            let first = own.all_zero == AllZero::First;
            choice.drawn = draw(&choice.passed, unit, first);
        }
        choice
    }

    fn weigh_nucleus(
        &self,
        case: &TaskCase<'_>,
        nucleus: &NucleusCandidate<'_>,
        mut course: Course,
        resolved: &Resolved,
    ) -> Weighed {
        let mut weighed = Weighed { total: 1.0, ..Weighed::default() };
        for (weight, values) in self.nucleus_rules().weights.iter().zip(&resolved.weights) {
            let Weigh::Factor(weigh) = weight.weigh else { continue };
            let factor = weigh(case, nucleus, values, &mut course);
            weighed.factors.push(factor);
            weighed.total = (weighed.total * factor).min(f64::MAX);
        }
        weighed
    }
}

/// Why the task waits before any nucleus is looked at.
fn waits(case: &TaskCase<'_>, own: &Own) -> Option<Wait> {
    if own.remote_source && !case.remote_source {
        return Some(WaitReason::InputIncomplete.plain());
    }
    let is_chain = case.task.options.full_chain != FullChain::No;
    if own.wait_for_parent && is_chain && case.parent == Parent::Unknown {
        return Some(WaitReason::ParentUnknown.plain());
    }
    None
}

/// Draws one of those that passed, in proportion to their weights. Where all weights are 0, each is
/// as likely as any other, or the first is taken.
pub(super) fn draw(passed: &[Passed], unit: f64, first: bool) -> Option<usize> {
    let most = passed.len().checked_sub(1)?;
    let largest = passed.iter().map(|it| it.weighed.total).fold(0.0, f64::max);
    if largest == 0.0 {
        let index = (unit.clamp(0.0, 1.0) * passed.len() as f64) as usize;
        return Some(if first { 0 } else { index.min(most) });
    }
    // Scaled by the largest, so that the sum of the largest numbers there are is finite.
    let sum: f64 = passed.iter().map(|it| it.weighed.total / largest).sum();
    let mut left = unit.clamp(0.0, 1.0) * sum;
    for (index, it) in passed.iter().enumerate() {
        left -= it.weighed.total / largest;
        if left <= 0.0 && (it.weighed.total > 0.0 || first) {
            return Some(index);
        }
    }
    passed.iter().rposition(|it| it.weighed.total > 0.0)
}
