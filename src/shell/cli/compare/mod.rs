//! `compare`: how often the answers of Yardmaster agree with those of another broker.

mod by;
mod json;
mod read;
mod report;

use crate::cli::log_args::{LogArgs, Read};
use crate::cli::table::TableArgs;
use crate::cli::{Ended, Usage, progress};
use crate::ports::AnyLog;
use crate::when::{When, when};
use by::GroupKey;
use clap::{Args, ValueEnum};
pub(super) use read::{AskedPeriod, comparisons};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;
use yardmaster_core::comparison::{Comparison, Measure, Tally};
use yardmaster_core::explain::explain_comparison;
use yardmaster_core::plain::plain_lines;

/// Text of `--help` below the flags.
const HELP: &str = "\
A client that asks a broker of its own as well (PanDA's JEDI in shadow) writes both answers to
topic `comparison`. This verb reads it: how often the answers agree, in what they differ and by
which filter, whether the figures differ that both went by, and how long each took.
docs/comparison.md says how to decide by it. Two answers agree if the outcome is the same and, of
assignments, the queue that comes first, or could have among equal weights; --measure takes less or
more. Comparisons in which a side gave no answer, or failed, are counted apart. In reasons `N`
stands for each number.
Exits 1 when fewer agree than --min-agreement, or none has two answers.

Examples:
  yardmaster compare --bootstrap-server kafka:9092 --from 7d
  yardmaster compare --bootstrap-server kafka:9092 --by gshare --min-agreement 95%
  yardmaster compare --dir yard --by filter --columns group,answered,agree
  yardmaster compare --bootstrap-server kafka:9092 --subject 45123456/17";

/// How often two brokers agree, and why not.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Compare {
    #[command(flatten)]
    log_args: LogArgs,
    /// Only requests asked since: an age before the last cycle (90s, 30m, 2h, 7d), a moment
    /// (2026-05-01T12:00:00Z), or ms since 1970.
    #[arg(long, alias = "since", value_name = "WHEN", value_parser = when)]
    from: Option<When>,
    /// Only requests asked before, likewise.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    to: Option<When>,
    /// One table, with a row for each group.
    #[arg(long, value_enum, conflicts_with = "subject")]
    by: Option<GroupKey>,
    /// How much two answers must have in common to agree.
    #[arg(long, value_enum, default_value = "first")]
    measure: MeasureArg,
    /// Exit 1 if a smaller part of the requests with two answers agrees: a percentage, as in 95%.
    /// With --by each group must reach it.
    #[arg(long, value_name = "PERCENT", value_parser = percentage, conflicts_with = "subject")]
    min_agreement: Option<f64>,
    /// The comparisons of one subject (task/chunk), or of a task, in full.
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    #[command(flatten)]
    table: TableArgs,
}

/// [`Measure`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MeasureArg {
    /// The same outcome.
    Outcome,
    /// And the same queue first.
    First,
    /// And the same set of queues.
    Queues,
}

impl MeasureArg {
    fn measure(self) -> Measure {
        match self {
            MeasureArg::Outcome => Measure::Outcome,
            MeasureArg::First => Measure::First,
            MeasureArg::Queues => Measure::Queues,
        }
    }
}

/// A percentage as a part of 1.
fn percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|it| it.trim().parse::<f64>().ok());
    match number.filter(|it| (0.0..=100.0).contains(it)) {
        Some(number) => Ok(number / 100.0),
        None => Err(format!("{text:?} is no percentage; give one from 0% to 100%, as in 95%")),
    }
}

impl Compare {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        self.table.check(report::columns().iter().map(|it| it.name.as_str()))?;
        if self.by.is_none() && self.table.is_chosen() {
            let what = "--columns chooses those of the table that --by prints";
            return Err(Usage(format!("{what}; give --by too")).into());
        }
        let read = self.log_args.read_log()?;
        let asked = self.asked(&read)?;
        let domain = &read.topology.domain;
        let Some(mut log) = self.log_args.comparison_log(&read.topology)? else {
            return Err(Usage(format!(
                "no topic for comparisons: the topology {} needs a [topics.comparison], and \
                 `topology apply` makes it",
                read.name
            ))
            .into());
        };
        match &self.subject {
            Some(subject) => self.show(&mut log, domain, asked, subject),
            None => self.sum_up(&mut log, domain, asked),
        }
    }

    fn asked(&self, read: &Read) -> anyhow::Result<AskedPeriod> {
        let moment = |flag, when: Option<When>| {
            when.map(|when| self.log_args.moment(read, flag, when)).transpose()
        };
        let (from, until) = (moment("--from", self.from)?, moment("--to", self.to)?);
        if from.zip(until).is_some_and(|(from, until)| from >= until) {
            let what = "--from is not before --to: no request was asked between them";
            return Err(Usage(format!("{what}; give an earlier --from or a later --to")).into());
        }
        Ok(AskedPeriod { from, until })
    }

    /// Prints each comparison of a subject.
    fn show(&self, log: &mut AnyLog, domain: &str, asked: AskedPeriod, subject: &str) -> Ended {
        let mut found: Vec<Comparison> = Vec::new();
        let passed = comparisons(log, domain, asked, |it| {
            if it.is_about(subject) {
                found.push(it);
            }
        })?;
        passed.report();
        found.sort_by(|a, b| a.place().cmp(&b.place()));
        if found.is_empty() {
            eprintln!("no comparison of {subject:?} in the log; give a task or a task/chunk");
            return Ok(ExitCode::FAILURE);
        }
        progress::give_way();
        let mut out = io::BufWriter::new(io::stdout().lock());
        for it in &found {
            match self.table.json {
                true => writeln!(out, "{}", json::one(it))?,
                false => write!(out, "{}", plain_lines(&explain_comparison(it)))?,
            }
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints all comparisons summed up.
    fn sum_up(&self, log: &mut AnyLog, domain: &str, asked: AskedPeriod) -> Ended {
        let mut tally = Tally::default();
        let none = BTreeSet::new();
        let passed = comparisons(log, domain, asked, |it| match self.by {
            Some(by) => tally.add(&it, &by.groups(&it)),
            None => tally.add(&it, &none),
        })?;
        passed.report();
        progress::give_way();
        let measure = self.measure.measure();
        let mut out = io::BufWriter::new(io::stdout().lock());
        match (self.table.json, self.by) {
            (true, by) => writeln!(out, "{}", json::sum(&mut tally, by, measure))?,
            (false, Some(_)) => report::groups(&mut out, &mut tally, measure, &self.table)?,
            (false, None) => report::summary(&mut out, &mut tally, measure, &self.table)?,
        }
        out.flush()?;
        Ok(if self.is_enough(&tally) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Whether as many agree as are to; names on stderr what does not reach it.
    fn is_enough(&self, tally: &Tally) -> bool {
        let Some(least) = self.min_agreement else { return true };
        let measure = self.measure.measure();
        let mut is_enough = true;
        let mut check = |name: &str, agreement: Option<f64>| {
            let found = match agreement {
                Some(found) if found >= least => return,
                Some(found) => format!("{} agree", report::percent(Some(found))),
                None => "no request has two answers".to_owned(),
            };
            is_enough = false;
            eprintln!("{name}: {found}, and --min-agreement is {}", report::percent(Some(least)));
        };
        // A share of which nobody answered agrees with nothing. A filter, or a queue, without two
        // answers has nothing to be judged by: then all must have some.
        let is_partition = self.by.is_some_and(GroupKey::is_partition);
        let has_answers = tally.all.answered() > 0;
        if self.by.is_none() || tally.groups.is_empty() || (!is_partition && !has_answers) {
            check("all", tally.all.agreement(measure));
        }
        let groups = tally.groups.iter().filter(|(_, it)| is_partition || it.answered() > 0);
        groups.for_each(|(name, group)| check(name, group.agreement(measure)));
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_part_and_has_its_sign() {
        assert_eq!(percentage("95%"), Ok(0.95));
        assert_eq!(percentage("0 %"), Ok(0.0));
        for bad in ["95", "0.95", "101%", "-1%", "%", "NaN%", "x%"] {
            assert!(percentage(bad).is_err_and(|it| it.contains("95%")), "{bad}");
        }
    }
}
