//! The census: what each user and working group has on the whole grid, and how shares stand. One
//! walk over the counters, in a cut in which somebody asks.

use crate::core::event::Status;
use crate::core::id::Name;
use crate::core::ledger::{Count, GROUP, USER};
use crate::core::policy::{CLASSED, Slots, Totals};
use crate::core::state::State;
use std::collections::BTreeMap;

/// See the module.
pub(super) struct Census {
    /// By number of a name: the place in `people`, or [`NOBODY`].
    place: Vec<u32>,
    people: Vec<Person>,
    /// By share: jobs queued and running at all queues.
    shares: BTreeMap<Name, [u64; 2]>,
}

const NOBODY: u32 = u32::MAX;

/// What is counted of one name: as a user, and as a working group of that name.
#[derive(Clone, Copy, Default)]
struct Person {
    user: Totals,
    group: Totals,
    slots: Slots,
}

impl Census {
    /// As the counters stand at the cut; `class`: of the site of a queue, -1 also where its slots
    /// do not count.
    pub(super) fn of(state: &State, class: impl Fn(Name) -> i8) -> Census {
        let mut census = Census {
            place: vec![NOBODY; state.names.len()],
            people: Vec::new(),
            shares: BTreeMap::new(),
        };
        let classed = CLASSED.map(|gshare| state.known_name(gshare));
        for (key, count) in state.ledger.who.iter() {
            let person = census.person(Name(key[0]));
            match key[2] {
                GROUP => add(&mut person.group, count),
                // What a user does for a working group counts for that alone.
                USER => add(&mut person.user, count),
                _ => {}
            }
            if key[2] != GROUP && classed.contains(&Some(Name(key[3]))) {
                let cores = u64::from(count.by[Status::Running.index()].cores);
                let class = class(Name(key[1]));
                person.slots.hi += if class > 0 { cores } else { 0 };
                person.slots.hi_mid += if class >= 0 { cores } else { 0 };
            }
        }
        for (key, share) in state.ledger.share.iter() {
            let sums = census.shares.entry(Name(key[1])).or_default();
            let jobs = |status: Status| u64::from(share.jobs[status.index()]);
            sums[0] += QUEUED.into_iter().map(jobs).sum::<u64>();
            sums[1] += jobs(Status::Running);
        }
        census
    }

    fn person(&mut self, name: Name) -> &mut Person {
        let place = &mut self.place[name.index()];
        if *place == NOBODY {
            *place = self.people.len() as u32;
            self.people.push(Person::default());
        }
        &mut self.people[*place as usize]
    }

    fn find(&self, name: Option<Name>) -> Person {
        let place = name.and_then(|name| self.place.get(name.index()));
        place.and_then(|place| self.people.get(*place as usize)).copied().unwrap_or_default()
    }

    /// Jobs and cores of a user's own work.
    pub(super) fn user(&self, name: Option<Name>) -> Totals {
        self.find(name).user
    }

    /// Jobs and cores of a working group.
    pub(super) fn group(&self, name: Option<Name>) -> Totals {
        self.find(name).group
    }

    /// Cores a user has running in shares whose tasks have classes.
    pub(super) fn slots(&self, name: Option<Name>) -> Slots {
        self.find(name).slots
    }

    /// Jobs of a share queued and running at all queues; those promised and not yet seen are left
    /// out, so that this stays as it is throughout a cut.
    pub(super) fn share(&self, gshare: Option<Name>) -> [u64; 2] {
        gshare.and_then(|gshare| self.shares.get(&gshare)).copied().unwrap_or_default()
    }
}

/// States that count as queued where queues are judged (spec atlas 9.4).
pub(super) const QUEUED: [Status; 4] =
    [Status::Defined, Status::Assigned, Status::Activated, Status::Starting];

fn add(totals: &mut Totals, count: &Count) {
    let of = |status: Status| count.by[status.index()];
    let running = of(Status::Running);
    totals.running_jobs += u64::from(running.jobs);
    totals.running_cores += u64::from(running.cores);
    for held in QUEUED.into_iter().chain([Status::Throttled]).map(of) {
        totals.queued_jobs += u64::from(held.jobs);
        totals.queued_cores += u64::from(held.cores);
    }
}
