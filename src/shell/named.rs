//! A user, a working group or the idle jobs of a workflow, as text: what `explain` shows of a name
//! that is no task, no job and no place.

use crate::question::NONE_OF_POOL;
use crate::waiting::WaitingRow;
use yardmaster_core::explain::{NameStanding, iso, span};
use yardmaster_core::state::ledger::Totals;
use yardmaster_core::unit::{Millis, SECOND};

/// What a user or working group has; `None`: nothing is known of one.
pub fn owner_text(standing: &NameStanding, name: &str) -> Option<String> {
    let owners = [("user", standing.user), ("group", standing.group)];
    let known = owners.into_iter().zip(standing.asking).filter_map(|((kind, totals), asking)| {
        let totals = totals.filter(|it| *it != Totals::default());
        (totals.is_some() || asking > 0).then(|| (kind, totals.unwrap_or_default(), asking))
    });
    let least = if standing.uncounted > 0 { "at least " } else { "" };
    let texts = known.map(|(kind, totals, asking)| {
        let Totals {
            running_jobs, queued_jobs, running_cores, queued_cores, reserved_jobs, ..
        } = totals;
        let (noun, of) = match kind {
            "user" => ("user", "; those for a working group count as the group's"),
            _ => ("working group", ""),
        };
        format!(
            "{name}: a {noun}, as of {}\n\
             \x20 jobs      {running_jobs} run on {running_cores} cores, {queued_jobs} are queued \
             for {queued_cores}, {reserved_jobs} were given to queues and not seen there yet{of}\n\
             \x20 requests  {least}{asking} wait: `yardmaster waiting --user '{name}'`\n\
             \x20 use       beside others: `yardmaster usage --by {kind}`\n",
            iso(standing.now)
        )
    });
    Some(texts.collect::<String>()).filter(|text| !text.is_empty())
}

/// Why the idle jobs of a workflow wait, and what helps.
pub fn waits_text(row: &WaitingRow, now: Millis) -> String {
    let WaitingRow { jobs, title, reason, help, helps, .. } = row;
    let help = if help.is_empty() { String::new() } else { format!(": {help}") };
    let slots = match (row.last_slots_at, row.jobs_with_slots) {
        (Some(at), _) => format!("last slots {} ago", span(now.saturating_sub(at) / SECOND)),
        (None, Some(0)) => {
            format!("none of its jobs is known to have got slots\n  start     {NONE_OF_POOL}")
        }
        (None, _) => "when it last got slots is not known".to_owned(),
    };
    format!(
        "  waits     {jobs} jobs: {title} ({reason}){help}\n  helps     {}; {slots}\n",
        helps_text(helps.name())
    )
}

/// Help against a reason, by its name, in words.
pub fn helps_text(name: &str) -> &'static str {
    match name {
        "turn" => "judged soon",
        "time" => "goes by itself",
        "throttle" => "goes when the throttle is lifted",
        _ => "waiting does not help",
    }
}
