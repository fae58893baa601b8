//! Figures that PanDA computes in SQL, laid over the candidates.

use super::json::{count, entries, items, number, text, texts, whole};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::event::{Queue, Status};
use yardmaster_core::policy::{Candidate, Candidates, UserView};
use yardmaster_core::state::ledger::Count;

/// The figures of one queue, by its unified name.
pub struct AtQueue {
    share: [u32; Status::COUNT],
    all: Count,
    of_type: Count,
    of_task: Count,
    reserved: u32,
    pilots: u32,
    workers: u32,
    disk_io_kbps: Option<f64>,
    inactive: bool,
    locked: bool,
    stuck: u32,
    preferred_cpu_percent: f64,
    user: UserView,
}

impl Default for AtQueue {
    fn default() -> AtQueue {
        AtQueue {
            share: [0; Status::COUNT],
            all: Count::NONE,
            of_type: Count::NONE,
            of_task: Count::NONE,
            reserved: 0,
            pilots: 0,
            workers: 0,
            disk_io_kbps: None,
            inactive: false,
            locked: false,
            stuck: 0,
            preferred_cpu_percent: 0.0,
            user: UserView::default(),
        }
    }
}

/// The figures of a case.
pub struct Figures {
    queues: BTreeMap<String, AtQueue>,
    nothing: AtQueue,
}

fn add(count: &mut Count, states: &Value) {
    for (status, jobs) in states_of(states) {
        count.by[status.index()].jobs += jobs;
    }
}

fn states_of(states: &Value) -> impl Iterator<Item = (Status, u32)> {
    entries(states).filter_map(|(name, jobs)| {
        let status = Status::ALL.into_iter().find(|status| status.name() == name)?;
        Some((status, count(jobs)))
    })
}

impl Figures {
    /// The figures of a case.
    pub fn of(scenario: &Value) -> Figures {
        let mut figures = Figures { queues: BTreeMap::new(), nothing: AtQueue::default() };
        let (stats, task) = (&scenario["stats"], &scenario["task"]);
        figures.jobs(scenario);
        figures.types(scenario);
        for (queue, cores) in entries(&stats["cores"]) {
            let all = &mut figures.at(queue).all;
            for (status, cores) in states_of(cores) {
                all.by[status.index()].cores = cores;
            }
        }
        for (queue, jobs) in entries(&stats["live_counts"]) {
            figures.at(queue).reserved = count(jobs);
        }
        for (queue, nodes) in entries(&stats["pilots_3h"]) {
            figures.at(queue).pilots = count(&nodes["get_job"]) + count(&nodes["update_job"]);
        }
        for (queue, types) in entries(&stats["harvester_workers"]) {
            let workers =
                entries(types).map(|(_, it)| count(&it["running"]) + count(&it["submitted"]));
            figures.at(queue).workers = workers.sum();
        }
        for (queue, rate) in entries(&stats["disk_io_kbps_per_core"]) {
            figures.at(queue).disk_io_kbps = number(rate);
        }
        for queue in texts(&stats["inactive_queues"]) {
            figures.at(&queue).inactive = true;
        }
        for queue in texts(&stats["locked_queues"]) {
            figures.at(&queue).locked = true;
        }
        for (queue, view) in super::analysis::users(scenario) {
            figures.at(&queue).user = view;
        }
        figures.stuck(scenario);
        figures.levels(&scenario["software"]["cpu_levels"], &text(&task["architecture"]));
        figures
    }

    fn at(&mut self, queue: &str) -> &mut AtQueue {
        self.queues.entry(queue.to_owned()).or_default()
    }

    /// Jobs by state: of the task's share, or of its work queue where that is one of its own.
    fn jobs(&mut self, scenario: &Value) {
        let (stats, task) = (&scenario["stats"], &scenario["task"]);
        let gshare = text(&task["gshare"]);
        let number = whole(&task["work_queue_id"]);
        let own = items(&scenario["work_queues"])
            .any(|it| whole(&it["id"]) == number && it["function"].as_str() == Some("Resource"));
        // Queues for event service jobs of high priority count by the share all the same.
        let is_high =
            |queue: &str| scenario["queues"][queue]["job_seed"].as_str() == Some("eshigh");
        for (queue, shares) in entries(&stats["jobs"]) {
            for (share, states) in entries(shares) {
                add(&mut self.at(queue).all, states);
                if (!own || is_high(queue)) && *share == gshare {
                    for (status, jobs) in states_of(states) {
                        self.at(queue).share[status.index()] += jobs;
                    }
                }
            }
        }
        for (queue, numbers) in entries(&stats["jobs_by_work_queue_id"]).filter(|_| own) {
            if is_high(queue) {
                continue;
            }
            for (status, jobs) in states_of(&numbers[number.to_string()]) {
                self.at(queue).share[status.index()] += jobs;
            }
        }
    }

    /// Jobs by resource type: the task's own, and those its jobs at the queue have.
    fn types(&mut self, scenario: &Value) {
        let (stats, own) = (&scenario["stats"], text(&scenario["task"]["resource_type"]));
        for (queue, types) in entries(&stats["jobs_by_resource_type"]) {
            let of_task = texts(&stats["task_resource_types_by_queue"][queue]);
            for (name, states) in entries(types) {
                let at = self.at(queue);
                if *name == own {
                    add(&mut at.of_type, states);
                }
                if of_task.contains(name) || of_task.is_empty() && *name == own {
                    add(&mut at.of_task, states);
                }
            }
        }
    }

    /// Jobs on their way to nuclei that cannot be written from afar.
    fn stuck(&mut self, scenario: &Value) {
        let nuclei = &scenario["derived"]["nuclei"];
        for (queue, to) in entries(&scenario["stats"]["transferring_by_nucleus"]) {
            let stuck = entries(to).filter(|(nucleus, _)| {
                let endpoint = text(&nuclei[*nucleus]["default_output_endpoint"]);
                let status = &scenario["storage_endpoints"][&endpoint]["activity_status"];
                matches!(status["write_wan"].as_str(), Some("OFF" | "TEST"))
            });
            self.at(queue).stuck = stuck.map(|(_, jobs)| count(jobs)).sum();
        }
    }

    /// The part of cores with the CPU level that the task prefers.
    fn levels(&mut self, levels: &Value, architecture: &str) {
        let wish: Value = serde_json::from_str(architecture).unwrap_or(Value::Null);
        let level = text(&wish["cpu_pref"]["preferred_architecture_level"]);
        for (queue, by_level) in entries(levels).filter(|_| !level.is_empty()) {
            let percent = number(&by_level[&level]["pct_within_queue"]).unwrap_or(0.0);
            self.at(queue).preferred_cpu_percent = percent;
        }
    }

    fn of_queue(&self, queue: &Queue) -> &AtQueue {
        self.queues.get(&queue.unified).unwrap_or(&self.nothing)
    }
}

/// Candidates with the figures of a case in place of those that were counted.
pub struct WithFigures<'a, C: ?Sized> {
    /// The candidates.
    pub candidates: &'a C,
    /// The figures.
    pub figures: &'a Figures,
}

impl<C: Candidates + ?Sized> Candidates for WithFigures<'_, C> {
    fn count(&self) -> usize {
        self.candidates.count()
    }

    fn at(&self, index: u32) -> Candidate<'_> {
        let candidate = self.candidates.at(index);
        let known = self.figures.of_queue(candidate.queue);
        let is_ready = [Status::Activated, Status::Starting]
            .into_iter()
            .any(|status| known.all.by[status.index()].jobs > 0);
        Candidate {
            load: &known.share,
            load_all: &known.all,
            load_type: &known.of_type,
            load_task: &known.of_task,
            reserved: known.reserved,
            pilots: known.pilots,
            workers: known.workers,
            disk_io_kbps: known.disk_io_kbps,
            inactive: known.inactive && is_ready,
            // Locks are of queues, not of the parts of a unified one.
            locked: known.locked && candidate.queue.name == candidate.queue.unified,
            stuck_transferring: known.stuck,
            preferred_cpu_percent: known.preferred_cpu_percent,
            user: known.user,
            ..candidate
        }
    }

    fn queue(&self, index: u32) -> &Queue {
        self.candidates.queue(index)
    }
}
