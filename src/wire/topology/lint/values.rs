//! Values of parameters: caps of zero, factors of zero, thresholds in the wrong order, one run-time
//! parameter with several values.

use super::finding::{Findings, Report, Severity};
use super::inert::is_read;
use super::part::{Part, own, parts};
use std::collections::BTreeMap;
use yardmaster_core::policy::PolicySpec;

/// Looks at every parameter of a policy.
pub(super) fn look(found: &mut Findings, policy: &PolicySpec) {
    for part in parts(policy) {
        for zero in ZEROS {
            if zero.is_of(&part) {
                zero.report(found, &part);
            }
        }
    }
    if let Some(own) = own(policy) {
        for pair in PAIRS {
            pair.look(found, &own);
        }
        cores(found, &own);
    }
    shared(found, policy);
}

/// A parameter of 0 that leaves nothing, and under which other value of its part.
struct Zero {
    list: &'static str,
    name: &'static str,
    param: &'static str,
    /// Another parameter and its value, as the file has it; empty: whatever the others are.
    under: (&'static str, &'static str),
    severity: Severity,
    why: &'static str,
}

const fn zero(
    list: &'static str,
    name: &'static str,
    param: &'static str,
    under: (&'static str, &'static str),
    severity: Severity,
    why: &'static str,
) -> Zero {
    Zero { list, name, param, under, severity, why }
}

/// Any value of the other parameters.
const ANY: (&str, &str) = ("", "");
const AT_LEAST: (&str, &str) = ("boundary", "\"at_least\"");
const ABOVE: (&str, &str) = ("boundary", "\"above\"");
const BELOW: (&str, &str) = ("boundary", "\"below\"");
const FILTERS: &str = "filters";
const WEIGHTS: &str = "weights";
const NEVER_MISSING: &str =
    "nothing is below 0: every queue is refused to tasks that read fast, those with all input too";
const ONE_FILE: &str = "a single queued file closes it";
const NEVER_DRAINED: &str =
    "no node is ever kept free: a job of many cores may wait for ever while others fill nodes";
const NO_NEEDS: &str = "a job that states nothing fits every offer, however little of it is left";

const ZEROS: &[Zero] = &[
    zero(
        "",
        "",
        "NQUEUELIMITSITE",
        ANY,
        Severity::Warning,
        "a queue where nothing runs is given no job when jobs are divided, and so never runs one",
    ),
    zero(
        "",
        "",
        "MAX_REM_JOBS_TO_BOOST_A",
        ANY,
        Severity::Warning,
        "no task of class A is ever raised to class S",
    ),
    zero(
        "",
        "",
        "MAX_REM_JOBS_TO_BOOST_B",
        ANY,
        Severity::Warning,
        "no task of class B is ever raised to class S",
    ),
    zero(
        FILTERS,
        "link",
        "NQUEUED_SAT_CAP",
        AT_LEAST,
        Severity::Error,
        "every link is full, one without a queued file too: only the nucleus's own queues pass",
    ),
    zero(FILTERS, "link", "NQUEUED_SAT_CAP", ABOVE, Severity::Warning, ONE_FILE),
    zero(
        FILTERS,
        "nucleus_queue",
        "NQUEUED_NUC_CAP_FOR_JOBS",
        AT_LEAST,
        Severity::Error,
        "every nucleus is full, one without a queued file too: no queue passes",
    ),
    zero(FILTERS, "nucleus_queue", "NQUEUED_NUC_CAP_FOR_JOBS", ABOVE, Severity::Warning, ONE_FILE),
    zero(FILTERS, "backlog", "NQUEUED_NUC_CAP", ANY, Severity::Warning, ONE_FILE),
    zero(FILTERS, "io", "SIZE_CUTOFF_TO_MOVE_INPUT", BELOW, Severity::Error, NEVER_MISSING),
    zero(FILTERS, "io", "NUM_CUTOFF_TO_MOVE_INPUT", BELOW, Severity::Error, NEVER_MISSING),
    zero(
        FILTERS,
        "transferring",
        "default_limit",
        ANY,
        Severity::Warning,
        "where nothing runs, one transferring job closes a queue that states no limit",
    ),
    zero(
        FILTERS,
        "overload",
        "OVERLOAD_RATIO_OFFSET",
        ANY,
        Severity::Warning,
        "every queue with more than OVERLOAD_MIN_QUEUE jobs queued is overloaded",
    ),
    zero(
        FILTERS,
        "memory",
        "compensation",
        ANY,
        Severity::Warning,
        "no memory is expected of any job: all of them pass",
    ),
    zero(
        WEIGHTS,
        "network",
        "at_nucleus",
        ("active", "\"always\""),
        Severity::Error,
        "the nucleus's own queues weigh 0: they get no job while any other passes",
    ),
    zero(
        WEIGHTS,
        "tape",
        "tape",
        ANY,
        Severity::Warning,
        "a nucleus with more of the input on tape than on disk weighs 0: it is drawn only where all do",
    ),
    zero(
        WEIGHTS,
        "free_disk",
        "FREE_DISK_CUTOFF",
        ("counted", "true"),
        Severity::Error,
        "every nucleus weighs 0: none of the weights counts",
    ),
    zero(
        "",
        "",
        "reservation_ttl_s",
        ANY,
        Severity::Error,
        "every match is given up before its job can start, and the job is matched again",
    ),
    zero(
        "",
        "",
        "workflow_hold_s",
        ANY,
        Severity::Warning,
        "a job whose workflow's record comes after it is rejected at once",
    ),
    zero(
        "",
        "",
        "max_tail_workflows",
        ANY,
        Severity::Warning,
        "no workflow's tail is ever boosted",
    ),
    zero(
        "",
        "",
        "test_band_user_cap",
        ANY,
        Severity::Warning,
        "no test job goes before others: workflows are tested when their quota and priority allow it",
    ),
    zero("", "", "max_draining", ANY, Severity::Warning, NEVER_DRAINED),
    zero("", "", "drain_rate_per_hour", ANY, Severity::Warning, NEVER_DRAINED),
    zero("", "", "default_wall_time_s", ANY, Severity::Warning, NO_NEEDS),
    zero("", "", "default_rss_mb_per_core", ANY, Severity::Warning, NO_NEEDS),
];

impl Zero {
    fn is_of(&self, part: &Part<'_>) -> bool {
        let (key, value) = self.under;
        (part.list, part.name) == (self.list, self.name)
            && part.value(self.param) == Some(0.0)
            && (key.is_empty() || part.is(key, value))
    }

    fn report(&self, found: &mut Findings, part: &Part<'_>) {
        let given = match part.param(self.param).and_then(|param| param.gdp) {
            Some(gdp) => format!("; the run-time parameter {gdp} overrides it where it is there"),
            None => String::new(),
        };
        let code = if self.list == WEIGHTS { "factor-of-zero" } else { "cap-of-zero" };
        let report = Report {
            code,
            found: format!("{} is 0", part.place(self.param)),
            why: format!("{}{given}", self.why),
            remedy: "a value above 0, or leave it out for the default".to_owned(),
        };
        found.add(self.severity, &part.path(self.param), report);
    }
}

/// Two parameters of a policy of which the first has to be the smaller one.
struct Pair {
    low: &'static str,
    high: &'static str,
    /// Whether they may be equal.
    may_equal: bool,
    why: &'static str,
}

const PAIRS: &[Pair] = &[
    Pair {
        low: "USER_USAGE_THRESHOLD_A",
        high: "USER_USAGE_THRESHOLD_B",
        may_equal: false,
        why: "a user with fewer slots at hi-sites is of class A, one with more has more at hi- and \
              mid-sites, too, and is of class C: no task is of class B",
    },
    Pair {
        low: "site_hi_wait",
        high: "site_lo_wait",
        may_equal: true,
        why: "a site may be hi and lo by the same wait",
    },
    Pair {
        low: "site_hi_part",
        high: "site_lo_part",
        may_equal: true,
        why: "a site may be hi and lo by the same rank",
    },
];

impl Pair {
    fn look(&self, found: &mut Findings, own: &Part<'_>) {
        let (Some(low), Some(high)) = (own.value(self.low), own.value(self.high)) else { return };
        if low < high || self.may_equal && low == high {
            return;
        }
        let at = if own.gives(self.low) { self.low } else { self.high };
        let policy = &own.policy.name;
        found.warning(
            &own.path(at),
            Report {
                code: "contradiction",
                found: format!("policy {policy}, {} is {low}, {} {high}", self.low, self.high),
                why: self.why.to_owned(),
                remedy: format!("a {} below {}", self.low, self.high),
            },
        );
    }
}

/// A job has a core at least.
fn cores(found: &mut Findings, own: &Part<'_>) {
    for (jobs, cores) in [
        ("CAP_RUNNING_USER_JOBS", "CAP_RUNNING_USER_CORES"),
        ("CAP_RUNNING_GROUP_JOBS", "CAP_RUNNING_GROUP_CORES"),
    ] {
        let (Some(of_jobs), Some(of_cores)) = (own.value(jobs), own.value(cores)) else { continue };
        if of_cores > 0.0 && of_jobs > of_cores {
            found.warning(
                &own.path(jobs),
                Report {
                    code: "cap-without-effect",
                    found: format!(
                        "policy {}, {jobs} is {of_jobs}, {cores} {of_cores}",
                        own.policy.name
                    ),
                    why: "a job has a core at least: the cap on cores is reached first".to_owned(),
                    remedy: format!("a {jobs} of at most {cores}, or 0 for no cap on jobs"),
                },
            );
        }
    }
}

/// One run-time parameter that overrides several parameters of a policy which the file gives
/// different values.
fn shared(found: &mut Findings, policy: &PolicySpec) {
    let parts = parts(policy);
    let mut by_key: BTreeMap<&str, Vec<(Part<'_>, &str, f64)>> = BTreeMap::new();
    for part in &parts {
        for param in part.params.iter().filter(|param| is_read(part, param.name)) {
            let Some(gdp) = param.gdp else { continue };
            let Some(value) = part.value(param.name) else { continue };
            by_key.entry(gdp).or_default().push((*part, param.name, value));
        }
    }
    for (gdp, uses) in by_key {
        let given = uses.iter().find(|(part, name, _)| part.gives(name));
        let Some((part, name, value)) = given else { continue };
        let others = uses.iter().filter(|(other, _, it)| it != value && !is_truth(other, name));
        let others: Vec<String> = others
            .map(|(other, name, _)| {
                format!("{} {}", other.place(name), other.shown(name).unwrap_or_default())
            })
            .collect();
        if others.is_empty() {
            continue;
        }
        let shown = part.shown(name).unwrap_or_default();
        found.warning(
            &part.path(name),
            Report {
                code: "contradiction",
                found: format!("{} is {shown}, {}", part.place(name), others.join(", ")),
                why: format!(
                    "they are one figure, which the run-time parameter {gdp} sets for all of them; \
                     until then they differ"
                ),
                remedy: "the same value wherever it stands".to_owned(),
            },
        );
    }
}

/// Whether a parameter is true or false: where such ones differ, the readings of the rules do.
fn is_truth(part: &Part<'_>, name: &str) -> bool {
    part.is(name, "true") || part.is(name, "false")
}
