//! The policy of a pool of slots: keys of other kinds of policies, parts above the whole, offers
//! that are kept for ever.

use super::finding::{Findings, Report};
use super::part::{Part, own};
use crate::topology::Topology;
use yardmaster_core::cut::Topic;
use yardmaster_core::policy::{PolicySpec, kind};

/// Keys of a policy that say how requests are divided and asked again.
const OF_REQUESTS: [&str; 5] = ["wake", "dwell_s", "candidates_max", "bunch", "bunch_scout"];

/// The whole of something where parameters are in thousandths.
const WHOLE: f64 = 1_000.0;

/// Whether a policy answers slot offers.
pub(super) fn answers_offers(policy: &PolicySpec) -> bool {
    kind(&policy.kind).is_some_and(|kind| kind.judges_offers())
}

/// Looks at a policy if it answers slot offers.
pub(super) fn look(found: &mut Findings, topology: &Topology, policy: &PolicySpec) {
    if !answers_offers(policy) {
        return;
    }
    keys(found, policy);
    if let Some(own) = own(policy) {
        parts(found, &own);
    }
    offers(found, topology);
}

fn keys(found: &mut Findings, policy: &PolicySpec) {
    let name = &policy.name;
    for key in OF_REQUESTS {
        if found.states(&["policy", name, key]) {
            found.warning(
                &["policy", name, key],
                Report {
                    code: "not-read",
                    found: format!("policy {name} has {key}"),
                    why:
                        "it says how requests are answered; this policy answers slot offers, each \
                          with one job after the other"
                            .to_owned(),
                    remedy: format!("leave {key} out"),
                },
            );
        }
    }
}

fn parts(found: &mut Findings, own: &Part<'_>) {
    let mut above = |param: &str, why: &str| {
        if own.value(param).is_some_and(|part| part > WHOLE) {
            found.error(
                &own.path(param),
                Report {
                    code: "contradiction",
                    found: format!("{} is above {WHOLE} thousandths", own.place(param)),
                    why: why.to_owned(),
                    remedy: format!("at most {WHOLE}"),
                },
            );
        }
    };
    above("tail_fraction_permille", "no workflow that does not state its own ever has a tail");
    above("restricted_charge_permille", "restricted slots count for more than they are");
}

fn offers(found: &mut Findings, topology: &Topology) {
    let Some(settings) = topology.topics.get(&Topic::Pilot) else { return };
    if settings.retention_ms.is_none() {
        found.warning(
            &["topics", "pilot", "cleanup"],
            Report {
                code: "kept-for-ever",
                found: "pilot is compacted only".to_owned(),
                why:
                    "each offer has a name of its own: the newest record of every offer there ever \
                      was is kept, and read by every rebuild"
                        .to_owned(),
                remedy: "cleanup = \"compact,delete\" or \"delete\", with the retention_hours of \
                         progress"
                    .to_owned(),
            },
        );
    }
}
