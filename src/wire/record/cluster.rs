//! `registration`, `user-share`, and what clusters and queues of NorduGrid state in `site` and
//! `queue`.

use super::{Layout, amount, list, option, symbol, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    BatchFacts, ChildKind, ClusterFacts, Registration, RegistrationStatus, UserShare,
};

impl Layout for Registration {
    fn read(at: &mut Cursor<'_>) -> Result<Registration, Fault> {
        Ok(Registration {
            registry: text(at)?,
            child: text(at)?,
            changed_at: at.long()?,
            kind: symbol(at, &ChildKind::ALL)?,
            status: symbol(at, &RegistrationStatus::ALL)?,
            addressed: at.boolean()?,
            expires: at.boolean()?,
            ttl_s: option(at, amount)?,
            announced_refresh_s: amount(at)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Registration);
        sink.string(&self.registry);
        sink.string(&self.child);
        sink.long(self.changed_at);
        sink.index(self.kind as usize);
        sink.index(self.status as usize);
        sink.boolean(self.addressed);
        sink.boolean(self.expires);
        sink.option(self.ttl_s, Sink::amount);
        sink.amount(self.announced_refresh_s);
    }
}

impl Layout for UserShare {
    fn read(at: &mut Cursor<'_>) -> Result<UserShare, Fault> {
        Ok(UserShare {
            queue: text(at)?,
            user: text(at)?,
            changed_at: at.long()?,
            authorised: at.boolean()?,
            free_slots: text(at)?,
            disk_free_bytes: option(at, amount)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::UserShare);
        sink.string(&self.queue);
        sink.string(&self.user);
        sink.long(self.changed_at);
        sink.boolean(self.authorised);
        sink.string(&self.free_slots);
        sink.option(self.disk_free_bytes, Sink::amount);
    }
}

pub(super) fn read_cluster(at: &mut Cursor<'_>) -> Result<ClusterFacts, Fault> {
    Ok(ClusterFacts {
        answered: at.boolean()?,
        alias: text(at)?,
        total_slots: option(at, amount)?,
        node_memory_mb: option(at, amount)?,
        clock_mhz: option(at, amount)?,
        architecture: text(at)?,
        middleware: list(at, text)?,
        runtime_environments: list(at, text)?,
        operating_systems: list(at, text)?,
        inbound: at.boolean()?,
        outbound: at.boolean()?,
        local_storage: list(at, text)?,
        cache_free_bytes: option(at, amount)?,
    })
}

pub(super) fn write_cluster(sink: &mut Sink<'_>, cluster: &ClusterFacts) {
    sink.boolean(cluster.answered);
    sink.string(&cluster.alias);
    sink.option(cluster.total_slots, Sink::amount);
    sink.option(cluster.node_memory_mb, Sink::amount);
    sink.option(cluster.clock_mhz, Sink::amount);
    sink.string(&cluster.architecture);
    texts(sink, &cluster.middleware);
    texts(sink, &cluster.runtime_environments);
    texts(sink, &cluster.operating_systems);
    sink.boolean(cluster.inbound);
    sink.boolean(cluster.outbound);
    texts(sink, &cluster.local_storage);
    sink.option(cluster.cache_free_bytes, Sink::amount);
}

pub(super) fn read_batch(at: &mut Cursor<'_>) -> Result<BatchFacts, Fault> {
    Ok(BatchFacts {
        status: text(at)?,
        total_slots: option(at, amount)?,
        max_slots_per_job: option(at, amount)?,
        max_queuable_jobs: option(at, amount)?,
        grid_queued_jobs: amount(at)?,
        local_queued_jobs: amount(at)?,
        min_cpu_time_s: option(at, amount)?,
        max_cpu_time_s: option(at, amount)?,
        max_total_cpu_time_s: option(at, amount)?,
        default_cpu_time_s: option(at, amount)?,
        default_wall_time_s: option(at, amount)?,
        min_wall_time_s: option(at, amount)?,
        max_wall_time_s: option(at, amount)?,
        max_memory_mb: option(at, amount)?,
    })
}

pub(super) fn write_batch(sink: &mut Sink<'_>, batch: &BatchFacts) {
    sink.string(&batch.status);
    sink.option(batch.total_slots, Sink::amount);
    sink.option(batch.max_slots_per_job, Sink::amount);
    sink.option(batch.max_queuable_jobs, Sink::amount);
    sink.amount(batch.grid_queued_jobs);
    sink.amount(batch.local_queued_jobs);
    sink.option(batch.min_cpu_time_s, Sink::amount);
    sink.option(batch.max_cpu_time_s, Sink::amount);
    sink.option(batch.max_total_cpu_time_s, Sink::amount);
    sink.option(batch.default_cpu_time_s, Sink::amount);
    sink.option(batch.default_wall_time_s, Sink::amount);
    sink.option(batch.min_wall_time_s, Sink::amount);
    sink.option(batch.max_wall_time_s, Sink::amount);
    sink.option(batch.max_memory_mb, Sink::amount);
}
