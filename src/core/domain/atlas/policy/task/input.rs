//! Which input counts for locality, and what of it lies at a nucleus (spec atlas 1.6).

use crate::event::{Dataset, DatasetReplica, Storage, Task};

/// The input that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Whether there is any.
    pub is_there: bool,
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
    /// Files, of each container the last part alone (spec atlas Q-2).
    pub files_last: u64,
    /// Bytes, of each container the last part alone.
    pub bytes_last: u64,
}

/// Part of the counted input that lies at a nucleus: of each dataset the copy at the endpoint that
/// has most of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputAtNucleus {
    /// Files on disk or tape.
    pub any_files: u64,
    /// Bytes on disk or tape.
    pub any_bytes: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

/// The type of a dataset: the fifth field of its name.
fn kind(name: &str) -> &str {
    name.split('.').nth(4).unwrap_or("")
}

/// The datasets that count, those of a container together: no pseudo ones, no releases of
/// databases, no logs, and only the primary one where the task asks for that.
pub fn groups(task: &Task) -> Vec<Vec<&Dataset>> {
    let all = &task.input.datasets;
    let counts = |dataset: &&Dataset| {
        dataset.container.is_empty()
            && !dataset.pseudo
            && !dataset.name.starts_with("ddo")
            && kind(&dataset.name) != "log"
            && (dataset.primary || !task.options.primary_only)
    };
    let parts = |dataset| -> Vec<&Dataset> {
        let whole: &Dataset = dataset;
        let parts: Vec<&Dataset> = all
            .iter()
            .filter(|it| !it.container.is_empty() && it.container == whole.name)
            .collect();
        if parts.is_empty() { vec![whole] } else { parts }
    };
    all.iter().filter(counts).map(parts).collect()
}

/// Sums over the datasets that count.
pub fn total(groups: &[Vec<&Dataset>]) -> Total {
    let mut total = Total { is_there: !groups.is_empty(), ..Total::default() };
    for group in groups {
        for part in group {
            total.files = total.files.saturating_add(part.files);
            total.bytes = total.bytes.saturating_add(part.bytes);
        }
        if let Some(last) = group.last() {
            total.files_last = total.files_last.saturating_add(last.files);
            total.bytes_last = total.bytes_last.saturating_add(last.bytes);
        }
    }
    total
}

impl InputAtNucleus {
    /// Part of the counted datasets that lies at some endpoints; `storage` gives one of them by its
    /// name.
    pub fn of<'a>(
        groups: &[Vec<&Dataset>],
        storage: impl Fn(&str) -> Option<&'a Storage>,
    ) -> InputAtNucleus {
        let mut held = InputAtNucleus::default();
        for part in groups.iter().flatten() {
            let (mut files, mut bytes, mut disk) = (0, 0, 0);
            for replica in part.replicas.iter().filter(|replica| !replica.is_virtual) {
                let Some(storage) = storage(&replica.endpoint) else { continue };
                files = replica.files.max(files);
                bytes = replica.bytes.max(bytes);
                if !storage.tape {
                    disk = replica.bytes.max(disk);
                }
            }
            held.any_files = held.any_files.saturating_add(files);
            held.any_bytes = held.any_bytes.saturating_add(bytes);
            held.disk_bytes = held.disk_bytes.saturating_add(disk);
        }
        held
    }
}

/// Whether a copy has all there is.
pub fn is_whole(replica: &DatasetReplica) -> bool {
    !replica.is_virtual && replica.files_total > 0 && replica.files >= replica.files_total
}
