//! Every decision has a text, with its figures.

use super::*;
use crate::domain::nordugrid::output::Placed;
use crate::limits::Limits;
use crate::output::decision::{DecisionId, FilterCount};
use crate::policy::{Arg, Flavour, Policy, PolicySpec, Rules, kind};
use crate::unit::{HOUR, Millis};

fn kinds() -> [&'static Flavour; 1] {
    [kind("atlas-production-job").expect("built in")]
}

fn explain(decision: &Decision, kinds: &[&Flavour]) -> String {
    super::explain(decision, &Context::of_kinds(kinds))
}

pub fn decision(outcome: Outcome, fates: Vec<Fate>, counts: Vec<FilterCount>) -> Decision {
    Decision {
        id: DecisionId([7; 16]),
        domain: "atlas".into(),
        subject: "40000001/3".into(),
        attempt: 2,
        task: "40000001".into(),
        ordinal: 4,
        epoch: 3,
        cycle: 1_234,
        number: 5,
        now: 1_760_529_600_000,
        first_answered_at: 0,
        policy: "production-job".into(),
        policy_hash: "0123456789abcdef".into(),
        gshare: "MC Default".into(),
        user: "prodsys".into(),
        working_group: "AP_MCGN".into(),
        merge: false,
        nucleus: "CERN-PROD".into(),
        outcome,
        factor_names: vec!["basic".into(), "R".into()],
        counts,
        fates,
        full: true,
        fates_cut: 0,
        notes: vec!["input_stale(pilot, 120 s)".into()],
        dry_run: false,
        placed: None,
        matched: None,
        limits: vec![],
    }
}

fn fate(queue: &str, filter: &str, reason: &str, measured: f64, limit: f64) -> Fate {
    let (queue, filter, reason) =
        (queue.into(), filter.to_owned().into(), reason.to_owned().into());
    Fate { queue, filter, reason, measured, limit }
}

fn count(filter: &str, rejected: u32) -> FilterCount {
    FilterCount { filter: filter.into(), rejected }
}

#[test]
fn times_are_read_off_the_calendar() {
    for (at, text) in [
        (0, "not known"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        (1_760_529_600_000, "2025-10-15T12:00:00Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
    ] {
        assert_eq!(iso(at), text);
    }
    // Total, whatever is given.
    for at in [Millis::MIN, Millis::MAX] {
        assert!(!iso(at).is_empty());
    }
}

#[test]
fn an_assignment_shows_every_figure() {
    let ranked = Ranked {
        queue: "DESY-HH/MCORE".into(),
        unified: "DESY-HH".into(),
        weight: 2.4075924,
        jobs: 50,
        cores: 8,
        factors: vec![2.5, 240.0],
        platform: "x86_64-el9-gcc13-opt".into(),
    };
    let counts = vec![count("memory", 2), count("status", 30), count("moonphase", 2)];
    let text = explain(&decision(Outcome::Assign(vec![ranked]), vec![], counts), &kinds());
    for part in [
        "40000001/3, attempt 2, answer 4",
        "2025-10-15T12:00:00Z",
        "production-job 0123456789abcdef",
        "cycle     1234 of epoch 3, number 5",
        "assigned: 50 jobs to 1 of 1 queues; 34 rejected",
        "1. DESY-HH/MCORE: weight 2.407592, 50 jobs",
        "platform x86_64-el9-gcc13-opt",
        "basic 2.5, R 240",
        "atlas F11",
        "2  moonphase\n",
        "note: nothing new was read of pilot for 2 min (input_stale)",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    let place = |part: &str| text.find(part);
    assert!(place("  status:") < place("  memory:"), "largest first:\n{text}");
}

#[test]
fn a_deferral_names_the_objections_nearest_to_falling() {
    let fates = vec![
        fate("FAR", "transferring", "transferring", 9_000.0, 2_000.0),
        fate("NEAR", "cap", "cap", 41.0, 40.0),
        fate("FIXED", "memory", "lowmemory", 2_001.0, 2_000.0),
        fate("OTHER", "moonphase", "full", 3.0, 2.0),
    ];
    let outcome = Outcome::Defer { until: 1_760_533_200_000 };
    let text = explain(&decision(outcome, fates, vec![]), &kinds());
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} not in {text}"));
    assert!(place("NEAR: cap: 41 jobs") < place("OTHER: moonphase: full: measured 3, limit 2"));
    assert!(place("OTHER") < place("FAR: transferring: 9000 jobs are transferring"));
    assert!(!text.contains("FIXED"), "{text}");
    assert!(text.contains("asked again by 2025-10-15T13:00:00Z, 1 h on"), "{text}");
    assert!(text.contains("1 candidates would need another configuration"), "{text}");
}

/// The window is a limit of the topology: what the text shows is what was in force.
#[test]
fn a_text_takes_its_numbers_from_what_was_in_force() {
    let fates = vec![fate("Q", "nopilot", "nopilot", 0.0, 1.0)];
    let outcome = Outcome::Defer { until: 1_760_533_200_000 };
    let found = decision(outcome, fates, vec![count("nopilot", 1)]);
    let limits = Limits { node_window_ms: 5 * HOUR, ..Limits::default() };
    let kinds = kinds();
    let known = Context { limits: Some(&limits), ..Context::of_kinds(&kinds) };
    let text = super::explain(&found, &known);
    assert!(text.contains("Q: nopilot: no pilot in the last 5 h\n"), "{text}");
    assert!(text.contains("nopilot: a node asked for a job or updated one within 5 h (atlas"));
    assert!(!text.contains("3 h"), "{text}");
    let text = explain(&found, &kinds);
    assert!(text.contains("Q: nopilot: no pilot\n"), "{text}");
    assert!(text.contains("nopilot: a node asked for a job or updated one (atlas"));
    assert!(![" 3 h", " 5 h"].iter().any(|it| text.contains(it)), "{text}");
}

/// The same of a parameter of the policy.
#[test]
fn a_text_takes_its_numbers_from_the_policy() {
    let flavour = kind("atlas-analysis-job").expect("built in");
    let mut spec = PolicySpec::full("analysis-job", flavour, Rules::Documented);
    let step = spec.filters.iter_mut().find(|step| step.name == "cap_rt").expect("listed");
    step.args = vec![("least_running".into(), Arg::Int(7))];
    let policy = Policy::compile(&spec).expect("allowed");
    let found = decision(Outcome::Defer { until: 0 }, vec![], vec![count("cap_rt", 1)]);
    let kinds = [flavour];
    let known = Context { policy: Some(&policy), ..Context::of_kinds(&kinds) };
    let text = super::explain(&found, &known);
    assert!(text.contains("of which 7 are reckoned with at least (atlas G18"), "{text}");
    let text = explain(&found, &kinds);
    assert!(text.contains("at most twice the running ones (atlas G18"), "{text}");
}

#[test]
fn any_decision_has_a_text() {
    let hostile = fate("", "cap", "no such reason", f64::NAN, f64::INFINITY);
    let outcomes = [
        Outcome::Assign(vec![]),
        Outcome::Defer { until: Millis::MAX },
        Outcome::Defer { until: Millis::MIN },
        Outcome::Reject { reason: String::new() },
    ];
    for outcome in outcomes {
        for now in [0, Millis::MIN, Millis::MAX] {
            let mut decision = decision(outcome.clone(), vec![hostile.clone()], vec![]);
            decision.now = now;
            assert!(!explain(&decision, &[]).is_empty());
        }
    }
}

#[test]
fn an_assignment_of_one_job_shows_until_when_it_holds() {
    let placed = Some(Placed::default());
    let assigned = decision(Outcome::Assign(vec![]), vec![], vec![]);
    let assigned = Decision { placed, now: 1_760_529_600_000, ..assigned };
    let (kinds, limits) = ([], Limits::default());
    let known = Context { limits: Some(&limits), ..Context::of_kinds(&kinds) };
    let text = super::explain(&assigned, &known);
    assert!(text.contains("record of its state until 2025-10-15T14:00:00Z\n"), "{text}");
    assert!(!explain(&assigned, &kinds).contains("held until"));
}
