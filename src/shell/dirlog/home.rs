//! The directory itself: where each lane's file is, and which process may write.

use super::LOCK;
use super::append::Appender;
use super::ends::SharedEnds;
use super::file::{LaneFile, trouble};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::LogError;

/// Whether a directory is opened to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Beside others, a writer among them.
    Read,
    /// By one process alone.
    Write,
}

/// One topic of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirTopic {
    /// The topic.
    pub topic: Topic,
    /// Its name on the bus, which is that of its folder.
    pub name: String,
    /// Partitions, at least; a file for a further one is read too.
    pub partitions: u32,
}

/// Gives the time stamp of what is published; ms since 1970.
pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// How a directory is written.
#[derive(Clone)]
pub struct DirOptions {
    /// Whether what is written survives a power failure. Without it the order is the same, and
    /// the death of the process alone loses nothing.
    pub sync: bool,
    /// The clock; a simulation has its own.
    pub clock: Clock,
}

impl Default for DirOptions {
    fn default() -> Self {
        DirOptions { sync: true, clock: Arc::new(wall_clock) }
    }
}

/// Where a lane's file is.
pub struct DirLane {
    /// Name of the topic on the bus.
    pub topic: String,
    /// The file.
    pub path: PathBuf,
}

/// An open directory.
pub struct Home {
    /// The directory.
    pub dir: PathBuf,
    /// How it was opened.
    pub mode: Mode,
    /// How it is written.
    pub options: DirOptions,
    /// Every lane.
    pub lanes: BTreeMap<Lane, DirLane>,
    /// How far the writer of this process has written each input lane it has opened.
    pub written: SharedEnds,
    has_writer: AtomicBool,
    /// Locked as long as this is open.
    _lock: Option<File>,
}

impl Home {
    /// Opens a directory; for writing it is made and locked.
    pub fn open(
        dir: &Path,
        mode: Mode,
        topics: &[DirTopic],
        options: DirOptions,
    ) -> Result<Home, LogError> {
        let lock = match mode {
            Mode::Read => None,
            Mode::Write => Some(lock(dir)?),
        };
        if !dir.is_dir() {
            return Err(LogError::Stop(format!(
                "{}: no such directory; a log is made by demo, import or archive",
                dir.display()
            )));
        }
        let mut lanes = BTreeMap::new();
        for DirTopic { topic, name, partitions } in topics {
            let folder = dir.join(name);
            for partition in 0..(*partitions).max(partitions_in(&folder)?) {
                let path = folder.join(format!("{partition}.avro"));
                let dir_lane = DirLane { topic: name.clone(), path };
                lanes.insert(Lane::new(*topic, partition), dir_lane);
            }
        }
        Ok(Home {
            dir: dir.to_path_buf(),
            mode,
            options,
            lanes,
            written: SharedEnds::default(),
            has_writer: AtomicBool::new(false),
            _lock: lock,
        })
    }

    /// Identifier of the directory; `None` if no process has written to it since there are
    /// identifiers.
    pub fn id(&self) -> Option<String> {
        let id = fs::read_to_string(self.dir.join(LOCK)).ok()?;
        Some(id.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// The `progress` files.
    pub fn progress_files(&self) -> Vec<(Lane, PathBuf)> {
        let progress = self.lanes.iter().filter(|(lane, _)| lane.topic == Topic::Progress);
        progress.map(|(lane, dir_lane)| (*lane, dir_lane.path.clone())).collect()
    }

    /// Cuts torn blocks off the input files that are there; what was cut, for people.
    pub fn mend_inputs(&self) -> Result<Vec<String>, LogError> {
        let mut notices = Vec::new();
        for (lane, dir_lane) in self.lanes.iter().filter(|(lane, _)| !lane.topic.is_own()) {
            if LaneFile::open(&dir_lane.path)?.is_none() {
                continue;
            }
            let (_, torn) =
                Appender::open(&dir_lane.path, &dir_lane.topic, *lane, self.options.sync)?;
            if torn > 0 {
                let path = dir_lane.path.display();
                notices.push(format!("{path}: cut off {torn} bytes of a torn block"));
            }
        }
        Ok(notices)
    }

    /// Takes the right to be the one producer of this process.
    pub fn take_writer(&self) -> Result<(), LogError> {
        let dir = self.dir.display();
        if self.mode == Mode::Read {
            return Err(LogError::Stop(format!("{dir} was opened for reading")));
        }
        if self.has_writer.swap(true, Ordering::AcqRel) {
            return Err(LogError::Stop(format!("{dir} has a writer already in this process")));
        }
        Ok(())
    }

    /// Gives it back.
    pub fn free_writer(&self) {
        self.has_writer.store(false, Ordering::Release);
    }
}

/// Locks a directory for writing, which is made if it is not there.
///
/// # Errors
/// Another process writes there, or the file cannot be made.
pub fn lock(dir: &Path) -> Result<File, LogError> {
    fs::create_dir_all(dir).map_err(|error| trouble(dir, "made", &error))?;
    let path = dir.join(LOCK);
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|error| trouble(&path, "opened", &error))?;
    match file.try_lock() {
        Ok(()) => name(file).map_err(|error| trouble(&path, "written", &error)),
        Err(TryLockError::WouldBlock) => Err(LogError::Stop(format!(
            "{}: another process writes here; one log directory has one writer at a time: stop \
             that process, or name another directory",
            dir.display()
        ))),
        Err(TryLockError::Error(error)) => Err(trouble(&path, "locked", &error)),
    }
}

/// Gives a directory a name of its own, in its lock, if it has none.
fn name(mut file: File) -> std::io::Result<File> {
    if file.metadata()?.len() == 0 {
        let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let moment = (moment, std::process::id());
        writeln!(file, "{:016x}", yardmaster_core::id::hash(format!("{moment:?}").as_bytes()))?;
    }
    Ok(file)
}

/// One more than the highest partition that has a file in a topic's folder.
fn partitions_in(folder: &Path) -> Result<u32, LogError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(trouble(folder, "listed", &error)),
    };
    let mut count = 0;
    for entry in entries {
        let name = entry.map_err(|error| trouble(folder, "listed", &error))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".avro"));
        if let Some(partition) = number.and_then(|number| number.parse::<u32>().ok()) {
            count = count.max(partition.saturating_add(1));
        }
    }
    Ok(count)
}

/// The machine's clock.
fn wall_clock() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
