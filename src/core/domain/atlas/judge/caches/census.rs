//! The census: what each user has running in shares whose tasks have classes, and how shares stand.
//! One walk over the counters, in a cut in which somebody asks.

use crate::domain::atlas::policy::{CLASSED, Slots};
use crate::event::Status;
use crate::id::Name;
use crate::state::State;
use crate::state::ledger::{USER, USER_FOR_GROUP};
use std::collections::BTreeMap;

/// Running cores of each user by class of site, and queued and running jobs of each share.
pub(crate) struct Census {
    /// By number of a name: the index in `people`, or [`NOBODY`].
    index: Vec<u32>,
    people: Vec<Slots>,
    /// By share: jobs queued and running at all queues.
    shares: BTreeMap<Name, [u64; 2]>,
}

const NOBODY: u32 = u32::MAX;

impl Census {
    /// As the counters stand at the cut; `class`: of the site of a queue, -1 also where its slots
    /// do not count.
    pub(super) fn of(state: &State, class: impl Fn(Name) -> i8) -> Census {
        let mut census = Census {
            index: vec![NOBODY; state.names.len()],
            people: Vec::new(),
            shares: BTreeMap::new(),
        };
        let classed = CLASSED.map(|gshare| state.known_name(gshare));
        for (key, count) in state.ledger.who.iter() {
            if matches!(key[2], USER | USER_FOR_GROUP) && classed.contains(&Some(Name(key[3]))) {
                let cores = u64::from(count.by[Status::Running.index()].cores);
                let slots = census.person(Name(key[0]));
                let class = class(Name(key[1]));
                slots.hi += if class > 0 { cores } else { 0 };
                slots.hi_mid += if class >= 0 { cores } else { 0 };
            }
        }
        for (key, share) in state.ledger.share.iter() {
            let sums = census.shares.entry(Name(key[1])).or_default();
            let jobs = |status: Status| u64::from(share.jobs[status.index()]);
            sums[0] += Status::QUEUED.into_iter().map(jobs).sum::<u64>();
            sums[1] += jobs(Status::Running);
        }
        census
    }

    fn person(&mut self, name: Name) -> &mut Slots {
        let index = &mut self.index[name.index()];
        if *index == NOBODY {
            *index = self.people.len() as u32;
            self.people.push(Slots::default());
        }
        &mut self.people[*index as usize]
    }

    /// Cores a user has running in shares whose tasks have classes, without merge jobs.
    pub(crate) fn slots(&self, name: Option<Name>) -> Slots {
        let index = name.and_then(|name| self.index.get(name.index()));
        index.and_then(|index| self.people.get(*index as usize)).copied().unwrap_or_default()
    }

    /// Jobs of a share queued and running at all queues; those reserved and not yet seen are left
    /// out, so that this stays as it is throughout a cut.
    pub(crate) fn share(&self, gshare: Option<Name>) -> [u64; 2] {
        gshare.and_then(|gshare| self.shares.get(&gshare)).copied().unwrap_or_default()
    }
}
