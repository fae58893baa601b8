//! The figures of a task's owner, and of its user at each queue, are the sum over jobs.

use super::random::{Moment, Story, feed_story};
use crate::world::*;
use std::collections::BTreeSet;
use yardmaster::core::cut::Topic;
use yardmaster::core::domain::atlas::policy::{Slots, UserView};
use yardmaster::core::event::{Event, JobState, Queue, Share, Status, Task};
use yardmaster::core::id::Key;
use yardmaster::core::judge::view::Grid;
use yardmaster::core::policy::{Rules, Totals};
use yardmaster::core::state::State;
use yardmaster::core::state::job::Job;
use yardmaster::core::state::record::{Reservation, ReservedJobs};
use yardmaster::core::unit::{HOUR, MINUTE, Millis, SECOND};

const QUEUED: [Status; 4] =
    [Status::Defined, Status::Assigned, Status::Activated, Status::Starting];

/// Live jobs with their queue, share, user and group.
fn jobs(state: &State) -> Vec<(&Job, [&str; 4])> {
    let known = state.jobs.slab.iter().filter(|(_, job)| job.status.is_some());
    let names = |job: &Job| [0, 1, 3, 4].map(|at: usize| state.names.text(job.names[at]));
    known.map(|(_, job)| (job, names(job))).collect()
}

fn totals(state: &State, task: &Task) -> Totals {
    let mut totals = Totals::default();
    for (job, [_, _, user, group]) in jobs(state) {
        let is_own = match task.working_group.as_str() {
            "" => group.is_empty() && user == task.user,
            wanted => group == wanted,
        };
        let (status, cores) = (job.status.expect("known"), u64::from(job.cores));
        if is_own && status == Status::Running {
            totals.running_jobs += 1;
            totals.running_cores += cores;
        }
        if is_own && (QUEUED.contains(&status) || status == Status::Throttled) {
            totals.queued_jobs += 1;
            totals.queued_cores += cores;
        }
    }
    for (it, queue, waiting) in reserved(state) {
        let is_own = match task.working_group.as_str() {
            "" => it.working_group.is_empty() && it.user == task.user,
            wanted => it.working_group == wanted,
        };
        if is_own {
            totals.reserved_jobs += u64::from(waiting);
            totals.reserved_cores += u64::from(waiting * queue.cores);
        }
    }
    totals
}

/// Open reservations, queue by queue, with how many of their jobs are not known yet.
fn reserved(state: &State) -> Vec<(&Reservation, &ReservedJobs, u32)> {
    let second = |at: Millis| at.div_euclid(SECOND);
    let mut all = Vec::new();
    for (_, request) in state.requests.iter() {
        for it in &request.reservations {
            for queue in &it.queues {
                let comes = |job: &Job| match job.request {
                    Key::NONE => job.task == it.task && second(job.created_at) > second(it.now),
                    request => request == it.request,
                };
                let jobs = jobs(state);
                let seen = jobs.iter().filter(|(job, [at, ..])| *at == queue.queue && comes(job));
                all.push((it, queue, queue.jobs.saturating_sub(seen.count() as u32)));
            }
        }
    }
    all
}

/// Cores that run; `class`: of the site of a queue.
fn slots(state: &State, task: &Task, class: impl Fn(&str) -> i8) -> Slots {
    let classed = ["User Analysis", "Express Analysis"];
    let mut slots = Slots::default();
    for (job, [queue, share, user, _]) in jobs(state) {
        if job.status != Some(Status::Running) || !classed.contains(&share) || user != task.user {
            continue;
        }
        if job.sample.is_merge() {
            continue;
        }
        let cores = u64::from(job.cores);
        slots.hi += if class(queue) == 1 { cores } else { 0 };
        slots.hi_mid += if class(queue) == -1 { 0 } else { cores };
    }
    slots
}

/// The user at a queue, without what windows have of forgotten jobs.
fn user_at(state: &State, task: &Task, queue: &str) -> UserView {
    let (mut view, mut users, mut running) = (UserView::default(), BTreeSet::new(), 0);
    for (job, [at, share, user, _]) in jobs(state) {
        let status = job.status.expect("known");
        if at != queue || share != task.gshare || job.sample.is_merge() {
            continue;
        }
        running += u32::from(status == Status::Running);
        if !status.is_ended() && !user.is_empty() {
            users.insert(user);
        }
        if user == task.user {
            view.present |= !status.is_ended();
            view.queued += u32::from(QUEUED.contains(&status));
            view.running += u32::from(status == Status::Running);
        }
    }
    for (it, at, waiting) in reserved(state) {
        let is_own = it.user == task.user && it.gshare == task.gshare && !it.merge;
        if is_own && at.queue == queue {
            view.present |= waiting > 0;
            view.queued += waiting;
        }
    }
    (view.users, view.all_running) = (Some(users.len() as u32), Some(running));
    view
}

/// Contributions of live jobs to windows: starts an hour, and the task's outcomes of six hours.
fn windows(state: &State, task: &Task, queue: &str) -> (f64, [u32; 3]) {
    let (mut starts, mut ended) = (0.0, [0; 3]);
    let last = state.times.of(Topic::JobState).time.div_euclid(5 * MINUTE);
    for (job, [at, ..]) in jobs(state) {
        let status = job.status.expect("known");
        let goes_on = [Status::Running, Status::Holding, Status::Transferring].contains(&status)
            || [Status::Finished, Status::Cancelled].contains(&status);
        let bucket = job.started_at.div_euclid(5 * MINUTE);
        let in_window = (last - 72..=last - 2).contains(&bucket);
        if at == queue && goes_on && job.started_at > 0 && in_window {
            starts += 1.0;
        }
        let which = [Status::Finished, Status::Failed, Status::Closed];
        let reach = state.setting.limits.done_jobs_window_ms.min(6 * HOUR);
        let first = (state.now - reach).div_euclid(10 * MINUTE);
        if at == queue
            && job.task == Key::of(task.task.as_bytes())
            && let Some(which) = which.iter().position(|it| *it == status)
            && job.over_at().div_euclid(10 * MINUTE) >= first
            && (status != Status::Closed
                || ["", "toreassign"].contains(&state.names.text(job.sub_status)))
        {
            ended[which] += 1;
        }
    }
    (starts / (355.0 / 60.0), ended)
}

#[test]
fn owners_have_what_their_jobs_sum_up_to() {
    let (policy, resolved) = policy("atlas-analysis-job", Rules::Documented);
    let (mut present, mut started, mut ended) = (0, 0, 0);
    let mut classes = BTreeSet::new();
    for seed in 0..48 {
        feed_story(&Story::drawn(seed), seed, |state, cycle, moment| {
            if moment == Moment::Published || cycle % 3 != 0 {
                return;
            }
            let mut state = state.clone();
            for name in ["ash", "oak"] {
                let queue = Queue { analysis: true, ..crate::drive::yard::queue(name, DAWN) };
                fold(&mut state, &published(lane(Topic::Queue, 0), Event::from(queue)));
            }
            let mut grid = Grid::default();
            grid.update(&mut state, None, true);
            let view = grid.view(&state);
            for (user, group, share) in [
                ("ann", "", "User Analysis"),
                ("bob", "top", "User Analysis"),
                ("gangarbt", "", "User Analysis"),
                ("cat", "", "MC"),
                ("nobody", "no-group", "no share"),
            ] {
                let task = Task {
                    task: "70".into(),
                    user: user.into(),
                    working_group: group.into(),
                    gshare: share.into(),
                    ..Task::default()
                };
                let when = format!("seed {seed}, cycle {cycle}, {user} {group} {share}");
                let (case, survey) = view.case(&policy, &resolved, &task);
                assert_eq!(case.owner.totals, Some(totals(&state, &task)), "{when}");
                let class = |at| view.look(&case, &survey).one(at).user.site_class;
                let [ash, oak] = [0, 1].map(class);
                let expected = slots(&state, &task, |queue| match queue {
                    "ash" => ash,
                    "oak" => oak,
                    _ => 0,
                });
                assert_eq!(case.owner.slots, Some(expected), "{when}");
                classes.extend([ash, oak]);
                for (at, queue) in [(0, "ash"), (1, "oak")] {
                    let found = view.look(&case, &survey).one(at).user;
                    let (starts, outcomes) = windows(&state, &task, queue);
                    let own = UserView {
                        starts_per_hour: found.starts_per_hour,
                        finished: found.finished,
                        failed: found.failed,
                        closed: found.closed,
                        site_class: found.site_class,
                        ..user_at(&state, &task, queue)
                    };
                    assert_eq!(found, own, "{when} at {queue}");
                    // Forgotten jobs stay in windows; those that are live must be there.
                    assert!(found.starts_per_hour >= starts - 1e-9, "{when} at {queue}");
                    let theirs = [found.finished, found.failed, found.closed];
                    assert!(theirs.iter().zip(outcomes).all(|(all, live)| *all >= live), "{when}");
                    present += usize::from(found.present);
                    started += usize::from(starts > 0.0);
                    ended += usize::from(outcomes != [0; 3]);
                }
            }
        });
    }
    assert_eq!(classes, BTreeSet::from([-1, 0, 1]));
    assert!(present > 50 && started > 20 && ended > 50, "{present} {started} {ended}");
}

/// Of 12 running cores the share has 4, and is due a fifth of all: 40 of 24 HS06. What the other
/// share leaves of its 96 is given to it: 16 more, times 24 of 25 (spec atlas 10.4).
#[test]
fn a_share_is_used_as_its_jobs_run() {
    let (policy, resolved) = policy("atlas-analysis-job", Rules::Documented);
    let mut state = state();
    let queue = Queue { analysis: true, ..crate::drive::yard::queue("ash", DAWN) };
    fold(&mut state, &published(lane(Topic::Queue, 0), Event::from(queue)));
    for (name, value) in [("MC", 80.0), ("User Analysis", 20.0)] {
        let share = Share { name: name.into(), value, changed_at: DAWN, ..Share::default() };
        fold(&mut state, &published(lane(Topic::Share, 0), Event::from(share)));
    }
    for (name, gshare, cores) in [("1", "MC", 8), ("2", "User Analysis", 4)] {
        let job = JobState { gshare, cores, ..job(name) };
        fold(&mut state, &published(lane(Topic::JobState, 0), Event::JobState(job)));
    }
    close(&mut state, DAWN + 1);
    let mut grid = Grid::default();
    grid.update(&mut state, None, true);
    let usage = |gshare: &str| {
        let task = Task { gshare: gshare.into(), ..Task::default() };
        let (case, _) = grid.view(&state).case(&policy, &resolved, &task);
        let owner = case.owner;
        (owner.share_usage, owner.level1_usage, owner.share_running)
    };
    let (own, level1, running) = usage("User Analysis");
    let near = |found: Option<f64>, wanted: f64| found.is_some_and(|it| (it - wanted).abs() < 1e-9);
    assert!(near(own, 40.0 / 24.0), "{own:?}");
    assert!(near(level1, 40.0 / (24.0 + 16.0 * 24.0 / 25.0)), "{level1:?}");
    assert_eq!(running, 1);
    assert_eq!(usage("no such share"), (None, None, 0));
}
