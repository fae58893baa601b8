//! Decisions, throttles and commands as lines of a list.

use super::domains::Of;
use super::query::{DOMAIN, Parameter, Params, Query};
use super::{Refused, beside, json};
use crate::described::described;
use crate::history::{FoundOutputs, Search};
use axum::response::Response;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::{asked_of_pool, command_why, headline};
use yardmaster_core::output::command::Command;
use yardmaster_core::output::throttle::{Action, Throttle};
use yardmaster_core::output::{About, Output};
use yardmaster_core::unit::Millis;

/// Lines if nothing else is asked for, and at most.
const LINES: u64 = 100;
const LINES_MAX: u64 = 1_000;

pub(super) const PARAMETERS: [Parameter; 14] = [
    Parameter::text("kind", "decision, throttle, command; several with commas between"),
    Parameter::text(
        "what",
        "assign, defer, reject, set, lift, or kinds of commands; several with commas between",
    ),
    Parameter::text("queue", "a queue that jobs are sent to, or that it is about"),
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
    let kinds: Vec<&str> = Output::TOPICS.iter().map(|topic| topic.name()).collect();
    let kinds = query.words("kind", &kinds)?;
    let whats: Vec<&str> = Output::TOPICS.iter().copied().flat_map(Output::effects).collect();
    let whats = query.words("what", &whats)?;
    let is_wanted = |topic: &Topic| kinds.contains(&topic.name());
    let topics: Vec<Topic> = Output::TOPICS.iter().copied().filter(is_wanted).collect();
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
        let about = [About::Queue, About::Share, About::User, About::Task, About::Rule];
        let wants = |output: &Output| {
            let mut each = about.into_iter().zip(named);
            let is = |(what, name): (About, &Option<String>)| {
                name.as_deref().is_none_or(|name| output.is_about(what, name))
            };
            whats.contains(&output.effect()) && each.all(is)
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
        kind: &'static str = output.topic().name(),
        /// Its effect: assign, defer, reject; set, lift; kinds of commands.
        what: &'static str = output.effect(),
        /// Its cycle's now; ms since 1970.
        at: Millis = output.moment().2,
        /// Its subject.
        subject: String = output.subject(),
        /// Task; empty where it is not about one.
        task: String = output.task().to_owned(),
        /// Policy or rule that gave it.
        rule: String = output.rule().to_owned(),
        /// Leaf share.
        gshare: String = output.gshare().to_owned(),
        /// User.
        user: String = output.user().to_owned(),
        /// Queues that jobs are sent to, or that a command is about.
        queues: Vec<String> = output.queues().into_iter().map(str::to_owned).collect(),
        /// Jobs.
        jobs: u64 = output.amount(),
        /// One sentence.
        text: String = text(output),
        /// Its id; 32 hex digits.
        id: String = hex::encode(output.id()),
        /// Its cycle.
        cycle: u64 = output.moment().1,
        /// Whether it is only published, not to be carried out.
        dry_run: bool = output.is_dry_run(),
        /// Of a throttle: its figures, until when it holds, and what lifts it. Else null.
        throttle: Option<ThrottleFigures> = match output {
            Output::Throttle(it) => Some(ThrottleFigures::of(it)),
            Output::Decision(_) | Output::Command(_) => None,
        },
    }
}

described! {
    /// The figures of a throttle.
    struct ThrottleFigures of (it: &Throttle) {
        /// Measured value, in the unit.
        measured: Option<f64> = Some(it.measured),
        /// Value above which the rule throttles, in the unit.
        limit: Option<f64> = Some(it.limit),
        /// Unit.
        unit: String = it.unit.to_string(),
        /// Counter that is measured.
        counter: String = it.counter.to_string(),
        /// Since when it holds; ms since 1970.
        since: Millis = it.since(),
        /// When it lapses unless it is published again, ms since 1970; null: it was lifted.
        until: Option<Millis> = it.until,
        /// It is lifted once no more than this is measured.
        lift_limit: Option<f64> = Some(it.lift_limit),
        /// It is not lifted before, ms since 1970; null: it may be at any time.
        lift_from: Option<Millis> = it.lift_from,
    }
}

/// One sentence.
fn text(output: &Output) -> String {
    match output {
        Output::Decision(it) => headline(it),
        Output::Throttle(it) => of_throttle(it),
        Output::Command(it) => command_text(it),
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

/// A command as a sentence.
pub(super) fn command_text(it: &Command) -> String {
    let (what, amount, rule) = (it.kind.name(), it.amount, &it.rule);
    let jobs = if amount == 1 { "job" } else { "jobs" };
    let dry_run = if it.dry_run { ", dry run" } else { "" };
    let why = command_why(it);
    match (it.held_back(), asked_of_pool(it)) {
        (Some(_), _) => format!("{rule}: {what} of {amount} {jobs} held back: {why}"),
        (None, Some(asked)) => format!("{what}, {asked}{dry_run}"),
        (None, None) => format!("{rule}: {what}, {amount} {jobs}{dry_run}: {why}"),
    }
}
