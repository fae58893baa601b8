//! Queues of ATLAS at a glance: status, site and cloud as configured.

use crate::event::is_newer;
use crate::state::State;
use crate::view::row::ViewRows;

/// Adds what is configured. Pseudo-queues share the jobs of their unified queue, whose own record
/// speaks for it.
pub(crate) fn describe(rows: &mut ViewRows, state: &State) {
    for (_, fact) in state.facts.queues.iter() {
        let Some(queue) = fact.current(is_newer) else { continue };
        let row = rows.at(&queue.unified);
        if !row.status.is_empty() && queue.name != queue.unified {
            continue;
        }
        row.status = queue.status.name().to_owned();
        row.changed_at = Some(queue.changed_at);
        row.site.clone_from(&queue.site);
        let group = match queue.first_cloud() {
            "" => queue.site.as_str(),
            cloud => cloud,
        };
        group.clone_into(&mut row.group);
    }
}
