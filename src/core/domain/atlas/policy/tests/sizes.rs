//! Filters that ask how large, of figures that are no numbers.

use super::{BOTH, task};
use crate::domain::atlas::policy::sample::{candidate, case, queue};

#[test]
fn hostile_sizes_are_survived() {
    let mut queue = queue("A");
    (queue.max_time_s, queue.min_time_s, queue.max_wdir_mb) = (1, 1, 1);
    (queue.max_rss_mb, queue.min_rss_mb) = (1, u32::MAX);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, f64::MAX] {
        let task = task(|task| {
            task.cpu_hs06s_per_event = Some(value);
            task.walltime_s_per_mb = Some(value);
            task.output_per_event = Some(value);
            task.atom_effective_mb = value;
            (task.atom_events, task.atom_bytes) = (u64::MAX, u64::MAX);
        });
        for rules in BOTH {
            for (filter, objects) in [("memory", true), ("scratch", true), ("walltime", false)] {
                let found = super::objection_of(rules, filter, &case(&task), &candidate(&queue));
                assert!(found.is_some() || !objects, "{filter} with {value}");
            }
        }
    }
}
