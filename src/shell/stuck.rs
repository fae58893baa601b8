//! Partitions that cannot be read on: which, why, for how long, and what a person can do about it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::output::progress::LaneFlags;

/// A shorter stop is ordinary: an open transaction, or a leader that moves.
const REPORTED_AFTER: Duration = Duration::from_secs(5);

/// Processing that waits for a partition which cannot be read on, beside the readers of its
/// records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waits {
    /// Nobody can take the lead.
    Lead,
    /// Intake takes nothing in.
    Intake,
    /// The other partitions go on.
    Nothing,
}

/// A partition. Those come first for which most waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Partition {
    /// Processing that waits for it.
    pub waits: Waits,
    /// Its topic: one of ours, or the name of a foreign one.
    pub topic: String,
    /// Its topic's name on the bus.
    pub name: String,
    /// Its number.
    pub number: u32,
}

impl Partition {
    /// A partition of a foreign topic: the others go on.
    pub fn foreign(name: &str, number: u32) -> Partition {
        let (topic, name) = (name.to_owned(), name.to_owned());
        Partition { waits: Waits::Nothing, topic, name, number }
    }
}

/// Partitions that stand still.
pub struct Stuck {
    /// Names of our topics on the bus.
    names: BTreeMap<Topic, String>,
    since: BTreeMap<Partition, Stop>,
}

struct Stop {
    since: Instant,
    is_reported: bool,
}

/// Partitions to report after a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StuckReport {
    /// Every partition that stands still, with a sentence; those before the others for which most
    /// waits.
    pub all: Vec<(Partition, String)>,
    /// The sentences of those of them that were not reported yet.
    pub new: Vec<String>,
    /// Partitions that were reported and go on.
    pub over: Vec<String>,
}

impl StuckReport {
    /// Writes to the log what is new.
    pub fn log(&self) {
        self.new.iter().for_each(|text| tracing::warn!("{text}"));
        self.over.iter().for_each(|text| tracing::info!("{text}"));
    }
}

impl Stuck {
    /// Nothing stands still; topics with their names on the bus.
    pub fn new(names: impl IntoIterator<Item = (Topic, String)>) -> Stuck {
        Stuck { names: names.into_iter().collect(), since: BTreeMap::new() }
    }

    /// A lane as a partition on the bus.
    pub fn partition(&self, lane: Lane, waits: Waits) -> Partition {
        let topic = lane.topic.name().to_owned();
        let name = self.names.get(&lane.topic).unwrap_or(&topic).clone();
        Partition { waits, topic, name, number: lane.partition }
    }

    /// Compares with the partitions that cannot be read on at `now`.
    pub fn look(&mut self, stopped: &BTreeMap<Partition, LaneFlags>, now: Instant) -> StuckReport {
        let mut report = StuckReport::default();
        self.since.retain(|partition, stop| {
            let goes_on = !stopped.contains_key(partition);
            if goes_on && stop.is_reported {
                let Partition { name, number, .. } = partition;
                report.over.push(format!("{name}[{number}] can be read on"));
            }
            !goes_on
        });
        for (partition, flags) in stopped {
            let new = Stop { since: now, is_reported: false };
            let stop = self.since.entry(partition.clone()).or_insert(new);
            if now.duration_since(stop.since) < REPORTED_AFTER {
                continue;
            }
            let text = sentence(partition, *flags);
            if !std::mem::replace(&mut stop.is_reported, true) {
                report.new.push(text.clone());
            }
            report.all.push((partition.clone(), text));
        }
        report
    }
}

fn sentence(partition: &Partition, flags: LaneFlags) -> String {
    let Partition { waits, name, number, .. } = partition;
    let meanwhile = match waits {
        Waits::Lead => "nobody can take the lead until it can",
        Waits::Intake => "intake takes nothing in until it was read back",
        Waits::Nothing => "the other lanes go on",
    };
    if flags.blocked_at.is_some() {
        return format!(
            "{name}[{number}] stands still behind an open transaction; {meanwhile}. \
             Wait for its transaction.timeout.ms, or find it with kafka-transactions.sh \
             describe-producers --topic {name} --partition {number} (find-hanging, if no \
             timeout ends it), and end it with kafka-transactions.sh abort"
        );
    }
    format!(
        "{name}[{number}] cannot be read; {meanwhile}. Look for its leader with \
         kafka-topics.sh --describe --topic {name}, and bring that broker back"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(report: &StuckReport) -> Vec<String> {
        report.all.iter().map(|(_, text)| text.clone()).collect()
    }

    #[test]
    fn a_lane_that_stands_still_is_named_once_with_the_remedy_and_so_is_that_it_goes_on() {
        let lane = Lane::new(Topic::Task, 1);
        let mut stuck = Stuck::new([(Topic::Task, "grid.task".to_owned())]);
        let flags = LaneFlags { blocked_at: Some(7), ..LaneFlags::default() };
        let lanes = BTreeMap::from([(stuck.partition(lane, Waits::Nothing), flags)]);
        let start = Instant::now();
        assert_eq!(stuck.look(&lanes, start), StuckReport::default());
        assert_eq!(stuck.look(&lanes, start + REPORTED_AFTER / 2), StuckReport::default());
        let report = stuck.look(&lanes, start + REPORTED_AFTER);
        assert_eq!(texts(&report), report.new);
        for part in ["grid.task[1]", "--topic grid.task --partition 1", "transaction.timeout.ms"] {
            assert!(report.new[0].contains(part), "{report:?}");
        }
        assert_eq!((&report.all[0].0.topic[..], report.all[0].0.number), ("task", 1));
        let again = stuck.look(&lanes, start + REPORTED_AFTER * 2);
        assert_eq!((again.all, again.new), (report.all, Vec::new()));
        let over = stuck.look(&BTreeMap::new(), start + REPORTED_AFTER * 3).over;
        assert_eq!(over, ["grid.task[1] can be read on"]);

        let flags = LaneFlags { unreadable: true, ..LaneFlags::default() };
        let lanes = BTreeMap::from([(stuck.partition(lane, Waits::Nothing), flags)]);
        stuck.look(&lanes, start);
        let report = stuck.look(&lanes, start + REPORTED_AFTER);
        assert!(
            report.new[0].contains("kafka-topics.sh --describe --topic grid.task"),
            "{report:?}"
        );
        // Those for which most waits come first, and do not say that others go on.
        let own = stuck.partition(Lane::new(Topic::Progress, 0), Waits::Lead);
        let back = stuck.partition(Lane::new(Topic::JobState, 2), Waits::Intake);
        let foreign = Partition::foreign("panda.jobs", 3);
        let other = stuck.partition(lane, Waits::Nothing);
        let lanes = BTreeMap::from([own, back, foreign, other].map(|it| (it, flags)));
        stuck.look(&lanes, start);
        let report = stuck.look(&lanes, start + REPORTED_AFTER);
        let [first, second, third, fourth] = &texts(&report)[..] else { panic!("{report:?}") };
        assert!(first.starts_with("progress[0]") && !first.contains("go on"), "{report:?}");
        assert!(second.starts_with("job-state[2]") && second.contains("intake"), "{report:?}");
        assert!(third.starts_with("panda.jobs[3]") && third.contains("go on"), "{report:?}");
        assert!(fourth.starts_with("grid.task[1]") && fourth.contains("go on"), "{report:?}");
        // What stopped shortly is not reported.
        let mut stuck = Stuck::new([]);
        stuck.look(&lanes, start);
        assert_eq!(stuck.look(&BTreeMap::new(), start + REPORTED_AFTER), StuckReport::default());
    }
}
