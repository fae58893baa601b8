//! Description of a topology for a reader: as text, and as a Mermaid flow chart.

use super::check::hours;
use super::{Timestamp, TopicReader, TopicSettings, Topology, readers, why_append};
use std::fmt::Write;
use yardmaster_core::cut::Topic;
use yardmaster_core::limits::Limits;
use yardmaster_core::policy::rule::{Rule, RuleText};
use yardmaster_core::policy::{Policy, PolicySpec, kind};
use yardmaster_core::unit::{HOUR, SECOND};

/// The topology as text: topics with their writers and readers, policies with their lists.
pub fn describe(topology: &Topology) -> String {
    let mut text = format!(
        "domain {}\ntransactional ids {}, and {} for intake\n\ntopics\n",
        topology.domain,
        topology.transactional_id(),
        topology.intake_id()
    );
    for topic in topology.topics.keys() {
        describe_topic(&mut text, topology, *topic);
    }
    text.push_str("\nlimits\n");
    for limit in Limits::ALL {
        let value = (limit.get)(&topology.limits);
        let note = if value == limit.default { "" } else { " (changed)" };
        let _ = writeln!(text, "  {} = {value}{note}\n      {}", limit.key, limit.help);
    }
    for (name, dialect) in &topology.intake.sources {
        let place = if topology.intake.in_run { "the leader" } else { "`yardmaster intake`" };
        let _ = writeln!(text, "\nintake: {name}, dialect {}, read by {place}", dialect.name());
    }
    let pseudonyms = &topology.pseudonyms;
    if pseudonyms.users {
        let place = match (&pseudonyms.key_file, &pseudonyms.key_env) {
            (Some(file), _) => format!("; their key is in {file}"),
            (None, Some(variable)) => format!("; their key is in the variable {variable}"),
            (None, None) => String::new(),
        };
        let _ = writeln!(text, "\nusers are named by pseudonyms{place}");
    }
    // Throttles of owners are published by the first policy that has any.
    let throttles = |spec: &&PolicySpec| kind(&spec.kind).is_some_and(|kind| kind.plan().is_some());
    let throttler = topology.policies.iter().find(throttles).map(|spec| spec.name.as_str());
    for policy in &topology.policies {
        describe_policy(&mut text, policy, &topology.limits, throttler == Some(&policy.name));
    }
    text.push_str(&super::rule::describe(&topology.commands));
    text
}

fn describe_topic(text: &mut String, topology: &Topology, topic: Topic) {
    let settings = topology.topic(topic);
    let word = topic.name();
    let TopicSettings { name, partitions, .. } = settings;
    let partitioned = if *partitions == 1 { "1 partition" } else { "partitions" };
    let count = if *partitions == 1 { String::new() } else { format!("{partitions} ") };
    let _ = writeln!(text, "  {word}: {name}, {count}{partitioned}, {}", keeping(settings));
    let (framing, clock) = (settings.framing.name(), settings.timestamp.broker_name());
    let _ = writeln!(text, "      framing {framing}, stamped with {clock}{}", silence(settings));
    if settings.timestamp == Timestamp::Append {
        let _ = writeln!(text, "      {clock}: {}", why_append(topic));
    }
    let (writer, reader) = (topic.writer(), topic.reader());
    let _ = writeln!(text, "      written by {writer}; read by {reader}");
    let shown = |reader: &TopicReader| format!("{} {}", reader.name, hours(reader.length));
    let windows: Vec<String> = readers(topology, topic).iter().map(shown).collect();
    if !windows.is_empty() {
        let _ = writeln!(text, "      read back by {}", windows.join("; "));
    }
}

/// How long records of a topic are kept.
fn keeping(settings: &TopicSettings) -> String {
    let kept = settings.retention_ms.map(|ms| format!("kept {} h", ms / HOUR));
    let after = settings.compact_after_ms / HOUR;
    let compacted = settings.cleanup.compacts().then(|| match after {
        0 => "newest record of each key kept".to_string(),
        _ => format!("newest record of each key kept, others for {after} h"),
    });
    [compacted, kept].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn silence(settings: &TopicSettings) -> String {
    match (settings.silence_limit_ms, settings.stale_after_ms) {
        (Some(limit), _) => format!(", late when silent for {} s", limit / SECOND),
        (None, Some(limit)) => format!(", stale when older than {} s", limit / SECOND),
        (None, None) => String::new(),
    }
}

fn describe_policy(text: &mut String, spec: &PolicySpec, limits: &Limits, throttles: bool) {
    let (name, kind, rules) = (&spec.name, &spec.kind, spec.rules.name());
    let tried = if spec.dry_run { ", dry run" } else { "" };
    let _ = writeln!(text, "\npolicy {name}: kind {kind}, rules {rules}{tried}");
    let (defer, dwell, wake) = (spec.defer / SECOND, spec.dwell / SECOND, spec.wake.name());
    if answers_offers(spec) {
        let _ = writeln!(text, "  an offer that no job fits is deferred, again each {defer} s");
    } else {
        let _ = writeln!(text, "  deferred for {defer} s at most; wake {wake}, dwell {dwell} s");
        let PolicySpec { candidates_max, bunch, bunch_scout, .. } = spec;
        let bunches = format!("bunches of {bunch} (scouts {bunch_scout})");
        let _ = writeln!(text, "  answers with {candidates_max} queues at most, jobs in {bunches}");
    }
    // A checked topology compiles; what does not is described by its lists alone.
    if let Ok(policy) = Policy::compile(spec) {
        describe_throttles(text, &policy, throttles);
        text.push_str(&policy.describe(limits));
    }
}

fn answers_offers(spec: &PolicySpec) -> bool {
    kind(&spec.kind).is_some_and(|kind| kind.judges_offers())
}

/// Writes the rules by which a policy throttles, and when throttles are published.
/// `owners`: whether it is the policy that throttles owners.
fn describe_throttles(text: &mut String, policy: &Policy, owners: bool) {
    let Some(throttling) = policy.throttling() else { return };
    let resolved = policy.unchanged();
    let of_owners = owners && throttling.of_owners.is_some();
    let of_work_queues = policy.throttler(&resolved).is_some();
    let is_on = |rule: &Rule| match Rule::OF_WORK_QUEUES.contains(rule) {
        true => of_work_queues,
        false => of_owners,
    };
    if !of_owners && !of_work_queues {
        return;
    }
    let margin = (throttling.margin)(&resolved.own);
    let (less, dwell, lapse) =
        (100.0 * margin.hysteresis, margin.dwell / SECOND, margin.lapse / SECOND);
    let lifted = match (less, dwell) {
        (0.0, 0) => "at it".to_owned(),
        _ => format!("{less} % below it and after {dwell} s at the earliest"),
    };
    let _ = writeln!(text, "  throttles: set above a limit, lifted {lifted}; lapse {lapse} s");
    for rule in Rule::ALL.into_iter().filter(is_on) {
        let (RuleText { name, help, unit, .. }, spec) = (rule.text(), rule.spec());
        let _ = writeln!(text, "    {name} ({spec}): {help}; {unit}");
    }
}

/// The topology as a Mermaid flow chart: topics in, the engine with its policies, topics out.
pub fn mermaid(topology: &Topology) -> String {
    let mut text = "flowchart LR\n".to_string();
    let _ = writeln!(text, "  engine[\"yardmaster: {}\"]", topology.domain);
    for (topic, settings) in &topology.topics {
        let (id, word) = (id(topic.name()), topic.name());
        let shape = format!("{id}[(\"{word}<br/>{} x {}\")]", settings.name, settings.partitions);
        let _ = match topic.is_own() {
            true => writeln!(text, "  engine --> {shape}"),
            false if topic.is_read() => writeln!(text, "  {shape} --> engine"),
            // Read beside the engine, for people.
            false => writeln!(text, "  {shape}"),
        };
    }
    for (number, policy) in topology.policies.iter().enumerate() {
        let _ = writeln!(text, "  subgraph policy{number}[\"policy {}\"]", policy.name);
        let steps = policy.filters.iter().map(|step| ("filter", step));
        let steps = steps.chain(policy.weights.iter().map(|step| ("weight", step)));
        let asks = if answers_offers(policy) { "offer" } else { "request" };
        let mut before = format!("start{number}([{asks}])");
        for (at, (what, step)) in steps.enumerate() {
            let node = format!("p{number}s{at}");
            let _ = writeln!(text, "    {before} --> {node}[\"{what} {}\"]", step.name);
            before = node;
        }
        let _ = writeln!(text, "    {before} --> end{number}([answer])\n  end");
        let _ = writeln!(text, "  engine --- policy{number}");
    }
    text
}

/// A word as a node's name: Mermaid takes no hyphens, and gives some words a meaning.
fn id(word: &str) -> String {
    format!("t_{}", word.replace('-', "_"))
}
