//! What of a request does not fit what is known: noted on its decisions by name.

use crate::core::engine::Engine;
use crate::core::event::Task;
use crate::core::id::cut;
use crate::core::request::admit::PLAUSIBLE_FROM;

/// Most unknown sites that are named on one decision.
const SITES_NAMED: usize = 5;

impl Engine {
    /// Notes on figures and names of a request that can hardly be meant; `makes_jobs` if its policy
    /// places jobs.
    pub(in crate::core) fn doubts(&self, task: &Task, makes_jobs: bool) -> Vec<String> {
        let state = &self.state;
        let longest = state.setting.limits.name_bytes;
        let mut notes = Vec::new();
        if makes_jobs && task.jobs == 0 {
            notes.push("jobs_missing(0, expected the number of jobs of the chunk)".to_owned());
        }
        let impossible = task.impossible.iter();
        notes.extend(impossible.map(|figure| format!("figure_impossible({figure})")));
        if task.asked_at < PLAUSIBLE_FROM {
            let expected = "expected milliseconds since 1970";
            notes.push(format!("asked_at_implausible({}, {expected})", task.asked_at));
        }
        let shares = &state.facts.shares;
        if !task.gshare.is_empty() && !shares.is_empty() && shares.of(&task.gshare).is_none() {
            notes.push(format!("gshare_unknown({})", cut(&task.gshare, longest)));
        }
        let named = task.site.split(',').map(str::trim).filter(|site| !site.is_empty());
        let unknown = named.filter(|site| !self.world.names_queue(site)).take(SITES_NAMED);
        notes.extend(unknown.map(|site| format!("site_unknown({})", cut(site, longest))));
        notes
    }
}
