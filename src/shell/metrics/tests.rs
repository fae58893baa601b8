#[cfg(test)]
mod comparisons;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod glance;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod waiting;
#[cfg(test)]
mod weights;
#[cfg(test)]
mod world;

use super::counters::PAIRS_MAX;
use super::*;
use crate::attention::{Item, process_items};
use crate::trouble::Trouble;
use rules::cap;
use samples::{
    Shown, assignment, command, decision, setting_with_rule, text_of, throttle, with_domain,
};
use std::collections::BTreeSet;
use weights::weighed;
use world::World;
use yardmaster_core::budget::{CycleLoop, Exceeded};
use yardmaster_core::event::Status;
use yardmaster_core::output::command::held_back_note;
use yardmaster_core::state::Setting;

/// Units a name may end in, `_total` left away.
const UNITS: [&str; 42] = [
    "items",
    "starts",
    "budgets",
    "reads",
    "counters",
    "events",
    "changes",
    "oddities",
    "seconds",
    "decisions",
    "throttles",
    "commands",
    "rejections",
    "jobs",
    "cores",
    "records",
    "ratio",
    "bytes",
    "lanes",
    "partitions",
    "requests",
    "workers",
    "slots",
    "links",
    "assignments",
    "comparisons",
    "answers",
    "sites",
    "sources",
    "offers",
    "workflows",
    "drains",
    "clusters",
    "queues",
    "cpus",
    // Numbers without a unit, and what is stated in labels.
    "weight",
    "factor",
    "info",
    // Conditions that hold (1) or not (0).
    "leading",
    "publishing",
    "ready",
    "up",
];

/// A state with an open command, and with a report on what is held back.
fn held_back() -> State {
    let mut state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
    state.fold_command(&command("T9", 0));
    let notes = vec![held_back_note("queue_budget, 3 of 3 jobs")];
    state.fold_command(&Command { notes, amount: 5, dry_run: true, ..command("T1", 0) });
    state
}

#[test]
fn commands_are_counted_by_rule_and_what_is_held_back_by_reason() {
    let mut metrics = all();
    metrics.add();
    let text = text_of(&metrics);
    for line in [
        r#"yardmaster_published_commands_total{rule="T9",record="first"} 1"#,
        r#"yardmaster_published_commands_total{rule="T9",record="repeat"} 1"#,
        r#"yardmaster_open_commands{rule="T9"} 1"#,
        r#"yardmaster_held_back_jobs{rule="T1",reason="queue_budget"} 5"#,
    ] {
        assert!(text.contains(&with_domain(line)), "{line} is not in:\n{text}");
    }
}

fn load(queue: &str, running: u64) -> QueueLoad {
    let mut load = QueueLoad { queue: queue.to_string(), ..QueueLoad::default() };
    load.jobs[Status::Running.index()] = running;
    load.cores[Status::Running.index()] = 8 * running;
    load.slots = Some(running);
    load
}

/// One of everything.
fn all() -> Metrics {
    let mut metrics = Metrics::new("atlas", QUEUES_MAX);
    metrics.know_policies(["atlas"].into_iter());
    let took = Duration::from_millis(3);
    metrics.record_events(Topic::JobState, EventOutcome::Folded, 7);
    metrics.record_events(Topic::JobState, EventOutcome::Folded, 2);
    metrics.record_oddities(&[(Topic::Pilot, Oddity::Stale, 4)]);
    metrics.record_strays(&BTreeMap::from([((Topic::Decision, Stray::Surplus), 2)]));
    metrics.record_fold(1000, took);
    metrics.record_judged(took);
    metrics.record_answer(took);
    metrics.record_cycle(took);
    metrics.record_commit(took);
    metrics.record_checkpoint(took);
    metrics.record_decision(&decision("atlas", &[("disk", 3), ("release", 5)]));
    metrics.record_decision(&decision("atlas", &[("disk", 3)]));
    metrics.record_throttle(&throttle("A1"));
    metrics.record_throttle(&throttle("of another version"));
    metrics.record_standing(["A1", "A6", "A6"].into_iter());
    metrics.record_command(&command("T9", 0));
    metrics.record_command(&command("T9", 1));
    metrics.record_comparison(&comparisons::counted());
    metrics.record_commands(&held_back());
    metrics.record_intake(&IntakeReport { waiting: 3, ..IntakeReport::default() });
    metrics.record_lag(Topic::Task, 12);
    metrics.record_stuck([("task", 1), ("panda.jobs", 0), ("panda.jobs", 3)].into());
    metrics.record_time(Topic::Task, 1_000_500, 1_003_000);
    metrics.record_import("cric", Some(&[("written", 3), ("removed", 1), ("unchanged", 170)]));
    metrics.record_import("cric", None);
    metrics.record_import_age("cric", 61_000);
    metrics.record_facts_age(Topic::Link, 61_000);
    metrics.record_restore(0.5, 99);
    metrics.record_queues(vec![load("CERN-PROD", 5), load("a\"b\\c\nd", 6)]);
    metrics.record_decision(&weighed("atlas", &[(7, [2.0, 1.0, 0.0]), (3, [1.0; 3])]));
    metrics.record_decision(&assignment("BNL", &[("BNL", 0)]));
    metrics.record_repeated(2);
    metrics.record_classed(["A", "defer"], 2);
    let mut exceeded = Exceeded::default();
    exceeded.note(CycleLoop::Offers, true);
    metrics.record_exceeded(&exceeded);
    metrics.record_audit(1, took);
    metrics.record_estimate(MeasuredEstimate { result: RESULTS[0], ratio: Some(0.6) });
    let mut world = World::new();
    world.jobs(["CERN", "MC", "ann"], Status::Running, 1);
    world.configure(cap());
    world.link("DESY", None);
    world.engine.state.setting.commands = setting_with_rule();
    world.cycle();
    metrics.record_figures(&world.engine.state);
    metrics.record_waiting(&world.engine);
    metrics.record_rules(&world.engine);
    metrics.record_attention(trouble().iter());
    metrics.record_glance(&glance::pool().engine);
    metrics.record_glance(&glance::clusters().engine);
    metrics
}

/// That the process is in trouble.
fn trouble() -> Vec<Item> {
    process_items(&[Trouble { severity: "act".into(), ..Trouble::default() }])
}

/// Names of the rendered samples, those of histograms without their endings.
fn sampled(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .map(|name| {
            let ends = ["_bucket", "_sum", "_count"];
            ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
        })
        .collect()
}

#[test]
fn every_metric_is_rendered_with_help_and_type() {
    let mut metrics = all();
    metrics.add();
    let text = text_of(&metrics);
    let names: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
    assert_eq!(sampled(&text), names);
    for metric in Metric::ALL {
        let name = metric.name();
        assert!(text.contains(&format!("# HELP {name} {}", metric.help())), "{name}");
        let kind = match metric.kind() {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        assert_eq!(text.matches(&format!("# TYPE {name} {kind}\n")).count(), 1, "{name}");
    }
}

#[test]
fn names_end_in_their_unit_and_counters_in_total() {
    let names: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
    assert_eq!(names.len(), Metric::ALL.len(), "a name twice");
    for metric in Metric::ALL {
        let name = metric.name().strip_prefix("yardmaster_").unwrap();
        let counter = metric.kind() == Kind::Counter;
        assert_eq!(name.ends_with("_total"), counter, "{name}");
        let name = name.trim_end_matches("_total");
        let (what, unit) = name.rsplit_once('_').unwrap_or(("it", name));
        assert!(!what.is_empty() && UNITS.contains(&unit), "{name}");
        assert!(metric.help().ends_with('.'), "{name}");
        if let Kind::Histogram(bounds) = metric.kind() {
            let is_measured = ["seconds", "weight", "factor", "ratio"].contains(&unit);
            assert!(is_measured && bounds.is_sorted() && !bounds.is_empty(), "{name}");
        }
    }
}

#[test]
fn what_was_counted_shows_once_it_is_added() {
    let mut metrics = all();
    let folded = r#"yardmaster_folded_events_total{topic="job-state",outcome="folded"}"#;
    assert!(text_of(&metrics).contains(&with_domain(&format!("{folded} 0\n"))));
    metrics.add();
    metrics.add();
    let text = text_of(&metrics);
    for line in [
        &format!("{folded} 9"),
        r#"yardmaster_folded_events_total{topic="task",outcome="garbled"} 0"#,
        r#"yardmaster_seen_oddities_total{topic="pilot",kind="stale"} 4"#,
        r#"yardmaster_published_decisions_total{policy="atlas",outcome="defer"} 2"#,
        r#"yardmaster_filter_rejections_total{policy="atlas",filter="disk"} 6"#,
        r#"yardmaster_filter_rejections_total{policy="atlas",filter="release"} 5"#,
        r#"yardmaster_lag_records{topic="task"} 12"#,
        r#"yardmaster_stuck_lanes{topic="task"} 1"#,
        r#"yardmaster_stuck_lanes{topic="panda.jobs"} 2"#,
        r#"yardmaster_lag_seconds{topic="task"} 2.5"#,
        r#"yardmaster_lane_time_seconds{topic="task"} 1000.5"#,
        r#"yardmaster_restore_ratio 0.5"#,
        r#"yardmaster_restored_records_total 99"#,
        r#"yardmaster_fold_seconds_bucket{le="0.000005"} 1"#,
        r#"yardmaster_fold_seconds_bucket{le="0.000002"} 0"#,
        r#"yardmaster_commit_seconds_bucket{le="0.005"} 1"#,
        r#"yardmaster_commit_seconds_bucket{le="+Inf"} 1"#,
        r#"yardmaster_commit_seconds_count 1"#,
        r#"yardmaster_queue_jobs{queue="CERN-PROD",status="running"} 5"#,
        r#"yardmaster_queue_cores{queue="CERN-PROD",status="running"} 40"#,
        r#"yardmaster_queue_jobs{queue="a\"b\\c\nd",status="running"} 6"#,
    ] {
        assert!(text.lines().any(|it| it == with_domain(line)), "{line} is not in\n{text}");
    }
}

#[test]
fn the_bound_on_labels_is_kept_and_nothing_is_lost_by_it() {
    let mut metrics = Metrics::new("atlas", 20);
    let shown = |metrics: &Metrics| {
        let text = text_of(metrics);
        let start = "yardmaster_queue_jobs{domain=\"atlas\",queue=\"";
        let queues = text.lines().filter_map(|line| line.strip_prefix(start)?.split('"').next());
        let running = text.lines().filter(|line| line.starts_with(start));
        let sum: u64 =
            running.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        (queues.map(str::to_string).collect::<BTreeSet<String>>(), sum)
    };
    for round in 0..5u64 {
        // Each time others are the busiest.
        let busy = |queue: u64| if (queue + round).is_multiple_of(5) { 1000 } else { 1 };
        metrics.record_queues((0..100).map(|q| load(&format!("Q{q}"), busy(q))).collect());
        let (queues, jobs) = shown(&metrics);
        assert_eq!(queues.len(), 21);
        assert!(queues.contains("other"));
        assert!((0..100).filter(|q| busy(*q) == 1000).all(|q| queues.contains(&format!("Q{q}"))));
        assert_eq!(jobs, 20 * 1000 + 80);
    }
    metrics.record_queues((0..20).map(|q| load(&format!("Q{q}"), 1)).collect());
    assert!(!shown(&metrics).0.contains("other"));

    metrics.know_policies(["atlas"].into_iter());
    metrics.record_decision(&decision("that a request names", &[]));
    for filter in 0..3 * PAIRS_MAX {
        metrics.record_decision(&decision("atlas", &[(&format!("f{filter}"), 1)]));
    }
    metrics.add();
    let text = text_of(&metrics);
    let rejections = "yardmaster_filter_rejections_total{";
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(rejections)).collect();
    assert_eq!(lines.len(), PAIRS_MAX + 1);
    let other = r#"yardmaster_filter_rejections_total{policy="other",filter="other"} 2000"#;
    assert!(lines.contains(&with_domain(other).as_str()));
    let decisions = r#"yardmaster_published_decisions_total{policy="other",outcome="defer"} 1"#;
    assert!(text.contains(&with_domain(decisions)), "{text}");
    assert!(!text.contains("that a request names"), "{text}");
}

#[test]
fn throttles_are_counted_by_rules_that_are_known() {
    let mut metrics = all();
    // Fewer stand now: a rule by which nobody is held shows 0.
    metrics.record_standing(["A6"].into_iter());
    metrics.add();
    let text = text_of(&metrics);
    for line in [
        "yardmaster_published_throttles_total{rule=\"A1\",action=\"set\"} 1",
        "yardmaster_published_throttles_total{rule=\"other\",action=\"set\"} 1",
        "yardmaster_standing_throttles{rule=\"A1\"} 0",
        "yardmaster_standing_throttles{rule=\"A6\"} 1",
    ] {
        assert!(text.contains(&with_domain(line)), "{line} is not in:\n{text}");
    }
}

#[test]
fn assigned_jobs_and_nuclei_are_counted_and_the_bound_on_labels_is_kept() {
    let mut metrics = Metrics::new("atlas", 2);
    metrics.record_decision(&assignment("BNL", &[("CERN", 7), ("DESY", 3)]));
    metrics.record_decision(&assignment("", &[("CERN", 2), ("FNAL", 4), ("KEK", 1), ("KEK", 0)]));
    for nucleus in ["BNL", "CERN", "BNL", "RAL", "PIC"] {
        metrics.record_decision(&assignment(nucleus, &[(nucleus, 0)]));
    }
    // It gives nothing to anybody.
    let dry = Decision { dry_run: true, ..assignment("", &[("CERN", 100)]) };
    metrics.record_decision(&dry);
    metrics.add();
    let shown = Shown::new(&metrics);
    let all =
        |name: &str| shown.all(name).into_iter().map(|(labels, count)| format!("{labels} {count}"));
    let jobs: Vec<String> = all("yardmaster_assigned_jobs_total").collect();
    assert_eq!(jobs, [r#"{queue="CERN"} 9"#, r#"{queue="DESY"} 3"#, r#"{queue="other"} 5"#]);
    let nuclei: Vec<String> = all("yardmaster_nucleus_assignments_total").collect();
    assert_eq!(nuclei, [r#"{nucleus="BNL"} 2"#, r#"{nucleus="CERN"} 1"#, r#"{nucleus="other"} 2"#]);
}

#[test]
fn what_the_process_is_doing_is_looked_up_when_it_is_scraped() {
    let metrics = Metrics::new("atlas", QUEUES_MAX);
    let status = Arc::new(crate::status::Status::default());
    let scrape = metrics.scrape(Arc::clone(&status));
    let shows = |leading: u8, publishing: u8, ready: u8| {
        let text = scrape.text();
        for (name, value) in [("leading", leading), ("publishing", publishing), ("ready", ready)] {
            let line = with_domain(&format!("yardmaster_{name} {value}"));
            assert!(text.lines().any(|it| it == line), "{line} is not in:\n{text}");
        }
    };
    shows(0, 0, 1);
    status.update(|state| state.leading = true);
    shows(1, 1, 1);
    status.update(|state| state.silent_because = Some("a clock".into()));
    shows(1, 0, 0);
    status.update(|state| (state.silent_because, state.restoring) = (None, true));
    shows(1, 0, 0);
}

#[test]
#[cfg(target_os = "linux")]
fn the_memory_of_the_process_is_shown() {
    let shown = Shown::new(&Metrics::new("atlas", QUEUES_MAX));
    let bytes = shown.of("yardmaster_resident_memory_bytes").unwrap();
    assert!(bytes > 1e6 && bytes % 1024.0 == 0.0, "{bytes}");
}
