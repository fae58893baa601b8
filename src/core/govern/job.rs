//! How every rule stands to one job, for people.

use super::budget::Budget;
use super::due::look;
use super::facts::{Surroundings, gaps};
use super::hold::{Hold, hold};
use super::making::{task_busy, too_many_moves};
use super::open::is_taken;
use super::timeout::{Deadline, TimeoutFinding, kind};
use crate::command::{CommandRule, Mode, RuleSetting};
use crate::event::Status;
use crate::id::Key;
use crate::output::command::CommandKind;
use crate::state::State;
use crate::state::gaps::put_off;
use crate::state::job::Job;

/// How a rule stands to a job.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleStanding {
    /// The rule.
    pub rule: CommandRule,
    /// Whether the rule is evaluated, and whether its commands are to be carried out.
    pub mode: Mode,
    /// Kind of its command about this job.
    pub kind: CommandKind,
    /// Its present finding about the job.
    pub standing: TimeoutFinding,
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
        let standing = match setting.rule {
            CommandRule::FastRebrokerage => crowded(state, setting, job),
            _ => look(state, setting, &case),
        };
        let kind = kind(setting.rule, &case);
        let held = hold(state, &around, setting.rule, job.names[0]);
        let hold = held
            .or_else(|| is_taken(state, &around, key).then_some(Hold::Ordered))
            .or_else(|| task_busy(state, &around, setting.rule, job))
            .or_else(|| too_many_moves(state, key, kind))
            .or_else(|| used_up(state, setting, job));
        let is_about = standing != TimeoutFinding::NotConcerned;
        let (rule, mode) = (setting.rule, setting.mode);
        is_about.then_some(RuleStanding { rule, mode, kind, standing, hold })
    });
    Some((job, rules.collect()))
}

/// The budget that is used up at a job's queue, if one is.
fn used_up(state: &State, setting: &RuleSetting, job: &Job) -> Option<Hold> {
    let budget = Budget::of(state, setting.mode != Mode::On);
    let (left, why) = budget.left(state, setting.rule, job.names[0]);
    (left == 0).then_some(why)
}

/// Whether a job is one of too many that wait at its queue, of which the oldest move when there
/// have been too many for long enough.
fn crowded(state: &State, setting: &RuleSetting, job: &Job) -> TimeoutFinding {
    let crowded = state.crowded.get(&(job.names[0], job.names[1]));
    let Some(crowded) = crowded.filter(|_| job.status.is_some_and(Status::is_queued)) else {
        return TimeoutFinding::NotConcerned;
    };
    let limit = setting.minutes("dwell_min");
    let gaps = gaps(state, setting.rule, job.names[0]);
    let due_at = put_off(crowded.since, limit, &gaps);
    TimeoutFinding::Deadline(Deadline {
        clock: "crowded_since",
        clock_at: crowded.since,
        limit,
        due_at,
    })
}
