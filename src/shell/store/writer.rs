//! The one thread that writes, so that folding goes on meanwhile.

use super::index::{Index, RecordChanges};
use super::open::{self, Trouble};
use super::rewrite::{self, Space};
use crate::thread;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use yardmaster_drive::port::{Checkpoint, StoreError};

/// Longer than this no checkpoint takes; a disk that is slower is broken.
const WRITE_MAX: Duration = Duration::from_secs(300);

/// The writing thread, seen from outside. At most one checkpoint is with it.
#[derive(Debug)]
pub(super) struct Writer {
    dir: PathBuf,
    orders: Sender<Checkpoint>,
    done: Receiver<Result<(), StoreError>>,
    thread: JoinHandle<Option<sled::Db>>,
    busy: bool,
}

impl Writer {
    /// Starts the thread over an opened tree whose content `index` has.
    pub(super) fn start(
        dir: &Path,
        db: sled::Db,
        index: Index,
        space: Space,
    ) -> Result<Writer, StoreError> {
        let (orders, to_write) = channel();
        let (results, done) = channel();
        let path = dir.to_path_buf();
        let work = move || write_all(&path, db, index, space, &to_write, &results);
        let thread = thread::spawn("store", work)
            .map_err(|error| super::files::stop(dir, "start the thread that writes", &error))?;
        Ok(Writer { dir: dir.to_path_buf(), orders, done, thread, busy: false })
    }

    /// Gives a checkpoint to the thread; waits for the one before.
    pub(super) fn keep(&mut self, checkpoint: Checkpoint) -> Result<(), StoreError> {
        self.wait()?;
        self.orders.send(checkpoint).map_err(|_| self.gone())?;
        self.busy = true;
        Ok(())
    }

    /// Whether a checkpoint is still being written; an error if it has failed.
    pub(super) fn is_busy(&mut self) -> Result<bool, StoreError> {
        if self.busy {
            match self.done.try_recv() {
                Err(TryRecvError::Empty) => return Ok(true),
                Err(TryRecvError::Disconnected) => return Err(self.gone()),
                Ok(result) => {
                    self.busy = false;
                    result?;
                }
            }
        }
        Ok(false)
    }

    /// Waits until what was handed over is durable.
    pub(super) fn wait(&mut self) -> Result<(), StoreError> {
        if !self.busy {
            return Ok(());
        }
        match self.done.recv_timeout(WRITE_MAX) {
            Ok(result) => {
                self.busy = false;
                result
            }
            Err(_) => Err(self.gone()),
        }
    }

    /// Waits, ends the thread and gives the tree back.
    pub(super) fn end(mut self) -> Result<sled::Db, StoreError> {
        self.wait()?;
        let gone = self.gone();
        let Writer { orders, thread, .. } = self;
        drop(orders);
        thread.join().ok().flatten().ok_or(gone)
    }

    fn gone(&self) -> StoreError {
        Trouble::World(format!("the thread that writes gave no answer in {WRITE_MAX:?} or died"))
            .stop(&self.dir, "writing")
    }
}

/// The thread: writes until no orders can come, or a write fails.
fn write_all(
    dir: &Path,
    db: sled::Db,
    mut index: Index,
    mut space: Space,
    orders: &Receiver<Checkpoint>,
    results: &Sender<Result<(), StoreError>>,
) -> Option<sled::Db> {
    let mut open = Some(db);
    while let Ok(checkpoint) = orders.recv() {
        let bytes = bytes_of(&checkpoint);
        let written = open::guard("writing", || {
            // A rewrite that failed half way leaves nothing open; then nothing follows either.
            let Some(db) = open.take() else { return Err(Trouble::damage("it is not open")) };
            let changes = index.changes(checkpoint);
            let is_large =
                changes.bytes() >= space.large && 3 * changes.written() >= index.seal.records;
            // Without room beside it, it is written in place.
            let (db, is_written) = match is_large {
                true => rewrite::rewrite(dir, db, &mut space, changes.0.iter())?,
                false => (db, false),
            };
            if !is_written {
                write(dir, &db, changes)?;
            }
            open = Some(match !is_written && space.is_wasted(dir, &db, bytes)? {
                true => rewrite::rewrite(dir, db, &mut space, std::iter::empty())?.0,
                false => db,
            });
            Ok(())
        })
        .map_err(|trouble| trouble.stop(dir, "writing"));
        let failed = written.is_err();
        if results.send(written).is_err() || failed {
            break;
        }
    }
    open
}

fn bytes_of(checkpoint: &Checkpoint) -> u64 {
    let deltas = checkpoint.deltas.iter().map(Vec::len);
    let bases = checkpoint.bases.iter().map(|(_, records)| records.len());
    (checkpoint.head.len() + deltas.chain(bases).sum::<usize>()) as u64
}

/// One batch, one flush. sled's flush hands pages to the disk without the file's new length and
/// without emptying the disk's own cache; the sync after it does both.
fn write(dir: &Path, db: &sled::Db, changes: RecordChanges) -> Result<(), Trouble> {
    let mut batch = sled::Batch::default();
    for (key, value) in changes.0 {
        match value {
            Some(value) => batch.insert(key, value),
            None => batch.remove(key),
        }
    }
    db.apply_batch(batch)?;
    db.flush()?;
    File::open(dir.join("db"))
        .and_then(|file| file.sync_data())
        .map_err(|error| Trouble::from(sled::Error::Io(error)))
}
