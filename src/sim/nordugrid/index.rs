//! Index servers: two at the top, one in each country below both; clusters register at that of
//! their country every few minutes. Some registrations lapse, some are purged.

use super::agenda::NordugridStep;
use super::words::COUNTRIES;
use super::{NorduGrid, Standing};
use yardmaster_core::event::{ChildKind, Registration, RegistrationStatus};
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// Index servers at the top.
const TOPS: [&str; 2] = ["index1.nordugrid.org", "index2.nordugrid.org"];
/// How often something registers.
const REFRESH: Millis = 10 * MINUTE;
/// How often a registration is not refreshed for [`LAPSES`], and how often one is taken away.
const MISSED: (f64, f64) = (0.002, 0.001);
/// How long one is not refreshed.
const LAPSES: Millis = 50 * MINUTE;
/// How long one that was taken away is gone.
const PURGED: Millis = HOUR;

/// An index server at the top, for a user's list.
pub fn top(number: u64) -> &'static str {
    TOPS[(number % 2) as usize]
}

fn of_country(country: usize) -> String {
    format!("index.{}.nordugrid.org", COUNTRIES[country])
}

fn registration(registry: &str, child: &str, kind: ChildKind, now: Millis) -> Registration {
    Registration {
        registry: registry.to_owned(),
        child: child.to_owned(),
        changed_at: now,
        kind,
        addressed: true,
        expires: true,
        announced_refresh_s: (REFRESH / SECOND) as u64,
        ..Registration::default()
    }
}

impl NorduGrid {
    /// Plans the registrations.
    pub(super) fn plan_registrations(&mut self) {
        for country in 0..COUNTRIES.len() as u32 {
            self.after(0, NordugridStep::IndexRegisters(country));
        }
        for cluster in 0..self.clusters.len() as u32 {
            self.after_between(0, 5 * SECOND, NordugridStep::ClusterRegisters(cluster));
        }
    }

    /// The index server of a country registers at both above it, and so does its storage element.
    pub(super) fn index_registers(&mut self, country: u32) {
        let (name, now) = (of_country(country as usize), self.now);
        for top in TOPS {
            self.publisher.fact(&registration(top, &name, ChildKind::Registry, now));
        }
        let storage = self.catalogue.storages[country as usize].clone();
        self.publisher.fact(&registration(&name, &storage, ChildKind::Storage, now));
        self.after(REFRESH, NordugridStep::IndexRegisters(country));
    }

    /// A cluster registers, unless it does not answer or forgets to.
    pub(super) fn cluster_registers(&mut self, number: u32) {
        let [misses, goes] = [self.dice.chance(MISSED.0), self.dice.chance(MISSED.1)];
        let now = self.now;
        let cluster = &mut self.clusters[number as usize];
        if misses {
            cluster.unregistered_until = now + LAPSES;
        }
        let is_up = cluster.standing != Standing::Silent && now >= cluster.unregistered_until;
        let (registry, child) = (of_country(cluster.country), cluster.name.clone());
        if is_up {
            let it = registration(&registry, &child, ChildKind::Computing, now);
            self.publisher.fact(&it);
            if goes {
                self.clusters[number as usize].unregistered_until = now + PURGED;
                self.after_between(MINUTE, 5 * MINUTE, NordugridStep::Purged(number));
            }
        }
        self.after(REFRESH, NordugridStep::ClusterRegisters(number));
    }

    /// The registration of a cluster is taken away.
    pub(super) fn purged(&mut self, number: u32) {
        let cluster = &self.clusters[number as usize];
        let registry = of_country(cluster.country);
        let status = RegistrationStatus::Purged;
        let it = registration(&registry, &cluster.name, ChildKind::Computing, self.now);
        self.publisher.fact(&Registration { status, ..it });
    }
}
