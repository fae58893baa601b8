//! Figures that are counted over many records of the state, but never over its jobs or requests:
//! shares, users, budgets of rules, links.

use super::OTHER;
use super::current::Current;
use super::table::Metric;
use std::cmp::Reverse;
use yardmaster_core::command::Mode;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::is_newer;
use yardmaster_core::govern::commanded_by_rule;
use yardmaster_core::id::Name;
use yardmaster_core::judge::share::share_use;
use yardmaster_core::state::State;
use yardmaster_core::state::ledger::USER;

/// How many leaf shares get a label of their own: those with the largest targets.
pub(super) const SHARES_MAX: usize = 200;
/// How many users are shown: those with the most running jobs.
pub(super) const USERS_MAX: usize = 20;

/// By leaf share: its part of the running power, and its target.
pub(super) fn shares(current: &Current, state: &State) {
    let all = share_use(state);
    let mut leaves: Vec<(&str, f64, f64)> =
        all.iter().map(|it| (it.gshare.as_str(), it.part, it.target)).collect();
    leaves.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(b.0)));
    if leaves.len() > SHARES_MAX {
        let others = leaves.split_off(SHARES_MAX);
        let sum = |of: fn(&(&str, f64, f64)) -> f64| others.iter().map(of).sum();
        leaves.push((OTHER, sum(|it| it.1), sum(|it| it.2)));
    }
    current.set(Metric::ShareUse, leaves.iter().map(|(leaf, part, _)| ([*leaf], *part)));
    current.set(Metric::ShareTarget, leaves.iter().map(|(leaf, _, target)| ([*leaf], *target)));
}

/// Jobs of the users with the most running jobs, and among equals with the most queued ones.
pub(super) fn users(current: &Current, state: &State) {
    let states = ["running", "queued"];
    let samples = top_users(state).into_iter().flat_map(|(user, jobs)| {
        states.iter().zip(jobs).map(move |(state, jobs)| ([user, *state], jobs as f64))
    });
    current.set(Metric::UserJobs, samples);
}

/// The users that are shown, each with its running and queued jobs.
pub(super) fn top_users(state: &State) -> Vec<(&str, [u64; 2])> {
    let rows = state.ledger.owner.iter();
    let mut users: Vec<(Reverse<[u64; 2]>, &str)> = rows
        .filter(|([_, kind, ..], _)| *kind == USER)
        .map(|([user, ..], _)| {
            let totals = state.ledger.totals_shown(Name(user), USER);
            let jobs = [totals.running_jobs, totals.queued_jobs];
            (Reverse(jobs), state.names.text(Name(user)))
        })
        .filter(|(Reverse(jobs), _)| *jobs != [0, 0])
        .collect();
    if users.len() > USERS_MAX {
        users.select_nth_unstable(USERS_MAX);
        users.truncate(USERS_MAX);
    }
    users.into_iter().map(|(Reverse(jobs), user)| (user, jobs)).collect()
}

/// By rule: how much of its budget is used. A rule that is tried uses that of what it publishes for
/// people to see. Of no budget at all everything is used.
pub(super) fn budgets(current: &Current, state: &State) {
    let setting = &state.setting.commands;
    let most = setting.governor.jobs_per_rule;
    let used = [false, true].map(|is_dry| commanded_by_rule(state, is_dry));
    let samples = setting.active().map(|active| {
        let rule = active.rule.name();
        let used = &used[usize::from(active.mode == Mode::DryRun)];
        let jobs = used.get(rule).copied().unwrap_or(0);
        let ratio = if most > 0 { jobs as f64 / most as f64 } else { 1.0 };
        ([rule], ratio)
    });
    current.set(Metric::BudgetUsed, samples);
}

/// How many links are known and how many of them are blocked, and where the topic was read up to
/// when they were counted: they change only if it is read on.
#[derive(Default)]
pub(super) struct Links {
    counted_at: Option<u64>,
}

/// Closeness of a link that is blocked.
const BLOCKED: i32 = -1;

impl Links {
    pub(super) fn record(&mut self, current: &Current, state: &State) {
        let read = state.times.lanes.of(Topic::Link).map(|(_, lane)| lane.next).sum();
        if self.counted_at.replace(read) == Some(read) {
            return;
        }
        let (mut open, mut blocked) = (0_u64, 0_u64);
        for link in state.facts.links.iter().filter_map(|(_, fact)| fact.current(is_newer)) {
            match link.closeness {
                Some(BLOCKED) => blocked += 1,
                Some(_) | None => open += 1,
            }
        }
        let samples = [(["open"], open as f64), (["blocked"], blocked as f64)];
        current.set(Metric::Links, samples.into_iter());
    }
}
