//! Signs of life of whole queues: a queue of which neither jobs nor pilots report may be cut off,
//! and then the silence of a job there says nothing.

use crate::id::Name;
use crate::record::record;
use crate::state::State;
use crate::state::gaps::Gaps;
use crate::unit::Millis;
use std::collections::BTreeSet;

/// So many jobs are looked at together, each kind of look in a loop that does nothing else: so they
/// wait for memory side by side.
const TOGETHER: usize = 64;

/// A queue's signs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSigns {
    /// The last one, as of the last cut; 0: none yet.
    pub at: Millis,
    /// Spans without any, each up to the limit after it gave one again.
    pub gaps: Gaps,
}

record!(QueueSigns { at, gaps });

impl State {
    /// Takes up the signs of this cycle. Read at its end, so that it does not matter in which order
    /// a job's states and heartbeats came.
    pub(super) fn note_signs(&mut self) {
        let mut queues: BTreeSet<Name> = self.touched.pilot.iter().collect();
        let (mut rows, mut signs) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
        for slots in std::mem::take(&mut self.signs).chunks(TOGETHER) {
            rows.clear();
            let jobs = slots.iter().filter_map(|slot| self.jobs.slab.get(*slot));
            let jobs = jobs.filter(|job| job.status.is_some());
            rows.extend(jobs.map(|job| (job.load, job.heartbeat.at)));
            // By its row: that is near, the names of the job are not.
            signs.clear();
            let queue = |row| Name(self.ledger.load.key(row)[0]);
            signs.extend(rows.iter().map(|(row, at)| (queue(*row), *at)));
            for (queue, at) in &signs {
                let marks = self.marks.entry(*queue).or_default();
                if *at > marks.heartbeat {
                    marks.heartbeat = *at;
                    queues.insert(*queue);
                }
            }
        }
        let silence = self.setting.commands.governor.queue_silence;
        for queue in queues {
            let sign = self.marks.get(&queue).map_or(0, |marks| marks.sign());
            if sign == 0 {
                continue;
            }
            let signs = self.queue_signs.entry(queue).or_default();
            // Against `now`: signs that a log kept back come one by one, each near the last.
            let was_silent = signs.at != 0 && self.now.saturating_sub(signs.at) > silence;
            if was_silent {
                signs.gaps.add(signs.at, self.now.saturating_add(silence));
            }
            signs.at = signs.at.max(sign);
        }
    }

    /// Signs of a queue; jobs without a queue have none.
    pub fn signs_of(&self, queue: Name) -> Option<&QueueSigns> {
        self.queue_signs.get(&queue).filter(|_| queue != Name::NONE)
    }

    /// How long a queue has given no sign, if that is longer than its limit and it gave one before;
    /// ms. One that has been silent for longer than a queue may be cut off counts as gone.
    pub fn queue_silent_for(&self, queue: Name) -> Option<Millis> {
        let governor = &self.setting.commands.governor;
        let at = self.signs_of(queue).map(|signs| signs.at).filter(|at| *at != 0)?;
        let age = self.now.saturating_sub(at);
        (age > governor.queue_silence && age <= governor.queue_silence_max).then_some(age)
    }
}
