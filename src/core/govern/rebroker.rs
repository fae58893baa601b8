//! Fast rebrokerage: jobs of a share that a queue will not start soon are brokered again (spec
//! atlas 6).

use super::facts::Surroundings;
use super::hold::hold;
use super::make::{self, Order};
use super::making::{Making, too_many_moves};
use crate::core::command::{CommandRule, Mode, RuleSetting};
use crate::core::id::{Key, Name};
use crate::core::output::command::{Command, CommandKind};
use crate::core::state::State;
use crate::core::state::crowded::{Crowd, is_queued};
use crate::core::state::record::Job;
use crate::core::unit::Millis;

const RULE: CommandRule = CommandRule::FastRebrokerage;

/// Gives the commands of all queues and shares that have been crowded for long enough.
pub(super) fn rebroker(
    state: &State,
    around: &Surroundings,
    rule: &RuleSetting,
    making: &mut Making,
) {
    let dwell = rule.minutes("dwell_min");
    let ripe = |since: Millis| since.saturating_add(dwell) <= state.now;
    let due = state.crowded.iter().filter(|(_, crowded)| ripe(crowded.since));
    let mut due: Vec<((Name, Name), Millis)> = due.map(|(at, it)| (*at, it.since)).collect();
    if due.is_empty() {
        return;
    }
    let text = |at: (Name, Name)| (state.names.text(at.0), state.names.text(at.1));
    due.sort_by_key(|(at, since)| (*since, text(*at)));
    let crowds = state.crowds(rule);
    for (at, since) in due {
        let Some(crowd) = crowds.get(&at) else { continue };
        let excess = crowd.excess(1.0);
        if excess == 0 || is_shown(state, rule, at, since) {
            continue;
        }
        if let Some(why) = hold(state, around, RULE, at.0) {
            making.hold((RULE, at.0), excess, why);
            continue;
        }
        of_share(state, rule, (at, since), (crowd, excess), making);
    }
}

/// Queue and share as the subject of a command.
fn subject(state: &State, (queue, gshare): (Name, Name)) -> String {
    format!("{}/{}", state.names.text(queue), state.names.text(gshare))
}

/// Whether what would be done was published for people to see, once for each time that there are
/// too many.
fn is_shown(state: &State, rule: &RuleSetting, at: (Name, Name), since: Millis) -> bool {
    let id = make::id_of(state, RULE, &subject(state, at), 0, since);
    rule.mode != Mode::On && state.commands.of(id).is_some()
}

fn of_share(
    state: &State,
    rule: &RuleSetting,
    (at, since): ((Name, Name), Millis),
    (crowd, excess): (&Crowd, u64),
    making: &mut Making,
) {
    let dry_run = rule.mode != Mode::On;
    let (left, _) = making.budget(state, dry_run).left(state, RULE, at.0);
    let jobs = oldest(state, at, left.min(excess));
    let batch = rule.value("batch_jobs") as usize;
    for (number, jobs) in jobs.chunks(batch.max(1)).enumerate() {
        making.budget(state, dry_run).take(RULE.name(), at.0, jobs.len() as u64);
        let order = Order {
            rule: RULE,
            kind: CommandKind::Rebroker,
            subject: subject(state, at),
            attempt: number as u32,
            queue: state.names.text(at.0),
            gshare: state.names.text(at.1),
            jobs: jobs.iter().map(|job| state.job_name(job.key)).collect(),
            amount: jobs.len() as u64,
            clock: "crowded_since",
            clock_at: since,
            measured: crowd.queued as f64,
            limit: crowd.queued.saturating_sub(excess) as f64,
            unit: "jobs",
            dry_run,
        };
        making.commands.push(make::command(state, order));
    }
    if left < excess {
        let (_, why) = making.budget(state, dry_run).left(state, RULE, at.0);
        making.hold((RULE, at.0), excess - left, why);
    }
}

/// The oldest queued jobs of a share at a queue that may move, at most so many: those with the
/// lowest numbers.
fn oldest(state: &State, at: (Name, Name), most: u64) -> Vec<&Job> {
    let rows = state.looks.queued_rows().filter(|row| {
        let key = state.ledger.load.key(*row);
        (Name(key[0]), Name(key[1])) == at
    });
    let slots = rows.flat_map(|row| state.looks.queued(row));
    let jobs = slots.filter_map(|slot| state.jobs.slab.get(*slot));
    let mut jobs: Vec<&Job> = jobs
        .filter(|job| job.status.is_some_and(is_queued) && (job.names[0], job.names[1]) == at)
        .collect();
    jobs.sort_unstable_by_key(|job| job.key);
    jobs.dedup_by_key(|job| job.key);
    jobs.retain(|job| {
        !state.commands.about(job.key).any(|known| known.takes(job, state.now))
            && too_many_moves(state, job.key, CommandKind::Rebroker).is_none()
    });
    jobs.truncate(most as usize);
    jobs
}

/// Whether a job that a command named still waits where it was.
pub(super) fn is_wanted(state: &State, command: &Command) -> bool {
    let at = (state.known_name(&command.queue), state.known_name(&command.gshare));
    command.jobs.iter().any(|name| {
        let job = state.jobs.of(Key::of(name.as_bytes()));
        job.is_some_and(|job| {
            job.status.is_some_and(is_queued) && (Some(job.names[0]), Some(job.names[1])) == at
        })
    })
}
