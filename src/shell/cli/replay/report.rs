//! Report of `replay --with-topology`, as text and as JSON.

use crate::cli::table::{Column, TableArgs, terminal_width};
use crate::cli::units::moment;
use serde_json::{Value, json};
use std::fmt::Write;
use yardmaster_core::difference::{AssignedShare, Both, Change, ChangedAnswer, Differences};
use yardmaster_core::output::decision::{Decision, Outcome, Ranked, request_name};
use yardmaster_drive::alternative::Alternative;
use yardmaster_wire::json::record_json;

/// Queues, and filters, that a line about one answer names.
const NAMED: usize = 5;

/// Differences that were found, and the limit on them.
pub(super) struct Report<'a> {
    /// The other rules: as they were named.
    pub(super) rules: String,
    /// Differences that were found.
    pub(super) found: &'a Alternative,
    /// Records on own topics that are no output of a cycle.
    pub(super) strays: u64,
    /// The largest share of the requests that may be answered otherwise; %.
    pub(super) max_changed: Option<f64>,
}

impl Report<'_> {
    /// Whether no more requests are answered otherwise than may be. Answers that the log's own
    /// rules do not make again count as changed, and so does a log without any that do.
    pub(super) fn is_within(&self) -> bool {
        self.excess().is_none()
    }

    /// Why it is not within.
    fn excess(&self) -> Option<String> {
        let most = self.max_changed?;
        let found = &self.found.differences;
        if found.requests() == 0 {
            return Some("no request was compared: --max-changed has nothing to go by".to_owned());
        }
        if self.changed_percent() > most {
            return Some(format!("more requests changed than the {most} % of --max-changed"));
        }
        let unknown = found.not_made_again as f64;
        let requests = found.requests() as f64;
        let changed = self.changed_percent() / 100.0 * requests + unknown;
        (changed / (requests + unknown) * 100.0 > most).then(|| {
            format!(
                "{unknown} answers are not made again by the log's own rules: with them it may be \
                 more than the {most} % of --max-changed"
            )
        })
    }

    fn changed_percent(&self) -> f64 {
        self.found.differences.changed_share() * 100.0
    }
}

/// The report as one JSON object.
pub(super) fn json(report: &Report<'_>) -> Value {
    let found = &report.found.differences;
    let both = |both: &Both| json!({"recorded": both.recorded, "other": both.other});
    let by_change = |count: &dyn Fn(Change) -> u64| -> Value {
        Change::ALL.iter().map(|it| (it.name().to_owned(), json!(count(*it)))).collect()
    };
    let answers = |it: Change| found.changed.get(&it).copied().unwrap_or(0);
    let outcomes = found.outcomes.iter().map(|([recorded, other], answers)| {
        json!({"recorded": recorded, "other": other, "answers": answers})
    });
    let filters = found.filters.iter().map(|(filter, count)| {
        json!({"filter": filter, "recorded": count.recorded, "other": count.other})
    });
    let fates = found.fates.iter().map(|([recorded, other], answers)| {
        json!({"recorded": recorded, "other": other, "answers": answers})
    });
    let queues = found.queues.iter().map(|(queue, share)| {
        json!({"queue": queue, "requests": both(&share.requests), "jobs": both(&share.jobs)})
    });
    let one = |it: &Option<Decision>| it.as_ref().map(record_json);
    let changed = found.first.iter().map(|it| {
        let (recorded, other) = (one(&it.recorded), one(&it.other));
        json!({"change": it.change.name(), "recorded": recorded, "other": other})
    });
    json!({
        "rules": report.rules,
        "cycles": report.found.cycles,
        "answers": {"compared": found.answers, "by_change": by_change(&answers)},
        "requests": {
            "compared": found.requests(),
            "by_change": by_change(&|it| found.requests_with(it)),
        },
        "changed_percent": report.changed_percent(),
        "max_changed_percent": report.max_changed,
        "assigned_earlier": found.earlier,
        "not_made_again": found.not_made_again,
        "of_repaired_cycles": report.found.repaired,
        "strays": report.strays,
        "outcomes": outcomes.collect::<Vec<_>>(),
        "filters": filters.collect::<Vec<_>>(),
        "first_fates": fates.collect::<Vec<_>>(),
        "queues": queues.collect::<Vec<_>>(),
        "changed": changed.collect::<Vec<_>>(),
    })
}

/// The report as tables.
pub(super) fn text(report: &Report<'_>) -> String {
    let (found, cycles) = (&report.found.differences, report.found.cycles);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_head(&mut text, report, cycles);
    outcomes(&mut text, found);
    filters(&mut text, found);
    fates(&mut text, found);
    queues(&mut text, found);
    if !found.first.is_empty() {
        let _ = writeln!(text, "\nthe first requests that are answered otherwise:");
        found.first.iter().for_each(|it| write_changed(&mut text, it));
    }
    text
}

fn write_head(text: &mut String, report: &Report<'_>, cycles: u64) -> std::fmt::Result {
    let found = &report.found.differences;
    writeln!(text, "{} beside the log as it is", report.rules)?;
    writeln!(text, "cycles {cycles}")?;
    writeln!(text, "answers {}", found.answers)?;
    writeln!(text, "requests {}", found.requests())?;
    for change in Change::ALL {
        let count = found.requests_with(change);
        writeln!(text, "  {} {count} ({})", change.name(), percent(count, found.requests()))?;
    }
    writeln!(text, "changed {:.2} %", report.changed_percent())?;
    if found.earlier > 0 {
        writeln!(
            text,
            "assigned_earlier {}: the log left these waiting at a cycle at which the other rules \
             assign them",
            found.earlier
        )?;
    }
    if found.not_made_again > 0 {
        writeln!(
            text,
            "not_made_again {}: the log's own rules do not give these answers either, so something \
             else than the rules differs (`replay --verify` says what); they are counted nowhere \
             else",
            found.not_made_again
        )?;
    }
    if report.found.repaired > 0 {
        let repaired = report.found.repaired;
        writeln!(text, "of_repaired_cycles {repaired}: outputs of these are not compared")?;
    }
    if report.strays > 0 {
        writeln!(text, "strays {}", report.strays)?;
    }
    if let Some(why) = report.excess() {
        writeln!(text, "{why}")?;
    }
    Ok(())
}

fn percent(part: u64, all: u64) -> String {
    let share = if all == 0 { 0.0 } else { part as f64 / all as f64 };
    format!("{:.2} %", share * 100.0)
}

fn outcomes(text: &mut String, found: &Differences) {
    let columns =
        vec![Column::whole("recorded", 0), Column::whole("other", 1), Column::figure("answers", 2)];
    let rows = found.outcomes.iter();
    let rows = rows.map(|(names, count)| vec![names[0].into(), names[1].into(), count.to_string()]);
    table(text, "answers by outcome", columns, rows.collect());
}

fn filters(text: &mut String, found: &Differences) {
    let columns = vec![
        Column::whole("filter", 0),
        Column::figure("recorded", 1),
        Column::figure("other", 2),
        Column::figure("difference", 3),
    ];
    let rows = found.filters.iter().map(|(filter, both)| {
        let difference = i128::from(both.other) - i128::from(both.recorded);
        let figures = [both.recorded.to_string(), both.other.to_string(), signed(difference)];
        [vec![filter.clone()], figures.to_vec()].concat()
    });
    table(text, "candidates rejected by filter", columns, rows.collect());
}

fn fates(text: &mut String, found: &Differences) {
    let columns =
        vec![Column::whole("recorded", 0), Column::whole("other", 1), Column::figure("answers", 2)];
    let name = |filter: &String| match filter.as_str() {
        "" => "not rejected".to_owned(),
        filter => filter.to_owned(),
    };
    let rows = found.fates.iter();
    let rows = rows.map(|(it, count)| vec![name(&it[0]), name(&it[1]), count.to_string()]);
    let title = "filter of the first candidate that fares otherwise";
    table(text, title, columns, rows.collect());
}

fn queues(text: &mut String, found: &Differences) {
    let columns = vec![
        Column::text("queue", 0),
        Column::figure("requests", 3),
        Column::figure("requests_other", 4),
        Column::figure("jobs", 1),
        Column::figure("jobs_other", 2),
        Column::figure("difference", 7),
        Column::figure("share", 5),
        Column::figure("share_other", 6),
    ];
    // Tasks that get a nucleus have no jobs yet: of them requests have shares.
    let has_jobs = found.queues.values().any(|it| it.jobs.recorded + it.jobs.other > 0);
    let of = |it: &AssignedShare| {
        if has_jobs { it.jobs } else { it.requests }
    };
    let mut all = Both::default();
    for share in found.queues.values() {
        all.recorded += of(share).recorded;
        all.other += of(share).other;
    }
    // Those that win or lose most come first.
    let change = |it: &AssignedShare| i128::from(of(it).other) - i128::from(of(it).recorded);
    let mut shares: Vec<(&String, &AssignedShare)> = found.queues.iter().collect();
    shares.sort_by_key(|(_, share)| std::cmp::Reverse(change(share).abs()));
    let rows = shares.into_iter().map(|(queue, share)| {
        vec![
            queue.clone(),
            share.requests.recorded.to_string(),
            share.requests.other.to_string(),
            share.jobs.recorded.to_string(),
            share.jobs.other.to_string(),
            signed(change(share)),
            percent(of(share).recorded, all.recorded),
            percent(of(share).other, all.other),
        ]
    });
    table(text, "what each queue gets", columns, rows.collect());
}

fn signed(difference: i128) -> String {
    if difference > 0 { format!("+{difference}") } else { difference.to_string() }
}

/// A table below its title; nothing where it has no row.
fn table(text: &mut String, title: &str, columns: Vec<Column>, rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let layout = TableArgs::default().sheet(columns, terminal_width()).layout(&rows);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\n{title}:\n  {}", layout.head());
    for row in &rows {
        let _ = writeln!(text, "  {}", layout.line(row));
    }
}

fn write_changed(text: &mut String, changed: &ChangedAnswer) {
    let Some(asked) = changed.recorded.as_ref().or(changed.other.as_ref()) else { return };
    let (request, cycle) = (request_name(&asked.subject, asked.attempt), asked.cycle);
    let answer = |it: &Option<Decision>| it.as_ref().map_or("no answer".to_owned(), sentence);
    let (recorded, other) = (answer(&changed.recorded), answer(&changed.other));
    let name = changed.change.name();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "  {request}, cycle {cycle}, {}: {name}", moment(asked.now));
    let _ = writeln!(text, "    recorded  {recorded}\n    other     {other}");
}

/// An answer in a line.
fn sentence(decision: &Decision) -> String {
    match &decision.outcome {
        Outcome::Assign(ranked) => format!("assign {}", chosen(decision, ranked)),
        Outcome::Reject { reason } => format!("reject {reason}"),
        Outcome::Defer { .. } => {
            let mut counts: Vec<_> = decision.counts.iter().collect();
            counts.sort_by_key(|it| std::cmp::Reverse(it.rejected));
            let named = counts.iter().take(NAMED);
            let named: Vec<String> =
                named.map(|it| format!("{} {}", it.filter, it.rejected)).collect();
            match named.is_empty() {
                true => "defer".to_owned(),
                false => format!("defer; rejected by {}", named.join(", ")),
            }
        }
    }
}

fn chosen(decision: &Decision, ranked: &[Ranked]) -> String {
    let one = |it: &Ranked| match &decision.matched {
        Some(matched) => format!("{} to {}", matched.job, it.queue),
        None if it.jobs == 0 => it.queue.clone(),
        None => format!("{} {}", it.queue, it.jobs),
    };
    // Where jobs are divided, those that get some.
    let gives = ranked.iter().any(|it| it.jobs > 0);
    let used: Vec<&Ranked> = ranked.iter().filter(|it| it.jobs > 0 || !gives).collect();
    let mut names: Vec<String> = used.iter().take(NAMED).map(|it| one(it)).collect();
    if used.len() > NAMED {
        names.push(format!("{} more", used.len() - NAMED));
    }
    match ranked.len() - used.len() {
        0 => names.join(", "),
        others => format!("{}; {others} others get none", names.join(", ")),
    }
}
