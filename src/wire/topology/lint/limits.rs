//! Limits of zero, limits that another one makes void, settings that nothing reads.

use super::finding::{Findings, Report};
use crate::topology::{Framing, Topology};
use yardmaster_core::cut::Topic;
use yardmaster_core::unit::{HOUR, MINUTE};

/// A limit of 0, and what follows from it.
struct Zero {
    key: &'static str,
    why: &'static str,
    remedy: &'static str,
}

/// Limits that may be 0, other than those where that means what it says.
const ZEROS: [Zero; 5] = [
    Zero {
        key: "replicas_max",
        why: "no record of where data lies is remembered: requests that do not carry it are judged \
              as if their input were nowhere",
        remedy: "room for the datasets that are asked about; the default is 200_000",
    },
    Zero {
        key: "stubs_max",
        why: "a heartbeat that is read before its job is known is lost: the rules for silent jobs \
              do not see it",
        remedy: "room for the jobs of a burst; the default is 100_000",
    },
    Zero {
        key: "stored_counters_max",
        why: "the store holds no readable counters: `yardmaster counters` needs a running process",
        remedy: "at least as many as there are counters; the default is 300_000",
    },
    Zero {
        key: "dead_letter_bytes",
        why: "dead letters carry nothing of the record: they can be neither looked at nor \
              published again",
        remedy: "as many bytes as the records have; the default is 65_536",
    },
    Zero {
        key: "own_time_ahead_s",
        why: "a report has no effect if the clock of its machine is a millisecond ahead of the \
              broker's",
        remedy: "as much as the clocks of the machines that report may differ; the default is 300",
    },
];

/// Looks at limits, registry and intake.
pub(super) fn look(found: &mut Findings, topology: &Topology) {
    zeros(found, topology);
    letters(found, topology);
    rebuild(found, topology);
    intake(found, topology);
    unused_registry(found, topology);
    if topology.kafka.replication == 0 {
        found.error(
            &["kafka", "replication"],
            Report {
                code: "cap-of-zero",
                found: "kafka.replication is 0".to_owned(),
                why: "a topic without a replica cannot be made: `topology apply` fails".to_owned(),
                remedy: "-1, the broker's default, or 1 and more".to_owned(),
            },
        );
    }
}

fn zeros(found: &mut Findings, topology: &Topology) {
    use yardmaster_core::limits::Limit;
    for zero in &ZEROS {
        let value = Limit::of(zero.key).map(|limit| (limit.get)(&topology.limits));
        if value == Some(0) {
            found.warning(
                &["limits", zero.key],
                Report {
                    code: "cap-of-zero",
                    found: format!("{} is 0", zero.key),
                    why: zero.why.to_owned(),
                    remedy: zero.remedy.to_owned(),
                },
            );
        }
    }
}

fn letters(found: &mut Findings, topology: &Topology) {
    let (letter, output) = (topology.limits.dead_letter_bytes, topology.limits.max_output_bytes);
    if letter > output {
        found.warning(
            &["limits", "dead_letter_bytes"],
            Report {
                code: "cap-without-effect",
                found: format!("dead_letter_bytes is {letter}, max_output_bytes {output}"),
                why:
                    "a dead letter is published like everything else: it carries max_output_bytes \
                      at most"
                        .to_owned(),
                remedy: "a dead_letter_bytes of at most max_output_bytes".to_owned(),
            },
        );
    }
}

/// A rebuild begins at a full cut: there must be one in what `progress` keeps.
fn rebuild(found: &mut Findings, topology: &Topology) {
    let Some(kept) = topology.topic(Topic::Progress).retention_ms else { return };
    let interval = topology.limits.full_cut_interval_ms;
    if interval.saturating_mul(2) > kept {
        found.error(
            &["limits", "full_cut_interval_min"],
            Report {
                code: "contradiction",
                found: format!(
                    "full_cut_interval_min is {}, progress is kept {} h",
                    interval / MINUTE,
                    kept / HOUR
                ),
                why: "a rebuild begins at a full cut in progress: there may be none left in it"
                    .to_owned(),
                remedy: "a full_cut_interval_min of less than half of what progress is kept"
                    .to_owned(),
            },
        );
    }
}

fn intake(found: &mut Findings, topology: &Topology) {
    let limits = &topology.limits;
    if topology.intake.sources.is_empty() {
        if !topology.intake.sites.is_empty() {
            found.warning(
                &["intake", "sites"],
                Report {
                    code: "not-read",
                    found: "[intake.sites] without an [[intake.source]]".to_owned(),
                    why: "intake reads nothing, so it asks for no site".to_owned(),
                    remedy: "name the foreign topics in [[intake.source]], or leave the sites out"
                        .to_owned(),
                },
            );
        }
        return;
    }
    if limits.intake_waiting_max == 0 {
        found.warning(
            &["limits", "intake_waiting_max"],
            Report {
                code: "cap-of-zero",
                found: "intake_waiting_max is 0".to_owned(),
                why: "no job waits for the facts of its task: it is published without share and \
                      priority until its next message"
                    .to_owned(),
                remedy: "as many as jobs arrive before their task; the default is 500_000"
                    .to_owned(),
            },
        );
    }
    if limits.intake_waiting_max > limits.intake_jobs_max {
        found.warning(
            &["limits", "intake_waiting_max"],
            Report {
                code: "cap-without-effect",
                found: format!(
                    "intake_waiting_max is {}, intake_jobs_max {}",
                    limits.intake_waiting_max, limits.intake_jobs_max
                ),
                why: "those that wait are among the jobs that intake remembers".to_owned(),
                remedy: "an intake_waiting_max of at most intake_jobs_max".to_owned(),
            },
        );
    }
}

fn unused_registry(found: &mut Findings, topology: &Topology) {
    let uses = topology.topics.values().any(|topic| topic.framing == Framing::Confluent);
    if topology.registry.is_some() && !uses {
        found.warning(
            &["registry"],
            Report {
                code: "not-read",
                found: "[registry], and no topic with framing \"confluent\"".to_owned(),
                why: "no record names a schema of a registry, so it is never asked".to_owned(),
                remedy:
                    "framing = \"confluent\" for the topics that others read by a registry, or \
                         no [registry]"
                        .to_owned(),
            },
        );
    }
}
