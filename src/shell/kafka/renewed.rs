//! A client that questions go through, one of which no broker answers being made again.
//!
//! A client may forget all brokers and never ask one again ([`client`](super::client) says why), so
//! a question that is repeated is put to another client after a while.

use crate::thread;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use yardmaster_drive::port::LogError;

/// A client that gets no answer from any broker for so long is made again.
pub(super) const SILENT_MAX: Duration = Duration::from_secs(10);

type Make<C> = dyn Fn() -> Result<C, LogError> + Send + Sync;

/// A client for questions.
pub(super) struct Renewed<C> {
    make: Box<Make<C>>,
    current: Mutex<Current<C>>,
}

struct Current<C> {
    /// `None` while nothing is to be asked.
    client: Option<Arc<C>>,
    /// When the first question was put of those that were not answered since the last answer.
    silent: Option<Instant>,
}

impl<C: Send + Sync + 'static> Renewed<C> {
    /// Makes the client. Nothing is asked yet.
    pub fn new(
        make: impl Fn() -> Result<C, LogError> + Send + Sync + 'static,
    ) -> Result<Renewed<C>, LogError> {
        let current = Mutex::new(Current { client: Some(Arc::new(make()?)), silent: None });
        Ok(Renewed { make: Box::new(make), current })
    }

    /// The client as it is now, made where there is none.
    pub fn client(&self) -> Result<Arc<C>, LogError> {
        let mut current = self.current();
        match &current.client {
            Some(client) => Ok(Arc::clone(client)),
            None => Ok(Arc::clone(current.client.insert(Arc::new((self.make)()?)))),
        }
    }

    /// Lets the client go until something is asked again: each has threads that wake up all the
    /// time.
    pub fn rest(&self) {
        let old = self.current().client.take();
        // It may take its time to end; without a thread it ends here.
        let _ = thread::spawn("kafka-end", move || drop(old));
    }

    /// Puts a question once. If none was answered for [`SILENT_MAX`], the next one is put to
    /// another client.
    pub fn ask<T>(&self, question: impl FnOnce(&C) -> Result<T, LogError>) -> Result<T, LogError> {
        let (client, asked) = (self.client()?, Instant::now());
        let answer = question(&client);
        let mut current = self.current();
        let Err(LogError::Unreachable(_)) = &answer else {
            current.silent = None;
            return answer;
        };
        if current.silent.get_or_insert(asked).elapsed() >= SILENT_MAX {
            let other = Current { client: Some(Arc::new((self.make)()?)), silent: None };
            let old = std::mem::replace(&mut *current, other);
            // One that is stuck may take its time to end; without a thread it ends here.
            let _ = thread::spawn("kafka-end", move || drop((old, client)));
        }
        answer
    }

    fn current(&self) -> MutexGuard<'_, Current<C>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_client_that_gets_no_answer_is_made_again_and_another_is_not() {
        let made = Arc::new(AtomicU32::new(0));
        let count = made.clone();
        let renewed = Renewed::new(move || Ok(count.fetch_add(1, Ordering::Relaxed))).unwrap();
        let unanswered = |_: &u32| Err::<(), _>(LogError::Unreachable("no broker".into()));
        let refused = |_: &u32| Err::<(), _>(LogError::Stop("no right".into()));
        let long_ago = |renewed: &Renewed<u32>| {
            renewed.current().silent = Instant::now().checked_sub(SILENT_MAX);
        };
        renewed.ask(unanswered).unwrap_err();
        assert_eq!(*renewed.client().unwrap(), 0, "the first question that is not answered");
        long_ago(&renewed);
        renewed.ask(refused).unwrap_err();
        renewed.ask(unanswered).unwrap_err();
        assert_eq!(*renewed.client().unwrap(), 0, "a refusal is an answer");
        long_ago(&renewed);
        renewed.ask(unanswered).unwrap_err();
        assert_eq!(*renewed.client().unwrap(), 1);
        assert_eq!(renewed.ask(|client| Ok(*client)).unwrap(), 1);
        renewed.rest();
        assert_eq!(renewed.ask(|client| Ok(*client)).unwrap(), 2, "made when it is asked again");
    }
}
