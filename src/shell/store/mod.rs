//! The store on disk: sled as a write-behind cache of the fold.
//!
//! One tree; a checkpoint is one batch and one flush, or a new tree beside it. sled is not trusted
//! with more: every record carries its own checksum, the head a seal over all of them, and whatever
//! does not add up is moved aside and rebuilt from the log.

mod dir;
mod files;
mod frame;
mod index;
mod ladder;
mod marker;
mod open;
mod read;
mod rewrite;
mod writer;

use dir::StoreDir;
use index::Index;
use open::Trouble;
use read::{Found, Want};
use rewrite::Space;
use std::path::Path;
use std::time::Duration;
use writer::Writer;
use yardmaster_drive::port::{Checkpoint, Kept, Piece, Store, StoreError};

/// A store in a directory, which it holds alone.
#[derive(Debug)]
pub struct SledStore {
    /// `None` only while the directory is being replaced, and after that failed.
    store_dir: Option<StoreDir>,
    hands: Hands,
    notices: Vec<String>,
    /// Space beyond thrice the content at which the database is rewritten, and the least of a large
    /// checkpoint; bytes.
    bounds: (u64, usize),
}

/// Which thread has the tree.
#[derive(Debug)]
enum Hands {
    /// We: it was opened and not read yet.
    Opened(sled::Db),
    /// The thread that writes.
    Writing(Writer),
    /// None any more; why.
    Failed(String),
}

impl SledStore {
    /// Opens the store in `dir`, creating it where it is missing. A damaged one is mended or moved
    /// aside, and `take_notices` has it; a directory that is not ours, or in use, is an error.
    pub fn open(dir: &Path) -> Result<SledStore, StoreError> {
        let mut store_dir = StoreDir::take(dir, dir::LET_GO_MAX)?;
        let mut notices = Vec::from_iter(store_dir.take_mended());
        let (store_dir, db) = ladder::open_or_rebuild(store_dir, &mut notices)?;
        let bounds = (rewrite::SLACK_BYTES, rewrite::LARGE_BYTES);
        let hands = Hands::Opened(db);
        Ok(SledStore { store_dir: Some(store_dir), hands, notices, bounds })
    }

    /// Rewrites the database if it takes so many bytes more than thrice its content.
    #[must_use]
    pub fn with_slack(mut self, bytes: u64) -> SledStore {
        self.bounds.0 = bytes;
        self
    }

    /// Writes a checkpoint of so many bytes that changes a third of the records beside them.
    #[must_use]
    pub fn with_large(mut self, bytes: usize) -> SledStore {
        self.bounds.1 = bytes;
        self
    }

    /// Notices on repairs and on data that was cleared, since this was last asked, for the
    /// operator.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Writes into the directory where this process can be asked, such as `127.0.0.1:9187`.
    pub fn write_address(&self, address: &str) -> Result<(), StoreError> {
        self.store_dir.as_ref().map_or(Ok(()), |store_dir| store_dir.write_address(address))
    }

    /// Where the process that uses the store in `dir` can be asked; `None` if none wrote it.
    pub fn read_address(dir: &Path) -> Option<String> {
        dir::read_address(dir)
    }

    /// Whether a store lies in `dir`, whatever state it is in.
    pub fn is_there(dir: &Path) -> bool {
        dir::exists(dir)
    }

    /// The counters as last kept, by their readable key, in order, while nothing runs. Changes
    /// nothing that was stored; a store in use, damaged or missing is an error.
    pub fn counters(dir: &Path) -> Result<Vec<(String, String)>, StoreError> {
        if !dir::exists(dir) {
            return Err(StoreError::Stop(format!(
                "store: there is none in {}; name the directory that `run` uses",
                dir.display()
            )));
        }
        let store_dir = StoreDir::take(dir, Duration::ZERO)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut counters = Vec::new();
        let mut take = |piece: Piece<'_>| {
            if let Piece::Counter(key, value) = piece {
                counters.push((text(key), text(value)));
            }
        };
        let found = open::open(store_dir.dir())
            .and_then(|db| read::read(&db, Want::Counters, &mut take))
            .map_err(|trouble| trouble.stop(dir, "reading"))?;
        match found {
            Found::Empty => Ok(Vec::new()),
            Found::Whole(_) => Ok(counters),
            Found::OtherFormat(other) => Err(StoreError::Stop(format!(
                "store: {} has format {other}, this program reads {}; `run` of this version \
                 rebuilds it from the log",
                dir.display(),
                frame::FORMAT
            ))),
        }
    }

    /// Takes the tree from the thread that has it, for reading.
    fn take_tree(&mut self) -> Result<sled::Db, StoreError> {
        let hands = std::mem::replace(&mut self.hands, Hands::Failed(NOT_OPEN.to_string()));
        match hands {
            Hands::Opened(db) => Ok(db),
            Hands::Writing(writer) => {
                let ended = writer.end();
                self.note(ended)
            }
            Hands::Failed(why) => {
                self.hands = Hands::Failed(why.clone());
                Err(StoreError::Stop(why))
            }
        }
    }

    /// Remembers a failure: after one, nothing is known of what lies on disk, and every later call
    /// says so again.
    fn note<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Stop(why)) = &result {
            self.hands = Hands::Failed(why.clone());
        }
        result
    }

    fn read(&mut self, take: &mut dyn FnMut(Piece<'_>)) -> Result<bool, StoreError> {
        let db = self.take_tree()?;
        let Some(store_dir) = self.store_dir.take() else {
            return Err(StoreError::Stop(NOT_OPEN.to_string()));
        };
        let read = read::read(&db, Want::All, take);
        let (store_dir, db, whole, index) = match read {
            Ok(Found::Empty) => {
                if !store_dir.was_empty() {
                    self.notices.push(format!(
                        "store: {} holds nothing; rebuilt from the log",
                        store_dir.dir().display()
                    ));
                }
                (store_dir, db, false, Index::default())
            }
            Ok(Found::Whole(index)) => (store_dir, db, true, *index),
            Ok(Found::OtherFormat(other)) => {
                drop(db);
                self.notices.push(format!(
                    "store: {} has format {other}, this program writes {}; cleared, rebuilt from \
                     the log",
                    store_dir.dir().display(),
                    frame::FORMAT
                ));
                store_dir.clear()?;
                let (store_dir, db) = ladder::open_or_rebuild(store_dir, &mut self.notices)?;
                (store_dir, db, false, Index::default())
            }
            Err(Trouble::Damage(what)) => {
                drop(db);
                let (store_dir, db) = ladder::begin_empty(store_dir, &what, &mut self.notices)?;
                (store_dir, db, false, Index::default())
            }
            Err(world) => return Err(world.stop(store_dir.dir(), "reading")),
        };
        self.hands =
            Hands::Writing(Writer::start(store_dir.dir(), db, index, Space::new(self.bounds))?);
        self.store_dir = Some(store_dir);
        Ok(whole)
    }

    /// The thread that writes; reads the tree first if that was not done, to know what lies in it.
    fn writer(&mut self) -> Result<&mut Writer, StoreError> {
        if matches!(self.hands, Hands::Opened(_)) {
            self.show(&mut |_| ())?;
        }
        match &mut self.hands {
            Hands::Writing(writer) => Ok(writer),
            Hands::Opened(_) => Err(StoreError::Stop(NOT_OPEN.to_string())),
            Hands::Failed(why) => Err(StoreError::Stop(why.clone())),
        }
    }
}

const NOT_OPEN: &str = "store: it is not open after an earlier failure; start again";

impl Store for SledStore {
    fn load(&mut self) -> Result<Option<Kept>, StoreError> {
        let mut kept = Kept::default();
        let whole = self.show(&mut |piece| kept.take(piece))?;
        kept.deltas.reverse();
        Ok(whole.then_some(kept))
    }

    fn show(&mut self, take: &mut dyn FnMut(Piece<'_>)) -> Result<bool, StoreError> {
        let read = self.read(take);
        self.note(read)
    }

    fn keep(&mut self, checkpoint: Checkpoint) -> Result<(), StoreError> {
        let kept = self.writer().and_then(|writer| writer.keep(checkpoint));
        self.note(kept)
    }

    fn is_busy(&mut self) -> bool {
        match &mut self.hands {
            Hands::Writing(writer) => match writer.is_busy() {
                Ok(busy) => busy,
                // The next call that can return an error returns this one.
                Err(StoreError::Stop(why)) => {
                    self.hands = Hands::Failed(why);
                    false
                }
            },
            Hands::Opened(_) | Hands::Failed(_) => false,
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let flushed = match &mut self.hands {
            Hands::Opened(_) => Ok(()),
            Hands::Writing(writer) => writer.wait(),
            Hands::Failed(why) => Err(StoreError::Stop(why.clone())),
        };
        self.note(flushed)
    }
}

/// Lets what is under way come to its end and writes nothing more. An error has no receiver
/// to but the operator.
impl Drop for SledStore {
    fn drop(&mut self) {
        let hands = std::mem::replace(&mut self.hands, Hands::Failed(NOT_OPEN.to_string()));
        if let Hands::Writing(writer) = hands
            && let Err(error) = writer.end()
        {
            tracing::error!("{error}");
        }
    }
}
