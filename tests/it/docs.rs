//! The documents: `README.md`, `ARCHITECTURE.md` and `docs/`. Their links lead somewhere, the
//! commands that are marked as runnable run, every flag they name exists, `docs/records.md` is what the
//! schemas say, and `docs/openapi.json` what the types of answers say.

mod links;
mod names;
#[cfg(feature = "shell")]
mod openapi;
#[cfg(feature = "shell")]
mod plug_in;
mod records;
#[cfg(feature = "shell")]
mod runnable;

use std::fs;
use std::path::{Path, PathBuf};
use yardmaster::core::output::progress::{ENGINE_REVISION, VERIFIABLE_SINCE};

/// A document: its path below the repository, and its text.
struct Page {
    path: String,
    text: String,
}

impl Page {
    fn new(path: &str, text: &str) -> Page {
        Page { path: path.to_owned(), text: text.to_owned() }
    }

    /// Each line with its number, counted from 1, and whether it is in a fenced block or a fence.
    fn lines(&self) -> impl Iterator<Item = (usize, &str, bool)> {
        let mut is_fenced = false;
        (1..).zip(self.text.lines()).map(move |(number, line)| {
            let is_fence = line.trim_start().starts_with("```");
            is_fenced ^= is_fence;
            (number, line, is_fenced || is_fence)
        })
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `README.md`, `ARCHITECTURE.md`, and all of `docs/` with the folders in it, in the order of their
/// names.
fn pages() -> Vec<Page> {
    let mut paths = ["README.md", "ARCHITECTURE.md"].map(|name| root().join(name)).to_vec();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(root()).expect("below the root").to_string_lossy();
        Page::new(&name, &fs::read_to_string(path).expect("a text"))
    };
    paths.iter().map(read).collect()
}

#[test]
fn the_page_on_upgrades_names_the_revisions_of_the_engine() {
    let page = fs::read_to_string(root().join("docs/upgrade.md")).expect("a text");
    let revisions = format!(
        "The present revision is {ENGINE_REVISION}, and the oldest that is made again is \
         {VERIFIABLE_SINCE}."
    );
    assert!(page.contains(&revisions), "docs/upgrade.md does not state: {revisions}");
}
