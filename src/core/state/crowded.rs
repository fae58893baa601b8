//! Since when a queue has more jobs of a share queued than it will start soon (spec atlas 6).

use crate::command::{CommandRule, RuleSetting};
use crate::event::is_newer;
use crate::event::{Queue, QueueStatus, Status};
use crate::id::Name;
use crate::record::record;
use crate::state::State;
use crate::state::commands::CommandState;
use crate::unit::{MINUTE, Millis};
use std::collections::{BTreeMap, BTreeSet};

/// A queue and share with more queued jobs than the thresholds allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowded {
    /// Since when it is, or since jobs of it were last commanded to move.
    pub since: Millis,
}

record!(Crowded { since });

/// Key of the parameter with a share's threshold, before the share.
const THRESHOLD: &str = "FAST_REBRO_THRESHOLD_NQUEUE_";

/// Jobs of a share at a queue, and the thresholds that they are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crowd {
    /// Jobs queued there that are not commanded to move.
    pub queued: u64,
    /// Jobs running there.
    pub running: u64,
    /// Such jobs of the share at all queues.
    pub total: u64,
    /// As many queued jobs pass in any case.
    pub limit: f64,
    /// So many times the running jobs pass.
    pub ratio: f64,
    /// This part of all queued jobs of the share passes.
    pub fraction: f64,
}

impl Crowd {
    /// By how many jobs it is above the thresholds, all of them multiplied by `scale`; jobs. 0 if
    /// one of them passes.
    pub fn excess(&self, scale: f64) -> u64 {
        let queued = self.queued as f64;
        let above = |threshold: f64| queued - scale * threshold;
        let least = above(self.running as f64 * self.ratio)
            .min(above(self.limit))
            .min(above(self.total as f64 * self.fraction));
        if least > 0.0 { least.ceil() as u64 } else { 0 }
    }
}

/// Whether no rule that gives commands applies to jobs of a queue (spec atlas 5, exemptions).
pub fn is_exempt(queue: &Queue) -> bool {
    queue.status == QueueStatus::Paused || queue.flag("disableReassign").is_some()
}

/// Jobs and thresholds by (queue, gshare).
pub type Crowds = BTreeMap<(Name, Name), Crowd>;

impl State {
    /// Once a minute: which queues and shares are crowded, and which no longer.
    pub(super) fn note_crowded(&mut self) {
        if self.before.div_euclid(MINUTE) == self.now.div_euclid(MINUTE) {
            return;
        }
        let Some(rule) = self.setting.commands.rule(CommandRule::FastRebrokerage) else {
            return self.crowded.clear();
        };
        let stays = 1.0 - rule.value("hysteresis_percent") / 100.0;
        let crowds = self.crowds(rule);
        let now = self.now;
        let is_crowded = |at: &(Name, Name), scale| {
            crowds.get(at).is_some_and(|crowd: &Crowd| crowd.excess(scale) > 0)
        };
        self.crowded.retain(|at, _| is_crowded(at, stays));
        for at in crowds.keys().filter(|at| is_crowded(at, 1.0)) {
            self.crowded.entry(*at).or_insert(Crowded { since: now });
        }
    }

    /// The figures of all shares that have a threshold, where jobs of them are queued.
    pub fn crowds(&self, rule: &RuleSetting) -> Crowds {
        let mut limits: BTreeMap<Name, Option<f64>> = BTreeMap::new();
        let mut crowds = Crowds::new();
        let excluded = self.excluded_queues();
        let exempt = self.exempt_queues();
        let mut totals: BTreeMap<Name, u64> = BTreeMap::new();
        let commanded = self.commanded_by_share();
        for (key, at) in self.ledger.share.iter() {
            let (queue, gshare) = (Name(key[0]), Name(key[1]));
            let limit =
                limits.entry(gshare).or_insert_with(|| self.threshold(self.names.text(gshare)));
            let (Some(limit), false) = (*limit, excluded.contains(&queue)) else { continue };
            let queued: u32 = Status::QUEUED.iter().map(|status| at.jobs[status.index()]).sum();
            let taken = commanded.get(&(queue, gshare)).copied().unwrap_or(0);
            let queued = u64::from(queued).saturating_sub(taken);
            *totals.entry(gshare).or_default() += queued;
            if queued > 0 && !exempt.contains(&queue) {
                let running = u64::from(at.jobs[Status::Running.index()]);
                let crowd = Crowd { queued, running, limit, ..Crowd::default() };
                crowds.insert((queue, gshare), crowd);
            }
        }
        let number = |key: &str, own: &str| {
            let stated = self.parameter("rebroker", key).and_then(|it| it.trim().parse().ok());
            stated.filter(|it: &f64| it.is_finite() && *it > 0.0).unwrap_or(rule.value(own))
        };
        let ratio = number("FAST_REBRO_THRESHOLD_NQNR_RATIO", "ratio");
        let fraction = number("FAST_REBRO_THRESHOLD_NQUEUE_FRAC", "fraction");
        for ((_, gshare), crowd) in &mut crowds {
            crowd.total = totals.get(gshare).copied().unwrap_or(0);
            (crowd.ratio, crowd.fraction) = (ratio, fraction);
        }
        crowds
    }

    /// The shares that have a threshold, if there is the rule.
    pub fn rebrokered_shares(&self) -> BTreeSet<String> {
        if self.setting.commands.rule(CommandRule::FastRebrokerage).is_none() {
            return BTreeSet::new();
        }
        let parameters = self.facts.parameters.iter();
        let parameters = parameters.filter_map(|(_, fact)| fact.current(is_newer));
        let keys = parameters.filter_map(|it| it.key.strip_prefix(THRESHOLD));
        keys.filter(|gshare| self.threshold(gshare).is_some()).map(str::to_owned).collect()
    }

    /// The threshold of a share; `None` for one that is exempt.
    fn threshold(&self, gshare: &str) -> Option<f64> {
        let key = [THRESHOLD, gshare].concat();
        let stated: f64 = self.parameter("rebroker", &key)?.trim().parse().ok()?;
        (stated.is_finite() && stated > 0.0).then_some(stated)
    }

    /// Queues with a slot figure of their own: they are in no sum.
    fn excluded_queues(&self) -> BTreeSet<Name> {
        let holds = |expires: Millis| expires == 0 || expires > self.now;
        let slots = self.slots.values().filter(|slots| holds(slots.expires_at));
        slots.map(|slots| slots.queue).collect()
    }

    /// Queues to whose jobs no rule applies.
    fn exempt_queues(&self) -> BTreeSet<Name> {
        let queues = self.facts.queues.iter().filter_map(|(_, fact)| fact.current(is_newer));
        let exempt = queues.filter(|queue| is_exempt(queue));
        exempt.filter_map(|queue| self.known_name(&queue.unified)).collect()
    }

    /// How many queued jobs of a share at a queue are commanded already.
    fn commanded_by_share(&self) -> BTreeMap<(Name, Name), u64> {
        let mut commanded = BTreeMap::new();
        let repeats = self.setting.commands.governor.repeats;
        for (job, ids) in &self.commands.of_job {
            let Some(record) = self.jobs.of(*job) else { continue };
            let waits = record.status.is_some_and(Status::is_queued);
            // One that expired is repeated while its job waits.
            let is_taken = |it: &CommandState| {
                it.takes(record, self.now)
                    || it.command.kind.moves() && it.is_open(self.now, repeats)
            };
            if waits && ids.iter().filter_map(|id| self.commands.of(*id)).any(is_taken) {
                let at = (record.names[0], record.names[1]);
                *commanded.entry(at).or_default() += 1;
            }
        }
        commanded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked examples of spec atlas 13.6.
    #[test]
    fn the_excess_is_that_of_the_worked_examples() {
        let excess = |queued, running, total, limit| {
            Crowd { queued, running, total, limit, ratio: 3.0, fraction: 0.3 }.excess(1.0)
        };
        assert_eq!(excess(1000, 100, 2000, 300.0), 400);
        assert_eq!(excess(1000, 100, 5000, 300.0), 0);
        assert_eq!(excess(1000, 400, 2000, 300.0), 0);
        assert_eq!(excess(500, 0, 500, 300.0), 200);
        assert_eq!(excess(301, 0, 900, 300.0), 1);
    }
}
