//! Rules of a pool of slots or of a domain where there is none, and rules about single jobs where
//! jobs wait in a pool.

use super::finding::{Findings, Report, Severity};
use super::policies::is_of_domain;
use crate::topology::Topology;
use yardmaster_core::command::rule::{CommandRule, Mode};
use yardmaster_core::command::setting::RuleSetting;

/// Looks at each rule with an eye on whether the domain has a pool.
pub(super) fn look(found: &mut Findings, topology: &Topology) {
    match topology.answers_offers() {
        true => {
            let active = topology.commands.active();
            active.filter(|rule| is_about_waiting(rule.rule)).for_each(|rule| waits(found, rule));
            drains(found, topology);
        }
        false => {
            let of_pool = topology.commands.rules.iter().filter(|rule| rule.rule.is_of_pool());
            of_pool.for_each(|rule| no_pool(found, rule));
        }
    }
    if !topology.policies.iter().any(is_of_domain) {
        let stated = topology.commands.rules.iter().find(|it| it.rule == CommandRule::Domain);
        stated.into_iter().for_each(|rule| no_domain(found, rule));
    }
}

fn no_domain(found: &mut Findings, rule: &RuleSetting) {
    let name = rule.rule.name();
    let report = Report {
        code: "not-read",
        found: format!("rule {name} is stated, and no policy is of a domain of a program's own"),
        why: format!("{name} gives what such a domain asks for: it never acts"),
        remedy: format!("leave rule {name} out"),
    };
    found.warning(&["rule", name], report);
}

/// Whether a rule takes it for a fault that a job waits.
fn is_about_waiting(rule: CommandRule) -> bool {
    use CommandRule::{FastRebrokerage, T1, T2, T3, T4, T5a, T6};
    matches!(rule, T1 | T2 | T3 | T4 | T5a | T6 | FastRebrokerage)
}

fn no_pool(found: &mut Findings, rule: &RuleSetting) {
    let name = rule.rule.name();
    let report = Report {
        code: "not-read",
        found: format!("rule {name} is stated, and no policy answers slot offers"),
        why: format!("{name} is about workflows and nodes of a pool: it never acts"),
        remedy: format!("leave rule {name} out"),
    };
    found.warning(&["rule", name], report);
}

fn waits(found: &mut Findings, rule: &RuleSetting) {
    let severity = match rule.mode {
        Mode::On => Severity::Error,
        Mode::DryRun | Mode::Off => Severity::Warning,
    };
    let name = rule.rule.name();
    let report = Report {
        code: "contradiction",
        found: format!("rule {name} is {}, and a policy answers slot offers", rule.mode.name()),
        why: format!(
            "jobs of a pool wait until a slot is offered that they fit, which may take days: {name} \
             takes that for a fault of their queue"
        ),
        remedy: format!("leave rule {name} out, or mode \"off\""),
    };
    found.add(severity, &["rule", name, "mode"], report);
}

/// A node that was drained is given work again by the other rule alone.
fn drains(found: &mut Findings, topology: &Topology) {
    let mode = |rule: CommandRule| topology.commands.rule(rule).map_or(Mode::Off, |it| it.mode);
    let undrain = mode(CommandRule::Undrain);
    if mode(CommandRule::Drain) != Mode::On || undrain == Mode::On {
        return;
    }
    let report = Report {
        code: "contradiction",
        found: format!("rule drain is on, rule undrain {}", undrain.name()),
        why: "a node that is kept free for a job stays so when the job started elsewhere or is \
              gone"
            .to_owned(),
        remedy: "mode \"on\" for undrain, or another mode for drain".to_owned(),
    };
    found.error(&["rule", "undrain", "mode"], report);
}
