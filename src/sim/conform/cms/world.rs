//! A domain of the shipped topology that is fed with a case's records, cycle by cycle, as a process
//! is that leads.

use super::super::json::entries;
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Event;
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::policy::cms::facts::Seconds;
use yardmaster_core::policy::cms::judge::Explained;
use yardmaster_core::policy::cms::pool::Pool;
use yardmaster_core::policy::cms::settings::Settings;
use yardmaster_core::state::State;
use yardmaster_core::state::pool::PoolJob;
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::record;
use yardmaster_wire::topology::CMS;

use crate::scenario::feed;

/// See the module.
pub(super) struct World {
    engine: Engine,
    codec: Codec,
    arena: Arena,
    settings: Settings,
}

/// A job that got a place of an offer.
pub(super) struct Given {
    /// The decision.
    pub decision: Decision,
    /// The look by which it was made.
    pub look: Explained,
}

/// What became of an offer in a cut.
pub(super) struct Served {
    /// Its name.
    pub offer: String,
    /// Its site.
    pub site: String,
    /// What is left of it.
    pub cores_left: i64,
    /// Every job before it at first.
    pub first_look: Explained,
    /// Every job before it at last, where a job was matched and cores are left.
    pub last_look: Option<Explained>,
}

/// All that was published in a cycle.
#[derive(Default)]
pub(super) struct Cut {
    /// Assignments, in the order made.
    pub given: Vec<Given>,
    /// Offers, in the order served.
    pub served: Vec<Served>,
    /// Codes by which jobs were refused, by job.
    pub refused: BTreeMap<String, String>,
    /// Commands, in the order made.
    pub commands: Vec<Command>,
    /// Jobs whose reservation was released (C-58).
    pub released: Vec<String>,
}

impl World {
    /// A domain with the parameters of a case, which has read nothing.
    ///
    /// # Errors
    /// Which parameter cannot be.
    pub(super) fn new(params: &Value) -> Result<World, String> {
        let text = topology(params)?;
        let config = EpochConfig::of("topology/cms.toml", &text).map_err(|all| all.join("; "))?;
        let policy = config.policies.first().ok_or("the topology has no policy")?;
        let settings = policy.pool_settings(&policy.unchanged());
        let engine = Engine::new(State::new(config.setting), config.policies);
        Ok(World { engine, codec: Codec::default(), arena: Arena::default(), settings })
    }

    /// The parameters in force.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is known of the pool, once a cycle was judged.
    pub(super) fn pool(&self) -> Result<&Pool, String> {
        self.engine.pool().ok_or_else(|| "no cycle was judged".to_owned())
    }

    /// The engine.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Reads a record that lies on a topic since a moment.
    ///
    /// # Errors
    /// That it cannot be read.
    pub(super) fn read(
        &mut self,
        topic: Topic,
        at_s: Seconds,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), String> {
        let mut bytes = Vec::new();
        write(&mut bytes);
        self.arena.clear();
        let event = self.codec.read(topic, None, Some(&bytes), &mut self.arena);
        if let Event::Garbled(why) = event {
            return Err(format!("a record of {} is {}", topic.name(), why.name()));
        }
        feed::fold(&mut self.engine.state, Lane::new(topic, 0), at_s * SECOND, &event);
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
    pub(super) fn pass(&mut self, at_s: Seconds) {
        self.close(at_s * SECOND);
        self.engine.pass();
    }

    /// A cycle, with all that it publishes.
    pub(super) fn cut(&mut self, at_s: Seconds) -> Cut {
        let reserved = self.reserved();
        self.close(at_s * SECOND);
        self.engine.settle();
        let still = self.reserved();
        let released = reserved.into_iter().filter(|job| !still.contains(job) && self.waits(job));
        let mut cut = Cut { released: released.collect(), ..Cut::default() };
        while let Some(output) = self.engine.next_output() {
            match &output {
                Output::Decision(decision) => self.note(decision, &mut cut),
                Output::Command(command) => cut.commands.push(Command::clone(command)),
                Output::Throttle(_) => {}
            }
            self.engine.fold_output(&output);
            if let Output::Decision(decision) = &output {
                self.look_again(&decision.subject, &mut cut);
            }
        }
        cut
    }

    fn close(&mut self, now: Millis) {
        let at_end = LaneFlags { at_end: true, ..LaneFlags::default() };
        let read = Topic::ALL.iter().filter(|topic| !topic.is_own());
        let flags = read.map(|topic| (Lane::new(*topic, 0), at_end)).collect();
        feed::close(&mut self.engine.state, now, flags);
    }

    /// Jobs that a slot is reserved for and that did not start.
    fn reserved(&self) -> Vec<String> {
        let jobs = self.engine.state.pool.jobs.iter();
        let reserved = jobs.filter(|(_, job)| job.matched.is_some());
        reserved.map(|(name, _)| name.to_owned()).collect()
    }

    fn waits(&self, job: &str) -> bool {
        self.engine.state.pool.jobs.of(job).is_some_and(PoolJob::waits)
    }

    /// Notes a decision that was made and not folded yet.
    fn note(&self, decision: &Decision, cut: &mut Cut) {
        let offer = &decision.subject;
        if let Outcome::Reject { reason } = &decision.outcome {
            cut.refused.insert(offer.clone(), reason.clone());
            return;
        }
        let Some(look) = self.engine.explain_offer(offer) else { return };
        if cut.served.last().is_none_or(|served| served.offer != *offer) {
            let site = self.engine.state.pool.offers.of(offer).map(|known| known.site.clone());
            cut.served.push(Served {
                offer: offer.clone(),
                site: site.unwrap_or_default(),
                cores_left: 0,
                first_look: look.clone(),
                last_look: None,
            });
        }
        if let Outcome::Assign(_) = decision.outcome {
            cut.given.push(Given { decision: decision.clone(), look });
        }
    }

    /// Looks once more at an offer, after what was decided of it.
    fn look_again(&self, offer: &str, cut: &mut Cut) {
        let is_taken = cut.given.last().is_some_and(|it| it.decision.subject == offer);
        let Some(last) = cut.served.last_mut().filter(|last| last.offer == offer) else { return };
        let known = self.engine.state.pool.offers.of(offer);
        last.cores_left = known.map_or(0, |known| known.cores_left());
        last.last_look = match is_taken && last.cores_left > 0 {
            true => self.engine.explain_offer(offer),
            false => None,
        };
    }
}

/// The shipped topology with the parameters of a case, and with budgets that hold no command back.
fn topology(params: &Value) -> Result<String, String> {
    let mut own = String::new();
    for (key, value) in entries(params) {
        match value {
            Value::Object(classes) => {
                for (class, value) in classes {
                    own.push_str(&line(&format!("{key}_{class}"), value));
                }
            }
            _ => own.push_str(&line(key, value)),
        }
    }
    let kind = "kind = \"cms\"\n";
    if !CMS.contains(kind) {
        return Err(format!("topology/cms.toml has no line {kind:?}"));
    }
    let text = CMS.replacen(kind, &format!("{kind}{own}"), 1);
    let budgets =
        "\n[governor]\njobs_per_queue = 100_000\njobs_per_rule = 100_000\njobs = 100_000\n";
    let named = "\n[[rule]]\nname = \"kill_workflow\"\nbatch_jobs = 1_000\n";
    Ok(text + named + budgets)
}

/// A parameter as a topology file has it; none is a limit that there is not.
fn line(key: &str, value: &Value) -> String {
    let value = if value.is_null() { "-1".to_owned() } else { value.to_string() };
    format!("{key} = {value}\n")
}
