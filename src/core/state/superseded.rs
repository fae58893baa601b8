//! Transfers for one replica. A transfer system asks again under another request when one was lost
//! or given up, and need not say what became of the older one. Of the requests for a replica the
//! one that was first known last counts; the others wait for nothing.

use crate::id::Key;
use crate::state::State;
use crate::state::record::TransferState;

impl State {
    /// Brings up to date which of the requests for a replica waits, after one came or its first
    /// time changed.
    pub(crate) fn settle_requests_for(&mut self, replica: Key) {
        let keys = self.replica_requests.range((replica, Key(0))..=(replica, Key(u64::MAX)));
        let slots: Vec<u32> =
            keys.filter_map(|(_, request)| self.transfers.find(*request)).collect();
        let records = slots.iter().filter_map(|slot| self.transfers.slab.get(*slot));
        let newest = records.map(TransferState::age).max();
        for slot in slots {
            let Some(old) = self.transfers.slab.get(slot).copied() else { continue };
            let superseded = Some(old.age()) < newest;
            if superseded == old.superseded {
                continue;
            }
            let new = TransferState { superseded, ..old };
            if let Some(held) = self.transfers.slab.get_mut(slot) {
                *held = new;
            }
            self.ledger.transfer(&new, 1);
            self.ledger.transfer(&old, -1);
            self.touch_flow(&new);
        }
    }

    /// Notes what a request is for, and which others are for the same.
    pub(crate) fn note_request_for(&mut self, transfer: &TransferState) {
        if transfer.replica != TransferState::NO_REPLICA {
            self.replica_requests.insert((transfer.replica, transfer.key));
        }
    }

    /// The record in a slot has another place among the requests for its replica. Returns it as it
    /// is then.
    pub(crate) fn move_request(&mut self, slot: u32, new: TransferState) -> TransferState {
        let Some(held) = self.transfers.slab.get_mut(slot) else { return new };
        let old = std::mem::replace(held, new);
        if old.replica != new.replica {
            self.replica_requests.remove(&(old.replica, old.key));
            self.settle_requests_for(old.replica);
        }
        self.note_request_for(&new);
        self.settle_requests_for(new.replica);
        self.transfers.slab.get(slot).copied().unwrap_or(new)
    }

    /// Whether a request stands in place of others that are remembered: then it is not forgotten
    /// before them, since what comes of one of them would count again.
    pub(crate) fn is_needed_by_older(&self, transfer: &TransferState) -> bool {
        let others = (transfer.replica, Key(0))..=(transfer.replica, Key(u64::MAX));
        !transfer.superseded
            && transfer.replica != TransferState::NO_REPLICA
            && self.replica_requests.range(others).nth(1).is_some()
    }

    /// A request is forgotten. Returns the one that is left alone by that, if one is: it may have
    /// been kept for this one.
    pub(crate) fn leave_replica(&mut self, transfer: &TransferState) -> Option<Key> {
        let replica = transfer.replica;
        if !self.replica_requests.remove(&(replica, transfer.key)) {
            return None;
        }
        if !transfer.superseded {
            self.settle_requests_for(replica);
        }
        let mut left = self.replica_requests.range((replica, Key(0))..=(replica, Key(u64::MAX)));
        let last = left.next().map(|(_, request)| *request);
        last.filter(|_| left.next().is_none())
    }
}
