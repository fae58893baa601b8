//! The class of the task that a decision is about (spec atlas 8.1.2), for a reader of metrics.

use crate::domain::atlas::policy::{CLASSED, Owner, task_class_name};
use crate::judge::judging::JudgingInputs;
use crate::output::decision::{Decision, Outcome};

impl JudgingInputs<'_> {
    /// The name of the class by which a request was judged; `None` where tasks have no classes, and
    /// of one that is rejected, which no class brings about. The state must be the one that the
    /// decision was made of.
    pub(crate) fn class_of(self, decision: &Decision) -> Option<&'static str> {
        let JudgingInputs { view, policies, .. } = self;
        let is_judged = !matches!(decision.outcome, Outcome::Reject { .. });
        if !is_judged || !CLASSED.contains(&decision.gshare.as_str()) {
            return None;
        }
        let at = policies.index(&decision.policy)?;
        let plan = policies.at(at).flavour.plan()?;
        let request = view.state.requests.of(&decision.subject)?;
        let task = view.tagged(request.task.as_ref()?);
        let ready = policies.ready(at, &task.gshare, view);
        let own = &ready.resolved.own;
        let sites = view.classify((plan.sites)(own));
        let census = sites.census(view.state, view.world);
        let slots = Some(census.slots(view.state.known_name(&task.user)));
        let owner = (plan.owner)(&task, Owner { slots, ..Owner::default() }, own);
        owner.task_class.map(task_class_name)
    }
}
