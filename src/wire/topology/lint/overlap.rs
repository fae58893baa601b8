//! Rules that are never due, since another one is due for the same jobs before, and priorities that
//! no rule or two rules are about. Which jobs a rule is about, and by which clock, is stated in
//! `core::govern::timeout`.

use super::commands::minutes;
use super::finding::{Findings, Report, Severity};
use crate::topology::Topology;
use yardmaster_core::command::CommandSetting;
use yardmaster_core::command::rule::{CommandRule, Mode, Reading};
use yardmaster_core::command::setting::RuleSetting;

/// Looks at each rule beside the others.
pub(super) fn look(found: &mut Findings, topology: &Topology) {
    let commands = &topology.commands;
    let active = |rule: CommandRule| commands.rule(rule);
    for rule in commands.active() {
        if rule.mode == Mode::On && commands.reading == Reading::Documented {
            unread(found, rule);
        }
        for others in before(rule.rule, commands.reading) {
            let others: Option<Vec<&RuleSetting>> =
                others.iter().map(|other| active(*other)).collect();
            if let Some(others) = others
                && others.iter().all(|other| acts_before(other, rule))
            {
                never_due(found, rule, &others);
                break;
            }
        }
    }
    transfers(found, commands);
    rebrokerage(found, commands);
}

/// Sets of rules that are together about all jobs that a rule is about, by a clock that is never
/// behind: where each of them has a shorter limit, the rule is never due.
fn before(rule: CommandRule, reading: Reading) -> Vec<&'static [CommandRule]> {
    use CommandRule::{FastRebrokerage, T5a, T5b, T6, T8, T11a, T11b};
    let mut before: Vec<&'static [CommandRule]> = match rule {
        T8 | FastRebrokerage => return Vec::new(),
        // They are about no clock of a job.
        rule if !rule.is_of_jobs() => return Vec::new(),
        T6 => vec![&[T5a, T5b]],
        T11a => vec![&[T11b]],
        _ => Vec::new(),
    };
    // PanDA's T8 is about every job that has not ended, since it was created.
    if reading == Reading::Panda {
        before.insert(0, &[T8]);
    }
    before
}

/// A rule that only PanDA's code has is on, and the timeouts are read as documented.
fn unread(found: &mut Findings, rule: &RuleSetting) {
    use CommandRule::{Age, AnalysisTimeout, EventService};
    if !matches!(rule.rule, AnalysisTimeout | Age | EventService) {
        return;
    }
    let name = rule.rule.name();
    let report = Report {
        code: "unreachable-rule",
        found: format!("rule {name} is on, and governor.rules is \"documented\""),
        why: "only PanDA's code has the rule: it is about no job".to_owned(),
        remedy: "governor.rules = \"panda\", or mode \"off\"".to_owned(),
    };
    found.add(Severity::Error, &["rule", name, "mode"], report);
}

fn acts_before(other: &RuleSetting, rule: &RuleSetting) -> bool {
    // What is only shown does not stop what acts.
    let acts = other.mode == Mode::On || rule.mode == Mode::DryRun;
    acts && other.limit() < rule.limit()
}

/// Whether a run-time parameter or a queue may state another limit of a rule.
fn is_overridden(rule: CommandRule) -> bool {
    use CommandRule::{AnalysisTimeout, T2, T9, T10, T11b, T12a, T12b};
    matches!(rule, AnalysisTimeout | T2 | T9 | T10 | T11b | T12a | T12b)
}

fn never_due(found: &mut Findings, rule: &RuleSetting, others: &[&RuleSetting]) {
    let may_differ = others.iter().any(|other| is_overridden(other.rule));
    let severity = match may_differ || is_overridden(rule.rule) {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let name = rule.rule.name();
    let others: Vec<String> = others
        .iter()
        .map(|other| format!("{} after {}", other.rule.name(), minutes(other.limit())))
        .collect();
    let unless = match severity {
        Severity::Warning => ", unless a run-time parameter states another limit",
        Severity::Error => "",
    };
    let report = Report {
        code: "unreachable-rule",
        found: format!(
            "rule {name} is due after {}, {}",
            minutes(rule.limit()),
            others.join(" and ")
        ),
        why: format!(
            "every job that {name} is about has had its command by then: it never acts{unless}"
        ),
        remedy: format!("a shorter limit_min for {name}, or mode \"off\""),
    };
    found.add(severity, &["rule", name, "limit_min"], report);
}

/// T12a is about transferring jobs from its priority on, T12b about those below its own.
fn transfers(found: &mut Findings, commands: &CommandSetting) {
    let [Some(high), Some(low)] =
        [CommandRule::T12a, CommandRule::T12b].map(|it| commands.rule(it))
    else {
        return;
    };
    let (from, below) = (high.priority(), low.priority());
    if from > below {
        found.error(
            &["rule", "T12a", "priority"],
            Report {
                code: "contradiction",
                found: format!("priority of T12a is {from}, of T12b {below}"),
                why: format!(
                    "transferring jobs with a priority from {below} to {} are due by neither: they \
                     may be transferring for ever",
                    from - 1
                ),
                remedy: "the same priority for both".to_owned(),
            },
        );
    }
    if from < below {
        found.warning(
            &["rule", "T12b", "priority"],
            Report {
                code: "contradiction",
                found: format!("priority of T12a is {from}, of T12b {below}"),
                why: format!(
                    "transferring jobs with a priority from {from} to {} are due by both; the \
                     shorter limit acts",
                    below - 1
                ),
                remedy: "the same priority for both".to_owned(),
            },
        );
    }
    if high.limit() > low.limit() {
        found.warning(
            &["rule", "T12a", "limit_min"],
            Report {
                code: "contradiction",
                found: format!(
                    "T12a is due after {}, T12b after {}",
                    minutes(high.limit()),
                    minutes(low.limit())
                ),
                why: "transferring jobs of high priority wait longer than all others".to_owned(),
                remedy: "a limit_min of T12a that is no longer than that of T12b".to_owned(),
            },
        );
    }
}

fn rebrokerage(found: &mut Findings, commands: &CommandSetting) {
    let Some(rule) = commands.rule(CommandRule::FastRebrokerage) else { return };
    if rule.value("fraction") >= 1.0 {
        found.warning(
            &["rule", "fast_rebrokerage", "fraction"],
            Report {
                code: "unreachable-rule",
                found: format!("fraction of fast_rebrokerage is {}", rule.value("fraction")),
                why: "no queue has more jobs of a share queued than the share has queued in all: \
                      the rule is never due, unless the run-time parameter \
                      FAST_REBRO_THRESHOLD_NQUEUE_FRAC states less"
                    .to_owned(),
                remedy: "a fraction below 1, or mode \"off\"".to_owned(),
            },
        );
    }
    if rule.value("hysteresis_percent") >= 100.0 {
        found.warning(
            &["rule", "fast_rebrokerage", "hysteresis_percent"],
            Report {
                code: "contradiction",
                found: "hysteresis_percent of fast_rebrokerage is 100".to_owned(),
                why: "a queue that had too many jobs once counts as having too many until none \
                      waits: dwell_min says nothing after the first time"
                    .to_owned(),
                remedy: "a hysteresis_percent well below 100".to_owned(),
            },
        );
    }
}
