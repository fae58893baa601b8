//! Messages that need no memory: transfers, replicas, workers, ends of tasks, and dead letters.

use super::facts::End;
use super::{Intake, Origin, Records, Taken, decimal};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Configured, DataKind, Location, Pilot, Replica, ReplicaState, Task, TaskPhase, Transfer,
};
use yardmaster_core::id::cut;
use yardmaster_wire::dialect::{
    DatasetMessage, Dialect, Everywhere, HarvesterReport, ReplicaMessage, TransferMessage, Workers,
    transfer_revision,
};
use yardmaster_wire::record;

impl Intake {
    pub(super) fn publish_end(&self, task: u64, end: End, records: &mut Records) {
        let mut digits = [0; 20];
        let name = decimal(task, &mut digits);
        let ended = ended(name, &self.domain, end);
        records.push(Topic::Task, name.as_bytes(), |out| record::write(out, &ended));
    }

    /// The site of an RSE; where none is known, the RSE's own name.
    pub(super) fn site<'a>(&'a self, rse: &'a str) -> &'a str {
        let known = self.sites.get(rse).or_else(|| self.storage.get(rse));
        known.filter(|site| !site.is_empty()).map_or(rse, String::as_str)
    }

    pub(super) fn transfer(&self, message: &TransferMessage<'_>, records: &mut Records) -> bool {
        let transfer = Transfer {
            request: &message.request,
            state: message.state,
            changed_at: message.at,
            revision: transfer_revision(message.state),
            activity: &message.activity,
            source: self.site(&message.source),
            destination: self.site(&message.destination),
            bytes: message.bytes,
            files: 1,
            error: cut(&message.error, self.limits.name_bytes),
            replica: &message.replica,
        };
        let key = message.request.as_bytes();
        records.push(Topic::Transfer, key, |out| record::write(out, &transfer));
        if let Some(arrived) = &message.arrived {
            self.replica(arrived, records);
        }
        true
    }

    /// Publishes the present copy of a file or dataset at one endpoint. Each message is a record of
    /// its own, so nothing need be known of those before it: the fold joins them.
    pub(super) fn replica(&self, message: &ReplicaMessage<'_>, records: &mut Records) -> bool {
        let ReplicaMessage { kind, bytes, is_there, .. } = *message;
        let files = u64::from(kind == DataKind::File);
        let endpoint = message.endpoint.to_string();
        let location = Location {
            endpoint: endpoint.clone(),
            files,
            bytes,
            complete: true,
            tape: message.tape,
            cache: false,
            state: ReplicaState::Available,
        };
        let replica = Replica {
            name: message.name.clone(),
            changed_at: message.at,
            kind,
            dataset: message.dataset.clone(),
            bytes,
            files,
            checksum: String::new(),
            locations: if is_there { vec![location] } else { Vec::new() },
            endpoint,
        };
        let key = replica.name();
        records.push(Topic::Replica, key.as_bytes(), |out| record::write(out, &replica));
        true
    }

    /// Publishes what became of a dataset at all endpoints.
    pub(super) fn dataset(&self, message: DatasetMessage, records: &mut Records) -> bool {
        let DatasetMessage { name, everywhere, at } = message;
        let endpoint = match everywhere {
            Everywhere::Gone => String::new(),
            Everywhere::Incomplete => Replica::ANYWHERE.to_owned(),
        };
        let kind = DataKind::Dataset;
        let replica = Replica { name, changed_at: at, kind, endpoint, ..Replica::default() };
        let key = replica.name();
        records.push(Topic::Replica, key.as_bytes(), |out| record::write(out, &replica));
        true
    }

    pub(super) fn workers(
        &self,
        message: &Workers<'_>,
        origin: Origin<'_>,
        records: &mut Records,
    ) -> bool {
        let at = message.at.unwrap_or(origin.appended_at);
        for worker in &message.running {
            let (queue, node) = (&*worker.queue, &*worker.node);
            let pilot = Pilot::UpdatedJob { queue, node, at };
            records.push(Topic::Pilot, pilot.key().as_bytes(), |out| record::write(out, &pilot));
        }
        false
    }

    pub(super) fn report(
        &self,
        message: &HarvesterReport,
        origin: Origin<'_>,
        records: &mut Records,
    ) -> bool {
        let at = message.at.unwrap_or(origin.appended_at);
        let (queue, harvester) = (message.queue.as_str(), message.harvester.as_str());
        let HarvesterReport { submitted, running, .. } = *message;
        let pilot = Pilot::Workers { queue, harvester, resource_type: "", submitted, running, at };
        records.push(Topic::Pilot, pilot.key().as_bytes(), |out| record::write(out, &pilot));
        false
    }

    /// Makes a dead letter of a message that is none of its dialect, or cannot be taken in. Its
    /// headers are those of the leader's dead letters, with dialect and detail besides; `topic` is
    /// the name on the bus, since a foreign topic has no name of ours.
    pub fn refuse(
        &mut self,
        dialect: Dialect,
        origin: Origin<'_>,
        key: &[u8],
        value: &[u8],
        why: String,
        records: &mut Records,
    ) {
        let kept = &value[..value.len().min(self.limits.dead_letter_bytes)];
        let whole_key = key;
        let key = &key[..key.len().min(self.limits.name_bytes)];
        let mut headers = vec![
            ("topic", origin.topic.to_owned()),
            ("partition", origin.partition.to_string()),
            ("offset", origin.offset.to_string()),
            ("reason", "malformed".to_owned()),
            ("length", value.len().to_string()),
            ("cut_to", kept.len().to_string()),
            ("appended_at", origin.appended_at.to_string()),
            ("dialect", dialect.name().to_owned()),
            ("detail", cut(&why, self.limits.name_bytes).to_owned()),
        ];
        if key.len() < whole_key.len() {
            headers.push(("key_cut_to", key.len().to_string()));
            headers.push(("key_length", whole_key.len().to_string()));
        }
        records.push_with(Topic::DeadLetter, key, headers, |out| out.extend_from_slice(kept));
        self.counts.count(dialect, Taken::DeadLetter);
    }
}

/// The record that ends a task. It has nothing else of it, not even a policy.
fn ended(task: &str, domain: &str, end: End) -> Task {
    Task {
        subject: task.to_owned(),
        attempt: end.attempt,
        task: task.to_owned(),
        domain: domain.to_owned(),
        phase: TaskPhase::Ended,
        asked_at: end.at,
        changed_at: end.at,
        ..Task::default()
    }
}
