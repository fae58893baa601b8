//! Clusters of ARC: documents that clusters of 7.2, 7.0 and 6.17 gave, and servers on loopback that
//! give such documents. `tests/fixtures/arc` has them without what is not read.

mod documents;
mod rounds;
mod servers;
mod traps;

use std::path::{Path, PathBuf};

/// Where documents are.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/arc")
}

pub(crate) fn document(name: &str) -> String {
    read(&folder().join(name))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}
