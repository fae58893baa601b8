//! A demo in which much goes wrong, and what staleness and governor save then.

use super::commands::changed;
use crate::cli::log_args::Read;
use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;
use yardmaster_sim::detour::{BLOCKED, Detour, week};
use yardmaster_sim::grid::{Facts, Grid, Record};

/// Faults in a demo: records on detours, and a site whose links are blocked.
pub(super) struct Faults {
    detour: Detour,
    /// The site whose links are blocked, and from when until when.
    blocked: (String, Millis, Millis),
    is_blocked: bool,
}

impl Faults {
    /// The faults of a grid from its start on.
    pub fn of(seed: u64, start: Millis, facts: &Facts) -> Faults {
        let mut queues: BTreeMap<&str, usize> = BTreeMap::new();
        for link in &facts.links {
            *queues.entry(link.source.as_str()).or_default() += 1;
        }
        let busiest = queues.iter().max_by_key(|(site, links)| (**links, **site));
        let site = busiest.map(|(site, _)| (*site).to_owned()).unwrap_or_default();
        let names = facts.queues.iter().map(|it| it.unified.clone()).collect();
        Faults {
            detour: Detour::new(seed, week(start, &names)),
            blocked: (site, start + BLOCKED.0, start + BLOCKED.1),
            is_blocked: false,
        }
    }

    /// The records that arrive at a moment, of these and of those held up before.
    pub fn pass(&mut self, grid: &mut Grid, mut records: Vec<Record>, now: Millis) -> Vec<Record> {
        let (site, from, until) = &self.blocked;
        let is_blocked = *from <= now && now < *until;
        if is_blocked != self.is_blocked {
            grid.set_blocked(site, is_blocked, &mut records);
            self.is_blocked = is_blocked;
        }
        self.detour.pass(records, now)
    }
}

/// The topology without staleness and governor, as far as it can be without them: silence counts
/// from a day on for topics and from a week on for queues, and budgets are never used up.
pub(super) fn unguarded(read: &Read) -> anyhow::Result<Read> {
    changed(read, "without staleness and governor", |file| {
        let topics = file.get_mut("topics").and_then(toml::Value::as_table_mut);
        for (_, topic) in topics.into_iter().flatten() {
            if let Some(limit) = topic.get_mut("silence_limit_s") {
                *limit = 86_400.into();
            }
        }
        let bounds = [
            ("queue_silence_min", 10_080),
            ("jobs_per_queue", 1_000_000),
            ("jobs_per_rule", 10_000_000),
            ("jobs", 10_000_000),
            ("moves_per_job", 1_000),
        ];
        if let Some(governor) = file.get_mut("governor").and_then(toml::Value::as_table_mut) {
            governor.extend(bounds.map(|(key, value)| (key.to_owned(), value.into())));
        }
    })
}
