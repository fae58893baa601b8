//! Keeps queues whose worker nodes have the network that the task needs.

use crate::core::policy::declare::{NoParams, filter};
use crate::core::policy::verdict::object;
use crate::core::policy::{Candidate, Case, Filter, Preassigned, Reason, Verdict};

const NETWORK: Reason =
    Reason::new("network", "the worker nodes do not reach as far as the task needs");
const IP_STACK: Reason =
    Reason::new("ip_stack", "the worker nodes do not speak the IP version that the task asks for");

pub(super) const FILTER: Filter = filter!(NoParams {
    name: "connectivity",
    spec: "atlas F16, DIFF-16",
    help: "worker nodes reach as far as the task asks, over the IP version it asks for; not asked \
           of a single pre-assigned queue",
    reasons: &[&NETWORK, &IP_STACK],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

/// How far a network reaches.
fn reach(net: &str) -> f64 {
    match net {
        "full" => 2.0,
        "http" => 1.0,
        _ => 0.0,
    }
}

fn applies(case: &Case<'_>, _: &NoParams) -> bool {
    !case.task.options.ip_connectivity.is_empty() && case.preassigned != Preassigned::One
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    fn halves(both: &str) -> (f64, &str) {
        let (net, ip) = both.split_once('#').unwrap_or((both, ""));
        (reach(net), ip)
    }
    let (far, ip) = halves(&case.task.options.ip_connectivity);
    let (has, queue_ip) = halves(&candidate.queue.wn_connectivity);
    if has < far {
        return object(&NETWORK, has, far);
    }
    if !ip.is_empty() && ip != queue_ip { object(&IP_STACK, 0.0, 1.0) } else { Verdict::Pass }
}
