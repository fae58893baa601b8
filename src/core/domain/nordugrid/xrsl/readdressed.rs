//! A job that is described in ADL, as it is handed over: its own text, so that nothing is lost of
//! what only ARC reads, with the queue of its target, the credentials, and the files that ARC's
//! client would add.

use super::Alternative;
use super::handover::{Handover, NORDUGRID, escaped, marked};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, Writer};
use std::io::{self, Write};

/// The text of a job, which was read, for a target.
///
/// # Errors
/// It is no XML.
pub(super) fn readdressed(job: &Alternative, to: &Handover<'_>) -> io::Result<String> {
    let mut reader = Reader::from_str(to.description.trim_start_matches('\u{feff}'));
    reader.config_mut().expand_empty_elements = true;
    let mut edit =
        Edit { job, to, writer: Writer::new(Vec::new()), open: Vec::new(), seen: [false; 2] };
    loop {
        match reader.read_event().map_err(io::Error::other)? {
            Event::Start(start) if edit.is_replaced(&start) => {
                reader.read_to_end(start.name()).map_err(io::Error::other)?;
            }
            Event::Start(start) => edit.start(start)?,
            Event::End(end) => {
                edit.complete()?;
                edit.open.pop();
                edit.writer.write_event(Event::End(end))?;
            }
            Event::Eof => break,
            other => edit.writer.write_event(other)?,
        }
    }
    String::from_utf8(edit.writer.into_inner()).map_err(io::Error::other)
}

/// Parts of a description, which may be missing.
const PARTS: [&str; 2] = ["Resources", "DataStaging"];

struct Edit<'a> {
    job: &'a Alternative,
    to: &'a Handover<'a>,
    writer: Writer<Vec<u8>>,
    /// Prefixes and names of the elements that are open, the root first.
    open: Vec<(String, String)>,
    /// Which of the parts were there.
    seen: [bool; 2],
}

impl Edit<'_> {
    /// Whether an element that begins states what the handing over states.
    fn is_replaced(&self, start: &BytesStart<'_>) -> bool {
        let path: Vec<&str> = self.open.iter().skip(1).map(|(_, name)| name.as_str()).collect();
        match (&path[..], start.local_name().as_ref()) {
            (["Resources"], b"QueueName") => true,
            (["DataStaging"] | ["DataStaging", _, "Source" | "Target"], b"DelegationID") => {
                self.to.delegation.is_some()
            }
            _ => false,
        }
    }

    fn start(&mut self, start: BytesStart<'_>) -> io::Result<()> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let prefix = start.name().prefix().map_or(String::new(), |it| text(it.as_ref()) + ":");
        let name = text(start.local_name().as_ref());
        if self.open.len() == 1 {
            let parts = PARTS.iter().zip(&mut self.seen);
            parts.filter(|(part, _)| **part == name).for_each(|(_, seen)| *seen = true);
        }
        self.open.push((prefix, name));
        self.writer.write_event(Event::Start(start))
    }

    /// Writes what is missing in the element that ends.
    fn complete(&mut self) -> io::Result<()> {
        let Some((prefix, name)) = self.open.last().cloned() else { return Ok(()) };
        let delegation = self.to.delegation;
        match (self.open.len(), name.as_str()) {
            (1, _) => {
                for (part, seen) in PARTS.into_iter().zip(self.seen) {
                    if !seen {
                        write!(self.writer.get_mut(), "<{prefix}{part}>")?;
                        self.part(&prefix, part)?;
                        write!(self.writer.get_mut(), "</{prefix}{part}>")?;
                    }
                }
                self.writer.get_mut().write_all(marked(self.to.mark).as_bytes())
            }
            (2, part) => self.part(&prefix, part),
            (4, "Source" | "Target") => match delegation {
                Some(id) => self.element(&prefix, "DelegationID", id),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn part(&mut self, prefix: &str, part: &str) -> io::Result<()> {
        match part {
            "Resources" => self.element(prefix, "QueueName", self.to.queue),
            "DataStaging" => self.staging(prefix),
            _ => Ok(()),
        }
    }

    fn staging(&mut self, prefix: &str) -> io::Result<()> {
        let job = self.job;
        for name in &job.implied_uploads {
            write!(self.writer.get_mut(), "<{prefix}InputFile>")?;
            self.element(prefix, "Name", name)?;
            if name == job.text("executable") {
                self.element(prefix, "IsExecutable", "true")?;
            }
            write!(self.writer.get_mut(), "</{prefix}InputFile>")?;
        }
        for name in job.kept_unlisted() {
            write!(self.writer.get_mut(), "<{prefix}OutputFile>")?;
            self.element(prefix, "Name", name)?;
            write!(self.writer.get_mut(), "</{prefix}OutputFile>")?;
        }
        if let Some(id) = self.to.delegation {
            let id = escaped(id);
            write!(
                self.writer.get_mut(),
                "<ng:DelegationID xmlns:ng=\"{NORDUGRID}\">{id}</ng:DelegationID>"
            )?;
        }
        Ok(())
    }

    fn element(&mut self, prefix: &str, name: &str, text: &str) -> io::Result<()> {
        let text = escaped(text);
        write!(self.writer.get_mut(), "<{prefix}{name}>{text}</{prefix}{name}>")
    }
}
