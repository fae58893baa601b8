//! Opens sled; its errors become errors with a remedy.

use super::files::REMEDY;
use std::fs::{File, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use yardmaster_drive::port::StoreError;

/// Memory that sled may use; bytes. Cells are written and never read again before the next start.
const CACHE_BYTES: u64 = 64 << 20;
/// A segment of sled's log, in a new store. A node beyond a quarter of it lies in a file of its
/// own, and sled 0.34 never removes that file if the node is replaced as a whole: with segments of
/// 512 KiB such files grew without bound. A node has at most 17 records, most of about 32 KiB.
const SEGMENT_BYTES: usize = 4 << 20;
/// How long an earlier instance in this process may take to let go of the file.
const LET_GO_MAX: Duration = Duration::from_secs(5);

/// Why sled did not do what it was asked for.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The data is damaged: it can be cleared and rebuilt.
    Damage(String),
    /// The disk or the system objects: clearing would not help.
    World(String),
}

impl Trouble {
    pub(super) fn damage(what: &str) -> Trouble {
        Trouble::Damage(what.to_string())
    }

    /// As an error that stops us.
    pub(super) fn stop(self, dir: &Path, doing: &str) -> StoreError {
        let (Trouble::Damage(what) | Trouble::World(what)) = self;
        StoreError::Stop(format!("store: {doing} {} failed: {what}; {REMEDY}", dir.display()))
    }
}

impl From<sled::Error> for Trouble {
    fn from(error: sled::Error) -> Trouble {
        let world = match &error {
            sled::Error::Io(io) => is_world(io),
            _ => false,
        };
        if world { Trouble::World(error.to_string()) } else { Trouble::Damage(error.to_string()) }
    }
}

/// Whether an error is one of the disk or the system, not of what lies in the files. sled copies
/// errors and keeps only kind and text, so the number is looked for in the text too.
fn is_world(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let kind = matches!(
        error.kind(),
        Kind::PermissionDenied
            | Kind::StorageFull
            | Kind::QuotaExceeded
            | Kind::FileTooLarge
            | Kind::ReadOnlyFilesystem
            | Kind::OutOfMemory
    );
    kind || names_system_error(&error.to_string())
}

/// Numbers of EIO, ENFILE, EMFILE, EFBIG, ENOSPC, EROFS, EDQUOT as Rust prints them.
fn names_system_error(text: &str) -> bool {
    [5, 23, 24, 27, 28, 30, 122].iter().any(|code| {
        text.contains(&format!("code: {code},")) || text.contains(&format!("(os error {code})"))
    })
}

/// Does something with sled; a panic in there becomes trouble like any other.
pub(super) fn guard<T>(
    doing: &str,
    work: impl FnOnce() -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    // Whatever the work left half done is dropped, never used again.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        let what = format!("sled gave up {doing}: {text}");
        Err(if names_system_error(text) { Trouble::World(what) } else { Trouble::Damage(what) })
    })
}

/// Opens as it is, without the ladder.
pub(super) fn open(dir: &Path) -> Result<sled::Db, Trouble> {
    let begun = Instant::now();
    let segment_bytes = segment_bytes(dir).unwrap_or(SEGMENT_BYTES);
    loop {
        let config = sled::Config::new()
            .path(dir)
            .flush_every_ms(None)
            .cache_capacity(CACHE_BYTES)
            .segment_size(segment_bytes);
        match guard("opening it", || config.open().map_err(Trouble::from)) {
            // The place is ours alone, so this is an instance of our own whose threads have not
            // ended yet.
            Err(Trouble::Damage(what)) if what.contains("could not acquire lock") => {
                if begun.elapsed() > LET_GO_MAX {
                    return Err(Trouble::World(what));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// Waits until the threads of an instance that was dropped have let go of the files: they write
/// by path, and must not write beside another database.
pub(super) fn wait_until_closed(dir: &Path) -> Result<(), Trouble> {
    let begun = Instant::now();
    let failed = |error| Trouble::from(sled::Error::Io(error));
    let file = File::open(dir.join("db")).map_err(failed)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LET_GO_MAX => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Trouble::World("it was not closed in time".to_string()));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// The segments that the store in a directory was made with; `None` if there is none, or its
/// configuration cannot be read.
fn segment_bytes(dir: &Path) -> Option<usize> {
    let conf = std::fs::read(dir.join("conf")).ok()?;
    let conf = String::from_utf8_lossy(&conf);
    let bytes = conf.lines().find_map(|line| line.strip_prefix("segment_size: "))?;
    let bytes: usize = bytes.trim().parse().ok()?;
    ((1 << 16..=1 << 24).contains(&bytes) && bytes.is_power_of_two()).then_some(bytes)
}
