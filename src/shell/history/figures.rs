//! The figures that curves are made of: of all, and of each queue, site, share, user and task, at
//! each moment of which counters are kept.
//!
//! Running, queued and waiting are what they are then; of a pool its idle jobs wait. Starts,
//! finished and failed are totals that only grow, so that a curve of any step is made of one block
//! a step: the writer adds to them what the windows of the ledger gained since the moment before.

use super::block::pieces;
use crate::view::QueueView;
use std::collections::BTreeMap;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Status;
use yardmaster_core::id::{Key, Name};
use yardmaster_core::state::State;
use yardmaster_core::state::ledger::{ENDED_GRAIN, START_GRAIN, USER};
use yardmaster_core::state::window::Window;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::{each_idle, jobs_by_class};

/// Things of which figures are kept in one block at most; the rest is left out.
const THINGS_MAX: usize = 50_000;

/// Names of the figures, in the order in which they are kept.
pub const FIGURES: [&str; 6] = ["running", "queued", "starts", "finished", "failed", "waiting"];
/// Those that are totals, of which a curve shows the growth.
pub const TOTALS: std::ops::Range<usize> = 2..5;

/// The figures of one thing.
pub type SeriesFigures = [u64; FIGURES.len()];

/// Kind of the things that figures are of. The letters are persisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesOf {
    /// The grid.
    All,
    /// A queue.
    Queue,
    /// A site.
    Site,
    /// A leaf share.
    Share,
    /// A user.
    User,
    /// A task.
    Task,
}

impl SeriesOf {
    /// Every kind.
    pub const ALL: [SeriesOf; 6] = [
        SeriesOf::All,
        SeriesOf::Queue,
        SeriesOf::Site,
        SeriesOf::Share,
        SeriesOf::User,
        SeriesOf::Task,
    ];
    /// Their names, in the same order.
    pub const NAMES: [&str; 6] = ["all", "queue", "site", "share", "user", "task"];

    /// The letter that stands for it in a block.
    const fn letter(self) -> char {
        match self {
            SeriesOf::All => 'a',
            SeriesOf::Queue => 'q',
            SeriesOf::Site => 's',
            SeriesOf::Share => 'g',
            SeriesOf::User => 'u',
            SeriesOf::Task => 't',
        }
    }

    /// Which figures are known of its things, in the order of [`FIGURES`]: starts and ends are
    /// counted by queue, ends by task too, and a request waits for no queue.
    pub const fn knows(self) -> [bool; FIGURES.len()] {
        match self {
            SeriesOf::All => [true; FIGURES.len()],
            SeriesOf::Queue | SeriesOf::Site => [true, true, true, true, true, false],
            SeriesOf::Share | SeriesOf::User => [true, true, false, false, false, true],
            SeriesOf::Task => [false, false, false, true, true, true],
        }
    }
}

/// Figures by kind and name.
type Things = BTreeMap<(SeriesOf, String), SeriesFigures>;

/// What waits, counted where the loop is: requests, of a pool its idle jobs.
#[derive(Debug, Default)]
pub(super) struct WaitingCounts(Things);

const QUEUED: usize = 1;
const WAITING: usize = 5;

impl WaitingCounts {
    /// Counts them by share, user and task. Where it is not known which they are, it is known how
    /// many there are.
    pub fn of(engine: &Engine) -> WaitingCounts {
        let state = &engine.state;
        // Names are written once for all that have them: the loop waits for it.
        let mut by: BTreeMap<(SeriesOf, &str), u64> = BTreeMap::new();
        let mut count = |share, user, task| {
            for of in [(SeriesOf::Share, share), (SeriesOf::User, user), (SeriesOf::Task, task)] {
                *by.entry(of).or_default() += 1;
            }
        };
        let open = engine.open_requests().into_iter().flatten();
        for task in open.filter_map(|request| request.task.as_ref()) {
            count(&task.gshare, &task.user, &task.task);
        }
        each_idle(state).for_each(|it| count(it.class, it.user, it.workflow));
        let mut waiting = Things::new();
        // The counters that are kept have no class of a pool's jobs.
        for (class, jobs) in jobs_by_class(state) {
            let figures = [jobs.running, jobs.queued, 0, 0, 0, 0];
            waiting.insert((SeriesOf::Share, class.to_owned()), figures);
        }
        let idle = engine.idle_jobs();
        by.insert((SeriesOf::All, ""), idle.unwrap_or(engine.waiting() as u64));
        for ((of, name), count) in by {
            waiting.entry((of, kept_name(of, name))).or_default()[WAITING] += count;
        }
        if idle.is_some() {
            let all = waiting.entry((SeriesOf::All, String::new())).or_default();
            all[QUEUED] += queued_nowhere(state);
        }
        WaitingCounts(waiting)
    }
}

/// Jobs of a pool that are at no site yet.
fn queued_nowhere(state: &State) -> u64 {
    let rows = state.ledger.queue.iter();
    let nowhere = rows.filter(|(key, _)| state.names.text(Name(key[0])).is_empty());
    nowhere.map(|(_, row)| queued(row.count.jobs())).sum()
}

/// Of jobs by status those that have not begun to run.
fn queued(jobs: [u32; Status::COUNT]) -> u64 {
    jobs[..Status::Running.index()].iter().copied().map(u64::from).sum()
}

/// The name of a task in a block: its number, as in counters.
fn key_text(key: Key) -> String {
    key.0.to_string()
}

/// The name under which a thing is kept.
pub(super) fn kept_name(of: SeriesOf, name: &str) -> String {
    match of {
        SeriesOf::All => String::new(),
        SeriesOf::Task => key_text(Key::of(name.as_bytes())),
        SeriesOf::Queue | SeriesOf::Site | SeriesOf::Share | SeriesOf::User => name.to_owned(),
    }
}

/// The buckets of a window, by number.
type Buckets = BTreeMap<i64, u64>;

/// Totals that only grow, and the windows as of the moment before.
#[derive(Debug, Default)]
pub(super) struct SeriesTotals {
    by: Things,
    starts: BTreeMap<String, Buckets>,
    ended: BTreeMap<(u64, String, usize), Buckets>,
    /// Up to when everything is counted; `None`: nothing is known from before.
    counted_to: Option<Millis>,
    /// The windows of the moment before are known.
    is_warm: bool,
}

impl SeriesTotals {
    /// Goes on from the last block of an earlier process: what began since is counted, what its
    /// bucket began with before that is not.
    pub fn after(raw: &[u8], at: Millis) -> SeriesTotals {
        let mut by: Things = all(raw).collect();
        by.retain(|(of, _), _| matches!(of, SeriesOf::Queue | SeriesOf::Task));
        SeriesTotals { by, counted_to: Some(at), ..SeriesTotals::default() }
    }

    /// Takes up a moment.
    fn take(&mut self, state: &State) {
        let (is_warm, counted_to) = (self.is_warm, self.counted_to);
        let gain = |before: Option<Buckets>, window: &Window, grain: Millis| {
            let before = before.unwrap_or_default();
            let is_counted = |number: i64| {
                is_warm || counted_to.is_some_and(|to| number.saturating_mul(grain) >= to)
            };
            let buckets = window.buckets().iter().filter(|it| is_counted(it.number));
            let gains = buckets
                .map(|it| it.amount.saturating_sub(before.get(&it.number).copied().unwrap_or(0)));
            gains.sum::<u64>()
        };
        let kept = |window: &Window| -> Buckets {
            window.buckets().iter().map(|it| (it.number, it.amount)).collect()
        };
        let mut last = std::mem::take(&mut self.starts);
        for (key, window) in state.ledger.starts.iter() {
            let queue = state.names.text(Name(key[0])).to_owned();
            let more = gain(last.remove(&queue), window, START_GRAIN);
            self.by.entry((SeriesOf::Queue, queue.clone())).or_default()[2] += more;
            self.starts.insert(queue, kept(window));
        }
        let mut last = std::mem::take(&mut self.ended);
        let mut tasks: Things = BTreeMap::new();
        for (key, ended) in state.ledger.ended.iter() {
            let task = u64::from(key[0]) | u64::from(key[1]) << 32;
            let queue = state.names.text(Name(key[2])).to_owned();
            let of_task = (SeriesOf::Task, key_text(Key(task)));
            let before = self.by.get(&of_task).copied().unwrap_or_default();
            let of_task = tasks.entry(of_task).or_insert(before);
            let of_queue = self.by.entry((SeriesOf::Queue, queue.clone())).or_default();
            for (which, window) in ended.ended.iter().take(2).enumerate() {
                let key = (task, queue.clone(), which);
                let more = gain(last.remove(&key), window, ENDED_GRAIN);
                of_task[3 + which] += more;
                of_queue[3 + which] += more;
                self.ended.insert(key, kept(window));
            }
        }
        // A task of which the windows hold nothing any more is forgotten.
        self.by.retain(|(of, _), _| *of != SeriesOf::Task);
        self.by.extend(tasks);
        (self.is_warm, self.counted_to) = (true, Some(state.now));
    }
}

/// The figures of everything at a moment, and the totals up to it.
pub(super) fn lines(
    state: &State,
    queues: &[QueueView],
    waiting: WaitingCounts,
    totals: &mut SeriesTotals,
) -> Vec<String> {
    totals.take(state);
    let mut things = waiting.0;
    let site_of: BTreeMap<&str, &str> =
        queues.iter().map(|view| (view.queue.as_str(), view.site.as_str())).collect();
    // The figures of a queue are those of its site and of all, too.
    let mut add = |of: SeriesOf, name: &str, figures: &SeriesFigures| {
        let site = site_of.get(name).filter(|site| of == SeriesOf::Queue && !site.is_empty());
        let all = (of == SeriesOf::Queue).then_some((SeriesOf::All, ""));
        let also = site.map(|site| (SeriesOf::Site, *site)).into_iter().chain(all);
        for (of, name) in std::iter::once((of, name)).chain(also) {
            let sums = things.entry((of, name.to_owned())).or_default();
            sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
        }
    };
    for view in queues {
        add(SeriesOf::Queue, &view.queue, &[view.running, view.queued, 0, 0, 0, 0]);
    }
    totals.by.iter().for_each(|((of, name), figures)| add(*of, name, figures));
    for (key, share) in state.ledger.share.iter() {
        let figures = [share.jobs[Status::Running.index()].into(), queued(share.jobs), 0, 0, 0, 0];
        add(SeriesOf::Share, state.names.text(Name(key[1])), &figures);
    }
    for (key, _) in state.ledger.owner.iter().filter(|(key, _)| key[1] == USER) {
        let user = Name(key[0]);
        let owner = state.ledger.totals_shown(user, USER);
        let figures = [owner.running_jobs, owner.queued_jobs, 0, 0, 0, 0];
        add(SeriesOf::User, state.names.text(user), &figures);
    }
    let known = things.iter().filter(|((_, name), it)| {
        // What is all 0 is read as 0 where it is missing.
        it.iter().any(|figure| *figure > 0) || name.is_empty()
    });
    known.take(THINGS_MAX).map(|((of, name), figures)| line(*of, name, figures)).collect()
}

fn line(of: SeriesOf, name: &str, figures: &SeriesFigures) -> String {
    let [a, b, c, d, e, f] = figures;
    format!("{} {a} {b} {c} {d} {e} {f} {name}", of.letter())
}

/// The figures in the body of a block.
fn all(raw: &[u8]) -> impl Iterator<Item = ((SeriesOf, String), SeriesFigures)> {
    each(raw).map(|(of, name, figures)| ((of, name.to_owned()), figures))
}

/// The same, with the names where they lie; of damaged lines none.
pub(super) fn each(raw: &[u8]) -> impl Iterator<Item = (SeriesOf, &str, SeriesFigures)> {
    pieces(raw).filter_map(|piece| {
        let mut words = std::str::from_utf8(piece).ok()?.splitn(FIGURES.len() + 2, ' ');
        let letter = words.next()?.chars().next()?;
        let of = SeriesOf::ALL.into_iter().find(|of| of.letter() == letter)?;
        let mut figures = SeriesFigures::default();
        for figure in &mut figures {
            *figure = words.next()?.parse().ok()?;
        }
        Some((of, words.next()?, figures))
    })
}

#[cfg(test)]
mod tests {
    use super::super::block::put;
    use super::*;

    fn state(now: Millis, starts: &[(Millis, i64)]) -> State {
        let mut state = State::new(yardmaster_core::state::Setting::default());
        state.now = now;
        let queue = state.names.intern("oak");
        let row = state.ledger.starts.row([queue.0, 0, 0, 0]);
        for (at, jobs) in starts {
            state.ledger.starts.at(row).add(at.div_euclid(START_GRAIN), *jobs);
        }
        state
    }

    fn started(lines: &[String]) -> Option<u64> {
        let mut raw = Vec::new();
        lines.iter().for_each(|line| put(&mut raw, line.as_bytes()));
        all(&raw)
            .find(|((of, name), _)| (*of, name.as_str()) == (SeriesOf::Queue, "oak"))
            .map(|it| it.1[2])
    }

    fn next(totals: &mut SeriesTotals, state: &State) -> Option<u64> {
        started(&lines(state, &[], WaitingCounts::default(), totals))
    }

    #[test]
    fn totals_grow_by_what_windows_gain_whatever_expires_or_is_taken_back() {
        let mut totals = SeriesTotals::default();
        // Nothing is known of when these came.
        assert_eq!(next(&mut totals, &state(900_000, &[(600_000, 5)])), None);
        assert_eq!(next(&mut totals, &state(960_000, &[(600_000, 6), (900_000, 2)])), Some(3));
        // A job that started failed, and does not count as started any more.
        assert_eq!(next(&mut totals, &state(990_000, &[(600_000, 5), (900_000, 4)])), Some(5));
        assert_eq!(next(&mut totals, &state(9_990_000, &[(900_000, 4)])), Some(5));
    }

    #[test]
    fn totals_go_on_after_a_restart_with_what_began_since() {
        let mut raw = Vec::new();
        put(&mut raw, line(SeriesOf::Queue, "oak", &[1, 2, 30, 4, 5, 0]).as_bytes());
        put(&mut raw, line(SeriesOf::User, "ann of a name", &[1, 2, 0, 0, 0, 7]).as_bytes());
        let mut totals = SeriesTotals::after(&raw, 900_000);
        let known: Vec<_> = all(&raw).collect();
        assert_eq!(known[1], ((SeriesOf::User, "ann of a name".to_owned()), [1, 2, 0, 0, 0, 7]));
        let now = state(1_500_000, &[(600_000, 8), (900_000, 2), (1_200_000, 1)]);
        assert_eq!(next(&mut totals, &now), Some(33));
        let now = state(1_560_000, &[(600_000, 8), (900_000, 2), (1_200_000, 4)]);
        assert_eq!(next(&mut totals, &now), Some(36));
    }
}
