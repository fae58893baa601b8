//! A command as text: what is to be done to which job, workflow or node, which clock ran out, what
//! became of it.

use super::note::clock_text;
use super::{Written, dry_run, held_back_text, iso, note_text, number, span};
use crate::command::CommandRule;
use crate::event::OutcomeKind;
use crate::output::command::{Command, CommandKind};
use crate::state::commands::CommandAnswer;
use crate::unit::{Millis, SECOND};
use std::fmt::Write;

/// Most jobs of a command that are named.
const JOBS_NAMED: usize = 20;

/// Text of a command about a workflow or a node of a pool, without the name of that subject; `None`
/// for a command about jobs.
pub fn asked_of_pool(command: &Command) -> Option<String> {
    if command.held_back().is_some() {
        return None;
    }
    let (measured, limit) = (number(command.measured), number(command.limit));
    let job = command.jobs.first().map_or("", String::as_str);
    let reason = command.notes.first().map_or(String::new(), |note| note_text(note));
    Some(match command.kind {
        CommandKind::Boost => format!("priority {measured} from now on"),
        CommandKind::KillWorkflow => format!("{measured} jobs wait: {reason}"),
        CommandKind::Alert => reason,
        CommandKind::Profile => {
            let time = match command.measured {
                seconds if seconds > 0.0 => span(seconds as i64),
                _ => "an unknown time".to_owned(),
            };
            let memory = match command.limit {
                mb if mb > 0.0 => format!("{limit} MB"),
                _ => "an unknown number of MB".to_owned(),
            };
            format!("a job needs {time} and {memory}")
        }
        CommandKind::Drain => {
            let wait = span(command.measured as i64);
            format!("free in {wait}, {limit} cores for job {job}")
        }
        CommandKind::Undrain => format!("not kept free for job {job}"),
        CommandKind::Rebroker | CommandKind::Reassign | CommandKind::Kill | CommandKind::Fail => {
            return None;
        }
    })
}

/// Why a command was given, or is held back, on one line.
pub fn command_why(command: &Command) -> String {
    if let Some(why) = command.held_back() {
        return held_back_text(why);
    }
    asked_of_pool(command).unwrap_or_else(|| {
        let (clock, at) = (clock_text(&command.clock), command.clock_at.map_or("".into(), iso));
        format!("{clock} {at}: {}", figures(command)).trim_start().to_owned()
    })
}

/// The measured value and its limit.
fn figures(command: &Command) -> String {
    let figure = |value: f64| match command.unit.as_str() {
        "ms" => span((value / SECOND as f64) as i64),
        unit => format!("{} {unit}", number(value)).trim_end().to_owned(),
    };
    format!("{}, limit {}", figure(command.measured), figure(command.limit))
}

/// The text of a command record, with what became of it as far as that is known.
pub fn explain_command(command: &Command, answer: Option<&CommandAnswer>, now: Millis) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, command, answer, now);
    text
}

fn write(
    text: &mut String,
    command: &Command,
    answer: Option<&CommandAnswer>,
    now: Millis,
) -> Written {
    let Command { subject, kind, rule, .. } = command;
    let what = kind.name();
    match (command.held_back(), command.dry_run) {
        (Some(_), _) if command.amount == 0 => {
            writeln!(text, "{subject}: {rule} holds no {what} back any more")?;
        }
        (Some(_), _) => {
            writeln!(text, "{subject}: {what} of {} jobs held back", command.amount)?;
        }
        (None, is_trial) => writeln!(text, "{subject}: {what}{}", dry_run(is_trial))?,
    }
    writeln!(text, "  command   {}, record {} of it", command.id, command.repeat + 1)?;
    match CommandRule::from_name(rule) {
        Some(known) => {
            let about = known.text();
            writeln!(text, "  rule      {rule} ({}): {}", about.spec, about.help)?;
        }
        None => writeln!(text, "  rule      {rule}, of another version")?,
    }
    write_figures(text, command)?;
    writeln!(text, "  published {}", iso(command.now))?;
    if command.held_back().is_none() {
        write_answer(text, command, answer, now)?;
    }
    let Command { cycle, epoch, number, domain, .. } = command;
    writeln!(text, "  cycle     {cycle} of epoch {epoch}, number {number} in it, domain {domain}")?;
    // Why a workflow is ended or reported was shown as what is asked.
    let shown = matches!(kind, CommandKind::KillWorkflow | CommandKind::Alert);
    for note in command.notes.iter().skip(usize::from(shown && command.held_back().is_none())) {
        writeln!(text, "note: {}", note_text(note))?;
    }
    Ok(())
}

fn write_figures(text: &mut String, command: &Command) -> Written {
    let Command { queue, gshare, .. } = command;
    if !queue.is_empty() {
        let share = if gshare.is_empty() { String::new() } else { format!(", share {gshare}") };
        writeln!(text, "  queue     {queue}{share}")?;
    }
    if let Some(at) = command.clock_at {
        writeln!(text, "  clock     {} {}", clock_text(&command.clock), iso(at))?;
    }
    if command.held_back().is_some() {
        return Ok(());
    }
    match asked_of_pool(command) {
        Some(asked) => writeln!(text, "  asked     {asked}")?,
        None => writeln!(text, "  measured  {}", figures(command))?,
    }
    if !command.jobs.is_empty() {
        let named = command.jobs.iter().take(JOBS_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = command.jobs.len().saturating_sub(JOBS_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        writeln!(text, "  jobs      {named}{more}")?;
    }
    Ok(())
}

fn write_answer(
    text: &mut String,
    command: &Command,
    answer: Option<&CommandAnswer>,
    now: Millis,
) -> Written {
    if command.dry_run {
        return Ok(());
    }
    match answer {
        Some(CommandAnswer { at, kind, reason }) => {
            let what = match kind {
                OutcomeKind::Accepted => "carried out",
                OutcomeKind::Refused => "refused",
                OutcomeKind::Failed => "failed",
                OutcomeKind::Expired => "not in time",
            };
            let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            writeln!(text, "  outcome   {what} {}{why}", iso(*at))
        }
        None if command.expires_at <= now => {
            writeln!(text, "  outcome   none; expired {}", iso(command.expires_at))
        }
        None => writeln!(text, "  outcome   none yet; expires {}", iso(command.expires_at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::command::held_back_note;

    const NOW: Millis = 1_760_529_600_000;

    fn command() -> Command {
        Command {
            repeat: 1,
            kind: CommandKind::Fail,
            queue: "AGLT2".into(),
            gshare: "MC".into(),
            clock: "heartbeat".into(),
            measured: 7_260_000.0,
            limit: 7_200_000.0,
            expires_at: NOW + 60_000,
            epoch: 2,
            cycle: 77,
            number: 1,
            now: NOW,
            ..Command::new("atlas", "T9", "4711", 1, Some(NOW - 7_260_000))
        }
    }

    #[test]
    fn a_command_tells_which_clock_ran_out_and_what_became_of_it() {
        let text = explain_command(&command(), None, NOW);
        for part in [
            "4711: fail\n",
            "record 2 of it",
            "T9 (atlas 5)",
            "queue     AGLT2, share MC",
            "clock     last heartbeat 2025-10-15T09:59:00Z",
            "measured  2 h 1 min, limit 2 h",
            "none yet; expires 2025-10-15T12:01:00Z",
        ] {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
        let (kind, reason) = (OutcomeKind::Refused, "no such job".into());
        let answer = CommandAnswer { at: NOW, kind, reason };
        let text = explain_command(&command(), Some(&answer), NOW);
        assert!(text.contains("refused 2025-10-15T12:00:00Z: no such job"), "{text}");
    }

    #[test]
    fn what_a_pool_asks_for_tells_its_figures_in_their_own_units() {
        let text = |kind: CommandKind, measured, limit, unit: &str| {
            let blank = Command::new("cms", kind.name(), "w1", 0, None);
            let jobs = vec!["j7".to_owned()];
            let notes = vec!["test_failed_100pct".to_owned()];
            let unit = unit.to_owned();
            let command = Command { kind, measured, limit, unit, jobs, notes, ..blank };
            let text = explain_command(&command, None, NOW);
            assert!(!text.contains("limit"), "{text}");
            text
        };
        let profile = text(CommandKind::Profile, 5400.0, 2200.0, "s");
        assert!(profile.contains("asked     a job needs 1 h 30 min and 2200 MB"), "{profile}");
        assert!(profile.contains("profile (cms-nordugrid C-50)"), "{profile}");
        let drain = text(CommandKind::Drain, 1800.0, 16.0, "s");
        assert!(drain.contains("asked     free in 30 min, 16 cores for job j7"), "{drain}");
        assert!(text(CommandKind::Boost, 900_000.0, 0.0, "priority").contains("priority 900000"));
        let killed = text(CommandKind::KillWorkflow, 40.0, 0.0, "jobs");
        assert!(killed.contains("asked     40 jobs wait: all of its test jobs failed"), "{killed}");
        assert!(
            text(CommandKind::Alert, 0.0, 0.0, "")
                .contains("asked     all of its test jobs failed")
        );
        assert!(text(CommandKind::Undrain, 0.0, 0.0, "").contains("not kept free for job j7"));
    }

    #[test]
    fn a_report_on_what_is_held_back_names_how_many_jobs_and_why() {
        let report = Command {
            subject: "AGLT2".into(),
            amount: 40,
            dry_run: true,
            notes: vec![held_back_note("queue_budget, 100 of 100 jobs")],
            ..command()
        };
        let text = explain_command(&report, None, NOW);
        assert!(text.contains("AGLT2: fail of 40 jobs held back"), "{text}");
        assert!(text.contains("note: held back: 100 of 100 jobs of the queue"), "{text}");
    }
}
