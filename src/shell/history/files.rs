//! The files of the history: one for each hour of the cycles' `now`, blocks one behind the other.
//! Old files go first when the history gets too old or too large.

use super::block::{self, BlockKind, HEAD, Head};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use yardmaster_core::unit::{HOUR, Millis};

const ENDING: &str = "history";
/// Names the key of the pseudonyms that users have in the files; empty or missing: their own names.
const NAMES: &str = "users";
/// Names the log that it is the history of; missing where that is not known.
const LOG: &str = "log";

/// Where a block lies, and its head.
#[derive(Clone, Debug)]
pub(super) struct Place {
    path: Arc<Path>,
    offset: u64,
    /// Its head.
    pub head: Head,
}

/// Identity of a history: the pseudonym key and the log that it belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistoryIdentity<'a> {
    /// Fingerprint of the key of users' pseudonyms; `None`: users have their own names.
    pub key: Option<&'a str>,
    /// The log; `None` where that is not known.
    pub log: Option<&'a str>,
}

/// Why a block has no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingBody {
    /// Its file was too old.
    Removed,
    /// It cannot be read, or is not what was written.
    Damaged,
}

/// How much of the past is kept.
#[derive(Clone, Copy, Debug)]
pub struct Keeps {
    /// Time between two snapshots of the counters, by the cycles' `now`.
    pub interval: Millis,
    /// So many hours that had a cycle are kept, the newest ones. A pause is not counted: what was
    /// known before it is known after it.
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
        let mut is_cut_off = false;
        for path in files_in(dir)? {
            is_cut_off = find(&path, is_cut_off, &mut places)?;
        }
        // The order of cycles is that of hours, unless a wrong clock was repaired.
        places.sort_by_key(|place| place.head.cycle);
        Ok(Files { dir: dir.to_path_buf(), keeps, places, open: None })
    }

    /// Removes what was kept in a directory of another log, or with users under other names than
    /// now: under their own, or under the pseudonyms of another key.
    pub fn forget_others(dir: &Path, of: HistoryIdentity<'_>) -> io::Result<()> {
        let read = |name: &str| match fs::read_to_string(dir.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            kept => kept.map(|text| Some(text.trim().to_owned())),
        };
        let (key, kept_log) = (of.key.unwrap_or(""), read(LOG)?);
        let kept_key = read(NAMES)?.unwrap_or_default();
        let is_other_log = of.log.is_some_and(|log| kept_log.is_some_and(|kept| kept != log));
        if kept_key != key || is_other_log {
            let what = if is_other_log { "of another log" } else { "with users of other names" };
            let dir_name = dir.display();
            tracing::warn!("history: {dir_name} is {what}: begun again, there is no look back");
            for path in files_in(dir)? {
                fs::remove_file(path)?;
            }
            fs::write(dir.join(NAMES), key)?;
        }
        of.log.map_or(Ok(()), |log| fs::write(dir.join(LOG), log))
    }

    /// Where each block lies, oldest first.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// A block is damaged: it is a gap from now on, and so are counters that go on with its own.
    pub fn lose(&mut self, lost: &Place) {
        let is_it = |place: &Place| (&place.path, place.offset) == (&lost.path, lost.offset);
        let Some(at) = self.places.iter().position(is_it) else { return };
        let is_counters = self.places[at].is_counters();
        self.places[at].head.kind = BlockKind::Gap;
        let behind = self.places[at + 1..].iter_mut().filter(|_| is_counters);
        for place in behind.filter(|place| place.is_counters()) {
            if place.head.kind == BlockKind::Full {
                break;
            }
            place.head.kind = BlockKind::Gap;
        }
    }

    /// Appends a block to the file of the hour of its first record, and removes what is too old.
    pub fn append(&mut self, head: Head, names: &[&str], raw: &[u8]) -> io::Result<()> {
        let path = self.path_of(head.first_at);
        if self.open.as_ref().is_none_or(|(open, ..)| **open != *path) {
            let file = OpenOptions::new().create(true).append(true).read(true).open(&path)?;
            let length = file.metadata()?.len();
            self.open = Some((path.into(), file, length));
            self.prune()?;
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

    fn prune(&mut self) -> io::Result<()> {
        let mut bytes: u64 = self.places.iter().map(|place| place.head.bytes()).sum();
        let mut hours: BTreeSet<Arc<Path>> =
            self.places.iter().map(|place| Arc::clone(&place.path)).collect();
        hours.extend(self.open.iter().map(|(open, ..)| Arc::clone(open)));
        // Beside the hour that is written.
        let most = usize::try_from(self.keeps.span / HOUR).unwrap_or(0) + 1;
        while let Some(first) = self.places.first() {
            let path = Arc::clone(&first.path);
            let is_open = self.open.as_ref().is_some_and(|(open, ..)| *open == path);
            if is_open || !(hours.len() > most || bytes > self.keeps.bytes) {
                return Ok(());
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let of_file = |place: &&Place| place.path == path;
            bytes -= self.places.iter().filter(of_file).map(|it| it.head.bytes()).sum::<u64>();
            self.places.retain(|place| place.path != path);
            hours.remove(&path);
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

/// Finds the blocks of a file by their heads. Damage between blocks is a gap, and what lies behind
/// it is kept. `is_cut_off`: the end of the file before was damaged; whether that of this one is.
fn find(path: &Path, is_cut_off: bool, places: &mut Vec<Place>) -> io::Result<bool> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    let path: Arc<Path> = path.into();
    let mut offset = 0;
    while let Some((found, head)) = next_block(&file, offset, length)? {
        if found > offset {
            let name = path.display();
            tracing::warn!("history: {name} is damaged from byte {offset} to {found}: a gap");
        }
        if found > offset || offset == 0 && is_cut_off {
            let since = places.last().map_or(head.first_at, |place| place.head.last_at);
            let gap =
                Head { last_at: head.first_at, ..Head::new(BlockKind::Gap, since, head.cycle) };
            places.push(Place { path: Arc::clone(&path), offset, head: gap });
        }
        places.push(Place { path: Arc::clone(&path), offset: found, head });
        offset = found + head.bytes();
    }
    if offset < length {
        tracing::warn!(
            "history: {} has no whole block behind byte {offset}: cut off",
            path.display()
        );
        file.set_len(offset)?;
    }
    Ok(offset < length)
}

/// The first whole block at an offset or behind it.
fn next_block(file: &File, offset: u64, length: u64) -> io::Result<Option<(u64, Head)>> {
    let mut bytes = [0; HEAD];
    if offset + HEAD as u64 > length {
        return Ok(None);
    }
    file.read_exact_at(&mut bytes, offset)?;
    let fits = |at: u64, head: &Head| at + head.bytes() <= length;
    if let Some(head) = Head::read(&bytes).filter(|head| fits(offset, head)) {
        return Ok(Some((offset, head)));
    }
    let mut rest = vec![0; (length - offset) as usize];
    file.read_exact_at(&mut rest, offset)?;
    let at = |begin: usize| offset + begin as u64;
    let heads = (1..rest.len()).filter_map(|begin| Some((at(begin), Head::read(&rest[begin..])?)));
    Ok(heads.into_iter().find(|(at, head)| fits(*at, head)))
}

impl Place {
    /// Where its block lies.
    pub fn at(&self) -> (Arc<Path>, u64) {
        (Arc::clone(&self.path), self.offset)
    }

    /// Whether its block may hold something of a name; so if that cannot be read.
    pub fn may_hold(&self, name: &str) -> bool {
        let range = self.head.names_at();
        let mut names = vec![0; range.len()];
        let offset = self.offset + range.start as u64;
        let read = File::open(&self.path).and_then(|file| file.read_exact_at(&mut names, offset));
        read.is_err() || block::may_hold(&names, name)
    }

    /// The body of its block.
    pub fn body(&self) -> Result<Vec<u8>, MissingBody> {
        let mut bytes = vec![0; self.head.bytes() as usize];
        let read = File::open(&self.path)
            .and_then(|file| file.read_exact_at(&mut bytes, self.offset))
            .map_err(|error| (error.kind() != ErrorKind::NotFound).then_some(error));
        match read {
            Ok(()) => {}
            Err(None) => return Err(MissingBody::Removed),
            Err(Some(error)) => {
                tracing::warn!("history: {} cannot be read: {error}", self.path.display());
                return Err(MissingBody::Damaged);
            }
        }
        block::body(&bytes).ok_or_else(|| {
            let (path, at) = (self.path.display(), self.offset);
            tracing::warn!("history: the block at byte {at} of {path} is damaged: a gap");
            MissingBody::Damaged
        })
    }

    /// Whether it holds counters.
    pub fn is_counters(&self) -> bool {
        matches!(self.head.kind, BlockKind::Full | BlockKind::Changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const KEEPS: Keeps = Keeps { interval: 60_000, span: 10 * HOUR, bytes: 1 << 30 };

    fn append(files: &mut Files, at: Millis, cycle: u64) {
        let head = Head {
            first: cycle << 20,
            last: cycle << 20,
            ..Head::new(BlockKind::Outputs, at, cycle)
        };
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
        assert!(files.places().iter().all(|place| place.body().is_ok_and(|it| it.len() == 1_000)));
        assert!(files.places().iter().all(|place| place.may_hold("name")));
        assert!(!files.places().iter().any(|place| place.may_hold("another")));
        append(&mut files, 3 * HOUR, 6);
        assert_eq!(cycles(&Files::open(dir.path(), KEEPS).unwrap()), [1, 2, 3, 4, 6]);
    }

    fn flip(path: &Path, byte: u64) {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut one = [0];
        file.read_exact_at(&mut one, byte).unwrap();
        file.write_all_at(&[one[0] ^ 4], byte).unwrap();
    }

    #[test]
    fn damage_is_a_stated_gap_and_what_lies_behind_it_is_kept() {
        let dir = TempDir::new().unwrap();
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        (1..=6).for_each(|cycle| append(&mut files, cycle as Millis * HOUR / 2, cycle));
        let (second, sixth) = (files.places()[1].clone(), files.places()[5].clone());
        drop(files);
        let kinds = |files: &Files| {
            files.places().iter().map(|it| (it.head.cycle, it.head.kind)).collect::<Vec<_>>()
        };
        let outputs = |cycle| (cycle, BlockKind::Outputs);
        // In a head, at the end of a file and between two blocks: any bit of it.
        for byte in [0, 20, 30, 40, 50, HEAD as u64 - 1] {
            flip(&second.path, second.offset + byte);
            let mut files = Files::open(dir.path(), KEEPS).unwrap();
            let with_gap =
                [outputs(1), (3, BlockKind::Gap), outputs(3), outputs(4), outputs(5), outputs(6)];
            let expected: Vec<(u64, BlockKind)> =
                with_gap.iter().copied().filter(|it| *it != outputs(2)).collect();
            assert_eq!(kinds(&files)[..3], expected[..3], "byte {byte}");
            assert_eq!(kinds(&files).last(), Some(&outputs(6)));
            let gap = files.places().iter().find(|it| it.head.kind == BlockKind::Gap).unwrap().head;
            assert_eq!((gap.first_at, gap.last_at), (HOUR / 2, 3 * HOUR / 2));
            append(&mut files, 4 * HOUR, 9);
            fs::remove_file(&files.places().last().unwrap().path).unwrap();
            flip(&second.path, second.offset + byte);
        }
        // In a body, when it is read.
        flip(&sixth.path, sixth.offset + HEAD as u64 + 12);
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        let last = files.places().last().unwrap().clone();
        assert_eq!(last.body(), Err(MissingBody::Damaged));
        files.lose(&last);
        assert_eq!(files.places().last().unwrap().head.kind, BlockKind::Gap);
    }

    #[test]
    fn counters_that_go_on_with_damaged_ones_are_lost_too() {
        let dir = TempDir::new().unwrap();
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        let kinds = [
            BlockKind::Full,
            BlockKind::Changes,
            BlockKind::Outputs,
            BlockKind::Changes,
            BlockKind::Full,
        ];
        for (at, kind) in kinds.into_iter().enumerate() {
            let head = Head::new(kind, at as Millis * 60_000, at as u64 + 1);
            files.append(head, &[], b"some").unwrap();
        }
        let lost = files.places()[1].clone();
        files.lose(&lost);
        let left: Vec<BlockKind> = files.places().iter().map(|place| place.head.kind).collect();
        assert_eq!(
            left,
            [BlockKind::Full, BlockKind::Gap, BlockKind::Outputs, BlockKind::Gap, BlockKind::Full]
        );
    }

    #[test]
    fn the_history_of_another_log_is_begun_again() {
        let dir = TempDir::new().unwrap();
        let of = |log| HistoryIdentity { key: None, log };
        let count = |log| {
            Files::forget_others(dir.path(), of(log)).unwrap();
            files_in(dir.path()).unwrap().len()
        };
        append(&mut Files::open(dir.path(), KEEPS).unwrap(), HOUR, 1);
        assert_eq!([count(None), count(Some("one")), count(Some("one")), count(None)], [1; 4]);
        assert_eq!(count(Some("another")), 0);
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

    /// A process that was down for a year still knows the hours before.
    #[test]
    fn a_pause_takes_nothing_away() {
        let dir = TempDir::new().unwrap();
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        (1..=3).for_each(|cycle| append(&mut files, cycle as Millis * HOUR, cycle));
        drop(files);
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        append(&mut files, 9_000 * HOUR, 4);
        assert_eq!(cycles(&files), [1, 2, 3, 4]);
        (5..=15).for_each(|cycle| append(&mut files, (9_000 + cycle as Millis) * HOUR, cycle));
        assert_eq!(cycles(&files), (5..=15).collect::<Vec<u64>>(), "ten hours beside the newest");
    }

    #[test]
    fn what_has_users_under_other_names_is_removed() {
        let dir = TempDir::new().unwrap();
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        append(&mut files, HOUR, 1);
        drop(files);
        Files::forget_others(dir.path(), HistoryIdentity::default()).unwrap();
        assert_eq!(files_in(dir.path()).unwrap().len(), 1);
        Files::forget_others(dir.path(), HistoryIdentity { key: Some("a key"), log: None })
            .unwrap();
        assert!(files_in(dir.path()).unwrap().is_empty());
        let mut files = Files::open(dir.path(), KEEPS).unwrap();
        append(&mut files, HOUR, 1);
        drop(files);
        Files::forget_others(dir.path(), HistoryIdentity { key: Some("a key"), log: None })
            .unwrap();
        assert_eq!(files_in(dir.path()).unwrap().len(), 1);
        Files::forget_others(dir.path(), HistoryIdentity::default()).unwrap();
        assert!(files_in(dir.path()).unwrap().is_empty());
    }
}
