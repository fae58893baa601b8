//! Keeps queues whose worker nodes have the network that the task needs.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

params! {
    /// Parameters of `connectivity`.
    Connectivity {
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether a single pre-assigned queue is not asked"),
    }
}

const NETWORK: Reason =
    Reason::new("network", "the worker nodes do not reach as far as the task needs");
const IP_STACK: Reason =
    Reason::new("ip_stack", "the worker nodes do not speak the IP version that the task asks for");

pub(super) const FILTER: QueueFilter = queue_filter!(Connectivity {
    name: "connectivity",
    spec: "atlas F16, DIFF-16",
    help: "worker nodes reach as far as the task asks, over the IP version it asks for",
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

fn applies(case: &Case<'_>, params: &Connectivity) -> bool {
    let is_exempt = params.preassigned_exempt && case.preassigned == Preassigned::One;
    !case.task.options.ip_connectivity.is_empty() && !is_exempt
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &Connectivity) -> Verdict {
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
