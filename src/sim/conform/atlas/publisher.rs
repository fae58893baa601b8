//! Publisher of a case's records to a domain that reads them; notes what no record states.

use super::super::json::moment;
use super::super::judged::Unstated;
use super::super::rulebook::Rulebook;
use super::super::world::World;
use super::grid;
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Task;
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// A domain that is fed with a case.
pub(super) struct CasePublisher<'c> {
    /// The domain.
    pub world: World,
    /// The case.
    pub scenario: &'c Value,
    /// Parameters that the case sets.
    pub gdpconfig: &'c Value,
    /// Its moment.
    pub now: Millis,
    /// Jobs that were published.
    pub published: u64,
    /// Power of a core at each queue; mHS06.
    pub powers: BTreeMap<String, u32>,
    /// By share, power of the published jobs that run or were sent to pilots; mHS06.
    pub executing: BTreeMap<String, u128>,
    /// Slots that the task's user has at the case's queues, at hi-sites, and at mid-sites.
    pub held: [u32; 2],
    /// How near weights can come; see `Judged`.
    pub tolerance: f64,
    /// Figures of the case that no records give.
    pub unstated: Unstated,
}

impl<'c> CasePublisher<'c> {
    /// The domain of a topology, which has read nothing, at the moment before the case's.
    ///
    /// # Errors
    /// The fault of the topology.
    pub(super) fn new(
        whole_case: &'c Value,
        rulebook: &Rulebook,
    ) -> Result<CasePublisher<'c>, String> {
        let scenario = &whole_case["scenario"];
        let now = moment(&scenario["now"]);
        let mut world = World::new(rulebook)?;
        world.pass(now - 1);
        Ok(CasePublisher {
            world,
            scenario,
            gdpconfig: &whole_case["gdpconfig"],
            now,
            published: 0,
            powers: grid::powers(scenario).collect(),
            executing: BTreeMap::new(),
            held: [0; 2],
            tolerance: 0.0,
            unstated: Unstated::new(),
        })
    }

    /// Notes that the case states what no records give; one of the words stands in a difference
    /// that comes of it.
    pub(super) fn note(&mut self, why: &'static str, words: &'static [&'static str]) {
        self.unstated.insert(why, words);
    }

    /// Publishes all that cases of all kinds state, but what is asked.
    ///
    /// # Errors
    /// The first thing of the case that cannot be read.
    pub(super) fn publish(&mut self, whole_case: &Value) -> Result<(), String> {
        grid::publish(&mut self.world, whole_case, self.now)?;
        self.jobs()?;
        self.owner()?;
        self.capacity()
    }

    /// Publishes a request.
    ///
    /// # Errors
    /// That its record cannot be read.
    pub(super) fn ask(&mut self, task: &Task) -> Result<(), String> {
        self.world.read(Topic::Task, self.now, |out| record::write(out, task))
    }
}
