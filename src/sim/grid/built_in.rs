//! The built-in grid: four regions, each a nucleus with five smaller sites, 24 queues in all.
//! Names are made up; figures are of the size of the real ones (CRIC, network matrix).

use super::facts::Facts;
use crate::dice::Dice;
use yardmaster_core::event::{Endpoints, Link, LinkQueued, Queue, Site, Storage};

const REGIONS: [&str; 4] = ["NORTH", "EAST", "SOUTH", "WEST"];
/// Sites of a region; the first is its nucleus.
const SITES: [&str; 6] = ["T1", "T2A", "T2B", "T2C", "T2D", "HPC"];
/// Cores of a whole slot.
const WHOLE: u32 = 8;
pub(super) const TERA: u64 = 1_000_000_000_000;

/// Resource types: name, cores at most 1, memory per core at least and at most; MB (0: none).
const RESOURCE_TYPES: [(&str, bool, u32, u32); 4] = [
    ("SCORE", true, 0, 2_000),
    ("SCORE_HIMEM", true, 2_001, 0),
    ("MCORE", false, 0, 2_000),
    ("MCORE_HIMEM", false, 2_001, 0),
];

impl Facts {
    /// A small grid that needs no import. Always the same.
    pub fn built_in() -> Facts {
        let mut dice = Dice::new(0, "built-in grid");
        let mut facts = Facts::default();
        for region in REGIONS {
            for kind in SITES {
                add_site(&mut facts, &mut dice, region, kind);
            }
        }
        add_links(&mut facts, &mut dice);
        facts
    }
}

impl Facts {
    /// The same as of a PanDA outside ATLAS: parts of unified queues there are queues here.
    pub fn built_in_generic() -> Facts {
        let mut facts = Facts { is_generic: true, ..Facts::built_in() };
        for queue in &mut facts.queues {
            queue.name = queue.name.replace('/', "_");
            queue.unified.clone_from(&queue.name);
            queue.resource_type.clear();
            queue.ucore = false;
        }
        facts
    }
}

fn add_site(facts: &mut Facts, dice: &mut Dice, region: &str, kind: &str) {
    let site = format!("{region}-{kind}");
    let nucleus = kind == "T1";
    let disk = format!("{site}_DATADISK");
    facts.sites.push(Site {
        name: site.clone(),
        nucleus,
        active: true,
        tier: if nucleus { 1 } else { 2 },
        output_endpoint: disk.clone(),
        ..Site::default()
    });
    let total = if nucleus { 15 * TERA * 1_000 } else { dice.between(1_000, 5_000) as u64 * TERA };
    facts.storages.push(storage(&disk, &site, total, dice.within(0.05, 0.2)));
    if nucleus {
        let tape = Storage {
            kind: "DATATAPE".to_owned(),
            tape: true,
            ..storage(&format!("{site}_DATATAPE"), &site, 40_000 * TERA, 0.5)
        };
        facts.storages.push(tape);
    }
    let parent = parent(dice, region, kind, &site, disk);
    if kind == "HPC" {
        // Whole nodes only, one kind of job, a short time: an ordinary queue, not a unified one.
        facts.queues.push(Queue { ucore: false, max_time_s: 100_000, ..parent });
    } else {
        facts.queues.extend(RESOURCE_TYPES.iter().filter_map(|kind| pseudo(&parent, kind)));
    }
}

pub(super) fn storage(name: &str, site: &str, total: u64, free: f64) -> Storage {
    Storage {
        name: name.to_owned(),
        site: site.to_owned(),
        kind: "DATADISK".to_owned(),
        total_bytes: total,
        free_bytes: (total as f64 * free) as u64,
        expired_bytes: total / 200,
        read_lan: true,
        write_lan: true,
        read_wan: true,
        write_wan: true,
        ..Storage::default()
    }
}

fn parent(dice: &mut Dice, region: &str, kind: &str, site: &str, disk: String) -> Queue {
    let name = format!("{region}_{kind}");
    let push = matches!(kind, "T2D" | "HPC");
    Queue {
        unified: name.clone(),
        name,
        production: true,
        analysis: kind != "HPC",
        cloud: region.to_owned(),
        site: site.to_owned(),
        storage_site: site.to_owned(),
        cores: WHOLE,
        core_power_mhs06: dice.between(9_000, 18_000) as u32,
        max_rss_mb: [16_000, 32_000, 48_000][dice.weighted([0.25, 0.25, 0.5].into_iter())],
        max_time_s: [172_800, 345_600][dice.below(2)],
        max_wdir_mb: [80_000, 120_000, 160_000, 320_000][dice.below(4)],
        max_input_mb: 20_000,
        max_disk_io_kbps: if dice.chance(0.3) { 1_200 } else { 0 },
        transferring_limit: 2_000,
        pledged_cpu: if kind == "HPC" { -1 } else { 0 },
        workflow: if push { "push" } else { "pull_ups" }.to_owned(),
        ucore: true,
        wn_connectivity: "full#IPv4".to_owned(),
        direct_access_lan: dice.chance(0.5),
        releases: vec!["AUTO".to_owned()],
        jobseed: "std".to_owned(),
        endpoints: Endpoints { read: vec![disk.clone()], write: vec![disk] },
        ..Queue::default()
    }
}

/// A pseudo-queue (spec atlas 0.3); `None` where the queue has not the memory for it.
fn pseudo(parent: &Queue, &(name, single, least, most): &(&str, bool, u32, u32)) -> Option<Queue> {
    let cores = if single { 1 } else { WHOLE };
    let own = parent.max_rss_mb * cores / WHOLE;
    let min_rss_mb = if least == 0 { 0 } else { cores * least - cores + 1 };
    let max_rss_mb = if most == 0 { own } else { own.min(cores * most) };
    (max_rss_mb > min_rss_mb).then(|| Queue {
        name: format!("{}/{name}", parent.unified),
        resource_type: name.to_owned(),
        cores,
        min_rss_mb,
        max_rss_mb,
        max_wdir_mb: parent.max_wdir_mb * cores / WHOLE,
        ..parent.clone()
    })
}

/// A link from each site to each other. Within a region they are close and fast.
fn add_links(facts: &mut Facts, dice: &mut Dice) {
    let names: Vec<String> = facts.sites.iter().map(|site| site.name.clone()).collect();
    for source in &names {
        for destination in names.iter().filter(|name| *name != source) {
            let region = |site: &str| site.split('-').next().map(str::to_owned);
            let near = region(source) == region(destination);
            facts.links.push(link(dice, source, destination, near));
        }
    }
}

/// A link as it is measured.
pub(super) fn link(dice: &mut Dice, source: &str, destination: &str, near: bool) -> Link {
    let closeness = if near { dice.between(0, 3) } else { dice.between(3, 11) };
    let rate = dice.measured(&[0.5, 1.5, 6.0, 25.0, 62.0, 131.0, 558.0]);
    let rate = if near { rate * 3.0 } else { rate };
    let activity = "Analysis Input".to_owned();
    let files = dice.between(0, 400) as u64;
    Link {
        source: source.to_owned(),
        destination: destination.to_owned(),
        closeness: Some(closeness as i32),
        mbps_1h: dice.chance(0.6).then_some(rate),
        mbps_1d: dice.chance(0.9).then_some(rate * 0.8),
        mbps_1w: Some(rate * 0.9),
        queued: vec![LinkQueued { activity, files, bytes: files * 1_500_000_000 }],
        queued_known: true,
        ..Link::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_has_what_a_grid_needs() {
        let facts = Facts::built_in();
        let unified: BTreeSet<&str> = facts.queues.iter().map(|q| q.unified.as_str()).collect();
        assert_eq!(unified.len(), 24);
        assert_eq!(facts.sites.iter().filter(|site| site.nucleus).count(), 4);
        assert_eq!(facts.links.len(), 24 * 23);
        let storages: BTreeSet<&str> = facts.storages.iter().map(|s| s.name.as_str()).collect();
        for queue in &facts.queues {
            assert!(super::super::facts::takes_production(queue), "{}", queue.name);
            assert!(storages.contains(queue.endpoints.write[0].as_str()), "{}", queue.name);
        }
        for (name, ..) in RESOURCE_TYPES {
            assert!(facts.queues.iter().filter(|q| q.resource_type == name).count() >= 8, "{name}");
        }
        assert_eq!(facts, Facts::built_in());
    }
}
