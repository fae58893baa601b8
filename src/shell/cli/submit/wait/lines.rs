//! Lines for people. Nobody may read them: the jobs are carried on all the same.

use std::io::{self, Write};

/// A line of the answer.
pub(super) fn print(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// A line about what goes on.
pub(super) fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
