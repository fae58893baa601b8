//! One job, one alternative: targets through the filters, ranked, one chosen (B.8).

use super::case::JobCase;
use super::figures::TargetFigures;
use super::names::Numbers;
use super::ranking::NOT_FREE;
use super::staged::{LastStaging, StagedTarget};
use super::target::TargetCandidate;
use crate::domain::nordugrid::policy::rank::{RankKey, best};
use crate::draw::{Seed, SeededDraw};
use crate::policy::applicable::walk_before;
use crate::policy::declare::Weigh;
use crate::policy::{Objection, Policy, Resolved};

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
        let rules = self.target_rules();
        let filters = rules.applicable(case, resolved).before;
        let (staging, mut room) = (LastStaging::of(case), Vec::new());
        for share in case.facts.shares().filter(|share| clusters.has(share.cluster)) {
            let Some(candidate) = TargetCandidate::of(case, share) else { continue };
            if !candidate.cluster.facts.answered {
                continue;
            }
            let candidate = StagedTarget { target: candidate, last: &staging };
            match walk_before(case, &candidate, &resolved.filters, &filters) {
                Some((filter, objection)) => {
                    choice.refused.push(RefusedTarget { target: share.target, filter, objection });
                }
                None => {
                    let staging = candidate.staging(case);
                    let figures = TargetFigures::of(case, &candidate, &staging, &mut room);
                    choice.keys.extend(rules.weights.iter().map(|weight| match weight.weigh {
                        Weigh::Key(key) => key(&figures),
                        Weigh::Figure(never) | Weigh::Factor(never) | Weigh::Whole(never) => {
                            match never {}
                        }
                    }));
                    choice.ranked.push(figures);
                }
            }
        }
        choice.chosen = self.select(case, &choice, seed);
        choice
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
            (None, Some(weight)) if weight.name != NOT_FREE.weight.name => {
                ChoiceRule::Key(weight.name)
            }
            (None, Some(_) | None) => ChoiceRule::OnlyCandidate,
        };
        Some(ChosenTarget { at, rule, tied: best.left, draw })
    }

    /// The first objection to one target, with the filter's index, whatever became of the others.
    pub fn object_to_target(
        &self,
        case: &JobCase<'_>,
        candidate: &TargetCandidate<'_>,
        resolved: &Resolved,
    ) -> Option<(u16, Objection)> {
        let filters = self.target_rules().applicable(case, resolved).before;
        let candidate = StagedTarget { target: *candidate, last: &LastStaging::of(case) };
        walk_before(case, &candidate, &resolved.filters, &filters)
    }
}
