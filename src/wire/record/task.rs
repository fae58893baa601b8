//! `task`.

use super::{
    amount, count, detail, figures, list, option, pool, quantity, quantity_if_known, say_number,
    say_number_if_known, symbol, text,
};
use crate::avro::{Cursor, Fault, Sink, schema};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{ChunkKind, RamUnit, ReplicaSummary, Task, TaskPhase};

// The symbols of each enum, in the schema's order.
const PHASES: [TaskPhase; 2] = [TaskPhase::Asking, TaskPhase::Ended];
const CHUNKS: [ChunkKind; 3] = [ChunkKind::Normal, ChunkKind::Scout, ChunkKind::Merge];
const RAM_UNITS: [RamUnit; 2] = [RamUnit::Mb, RamUnit::MbPerCore];

pub(super) fn read(at: &mut Cursor<'_>) -> Result<Task, Fault> {
    let start = at.clone();
    let mut task = read_fields(at)?;
    if at.is_corrected() {
        task.impossible = figures::impossible(schema(Topic::Task), start);
    }
    Ok(task)
}

fn read_fields(at: &mut Cursor<'_>) -> Result<Task, Fault> {
    Ok(Task {
        subject: text(at)?,
        attempt: amount(at)?,
        task: text(at)?,
        domain: text(at)?,
        policy: text(at)?,
        phase: symbol(at, &PHASES)?,
        asked_at: at.long()?,
        changed_at: at.long()?,
        revision: count(at)?,
        chunk: symbol(at, &CHUNKS)?,
        jobs: count(at)?,
        priority: at.int()?,
        task_priority: at.int()?,
        label: text(at)?,
        processing_type: text(at)?,
        working_group: text(at)?,
        campaign: text(at)?,
        trans_path: text(at)?,
        user: text(at)?,
        gshare: text(at)?,
        resource_type: text(at)?,
        nucleus: text(at)?,
        site: text(at)?,
        core_count: option(at, count)?,
        merge_core_count: option(at, count)?,
        max_core_count: option(at, count)?,
        ram_count_mb: option(at, count)?,
        ram_unit: symbol(at, &RAM_UNITS)?,
        base_ram_mb: option(at, count)?,
        merge_ram_mb: option(at, count)?,
        cpu_hs06s_per_event: quantity_if_known(at)?,
        cpu_efficiency: option(at, count)?,
        base_walltime_s: option(at, count)?,
        walltime_s_per_mb: quantity_if_known(at)?,
        output_per_event: quantity_if_known(at)?,
        output_per_mb: quantity_if_known(at)?,
        work_bytes: option(at, amount)?,
        disk_io_kbps: option(at, count)?,
        io_intensity_kbps: option(at, count)?,
        atom_bytes: amount(at)?,
        atom_effective_mb: quantity(at)?,
        atom_events: amount(at)?,
        total_bytes: amount(at)?,
        total_files: count(at)?,
        allow_input_lan: at.boolean()?,
        use_local_io: at.boolean()?,
        replicas: list(at, read_replica)?,
        options: detail::read_options(at)?,
        input: detail::read_input(at)?,
        output: list(at, detail::read_output)?,
        description: option(at, detail::read_description)?,
        workflow: option(at, pool::read_workflow)?,
        impossible: Vec::new(),
    })
}

fn read_replica(at: &mut Cursor<'_>) -> Result<ReplicaSummary, Fault> {
    Ok(ReplicaSummary {
        endpoint: text(at)?,
        files: count(at)?,
        bytes: amount(at)?,
        tape: at.boolean()?,
    })
}

/// Appends a request.
pub fn write_task(out: &mut Vec<u8>, task: &Task) {
    let mut sink = Sink::begin(out, Topic::Task);
    sink.string(&task.subject);
    sink.amount(task.attempt);
    sink.string(&task.task);
    sink.string(&task.domain);
    sink.string(&task.policy);
    sink.index(task.phase as usize);
    sink.long(task.asked_at);
    sink.long(task.changed_at);
    sink.count(task.revision);
    sink.index(task.chunk as usize);
    sink.count(task.jobs);
    sink.int(task.priority);
    sink.int(task.task_priority);
    sink.string(&task.label);
    sink.string(&task.processing_type);
    sink.string(&task.working_group);
    sink.string(&task.campaign);
    sink.string(&task.trans_path);
    sink.string(&task.user);
    sink.string(&task.gshare);
    sink.string(&task.resource_type);
    sink.string(&task.nucleus);
    sink.string(&task.site);
    sink.option(task.core_count, Sink::count);
    sink.option(task.merge_core_count, Sink::count);
    sink.option(task.max_core_count, Sink::count);
    sink.option(task.ram_count_mb, Sink::count);
    sink.index(task.ram_unit as usize);
    sink.option(task.base_ram_mb, Sink::count);
    sink.option(task.merge_ram_mb, Sink::count);
    say_number_if_known(&mut sink, task.cpu_hs06s_per_event);
    sink.option(task.cpu_efficiency, Sink::count);
    sink.option(task.base_walltime_s, Sink::count);
    say_number_if_known(&mut sink, task.walltime_s_per_mb);
    say_number_if_known(&mut sink, task.output_per_event);
    say_number_if_known(&mut sink, task.output_per_mb);
    sink.option(task.work_bytes, Sink::amount);
    sink.option(task.disk_io_kbps, Sink::count);
    sink.option(task.io_intensity_kbps, Sink::count);
    sink.amount(task.atom_bytes);
    say_number(&mut sink, task.atom_effective_mb);
    sink.amount(task.atom_events);
    sink.amount(task.total_bytes);
    sink.count(task.total_files);
    sink.boolean(task.allow_input_lan);
    sink.boolean(task.use_local_io);
    sink.array(&task.replicas, write_replica);
    detail::write_options(&mut sink, &task.options);
    detail::write_input(&mut sink, &task.input);
    sink.array(&task.output, detail::write_output);
    sink.option(task.description.as_ref(), detail::write_description);
    sink.option(task.workflow.as_ref(), pool::write_workflow);
}

fn write_replica(sink: &mut Sink<'_>, replica: &ReplicaSummary) {
    sink.string(&replica.endpoint);
    sink.count(replica.files);
    sink.amount(replica.bytes);
    sink.boolean(replica.tape);
}
