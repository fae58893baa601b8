//! Commands of a pool of slots, beside the assignment of jobs: tails that go first, workflows whose
//! test jobs failed or show what is needed, nodes that are kept free (spec cms-nordugrid C-16,
//! C-49, C-50, C-55).
//!
//! An action has its effect when its command is folded. Until then it is found again at every cut,
//! so that one that is held back, or beyond what a cycle may publish, is tried again.

use crate::command::{CommandRule, CommandSetting, Mode, RuleSetting};
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::cms::state::PoolJobState;
use crate::govern::facts::Surroundings;
use crate::govern::hold::hold;
use crate::govern::make;
use crate::govern::make::Order;
use crate::govern::making::Making;
use crate::id::{Key, Name};
use crate::output::command::{Command, CommandKind};
use crate::state::State;
use crate::unit::{Millis, SECOND};

/// Since when a node is kept free.
const DRAIN_BEGUN: &str = "drain_begun";

/// Gives the commands of the actions, in the order made. Returns the actions whose command is to be
/// carried out.
pub(crate) fn act(
    state: &mut State,
    around: &Surroundings,
    setting: &CommandSetting,
    actions: &[PoolAction],
    making: &mut Making,
) -> Vec<PoolAction> {
    let mut given = Vec::new();
    for action in actions {
        let Some(rule) = setting.rule(rule_of(action)) else { continue };
        if making.commands.len() >= setting.governor.commands_per_cycle {
            break;
        }
        let site = site_of(state, action).to_owned();
        // Budgets and reports go by names.
        let site = if site.is_empty() { Name::NONE } else { state.name(&site) };
        if give(state, around, rule, (site, action), making) && rule.mode == Mode::On {
            given.push(action.clone());
        }
    }
    given
}

/// The rule that an action is of.
fn rule_of(action: &PoolAction) -> CommandRule {
    match action {
        PoolAction::Boosted { .. } => CommandRule::Boost,
        PoolAction::Kill { .. } => CommandRule::KillWorkflow,
        PoolAction::Alert { .. } => CommandRule::Alert,
        PoolAction::ProfileUpdated { .. } => CommandRule::Profile,
        PoolAction::DrainNode { .. } => CommandRule::Drain,
        PoolAction::DrainCancelled { .. } => CommandRule::Undrain,
    }
}

/// The site of the node that an action is about; empty if it is about none.
fn site_of<'a>(state: &'a State, action: &'a PoolAction) -> &'a str {
    match action {
        PoolAction::DrainNode { site, .. } => site,
        PoolAction::DrainCancelled { node, .. } => {
            state.pool.nodes.of(node).map_or("", |node| node.site.as_str())
        }
        _ => "",
    }
}

/// Gives the command of an action, unless it was given or is held back; whether it does.
fn give(
    state: &State,
    around: &Surroundings,
    rule: &RuleSetting,
    (site, action): (Name, &PoolAction),
    making: &mut Making,
) -> bool {
    let dry_run = rule.mode != Mode::On;
    let order = order(state, rule, action);
    if was_given(state, rule, &order) {
        return false;
    }
    let held = hold(state, around, rule.rule, site);
    // A workflow is ended as a whole, even where the budget is less than its jobs.
    if let Some(why) = held.or_else(|| making.used_up(state, rule, site)) {
        making.hold((rule.rule, site), order.amount.max(1), why);
        return false;
    }
    making.budget(state, dry_run).take(rule.rule.name(), site, order.amount);
    let command = make::command(state, order);
    match dry_run {
        true => making.show(command),
        false => making.order(command),
    }
    true
}

/// Whether the command was given before. One that is to be carried out counts until it expires: if
/// it is asked for after that, it did not last. One for people to see counts while it is
/// remembered, a drain once for each job: which node is best for it may be another at every cut.
fn was_given(state: &State, rule: &RuleSetting, order: &Order<'_>) -> bool {
    let id = make::id_of(state, rule.rule, &order.subject, order.attempt, order.clock_at);
    let known = state.commands.of(id).map(|known| &known.command);
    if rule.mode == Mode::On {
        return known.is_some_and(|known| known.is_order() && known.expires_at > state.now);
    }
    let is_shown = |job: &String| {
        let about = state.commands.about(Key::of(job.as_bytes())).map(|known| &known.command);
        about.into_iter().any(|known| known.kind == CommandKind::Drain && known.dry_run)
    };
    known.is_some() || rule.rule == CommandRule::Drain && order.jobs.iter().any(is_shown)
}

/// The command for an action.
fn order<'a>(state: &'a State, rule: &RuleSetting, action: &'a PoolAction) -> Order<'a> {
    match action {
        PoolAction::Boosted { workflow, effective_priority } => Order {
            measured: *effective_priority as f64,
            unit: "priority",
            ..of_workflow(state, rule, workflow)
        },
        PoolAction::Kill { workflow, reason, pending_jobs } => {
            let batch = rule.value("batch_jobs") as usize;
            Order {
                jobs: pending_jobs.iter().take(batch).map(|job| job.to_string()).collect(),
                amount: pending_jobs.len() as u64,
                measured: pending_jobs.len() as f64,
                unit: "jobs",
                notes: vec![(*reason).to_owned()],
                ..of_workflow(state, rule, workflow)
            }
        }
        PoolAction::Alert { workflow, reason } => {
            Order { notes: vec![(*reason).to_owned()], ..of_workflow(state, rule, workflow) }
        }
        PoolAction::ProfileUpdated { workflow, profile } => Order {
            measured: profile.wall_s as f64,
            limit: profile.rss_mb as f64,
            unit: "s",
            ..of_workflow(state, rule, workflow)
        },
        PoolAction::DrainNode { node, site, drain, need_cores, idle_core_s } => Order {
            clock_at: Some(state.now),
            // Against the cycle's now, so that when it is ready follows from the record.
            measured: (drain.until_s - state.now.div_euclid(SECOND)) as f64,
            limit: *need_cores as f64,
            unit: "s",
            notes: vec![format!("idle_core_s({idle_core_s})")],
            ..of_node(state, rule, (node, site), &drain.job)
        },
        PoolAction::DrainCancelled { node, job } => Order {
            clock_at: begun_at(state, node),
            ..of_node(state, rule, (node, site_of(state, action)), job)
        },
    }
}

/// Whether the first note of a command is about what it asks for.
fn says_why(kind: CommandKind) -> bool {
    matches!(kind, CommandKind::KillWorkflow | CommandKind::Alert | CommandKind::Drain)
}

/// A command about a workflow that says nothing else.
fn of_workflow<'a>(state: &'a State, rule: &RuleSetting, workflow: &str) -> Order<'a> {
    Order {
        rule: rule.rule,
        kind: rule.rule.text().kind,
        subject: workflow.to_owned(),
        attempt: 0,
        queue: "",
        gshare: class_of(state, workflow),
        task: String::new(),
        jobs: Vec::new(),
        amount: 1,
        clock: "",
        clock_at: None,
        measured: 0.0,
        limit: 0.0,
        unit: "",
        dry_run: rule.mode != Mode::On,
        notes: Vec::new(),
    }
}

/// The same of a node at a site and the job that it is kept free for.
fn of_node<'a>(
    state: &'a State,
    rule: &RuleSetting,
    (node, site): (&str, &'a str),
    job: &str,
) -> Order<'a> {
    let workflow = job_state(state, job).map_or("", |job| job.workflow.as_str());
    Order {
        subject: node.to_owned(),
        queue: site,
        gshare: class_of(state, workflow),
        jobs: vec![job.to_owned()],
        clock: DRAIN_BEGUN,
        ..of_workflow(state, rule, workflow)
    }
}

/// The class of a workflow; empty if that is not known.
fn class_of(state: &State, workflow: &str) -> &'static str {
    let record = state.pool.workflows.of(workflow).and_then(|it| it.record.as_ref());
    record.map_or("", |record| record.facts.class.name())
}

/// The newest state of a job.
fn job_state<'a>(state: &'a State, job: &str) -> Option<&'a PoolJobState> {
    state.pool.jobs.of(job)?.state.as_ref()
}

/// When a node began to be kept free.
fn begun_at(state: &State, node: &str) -> Option<Millis> {
    Some(state.pool.nodes.of(node)?.drain.as_ref()?.since)
}

/// Whether what a command asks for still is as it was asked for.
pub(crate) fn stands(state: &State, command: &Command) -> bool {
    let subject = command.subject.as_str();
    let node = state.pool.nodes.of(subject);
    match command.kind {
        CommandKind::Boost => {
            let priority = state.pool.workflows.of(subject).and_then(|it| it.priority);
            let is_over = priority.is_some_and(|stated| stated.override_tail);
            state.is_live_workflow(subject) && !is_over
        }
        kind if kind.is_of_workflow() => state.is_live_workflow(subject),
        CommandKind::Drain => {
            let drain = node.and_then(|node| node.drain.as_ref());
            drain.is_some_and(|drain| command.jobs.contains(&drain.job))
        }
        CommandKind::Undrain => node.is_some_and(|node| node.drain.is_none()),
        _ => false,
    }
}

/// A command that nobody answered once more, if what it asks for still stands; of jobs those that
/// still wait.
pub(crate) fn again(state: &State, rule: &RuleSetting, command: &Command) -> Option<Command> {
    if rule.mode != Mode::On || !stands(state, command) {
        return None;
    }
    let mut again = make::again(state, command);
    if says_why(command.kind) {
        again.notes.splice(0..0, command.notes.first().cloned());
    }
    if command.kind == CommandKind::KillWorkflow {
        let waits = |job: &PoolJobState| !job.status.is_ended() && job.started_at == 0;
        again.jobs.retain(|job| job_state(state, job).is_some_and(waits));
        let gone = command.jobs.len() - again.jobs.len();
        again.amount = command.amount.saturating_sub(gone as u64);
    }
    Some(again)
}

#[cfg(test)]
mod tests;
