//! Asks a registry in threads of its own, for as long as it takes.
//!
//! Many numbers are asked for side by side. A number that the registry does not know is asked for
//! again after a pause, since one of its servers may learn of a schema later than another; the
//! pauses of all such numbers run at the same time, and a flood of them is believed at once.

use super::client::ID_MAX;
use super::client::{RegistryClient, RegistryError};
use super::questions::{NextTask, Questions, RegistryAnswer};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// Threads that ask: at most so many questions are open at once.
const ASKERS: usize = 8;
/// Each thread rests this long after a question, so that all of them together ask at most 1,600
/// times a second.
const PACE: Duration = Duration::from_millis(5);

/// Where questions are left and answers found. Never waits.
pub struct Desk {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    questions: Mutex<Questions>,
    changed: Condvar,
}

impl Desk {
    /// Begins to ask; the pause between two tries grows up to `longest`. At most `missing_max`
    /// numbers are remembered as missing.
    pub fn open(
        client: Arc<RegistryClient>,
        longest: Duration,
        missing_max: usize,
    ) -> Result<Desk, RegistryError> {
        let shared = Arc::new(Shared::default());
        *shared.questions() = Questions::new(longest, missing_max);
        let desk = Desk { shared };
        for _ in 0..ASKERS {
            let (client, shared) = (Arc::clone(&client), Arc::clone(&desk.shared));
            // A thread holds nothing that is waited for, so it is not joined.
            Builder::new()
                .name("registry".to_owned())
                .spawn(move || serve(&client, &shared))
                .map_err(|error| {
                    RegistryError::Setting(format!("no thread to ask the registry with: {error}"))
                })?;
        }
        Ok(desk)
    }

    /// The answer for a number; `None`: it is being asked.
    pub fn find(&self, id: u32) -> Option<RegistryAnswer> {
        if id > ID_MAX {
            return Some(RegistryAnswer::Missing);
        }
        let answer = self.shared.questions().find(id, Instant::now());
        if answer.is_none() {
            self.shared.changed.notify_one();
        }
        answer
    }

    /// Asks for numbers that will be wanted soon, after those that are wanted now.
    pub fn foresee(&self, ids: impl Iterator<Item = u32>) {
        let (mut questions, now) = (self.shared.questions(), Instant::now());
        ids.filter(|id| *id <= ID_MAX).for_each(|id| questions.foresee(id, now));
        drop(questions);
        self.shared.changed.notify_all();
    }

    /// Puts down what is known from elsewhere.
    pub fn put(&self, id: u32, schema: Arc<str>) {
        self.shared.questions().put(id, schema);
    }

    /// Why there is no answer yet, if asking does not go well.
    pub fn trouble(&self) -> Option<String> {
        self.shared.questions().trouble()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.shared.questions().close();
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// A panic leaves at most one question open: the questions can be used on.
    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next question; `None` when no answer is wanted any more.
    fn next(&self) -> Option<u32> {
        let mut questions = self.questions();
        loop {
            questions = match questions.next(Instant::now()) {
                NextTask::Question(id) => return Some(id),
                NextTask::Closed => return None,
                NextTask::Wait(None) => {
                    self.changed.wait(questions).unwrap_or_else(PoisonError::into_inner)
                }
                NextTask::Wait(Some(pause)) => {
                    let woken = self.changed.wait_timeout(questions, pause);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

fn serve(client: &RegistryClient, shared: &Shared) {
    while let Some(id) = shared.next() {
        let answer = client.schema(id);
        shared.questions().hear(id, answer, Instant::now());
        shared.changed.notify_all();
        sleep(PACE);
    }
}
