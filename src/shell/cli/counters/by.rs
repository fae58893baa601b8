//! The kinds of things that counters are of.

use clap::ValueEnum;

/// Kind of things that counters belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum By {
    /// All of a queue.
    Queue,
    /// By user and queue.
    User,
    /// By working group and queue.
    Group,
    /// By queue and share.
    Share,
    /// By queue, share and resource type.
    Load,
    /// By nucleus.
    Nucleus,
    /// By task and queue.
    Task,
    /// Transfers by source, destination and activity; `*`: of all of them.
    Link,
}

impl By {
    /// The kinds of counters that are of it.
    pub fn kinds(self) -> &'static [&'static str] {
        match self {
            By::Queue => &["queue", "starts", "waits"],
            By::User => &["user"],
            By::Group => &["group"],
            By::Share => &["share"],
            By::Load => &["load"],
            By::Nucleus => &["nucleus"],
            By::Task => &["task"],
            By::Link => &["link", "into", "rate"],
        }
    }

    /// Names of the columns that identify a counter.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            By::Queue => &["queue"],
            By::User => &["user", "queue"],
            By::Group => &["group", "queue"],
            By::Share => &["queue", "gshare"],
            By::Load => &["queue", "gshare", "resource_type"],
            By::Nucleus => &["nucleus"],
            By::Task => &["task", "queue"],
            By::Link => &["source", "destination", "activity"],
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
