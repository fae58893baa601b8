//! `queue`, `site`, `storage`, `link`, `parameter`.

use super::{
    amount, count, list, option, quantity_if_known, say_number_if_known, symbol, text, texts,
};
use crate::core::cut::Topic;
use crate::core::event::{
    Endpoints, Link, LinkQueued, Parameter, Queue, QueueStatus, Site, Storage,
};
use crate::wire::avro::{Cursor, Fault, Sink};

pub(super) fn read_queue(at: &mut Cursor<'_>) -> Result<Queue, Fault> {
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
    })
}

fn read_endpoints(at: &mut Cursor<'_>) -> Result<Endpoints, Fault> {
    Ok(Endpoints { read: list(at, text)?, write: list(at, text)? })
}

/// Appends a queue's configuration.
pub fn write_queue(out: &mut Vec<u8>, queue: &Queue) {
    let mut sink = Sink::begin(out, Topic::Queue);
    sink.string(&queue.name);
    sink.string(&queue.unified);
    sink.string(&queue.resource_type);
    sink.long(queue.changed_at);
    sink.index(queue.status as usize);
    sink.boolean(queue.production);
    sink.boolean(queue.analysis);
    sink.string(&queue.cloud);
    sink.string(&queue.site);
    sink.string(&queue.storage_site);
    sink.count(queue.cores);
    sink.count(queue.core_power_mhs06);
    sink.count(queue.max_rss_mb);
    sink.count(queue.min_rss_mb);
    sink.count(queue.max_time_s);
    sink.count(queue.min_time_s);
    sink.count(queue.max_wdir_mb);
    sink.int(queue.max_input_mb);
    sink.count(queue.max_disk_io_kbps);
    sink.count(queue.transferring_limit);
    sink.int(queue.pledged_cpu);
    sink.string(&queue.fairshare_policy);
    sink.string(&queue.workflow);
    sink.boolean(queue.ucore);
    sink.string(&queue.wn_connectivity);
    sink.boolean(queue.direct_access_lan);
    sink.boolean(queue.direct_access_wan);
    texts(&mut sink, &queue.releases);
    sink.string(&queue.jobseed);
    sink.string(&queue.catchall);
    for endpoints in [&queue.endpoints, &queue.analysis_endpoints] {
        texts(&mut sink, &endpoints.read);
        texts(&mut sink, &endpoints.write);
    }
    sink.count(queue.unified_cores);
    sink.string(&queue.facility);
}

pub(super) fn read_site(at: &mut Cursor<'_>) -> Result<Site, Fault> {
    Ok(Site {
        name: text(at)?,
        changed_at: at.long()?,
        nucleus: at.boolean()?,
        active: at.boolean()?,
        tier: count(at)?,
        output_endpoint: text(at)?,
    })
}

/// Appends a site.
pub fn write_site(out: &mut Vec<u8>, site: &Site) {
    let mut sink = Sink::begin(out, Topic::Site);
    sink.string(&site.name);
    sink.long(site.changed_at);
    sink.boolean(site.nucleus);
    sink.boolean(site.active);
    sink.count(site.tier);
    sink.string(&site.output_endpoint);
}

pub(super) fn read_storage(at: &mut Cursor<'_>) -> Result<Storage, Fault> {
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

/// Appends a storage endpoint.
pub fn write_storage(out: &mut Vec<u8>, storage: &Storage) {
    let mut sink = Sink::begin(out, Topic::Storage);
    sink.string(&storage.name);
    sink.long(storage.changed_at);
    sink.string(&storage.site);
    sink.string(&storage.kind);
    sink.boolean(storage.tape);
    sink.amount(storage.total_bytes);
    sink.amount(storage.free_bytes);
    sink.amount(storage.expired_bytes);
    sink.amount(storage.min_free_bytes);
    sink.amount(storage.unavailable_bytes);
    sink.boolean(storage.read_lan);
    sink.boolean(storage.write_lan);
    sink.boolean(storage.read_wan);
    sink.boolean(storage.write_wan);
}

pub(super) fn read_link(at: &mut Cursor<'_>) -> Result<Link, Fault> {
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

fn read_queued(at: &mut Cursor<'_>) -> Result<LinkQueued, Fault> {
    Ok(LinkQueued { activity: text(at)?, files: amount(at)?, bytes: amount(at)? })
}

/// Appends a link's measurements.
pub fn write_link(out: &mut Vec<u8>, link: &Link) {
    let mut sink = Sink::begin(out, Topic::Link);
    sink.string(&link.source);
    sink.string(&link.destination);
    sink.long(link.changed_at);
    sink.option(link.closeness, Sink::int);
    say_number_if_known(&mut sink, link.mbps_1h);
    say_number_if_known(&mut sink, link.mbps_1d);
    say_number_if_known(&mut sink, link.mbps_1w);
    sink.array(&link.queued, write_queued);
    sink.boolean(link.queued_known);
}

fn write_queued(sink: &mut Sink<'_>, queued: &LinkQueued) {
    sink.string(&queued.activity);
    sink.amount(queued.files);
    sink.amount(queued.bytes);
}

pub(super) fn read_parameter(at: &mut Cursor<'_>) -> Result<Parameter, Fault> {
    Ok(Parameter {
        app: text(at)?,
        component: text(at)?,
        key: text(at)?,
        vo: text(at)?,
        value: text(at)?,
        changed_at: at.long()?,
    })
}

/// Appends a run-time parameter.
pub fn write_parameter(out: &mut Vec<u8>, parameter: &Parameter) {
    let mut sink = Sink::begin(out, Topic::Parameter);
    sink.string(&parameter.app);
    sink.string(&parameter.component);
    sink.string(&parameter.key);
    sink.string(&parameter.vo);
    sink.string(&parameter.value);
    sink.long(parameter.changed_at);
}
