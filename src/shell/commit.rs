//! The thread under a log that makes a cycle durable, so that the next batch is folded meanwhile.

use crate::thread;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use yardmaster_drive::port::{LogError, OutputRecord};

/// Result of publishing a cycle.
pub type Committed = Result<(), LogError>;
type Cycle = (Vec<OutputRecord>, OutputRecord);

/// Publishes one cycle at a time. It ends with the first error; leading again starts another.
pub struct CommitThread {
    cycles: Option<Sender<Cycle>>,
    answers: Receiver<Committed>,
    thread: Option<JoinHandle<()>>,
    /// Whether an answer is awaited, and the answer once it is here.
    waiting: bool,
    answer: Option<Committed>,
}

impl CommitThread {
    /// Starts the thread. `publish` gets the outputs of each cycle, and the `progress` record that
    /// covers them.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        name: &str,
        mut publish: impl FnMut(Vec<OutputRecord>, OutputRecord) -> Committed + Send + 'static,
    ) -> Result<CommitThread, LogError> {
        let (cycles, inbox) = channel::<Cycle>();
        let (outbox, answers) = channel();
        let work = move || {
            for (outputs, progress) in inbox {
                let committed = publish(outputs, progress);
                let failed = committed.is_err();
                if outbox.send(committed).is_err() || failed {
                    return;
                }
            }
        };
        let thread = thread::spawn(name, work);
        let thread = thread.map_err(|error| {
            LogError::Stop(format!("cannot start the thread that publishes ({name}): {error}"))
        })?;
        let (cycles, thread) = (Some(cycles), Some(thread));
        Ok(CommitThread { cycles, answers, thread, waiting: false, answer: None })
    }

    /// Gives a cycle to the thread.
    ///
    /// # Errors
    /// The cycle before is not settled, or the thread has ended.
    pub fn publish(&mut self, outputs: Vec<OutputRecord>, progress: OutputRecord) -> Committed {
        if self.waiting {
            return Err(LogError::Stop("publish came before the one before was settled".into()));
        }
        match &self.cycles {
            Some(cycles) if cycles.send((outputs, progress)).is_ok() => {
                self.waiting = true;
                Ok(())
            }
            _ => Err(gone()),
        }
    }

    /// Whether `settle` would not wait.
    pub fn is_settled(&mut self) -> bool {
        if self.waiting && self.answer.is_none() {
            self.answer = match self.answers.try_recv() {
                Ok(answer) => Some(answer),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => Some(Err(gone())),
            };
        }
        !self.waiting || self.answer.is_some()
    }

    /// Waits for the cycle.
    ///
    /// # Errors
    /// The cycle was not published, or its result is not known.
    pub fn settle(&mut self) -> Committed {
        if !self.waiting {
            return Ok(());
        }
        self.waiting = false;
        match self.answer.take() {
            Some(answer) => answer,
            None => self.answers.recv().unwrap_or_else(|_| Err(gone())),
        }
    }
}

impl Drop for CommitThread {
    /// Waits for what is being published: it ends well or badly, but not halfway through our exit,
    /// and no lock is released while it writes.
    fn drop(&mut self) {
        self.cycles = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn gone() -> LogError {
    LogError::Aborted("the thread that publishes has ended: take the lead again".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::cut::{Lane, Topic};

    fn record() -> OutputRecord {
        let lane = Lane::new(Topic::Progress, 0);
        OutputRecord { lane, key: Vec::new().into(), value: None, headers: Vec::new() }
    }

    #[test]
    fn cycles_are_published_one_after_the_other_until_one_fails() {
        let mut left = 2;
        let mut commits = CommitThread::start("test", move |outputs, _| {
            assert_eq!(outputs.len(), 1);
            left -= 1;
            if left == 0 { Err(LogError::Aborted("full".into())) } else { Ok(()) }
        })
        .unwrap();
        commits.publish(vec![record()], record()).unwrap();
        let early = commits.publish(vec![record()], record()).unwrap_err().to_string();
        assert!(early.contains("settled"), "{early}");
        commits.settle().unwrap();
        assert!(commits.is_settled());
        commits.publish(vec![record()], record()).unwrap();
        let failed = commits.settle().unwrap_err().to_string();
        assert!(failed.contains("full"), "{failed}");
        let after = commits.publish(vec![record()], record()).map(|()| commits.settle());
        assert!(!matches!(after, Ok(Ok(()))), "{after:?}");
    }
}
