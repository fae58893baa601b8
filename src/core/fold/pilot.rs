//! Pilot, worker and slot reports.

use crate::cut::Topic;
use crate::event::Pilot;
use crate::id::{Key, Name};
use crate::oddity::Oddity;
use crate::state::State;
use crate::state::prefetch::Sought;
use crate::state::record::{Node, SlotFigure, Workers};
use crate::state::timer::NodePart;
use crate::unit::Millis;

impl State {
    pub(super) fn fold_pilot(&mut self, event: &Pilot<'_>, sought: Sought, bound: Millis) {
        let queue = self.queue_of_report(event.queue(), sought);
        let at = event.at().min(bound);
        let marks = self.marks.entry(queue).or_default();
        marks.pilot = marks.pilot.max(at);
        self.touched.pilot.add(queue);
        match *event {
            Pilot::AskedJob { .. } => {
                self.fold_node(sought, queue, at, 0);
            }
            Pilot::UpdatedJob { .. } => {
                self.fold_node(sought, queue, 0, at);
            }
            Pilot::Nodes { nodes_asked, nodes_updated, .. } => {
                let names = (Name::NONE, Name::NONE);
                self.fold_workers(report(
                    sought.key,
                    queue,
                    names,
                    (nodes_asked, nodes_updated, at),
                    true,
                ));
            }
            Pilot::Workers { harvester, resource_type, submitted, running, .. } => {
                let known = self.workers.of(sought.key).map(|it| (it.harvester, it.resource_type));
                let names =
                    known.unwrap_or_else(|| (self.name(harvester), self.name(resource_type)));
                let counts = (submitted, running, at);
                self.fold_workers(report(sought.key, queue, names, counts, false));
            }
            Pilot::Slots { gshare, resource_type, slots, expires_at, .. } => {
                let slots = SlotFigure {
                    queue,
                    gshare: self.name(gshare),
                    resource_type: self.name(resource_type),
                    at,
                    slots,
                    expires_at,
                };
                self.fold_slots(slots);
            }
            Pilot::SlotOffer { .. } | Pilot::SlotWithdrawn { .. } => self.fold_offer(event, at),
        }
    }

    /// The queue's name, which is mostly that of what is known of the same node.
    #[inline]
    fn queue_of_report(&mut self, queue: &str, sought: Sought) -> Name {
        match self.nodes.slab.get(sought.slot) {
            Some(known) if self.names.is(known.queue, queue) => known.queue,
            _ => self.name(queue),
        }
    }

    fn fold_node(&mut self, sought: Sought, queue: Name, asked_at: Millis, updated_at: Millis) {
        let horizon = self.times.of(Topic::Pilot).time - self.setting.limits.node_window_ms;
        if asked_at.max(updated_at) <= horizon.max(0) {
            return self.odd(Topic::Pilot, Oddity::TooLate);
        }
        let key = sought.key;
        let slot = self.nodes.find_sought(sought);
        let old = slot.and_then(|slot| self.nodes.slab.get(slot)).copied();
        let new = match old {
            None => Node { key, queue, asked_at, updated_at },
            Some(old) => Node {
                asked_at: old.asked_at.max(asked_at),
                updated_at: old.updated_at.max(updated_at),
                ..old
            },
        };
        match (slot, old) {
            (Some(slot), Some(old)) => {
                if let Some(held) = self.nodes.slab.get_mut(slot) {
                    *held = new;
                }
                let counts = |node: &Node| (node.asked_at != 0, node.updated_at != 0);
                if counts(&new) != counts(&old) {
                    self.ledger.node(&new, 1);
                    self.ledger.node(&old, -1);
                }
            }
            _ => {
                self.nodes.insert(new);
                self.ledger.node(&new, 1);
            }
        }
        let window = self.setting.limits.node_window_ms;
        if new.asked_at != 0 && old.is_none_or(|old| old.asked_at == 0) {
            self.timers.nodes.set(new.asked_at.saturating_add(window), (key, NodePart::Asked));
        }
        if new.updated_at != 0 && old.is_none_or(|old| old.updated_at == 0) {
            self.timers.nodes.set(new.updated_at.saturating_add(window), (key, NodePart::Updated));
        }
    }

    fn fold_workers(&mut self, new: Workers) {
        if new.over_at(&self.setting.limits) <= self.times.of(Topic::Pilot).time {
            return self.odd(Topic::Pilot, Oddity::TooLate);
        }
        let counted = self.ledger.counted_queues;
        let order = |report: &Workers| (report.at, report.submitted, report.running);
        let slot = self.workers.find(new.key);
        match slot.and_then(|slot| self.workers.slab.get(slot)).copied() {
            Some(old) if order(&new) <= order(&old) => {
                self.odd(Topic::Pilot, Oddity::Stale);
            }
            Some(old) => {
                if let Some(held) = slot.and_then(|slot| self.workers.slab.get_mut(slot)) {
                    *held = new;
                }
                self.ledger.workers(&new, 1);
                self.ledger.workers(&old, -1);
            }
            None => {
                self.workers.insert(new);
                self.ledger.workers(&new, 1);
                self.timers.workers.set(new.over_at(&self.setting.limits), new.key);
            }
        }
        self.note_counted(counted);
    }

    /// Whether nodes are counted anywhere decides of every queue whether its workers are pilots.
    pub(crate) fn note_counted(&mut self, before: u32) {
        if (before == 0) != (self.ledger.counted_queues == 0) {
            for (key, _) in self.ledger.queue.iter() {
                self.touched.pilot.add(Name(key[0]));
            }
        }
    }

    fn fold_slots(&mut self, new: SlotFigure) {
        let key = (new.queue, new.gshare, new.resource_type);
        let order = |slots: &SlotFigure| (slots.at, slots.slots, slots.expires_at);
        match self.slots.get(&key) {
            Some(old) if order(&new) <= order(old) => self.odd(Topic::Pilot, Oddity::Stale),
            _ => {
                self.slots.insert(key, new);
            }
        }
    }
}

/// A report on workers or nodes, with its counts in bounds.
fn report(
    key: Key,
    queue: Name,
    (harvester, resource_type): (Name, Name),
    (submitted, running, at): (u32, u32, Millis),
    are_nodes: bool,
) -> Workers {
    let (submitted, running) = (submitted.min(1 << 24), running.min(1 << 24));
    Workers { key, queue, harvester, resource_type, at, submitted, running, are_nodes }
}
