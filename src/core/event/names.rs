//! The names in an event: which is the longest.

use super::field_name::{FieldName, longest};
use super::{DecisionOutcome, Event, Heartbeat, JobState, Pilot, Task, Transfer};

/// The longest name by which an event refers to things. Names become keys of our own records,
/// labels of counters and parts of decisions, so one that is longer than `name_bytes` makes its
/// record unreadable. Text that is only looked into (patterns, lists of software) is bounded by the
/// record's own length.
pub fn longest_name<'e>(event: &'e Event<'_>) -> FieldName<'e> {
    match event {
        Event::JobState(event) => of_job(event),
        Event::Heartbeat(Heartbeat { job, .. }) => FieldName { field: "job", text: job },
        Event::Transfer(event) => of_transfer(event),
        Event::Pilot(event) => of_pilot(event),
        Event::Task(event) => of_task(event),
        Event::Outcome(DecisionOutcome { subject, .. }) => {
            FieldName { field: "subject", text: subject }
        }
        Event::Configuration(event) => event.longest_name(),
        // A null removes what it names, and a name that was never taken removes nothing.
        Event::Removed { .. } | Event::Output(_) | Event::Garbled(_) => FieldName::default(),
    }
}

fn of_job<'e>(event: &'e JobState<'_>) -> FieldName<'e> {
    longest!(
        event: job,
        task,
        request,
        queue,
        user,
        group,
        gshare,
        resource_type,
        nucleus,
        workflow,
        label,
        processing_type,
        sub_status,
        cluster_job,
    )
}

fn of_transfer<'e>(event: &'e Transfer<'_>) -> FieldName<'e> {
    longest!(event: request, activity, source, destination)
}

fn of_pilot<'e>(event: &'e Pilot<'_>) -> FieldName<'e> {
    match event {
        Pilot::AskedJob { queue, node, .. } | Pilot::UpdatedJob { queue, node, .. } => {
            FieldName::longest([("queue", *queue), ("node", node)])
        }
        Pilot::Nodes { queue, .. } => FieldName { field: "queue", text: queue },
        Pilot::Workers { queue, harvester, resource_type, .. } => FieldName::longest([
            ("queue", *queue),
            ("harvester", harvester),
            ("resource_type", resource_type),
        ]),
        Pilot::Slots { queue, gshare, resource_type, .. } => FieldName::longest([
            ("queue", *queue),
            ("gshare", gshare),
            ("resource_type", resource_type),
        ]),
        Pilot::SlotOffer { queue, offer, .. } => FieldName::longest([
            ("queue", *queue),
            ("offer", offer.offer),
            ("block", offer.block),
            ("node", offer.node),
        ]),
        Pilot::SlotWithdrawn { queue, offer, .. } => {
            FieldName::longest([("queue", *queue), ("offer", offer)])
        }
    }
}

fn of_task(event: &Task) -> FieldName<'_> {
    longest!(
        event: subject,
        task,
        domain,
        policy,
        label,
        processing_type,
        working_group,
        user,
        gshare,
        resource_type,
        nucleus,
    )
    .or_in("replicas", event.replicas.iter().map(|replica| replica.endpoint.as_str()))
}
