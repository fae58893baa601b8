//! Command evaluation: the commands of a cycle, after its decisions and throttles.

use super::due::Due;
use super::facts::{Surroundings, known_until};
use super::hold::hold;
use super::making::{Making, too_many_moves};
use super::open::{is_due, is_ordered, is_taken, unanswered};
use super::timeout::{Deadline, kind};
use super::{make, rebroker, report};
use crate::core::command::{CommandRule, CommandSetting, Mode, RuleSetting};
use crate::core::id::{Key, Name};
use crate::core::output::command::{Command, CommandId};
use crate::core::state::State;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// See the module.
#[derive(Default)]
pub(crate) struct CommandEvaluation {
    around: Surroundings,
    due: Due,
    /// Commands that nobody answered in time.
    repeats: BTreeSet<CommandId>,
    /// Whether every job is to be looked at.
    is_cold: bool,
}

/// A job that a rule is due for.
struct Candidate {
    deadline: Deadline,
    queue: Name,
    key: Key,
    setting: RuleSetting,
}

impl CommandEvaluation {
    /// Takes up what changed, before that is forgotten.
    pub(crate) fn begin_cycle(&mut self, state: &State, is_cold: bool) {
        if state.setting.commands.is_idle() {
            return;
        }
        if is_cold {
            self.around = Surroundings::of(state);
            self.is_cold = true;
            self.repeats = unanswered(state).collect();
        } else {
            self.is_cold |= self.around.update(state);
        }
        self.repeats.extend(&state.touched.commands);
    }

    /// Forgets all that is derived: the next cycle begins with looking at every job.
    pub(crate) fn forget(&mut self, state: &mut State) {
        *self = CommandEvaluation::default();
        state.looks.cool();
    }

    /// How often jobs were looked at that send no heartbeats, by rule, since this was last asked.
    pub(crate) fn take_without_heartbeat(&mut self) -> BTreeMap<CommandRule, u64> {
        std::mem::take(&mut self.due.without_heartbeat)
    }

    /// The commands that are published in this cycle; not folded yet.
    pub(crate) fn evaluate(&mut self, state: &mut State) -> VecDeque<Command> {
        let setting = state.setting.commands.clone();
        if setting.is_idle() {
            return VecDeque::new();
        }
        if std::mem::take(&mut self.is_cold) || !state.looks.is_warm {
            self.due.begin(state, &self.around);
        }
        self.due.look(state, &mut self.around);
        let mut making = Making::new();
        self.timeouts(state, &setting, &mut making);
        if let Some(rule) = setting.rule(CommandRule::FastRebrokerage) {
            rebroker::rebroker(state, &self.around, rule, &mut making);
        }
        self.repeat(state, &setting, &mut making);
        let mut commands = making.commands;
        commands.extend(report::reports(state, &setting, &making.held));
        commands.truncate(setting.governor.commands_per_cycle);
        for (number, command) in commands.iter_mut().enumerate() {
            command.number = number as u32;
        }
        commands.into()
    }

    /// Jobs whose deadline has passed, the longest overdue first.
    fn timeouts(&mut self, state: &mut State, setting: &CommandSetting, making: &mut Making) {
        let mut candidates: Vec<Candidate> = Vec::new();
        let groups: Vec<(CommandRule, Name)> = self.due.groups.keys().copied().collect();
        for at in groups {
            let Some(rule) = setting.rule(at.0) else { continue };
            let mut why = hold(state, &self.around, at.0, at.1);
            if why.is_none() {
                let (left, used_up) =
                    making.budget(state, rule.mode != Mode::On).left(state, at.0, at.1);
                why = (left == 0).then_some(used_up);
            }
            match why {
                Some(why) => {
                    let jobs = self.count_held(state, setting, (rule, at.1));
                    making.hold(at, jobs, why);
                }
                None => self.candidates(state, (rule, at.1), &mut candidates),
            }
        }
        candidates.sort_by_key(|it| (it.deadline.due_at, it.setting.rule, it.key));
        for candidate in candidates {
            if making.commands.len() >= setting.governor.commands_per_cycle {
                break;
            }
            if !making.ordered.contains(&candidate.key)
                && let Some(command) = self.timeout(state, &candidate, making)
            {
                if command.is_order() {
                    making.ordered.insert(candidate.key);
                }
                making.commands.push(command);
            }
        }
    }

    /// How many jobs of a group are held back. Some may be due no longer, which matters only where
    /// the number is published.
    fn count_held(
        &mut self,
        state: &mut State,
        setting: &CommandSetting,
        (rule, queue): (&RuleSetting, Name),
    ) -> u64 {
        let at = (rule.rule, queue);
        let Some(found) = self.due.groups.get(&at) else { return 0 };
        if !report::is_due(state, setting, at) {
            return found.len() as u64;
        }
        let keys: Vec<Key> = found.iter().copied().collect();
        let mut is_held = |key: &&Key| {
            let due = self.due.check(state, &self.around, (rule, queue), **key);
            due.is_some_and(|deadline| {
                let given = was_given(state, (rule, **key), &deadline);
                !given && !is_taken(state, &self.around, **key)
            })
        };
        keys.iter().filter(|key| is_held(key)).count() as u64
    }

    /// The jobs of a group that are due by what is known: what could have prevented it was read up
    /// to the deadline.
    fn candidates(
        &mut self,
        state: &mut State,
        (rule, queue): (&RuleSetting, Name),
        candidates: &mut Vec<Candidate>,
    ) {
        let found = self.due.groups.get(&(rule.rule, queue)).into_iter().flatten();
        let keys: Vec<Key> = found.copied().collect();
        let known_until = known_until(state, rule.rule);
        for key in keys {
            let checked = self.due.check(state, &self.around, (rule, queue), key);
            let Some(deadline) = checked.filter(|it| it.due_at <= known_until) else { continue };
            candidates.push(Candidate { deadline, queue, key, setting: rule.clone() });
        }
    }

    /// The command about one job, unless it was given before or is held back.
    fn timeout(
        &mut self,
        state: &State,
        candidate: &Candidate,
        making: &mut Making,
    ) -> Option<Command> {
        let Candidate { deadline, queue, key, setting } = candidate;
        let (rule, dry_run) = (setting.rule, setting.mode != Mode::On);
        let job = state.jobs.of(*key)?;
        let case = self.around.case(state, job)?;
        let kind = kind(rule, &case);
        if was_given(state, (setting, *key), deadline) {
            self.due.remove((rule, *queue), *key);
            return None;
        }
        if is_taken(state, &self.around, *key) {
            return None;
        }
        if let Some(why) = too_many_moves(state, *key, kind) {
            making.hold((rule, *queue), 1, why);
            return None;
        }
        let (left, why) = making.budget(state, dry_run).left(state, rule, *queue);
        if left == 0 {
            making.hold((rule, *queue), 1, why);
            return None;
        }
        making.budget(state, dry_run).take(rule.name(), *queue, 1);
        Some(make::about_job(state, (rule, kind, dry_run), job, deadline))
    }

    /// Commands that nobody answered in time, if what they ask for is still to be done.
    fn repeat(&mut self, state: &State, setting: &CommandSetting, making: &mut Making) {
        let governor = &setting.governor;
        let mut waiting = BTreeSet::new();
        for id in std::mem::take(&mut self.repeats) {
            let Some(known) = state.commands.of(id) else { continue };
            let Some(at) = known.repeat_at(governor.repeat_after, governor.repeats) else {
                continue;
            };
            if at > state.now {
                // Its timer calls it.
                continue;
            }
            // What is not wanted now may be wanted again: a job that was alive may have died.
            waiting.insert(id);
            let rule = CommandRule::from_name(&known.command.rule);
            let Some(rule) = rule.and_then(|rule| setting.rule(rule)) else { continue };
            let jobs = self.wanted(state, (rule, &known.command), making);
            if jobs.is_empty() {
                continue;
            }
            let queue = state.known_name(&known.command.queue).unwrap_or(Name::NONE);
            let is_held = hold(state, &self.around, rule.rule, queue).is_some();
            if is_held || making.commands.len() >= governor.commands_per_cycle {
                continue;
            }
            waiting.remove(&id);
            making.order(make::repeated(state, &known.command, &jobs));
        }
        self.repeats = waiting;
    }

    /// The jobs of a command for which it is still to be done, and that no other command asks
    /// about.
    fn wanted<'a>(
        &self,
        state: &State,
        of: (&RuleSetting, &'a Command),
        making: &Making,
    ) -> Vec<&'a String> {
        let is_wanted = |name: &&String| {
            let key = Key::of(name.as_bytes());
            !making.ordered.contains(&key)
                && !is_ordered(state, key)
                && is_due(state, &self.around, of, key)
        };
        of.1.about().iter().filter(is_wanted).collect()
    }
}

/// Whether a rule gave its command about a job before, since the same clock ran out; what was
/// published for people to see is none once the rule acts.
fn was_given(state: &State, (setting, key): (&RuleSetting, Key), deadline: &Deadline) -> bool {
    let attempt = state.jobs.of(key).map_or(0, |job| job.attempt);
    let name = state.job_name(key);
    let id = make::id_of(state, setting.rule, &name, attempt, deadline.clock_at);
    let known = state.commands.of(id);
    known.is_some_and(|known| setting.mode != Mode::On || known.command.is_order())
}
