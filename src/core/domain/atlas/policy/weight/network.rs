//! The link over which the output will go to the nucleus: how full it is, how fast it has been.

use super::figure::figure;
use crate::domain::atlas::policy::queues::queue_weight;
use crate::domain::atlas::policy::{Candidate, Case, LinkView, QueueWeight, Weighed};
use crate::policy::typed::{params, words};
use crate::policy::{Param, Reads, Unit};

words! {
    /// When the network counts.
    Counts {
        Always = "always",
        Parameter = "parameter",
    }
}

words! {
    /// Which parameter is the span of queued files.
    Span {
        Queued = "NW_QUEUED_SPAN",
        SatCap = "NQUEUED_SAT_CAP",
    }
}

words! {
    /// Which throughput is used.
    Fallback {
        Newest = "newest",
        FromOldest = "from_oldest",
    }
}

params! {
    /// Parameters of `network`.
    Network {
        counts: Counts = Counts::param("active", Counts::Always, Counts::Parameter).help(
            "whether it counts always, or only when NW_ACTIVE says so (DIFF-18; the threshold of \
             express chunks looks at it in either case)",
        ),
        active: bool = Param::flag("NW_ACTIVE", false, false)
            .gdp("jobbroker/NW_ACTIVE")
            .help("whether it counts, when `active` leaves it to the parameter"),
        queue_importance: f64 = Param::float("NW_QUEUE_IMPORTANCE", (0.0, 1.0), 0.5, 0.5)
            .gdp("jobbroker/NW_QUEUE_IMPORTANCE")
            .help("part of queuedWeight; the rest is throughputWeight"),
        span: Span = Span::param("span", Span::Queued, Span::SatCap).help(
            "which parameter is the number of files that takes queuedWeight from 2 to 1 (DIFF-28)",
        ),
        queued_span: f64 = Param::int("NW_QUEUED_SPAN", 300, 300)
            .at_least(1)
            .unit(Unit::Files)
            .gdp("jobbroker/NW_QUEUED_SPAN")
            .help("the span of the documents' plot"),
        sat_cap: f64 = Param::int("NQUEUED_SAT_CAP", 150, 150)
            .at_least(1)
            .unit(Unit::Files)
            .gdp("jobbroker/NQUEUED_SAT_CAP")
            .help("the span of PanDA's code"),
        clamp: bool = Param::flag("clamp", true, false)
            .help("whether queuedWeight stays at 1 beyond the span, or falls on, down to 0"),
        level_50_75: f64 = Param::float("level_50_75", (1.0, 2.0), 1.7, 1.6)
            .help("throughputWeight above 50 and up to 75 MB/s (DIFF-29)"),
        fallback: Fallback =
            Fallback::param("fallback", Fallback::Newest, Fallback::FromOldest).help(
                "the 1 h value, else 1 d, else 1 w; or PanDA's walk from 1 w to 1 h that stops \
                 at the first value missing (Q-8); then closeness",
            ),
        at_nucleus: f64 = Param::float("at_nucleus", (0.0, 10.0), 2.5, 2.5)
            .help("the weight of a queue whose storage is the nucleus (DIFF-27)"),
        closeness_unknown: f64 = Param::float("closeness_unknown", (0.0, 11.0), 7.7, 7.7)
            .help("closeness of a link that states none"),
    }
}

pub(crate) const WEIGHT: QueueWeight = queue_weight!(Network {
    name: "network",
    spec: "atlas 4, 2.5.5, DIFF-18, DIFF-27, DIFF-28, DIFF-29",
    help: "queuedWeight and throughputWeight of the link to the nucleus, mixed; 1 (bad) to 2 \
           (good), and its own value at the nucleus",
    figures: &[
        ("queuedWeight", "1..=2"),
        ("throughputWeight", "1..=2"),
        ("queuedFiles", "files queued on the link; -1: not known"),
        ("mbps", "throughput used; MB/s; -1: none, closeness was used"),
        ("closeness", "0 best to 11 worst; -1: not known"),
    ],
    reads: &[Reads::Link],
    weigh: Factor(network),
});

/// Worst closeness there is.
const CLOSENESS_MAX: f64 = 11.0;

fn network(
    case: &Case<'_>,
    candidate: &Candidate<'_>,
    params: &Network,
    weighed: &mut Weighed,
) -> f64 {
    let is_passive = params.counts == Counts::Parameter && !params.active;
    let link = &candidate.link;
    let (queued_weight, throughput_weight, mbps) = if case.task.nucleus.is_empty() {
        weighed.network = 1.0;
        (1.0, 1.0, None)
    } else if candidate.at_nucleus {
        weighed.network = params.at_nucleus;
        (weighed.network, weighed.network, None)
    } else {
        let mbps = throughput(link, params);
        let queued_weight = queued_weight(link.queued_files.unwrap_or(0) as f64, params);
        let throughput_weight = match mbps {
            Some(mbps) => throughput_weight(mbps, params),
            None => closeness_weight(link.closeness, params),
        };
        let part = params.queue_importance;
        weighed.network = part * queued_weight + (1.0 - part) * throughput_weight;
        (queued_weight, throughput_weight, mbps)
    };
    weighed.leave(|| {
        let files = figure(link.queued_files.map(|files| files as f64));
        let closeness = figure(link.closeness.map(f64::from));
        [queued_weight, throughput_weight, files, figure(mbps), closeness]
    });
    if is_passive { 1.0 } else { weighed.network }
}

/// A straight line from 2 at no file to 1 at the span.
fn queued_weight(files: f64, params: &Network) -> f64 {
    let span = match params.span {
        Span::Queued => params.queued_span,
        Span::SatCap => params.sat_cap,
    };
    let least = if params.clamp { 1.0 } else { 0.0 };
    (2.0 - files / span).max(least)
}

/// The value that is used of the three there may be.
fn throughput(link: &LinkView, params: &Network) -> Option<f64> {
    let known = |value: Option<f64>| value.filter(|mbps| mbps.is_finite());
    let (hour, day, week) = (known(link.mbps_1h), known(link.mbps_1d), known(link.mbps_1w));
    match params.fallback {
        Fallback::Newest => hour.or(day).or(week),
        Fallback::FromOldest => match (week, day, hour) {
            (None, _, _) => None,
            (Some(week), None, _) => Some(week),
            (Some(_), Some(day), None) => Some(day),
            (Some(_), Some(_), Some(hour)) => Some(hour),
        },
    }
}

/// The steps of the documents' plot; a value at a step belongs to the level below.
fn throughput_weight(mbps: f64, params: &Network) -> f64 {
    let above = |step: f64| mbps > step;
    match () {
        () if above(200.0) => 2.0,
        () if above(100.0) => 1.9,
        () if above(75.0) => 1.8,
        () if above(50.0) => params.level_50_75,
        () if above(20.0) => 1.5,
        () if above(10.0) => 1.3,
        () if above(2.0) => 1.2,
        () if above(1.0) => 1.1,
        () => 1.0,
    }
}

fn closeness_weight(closeness: Option<i32>, params: &Network) -> f64 {
    let closeness = closeness.map_or(params.closeness_unknown, f64::from);
    1.0 + (CLOSENESS_MAX - closeness.clamp(0.0, CLOSENESS_MAX)) / CLOSENESS_MAX
}
