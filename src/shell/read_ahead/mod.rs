//! A log that is read ahead by a thread of its own, while following: while one batch is folded
//! the next are read and taken apart.
//!
//! Nothing else changes. What was read ahead is handed on in the order it was read, nothing twice
//! and nothing left out; of a lane that is paused nothing comes until it is resumed. An empty
//! look of before is no answer to a look now. A process that takes the lead reads by itself again.

pub mod shelf;

use crate::thread;
use shelf::{Look, Shelf};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, OutputRecord};
use yardmaster_wire::avro::Writer;

/// Batches that are read beyond the one that is taken.
const AHEAD: usize = 2;
/// The longest sleep between two looks.
const NAP_MAX: Duration = Duration::from_millis(16);

/// Something the thread does with the log.
type Job<L> = Box<dyn FnOnce(&mut L) + Send>;

/// The log; see the module.
pub struct ReadAhead<L: Log> {
    reading: Reading<L>,
    /// Looks that were asked for, in order.
    asked: VecDeque<Receiver<Look>>,
    shelf: Shelf,
}

/// Where the log is.
enum Reading<L> {
    /// With us.
    Stopped(Box<L>),
    /// With the thread, which gives it back once there are no more jobs.
    Running { jobs: Sender<Job<L>>, thread: JoinHandle<L> },
    /// With a thread that panicked.
    Lost,
}

impl<L: Log + Send + 'static> ReadAhead<L> {
    /// Gives the log to a thread of its own.
    pub fn start(log: L) -> Result<ReadAhead<L>, LogError> {
        let (jobs, inbox) = channel::<Job<L>>();
        let mut log = log;
        let work = move || {
            inbox.into_iter().for_each(|job| job(&mut log));
            log
        };
        let thread = thread::spawn("read-ahead", work);
        let thread = thread.map_err(|error| {
            LogError::Stop(format!("cannot start the thread that reads the log: {error}"))
        })?;
        Ok(ReadAhead {
            reading: Reading::Running { jobs, thread },
            asked: VecDeque::new(),
            shelf: Shelf::default(),
        })
    }

    /// Has something done with the log, after all that was asked for before.
    fn ask<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut L) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (reply, answer) = channel();
        // A caller that does not wait for the answer does not want it.
        match &mut self.reading {
            Reading::Stopped(log) => drop(reply.send(job(log))),
            Reading::Running { jobs, .. } => {
                drop(jobs.send(Box::new(move |log| drop(reply.send(job(log))))));
            }
            Reading::Lost => {}
        }
        answer
    }

    /// The same, and waits for it.
    fn wait<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut L) -> T + Send + 'static,
    ) -> Result<T, LogError> {
        self.ask(job).recv().map_err(|_| lost())
    }

    fn ask_for_a_look(&mut self, max: usize) {
        let mut batch = self.shelf.spare();
        let look = self.ask(move |log| {
            let end = log.take(&mut batch, max, Duration::ZERO);
            Look::new(batch, max, end)
        });
        self.asked.push_back(look);
    }

    /// The next look, and whether it was asked for just now.
    fn next_look(&mut self, max: usize) -> Result<(Look, bool), LogError> {
        if let Some(front) = self.shelf.front() {
            return Ok((front, false));
        }
        let is_new = self.asked.is_empty();
        if is_new {
            self.ask_for_a_look(max);
        }
        let look = self.asked.pop_front().and_then(|look| look.recv().ok()).ok_or_else(lost)?;
        let is_running = matches!(self.reading, Reading::Running { .. });
        while is_running && look.is_full && self.asked.len() < AHEAD {
            self.ask_for_a_look(max);
        }
        Ok((look, is_new))
    }

    /// Takes the log back from the thread.
    fn home(&mut self) -> Result<&mut L, LogError> {
        if let Reading::Running { .. } = self.reading
            && let Reading::Running { jobs, thread } =
                std::mem::replace(&mut self.reading, Reading::Lost)
        {
            drop(jobs);
            let log = thread.join().map_err(|_| lost())?;
            self.reading = Reading::Stopped(Box::new(log));
        }
        match &mut self.reading {
            Reading::Stopped(log) => Ok(log),
            Reading::Running { .. } | Reading::Lost => Err(lost()),
        }
    }
}

impl<L: Log + Send + 'static> Log for ReadAhead<L> {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        self.wait(L::lanes)?
    }

    fn id(&mut self) -> Option<String> {
        self.wait(L::id).ok().flatten()
    }

    fn topic_ids(&mut self) -> Result<BTreeMap<Topic, String>, LogError> {
        self.wait(L::topic_ids)?
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        let from = from.clone();
        self.wait(move |log| log.assign(&from))??;
        // What was read ahead of where reading stood before.
        self.asked.clear();
        self.shelf.clear();
        Ok(())
    }

    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        let named = lanes.to_vec();
        self.wait(move |log| log.set_paused(&named, paused))??;
        self.shelf.set_paused(lanes, paused);
        Ok(())
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        let (records, marks) = (batch.records.len(), batch.marks.len());
        let start = Instant::now();
        let mut nap = Duration::from_millis(1);
        self.shelf.hand_aside_on(batch, records + max);
        while batch.records.len() == records {
            if let (Reading::Stopped(log), false, true) =
                (&mut self.reading, self.shelf.has_front(), self.asked.is_empty())
            {
                return log.take(batch, max, wait.saturating_sub(start.elapsed()));
            }
            let (look, is_new) = self.next_look(max)?;
            self.shelf.hand_on(look, batch, records + max)?;
            if is_new && batch.records.len() == records {
                let left = wait.saturating_sub(start.elapsed());
                if left.is_zero() || batch.marks.len() > marks {
                    return Ok(());
                }
                std::thread::sleep(nap.min(left));
                nap = (nap * 2).min(NAP_MAX);
            }
        }
        Ok(())
    }

    fn know(&mut self, writers: &[Writer]) {
        let writers = writers.to_vec();
        drop(self.ask(move |log| log.know(&writers)));
    }

    fn ends(&mut self) -> Vec<(Lane, u64)> {
        self.wait(L::ends).unwrap_or_default()
    }

    fn lead(&mut self) -> Result<(), LogError> {
        self.home()?.lead()
    }

    fn let_go(&mut self) {
        if let Ok(log) = self.home() {
            log.let_go();
        }
    }

    fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError> {
        self.home()?.publish(outputs, progress)
    }

    fn is_settled(&mut self) -> bool {
        // Nothing more comes of a log that is lost: `settle` returns the error.
        self.home().map_or(true, L::is_settled)
    }

    fn settle(&mut self) -> Result<(), LogError> {
        self.home()?.settle()
    }
}

impl<L: Log> Drop for ReadAhead<L> {
    /// Waits for the thread: after it the log can be opened again.
    fn drop(&mut self) {
        if let Reading::Running { jobs, thread } =
            std::mem::replace(&mut self.reading, Reading::Lost)
        {
            drop(jobs);
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn lost() -> LogError {
    LogError::Stop("the thread that reads the log has ended; start again".into())
}
