//! Lines in the order in which their outputs were made, though the lanes of a log are read one
//! further than the other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster_core::cut::Topic;
use yardmaster_drive::listing::Listed;

/// Most bytes of lines that are held back.
const BYTES_MAX: usize = 4 << 20;
/// How long a line is held back at most.
const HOLD_MAX: Duration = Duration::from_secs(1);

/// Cycle, topic, number in it, partition, offset.
type Order = (u64, Topic, u32, u32, u64);

/// Lines that are held until none that comes before them can arrive.
#[derive(Default)]
pub(super) struct Sorter {
    held: BTreeMap<Order, String>,
    bytes: usize,
    since: Option<Instant>,
}

impl Sorter {
    /// Takes in the line of an output.
    pub fn push(&mut self, listed: &Listed, line: String) {
        let (cycle, topic, number) = listed.output.order();
        let (lane, offset) = listed.place;
        self.bytes += line.len();
        self.held.insert((cycle, topic, number, lane.partition, offset), line);
        self.since.get_or_insert_with(Instant::now);
    }

    /// Gives the lines of all cycles below one, in order; all if there is none, or if they were
    /// held for long enough. While there are too many, the first go.
    pub fn release(&mut self, below: Option<u64>) -> Vec<String> {
        let is_over = self.since.is_some_and(|since| since.elapsed() >= HOLD_MAX);
        let later = match below.filter(|_| !is_over) {
            Some(below) => self.held.split_off(&(below, Topic::ALL[0], 0, 0, 0)),
            None => BTreeMap::new(),
        };
        let mut lines: Vec<String> =
            std::mem::replace(&mut self.held, later).into_values().collect();
        self.bytes = self.held.values().map(String::len).sum();
        while self.bytes > BYTES_MAX {
            let Some((_, line)) = self.held.pop_first() else { break };
            self.bytes -= line.len();
            lines.push(line);
        }
        if !lines.is_empty() {
            self.since = (!self.held.is_empty()).then(Instant::now);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::cut::Lane;
    use yardmaster_core::output::command::Command;

    fn of(cycle: u64, partition: u32, offset: u64) -> Listed {
        let command = Command { cycle, ..Command::new("atlas", "T1", "7", 0, None) };
        Listed { place: (Lane::new(Topic::Command, partition), offset), output: command.into() }
    }

    #[test]
    fn lines_come_in_the_order_of_cycles_and_none_before_its_turn() {
        let mut sorter = Sorter::default();
        for (cycle, partition) in [(7, 0), (9, 0), (5, 1), (7, 1)] {
            sorter.push(&of(cycle, partition, cycle), format!("{cycle}/{partition}"));
        }
        assert_eq!(sorter.release(Some(7)), ["5/1"]);
        assert!(sorter.release(Some(7)).is_empty());
        assert_eq!(sorter.release(None), ["7/0", "7/1", "9/0"]);
        assert!(sorter.release(None).is_empty());
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut sorter = Sorter::default();
        for offset in 0..10 {
            sorter.push(&of(5, 0, offset), "x".repeat(BYTES_MAX / 4));
        }
        assert_eq!(sorter.release(Some(5)).len(), 6);
        assert!(sorter.bytes <= BYTES_MAX);
    }
}
