//! A log that is read ahead by a thread of its own, for whoever follows: while one batch is folded
//! the next are read and taken apart.
//!
//! Nothing else changes. What was read ahead is handed on in the order it was read, nothing twice
//! and nothing left out; of a lane that is held back nothing comes until it is let go. An empty
//! look of before is no answer to who asks now. Whoever takes the lead reads for itself again.

use crate::core::cut::{Cut, Lane};
use crate::drive::port::{Batch, LaneSpan, Log, LogError, Mark, Output};
use crate::wire::avro::Writer;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Batches that are read beyond the one that is taken.
const AHEAD: usize = 2;
/// The longest sleep between two looks.
const NAP_MAX: Duration = Duration::from_millis(16);

/// Something the thread does with the log.
type Job<L> = Box<dyn FnOnce(&mut L) + Send>;

/// The log; see the module.
pub struct ReadAhead<L: Log> {
    place: Place<L>,
    /// Looks that were asked for, in order.
    asked: VecDeque<Receiver<Look>>,
    /// A look of which part was handed on.
    front: Option<Look>,
    /// What was read of lanes before they were held back.
    aside: BTreeMap<Lane, Aside>,
    held: BTreeSet<Lane>,
    /// Memory for further looks.
    spare: Vec<Batch>,
}

/// Where the log is.
enum Place<L> {
    /// With us.
    Here(Box<L>),
    /// With the thread, which gives it back once there are no more jobs.
    Away { jobs: Sender<Job<L>>, thread: JoinHandle<L> },
    /// With a thread that panicked.
    Lost,
}

/// What one look at the log brought.
struct Look {
    batch: Batch,
    /// How many of the records were handed on.
    gone: usize,
    /// Whether there were as many records as were asked for: then there may be more.
    is_full: bool,
    end: Result<(), LogError>,
}

/// Records of a lane that wait until it is let go, and the last that is known of its end.
#[derive(Default)]
struct Aside {
    batch: Batch,
    gone: usize,
    mark: Option<Mark>,
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
        let thread = std::thread::Builder::new().name("read-ahead".into()).spawn(work);
        let thread = thread.map_err(|error| {
            LogError::Stop(format!("cannot start the thread that reads the log: {error}"))
        })?;
        Ok(ReadAhead {
            place: Place::Away { jobs, thread },
            asked: VecDeque::new(),
            front: None,
            aside: BTreeMap::new(),
            held: BTreeSet::new(),
            spare: Vec::new(),
        })
    }

    /// Has something done with the log, after all that was asked for before.
    fn ask<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut L) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (tell, answer) = channel();
        // Whoever does not wait for the answer does not want it.
        match &mut self.place {
            Place::Here(log) => drop(tell.send(job(log))),
            Place::Away { jobs, .. } => {
                drop(jobs.send(Box::new(move |log| drop(tell.send(job(log))))));
            }
            Place::Lost => {}
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
        let mut batch = self.spare.pop().unwrap_or_default();
        let look = self.ask(move |log| {
            batch.clear();
            let end = log.take(&mut batch, max, Duration::ZERO);
            Look { is_full: batch.records.len() >= max, gone: 0, batch, end }
        });
        self.asked.push_back(look);
    }

    /// The next look, and whether it was asked for just now.
    fn next_look(&mut self, max: usize) -> Result<(Look, bool), LogError> {
        if let Some(front) = self.front.take() {
            return Ok((front, false));
        }
        let is_new = self.asked.is_empty();
        if is_new {
            self.ask_for_a_look(max);
        }
        let look = self.asked.pop_front().and_then(|look| look.recv().ok()).ok_or_else(lost)?;
        let is_away = matches!(self.place, Place::Away { .. });
        while is_away && look.is_full && self.asked.len() < AHEAD {
            self.ask_for_a_look(max);
        }
        Ok((look, is_new))
    }

    /// Takes the log back from the thread.
    fn home(&mut self) -> Result<&mut L, LogError> {
        if let Place::Away { .. } = self.place
            && let Place::Away { jobs, thread } = std::mem::replace(&mut self.place, Place::Lost)
        {
            drop(jobs);
            let log = thread.join().map_err(|_| lost())?;
            self.place = Place::Here(Box::new(log));
        }
        match &mut self.place {
            Place::Here(log) => Ok(log),
            Place::Away { .. } | Place::Lost => Err(lost()),
        }
    }
}

impl<L: Log> ReadAhead<L> {
    /// Hands on what a look brought, until the batch holds `full` records. An error counts once
    /// all before it was handed on.
    fn hand_on(&mut self, mut look: Look, batch: &mut Batch, full: usize) -> Result<(), LogError> {
        let is_free = look.gone == 0 && batch.records.is_empty() && batch.marks.is_empty();
        let lanes = || {
            let records = look.batch.records.iter().map(|raw| raw.lane);
            records.chain(look.batch.marks.iter().map(|mark| mark.lane))
        };
        if is_free
            && batch.writers.is_empty()
            && look.batch.records.len() <= full
            && (self.held.is_empty() || !lanes().any(|lane| self.held.contains(&lane)))
        {
            // In one piece; what it was to be put into serves for a further look.
            std::mem::swap(batch, &mut look.batch);
            self.spare.push(look.batch);
            return look.end;
        }
        batch.writers.append(&mut look.batch.writers);
        while let Some(raw) = look.batch.records.get(look.gone) {
            let to = if self.held.contains(&raw.lane) {
                &mut self.aside.entry(raw.lane).or_default().batch
            } else if batch.records.len() < full {
                &mut *batch
            } else {
                self.front = Some(look);
                return Ok(());
            };
            let (key, value) = (look.batch.key(raw), look.batch.value(raw));
            to.push(raw.lane, raw.offset, raw.appended_at, key, value);
            look.gone += 1;
        }
        for mark in look.batch.marks.drain(..) {
            if self.held.contains(&mark.lane) {
                self.aside.entry(mark.lane).or_default().mark = Some(mark);
            } else {
                batch.marks.push(mark);
            }
        }
        self.spare.push(look.batch);
        look.end
    }

    /// Hands on what lies aside of lanes that are let go.
    fn hand_aside_on(&mut self, batch: &mut Batch, full: usize) {
        let held = &self.held;
        self.aside.retain(|lane, aside| {
            if held.contains(lane) {
                return true;
            }
            while let Some(raw) = aside.batch.records.get(aside.gone) {
                if batch.records.len() >= full {
                    return true;
                }
                let (key, value) = (aside.batch.key(raw), aside.batch.value(raw));
                batch.push(*lane, raw.offset, raw.appended_at, key, value);
                aside.gone += 1;
            }
            batch.marks.extend(aside.mark);
            false
        });
    }
}

impl<L: Log + Send + 'static> Log for ReadAhead<L> {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        self.wait(L::lanes)?
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        let from = from.clone();
        self.wait(move |log| log.assign(&from))??;
        // What was read ahead of where reading stood before.
        self.asked.clear();
        self.front = None;
        self.aside.clear();
        self.held.clear();
        Ok(())
    }

    fn hold(&mut self, lanes: &[Lane], held: bool) -> Result<(), LogError> {
        let named = lanes.to_vec();
        self.wait(move |log| log.hold(&named, held))??;
        for lane in lanes {
            if held {
                self.held.insert(*lane);
            } else {
                self.held.remove(lane);
            }
        }
        Ok(())
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        let (records, marks) = (batch.records.len(), batch.marks.len());
        let start = Instant::now();
        let mut nap = Duration::from_millis(1);
        self.hand_aside_on(batch, records + max);
        while batch.records.len() == records {
            if let (Place::Here(log), None, true) =
                (&mut self.place, &self.front, self.asked.is_empty())
            {
                return log.take(batch, max, wait.saturating_sub(start.elapsed()));
            }
            let (look, is_new) = self.next_look(max)?;
            self.hand_on(look, batch, records + max)?;
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

    fn say(&mut self, outputs: Vec<Output>, progress: Output) -> Result<(), LogError> {
        self.home()?.say(outputs, progress)
    }

    fn is_settled(&mut self) -> bool {
        // Nothing more comes of a log that is lost: `settle` says so.
        self.home().map_or(true, L::is_settled)
    }

    fn settle(&mut self) -> Result<(), LogError> {
        self.home()?.settle()
    }
}

impl<L: Log> Drop for ReadAhead<L> {
    /// Waits for the thread: whoever opens the log next finds it let go.
    fn drop(&mut self) {
        if let Place::Away { jobs, thread } = std::mem::replace(&mut self.place, Place::Lost) {
            drop(jobs);
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn lost() -> LogError {
    LogError::Stop("the thread that reads the log has ended; start again".into())
}
