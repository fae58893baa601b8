//! The files of the history: one for each hour of the cycles' `now`, blocks one behind the other.
//! Old files go first when the history gets too old or too large.

use super::block::{self, HEAD, Head, Kind};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use yardmaster_core::unit::{HOUR, Millis};

const ENDING: &str = "history";
/// Names the key of the pseudonyms that users have in the files; empty or missing: their own names.
const NAMES: &str = "users";

/// Where a block lies, and its head.
#[derive(Clone, Debug)]
pub(super) struct Place {
    path: Arc<Path>,
    offset: u64,
    /// Its head.
    pub head: Head,
}

/// How much of the past is kept.
#[derive(Clone, Copy, Debug)]
pub struct Keeps {
    /// Time between two snapshots of the counters, by the cycles' `now`.
    pub interval: Millis,
    /// Files of hours before this are removed, by the cycles' `now`.
    pub span: Millis,
    /// The oldest files are removed while all take more; bytes.
    pub bytes: u64,
}

/// The files, and where each block lies, oldest first.
#[derive(Debug)]
pub(super) struct Files {
    dir: PathBuf,
    keeps: Keeps,
    places: Vec<Place>,
    /// The file that is written.
    open: Option<(Arc<Path>, File, u64)>,
}

impl Files {
    /// Opens a directory, made where it is missing, and finds the blocks in it. What lies behind
    /// the last whole block of a file was not finished when its process ended, and is cut off.
    pub fn open(dir: &Path, keeps: Keeps) -> io::Result<Files> {
        fs::create_dir_all(dir)?;
        let mut places = Vec::new();
        for path in files_in(dir)? {
            find(&path, &mut places)?;
        }
        // The order of cycles is that of hours, unless a wrong clock was repaired.
        places.sort_by_key(|place| place.head.cycle);
        Ok(Files { dir: dir.to_path_buf(), keeps, places, open: None })
    }

    /// Removes what was kept in a directory with users under other names than now: under their
    /// own, or under the pseudonyms of another key. `key` names the one in force.
    pub fn forget_other_names(dir: &Path, key: Option<&str>) -> io::Result<()> {
        let (mark, key) = (dir.join(NAMES), key.unwrap_or(""));
        let kept = match fs::read_to_string(&mark) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            kept => kept?,
        };
        if kept.trim() == key {
            return Ok(());
        }
        for path in files_in(dir)? {
            fs::remove_file(path)?;
        }
        fs::write(&mark, key)
    }

    /// Where each block lies, oldest first.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Appends a block to the file of the hour of its first record, and removes what is too old.
    pub fn append(&mut self, head: Head, names: &[&str], raw: &[u8]) -> io::Result<()> {
        let path = self.path_of(head.first_at);
        if self.open.as_ref().is_none_or(|(open, ..)| **open != *path) {
            let file = OpenOptions::new().create(true).append(true).read(true).open(&path)?;
            let length = file.metadata()?.len();
            self.open = Some((path.into(), file, length));
            self.prune(head.first_at)?;
        }
        let Some((path, file, length)) = &mut self.open else { return Ok(()) };
        let (head, bytes) = block::write(head, names, raw)?;
        if let Err(error) = file.write_all(&bytes) {
            // Half a block: the next one goes to where it began.
            file.set_len(*length)?;
            return Err(error);
        }
        self.places.push(Place { path: Arc::clone(path), offset: *length, head });
        *length += bytes.len() as u64;
        Ok(())
    }

    fn path_of(&self, at: Millis) -> PathBuf {
        let hour = at.div_euclid(HOUR).max(0);
        let name = match jiff::Timestamp::from_millisecond(hour * HOUR) {
            Ok(moment) => moment.strftime("%Y%m%dT%H").to_string(),
            Err(_) => format!("hour-{hour:020}"),
        };
        self.dir.join(name).with_extension(ENDING)
    }

    fn prune(&mut self, now: Millis) -> io::Result<()> {
        let mut bytes: u64 = self.places.iter().map(|place| place.head.bytes()).sum();
        let oldest = now.saturating_sub(self.keeps.span);
        while let Some(first) = self.places.first() {
            let path = Arc::clone(&first.path);
            let is_open = self.open.as_ref().is_some_and(|(open, ..)| *open == path);
            let of_file = |place: &&Place| place.path == path;
            let last = self.places.iter().filter(of_file).map(|place| place.head.last_at).max();
            let is_old = last.is_some_and(|last| last < oldest);
            if is_open || !(is_old || bytes > self.keeps.bytes) {
                return Ok(());
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            bytes -= self.places.iter().filter(of_file).map(|it| it.head.bytes()).sum::<u64>();
            self.places.retain(|place| place.path != path);
        }
        Ok(())
    }
}

/// The files of a history, the oldest hour first.
fn files_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .collect();
    paths.sort();
    Ok(paths)
}

/// Finds the blocks of a file by their heads.
fn find(path: &Path, places: &mut Vec<Place>) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    let path: Arc<Path> = path.into();
    let mut offset = 0;
    let mut bytes = [0; HEAD];
    while offset + HEAD as u64 <= length {
        file.read_exact_at(&mut bytes, offset)?;
        let Some(head) = Head::read(&bytes).filter(|head| offset + head.bytes() <= length) else {
            break;
        };
        places.push(Place { path: Arc::clone(&path), offset, head });
        offset += head.bytes();
    }
    if offset < length {
        tracing::warn!(
            "history: {} ends in the middle of a block at byte {offset}: cut off",
            path.display()
        );
        file.set_len(offset)?;
    }
    Ok(())
}

impl Place {
    /// Whether its block may hold something of a name; so if that cannot be read.
    pub fn may_hold(&self, name: &str) -> bool {
        let range = self.head.names_at();
        let mut names = vec![0; range.len()];
        let offset = self.offset + range.start as u64;
        let read = File::open(&self.path).and_then(|file| file.read_exact_at(&mut names, offset));
        read.is_err() || block::may_hold(&names, name)
    }

    /// The body of its block; `None` if it was removed meanwhile, or is damaged.
    pub fn body(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.head.bytes() as usize];
        let read = File::open(&self.path)
            .and_then(|file| file.read_exact_at(&mut bytes, self.offset))
            .map_err(|error| (error.kind() != ErrorKind::NotFound).then_some(error));
        match read {
            Ok(()) => {}
            Err(None) => return None,
            Err(Some(error)) => {
                tracing::warn!("history: {} cannot be read: {error}", self.path.display());
                return None;
            }
        }
        let body = block::body(&bytes);
        if body.is_none() {
            let (path, at) = (self.path.display(), self.offset);
            tracing::warn!("history: the block at byte {at} of {path} is damaged: passed over");
        }
        body
    }

    /// Whether it holds counters.
    pub fn is_counters(&self) -> bool {
        matches!(self.head.kind, Kind::Full | Kind::Changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const KEEPS: Keeps = Keeps { interval: 60_000, span: 10 * HOUR, bytes: 1 << 30 };

    fn append(files: &mut Files, at: Millis, cycle: u64) {
        let head =
            Head { first: cycle << 20, last: cycle << 20, ..Head::new(Kind::Outputs, at, cycle) };
        files.append(head, &["name"], &[7; 1_000]).unwrap();
    }

    fn cycles(files: &Files) -> Vec<u64> {
        files.places().iter().map(|place| place.head.cycle).collect()
    }

    #[test]
    fn what_was_written_is_found_again_and_half_a_block_is_cut_off() {
        let dir = TempDir::new().unwrap();
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        for cycle in 1..=5 {
            append(&mut files, cycle as Millis * HOUR / 2, cycle);
        }
        drop(files);
        let last = files_in(dir.path()).unwrap().pop().unwrap();
        let length = fs::metadata(&last).unwrap().len();
        OpenOptions::new().write(true).open(&last).unwrap().set_len(length - 3).unwrap();
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        assert_eq!(cycles(&files), [1, 2, 3, 4]);
        assert!(
            files.places().iter().all(|place| place.body().is_some_and(|it| it.len() == 1_000))
        );
        assert!(files.places().iter().all(|place| place.may_hold("name")));
        assert!(!files.places().iter().any(|place| place.may_hold("another")));
        append(&mut files, 3 * HOUR, 6);
        assert_eq!(cycles(&Files::open(dir.path(), KEEPS).unwrap()), [1, 2, 3, 4, 6]);
    }

    #[test]
    fn the_oldest_hours_go_when_it_gets_too_old_or_too_large() {
        let dir = TempDir::new().unwrap();
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        (1..=20).for_each(|cycle| append(&mut files, cycle as Millis * HOUR, cycle));
        assert_eq!(cycles(&files), (10..=20).collect::<Vec<u64>>());
        let block = files.places()[0].head.bytes();
        drop(files);
        let keeps = Keeps { bytes: 4 * block, ..KEEPS };
        let mut files = Files::open(dir.path(), keeps).unwrap();
        append(&mut files, 21 * HOUR, 21);
        assert_eq!(cycles(&files), [17, 18, 19, 20, 21]);
        assert_eq!(files_in(dir.path()).unwrap().len(), 5);
    }

    #[test]
    fn what_has_users_under_other_names_is_removed() {
        let dir = TempDir::new().unwrap();
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        append(&mut files, HOUR, 1);
        drop(files);
        Files::forget_other_names(dir.path(), None).unwrap();
        assert_eq!(files_in(dir.path()).unwrap().len(), 1);
        Files::forget_other_names(dir.path(), Some("a key")).unwrap();
        assert!(files_in(dir.path()).unwrap().is_empty());
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        append(&mut files, HOUR, 1);
        drop(files);
        Files::forget_other_names(dir.path(), Some("a key")).unwrap();
        assert_eq!(files_in(dir.path()).unwrap().len(), 1);
        Files::forget_other_names(dir.path(), None).unwrap();
        assert!(files_in(dir.path()).unwrap().is_empty());
    }
}
