//! The directory: whether it is a store, which process uses it, and what may be removed in it.
//!
//! A marker file distinguishes our directories from others without asking sled, and carries the
//! lock: its holder may remove and rename, no other process touches anything.

use super::files::{is_sled, stop};
use super::marker::{MARKER, Marker, has_format_record, restore};
use super::rewrite;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use yardmaster_drive::port::StoreError;

/// Where the running process can be asked.
const ADDRESS: &str = "address";
const ADDRESS_NEW: &str = "address.new";
/// Folder in which a running process keeps the history.
const HISTORY: &str = "history";
/// How many damaged stores are kept for people who want to look into them.
const DAMAGED_MAX: usize = 2;
/// How long a process that has just ended may take to let go of its store.
pub(super) const LET_GO_MAX: Duration = Duration::from_secs(3);

/// A directory of ours, locked.
#[derive(Debug)]
pub(super) struct StoreDir {
    dir: PathBuf,
    /// Whether there was no database in it when we took it.
    was_empty: bool,
    /// Notice on a repair made when we took the directory, for the operator.
    mended: Option<String>,
    /// Holds the lock as long as it is open.
    _marker: File,
}

impl StoreDir {
    /// Takes the directory, creating it where it is missing; refuses what is not ours. Waits at
    /// most `patience` for another process to let go.
    pub(super) fn take(dir: &Path, patience: Duration) -> Result<StoreDir, StoreError> {
        fs::create_dir_all(dir).map_err(|error| stop(dir, "create", &error))?;
        let (was_empty, state) = examine(dir)?;
        let mut marker = lock(dir, patience)?;
        let mended = restore(dir, &mut marker, state)?;
        rewrite::finish(dir)?;
        let address = dir.join(ADDRESS);
        match fs::remove_file(&address) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(stop(&address, "remove", &error))
            }
            _ => Ok(StoreDir { dir: dir.to_path_buf(), was_empty, mended, _marker: marker }),
        }
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether there was no database in it when we took it.
    pub(super) fn was_empty(&self) -> bool {
        self.was_empty
    }

    /// The notice on a repair made when we took the directory; once.
    pub(super) fn take_mended(&mut self) -> Option<String> {
        self.mended.take()
    }

    /// Removes sled's snapshots; returns their names. sled makes them again from its log, unless it
    /// has used the beginning of that again: then it may find nothing.
    pub(super) fn remove_snapshots(&self) -> Result<Vec<String>, StoreError> {
        let mut removed = Vec::new();
        for name in names(&self.dir)? {
            if name.starts_with("snap.") {
                let path = self.dir.join(&name);
                fs::remove_file(&path).map_err(|error| stop(&path, "remove", &error))?;
                removed.push(name);
            }
        }
        Ok(removed)
    }

    /// Removes all that sled wrote.
    pub(super) fn clear(&self) -> Result<(), StoreError> {
        self.remove_snapshots()?;
        for name in ["db", "conf", "blobs"] {
            let path = self.dir.join(name);
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(stop(&path, "remove", &error));
                }
                _ => (),
            }
        }
        Ok(())
    }

    /// Moves the directory aside and begins an empty one; returns where the old one went. Of those
    /// moved aside before only the newest are kept.
    pub(super) fn move_aside(self) -> Result<(StoreDir, PathBuf), StoreError> {
        let address = read_address(&self.dir);
        let mut damaged = damaged(&self.dir)?;
        let next = damaged.last().map_or(1, |(number, _)| number + 1);
        let aside = aside(&self.dir, next);
        fs::rename(&self.dir, &aside).map_err(|error| stop(&self.dir, "move aside", &error))?;
        damaged.push((next, aside.clone()));
        for (_, old) in &damaged[..damaged.len().saturating_sub(DAMAGED_MAX)] {
            if old.join(MARKER).is_file() {
                fs::remove_dir_all(old).map_err(|error| stop(old, "remove", &error))?;
            }
        }
        let store_dir = StoreDir::take(&self.dir, Duration::ZERO)?;
        if let Some(address) = address {
            store_dir.write_address(&address)?;
        }
        Ok((store_dir, aside))
    }

    /// Writes where the running process can be asked.
    pub(super) fn write_address(&self, address: &str) -> Result<(), StoreError> {
        let new = self.dir.join(ADDRESS_NEW);
        fs::write(&new, address)
            .and_then(|()| fs::rename(&new, self.dir.join(ADDRESS)))
            .map_err(|error| stop(&new, "write", &error))
    }
}

/// Where the process that uses the store can be asked; `None` if it wrote nothing.
pub(super) fn read_address(dir: &Path) -> Option<String> {
    let address = fs::read_to_string(dir.join(ADDRESS)).ok()?;
    Some(address.trim().to_string()).filter(|address| !address.is_empty())
}

/// Whether there is a store of ours at all.
pub(super) fn exists(dir: &Path) -> bool {
    dir.join(MARKER).is_file()
}

/// Refuses a directory with anything in it that a store of ours does not have. Returns whether
/// there is no database in it yet, and the state of the marker.
///
/// A damaged marker has two further signs beside it: the names in the directory, and what is left
/// of its text or the format record in the database. The database needs no rebuild because of it:
/// it is checked by its own checksums when it is read.
fn examine(dir: &Path) -> Result<(bool, Marker), StoreError> {
    let names = names(dir)?;
    let refuse = |what: &str| {
        Err(StoreError::Stop(format!(
            "store: {} is not a store of yardmaster: {what}; nothing was touched. Name another \
             directory, or empty this one if nobody needs it",
            dir.display()
        )))
    };
    if let Some(foreign) = names.iter().find(|name| !is_known(name)) {
        return refuse(&format!("it holds `{foreign}`"));
    }
    let empty = names.iter().all(|name| !is_sled(name) && !rewrite::NAMES.contains(&name.as_str()));
    let marker = match names.iter().any(|name| name == MARKER) {
        true => Marker::read(&dir.join(MARKER))?,
        false if empty => Marker::New,
        false => Marker::Missing,
    };
    let is_ours = match marker {
        Marker::New | Marker::Whole | Marker::Damaged => true,
        Marker::Missing | Marker::Unlike => has_format_record(dir)?,
    };
    match marker {
        _ if is_ours => Ok((empty, marker)),
        Marker::Missing => refuse(&format!("a sled database without `{MARKER}`")),
        _ => refuse(&format!("`{MARKER}` is no marker of ours")),
    }
}

fn is_known(name: &str) -> bool {
    is_sled(name)
        || rewrite::NAMES.contains(&name)
        || matches!(name, MARKER | ADDRESS | ADDRESS_NEW | HISTORY | "lost+found")
}

fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    };
    list().map_err(|error| stop(dir, "list", &error))
}

/// Opens the marker, creating it, and locks it.
fn lock(dir: &Path, patience: Duration) -> Result<File, StoreError> {
    let path = dir.join(MARKER);
    let marker = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(&path)
        .map_err(|error| stop(&path, "open", &error))?;
    let begun = Instant::now();
    loop {
        match marker.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Err(in_use(dir)),
            Err(TryLockError::Error(error)) => return Err(stop(&path, "lock", &error)),
        }
    }
    Ok(marker)
}

fn in_use(dir: &Path) -> StoreError {
    let by = match read_address(dir) {
        Some(address) => format!("the process at {address}; ask it there, or stop it"),
        None => "another process; stop it, or name another directory".to_string(),
    };
    StoreError::Stop(format!("store: {} is in use by {by}", dir.display()))
}

fn aside(dir: &Path, number: u64) -> PathBuf {
    let mut name = OsString::from(dir.file_name().unwrap_or("store".as_ref()));
    name.push(format!(".damaged-{number}"));
    dir.with_file_name(name)
}

/// The directories moved aside before, oldest first.
fn damaged(dir: &Path) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = dir.file_name().unwrap_or("store".as_ref()).to_string_lossy();
    let prefix = format!("{name}.damaged-");
    let mut found: Vec<(u64, PathBuf)> = names(parent)?
        .iter()
        .filter_map(|name| name.strip_prefix(&prefix)?.parse().ok())
        .map(|number| (number, aside(dir, number)))
        .collect();
    found.sort();
    Ok(found)
}
