//! Commands that were published, what became of them, and what is held back.

use crate::event::OutcomeKind;
use crate::id::Key;
use crate::output::command::{Command, CommandId, CommandKind};
use crate::record::record;
use crate::state::NamedTable;
use crate::state::job::Job;
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// A command, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandState {
    /// Its newest record.
    pub command: Command,
    /// Since when it counts in the budgets: when it was first published, or, if that was for people
    /// to see, when it was first published to be carried out.
    pub counts_since: Millis,
    /// The newest outcome about it; `None`: there is none yet.
    pub answer: Option<CommandAnswer>,
}

/// The newest outcome about a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandAnswer {
    /// When.
    pub at: Millis,
    /// The end that it tells.
    pub kind: OutcomeKind,
    /// Why, for a reader.
    pub reason: String,
}

/// Whether an outcome settles a command: it was carried out, or refused on purpose.
pub fn is_settled(kind: OutcomeKind) -> bool {
    matches!(kind, OutcomeKind::Accepted | OutcomeKind::Refused)
}

impl CommandState {
    /// Whether nothing more is to be done about it.
    pub fn is_settled(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| is_settled(answer.kind))
    }

    /// Whether its jobs count as commanded: ordered to end or to move, and not refused.
    pub fn takes_jobs(&self) -> bool {
        let kind = self.answer.as_ref().map(|answer| answer.kind);
        let is_refused = kind == Some(OutcomeKind::Refused);
        self.command.is_order() && self.command.kind.takes_jobs() && !is_refused
    }

    /// Whether a job counts as commanded by it: until it expires, and in the attempt that it is
    /// about if it names one.
    pub fn takes(&self, job: &Job, now: Millis) -> bool {
        let names_no_attempt =
            matches!(self.command.kind, CommandKind::Rebroker | CommandKind::KillWorkflow);
        let is_about = names_no_attempt || self.command.attempt == job.attempt;
        self.takes_jobs() && self.command.expires_at > now && is_about
    }

    /// Whether somebody may still carry it out, now or after it is repeated.
    pub fn is_open(&self, now: Millis, repeats: u32) -> bool {
        let lives = self.command.expires_at > now || self.command.repeat < repeats;
        self.command.is_order() && !self.is_settled() && lives
    }

    /// When it is repeated if nobody answers; `None` if it is not. `after`: the first pause, which
    /// doubles with each repeat, of which there are `most` at most.
    pub fn repeat_at(&self, after: Millis, most: u32) -> Option<Millis> {
        let is_open = self.command.is_order() && !self.is_settled();
        (is_open && self.command.repeat < most)
            .then(|| self.command.now.saturating_add(pause(after, self.command.repeat)))
    }
}

/// How long a command waits for an answer before it is repeated, after its record of that number;
/// ms.
pub fn pause(after: Millis, repeat: u32) -> Millis {
    after.saturating_mul(1 << repeat.min(20))
}

/// All published commands, and reports on jobs that are held back, with their indices.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// By id, as text.
    pub table: NamedTable<CommandState>,
    /// The newest report on the jobs that a rule holds back at a queue, by (rule, queue).
    pub held: NamedTable<Command>,
    /// Commands about each job; derived.
    pub of_job: BTreeMap<Key, BTreeSet<CommandId>>,
    /// All commands by since when they count in the budgets; derived.
    pub recent: BTreeSet<(Millis, CommandId)>,
    /// Commands to be carried out that are not settled; derived.
    pub unsettled: BTreeSet<CommandId>,
}

/// The name under which what a rule holds back at a queue is stored.
pub fn held_name(rule: &str, queue: &str) -> String {
    format!("{rule} {queue}")
}

impl Commands {
    /// A command by its id.
    pub fn of(&self, id: CommandId) -> Option<&CommandState> {
        self.table.of(&id.to_string())
    }

    /// Commands about a job, in no order that means anything.
    pub fn about(&self, job: Key) -> impl Iterator<Item = &CommandState> {
        let ids = self.of_job.get(&job).into_iter().flatten();
        ids.filter_map(|id| self.of(*id))
    }

    /// Takes in a command in place of what is known of it; `false` if that is newer.
    pub fn take(&mut self, command: &Command) -> bool {
        let name = command.id.to_string();
        let known = self.table.of(&name);
        if known.is_some_and(|known| known.command.repeat >= command.repeat) {
            return false;
        }
        // What was published for people to see says nothing of the command that follows it.
        let goes_on = known.filter(|known| known.command.dry_run == command.dry_run);
        let counts_since = goes_on.map_or(command.now, |known| known.counts_since);
        let answer = goes_on.and_then(|known| known.answer.clone());
        let state = CommandState { command: command.clone(), counts_since, answer };
        if let Some(known) = known.cloned() {
            self.unindex(&known);
        }
        self.index(&state);
        if let Some(held) = self.table.at(&name, || state.clone()) {
            *held = state;
        }
        true
    }

    /// Notes what is derived of a command.
    pub fn index(&mut self, state: &CommandState) {
        let id = state.command.id;
        for job in state.command.about() {
            self.of_job.entry(Key::of(job.as_bytes())).or_default().insert(id);
        }
        self.recent.insert((state.counts_since, id));
        if state.command.is_order() && !state.is_settled() {
            self.unsettled.insert(id);
        }
    }

    /// Takes back what is derived of a command.
    fn unindex(&mut self, state: &CommandState) {
        let id = state.command.id;
        self.recent.remove(&(state.counts_since, id));
        self.unsettled.remove(&id);
        for job in state.command.about() {
            let key = Key::of(job.as_bytes());
            if let Some(ids) = self.of_job.get_mut(&key) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.of_job.remove(&key);
                }
            }
        }
    }

    /// Takes in what became of a command; `false` if that is not news.
    pub fn answer(&mut self, id: CommandId, answer: CommandAnswer) -> bool {
        let known = self.table.of(&id.to_string());
        if known.is_none_or(|known| known.answer.as_ref().is_some_and(|known| *known >= answer)) {
            return false;
        }
        let Some(state) = self.table.at_known(&id.to_string()) else { return false };
        state.answer = Some(answer);
        if state.is_settled() {
            self.unsettled.remove(&id);
        } else if state.command.is_order() {
            self.unsettled.insert(id);
        }
        true
    }

    /// Finds all again, after they were put in by slot.
    pub fn settle(&mut self) {
        self.held.slab.settle();
        for (slot, report) in self.held.slab.iter() {
            self.held.by_name.insert(held_name(&report.rule, &report.queue), slot);
        }
        self.table.slab.settle();
        let slots: Vec<u32> = self.table.slab.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            let Some(state) = self.table.slab.get(slot).cloned() else { continue };
            self.table.by_name.insert(state.command.id.to_string(), slot);
            self.index(&state);
        }
    }

    /// Forgets a command.
    pub fn remove(&mut self, id: CommandId) {
        if let Some(state) = self.table.remove(&id.to_string()) {
            self.unindex(&state);
        }
    }
}

record!(CommandAnswer { at, kind, reason });
record!(CommandState { command, counts_since, answer });
