//! Decisions, throttles and commands as lines of a list.

use super::domains::Of;
use super::query::{DOMAIN, Parameter, Params, Query};
use super::{Refused, beside, json};
use crate::described::described;
use crate::history::{FoundOutputs, Search};
use axum::response::Response;
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

pub(super) const PARAMETERS: [Parameter; 14] = [
    Parameter::text("kind", "decision, throttle, command; several with commas between"),
    Parameter::text(
        "what",
        "assign, defer, reject, set, lift, or kinds of commands; several with commas between",
    ),
    Parameter::text("queue", "a queue that jobs are sent to"),
    Parameter::text("gshare", "leaf share"),
    Parameter::text("user", "user, by the pseudonym or the own name where users have pseudonyms"),
    Parameter::text("task", "task"),
    Parameter::text(
        "name",
        "anything that it is about; a user that has a pseudonym is found by the own name too",
    ),
    Parameter::text("rule", "policy or rule"),
    Parameter::text("from", "of this moment or later: ms since 1970, or RFC 3339 with its zone"),
    Parameter::text("to", "of this moment or before: ms since 1970, or RFC 3339 with its zone"),
    Parameter::number("after", "only those behind this sequence"),
    Parameter::number("before", "only those before this sequence"),
    Parameter::number("limit", "so many at most: 100, at most 1000"),
    DOMAIN,
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
        EventsAnswer::of(&found)
    })
    .await?;
    Ok(json(&value))
}

described! {
    /// Decisions, throttles and commands.
    struct EventsAnswer of (found: &FoundOutputs) {
        /// The newest first.
        items: Vec<EventAnswer> =
            found.outputs.iter().map(|(at, output)| EventAnswer::of(*at, output)).collect(),
        /// The newest sequence there is: to be given as `after` to get what comes later.
        last: u64 = found.newest,
        /// Whether there may be more.
        more: bool = found.more_before.is_some(),
        /// Where to go on: to be given as `before`.
        more_before: Option<u64> = found.more_before,
    }

    /// A decision, throttle or command, as a line.
    struct EventAnswer of (sequence: u64, output: &Output) {
        /// Orders all of them, the same in every process.
        sequence: u64 = sequence,
        /// One of decision, throttle, command.
        kind: &'static str =
            KINDS.iter().find(|(_, topic)| *topic == output.topic()).map_or("", |it| it.0),
        /// Its effect: assign, defer, reject; set, lift; kinds of commands.
        what: &'static str = what(output),
        /// Its cycle's now; ms since 1970.
        at: Millis = output.moment().2,
        /// Its subject.
        subject: String = match output {
            Output::Decision(it) => it.subject.clone(),
            Output::Throttle(it) => it.key(),
            Output::Command(it) => it.subject.clone(),
        },
        /// Task; empty where it is not about one.
        task: String = task_of(output).to_owned(),
        /// Policy or rule that gave it.
        rule: String = rule_of(output).to_owned(),
        /// Leaf share.
        gshare: String = gshare_of(output).to_owned(),
        /// User.
        user: String = user_of(output).to_owned(),
        /// Queues that jobs are sent to, or that a command is about.
        queues: Vec<String> = queues_of(output),
        /// Jobs.
        jobs: u64 = match output {
            Output::Decision(it) => ranked_jobs(&it.outcome),
            Output::Throttle(_) => 0,
            Output::Command(it) => it.amount,
        },
        /// One sentence.
        text: String = text(output),
        /// Its id; 32 hex digits.
        id: String = match output {
            Output::Decision(it) => it.id.to_string(),
            Output::Throttle(it) => it.id.to_string(),
            Output::Command(it) => it.id.to_string(),
        },
        /// Its cycle.
        cycle: u64 = output.moment().1,
        /// Whether it is only published, not to be carried out.
        dry_run: bool = match output {
            Output::Decision(it) => it.dry_run,
            Output::Throttle(it) => it.dry_run,
            Output::Command(it) => it.dry_run,
        },
    }
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

fn queues_of(output: &Output) -> Vec<String> {
    match output {
        Output::Decision(it) => match &it.outcome {
            Outcome::Assign(ranked) => {
                let chosen = ranked.iter().filter(|it| it.jobs > 0);
                chosen.map(|it| it.queue.clone()).collect()
            }
            Outcome::Defer { .. } | Outcome::Reject { .. } => Vec::new(),
        },
        Output::Throttle(_) => Vec::new(),
        Output::Command(it) => {
            Some(it.queue.clone()).filter(|it| !it.is_empty()).into_iter().collect()
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
