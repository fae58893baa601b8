//! Counters that changed, for telling others: absolute values, each with what it is of.
//!
//! They are published in slices, a cycle each. What is noted when the first is published counts as
//! published once the last is, at the leader and at its followers: what changed in between is
//! noted again.

use crate::event::Status;
use crate::id::{Name, Names};
use crate::state::State;
use crate::state::ledger::{Count, GROUP, Ledger};

/// Jobs in one state, and their cores, of one combination of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<'a> {
    /// Names that they are counted by.
    pub of: Of<'a>,
    /// The state.
    pub status: Status,
    /// Jobs; 0 when there are none any more.
    pub jobs: u32,
    /// Their cores.
    pub cores: u32,
}

/// Combination of names that jobs are counted by.
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

    /// Begins to publish every counter that is noted as changed.
    pub fn begin_publishing(&mut self) {
        self.load.begin_publishing();
        self.who.begin_publishing();
        self.nucleus.begin_publishing();
    }

    /// Whether the publishing under way has counters left.
    pub fn is_publishing(&self) -> bool {
        self.load.is_publishing() || self.who.is_publishing() || self.nucleus.is_publishing()
    }

    /// Shows counters of the publishing under way, until at least `most` were shown or none is
    /// left.
    pub fn publish(
        &mut self,
        most: usize,
        names: &Names,
        show: &mut dyn FnMut(Changed<'_>),
    ) -> usize {
        let text = |name: u32| names.text(Name(name));
        let mut shown = self.load.publish(most, |key, figures, load| {
            let of = Of::Load([text(key[0]), text(key[1]), text(key[2])]);
            show_each(of, figures, &load.count, show);
        });
        shown += self.publish_people(most.saturating_sub(shown), names, show);
        shown += self.nucleus.publish(most.saturating_sub(shown), |key, figures, count| {
            show_each(Of::Nucleus(text(key[0])), figures, count, show);
        });
        shown
    }

    /// Somebody else published all that was noted when the publishing began.
    pub fn end_publishing(&mut self) {
        self.load.publish(usize::MAX, |_, _, _| ());
        self.who.publish(usize::MAX, |_, _, _| ());
        self.nucleus.publish(usize::MAX, |_, _, _| ());
    }

    /// Users and groups at queues: published are their jobs of all shares together.
    fn publish_people(
        &mut self,
        most: usize,
        names: &Names,
        show: &mut dyn FnMut(Changed<'_>),
    ) -> usize {
        self.who.publish_places(most, |[name, queue, kind, _], figures, counts| {
            let owner = [names.text(Name(name)), names.text(Name(queue))];
            let of = if kind == GROUP { Of::Group(owner) } else { Of::User(owner) };
            let first = counts.next().unwrap_or(&Count::NONE);
            match counts.next() {
                None => show_each(of, figures, first, show),
                Some(second) => {
                    let mut sum = first.clone();
                    [second].into_iter().chain(counts).for_each(|count| sum.join(count));
                    show_each(of, figures, &sum, show);
                }
            }
        })
    }
}

/// A note that figures of a counter changed, by names: it outlasts the rows of one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeNote {
    /// The counter.
    pub of: NoteOf,
    /// The figures, a bit each.
    pub figures: u16,
}

/// The counter that a [`ChangeNote`] is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteOf {
    /// Queue, gshare, resource type.
    Load([String; 3]),
    /// User or working group, queue and gshare, and which row of the ledger.
    Who([String; 3], u32),
    /// Nucleus.
    Nucleus(String),
}

impl State {
    /// Notes of changes that were not published yet.
    pub fn notes(&self) -> Vec<ChangeNote> {
        self.notes_where(|_, _| true)
    }

    /// Of these, the figures that are 0: nothing in the records leads to them any more.
    pub fn notes_of_zero(&self) -> Vec<ChangeNote> {
        self.notes_where(|count, at| count.by[at].jobs == 0 && count.by[at].cores == 0)
    }

    fn notes_where(&self, is_wanted: impl Fn(&Count, usize) -> bool) -> Vec<ChangeNote> {
        let text = |name: u32| self.names.text(Name(name)).to_owned();
        let wanted = |figures: u16, count: &Count| -> u16 {
            let is_in = |at: &usize| figures >> at & 1 == 1 && is_wanted(count, *at);
            (0..Status::COUNT).filter(is_in).map(|at| 1 << at).sum()
        };
        let loads = self.ledger.load.changed().map(|(key, figures, load)| ChangeNote {
            of: NoteOf::Load([text(key[0]), text(key[1]), text(key[2])]),
            figures: wanted(figures, &load.count),
        });
        let people = self.ledger.who.changed().map(|(key, figures, count)| ChangeNote {
            of: NoteOf::Who([text(key[0]), text(key[1]), text(key[3])], key[2]),
            figures: wanted(figures, count),
        });
        let nuclei = self.ledger.nucleus.changed().map(|(key, figures, count)| ChangeNote {
            of: NoteOf::Nucleus(text(key[0])),
            figures: wanted(figures, count),
        });
        loads.chain(people).chain(nuclei).filter(|note| note.figures != 0).collect()
    }

    /// Takes over notes of changes: of another state of the same records, or from a store. A
    /// counter that fell to 0 is published then too, though nothing in the records leads to it.
    pub fn take_notes(&mut self, notes: &[ChangeNote]) {
        self.ledger.watch_from_here();
        for ChangeNote { of, figures } in notes {
            match of {
                NoteOf::Load(names) => {
                    let [queue, gshare, resource_type] = [0, 1, 2].map(|at| self.name(&names[at]));
                    let row = self.ledger.load_row(queue, gshare, resource_type);
                    self.ledger.load.note(row, *figures);
                }
                NoteOf::Who(names, kind) => {
                    let [owner, queue, gshare] = [0, 1, 2].map(|at| self.name(&names[at]));
                    let row = self.ledger.who.row([owner.0, queue.0, *kind, gshare.0]);
                    self.ledger.who.note(row, *figures);
                }
                NoteOf::Nucleus(nucleus) => {
                    let nucleus = self.name(nucleus);
                    let row = self.ledger.nucleus.row([nucleus.0, 0, 0, 0]);
                    self.ledger.nucleus.note(row, *figures);
                }
            }
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
