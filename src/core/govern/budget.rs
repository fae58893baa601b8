//! How many jobs may still be commanded within the governor's window.

use super::hold::Hold;
use crate::command::CommandRule;
use crate::id::Name;
use crate::output::command::Command;
use crate::state::State;
use std::collections::BTreeMap;

/// Jobs that were commanded within the window or whose commands are still open; or, in dry run,
/// jobs of commands that were published for people to see. Each counts against the budgets by
/// itself, so that a rule that is tried does not hold back one that acts, and shows what it would
/// do.
pub(crate) struct Budget {
    all: u64,
    rules: BTreeMap<&'static str, u64>,
    queues: BTreeMap<Name, u64>,
}

/// By rule: how many jobs count against its budget at a cut, of commands that are to be carried out
/// or, if `is_dry`, of those that are published for people to see.
pub fn commanded_by_rule(state: &State, is_dry: bool) -> BTreeMap<&'static str, u64> {
    Budget::of(state, is_dry).rules
}

impl Budget {
    /// Counts the jobs that use up budgets at a cut, from commands that were published.
    pub(super) fn of(state: &State, is_dry: bool) -> Budget {
        let mut budget = Budget { all: 0, rules: BTreeMap::new(), queues: BTreeMap::new() };
        let horizon = state.now.saturating_sub(state.setting.commands.governor.window);
        for (at, id) in state.commands.recent.iter().rev() {
            if *at <= horizon {
                break;
            }
            let known = state.commands.of(*id);
            if let Some(known) = known.filter(|known| known.command.dry_run == is_dry) {
                budget.count(state, &known.command);
            }
        }
        if is_dry {
            return budget;
        }
        // What nobody answered may all be carried out at once when somebody comes to it.
        let governor = &state.setting.commands.governor;
        for id in &state.commands.unsettled {
            let known = state.commands.of(*id).filter(|known| known.counts_since <= horizon);
            if let Some(known) = known.filter(|known| known.is_open(state.now, governor.repeats)) {
                budget.count(state, &known.command);
            }
        }
        budget
    }

    fn count(&mut self, state: &State, command: &Command) {
        let rule = CommandRule::from_name(&command.rule).map_or("", CommandRule::name);
        let queue = state.known_name(&command.queue).unwrap_or(Name::NONE);
        self.take(rule, queue, command.amount);
    }

    /// Counts jobs that are commanded.
    pub(crate) fn take(&mut self, rule: &'static str, queue: Name, jobs: u64) {
        self.all += jobs;
        *self.rules.entry(rule).or_default() += jobs;
        *self.queues.entry(queue).or_default() += jobs;
    }

    /// How many more jobs of a queue a rule may command, and what bounds that; `u64::MAX` never.
    /// A command about a workflow of a pool belongs to no queue, so no queue's budget bounds it.
    pub(crate) fn left(&self, state: &State, rule: CommandRule, queue: Name) -> (u64, Hold) {
        let governor = &state.setting.commands.governor;
        let live = state.ledger.queue.of([queue.0, 0, 0, 0]).map_or(0, |at| {
            let by = &at.count.by;
            let live = crate::event::Status::ALL.into_iter().filter(|it| !it.is_ended());
            live.map(|status| u64::from(by[status.index()].jobs)).sum()
        });
        let of_queue = governor.jobs_per_queue.max(live * governor.percent_of_queue / 100);
        let at_queue = self.queues.get(&queue).copied().unwrap_or(0);
        let by_rule = self.rules.get(rule.name()).copied().unwrap_or(0);
        let bounds = [
            (governor.jobs.saturating_sub(self.all), Hold::Budget(self.all, governor.jobs)),
            (
                governor.jobs_per_rule.saturating_sub(by_rule),
                Hold::RuleBudget(by_rule, governor.jobs_per_rule),
            ),
            (of_queue.saturating_sub(at_queue), Hold::QueueBudget(at_queue, of_queue)),
        ];
        let [all, by_rule, queue] = bounds;
        let least = if by_rule.0 < all.0 { by_rule } else { all };
        let has_queue = !rule.text().kind.is_of_workflow();
        if has_queue && queue.0 < least.0 { queue } else { least }
    }
}
