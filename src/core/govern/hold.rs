//! Why a rule gives no commands at a queue although it is due there.

use super::facts::{Surroundings, is_optional};
use crate::command::CommandRule;
use crate::cut::Topic;
use crate::event::is_newer;
use crate::event::{Parameter, kill_switch};
use crate::id::Name;
use crate::state::State;
use crate::state::record::Fact;
use crate::unit::{HOUR, Millis, SECOND};

/// Why commands are held back. Its text begins with the name that metrics have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// An operator stopped all commands of the domain.
    KillSwitch,
    /// The queue is paused, or forbids that its jobs are reassigned.
    Exempt,
    /// A topic that could have prevented it is late; ms, `None`: it never had a record.
    InputStale(Topic, Option<Millis>),
    /// Such a topic is read, for the first time or again, and what was late is waited for; ms that
    /// are left.
    InputReturned(Topic, Millis),
    /// The queue itself has given no sign for so long; ms.
    QueueSilent(Millis),
    /// It gives signs again, and what was late is waited for; ms that are left.
    QueueReturned(Millis),
    /// So many jobs of the queue were commanded within the window, of so many allowed.
    QueueBudget(u64, u64),
    /// The same of the rule.
    RuleBudget(u64, u64),
    /// The same of all rules.
    Budget(u64, u64),
    /// Another command about the job is on its way.
    Ordered,
    /// The job was moved so often within the window, which is as often as allowed.
    Moves(u32),
    /// Jobs of the task finished at the queue lately.
    TaskBusy(u64),
    /// No other queue would take jobs of the task now.
    NoOtherQueue,
    /// Whether one would is judged in another cycle.
    Turn,
    /// Jobs of the task were taken back from the queue less than so long ago; ms.
    Rest(Millis),
    /// They were taken back from it so often, which is as often as they may be.
    TakenBack(usize),
}

impl std::fmt::Display for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Hold::KillSwitch => f.write_str("kill_switch"),
            Hold::Exempt => f.write_str("exempt, the queue is paused or has disableReassign"),
            Hold::InputStale(topic, Some(age)) => {
                write!(f, "input_stale({}, {} s)", topic.name(), age / SECOND)
            }
            Hold::InputStale(topic, None) => write!(f, "input_absent({})", topic.name()),
            Hold::InputReturned(topic, left) => {
                write!(f, "input_returned({}, {} s)", topic.name(), left / SECOND)
            }
            Hold::QueueSilent(age) => write!(f, "queue_silent({} s)", age / SECOND),
            Hold::QueueReturned(left) => write!(f, "queue_returned({} s)", left / SECOND),
            Hold::QueueBudget(used, of) => write!(f, "queue_budget, {used} of {of} jobs"),
            Hold::RuleBudget(used, of) => write!(f, "rule_budget, {used} of {of} jobs"),
            Hold::Budget(used, of) => write!(f, "budget, {used} of {of} jobs"),
            Hold::Ordered => f.write_str("ordered, a command about it has not expired"),
            Hold::Moves(moves) => write!(f, "moves_per_job, {moves} moves"),
            Hold::NoOtherQueue => f.write_str("no_other_queue, no other queue would take them"),
            Hold::Turn => f.write_str("turn, more tasks than are judged in one cycle"),
            Hold::Rest(rest) => {
                write!(f, "rest, jobs of the task were taken back within {} h", rest / HOUR)
            }
            Hold::TakenBack(times) => {
                write!(f, "taken_back, jobs of the task were taken back {times} times")
            }
            Hold::TaskBusy(jobs) => {
                write!(f, "task_busy, {jobs} jobs of the task finished there within 3 h")
            }
        }
    }
}

/// Whether that parameter stops them, by what is known of it.
pub fn is_kill_switch_on(parameter: &Fact<Parameter>) -> bool {
    let current = parameter.current(is_newer);
    // Whatever is not a plain "no" stops: a switch that was misspelt is meant to stop.
    current.is_some_and(|it| !matches!(it.value.trim(), "off" | "false" | "0" | "no" | ""))
}

impl State {
    /// Whether an operator stopped all commands.
    pub fn is_kill_switch_on(&self) -> bool {
        let name = kill_switch(&self.setting.domain);
        self.facts.parameters.of(&name).is_some_and(is_kill_switch_on)
    }
}

/// Why a rule gives no commands at a queue, whatever the job: the first reason that there is.
pub fn hold(state: &State, around: &Surroundings, rule: CommandRule, queue: Name) -> Option<Hold> {
    if state.is_kill_switch_on() {
        return Some(Hold::KillSwitch);
    }
    if queue != Name::NONE && around.is_exempt(state.names.text(queue)) {
        return Some(Hold::Exempt);
    }
    let late = rule.text().needs.iter().find_map(|topic| late(state, *topic));
    // That a node gets work again needs no sign of its site: it would wait for what it prevents.
    let needs_sign = rule != CommandRule::Undrain;
    late.or_else(|| queue_silence(state, queue).filter(|_| needs_sign))
}

/// Whether a topic is late, or has just come back: what it missed may still be on its way.
fn late(state: &State, topic: Topic) -> Option<Hold> {
    // What never had a record counts as silent since 0.
    let counts = |since: Millis| since != 0 || !is_optional(topic);
    if let Some(since) = state.times.of(topic).stale_since {
        let age = (since != 0).then(|| state.now.saturating_sub(since));
        return counts(since).then_some(Hold::InputStale(topic, age));
    }
    let (since, until) = state.times.gaps[topic as usize].open(state.now)?;
    counts(since).then(|| Hold::InputReturned(topic, until - state.now))
}

/// The same of a queue's own reports.
fn queue_silence(state: &State, queue: Name) -> Option<Hold> {
    let open = || state.signs_of(queue)?.gaps.open(state.now);
    let returned = || open().map(|(_, until)| Hold::QueueReturned(until - state.now));
    state.queue_silent_for(queue).map(Hold::QueueSilent).or_else(returned)
}
