//! A leader that publishes the commands a test wants.

use crate::kill::bus::{Bus, now};
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::id::hash;
use yardmaster::core::output::command::Command;
use yardmaster::core::output::progress::Progress;
use yardmaster::wire::avro::unframed;
use yardmaster::wire::record;

/// The lane that its commands are in.
const LANE: Lane = Lane::new(Topic::Command, 0);

/// A job of that name is to be killed.
pub fn command(bus: &Bus, subject: &str) -> Command {
    Command {
        queue: "QUEUE_00".into(),
        expires_at: now() + 3_600_000,
        epoch: 1,
        now: now(),
        ..Command::new(&bus.domain, "T4", subject, 0, Some(7))
    }
}

/// Publishes cycles with given commands, as a leader does.
pub struct Leader<'a> {
    bus: &'a Bus,
    /// The number of its next cycle.
    cycle: u64,
}

impl<'a> Leader<'a> {
    pub fn new(bus: &'a Bus) -> Leader<'a> {
        Leader { bus, cycle: 5 }
    }

    /// A cycle with these commands.
    pub fn publish(&mut self, commands: &[Command]) {
        let mut hashes = Vec::new();
        for (number, command) in (0..).zip(commands) {
            let command = Command { cycle: self.cycle, number, ..command.clone() };
            hashes.push(hash(unframed(&self.append(&command))));
        }
        let progress = Progress {
            domain: self.bus.domain.clone(),
            epoch: 1,
            number: self.cycle,
            now: now(),
            instance: "a test".into(),
            outputs: vec![(LANE, commands.len() as u32)],
            output_hashes: hashes,
            ..Progress::default()
        };
        let mut value = Vec::new();
        record::write(&mut value, &progress);
        self.bus.write(Topic::Progress, &self.bus.domain, Some(&value));
        self.bus.flush();
        self.cycle += 1;
    }

    /// A command that claims the next cycle, and that the cycle does not list.
    pub fn forge(&self, command: Command) {
        self.append(&Command { cycle: self.cycle, ..command });
    }

    /// A copy of the first command of the last cycle.
    pub fn copy(&self, command: &Command) {
        self.append(&Command { cycle: self.cycle - 1, ..command.clone() });
    }

    fn append(&self, command: &Command) -> Vec<u8> {
        let mut value = Vec::new();
        record::write(&mut value, command);
        self.bus.write_in(Topic::Command, 0, command.subject.as_bytes(), Some(&value));
        value
    }
}
