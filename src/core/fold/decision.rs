//! Our own answers: facts like the others, so a reservation counts from the moment it is made.

use crate::cut::Topic;
use crate::event::Task;
use crate::id::Key;
use crate::oddity::Oddity;
use crate::output::decision::{Decision, DecisionId, Outcome, request_name};
use crate::state::State;
use crate::state::blockers::{BlockerTable, Blockers};
use crate::state::record::{Answer, Placement, Reservation, ReservedJobs};
use crate::state::reserve::ReservedAt;
use std::collections::BTreeMap;

impl State {
    /// Counts one of our answers.
    pub fn fold_decision(&mut self, decision: &Decision) {
        if decision.domain != self.setting.domain {
            return self.odd(Topic::Decision, Oddity::OtherDomain);
        }
        if self.fold_pool_decision(decision) {
            return;
        }
        // 0, but where a rebuild begins after the decision was made: the reservation is as old.
        let age = self.now.saturating_sub(decision.now);
        let clock = self.times.of(Topic::JobState).clock.saturating_sub(age);
        let lifetime = self.setting.limits.reservation_lifetime_ms;
        let Some(request) = self.request_at(&decision.subject) else { return };
        request.heard_at = request.heard_at.max(decision.now);
        let known = request.answer.as_ref().map(|answer| (answer.attempt, answer.ordinal));
        if known.is_some_and(|known| known >= (decision.attempt, decision.ordinal)) {
            return self.odd(Topic::Decision, Oddity::Repeated);
        }
        let before = request.answer.take().filter(|answer| answer.attempt == decision.attempt);
        let answer = answer(decision, before, &mut self.blockers);
        let Some(request) = self.request_at(&decision.subject) else { return };
        request.passed.retain(|attempt| *attempt > answer.attempt);
        request.answer = Some(answer);
        request.placements.extend(placement(decision));
        let asked = request.task.as_ref();
        let reservation = reservation(decision, asked, clock).filter(|reservation| {
            age < lifetime && !request.outcomes.contains_key(&reservation.decision)
        });
        if let Some(reservation) = reservation {
            request.reservations.push(reservation.clone());
            self.open_reservation(&decision.subject, &reservation);
        }
        if let Outcome::Defer { until } = decision.outcome {
            self.timers.deferrals.set(until, &decision.subject);
        }
        self.subject_changed(decision.subject.clone());
    }

    /// Counts a reservation from now on.
    pub fn open_reservation(&mut self, subject: &str, reservation: &Reservation) {
        let Reservation { gshare, resource_type, user, working_group, .. } = reservation;
        let names = [gshare, resource_type, user, working_group];
        let [gshare, resource_type, user, group] = names.map(|name| self.name(name));
        let mut opened = Vec::with_capacity(reservation.queues.len());
        for ReservedJobs { queue, jobs, cores } in &reservation.queues {
            let (queue, jobs, cores) = (self.name(queue), *jobs, *cores);
            let at = ReservedAt { queue, gshare, resource_type, user, group, jobs, cores };
            opened.push(self.ledger.open(reservation, &at));
            self.touched.load.add(queue);
        }
        self.opened.insert(reservation.decision, opened);
        let lifetime = self.setting.limits.reservation_lifetime_ms;
        self.timers
            .reservations
            .set(reservation.clock.saturating_add(lifetime), subject.to_owned());
    }

    /// Counts a reservation no more.
    pub(crate) fn close_reservation(&mut self, decision: DecisionId) {
        for open in self.opened.remove(&decision).unwrap_or_default() {
            let queue = self.ledger.close(open);
            self.touched.load.add(queue);
        }
    }
}

/// More cores than this no job has; a larger figure counts as this.
const CORES_MAX: u32 = 1 << 20;

/// The part of an answer that later judgements need. A deferral that carries only what changed is
/// added to the one before.
fn answer(decision: &Decision, before: Option<Answer>, table: &mut BlockerTable) -> Answer {
    let first = before.as_ref().map_or(decision.now, |before| before.first_answered_at);
    let (until, blockers) = match decision.outcome {
        Outcome::Defer { until } => {
            let before = before.filter(|_| !decision.full).map(|before| before.blockers);
            (until, table.after(before, &decision.fates))
        }
        Outcome::Assign(_) | Outcome::Reject { .. } => (0, Blockers::default()),
    };
    let nucleus = match decision.outcome {
        Outcome::Assign(_) => decision.nucleus.clone(),
        Outcome::Defer { .. } | Outcome::Reject { .. } => String::new(),
    };
    let stated = decision.first_answered_at;
    Answer {
        nucleus,
        attempt: decision.attempt,
        ordinal: decision.ordinal,
        is_final: decision.outcome.is_final(),
        until,
        now: decision.now,
        first_answered_at: if stated == 0 { first } else { stated },
        policy_hash: decision.policy_hash.clone(),
        blockers,
    }
}

/// Where an assignment of a single job places it.
fn placement(decision: &Decision) -> Option<Placement> {
    let (Outcome::Assign(ranked), Some(placed)) = (&decision.outcome, &decision.placed) else {
        return None;
    };
    let target = ranked.first()?.queue.clone();
    let (attempt, now, placed) = (decision.attempt, decision.now, placed.clone());
    (!decision.dry_run).then_some(Placement { decision: decision.id, attempt, target, now, placed })
}

/// `asked`: the request, as far as it is known.
fn reservation(decision: &Decision, asked: Option<&Task>, clock: i64) -> Option<Reservation> {
    let Outcome::Assign(ranked) = &decision.outcome else { return None };
    if decision.dry_run {
        return None;
    }
    let mut queues: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for ranked in ranked.iter().filter(|ranked| ranked.jobs > 0) {
        let (jobs, cores) = queues.entry(&ranked.unified).or_default();
        *jobs = jobs.saturating_add(ranked.jobs);
        // Of queues that count as one the largest jobs stand for all.
        *cores = (*cores).max(ranked.cores.clamp(1, CORES_MAX));
    }
    if queues.is_empty() {
        // A nucleus for a task: nothing is placed yet.
        return None;
    }
    Some(Reservation {
        decision: decision.id,
        request: Key::of(request_name(&decision.subject, decision.attempt).as_bytes()),
        task: Key::of(decision.task.as_bytes()),
        gshare: decision.gshare.clone(),
        resource_type: asked.map(|task| task.resource_type.clone()).unwrap_or_default(),
        priority: asked.map_or(0, |task| task.priority),
        now: decision.now,
        clock,
        user: decision.user.clone(),
        working_group: decision.working_group.clone(),
        merge: decision.merge,
        queues: queues
            .into_iter()
            .map(|(queue, (jobs, cores))| ReservedJobs { queue: queue.to_owned(), jobs, cores })
            .collect(),
    })
}
