//! Contributions of transfers: what waits on links, and what arrived over them.

use super::Ledger;
use super::ended::note_whether_empty;
use crate::event::TransferStatus;
use crate::state::record::TransferState;
use crate::state::rows::RowKey;
use crate::state::window::{Window, bucket_of};
use crate::unit::{DAY, HOUR, MINUTE, Millis};

/// Bytes that arrived over a link by the time they arrived, in three grains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// For the last hour: 5 min buckets.
    pub hour: Window,
    /// For the last day: 1 h buckets.
    pub day: Window,
    /// For the last week: 6 h buckets.
    pub week: Window,
}

/// Grains and reaches of the windows in [`Rate`].
pub const RATE_GRAINS: [(Millis, Millis); 3] =
    [(5 * MINUTE, HOUR), (HOUR, DAY), (6 * HOUR, 7 * DAY)];

impl Ledger {
    /// A transfer's contributions.
    pub fn transfer(&mut self, transfer: &TransferState, sign: i32) {
        let more = sign > 0;
        let key = self.flow.key(transfer.flow);
        self.flow.count_reference(transfer.flow, more);
        if transfer.state.is_ended() {
            if transfer.state == TransferStatus::Done {
                self.arrived(transfer, i64::from(sign));
            }
            return;
        }
        if transfer.superseded {
            return;
        }
        let into = self.into.row([key[1], key[2], 0, 0]);
        self.into.count_reference(into, more);
        for flow in [self.flow.at(transfer.flow), self.into.at(into)] {
            let sign = i64::from(sign);
            flow.files = flow.files.wrapping_add_signed(sign * i64::from(transfer.files));
            flow.bytes = flow.bytes.wrapping_add_signed(sign * transfer.bytes as i64);
        }
    }

    fn arrived(&mut self, transfer: &TransferState, sign: i64) {
        let key = self.flow.key(transfer.flow);
        let row = self.rate.row([key[0], key[1], 0, 0]);
        let was_empty = self.rate.at(row).is_empty();
        for (which, (grain, reach)) in RATE_GRAINS.into_iter().enumerate() {
            let bucket = bucket_of(transfer.changed_at, grain);
            if bucket >= self.first(grain, reach) {
                let amount = sign * transfer.bytes.min(i64::MAX as u64) as i64;
                self.rate.at(row).window(which).add(bucket, amount);
            }
        }
        note_whether_empty(&mut self.rate, row, was_empty, Rate::is_empty);
    }

    /// A transfer is forgotten; what arrived stays behind in its windows.
    pub fn transfer_left(&mut self, transfer: &TransferState) {
        if transfer.state != TransferStatus::Done || transfer.bytes == 0 {
            return self.transfer(transfer, -1);
        }
        let key = self.flow.key(transfer.flow);
        let row = self.rate.row([key[0], key[1], 0, 0]);
        let was_empty = self.rate.at(row).is_empty();
        for (which, (grain, reach)) in RATE_GRAINS.into_iter().enumerate() {
            let bucket = bucket_of(transfer.changed_at, grain);
            if bucket >= self.first(grain, reach) {
                self.rate.at(row).window(which).leave(bucket, transfer.bytes);
            }
        }
        note_whether_empty(&mut self.rate, row, was_empty, Rate::is_empty);
        self.flow.count_reference(transfer.flow, false);
    }

    /// Adds the amount that forgotten transfers left behind, from a store.
    pub fn restore_rate(&mut self, key: RowKey, which: usize, bucket: i64, left: u64) {
        let row = self.rate.row(key);
        let was_empty = self.rate.at(row).is_empty();
        self.rate.at(row).window(which).restore(bucket, left);
        note_whether_empty(&mut self.rate, row, was_empty, Rate::is_empty);
    }
}

impl Rate {
    pub(super) fn is_empty(&self) -> bool {
        self.hour.is_empty() && self.day.is_empty() && self.week.is_empty()
    }

    /// One of its three windows, in the order of [`RATE_GRAINS`].
    pub fn window(&mut self, which: usize) -> &mut Window {
        match which {
            0 => &mut self.hour,
            1 => &mut self.day,
            _ => &mut self.week,
        }
    }

    /// Mean throughput over the last hour, day or week before `at`; MB/s (10^6). `None` when
    /// nothing arrived in it.
    pub fn mbps(&self, which: usize, at: Millis) -> Option<f64> {
        let (grain, reach) = RATE_GRAINS[which];
        let window = [&self.hour, &self.day, &self.week][which];
        let last = bucket_of(at, grain);
        let bytes = window.sum(last - reach / grain + 1, last);
        (bytes > 0).then(|| bytes as f64 / (reach as f64 / 1000.0) / 1e6)
    }
}
