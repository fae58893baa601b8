//! `site` and `panda_site`: the nuclei, and where their output goes.

use super::super::Imported;
use crate::dialect::change::FactRow;
use std::collections::BTreeMap;
use yardmaster_core::event::{Configuration, Site};
use yardmaster_core::unit::Millis;

/// Site records of the nuclei. The default output endpoint is that of most queues whose storage is
/// at the site; of equals the first by name.
pub(super) fn records<'a>(
    sites: impl Iterator<Item = &'a FactRow>,
    queues: impl Iterator<Item = &'a FactRow>,
    now: Millis,
) -> Imported {
    let mut endpoints: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    for queue in queues {
        let site = match queue.text("storage_site_name") {
            "" => queue.text("site_name"),
            site => site,
        };
        let endpoint = queue.text("default_ddm_endpoint");
        if !endpoint.is_empty() {
            *endpoints.entry(site).or_default().entry(endpoint).or_default() += 1;
        }
    }
    let nuclei = sites.filter(|row| row.text("role").eq_ignore_ascii_case("nucleus"));
    let record = |row: &FactRow| {
        // Reversed, since the last of equals would be taken.
        let of_site = endpoints.get(&*row.key).into_iter().flatten();
        let endpoint = of_site.rev().max_by_key(|(_, queues)| **queues);
        // PanDA's own table has no state: its nuclei are all active (spec Q-4).
        let state = row.text("state");
        Site {
            name: row.key.clone(),
            changed_at: now,
            nucleus: true,
            active: state.is_empty() || state.eq_ignore_ascii_case("active"),
            tier: row.number("tier_level").filter(|tier| (0.0..=4.0).contains(tier)).unwrap_or(0.0)
                as u32,
            output_endpoint: endpoint.map_or("", |(endpoint, _)| endpoint).to_owned(),
            ..Site::default()
        }
    };
    let records = nuclei.map(record).map(Configuration::Site);
    Imported { records: records.collect(), ..Imported::default() }
}
