//! Outputs of a job, fetched from its session directory.

use crate::arex::{ArexCluster, ArexError, SessionEntry};
use std::fs::File;
use std::path::{Component, Path};
use std::time::Duration;

/// Most files and folders of one job, and how deep these are nested.
const ENTRIES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 32;
/// Where a file grows until it is whole, before the number of the process; and the file with the
/// cluster's id of the job of which all outputs are here.
const PART: &str = ".yardmaster-part-";
const WHOLE: &str = ".yardmaster-whole";
/// How often a cluster is asked that does not answer, and the first pause between.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// What became of a job's outputs.
pub(super) enum Fetched {
    /// All are here, so many files; and why the job could not be removed from its cluster, if it
    /// was to be.
    Whole(usize, Option<String>),
    /// The cluster has the job no more, and what was fetched before is here.
    Before,
    /// Some are not here.
    Lacking(String),
}

impl Fetched {
    /// Fetches the outputs of a job into a folder, and then removes it from its cluster, if it is
    /// to be cleaned.
    pub fn from(
        cluster: Result<&mut ArexCluster, ArexError>,
        job: &str,
        folder: &Path,
        is_cleaned: bool,
    ) -> Fetched {
        let cluster = match cluster {
            Ok(cluster) => cluster,
            Err(error) => return Fetched::Lacking(error.to_string()),
        };
        remove_parts(folder);
        match fetch(cluster, job, folder) {
            Ok(files) => {
                // Without it they are fetched again, as long as the cluster has them.
                let _ = std::fs::write(folder.join(WHOLE), job);
                let cleaned = is_cleaned.then(|| again(|| cluster.act("clean", job)));
                let kept = cleaned.and_then(Result::err).map(|error| error.to_string());
                Fetched::Whole(files, kept)
            }
            Err(ArexError::Absent(_)) if is_whole(job, folder) => Fetched::Before,
            Err(error) => Fetched::Lacking(error.to_string()),
        }
    }
}

/// Whether all outputs of a job are here: those of an attempt before are none of it.
fn is_whole(job: &str, folder: &Path) -> bool {
    std::fs::read_to_string(folder.join(WHOLE)).is_ok_and(|it| it == job)
}

/// Removes what processes left of files that were not whole when these ended.
fn remove_parts(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PART));
        if process.is_some_and(|it| !Path::new("/proc").join(it).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Fetches all that a job left at its cluster into a folder; how many files that were. What cannot
/// be fetched keeps nothing else away.
///
/// # Errors
/// The cluster does not have the job; a folder cannot be listed or made, a file cannot be fetched
/// or written; the text names the first.
fn fetch(cluster: &mut ArexCluster, job: &str, into: &Path) -> Result<usize, ArexError> {
    let mut folders = vec![String::new()];
    let (mut files, mut entries, mut lacking) = (0, 0, Vec::new());
    while let Some(folder) = folders.pop() {
        let listing = again(|| cluster.listing(job, &folder))?;
        let there = into.join(&folder);
        std::fs::create_dir_all(&there).map_err(|error| not_written(&there, &error))?;
        for entry in listing {
            entries += 1;
            let (SessionEntry::File(name) | SessionEntry::Folder(name)) = &entry;
            if entries > ENTRIES_MAX {
                let why = format!("the cluster lists more than {ENTRIES_MAX} files");
                return Err(ArexError::Failed(why));
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
                SessionEntry::File(_) => match one(cluster, job, &path, into) {
                    Ok(()) => files += 1,
                    Err(why) => lacking.push(why.to_string()),
                },
            }
        }
    }
    match lacking.first() {
        None => Ok(files),
        Some(first) => {
            let why = format!("{files} are, {} are not, first {first}", lacking.len());
            Err(ArexError::Failed(why))
        }
    }
}

/// Fetches one file, which has its name once it is whole.
fn one(cluster: &mut ArexCluster, job: &str, path: &str, into: &Path) -> Result<(), ArexError> {
    let here = into.join(path);
    // Another process may fetch the same.
    let part = into.join(format!("{PART}{}", std::process::id()));
    let fetched = again(|| {
        let mut file = File::create(&part).map_err(|error| not_written(&part, &error))?;
        cluster.fetch(job, path, &mut file)?;
        std::fs::rename(&part, &here).map_err(|error| not_written(&here, &error))
    });
    if fetched.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    fetched
}

/// What no further try mends.
fn not_written(path: &Path, error: &std::io::Error) -> ArexError {
    ArexError::Refused(format!("{}: {error}", path.display()))
}

/// Whether a name is one of a file in its folder, and nowhere else.
fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(it)), None) if it == name)
}

/// Asks again, after ever longer pauses, what fails.
fn again<T>(mut ask: impl FnMut() -> Result<T, ArexError>) -> Result<T, ArexError> {
    let mut pause = PAUSE;
    for _ in 1..TRIES {
        match ask() {
            Err(ArexError::Failed(_) | ArexError::Unanswered(_)) => std::thread::sleep(pause),
            done => return done,
        }
        pause *= 2;
    }
    ask()
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
