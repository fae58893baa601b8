//! Fast rebrokerage: jobs of a share that a queue will not start soon are brokered again (spec
//! atlas 6), where another queue would take them now, and not in circles.

mod groups;

use crate::command::{CommandRule, Mode, RuleSetting};
use crate::govern::circles::Circle;
use crate::govern::facts::{Surroundings, gaps, known_until};
use crate::govern::hold::{Hold, hold};
use crate::govern::make;
use crate::govern::make::Order;
use crate::govern::making::Making;
use crate::id::Name;
use crate::output::command::CommandKind;
use crate::state::State;
use crate::state::crowded::{Crowd, Crowds};
use crate::state::gaps::put_off;
use crate::state::job::Job;
use crate::unit::{MINUTE, Millis};
use groups::{TaskJobs, groups};
use std::collections::BTreeMap;

const RULE: CommandRule = CommandRule::FastRebrokerage;

/// Whether jobs of a task would go to another queue than the one named; `None`: nothing is known by
/// which to judge that.
pub(crate) type Elsewhere<'a> = dyn Fn(&State, &str, Name) -> Option<bool> + 'a;

/// Queue and share, and since when there are too many.
type Ripe = ((Name, Name), Millis);

/// A queue and share with more queued jobs than it will start soon, for long enough.
struct Due<'a> {
    at: (Name, Name),
    since: Millis,
    crowd: Crowd,
    /// So many jobs are to move, more than 0.
    excess: u64,
    /// Its queued jobs, task by task.
    groups: Vec<TaskJobs<'a>>,
}

/// Gives the commands of all queues and shares that have been crowded for long enough. Looked at
/// once a minute, as what is crowded is. Returns whether there were more tasks than are judged.
pub(crate) fn rebroker(
    (state, around): (&State, &Surroundings),
    rule: &RuleSetting,
    elsewhere: &Elsewhere<'_>,
    making: &mut Making,
) -> bool {
    if state.before.div_euclid(MINUTE) == state.now.div_euclid(MINUTE) {
        return false;
    }
    let text = |at: (Name, Name)| (state.names.text(at.0), state.names.text(at.1));
    let mut ripe: Vec<Ripe> = Vec::new();
    for (at, crowded) in &state.crowded {
        if is_ripe(state, rule, at.0, crowded.since) && !is_shown(state, rule, *at, crowded.since) {
            ripe.push((*at, crowded.since));
        }
    }
    if ripe.is_empty() {
        return false;
    }
    ripe.sort_by_key(|(at, since)| (*since, text(*at)));
    let mut dues = dues((state, around), rule, (&ripe, &state.crowds(rule)), making);
    let is_cut_off = judge(state, rule, &mut dues, elsewhere, making);
    dues.iter().for_each(|due| of_share(state, rule, due, making));
    is_cut_off
}

/// Those of them from which jobs may be taken back, with their jobs.
fn dues<'a>(
    (state, around): (&'a State, &Surroundings),
    rule: &RuleSetting,
    (ripe, crowds): (&[Ripe], &Crowds),
    making: &mut Making,
) -> Vec<Due<'a>> {
    let mut dues = Vec::new();
    for (at, since) in ripe {
        let Some(crowd) = crowds.get(at) else { continue };
        let excess = crowd.excess(1.0);
        if excess == 0 {
            continue;
        }
        let held = hold(state, around, RULE, at.0);
        if let Some(why) = held.or_else(|| making.used_up(state, rule, at.0)) {
            making.hold((RULE, at.0), excess, why);
            continue;
        }
        let groups = groups((state, around), *at, making);
        dues.push(Due { at: *at, since: *since, crowd: *crowd, excess, groups });
    }
    dues
}

/// Whether there have been too many for long enough; time in which a topic or the queue was not
/// heard of does not count.
fn is_ripe(state: &State, rule: &RuleSetting, queue: Name, since: Millis) -> bool {
    let gaps = gaps(state, RULE, queue);
    let due_at = put_off(since, rule.minutes("dwell_min"), &gaps);
    due_at.div_euclid(MINUTE) <= known_until(state, RULE).div_euclid(MINUTE)
}

/// Queue, share and, where it is known, task as the subject of a command.
fn subject(state: &State, (queue, gshare): (Name, Name), task: Option<&str>) -> String {
    let (queue, gshare) = (state.names.text(queue), state.names.text(gshare));
    match task {
        Some(task) => format!("{queue}/{gshare}/{task}"),
        None => format!("{queue}/{gshare}"),
    }
}

/// Whether what would be done was published for people to see, once for each time that there are
/// too many.
fn is_shown(state: &State, rule: &RuleSetting, at: (Name, Name), since: Millis) -> bool {
    if rule.mode == Mode::On {
        return false;
    }
    let (queue, gshare) = (state.names.text(at.0), state.names.text(at.1));
    let mut shown = state.commands.of_queue(queue).map(|known| &known.command);
    shown.any(|it| it.rule == RULE.name() && it.gshare == gshare && it.clock_at == Some(since))
}

/// Finds out of each task why its jobs stay, if they do; whether there were more than are judged.
fn judge(
    state: &State,
    rule: &RuleSetting,
    dues: &mut [Due<'_>],
    elsewhere: &Elsewhere<'_>,
    making: &mut Making,
) -> bool {
    let mut open: Vec<(Name, &mut TaskJobs<'_>)> = Vec::new();
    for due in dues {
        for group in &mut due.groups {
            let Some(task) = &group.task else { continue };
            if let Some(circle) = Circle::of(state, rule, due.at, task) {
                circle.alert(state, rule, making);
                group.stays = Some(circle.stays);
            }
            if group.stays.is_none() {
                open.push((due.at.0, group));
            }
        }
    }
    let (most, count) = (state.setting.commands.governor.rebrokered_tasks, open.len());
    // Minute by minute another part of them has its turn.
    let minute = state.now.div_euclid(MINUTE).unsigned_abs() as usize;
    let first = if count > most { minute.wrapping_mul(most) % count } else { 0 };
    for (number, (queue, group)) in open.into_iter().enumerate() {
        let Some(task) = &group.task else { continue };
        let has_turn = (number + count - first) % count < most;
        group.stays = match has_turn.then(|| elsewhere(state, task, queue)) {
            None => Some(Hold::Turn),
            Some(Some(false)) => Some(Hold::NoOtherQueue),
            Some(_) => None,
        };
    }
    count > most
}

/// Takes the oldest jobs of a share at a queue back that may move.
fn of_share(state: &State, rule: &RuleSetting, due: &Due<'_>, making: &mut Making) {
    let dry_run = rule.mode != Mode::On;
    let (left, _) = making.budget(state, dry_run).left(state, RULE, due.at.0);
    let oldest = oldest(&due.groups, left.min(due.excess));
    let batch = (rule.value("batch_jobs") as usize).max(1);
    let mut orders = Vec::new();
    for (task, jobs) in &oldest {
        for (number, jobs) in jobs.chunks(batch).enumerate() {
            orders.push(order(state, due, (*task, jobs), number, dry_run));
        }
    }
    let moved: u64 = orders.iter().map(|order| order.amount).sum();
    let room = state.setting.commands.governor.commands_per_cycle;
    if making.commands.len() + orders.len() > room && !making.commands.is_empty() {
        // All of it, or none: what is given first sets back since when there are too many.
        return;
    }
    orders.into_iter().take(room).for_each(|order| give(state, order, making));
    if moved >= due.excess {
        return;
    }
    let stay = |group: &TaskJobs<'_>| Some((group.jobs.len(), group.stays.clone()?));
    let most = due.groups.iter().filter_map(stay).max_by_key(|(jobs, _)| *jobs);
    let (_, used_up) = making.budget(state, dry_run).left(state, RULE, due.at.0);
    if let Some(why) = if moved == left { Some(used_up) } else { most.map(|(_, why)| why) } {
        making.hold((RULE, due.at.0), due.excess - moved, why);
    }
}

/// The oldest jobs that may move, at most so many, task by task: those with the lowest numbers.
fn oldest<'a>(groups: &'a [TaskJobs<'a>], most: u64) -> Vec<(Option<&'a str>, Vec<&'a Job>)> {
    let open = groups.iter().filter(|group| group.stays.is_none());
    let each = open.flat_map(|group| group.jobs.iter().map(|job| (*job, group.task.as_deref())));
    let mut jobs: Vec<(&Job, Option<&str>)> = each.collect();
    jobs.sort_unstable_by_key(|(job, _)| job.key);
    jobs.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let mut by_task: BTreeMap<Option<&str>, Vec<&Job>> = BTreeMap::new();
    for (job, task) in jobs {
        by_task.entry(task).or_default().push(job);
    }
    let mut by_task: Vec<_> = by_task.into_iter().collect();
    by_task.sort_by_key(|(_, jobs)| jobs.first().map(|job| job.key));
    by_task
}

fn give(state: &State, order: Order<'_>, making: &mut Making) {
    let (queue, amount, dry_run) = (state.known_name(order.queue), order.amount, order.dry_run);
    let queue = queue.unwrap_or(Name::NONE);
    making.budget(state, dry_run).take(RULE.name(), queue, amount);
    let command = make::command(state, order);
    match dry_run {
        true => making.show(command),
        false => making.order(command),
    }
}

/// The command for a batch of jobs of a task.
fn order<'a>(
    state: &'a State,
    due: &Due<'_>,
    (task, jobs): (Option<&str>, &[&Job]),
    number: usize,
    dry_run: bool,
) -> Order<'a> {
    let Due { at, since, crowd, excess, .. } = due;
    Order {
        rule: RULE,
        kind: CommandKind::Rebroker,
        subject: subject(state, *at, task),
        attempt: u32::try_from(number).unwrap_or(u32::MAX),
        queue: state.names.text(at.0),
        gshare: state.names.text(at.1),
        task: task.unwrap_or_default().to_owned(),
        jobs: jobs.iter().map(|job| state.job_name(job.key)).collect(),
        amount: jobs.len() as u64,
        clock: "crowded_since",
        clock_at: Some(*since),
        measured: crowd.queued as f64,
        limit: crowd.queued.saturating_sub(*excess) as f64,
        unit: "jobs",
        dry_run,
        notes: Vec::new(),
    }
}
