//! Values made of files, and made again when one of the files changes: secrets and certificates are
//! exchanged without a restart.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How a value is made of files. An error names the file, and what to do.
type Make<T> = Box<dyn Fn(&[PathBuf]) -> Result<T, String> + Send + Sync>;

/// A value made of files.
pub(super) struct Reread<T> {
    paths: Vec<PathBuf>,
    make: Make<T>,
    last: Mutex<Last<T>>,
}

struct Last<T> {
    stamps: Vec<Option<Stamp>>,
    value: Arc<T>,
}

/// Stamp of a file's content, which another content does not have: device, inode, size, time of
/// change (s, ns).
type Stamp = (u64, u64, u64, i64, i64);

impl<T> Reread<T> {
    /// Makes the value.
    ///
    /// # Errors
    /// `make` refuses the files; the text is its own.
    pub(super) fn new(paths: Vec<PathBuf>, make: Make<T>) -> Result<Reread<T>, String> {
        let stamps = stamps(&paths);
        let value = Arc::new(make(&paths)?);
        Ok(Reread { paths, make, last: Mutex::new(Last { stamps, value }) })
    }

    /// The value of the files as they are now. Where they are of no use any more the last value
    /// stays, and the reason is logged once.
    pub(super) fn get(&self) -> Arc<T> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Before they are read: what is written meanwhile is seen as a change at the next call.
        let stamps = stamps(&self.paths);
        if stamps != last.stamps {
            last.stamps = stamps;
            match (self.make)(&self.paths) {
                Ok(value) => {
                    let names: Vec<_> = self.paths.iter().map(|path| path.display()).collect();
                    tracing::info!("http: read again, since changed: {}", Names(&names));
                    last.value = Arc::new(value);
                }
                Err(why) => tracing::error!("http: {why}; what was read before stays in force"),
            }
        }
        Arc::clone(&last.value)
    }
}

impl<T> fmt::Debug for Reread<T> {
    /// Without the value, which may be secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Reread").field("paths", &self.paths).finish_non_exhaustive()
    }
}

/// Texts with commas between them.
struct Names<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Names<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            write!(out, "{}{name}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |it: Metadata| (it.dev(), it.ino(), it.size(), it.mtime(), it.mtime_nsec());
    paths.iter().map(|path| std::fs::metadata(path).ok().map(stamp)).collect()
}

/// Logs a warning if a file that holds a secret can be read by every user of the machine.
pub(super) fn warn_if_public(path: &Path) {
    const OTHERS_READ: u32 = 0o004;
    let mode = std::fs::metadata(path).map(|it| it.permissions().mode()).unwrap_or_default();
    if mode & OTHERS_READ != 0 {
        let path = path.display();
        tracing::warn!("http: {path} holds a secret, and every user can read it; chmod o= {path}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_follows_its_files_as_long_as_they_are_of_use() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("number");
        let make = |paths: &[PathBuf]| {
            let text = std::fs::read_to_string(&paths[0]).map_err(|error| error.to_string())?;
            text.trim().parse::<u32>().map_err(|error| error.to_string())
        };
        assert!(Reread::new(vec![file.clone()], Box::new(make)).is_err());
        std::fs::write(&file, "1").unwrap();
        let value = Reread::new(vec![file.clone()], Box::new(make)).unwrap();
        assert_eq!(*value.get(), 1);
        let replace = |text: &str| {
            std::fs::write(dir.path().join("new"), text).unwrap();
            std::fs::rename(dir.path().join("new"), &file).unwrap();
        };
        replace("22");
        assert_eq!(*value.get(), 22);
        replace("no number");
        assert_eq!(*value.get(), 22);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(*value.get(), 22);
        replace("333");
        assert_eq!(*value.get(), 333);
    }
}
