//! Topics that records of clusters are published on.

use super::others::OthersJobs;
use super::target::Target;
use crate::cli::log_args::LogArgs;
use yardmaster_core::cut::Topic;

/// Topics that are published on.
pub const TOPICS: [Topic; 5] =
    [Topic::Registration, Topic::Site, Topic::Queue, Topic::UserShare, Topic::JobState];
/// Where the records of clusters are published: a target for each topic.
pub struct ArcTargets(Vec<Target>);

impl ArcTargets {
    /// Of an import of a name.
    ///
    /// # Errors
    /// A topology that cannot be read or lacks a topic, or no log.
    pub fn new(log_args: &LogArgs, name: &str) -> anyhow::Result<ArcTargets> {
        let targets = TOPICS.map(|topic| Target::new(log_args, topic, name));
        Ok(ArcTargets(targets.into_iter().collect::<anyhow::Result<_>>()?))
    }

    /// The one of a topic; of one that is not published on, the first.
    pub fn of(&self, topic: Topic) -> &Target {
        &self.0[TOPICS.iter().position(|it| *it == topic).unwrap_or(0)]
    }

    /// Reads what was appended since the last time; also jobs of others.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read_back(&mut self, others: &mut OthersJobs) -> anyhow::Result<()> {
        self.0.iter_mut().zip(TOPICS).try_for_each(|(target, topic)| match topic {
            Topic::JobState => target.read_back_beside(&mut |found| others.meet(found)),
            _ => target.read_back(),
        })
    }
}
