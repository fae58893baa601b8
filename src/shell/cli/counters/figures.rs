//! Figures of counters: in which column each is, and how it is shown.

use super::by::By;
use crate::cli::units;
use yardmaster_core::event::Status;

/// Columns that people look at first; where a terminal is narrow these stay longest.
const FIRST: [&str; 16] = [
    "jobs_running",
    "jobs_activated",
    "cores_running",
    "queued_bytes",
    "jobs_starting",
    "jobs_assigned",
    "jobs_transferring",
    "jobs_failed",
    "jobs_finished",
    "arrived_bytes_1h",
    "queued_files",
    "jobs_started_6h",
    "workers_running",
    "last_start",
    "arrived_bytes_1d",
    "arrived_bytes_1w",
];

/// Of what only queues have.
const OF_QUEUES: [&str; 14] = [
    "disk_io_bytes_per_second_per_core",
    "nodes_asked",
    "nodes_updated",
    "workers_submitted",
    "workers_running",
    "jobs_promised",
    "slots",
    "last_pilot",
    "last_start",
    "jobs_started_6h",
    "sample_jobs_4d",
    "sample_jobs_waited",
    "merge_jobs_activated",
    "merge_jobs_starting",
];

/// The figures that counters of a kind can have, as columns and in their order.
pub(super) fn known_of(by: By) -> Vec<String> {
    let of = |what: &str| Status::ALL.iter().map(|it| format!("{what}_{}", it.name())).collect();
    let mut known: Vec<String> = match by {
        By::Task | By::Link => Vec::new(),
        By::Queue | By::User | By::Group | By::Share | By::Load | By::Nucleus => of("jobs"),
    };
    if !matches!(by, By::Share | By::Task | By::Link) {
        let cores: Vec<String> = of("cores");
        known.extend(cores);
    }
    let more: &[&str] = match by {
        By::Queue => &OF_QUEUES,
        By::Share => &["jobs_promised"],
        By::Task => &["jobs_finished", "jobs_failed", "jobs_closed"],
        By::Link => &[
            "queued_files",
            "queued_bytes",
            "arrived_bytes_1h",
            "arrived_bytes_1d",
            "arrived_bytes_1w",
        ],
        By::User | By::Group | By::Load | By::Nucleus => &[],
    };
    known.extend(more.iter().map(|name| (*name).to_owned()));
    known
}

/// The column of a figure: without its unit of time, since the cell has one; those of slots share
/// theirs.
pub(super) fn column_of(figure: &str) -> String {
    match figure {
        "slots" => "slots".to_owned(),
        figure if figure.starts_with("slots[") => "slots".to_owned(),
        figure => {
            let base = figure.strip_suffix("_ms").or_else(|| figure.strip_suffix("_s"));
            base.unwrap_or(figure).to_owned()
        }
    }
}

/// How early a column is left out where there is no room; `at`: its place in order.
pub(super) fn rank_of(column: &str, at: usize) -> usize {
    FIRST.iter().position(|name| *name == column).unwrap_or(FIRST.len() + at)
}

/// The figures of a column, as a cell.
pub(super) fn text_of(figures: &[(String, i64)]) -> String {
    let cells: Vec<String> = figures.iter().map(|(figure, value)| cell(figure, *value)).collect();
    cells.join(", ")
}

/// The figures of a column as they are and as they were before, as a cell: a count with its change,
/// anything else with what it was.
pub(super) fn text_of_change(now: &[(String, i64)], before: &[(String, i64)]) -> String {
    if now == before {
        return text_of(now);
    }
    if let ([], [(figure, was)]) | ([(figure, _)], [(_, was)]) = (now, before)
        && is_count(figure)
    {
        let is = now.first().map_or(0, |(_, is)| *is);
        return format!("{is} ({:+})", is.saturating_sub(*was));
    }
    match (now, before) {
        ([(figure, is)], []) if is_count(figure) => format!("{is} ({is:+})"),
        (_, []) => format!("{} (was nothing)", text_of(now)),
        ([], _) => format!("nothing (was {})", text_of(before)),
        _ => format!("{} (was {})", text_of(now), text_of(before)),
    }
}

/// Whether a figure has no unit.
fn is_count(figure: &str) -> bool {
    let has_unit = figure.ends_with("_ms") || figure.ends_with("_s");
    !has_unit && !figure.starts_with("slots") && !figure.split('_').any(|word| word == "bytes")
}

fn cell(figure: &str, value: i64) -> String {
    if let Some(of) = figure.strip_prefix("slots[").and_then(|it| it.strip_suffix(']')) {
        return format!("{of} {value}");
    }
    if figure.split('_').any(|word| word == "bytes") && value >= 0 {
        return units::bytes(value.unsigned_abs());
    }
    if figure.ends_with("_ms") {
        return units::moment(value);
    }
    if figure.ends_with("_s") {
        return units::span(value.saturating_mul(1_000));
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_shown_with_its_change_and_a_size_with_what_it_was() {
        let one = |figure: &str, value| vec![(figure.to_owned(), value)];
        let jobs = |value| one("jobs_running", value);
        assert_eq!(text_of_change(&jobs(120), &jobs(105)), "120 (+15)");
        assert_eq!(text_of_change(&jobs(5), &jobs(5)), "5");
        assert_eq!(text_of_change(&jobs(5), &[]), "5 (+5)");
        assert_eq!(text_of_change(&[], &jobs(5)), "0 (-5)");
        let bytes = |value| one("queued_bytes", value);
        assert_eq!(text_of_change(&bytes(2_000), &bytes(999)), "2.00 kB (was 999 B)");
        assert_eq!(text_of_change(&[], &bytes(999)), "nothing (was 999 B)");
    }

    #[test]
    fn figures_have_units_and_columns() {
        for (figure, value, column, text) in [
            ("jobs_running", 12, "jobs_running", "12"),
            ("queued_bytes", 174_452_042_489, "queued_bytes", "174 GB"),
            ("arrived_bytes_1h", 999, "arrived_bytes_1h", "999 B"),
            ("last_pilot_ms", 1_760_428_614_090, "last_pilot", "2025-10-14T07:56:54Z"),
            ("sample_jobs_waited_s", 11_520, "sample_jobs_waited", "3 h 12 min"),
            ("slots[Analysis/MCORE]", 5, "slots", "Analysis/MCORE 5"),
        ] {
            assert_eq!(column_of(figure), column);
            assert_eq!(text_of(&[(figure.to_owned(), value)]), text);
        }
        let slots = [("slots[/]", 5), ("slots[a/b]", -1)].map(|(it, value)| (it.to_owned(), value));
        assert_eq!(text_of(&slots), "/ 5, a/b -1");
    }
}
