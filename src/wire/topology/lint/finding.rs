//! One finding, and all of a file.

use super::places::Places;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It may be meant, and is worth a look.
    Warning,
    /// It does not do what anybody can want.
    Error,
}

impl Severity {
    /// Its name in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Something in a topology file that can be read and cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// How bad it is.
    pub severity: Severity,
    /// Kind of the finding: a word for scripts.
    pub code: &'static str,
    /// Description of the value or the combination that was found.
    pub found: String,
    /// Its consequence.
    pub why: String,
    /// The remedy.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { file, line, severity, code, found, why, remedy } = self;
        let severity = severity.name();
        writeln!(f, "{file}:{line}: {severity}: {found} [{code}]")?;
        write!(f, "    why: {why}\n    remedy: {remedy}")
    }
}

/// Findings on one file.
pub(super) struct Findings {
    file: String,
    places: Places,
    found: Vec<Finding>,
}

/// A finding without its place.
pub(super) struct Report {
    /// See [`Finding::code`].
    pub(super) code: &'static str,
    /// See [`Finding::found`].
    pub(super) found: String,
    /// See [`Finding::why`].
    pub(super) why: String,
    /// See [`Finding::remedy`].
    pub(super) remedy: String,
}

impl Findings {
    /// Nothing yet.
    pub(super) fn new(file: &str, places: Places) -> Findings {
        Findings { file: file.to_owned(), places, found: Vec::new() }
    }

    /// Whether the file itself states a value.
    pub(super) fn states(&self, path: &[&str]) -> bool {
        self.places.has(path)
    }

    /// Keeps what cannot be meant.
    pub(super) fn error(&mut self, path: &[&str], report: Report) {
        self.add(Severity::Error, path, report);
    }

    /// Keeps what is worth a look.
    pub(super) fn warning(&mut self, path: &[&str], report: Report) {
        self.add(Severity::Warning, path, report);
    }

    /// Keeps a finding at a value, or at the nearest that the file has around it.
    pub(super) fn add(&mut self, severity: Severity, path: &[&str], report: Report) {
        let Report { code, found, why, remedy } = report;
        let (file, line) = (self.file.clone(), self.places.line(path));
        self.found.push(Finding { file, line, severity, code, found, why, remedy });
    }

    /// All of them, in the order of the lines.
    pub(super) fn in_order(mut self) -> Vec<Finding> {
        self.found.sort_by_key(|finding| finding.line);
        self.found
    }
}
