//! Jobs of each share and resource type at all queues. One walk over the counters, in a cut in
//! which somebody asks.

use crate::domain::atlas::policy::work_queue::Backlog;
use crate::event::Status;
use crate::id::Name;
use crate::state::State;
use std::collections::BTreeMap;

/// By share and resource type: the jobs at all queues, without those reserved.
pub(crate) struct WorkQueues(BTreeMap<(Name, Name), Backlog>);

impl WorkQueues {
    /// As the counters stand at the cut.
    pub(super) fn of(state: &State) -> WorkQueues {
        let mut all: BTreeMap<(Name, Name), Backlog> = BTreeMap::new();
        for (key, load) in state.ledger.load.iter() {
            let jobs = |status: Status| u64::from(load.count.by[status.index()].jobs);
            let queued = [Status::Assigned, Status::Activated, Status::Starting];
            all.entry((Name(key[1]), Name(key[2]))).or_default().add(&Backlog {
                defined: jobs(Status::Defined),
                reserved: 0,
                queued: queued.into_iter().map(jobs).sum(),
                running: jobs(Status::Running),
            });
        }
        WorkQueues(all)
    }

    /// The resource types of a share.
    pub(crate) fn of_share(&self, gshare: Name) -> impl Iterator<Item = (Name, &Backlog)> {
        let all = self.0.range((gshare, Name(0))..=(gshare, Name(u32::MAX)));
        all.map(|((_, resource_type), backlog)| (*resource_type, backlog))
    }
}
