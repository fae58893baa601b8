//! A request that was answered twice, as text.

use super::{iso, note_text};
use crate::comparison::{
    Agreement, Comparison, DIFFERS_BEYOND, Gap, InCharge, Side, SideAnswer, gaps, overlap, refusals,
};
use std::fmt::Write;

/// The name that a side has in texts.
pub const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Yardmaster => "Yardmaster",
        Side::Other => "the other broker",
    }
}

/// The text of a comparison: both answers, why each side did not choose what the other chose, and
/// the figures that both went by.
pub fn explain_comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, comparison);
    text
}

fn write(text: &mut String, it: &Comparison) -> std::fmt::Result {
    let about = [
        ("task", &it.task),
        ("policy", &it.policy),
        ("share", &it.gshare),
        ("queues for", &it.queue_type),
        ("resource type", &it.resource_type),
        ("label", &it.label),
    ];
    let known = about.iter().filter(|(_, value)| !value.is_empty());
    let known: Vec<String> = known.map(|(name, value)| format!("{name} {value}")).collect();
    writeln!(
        text,
        "{} attempt {}, answered twice: asked {} ({})",
        it.subject,
        it.attempt,
        iso(it.asked_at),
        known.join(", ")
    )?;
    let in_charge = match it.in_charge {
        InCharge::Yardmaster => side_name(Side::Yardmaster),
        InCharge::Other => side_name(Side::Other),
    };
    let overlap = overlap(it).map(|it| format!("; {:.0} % go to the same queues", it * 100.0));
    let agreement = Agreement::of(it);
    let is_drawn = agreement < Agreement::OtherFirst && it.yardmaster.first() != it.other.first();
    let drawn = if is_drawn { ", but for which of equal weight comes first" } else { "" };
    let agreement = sentence(agreement);
    writeln!(
        text,
        "  {agreement}{drawn}{}; carried out: {in_charge}",
        overlap.unwrap_or_default()
    )?;
    for side in Side::ALL {
        write_answer(text, side_name(side), it.of(side))?;
    }
    write_refusals(text, it)?;
    let gaps = gaps(it);
    if !gaps.is_empty() {
        writeln!(text, "  figures (Yardmaster's, the other's):")?;
    }
    gaps.iter().try_for_each(|gap| write_gap(text, gap))
}

/// An agreement as a phrase.
fn sentence(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Same => "the same answer",
        Agreement::OtherQueues => "the same queue first, others behind it",
        Agreement::OtherFirst => "another queue first",
        Agreement::Outcome => "another outcome",
        Agreement::Absent => "a side gave no answer in time",
        Agreement::Failed => "a side failed",
    }
}

fn write_answer(text: &mut String, name: &str, answer: &SideAnswer) -> std::fmt::Result {
    let reason = match answer.reason.as_str() {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    writeln!(text, "  {name}: {} after {} ms{reason}", answer.outcome.name(), answer.took_ms)?;
    for it in &answer.queues {
        let jobs = match it.jobs {
            0 => String::new(),
            jobs => format!(", {jobs} jobs"),
        };
        writeln!(text, "    {} weight {}{jobs}", it.queue, it.weight)?;
    }
    match answer.notes.is_empty() {
        true => Ok(()),
        false => writeln!(text, "    notes: {}", {
            let notes: Vec<String> = answer.notes.iter().map(|note| note_text(note)).collect();
            notes.join("; ")
        }),
    }
}

fn write_refusals(text: &mut String, comparison: &Comparison) -> std::fmt::Result {
    let refusals = refusals(comparison);
    for by in Side::ALL {
        let mut of_side = refusals.iter().filter(|it| it.by == by).peekable();
        if of_side.peek().is_some() {
            writeln!(text, "  not chosen by {}:", side_name(by))?;
        }
        for it in of_side {
            let why = match it.fate {
                None => "not among the rejections that it lists".to_owned(),
                Some(fate) if fate.reason.is_empty() => fate.filter.clone(),
                Some(fate) => format!("{}: {}", fate.filter, fate.reason),
            };
            writeln!(text, "    {}: {why}", it.queue)?;
        }
    }
    Ok(())
}

fn write_gap(text: &mut String, gap: &Gap<'_>) -> std::fmt::Result {
    let figures = [("running", gap.running), ("queued", gap.queued)];
    let known = figures.iter().filter_map(|(name, pair)| pair.map(|pair| (name, pair)));
    let known: Vec<String> =
        known.map(|(name, (mine, theirs))| format!("{name} {mine}, {theirs}")).collect();
    let percent = DIFFERS_BEYOND * 100.0;
    let wide = match gap.is_wide() {
        true => format!(" (more than {percent:.0} % apart)"),
        false => String::new(),
    };
    writeln!(text, "    {}: {}{wide}", gap.queue, known.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{AnswerOutcome, ChosenQueue, Figures, RejectedQueue};

    #[test]
    fn both_answers_are_shown_with_why_and_with_the_figures() {
        let figures = |queued| Figures {
            queue: "B".into(),
            running: Some(900),
            queued: Some(queued),
            pilots: None,
        };
        let chosen = |queue: &str, weight, jobs| ChosenQueue { queue: queue.into(), weight, jobs };
        let one = SideAnswer {
            outcome: AnswerOutcome::Assign,
            reason: String::new(),
            took_ms: 35,
            queues: vec![chosen("A", 4.5, 20)],
            fates: vec![RejectedQueue {
                queue: "B".into(),
                filter: "queued_ratio".into(),
                reason: "3100 for 900".into(),
            }],
            figures: vec![figures(3_100)],
            notes: vec!["input_stale(link, 7300 s)".into()],
        };
        let other = SideAnswer {
            took_ms: 1_410,
            queues: vec![chosen("B", 77.0, 0)],
            fates: vec![],
            figures: vec![figures(1_200)],
            notes: vec![],
            ..one.clone()
        };
        let comparison = Comparison {
            domain: "atlas".into(),
            subject: "1/2".into(),
            attempt: 3,
            task: "1".into(),
            policy: "production".into(),
            gshare: "MC".into(),
            queue_type: String::new(),
            resource_type: String::new(),
            label: String::new(),
            asked_at: 1_760_000_000_000,
            compared_at: 1_760_000_001_000,
            in_charge: InCharge::Other,
            yardmaster: one,
            other,
        };
        let wanted = "\
1/2 attempt 3, answered twice: asked 2025-10-09T08:53:20Z (task 1, policy production, share MC)
  another queue first; 0 % go to the same queues; carried out: the other broker
  Yardmaster: assign after 35 ms
    A weight 4.5, 20 jobs
    notes: nothing new was read of link for 2 h 1 min (input_stale)
  the other broker: assign after 1410 ms
    B weight 77
  not chosen by Yardmaster:
    B: queued_ratio: 3100 for 900
  not chosen by the other broker:
    A: not among the rejections that it lists
  figures (Yardmaster's, the other's):
    B: running 900, 900; queued 3100, 1200 (more than 10 % apart)
";
        assert_eq!(explain_comparison(&comparison), wanted);
        let equal = |first: &str, second: &str| vec![chosen(first, 9.0, 0), chosen(second, 9.0, 0)];
        let (mut one, mut other) = (comparison.yardmaster.clone(), comparison.other.clone());
        (one.queues, other.queues) = (equal("A", "B"), equal("B", "A"));
        let drawn = explain_comparison(&Comparison { yardmaster: one, other, ..comparison });
        let wanted = "the same answer, but for which of equal weight comes first; 100 %";
        assert!(drawn.contains(wanted), "{drawn}");
    }
}
