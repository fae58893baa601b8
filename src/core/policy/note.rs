//! Notes of a decision on why a request waits as a whole: as they are written, and as
//! `explain` reads them back from a published decision.

use super::wait::WaitReason;
use std::fmt;

/// A note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note<'a> {
    /// The request waits as a whole.
    Wait(WaitReason),
    /// It waits as a whole for a reason of another version.
    WaitOtherwise(&'a str),
    /// By which rule it waits, and which subject that holds, as the key of a throttle has it.
    Throttled {
        /// The rule's name.
        rule: &'a str,
        /// The subject.
        subject: &'a str,
    },
}

impl<'a> Note<'a> {
    /// Reads a note; `None`: it is about something else.
    pub fn read(text: &'a str) -> Option<Note<'a>> {
        if let Some(rest) = text.strip_prefix("held(") {
            let name = rest.strip_suffix(')').unwrap_or(rest);
            let known = WaitReason::ALL.into_iter().find(|reason| reason.name() == name);
            return Some(known.map_or(Note::WaitOtherwise(name), Note::Wait));
        }
        let (rule, rest) = text.strip_prefix("throttled(")?.split_once(", ")?;
        // What follows are the figures; a name may have commas in it.
        let (subject, _) = rest.rsplit_once(", ")?;
        Some(Note::Throttled { rule, subject })
    }

    /// As written, with figures behind it.
    pub fn with_figures(&self, figures: &str) -> String {
        match self {
            Note::Throttled { rule, subject } => format!("throttled({rule}, {subject}, {figures})"),
            Note::Wait(_) | Note::WaitOtherwise(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Wait(reason) => write!(f, "held({})", reason.name()),
            Note::WaitOtherwise(name) => write!(f, "held({name})"),
            Note::Throttled { rule, subject } => write!(f, "throttled({rule}, {subject})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Note, WaitReason};

    #[test]
    fn notes_are_read_as_they_were_written() {
        for reason in WaitReason::ALL {
            assert_eq!(Note::read(&Note::Wait(reason).to_string()), Some(Note::Wait(reason)));
        }
        assert_eq!(Note::read("held(moonphase)"), Some(Note::WaitOtherwise("moonphase")));
        let note = Note::Throttled { rule: "A1", subject: "user/Ann, Bob & Co" };
        let text = note.with_figures("3 of 2 jobs");
        assert_eq!(text, "throttled(A1, user/Ann, Bob & Co, 3 of 2 jobs)");
        assert_eq!(Note::read(&text), Some(note));
        assert_eq!(Note::read("input_stale(pilot, 120 s)"), None);
    }
}
