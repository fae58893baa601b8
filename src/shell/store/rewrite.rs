//! Writes a new database beside the old one and swaps the two: if it takes far more space than its
//! content, since sled 0.34 loses track of some files of large nodes and never removes them; and if
//! a large part of it changes, since sled 0.34 keeps all that one batch replaces until its end,
//! some ten times what is written.
//!
//! The swap has three names, so that a start after a kill at any moment goes on with it: `next` is
//! not complete and is removed; `ready` is complete and replaces what lies beside it; the files of
//! `moving` have no other copy and are moved up.

use super::files::{is_sled, stop};
use super::open::{self, Trouble};
use sled::IVec;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use yardmaster_drive::port::StoreError;

const NEXT: &str = "next";
const READY: &str = "ready";
const MOVING: &str = "moving";
/// The names of a swap under way.
pub(super) const NAMES: [&str; 3] = [NEXT, READY, MOVING];

/// Space beyond thrice the content that is left to sled; bytes.
pub(super) const SLACK_BYTES: u64 = 256 << 20;
/// Space is measured each time so much was written; bytes.
const MEASURE_BYTES: u64 = 8 << 20;
/// A checkpoint of so many bytes that changes a third of the records is written beside them.
pub(super) const LARGE_BYTES: usize = 64 << 20;
/// Records of a copy that are written in one batch; bytes.
const BATCH_BYTES: usize = 8 << 20;

/// Decides when the database is to be rewritten.
#[derive(Debug)]
pub(super) struct Space {
    slack: u64,
    /// A checkpoint of so many bytes is large.
    pub(super) large: usize,
    written: u64,
    /// Space below this needs no look at the content.
    fine: u64,
}

impl Space {
    /// Tolerates so many bytes beyond thrice the content; a checkpoint of `large` bytes is large.
    pub(super) fn new((slack, large): (u64, usize)) -> Space {
        Space { slack, large, written: 0, fine: slack }
    }

    /// Notes what was written; whether the database takes far more space than its content.
    pub(super) fn is_wasted(
        &mut self,
        dir: &Path,
        db: &sled::Db,
        bytes: u64,
    ) -> Result<bool, Trouble> {
        self.written += bytes;
        if self.written < MEASURE_BYTES.min(self.slack) {
            return Ok(false);
        }
        self.written = 0;
        let taken = bytes_in(dir).map_err(|error| Trouble::from(sled::Error::Io(error)))?;
        if taken <= self.fine {
            return Ok(false);
        }
        let mut content = 0;
        for record in db.iter() {
            let (key, value) = record?;
            content += (key.len() + value.len()) as u64;
        }
        let most = 3 * content + self.slack;
        // Looking at all the content again pays once the space has grown by half.
        self.fine = if taken > most { self.slack } else { most.max(taken + taken / 2) };
        Ok(taken > most)
    }

    /// The content could not be copied: not to be tried again soon.
    fn postpone(&mut self, dir: &Path) {
        self.large = self.large.saturating_mul(2);
        self.fine = bytes_in(dir).map_or(u64::MAX, |taken| taken * 2);
    }
}

/// A change of a record: its key, and its value; `None`: it is gone.
type Change<'a> = (&'a Vec<u8>, &'a Option<Vec<u8>>);

/// Copies the content with changes, in the order of their keys, into a new database and opens that
/// in place of the old one. Without room for the copy the old one stays as it is, and false comes
/// with it.
pub(super) fn rewrite<'a>(
    dir: &Path,
    db: sled::Db,
    space: &mut Space,
    changes: impl Iterator<Item = Change<'a>>,
) -> Result<(sled::Db, bool), Trouble> {
    let next = dir.join(NEXT);
    match copy(&db, &next, changes) {
        Ok(()) => (),
        Err(Trouble::World(why)) => {
            tracing::warn!("store: no room to rewrite {}: {why}", dir.display());
            remove(&next).map_err(|error| Trouble::from(sled::Error::Io(error)))?;
            space.postpone(dir);
            return Ok((db, false));
        }
        Err(damage) => return Err(damage),
    }
    drop(db);
    open::wait_until_closed(dir)?;
    fs::rename(&next, dir.join(READY))
        .and_then(|()| swap(dir))
        .map_err(|error| Trouble::from(sled::Error::Io(error)))?;
    Ok((open::open(dir)?, true))
}

/// A new database that is filled batch by batch.
struct Copying {
    db: sled::Db,
    batch: sled::Batch,
    bytes: usize,
}

impl Copying {
    fn put(&mut self, key: &[u8], value: IVec) -> Result<(), Trouble> {
        self.bytes += key.len() + value.len();
        self.batch.insert(key, value);
        if self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        self.bytes = 0;
        self.db.apply_batch(std::mem::take(&mut self.batch))?;
        self.db.flush()?;
        Ok(())
    }
}

fn copy<'a>(
    db: &sled::Db,
    next: &Path,
    changes: impl Iterator<Item = Change<'a>>,
) -> Result<(), Trouble> {
    let mut new = Copying { db: open::open(next)?, batch: sled::Batch::default(), bytes: 0 };
    let mut changes = changes.peekable();
    for record in db.iter() {
        let (key, value) = record?;
        while let Some((changed, written)) = changes.next_if(|it| it.0.as_slice() < &*key) {
            put_if(&mut new, changed, written.as_ref())?;
        }
        match changes.next_if(|it| it.0.as_slice() == &*key) {
            Some((changed, written)) => put_if(&mut new, changed, written.as_ref())?,
            None => new.put(&key, value)?,
        }
    }
    for (changed, written) in changes {
        put_if(&mut new, changed, written.as_ref())?;
    }
    new.flush()?;
    let sync = || -> io::Result<()> {
        for entry in fs::read_dir(next.join("blobs"))? {
            File::open(entry?.path())?.sync_all()?;
        }
        File::open(next.join("db"))?.sync_all()
    };
    sync().map_err(|error| Trouble::from(sled::Error::Io(error)))?;
    drop(new);
    open::wait_until_closed(next)
}

fn put_if(new: &mut Copying, key: &[u8], value: Option<&Vec<u8>>) -> Result<(), Trouble> {
    value.map_or(Ok(()), |value| new.put(key, value.as_slice().into()))
}

/// Ends a swap that was under way when a process ended. The caller holds the lock.
pub(super) fn finish(dir: &Path) -> Result<(), StoreError> {
    remove(&dir.join(NEXT))
        .and_then(|()| swap(dir))
        .map_err(|error| stop(dir, "put the rewritten database into", &error))
}

fn swap(dir: &Path) -> io::Result<()> {
    let (ready, moving) = (dir.join(READY), dir.join(MOVING));
    if ready.is_dir() {
        for name in names(dir)?.iter().filter(|name| is_sled(name)) {
            remove(&dir.join(name))?;
        }
        sync(dir)?;
        fs::rename(&ready, &moving)?;
        sync(dir)?;
    }
    if moving.is_dir() {
        for name in names(&moving)? {
            fs::rename(moving.join(&name), dir.join(&name))?;
        }
        sync(dir)?;
        fs::remove_dir(&moving)?;
    }
    Ok(())
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn names(dir: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// The bytes of all files below a directory. One that is removed meanwhile counts nothing.
fn bytes_in(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += match entry.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            data => match data? {
                data if data.is_dir() => bytes_in(&entry.path())?,
                data => data.len(),
            },
        };
    }
    Ok(bytes)
}
