//! Notes of a decision on what it was made from: names and figures of the request that do not fit
//! what is known, and input that is old or missing.

use crate::cut::Topic;
use crate::event::is_newer;
use crate::event::{Configured, Task, history_since, uncounted_nodes};
use crate::id::cut;
use crate::judge::view::CutView;
use crate::state::State;
use crate::state::admit::PLAUSIBLE_FROM;
use crate::unit::{Millis, SECOND};
use std::collections::BTreeSet;

/// Most unknown sites that are named on one decision.
const SITES_NAMED: usize = 5;

/// The note on a name that is no queue's and no site's.
pub(crate) const SITE_UNKNOWN: &str = "site_unknown";

/// Notes on figures and names of a request that can hardly be meant; `makes_jobs` if its policy
/// places jobs, `is_pattern` if its site is one name or pattern, in which a comma parts nothing.
pub(crate) fn doubts(
    view: CutView<'_>,
    task: &Task,
    makes_jobs: bool,
    is_pattern: bool,
) -> Vec<String> {
    let CutView { state, world, .. } = view;
    let longest = state.setting.limits.name_bytes;
    let mut notes = Vec::new();
    notes.extend(view.inputs.note(&task.subject));
    if makes_jobs && task.jobs == 0 {
        notes.push("jobs_missing(0, expected the number of jobs of the chunk)".to_owned());
    }
    let impossible = task.impossible.iter();
    notes.extend(impossible.map(|figure| format!("figure_impossible({figure})")));
    if task.asked_at < PLAUSIBLE_FROM {
        let expected = "expected milliseconds since 1970";
        notes.push(format!("asked_at_implausible({}, {expected})", task.asked_at));
    }
    // As it was stated: `task` may have the share that the tree gave it.
    let stated = state.requests.of(&task.subject).and_then(|request| request.task.as_ref());
    let (shares, gshare) = (&state.facts.shares, &stated.unwrap_or(task).gshare);
    if !gshare.is_empty() && !shares.is_empty() && shares.of(gshare).is_none() {
        notes.push(format!("gshare_unknown({})", cut(gshare, longest)));
    }
    let parts = if is_pattern { 1 } else { usize::MAX };
    let named = task.site.splitn(parts, ',').map(str::trim).filter(|site| !site.is_empty());
    let unknown = named.filter(|site| !world.names_queue(site)).take(SITES_NAMED);
    notes.extend(unknown.map(|site| format!("{SITE_UNKNOWN}({})", cut(site, longest))));
    notes
}

/// Notes of a decision on the age of the facts. They are the same for all decisions of a cut.
pub(crate) fn time_notes(state: &State) -> Vec<String> {
    let (mut notes, mut absent) = (Vec::new(), Vec::new());
    for topic in [Topic::JobState, Topic::Heartbeat, Topic::Transfer, Topic::Pilot] {
        let time = state.times.of(topic);
        if !time.is_fresh && state.setting.silence[topic as usize].is_some() {
            match time.time {
                0 if state.is_unreadable(topic) => notes.push(unreadable_note(topic)),
                0 => absent.push(topic.name()),
                // Records are always on their way for a moment.
                time if state.now - time < SECOND => {}
                time => notes.push(stale(topic, state.now - time)),
            }
        }
    }
    for input in state.stale_facts() {
        match input.age {
            None => absent.push(input.topic.name()),
            Some(age) => notes.push(stale(input.topic, age)),
        }
    }
    if !absent.is_empty() {
        notes.push(format!("input_absent({})", absent.join(", ")));
    }
    notes.extend(unreadable_notes(state));
    let window = state.setting.limits.node_window_ms;
    let since = state.known_since.max(intake_knows_since(state));
    if since > 0 && state.now - since < window {
        notes.push("partial_history".to_owned());
    }
    if workers_are_pilots(state) {
        notes.push("pilots_of_workers".to_owned());
    }
    notes
}

/// Whether workers count as pilots: nodes that asked and got no job are neither reported nor
/// counted, so a queue that had no job for long would seem to be without pilots.
pub(crate) fn workers_are_pilots(state: &State) -> bool {
    let name = || uncounted_nodes(&state.setting.domain, 0).name();
    let is_stated = || state.facts.parameters.of(&name()).and_then(|it| it.current(is_newer));
    state.ledger.counted_queues == 0 && is_stated().is_some()
}

fn unreadable_note(topic: Topic) -> String {
    format!("input_stale({}, unreadable)", topic.name())
}

fn stale(topic: Topic, age: Millis) -> String {
    format!("input_stale({}, {} s)", topic.name(), age / SECOND)
}

/// Topics without a silence limit of which a partition cannot be read: what is known of them
/// may be old.
fn unreadable_notes(state: &State) -> impl Iterator<Item = String> {
    let is_noted = |topic: Topic| state.setting.silence[topic as usize].is_some();
    let unreadable = state.times.lanes.iter().filter(move |(lane, held)| {
        held.flags.unreadable && !lane.topic.is_own() && !is_noted(lane.topic)
    });
    let topics: BTreeSet<Topic> = unreadable.map(|(lane, _)| lane.topic).collect();
    topics.into_iter().map(unreadable_note)
}

/// Since when intake has read all of the foreign topics; 0: from the beginning.
fn intake_knows_since(state: &State) -> Millis {
    let name = history_since(&state.setting.domain, 0).name();
    let fact = state.facts.parameters.of(&name).and_then(|wait| wait.current(is_newer));
    fact.and_then(|fact| fact.value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Setting;

    #[test]
    fn a_topic_is_noted_that_is_behind_by_a_second_and_not_before() {
        let mut state = State::new(Setting::default());
        let topic = Topic::JobState;
        state.setting.silence[topic as usize] = Some(600 * SECOND);
        state.now = 10 * SECOND;
        let mut noted = |behind| {
            state.times.topics[topic as usize].time = state.now - behind;
            time_notes(&state).into_iter().find(|note| note.starts_with("input_stale(job-state"))
        };
        assert_eq!(noted(SECOND - 1), None);
        assert_eq!(noted(SECOND).as_deref(), Some("input_stale(job-state, 1 s)"));
    }
}
