//! A throttle as text: its subject, its rule, what was measured, and what ends it.

use super::{Written, iso, note_text, number, span};
use crate::output::throttle::{Action, Throttle};
use crate::policy::note::Note;
use crate::policy::rule::Rule;
use crate::unit::{Millis, SECOND};
use std::fmt::Write;

/// The text of a throttle record, as it looks at a moment.
pub fn explain_throttle(throttle: &Throttle, now: Millis) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, throttle, now);
    text
}

/// The rule and the subject of the throttle that a decision's note names; the subject as the key
/// has it.
pub fn throttle_of(note: &str) -> Option<(&str, &str)> {
    match Note::read(note)? {
        Note::Throttled { rule, subject } => Some((rule, subject)),
        Note::Wait(_) | Note::WaitOtherwise(_) => None,
    }
}

/// The condition that lifts a throttle which is set.
pub fn throttle_lifted(throttle: &Throttle) -> String {
    let (lift, unit) = (number(throttle.lift_limit), &throttle.unit);
    let from = throttle.lift_from.filter(|from| *from > throttle.since());
    let from = from.map(|from| format!(", not before {}", iso(from)));
    format!("once there are at most {lift} {unit}{}", from.unwrap_or_default())
}

fn write(text: &mut String, throttle: &Throttle, now: Millis) -> Written {
    let Throttle { rule, ordinal, unit, .. } = throttle;
    let stands = throttle.stands(now);
    let how = match throttle.action {
        Action::Set if stands && throttle.dry_run => "would be throttled (dry run)",
        Action::Set if stands => "throttled",
        Action::Set => "not throttled any more: it lapsed",
        Action::Lift => "not throttled any more: it was lifted",
    };
    writeln!(text, "{}: {how}", throttle.key())?;
    writeln!(text, "  throttle  {}, record {ordinal} of it", throttle.id)?;
    match Rule::from_name(rule) {
        Some(known) => {
            let (spec, help) = (known.spec(), known.text().help);
            writeln!(text, "  rule      {rule} ({spec}): {help}")?;
        }
        None => writeln!(text, "  rule      {rule}, of another version")?,
    }
    let (measured, limit) = (number(throttle.measured), number(throttle.limit));
    writeln!(text, "  measured  {measured} {unit} ({}), limit {limit} {unit}", throttle.counter)?;
    writeln!(text, "  published {}", iso(throttle.now))?;
    writeln!(text, "  since     {}", iso(throttle.since()))?;
    if let Some(until) = throttle.until {
        let left = until.saturating_sub(now) / SECOND;
        let state = match stands {
            true => format!("lapses in {} unless published again", span(left)),
            false => "over".to_owned(),
        };
        writeln!(text, "  until     {}: {state}", iso(until))?;
    }
    if stands {
        writeln!(text, "  lifted    {}", throttle_lifted(throttle))?;
    }
    let (policy, hash) = (&throttle.policy, &throttle.policy_hash);
    writeln!(text, "  policy    {policy} {hash}")?;
    let Throttle { cycle, epoch, number, domain, .. } = throttle;
    writeln!(text, "  cycle     {cycle} of epoch {epoch}, number {number} in it, domain {domain}")?;
    for note in &throttle.notes {
        writeln!(text, "note: {}", note_text(note))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::throttle::{SubjectKind, ThrottleId};

    const NOW: Millis = 1_760_529_600_000;

    fn throttle(action: Action) -> Throttle {
        let is_set = action == Action::Set;
        Throttle {
            id: ThrottleId([7; 16]),
            domain: "atlas".into(),
            kind: SubjectKind::User,
            subject: "Ann, Bob & Co".into(),
            action,
            rule: "A1".into(),
            ordinal: 3,
            counter: "running_jobs".into(),
            measured: 10_021.0,
            limit: 10_000.0,
            unit: "jobs".into(),
            until: is_set.then_some(NOW + 3_600_000),
            epoch: 2,
            cycle: 77,
            number: 1,
            now: NOW,
            policy: "analysis-job".into(),
            policy_hash: "0123456789abcdef".into(),
            notes: vec!["input_stale(job-state, 700 s)".into()],
            since: Some(NOW - 60_000),
            lift_limit: 9_000.0,
            lift_from: is_set.then_some(NOW + 240_000),
            dry_run: false,
        }
    }

    #[test]
    fn a_throttle_tells_what_set_it_and_what_lifts_it() {
        let text = explain_throttle(&throttle(Action::Set), NOW + 1_000);
        for part in [
            "user/Ann, Bob & Co: throttled\n",
            "record 3 of it",
            "A1 (atlas 8.1): running jobs above the cap",
            "measured  10021 jobs (running_jobs), limit 10000 jobs",
            "since     2025-10-15T11:59:00Z",
            "until     2025-10-15T13:00:00Z: lapses in 59 min 59 s unless published again",
            "once there are at most 9000 jobs, not before 2025-10-15T12:04:00Z",
            "cycle     77 of epoch 2, number 1",
            "note: nothing new was read of job-state for 11 min 40 s (input_stale)",
        ] {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
        let lapsed = explain_throttle(&throttle(Action::Set), NOW + 3_600_000);
        assert!(lapsed.contains("not throttled any more: it lapsed"), "{lapsed}");
        let lifted = explain_throttle(&throttle(Action::Lift), NOW);
        assert!(lifted.contains("it was lifted") && !lifted.contains("until"), "{lifted}");
    }

    #[test]
    fn the_note_of_a_decision_names_the_throttle() {
        let note = "throttled(A1, user/Ann, Bob & Co, 3 of 2 jobs)";
        assert_eq!(throttle_of(note), Some(("A1", "user/Ann, Bob & Co")));
        for other in ["held(running_jobs_cap)", "throttled(A1)", "throttled(A1, user/ann)", ""] {
            assert_eq!(throttle_of(other), None, "{other}");
        }
    }

    #[test]
    fn any_throttle_has_a_text() {
        for moment in [0, Millis::MIN, Millis::MAX] {
            let odd = Throttle {
                rule: "Z9".into(),
                measured: f64::NAN,
                limit: f64::INFINITY,
                until: Some(moment),
                now: moment,
                since: None,
                lift_from: None,
                ..throttle(Action::Set)
            };
            assert!(explain_throttle(&odd, NOW).contains("Z9, of another version"));
        }
    }
}
