//! Facts of a cycle that the rules read.

use super::rejected::Rejections;
use crate::view::View;
use crate::waiting::{Helps, OPEN_MAX, ReasonSorter, each_open};
use std::collections::BTreeMap;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Status;
use yardmaster_core::id::Name;
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::{PoolGlance, jobs_by_class};
use yardmaster_wire::topology::{AttentionSettings, hours};

/// So many rows of jobs that ended, of a task at a queue each, are summed up.
const ENDED_ROWS_MAX: usize = 200_000;

/// Facts of a cycle.
pub(super) struct Facts<'a> {
    pub state: &'a State,
    /// The grid at a glance.
    pub view: View,
    /// Jobs that failed, and all that ended, by queue, in the span of the settings.
    pub ended: BTreeMap<String, [u64; 2]>,
    /// Requests that wait for longer than they should, by reason.
    pub old: BTreeMap<(Helps, String), OldRequests>,
    /// Jobs that wait, queued or asked for, by share.
    pub wanted: BTreeMap<String, u64>,
    /// The pool of slots, if there is one.
    pub pool: Option<PoolGlance>,
    /// Requests rejected for good lately.
    pub rejected: &'a Rejections,
}

/// Requests that wait for longer than they should, for one reason.
#[derive(Clone, Debug, Default)]
pub(super) struct OldRequests {
    pub requests: u64,
    pub jobs: u64,
    /// When the oldest asked, and its subject.
    pub oldest: Option<(Millis, String)>,
}

impl<'a> Facts<'a> {
    /// Those of an engine at the end of a cycle.
    pub(super) fn of(
        engine: &'a Engine,
        settings: &AttentionSettings,
        rejected: &'a Rejections,
    ) -> Facts<'a> {
        let state = &engine.state;
        let mut facts = Facts {
            state,
            view: View::of(engine),
            ended: ended(state, hours(settings.failing_h)),
            old: BTreeMap::new(),
            wanted: queued_by_share(state),
            pool: PoolGlance::of(engine),
            rejected,
        };
        let before = state.now.saturating_sub(hours(settings.request_h));
        let mut sorter = ReasonSorter::new(engine);
        each_open(engine, OPEN_MAX, |request| {
            let (Some(task), Some(sorted)) = (&request.task, sorter.sort(request)) else { return };
            let jobs = u64::from(task.jobs);
            *facts.wanted.entry(task.gshare.clone()).or_default() += jobs;
            if task.asked_at > before {
                return;
            }
            let key = (sorted.helps, sorted.reason.to_owned());
            let old = facts.old.entry(key).or_default();
            old.requests += 1;
            old.jobs += jobs;
            let this = (task.asked_at, request.subject.clone());
            let is_oldest = old.oldest.as_ref().is_none_or(|oldest| this < *oldest);
            old.oldest = if is_oldest { Some(this) } else { old.oldest.take() };
        });
        facts
    }

    /// Whether those who wait are jobs of a pool.
    pub(super) fn is_of_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// The cycle's `now`.
    pub(super) fn now(&self) -> Millis {
        self.state.now
    }
}

fn ended(state: &State, span: Millis) -> BTreeMap<String, [u64; 2]> {
    let from = state.now.saturating_sub(span);
    let mut by_queue: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for (key, row) in state.ledger.ended.iter().take(ENDED_ROWS_MAX) {
        let [finished, failed, _] = row.since(from);
        if finished + failed > 0 {
            let sums = by_queue.entry(key[2]).or_default();
            sums[0] += failed;
            sums[1] += finished + failed;
        }
    }
    let named = |(queue, sums)| (state.names.text(Name(queue)).to_owned(), sums);
    by_queue.into_iter().map(named).collect()
}

fn queued_by_share(state: &State) -> BTreeMap<String, u64> {
    let mut by_share: BTreeMap<u32, u64> = BTreeMap::new();
    for (key, row) in state.ledger.share.iter() {
        let queued = row.jobs[..Status::Running.index()].iter().copied().map(u64::from);
        *by_share.entry(key[1]).or_default() += queued.sum::<u64>();
    }
    let named = |(share, jobs)| (state.names.text(Name(share)).to_owned(), jobs);
    let classes = jobs_by_class(state).into_iter().map(|(class, it)| (class.to_owned(), it.queued));
    by_share.into_iter().map(named).chain(classes).collect()
}
