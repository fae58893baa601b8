//! `site`, `panda_site`, `panda_ddm_relation`: the nuclei, and where their output goes.

use super::super::Imported;
use crate::dialect::change::FactRow;
use std::collections::BTreeMap;
use yardmaster_core::event::{Configuration, Site};
use yardmaster_core::unit::Millis;

/// By site and endpoint: how many queues write there by default.
pub(super) type Outputs<'a> = BTreeMap<&'a str, BTreeMap<&'a str, u32>>;

/// Where queues write by default: the endpoint of scope `default` that their relations mark, of the
/// nucleus that their site is. A database of which relations are not captured has the endpoint of a
/// queue in its `panda_site`.
pub(super) fn outputs<'a>(
    queues: Option<&'a BTreeMap<String, FactRow>>,
    relations: impl Iterator<Item = &'a FactRow>,
) -> Outputs<'a> {
    let mut outputs = Outputs::new();
    let mut note = |site: &'a str, endpoint: &'a str| {
        *outputs.entry(site).or_default().entry(endpoint).or_default() += 1;
    };
    let mut relations = relations.peekable();
    let has_relations = relations.peek().is_some();
    for it in relations.filter(|it| is_output(it)) {
        let queue = queues.and_then(|queues| queues.get(it.text("panda_site_name")));
        if let Some(queue) = queue {
            note(queue.text("site_name"), it.text("ddm_endpoint_name"));
        }
    }
    for queue in queues.into_iter().flat_map(BTreeMap::values).filter(|_| !has_relations) {
        let (site, endpoint) =
            (queue.text("storage_site_name"), queue.text("default_ddm_endpoint"));
        if !endpoint.is_empty() {
            note(if site.is_empty() { queue.text("site_name") } else { site }, endpoint);
        }
    }
    outputs
}

/// Whether output goes there by default.
fn is_output(relation: &FactRow) -> bool {
    matches!(relation.text("scope"), "" | "default")
        && relation.text("default_write").eq_ignore_ascii_case("y")
        && relation.text("roles").contains("write_lan")
}

/// Site records of the nuclei. The default output endpoint is that of most of its queues; of equals
/// the first by name.
pub(super) fn records<'a>(
    sites: impl Iterator<Item = &'a FactRow>,
    outputs: &Outputs<'_>,
    now: Millis,
) -> Imported {
    let nuclei = sites.filter(|row| row.text("role").eq_ignore_ascii_case("nucleus"));
    let record = |row: &FactRow| {
        // Reversed, since the last of equals would be taken.
        let of_site = outputs.get(&*row.key).into_iter().flatten();
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
