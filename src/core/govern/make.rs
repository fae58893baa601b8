//! Commands as they are published.

use super::timeout::Deadline;
use crate::command::CommandRule;
use crate::judge::notes::time_notes;
use crate::output::command::{Command, CommandId, CommandKind, held_back_note};
use crate::state::State;
use crate::state::commands::pause;
use crate::unit::Millis;

/// The parts of a command that differ between the commands of a cycle.
pub(crate) struct Order<'a> {
    pub rule: CommandRule,
    pub kind: CommandKind,
    pub subject: String,
    pub attempt: u32,
    pub queue: &'a str,
    pub gshare: &'a str,
    pub task: String,
    pub jobs: Vec<String>,
    pub amount: u64,
    pub clock: &'static str,
    pub clock_at: Option<Millis>,
    pub measured: f64,
    pub limit: f64,
    pub unit: &'static str,
    pub dry_run: bool,
    /// Notes on this command, placed before the notes of the cycle.
    pub notes: Vec<String>,
}

/// The id that a rule's command about an attempt of a subject has.
pub(crate) fn id_of(
    state: &State,
    rule: CommandRule,
    subject: &str,
    attempt: u32,
    clock_at: Option<Millis>,
) -> CommandId {
    CommandId::derive(&state.setting.domain, rule.name(), subject, attempt, clock_at)
}

/// A command at a cut, the next record of its id; its number in the cycle is set when all are
/// known.
pub(crate) fn command(state: &State, order: Order<'_>) -> Command {
    let rule = order.rule;
    let id = id_of(state, rule, &order.subject, order.attempt, order.clock_at);
    let repeat = state.commands.of(id).map_or(0, |known| known.command.repeat.saturating_add(1));
    let domain = &state.setting.domain;
    Command {
        repeat,
        kind: order.kind,
        queue: order.queue.to_owned(),
        gshare: order.gshare.to_owned(),
        task: order.task,
        jobs: order.jobs,
        amount: order.amount,
        clock: order.clock.to_owned(),
        measured: order.measured,
        limit: order.limit,
        unit: order.unit.to_owned(),
        expires_at: expires_at(state, repeat),
        epoch: state.epoch,
        cycle: state.number,
        now: state.now,
        policy_hash: state.setting.commands.hash.clone(),
        dry_run: order.dry_run,
        notes: order.notes.into_iter().chain(time_notes(state)).collect(),
        ..Command::new(domain, rule.name(), &order.subject, order.attempt, order.clock_at)
    }
}

/// Until when a record of a command may be carried out: no longer than until it would be repeated,
/// since then it is asked again whether it is still to be done.
fn expires_at(state: &State, repeat: u32) -> Millis {
    let governor = &state.setting.commands.governor;
    let valid = governor.expires_after.min(pause(governor.repeat_after, repeat));
    state.now.saturating_add(valid)
}

/// A command about a job whose deadline has passed, and its task if that is known.
pub(super) fn about_job(
    state: &State,
    (rule, kind, dry_run): (CommandRule, CommandKind, bool),
    (job, task): (&crate::state::job::Job, Option<String>),
    deadline: &Deadline,
) -> Command {
    let order = Order {
        rule,
        kind,
        subject: state.job_name(job.key),
        attempt: job.attempt,
        queue: state.names.text(job.names[0]),
        gshare: state.names.text(job.names[1]),
        task: task.unwrap_or_default(),
        jobs: Vec::new(),
        amount: 1,
        clock: deadline.clock,
        clock_at: Some(deadline.clock_at),
        measured: state.now.saturating_sub(deadline.clock_at) as f64,
        limit: deadline.limit as f64,
        unit: "ms",
        dry_run,
        notes: Vec::new(),
    };
    command(state, order)
}

/// The same command once more, about those of its jobs for which there is still reason to.
pub(super) fn repeated(state: &State, known: &Command, jobs: &[&String]) -> Command {
    let names_jobs = !known.jobs.is_empty();
    Command {
        jobs: jobs.iter().filter(|_| names_jobs).map(|job| (*job).clone()).collect(),
        amount: jobs.len() as u64,
        ..again(state, known)
    }
}

/// The same command once more.
pub(crate) fn again(state: &State, known: &Command) -> Command {
    let repeat = known.repeat.saturating_add(1);
    Command {
        repeat,
        expires_at: expires_at(state, repeat),
        epoch: state.epoch,
        cycle: state.number,
        number: 0,
        now: state.now,
        policy_hash: state.setting.commands.hash.clone(),
        notes: time_notes(state),
        ..known.clone()
    }
}

/// A report on what a rule holds back at a queue: how many jobs, since when, why. It goes on with
/// the one before, unless that reported that nothing is held back any more.
pub(super) fn report(
    state: &State,
    rule: CommandRule,
    queue: &str,
    jobs: u64,
    why: &str,
    before: Option<&Command>,
) -> Command {
    let before = before.filter(|before| before.amount > 0);
    let since = before.and_then(|before| before.clock_at).unwrap_or(state.now);
    let order = Order {
        rule,
        kind: rule.text().kind,
        subject: queue.to_owned(),
        attempt: 0,
        queue,
        gshare: "",
        task: String::new(),
        jobs: Vec::new(),
        amount: jobs,
        clock: "held_since",
        clock_at: Some(since),
        measured: jobs as f64,
        limit: 0.0,
        unit: "jobs",
        dry_run: true,
        notes: vec![held_back_note(why)],
    };
    let mut report = command(state, order);
    report.repeat = before.map_or(0, |before| before.repeat.saturating_add(1));
    report.expires_at = state.now;
    report
}
