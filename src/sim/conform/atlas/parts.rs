//! How the files of a case's chunk are split into jobs.

use super::super::json::{amount, flag, items, number, text, whole};
use serde_json::Value;
use std::collections::BTreeSet;
use yardmaster_core::unit::{Bytes, KIB, MIB};

/// The chunk's split into jobs (spec atlas 0.4).
pub(super) struct Parts {
    pub jobs: u32,
    pub files: u32,
    pub bytes: Bytes,
    pub atom_bytes: Bytes,
    pub atom_effective_mb: f64,
    pub atom_events: u64,
}

/// Events of a file that are used.
fn events(file: &Value) -> u64 {
    match (number(&file["start_event"]), number(&file["end_event"])) {
        (Some(start), Some(end)) => (end - start + 1.0).max(1.0) as u64,
        _ => number(&file["n_events"]).map_or(1, |events| events.max(1.0) as u64),
    }
}

/// Effective size of a file; MB.
fn effective_mb(file: &Value) -> f64 {
    let size = amount(&file["size_bytes"]);
    if size == 0 {
        return 1.0;
    }
    let all = number(&file["n_events"]).filter(|events| *events > 0.0);
    let part = match (number(&file["start_event"]), number(&file["end_event"]), all) {
        (Some(_), Some(_), Some(all)) => events(file) as f64 / all,
        _ => 1.0,
    };
    size as f64 * part / MIB as f64
}

impl Parts {
    /// Of a case's input and the options of its task, of which `record` has the figures.
    pub fn of(input: &Value, options: &Value, record: &Value) -> Parts {
        let all: Vec<&Value> = items(&input["datasets"]).collect();
        let files_of = |it: &&Value| items(&it["files"]).cloned().collect::<Vec<Value>>();
        let primary: Vec<Value> =
            all.iter().filter(|it| flag(&it["is_master"])).flat_map(files_of).collect();
        // The atom of a merge chunk is another than its jobs are counted by.
        let is_merging = flag(&input["is_merging"]);
        let per_job = if is_merging { "nFilesPerMergeJob" } else { "nFilesPerJob" };
        let per_job = number(&options[per_job]).map_or(1, |files| files.max(1.0) as usize);
        let secondary = Secondary::of(&all);
        let mut parts = Parts {
            jobs: 0,
            files: distinct(&all),
            bytes: 0,
            atom_bytes: 0,
            atom_effective_mb: 0.0,
            atom_events: 0,
        };
        parts.bytes = secondary.repeated
            + secondary.paired.iter().sum::<Bytes>()
            + primary.iter().map(|file| amount(&file["size_bytes"])).sum::<u64>();
        parts.jobs = jobs(&primary, &secondary, record, options);
        for (at, job) in primary.chunks(per_job).enumerate() {
            let bytes: Bytes = job.iter().map(|file| amount(&file["size_bytes"])).sum();
            let with: Bytes =
                (0..job.len()).map(|index| secondary.with(at * per_job + index)).sum();
            parts.atom_bytes = parts.atom_bytes.max(bytes + with + secondary.repeated);
            let effective: f64 = job.iter().map(effective_mb).sum();
            parts.atom_effective_mb = parts.atom_effective_mb.max(effective);
            parts.atom_events = parts.atom_events.max(job.iter().map(events).sum());
        }
        parts
    }
}

/// Files by their ids: one that two datasets have counts once.
fn distinct(datasets: &[&Value]) -> u32 {
    let files = datasets.iter().flat_map(|it| items(&it["files"]));
    files.map(|file| whole(&file["file_id"])).collect::<BTreeSet<i64>>().len() as u32
}

/// Least output a job is reckoned with where its size is limited.
const LEAST_OUTPUT: f64 = (1_500 * MIB) as f64;
/// Most files of a job where the task states nothing.
const FILES_MOST: f64 = 200.0;

/// Longest time of a job where the task states nothing; s.
const LONGEST_S: f64 = 345_600.0;
/// Core power that jobs are cut by; HS06.
const CUT_HS06: f64 = 10.0;

/// Secondary input: what every job reads, and what goes with one primary file each.
struct Secondary {
    repeated: Bytes,
    paired: Vec<Bytes>,
}

impl Secondary {
    fn of(datasets: &[&Value]) -> Secondary {
        let mut found = Secondary { repeated: 0, paired: Vec::new() };
        for dataset in datasets.iter().filter(|it| !flag(&it["is_master"])) {
            let sizes = items(&dataset["files"]).map(|file| amount(&file["size_bytes"]));
            if text(&dataset["attributes"]).contains("repeat") {
                found.repeated += sizes.sum::<Bytes>();
                continue;
            }
            for (at, size) in sizes.enumerate() {
                match found.paired.get_mut(at) {
                    Some(held) => *held += size,
                    None => found.paired.push(size),
                }
            }
        }
        found
    }

    /// Secondary files of the primary file at an index.
    fn with(&self, at: usize) -> Bytes {
        self.paired.get(at).copied().unwrap_or(0)
    }
}

/// How many jobs the chunk's files make: so many files a job, or as many as fit.
fn jobs(primary: &[Value], secondary: &Secondary, record: &Value, options: &Value) -> u32 {
    if let Some(files) = number(&options["nFilesPerJob"]) {
        return primary.len().div_ceil(files.max(1.0) as usize).max(1) as u32;
    }
    let most = number(&options["nMaxFilesPerJob"]).unwrap_or(FILES_MOST).max(1.0);
    let room = number(&options["nGBPerJob"]).map(|size| size * (KIB * MIB) as f64 + LEAST_OUTPUT);
    let figure = |name: &str| number(&record[name]);
    let rate = figure("output_per_event").or(figure("output_per_mb")).unwrap_or(0.0);
    let cpu = figure("cpu_hs06s_per_event").unwrap_or(0.0);
    let power = figure("core_count").unwrap_or(1.0).max(1.0) * CUT_HS06;
    let nothing = (0.0, secondary.repeated as f64, 0.0, 0.0);
    let (mut jobs, mut held) = (1, nothing);
    for (at, file) in primary.iter().enumerate() {
        let add = |(files, bytes, effective, time): (f64, f64, f64, f64)| {
            let size = (amount(&file["size_bytes"]) + secondary.with(at)) as f64;
            let more = events(file) as f64 * cpu / power;
            (files + 1.0, bytes + size, effective + effective_mb(file), time + more)
        };
        let (files, bytes, effective, time) = add(held);
        let output = (rate * effective).max(LEAST_OUTPUT);
        let is_too_large = room.is_some_and(|room| bytes + output > room);
        if held.0 > 0.0 && (files > most || is_too_large || time > LONGEST_S) {
            jobs += 1;
            held = add(nothing);
        } else {
            held = (files, bytes, effective, time);
        }
    }
    jobs
}
