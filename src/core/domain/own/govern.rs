//! Commands that a domain which a program brings asks for. Each is given once for its job and the
//! moment since when there is reason for it, and repeated while it is still asked for.

use crate::command::{CommandSetting, Mode, RuleSetting};
use crate::govern::facts::Surroundings;
use crate::govern::hold::hold;
use crate::govern::make;
use crate::govern::make::Order;
use crate::govern::making::Making;
use crate::id::Name;
use crate::policy::DomainCommand;
use crate::state::State;

/// Gives the commands that are asked for, as far as the governor lets them be.
pub(crate) fn give(
    state: &mut State,
    around: &Surroundings,
    (setting, rule): (&CommandSetting, &RuleSetting),
    asked: &[DomainCommand],
    making: &mut Making,
) {
    let dry_run = rule.mode != Mode::On;
    for wanted in asked {
        if making.commands.len() >= setting.governor.commands_per_cycle {
            break;
        }
        let id = make::id_of(state, rule.rule, &wanted.subject, 0, Some(wanted.since));
        let known = state.commands.of(id);
        if known.is_some_and(|known| dry_run || known.command.is_order()) {
            continue;
        }
        let queue = match wanted.queue.as_str() {
            "" => Name::NONE,
            queue => state.name(queue),
        };
        let held = hold(state, around, rule.rule, queue);
        if let Some(why) = held.or_else(|| making.used_up(state, rule, queue)) {
            making.hold((rule.rule, queue), 1, why);
            continue;
        }
        making.budget(state, dry_run).take(rule.rule.name(), queue, 1);
        let command = make::command(state, order(state, rule, wanted));
        match dry_run {
            true => making.show(command),
            false => making.order(command),
        }
    }
}

fn order<'a>(state: &State, rule: &RuleSetting, wanted: &'a DomainCommand) -> Order<'a> {
    Order {
        rule: rule.rule,
        kind: wanted.kind,
        subject: wanted.subject.clone(),
        attempt: 0,
        queue: &wanted.queue,
        gshare: "",
        task: String::new(),
        jobs: Vec::new(),
        amount: 1,
        clock: wanted.clock,
        clock_at: Some(wanted.since),
        measured: state.now.saturating_sub(wanted.since) as f64,
        limit: 0.0,
        unit: "ms",
        dry_run: rule.mode != Mode::On,
        notes: vec![wanted.note.clone()],
    }
}
