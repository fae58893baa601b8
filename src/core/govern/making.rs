//! Commands and holds of a cycle while they are being collected.

use super::budget::Budget;
use super::facts::Surroundings;
use super::hold::Hold;
use crate::command::{CommandRule, Mode, RuleSetting};
use crate::id::{Key, Name};
use crate::output::command::{Command, CommandKind};
use crate::state::State;
use crate::state::commands::CommandState;
use crate::state::job::Job;
use crate::state::ledger::at_queue;
use crate::unit::{HOUR, Millis};
use std::collections::{BTreeMap, BTreeSet};

/// Held-back jobs of a cycle: by rule and queue, how many and why.
pub(super) type HeldBackJobs = BTreeMap<(CommandRule, Name), (u64, Hold)>;

/// The commands of a cycle, the jobs that it holds back, and the budgets left.
pub(crate) struct Making {
    pub commands: Vec<Command>,
    pub held: HeldBackJobs,
    /// Jobs that a command of this cycle is about that is to be carried out.
    pub ordered: BTreeSet<Key>,
    /// Jobs that a command of this cycle is about, by rule.
    made: BTreeSet<(CommandRule, Key)>,
    /// Why jobs of a task that a rule is due for stay at a queue, as far as that was asked.
    pub circles: BTreeMap<(CommandRule, Name, Key), Option<Hold>>,
    /// Budgets of commands to be carried out and of dry-run commands; each is made when it is first
    /// asked for.
    budgets: [Option<Budget>; 2],
}

impl Making {
    /// Nothing yet.
    pub(super) fn new() -> Making {
        Making {
            commands: Vec::new(),
            held: HeldBackJobs::new(),
            ordered: BTreeSet::new(),
            made: BTreeSet::new(),
            circles: BTreeMap::new(),
            budgets: [None, None],
        }
    }

    /// Takes in a command that is to be carried out.
    pub(crate) fn order(&mut self, command: Command) {
        if command.kind.takes_jobs() {
            self.ordered.extend(command.about().iter().map(|job| Key::of(job.as_bytes())));
        }
        self.show(command);
    }

    /// Takes in a command that is for people to see.
    pub(crate) fn show(&mut self, command: Command) {
        let jobs = command.about().iter().map(|job| Key::of(job.as_bytes()));
        if let Some(rule) = CommandRule::from_name(&command.rule) {
            self.made.extend(jobs.map(|job| (rule, job)));
        }
        self.commands.push(command);
    }

    /// Whether a rule gives a command about a job in this cycle.
    pub(super) fn was_made(&self, rule: CommandRule, job: Key) -> bool {
        self.made.contains(&(rule, job))
    }

    /// Which budget leaves nothing for a rule at a queue.
    pub(crate) fn used_up(
        &mut self,
        state: &State,
        setting: &RuleSetting,
        queue: Name,
    ) -> Option<Hold> {
        let budget = self.budget(state, setting.mode != Mode::On);
        let (left, why) = budget.left(state, setting.rule, queue);
        (left == 0).then_some(why)
    }

    /// The budget of a mode, at the cut of the state.
    pub(crate) fn budget(&mut self, state: &State, dry_run: bool) -> &mut Budget {
        self.budgets[usize::from(dry_run)].get_or_insert_with(|| Budget::of(state, dry_run))
    }

    /// Notes that jobs of a queue are held back.
    pub(crate) fn hold(&mut self, at: (CommandRule, Name), jobs: u64, why: Hold) {
        if jobs > 0 {
            self.held.entry(at).or_insert((0, why)).0 += jobs;
        }
    }
}

/// Why a job is not moved again: it was moved as often as it may be within the window.
pub(crate) fn too_many_moves(state: &State, job: Key, kind: CommandKind) -> Option<Hold> {
    if !kind.moves() {
        return None;
    }
    let governor = &state.setting.commands.governor;
    let horizon = state.now.saturating_sub(governor.moves_window);
    let is_move = |known: &&CommandState| {
        known.takes_jobs() && known.command.kind.moves() && known.counts_since > horizon
    };
    let moves = state.commands.about(job).filter(is_move).count() as u32;
    (moves >= governor.moves_per_job).then_some(Hold::Moves(moves))
}

/// How long nothing of a task must have finished at a queue before its jobs leave it.
const QUIET: Millis = 3 * HOUR;

/// Why a user's job stays where it waits: its task gets on at the queue (spec atlas 5). At a queue
/// that takes no new work that is no reason.
pub(super) fn task_busy(
    state: &State,
    around: &Surroundings,
    rule: CommandRule,
    job: &Job,
) -> Option<Hold> {
    let queue = job.names[0];
    if rule != CommandRule::AnalysisTimeout || around.is_out(state.names.text(queue)) {
        return None;
    }
    let ended = state.ledger.ended.of(at_queue(job.task, queue, 0))?;
    let [finished, ..] = ended.since(state.now.saturating_sub(QUIET));
    (finished > 0).then_some(Hold::TaskBusy(finished))
}
