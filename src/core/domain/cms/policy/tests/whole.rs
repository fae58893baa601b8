//! A whole cut over a pool (A.5), for tests of rules: live, the engine does the same with what it
//! publishes.

use crate::domain::cms::policy::cut::{Step, in_order, next};
use crate::domain::cms::policy::decision::{Assignment, PoolAction, fold_action};
use crate::domain::cms::policy::entry::Standing;
use crate::domain::cms::policy::facts::{HeldJob, Seconds, seconds};
use crate::domain::cms::policy::judge::{Explained, MatchRules};
use crate::domain::cms::policy::look::Look;
use crate::domain::cms::policy::moment::{Moment, StepBudget};
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::state::PoolOffer;
use crate::unit::{Millis, SECOND};

/// An offer after a cut, with the looks at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// The offer, with what is left of it.
    pub open: PoolOffer,
    /// Every job before it at first.
    pub first_look: Explained,
    /// Every job before it at last, where a job was matched and cores are left.
    pub last_look: Option<Explained>,
}

/// All of a cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cut {
    /// Assignments in the order made.
    pub assignments: Vec<Assignment>,
    /// Offers in the order served.
    pub served: Vec<Served>,
    /// Actions in the order made.
    pub actions: Vec<PoolAction>,
}

/// Decides a whole cut and lets it take effect.
pub fn run(judges: &MatchRules, pool: &mut Pool, offers: &[PoolOffer], now_s: Seconds) -> Cut {
    pool.pass_time(now_s);
    pool.note_offers(offers.iter());
    let mut cut = Cut::default();
    act(judges, pool, &mut cut, Step::Boosts, now_s);
    let now = now_s.saturating_mul(SECOND);
    for offer in in_order(pool, offers.iter().collect(), now) {
        let served = serve(judges, pool, offer.clone(), now, &mut cut.assignments);
        cut.served.push(served);
    }
    Step::AFTER.into_iter().for_each(|step| act(judges, pool, &mut cut, step, now_s));
    cut
}

fn act(judges: &MatchRules, pool: &mut Pool, cut: &mut Cut, step: Step, now_s: Seconds) {
    let offers: Vec<&PoolOffer> = cut.served.iter().map(|served| &served.open).collect();
    let at = Moment { judges, offers: &offers, budget: StepBudget::UNBOUNDED, now_s };
    let (actions, _) = step.actions(pool, &at);
    actions.iter().for_each(|action| fold_action(pool, action));
    cut.actions.extend(actions);
}

fn serve(
    judges: &MatchRules,
    pool: &mut Pool,
    mut open: PoolOffer,
    now: Millis,
    assignments: &mut Vec<Assignment>,
) -> Served {
    let explain = |pool: &Pool, open: &PoolOffer| judges.explain(&Look::new(pool, open, now));
    let first_look = explain(pool, &open);
    let mut matched = false;
    while let (Some(assignment), _) = next(judges, pool, &open, now) {
        fold(pool, &assignment, seconds(now));
        take(&mut open, &assignment);
        assignments.push(assignment);
        matched = true;
    }
    let last_look = (matched && open.cores_left() > 0).then(|| explain(pool, &open));
    Served { open, first_look, last_look }
}

/// Lets an assignment take effect: the job holds a reservation, and the offer has less left. One of
/// a job that does not wait changes no counter (C-09).
pub fn fold(pool: &mut Pool, assignment: &Assignment, now_s: Seconds) {
    let matched = &assignment.matched;
    let Some(Standing::Pending(job)) = pool.job(&matched.job) else { return };
    let stated = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let held = HeldJob {
        job: (**job).clone(),
        class: matched.class,
        user: assignment.user.clone(),
        run_site: assignment.site.clone(),
        cores: matched.cores,
        rss_mb: matched.rss_mb,
        weight_milli: matched.weight_milli,
        band: matched.band,
        overflow_source: stated(&matched.overflow_source),
        charged_group: stated(&matched.charged_group),
        node: stated(&matched.node),
        reserved_at_s: Some(now_s),
        counts_from_s: now_s,
        started_at_s: None,
        expected_end_s: Some(now_s.saturating_add(matched.wall_time_s)),
    };
    pool.put_held(held);
}

/// Takes an assignment out of what is left of its offer.
fn take(open: &mut PoolOffer, assignment: &Assignment) {
    open.cores_taken = open.cores_taken.saturating_add(assignment.matched.cores);
    open.mem_taken_mb = open.mem_taken_mb.saturating_add(assignment.matched.rss_mb);
}
