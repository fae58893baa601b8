//! Notes of decisions, throttles and commands, and clocks of commands, in words. What is published
//! has them as codes with figures, `input_stale(pilot, 120 s)`, which programs read.

use super::text::with_moments;
use super::whole::throttled;
use super::{cms, nordugrid, span};
use crate::policy::note::Note;

/// A note as a sentence, with its code behind; one without a code as it is.
pub fn note_text(note: &str) -> String {
    let note = with_moments(note);
    let (code, figures) = parts(&note);
    match words(&note, code, figures) {
        Some(words) => format!("{words} ({code})"),
        None => note,
    }
}

/// Why commands are held back, as the note of the report states it, as a sentence with its code
/// behind.
pub fn held_back_text(why: &str) -> String {
    let (name, figures) = why.split_once(", ").filter(|(name, _)| !name.contains('(')).unzip();
    let (name, figures) = (name.unwrap_or(why), figures.unwrap_or_default());
    let words = match name {
        "kill_switch" => "an operator stopped all commands".to_owned(),
        "queue_budget" => format!("{figures} of the queue were commanded within the window"),
        "rule_budget" => format!("{figures} of the rule were commanded within the window"),
        "budget" => format!("{figures} of all rules were commanded within the window"),
        "moves_per_job" => format!("the job was moved as often as it may be: {figures}"),
        _ if figures.is_empty() => return note_text(why),
        _ => figures.to_owned(),
    };
    format!("{words} ({name})")
}

/// The clock of a command, to be followed by the moment at which it started.
pub fn clock_text(clock: &str) -> String {
    let known = match clock {
        "created_at" => "created",
        "changed_at" => "in its state since",
        "activated_at" => "activated",
        "started_at" => "started",
        "ended_at" => "its program ended",
        "heartbeat" => "last heartbeat",
        "crowded_since" => "too many since",
        "taken_back_since" => "first taken back",
        "held_since" => "held back since",
        other => return other.replace('_', " "),
    };
    known.to_owned()
}

/// Code and figures of a note.
fn parts(note: &str) -> (&str, &str) {
    match note.split_once('(') {
        Some((code, figures)) => (code, figures.strip_suffix(')').unwrap_or(figures)),
        None => (note, ""),
    }
}

fn words(note: &str, code: &str, figures: &str) -> Option<String> {
    match Note::read(note) {
        Some(Note::Wait(reason)) => return Some(format!("it waits: {}", reason.sentence())),
        Some(Note::WaitOtherwise(name)) => {
            return Some(format!("it waits: {name}, a reason of another version"));
        }
        Some(Note::Throttled { rule, subject }) => return Some(throttled(note, rule, subject)),
        None => {}
    }
    let part = figures.split_once(", ");
    Some(match code {
        "held_back" => return Some(format!("held back: {}", held_back_text(figures))),
        "no_limit" => "the rule has no limit any more".to_owned(),
        "input_absent" => format!("no record was read yet of {figures}"),
        "input_stale" => stale(part?),
        "input_returned" => {
            let (topic, left) = part?;
            format!("{topic} has just begun to come, and late records are awaited{}", still(left)?)
        }
        "queue_silent" => format!("the queue gave no sign for {}", span(seconds(figures)?)),
        "queue_returned" => {
            format!(
                "the queue has just begun to report, late reports are awaited{}",
                still(figures)?
            )
        }
        "partial_history" => "what ended is counted over a window that begins before all that is \
                              known"
            .to_owned(),
        "pilots_of_workers" => "nodes that asked and got no job are not known, so workers of a \
                                Harvester count as pilots"
            .to_owned(),
        "jobs_missing" => "the request states no number of jobs".to_owned(),
        "figure_impossible" => format!("no figure can be as the request states it: {figures}"),
        "asked_at_implausible" => {
            format!("asked_at of the request is {figures}, and does not count")
        }
        "gshare_unknown" => format!("no record is known of its share {figures}"),
        "site_unknown" => format!("it names {figures}, and nothing is known of that"),
        "input_located" => format!("places of its input: {figures}"),
        "notes_cut" => format!("{figures} more notes were left out for the size limit"),
        "done_jobs_cut" => format!("finished jobs are counted over {}", part?.0),
        "destination" => format!("output {} goes to {}", part?.0, part?.1),
        "links_old" => format!("figures of links are too old to count: {figures}"),
        _ => {
            let of_pool = cms::note::words(code, figures);
            return of_pool.or_else(|| nordugrid::note::words(code, figures));
        }
    })
}

fn seconds(figure: &str) -> Option<i64> {
    figure.strip_suffix(" s")?.parse().ok()
}

/// How long something still lasts.
fn still(left: &str) -> Option<String> {
    Some(format!(" for {} more", span(seconds(left)?)))
}

/// The age of a topic.
fn stale((topic, age): (&str, &str)) -> String {
    match seconds(age) {
        Some(seconds) => format!("nothing new was read of {topic} for {}", span(seconds)),
        None => format!("a part of {topic} cannot be read, and what is known of it may be old"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::wait::WaitReason;

    #[test]
    fn a_note_is_a_sentence_with_its_figures_and_its_code() {
        let notes = [
            ("input_stale(pilot, 7320 s)", "nothing new was read of pilot for 2 h 2 min"),
            ("input_stale(link, unreadable)", "a part of link cannot be read"),
            ("input_absent(heartbeat, link)", "no record was read yet of heartbeat, link"),
            ("links_old(3 of 9 to CERN)", "too old to count: 3 of 9 to CERN"),
            ("test_failed_100pct", "all of its test jobs failed"),
            ("discovery(index, 59 clusters)", "59 clusters were found by index servers"),
            ("match_memory(wanted 3 MB: a/q has 2 MB)", "wanted is 3 MB: a/q has 2 MB"),
            ("month_is_minute(walltime)", "of walltime: the first letter of a unit counts"),
            ("throttled(A1, user/ann, 3 of 2 jobs)", "running jobs 3, limit 2 jobs"),
        ];
        for (note, words) in notes {
            let text = note_text(note);
            assert!(text.contains(words), "{text}");
            assert!(text.ends_with(&format!(" ({})", parts(note).0)), "{text}");
        }
        let plain = "parameter jedi/CAP = \"x\" ignored: wants a number";
        assert_eq!(note_text(plain), plain);
        for reason in WaitReason::ALL {
            let text = note_text(&Note::Wait(reason).to_string());
            assert!(text.contains(reason.sentence()), "{text}");
        }
    }

    #[test]
    fn what_holds_commands_back_is_a_sentence_too() {
        let all = [
            ("kill_switch", "an operator stopped all commands (kill_switch)"),
            ("rest, taken back within 6 h", "taken back within 6 h (rest)"),
            (
                "queue_budget, 9 of 9 jobs",
                "9 of 9 jobs of the queue were commanded within the \
              window (queue_budget)",
            ),
            ("queue_silent(60 s)", "the queue gave no sign for 1 min (queue_silent)"),
            ("input_stale(queue, 60 s)", "nothing new was read of queue for 1 min (input_stale)"),
            (
                "input_returned(heartbeat, 600 s)",
                "heartbeat has just begun to come, and late records are awaited for 10 min more \
                 (input_returned)",
            ),
            (
                "queue_returned(90 s)",
                "the queue has just begun to report, late reports are awaited for 1 min 30 s \
                 more (queue_returned)",
            ),
            ("nothing any more", "nothing any more"),
        ];
        for (why, words) in all {
            assert_eq!(held_back_text(why), words);
        }
    }
}
