//! The task of a case as a request.

use super::super::json::{
    amount, count, flag, in_bytes, items, known, moment, number, text, texts, whole,
};
use super::super::rulebook::Rulebook;
use super::parts::{Parts, longest_run};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::event::{
    ChunkKind, Dataset, DatasetReplica, FilePlacement, FullChain, Input, Options, OutputDataset,
    RamUnit, Task, TaskPhase,
};
use yardmaster_core::unit::{Bytes, Millis};

/// The request that a case makes of the policy that answers it.
pub fn request(whole_case: &Value, rulebook: &Rulebook, now: Millis) -> Task {
    let scenario = &whole_case["scenario"];
    let (task, input) = (&scenario["task"], &scenario["input"]);
    let options = &task["options"];
    let parts = Parts::of(input, task);
    let cpu_unit = text(&task["cpu_time_unit"]);
    let has_cpu_unit = cpu_unit.contains("HS06");
    let milli = if cpu_unit.starts_with('m') { 1_000.0 } else { 1.0 };
    let cpu = number(&task["cpu_time"]).filter(|_| has_cpu_unit).map(|cpu| cpu / milli);
    let out = in_bytes(&task["out_disk_count"], &text(&task["out_disk_unit"]));
    let per_event = text(&task["out_disk_unit"]).contains("PerEvent");
    let id = text(&task["task_id"]);
    Task {
        subject: format!("{id}/1"),
        task: id,
        domain: rulebook.domain.clone(),
        policy: rulebook.policy.clone(),
        phase: TaskPhase::Asking,
        asked_at: now,
        changed_at: now,
        chunk: chunk(input),
        jobs: parts.jobs,
        priority: whole(&task["current_priority"]) as i32,
        task_priority: whole(&task["task_priority"]) as i32,
        label: text(&task["prod_source_label"]),
        processing_type: text(&task["processing_type"]),
        working_group: text(&task["working_group"]),
        user: text(&task["user_name"]),
        gshare: text(&task["gshare"]),
        resource_type: text(&task["resource_type"]),
        nucleus: text(&task["nucleus"]),
        site: text(&task["site"]),
        core_count: known(&task["core_count"]),
        merge_core_count: known(&task["merge_core_count"]),
        max_core_count: known(&options["maxCoreCount"]),
        ram_count_mb: known(&task["ram_count_mb"]).map(|mb| mb.max(count(&input["ram_count_mb"]))),
        ram_unit: match text(&task["ram_unit"]).starts_with("MBPerCore") {
            true => RamUnit::MbPerCore,
            false => RamUnit::Mb,
        },
        base_ram_mb: known(&task["base_ram_count_mb"]),
        merge_ram_mb: Some(count(&task["merge_ram_count_mb"]).max(count(&input["ram_count_mb"])))
            .filter(|mb| *mb > 0),
        cpu_hs06s_per_event: cpu,
        cpu_efficiency: known(&task["cpu_efficiency_percent"]),
        base_walltime_s: known(&task["base_walltime_s"]),
        walltime_s_per_mb: number(&task["walltime"]).filter(|_| !has_cpu_unit),
        output_per_event: out.filter(|_| per_event),
        output_per_mb: out.filter(|_| !per_event),
        work_bytes: in_bytes(&task["work_disk_count"], &text(&task["work_disk_unit"]))
            .map(|bytes| bytes as Bytes),
        disk_io_kbps: known(&task["disk_io_kbps"]),
        io_intensity_kbps: known(&task["io_intensity_kbps"]),
        atom_bytes: parts.atom_bytes,
        atom_effective_mb: parts.atom_effective_mb,
        atom_events: parts.atom_events,
        total_bytes: parts.bytes,
        total_files: parts.files,
        allow_input_lan: flag(&options["allowInputLAN"]),
        use_local_io: flag(&options["useLocalIO"]),
        options: settings(whole_case, has_cpu_unit, cpu),
        input: Input { datasets: datasets(input), placements: placements(scenario) },
        output: outputs(scenario),
        ..Task::default()
    }
}

fn chunk(input: &Value) -> ChunkKind {
    if flag(&input["is_merging"]) {
        return ChunkKind::Merge;
    }
    let is_scout = match &input["use_scout"] {
        Value::Null => items(&input["datasets"]).any(|dataset| {
            let used = number(&dataset["n_files_to_be_used"]);
            flag(&dataset["is_master"])
                && used.zip(number(&dataset["n_files"])).is_some_and(|(used, all)| all > used)
        }),
        given => flag(given),
    };
    if is_scout { ChunkKind::Scout } else { ChunkKind::Normal }
}

/// Value of the split rule `useScout` while scouts are still to come.
const SCOUTS_DUE: i64 = 2;

fn settings(whole_case: &Value, has_cpu_unit: bool, cpu: Option<f64>) -> Options {
    let scenario = &whole_case["scenario"];
    let (task, options) = (&scenario["task"], &scenario["task"]["options"]);
    let params = &scenario["task_params"];
    let known = |name: &str| number(&options[name]).map(|number| number.max(0.0) as u64);
    let few = |name: &str| known(name).map(|count| count as u32);
    let masters = items(&scenario["input"]["datasets"]).filter(|it| flag(&it["is_master"]));
    let wall_unit = text(&task["walltime_unit"]);
    let [finished_files, remaining_files, remaining_jobs] = progress(scenario);
    let no_cpu = cpu.is_none_or(|cpu| cpu == 0.0);
    let no_wall = number(&task["walltime"]).is_none_or(|wall| wall == 0.0) && wall_unit.is_empty();
    Options {
        t1_weight: whole(&options["t1Weight"]) as i32,
        merge_output: flag(&options["mergeOutput"]),
        architecture: text(&task["architecture"]),
        trans_home: text(&task["trans_home"]),
        trans_uses: text(&task["trans_uses"]),
        container_name: text(&task["container_name"]),
        only_tags: flag(&options["onlyTagsForFC"]),
        ip_connectivity: connectivity(options),
        input_lan_only: whole(&options["allowInputLAN"]) == 2,
        input_wan: flag(&options["allowInputWAN"]),
        full_chain: match whole(&options["fullChain"]) {
            1 => FullChain::Only,
            2 => FullChain::Require,
            3 => FullChain::Capable,
            _ => FullChain::No,
        },
        parent_task: text(&task["parent_task_id"]),
        input_prestaging: flag(&options["inputPreStaging"]),
        primary_only: flag(&params["taskBrokerOnMaster"]),
        event_service: whole(&task["event_service"]) == 1,
        job_cloning: flag(&options["useJobCloning"]),
        es_consumers: few("nEsConsumers"),
        es_attempts_max: few("maxAttemptEsJob"),
        dynamic_events: known("dynamicNumEvents"),
        events_per_job_max: known("maxEventsPerJob"),
        longest_event_run: longest_run(&scenario["input"]),
        jumbo: task["use_jumbo"].is_string() || flag(&options["nJumboJobs"]),
        ready_events: number(&scenario["stats"]["ready_events"]).map(|events| events as u64),
        walltime_unknown: if has_cpu_unit { no_cpu } else { no_wall },
        frozen_at: Some(moment(&task["frozen_time"])).filter(|at| *at > 0),
        chunk_site: masters.map(|it| text(&it["preassigned_site"])).next().unwrap_or_default(),
        excluded_sites: sites(scenario, "excludedSite"),
        included_sites: sites(scenario, "includedSite"),
        jumbo_chunk: matches!(scenario["input"]["use_jumbo"].as_str(), Some("fake" | "only")),
        merge_scout: flag(&scenario["input"]["is_merging"])
            && flag(&scenario["input"]["use_scout"]),
        scouts_due: whole(&options["useScout"]) == SCOUTS_DUE,
        hpo_workflow: flag(&options["hpoWorkflow"]),
        cpu_in_hs06: has_cpu_unit,
        avoid_vp: flag(&options["avoidVP"]),
        cloud: text(&task["cloud"]),
        incomplete_input: flag(&options["allowIncompleteInDS"]),
        sites_per_job: few("nSitesPerJob"),
        gb_per_job: few("nGBPerJob"),
        used_queues: texts(&scenario["analysis"]["queues_used_by_task"]),
        remaining_events: 0,
        events_per_job: None,
        disable_reassign: false,
        finished_files,
        remaining_files,
        remaining_jobs,
    }
}

/// Sites that the parameters of a task name, which PanDA reads where the task is limited to some.
fn sites(scenario: &Value, name: &str) -> Vec<String> {
    match &scenario["task_params"][name] {
        _ if !flag(&scenario["task"]["options"]["limitedSites"]) => Vec::new(),
        Value::String(text) => {
            text.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect()
        }
        other => texts(other),
    }
}

/// The connectivity of worker nodes that a task wants.
fn connectivity(options: &Value) -> String {
    let net = match whole(&options["ipConnectivity"]) {
        1 => "full",
        2 => "http",
        _ => "",
    };
    let ip = match whole(&options["ipStack"]) {
        4 => "#IPv4",
        6 => "#IPv6",
        _ => "",
    };
    format!("{net}{ip}")
}

/// How far a task is: files that are finished, files and jobs that remain. One of class S is nearly
/// done, and one without a class is treated alike.
fn progress(scenario: &Value) -> [u64; 3] {
    let analysis = &scenario["analysis"];
    let class = number(&analysis["task_class"]).map_or(2, |class| class as i8);
    if analysis.is_object() && class > 1 { [99, 1, 1] } else { [0; 3] }
}

fn outputs(scenario: &Value) -> Vec<OutputDataset> {
    let outputs = items(&scenario["task_brokerage"]["output_datasets"]);
    outputs
        .map(|it| OutputDataset {
            name: text(&it["name"]),
            log: it["type"].as_str() == Some("log"),
            token: text(&it["storage_token"]),
        })
        .collect()
}

fn datasets(input: &Value) -> Vec<Dataset> {
    let mut found = Vec::new();
    for value in items(&input["datasets"]) {
        let dataset = dataset(value, "");
        let name = dataset.name.clone();
        found.push(dataset);
        found.extend(items(&value["elements"]).map(|element| self::dataset(element, &name)));
    }
    found
}

fn dataset(value: &Value, container: &str) -> Dataset {
    let replicas = items(&value["replicas"]).map(|it| DatasetReplica {
        endpoint: text(&it["endpoint"]),
        files: amount(&it["files_found"]),
        bytes: amount(&it["bytes_found"]),
        files_total: amount(&it["files_total"]),
        is_virtual: flag(&it["vp"]),
    });
    Dataset {
        name: text(&value["name"]),
        container: container.to_owned(),
        primary: flag(&value["is_master"]),
        pseudo: text(&value["type"]).starts_with("pseudo") || text(&value["type"]) == "trn_log",
        distributed: flag(&value["is_distributed"]),
        files: amount(&value["total_files"]),
        bytes: amount(&value["total_bytes"]),
        created_at: moment(&value["creation_time"]),
        modified_at: moment(&value["modification_time"]),
        replicas: replicas.collect(),
    }
}

/// Files of the chunk, those at the same endpoints together. PanDA takes files that are merged to
/// be wherever their dataset is.
fn placements(scenario: &Value) -> Vec<FilePlacement> {
    let input = &scenario["input"];
    let is_merge = flag(&input["is_merging"]);
    let mut found = Vec::new();
    let mut number = 0;
    for value in items(&input["datasets"]) {
        let own = number;
        number += 1 + items(&value["elements"]).count() as u32;
        let mut groups: BTreeMap<Vec<String>, (u32, Bytes)> = BTreeMap::new();
        for file in items(&value["files"]) {
            let id = whole(&file["file_id"]);
            let holds = |replica: &&Value| match &replica["chunk_files"] {
                _ if is_merge => true,
                Value::Array(ids) => ids.iter().any(|it| whole(it) == id),
                Value::String(all) => all == "all",
                _ => false,
            };
            let parts = std::iter::once(value).chain(items(&value["elements"]));
            let mut endpoints: Vec<String> = parts
                .flat_map(|part| items(&part["replicas"]).filter(holds))
                .map(|replica| text(&replica["endpoint"]))
                .collect();
            endpoints.sort_unstable();
            endpoints.dedup();
            let group = groups.entry(endpoints).or_default();
            group.0 += 1;
            group.1 += amount(&file["size_bytes"]);
        }
        found.extend(groups.into_iter().map(|(endpoints, (files, bytes))| FilePlacement {
            dataset: own,
            files,
            bytes,
            endpoints,
        }));
    }
    found
}
