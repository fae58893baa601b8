//! The task of a case as a request.

use super::super::json::{amount, flag, items, moment, number, text, texts, whole};
use super::super::rulebook::Rulebook;
use super::panda_task::{split_rule, task_fields};
use super::parts::Parts;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Dataset, DatasetReplica, FilePlacement, Input, OutputDataset, Task};
use yardmaster_core::unit::{Bytes, Millis};
use yardmaster_wire::avro::{Codec, from_json};

/// PanDA's attributes whose names in a case are others than theirs in small letters with
/// underscores.
const RENAMED: &[(&str, &str)] = &[
    ("task_id", "jediTaskID"),
    ("user_name", "origUserName"),
    ("user_dn", "userName"),
    ("resource_type", "resource_type"),
    ("container_name", "container_name"),
    ("parent_task_id", "parent_tid"),
    ("ram_count_mb", "ramCount"),
    ("base_ram_count_mb", "baseRamCount"),
    ("merge_ram_count_mb", "mergeRamCount"),
    ("cpu_efficiency_percent", "cpuEfficiency"),
    ("base_walltime_s", "baseWalltime"),
    ("disk_io_kbps", "diskIO"),
    ("io_intensity_kbps", "ioIntensity"),
    ("use_scout", "useScoutFlag"),
    ("preassigned_site", "site"),
    ("files", "Files"),
];

/// The request that a case makes of the policy that answers it.
///
/// # Errors
/// The field of the record that has no value of its kind.
pub fn request(whole_case: &Value, rulebook: &Rulebook, now: Millis) -> Result<Task, String> {
    let scenario = &whole_case["scenario"];
    let (task, input) = (&scenario["task"], &scenario["input"]);
    let is_generic = whole_case["kind"] == "gen_job";
    let mut record = task_fields(&attributes(scenario, is_generic));
    let parts = Parts::of(input, &task["options"], &record);
    let [finished_files, remaining_files, remaining_jobs] = progress(scenario);
    set(
        &mut record,
        json!({
            "subject": format!("{}/1", text(&task["task_id"])),
            "domain": rulebook.domain,
            "policy": rulebook.policy,
            "asked_at": now,
            "changed_at": now,
            "jobs": parts.jobs,
            "atom_bytes": parts.atom_bytes,
            "atom_effective_mb": parts.atom_effective_mb,
            "atom_events": parts.atom_events,
            "total_bytes": parts.bytes,
            "total_files": parts.files,
        }),
    );
    set(
        &mut record["options"],
        json!({
            "ready_events": number(&scenario["stats"]["ready_events"]).map(|events| events as u64),
            "used_queues": texts(&scenario["analysis"]["queues_used_by_task"]),
            "finished_files": finished_files,
            "remaining_files": remaining_files,
            "remaining_jobs": remaining_jobs,
        }),
    );
    let bytes = from_json(Topic::Task, &record).map_err(|fault| fault.to_string())?;
    let read = Codec::default().read_record(&bytes);
    let task: Task = read.map_err(|why| format!("the record of the task is {}", why.name()))?;
    let input = Input { datasets: datasets(input), placements: placements(scenario) };
    Ok(Task { input, output: outputs(scenario), ..task })
}

/// Adds fields to an object.
fn set(object: &mut Value, fields: Value) {
    if let (Value::Object(object), Value::Object(fields)) = (object, fields) {
        object.extend(fields);
    }
}

/// The attributes of a case's task, chunk and primary dataset under PanDA's names. PanDA's generic
/// broker gives a task without a cloud that of its parameters, before it reads it.
fn attributes(scenario: &Value, is_generic: bool) -> Value {
    let (task, input) = (&scenario["task"], &scenario["input"]);
    let master = items(&input["datasets"]).find(|dataset| flag(&dataset["is_master"]));
    let mut of = json!({
        "task": named(task),
        "chunk": named(input),
        "master": master.map(named),
        "params": scenario["task_params"],
    });
    set(&mut of["task"], json!({"splitRule": split_rule(&task["options"])}));
    if is_generic && text(&task["cloud"]).is_empty() {
        set(&mut of["task"], json!({"cloud": scenario["task_params"]["cloud"]}));
    }
    of
}

/// An object with PanDA's names, and so the objects in its lists.
fn named(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let renamed = |name: &str| RENAMED.iter().find(|(ours, _)| *ours == name);
    let name = |name: &str| renamed(name).map_or_else(|| camel(name), |it| it.1.to_owned());
    let value = |value: &Value| match value {
        Value::Array(items) => items.iter().map(named).collect(),
        other => other.clone(),
    };
    fields.iter().map(|(it, stated)| (name(it), value(stated))).collect()
}

/// `core_count` as `coreCount`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut letters = word.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name + letters.as_str()
    })
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
            name: bare(&it["name"]),
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

/// A name without its scope, and without the slash at the end of a container's.
fn bare(name: &Value) -> String {
    let name = text(name);
    name.rsplit(':').next().unwrap_or_default().trim_end_matches('/').to_owned()
}

/// Whether a dataset stands for no files in Rucio, as `JediDatasetSpec.isPseudo` has it.
fn is_pseudo(dataset: &Value) -> bool {
    let is_marked = text(&dataset["attributes"]).split(',').any(|attribute| attribute == "ps");
    let (name, kind) = (text(&dataset["name"]), text(&dataset["type"]));
    is_marked || kind == "pp_input" || ["pseudo_dataset", "seq_number"].contains(&name.as_str())
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
        name: bare(&value["name"]),
        container: container.to_owned(),
        primary: flag(&value["is_master"]),
        pseudo: is_pseudo(value),
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
            // All files of a part are those that it states.
            let is_in = |part: &Value| {
                part["files"].is_null()
                    || items(&part["files"]).any(|it| whole(&it["file_id"]) == id)
            };
            let holds = |part: &Value, replica: &Value| match &replica["chunk_files"] {
                _ if is_merge => true,
                Value::Array(ids) => ids.iter().any(|it| whole(it) == id),
                Value::String(all) => all == "all" && is_in(part),
                _ => false,
            };
            let parts = std::iter::once(value).chain(items(&value["elements"]));
            let mut endpoints: Vec<String> = parts
                .flat_map(|part| items(&part["replicas"]).filter(move |it| holds(part, it)))
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
