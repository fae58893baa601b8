//! Decisions on a pool's offers and jobs, made from the findings of the rules.

use crate::domain::cms::output::Matched;
use crate::domain::cms::policy::decision::Assignment;
use crate::domain::cms::policy::facts::Class;
use crate::domain::cms::policy::judge::{RankValue, Refusals};
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::state::{PoolJob, PoolOffer};
use crate::judge::size::limit;
use crate::output::decision::{Decision, DecisionId, FilterCount, Outcome, Ranked};
use crate::policy::Policy;
use crate::state::State;

/// The inputs that all decisions of a cycle have in common.
pub(super) struct Answers<'a> {
    pub(super) state: &'a State,
    pub(super) policy: &'a Policy,
    pub(super) pool: &'a Pool,
    pub(super) notes: &'a [String],
}

impl Answers<'_> {
    fn blank(&self, subject: &str, attempt: u64, ordinal: u32, number: u32) -> Decision {
        let (state, spec) = (self.state, &self.policy.spec);
        let outcome = Outcome::Reject { reason: String::new() };
        Decision {
            epoch: state.epoch,
            cycle: state.number,
            number,
            now: state.now,
            first_answered_at: state.now,
            policy: spec.name.clone(),
            policy_hash: self.policy.hash().to_owned(),
            dry_run: spec.dry_run,
            notes: self.notes.to_vec(),
            ..Decision::new(&state.setting.domain, subject, attempt, ordinal, outcome)
        }
    }

    fn of_offer(&self, offer: &PoolOffer, number: u32) -> Decision {
        let ordinal = offer.answers.saturating_add(1);
        let (name, attempt) = (&offer.offer.offer, u64::from(offer.offer.attempt));
        let mut decision = self.blank(name, attempt, ordinal, number);
        decision.id = DecisionId::of_offer(&decision.domain, name, attempt, ordinal);
        let site = self.pool.name(&offer.site).and_then(|site| self.pool.site(site));
        let warn = |code: &str| format!("{code}({})", offer.site);
        if site.is_some_and(|terms| terms.quota_missing) {
            decision.notes.push(warn("quota_missing"));
        }
        if site.is_some_and(|terms| terms.corepower_missing) {
            decision.notes.push(warn("corepower_missing"));
        }
        decision
    }

    fn bounded(&self, mut decision: Decision) -> Decision {
        limit(&mut decision, &self.state.setting.limits);
        decision
    }

    /// A job never runs: admission refuses it (C-01 to C-08).
    pub(super) fn refusal(&self, job: &PoolJob, code: &str, number: u32) -> Decision {
        let attempt = job.state.as_ref().map_or(0, |state| state.attempt);
        let state = job.state.as_ref();
        let mut decision = self.blank(&job.job, attempt.into(), 1, number);
        decision.task = state.map(|state| state.workflow.clone()).unwrap_or_default();
        decision.user = state.map(|state| state.user.clone()).unwrap_or_default();
        decision.outcome = Outcome::Reject { reason: code.to_owned() };
        self.bounded(decision)
    }

    /// Nothing fits an offer now.
    pub(super) fn deferral(&self, offer: &PoolOffer, refusals: &Refusals, number: u32) -> Decision {
        let mut decision = self.of_offer(offer, number);
        let until = self.state.now.saturating_add(self.policy.spec.defer);
        decision.outcome = Outcome::Defer { until: until.min(offer.offer.expires_at) };
        decision.counts = counts(refusals);
        decision.full = false;
        self.bounded(decision)
    }

    /// A job gets a place of an offer.
    pub(super) fn assignment(
        &self,
        offer: &PoolOffer,
        made: Assignment,
        refusals: &Refusals,
        number: u32,
    ) -> Decision {
        let mut decision = self.of_offer(offer, number);
        let job = self.state.pool.jobs.of(&made.matched.job);
        let job_attempt = job.and_then(|job| job.state.as_ref()).map_or(0, |it| it.attempt);
        let record = self.state.pool.workflows.of(&made.workflow);
        let record = record.and_then(|known| known.record.as_ref());
        let numeric = made.rank.iter().filter_map(|(name, value)| match value {
            RankValue::Number(value) => Some(((*name).to_owned(), *value as f64)),
            RankValue::Text(_) => None,
        });
        let (names, factors) = numeric.unzip();
        decision.working_group =
            record.map(|record| record.working_group.clone()).unwrap_or_default();
        decision.gshare = made.matched.class.name().to_owned();
        decision.notes.extend(self.total_unknown(&made));
        decision.factor_names = names;
        decision.limits = made.limits;
        decision.outcome = Outcome::Assign(vec![Ranked {
            queue: made.site.clone(),
            unified: made.site,
            weight: 1.0,
            jobs: 1,
            cores: u32::try_from(made.matched.cores).unwrap_or(u32::MAX),
            factors,
            platform: String::new(),
        }]);
        decision.matched = Some(Matched { job_attempt, ..made.matched });
        (decision.task, decision.user) = (made.workflow, made.user);
        decision.counts = counts(refusals);
        decision.full = false;
        self.bounded(decision)
    }

    /// The tail of a central workflow of unknown size never goes first (C-16).
    fn total_unknown(&self, made: &Assignment) -> Option<String> {
        let workflow = self.pool.name(&made.workflow).and_then(|name| self.pool.workflow(name));
        let facts = workflow?.workflow()?.facts();
        let is_unknown = made.matched.class == Class::Central && facts.total_jobs.is_none();
        is_unknown.then(|| format!("total_unknown({})", made.workflow))
    }
}

/// How many jobs each filter refused.
fn counts(refusals: &Refusals) -> Vec<FilterCount> {
    let count = |(filter, jobs): (&&'static str, &u64)| FilterCount {
        filter: (*filter).to_owned(),
        rejected: u32::try_from(*jobs).unwrap_or(u32::MAX),
    };
    refusals.refused.iter().map(count).collect()
}
