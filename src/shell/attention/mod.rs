//! Things that need a person: found by rules whose thresholds are in the topology, ordered, the
//! same cause once. The page, `top`, `attention` and metrics show this one list.
//!
//! The rules read what is known as of a cycle, and since when a thing is so as far as this process
//! saw it: what began before its start counts from there.

mod commands;
mod facts;
mod lookout;
mod memory;
mod pool;
mod process;
mod queues;
mod rejected;
mod requests;
mod shares;
mod sites;
#[cfg(test)]
mod tests;
mod words;

pub use lookout::{Lookout, counted};
pub use process::process_items;
pub use sites::{SiteState, SiteTrouble};

use facts::Facts;
use memory::Memory;
use yardmaster_core::unit::Millis;
use yardmaster_wire::topology::AttentionSettings;

/// So many items are listed; the others are counted.
const ITEMS_MAX: usize = 200;
/// So many names are listed of an item that is about several things.
const NAMES_MAX: usize = 20;
/// Things that have the same trouble are items of their own up to so many; more of them are one.
const ALIKE_MAX: usize = 3;

/// Names of all rules, in the order in which equals are listed.
pub const RULES: [&str; 19] = [
    "process",
    "stuck",
    "stale",
    "silent",
    "closed",
    "no_pilot",
    "no_start",
    "no_offer",
    "no_slots",
    "failing",
    "crowded",
    "circles",
    "held_back",
    "alert",
    "killed",
    "rejected",
    "request_age",
    "throttled",
    "share_off",
];

/// How urgent a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Somebody has to act.
    Act,
    /// It is to be watched.
    Watch,
    /// It is worth knowing.
    Note,
}

impl Severity {
    /// All, the most urgent first.
    pub const ALL: [Severity; 3] = [Severity::Act, Severity::Watch, Severity::Note];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Act => "act",
            Severity::Watch => "watch",
            Severity::Note => "note",
        }
    }
}

/// A thing that needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// How urgent it is.
    pub severity: Severity,
    /// The rule that found it: one of [`RULES`].
    pub rule: &'static str,
    /// Kind of the thing.
    pub kind: &'static str,
    /// Its name; of several things what they have in common.
    pub name: String,
    /// Names of several things; empty if it is one.
    pub names: Vec<String>,
    /// A verdict.
    pub title: String,
    /// One sentence with figures.
    pub text: String,
    /// Since when it is so, as far as it is known.
    pub since: Option<Millis>,
    /// Of how many things, jobs or requests it speaks; what it is ranked by.
    pub count: u64,
}

/// All that needs a person, as of a cycle.
#[derive(Clone, Debug, Default)]
pub struct Attention {
    /// The cycle's `now`.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// The items, the most urgent first.
    pub items: Vec<Item>,
    /// Items beyond the bound, which are not listed.
    pub more: usize,
    /// Sites, those in trouble first.
    pub sites: Vec<SiteState>,
}

impl Attention {
    /// Applies the rules to what is known.
    fn of(facts: &Facts<'_>, settings: &AttentionSettings, memory: &mut Memory) -> Attention {
        let found = queues::findings(facts, settings, memory);
        let mut items = queues::items(&found);
        items.extend(commands::items(facts, settings));
        items.extend(requests::items(facts, settings));
        items.extend(shares::items(facts, settings, memory));
        items.extend(pool::items(facts, settings, memory));
        memory.end_round();
        order(&mut items);
        let more = items.len().saturating_sub(ITEMS_MAX);
        items.truncate(ITEMS_MAX);
        let sites = sites::sites(facts, &found);
        Attention { now: facts.now(), cycle: facts.view.cycle, items, more, sites }
    }
}

/// Puts the most urgent first, of equals those of the first rule, then those with most behind them.
pub fn order(items: &mut [Item]) {
    let place = |item: &Item| RULES.iter().position(|rule| *rule == item.rule);
    items.sort_by(|a, b| {
        let by_urgency = a.severity.cmp(&b.severity).then_with(|| place(a).cmp(&place(b)));
        by_urgency.then_with(|| b.count.cmp(&a.count)).then_with(|| a.name.cmp(&b.name))
    });
}
