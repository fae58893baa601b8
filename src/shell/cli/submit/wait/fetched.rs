//! Outputs of a job, fetched from its session directory.

use crate::arex::{ArexCluster, ArexError, SessionEntry};
use std::fs::File;
use std::path::{Component, Path};
use std::time::Duration;

/// Most files and folders of one job, and how deep these are nested.
const ENTRIES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 32;
/// How often a cluster is asked that does not answer, and the first pause between.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Fetches all that a job left at its cluster into a folder; how many files that were.
///
/// # Errors
/// The cluster does not answer, or a file cannot be written; the text names it.
pub(super) fn fetch(cluster: &mut ArexCluster, job: &str, into: &Path) -> Result<usize, String> {
    let mut folders = vec![String::new()];
    let (mut files, mut entries) = (0, 0);
    while let Some(folder) = folders.pop() {
        let there = into.join(&folder);
        let wrong = |error: std::io::Error| format!("{}: {error}", there.display());
        std::fs::create_dir_all(&there).map_err(wrong)?;
        let listing = again(|| cluster.listing(job, &folder))?;
        for entry in listing {
            entries += 1;
            let (SessionEntry::File(name) | SessionEntry::Folder(name)) = &entry;
            if !is_plain_name(name) || entries > ENTRIES_MAX {
                return Err(format!("the cluster lists {name:?} in {folder:?}, which is no file"));
            }
            let path = format!("{folder}{name}");
            match entry {
                SessionEntry::Folder(_) if path.matches('/').count() >= DEPTH_MAX => {
                    return Err(format!("{path}: folders are nested deeper than {DEPTH_MAX}"));
                }
                SessionEntry::Folder(_) => folders.push(format!("{path}/")),
                SessionEntry::File(_) => {
                    let here = into.join(&path);
                    again(|| {
                        let made = File::create(&here);
                        let mut file = made.map_err(|error| {
                            ArexError::Refused(format!("{}: {error}", here.display()))
                        })?;
                        cluster.fetch(job, &path, &mut file)
                    })?;
                    files += 1;
                }
            }
        }
    }
    Ok(files)
}

/// Whether a name is one of a file in its folder, and nowhere else.
fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(it)), None) if it == name)
}

/// Asks again, after ever longer pauses, what fails.
fn again<T>(mut ask: impl FnMut() -> Result<T, ArexError>) -> Result<T, String> {
    let mut pause = PAUSE;
    for _ in 1..TRIES {
        match ask() {
            Err(ArexError::Failed(_)) => std::thread::sleep(pause),
            done => return done.map_err(|error| error.to_string()),
        }
        pause *= 2;
    }
    ask().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::is_plain_name;

    #[test]
    fn a_name_that_leads_elsewhere_is_none() {
        for name in ["out.txt", "a b", "..."] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", ".", "..", "/etc/passwd", "../x", "a/b", "a/"] {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}
