//! Pilots and workers of a case, and decisions made before it.

use super::super::json::{count, entries, items, text};
use super::publisher::CasePublisher;
use serde_json::Value;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Pilot;
use yardmaster_core::output::decision::{Decision, Outcome, Ranked};
use yardmaster_wire::record;

impl CasePublisher<'_> {
    /// Publishes what pilots, and workers, are at the queues.
    ///
    /// # Errors
    /// That a record cannot be read.
    pub(super) fn capacity(&mut self) -> Result<(), String> {
        let (stats, at) = (&self.scenario["stats"], self.now);
        let is_counted = |queue: &str, nodes: &Value| match nodes["flag"].as_str() {
            // PanDA counts pilots of the flag that a queue's name asks for.
            Some(flag) => (flag == "analysis") == queue.starts_with("ANALY_"),
            None => true,
        };
        for (queue, nodes) in entries(&stats["pilots_3h"]).filter(|it| is_counted(it.0, it.1)) {
            for number in 0..count(&nodes["get_job"]) {
                let node = number.to_string();
                self.pilot(&Pilot::AskedJob { queue, node: &node, at })?;
            }
            for number in 0..count(&nodes["update_job"]) {
                let node = number.to_string();
                self.pilot(&Pilot::UpdatedJob { queue, node: &node, at })?;
            }
        }
        for (queue, types) in entries(&stats["harvester_workers"]) {
            for (resource_type, it) in entries(types) {
                let (submitted, running) = (count(&it["submitted"]), count(&it["running"]));
                let harvester = "harvester";
                let workers =
                    Pilot::Workers { queue, harvester, resource_type, submitted, running, at };
                self.pilot(&workers)?;
            }
        }
        if items(&stats["locked_queues"]).next().is_some() {
            self.note("no record says that another process brokers to a queue", &["lock"]);
        }
        let architecture = text(&self.scenario["task"]["architecture"]);
        let wish: Value = serde_json::from_str(&architecture).unwrap_or(Value::Null);
        if wish["cpu_pref"]["preferred_architecture_level"].is_string() {
            self.note("no record gives cores by CPU level", &["weight "]);
        }
        Ok(())
    }

    fn pilot(&mut self, pilot: &Pilot<'_>) -> Result<(), String> {
        self.world.read(Topic::Pilot, self.now, |out| record::write(out, pilot))
    }

    /// Reads back what was decided before: jobs of the share on their way to queues.
    ///
    /// # Errors
    /// That a record cannot be read.
    pub(super) fn earlier_jobs(&mut self) -> Result<(), String> {
        let gshare = text(&self.scenario["task"]["gshare"]);
        for (queue, jobs) in entries(&self.scenario["stats"]["live_counts"]) {
            let ranked = Ranked {
                queue: queue.clone(),
                unified: queue.clone(),
                weight: 1.0,
                jobs: count(jobs),
                cores: 1,
                factors: Vec::new(),
                platform: String::new(),
            };
            let subject = format!("earlier/{queue}");
            let outcome = Outcome::Assign(vec![ranked]);
            let decision = Decision {
                task: "earlier".to_owned(),
                now: self.now - 1,
                policy: self.world.policy.clone(),
                gshare: gshare.clone(),
                ..Decision::new(&self.world.domain, &subject, 0, 1, outcome)
            };
            self.world.read_back(&decision.into())?;
        }
        Ok(())
    }
}
