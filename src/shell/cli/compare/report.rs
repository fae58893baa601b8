//! Comparisons summed up, as tables.

use crate::cli::table::{Column, TableArgs, report_left_out, terminal_width};
use crate::cli::units::moment;
use std::cmp::Reverse;
use std::io::{self, Write};
use yardmaster_core::comparison::{
    AnswerOutcome, AnswerTimes, ByReason, FiguresSeen, Group, Measure, Side, Tally,
};

/// Rows of one table of the summary; --json has all.
const ROWS_MAX: usize = 20;
/// Percentiles that are shown of the times of answers.
pub(super) const PERCENTILES: [usize; 3] = [50, 90, 99];
/// Stands for nothing.
const NOTHING: &str = "-";

/// Columns of the table of groups.
pub(super) fn columns() -> Vec<Column> {
    let mut columns = vec![
        Column::text("group", 0),
        Column::figure("requests", 4),
        Column::figure("answered", 2),
        Column::figure("agree", 1),
        Column::figure("same_outcome", 6),
        Column::figure("same_first", 7),
        Column::figure("same_queues", 8),
        Column::figure("overlap", 5),
        Column::figure("yardmaster_none", 3),
        Column::figure("other_none", 9),
    ];
    for side in Side::ALL {
        for percent in PERCENTILES {
            let column = Column::figure(&format!("{}_p{percent}_ms", side.name()), 10);
            columns.push(if percent == 50 { column } else { column.unusual() });
        }
    }
    columns
}

/// A part of 1 as a percentage.
pub(super) fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| NOTHING.to_owned(), |part| format!("{:.1}%", part * 100.0))
}

fn milliseconds(times: Option<&mut AnswerTimes>) -> [String; 3] {
    let found = match times {
        Some(times) => PERCENTILES.map(|percent| times.percentile(percent)),
        None => [None; 3],
    };
    found.map(|ms| ms.map_or_else(|| NOTHING.to_owned(), |ms| ms.to_string()))
}

/// A table with a row for each group.
pub(super) fn groups(
    out: &mut impl Write,
    tally: &mut Tally,
    measure: Measure,
    table: &TableArgs,
) -> io::Result<()> {
    let mut groups: Vec<(&String, &mut Group)> = tally.groups.iter_mut().collect();
    groups.sort_by_key(|(name, group)| (Reverse(group.all()), *name));
    let mut printer = table.sheet(columns(), terminal_width()).printer(&mut *out);
    for (name, group) in groups {
        printer.push(row(name, group, measure))?;
    }
    report_left_out(&printer.end()?);
    Ok(())
}

fn row(name: &str, group: &mut Group, measure: Measure) -> Vec<String> {
    let none = |group: &Group, side| {
        let outcomes = [AnswerOutcome::Absent, AnswerOutcome::Failed];
        outcomes.iter().map(|outcome| group.answers(side, *outcome)).sum::<u64>().to_string()
    };
    let mut row = vec![
        name.to_owned(),
        group.all().to_string(),
        group.answered().to_string(),
        percent(group.agreement(measure)),
        percent(group.agreement(Measure::Outcome)),
        percent(group.agreement(Measure::First)),
        percent(group.agreement(Measure::Queues)),
        percent(group.overlap()),
        none(group, Side::Yardmaster),
        none(group, Side::Other),
    ];
    for side in Side::ALL {
        row.extend(milliseconds(group.times.get_mut(&side)));
    }
    row
}

/// All that is known of all of them.
pub(super) fn summary(
    out: &mut impl Write,
    tally: &mut Tally,
    measure: Measure,
    table: &TableArgs,
) -> io::Result<()> {
    let Some((first, last)) = tally.asked else {
        return writeln!(out, "no comparisons");
    };
    let (all, answered) = (tally.all.all(), tally.all.answered());
    writeln!(
        out,
        "{all} requests asked from {} to {}; {} carried out as Yardmaster answered",
        moment(first),
        moment(last),
        tally.led
    )?;
    writeln!(out, "\nagreement of the {answered} with two answers")?;
    let agreements = [
        ("the same outcome", Measure::Outcome),
        ("and the same queue first", Measure::First),
        ("and the same queues", Measure::Queues),
    ];
    for (words, it) in agreements {
        let sign = if it == measure { "  (--measure)" } else { "" };
        writeln!(out, "  {words:<26}{:>7}{sign}", percent(tally.all.agreement(it)))?;
    }
    let words = "mean overlap of spreads";
    writeln!(out, "  {words:<26}{:>7}", percent(tally.all.overlap()))?;
    sides(out, &mut tally.all, table)?;
    outcomes(out, tally, table)?;
    refusals(out, tally, table)?;
    figures(out, tally, table)?;
    gaps(out, tally, table)
}

/// A table below a heading; nothing where it has no rows.
fn section(
    out: &mut impl Write,
    heading: &str,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    table: &TableArgs,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{heading}")?;
    let count = rows.len();
    let mut printer = table.sheet(columns, terminal_width()).printer(&mut *out);
    rows.into_iter().take(ROWS_MAX).try_for_each(|row| printer.push(row))?;
    printer.end()?;
    match count.saturating_sub(ROWS_MAX) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more; --json has all"),
    }
}

fn sides(out: &mut impl Write, all: &mut Group, table: &TableArgs) -> io::Result<()> {
    let mut columns = vec![Column::text("side", 0)];
    columns.extend(AnswerOutcome::ALL.map(|outcome| Column::figure(outcome.name(), 1)));
    let times = PERCENTILES.map(|percent| Column::figure(&format!("p{percent}_ms"), 2));
    columns.extend(times);
    let row = |side: Side| {
        let counts = AnswerOutcome::ALL.map(|outcome| all.answers(side, outcome).to_string());
        let times = milliseconds(all.times.get_mut(&side));
        [side.name().to_owned()].into_iter().chain(counts).chain(times).collect()
    };
    section(out, "answers of each side", columns, Side::ALL.map(row).to_vec(), table)
}

fn outcomes(out: &mut impl Write, tally: &Tally, table: &TableArgs) -> io::Result<()> {
    let mut found: Vec<_> = tally.outcomes.iter().collect();
    found.sort_by_key(|(pair, count)| (Reverse(**count), *pair));
    let row =
        |(outcome, reason): &(AnswerOutcome, String)| [outcome.name().to_owned(), shown(reason)];
    let rows = found.iter().map(|(pair, count)| {
        let cells = [row(&pair.yardmaster), row(&pair.other)].concat();
        [vec![count.to_string()], cells].concat()
    });
    let columns = vec![
        Column::figure("requests", 0),
        Column::whole("yardmaster", 0),
        Column::text("its_reason", 2),
        Column::whole("other", 0),
        Column::text("other_reason", 2),
    ];
    section(out, "where the outcomes differ", columns, rows.collect(), table)
}

fn shown(text: &str) -> String {
    if text.is_empty() { NOTHING.to_owned() } else { text.to_owned() }
}

fn refusals(out: &mut impl Write, tally: &Tally, table: &TableArgs) -> io::Result<()> {
    let mut found: Vec<_> = tally.refusals.iter().collect();
    found.sort_by_key(|(why, (requests, _))| (why.by, Reverse(*requests), *why));
    let row = |(why, (requests, queues)): (&ByReason, &(u64, u64))| {
        vec![
            why.filter.clone().unwrap_or_else(|| "(not rejected)".to_owned()),
            shown(&why.reason),
            requests.to_string(),
            queues.to_string(),
        ]
    };
    let columns = || {
        vec![
            Column::text("filter", 0),
            Column::text("reason", 2),
            Column::figure("requests", 0),
            Column::figure("queues", 1),
        ]
    };
    let headings = [
        (Side::Yardmaster, "what the other broker chose and Yardmaster did not, by its filter"),
        (Side::Other, "what Yardmaster chose and the other broker did not, by its filter"),
    ];
    for (side, heading) in headings {
        let of_side = found.iter().filter(|(why, _)| why.by == side);
        let rows = of_side.map(|it| row(*it)).collect();
        section(out, heading, columns(), rows, table)?;
    }
    Ok(())
}

fn figures(out: &mut impl Write, tally: &Tally, table: &TableArgs) -> io::Result<()> {
    let count = |is_same, seen| tally.figures.get(&(is_same, seen)).copied().unwrap_or(0);
    let row = |(is_same, words): (bool, &str)| {
        let counts = FiguresSeen::ALL.map(|seen| count(is_same, seen).to_string());
        [words.to_owned()].into_iter().chain(counts).collect()
    };
    let mut columns = vec![Column::text("choice", 0)];
    columns.extend(FiguresSeen::ALL.map(|seen| Column::figure(seen.name(), 1)));
    let heading = "requests that both assign, by whether the figures of the queues concerned are \
                   more than 10 % apart";
    let rows = [(true, "the same"), (false, "another")].map(row).to_vec();
    let rows = if tally.figures.is_empty() { Vec::new() } else { rows };
    section(out, heading, columns, rows, table)
}

fn gaps(out: &mut impl Write, tally: &Tally, table: &TableArgs) -> io::Result<()> {
    let mut found: Vec<_> = tally.gaps.iter().collect();
    found.sort_by_key(|(queue, gap)| (Reverse(gap.wide), Reverse(gap.comparisons), *queue));
    let mean = |(mine, theirs, count): (u64, u64, u64)| match count {
        0 => [NOTHING.to_owned(), NOTHING.to_owned()],
        count => [mine, theirs].map(|sum| (sum / count).to_string()),
    };
    let rows = found.iter().map(|(queue, gap)| {
        let [running, other_running] = mean(gap.running);
        let [queued, other_queued] = mean(gap.queued);
        vec![
            (*queue).clone(),
            gap.comparisons.to_string(),
            gap.wide.to_string(),
            running,
            other_running,
            queued,
            other_queued,
        ]
    });
    let columns = vec![
        Column::text("queue", 0),
        Column::figure("requests", 0),
        Column::figure("apart", 0),
        Column::figure("running", 1),
        Column::figure("other_running", 1),
        Column::figure("queued", 1),
        Column::figure("other_queued", 1),
    ];
    let heading = "queues by which the choice differs: means of the figures of each side";
    section(out, heading, columns, rows.collect(), table)
}
