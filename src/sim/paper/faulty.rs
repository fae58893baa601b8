//! Faults at will: a schedule counts every call to the ports and spoils those it is given.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use yardmaster_core::cut::{Cut, Lane};
use yardmaster_drive::port::{
    Batch, Checkpoint, Kept, LaneSpan, Log, LogError, OutputRecord, Store, StoreError,
};

/// Effect of a fault on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does nothing and objects. A `settle` so spoilt: what was published is not in the log.
    Fail(Objection),
    /// It is carried out, and objects all the same: the answer was lost on the way. A `settle` so
    /// spoilt: what was published *is* in the log.
    FailLate(Objection),
    /// It is the last one and does nothing; what was published and not settled is not in the log.
    DieBefore,
    /// It is the last one and is carried out; what was published and not settled is in the log.
    DieAfter,
    /// A `publish` that is not settled for so many looks at it (`settle` does not look, it waits).
    /// Another call takes no notice.
    Slow(u32),
}

/// An error to be made: [`LogError`] by kind. A store knows one kind only, so there all are that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objection {
    /// [`LogError::Unreachable`].
    Unreachable,
    /// [`LogError::Fenced`].
    Fenced,
    /// [`LogError::Aborted`].
    Aborted,
    /// [`LogError::Stop`].
    Stop,
}

/// Which calls are spoilt. Clones are the same schedule: give one to the log and the store of a
/// process, and their calls are counted together, from 0.
///
/// `is_settled` and `is_busy` are not counted: they change nothing and cannot fail, so a death at
/// one of them is a death at the next call.
#[derive(Clone, Default)]
pub struct Schedule {
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    calls: Vec<&'static str>,
    faults: BTreeMap<usize, Fault>,
    dead: bool,
}

/// Effect of the schedule on one call.
enum Fate {
    Good,
    Slow(u32),
    Fail { objection: Objection, late: bool },
    Die { late: bool },
    Dead,
}

impl Schedule {
    /// The `call`-th call (from 0) meets this fault. A later word on the same call replaces it.
    pub fn on(&self, call: usize, fault: Fault) {
        self.plan().faults.insert(call, fault);
    }

    /// The calls so far by name, a spoilt one and those after a death included.
    pub fn calls(&self) -> Vec<&'static str> {
        self.plan().calls.clone()
    }

    /// How many calls there were.
    pub fn count(&self) -> usize {
        self.plan().calls.len()
    }

    /// Whether the process died.
    pub fn is_dead(&self) -> bool {
        self.plan().dead
    }

    fn next(&self, name: &'static str) -> Fate {
        let mut plan = self.plan();
        let number = plan.calls.len();
        plan.calls.push(name);
        if plan.dead {
            return Fate::Dead;
        }
        match plan.faults.get(&number).copied() {
            None => Fate::Good,
            Some(Fault::Slow(looks)) => Fate::Slow(looks),
            Some(Fault::Fail(objection)) => Fate::Fail { objection, late: false },
            Some(Fault::FailLate(objection)) => Fate::Fail { objection, late: true },
            Some(fault @ (Fault::DieBefore | Fault::DieAfter)) => {
                plan.dead = true;
                Fate::Die { late: fault == Fault::DieAfter }
            }
        }
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objection {
    fn error(self) -> LogError {
        let text = "a fault of the schedule".to_string();
        match self {
            Objection::Unreachable => LogError::Unreachable(text),
            Objection::Fenced => LogError::Fenced(text),
            Objection::Aborted => LogError::Aborted(text),
            Objection::Stop => LogError::Stop(text),
        }
    }
}

fn dead() -> LogError {
    LogError::Stop("the process is dead".into())
}

/// A log whose calls fail by schedule.
///
/// An output reaches the log behind it only when it is settled, or when the schedule lets the last
/// call of a dying process be carried out; so a reader elsewhere sees it no sooner.
pub struct Faulty<L: Log> {
    log: L,
    schedule: Schedule,
    waiting: Option<(Vec<OutputRecord>, OutputRecord)>,
    looks: u32,
}

impl<L: Log> Faulty<L> {
    /// Puts a schedule before a log.
    pub fn new(log: L, schedule: &Schedule) -> Faulty<L> {
        Faulty { log, schedule: schedule.clone(), waiting: None, looks: 0 }
    }

    /// Carries out one call as its fate has it. `act` is the call itself.
    fn call<T>(
        &mut self,
        name: &'static str,
        act: impl FnOnce(&mut Faulty<L>) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        match self.schedule.next(name) {
            Fate::Good => act(self),
            Fate::Slow(looks) => {
                self.looks = looks;
                act(self)
            }
            Fate::Fail { objection, late: false } => Err(objection.error()),
            Fate::Fail { objection, late: true } => {
                act(self)?;
                Err(objection.error())
            }
            Fate::Die { late: false } => {
                self.waiting = None;
                Err(dead())
            }
            Fate::Die { late: true } => {
                act(self)?;
                self.deliver()?;
                Err(dead())
            }
            Fate::Dead => Err(dead()),
        }
    }

    /// Gives what was published to the log behind, and waits for it.
    fn deliver(&mut self) -> Result<(), LogError> {
        match self.waiting.take() {
            Some((outputs, progress)) => {
                self.log.publish(outputs, progress)?;
                self.log.settle()
            }
            None => Ok(()),
        }
    }
}

impl<L: Log> Log for Faulty<L> {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        self.call("lanes", |this| this.log.lanes())
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        self.call("assign", |this| this.log.assign(from))
    }

    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        self.call("set_paused", |this| this.log.set_paused(lanes, paused))
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        self.call("take", |this| this.log.take(batch, max, wait))
    }

    fn ends(&mut self) -> Vec<(Lane, u64)> {
        self.log.ends()
    }

    fn lead(&mut self) -> Result<(), LogError> {
        self.call("lead", |this| {
            this.waiting = None;
            this.log.lead()
        })
    }

    fn let_go(&mut self) {
        self.log.let_go();
    }

    fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError> {
        self.call("publish", |this| {
            if this.waiting.is_some() {
                return Err(LogError::Stop(
                    "publish came before the one before was settled".into(),
                ));
            }
            this.waiting = Some((outputs, progress));
            Ok(())
        })
    }

    fn is_settled(&mut self) -> bool {
        if self.schedule.is_dead() {
            return true;
        }
        if self.waiting.is_some() && self.looks > 0 {
            self.looks -= 1;
            return false;
        }
        true
    }

    fn settle(&mut self) -> Result<(), LogError> {
        let settled = self.call("settle", Faulty::deliver);
        // After an error nothing is left to settle: what was published got through, or is gone.
        self.waiting = None;
        self.looks = 0;
        settled
    }
}

/// A store whose calls fail by schedule. A store behind it keeps what a spoilt call did or did
/// not do, by the fault.
pub struct FaultyStore<S: Store> {
    store: S,
    schedule: Schedule,
}

impl<S: Store> FaultyStore<S> {
    /// Puts a schedule before a store.
    pub fn new(store: S, schedule: &Schedule) -> FaultyStore<S> {
        FaultyStore { store, schedule: schedule.clone() }
    }

    fn call<T>(
        &mut self,
        name: &'static str,
        act: impl FnOnce(&mut S) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let error = |error: LogError| StoreError::Stop(error.to_string());
        match self.schedule.next(name) {
            Fate::Good | Fate::Slow(_) => act(&mut self.store),
            Fate::Fail { objection, late: false } => Err(error(objection.error())),
            Fate::Fail { objection, late: true } => {
                act(&mut self.store)?;
                Err(error(objection.error()))
            }
            Fate::Die { late: true } => {
                act(&mut self.store)?;
                Err(error(dead()))
            }
            Fate::Die { late: false } | Fate::Dead => Err(error(dead())),
        }
    }
}

impl<S: Store> Store for FaultyStore<S> {
    fn load(&mut self) -> Result<Option<Kept>, StoreError> {
        self.call("load", |store| store.load())
    }

    fn keep(&mut self, checkpoint: Checkpoint) -> Result<(), StoreError> {
        self.call("keep", |store| store.keep(checkpoint))
    }

    fn is_busy(&mut self) -> bool {
        !self.schedule.is_dead() && self.store.is_busy()
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.call("flush", |store| store.flush())
    }
}
