//! Files of a store: which are sled's, and errors of the file system.

use std::io;
use std::path::Path;
use yardmaster_drive::port::StoreError;

/// Text of an error of the file system, with the remedy.
pub(super) fn stop(path: &Path, doing: &str, error: &io::Error) -> StoreError {
    StoreError::Stop(format!("store: cannot {doing} {}: {error}; {}", path.display(), REMEDY))
}

/// Remedy when the disk fails.
pub(super) const REMEDY: &str = "give it space and permission there and start again. The log is \
                                 the truth: deleting the store loses nothing but the time to \
                                 rebuild it";

/// Whether sled wrote a file, by its name.
pub(super) fn is_sled(name: &str) -> bool {
    matches!(name, "db" | "conf" | "blobs") || name.starts_with("snap.")
}
