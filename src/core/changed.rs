//! Counters that changed, for telling others: absolute values, each with what it is of.
//!
//! What is told is a function of the state alone, so whoever follows the cycles in which counters
//! were told knows what the reader of that topic knows.

use crate::core::event::Status;
use crate::core::id::{Name, Names};
use crate::core::ledger::{Count, GROUP, Ledger, USER, USER_FOR_GROUP};
use crate::core::state::State;
use std::collections::BTreeMap;

/// Jobs in one state, and their cores, of one combination of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<'a> {
    /// What they are counted by.
    pub of: Of<'a>,
    /// The state.
    pub status: Status,
    /// Jobs; 0 when there are none any more.
    pub jobs: u32,
    /// Their cores.
    pub cores: u32,
}

/// What jobs are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of<'a> {
    /// Queue, gshare, resource type.
    Load([&'a str; 3]),
    /// User, queue.
    User([&'a str; 2]),
    /// Working group, queue.
    Group([&'a str; 2]),
    /// Nucleus.
    Nucleus(&'a str),
}

impl Ledger {
    /// Begins to note changes.
    pub fn watch_from_here(&mut self) {
        self.load.watch();
        self.who.watch();
        self.nucleus.watch();
    }

    /// Begins to note changes; every counter that is not 0 counts as changed.
    pub fn watch(&mut self) {
        self.watch_from_here();
        self.load.note_all(|load| figures(&load.count));
        self.who.note_all(figures);
        self.nucleus.note_all(figures);
    }

    /// Whether every change was told.
    pub fn is_told(&self) -> bool {
        self.load.is_told() && self.who.is_told() && self.nucleus.is_told()
    }

    /// Shows every counter that changed since this was last asked.
    pub fn tell(&mut self, names: &Names, show: &mut dyn FnMut(Changed<'_>)) {
        let text = |name: u32| names.text(Name(name));
        self.load.tell(|key, figures, load| {
            let of = Of::Load([text(key[0]), text(key[1]), text(key[2])]);
            show_each(of, figures, &load.count, show);
        });
        self.tell_people(names, show);
        self.nucleus.tell(|key, figures, count| {
            show_each(Of::Nucleus(text(key[0])), figures, count, show);
        });
    }

    /// Users and groups at queues: told are their jobs of all shares together.
    fn tell_people(&mut self, names: &Names, show: &mut dyn FnMut(Changed<'_>)) {
        let mut changed: BTreeMap<[u32; 3], u16> = BTreeMap::new();
        self.who.tell(|[name, queue, kind, _], figures, _| {
            *changed.entry([name, queue, u32::from(kind == GROUP)]).or_default() |= figures;
        });
        // Whoever has a job of a share at a queue has it where jobs of that share are counted.
        let mut shares: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        if !changed.is_empty() {
            let counted = self.share.iter();
            counted.for_each(|(key, _)| shares.entry(key[0]).or_default().push(key[1]));
        }
        for ([name, queue, is_group], figures) in changed {
            let kinds: &[u32] = if is_group == 1 { &[GROUP] } else { &[USER, USER_FOR_GROUP] };
            let mut sum = Count::NONE;
            for gshare in shares.get(&queue).into_iter().flatten() {
                let counts = kinds.iter().map(|kind| self.who.of([name, queue, *kind, *gshare]));
                counts.flatten().for_each(|count| sum.join(count));
            }
            let who = [names.text(Name(name)), names.text(Name(queue))];
            let of = if is_group == 1 { Of::Group(who) } else { Of::User(who) };
            show_each(of, figures, &sum, show);
        }
    }
}

impl State {
    /// Takes over the notes of changes of another state of the same records. A counter that fell to
    /// 0 is told then too, though nothing in the records speaks of it any more.
    pub fn take_notes(&mut self, other: &State) {
        self.ledger.watch_from_here();
        let text = |name: u32| other.names.text(Name(name));
        for (key, figures) in other.ledger.load.changed() {
            let [queue, gshare, resource_type] = [0, 1, 2].map(|at| self.name(text(key[at])));
            let row = self.ledger.load_row(queue, gshare, resource_type);
            self.ledger.load.note(row, figures);
        }
        for (key, figures) in other.ledger.who.changed() {
            let [who, queue, gshare] = [0, 1, 3].map(|at| self.name(text(key[at])));
            let row = self.ledger.who.row([who.0, queue.0, key[2], gshare.0]);
            self.ledger.who.note(row, figures);
        }
        for (key, figures) in other.ledger.nucleus.changed() {
            let nucleus = self.name(text(key[0]));
            let row = self.ledger.nucleus.row([nucleus.0, 0, 0, 0]);
            self.ledger.nucleus.note(row, figures);
        }
    }
}

/// States in which anything stands.
fn figures(count: &Count) -> u16 {
    let stands = |at: usize| u16::from(count.by[at].jobs != 0 || count.by[at].cores != 0) << at;
    (0..Status::COUNT).map(stands).sum()
}

fn show_each(of: Of<'_>, figures: u16, count: &Count, show: &mut dyn FnMut(Changed<'_>)) {
    for status in Status::ALL {
        if figures >> status.index() & 1 == 1 {
            let held = count.by[status.index()];
            show(Changed { of, status, jobs: held.jobs, cores: held.cores });
        }
    }
}
