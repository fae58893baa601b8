//! One job, one alternative: targets through the filters, ranked, one chosen (B.8).

use super::case::JobCase;
use super::figures::TargetFigures;
use super::names::Numbers;
use super::ranking::NOT_FREE;
use super::staging::Staging;
use super::target::TargetCandidate;
use crate::draw::{Seed, SeededDraw};
use crate::policy::declare::{FilterFunction, Weigh};
use crate::policy::rank::{RankKey, best};
use crate::policy::walk::bounded;
use crate::policy::{Applies, Objection, Policy, Resolved, Verdict, Weight};

/// Name and version of the draw (B.10).
pub const DRAW: &str = "ngbroker.v1";

/// Refused, ranked and chosen targets of one alternative.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Targets that a filter objects to, in the order of their names.
    pub refused: Vec<RefusedTarget>,
    /// Targets that are left, in the order of their names.
    pub ranked: Vec<TargetFigures>,
    /// The keys of the ranked targets, one after the other.
    keys: Vec<RankKey>,
    /// The one chosen; `None`: none is left.
    pub chosen: Option<ChosenTarget>,
}

/// A target that a filter objects to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefusedTarget {
    /// Number of the target.
    pub target: u32,
    /// The filter, by its index in the policy.
    pub filter: u16,
    /// Why.
    pub objection: Objection,
}

impl Choice {
    /// The keys of a ranked target by its place, in the order of the policy's weights.
    pub fn rank(&self, at: usize) -> &[RankKey] {
        let keys = self.keys.len().checked_div(self.ranked.len()).unwrap_or(0);
        self.keys.get(at * keys..(at + 1) * keys).unwrap_or(&[])
    }
}

/// The target that was chosen, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenTarget {
    /// Its place among the ranked targets.
    pub at: usize,
    /// The rule that decided.
    pub rule: ChoiceRule,
    /// Places of the targets that are tied when all keys are used up; one if a key decided.
    pub tied: Vec<usize>,
    /// The draw among them, if there are several.
    pub draw: Option<SeededDraw>,
}

/// The rule that decided between the targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceRule {
    /// There was one target in the free set, or one at all.
    OnlyCandidate,
    /// A key, by its name.
    Key(&'static str),
    /// A draw among targets with enough free CPUs.
    Draw,
    /// A draw among targets of which none has enough.
    QueueRatioDraw,
}

impl ChoiceRule {
    /// Its name in records and answers.
    pub const fn name(self) -> &'static str {
        match self {
            ChoiceRule::OnlyCandidate => "only_candidate",
            ChoiceRule::Key(name) => name,
            ChoiceRule::Draw => "draw",
            ChoiceRule::QueueRatioDraw => "queue_ratio_draw",
        }
    }
}

/// The filters of a policy that apply to a case, with their indices.
struct TargetFilters(Vec<(u16, FilterFunction)>);

impl Policy {
    /// Chooses a target for a job: among the queues of some clusters that answered, in the order of
    /// their names. `seed` is what a draw is made from.
    pub fn choose_target(
        &self,
        case: &JobCase<'_>,
        clusters: &Numbers,
        resolved: &Resolved,
        seed: &Seed<'_>,
    ) -> Choice {
        let mut choice = Choice::default();
        let filters = self.target_filters(case, resolved);
        let (mut staging, mut room) = (LastStaging::of(case), Vec::new());
        for share in case.facts.shares().filter(|share| clusters.has(share.cluster)) {
            let Some(candidate) = TargetCandidate::of(case, share) else { continue };
            if !candidate.cluster.facts.answered {
                continue;
            }
            match filters.objection(case, &candidate, resolved, &mut staging) {
                Some((filter, objection)) => {
                    choice.refused.push(RefusedTarget { target: share.target, filter, objection });
                }
                None => {
                    let staging = staging.at(case, &candidate);
                    let figures = TargetFigures::of(case, &candidate, staging, &mut room);
                    self.rank(&figures, resolved, &mut choice.keys);
                    choice.ranked.push(figures);
                }
            }
        }
        choice.chosen = self.select(case, &choice, seed);
        choice
    }

    /// Adds the keys of a target, in the order of the policy's weights.
    fn rank(&self, figures: &TargetFigures, resolved: &Resolved, keys: &mut Vec<RankKey>) {
        let weights = self.weights.iter().zip(&resolved.weights);
        let key = |(weight, values): (&&'static Weight, _)| match weight.weigh {
            Weigh::Rank(rank) => Some(rank(figures, values)),
            Weigh::Figure(_)
            | Weigh::Factor(_)
            | Weigh::Whole(_)
            | Weigh::Nucleus(_)
            | Weigh::JobKey(_) => None,
        };
        keys.extend(weights.filter_map(key));
    }

    /// The first by rank; ties by a draw.
    fn select(&self, case: &JobCase<'_>, choice: &Choice, seed: &Seed<'_>) -> Option<ChosenTarget> {
        let ranked = &choice.ranked;
        let vectors: Vec<&[RankKey]> = (0..ranked.len()).map(|at| choice.rank(at)).collect();
        let best = best(&vectors);
        let name = |at: &usize| case.facts.targets.name(ranked[*at].target).to_owned();
        let weight = |at: &usize| (name(at), ranked[*at].draw_weight());
        let draw = match best.left.len() {
            0 | 1 => None,
            _ => seed.draw(best.left.iter().map(weight).collect()),
        };
        let winner = draw.as_ref().map(SeededDraw::winner);
        let is_winner = |at: &&usize| winner.is_none_or(|winner| name(at) == winner);
        let at = *best.left.iter().find(is_winner)?;
        let is_free = ranked[at].is_free;
        let rule = match (&draw, best.decided_by.and_then(|key| self.weights.get(key))) {
            (Some(_), _) if is_free => ChoiceRule::Draw,
            (Some(_), _) => ChoiceRule::QueueRatioDraw,
            (None, Some(weight)) if weight.name != NOT_FREE.name => ChoiceRule::Key(weight.name),
            (None, Some(_) | None) => ChoiceRule::OnlyCandidate,
        };
        Some(ChosenTarget { at, rule, tied: best.left, draw })
    }

    /// The filters that apply to a job; the same for all targets.
    fn target_filters(&self, case: &JobCase<'_>, resolved: &Resolved) -> TargetFilters {
        let filters = (0u16..).zip(self.filters.iter().zip(&resolved.filters));
        let applying = filters.filter(|(_, (filter, values))| match filter.applies {
            Applies::Always => true,
            Applies::ToJob(applies) => applies(case, values),
            Applies::ToCase(_) | Applies::ToTask(_) => false,
        });
        TargetFilters(applying.map(|(at, (filter, _))| (at, filter.judge)).collect())
    }

    /// The first objection to one target, with the filter's index, whatever became of the others.
    pub fn object_to_target(
        &self,
        case: &JobCase<'_>,
        candidate: &TargetCandidate<'_>,
        resolved: &Resolved,
    ) -> Option<(u16, Objection)> {
        self.target_filters(case, resolved).objection(
            case,
            candidate,
            resolved,
            &mut LastStaging::of(case),
        )
    }
}

impl TargetFilters {
    fn objection(
        &self,
        case: &JobCase<'_>,
        candidate: &TargetCandidate<'_>,
        resolved: &Resolved,
        staging: &mut LastStaging,
    ) -> Option<(u16, Objection)> {
        self.0.iter().find_map(|(at, judge)| {
            let values = &resolved.filters[usize::from(*at)];
            let verdict = match judge {
                FilterFunction::Target(judge) => judge(case, candidate, values),
                FilterFunction::Staged(judge) => {
                    judge(case, candidate, staging.at(case, candidate), values)
                }
                FilterFunction::Before(_)
                | FilterFunction::After(_)
                | FilterFunction::Whole(_)
                | FilterFunction::Last(_)
                | FilterFunction::Kept(_)
                | FilterFunction::Nuclei(_)
                | FilterFunction::Job(_) => Verdict::Pass,
            };
            match verdict {
                Verdict::Object(objection) => Some((*at, bounded(objection))),
                Verdict::Pass => None,
            }
        })
    }
}

/// The input files at the cluster that was looked at last: queues of one cluster follow each other.
struct LastStaging {
    /// Staging at clusters that have none of the files.
    elsewhere: Staging,
    last: Option<Staging>,
}

impl LastStaging {
    fn of(case: &JobCase<'_>) -> LastStaging {
        LastStaging { elsewhere: Staging::elsewhere(case), last: None }
    }

    /// The input files at a candidate's cluster.
    fn at(&mut self, case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> &Staging {
        if self.last.as_ref().is_some_and(|last| last.cluster != candidate.cluster.number) {
            self.last = None;
        }
        self.last.get_or_insert_with(|| Staging::from(case, candidate.cluster, &self.elsewhere))
    }
}
