//! Filters of targets whose objection falls by itself: it is about what a cluster reports, and not
//! about what the job asks for.

/// Their names.
const MOVING: [&str; 5] =
    ["no_information", "queue_status", "queue_full", "cache_space", "disk_space"];

/// Whether the objection of a filter may fall without another job or another cluster.
pub(crate) fn moves(filter: &str) -> bool {
    MOVING.contains(&filter)
}

#[cfg(test)]
mod tests {
    use super::MOVING;
    use crate::domain::nordugrid::policy::NORDUGRID;

    #[test]
    fn there_are_filters_of_these_names() {
        for name in MOVING {
            assert!(NORDUGRID.filter(name).is_some(), "{name}");
        }
    }
}
