//! Decisions, throttles and commands as lines of a list.

use super::domains::Of;
use super::query::{Params, Query};
use super::{Refused, beside, json};
use crate::history::Search;
use axum::response::Response;
use serde_json::{Value, json};
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::{asked_of_pool, headline};
use yardmaster_core::output::Output;
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::output::decision::Outcome;
use yardmaster_core::output::throttle::{Action, Throttle};
use yardmaster_core::unit::Millis;

/// Lines if nothing else is asked for, and at most.
const LINES: u64 = 100;
const LINES_MAX: u64 = 1_000;

/// Kinds of outputs, and their topics.
const KINDS: [(&str, Topic); 3] =
    [("decision", Topic::Decision), ("throttle", Topic::Throttle), ("command", Topic::Command)];

/// Names of the effects of outputs.
const WHATS: [&str; 15] = [
    "assign",
    "defer",
    "reject",
    "set",
    "lift",
    CommandKind::Rebroker.name(),
    CommandKind::Reassign.name(),
    CommandKind::Kill.name(),
    CommandKind::Fail.name(),
    CommandKind::KillWorkflow.name(),
    CommandKind::Drain.name(),
    CommandKind::Boost.name(),
    CommandKind::Profile.name(),
    CommandKind::Alert.name(),
    CommandKind::Undrain.name(),
];

const PARAMETERS: [&str; 13] = [
    "kind", "what", "queue", "gshare", "user", "task", "name", "rule", "from", "to", "after",
    "before", "limit",
];

/// The newest outputs that are wanted.
pub(super) async fn list(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let kinds = query.words("kind", &KINDS.map(|(kind, _)| kind))?;
    let whats = query.words("what", &WHATS)?;
    let topics: Vec<Topic> =
        KINDS.iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, topic)| *topic).collect();
    let of = |name| query.text(name).map(str::to_owned);
    let (queue, gshare, task, rule) = (of("queue"), of("gshare"), of("task"), of("rule"));
    // A user that has a pseudonym is found by the own name too.
    let user = of("user").map(|user| api.reasons.pseudonym(&user).unwrap_or(user));
    let name = of("name");
    let also = name.as_deref().and_then(|name| api.reasons.pseudonym(name));
    let (after, before) =
        (query.number("after", 0, u64::MAX)?, query.number("before", u64::MAX, u64::MAX)?);
    let limit = query.number("limit", LINES, LINES_MAX)? as usize;
    let from = query.moment("from")?.unwrap_or(Millis::MIN);
    let to = query.moment("to")?.unwrap_or(Millis::MAX);
    let past = api.past()?;
    let value = beside(move || {
        let named = [&queue, &gshare, &user, &task, &rule];
        let has = |wanted: &Option<String>, it: &str| wanted.as_deref().is_none_or(|w| w == it);
        let wants = |output: &Output| {
            whats.contains(&what(output))
                && has(&gshare, gshare_of(output))
                && has(&user, user_of(output))
                && has(&task, task_of(output))
                && has(&rule, rule_of(output))
                && queue.as_deref().is_none_or(|queue| is_of_queue(output, queue))
        };
        let search = |name: &Option<String>| {
            let names = named.into_iter().chain([name]).flatten();
            let names: Vec<&str> = names.map(String::as_str).collect();
            let (topics, wants, names) = (&topics[..], &wants, &names[..]);
            past.search(&Search { topics, after, before, from, to, names, wants, limit })
        };
        let mut found = search(&name);
        if found.outputs.is_empty() && also.is_some() {
            found = search(&also);
        }
        let items: Vec<Value> =
            found.outputs.iter().map(|(sequence, output)| event(*sequence, output)).collect();
        json!({
            "items": items,
            "last": found.newest,
            "more": found.more_before.is_some(),
            "more_before": found.more_before,
        })
    })
    .await?;
    Ok(json(&value))
}

/// An output as a line.
pub(super) fn event(sequence: u64, output: &Output) -> Value {
    let (_, cycle, now) = output.moment();
    let kind = KINDS.iter().find(|(_, topic)| *topic == output.topic()).map_or("", |it| it.0);
    let (subject, jobs, id, dry_run) = match output {
        Output::Decision(it) => {
            let jobs = ranked_jobs(&it.outcome);
            (it.subject.clone(), jobs, it.id.to_string(), it.dry_run)
        }
        Output::Throttle(it) => (it.key(), 0, it.id.to_string(), it.dry_run),
        Output::Command(it) => (it.subject.clone(), it.amount, it.id.to_string(), it.dry_run),
    };
    json!({
        "sequence": sequence,
        "kind": kind,
        "what": what(output),
        "at": now,
        "subject": subject,
        "task": task_of(output),
        "rule": rule_of(output),
        "gshare": gshare_of(output),
        "user": user_of(output),
        "queues": queues_of(output),
        "jobs": jobs,
        "text": text(output),
        "id": id,
        "cycle": cycle,
        "dry_run": dry_run,
    })
}

fn ranked_jobs(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Assign(ranked) => ranked.iter().map(|it| u64::from(it.jobs)).sum(),
        Outcome::Defer { .. } | Outcome::Reject { .. } => 0,
    }
}

/// Name of an output's effect: one of [`WHATS`].
fn what(output: &Output) -> &'static str {
    match output {
        Output::Decision(it) => it.outcome.name(),
        Output::Throttle(it) => it.action.name(),
        Output::Command(it) => it.kind.name(),
    }
}

fn gshare_of(output: &Output) -> &str {
    match output {
        Output::Decision(it) => &it.gshare,
        Output::Throttle(_) => "",
        Output::Command(it) => &it.gshare,
    }
}

fn user_of(output: &Output) -> &str {
    match output {
        Output::Decision(it) => &it.user,
        Output::Throttle(it) if it.kind.name() == "user" => &it.subject,
        Output::Throttle(_) | Output::Command(_) => "",
    }
}

fn task_of(output: &Output) -> &str {
    match output {
        Output::Decision(it) => &it.task,
        Output::Throttle(it) if it.kind.name() == "task" => &it.subject,
        Output::Throttle(_) | Output::Command(_) => "",
    }
}

/// The policy or rule that gave it.
fn rule_of(output: &Output) -> &str {
    match output {
        Output::Decision(it) => &it.policy,
        Output::Throttle(it) => &it.rule,
        Output::Command(it) => &it.rule,
    }
}

fn queues_of(output: &Output) -> Vec<&str> {
    match output {
        Output::Decision(it) => match &it.outcome {
            Outcome::Assign(ranked) => {
                let chosen = ranked.iter().filter(|it| it.jobs > 0);
                chosen.map(|it| it.queue.as_str()).collect()
            }
            Outcome::Defer { .. } | Outcome::Reject { .. } => Vec::new(),
        },
        Output::Throttle(_) => Vec::new(),
        Output::Command(it) => {
            Some(it.queue.as_str()).filter(|it| !it.is_empty()).into_iter().collect()
        }
    }
}

/// Whether jobs are sent to a queue, or a command is about it.
fn is_of_queue(output: &Output, queue: &str) -> bool {
    match output {
        Output::Decision(it) => match &it.outcome {
            Outcome::Assign(ranked) => {
                let mut chosen = ranked.iter().filter(|it| it.jobs > 0);
                chosen.any(|it| it.queue == queue || it.unified == queue)
            }
            Outcome::Defer { .. } | Outcome::Reject { .. } => false,
        },
        Output::Throttle(_) => false,
        Output::Command(it) => it.queue == queue,
    }
}

/// One sentence.
fn text(output: &Output) -> String {
    match output {
        Output::Decision(it) => headline(it),
        Output::Throttle(it) => of_throttle(it),
        Output::Command(it) => of_command(it),
    }
}

fn of_throttle(it: &Throttle) -> String {
    let Throttle { rule, measured, limit, unit, counter, .. } = it;
    let how = match (it.action, it.dry_run) {
        (Action::Set, false) => "Throttled",
        (Action::Set, true) => "Would be throttled",
        (Action::Lift, _) => "Not throttled any more",
    };
    format!("{how} by {rule}: {measured} {unit} ({counter}), limit {limit}")
}

fn of_command(it: &Command) -> String {
    let (what, amount, rule) = (it.kind.name(), it.amount, &it.rule);
    let dry_run = if it.dry_run { ", dry run" } else { "" };
    match (it.held_back(), asked_of_pool(it)) {
        (Some(why), _) => format!("{rule}: {what} of {amount} jobs held back: {why}"),
        (None, Some(asked)) => format!("{what}, {asked}{dry_run}"),
        (None, None) => format!("{rule}: {what}, {amount} jobs{dry_run}"),
    }
}
