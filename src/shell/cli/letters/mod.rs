//! `dead-letters`: records that could not be read, where they came from, and their way back.

mod home;
mod letter;
mod list;
mod redrive;
mod show;

use crate::cli::Ended;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::progress::Bar;
use crate::dirlog::Mode;
use crate::scan::Scan;
use crate::when::{When, when};
use clap::{Args, Subcommand};
use letter::{Letter, Origin};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Garbled;
use yardmaster_drive::port::LogError;

/// Lists records that could not be read, from the `dead-letter` topic: when, where they stood, why,
/// how many bytes, under which key.
///
/// Examples:
///   yardmaster dead-letters --bootstrap-server kafka:9092 --since 2h
///   yardmaster dead-letters show --dir yard job-state/3/1017
///   yardmaster dead-letters redrive --bootstrap-server kafka:9092 --reason oversized --dry-run
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, verbatim_doc_comment)]
pub struct DeadLetters {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    list: list::List,
}

#[derive(Subcommand)]
enum What {
    /// One of them: reason, origin, headers, its bytes, and what can be made of them.
    Show(show::ShowLetter),
    /// Publishes chosen ones again, as new records on the topic and partition they came from.
    Redrive(redrive::Redrive),
}

impl DeadLetters {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        match self.what {
            None => self.list.run(),
            Some(What::Show(show)) => show.run(),
            Some(What::Redrive(redrive)) => redrive.run(),
        }
    }
}

/// Which letters are meant.
#[derive(Args, Clone, Debug)]
struct Filter {
    /// Only those of this topic: its name here (job-state) or its name on the bus.
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only those with this reason: oversized, framing, unknown_schema, wrong_schema, malformed or
    /// null.
    #[arg(long, value_name = "REASON", value_parser = reason)]
    reason: Option<String>,
    /// Only those published since: an age before the last cycle (90s, 30m, 2h, 7d), a moment
    /// (2026-05-01T12:00:00Z), or ms since 1970.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    since: Option<When>,
}

impl Filter {
    /// The same with a moment in place of an age.
    fn settled(&self, log_args: &LogArgs, read: &Read) -> anyhow::Result<Filter> {
        let since = self.since.map(|when| log_args.moment(read, "--since", when)).transpose()?;
        Ok(Filter { since: since.map(When::At), ..self.clone() })
    }

    fn admits(&self, read: &Read, letter: &Letter) -> bool {
        let topic = self.topic.as_ref().is_none_or(|wanted| {
            letter.origin.as_ref().is_some_and(|origin| {
                let known = Topic::from_name(&origin.topic);
                let name = known.map(|topic| &read.topology.topic(topic).name);
                origin.topic == *wanted || name == Some(wanted)
            })
        });
        topic
            && self.reason.as_ref().is_none_or(|wanted| letter.reason == *wanted)
            && self.since.is_none_or(|since| letter.at >= since.before(letter.at))
    }
}

fn reason(text: &str) -> Result<String, String> {
    let words = Garbled::ALL.map(Garbled::name);
    if words.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("give one of {}", words.join(", ")))
    }
}

/// The place of a record: TOPIC/PARTITION/OFFSET.
fn origin(text: &str) -> Result<Origin, String> {
    Origin::parse(text).ok_or_else(|| "give TOPIC/PARTITION/OFFSET, as in job-state/3/1017".into())
}

/// Hands over every letter the filter admits, oldest first within a partition.
fn each_letter(
    log: &mut Scan,
    read: &Read,
    filter: &Filter,
    each: &mut dyn FnMut(Letter) -> Result<(), LogError>,
) -> anyhow::Result<()> {
    let mut spans = log.spans()?;
    spans.retain(|span| span.lane.topic == Topic::DeadLetter);
    let total = spans.iter().map(|span| span.stable_end.saturating_sub(span.first)).sum();
    let (mut bar, mut before) = (Bar::later("reading dead letters", "records", total), 0);
    for span in spans {
        log.read(span.lane, span.first, span.stable_end, &mut |record| {
            bar.at(before + record.offset.saturating_sub(span.first));
            let letter = Letter::read(span.lane, record);
            if filter.admits(read, &letter) { each(letter) } else { Ok(()) }
        })?;
        before += span.stable_end.saturating_sub(span.first);
    }
    Ok(())
}

/// The log a verb of this family reads.
fn open(log_args: &LogArgs, read: &Read, mode: Mode) -> anyhow::Result<Scan> {
    log_args.scan(&read.topology, mode)
}
