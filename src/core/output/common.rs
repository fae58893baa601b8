//! What outputs of every kind have.

use crate::cut::Topic;
use crate::unit::Millis;

/// What an output may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A queue that jobs are sent to, or that it is about.
    Queue,
    /// A leaf share.
    Share,
    /// A user.
    User,
    /// A working group.
    Group,
    /// A task, or the subject of a request.
    Task,
    /// A job.
    Job,
    /// The policy or rule that gave it.
    Rule,
}

/// What outputs of every kind have, whatever their records are.
pub trait Folded {
    /// The topic it is published on.
    fn topic(&self) -> Topic;
    /// The record's key.
    fn key(&self) -> String;
    /// Subject of the output, for messages.
    fn title(&self) -> String;
    /// Subject of the output, as its record has it.
    fn subject(&self) -> String;
    /// Which output about its subject it is, from 1.
    fn ordinal(&self) -> u32;
    /// Epoch, cycle and now it was made at.
    fn moment(&self) -> (u64, u64, Millis);
    /// Its number in its cycle, among those of its topic, from 0.
    fn number(&self) -> u32;
    /// The domain whose leader made it.
    fn domain(&self) -> &str;
    /// Its id.
    fn id(&self) -> [u8; 16];
    /// Whether its id is the one that follows from its content.
    fn has_right_id(&self) -> bool;
    /// Whether it is only published, not to be carried out.
    fn is_dry_run(&self) -> bool;
    /// Name of its effect: assign, defer, reject; set, lift; kinds of commands.
    fn effect(&self) -> &'static str;
    /// The policy or rule that gave it.
    fn rule(&self) -> &str;
    /// Leaf share; empty where it is about none.
    fn gshare(&self) -> &str;
    /// User; empty where it is about none.
    fn user(&self) -> &str;
    /// Task; empty where it is about none.
    fn task(&self) -> &str;
    /// Queues that jobs are sent to, or that a command is about.
    fn queues(&self) -> Vec<&str>;
    /// Jobs that are sent or commanded.
    fn amount(&self) -> u64;
    /// Whether it is about something of a name.
    fn is_about(&self, what: About, name: &str) -> bool;
    /// The names under which it can be found; some may be empty.
    fn names(&self) -> Vec<&str>;
    /// Counts it as of an earlier moment than its cycle's now; its own times move with it.
    fn count_at(&mut self, now: Millis);

    /// The number of the cycle it was made in.
    fn cycle(&self) -> u64 {
        self.moment().1
    }

    /// The order in which outputs are made: cycle by cycle, topic by topic, by number.
    fn order(&self) -> (u64, Topic, u32) {
        (self.cycle(), self.topic(), self.number())
    }
}

/// The part of [`Folded`] that each record has as fields of the same names.
macro_rules! stamped {
    () => {
        fn moment(&self) -> (u64, u64, Millis) {
            (self.epoch, self.cycle, self.now)
        }

        fn number(&self) -> u32 {
            self.number
        }

        fn domain(&self) -> &str {
            &self.domain
        }

        fn id(&self) -> [u8; 16] {
            self.id.0
        }

        fn is_dry_run(&self) -> bool {
            self.dry_run
        }
    };
}
pub(super) use stamped;

/// A time of an output whose `now` moves from `published` to `now`. What lay before it is a moment
/// of the past and moves only if it would lie ahead.
pub(super) fn moved(time: Millis, published: Millis, now: Millis) -> Millis {
    match time >= published {
        true => now.saturating_add(time.saturating_sub(published)),
        false => time.min(now),
    }
}
