//! Work that remains at nuclei (spec atlas 1.2), summed again only where a request changed or jobs
//! of a task finished.
//!
//! A request states the events that remained when it was last changed. Where it also states the
//! events of each job, those of the jobs that finished since are taken off.

use crate::domain::atlas::judge::nuclei::Work;
use crate::event::{Task, TaskPhase};
use crate::id::Key;
use crate::judge::view::CutView;
use crate::state::State;
use crate::state::record::{Answer, RequestState};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// CPU time of an event of a task that states none; HS06 s (spec atlas 1.2).
const CPU_UNKNOWN: f64 = 300.0;

/// Work that remains at each nucleus. Derived from the requests.
#[derive(Default)]
pub(crate) struct WorkTable(RefCell<Sums>);

#[derive(Default)]
struct Sums {
    /// The nucleus of each request that has one and has not ended, and the number of its task.
    nucleus_of: BTreeMap<String, (Box<str>, Key)>,
    /// These requests by their tasks.
    of_task: BTreeMap<Key, BTreeSet<String>>,
    /// The requests of each nucleus.
    requests: BTreeMap<Box<str>, BTreeSet<String>>,
    sums: BTreeMap<Box<str>, Sum>,
    /// Nuclei with a request that changed since their sum was made.
    stale: BTreeSet<Box<str>>,
    /// Nuclei with a request that changed since [`WorkTable::take_changed`].
    changed: BTreeSet<Box<str>>,
    /// Tasks with a request that changed, whose nuclei are not among `stale` and `changed` yet.
    tasks: BTreeSet<String>,
    /// The sums are those of this cycle.
    is_fresh: bool,
}

/// Work that remains at one nucleus; HS06 s.
#[derive(Default)]
struct Sum {
    all: f64,
    /// By share, then priority.
    shares: BTreeMap<String, BTreeMap<i32, f64>>,
}

impl Sum {
    /// Adds the work of a task.
    fn add(&mut self, view: CutView<'_>, task: &Task) {
        self.all += work_of(view.state, task);
        self.add_ahead(view, task);
    }

    /// Adds it where tasks of the share are reckoned with, by priority.
    fn add_ahead(&mut self, view: CutView<'_>, task: &Task) {
        let work = work_of(view.state, task);
        let share = self.shares.entry(view.share_of(task).into_owned()).or_default();
        *share.entry(task.priority).or_default() += work;
    }
}

/// Work that remains of a task; HS06 s.
fn work_of(state: &State, task: &Task) -> f64 {
    let cpu = task.cpu_hs06s_per_event.filter(|cpu| cpu.is_finite() && *cpu >= 0.0);
    remaining_events(state, task) as f64 * cpu.unwrap_or(CPU_UNKNOWN)
}

/// Events of a task that are not processed by what is known now.
fn remaining_events(state: &State, task: &Task) -> u64 {
    let stated = task.options.remaining_events;
    let Some(per_job) = task.options.events_per_job else { return stated };
    let finished = state.ledger.work_since(Key::of(task.task.as_bytes()), task.changed_at);
    stated.saturating_sub(finished.saturating_mul(per_job))
}

impl WorkTable {
    /// Begins a cycle: sums are brought up to date when they are first asked for in it.
    pub(crate) fn begin_cycle(&mut self) {
        self.0.get_mut().is_fresh = false;
    }

    /// Nuclei whose work changed since the last call.
    pub(crate) fn take_changed(&self, state: &State) -> BTreeSet<Box<str>> {
        let mut sums = self.0.borrow_mut();
        sums.spread(state);
        std::mem::take(&mut sums.changed)
    }

    /// Notes that a request changed: its record, its answer, or the end of its task.
    pub(crate) fn note(&self, state: &State, subject: &str) {
        self.0.borrow_mut().note(state, subject);
    }

    /// Notes that jobs of a task finished.
    pub(crate) fn note_finished(&self, task: Key) {
        self.0.borrow_mut().note_finished(task);
    }

    /// Notes that tasks may belong to other shares: all sums are made again.
    pub(crate) fn note_shares(&self) {
        let mut sums = self.0.borrow_mut();
        let nuclei: Vec<Box<str>> = sums.requests.keys().cloned().collect();
        nuclei.iter().for_each(|nucleus| sums.touch(nucleus));
    }

    /// A task was assigned to a nucleus in this cycle: until the next one its work counts for the
    /// tasks of its share alone, and takes no space (spec atlas 1.2).
    pub(crate) fn add(&self, view: CutView<'_>, task: &Task, nucleus: &str) {
        self.0.borrow_mut().sums.entry(nucleus.into()).or_default().add_ahead(view, task);
    }

    /// Work that remains at a nucleus, as a task sees it.
    pub(crate) fn at(&self, view: CutView<'_>, nucleus: &str, task: &Task) -> Work {
        let mut sums = self.0.borrow_mut();
        sums.refresh(view);
        let Some(sum) = sums.sums.get(nucleus) else { return Work::default() };
        let share = sum.shares.get(&task.gshare);
        let ahead = share.map_or(0.0, |share| share.range(task.priority..).map(|it| it.1).sum());
        Work { all: sum.all, ahead }
    }
}

impl Sums {
    fn note(&mut self, state: &State, subject: &str) {
        let request = state.requests.of(subject);
        let nucleus =
            request.and_then(|request| standing(state, request)).map(|(_, nucleus)| nucleus);
        let task =
            request.and_then(|request| request.task.as_ref()).map_or(subject, |task| &task.task);
        self.tasks.insert(task.to_owned());
        let key = Key::of(task.as_bytes());
        let before = match nucleus {
            Some(nucleus) => self.nucleus_of.insert(subject.to_owned(), (nucleus.into(), key)),
            None => self.nucleus_of.remove(subject),
        };
        if let Some((_, task)) = &before {
            self.leave_task(*task, subject);
        }
        if nucleus.is_some() {
            self.of_task.entry(key).or_default().insert(subject.to_owned());
        }
        let before = before.map(|(before, _)| before);
        if let Some(before) = before.filter(|before| Some(&**before) != nucleus) {
            if let Some(requests) = self.requests.get_mut(&before) {
                requests.remove(subject);
            }
            self.touch(&before);
        }
        if let Some(nucleus) = nucleus {
            self.requests.entry(nucleus.into()).or_default().insert(subject.to_owned());
            self.touch(nucleus);
        }
    }

    /// A request is none of a task's any more.
    fn leave_task(&mut self, task: Key, subject: &str) {
        if let Some(requests) = self.of_task.get_mut(&task) {
            requests.remove(subject);
            if requests.is_empty() {
                self.of_task.remove(&task);
            }
        }
    }

    fn note_finished(&mut self, task: Key) {
        let requests = self.of_task.get(&task).into_iter().flatten();
        let nuclei = requests.filter_map(|subject| Some(self.nucleus_of.get(subject)?.0.clone()));
        let nuclei: Vec<Box<str>> = nuclei.collect();
        nuclei.iter().for_each(|nucleus| self.touch(nucleus));
    }

    /// Of each task its newest request counts: where one changed, another may be the newest now.
    fn spread(&mut self, state: &State) {
        for task in std::mem::take(&mut self.tasks) {
            let requests = state.chunks.get(&task).into_iter().flatten();
            let nuclei = requests.filter_map(|subject| self.nucleus_of.get(subject));
            let nuclei: BTreeSet<Box<str>> = nuclei.map(|(nucleus, _)| nucleus.clone()).collect();
            nuclei.iter().for_each(|nucleus| self.touch(nucleus));
        }
    }

    fn touch(&mut self, nucleus: &str) {
        self.stale.insert(nucleus.into());
        self.changed.insert(nucleus.into());
    }

    /// Brings the sums up to date, once a cycle.
    fn refresh(&mut self, view: CutView<'_>) {
        let state = view.state;
        if std::mem::replace(&mut self.is_fresh, true) {
            return;
        }
        self.spread(state);
        for nucleus in std::mem::take(&mut self.stale) {
            let requests = self.requests.get(&nucleus).into_iter().flatten();
            let tasks = requests.filter_map(|subject| state.requests.of(subject)?.task.as_ref());
            // In order of names, so that the sum depends on the state alone.
            let tasks: BTreeSet<&str> = tasks.map(|task| task.task.as_str()).collect();
            let mut sum = Sum::default();
            for task in tasks {
                match newest(state, task) {
                    Some((task, at)) if *at == *nucleus => sum.add(view, task),
                    _ => {}
                }
            }
            self.sums.insert(nucleus, sum);
        }
    }
}

/// A request that has a nucleus and has not ended, and that nucleus.
fn standing<'a>(state: &State, request: &'a RequestState) -> Option<(&'a Task, &'a str)> {
    let task = request.task.as_ref().filter(|task| task.phase == TaskPhase::Asking)?;
    let nucleus = nucleus_of(task, request.answer.as_ref());
    (!nucleus.is_empty() && state.ended_at(task).is_none()).then_some((task, nucleus))
}

/// The newest request of a task that has a nucleus and has not ended; of equals the first by name.
fn newest<'a>(state: &'a State, task: &str) -> Option<(&'a Task, &'a str)> {
    let requests = state.chunks.get(task).into_iter().flatten();
    let standing = requests.filter_map(|subject| standing(state, state.requests.of(subject)?));
    standing
        .reduce(|newest, next| if newest.0.changed_at < next.0.changed_at { next } else { newest })
}

/// Where a task's output goes: as it states, else as was decided.
pub(crate) fn nucleus_of<'a>(task: &'a Task, answer: Option<&'a Answer>) -> &'a str {
    if task.nucleus.is_empty() {
        answer.map_or("", |answer| &answer.nucleus)
    } else {
        &task.nucleus
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::view::Grid;
    use crate::state::Setting;

    /// Work that was placed in this cycle is in the way of tasks that are no more urgent, and is
    /// not written.
    #[test]
    fn work_of_this_cycle_counts_for_its_share_alone() {
        let (state, grid, table) =
            (State::new(Setting::default()), Grid::default(), WorkTable::default());
        let task = |gshare: &str, priority: i32| {
            let mut task = Task { gshare: gshare.into(), priority, ..Task::default() };
            (task.options.remaining_events, task.cpu_hs06s_per_event) = (10, Some(5.0));
            task
        };
        let view = grid.view(&state);
        table.add(view, &task("MC", 500), "NORTH");
        let ahead = |gshare: &str, priority: i32| table.at(view, "NORTH", &task(gshare, priority));
        assert_eq!(ahead("MC", 500), Work { all: 0.0, ahead: 50.0 });
        assert_eq!(ahead("MC", 400), Work { all: 0.0, ahead: 50.0 });
        assert_eq!(ahead("MC", 501), Work::default());
        assert_eq!(ahead("Data", 400), Work::default());
    }
}
