//! Commands to be carried out: which are open, and in which order they are handed out. What is
//! about one subject is handed out one after the other.

use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::output::command::{Command, CommandId};
use yardmaster_core::state::commands::{CommandAnswer, is_settled};

/// Most commands that are remembered: those that wait, and what became of others.
pub const KNOWN_MAX: usize = 50_000;

/// Whether a command is to be carried out, by its newest record and the newest outcome about it:
/// it is an order, not settled, and was published since it was last tried. Whether it is expired is
/// another matter.
pub fn is_open(command: &Command, answer: Option<&CommandAnswer>) -> bool {
    let is_order = command.is_order() && command.held_back().is_none();
    is_order && answer.is_none_or(|it| !is_settled(it.kind) && it.at < command.now)
}

/// Commands that wait, those that are handed out, and the outcomes of others.
#[derive(Default)]
pub struct Orders {
    known: BTreeMap<CommandId, Known>,
    /// Those that wait, in the order in which they came.
    waiting: BTreeMap<u64, CommandId>,
    /// Subjects of those that are handed out now.
    busy: BTreeSet<String>,
    next: u64,
}

struct Known {
    /// Its newest record.
    command: Command,
    /// The newest outcome about it.
    answer: Option<CommandAnswer>,
    /// Its place among those that wait.
    place: Option<u64>,
    /// The newest repeat that was handed out.
    handed: Option<u32>,
    /// Whether it is handed out now.
    is_busy: bool,
}

impl Orders {
    /// Takes up a record. `false`: too many commands wait, so it is left to its next repeat.
    pub fn publish(&mut self, command: Command) -> bool {
        let id = command.id;
        if command.held_back().is_some() {
            return true;
        }
        if !self.known.contains_key(&id) && self.known.len() >= KNOWN_MAX && !self.forget() {
            return false;
        }
        let order = |it: &Command| (it.repeat, it.cycle, it.number);
        match self.known.get_mut(&id) {
            Some(known) if order(&known.command) >= order(&command) => return true,
            Some(known) => known.command = command,
            None => {
                let known =
                    Known { command, answer: None, place: None, handed: None, is_busy: false };
                self.known.insert(id, known);
            }
        }
        self.arrange(id);
        true
    }

    /// Takes up an outcome. One about a command that is not known has no effect.
    pub fn answer(&mut self, id: CommandId, answer: CommandAnswer) {
        let Some(known) = self.known.get_mut(&id) else { return };
        if known.answer.as_ref().is_none_or(|held| *held < answer) {
            known.answer = Some(answer);
            self.arrange(id);
        }
    }

    /// Gives a command a place if it is open, and takes it away if it is not.
    fn arrange(&mut self, id: CommandId) {
        let Some(known) = self.known.get_mut(&id) else { return };
        let is_new = known.handed.is_none_or(|repeat| repeat < known.command.repeat);
        match (is_new && is_open(&known.command, known.answer.as_ref()), known.place) {
            (true, None) => {
                known.place = Some(self.next);
                self.waiting.insert(self.next, id);
                self.next += 1;
            }
            (false, Some(place)) => {
                known.place = None;
                self.waiting.remove(&place);
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Hands out the first command whose subject is free.
    pub fn take(&mut self) -> Option<(Command, Option<CommandAnswer>)> {
        let is_free = |id: &CommandId| {
            self.known.get(id).is_some_and(|it| !self.busy.contains(&it.command.subject))
        };
        let (place, id) =
            self.waiting.iter().find(|(_, id)| is_free(id)).map(|(place, id)| (*place, *id))?;
        self.waiting.remove(&place);
        let known = self.known.get_mut(&id)?;
        (known.place, known.is_busy) = (None, true);
        known.handed = Some(known.command.repeat);
        self.busy.insert(known.command.subject.clone());
        Some((known.command.clone(), known.answer.clone()))
    }

    /// The outcome of a command that was handed out is published.
    pub fn done(&mut self, command: &Command, answer: CommandAnswer) {
        self.busy.remove(&command.subject);
        if let Some(known) = self.known.get_mut(&command.id) {
            known.is_busy = false;
        }
        self.answer(command.id, answer);
    }

    /// How many commands wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Forgets a tenth of what is known, the oldest first; `false` if all of it is needed.
    fn forget(&mut self) -> bool {
        let is_over = |it: &Known| it.place.is_none() && !it.is_busy;
        let over = self.known.iter().filter(|(_, it)| is_over(it));
        let mut over: Vec<_> = over.map(|(id, it)| (it.command.now, *id)).collect();
        over.sort_unstable();
        over.truncate(KNOWN_MAX / 10);
        over.iter().for_each(|(_, id)| drop(self.known.remove(id)));
        !over.is_empty()
    }
}

#[cfg(test)]
mod tests;
