//! Conditions between the parts of a topology file: no window longer than what its topic keeps, no
//! output gone before the cycle that counts it.

use super::Topology;
use super::read::Reader;
use super::topic::{Cleanup, Framing, Timestamp, TopicSettings};
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::limits::Limit;
use yardmaster_core::state::ledger::WAIT_REACH;
use yardmaster_core::unit::{DAY, HOUR, Millis};

/// Something that reads a topic back over a time.
pub(super) struct Window {
    /// Name of the reader, for a message: a limit's key, or the rule.
    pub(super) reader: &'static str,
    /// The topic it reads.
    pub(super) topic: Topic,
    /// Whether it counts every record, so that compaction within the window would change it.
    pub(super) every_record: bool,
    /// How far back; ms.
    pub(super) length: fn(&Topology) -> Millis,
}

/// Every window there is.
pub(super) const WINDOWS: [Window; 14] = [
    window("silent_job_lifetime_d", Topic::JobState, |t| t.limits.silent_job_lifetime_ms),
    window("ended_job_lifetime_h", Topic::JobState, |t| t.limits.ended_job_lifetime_ms),
    window("done_jobs_window_h", Topic::JobState, |t| t.limits.done_jobs_window_ms),
    window("the waits of sample jobs (spec atlas 8.1.3)", Topic::JobState, |_| WAIT_REACH),
    window("stub_lifetime_h", Topic::Heartbeat, |t| t.limits.stub_lifetime_ms),
    window("silent_transfer_lifetime_d", Topic::Transfer, |t| t.limits.silent_transfer_lifetime_ms),
    window("the throughput of a week (spec atlas 4.1)", Topic::Transfer, |_| 7 * DAY),
    counting("node_window_h", Topic::Pilot, |t| t.limits.node_window_ms),
    counting("worker_report_age_min", Topic::Pilot, |t| t.limits.worker_report_age_ms),
    window("request_lifetime_d", Topic::Task, |t| t.limits.request_lifetime_ms),
    window("reservation_lifetime_h", Topic::Outcome, |t| t.limits.reservation_lifetime_ms),
    window("answer_lifetime_d", Topic::Decision, |t| t.limits.answer_lifetime_ms),
    window("throttle_lifetime_d", Topic::Throttle, |t| t.limits.throttle_lifetime_ms),
    window("command_lifetime_d", Topic::Command, |t| t.limits.command_lifetime_ms),
];

const fn window(reader: &'static str, topic: Topic, length: fn(&Topology) -> Millis) -> Window {
    Window { reader, topic, every_record: false, length }
}

const fn counting(reader: &'static str, topic: Topic, length: fn(&Topology) -> Millis) -> Window {
    Window { reader, topic, every_record: true, length }
}

/// A decision has six names and its key; the rest is for candidates.
const NAMES_PER_OUTPUT: usize = 16;

/// Names everything in the file that does not go together.
pub(super) fn check(reader: &mut Reader, topology: &Topology, limits: &BTreeMap<String, usize>) {
    names(reader, topology);
    for (topic, settings) in &topology.topics {
        kept_as_it_must(reader, topology, *topic, settings);
    }
    windows(reader, topology, limits);
    histories(reader, topology, limits);
    lifetimes(reader, topology, limits);
    sizes(reader, topology, limits);
}

fn names(reader: &mut Reader, topology: &Topology) {
    let mut seen: BTreeMap<&str, Topic> = BTreeMap::new();
    for (topic, settings) in &topology.topics {
        if topology.intake.sources.contains_key(&settings.name) {
            let found =
                format!("{:?} as {} and as a source of intake", settings.name, topic.name());
            reader.complain(settings.line, found, "a foreign topic that is none of ours");
        }
        if let Some(other) = seen.insert(&settings.name, *topic) {
            let (name, other) = (&settings.name, other.name());
            let found = format!("name {name:?} for {} and {other}", topic.name());
            reader.complain(settings.line, found, "a name of its own for each topic");
        }
    }
}

/// Checks a topic's settings against the needs of its kind.
fn kept_as_it_must(
    reader: &mut Reader,
    topology: &Topology,
    topic: Topic,
    settings: &TopicSettings,
) {
    let word = topic.name();
    let mut wrong = |found: String, allowed: &str| reader.complain(settings.line, found, allowed);
    let cleanup = settings.cleanup;
    let every_record = match topic {
        // In a pool of slots each is a workflow, of which the newest record is enough.
        Topic::Task => !topology.answers_offers(),
        topic if topic.is_folded_output() => true,
        Topic::Progress | Topic::DeadLetter | Topic::Comparison => true,
        _ => false,
    };
    if topic.is_configuration() && cleanup != Cleanup::Compact {
        let found = format!("cleanup {:?} for {word}", cleanup.name());
        wrong(found, "\"compact\": a fact holds until it is published again");
    }
    if every_record && cleanup != Cleanup::Delete {
        let found = format!("cleanup {:?} for {word}", cleanup.name());
        wrong(found, "\"delete\": several records under one key count");
    }
    if cleanup.deletes() != settings.retention_ms.is_some() {
        let found = match settings.retention_ms {
            Some(_) => format!("retention_hours for {word}, which is compacted only"),
            None => format!("no retention_hours for {word}, whose cleanup deletes"),
        };
        wrong(found, "retention_hours exactly where cleanup deletes");
    }
    if !cleanup.compacts() && settings.compact_after_ms > 0 {
        let found = format!("compact_after_hours for {word}, which is not compacted");
        wrong(found, "compact_after_hours only where cleanup compacts");
    }
    if topic == Topic::Progress {
        if settings.partitions != 1 {
            let found = format!("{} partitions for progress", settings.partitions);
            wrong(found, "1: its order is the order of the cycles");
        }
        if settings.timestamp != Timestamp::Append {
            let found = format!("timestamp {:?} for progress", settings.timestamp.name());
            wrong(found, "\"append\": the broker's clock is held against ours by it");
        }
    }
    if topic == Topic::DeadLetter && settings.framing != Framing::SingleObject {
        let found = format!("framing {:?} for dead-letter", settings.framing.name());
        wrong(found, "none: dead letters are bytes as they were read");
    }
    let has_silence = !topic.is_configuration() && !topic.is_own() && topic.is_read();
    if settings.silence_limit_ms.is_some() && !has_silence {
        let found = format!("silence_limit_s for {word}");
        wrong(
            found,
            "a silence limit only for job-state, heartbeat, transfer, pilot, task, outcome",
        );
    }
    if settings.stale_after_ms.is_some() && !topic.is_configuration() {
        wrong(format!("stale_after_s for {word}"), "stale_after_s only for configuration topics");
    }
}

fn windows(reader: &mut Reader, topology: &Topology, limits: &BTreeMap<String, usize>) {
    for window in &WINDOWS {
        let Some(settings) = topology.topics.get(&window.topic) else { continue };
        let (length, word) = ((window.length)(topology), window.topic.name());
        let line = limits.get(window.reader).copied().unwrap_or(settings.line);
        let by = window.reader;
        if let Some(kept) = settings.retention_ms.filter(|kept| *kept < length) {
            let found = format!("{by} of {} on {word}, kept {}", hours(length), hours(kept));
            let allowed = "at most what the topic's retention_hours cover";
            reader.complain(line, found, allowed);
        }
        let compacts = settings.cleanup.compacts() && window.every_record;
        if compacts && settings.compact_after_ms < length {
            let after = hours(settings.compact_after_ms);
            let found = format!("{by} of {} on {word}, compacted after {after}", hours(length));
            reader.complain(line, found, "at most the topic's compact_after_hours");
        }
    }
}

/// A rebuild begins at the first full cut in `progress`: what it needs from there on must be
/// there.
fn histories(reader: &mut Reader, topology: &Topology, limits: &BTreeMap<String, usize>) {
    let kept = |topic: Topic| topology.topics.get(&topic).and_then(|t| t.retention_ms);
    let Some(progress) = kept(Topic::Progress) else { return };
    for (topic, settings) in &topology.topics {
        let Some(own) = settings.retention_ms.filter(|own| *own < progress) else { continue };
        let word = topic.name();
        let found = format!("{word} kept {}, progress {}", hours(own), hours(progress));
        let allowed = "no topic kept shorter than progress: a rebuild begins at its first record";
        reader.complain(settings.line, found, allowed);
    }
    if topology.answers_offers() {
        pool_histories(reader, topology);
        return;
    }
    let (Some(task), Some(decision)) = (kept(Topic::Task), kept(Topic::Decision)) else { return };
    let lives = task.max(topology.limits.request_lifetime_ms);
    if decision < lives {
        let line = topology.topics.get(&Topic::Decision).map_or(1, |t| t.line);
        let found = format!("decision kept {}, requests {}", hours(decision), hours(lives));
        let allowed = "decisions kept at least as long as task records and request_lifetime_d, \
                       or a request would be answered twice";
        reader.complain(line, found, allowed);
    }
    let answered = topology.limits.answered_request_lifetime_ms;
    if answered < task {
        let key = "answered_request_lifetime_h";
        let line = limits.get(key).copied().unwrap_or(1);
        let found = format!("{key} of {}, task kept {}", hours(answered), hours(task));
        let allowed = "at least the task topic's retention_hours, or the log could ask again";
        reader.complain(line, found, allowed);
    }
    let remembered = topology.limits.answer_lifetime_ms;
    if remembered < lives {
        let key = "answer_lifetime_d";
        let line = limits.get(key).copied().unwrap_or(1);
        let found = format!("{key} of {}, requests {}", hours(remembered), hours(lives));
        let allowed = "answers remembered at least as long as task records and \
                       request_lifetime_d, or a request would be answered twice";
        reader.complain(line, found, allowed);
    }
}

/// Checks that outputs are kept as long as a pool of slots needs them: it knows rejected jobs and
/// killed workflows by them alone.
fn pool_histories(reader: &mut Reader, topology: &Topology) {
    let kept = |topic: Topic| topology.topics.get(&topic).and_then(|t| t.retention_ms);
    let jobs = topology.limits.silent_job_lifetime_ms;
    // Where workflows are never deleted, those of jobs that may still wait.
    let workflows = kept(Topic::Task).unwrap_or(jobs).max(jobs);
    for (topic, lives, of, or) in [
        (Topic::Decision, jobs, "jobs", "a rejected job would wait again"),
        (Topic::Command, workflows, "workflows", "one that was killed would run again"),
    ] {
        let Some(own) = kept(topic).filter(|own| *own < lives) else { continue };
        let line = topology.topics.get(&topic).map_or(1, |t| t.line);
        let word = topic.name();
        let found = format!("{word} kept {}, {of} {}", hours(own), hours(lives));
        let allowed = format!("{word} kept at least as long as {of}, or {or} after a rebuild");
        reader.complain(line, found, allowed);
    }
}

/// Limits that only make sense in one order.
fn lifetimes(reader: &mut Reader, topology: &Topology, limits: &BTreeMap<String, usize>) {
    for (less, more) in [
        ("reservation_lifetime_h", "ended_job_lifetime_h"),
        ("cycle_min_ms", "cycle_idle_ms"),
        ("cycle_idle_ms", "tick_ms"),
        ("tick_ms", "takeover_s"),
    ] {
        let (Some(a), Some(b)) = (Limit::of(less), Limit::of(more)) else { continue };
        let (a, b) = (in_ms(a, topology), in_ms(b, topology));
        if a > b {
            let line = limits.get(less).or(limits.get(more)).copied().unwrap_or(1);
            let found = format!("{less} of {a} ms, {more} of {b} ms");
            reader.complain(line, found, format!("{less} no longer than {more}"));
        }
    }
}

/// A record that names things must fit into one that is published, however long the names are.
fn sizes(reader: &mut Reader, topology: &Topology, limits: &BTreeMap<String, usize>) {
    let (name, output) = (topology.limits.name_bytes, topology.limits.max_output_bytes);
    if name.saturating_mul(NAMES_PER_OUTPUT) > output {
        let line = limits.get("name_bytes").or(limits.get("max_output_bytes"));
        let line = line.copied().unwrap_or(1);
        let found = format!("name_bytes of {name}, max_output_bytes of {output}");
        let wants = format!("max_output_bytes at least {NAMES_PER_OUTPUT} times name_bytes");
        reader.complain(line, found, wants);
    }
}

fn in_ms(limit: &Limit, topology: &Topology) -> Millis {
    let value = (limit.get)(&topology.limits);
    let unit = limit.key.rsplit('_').next().unwrap_or("");
    value
        * match unit {
            "s" => 1_000,
            "min" => 60_000,
            "h" => HOUR,
            "d" => DAY,
            _ => 1,
        }
}

/// A length for people.
pub(super) fn hours(span: Millis) -> String {
    match span % HOUR {
        _ if span < 60_000 => format!("{span} ms"),
        0 => format!("{} h", span / HOUR),
        _ => format!("{} min", span / 60_000),
    }
}
