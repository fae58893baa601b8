//! What an assignment of one job takes at its target, and until when, as text.

use super::{Context, Written, iso};
use crate::core::output::decision::{Decision, Ranked};
use crate::core::output::placed::Placed;
use std::fmt::Write;

/// What a placement takes. Without the limits in force it is not known when it ends.
pub(super) fn write(
    text: &mut String,
    decision: &Decision,
    ranked: &[Ranked],
    context: &Context<'_>,
) -> Written {
    let (Some(placed), Some(chosen)) = (&decision.placed, ranked.first()) else { return Ok(()) };
    let Placed { count, disk_bytes, cache_bytes, .. } = placed;
    let time = match placed.time_s {
        Some(seconds) => format!("for {seconds} s"),
        None => "without limit of time".to_owned(),
    };
    writeln!(text, "takes at {}, until facts of the target contain the job:", chosen.queue)?;
    writeln!(text, "        {count} CPUs {time}, disk {disk_bytes} B, cache {cache_bytes} B")?;
    if let Some(limits) = context.limits {
        let until = decision.now.saturating_add(limits.reservation_lifetime_ms);
        writeln!(text, "        without a record of the job's state until {}", iso(until))?;
    }
    Ok(())
}
