//! A task in lines, for a terminal.

use super::{TaskCommandAnswer, TaskParts, TaskRequestAnswer, TaskStagesAnswer, queues, sentence};
use std::fmt::Write;
use yardmaster_core::explain::{iso, span};
use yardmaster_core::unit::Millis;

/// Lines of queues, requests and commands.
const LINES_SHOWN: usize = 10;

/// The same in lines, for a terminal.
pub(crate) fn text(it: &TaskParts<'_>) -> String {
    let mut text = sentence(it);
    text.push('\n');
    let queues = queues(it);
    for of in queues.iter().take(LINES_SHOWN) {
        let name = if of.queue.is_empty() { "(no queue yet)" } else { &of.queue };
        let parts = [
            (of.running, "run"),
            (of.queued, "queued"),
            (of.ending, "ending"),
            (of.finished, "finished"),
            (of.failed, "failed"),
            (of.closed, "closed"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|part| part.0 > 0)
            .map(|(jobs, how)| format!("{jobs} {how}"))
            .collect();
        // Writing to a text cannot fail.
        let before = match (of.ahead, of.starts_per_hour) {
            (Some(jobs), Some(starts)) => {
                let many = if jobs == 1 { "job goes" } else { "jobs go" };
                format!("; {jobs} {many} before, and {starts:.1} start an hour there")
            }
            _ => String::new(),
        };
        let _ = writeln!(text, "  {name}: {}{before}", parts.join(", "));
    }
    more(&mut text, queues.len(), "queues");
    let stages = TaskStagesAnswer::of(it);
    let stages = [
        ("a request waits for its queue", stages.wait_for_decision_s),
        ("a job waits for its start", stages.wait_for_start_s),
        ("a job runs", stages.run_s),
    ];
    let known = stages.iter().filter_map(|(what, span)| Some((what, (*span)?)));
    let known: Vec<String> = known.map(|(what, s)| format!("{what} {}", span(s))).collect();
    if !known.is_empty() {
        let _ = writeln!(text, "  in the middle {}", known.join(", "));
    }
    if let Some(estimate) = &it.look.estimate {
        let _ = writeln!(text, "  {}", estimate.sentence());
    }
    if let Some(why) = it.no_estimate() {
        let _ = writeln!(text, "  {why}");
    }
    let requests = it.requests();
    for of in requests.iter().take(LINES_SHOWN) {
        let _ = writeln!(text, "  {}", request_line(of));
    }
    more(&mut text, requests.len(), "requests");
    for command in it.commands.iter().take(LINES_SHOWN) {
        let command = TaskCommandAnswer::of(command);
        let queue = &command.queue;
        let at = if queue.is_empty() { String::new() } else { format!(" at {queue}") };
        let _ = writeln!(text, "  {}{at}: {}", iso(command.at), command.text);
    }
    more(&mut text, it.commands.len(), "commands");
    text
}

fn more(text: &mut String, count: usize, what: &str) {
    if let Some(more) = count.checked_sub(LINES_SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more {what}");
    }
}

fn request_line(of: &TaskRequestAnswer) -> String {
    let at = |what: &str, at: Option<Millis>| at.map(|at| format!("{what} {}", iso(at)));
    let sent = of.assigned.first().map(|first| {
        let more = match of.assigned.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!("sent to {}{more} {}", first.queue, iso(first.at))
    });
    let answers = (of.answers > 0).then(|| match of.answers {
        1 => "1 answer".to_owned(),
        count => format!("{count} answers"),
    });
    let waits = of.open.then(|| "waits".to_owned());
    let parts = [
        at("asked", of.asked_at),
        answers,
        sent,
        at("first start", of.first_start_at),
        at("last end", of.last_end_at),
        waits,
    ];
    format!(
        "request {}: {}",
        of.subject,
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    )
}
