//! Commands that were published, what became of them, and what is held back.

use crate::command::CommandRule;
use crate::event::OutcomeKind;
use crate::id::Key;
use crate::output::command::{Command, CommandId, CommandKind};
use crate::output::decision::{Decision, Outcome, Ranked};
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
    /// Commands that take jobs back from a queue where they wait to be started, and alerts of such,
    /// by queue and task; derived.
    of_task: BTreeMap<(String, String), BTreeSet<CommandId>>,
}

/// How often jobs of a task were taken back from a queue, as far as that is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// Times; moves that are so little apart that they are of different jobs count as one.
    pub times: usize,
    /// When the first of them began; 0: there is none.
    pub first: Millis,
    /// When the last of them began.
    pub begun: Millis,
    /// When that was asked for last, whatever became of it.
    pub last: Millis,
}

/// The name under which what a rule holds back at a queue is stored.
pub fn held_name(rule: &str, queue: &str) -> String {
    format!("{rule} {queue}")
}

impl Commands {
    /// A command by its id.
    pub fn of(&self, id: CommandId) -> Option<&CommandState> {
        let mut name = [0; 32];
        hex::encode_to_slice(id.0, &mut name).ok()?;
        self.table.of(std::str::from_utf8(&name).ok()?)
    }

    /// Commands about a job, in no order that means anything.
    pub fn about(&self, job: Key) -> impl Iterator<Item = &CommandState> {
        let ids = self.of_job.get(&job).into_iter().flatten();
        ids.filter_map(|id| self.of(*id))
    }

    /// Commands that took jobs of a task back from a queue, and alerts of such; of none where the
    /// task is empty.
    pub fn of_task(&self, queue: &str, task: &str) -> impl Iterator<Item = &CommandState> {
        let ids = self.of_task.get(&(queue.to_owned(), task.to_owned())).into_iter().flatten();
        ids.filter_map(|id| self.of(*id))
    }

    /// The same of all tasks.
    pub fn of_queue(&self, queue: &str) -> impl Iterator<Item = &CommandState> {
        let from = self.of_task.range((queue.to_owned(), String::new())..);
        let ids = from.take_while(move |((known, _), _)| known == queue);
        ids.flat_map(|(_, ids)| ids).filter_map(|id| self.of(*id))
    }

    /// How often jobs of a task were taken back from a queue, by orders or by commands that were
    /// published for people to see. `round`: moves that are less apart are of different jobs.
    pub fn taken_back(
        &self,
        (queue, task): (&str, &str),
        dry_run: bool,
        round: Millis,
    ) -> TakenBack {
        let is_move =
            |known: &&CommandState| known.command.kind.moves() && known.command.dry_run == dry_run;
        let mut moments = BTreeSet::new();
        let mut taken = TakenBack::default();
        for known in self.of_task(queue, task).filter(is_move) {
            taken.last = taken.last.max(known.command.now);
            if dry_run || known.takes_jobs() {
                moments.insert(known.counts_since);
            }
        }
        taken.first = moments.first().copied().unwrap_or(0);
        for at in moments {
            if taken.times == 0 || at >= taken.begun.saturating_add(round.max(1)) {
                taken.times += 1;
                taken.begun = at;
            }
        }
        taken
    }

    /// To how many queues a decision gives jobs of a task of which jobs were taken back from there.
    pub fn repeated(&self, decision: &Decision) -> u64 {
        let Outcome::Assign(ranked) = &decision.outcome else { return 0 };
        if decision.dry_run || self.of_task.is_empty() {
            return 0;
        }
        let is_repeated = |queue: &&Ranked| {
            queue.jobs > 0 && self.taken_back((&queue.unified, &decision.task), false, 0).times > 0
        };
        ranked.iter().filter(is_repeated).count() as u64
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
        if takes_back(&state.command) {
            self.of_task.entry(place(&state.command)).or_default().insert(id);
        }
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
            leave(&mut self.of_job, &Key::of(job.as_bytes()), id);
        }
        leave(&mut self.of_task, &place(&state.command), id);
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

/// Takes a command out of an index.
fn leave<K: Ord>(index: &mut BTreeMap<K, BTreeSet<CommandId>>, key: &K, id: CommandId) {
    let Some(ids) = index.get_mut(key) else { return };
    ids.remove(&id);
    if ids.is_empty() {
        index.remove(key);
    }
}

/// Whether a command takes jobs back from a queue where they wait to be started, or tells of such.
pub fn takes_back(command: &Command) -> bool {
    let rule = CommandRule::from_name(&command.rule);
    let is_about = command.kind.moves() || command.kind == CommandKind::Alert;
    is_about && rule.is_some_and(CommandRule::waits_for_start)
}

/// Queue and task of a command.
fn place(command: &Command) -> (String, String) {
    (command.queue.clone(), command.task.clone())
}

record!(CommandAnswer { at, kind, reason });
record!(CommandState { command, counts_since, answer });
