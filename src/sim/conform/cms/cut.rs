//! A cut of a pool: what it publishes, with the looks by which it was decided.

use super::super::json::entries;
use super::super::rulebook::{Configuration, Rulebook};
use super::super::world::World;
use serde_json::Value;
use std::collections::BTreeMap;
use toml::Table;
use yardmaster_core::domain::cms::policy::facts::Seconds;
use yardmaster_core::domain::cms::policy::judge::Explained;
use yardmaster_core::domain::cms::policy::pool::Pool;
use yardmaster_core::domain::cms::policy::settings::Settings;
use yardmaster_core::domain::cms::state::PoolJob;
use yardmaster_core::engine::Engine;
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::unit::SECOND;

/// A job that got a place of an offer.
pub(super) struct Given {
    /// The decision.
    pub decision: Decision,
    /// The look by which it was made.
    pub look: Explained,
}

/// Fate of an offer in a cut.
pub(super) struct Served {
    /// Its name.
    pub offer: String,
    /// Its site.
    pub site: String,
    /// The part of it that is left.
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

/// A pool with the parameters of a case, which has read nothing.
///
/// # Errors
/// Which parameter cannot be.
pub(super) fn world(by: Configuration<'_>, params: &Value) -> Result<World, String> {
    World::new(&Rulebook::new(by, "cms", parameters(params)?)?)
}

/// The parameters in force.
pub(super) fn settings(world: &World) -> Settings {
    let policy = world.engine.policies().first();
    policy.map_or_else(Settings::default, |policy| policy.pool_settings(&policy.unchanged()))
}

/// The pool as it is known.
///
/// # Errors
/// That no cycle was judged.
pub(super) fn pool(world: &World) -> Result<&Pool, String> {
    world.engine.pool().ok_or_else(|| "no cycle was judged".to_owned())
}

/// A cycle, with all that it publishes.
pub(super) fn cut(world: &mut World, at_s: Seconds) -> Cut {
    let reserved = reserved(&world.engine);
    world.close(at_s * SECOND);
    let mut cut = Cut { released: released(&world.engine, reserved), ..Cut::default() };
    world.publish(&mut |engine, output, is_folded| match (output, is_folded) {
        (Output::Decision(decision), false) => note(engine, decision, &mut cut),
        (Output::Decision(decision), true) => look_again(engine, &decision.subject, &mut cut),
        (Output::Command(command), false) => cut.commands.push(Command::clone(command)),
        _ => {}
    });
    cut
}

/// Jobs that a slot is reserved for.
fn reserved(engine: &Engine) -> Vec<String> {
    let jobs = engine.state.pool.jobs.iter();
    let reserved = jobs.filter(|(_, job)| job.matched.is_some());
    reserved.map(|(name, _)| name.to_owned()).collect()
}

/// Those of some jobs that wait without a reservation.
fn released(engine: &Engine, jobs: Vec<String>) -> Vec<String> {
    let of = |job: &String| engine.state.pool.jobs.of(job);
    let is_released =
        |job: &String| of(job).is_some_and(|job| job.matched.is_none() && PoolJob::waits(job));
    jobs.into_iter().filter(is_released).collect()
}

/// Notes a decision that was made and not folded yet.
fn note(engine: &Engine, decision: &Decision, cut: &mut Cut) {
    let offer = &decision.subject;
    if let Outcome::Reject { reason } = &decision.outcome {
        cut.refused.insert(offer.clone(), reason.clone());
        return;
    }
    let Some(look) = engine.explain_offer(offer) else { return };
    if cut.served.last().is_none_or(|served| served.offer != *offer) {
        let site = engine.state.pool.offers.of(offer).map(|known| known.site.clone());
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
fn look_again(engine: &Engine, offer: &str, cut: &mut Cut) {
    let is_taken = cut.given.last().is_some_and(|it| it.decision.subject == offer);
    let Some(last) = cut.served.last_mut().filter(|last| last.offer == offer) else { return };
    let known = engine.state.pool.offers.of(offer);
    last.cores_left = known.map_or(0, |known| known.cores_left());
    last.last_look = match is_taken && last.cores_left > 0 {
        true => engine.explain_offer(offer),
        false => None,
    };
}

/// The parameters of a case; none is a limit that there is not.
fn parameters(stated: &Value) -> Result<Table, String> {
    let mut own = Table::new();
    // The model that cases are recorded of fills T1 first in one cut alone.
    own.insert("t1_first_s".to_owned(), 0.into());
    let mut set = |name: String, value: &Value| {
        let shown = if value.is_null() { Ok((-1).into()) } else { toml::Value::try_from(value) };
        let shown = shown.map_err(|error| format!("parameter `{name}`: {error}"))?;
        own.insert(name, shown);
        Ok::<(), String>(())
    };
    for (key, value) in entries(stated) {
        match value {
            Value::Object(classes) => classes
                .iter()
                .try_for_each(|(class, value)| set(format!("{key}_{class}"), value))?,
            _ => set(key.to_owned(), value)?,
        }
    }
    Ok(own)
}
