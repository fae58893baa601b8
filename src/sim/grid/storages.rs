//! Storage endpoints: they fill, are cleaned, and are shut for some hours now and then.

use super::Grid;
use super::agenda::GridStep;
use super::facts::Facts;
use crate::dice::Dice;
use std::collections::BTreeMap;
use yardmaster_core::event::Storage;
use yardmaster_core::unit::{HOUR, MINUTE, Millis};

/// All endpoints.
pub struct Storages {
    pub all: Vec<LiveStorage>,
    /// Nucleus to its output endpoint.
    outputs: BTreeMap<String, usize>,
}

/// An endpoint.
pub struct LiveStorage {
    /// As last published.
    pub storage: Storage,
    /// Free space now, and in good days.
    free: f64,
    usual: f64,
    /// Shut until then; 0: open.
    shut_until: Millis,
    /// Of what becomes of it.
    dice: Dice,
}

/// Endpoints are measured so often.
pub const PERIOD: Millis = 5 * MINUTE;
/// Part of an endpoint's space that must have changed for it to be published again.
const CHANGE: f64 = 0.001;
/// Part of all measurements at which others write or delete, and how much at most.
const OTHERS: (f64, f64) = (0.1, 0.004);
/// Below this part of its usual free space an endpoint is cleaned, above the other others write.
const LOW: f64 = 0.4;
const HIGH: f64 = 1.6;
/// Part of all measurements at which an endpoint is shut for writing, and for how long.
const SHUT: f64 = 1.0 / 2_000.0;
const SHUT_SPAN: (Millis, Millis) = (30 * MINUTE, 4 * HOUR);

impl Storages {
    /// The endpoints of the facts.
    pub fn new(seed: u64, facts: &Facts) -> Storages {
        let all: Vec<LiveStorage> = facts
            .storages
            .iter()
            .map(|storage| {
                let free = storage.free_bytes as f64;
                let dice = Dice::new(seed, &format!("storage {}", storage.name));
                LiveStorage { storage: storage.clone(), free, usual: free, shut_until: 0, dice }
            })
            .collect();
        let at = |name: &str| all.iter().position(|live| live.storage.name == name);
        let outputs = facts
            .sites
            .iter()
            .filter_map(|site| Some((site.name.clone(), at(&site.output_endpoint)?)))
            .collect();
        Storages { all, outputs }
    }

    /// Output arrived at a nucleus.
    pub fn store(&mut self, nucleus: &str, bytes: u64) {
        if let Some(at) = self.outputs.get(nucleus) {
            let live = &mut self.all[*at];
            live.free = (live.free - bytes as f64).max(0.0);
        }
    }
}

impl LiveStorage {
    /// Whether there is anything to publish.
    fn measure(&mut self, now: Millis) -> bool {
        let dice = &mut self.dice;
        let total = self.storage.total_bytes as f64;
        if dice.chance(OTHERS.0) {
            self.free += total * dice.within(-OTHERS.1, OTHERS.1);
        }
        if self.free < self.usual * LOW {
            self.free += (self.usual - self.free) / 2.0;
        } else if self.free > self.usual * HIGH {
            self.free = self.usual;
        }
        self.free = self.free.clamp(0.0, total);
        let was_open = self.storage.write_lan;
        if self.shut_until != 0 && self.shut_until <= now {
            self.shut_until = 0;
            self.storage.write_lan = true;
        } else if was_open && dice.chance(SHUT) {
            self.shut_until = now + dice.between(SHUT_SPAN.0, SHUT_SPAN.1);
            self.storage.write_lan = false;
        }
        let moved = (self.free - self.storage.free_bytes as f64).abs();
        moved > total * CHANGE || was_open != self.storage.write_lan
    }
}

impl Grid {
    pub(super) fn storage_measured(&mut self) {
        for live in &mut self.storages.all {
            if live.measure(self.now) {
                live.storage.free_bytes = live.free as u64;
                live.storage.changed_at = self.now;
                self.publisher.fact(&live.storage);
            }
        }
        self.after(PERIOD, GridStep::StorageMeasured);
    }
}
