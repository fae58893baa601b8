//! The names in an event: how long the longest is.

use super::configured::longest;
use super::{DecisionOutcome, Event, Heartbeat, JobState, Pilot, Task, Transfer};

/// Length of the longest name by which an event refers to things; bytes. Names become keys of our
/// own records, labels of counters and parts of decisions, so one that is longer than `name_bytes`
/// makes its record unreadable. Text that is only looked into (patterns, lists of software) is
/// bounded by the record's own length.
pub fn longest_name(event: &Event<'_>) -> usize {
    match event {
        Event::JobState(event) => of_job(event),
        Event::Heartbeat(Heartbeat { job, .. }) => job.len(),
        Event::Transfer(Transfer { request, activity, source, destination, .. }) => {
            longest(&[request, activity, source, destination])
        }
        Event::Pilot(event) => of_pilot(event),
        Event::Task(event) => of_task(event),
        Event::Outcome(DecisionOutcome { subject, .. }) => subject.len(),
        Event::Configuration(event) => event.longest_name(),
        // A null removes what it names, and a name that was never taken removes nothing.
        Event::Removed { .. } | Event::Output(_) | Event::Garbled(_) => 0,
    }
}

fn of_job(event: &JobState<'_>) -> usize {
    longest(&[
        event.job,
        event.task,
        event.request,
        event.queue,
        event.user,
        event.group,
        event.gshare,
        event.resource_type,
        event.nucleus,
        event.workflow,
        event.label,
        event.processing_type,
        event.sub_status,
    ])
}

fn of_pilot(event: &Pilot<'_>) -> usize {
    match event {
        Pilot::AskedJob { queue, node, .. } | Pilot::UpdatedJob { queue, node, .. } => {
            longest(&[queue, node])
        }
        Pilot::Workers { queue, harvester, resource_type, .. } => {
            longest(&[queue, harvester, resource_type])
        }
        Pilot::Slots { queue, gshare, resource_type, .. } => {
            longest(&[queue, gshare, resource_type])
        }
        Pilot::SlotOffer { queue, offer, .. } => {
            longest(&[queue, offer.offer, offer.block, offer.node])
        }
        Pilot::SlotWithdrawn { queue, offer, .. } => longest(&[queue, offer]),
    }
}

fn of_task(event: &Task) -> usize {
    let endpoints = event.replicas.iter().map(|replica| replica.endpoint.len()).max();
    longest(&[
        &event.subject,
        &event.task,
        &event.domain,
        &event.policy,
        &event.label,
        &event.processing_type,
        &event.working_group,
        &event.user,
        &event.gshare,
        &event.resource_type,
        &event.nucleus,
    ])
    .max(endpoints.unwrap_or(0))
}
