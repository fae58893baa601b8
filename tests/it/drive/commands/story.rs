//! Stories of the timeout rules: a job and the rule that is due for it, or a table of them.

use super::stage::*;
use yardmaster::core::event::*;
use yardmaster::core::unit::SECOND;

/// A change to a job as [`Stage::job`] gives it.
type Change = fn(&mut JobState<'_>);

/// One line of a table: a job, and what becomes of it.
pub struct Story {
    /// Description; for people.
    pub what: &'static str,
    status: Status,
    change: Change,
    /// Attempt of which it sends one heartbeat, as of when it reached its state.
    heartbeat: Option<u32>,
    /// The queue that it is at, if not the one of the stage.
    queue: Option<&'static str>,
    /// Its label, if it is not production.
    label: Option<&'static str>,
    /// Whether it sends a heartbeat when it is published.
    is_alive: bool,
    /// The rule that is due, and how long after the job was published; `None`: no rule is.
    pub due: Option<(&'static str, i64)>,
}

/// A job in a state that no rule is due for, unless [`Story::due`] names one.
pub fn a_job(what: &'static str, status: Status, change: Change) -> Story {
    let (heartbeat, queue, label, due) = (None, None, None, None);
    Story { what, status, change, heartbeat, queue, label, is_alive: false, due }
}

impl Story {
    /// It sends one heartbeat of an attempt.
    pub fn with_heartbeat(self, attempt: u32) -> Story {
        Story { heartbeat: Some(attempt), ..self }
    }

    /// It sends a heartbeat when it is published.
    pub fn alive(self) -> Story {
        Story { is_alive: true, ..self }
    }

    /// A job of a label.
    pub fn labelled(label: &'static str, status: Status) -> Story {
        Story { label: Some(label), ..a_job(label, status, |_| {}) }
    }

    /// It is at another queue; "": at none.
    pub fn at_queue(self, queue: &'static str) -> Story {
        Story { queue: Some(queue), ..self }
    }

    /// A rule is due so long after the job was published.
    pub fn due(self, rule: &'static str, after: i64) -> Story {
        Story { due: Some((rule, after)), ..self }
    }
}

/// Publishes the jobs of a table as of now, and reads them. Gives their names.
pub fn publish(stage: &mut Stage, stories: &[Story]) -> Vec<String> {
    let names: Vec<String> = (11..11 + stories.len()).map(|number| number.to_string()).collect();
    for (name, story) in names.iter().zip(stories) {
        let mut job = stage.job(name, story.status);
        (story.change)(&mut job);
        job.queue = story.queue.unwrap_or(job.queue);
        job.label = story.label.unwrap_or(job.label);
        stage.yard.job(&job);
        if let Some(attempt) = story.heartbeat {
            stage.beat(name, attempt, job.changed_at);
        }
        if story.is_alive {
            stage.beat(name, job.attempt, stage.now());
        }
    }
    stage.turn();
    names
}

/// Publishes the jobs of a table as of now and lets time pass: each is commanded at its threshold
/// and not a second before, by its rule alone; the others are not commanded `within` a time.
#[track_caller]
pub fn play(stage: &mut Stage, stories: &[Story], within: i64) {
    let at = stage.now();
    let names = publish(stage, stories);
    let all = || names.iter().zip(stories);
    let mut thresholds: Vec<i64> = all().filter_map(|(_, it)| Some(it.due?.1)).collect();
    thresholds.sort_unstable();
    thresholds.dedup();
    for threshold in thresholds {
        let due = || all().filter(|(_, it)| it.due.is_some_and(|due| due.1 == threshold));
        stage.until(at + threshold - SECOND);
        for (name, story) in due() {
            assert_eq!(stage.rules(name), [""; 0], "{}, a second before", story.what);
        }
        stage.until(at + threshold);
        for (name, story) in due() {
            let rule = story.due.map_or("", |due| due.0);
            assert_eq!(stage.rules(name), [rule], "{}, at its threshold", story.what);
        }
    }
    stage.until(at + within);
    for (name, story) in all() {
        // Another rule may ask once more, long after the last repeat of what nobody answered.
        let first: Vec<String> = stage.rules(name).into_iter().take(1).collect();
        let rules: Vec<&str> = story.due.iter().map(|due| due.0).collect();
        assert_eq!(first, rules, "{}, in the end", story.what);
    }
}

/// The story of one rule: a job as published now, and when it is due after that.
#[track_caller]
pub fn due(rule: &str, kind: &str, after: i64, change: impl FnOnce(&mut JobState<'static>)) {
    due_at(Stage::new(&[]), rule, kind, after, change);
}

/// The same on a stage.
#[track_caller]
pub fn due_at(
    mut stage: Stage,
    rule: &str,
    kind: &str,
    after: i64,
    change: impl FnOnce(&mut JobState<'static>),
) {
    let at = stage.now();
    let mut job = stage.job("7", Status::Pending);
    change(&mut job);
    stage.publish(&job);
    stage.until(at + after - SECOND);
    assert_eq!(stage.rules("7"), [""; 0], "{rule}, a second before");
    stage.until(at + after);
    let wanted = (kind.to_owned(), rule.to_owned(), true);
    assert_eq!(stage.about("7"), [wanted], "{rule}, at its threshold");
    stage.check();
}
