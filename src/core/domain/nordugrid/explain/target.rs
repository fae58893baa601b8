//! How the target of a single job was chosen, and what the job takes there (spec cms-nordugrid B.7,
//! N-27).

use crate::domain::nordugrid::output::Placed;
use crate::explain::Context;
use crate::explain::{limit_sentence, span};
use crate::output::decision::{Decision, Ranked};
use crate::policy::phrase::bytes;
use std::fmt::{self, Write};

/// Writes what an assignment states beside the ranks.
pub(crate) fn write(
    text: &mut String,
    decision: &Decision,
    chosen: &Ranked,
    placed: &Placed,
    context: &Context<'_>,
) -> fmt::Result {
    writeln!(text, "chosen by {}: {}", placed.rule, rule(placed, context))?;
    let Placed { alternative, count, disk_bytes, cache_bytes, tags, .. } = placed;
    let time = placed.time_s.map_or("without limit".to_owned(), |time| {
        format!("for {}", span(i64::try_from(time).unwrap_or(i64::MAX)))
    });
    writeln!(
        text,
        "takes at {}: {count} CPUs {time}, {} of disk, {} of the cache for {} files; it is \
         alternative {alternative} of the description",
        chosen.queue,
        bytes(*disk_bytes as f64),
        bytes(*cache_bytes as f64),
        tags.len()
    )?;
    for limit in &decision.limits {
        writeln!(text, "  {}", limit_sentence(limit))?;
    }
    Ok(())
}

/// The rule that decided between the targets, as a phrase.
fn rule(placed: &Placed, context: &Context<'_>) -> String {
    if let Some(draw) = &placed.draw {
        let weights = match placed.rule.as_str() {
            "queue_ratio_draw" => "all CPUs (cms-nordugrid N-24)",
            _ => "free CPUs (cms-nordugrid N-23)",
        };
        return format!("targets of equal rank, weighted by {weights}; number drawn {}", draw.x);
    }
    match context.kinds.iter().find_map(|kind| kind.weight(&placed.rule)) {
        Some(key) => format!("{} ({})", key.help, key.spec),
        None => "no other target passed with enough free CPUs, or none passed at all".to_owned(),
    }
}
