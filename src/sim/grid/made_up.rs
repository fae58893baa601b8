//! Stands in for facts that an imported grid lacks: figures of the size of real ones, drawn by the
//! names of things alone, so that the same queues give the same grid.

use super::built_in::{TERA, link, storage};
use super::facts::Facts;
use crate::dice::Dice;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::Storage;
use yardmaster_core::id::hash;

impl Facts {
    /// Adds a storage endpoint for each that queues and sites name and that is not known. Returns
    /// how many were added.
    pub fn make_up_storages(&mut self) -> usize {
        let known: BTreeSet<&str> = self.storages.iter().map(|it| it.name.as_str()).collect();
        let mut sites: BTreeMap<&str, &str> = BTreeMap::new();
        for queue in &self.queues {
            for name in queue.endpoints.read.iter().chain(&queue.endpoints.write) {
                sites.entry(name).or_insert(&queue.storage_site);
            }
        }
        for site in &self.sites {
            sites.insert(&site.output_endpoint, &site.name);
        }
        let nuclei: BTreeSet<&str> = self.nuclei().collect();
        sites.retain(|name, _| !name.is_empty() && !known.contains(name));
        let made: Vec<Storage> =
            sites.iter().map(|(name, site)| made_up(name, site, nuclei.contains(site))).collect();
        let count = made.len();
        self.storages.extend(made);
        count
    }

    /// Adds links between each nucleus and each site, in both directions, where none is known.
    /// Those within a cloud are close and fast. Returns how many were added.
    pub fn make_up_links(&mut self) -> usize {
        let ends = |source: &str, destination: &str| (source.to_owned(), destination.to_owned());
        let mut known: BTreeSet<(String, String)> =
            self.links.iter().map(|it| ends(&it.source, &it.destination)).collect();
        let mut clouds: BTreeMap<&str, &str> = BTreeMap::new();
        for queue in self.queues.iter().filter(|queue| !queue.storage_site.is_empty()) {
            clouds.entry(&queue.storage_site).or_insert(&queue.cloud);
        }
        let mut made = Vec::new();
        for nucleus in self.nuclei() {
            for (site, cloud) in clouds.iter().filter(|(site, _)| **site != nucleus) {
                let near = clouds.get(nucleus) == Some(cloud);
                for (source, destination) in [(nucleus, *site), (*site, nucleus)] {
                    if known.insert(ends(source, destination)) {
                        let seed = hash(format!("{source} {destination}").as_bytes());
                        let mut dice = Dice::new(seed, "made-up link");
                        made.push(link(&mut dice, source, destination, near));
                    }
                }
            }
        }
        let count = made.len();
        self.links.extend(made);
        count
    }

    fn nuclei(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().filter(|site| site.nucleus).map(|site| site.name.as_str())
    }
}

fn made_up(name: &str, site: &str, is_nucleus: bool) -> Storage {
    let mut dice = Dice::new(hash(name.as_bytes()), "made-up storage");
    let total = if is_nucleus { 15_000 } else { dice.between(1_000, 5_000) as u64 } * TERA;
    let drawn = storage(name, site, total, dice.within(0.05, 0.2));
    match name.rsplit('_').next().filter(|kind| *kind != name) {
        Some(kind) => Storage { kind: kind.to_owned(), tape: kind.contains("TAPE"), ..drawn },
        None => drawn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_queues_alone_gets_storages_and_links() {
        let built_in = Facts::built_in();
        let bare = Facts { storages: vec![], links: vec![], ..built_in.clone() };
        let mut made = bare.clone();
        assert_eq!(made.make_up_storages(), 24, "the disk of each site");
        assert_eq!(made.make_up_links(), 4 * 23 * 2 - 4 * 3, "each pair of nuclei is there once");
        let mut again = bare;
        again.make_up_storages();
        again.make_up_links();
        assert_eq!(made, again, "the same queues, the same grid");
        assert!(made.storages.iter().all(|it| it.free_bytes > 0 && !it.site.is_empty()));
        let mean = |near: bool| {
            let region = |site: &str| site.split('-').next().map(str::to_owned);
            let is_near = |source: &str, to: &str| region(source) == region(to);
            let links = made.links.iter().filter(|it| is_near(&it.source, &it.destination) == near);
            let closeness: Vec<i32> = links.filter_map(|it| it.closeness).collect();
            f64::from(closeness.iter().sum::<i32>()) / closeness.len() as f64
        };
        assert!(mean(true) < mean(false), "{} {}", mean(true), mean(false));
        assert_eq!((made.make_up_storages(), made.make_up_links()), (0, 0), "all are known now");
    }
}
