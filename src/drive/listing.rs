//! Which records of topic `command` count for a program that follows it: those that the `progress`
//! record of their cycle lists. Any other one is a copy or an invention, and is passed over.

use crate::core::cut::{Lane, Topic};
use crate::core::event::Garbled;
use crate::core::output::Output;
use crate::core::output::command::Command;
use crate::core::output::progress::Progress;
use crate::core::unit::Millis;
use crate::drive::outputs::{listed_of, output_hash};
use crate::drive::own::Newest;
use crate::drive::stray::{Stray, Strays};
use crate::wire::avro::Codec;
use std::collections::{BTreeMap, BTreeSet};

/// Most hashes that are remembered until their commands are read; the oldest go first.
const LISTED_MAX: usize = 200_000;
/// Most commands that wait for the `progress` record of the cycle they claim.
const WAITING_MAX: usize = 100_000;
/// How many cycles that follow each other, and not the last one read, take its place.
const APART_MAX: usize = 10;

/// Where a record is.
pub type Place = (Lane, u64);

/// See the module.
pub struct Listing {
    domain: String,
    newest: Option<Newest>,
    /// Cycles that do not follow the newest one but each other.
    apart: Vec<Progress>,
    /// Cycle, lane and hash of commands that were listed and not read yet.
    listed: BTreeSet<(u64, Lane, u64)>,
    /// By the cycle they claim: commands that were read before it.
    waiting: BTreeMap<u64, Vec<Waiting>>,
    waiting_count: usize,
    /// The last cycle that has commands and lists no hashes.
    unlisted: u64,
    strays: Strays,
}

struct Waiting {
    place: Place,
    hash: u64,
    command: Command,
}

impl Listing {
    /// Of a domain, with nothing read.
    pub fn new(domain: &str) -> Listing {
        Listing {
            domain: domain.to_owned(),
            newest: None,
            apart: Vec::new(),
            listed: BTreeSet::new(),
            waiting: BTreeMap::new(),
            waiting_count: 0,
            unlisted: 0,
            strays: Strays::default(),
        }
    }

    /// The domain whose commands are read.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The `now` of the newest cycle read; 0 if there is none.
    pub fn now(&self) -> Millis {
        self.newest.as_ref().map_or(0, |newest| newest.now)
    }

    /// The oldest cycle that is to be read for the sake of a command that waits for it.
    pub fn oldest_wanted(&self) -> Option<u64> {
        self.waiting.keys().next().copied()
    }

    /// Takes up a record of topic `command`; gives the command if it is known to count. One that is
    /// not wanted is forgotten.
    pub fn command(
        &mut self,
        codec: &Codec,
        place: Place,
        value: Option<&[u8]>,
        wants: &dyn Fn(&Command) -> bool,
    ) -> Option<Command> {
        let read = value.map_or(Err(Garbled::Null), |it| codec.read_output(Topic::Command, it));
        let output = match read {
            Ok(output) if output.domain() != self.domain => return None,
            Ok(output) if output.has_right_id() => output,
            Ok(_) => {
                self.stray(place, Stray::Surplus, "its id is not that of its content");
                return None;
            }
            Err(why) => {
                let why = format!("no command ({})", why.name());
                self.stray(place, Stray::Unreadable, &why);
                return None;
            }
        };
        let Output::Command(command) = output else { return None };
        let hash = value.map_or(0, output_hash);
        self.listed_or_waiting(Waiting { place, hash, command: *command }, wants)
    }

    fn listed_or_waiting(
        &mut self,
        read: Waiting,
        wants: &dyn Fn(&Command) -> bool,
    ) -> Option<Command> {
        let cycle = read.command.cycle;
        let is_listed = self.listed.remove(&(cycle, read.place.0, read.hash));
        if !wants(&read.command) {
            return None;
        }
        if is_listed {
            return Some(read.command);
        }
        if self.newest.as_ref().is_some_and(|newest| newest.number >= cycle) {
            self.surplus(&read);
        } else if self.waiting_count >= WAITING_MAX {
            let why = format!("more than {WAITING_MAX} commands wait for their cycles");
            self.stray(read.place, Stray::Surplus, &why);
        } else {
            self.waiting_count += 1;
            self.waiting.entry(cycle).or_default().push(read);
        }
        None
    }

    /// Takes up a record of topic `progress`; gives commands that are now known to count.
    pub fn progress(&mut self, codec: &Codec, place: Place, value: Option<&[u8]>) -> Vec<Command> {
        let read = value.map_or(Err(Garbled::Null), |value| codec.read_progress(value));
        let progress = match read {
            Ok(progress) if progress.domain != self.domain => return Vec::new(),
            Ok(progress) => progress,
            Err(why) => {
                let why = format!("no progress record ({})", why.name());
                self.stray(place, Stray::Unreadable, &why);
                return Vec::new();
            }
        };
        if self.newest.as_ref().is_none_or(|newest| newest.is_followed_by(&progress)) {
            self.apart.clear();
            return self.take(&progress);
        }
        self.set_apart(place, progress)
    }

    /// Passes over a cycle that is not the next one. If a number of them follow each other, and
    /// none follows the last one read, they are those of this domain.
    fn set_apart(&mut self, place: Place, progress: Progress) -> Vec<Command> {
        let number = progress.number;
        let why = format!("cycle {number} of epoch {} does not follow the last", progress.epoch);
        self.stray(place, Stray::Surplus, &why);
        if !self.apart.last().is_some_and(|last| Newest::of(last).is_followed_by(&progress)) {
            self.apart.clear();
        }
        self.apart.push(progress);
        if self.apart.len() < APART_MAX {
            return Vec::new();
        }
        let apart = std::mem::take(&mut self.apart);
        apart.iter().flat_map(|progress| self.take(progress)).collect()
    }

    /// A cycle that counts: what it lists counts, what only claims it does not.
    fn take(&mut self, progress: &Progress) -> Vec<Command> {
        let number = progress.number;
        self.newest = Some(Newest::of(progress));
        match listed_of(progress, Topic::Command) {
            Some(listed) => {
                self.listed.extend(listed.into_iter().map(|(lane, hash)| (number, lane, hash)));
            }
            None => self.unlisted = number,
        }
        while self.listed.len() > LISTED_MAX {
            self.listed.pop_first();
        }
        let later = self.waiting.split_off(&number.saturating_add(1));
        let due = std::mem::replace(&mut self.waiting, later);
        let mut counting = Vec::new();
        for read in due.into_values().flatten() {
            self.waiting_count -= 1;
            match self.listed.remove(&(read.command.cycle, read.place.0, read.hash)) {
                true => counting.push(read.command),
                false => self.surplus(&read),
            }
        }
        counting
    }

    fn surplus(&mut self, read: &Waiting) {
        let Command { id, cycle, .. } = &read.command;
        let why = match *cycle == self.unlisted {
            true => format!("command {id}: cycle {cycle} has too many outputs to list them"),
            false => format!("command {id}: not listed by the progress record of cycle {cycle}"),
        };
        self.stray(read.place, Stray::Surplus, &why);
    }

    fn stray(&mut self, (lane, offset): Place, stray: Stray, why: &str) {
        self.strays.note(lane, offset, stray, why);
    }

    /// What was passed over since this was last called, for people: the first ones by name.
    pub fn take_notices(&mut self) -> Vec<String> {
        self.strays.take().1
    }
}

#[cfg(test)]
mod tests;
