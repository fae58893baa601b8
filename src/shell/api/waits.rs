//! Why a job of a pool waits, as an answer has it.

use crate::described::described;
use yardmaster_core::domain::cms::explain::{
    blocked_sentence, no_node_sentence, objection_sentence, site_sentence,
};
use yardmaster_core::domain::cms::policy::judge::RankValue;
use yardmaster_core::domain::cms::policy::why::{
    Blocked, DrainedFor, First, PoolWait, SiteAt, SiteObjection,
};
use yardmaster_core::unit::Millis;

described! {
    /// Why a job of a pool waits.
    struct PoolWaitAnswer of (wait: &PoolWait) {
        /// Why it is looked at before no offer; null: it is looked at before each.
        blocked: Option<PoolBlocked> = match wait {
            PoolWait::Blocked(blocked) => Some(PoolBlocked::of(*blocked)),
            PoolWait::Sites { .. } => None,
        },
        /// The node that is drained for it; null: none is.
        drained: Option<PoolDrainedFor> = match wait {
            PoolWait::Blocked(_) => None,
            PoolWait::Sites { drained, .. } => drained.as_ref().map(PoolDrainedFor::of),
        },
        /// What it takes that no known node has, as a sentence; null: some node could hold it, or
        /// that is not known.
        no_node: Option<String> = match wait {
            PoolWait::Blocked(_) => None,
            PoolWait::Sites { no_node, .. } => no_node.as_ref().map(no_node_sentence),
        },
        /// Findings at each site, by name. Empty if the job is blocked.
        sites: Vec<PoolSiteWait> = match wait {
            PoolWait::Blocked(_) => Vec::new(),
            PoolWait::Sites { sites, .. } => sites.iter().map(PoolSiteWait::of).collect(),
        },
    }

    /// Why a job is looked at before no offer.
    struct PoolBlocked of (it: Blocked) {
        /// One of workflow_killed, workflow_closed, workflow_unknown, or the code by which the next
        /// cycle rejects it.
        reason: &'static str = match it {
            Blocked::Killed => "workflow_killed",
            Blocked::Closed => "workflow_closed",
            Blocked::OnHold(_) => "workflow_unknown",
            Blocked::Refused(code) => code,
        },
        /// The same as a sentence.
        text: String = blocked_sentence(it),
    }

    /// A node that is drained for a job.
    struct PoolDrainedFor of (it: &DrainedFor) {
        /// Node.
        node: String = it.node.clone(),
        /// Its site.
        site: String = it.site.clone(),
        /// When it is expected to be ready, ms since 1970.
        until: Millis = it.until,
    }

    /// Reasons why a job gets no slots of a site.
    struct PoolSiteWait of (at: &SiteAt) {
        /// Site.
        site: String = at.wait.site.clone(),
        /// Whether a valid slot_quota of it was read.
        known: bool = at.is_known,
        /// Live offers there. 0: the job was looked at as if a whole node were free.
        offers: u64 = at.wait.offers,
        /// When the site was last offered from, ms since 1970; null: not as far as is remembered.
        last_offer_at: Option<Millis> = at.last_offer_at,
        /// The filters that object, in their order.
        objections: Vec<PoolObjection> =
            at.wait.objections.iter().map(PoolObjection::of).collect(),
        /// Jobs that go before it at the first offer to which no filter objects; null: one objects
        /// at each.
        jobs_before: Option<u64> = at.wait.ahead.as_ref().map(|it| it.jobs),
        /// The first of these jobs; null: there is none.
        first: Option<PoolFirst> =
            at.wait.ahead.as_ref().and_then(|it| it.first.as_ref()).map(PoolFirst::of),
        /// All of it on one line.
        text: String = format!("{}: {}", at.wait.site, site_sentence(at)),
    }

    /// A filter that is the first to object at some offers of a site.
    struct PoolObjection of (it: &SiteObjection) {
        /// Filter.
        filter: &'static str = it.filter,
        /// Offers at which it is the first to object; 1 where there is no offer.
        offers: u64 = it.offers,
        /// Measured value at the offer that is nearest to passing, in the unit; null: the filter
        /// measures nothing, the text states all.
        measured: Option<f64> = it.objection.reason.measured(it.objection.measured),
        /// Value that would have passed, in the unit; null likewise.
        limit: Option<f64> = it.objection.reason.limit(it.objection.limit),
        /// Unit of both; empty: they have none.
        unit: &'static str = it.objection.reason.unit(),
        /// When time alone lifts it, ms since 1970; null: time alone does not.
        until: Option<Millis> = it.objection.recheck_at,
        /// The reason as a sentence.
        text: String = objection_sentence(it),
    }

    /// The job that goes first at an offer, and why.
    struct PoolFirst of (it: &First) {
        /// Job.
        job: String = it.job.to_string(),
        /// Its workflow.
        workflow: String = it.workflow.clone(),
        /// The first rank key in which both jobs differ.
        key: &'static str = it.key,
        /// Its value of the key: the smaller one goes first.
        its: String = rank_text(&it.its),
        /// The value of the job that waits.
        own: String = rank_text(&it.own),
    }
}

fn rank_text(value: &RankValue) -> String {
    match value {
        RankValue::Number(value) => value.to_string(),
        RankValue::Text(text) => text.clone(),
    }
}
