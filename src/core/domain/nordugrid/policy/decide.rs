//! A whole decision on one job: clusters found, alternatives tried in their order, a target chosen
//! or the job rejected (B.8, N-26).

use super::case::{JobCase, Stated};
use super::changes::TargetChanges;
use super::choice::{Choice, DRAW};
use super::discovery::{Discovery, Start};
use super::grid_facts::GridFacts;
use super::names::Numbers;
use super::params::Own;
use crate::domain::nordugrid::xrsl::Alternative;
use crate::draw::Seed;
use crate::policy::typed::read;
use crate::policy::{Policy, Resolved};
use crate::unit::{Bytes, Millis};
use std::collections::{BTreeMap, BTreeSet};

/// A job that wants a target, with all that its submitter and earlier attempts state.
#[derive(Clone, Debug, Default)]
pub struct JobSubmission {
    /// Name of the job.
    pub job_id: String,
    /// 0 for the first choice, one more after each refusal (N-25).
    pub attempt: u64,
    /// Identifier of the cut: see [`crate::draw::cut_id`].
    pub cut_id: String,
    /// When it is decided.
    pub now: Millis,
    /// Whose job it is.
    pub user: String,
    /// Alternatives in written order.
    pub alternatives: Vec<Alternative>,
    /// Which clusters, and where to look for them.
    pub start: Start,
    /// Sizes of files that the submitter uploads, by the names of inputs; bytes.
    pub uploads: BTreeMap<String, Bytes>,
    /// Targets that refused the job, `cluster/queue`.
    pub excluded_targets: Vec<String>,
}

/// Why a job is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NordugridRejection {
    /// No index server is known to begin with (N-03).
    NoIndexServer,
    /// No target is left for any alternative.
    NoTargetLeft,
}

impl NordugridRejection {
    /// Its code in records and answers.
    pub const fn code(self) -> &'static str {
        match self {
            NordugridRejection::NoIndexServer => "no_index_server",
            NordugridRejection::NoTargetLeft => "no_target_left",
        }
    }
}

/// The answer to a submission.
#[derive(Clone, Debug)]
pub struct TargetDecision {
    /// Clusters that were found; `None`: no index server is known.
    pub discovery: Option<Discovery>,
    /// Clusters among them that did not answer, by their names.
    pub no_information: BTreeSet<String>,
    /// Choice of each alternative that was tried, in written order.
    pub tried: Vec<Choice>,
    /// Changes by the assignment; `None`: there is none.
    pub changes: Option<TargetChanges>,
    /// Why the job is rejected; `None`: the last alternative tried has a target.
    pub rejection: Option<NordugridRejection>,
}

impl JobSubmission {
    /// The case of one alternative.
    pub fn case<'a>(
        &self,
        facts: &'a GridFacts,
        alternative: &'a Alternative,
        resolved: &Resolved,
    ) -> JobCase<'a> {
        let stated = Stated {
            now: self.now,
            user: &self.user,
            uploads: &self.uploads,
            excluded_targets: &self.excluded_targets,
        };
        JobCase::new(facts, alternative, &stated, &resolved.own)
    }

    /// The seed of a draw of this decision.
    pub fn seed(&self) -> Seed<'_> {
        let (subject, attempt, cut_id) = (&self.job_id, self.attempt, &self.cut_id);
        Seed { algorithm: DRAW, subject, attempt, cut_id, round: 0 }
    }
}

impl Policy {
    /// Decides on a job by what is known. Changes nothing.
    pub fn decide_target(
        &self,
        facts: &GridFacts,
        submission: &JobSubmission,
        resolved: &Resolved,
    ) -> TargetDecision {
        let own: Own = read!(Own, resolved.own);
        let (start, now) = (&submission.start, submission.now);
        let ttl_min_s = own.registration_min_ttl_s as u64;
        let named = |name: &str| facts.clusters_named(name);
        let found = facts.registry.discover(&facts.names, &named, start, now, ttl_min_s);
        let mut decision = TargetDecision {
            discovery: None,
            no_information: BTreeSet::new(),
            tried: Vec::new(),
            changes: None,
            rejection: Some(NordugridRejection::NoIndexServer),
        };
        let Ok(discovery) = found else { return decision };
        decision.no_information = without_answer(facts, &discovery.clusters);
        decision.no_information.extend(discovery.unknown.iter().cloned());
        decision.rejection = Some(NordugridRejection::NoTargetLeft);
        for alternative in &submission.alternatives {
            let case = submission.case(facts, alternative, resolved);
            let seed = submission.seed();
            let choice = self.choose_target(&case, &discovery.clusters, resolved, &seed);
            decision.changes = TargetChanges::of(&case, &choice);
            decision.tried.push(choice);
            if decision.changes.is_some() {
                decision.rejection = None;
                break;
            }
        }
        decision.discovery = Some(discovery);
        decision
    }
}

/// Clusters that did not answer, or that nothing is known of (N-06).
fn without_answer(facts: &GridFacts, clusters: &Numbers) -> BTreeSet<String> {
    let is_silent =
        |number: &u32| facts.cluster(*number).is_none_or(|cluster| !cluster.facts.answered);
    clusters.all().filter(is_silent).map(|number| facts.names.name(number).to_owned()).collect()
}
