//! One dead letter, with its bytes.

use super::home::{LetterPartition, LetterReader};
use super::letter::{Letter, Origin, shown};
use super::list::json_of;
use super::{Filter, each_letter, open, origin};
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::{Ended, Usage};
use crate::dirlog::Mode;
use clap::Args;
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;
use yardmaster_core::explain::iso;
use yardmaster_wire::avro::{Peek, peek};

/// Bytes a line of the dump.
const ROW: usize = 16;

/// Which letter is shown, and how.
#[derive(Args)]
pub struct ShowLetter {
    #[command(flatten)]
    log_args: LogArgs,
    /// Where the record was, as the list has it.
    #[arg(value_name = "TOPIC/PARTITION/OFFSET", value_parser = origin)]
    from: Origin,
    /// How many bytes are dumped.
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    bytes: usize,
    /// As JSON; all bytes that were kept, in hex.
    #[arg(long)]
    json: bool,
}

impl ShowLetter {
    /// Prints the letter.
    pub fn run(self) -> Ended {
        let read = self.log_args.read_log()?;
        let wanted = LetterPartition::of(&read, &self.from)?.origin(&self.from);
        let mut log = open(&self.log_args, &read, Mode::Read)?;
        let mut found = None;
        let filter = Filter { topic: Some(wanted.topic.clone()), reason: None, since: None };
        each_letter(&mut log, &read, &filter, &mut |letter| {
            if letter.origin.as_ref() == Some(&wanted) {
                found = Some(letter);
            }
            Ok(())
        })?;
        let Some(letter) = found else {
            let why = "no dead letter of it; `yardmaster dead-letters` lists what there is";
            return Err(Usage(format!("{wanted}: {why}")).into());
        };
        let peeked = peek(&letter.value);
        let now = now_reads(&read, &letter);
        match self.json {
            true => println!("{}", json_text(&letter, &peeked, &now)),
            false => print!("{}", text_of(&letter, &peeked, &now, &read, self.bytes)),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn now_reads(read: &Read, letter: &Letter) -> String {
    let Some(home) =
        letter.origin.as_ref().and_then(|origin| LetterPartition::of(read, origin).ok())
    else {
        return "its topic is none that is read".into();
    };
    if letter.is_cut() {
        return "cut: not known without all its bytes".into();
    }
    match LetterReader::new(read).reads(&home, &letter.key, Some(&letter.value)) {
        Ok(()) => "can be read: redrive it".into(),
        Err(why) => format!("still unreadable: {why}"),
    }
}

fn text_of(letter: &Letter, peeked: &Peek, now: &str, read: &Read, most: usize) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name:<10} {value}");
    };
    line("from", &letter.from());
    line("reason", &letter.reason);
    line("published", &iso(letter.at));
    line(
        "letter",
        &format!("{}/{}/{}", letter.lane.topic.name(), letter.lane.partition, letter.offset),
    );
    line("key", &letter.key_text());
    line("bytes", &letter.bytes());
    let limit = read.topology.limits.dead_letter_bytes;
    line("cut at", &format!("{limit} bytes (limits.dead_letter_bytes of this topology)"));
    line("now", now);
    for (name, value) in &letter.headers {
        line("header", &format!("{name}: {}", shown(value)));
    }
    line("framing", &peeked.framing);
    for field in &peeked.lines {
        line("", field);
    }
    if let Some(why) = &peeked.stopped {
        line("stopped", why);
    }
    text.push_str(&dump(&letter.value, most));
    text
}

/// Offset, hex, text, sixteen bytes a line.
fn dump(bytes: &[u8], most: usize) -> String {
    let mut text = String::new();
    for (row, chunk) in bytes[..bytes.len().min(most)].chunks(ROW).enumerate() {
        let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
        let plain = |byte: &u8| if (0x20..0x7F).contains(byte) { char::from(*byte) } else { '.' };
        let plain: String = chunk.iter().map(plain).collect();
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{:08x}  {:<47}  {plain}", row * ROW, hex.join(" "));
    }
    if bytes.len() > most {
        let _ = writeln!(text, "... {} more bytes; --bytes shows them", bytes.len() - most);
    }
    text
}

fn json_text(letter: &Letter, peeked: &Peek, now: &str) -> serde_json::Value {
    let mut value = json_of(letter);
    let headers = letter.headers.iter().map(|(name, value)| json!([name, shown(value)]));
    value["now"] = json!(now);
    value["headers"] = headers.collect();
    value["framing"] = json!(peeked.framing);
    value["decoded"] = json!(peeked.lines);
    value["stopped"] = json!(peeked.stopped);
    value["hex"] = json!(hex::encode(&letter.value));
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_shows_place_hex_and_text() {
        let bytes: Vec<u8> = (0x3Eu8..0x50).collect();
        let text = dump(&bytes, 100);
        let first = "00000000  3e 3f 40 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d  >?@ABCDEFGHIJKLM";
        assert_eq!(text.lines().next(), Some(first));
        assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("  NO")), "{text}");
        assert!(dump(&bytes, 16).ends_with("... 2 more bytes; --bytes shows them\n"));
    }
}
