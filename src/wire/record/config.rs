//! `queue`, `site`, `storage`, `link`, `parameter`.

use super::cluster::{read_batch, read_cluster, write_batch, write_cluster};
use super::{
    Layout, amount, count, list, option, pool, quantity_if_known, say_number_if_known, symbol,
    text, texts,
};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Endpoints, Link, LinkQueued, Parameter, Queue, QueueStatus, Site, Storage,
};

impl Layout for Queue {
    fn read(at: &mut Cursor<'_>) -> Result<Queue, Fault> {
        Ok(Queue {
            name: text(at)?,
            unified: text(at)?,
            resource_type: text(at)?,
            changed_at: at.long()?,
            status: symbol(at, &QueueStatus::ALL)?,
            production: at.boolean()?,
            analysis: at.boolean()?,
            cloud: text(at)?,
            site: text(at)?,
            storage_site: text(at)?,
            cores: count(at)?,
            core_power_mhs06: count(at)?,
            max_rss_mb: count(at)?,
            min_rss_mb: count(at)?,
            max_time_s: count(at)?,
            min_time_s: count(at)?,
            max_wdir_mb: count(at)?,
            max_input_mb: at.int()?,
            max_disk_io_kbps: count(at)?,
            transferring_limit: count(at)?,
            pledged_cpu: at.int()?,
            fairshare_policy: text(at)?,
            workflow: text(at)?,
            ucore: at.boolean()?,
            wn_connectivity: text(at)?,
            direct_access_lan: at.boolean()?,
            direct_access_wan: at.boolean()?,
            releases: list(at, text)?,
            jobseed: text(at)?,
            catchall: text(at)?,
            endpoints: read_endpoints(at)?,
            analysis_endpoints: read_endpoints(at)?,
            unified_cores: count(at)?,
            facility: text(at)?,
            batch: option(at, read_batch)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Queue);
        sink.string(&self.name);
        sink.string(&self.unified);
        sink.string(&self.resource_type);
        sink.long(self.changed_at);
        sink.index(self.status as usize);
        sink.boolean(self.production);
        sink.boolean(self.analysis);
        sink.string(&self.cloud);
        sink.string(&self.site);
        sink.string(&self.storage_site);
        sink.count(self.cores);
        sink.count(self.core_power_mhs06);
        sink.count(self.max_rss_mb);
        sink.count(self.min_rss_mb);
        sink.count(self.max_time_s);
        sink.count(self.min_time_s);
        sink.count(self.max_wdir_mb);
        sink.int(self.max_input_mb);
        sink.count(self.max_disk_io_kbps);
        sink.count(self.transferring_limit);
        sink.int(self.pledged_cpu);
        sink.string(&self.fairshare_policy);
        sink.string(&self.workflow);
        sink.boolean(self.ucore);
        sink.string(&self.wn_connectivity);
        sink.boolean(self.direct_access_lan);
        sink.boolean(self.direct_access_wan);
        texts(&mut sink, &self.releases);
        sink.string(&self.jobseed);
        sink.string(&self.catchall);
        for endpoints in [&self.endpoints, &self.analysis_endpoints] {
            texts(&mut sink, &endpoints.read);
            texts(&mut sink, &endpoints.write);
        }
        sink.count(self.unified_cores);
        sink.string(&self.facility);
        sink.option(self.batch.as_ref(), write_batch);
    }
}

fn read_endpoints(at: &mut Cursor<'_>) -> Result<Endpoints, Fault> {
    Ok(Endpoints { read: list(at, text)?, write: list(at, text)? })
}

impl Layout for Site {
    fn read(at: &mut Cursor<'_>) -> Result<Site, Fault> {
        Ok(Site {
            name: text(at)?,
            changed_at: at.long()?,
            nucleus: at.boolean()?,
            active: at.boolean()?,
            tier: count(at)?,
            output_endpoint: text(at)?,
            cluster: option(at, read_cluster)?,
            slot_quota: option(at, pool::read_quota)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Site);
        sink.string(&self.name);
        sink.long(self.changed_at);
        sink.boolean(self.nucleus);
        sink.boolean(self.active);
        sink.count(self.tier);
        sink.string(&self.output_endpoint);
        sink.option(self.cluster.as_ref(), write_cluster);
        sink.option(self.slot_quota.as_ref(), pool::write_quota);
    }
}

impl Layout for Storage {
    fn read(at: &mut Cursor<'_>) -> Result<Storage, Fault> {
        Ok(Storage {
            name: text(at)?,
            changed_at: at.long()?,
            site: text(at)?,
            kind: text(at)?,
            tape: at.boolean()?,
            total_bytes: amount(at)?,
            free_bytes: amount(at)?,
            expired_bytes: amount(at)?,
            min_free_bytes: amount(at)?,
            unavailable_bytes: amount(at)?,
            read_lan: at.boolean()?,
            write_lan: at.boolean()?,
            read_wan: at.boolean()?,
            write_wan: at.boolean()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Storage);
        sink.string(&self.name);
        sink.long(self.changed_at);
        sink.string(&self.site);
        sink.string(&self.kind);
        sink.boolean(self.tape);
        sink.amount(self.total_bytes);
        sink.amount(self.free_bytes);
        sink.amount(self.expired_bytes);
        sink.amount(self.min_free_bytes);
        sink.amount(self.unavailable_bytes);
        sink.boolean(self.read_lan);
        sink.boolean(self.write_lan);
        sink.boolean(self.read_wan);
        sink.boolean(self.write_wan);
    }
}

impl Layout for Link {
    fn read(at: &mut Cursor<'_>) -> Result<Link, Fault> {
        Ok(Link {
            source: text(at)?,
            destination: text(at)?,
            changed_at: at.long()?,
            closeness: option(at, Cursor::int)?,
            mbps_1h: quantity_if_known(at)?,
            mbps_1d: quantity_if_known(at)?,
            mbps_1w: quantity_if_known(at)?,
            queued: list(at, read_queued)?,
            queued_known: at.boolean()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Link);
        sink.string(&self.source);
        sink.string(&self.destination);
        sink.long(self.changed_at);
        sink.option(self.closeness, Sink::int);
        say_number_if_known(&mut sink, self.mbps_1h);
        say_number_if_known(&mut sink, self.mbps_1d);
        say_number_if_known(&mut sink, self.mbps_1w);
        sink.array(&self.queued, write_queued);
        sink.boolean(self.queued_known);
    }
}

fn read_queued(at: &mut Cursor<'_>) -> Result<LinkQueued, Fault> {
    Ok(LinkQueued { activity: text(at)?, files: amount(at)?, bytes: amount(at)? })
}

fn write_queued(sink: &mut Sink<'_>, queued: &LinkQueued) {
    sink.string(&queued.activity);
    sink.amount(queued.files);
    sink.amount(queued.bytes);
}

impl Layout for Parameter {
    fn read(at: &mut Cursor<'_>) -> Result<Parameter, Fault> {
        Ok(Parameter {
            app: text(at)?,
            component: text(at)?,
            key: text(at)?,
            vo: text(at)?,
            value: text(at)?,
            changed_at: at.long()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Parameter);
        sink.string(&self.app);
        sink.string(&self.component);
        sink.string(&self.key);
        sink.string(&self.vo);
        sink.string(&self.value);
        sink.long(self.changed_at);
    }
}
