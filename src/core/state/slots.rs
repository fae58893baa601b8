//! Slots of each queue, as reported.

use crate::id::Name;
use crate::state::State;
use crate::unit::Millis;
use std::collections::BTreeMap;

impl State {
    /// Slots of each queue: the figure for any share and resource type, else the sum of the others.
    /// Figures that lapsed, and negative ones, are none.
    pub fn slots_by_queue(&self) -> BTreeMap<Name, u64> {
        let holds = |expires_at: Millis| expires_at == 0 || expires_at > self.now;
        let mut sums: BTreeMap<Name, (Option<u64>, u64)> = BTreeMap::new();
        for slots in self.slots.values().filter(|slots| holds(slots.expires_at)) {
            let Ok(count) = u64::try_from(slots.slots) else { continue };
            let (any, sum) = sums.entry(slots.queue).or_default();
            match (slots.gshare, slots.resource_type) {
                (Name::NONE, Name::NONE) => *any = Some(count),
                _ => *sum = sum.saturating_add(count),
            }
        }
        sums.into_iter().map(|(queue, (any, sum))| (queue, any.unwrap_or(sum))).collect()
    }
}
