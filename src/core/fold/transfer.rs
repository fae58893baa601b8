//! Transfers.

use crate::cut::Topic;
use crate::event::Transfer;
use crate::id::{Key, Name};
use crate::oddity::Oddity;
use crate::state::State;
use crate::state::prefetch::Sought;
use crate::state::record::TransferState;
use crate::unit::Millis;
use std::cmp::Ordering;

/// Most bytes that one transfer counts for: 4 PiB, so that sums over many stay within their type.
const MAX_BYTES: u64 = 1 << 52;

impl State {
    pub(super) fn fold_transfer(&mut self, event: &Transfer<'_>, sought: Sought, bound: Millis) {
        let key = sought.key;
        let slot = self.transfers.find_sought(sought);
        let old = slot.and_then(|slot| self.transfers.slab.get(slot)).copied();
        let changed_at = event.changed_at.min(bound);
        let mut new = TransferState {
            key,
            state: event.state,
            changed_at,
            revision: event.revision,
            files: event.files.max(1),
            bytes: event.bytes.min(MAX_BYTES),
            flow: self.flow_row(old.as_ref(), event),
            replica: match event.replica {
                "" => TransferState::NO_REPLICA,
                replica => Key::of(replica.as_bytes()),
            },
            first_at: changed_at,
            superseded: false,
        };
        match old {
            None => {
                // One that ended so long ago that it may have been forgotten leaves without a
                // trace at the cut; see `meet_job`.
                if new.state.is_ended() && new.changed_at <= self.transfers_horizon() {
                    self.odd(Topic::Transfer, Oddity::TooLate);
                }
                self.transfers.insert(new);
                self.note_request_for(&new);
                self.met_transfers.push(key);
                self.count_transfer(None, &new);
                self.settle_requests_for(new.replica);
            }
            Some(old) => {
                // What all records of a request know together, whichever is the newest.
                new.replica = new.replica.max(old.replica);
                new.first_at = new.first_at.min(old.first_at);
                let joined = TransferState { replica: new.replica, first_at: new.first_at, ..old };
                let old = match slot {
                    Some(slot) if joined.place() != old.place() => self.move_request(slot, joined),
                    _ => old,
                };
                new.superseded = old.superseded;
                match self.transfer_order(&new, &old) {
                    Ordering::Less => return self.odd(Topic::Transfer, Oddity::Stale),
                    Ordering::Equal => return self.odd(Topic::Transfer, Oddity::Repeated),
                    Ordering::Greater => {}
                }
                if let Some(held) = slot.and_then(|slot| self.transfers.slab.get_mut(slot)) {
                    *held = new;
                }
                self.count_transfer(Some(&old), &new);
            }
        }
    }

    /// Names that did not change keep their row.
    fn flow_row(&mut self, old: Option<&TransferState>, event: &Transfer<'_>) -> u32 {
        if let Some(old) = old {
            let key = self.ledger.flow.key(old.flow);
            let names = [event.source, event.destination, event.activity];
            if names.iter().zip(key).all(|(name, known)| self.names.is(Name(known), name)) {
                return old.flow;
            }
        }
        let source = self.name(event.source);
        let destination = self.name(event.destination);
        let activity = self.name(event.activity);
        self.ledger.flow.row([source.0, destination.0, activity.0, 0])
    }

    /// Ended transfers older than this may have been forgotten.
    pub(crate) fn transfers_horizon(&self) -> Millis {
        self.times.of(Topic::Transfer).time - self.setting.limits.transfer_ended_lifetime_ms
    }

    /// Which of two states of a transfer is newer: ended or not, time, revision, rank, content.
    fn transfer_order(&self, new: &TransferState, old: &TransferState) -> Ordering {
        let order = |record: &TransferState| {
            (record.state.is_ended(), record.changed_at, record.revision, record.state)
        };
        order(new).cmp(&order(old)).then_with(|| self.flow_text(new).cmp(&self.flow_text(old)))
    }

    fn flow_text(&self, record: &TransferState) -> ([&str; 3], u64, u32) {
        let key = self.ledger.flow.key(record.flow);
        let text = |at: usize| self.names.text(Name(key[at]));
        ([text(0), text(1), text(2)], record.bytes, record.files)
    }

    fn count_transfer(&mut self, old: Option<&TransferState>, new: &TransferState) {
        // In before out, so that no row stands empty in between.
        self.ledger.transfer(new, 1);
        self.touch_flow(new);
        if let Some(old) = old {
            self.ledger.transfer(old, -1);
            self.touch_flow(old);
        }
        if new.state.is_ended() {
            let lifetime = self.setting.limits.transfer_ended_lifetime_ms;
            self.timers.transfers.set(new.changed_at.saturating_add(lifetime), new.key);
        }
    }

    pub(crate) fn touch_flow(&mut self, record: &TransferState) {
        let key = self.ledger.flow.key(record.flow);
        self.touched.from.add(Name(key[0]));
        self.touched.into.add(Name(key[1]));
    }
}
