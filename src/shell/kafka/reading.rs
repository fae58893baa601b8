//! Reading by a thread of its own: while one batch is folded the next are fetched and copied.
//!
//! The thread has as many looks ahead as it is given batches for, so a slow fold is not
//! overrun. What was read ahead is handed on by [`Shelf`].

use super::reader::{Extent, Reader};
use crate::read_ahead::shelf::{Look, Shelf};
use crate::thread;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use yardmaster_core::cut::Lane;
use yardmaster_drive::port::{Batch, LogError};

/// Looks that are made beyond the one that is taken.
const AHEAD: usize = 4;
/// The most records of one look: few enough that folding the first need not wait long for it.
const LOOK_RECORDS: usize = 16_384;
/// How long a look waits for its first record. So long may an order have to wait: the first where
/// lanes are paused, which an order may let go on.
const LOOK_WAIT: Duration = Duration::from_millis(20);
const IDLE_WAIT: Duration = Duration::from_millis(200);

/// A set of lanes that are being read. Another assignment is another one.
pub(super) struct Reading {
    orders: Option<Sender<Order>>,
    looks: Receiver<Look>,
    thread: Option<JoinHandle<()>>,
    /// How many looks the thread was asked for and has not brought.
    asked: usize,
    shelf: Shelf,
    extent: Extent,
}

/// Orders for the thread.
enum Order {
    /// To make a look of so many records at most.
    Look(Batch, usize),
    /// To pause or resume lanes, and to report when it is done.
    Pause(Vec<Lane>, bool, Sender<Result<(), LogError>>),
}

impl Reading {
    /// Gives a reader to a thread. `leads` is whether only this process can write own lanes.
    pub fn start(reader: Reader, leads: Arc<AtomicBool>) -> Result<Reading, LogError> {
        let extent = reader.extent();
        let (orders, inbox) = channel();
        let (outbox, looks) = channel();
        let work = move || work(reader, &leads, &inbox, &outbox);
        let thread = thread::spawn("kafka-read", work);
        let thread = thread.map_err(|error| {
            LogError::Stop(format!("cannot start the thread that reads: {error}"))
        })?;
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Reading { orders, looks, thread, asked: 0, shelf: Shelf::default(), extent })
    }

    /// Takes what there is; see `Log::take`.
    pub fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        let (records, marks) = (batch.records.len(), batch.marks.len());
        let start = Instant::now();
        self.shelf.hand_aside_on(batch, records + max);
        while batch.records.len() == records && batch.marks.len() == marks {
            while self.asked < AHEAD {
                let spare = self.shelf.spare();
                self.order(Order::Look(spare, max.min(LOOK_RECORDS)))?;
                self.asked += 1;
            }
            let look = match self.shelf.front() {
                Some(look) => look,
                None => match self.looks.recv_timeout(wait.saturating_sub(start.elapsed())) {
                    Ok(look) => {
                        self.asked -= 1;
                        look
                    }
                    Err(RecvTimeoutError::Timeout) => return Ok(()),
                    Err(RecvTimeoutError::Disconnected) => return Err(lost()),
                },
            };
            self.shelf.hand_on(look, batch, records + max)?;
        }
        Ok(())
    }

    /// Holds lanes back or lets them go on.
    pub fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        let (done_by, done) = channel();
        self.order(Order::Pause(lanes.to_vec(), paused, done_by))?;
        done.recv().map_err(|_| lost())??;
        self.shelf.set_paused(lanes, paused);
        Ok(())
    }

    /// How far the lanes reach, and since when the broker does not answer.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    fn order(&self, order: Order) -> Result<(), LogError> {
        let sent = self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        if sent { Ok(()) } else { Err(lost()) }
    }
}

impl Drop for Reading {
    /// Waits for the thread: after it no thread reads under this name.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}

/// The thread: carries out orders until no more can come.
fn work(mut reader: Reader, leads: &AtomicBool, inbox: &Receiver<Order>, outbox: &Sender<Look>) {
    let mut looks = VecDeque::new();
    loop {
        let order = match looks.is_empty() {
            true => inbox.recv().map_err(|_| TryRecvError::Disconnected),
            false => inbox.try_recv(),
        };
        match order {
            Ok(Order::Look(batch, max)) => looks.push_back((batch, max)),
            Ok(Order::Pause(lanes, paused, done_by)) => {
                // A caller that does not wait for the answer does not want it.
                let _ = done_by.send(reader.set_paused(&lanes, paused));
            }
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => {
                let Some((mut batch, max)) = looks.pop_front() else { continue };
                let leads = leads.load(Ordering::Relaxed);
                let wait = if reader.is_any_paused() { LOOK_WAIT } else { IDLE_WAIT };
                let end = reader.take(&mut batch, max, wait, leads);
                if end.is_ok() && batch.records.is_empty() && batch.marks.is_empty() {
                    looks.push_front((batch, max));
                } else if outbox.send(Look::new(batch, max, end)).is_err() {
                    return;
                }
            }
        }
    }
}

fn lost() -> LogError {
    LogError::Stop("the thread that reads Kafka has ended; start again".into())
}
