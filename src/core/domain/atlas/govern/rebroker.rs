//! Fast rebrokerage: jobs of a share that a queue will not start soon are brokered again (spec
//! atlas 6).

use crate::command::{CommandRule, Mode, RuleSetting};
use crate::govern::facts::{Surroundings, gaps, known_until};
use crate::govern::hold::{Hold, hold};
use crate::govern::make;
use crate::govern::make::Order;
use crate::govern::making::{Making, too_many_moves};
use crate::govern::open::is_taken;
use crate::id::Name;
use crate::output::command::CommandKind;
use crate::state::State;
use crate::state::crowded::{Crowd, is_queued};
use crate::state::gaps::put_off;
use crate::state::job::Job;
use crate::unit::{MINUTE, Millis};

const RULE: CommandRule = CommandRule::FastRebrokerage;

/// Gives the commands of all queues and shares that have been crowded for long enough. Looked at
/// once a minute, as what is crowded is.
pub(crate) fn rebroker(
    state: &State,
    around: &Surroundings,
    rule: &RuleSetting,
    making: &mut Making,
) {
    if state.before.div_euclid(MINUTE) == state.now.div_euclid(MINUTE) {
        return;
    }
    let text = |at: (Name, Name)| (state.names.text(at.0), state.names.text(at.1));
    let mut due: Vec<((Name, Name), Millis)> = Vec::new();
    for (at, crowded) in &state.crowded {
        if is_ripe(state, rule, at.0, crowded.since) && !is_shown(state, rule, *at, crowded.since) {
            due.push((*at, crowded.since));
        }
    }
    if due.is_empty() {
        return;
    }
    due.sort_by_key(|(at, since)| (*since, text(*at)));
    let crowds = state.crowds(rule);
    for (at, since) in due {
        let Some(crowd) = crowds.get(&at) else { continue };
        let excess = crowd.excess(1.0);
        if excess == 0 {
            continue;
        }
        if let Some(why) = hold(state, around, RULE, at.0) {
            making.hold((RULE, at.0), excess, why);
            continue;
        }
        of_share((state, around), rule, (at, since), (crowd, excess), making);
    }
}

/// Whether there have been too many for long enough; time in which a topic or the queue was not
/// heard of does not count.
fn is_ripe(state: &State, rule: &RuleSetting, queue: Name, since: Millis) -> bool {
    let gaps = gaps(state, RULE, queue);
    let due_at = put_off(since, rule.minutes("dwell_min"), &gaps);
    due_at.div_euclid(MINUTE) <= known_until(state, RULE).div_euclid(MINUTE)
}

/// Queue and share as the subject of a command.
fn subject(state: &State, (queue, gshare): (Name, Name)) -> String {
    format!("{}/{}", state.names.text(queue), state.names.text(gshare))
}

/// Whether what would be done was published for people to see, once for each time that there are
/// too many.
fn is_shown(state: &State, rule: &RuleSetting, at: (Name, Name), since: Millis) -> bool {
    let id = make::id_of(state, RULE, &subject(state, at), 0, Some(since));
    rule.mode != Mode::On && state.commands.of(id).is_some()
}

fn of_share(
    (state, around): (&State, &Surroundings),
    rule: &RuleSetting,
    (at, since): ((Name, Name), Millis),
    (crowd, excess): (&Crowd, u64),
    making: &mut Making,
) {
    let dry_run = rule.mode != Mode::On;
    let (left, _) = making.budget(state, dry_run).left(state, RULE, at.0);
    let oldest = oldest((state, around), at, left.min(excess), making);
    let batch = (rule.value("batch_jobs") as usize).max(1);
    let room = state.setting.commands.governor.commands_per_cycle;
    if making.commands.len() + oldest.jobs.len().div_ceil(batch) > room
        && !making.commands.is_empty()
    {
        // All of it, or none: what is given first sets back since when there are too many.
        return;
    }
    for (number, jobs) in oldest.jobs.chunks(batch).take(room).enumerate() {
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
            clock_at: Some(since),
            measured: crowd.queued as f64,
            limit: crowd.queued.saturating_sub(excess) as f64,
            unit: "jobs",
            dry_run,
            notes: Vec::new(),
        };
        let command = make::command(state, order);
        match dry_run {
            true => making.show(command),
            false => making.order(command),
        }
    }
    if left < excess {
        let (_, used_up) = making.budget(state, dry_run).left(state, RULE, at.0);
        making.hold((RULE, at.0), excess - left, used_up);
    } else if let Some(moves) = oldest.moved_enough {
        making.hold((RULE, at.0), excess - oldest.jobs.len() as u64, moves);
    }
}

/// Jobs that are to move.
struct Oldest<'a> {
    jobs: Vec<&'a Job>,
    /// Why not as many as asked for: some were moved as often as they may be.
    moved_enough: Option<Hold>,
}

/// The oldest queued jobs of a share at a queue that may move, at most so many: those with the
/// lowest numbers.
fn oldest<'a>(
    (state, around): (&'a State, &Surroundings),
    at: (Name, Name),
    most: u64,
    making: &Making,
) -> Oldest<'a> {
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
    let mut oldest = Oldest { jobs: Vec::new(), moved_enough: None };
    for job in jobs {
        if oldest.jobs.len() as u64 >= most {
            return Oldest { moved_enough: None, ..oldest };
        }
        if making.ordered.contains(&job.key) || is_taken(state, around, job.key) {
            continue;
        }
        match too_many_moves(state, job.key, CommandKind::Rebroker) {
            None => oldest.jobs.push(job),
            moved => oldest.moved_enough = moved,
        }
    }
    oldest
}
