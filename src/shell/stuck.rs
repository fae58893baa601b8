//! Lanes that cannot be read on: which, why, for how long, and what a person can do about it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::output::progress::LaneFlags;

/// A shorter stop is ordinary: an open transaction, or a leader that moves.
const REPORTED_AFTER: Duration = Duration::from_secs(5);

/// Lanes that stand still.
pub struct Stuck {
    /// What each topic is called on the bus.
    names: BTreeMap<Topic, String>,
    since: BTreeMap<Lane, Stop>,
}

struct Stop {
    since: Instant,
    is_reported: bool,
}

/// What there is to report after a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Every lane that stands still, as a sentence; own ones, without which nothing is decided,
    /// before the others.
    pub all: Vec<String>,
    /// Those of them that were not reported yet.
    pub new: Vec<String>,
    /// Lanes that were reported and go on.
    pub over: Vec<String>,
}

impl Stuck {
    /// Nothing stands still; topics with their names on the bus.
    pub fn new(names: impl IntoIterator<Item = (Topic, String)>) -> Stuck {
        Stuck { names: names.into_iter().collect(), since: BTreeMap::new() }
    }

    /// Compares with the lanes that cannot be read on at `now`.
    pub fn look(&mut self, lanes: &BTreeMap<Lane, LaneFlags>, now: Instant) -> Report {
        let mut report = Report::default();
        let gone: Vec<Lane> =
            self.since.keys().filter(|lane| !lanes.contains_key(lane)).copied().collect();
        for lane in gone {
            if self.since.remove(&lane).is_some_and(|stop| stop.is_reported) {
                report.over.push(format!("{} can be read on", self.name(lane)));
            }
        }
        let (own, inputs): (Vec<_>, Vec<_>) =
            lanes.iter().partition(|(lane, _)| lane.topic.is_own());
        for (lane, flags) in own.into_iter().chain(inputs) {
            let stop = self.since.entry(*lane).or_insert(Stop { since: now, is_reported: false });
            if now.duration_since(stop.since) < REPORTED_AFTER {
                continue;
            }
            let is_new = !std::mem::replace(&mut stop.is_reported, true);
            let text = self.sentence(*lane, *flags);
            if is_new {
                report.new.push(text.clone());
            }
            report.all.push(text);
        }
        report
    }

    /// Lanes of a topic that were reported.
    pub fn count(&self, topic: Topic) -> usize {
        let reported = self.since.iter().filter(|(_, stop)| stop.is_reported);
        reported.filter(|(lane, _)| lane.topic == topic).count()
    }

    fn topic(&self, topic: Topic) -> &str {
        self.names.get(&topic).map_or(topic.name(), String::as_str)
    }

    fn name(&self, lane: Lane) -> String {
        format!("{}[{}]", self.topic(lane.topic), lane.partition)
    }

    fn sentence(&self, lane: Lane, flags: LaneFlags) -> String {
        let (name, topic) = (self.name(lane), self.topic(lane.topic));
        let partition = lane.partition;
        let meanwhile = match lane.topic.is_own() {
            true => "nobody can take the lead until it can",
            false => "the other lanes go on",
        };
        if flags.blocked_at.is_some() {
            return format!(
                "{name} stands still behind an open transaction; {meanwhile}. \
                 Wait for its transaction.timeout.ms, or find it with kafka-transactions.sh \
                 describe-producers --topic {topic} --partition {partition} (find-hanging, if no \
                 timeout ends it), and end it with kafka-transactions.sh abort"
            );
        }
        format!(
            "{name} cannot be read; {meanwhile}. Look for its leader with \
             kafka-topics.sh --describe --topic {topic}, and bring that broker back"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_that_stands_still_is_named_once_with_the_remedy_and_so_is_that_it_goes_on() {
        let lane = Lane::new(Topic::Task, 1);
        let mut stuck = Stuck::new([(Topic::Task, "grid.task".to_owned())]);
        let flags = LaneFlags { blocked_at: Some(7), ..LaneFlags::default() };
        let lanes = BTreeMap::from([(lane, flags)]);
        let start = Instant::now();
        assert_eq!(stuck.look(&lanes, start), Report::default());
        assert_eq!(stuck.look(&lanes, start + REPORTED_AFTER / 2), Report::default());
        let report = stuck.look(&lanes, start + REPORTED_AFTER);
        assert_eq!(report.all, report.new);
        for part in ["grid.task[1]", "--topic grid.task --partition 1", "transaction.timeout.ms"] {
            assert!(report.new[0].contains(part), "{report:?}");
        }
        assert_eq!((stuck.count(Topic::Task), stuck.count(Topic::JobState)), (1, 0));
        let again = stuck.look(&lanes, start + REPORTED_AFTER * 2);
        assert_eq!((again.all, again.new), (report.all, Vec::new()));
        let over = stuck.look(&BTreeMap::new(), start + REPORTED_AFTER * 3).over;
        assert_eq!(over, ["grid.task[1] can be read on"]);
        assert_eq!(stuck.count(Topic::Task), 0);

        let flags = LaneFlags { unreadable: true, ..LaneFlags::default() };
        let lanes = BTreeMap::from([(lane, flags)]);
        stuck.look(&lanes, start);
        let report = stuck.look(&lanes, start + REPORTED_AFTER);
        assert!(
            report.new[0].contains("kafka-topics.sh --describe --topic grid.task"),
            "{report:?}"
        );
        // One of our own comes first, and does not say that others go on.
        let own = Lane::new(Topic::Progress, 0);
        let lanes = BTreeMap::from([(lane, flags), (own, flags)]);
        stuck.look(&lanes, start);
        let report = stuck.look(&lanes, start + REPORTED_AFTER);
        let [first, second] = &report.all[..] else { panic!("{report:?}") };
        assert!(first.starts_with("progress[0]") && !first.contains("go on"), "{report:?}");
        assert!(second.starts_with("grid.task[1]") && second.contains("go on"), "{report:?}");
        // What stopped shortly is not reported.
        let mut stuck = Stuck::new([]);
        stuck.look(&lanes, start);
        assert_eq!(stuck.look(&BTreeMap::new(), start + REPORTED_AFTER), Report::default());
    }
}
