//! The nested parts of `task`: options, input, output, description.

use super::{amount, count, list, option, symbol, text, texts};
use crate::architecture;
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::event::{
    Dataset, DatasetReplica, FullChain, Input, JobDescription, Options, OutputDataset, Placement,
    Upload,
};

pub(super) fn read_options(at: &mut Cursor<'_>) -> Result<Options, Fault> {
    Ok(Options {
        t1_weight: at.int()?,
        merge_output: at.boolean()?,
        architecture: architecture::plain(text(at)?),
        trans_home: text(at)?,
        trans_uses: text(at)?,
        container_name: text(at)?,
        only_tags: at.boolean()?,
        ip_connectivity: text(at)?,
        input_lan_only: at.boolean()?,
        input_wan: at.boolean()?,
        full_chain: symbol(at, &FullChain::ALL)?,
        parent_task: text(at)?,
        input_prestaging: at.boolean()?,
        primary_only: at.boolean()?,
        event_service: at.boolean()?,
        job_cloning: at.boolean()?,
        es_consumers: option(at, count)?,
        es_attempts_max: option(at, count)?,
        dynamic_events: option(at, amount)?,
        events_per_job_max: option(at, amount)?,
        longest_event_run: amount(at)?,
        jumbo: at.boolean()?,
        ready_events: option(at, amount)?,
        walltime_unknown: at.boolean()?,
        frozen_at: option(at, Cursor::long)?,
        chunk_site: text(at)?,
        excluded_sites: list(at, text)?,
        included_sites: list(at, text)?,
        avoid_vp: at.boolean()?,
        cloud: text(at)?,
        incomplete_input: at.boolean()?,
        sites_per_job: option(at, count)?,
        gb_per_job: option(at, count)?,
        used_queues: list(at, text)?,
        remaining_events: amount(at)?,
        finished_files: amount(at)?,
        remaining_files: amount(at)?,
        remaining_jobs: amount(at)?,
        events_per_job: option(at, amount)?,
        disable_reassign: at.boolean()?,
    })
}

pub(super) fn write_options(sink: &mut Sink<'_>, options: &Options) {
    sink.int(options.t1_weight);
    sink.boolean(options.merge_output);
    sink.string(&options.architecture);
    sink.string(&options.trans_home);
    sink.string(&options.trans_uses);
    sink.string(&options.container_name);
    sink.boolean(options.only_tags);
    sink.string(&options.ip_connectivity);
    sink.boolean(options.input_lan_only);
    sink.boolean(options.input_wan);
    sink.index(options.full_chain as usize);
    sink.string(&options.parent_task);
    sink.boolean(options.input_prestaging);
    sink.boolean(options.primary_only);
    sink.boolean(options.event_service);
    sink.boolean(options.job_cloning);
    sink.option(options.es_consumers, Sink::count);
    sink.option(options.es_attempts_max, Sink::count);
    sink.option(options.dynamic_events, Sink::amount);
    sink.option(options.events_per_job_max, Sink::amount);
    sink.amount(options.longest_event_run);
    sink.boolean(options.jumbo);
    sink.option(options.ready_events, Sink::amount);
    sink.boolean(options.walltime_unknown);
    sink.option(options.frozen_at, Sink::long);
    sink.string(&options.chunk_site);
    texts(sink, &options.excluded_sites);
    texts(sink, &options.included_sites);
    sink.boolean(options.avoid_vp);
    sink.string(&options.cloud);
    sink.boolean(options.incomplete_input);
    sink.option(options.sites_per_job, Sink::count);
    sink.option(options.gb_per_job, Sink::count);
    texts(sink, &options.used_queues);
    sink.amount(options.remaining_events);
    sink.amount(options.finished_files);
    sink.amount(options.remaining_files);
    sink.amount(options.remaining_jobs);
    sink.option(options.events_per_job, Sink::amount);
    sink.boolean(options.disable_reassign);
}

pub(super) fn read_input(at: &mut Cursor<'_>) -> Result<Input, Fault> {
    Ok(Input { datasets: list(at, read_dataset)?, placements: list(at, read_placement)? })
}

fn read_dataset(at: &mut Cursor<'_>) -> Result<Dataset, Fault> {
    Ok(Dataset {
        name: text(at)?,
        container: text(at)?,
        primary: at.boolean()?,
        pseudo: at.boolean()?,
        distributed: at.boolean()?,
        files: amount(at)?,
        bytes: amount(at)?,
        created_at: at.long()?,
        modified_at: at.long()?,
        replicas: list(at, read_copy)?,
    })
}

fn read_copy(at: &mut Cursor<'_>) -> Result<DatasetReplica, Fault> {
    Ok(DatasetReplica {
        endpoint: text(at)?,
        files: amount(at)?,
        bytes: amount(at)?,
        files_total: amount(at)?,
        is_virtual: at.boolean()?,
    })
}

fn read_placement(at: &mut Cursor<'_>) -> Result<Placement, Fault> {
    Ok(Placement {
        dataset: count(at)?,
        files: count(at)?,
        bytes: amount(at)?,
        endpoints: list(at, text)?,
    })
}

pub(super) fn write_input(sink: &mut Sink<'_>, input: &Input) {
    sink.array(&input.datasets, |sink, dataset| {
        sink.string(&dataset.name);
        sink.string(&dataset.container);
        sink.boolean(dataset.primary);
        sink.boolean(dataset.pseudo);
        sink.boolean(dataset.distributed);
        sink.amount(dataset.files);
        sink.amount(dataset.bytes);
        sink.long(dataset.created_at);
        sink.long(dataset.modified_at);
        sink.array(&dataset.replicas, write_copy);
    });
    sink.array(&input.placements, |sink, placement| {
        sink.count(placement.dataset);
        sink.count(placement.files);
        sink.amount(placement.bytes);
        texts(sink, &placement.endpoints);
    });
}

fn write_copy(sink: &mut Sink<'_>, copy: &DatasetReplica) {
    sink.string(&copy.endpoint);
    sink.amount(copy.files);
    sink.amount(copy.bytes);
    sink.amount(copy.files_total);
    sink.boolean(copy.is_virtual);
}

pub(super) fn read_output(at: &mut Cursor<'_>) -> Result<OutputDataset, Fault> {
    Ok(OutputDataset { name: text(at)?, log: at.boolean()?, token: text(at)? })
}

pub(super) fn write_output(sink: &mut Sink<'_>, output: &OutputDataset) {
    sink.string(&output.name);
    sink.boolean(output.log);
    sink.string(&output.token);
}

pub(super) fn read_description(at: &mut Cursor<'_>) -> Result<JobDescription, Fault> {
    Ok(JobDescription {
        text: text(at)?,
        server_dialect: at.boolean()?,
        job: count(at)?,
        clusters: list(at, text)?,
        index_servers: list(at, text)?,
        uploads: list(at, |at| Ok(Upload { name: text(at)?, bytes: option(at, amount)? }))?,
    })
}

pub(super) fn write_description(sink: &mut Sink<'_>, description: &JobDescription) {
    sink.string(&description.text);
    sink.boolean(description.server_dialect);
    sink.count(description.job);
    texts(sink, &description.clusters);
    texts(sink, &description.index_servers);
    sink.array(&description.uploads, |sink, upload| {
        sink.string(&upload.name);
        sink.option(upload.bytes, Sink::amount);
    });
}
