//! Commands are folded like any event, so a job counts as commanded from the moment it is.

use crate::cut::Topic;
use crate::event::DecisionOutcome;
use crate::id::Key;
use crate::oddity::Oddity;
use crate::output::command::{Command, CommandId, CommandKind};
use crate::state::State;
use crate::state::commands::{CommandAnswer, CommandState, held_name, takes_back};
use crate::unit::{DAY, Millis};

impl State {
    /// Folds a command. One that is not to be carried out has no effect on jobs: that it was
    /// published is all that is kept.
    pub fn fold_command(&mut self, command: &Command) {
        if command.domain != self.setting.domain {
            return self.odd(Topic::Command, Oddity::OtherDomain);
        }
        if command.held_back().is_some() {
            return self.fold_held_back(command);
        }
        if !self.commands.take(command) {
            return self.odd(Topic::Command, Oddity::Repeated);
        }
        self.arm_command(command.id);
        self.fold_pool_command(command);
        let is_first =
            self.commands.of(command.id).is_some_and(|it| it.counts_since == command.now);
        if is_first && command.is_order() && command.kind == CommandKind::Rebroker {
            let at = (self.name(&command.queue), self.name(&command.gshare));
            if let Some(crowded) = self.crowded.get_mut(&at) {
                crowded.since = crowded.since.max(command.now);
            }
        }
    }

    fn fold_held_back(&mut self, report: &Command) {
        let name = held_name(&report.rule, &report.queue);
        let order = |it: &Command| (it.now, it.id, it.repeat);
        if self.commands.held.of(&name).is_some_and(|known| order(known) >= order(report)) {
            return self.odd(Topic::Command, Oddity::Repeated);
        }
        if let Some(held) = self.commands.held.at(&name, || report.clone()) {
            *held = report.clone();
        }
    }

    /// Folds what became of a command.
    pub(super) fn fold_command_outcome(&mut self, event: &DecisionOutcome, at: Millis) {
        let id = CommandId(event.decision.0);
        if self.commands.of(id).is_none() {
            return self.odd(Topic::Outcome, Oddity::UnknownCommand);
        }
        let answer = CommandAnswer { at, kind: event.kind, reason: event.reason.clone() };
        match self.commands.answer(id, answer) {
            true => self.arm_command(id),
            false => self.odd(Topic::Outcome, Oddity::Repeated),
        }
    }

    /// Sets when a command is repeated, and when it may be forgotten.
    pub(crate) fn arm_command(&mut self, id: CommandId) {
        let governor = &self.setting.commands.governor;
        let Some(state) = self.commands.of(id) else { return };
        let repeat = state.repeat_at(governor.repeat_after, governor.repeats);
        let forget = self.command_over(state);
        let dues = repeat.into_iter().chain([forget]).collect();
        self.timers.commands.set_all(dues, &id.to_string());
    }

    /// When a command may be forgotten: a day after it was last published, one that moves jobs and
    /// an alert of such jobs when moves no longer count; while one of its jobs or its
    /// workflow lives it is looked at again every day.
    fn command_over(&self, state: &CommandState) -> Millis {
        let over = state.command.now.saturating_add(DAY).max(state.command.expires_at);
        let moves = self.setting.commands.governor.moves_window;
        let is_move = state.command.kind.moves() || takes_back(&state.command);
        let kept = if is_move { moves } else { DAY };
        over.max(state.command.now.saturating_add(kept))
    }

    /// Commands whose time has come: those that may be forgotten are, the others may be repeated.
    pub(crate) fn look_at_commands(&mut self) {
        let lifetime = self.setting.limits.command_lifetime_ms;
        for name in self.timers.commands.take(self.now) {
            let Some(state) = self.commands.table.of(&name) else { continue };
            let (id, published) = (state.command.id, state.command.now);
            let over = self.command_over(state);
            let is_old = published.saturating_add(lifetime) <= self.now;
            // Then, and every day after it; a process that restarted looks at the same moments.
            let days = self.now.saturating_sub(over).div_euclid(DAY);
            let look = over.saturating_add(days.saturating_mul(DAY));
            if over > self.now {
                self.touched.commands.insert(id);
                self.timers.commands.set(over, &name);
            } else if look <= self.before {
                self.timers.commands.set(look.saturating_add(DAY), &name);
            } else if is_old || !self.has_live_subject(state) {
                self.commands.remove(id);
            } else {
                self.timers.commands.set(look.saturating_add(DAY), &name);
            }
        }
        self.forget_reports(lifetime);
    }

    /// Finds commands again that were put in by slot, and all that is derived of them.
    pub fn settle_commands(&mut self) {
        self.commands.settle();
        let ids: Vec<CommandId> = self.commands.recent.iter().map(|(_, id)| *id).collect();
        ids.into_iter().for_each(|id| self.arm_command(id));
    }

    fn has_live_subject(&self, state: &CommandState) -> bool {
        let lives = |name: &String| {
            let job = self.jobs.of(Key::of(name.as_bytes()));
            job.and_then(|job| job.status).is_some_and(|status| !status.is_ended())
        };
        let Command { kind, subject, .. } = &state.command;
        let is_live_workflow = kind.is_of_workflow() && self.is_live_workflow(subject);
        is_live_workflow || state.command.about().iter().any(lives)
    }

    /// Whether a workflow of a pool is known, and has not ended.
    pub(crate) fn is_live_workflow(&self, workflow: &str) -> bool {
        let record = self.pool.workflows.of(workflow).and_then(|it| it.record.as_ref());
        record.is_some_and(|record| !record.closed)
    }

    /// Once a day: what was held back, and is no longer.
    fn forget_reports(&mut self, lifetime: Millis) {
        if self.before.div_euclid(DAY) == self.now.div_euclid(DAY) {
            return;
        }
        let horizon = self.now.saturating_sub(DAY);
        let is_over = |it: &Command| {
            it.amount == 0 && it.now <= horizon || it.now.saturating_add(lifetime) <= self.now
        };
        let over: Vec<String> = {
            let held = self.commands.held.iter().filter(|(_, it)| is_over(it));
            held.map(|(name, _)| name.to_owned()).collect()
        };
        over.iter().for_each(|name| drop(self.commands.held.remove(name)));
    }
}
