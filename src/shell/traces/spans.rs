//! Spans of answers in OTLP's JSON. A request is a trace: all its answers are in one, whichever
//! process gives them.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::Millis;

/// `SPAN_KIND_INTERNAL`, and `SPAN_KIND_CONSUMER` for the whole of an answer.
const INTERNAL: u32 = 1;
/// See `INTERNAL`.
const CONSUMER: u32 = 5;

/// Moments of an answer, and what names it.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedAnswer {
    /// The trace: of domain, subject and attempt.
    trace: String,
    /// The decision's id.
    decision: String,
    attributes: Vec<(&'static str, Value)>,
    /// The cycle that it was given in.
    pub cycle: u64,
    /// When it was asked; `None` if this is not the first answer. By the clock of who asks.
    asked_at: Option<Millis>,
    /// When its cycle began.
    now: Millis,
    times: AnswerTimes,
}

/// Durations of the steps of an answer; ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerTimes {
    /// Folding what its cycle read.
    pub fold: u64,
    /// Judging the requests before it in its cycle.
    pub before: u64,
    /// Judging it.
    pub judge: u64,
    /// All of its cycle, from the first record to the last output.
    pub cycle: u64,
    /// The transaction.
    pub commit: u64,
}

impl TracedAnswer {
    /// Of a decision; `asked_at`: when its request was asked.
    pub fn of(decision: &Decision, asked_at: Option<Millis>, times: AnswerTimes) -> TracedAnswer {
        let Decision { domain, subject, attempt, .. } = decision;
        let text = |text: &str| json!({"stringValue": text});
        // OTLP has numbers of 64 bits as texts.
        let number = |number: u64| json!({"intValue": number.to_string()});
        TracedAnswer {
            trace: hash(&format!("{domain}\n{subject}\n{attempt}"), 16),
            decision: decision.id.to_string(),
            attributes: vec![
                ("yardmaster.domain", text(domain)),
                ("yardmaster.subject", text(subject)),
                ("yardmaster.attempt", number(*attempt)),
                ("yardmaster.task", text(&decision.task)),
                ("yardmaster.decision", text(&decision.id.to_string())),
                ("yardmaster.ordinal", number(u64::from(decision.ordinal))),
                ("yardmaster.outcome", text(decision.outcome.name())),
                ("yardmaster.policy", text(&decision.policy)),
                ("yardmaster.gshare", text(&decision.gshare)),
                ("yardmaster.cycle", number(decision.cycle)),
            ],
            cycle: decision.cycle,
            asked_at: asked_at.filter(|at| decision.ordinal == 1 && *at <= decision.now),
            now: decision.now,
            times,
        }
    }

    /// The same, once its transaction was committed.
    pub fn committed(mut self, took: u64) -> TracedAnswer {
        self.times.commit = took;
        self
    }

    /// The answer as a whole, and its steps.
    fn spans(&self) -> Vec<Value> {
        let AnswerTimes { fold, before, judge, cycle, commit } = self.times;
        let at = |ms: Millis| u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000);
        let begun = at(self.now);
        let asked = self.asked_at.map(at);
        // Records may have been folded before the cycle was begun to be closed.
        let folded = begun + fold.min(cycle.saturating_sub(before + judge));
        let closed = begun + cycle.max(folded - begun + before + judge);
        let judged = folded + before;
        let end = closed + commit;
        let root = hash(&self.decision, 8);
        let span = |name: &str, kind: u32, (from, to): (u64, u64)| {
            let is_root = kind == CONSUMER;
            let id = if is_root { root.clone() } else { hash(&[&self.decision, name].concat(), 8) };
            let attributes = self.attributes.iter().filter(|_| is_root);
            let attributes: Vec<Value> =
                attributes.map(|(key, value)| json!({"key": key, "value": value})).collect();
            json!({
                "traceId": self.trace,
                "spanId": id,
                "parentSpanId": if is_root { "" } else { &root },
                "name": name,
                "kind": kind,
                "startTimeUnixNano": from.to_string(),
                "endTimeUnixNano": to.to_string(),
                "attributes": attributes,
            })
        };
        let mut spans = vec![span("answer", CONSUMER, (asked.unwrap_or(begun), end))];
        spans.extend(asked.map(|asked| span("read", INTERNAL, (asked, begun))));
        spans.push(span("fold", INTERNAL, (begun, folded)));
        spans.push(span("judge", INTERNAL, (judged, judged + judge)));
        spans.push(span("publish", INTERNAL, (closed, end)));
        spans
    }
}

/// A batch as a collector takes it.
pub fn batch(answers: &[TracedAnswer], service: &str, instance: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        ("service.name", service),
        ("service.version", version),
        ("service.instance.id", instance),
    ];
    let resource =
        resource.map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}));
    let spans: Vec<Value> = answers.iter().flat_map(TracedAnswer::spans).collect();
    let scope = json!({"name": "yardmaster", "version": version});
    let scoped = json!([{"scope": scope, "spans": spans}]);
    json!({"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": scoped}]})
}

/// An id of so many bytes, in hex.
fn hash(text: &str, bytes: usize) -> String {
    hex::encode(&Sha256::digest(text)[..bytes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::output::decision::Outcome;

    fn spans(ordinal: u32, times: AnswerTimes) -> Vec<(String, u64, u64)> {
        let outcome = Outcome::Defer { until: 9_000 };
        let decision = Decision::new("atlas", "7/1", 0, ordinal, outcome);
        let decision = Decision { now: 5_000, ..decision };
        let answer = TracedAnswer::of(&decision, Some(4_000), times).committed(2_000_000);
        let sent = batch(&[answer], "yardmaster", "here");
        let spans = sent["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        let ns = |it: &Value| it.as_str().unwrap().parse::<u64>().unwrap() / 1_000;
        let id = |it: &Value| it.as_str().unwrap().to_owned();
        let (trace, root) = (id(&spans[0]["traceId"]), id(&spans[0]["spanId"]));
        assert_eq!((trace.len(), root.len()), (32, 16));
        for span in &spans[1..] {
            assert_eq!(
                (id(&span["traceId"]), id(&span["parentSpanId"])),
                (trace.clone(), root.clone())
            );
        }
        let of = |it: &Value| {
            (id(&it["name"]), ns(&it["startTimeUnixNano"]), ns(&it["endTimeUnixNano"]))
        };
        spans.iter().map(of).collect()
    }

    /// Steps follow each other, and the whole is from the asking to the commit.
    #[test]
    fn an_answer_is_a_span_with_its_steps_within() {
        let times = AnswerTimes {
            fold: 300_000,
            before: 100_000,
            judge: 50_000,
            cycle: 600_000,
            commit: 0,
        };
        let span = |name: &str, from, to| (name.to_owned(), from, to);
        let answer = |from| span("answer", from, 5_002_600);
        let rest = [
            span("fold", 5_000_000, 5_000_300),
            span("judge", 5_000_400, 5_000_450),
            span("publish", 5_000_600, 5_002_600),
        ];
        let first = [&[answer(4_000_000), span("read", 4_000_000, 5_000_000)], &rest[..]].concat();
        assert_eq!(spans(1, times), first);
        assert_eq!(spans(2, times), [&[answer(5_000_000)], &rest[..]].concat());
    }

    #[test]
    fn no_step_ends_before_it_begins_whatever_was_measured() {
        let times = AnswerTimes { fold: 900, before: 500, judge: 400, cycle: 100, commit: 0 };
        for (name, from, to) in spans(1, times) {
            assert!(from <= to, "{name}");
        }
    }
}
