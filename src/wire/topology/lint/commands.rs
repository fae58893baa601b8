//! Findings on the bounds of commands: budgets of zero, times that contradict each other, topics
//! whose silence nothing would notice.

use super::finding::{Findings, Report, Severity};
use crate::topology::Topology;
use yardmaster_core::command::rule::Mode;
use yardmaster_core::command::setting::{Governor, RuleSetting};
use yardmaster_core::cut::Topic;
use yardmaster_core::output::command::CommandKind;
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// Looks at the governor and at what each rule needs.
pub(super) fn look(found: &mut Findings, topology: &Topology) {
    let active: Vec<&RuleSetting> = topology.commands.active().collect();
    if active.is_empty() {
        return;
    }
    let governor = &topology.commands.governor;
    budgets(found, governor);
    moves(found, topology, &active);
    times(found, topology);
    // What a pool or a domain asks for follows from no silence, and from no clock of a job.
    for rule in active.into_iter().filter(|rule| rule.rule.is_of_jobs()) {
        silence(found, topology, rule);
        forgotten(found, topology, rule);
    }
}

fn budgets(found: &mut Findings, governor: &Governor) {
    let all_held = "no rule gives a command: each is held back, for ever";
    let remedy = "state how many jobs may be commanded; to stop a rule set its mode to \"off\", to \
                  stop all of them use the run-time parameter kill_switch";
    let mut zero = |key: &str, found_text: &str| {
        found.error(
            &["governor", key],
            Report {
                code: "cap-of-zero",
                found: found_text.to_owned(),
                why: all_held.to_owned(),
                remedy: remedy.to_owned(),
            },
        );
    };
    if governor.jobs == 0 {
        zero("jobs", "governor.jobs is 0");
    }
    if governor.jobs_per_rule == 0 {
        zero("jobs_per_rule", "governor.jobs_per_rule is 0");
    }
    if governor.jobs_per_queue == 0 && governor.percent_of_queue == 0 {
        zero("jobs_per_queue", "governor.jobs_per_queue and percent_of_queue are 0");
    }
    if governor.jobs_per_queue == 0 && governor.percent_of_queue > 0 {
        let least = 100_u64.div_ceil(governor.percent_of_queue);
        found.warning(
            &["governor", "jobs_per_queue"],
            Report {
                code: "cap-of-zero",
                found: "governor.jobs_per_queue is 0".to_owned(),
                why: format!(
                    "{} % of a queue with fewer than {least} live jobs is no job: nothing is \
                     commanded at small queues",
                    governor.percent_of_queue
                ),
                remedy: "give small queues a budget: jobs_per_queue of 1 or more".to_owned(),
            },
        );
    }
    for (key, value) in
        [("jobs_per_rule", governor.jobs_per_rule), ("jobs_per_queue", governor.jobs_per_queue)]
    {
        if value > governor.jobs && governor.jobs > 0 {
            found.warning(
                &["governor", key],
                Report {
                    code: "cap-without-effect",
                    found: format!("governor.{key} is {value}, governor.jobs {}", governor.jobs),
                    why: "the budget of all rules together is used up first".to_owned(),
                    remedy: format!("lower {key} below jobs, or raise jobs"),
                },
            );
        }
    }
}

fn moves(found: &mut Findings, topology: &Topology, active: &[&RuleSetting]) {
    let governor = &topology.commands.governor;
    let moves = |rule: &&&RuleSetting| {
        matches!(rule.rule.text().kind, CommandKind::Reassign | CommandKind::Rebroker)
    };
    let names: Vec<&str> = active.iter().filter(moves).map(|rule| rule.rule.name()).collect();
    if names.is_empty() {
        return;
    }
    if governor.moves_per_job == 0 {
        found.error(
            &["governor", "moves_per_job"],
            Report {
                code: "cap-of-zero",
                found: "governor.moves_per_job is 0".to_owned(),
                why: format!("no job may be moved, so these rules never act: {}", names.join(", ")),
                remedy: "state how often a job may be moved, or set these rules to \"off\""
                    .to_owned(),
            },
        );
    }
    let lifetime = topology.limits.command_lifetime_ms;
    if governor.moves_window > lifetime {
        found.error(
            &["governor", "moves_window_d"],
            Report {
                code: "contradiction",
                found: format!(
                    "governor.moves_window_d is {}, command_lifetime_d {}",
                    governor.moves_window / DAY,
                    lifetime / DAY
                ),
                why: "moves are counted from the commands that are remembered: those before are \
                      not counted, and a job is moved more often than moves_per_job"
                    .to_owned(),
                remedy: "a moves_window_d of at most command_lifetime_d".to_owned(),
            },
        );
    }
}

fn times(found: &mut Findings, topology: &Topology) {
    let governor = &topology.commands.governor;
    if governor.queue_silence >= governor.queue_silence_max {
        found.error(
            &["governor", "queue_silence_min"],
            Report {
                code: "contradiction",
                found: format!(
                    "governor.queue_silence_min is {}, queue_silence_max_h {}",
                    governor.queue_silence / MINUTE,
                    governor.queue_silence_max / HOUR
                ),
                why: "a queue counts as gone before it counts as silent: jobs of a queue that is \
                      cut off are commanded as if it were heard"
                    .to_owned(),
                remedy: "a queue_silence_max_h that is longer than queue_silence_min".to_owned(),
            },
        );
    }
    if governor.repeats > 0 && governor.expires_after < governor.repeat_after {
        found.warning(
            &["governor", "expires_after_min"],
            Report {
                code: "contradiction",
                found: format!(
                    "governor.expires_after_min is {}, repeat_after_min {}",
                    governor.expires_after / MINUTE,
                    governor.repeat_after / MINUTE
                ),
                why:
                    "a command expires before it is repeated: in between nobody may carry it out, \
                      and nothing else is asked of its jobs"
                        .to_owned(),
                remedy: "an expires_after_min of at least repeat_after_min".to_owned(),
            },
        );
    }
    let longest = governor.repeat_after.saturating_mul(1 << governor.repeats.min(20));
    let valid = governor.expires_after.min(longest);
    let lifetime = topology.limits.command_lifetime_ms;
    if valid > lifetime {
        found.error(
            &["governor", "expires_after_min"],
            Report {
                code: "contradiction",
                found: format!(
                    "governor.expires_after_min is {}, command_lifetime_d {}",
                    governor.expires_after / MINUTE,
                    lifetime / DAY
                ),
                why: "a command is forgotten while it may still be carried out, and then given \
                      again"
                    .to_owned(),
                remedy: "an expires_after_min shorter than command_lifetime_d".to_owned(),
            },
        );
    }
}

/// Topics whose silence a rule takes for the jobs' own, unless the topic counts as late in time.
fn silence(found: &mut Findings, topology: &Topology, rule: &RuleSetting) {
    let severity = match rule.mode {
        Mode::On => Severity::Error,
        Mode::DryRun | Mode::Off => Severity::Warning,
    };
    let name = rule.rule.name();
    for topic in rule.rule.text().needs {
        // Nobody asking is no sign of trouble, and a fact holds until it is published again.
        if topic.is_configuration() || *topic == Topic::Task {
            continue;
        }
        let word = topic.name();
        let Some(limit) = topology.topic(*topic).silence_limit_ms else {
            let report = Report {
                code: "unguarded-rule",
                found: format!("rule {name} reads {word}, which has no silence_limit_s"),
                why: format!(
                    "when {word} breaks off, nothing holds the rule back: every job looks as if it \
                     had fallen silent by itself"
                ),
                remedy: format!("give [topics.{word}] a silence_limit_s"),
            };
            found.add(severity, &["topics", word], report);
            continue;
        };
        let due = rule.limit();
        if due > 0 && due <= limit {
            let report = Report {
                code: "unguarded-rule",
                found: format!(
                    "rule {name} is due after {}, and {word} counts as late after {} s",
                    minutes(due),
                    limit / SECOND
                ),
                why: format!(
                    "when {word} breaks off, the rule is due for all jobs before the topic counts \
                     as late"
                ),
                remedy: format!(
                    "a limit_min longer than the silence_limit_s of [topics.{word}], which is what \
                     holds the rule back"
                ),
            };
            found.add(severity, &["rule", name, "limit_min"], report);
        }
    }
}

/// A job is forgotten before the rule is due for it.
fn forgotten(found: &mut Findings, topology: &Topology, rule: &RuleSetting) {
    let lifetime = topology.limits.silent_job_lifetime_ms;
    let name = rule.rule.name();
    if rule.limit() >= lifetime {
        found.warning(
            &["rule", name, "limit_min"],
            Report {
                code: "unreachable-rule",
                found: format!(
                    "rule {name} is due after {}, silent_job_lifetime_d is {}",
                    minutes(rule.limit()),
                    lifetime / DAY
                ),
                why: "a job that gives no sign is forgotten before the rule is due for it"
                    .to_owned(),
                remedy: "a limit_min shorter than silent_job_lifetime_d, or a longer lifetime"
                    .to_owned(),
            },
        );
    }
}

/// A length of time as the file has it.
pub(super) fn minutes(span: Millis) -> String {
    format!("{} min", span / MINUTE)
}
