//! Topics whose facts are older than they may be, or that never had a record: which, and what a
//! person can do about it.

use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::{iso, span};
use yardmaster_core::state::State;
use yardmaster_core::unit::{DAY, MINUTE, Millis, SECOND};

/// A topic without a record is reported after so long: at the start of a new log all are so.
const ABSENT_AFTER: Millis = MINUTE;

/// Topics that were reported, and whether they had a record then.
#[derive(Default)]
pub struct Stale {
    reported: BTreeMap<Topic, bool>,
    first_look: Option<Millis>,
}

/// Topics to report after a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StaleReport {
    /// Every topic that is stale, as a sentence.
    pub stale: Vec<String>,
    /// Every topic that never had a record, as a sentence.
    pub absent: Vec<String>,
    /// Those of both that were not reported yet.
    pub new: Vec<String>,
    /// Topics that were reported and are up to date.
    pub over: Vec<String>,
}

impl Stale {
    /// Compares with what is known at a cut.
    pub fn look(&mut self, state: &State) -> StaleReport {
        let mut report = StaleReport::default();
        let since = *self.first_look.get_or_insert(state.now);
        let is_settled = state.now.saturating_sub(since) >= ABSENT_AFTER;
        let found = found(state).into_iter().filter(|(_, age, _)| age.is_some() || is_settled);
        let mut before = std::mem::take(&mut self.reported);
        for (topic, age, limit) in found {
            let text = sentence(topic, age, limit);
            if before.remove(&topic) != Some(age.is_some()) {
                report.new.push(text.clone());
            }
            let all = if age.is_some() { &mut report.stale } else { &mut report.absent };
            all.push(text);
            self.reported.insert(topic, age.is_some());
        }
        let is_over = |topic: &Topic| format!("topic {}: its facts are up to date", topic.name());
        report.over = before.keys().map(is_over).collect();
        report
    }
}

/// Inputs that are so old make a process not ready.
const OLD_AFTER: Millis = DAY;

/// Why the inputs are too old for decisions: no input has brought anything for a day, or not one
/// that must not be silent; `None`: they are not. What was never there is not old.
pub fn old_inputs(state: &State) -> Option<String> {
    let newest = |topic: Topic| {
        let lanes = state.times.lanes.of(topic);
        lanes.map(|(_, known)| known.newest).max().filter(|newest| *newest > 0)
    };
    let is_old = |newest: &Millis| state.now.saturating_sub(*newest) > OLD_AFTER;
    let days = |newest: Millis| (state.now - newest) / DAY;
    let inputs = Topic::ALL.iter().filter(|topic| !topic.is_own());
    let of_any = inputs.filter_map(|topic| newest(*topic)).max();
    if let Some(newest) = of_any.filter(is_old) {
        let (days, of) = (days(newest), iso(newest));
        return Some(format!("the newest record of any input is {days} days old, of {of}"));
    }
    let must_speak = |topic: &&Topic| {
        topic.is_report()
            && state.setting.silence[**topic as usize].is_some()
            && !state.times.of(**topic).is_fresh
    };
    let old = Topic::ALL.iter().filter(must_speak);
    let old = old.filter_map(|topic| Some((topic.name(), newest(*topic).filter(is_old)?)));
    let (topic, newest) = old.min_by_key(|(_, newest)| *newest)?;
    let (days, of) = (days(newest), iso(newest));
    Some(format!("the newest record of {topic} is {days} days old, of {of}"))
}

/// Topics with a limit that are past it, with their age (`None`: never a record) and the limit, ms.
fn found(state: &State) -> Vec<(Topic, Option<Millis>, Millis)> {
    let mut found = Vec::new();
    for topic in Topic::ALL.iter().filter(|topic| topic.is_report()) {
        let time = state.times.of(*topic);
        if let Some(limit) = state.setting.silence[*topic as usize]
            && !time.is_fresh
        {
            let age = (time.time > 0).then(|| state.now.saturating_sub(time.time));
            if age.map_or_else(|| !state.is_unreadable(*topic), |age| age > limit) {
                found.push((*topic, age, limit));
            }
        }
    }
    found.extend(state.stale_facts().map(|it| (it.topic, it.age, it.limit)));
    found
}

fn sentence(topic: Topic, age: Option<Millis>, limit: Millis) -> String {
    let name = topic.name();
    let setting = if topic.is_configuration() { "stale_after_s" } else { "silence_limit_s" };
    let by = match topic.is_configuration() {
        true => "`yardmaster import --every` keeps facts up to date",
        false => "look at who publishes it",
    };
    match age {
        None => format!(
            "topic {name} never had a record, and decisions note input_absent: {by}; if nobody \
             publishes it here, take {setting} out of [topics.{name}]"
        ),
        Some(age) => format!(
            "topic {name} is stale: nothing new for {}, {setting} is {}: {by}",
            span(age / SECOND),
            limit / SECOND
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::cut::Lane;
    use yardmaster_core::event::{Configuration, Event, Link, confirmed};
    use yardmaster_core::state::Setting;

    const DAWN: Millis = 1_700_000_000_000;

    fn fold(state: &mut State, offset: u64, record: Configuration) {
        let lane = Lane::new(record.topic(), 0);
        state.fold(lane, offset, DAWN, &Event::Configuration(Box::new(record)));
    }

    #[test]
    fn inputs_are_old_if_one_that_must_not_be_silent_is_though_imports_go_on() {
        let mut setting = Setting { domain: "atlas".into(), ..Setting::default() };
        setting.silence[Topic::Heartbeat as usize] = Some(MINUTE);
        let mut state = State::new(setting);
        let read = |state: &mut State, topic, offset, at| {
            state.now = at;
            state.times.read(Lane::new(topic, 0), offset, at);
        };
        assert_eq!(old_inputs(&state), None, "nothing was ever there");
        read(&mut state, Topic::Heartbeat, 0, DAWN);
        read(&mut state, Topic::Transfer, 0, DAWN);
        read(&mut state, Topic::Link, 0, DAWN + DAY);
        assert_eq!(old_inputs(&state), None);
        read(&mut state, Topic::Link, 1, DAWN + 2 * DAY);
        let old = old_inputs(&state).unwrap();
        assert!(old.starts_with("the newest record of heartbeat is 2 days old"), "{old}");
        read(&mut state, Topic::Heartbeat, 1, DAWN + 2 * DAY);
        assert_eq!(old_inputs(&state), None, "transfers may be silent here");
        state.now = DAWN + 13 * DAY;
        let old = old_inputs(&state).unwrap();
        assert!(old.starts_with("the newest record of any input is 11 days old"), "{old}");
    }

    #[test]
    fn a_topic_is_named_once_when_it_is_absent_or_grows_stale_and_when_it_is_over() {
        let mut setting = Setting { domain: "atlas".into(), ..Setting::default() };
        setting.stale_after[Topic::Link as usize] = Some(60 * SECOND);
        let (mut state, mut stale) = (State::new(setting), Stale::default());
        state.now = DAWN - MINUTE;
        assert_eq!(stale.look(&state), StaleReport::default());
        state.now = DAWN;
        let absent = stale.look(&state);
        assert!(absent.new[0].contains("link never had a record"), "{absent:?}");
        let again = stale.look(&state);
        assert_eq!((again.new.len(), again.absent.len(), again.over.len()), (0, 1, 0));

        let changed_at = DAWN - 50 * SECOND;
        let (source, destination) = ("A".to_owned(), "B".to_owned());
        let link = Link { source, destination, changed_at, ..Link::default() };
        fold(&mut state, 0, Configuration::Link(link));
        assert_eq!(state.facts_age(Topic::Link), Some(50 * SECOND));
        assert_eq!(stale.look(&state).over, ["topic link: its facts are up to date"]);

        state.now = DAWN + 11 * SECOND;
        let old = stale.look(&state);
        assert!(old.new[0].contains("nothing new for 1 min 1 s, stale_after_s is 60"), "{old:?}");
        assert_eq!((&old.stale, old.absent.len()), (&old.new, 0));
        // An import found everything as it was, in this domain.
        let confirm = |domain| Configuration::Parameter(confirmed(domain, Topic::Link, DAWN));
        fold(&mut state, 0, confirm("other"));
        assert_eq!(stale.look(&state).over.len(), 0);
        fold(&mut state, 1, confirm("atlas"));
        assert_eq!(state.facts_age(Topic::Link), Some(11 * SECOND));
        assert_eq!(stale.look(&state).over.len(), 1);
    }
}
