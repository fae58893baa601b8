//! A policy as a whole: what it lists, in which order, and its times.

use super::finding::{Findings, Report};
use super::part::{Part, filter, own, weight};
use super::pool::answers_offers;
use crate::topology::Topology;
use yardmaster_core::policy::{PolicySpec, Wake, kind};
use yardmaster_core::unit::{DAY, MINUTE, SECOND};

/// Looks at the lists, the times and the throttles of a policy.
pub(super) fn look(found: &mut Findings, topology: &Topology, policy: &PolicySpec) {
    lists(found, policy);
    order(found, policy);
    input(found, policy);
    network(found, policy);
    times(found, topology, policy);
    if let Some(own) = own(policy) {
        room(found, policy, &own);
        throttles(found, topology, &own);
        windows(found, topology, &own);
    }
}

/// Whether a policy chooses targets for single jobs.
fn judges_targets(policy: &PolicySpec) -> bool {
    kind(&policy.kind).is_some_and(|kind| kind.judges_targets())
}

/// Whether a policy is of a domain that a program brings, whose filters are its own.
pub(super) fn is_of_domain(policy: &PolicySpec) -> bool {
    kind(&policy.kind).is_some_and(|kind| kind.domain().is_some())
}

fn lists(found: &mut Findings, policy: &PolicySpec) {
    let name = &policy.name;
    let status = match (judges_targets(policy), answers_offers(policy)) {
        (true, _) => "queue_status",
        (_, true) => "site_status",
        (false, false) => "status",
    };
    if policy.filters.is_empty() {
        found.warning(
            &["policy", name, "filters"],
            Report {
                code: "no-filter",
                found: format!("policy {name} has no filter"),
                why: "every candidate passes, those that are offline or full too".to_owned(),
                remedy: "filters = \"all\", or a list of those that are wanted".to_owned(),
            },
        );
    } else if filter(policy, status).is_none() && !is_of_domain(policy) {
        found.warning(
            &["policy", name, "filters"],
            Report {
                code: "no-filter",
                found: format!("policy {name} does not list the filter {status}"),
                why: "candidates that are offline or paused are chosen like others".to_owned(),
                remedy: format!("list {status} first"),
            },
        );
    }
    if policy.weights.is_empty() {
        found.warning(
            &["policy", name, "weights"],
            Report {
                code: "no-weight",
                found: format!("policy {name} has no weight"),
                why: "all candidates that pass weigh the same, however full they are".to_owned(),
                remedy: "weights = \"all\", or a list of those that are wanted".to_owned(),
            },
        );
    }
}

/// Filters that never object, since one before them objects to all that they would.
fn order(found: &mut Findings, policy: &PolicySpec) {
    let at = |name: &str| policy.filters.iter().position(|step| step.name == name);
    if let (Some(first), Some(second)) = (filter(policy, "cap_rt"), filter(policy, "cap"))
        && at("cap_rt") < at("cap")
    {
        let floor = |part: &Part<'_>| part.value("NQUEUELIMITSITE");
        let counts_all = first.is("scope", "\"share\"") && floor(&first) <= floor(&second);
        // Both leave out assigned jobs whose input is local; one counts them, the other need not.
        let asks_all = first.is("express", "true") || second.is("express", "false");
        if floor(&first).is_some() && counts_all && asks_all {
            found.warning(
                &second.path(""),
                Report {
                    code: "unreachable-filter",
                    found: format!("policy {}, filter cap after cap_rt", policy.name),
                    why:
                        "cap_rt counts defined and assigned jobs as well, against a limit that is \
                          no higher: it objects to every queue that cap would object to"
                            .to_owned(),
                    remedy: "list cap before cap_rt, as the specification does, or leave cap out"
                        .to_owned(),
                },
            );
        }
    }
    if let (Some(bootstrap), Some(least)) =
        (filter(policy, "bootstrap"), filter(policy, "min_weight"))
        && at("min_weight") < at("bootstrap")
        && bootstrap.is("active", "true")
    {
        found.warning(
            &least.path(""),
            Report {
                code: "unreachable-filter",
                found: format!("policy {}, filter bootstrap after min_weight", policy.name),
                why: "a queue without jobs weighs little: min_weight refuses it before bootstrap \
                      can put it ahead"
                    .to_owned(),
                remedy: "list bootstrap before min_weight".to_owned(),
            },
        );
    }
}

/// `io` is asked under one reading, `io_second_chance` under the other.
fn input(found: &mut Findings, policy: &PolicySpec) {
    let strict = filter(policy, "io").map(|io| (io, io.is("reading", "\"strict\"")));
    let lenient = filter(policy, "io_second_chance");
    let lenient = lenient.map(|io| (io, io.is("reading", "\"lenient\"")));
    let never = "under this reading the filter is never asked: tasks that read fast go where \
                 their input is not";
    let mut none = |part: &Part<'_>, reading: &str, other: &str| {
        found.error(
            &part.path("reading"),
            Report {
                code: "unreachable-filter",
                found: format!("{} with reading {reading}", part.place("")),
                why: never.to_owned(),
                remedy: format!("reading = {other}, or list the other of the two filters"),
            },
        );
    };
    match (strict, lenient) {
        (Some((io, false)), None | Some((_, false))) => none(&io, "\"lenient\"", "\"strict\""),
        (None, Some((io, false))) => none(&io, "\"strict\"", "\"lenient\""),
        (Some((_, true)), Some((second, true))) => found.warning(
            &second.path("reading"),
            Report {
                code: "unreachable-filter",
                found: format!("policy {}, io is strict, io_second_chance lenient", policy.name),
                why: "io refuses a queue before io_second_chance can let it through".to_owned(),
                remedy: "the same reading for both".to_owned(),
            },
        ),
        _ => {}
    }
}

/// Largest network weight of a link that is not at the nucleus.
const LINK_MOST: f64 = 2.0;

fn network(found: &mut Findings, policy: &PolicySpec) {
    let Some(express) = filter(policy, "network_weight") else { return };
    let (Some(threshold), Some(factor)) =
        (express.value("NW_THRESHOLD"), express.value("NW_WEIGHT_MULTIPLIER"))
    else {
        return;
    };
    if express.is("NW_ACTIVE", "false") && express.is("always", "false") {
        return;
    }
    let least = threshold * factor;
    let (most, of) = match weight(policy, "network") {
        Some(weight) => {
            (LINK_MOST.max(weight.value("at_nucleus").unwrap_or(0.0)), "the largest there is")
        }
        None => (1.0, "that of every queue, since the policy does not list the weight network"),
    };
    if least > most {
        found.error(
            &express.path("NW_THRESHOLD"),
            Report {
                code: "contradiction",
                found: format!(
                    "{} wants a network weight of {least}, and {most} is {of}",
                    express.place("")
                ),
                why: "every queue is refused to express chunks".to_owned(),
                remedy: "list the weight network, and a threshold that a link can reach".to_owned(),
            },
        );
    }
}

fn times(found: &mut Findings, topology: &Topology, policy: &PolicySpec) {
    // An offer is asked again as long as it holds.
    if answers_offers(policy) {
        return;
    }
    let name = &policy.name;
    let lifetime = topology.limits.request_lifetime_ms;
    if policy.defer > lifetime {
        found.error(
            &["policy", name, "defer_s"],
            Report {
                code: "contradiction",
                found: format!(
                    "policy {name}, defer_s is {}, request_lifetime_d {}",
                    policy.defer / SECOND,
                    lifetime / DAY
                ),
                why: "a deferred request is forgotten, and rejected, before its deadline"
                    .to_owned(),
                remedy: "a defer_s shorter than request_lifetime_d".to_owned(),
            },
        );
    }
    // A job that wants a target is never deferred.
    let is_deferred = !judges_targets(policy);
    if is_deferred && policy.wake == Wake::Event && policy.dwell >= policy.defer {
        found.warning(
            &["policy", name, "dwell_s"],
            Report {
                code: "contradiction",
                found: format!(
                    "policy {name}, dwell_s is {}, a deferral lasts {} s at most",
                    policy.dwell / SECOND,
                    policy.defer / SECOND
                ),
                why: "no event wakes a request before its deadline: wake = \"event\" acts as \
                      \"timer\""
                    .to_owned(),
                remedy: "a dwell_s well below defer_s, or wake = \"timer\"".to_owned(),
            },
        );
    }
}

fn room(found: &mut Findings, policy: &PolicySpec, own: &Part<'_>) {
    if own.value("room_per_running").is_none_or(|jobs| jobs == 0.0) {
        return;
    }
    if filter(policy, "room").is_none() {
        found.warning(
            &own.path("room_per_running"),
            Report {
                code: "not-read",
                found: format!(
                    "policy {} has room_per_running and does not list the filter room",
                    policy.name
                ),
                why: "a queue without room stays a candidate: requests are answered with queues \
                      that take none of their jobs"
                    .to_owned(),
                remedy: "list the filter room, or leave room_per_running out".to_owned(),
            },
        );
    }
    if policy.wake == Wake::Timer {
        found.warning(
            &own.path("room_per_running"),
            Report {
                code: "contradiction",
                found: format!("policy {}, room_per_running with wake = \"timer\"", policy.name),
                why: format!(
                    "a queue that has room again is noticed when a deferral is over, after up to \
                     {} min: its slots stay empty until then",
                    policy.defer / MINUTE
                ),
                remedy: "wake = \"event\", or no room_per_running".to_owned(),
            },
        );
    }
    if own.value("room_least") == Some(0.0) {
        found.error(
            &own.path("room_least"),
            Report {
                code: "cap-of-zero",
                found: format!("policy {}, room_least is 0", policy.name),
                why: "a queue where nothing runs has room for no job, and so never runs one"
                    .to_owned(),
                remedy: "a room_least of 1 or more".to_owned(),
            },
        );
    }
}

fn throttles(found: &mut Findings, topology: &Topology, own: &Part<'_>) {
    let [Some(dwell), Some(lapse)] =
        ["throttle_dwell_s", "throttle_lapse_s"].map(|it| own.value(it))
    else {
        return;
    };
    let place = own.place("");
    if dwell > lapse {
        found.warning(
            &own.path("throttle_dwell_s"),
            Report {
                code: "contradiction",
                found: format!("{place}, throttle_dwell_s is {dwell}, throttle_lapse_s {lapse}"),
                why: "a throttle that is not renewed lapses before the least time that it is to \
                      stand"
                    .to_owned(),
                remedy: "a throttle_lapse_s longer than throttle_dwell_s".to_owned(),
            },
        );
    }
    let tick = topology.limits.tick_ms;
    if tick as f64 >= lapse * SECOND as f64 / 2.0 {
        found.warning(
            &own.path("throttle_lapse_s"),
            Report {
                code: "contradiction",
                found: format!("{place}, throttle_lapse_s is {lapse}, tick_ms {tick}"),
                why:
                    "a throttle is renewed after half of its lapse, with a cycle; an idle process \
                      makes one every tick_ms, and the throttle may lapse between two"
                        .to_owned(),
                remedy: "a throttle_lapse_s of several ticks".to_owned(),
            },
        );
    }
}

fn windows(found: &mut Findings, topology: &Topology, own: &Part<'_>) {
    let kept = topology.limits.done_jobs_window_ms as f64 / yardmaster_core::unit::HOUR as f64;
    if let Some(window) = own.value("TW_DONE_JOB_STAT").filter(|window| *window > kept) {
        found.warning(
            &own.path("TW_DONE_JOB_STAT"),
            Report {
                code: "contradiction",
                found: format!(
                    "{} is {window} h, done_jobs_window_h {kept}",
                    own.place("TW_DONE_JOB_STAT")
                ),
                why: "rules look back as far as done_jobs_window_h: what ended before does not \
                      count"
                    .to_owned(),
                remedy: "a done_jobs_window_h of at least TW_DONE_JOB_STAT".to_owned(),
            },
        );
    }
}
