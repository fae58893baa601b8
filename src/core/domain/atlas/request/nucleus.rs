//! Evaluating a waiting request for a nucleus.

use crate::domain::atlas::policy::Refused;
use crate::domain::atlas::request::touch::Kinds;
use crate::event::Task;
use crate::judge::evaluation::Evaluation;
use crate::judge::judging::JudgingInputs;
use crate::request::requests::Requests;
use crate::request::waiting::Waiting;
use crate::request::wake_finding::WakeFinding;

impl Requests {
    /// Whether a deferred task finds a nucleus now; it is judged if something changed that one of
    /// its blockers reads.
    pub(crate) fn evaluate_nuclei(
        &mut self,
        task: &Task,
        waiting: &mut Waiting,
        judging: JudgingInputs<'_>,
    ) -> WakeFinding {
        let state = judging.view.state;
        let is_cold = std::mem::take(&mut waiting.is_cold) || waiting.waits_as_whole;
        let is_due = waiting.recheck_at.is_some_and(|at| at <= state.now);
        let before = std::mem::replace(&mut waiting.evaluated_in, state.number);
        let reads = self.reads.get(waiting.policy).map_or(&[][..], Vec::as_slice);
        let moved = |(nucleus, filter): &(u32, u16)| {
            let reads = reads.get(usize::from(*filter)).copied().unwrap_or(Kinds::MAX);
            self.touch_log.of_nucleus(*nucleus, before) & reads != 0
        };
        if !is_cold && !is_due && !waiting.nuclei.iter().any(moved) {
            return WakeFinding::Blocked;
        }
        let Some(found) = judging.find_nucleus(waiting.policy, task) else {
            return WakeFinding::Blocked;
        };
        let fates = found.choice.fates.iter();
        let name = |refused: &Refused| found.names[refused.candidate as usize].as_str();
        let blocked = fates.clone().map(|it| (self.touch_log.nucleus(name(it)), it.filter));
        waiting.nuclei = blocked.collect();
        waiting.recheck_at = fates.filter_map(|refused| refused.objection.recheck_at).min();
        // One that wakes may find no room in this cycle, and one that is held as a whole has no
        // blockers by which to see that this is over: then all is judged again.
        waiting.is_cold = found.nucleus.is_some() || waiting.nuclei.is_empty();
        match found.nucleus {
            Some(_) => WakeFinding::Wakes(Some(Evaluation::Nuclei(found))),
            None => WakeFinding::Blocked,
        }
    }
}
