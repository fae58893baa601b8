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

/// Fetches all that a job left at its cluster into a folder; how many files that were. What cannot
/// be fetched keeps nothing else away.
///
/// # Errors
/// A folder cannot be listed or made, a file cannot be fetched or written; the text names the
/// first.
pub(super) fn fetch(cluster: &mut ArexCluster, job: &str, into: &Path) -> Result<usize, String> {
    let mut folders = vec![String::new()];
    let (mut files, mut entries, mut lacking) = (0, 0, Vec::new());
    while let Some(folder) = folders.pop() {
        let there = into.join(&folder);
        let wrong = |error: std::io::Error| format!("{}: {error}", there.display());
        std::fs::create_dir_all(&there).map_err(wrong)?;
        let listing = again(|| cluster.listing(job, &folder))?;
        for entry in listing {
            entries += 1;
            let (SessionEntry::File(name) | SessionEntry::Folder(name)) = &entry;
            if entries > ENTRIES_MAX {
                return Err(format!("the cluster lists more than {ENTRIES_MAX} files"));
            }
            if !is_plain_name(name) {
                lacking.push(format!("{folder}{name}: it is no name of a file here"));
                continue;
            }
            let path = format!("{folder}{name}");
            match entry {
                SessionEntry::Folder(_) if path.matches('/').count() >= DEPTH_MAX => {
                    lacking.push(format!("{path}: folders are nested deeper than {DEPTH_MAX}"));
                }
                SessionEntry::Folder(_) => folders.push(format!("{path}/")),
                SessionEntry::File(_) => match one(cluster, job, &path, &into.join(&path)) {
                    Ok(()) => files += 1,
                    Err(why) => lacking.push(why),
                },
            }
        }
    }
    match lacking.first() {
        None => Ok(files),
        Some(first) => Err(format!("{files} are, {} are not, first {first}", lacking.len())),
    }
}

/// Fetches one file; of one that cannot be fetched nothing is left.
fn one(cluster: &mut ArexCluster, job: &str, path: &str, here: &Path) -> Result<(), String> {
    let fetched = again(|| {
        let made = File::create(here);
        let mut file =
            made.map_err(|error| ArexError::Refused(format!("{}: {error}", here.display())))?;
        cluster.fetch(job, path, &mut file)
    });
    if fetched.is_err() {
        let _ = std::fs::remove_file(here);
    }
    fetched
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
            Err(ArexError::Failed(_) | ArexError::Unanswered(_)) => std::thread::sleep(pause),
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
