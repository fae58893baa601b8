//! What our judgement of a recorded case comes to, and what all kinds of cases need for it.

use super::grid::Facts;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::{Event, Task};
use yardmaster_core::policy::{Policy, PolicySpec};
use yardmaster_core::state::{Setting, State};
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::record;

/// Our judgement of a case, in the shape of what was recorded.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// `assigned`, `pending` or `throttled`.
    pub verdict: &'static str,
    /// Why, where no candidate was looked at.
    pub reason: String,
    /// Chosen queues, best first: name, unified name, weight.
    pub candidates: Vec<(String, String, f64)>,
    /// Those that were refused, each with PanDA's word for the reason.
    pub skipped: BTreeMap<String, String>,
    /// The nucleus chosen, for a case of task brokerage.
    pub nucleus: Option<String>,
    /// Weights of all that were weighed, for a case of task brokerage.
    pub weighed: BTreeMap<String, f64>,
    /// Tasks that were judged after it in the same cycle.
    pub more: Vec<Judged>,
    /// The whole result in the shape of `expected`, of a kind of case that is compared field by
    /// field; nothing else of this is shown then.
    pub result: Option<Value>,
}

impl Judged {
    /// The same as JSON, in the shape of `expected`.
    pub fn to_json(&self) -> Value {
        if let Some(result) = &self.result {
            return result.clone();
        }
        let candidates: Vec<Value> = self
            .candidates
            .iter()
            .map(|(queue, unified, weight)| {
                json!({"queue": queue, "unified_queue": unified, "weight": weight})
            })
            .collect();
        let mut shown = json!({
            "verdict": self.verdict, "candidates": candidates, "skipped": self.skipped,
        });
        if !self.reason.is_empty() {
            shown["reason"] = json!(self.reason);
        }
        if let Some(nucleus) = &self.nucleus {
            shown["nucleus"] = json!(nucleus);
        }
        if !self.weighed.is_empty() {
            let weighed = self.weighed.iter();
            let candidates: Vec<Value> = weighed
                .map(|(nucleus, weight)| json!({"nucleus": nucleus, "weight": weight}))
                .collect();
            shown["candidates"] = json!(candidates);
        }
        if !self.more.is_empty() {
            shown["more_tasks"] = self.more.iter().map(Judged::to_json).collect();
        }
        shown
    }
}

/// A state in which a case's records are folded.
pub(super) fn state_of(facts: &Facts, now: Millis) -> Result<State, String> {
    let setting = Setting { domain: "atlas".to_owned(), ..Setting::default() };
    let mut state = State::new(setting);
    let (codec, mut arena) = (Codec::default(), Arena::default());
    for (offset, (topic, bytes)) in (0u64..).zip(&facts.records) {
        let event = codec.read(*topic, None, Some(bytes), &mut arena);
        if let Event::Garbled(why) = event {
            return Err(format!("a record of {} is {}", topic.name(), why.name()));
        }
        state.fold(Lane::new(*topic, 0), offset, now, &event);
    }
    state.now = now;
    Ok(state)
}

/// A request as its record has it.
pub(super) fn read_back(task: &Task) -> Result<Task, String> {
    let (codec, mut arena, mut bytes) = (Codec::default(), Arena::default(), Vec::new());
    record::write(&mut bytes, task);
    match codec.read(Topic::Task, None, Some(&bytes), &mut arena) {
        Event::Task(task) => Ok(*task),
        _ => Err("the task's record cannot be read".to_owned()),
    }
}

/// A policy that judges, or what is wrong with it.
pub(super) fn compiled(spec: &PolicySpec) -> Result<Policy, String> {
    Policy::compile(spec)
        .map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}
