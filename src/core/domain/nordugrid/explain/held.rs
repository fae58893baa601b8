//! Until when an assignment of one job holds what it takes if nothing is heard of the job (spec
//! cms-nordugrid N-27).

use crate::explain::{Context, iso};
use crate::output::decision::Decision;
use std::fmt::{self, Write};

/// Writes it; nothing for other decisions, or where the limits in force are not known.
pub(crate) fn write(text: &mut String, decision: &Decision, context: &Context<'_>) -> fmt::Result {
    let (Some(_), Some(limits)) = (&decision.placed, context.limits) else { return Ok(()) };
    let until = iso(decision.now.saturating_add(limits.reservation_lifetime_ms));
    writeln!(
        text,
        "held until facts of the target contain the job; without a record of its state until {until}"
    )
}
