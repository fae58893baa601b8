//! Command evaluation: the commands of a cycle, after its decisions and throttles.

use super::circles::{Circle, alert_again};
use super::due::Due;
use super::facts::{Surroundings, known_until};
use super::found::FoundJobs;
use super::hold::{Hold, hold};
use super::making::{Making, task_busy, too_many_moves};
use super::open::{is_due, is_ordered, is_taken, unanswered};
use super::timeout::{Deadline, kind};
use super::{make, report};
use crate::command::{CommandRule, CommandSetting, Mode, RuleSetting};
use crate::domain::atlas::govern::rebroker::{self, Elsewhere};
use crate::domain::cms::govern as pool;
use crate::domain::cms::policy::cut::Step;
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::own::govern as own;
use crate::id::{Key, Name};
use crate::output::command::{Command, CommandId, CommandKind};
use crate::policy::DomainCommand;
use crate::state::State;
use crate::state::job::Job;
use crate::unit::Millis;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// Evaluates the command rules in each cycle, and keeps the data that they need between cycles.
#[derive(Default)]
pub(crate) struct CommandEvaluation {
    around: Surroundings,
    due: Due,
    /// Commands that nobody answered in time.
    repeats: BTreeSet<CommandId>,
    /// Whether every job is to be looked at.
    is_cold: bool,
    /// The commands of this cycle that its decisions depend on; `None`: there are none.
    begun: Option<Making>,
    /// Commands that a domain asked for in this cycle: by subject and moment, why.
    asked: BTreeMap<(String, Millis), String>,
    /// Whether more tasks were to be judged for another queue than one cycle judges.
    is_cut_off: bool,
}

/// Actions that a pool of slots wants in a step of a cut, after the given actions of the step
/// before took effect.
type Asks<'a> = dyn FnMut(&State, Step, &[PoolAction]) -> Vec<PoolAction> + 'a;

/// The next job of a group, in the order in which commands are given.
type Next = Reverse<(Millis, CommandRule, Key, Name)>;

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

    /// Makes the commands of actions that the decisions of this cycle depend on. Gives those that
    /// are to be carried out: they take effect now. [`CommandEvaluation::evaluate`] gives the
    /// commands, with the others of the cycle.
    pub(crate) fn begin(&mut self, state: &mut State, actions: &[PoolAction]) -> Vec<PoolAction> {
        self.begun = None;
        if actions.is_empty() || state.setting.commands.is_idle() {
            return Vec::new();
        }
        let setting = state.setting.commands.clone();
        let mut making = Making::new();
        let given = pool::act(state, &self.around, &setting, actions, &mut making);
        self.begun = Some(making);
        given
    }

    /// Forgets all that is derived: the next cycle begins with looking at every job.
    pub(crate) fn forget(&mut self, state: &mut State) {
        *self = CommandEvaluation::default();
        state.looks.cool();
    }

    /// The commands that are published in this cycle; not folded yet. `asked`: what a domain that a
    /// program brings asks for. `elsewhere`: whether jobs would go to another queue. `actions` is
    /// asked for each step after the decisions.
    pub(crate) fn evaluate(
        &mut self,
        state: &mut State,
        asked: &[DomainCommand],
        elsewhere: &Elsewhere<'_>,
        actions: &mut Asks<'_>,
    ) -> VecDeque<Command> {
        self.is_cut_off = false;
        let setting = state.setting.commands.clone();
        if setting.is_idle() {
            return VecDeque::new();
        }
        if std::mem::take(&mut self.is_cold) || !state.looks.is_warm {
            self.due.begin(state, &self.around);
        }
        self.due.look(state, &mut self.around);
        let mut making = self.begun.take().unwrap_or_else(Making::new);
        self.timeouts(state, &setting, &mut making);
        if let Some(rule) = setting.rule(CommandRule::FastRebrokerage) {
            let beyond = rebroker::rebroker((state, &self.around), rule, elsewhere, &mut making);
            self.is_cut_off = beyond;
        }
        if let Some(rule) = setting.rule(CommandRule::Domain) {
            own::give(state, &self.around, (&setting, rule), asked, &mut making);
        }
        let why = |it: &DomainCommand| ((it.subject.clone(), it.since), it.note.clone());
        self.asked = asked.iter().map(why).collect();
        let mut given = Vec::new();
        for step in Step::AFTER {
            let asked = actions(state, step, &given);
            given = pool::act(state, &self.around, &setting, &asked, &mut making);
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

    /// Whether the last evaluation left tasks for others to judge.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Jobs whose deadline has passed, the longest overdue first. Of a group no more is looked at
    /// than its budget allows.
    fn timeouts(&mut self, state: &mut State, setting: &CommandSetting, making: &mut Making) {
        let mut next: BinaryHeap<Next> = BinaryHeap::new();
        let groups: Vec<(CommandRule, Name)> = self.due.groups.keys().copied().collect();
        for at in groups {
            let Some(rule) = setting.rule(at.0) else { continue };
            let held = hold(state, &self.around, at.0, at.1);
            // Nobody misses what a rule would do that only shows it, where its input is not fed.
            if rule.mode == Mode::DryRun && matches!(held, Some(Hold::InputStale(_, None))) {
                continue;
            }
            match held.or_else(|| making.used_up(state, rule, at.1)) {
                Some(why) => self.hold_group(state, (setting, rule), at.1, why, making),
                None => {
                    let first = self.due.groups.get(&at).and_then(FoundJobs::first);
                    next.extend(first.map(|(due_at, key)| Reverse((due_at, at.0, key, at.1))));
                }
            }
        }
        while let Some(Reverse((found_at, name, key, queue))) = next.pop() {
            if making.commands.len() >= setting.governor.commands_per_cycle {
                break;
            }
            let Some(rule) = setting.rule(name) else { continue };
            if let Some(why) = making.used_up(state, rule, queue) {
                self.hold_group(state, (setting, rule), queue, why, making);
                continue;
            }
            // What could have prevented it must have been read up to the deadline.
            let checked = self.due.check(state, &self.around, (rule, queue), key);
            if let Some(deadline) = checked.filter(|it| it.due_at == found_at)
                && deadline.due_at <= known_until(state, name)
            {
                match was_given(state, (rule, key), &deadline) {
                    true => self.due.give(state, (name, queue), key),
                    false => self.timeout(state, rule, (queue, key), &deadline, making),
                }
            }
            let group = self.due.groups.get(&(name, queue));
            let after = group.and_then(|group| group.after((found_at, key)));
            next.extend(after.map(|(due_at, key)| Reverse((due_at, name, key, queue))));
        }
    }

    /// Notes that a group is held back. Some of its jobs may be due no longer, which matters only
    /// where the number is published.
    fn hold_group(
        &mut self,
        state: &mut State,
        (setting, rule): (&CommandSetting, &RuleSetting),
        queue: Name,
        why: Hold,
        making: &mut Making,
    ) {
        let at = (rule.rule, queue);
        let Some(found) = self.due.groups.get(&at) else { return };
        // Those of it that are held back for reasons of their own are among them.
        making.held.remove(&at);
        if !report::is_due(state, setting, at) {
            return making.hold(at, found.len() as u64, why);
        }
        let keys: Vec<Key> = found.keys().collect();
        let mut is_held = |key: &&Key| {
            let due = self.due.check(state, &self.around, (rule, queue), **key);
            due.is_some_and(|deadline| {
                let is_given = was_given(state, (rule, **key), &deadline);
                !is_given
                    && !making.was_made(rule.rule, **key)
                    && !is_taken(state, &self.around, **key)
            })
        };
        let jobs = keys.iter().filter(|key| is_held(key)).count();
        making.hold(at, jobs as u64, why);
    }

    /// Gives the command about one job, unless it is held back.
    fn timeout(
        &self,
        state: &State,
        setting: &RuleSetting,
        (queue, key): (Name, Key),
        deadline: &Deadline,
        making: &mut Making,
    ) {
        let (rule, dry_run) = (setting.rule, setting.mode != Mode::On);
        let Some(job) = state.jobs.of(key) else { return };
        let Some(case) = self.around.case(state, job) else { return };
        let kind = kind(rule, &case);
        if making.ordered.contains(&key) || is_taken(state, &self.around, key) {
            return;
        }
        let task = self.around.task_name(job.task);
        let moved = || too_many_moves(state, key, kind);
        let busy = task_busy(state, &self.around, rule, job).or_else(moved);
        if let Some(why) = busy {
            return making.hold((rule, queue), 1, why);
        }
        if let Some(task) = task.as_deref().filter(|_| kind.moves())
            && let Some(why) = stays(state, setting, (queue, job), task, making)
        {
            return making.hold((rule, queue), 1, why);
        }
        making.budget(state, dry_run).take(rule.name(), queue, 1);
        let command = make::about_job(state, (rule, kind, dry_run), (job, task), deadline);
        match dry_run {
            true => making.show(command),
            false => making.order(command),
        }
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
            let Some(again) = self.again(state, (rule, &known.command), making) else { continue };
            let queue = state.known_name(&known.command.queue).unwrap_or(Name::NONE);
            let is_held = hold(state, &self.around, rule.rule, queue).is_some();
            if is_held || making.commands.len() >= governor.commands_per_cycle {
                continue;
            }
            waiting.remove(&id);
            making.order(again);
        }
        self.repeats = waiting;
    }

    /// A command once more, if what it asks for is still to be done.
    fn again(
        &self,
        state: &State,
        (setting, command): (&RuleSetting, &Command),
        making: &Making,
    ) -> Option<Command> {
        if setting.rule.is_of_pool() {
            return pool::again(state, setting, command);
        }
        if setting.rule == CommandRule::Domain {
            let why = self.asked.get(&(command.subject.clone(), command.clock_at?))?;
            let mut again = make::again(state, command);
            again.notes.insert(0, why.clone());
            return Some(again);
        }
        if command.kind == CommandKind::Alert {
            return alert_again(state, command);
        }
        let jobs = self.wanted(state, (setting, command), making);
        (!jobs.is_empty()).then(|| make::repeated(state, command, &jobs))
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
    let id = make::id_of(state, setting.rule, &name, attempt, Some(deadline.clock_at));
    let known = state.commands.of(id);
    known.is_some_and(|known| setting.mode != Mode::On || known.command.is_order())
}

/// Why a job of a task stays at a queue that jobs of the task were taken back from; found once for
/// all of them, and operations are alerted then if they are to be.
fn stays(
    state: &State,
    setting: &RuleSetting,
    (queue, job): (Name, &Job),
    task: &str,
    making: &mut Making,
) -> Option<Hold> {
    let of = (setting.rule, queue, job.task);
    if let Some(known) = making.circles.get(&of) {
        return known.clone();
    }
    let circle = Circle::of(state, setting, (queue, job.names[1]), task);
    if let Some(circle) = &circle {
        circle.alert(state, setting, making);
    }
    let why = circle.map(|circle| circle.stays);
    making.circles.insert(of, why.clone());
    why
}
