//! One point of a check: what was found, whether it is as wanted, and what to do if not.

use serde_json::json;

/// Whether a point is as wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    /// As wanted, with something to know.
    Note,
    Wrong,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub name: &'static str,
    pub verdict: Verdict,
    /// Setting that was found.
    pub found: String,
    /// Remedy; of a note, its meaning.
    pub remedy: Option<String>,
}

impl Point {
    pub fn ok(name: &'static str, found: impl Into<String>) -> Point {
        Point { name, verdict: Verdict::Ok, found: found.into(), remedy: None }
    }

    pub fn note(name: &'static str, found: impl Into<String>, note: impl Into<String>) -> Point {
        let (found, remedy) = (found.into(), Some(note.into()));
        Point { name, verdict: Verdict::Note, found, remedy }
    }

    pub fn wrong(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Point {
        Point { verdict: Verdict::Wrong, ..Point::note(name, found, remedy) }
    }

    /// A line for people, and one more for what to do.
    pub fn text(&self) -> String {
        let word = self.word();
        let more = self.remedy.iter().map(|remedy| format!("\n       {remedy}"));
        format!("{word:<6} {}: {}{}", self.name, self.found, more.collect::<String>())
    }

    /// A line for programs.
    pub fn json(&self) -> String {
        let Point { name, found, remedy, .. } = self;
        json!({"point": name, "verdict": self.word(), "found": found, "remedy": remedy}).to_string()
    }

    fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Note => "note",
            Verdict::Wrong => "wrong",
        }
    }
}
