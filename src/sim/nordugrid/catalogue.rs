//! Files that jobs read, in datasets of different popularity, and the storage elements where they
//! lie.

use super::words::COUNTRIES;
use crate::dice::{Dice, Quantiles};
use yardmaster_core::event::{Location, Replica};
use yardmaster_core::unit::Millis;

/// Datasets.
const DATASETS: usize = 300;
/// Files of one dataset.
pub const FILES: usize = 10;
/// Sizes of files; MB.
const SIZES: Quantiles = [20.0, 150.0, 600.0, 1_500.0, 3_000.0, 4_000.0, 8_000.0];

/// All files, and the storage elements where they lie.
#[derive(Clone, Debug)]
pub struct Catalogue {
    files: Vec<File>,
    /// Storage elements: one of each country.
    pub storages: Vec<String>,
}

/// A file.
#[derive(Clone, Debug)]
pub struct File {
    /// Where jobs say it comes from.
    pub source: String,
    /// Its size.
    pub bytes: u64,
    /// Storage elements that have it, by their positions.
    pub at: Vec<usize>,
}

impl Catalogue {
    /// Files of a seed; `speed` makes them smaller.
    pub fn new(seed: u64, speed: u32) -> Catalogue {
        let mut dice = Dice::new(seed, "catalogue");
        let storages = COUNTRIES.map(|country| format!("srm.{country}.nordugrid.org"));
        let mut files = Vec::with_capacity(DATASETS * FILES);
        for dataset in 0..DATASETS {
            let mut at = vec![dice.below(storages.len())];
            while dice.chance(0.4) && at.len() < 3 {
                let other = dice.below(storages.len());
                if !at.contains(&other) {
                    at.push(other);
                }
            }
            for file in 0..FILES {
                let megabytes = dice.measured(&SIZES) / f64::from(speed);
                files.push(File {
                    source: format!("rls://rls.nordugrid.org/data{dataset:03}.{file}.root"),
                    bytes: (megabytes * 1e6) as u64,
                    at: at.clone(),
                });
            }
        }
        Catalogue { files, storages: storages.to_vec() }
    }

    /// A file by its number.
    pub fn file(&self, number: u32) -> &File {
        &self.files[number as usize]
    }

    /// Numbers of all files.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        0..self.files.len() as u32
    }

    /// Some files of one dataset; the first datasets are read most.
    pub fn some(&self, dice: &mut Dice, most: usize) -> Vec<u32> {
        let unit = dice.unit();
        let dataset = ((unit * unit * unit * DATASETS as f64) as usize).min(DATASETS - 1);
        let count = 1 + dice.below(most);
        let first = dice.below(FILES);
        let file = |at: usize| (dataset * FILES + (first + at) % FILES) as u32;
        (0..count.min(FILES)).map(file).collect()
    }

    /// The record that lists every copy of a file.
    pub fn record(&self, number: u32, now: Millis) -> Replica {
        let file = self.file(number);
        let locations = file.at.iter().map(|at| location(&self.storages[*at], file.bytes, false));
        Replica { locations: locations.collect(), ..replica(file, now) }
    }

    /// The record of a file in the cache of a cluster, or no longer there.
    pub fn cached(&self, number: u32, cluster: &str, is_there: bool, now: Millis) -> Replica {
        let file = self.file(number);
        let there = is_there.then(|| location(cluster, file.bytes, true));
        Replica {
            locations: there.into_iter().collect(),
            endpoint: cluster.to_owned(),
            ..replica(file, now)
        }
    }
}

fn replica(file: &File, now: Millis) -> Replica {
    Replica {
        name: file.source.clone(),
        changed_at: now,
        bytes: file.bytes,
        files: 1,
        ..Replica::default()
    }
}

fn location(endpoint: &str, bytes: u64, cache: bool) -> Location {
    Location {
        endpoint: endpoint.to_owned(),
        files: 1,
        bytes,
        complete: true,
        cache,
        ..Location::default()
    }
}
