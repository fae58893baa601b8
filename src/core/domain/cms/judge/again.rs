//! An offer, or a refused job, answered once more, whatever the order in which a cycle serves them.

use super::answer::Answers;
use super::judging::PoolJudging;
use super::now_s;
use crate::domain::cms::policy::cut::next;
use crate::judge::policies::Policies;
use crate::output::decision::Decision;
use crate::state::State;

/// An offer or a refused job whose answer is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedAgain<'a> {
    /// An offer, by its name.
    Offer(&'a str),
    /// A job that was refused, by its name.
    Refused(&'a str),
}

impl PoolJudging {
    /// The job that an offer would get, or that none fits; or the refusal of a job: `None` if it is
    /// not refused. Nothing is changed by it. `number`: that of the judgement in its cycle.
    pub(crate) fn answer(
        &self,
        state: &State,
        policies: &Policies,
        asked: AskedAgain<'_>,
        number: u32,
    ) -> Option<Decision> {
        let (policy, pool) = (self.policy(policies), self.view.pool()?);
        let answers = Answers { state, policy, pool, notes: &[] };
        match asked {
            AskedAgain::Refused(job) => {
                let code = self.view.refusal(job, now_s(state))?;
                Some(answers.refusal(state.pool.jobs.of(job)?, code, number))
            }
            AskedAgain::Offer(offer) => {
                let known = state.pool.offers.of(offer)?;
                let (found, refusals) = next(&self.judges, pool, known, state.now);
                Some(match found {
                    Some(made) => answers.assignment(known, made, &refusals, number),
                    None => answers.deferral(known, &refusals, number),
                })
            }
        }
    }
}
