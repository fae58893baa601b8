//! Our judgement of a recorded case.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use yardmaster_core::policy::Rules;

/// Figures of a case that no records give: why, and words of which one stands in a difference that
/// comes of it.
pub type Unstated = BTreeMap<&'static str, &'static [&'static str]>;

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
    /// How near weights can come, relatively, where records state a figure less exactly than the
    /// case; 0: to the last bits.
    pub tolerance: f64,
    /// Figures of the case that no records give.
    pub unstated: Unstated,
    /// The set of defaults that it was judged by; what it is compared with depends on it.
    pub rules: Rules,
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
