//! Writes a new database beside the old one and swaps the two, if it takes far more space than
//! its content: sled 0.34 loses track of some files of large nodes and never removes them.
//!
//! The swap has three names, so that a start after a kill at any moment goes on with it: `next` is
//! not complete and is removed; `ready` is complete and replaces what lies beside it; the files of
//! `moving` have no other copy and are moved up.

use super::files::{is_sled, stop};
use super::open::{self, Trouble};
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
/// Records of a copy that are written in one batch; bytes.
const BATCH_BYTES: usize = 8 << 20;

/// Decides when the database is to be rewritten.
#[derive(Debug)]
pub(super) struct Space {
    slack: u64,
    written: u64,
    /// Space below this needs no look at the content.
    fine: u64,
}

impl Space {
    /// Tolerates so many bytes beyond thrice the content.
    pub(super) fn new(slack: u64) -> Space {
        Space { slack, written: 0, fine: slack }
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
        self.fine = bytes_in(dir).map_or(u64::MAX, |taken| taken * 2);
    }
}

/// Copies the content into a new database and opens that in place of the old one. Without room for
/// the copy the old one stays.
pub(super) fn rewrite(dir: &Path, db: sled::Db, space: &mut Space) -> Result<sled::Db, Trouble> {
    let next = dir.join(NEXT);
    match copy(&db, &next) {
        Ok(()) => (),
        Err(Trouble::World(why)) => {
            tracing::warn!("store: no room to rewrite {}: {why}", dir.display());
            remove(&next).map_err(|error| Trouble::from(sled::Error::Io(error)))?;
            space.postpone(dir);
            return Ok(db);
        }
        Err(damage) => return Err(damage),
    }
    drop(db);
    open::wait_until_closed(dir)?;
    fs::rename(&next, dir.join(READY))
        .and_then(|()| swap(dir))
        .map_err(|error| Trouble::from(sled::Error::Io(error)))?;
    open::open(dir)
}

fn copy(db: &sled::Db, next: &Path) -> Result<(), Trouble> {
    let new = open::open(next)?;
    let (mut batch, mut bytes) = (sled::Batch::default(), 0);
    for record in db.iter() {
        let (key, value) = record?;
        bytes += key.len() + value.len();
        batch.insert(key, value);
        if bytes >= BATCH_BYTES {
            new.apply_batch(std::mem::take(&mut batch))?;
            new.flush()?;
            bytes = 0;
        }
    }
    new.apply_batch(batch)?;
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
