//! Circles: jobs of a task that are taken back from a queue where they wait, and given to it again.
//! Jobs leave a queue twice at most, as far as that is remembered: the queue is given them three
//! times. The third time operations are alerted instead.

use super::hold::Hold;
use super::make::{self, Order};
use super::making::Making;
use crate::command::{CommandRule, Mode, RuleSetting};
use crate::id::Name;
use crate::output::command::{Command, CommandKind};
use crate::state::State;
use crate::state::commands::TakenBack;
use crate::unit::Millis;

/// So often jobs of a task are taken back from a queue.
const TIMES_MAX: usize = 2;

/// Jobs of a task that stay at a queue, since some were taken back from it before.
#[derive(Clone, Debug)]
pub(crate) struct Circle<'a> {
    /// Queue and share.
    at: (Name, Name),
    task: &'a str,
    taken: TakenBack,
    /// Why they stay.
    pub stays: Hold,
}

impl<'a> Circle<'a> {
    /// That of jobs of a task of a share which a rule is due for at a queue; `None`: they may leave
    /// it, as far as this goes.
    pub(crate) fn of(
        state: &State,
        rule: &RuleSetting,
        at: (Name, Name),
        task: &'a str,
    ) -> Option<Circle<'a>> {
        if !rule.rule.waits_for_start() {
            return None;
        }
        let round = state.setting.commands.round();
        let place = (state.names.text(at.0), task);
        let taken = state.commands.taken_back(place, rule.mode != Mode::On, round);
        let stays = stays(state.now, rule, round, &taken)?;
        Some(Circle { at, task, taken, stays })
    }

    /// Alerts operations if they were taken back as often as they may be, once for a queue as far
    /// as that is remembered.
    pub(crate) fn alert(&self, state: &State, rule: &RuleSetting, making: &mut Making) {
        let Hold::TakenBack(times) = self.stays else { return };
        let dry_run = rule.mode != Mode::On;
        let (queue, gshare) = (state.names.text(self.at.0), state.names.text(self.at.1));
        let is_known = |it: &Command| {
            let is_about = it.kind == CommandKind::Alert && it.task == self.task;
            is_about && it.queue == queue && (dry_run || it.is_order())
        };
        let known = state.commands.of_task(queue, self.task).map(|known| &known.command);
        let mut known = known.chain(&making.commands);
        let room = state.setting.commands.governor.commands_per_cycle;
        if known.any(is_known) || making.commands.len() >= room {
            return;
        }
        let note = format!("jobs of it were taken back {times} times, wait there again, and stay");
        let order = Order {
            rule: rule.rule,
            kind: CommandKind::Alert,
            subject: format!("{queue}/{}", self.task),
            attempt: 0,
            queue,
            gshare,
            task: self.task.to_owned(),
            jobs: Vec::new(),
            amount: 1,
            clock: "taken_back_since",
            clock_at: Some(self.taken.first),
            measured: times as f64,
            limit: TIMES_MAX as f64,
            unit: "times",
            dry_run,
            notes: vec![note],
        };
        making.budget(state, dry_run).take(rule.rule.name(), self.at.0, 1);
        let command = make::command(state, order);
        match dry_run {
            true => making.show(command),
            false => making.order(command),
        }
    }
}

fn stays(now: Millis, rule: &RuleSetting, round: Millis, taken: &TakenBack) -> Option<Hold> {
    let is_fast = rule.rule == CommandRule::FastRebrokerage;
    let rest = rule.hours("rest_h");
    if is_fast && taken.last != 0 && taken.last.saturating_add(rest) > now {
        return Some(Hold::Rest(rest));
    }
    // What a deadline passes for until then has not come back.
    let is_under_way = !is_fast && taken.begun.saturating_add(round) > now;
    (taken.times >= TIMES_MAX && !is_under_way).then_some(Hold::TakenBack(taken.times))
}

/// An alert about a task that nobody answered once more, while a request of the task is known.
pub(super) fn alert_again(state: &State, command: &Command) -> Option<Command> {
    state.chunks.get(&command.task)?;
    let mut again = make::again(state, command);
    again.notes.splice(0..0, command.notes.first().cloned());
    Some(again)
}
