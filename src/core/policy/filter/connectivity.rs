//! Keeps queues whose worker nodes have the network that the task needs.

use super::object;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Preassigned, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "connectivity",
    spec: "atlas F16, DIFF-16",
    help: "worker nodes reach as far as the task asks, over the IP version it asks for; not asked \
           of a single pre-assigned queue",
    reasons: &[
        ("network", "the worker nodes do not reach as far as the task needs"),
        ("ip_stack", "the worker nodes do not speak the IP version that the task asks for"),
    ],
    params: &[],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(judge),
};

/// How far a network reaches.
fn reach(net: &str) -> f64 {
    match net {
        "full" => 2.0,
        "http" => 1.0,
        _ => 0.0,
    }
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    let wanted = case.task.options.ip_connectivity.as_str();
    if wanted.is_empty() || case.preassigned == Preassigned::One {
        return Verdict::Pass;
    }
    let halves = |text: &'static str, both: &str| -> (f64, String) {
        let (net, ip) = both.split_once('#').unwrap_or((both, text));
        (reach(net), ip.to_owned())
    };
    let (far, ip) = halves("", wanted);
    let (has, queue_ip) = halves("", &candidate.queue.wn_connectivity);
    if has < far {
        return object("network", has, far);
    }
    if !ip.is_empty() && ip != queue_ip { object("ip_stack", 0.0, 1.0) } else { Verdict::Pass }
}
