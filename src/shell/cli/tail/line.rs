//! An output as one line: a JSON object, or text in columns.

use std::fmt::Write;
use yardmaster_core::domain::cms::explain::{match_sentence, nothing_fits};
use yardmaster_core::explain::{asked_of_pool, clock_text, command_why, iso};
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::{Decision, Outcome, Ranked};
use yardmaster_core::output::throttle::{Action, Throttle};
use yardmaster_core::plain::plain;
use yardmaster_core::policy::note::Note;
use yardmaster_core::unit::Millis;
use yardmaster_drive::listing::Listed;
use yardmaster_wire::json::output_json;
use yardmaster_wire::topology::Topology;

/// Queues that are named of an assignment.
const QUEUES_SHOWN: usize = 3;

/// Its record as a JSON object, and where it is.
pub(super) fn json(listed: &Listed, topology: &Topology) -> String {
    let (lane, offset) = listed.place;
    let mut record = output_json(&listed.output);
    record["topic"] = topology.topic(lane.topic).name.clone().into();
    record["partition"] = lane.partition.into();
    record["offset"] = offset.into();
    record.to_string()
}

/// When, what kind, what, about what, share, user, and where to or why.
pub(super) fn text(output: &Output) -> String {
    let (at, kind, what) = (iso(output.moment().2), output.topic().name(), output.effect());
    let [subject, gshare, user] = [&output.subject(), output.gshare(), output.user()].map(or_dash);
    let dry = if output.is_dry_run() { "(dry run) " } else { "" };
    let why = match output {
        Output::Decision(it) => decision(it),
        Output::Throttle(it) => throttle(it),
        Output::Command(it) => command(it),
    };
    let why = plain(&why);
    format!("{at:<24}  {kind:<8}  {what:<8}  {subject:<16}  {gshare:<16}  {user:<12}  {dry}{why}")
}

/// The text on one line; a dash for none.
fn or_dash(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        text => plain(text).into_owned(),
    }
}

fn decision(it: &Decision) -> String {
    let why = match &it.outcome {
        Outcome::Assign(ranked) => match &it.matched {
            Some(matched) => match_sentence(it, matched),
            None => assigned(ranked, &it.nucleus),
        },
        Outcome::Defer { until } if it.answers_offer() => {
            format!("nothing fits: {}; published again by {}", nothing_fits(it), iso(*until))
        }
        Outcome::Defer { until } => deferred(it, *until),
        Outcome::Reject { reason } => reason.clone(),
    };
    format!("{}: {why}", it.policy)
}

/// `120 jobs to X 100, Y 20 and 2 more queues`.
fn assigned(ranked: &[Ranked], nucleus: &str) -> String {
    let jobs: u64 = ranked.iter().map(|it| u64::from(it.jobs)).sum();
    let each = |it: &Ranked| match jobs {
        0 => it.queue.clone(),
        _ => format!("{} {}", it.queue, it.jobs),
    };
    // Some only had a weight, and came to no jobs.
    let chosen = || ranked.iter().filter(|it| jobs == 0 || it.jobs > 0);
    let shown: Vec<String> = chosen().take(QUEUES_SHOWN).map(each).collect();
    let mut text = match jobs {
        0 => format!("to {}", shown.join(", ")),
        jobs => format!("{jobs} jobs to {}", shown.join(", ")),
    };
    // Writing to a String cannot fail.
    let _ = match chosen().count().saturating_sub(QUEUES_SHOWN) {
        0 => Ok(()),
        more => write!(text, " and {more} more queues"),
    };
    if !nucleus.is_empty() {
        let _ = write!(text, ", output to {nucleus}");
    }
    text
}

/// The reasons why a request waits, and until when.
fn deferred(it: &Decision, until: Millis) -> String {
    let whole = it.notes.iter().find_map(|note| match Note::read(note)? {
        Note::Wait(reason) => Some(format!("waits as a whole: {}", reason.name())),
        Note::WaitOtherwise(reason) => Some(format!("waits as a whole: {reason}")),
        Note::Throttled { .. } => None,
    });
    let throttled = it.notes.iter().find_map(|note| match Note::read(note)? {
        Note::Throttled { rule, subject } => Some(format!("{subject} is throttled by {rule}")),
        Note::Wait(_) | Note::WaitOtherwise(_) => None,
    });
    let most = it.counts.iter().rev().max_by_key(|count| count.rejected);
    let all: u64 = it.counts.iter().map(|count| u64::from(count.rejected)).sum();
    let counted =
        most.map(|most| format!("{} rejected {} of {all} queues", most.filter, most.rejected));
    let why = throttled.or(whole).or(counted).unwrap_or_else(|| "no queue".to_owned());
    format!("{why}; asked again by {}", iso(until))
}

fn throttle(it: &Throttle) -> String {
    let (measured, limit) = (it.measured, it.limit);
    let relation = match (it.action, measured >= limit) {
        (_, true) => "at or over",
        (_, false) => "below",
    };
    let mut why = format!("{}: {} {measured} {relation} {limit} {}", it.rule, it.counter, it.unit);
    if let (Action::Set, Some(until)) = (it.action, it.until) {
        let _ = write!(why, "; until {}", iso(until));
    }
    why
}

fn command(it: &Command) -> String {
    let amount = match (it.held_back(), asked_of_pool(it), it.amount) {
        (Some(_), _, amount) => format!("holds back {amount}: {}", command_why(it)),
        (None, Some(asked), _) => asked,
        (None, None, 1) => "1 job".to_owned(),
        (None, None, amount) => format!("{amount} jobs"),
    };
    let mut why = format!("{}: {amount}", it.rule);
    if !it.queue.is_empty() {
        let _ = write!(why, " at {}", it.queue);
    }
    if let Some(at) = it.clock_at {
        let _ = write!(why, "; {} {}", clock_text(&it.clock), iso(at));
    }
    if it.repeat > 0 {
        let _ = write!(why, "; repeat {}", it.repeat);
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use yardmaster_core::cut::{Lane, Topic};
    use yardmaster_core::domain::cms::output::Matched;
    use yardmaster_core::output::command::CommandKind;
    use yardmaster_core::output::decision::FilterCount;
    use yardmaster_core::output::throttle::SubjectKind;
    use yardmaster_wire::topology::ATLAS;

    fn decided(outcome: Outcome) -> Decision {
        Decision {
            now: 1_795_514_400_000,
            task: "12".into(),
            policy: "analysis-job".into(),
            gshare: "Group".into(),
            user: "ann".into(),
            ..Decision::new("atlas", "12/3", 0, 1, outcome)
        }
    }

    fn ranked(queue: &str, jobs: u32) -> Ranked {
        Ranked {
            queue: queue.into(),
            unified: queue.into(),
            weight: 1.0,
            jobs,
            cores: 1,
            factors: Vec::new(),
            platform: String::new(),
        }
    }

    #[test]
    fn a_line_states_when_what_about_what_for_which_share_and_user_and_where_to() {
        let mut queues = ["A", "Z", "B", "C", "D"].map(|queue| ranked(queue, 5));
        queues[1].jobs = 0;
        let line = text(&decided(Outcome::Assign(queues.to_vec())).into());
        let words: Vec<&str> = line.split_whitespace().collect();
        let start = ["2026-11-24T10:00:00Z", "decision", "assign", "12/3", "Group", "ann"];
        assert_eq!(words[..6], start);
        assert!(
            line.ends_with("analysis-job: 20 jobs to A 5, B 5, C 5 and 1 more queues"),
            "{line}"
        );
    }

    #[test]
    fn a_deferral_names_the_filter_that_rejected_most_or_what_holds_all_of_it() {
        let count = |filter: &str, rejected| FilterCount { filter: filter.into(), rejected };
        let mut decision = decided(Outcome::Defer { until: 1_795_514_460_000 });
        decision.counts = vec![count("status", 2), count("disk_space", 9), count("walltime", 1)];
        let line = text(&decision.clone().into());
        let why = "disk_space rejected 9 of 12 queues; asked again by 2026-11-24T10:01:00Z";
        assert!(line.ends_with(why), "{line}");
        let note = Note::Throttled { rule: "A1", subject: "user/ann" };
        decision.notes = vec![note.with_figures("5 of 4 jobs")];
        decision.dry_run = true;
        let line = text(&decision.into());
        assert!(line.contains("(dry run) analysis-job: user/ann is throttled by A1;"), "{line}");
    }

    #[test]
    fn an_answer_to_an_offer_names_the_job_or_what_kept_all_out() {
        let count = |filter: &str, rejected| FilterCount { filter: filter.into(), rejected };
        let of_offer = |outcome| Decision {
            task: String::new(),
            policy: "cms".into(),
            ..Decision { subject: "glidein-7".into(), ..decided(outcome) }
        };
        let matched = Decision {
            task: "skim".into(),
            matched: Some(Matched { job: "skim.12".into(), cores: 8, ..Matched::default() }),
            ..of_offer(Outcome::Assign(vec![ranked("T2_DE_DESY", 1)]))
        };
        let line = text(&matched.into());
        assert!(line.ends_with("cms: job skim.12 of skim gets 8 cores at T2_DE_DESY"), "{line}");
        let mut deferred = of_offer(Outcome::Defer { until: 1_795_514_460_000 });
        deferred.counts = vec![count("cores", 2), count("whitelist", 9)];
        let line = text(&deferred.into());
        let why = "nothing fits: none of 11 jobs fits, 9 of them by whitelist; published again by \
                   2026-11-24T10:01:00Z";
        assert!(line.ends_with(why), "{line}");
    }

    #[test]
    fn throttles_and_commands_state_rule_and_figures_on_one_line() {
        let mut throttle =
            Throttle::new("atlas", "A1", (SubjectKind::User, "ann\nx"), 1, Action::Set);
        (throttle.measured, throttle.limit) = (120.0, 100.0);
        (throttle.counter, throttle.unit) = ("running_jobs".into(), "jobs".into());
        let line = text(&throttle.into());
        assert!(line.contains(r"set       user/ann\nx"), "{line}");
        assert!(line.ends_with("A1: running_jobs 120 at or over 100 jobs"), "{line}");
        let command = Command {
            queue: "ash".into(),
            clock: "changed_at".into(),
            repeat: 2,
            ..Command::new("atlas", "T9", "4711", 0, Some(0))
        };
        let line = text(&command.into());
        let why = "T9: 1 job at ash; in its state since not known; repeat 2";
        assert!(line.ends_with(why), "{line}");
    }

    #[test]
    fn a_command_of_a_pool_states_what_it_asks_for() {
        let command = Command {
            kind: CommandKind::Drain,
            queue: "T2_X".into(),
            jobs: vec!["j7".into()],
            measured: 1800.0,
            limit: 16.0,
            ..Command::new("cms", "drain", "n1", 0, Some(0))
        };
        let line = text(&command.into());
        assert!(line.contains("drain: free in 30 min, 16 cores for job j7 at T2_X"), "{line}");
    }

    #[test]
    fn no_text_from_outside_reaches_the_terminal_as_it_is() {
        let hostile = "a\u{1b}]0;x\u{7}\n";
        let text_of = || hostile.to_owned();
        let outcomes = [
            Outcome::Assign(vec![ranked(hostile, 5)]),
            Outcome::Defer { until: 0 },
            Outcome::Reject { reason: text_of() },
        ];
        let decisions = outcomes.map(|outcome| Decision {
            subject: text_of(),
            policy: text_of(),
            gshare: text_of(),
            user: text_of(),
            nucleus: text_of(),
            counts: vec![FilterCount { filter: text_of(), rejected: 1 }],
            ..decided(outcome)
        });
        let command = Command {
            queue: text_of(),
            jobs: vec![text_of()],
            clock: text_of(),
            ..Command::new(hostile, "T9", hostile, 0, Some(0))
        };
        let throttle = Throttle::new(hostile, "A1", (SubjectKind::User, hostile), 1, Action::Set);
        let outputs = decisions.map(Output::from).into_iter();
        for output in outputs.chain([command.into(), throttle.into()]) {
            let line = text(&output);
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }

    #[test]
    fn a_json_line_is_the_record_and_its_place() {
        let topology = Topology::parse("atlas", ATLAS).unwrap();
        let place = (Lane::new(Topic::Decision, 3), 77);
        let output = decided(Outcome::Reject { reason: "no_share".into() }).into();
        let line: Value =
            serde_json::from_str(&json(&Listed { place, output }, &topology)).unwrap();
        let name = topology.topic(Topic::Decision).name.as_str();
        assert_eq!((&line["topic"], &line["partition"]), (&name.into(), &3.into()));
        assert_eq!((&line["offset"], &line["outcome"]), (&77.into(), &"reject".into()));
    }
}
