//! The number of running jobs that is reckoned with, R.

use super::figure::figure;
use crate::domain::atlas::policy::queues::queue_weight;
use crate::domain::atlas::policy::{Candidate, Case, QueueWeight, Weighed};
use crate::event::Status;
use crate::policy::typed::{params, words};
use crate::policy::{Param, Reads, Unit};

words! {
    /// Way in which other figures replace the running jobs where few run.
    Rule {
        Largest = "largest",
        Replace = "replace",
    }
}

params! {
    /// Parameters of `running` for production jobs.
    Running {
        rule: Rule = Rule::param("rule", Rule::Largest, Rule::Replace).help(
            "the largest of all figures, or PanDA's conditions on each of them: workers only of \
             pull queues with pilots, slots 0 adds the starting jobs, and neither above the \
             priority limit (DIFF-20)",
        ),
        workers_most: f64 = Param::int("workers_most", 20, 20)
            .unit(Unit::Jobs)
            .help("workers count only below this many running jobs, and up to it"),
        priority_most: f64 = Param::int("MAX_PRIO_TO_BOOTSTRAP", 150, 150)
            .gdp("jobbroker/MAX_PRIO_TO_BOOTSTRAP")
            .help("highest priority at which `replace` looks at workers and slots"),
    }
}

pub(crate) const WEIGHT: QueueWeight = queue_weight!(Running {
    name: "running",
    spec: "atlas 2.5.1, DIFF-20",
    help: "the jobs running in the share, or what stands for them where few or none run yet: \
           batch workers, slots offered, starting jobs",
    figures: &[
        ("R", "running jobs reckoned with"),
        ("running", "jobs running in the share"),
        ("workers", "batch workers submitted and running"),
        ("slots", "slots offered; cores; -1: none stated"),
    ],
    reads: &[Reads::Load, Reads::Pilot],
    weigh: Figure(running),
});

/// Workflow of queues whose pilots fetch jobs for themselves.
const PULL: &str = "pull_ups";

fn running(case: &Case<'_>, candidate: &Candidate<'_>, params: &Running, weighed: &mut Weighed) {
    let real = candidate.jobs(Status::Running);
    weighed.running = match params.rule {
        Rule::Largest => largest(candidate, params),
        Rule::Replace => replaced(case, candidate, params),
    };
    let used = weighed.running;
    weighed.leave(|| {
        let slots = figure(candidate.slots.map(f64::from));
        [used, real, f64::from(candidate.workers), slots]
    });
}

fn largest(candidate: &Candidate<'_>, params: &Running) -> f64 {
    let real = candidate.jobs(Status::Running);
    let by_slots = match candidate.slots {
        Some(0) => candidate.jobs(Status::Starting),
        Some(_) => slot_jobs(candidate),
        None => 0.0,
    };
    real.max(by_workers(candidate, params)).max(by_slots)
}

fn replaced(case: &Case<'_>, candidate: &Candidate<'_>, params: &Running) -> f64 {
    let real = candidate.jobs(Status::Running);
    if f64::from(case.task.priority) > params.priority_most {
        return real;
    }
    let queue = candidate.queue;
    let pulls = candidate.pilots > 0 && queue.ucore && queue.workflow == PULL;
    let running = if pulls { real.max(by_workers(candidate, params)) } else { real };
    match candidate.slots {
        Some(0) => running + candidate.jobs(Status::Starting),
        Some(_) => running.max(slot_jobs(candidate)),
        None => running,
    }
}

/// Running jobs that the workers count as; 0 when enough jobs run.
fn by_workers(candidate: &Candidate<'_>, params: &Running) -> f64 {
    let (real, most) = (candidate.jobs(Status::Running), params.workers_most);
    if real < most { f64::from(candidate.workers).min(most) } else { 0.0 }
}

/// Slots are cores: a job takes as many as the queue has.
fn slot_jobs(candidate: &Candidate<'_>) -> f64 {
    f64::from(candidate.slots.unwrap_or(0) / candidate.queue.cores.max(1))
}
