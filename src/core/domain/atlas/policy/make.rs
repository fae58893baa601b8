//! Queues of one make: what a filter that looks at nothing else finds of one of them holds for all,
//! so it is asked once for a make and not once for a queue. Of very many queues few makes differ,
//! and those of a make that cannot match are passed over without a look at them.

use super::case::Case;
use super::early::{EarlyFilters, Objected};
use super::judgement::Candidates;
use super::queues::Queues;
use super::walk::walk_after;
use super::weighed::Weighed;
use crate::event::{Queue, QueueStatus};
use crate::policy::applicable::{Applicable, Early, walk_before};
use crate::policy::compile::Policy;
use crate::policy::resolved::Resolved;
use crate::policy::verdict::Objection;

/// Fields of a queue that the filters of the make look at ([`crate::policy::QueueStyle::of_make`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Make<'a> {
    status: QueueStatus,
    numbers: [u32; 8],
    max_input_mb: i32,
    flags: [bool; 3],
    texts: [&'a str; 4],
}

impl Make<'_> {
    /// That of a queue.
    pub fn of(queue: &Queue) -> Make<'_> {
        let cores = [queue.cores, queue.unified_cores, queue.core_power_mhs06];
        let [slot, unified, power] = cores;
        let (most, least) = (queue.max_rss_mb, queue.min_rss_mb);
        let (longest, shortest) = (queue.max_time_s, queue.min_time_s);
        let Queue { fairshare_policy, wn_connectivity, jobseed, catchall, .. } = queue;
        Make {
            status: queue.status,
            numbers: [slot, unified, power, most, least, longest, shortest, queue.max_wdir_mb],
            max_input_mb: queue.max_input_mb,
            flags: [queue.ucore, queue.direct_access_lan, queue.cloud.is_empty()],
            texts: [fairshare_policy, wn_connectivity, jobseed, catchall],
        }
    }
}

/// Candidates of a case that are judged one by one: the filters before weighing, those of the make
/// apart, and what these found so far.
pub struct OneByOne<'a, C: ?Sized> {
    case: &'a Case<'a>,
    candidates: &'a C,
    resolved: &'a Resolved,
    applicable: &'a Applicable<Queues>,
    /// Filters of the make.
    of_make: Vec<Early<Queues>>,
    /// All others.
    others: EarlyFilters,
    /// By number of the make, where it was asked: what its filters object.
    found: Vec<Option<Option<Objected>>>,
}

impl Policy {
    /// Some candidates of a case, by the filters of the case.
    pub fn one_by_one<'a, C: Candidates + ?Sized>(
        &self,
        case: &'a Case<'a>,
        candidates: &'a C,
        resolved: &'a Resolved,
        applicable: &'a Applicable<Queues>,
    ) -> OneByOne<'a, C> {
        // Of fewer candidates than makes hardly two are of one.
        let makes = Some(candidates.makes()).filter(|makes| *makes <= candidates.count());
        let found = vec![None; makes.unwrap_or(0)];
        let is_of_make = |it: &&Early<Queues>| {
            !found.is_empty() && !it.temporary && self.are_of_make[usize::from(it.at)]
        };
        let of_make = applicable.before.iter().copied().filter(|it| is_of_make(&it)).collect();
        let others = applicable.before.iter().filter(|it| !is_of_make(it));
        let others = EarlyFilters::of(self, others);
        OneByOne { case, candidates, resolved, applicable, of_make, others, found }
    }

    /// The first objection that lasts, else the last one, to the candidate at an index, with the
    /// filter's index; `None` when it passes, and `weighed` is then its weight. The filters of its
    /// make come first: where no other one can come before their objection, nothing is looked up.
    #[inline(always)]
    pub fn object_at<C: Candidates + ?Sized>(
        &self,
        all: &mut OneByOne<'_, C>,
        index: u32,
        weighed: &mut Weighed,
    ) -> Option<(u16, Objection)> {
        let make = all.candidates.make(index) as usize;
        let of_make = match all.found.get(make) {
            None => None,
            Some(Some(found)) => *found,
            Some(None) => {
                let found = ask_make(all, index);
                all.found[make] = Some(found);
                found
            }
        };
        let OneByOne { case, candidates, resolved, applicable, others, .. } = all;
        if of_make.is_some_and(|(filter, _)| others.are_behind(filter)) {
            return of_make;
        }
        let (values, mut candidate) = (&resolved.filters, candidates.bare(index));
        // A kind that judges each candidate once knows of no users.
        let fill = |candidate: &mut _| candidates.fill(index, candidate);
        others.ask(case, &mut candidate, values, of_make, fill).or_else(|| {
            self.weigh(case, &candidate, resolved, weighed, &[]);
            walk_after(case, &candidate, values, weighed, &applicable.after)
        })
    }
}

#[cold]
fn ask_make<C: Candidates + ?Sized>(all: &OneByOne<'_, C>, index: u32) -> Option<Objected> {
    walk_before(all.case, &all.candidates.bare(index), &all.resolved.filters, &all.of_make)
}
