//! How every rule stands to one job, for people.

use super::due::look;
use super::facts::Surroundings;
use super::hold::{Hold, hold};
use super::making::too_many_moves;
use super::timeout::{Standing, kind};
use crate::core::command::{CommandRule, Mode};
use crate::core::id::Key;
use crate::core::output::command::CommandKind;
use crate::core::state::State;
use crate::core::state::record::Job;

/// How a rule stands to a job.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleStanding {
    /// The rule.
    pub rule: CommandRule,
    /// What becomes of its commands.
    pub mode: Mode,
    /// What it asks for.
    pub kind: CommandKind,
    /// What it finds.
    pub standing: Standing,
    /// Why it gives no command though it is due, or would give none if it were.
    pub hold: Option<Hold>,
}

/// How the rules that are looked at stand to a job: those that are about such jobs. `None` if no
/// such job is known, or nothing but heartbeats of it.
pub fn standings<'a>(state: &'a State, name: &str) -> Option<(&'a Job, Vec<RuleStanding>)> {
    let key = Key::of(name.as_bytes());
    let job = state.jobs.of(key).filter(|job| job.status.is_some())?;
    let around = Surroundings::of(state);
    let Some(case) = around.case(state, job) else { return Some((job, Vec::new())) };
    let rules = state.setting.commands.active().filter_map(|setting| {
        let standing = look(state, setting, &case);
        let kind = kind(setting.rule, &case);
        let held = hold(state, &around, setting.rule, job.names[0]);
        let hold = held.or_else(|| too_many_moves(state, key, kind));
        let is_about = standing != Standing::NotConcerned;
        let (rule, mode) = (setting.rule, setting.mode);
        is_about.then_some(RuleStanding { rule, mode, kind, standing, hold })
    });
    Some((job, rules.collect()))
}
