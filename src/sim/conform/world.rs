//! A domain that is fed with a case's records, cycle by cycle, as a process is that leads.

use super::rulebook::Rulebook;
use crate::scenario::feed;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Event;
use yardmaster_core::output::Output;
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::record;

/// See the module.
pub(super) struct World {
    /// The engine.
    pub engine: Engine,
    /// Its domain.
    pub domain: String,
    /// The policy that answers.
    pub policy: String,
    codec: Codec,
    arena: Arena,
}

impl World {
    /// A domain of a topology, which has read nothing.
    ///
    /// # Errors
    /// The mistake in the topology.
    pub(super) fn new(rulebook: &Rulebook) -> Result<World, String> {
        let Rulebook { name, text, domain, policy, .. } = rulebook;
        let config = EpochConfig::of(name, text).map_err(|all| all.join("; "))?;
        let engine = Engine::new(State::new(config.setting), config.policies);
        let (domain, policy) = (domain.clone(), policy.clone());
        Ok(World { engine, domain, policy, codec: Codec::default(), arena: Arena::default() })
    }

    /// Reads a record that lies on a topic since a moment.
    ///
    /// # Errors
    /// That it cannot be read.
    pub(super) fn read(
        &mut self,
        topic: Topic,
        at: Millis,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), String> {
        let mut bytes = Vec::new();
        write(&mut bytes);
        self.arena.clear();
        let event = self.codec.read(topic, None, Some(&bytes), &mut self.arena);
        if let Event::Garbled(why) = event {
            return Err(format!("a record of {} is {}", topic.name(), why.name()));
        }
        feed::fold(&mut self.engine.state, Lane::new(topic, 0), at, &event);
        Ok(())
    }

    /// Reads back an output of an earlier cycle.
    ///
    /// # Errors
    /// That it cannot be read.
    pub(super) fn read_back(&mut self, output: &Output) -> Result<(), String> {
        let mut bytes = Vec::new();
        record::write_output(&mut bytes, output);
        let topic = output.topic();
        let read = self.codec.read_whole_output(topic, &bytes);
        let read = read.map_err(|why| format!("a record of {} is {}", topic.name(), why.name()))?;
        self.engine.fold_output(&read);
        Ok(())
    }

    /// A cycle in which nothing is judged.
    pub(super) fn pass(&mut self, at: Millis) {
        self.close(at);
        self.engine.pass();
    }

    /// Closes a cycle, all lanes at their ends.
    pub(super) fn close(&mut self, at: Millis) {
        let at_end = LaneFlags { at_end: true, ..LaneFlags::default() };
        let read = Topic::ALL.iter().filter(|topic| !topic.is_own());
        let flags = read.map(|topic| (Lane::new(*topic, 0), at_end)).collect();
        feed::close(&mut self.engine.state, at, flags);
    }

    /// Judges the cycle that was closed; `look` sees each output before and after it is folded.
    pub(super) fn publish(&mut self, look: &mut dyn FnMut(&Engine, &Output, bool)) {
        self.engine.settle();
        while let Some(output) = self.engine.next_output() {
            look(&self.engine, &output, false);
            self.engine.fold_output(&output);
            look(&self.engine, &output, true);
        }
    }
}
