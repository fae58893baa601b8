//! Requests that another broker answered as well.

use super::samples::Shown;
use crate::metrics::Metrics;
use crate::metrics::comparisons::NAMES_MAX;
use std::collections::BTreeSet;
use yardmaster_core::comparison::{Agreement, AnswerOutcome, Counted, FiguresSeen, Side};

pub(super) fn counted() -> Counted {
    Counted {
        queue_type: "production".into(),
        gshare: "MC".into(),
        agreement: Agreement::OtherFirst,
        answers: [
            (Side::Yardmaster, AnswerOutcome::Assign, 20),
            (Side::Other, AnswerOutcome::Assign, 1_500),
        ],
        overlap: Some(0.25),
        filters: BTreeSet::from([
            (Side::Yardmaster, Some("queued_ratio".into())),
            (Side::Other, None),
        ]),
        figures: Some(FiguresSeen::Differ),
    }
}

#[test]
fn comparisons_are_counted_by_share_result_filter_and_figures() {
    let mut metrics = Metrics::new("atlas", 10);
    metrics.add();
    assert_eq!(Shown::new(&metrics).all("yardmaster_comparisons_total"), [], "none came");
    metrics.record_comparison(&counted());
    let absent = Counted {
        queue_type: "of another version".into(),
        gshare: String::new(),
        agreement: Agreement::Absent,
        answers: [
            (Side::Yardmaster, AnswerOutcome::Absent, 2_000),
            (Side::Other, AnswerOutcome::Assign, 1_500),
        ],
        overlap: None,
        filters: BTreeSet::new(),
        figures: None,
    };
    metrics.record_comparison(&absent);
    metrics.record_unreadable_comparisons(3);
    metrics.add();
    let shown = Shown::new(&metrics);
    for (sample, wanted) in [
        (r#"comparisons_total{queue_type="production",gshare="MC",result="other_first"}"#, 1.0),
        (r#"comparisons_total{queue_type="other",gshare="unknown",result="absent"}"#, 1.0),
        (r#"compared_answers_total{side="yardmaster",outcome="absent"}"#, 1.0),
        (r#"compared_answers_total{side="other",outcome="assign"}"#, 2.0),
        (r#"compared_rejections_total{side="yardmaster",filter="queued_ratio"}"#, 1.0),
        (r#"compared_rejections_total{side="other",filter="not_rejected"}"#, 1.0),
        (r#"assigned_comparisons_total{choice="another",figures="differ"}"#, 1.0),
        // What did not come took no time.
        (r#"compared_answer_seconds_count{side="yardmaster"}"#, 1.0),
        (r#"compared_answer_seconds_sum{side="other"}"#, 3.0),
        ("compared_overlap_ratio_sum", 0.25),
        ("unreadable_comparisons_total", 3.0),
    ] {
        assert_eq!(shown.of(&format!("yardmaster_{sample}")), Some(wanted), "{sample}");
    }
}

#[test]
fn the_names_that_clients_write_are_bounded() {
    let mut metrics = Metrics::new("atlas", 10);
    for at in 0..NAMES_MAX + 50 {
        let filters = BTreeSet::from([(Side::Other, Some(format!("filter{at}")))]);
        let gshare = format!("share{at}");
        metrics.record_comparison(&Counted { gshare, filters, ..counted() });
    }
    metrics.add();
    let shown = Shown::new(&metrics);
    for name in ["yardmaster_comparisons_total", "yardmaster_compared_rejections_total"] {
        let samples = shown.all(name);
        assert_eq!(samples.len(), NAMES_MAX + 1, "{name}");
        assert_eq!(samples.iter().map(|it| it.1).sum::<f64>(), (NAMES_MAX + 50) as f64, "{name}");
    }
}
