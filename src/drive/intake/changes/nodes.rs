//! Nodes that work for a queue, thinned out: a node is published no more than once a minute.

use crate::intake::number::ByNumber;
use yardmaster_core::id::hash;
use yardmaster_core::unit::{MINUTE, Millis};

/// At this many nodes those that were quiet are forgotten. What is forgotten too early is published
/// once more.
const NODES_MAX: usize = 500_000;
/// A node that was quiet for so long is forgotten first.
const QUIET: Millis = 10 * MINUTE;

/// When each node was last published.
#[derive(Default)]
pub struct Nodes {
    published: ByNumber<Millis>,
    latest: Millis,
}

impl Nodes {
    /// Whether a node's sign is to be published: a minute or more after the last of its kind.
    pub fn is_due(&mut self, kind: &str, queue: &str, node: &str, at: Millis) -> bool {
        self.latest = self.latest.max(at);
        if self.published.len() >= NODES_MAX {
            let horizon = self.latest.saturating_sub(QUIET);
            self.published.retain(|_, last| *last > horizon);
            if self.published.len() >= NODES_MAX {
                self.published.clear();
            }
        }
        let number = hash(kind.as_bytes()).rotate_left(1)
            ^ hash(queue.as_bytes()).rotate_left(2)
            ^ hash(node.as_bytes());
        let last = self.published.entry(number).or_insert(Millis::MIN);
        let is_due = at >= last.saturating_add(MINUTE);
        if is_due {
            *last = at;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::{MINUTE, Nodes};

    #[test]
    fn a_node_is_published_once_a_minute_of_each_queue() {
        let (mut nodes, t0) = (Nodes::default(), 1_760_000_000_000);
        assert!(nodes.is_due("job", "Q", "n1", t0));
        assert!(!nodes.is_due("job", "Q", "n1", t0 + MINUTE - 1));
        assert!(!nodes.is_due("job", "Q", "n1", t0 - 5 * MINUTE), "older");
        assert!(nodes.is_due("pilot", "Q", "n1", t0));
        assert!(nodes.is_due("job", "R", "n1", t0));
        assert!(nodes.is_due("job", "Q", "n2", t0));
        assert!(nodes.is_due("job", "Q", "n1", t0 + MINUTE));
    }
}
