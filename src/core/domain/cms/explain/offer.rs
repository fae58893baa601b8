//! An answer to an offer of slots as text: which job got what of it, by what it was chosen, or why
//! none fits; and the rejection of a job of a pool.

use super::rank;
use crate::domain::cms::output::{Matched, SecondJob};
use crate::event::Band;
use crate::explain::{
    Context, counts_of, dry_run, iso, limit_sentence, milli, notes, number, or_none, span,
    when_made, with_moments,
};
use crate::output::decision::{Decision, Outcome};
use crate::state::admit::remedy;
use crate::unit::{Millis, SECOND};
use std::fmt::{self, Write};

/// One sentence on a match: the job, what it gets, and where.
pub fn match_sentence(decision: &Decision, matched: &Matched) -> String {
    let Matched { job, cores, overflow_source, .. } = matched;
    let site = site(decision);
    let source = match overflow_source.as_str() {
        "" => String::new(),
        source => format!(", overflow from {source}"),
    };
    let of = or_none(&decision.task);
    format!("job {job} of {of} gets {} at {site}{source}", cores_text(*cores))
}

/// Why nothing fits an offer: the filter that passed over most of the jobs.
pub fn nothing_fits(decision: &Decision) -> String {
    let all: u64 = decision.counts.iter().map(|count| u64::from(count.rejected)).sum();
    let most = decision.counts.iter().rev().max_by_key(|count| count.rejected);
    match most {
        None => "no job waits".to_owned(),
        Some(most) => {
            format!("none of {all} jobs fits, {} of them by {}", most.rejected, most.filter)
        }
    }
}

/// The text of an answer to an offer, or of a rejection of a job.
pub(crate) fn write(text: &mut String, decision: &Decision, context: &Context<'_>) -> fmt::Result {
    header(text, decision)?;
    match (&decision.outcome, &decision.matched) {
        (Outcome::Assign(_), Some(matched)) => assignment(text, decision, matched, context)?,
        (Outcome::Assign(_), None) => writeln!(text, "assigned, and no job is named")?,
        (Outcome::Defer { until }, _) => deferral(text, decision, *until, context)?,
        (Outcome::Reject { reason }, _) => {
            writeln!(text, "rejected for good: {}", with_moments(reason))?;
            if let Some(remedy) = remedy(reason) {
                writeln!(text, "what to do: {remedy}")?;
            }
        }
    }
    notes(text, decision)
}

fn header(text: &mut String, decision: &Decision) -> fmt::Result {
    let Decision { subject, attempt, ordinal, .. } = decision;
    writeln!(text, "decision {}{}", decision.id, dry_run(decision.dry_run))?;
    match (&decision.outcome, &decision.matched) {
        (Outcome::Reject { .. }, _) => {
            writeln!(text, "  job       {subject}, attempt {attempt}")?;
            writeln!(text, "  workflow  {}", or_none(&decision.task))?;
            writeln!(text, "  user      {}", or_none(&decision.user))?;
        }
        (_, matched) => {
            writeln!(text, "  offer     {subject}, announcement {attempt}, answer {ordinal}")?;
            if let Some(Matched { node, .. }) = matched {
                let node = if node.is_empty() { "not known" } else { node };
                writeln!(text, "  site      {}, node {node}", site(decision))?;
            }
        }
    }
    when_made(text, decision)
}

fn assignment(
    text: &mut String,
    decision: &Decision,
    matched: &Matched,
    context: &Context<'_>,
) -> fmt::Result {
    let Matched { job, job_attempt, cores, rss_mb, wall_time_s, .. } = matched;
    writeln!(
        text,
        "matched: job {job}, attempt {job_attempt}, gets {} and {rss_mb} MB for {}",
        cores_text(*cores),
        span(*wall_time_s)
    )?;
    let class = matched.class.name();
    writeln!(text, "  workflow  {}, class {class}", or_none(&decision.task))?;
    let group = match decision.working_group.as_str() {
        "" => String::new(),
        group => format!(", group {group}"),
    };
    writeln!(text, "  user      {}{group}", or_none(&decision.user))?;
    let band = match matched.band {
        Band::System => "a system job, which goes before all others (C-11)",
        Band::Test => "a test job, which goes before all but system jobs (C-47)",
        Band::Normal => "neither a system job nor a test job",
    };
    writeln!(text, "  band      {}: {band}", matched.band.name())?;
    booked(text, decision, matched)?;
    for rule in &matched.relaxed {
        writeln!(text, "  relaxed   {rule}{}", relaxed(rule))?;
    }
    chosen_by(text, decision, context)?;
    if let Some(second) = &matched.second {
        let SecondJob { job, workflow, key, of_match, of_second } = second;
        let words = |value: &String| {
            let number = value.parse().ok();
            number.and_then(|it| rank::words(key, it)).unwrap_or_else(|| value.clone())
        };
        writeln!(
            text,
            "second: {job} of {workflow}, by {key}: {}; of the match: {}",
            words(of_second),
            words(of_match)
        )?;
    }
    if !decision.limits.is_empty() {
        writeln!(text, "limits that hold for it:")?;
    }
    for limit in &decision.limits {
        writeln!(text, "  {}", limit_sentence(limit))?;
    }
    counts_of(text, "other jobs that did not fit, by the first filter", &decision.counts, context)
}

/// Writes the weight of the match, and the overflow, restricted pool and storage that it is charged
/// to.
fn booked(text: &mut String, decision: &Decision, matched: &Matched) -> fmt::Result {
    let (weight, usage) = (milli(matched.weight_milli), milli(matched.usage_milli));
    let share = match matched.usage_milli == matched.weight_milli {
        true => "all of it counts in its user's fair share".to_owned(),
        false => format!("{usage} of it count in its user's fair share (CD-10)"),
    };
    writeln!(text, "  weight    {weight} cores by power; {share}")?;
    if !matched.overflow_source.is_empty() {
        let (source, cost) = (&matched.overflow_source, matched.overflow_cost);
        writeln!(
            text,
            "  overflow  its input is read from {source}, {cost} of whose overflow slots it takes \
             (C-39)"
        )?;
    }
    if !matched.charged_group.is_empty() {
        let (group, site) = (&matched.charged_group, site(decision));
        writeln!(text, "  pool      it takes slots of {site} that are for {group} alone (C-30)")?;
    }
    if !matched.io_source.is_empty() {
        writeln!(text, "  HighIO    it reads the storage of {} (C-44)", matched.io_source)?;
    }
    Ok(())
}

/// A relaxed rule as a phrase.
fn relaxed(rule: &str) -> &'static str {
    match rule {
        "surplus" => {
            ": the other class is due there, and has no job that fits, so this one goes on (C-28)"
        }
        "drained" => ": the node was kept free for it, so it goes before all others there (C-55)",
        "overflow" => {
            ": the site is not on its whitelist, and it has waited long enough to read its input \
             from afar (C-41)"
        }
        _ => "",
    }
}

fn chosen_by(text: &mut String, decision: &Decision, context: &Context<'_>) -> fmt::Result {
    let Outcome::Assign(ranked) = &decision.outcome else { return Ok(()) };
    let Some(ranked) = ranked.first().filter(|it| !it.factors.is_empty()) else { return Ok(()) };
    writeln!(text, "chosen by, in this order (the first in which jobs differ decides):")?;
    for (name, value) in decision.factor_names.iter().zip(&ranked.factors) {
        let known = context.kinds.iter().find_map(|kind| kind.weight(name));
        let spec = known.map_or(String::new(), |key| format!(" ({})", key.spec));
        let words = rank::words(name, *value).unwrap_or_else(|| {
            let help = known.map_or(String::new(), |key| format!(", {}", key.help));
            format!("{}{help}", number(*value))
        });
        writeln!(text, "  {name}: {words}{spec}")?;
    }
    Ok(())
}

fn deferral(
    text: &mut String,
    decision: &Decision,
    until: Millis,
    context: &Context<'_>,
) -> fmt::Result {
    let wait = span(until.saturating_sub(decision.now) / SECOND);
    let until = iso(until);
    let why = nothing_fits(decision);
    writeln!(text, "nothing fits: {why}; published again, or gone, by {until}, {wait} on")?;
    counts_of(text, "jobs that did not fit, by the first filter", &decision.counts, context)?;
    writeln!(text, "waits for: a job that fits; it is looked at again when anything changes")
}

/// The site of an offer that a job was matched to.
fn site(decision: &Decision) -> &str {
    match &decision.outcome {
        Outcome::Assign(ranked) => ranked.first().map_or("no site", |it| it.queue.as_str()),
        Outcome::Defer { .. } | Outcome::Reject { .. } => "no site",
    }
}

fn cores_text(cores: i64) -> String {
    if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cms::policy::admission::Rejection;
    use crate::event::{Class, Resource};
    use crate::explain::{explain, headline};
    use crate::output::decision::{FilterCount, Ranked};
    use crate::output::limit_use::LimitUse;
    use crate::policy::{Flavour, kind};

    const NOW: Millis = 1_760_529_600_000;

    fn cms() -> &'static Flavour {
        kind("cms").expect("built in")
    }

    fn answer(outcome: Outcome) -> Decision {
        let count = |filter: &str, rejected| FilterCount { filter: filter.into(), rejected };
        Decision {
            now: NOW,
            policy: "cms".into(),
            counts: vec![count("cores", 30), count("whitelist", 8_120)],
            full: false,
            ..Decision::new("cms", "glidein-4711", 2, 3, outcome)
        }
    }

    fn assignment(factors: &[(&str, f64)]) -> Decision {
        let ranked = Ranked {
            queue: "T2_DE_DESY".into(),
            unified: "T2_DE_DESY".into(),
            weight: 1.0,
            jobs: 1,
            cores: 8,
            factors: factors.iter().map(|(_, value)| *value).collect(),
            platform: String::new(),
        };
        let limit = |name: &str, of: &str, [before, after, max]: [u64; 3]| LimitUse {
            name: name.into(),
            of: of.into(),
            before,
            after,
            max,
        };
        let limits = vec![
            limit("overflow", "T1_DE_KIT", [3, 4, 200]),
            limit("restricted_pool", "T2_DE_DESY//cms/dcms", [1_000, 10_600, 99_000]),
        ];
        Decision {
            task: "skim_run3".into(),
            user: "ann".into(),
            working_group: "/cms/dcms".into(),
            factor_names: factors.iter().map(|(name, _)| (*name).to_owned()).collect(),
            limits,
            matched: Some(Matched {
                job: "skim_run3.1204".into(),
                job_attempt: 1,
                class: Class::Analysis,
                band: Band::Normal,
                node: "bird812".into(),
                cores: 8,
                weight_milli: 9_600,
                usage_milli: 4_800,
                wall_time_s: 28_800,
                rss_mb: 16_000,
                overflow_source: "T1_DE_KIT".into(),
                overflow_cost: 1,
                charged_group: "/cms/dcms".into(),
                io_source: "T1_DE_KIT".into(),
                resources: vec![Resource { name: "gpus".into(), amount: 1 }],
                relaxed: vec!["surplus".into(), "overflow".into(), "drained".into()],
                second: Some(SecondJob {
                    job: "ttbar.17".into(),
                    workflow: "ttbar".into(),
                    key: "fair_share_milli".into(),
                    of_match: "12500".into(),
                    of_second: "31000".into(),
                }),
            }),
            ..answer(Outcome::Assign(vec![ranked]))
        }
    }

    fn check(text: &str, parts: &[&str]) {
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
    }

    #[test]
    fn a_match_tells_who_got_what_and_why() {
        let factors = [
            ("band", 2.0),
            ("class_order", 1.0),
            ("minus_level", -10.0),
            ("fair_share_milli", 12_500.0),
            ("wall_gap_s", 300.0),
            ("moonphase", 7.0),
        ];
        let decision = assignment(&factors);
        let kinds = [cms()];
        let text = explain(&decision, &Context::of_kinds(&kinds));
        check(
            &text,
            &[
                "offer     glidein-4711, announcement 2, answer 3",
                "site      T2_DE_DESY, node bird812",
                "matched: job skim_run3.1204, attempt 1, gets 8 cores and 16000 MB for 8 h",
                "workflow  skim_run3, class analysis",
                "user      ann, group /cms/dcms",
                "band      normal: neither",
                "weight    9.6 cores by power; 4.8 of it count",
                "its input is read from T1_DE_KIT, 1 of whose overflow slots",
                "slots of T2_DE_DESY that are for /cms/dcms alone (C-30)",
                "HighIO    it reads the storage of T1_DE_KIT",
                "relaxed   surplus: the other class is due there",
                "relaxed   drained: the node was kept free for it",
                "second: ttbar.17 of ttbar, by fair_share_milli: its user has 31 cores of decayed",
                "; of the match: its user has 12.5 cores",
                "relaxed   overflow: the site is not on its whitelist",
                "minus_level: level 10 there (cms-nordugrid C-18, C-19)",
                "its user has 12.5 cores of decayed usage",
                "wall_gap_s: it leaves 5 min",
                "moonphase: 7\n",
                "overflow slots of T1_DE_KIT: 3 before, 4 with it, 200 at most",
                "T2_DE_DESY//cms/dcms: 1 before, 10.6 with it, 99 at most",
                "8120  whitelist: a job with a whitelist runs at these sites",
            ],
        );
        assert!(text.find("band: neither") < text.find("minus_level"), "{text}");
        assert_eq!(
            headline(&decision),
            "Matched: job skim_run3.1204 of skim_run3 gets 8 cores at T2_DE_DESY, overflow from \
             T1_DE_KIT"
        );
    }

    #[test]
    fn an_offer_that_nothing_fits_counts_the_jobs_by_what_kept_them_out() {
        let mut decision = answer(Outcome::Defer { until: NOW + 60_000 });
        let kinds = [cms()];
        let text = explain(&decision, &Context::of_kinds(&kinds));
        check(
            &text,
            &[
                "nothing fits: none of 8150 jobs fits, 8120 of them by whitelist; published again",
                "1 min on",
                "  8120  whitelist: ",
                "    30  cores: the offer has the fewest cores",
                "waits for: a job that fits",
            ],
        );
        assert!(headline(&decision).starts_with("Nothing fits: none of 8150"));
        decision.counts.clear();
        assert_eq!(headline(&decision), "Nothing fits: no job waits");
    }

    #[test]
    fn every_code_of_admission_has_its_remedy() {
        for code in [
            Rejection::ClassConflict,
            Rejection::NoWorkflow,
            Rejection::WorkflowUnknown,
            Rejection::EmptyWhitelist,
            Rejection::HighIoWithoutWhitelist,
            Rejection::SystemFlagUnauthorised,
            Rejection::BadCoreRequest,
            Rejection::BadResourceRequest,
        ] {
            let rejected = answer(Outcome::Reject { reason: code.code().into() });
            let kinds = [cms()];
            let text = explain(&rejected, &Context::of_kinds(&kinds));
            check(&text, &["  job       glidein-4711, attempt 2", "what to do: ", "again"]);
        }
    }

    /// Texts, which are left out of a decision's figures, are the only keys without words.
    #[test]
    fn every_rank_key_has_words() {
        for key in cms().weights() {
            let is_text = ["user", "workflow"].contains(&key.name);
            assert_eq!(rank::words(key.name, 1.0).is_none(), is_text, "{}", key.name);
        }
    }

    #[test]
    fn any_answer_has_a_text() {
        for value in [f64::NAN, f64::INFINITY, -1e300, 0.5] {
            let factors: Vec<(&str, f64)> =
                cms().weights().iter().map(|key| (key.name, value)).collect();
            let mut decision = assignment(&factors);
            decision.outcome = match decision.outcome {
                Outcome::Assign(ranked) if value.is_nan() => Outcome::Assign(ranked),
                Outcome::Assign(_) => Outcome::Assign(Vec::new()),
                other => other,
            };
            decision.now = Millis::MIN;
            if let Some(matched) = &mut decision.matched {
                (matched.weight_milli, matched.wall_time_s) = (i64::MIN, i64::MAX);
            }
            assert!(!explain(&decision, &Context::of_kinds(&[])).is_empty());
        }
        for until in [Millis::MIN, Millis::MAX] {
            let deferral = answer(Outcome::Defer { until });
            assert!(!explain(&deferral, &Context::of_kinds(&[])).is_empty());
        }
    }
}
