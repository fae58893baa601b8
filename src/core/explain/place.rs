//! A queue, site or cluster in decisions: which filters refused it, by which figures, and what it
//! was given.

use super::{Context, Written, distance, iso, jobs_text, number, or_none};
use crate::output::decision::{Decision, Fate, FilterCount, Outcome, Ranked};
use crate::policy::phrase::short;
use crate::unit::{DAY, Millis};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Assignments that are listed, the newest first.
const ACCEPTED_MAX: usize = 20;
/// Of these, how many a text shows.
const ACCEPTED_SHOWN: usize = 5;
/// Parts of a queue that a filter names.
const VARIANTS_MAX: usize = 4;

/// What decisions say of a place, made of them one by one.
#[derive(Clone, Debug, Default)]
pub struct PlaceStory {
    /// Names of its queues.
    places: Vec<String>,
    /// Offers of slots there, of which a deferral does not name the site.
    offers: BTreeSet<String>,
    /// Decisions that name it.
    pub decisions: u64,
    /// By filter.
    pub rejecting: BTreeMap<String, Rejecting>,
    /// The objection nearest to passing, of those that compare figures.
    pub nearest: Option<PlaceMiss>,
    /// Assignments, the newest first.
    pub accepted: Vec<Accepted>,
    /// Requests that were sent there since `sent_since`, and their jobs.
    pub of_a_day: [u64; 2],
    /// A day ago, or the oldest decision that was added if that is younger; ms since 1970.
    pub sent_since: Option<Millis>,
    /// Decisions in which it passed all filters and got no jobs.
    pub passed_over: u64,
}

/// A filter that refused a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rejecting {
    /// The condition that it objects to.
    pub help: String,
    /// The rule's place in the specification.
    pub spec: &'static str,
    /// Decisions in which it objected.
    pub decisions: u64,
    /// Requests of these; for a site of a pool, jobs that it passed over.
    pub requests: u64,
    /// The newest of them; ms since 1970.
    pub last_at: Millis,
    /// The smallest and the largest value measured, in the unit; `None`: it measures nothing.
    pub measured: Option<[f64; 2]>,
    /// The same of what would have passed.
    pub limit: Option<[f64; 2]>,
    /// Unit of both; empty: they have none.
    pub unit: &'static str,
    /// The newest objection as a sentence.
    pub text: String,
    /// The request of that one.
    pub example: String,
    /// Parts of the queue that it objected to, as `SCORE`; empty: the queue as a whole.
    pub variants: BTreeSet<String>,
    subjects: BTreeSet<String>,
    /// Cycle and number of the decision that was counted last.
    counted: Option<(u64, u32)>,
}

/// An objection that came near to passing.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceMiss {
    /// Request.
    pub subject: String,
    /// When; ms since 1970.
    pub at: Millis,
    /// Filter.
    pub filter: String,
    /// The objection as a sentence.
    pub text: String,
    distance: f64,
}

/// An assignment to a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// When; ms since 1970.
    pub at: Millis,
    /// Request, or offer of slots.
    pub subject: String,
    /// Task, or workflow.
    pub task: String,
    /// Jobs.
    pub jobs: u64,
    /// Leaf share.
    pub gshare: String,
    /// User.
    pub user: String,
    /// Weight of the place.
    pub weight: f64,
}

impl PlaceStory {
    /// Of a place with these queues, of which no decision was looked at yet. `offers`: names of
    /// offers of slots there.
    pub fn new(places: Vec<String>, offers: BTreeSet<String>) -> PlaceStory {
        PlaceStory { places, offers, ..PlaceStory::default() }
    }

    /// The part of a queue that a candidate's name states; `None`: it is not of the place. A
    /// pseudo-queue has the name of its queue and a resource type.
    fn variant<'a>(&self, queue: &'a str) -> Option<&'a str> {
        self.places.iter().find_map(|place| {
            let rest = queue.strip_prefix(place.as_str())?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
        })
    }

    /// Whether a candidate is of the place.
    pub fn names(&self, queue: &str) -> bool {
        self.variant(queue).is_some()
    }

    /// Whether a decision names the place.
    pub fn is_in(&self, decision: &Decision) -> bool {
        let is_here = |queue: &str| self.names(queue);
        let is_given = match &decision.outcome {
            Outcome::Assign(ranked) => ranked.iter().any(|it| is_here(&it.queue)),
            Outcome::Defer { .. } | Outcome::Reject { .. } => false,
        };
        let is_refused = |fate: &Fate| !fate.filter.is_empty() && is_here(&fate.queue);
        is_given || decision.fates.iter().any(is_refused) || self.offers.contains(&decision.subject)
    }

    /// Adds a decision, the newest first, as of a moment.
    pub fn add(&mut self, decision: &Decision, context: &Context<'_>, now: Millis) {
        if !self.is_in(decision) {
            return;
        }
        self.decisions += 1;
        let at = decision.now.max(now.saturating_sub(DAY));
        self.sent_since = Some(self.sent_since.map_or(at, |since| since.min(at)));
        if let Outcome::Assign(ranked) = &decision.outcome {
            self.accept(decision, ranked, now);
        }
        for fate in decision.fates.iter().filter(|fate| !fate.filter.is_empty()) {
            if let Some(variant) = self.variant(&fate.queue).map(str::to_owned) {
                self.refuse(decision, fate, &variant, context);
            }
        }
        if decision.answers_offer() {
            decision.counts.iter().for_each(|count| self.pass_over(decision, count, context));
        }
    }

    fn accept(&mut self, decision: &Decision, ranked: &[Ranked], now: Millis) {
        let here: Vec<&Ranked> =
            ranked.iter().filter(|it| self.variant(&it.queue).is_some()).collect();
        let Some(first) = here.first() else { return };
        let jobs: u64 = here.iter().map(|it| u64::from(it.jobs)).sum();
        if jobs == 0 && ranked.iter().any(|it| it.jobs > 0) {
            self.passed_over += 1;
            return;
        }
        if now.saturating_sub(decision.now) <= DAY {
            self.of_a_day[0] += 1;
            self.of_a_day[1] += jobs;
        }
        if self.accepted.len() < ACCEPTED_MAX {
            let subject = match &decision.matched {
                Some(matched) => matched.job.clone(),
                None => decision.subject.clone(),
            };
            self.accepted.push(Accepted {
                at: decision.now,
                subject,
                task: decision.task.clone(),
                jobs,
                gshare: decision.gshare.clone(),
                user: decision.user.clone(),
                weight: first.weight,
            });
        }
    }

    fn refuse(&mut self, decision: &Decision, fate: &Fate, variant: &str, context: &Context<'_>) {
        let reason = context.reason(fate);
        let [measured, limit] = match reason {
            Some(reason) => [reason.measured(fate.measured), reason.limit(fate.limit)],
            None => [None, None],
        };
        let is_near = |best: &PlaceMiss| distance(fate) < best.distance;
        if measured.is_some() && limit.is_some() && self.nearest.as_ref().is_none_or(is_near) {
            self.nearest = Some(PlaceMiss {
                subject: decision.subject.clone(),
                at: decision.now,
                filter: fate.filter.to_string(),
                text: context.sentence_in(decision, fate),
                distance: distance(fate),
            });
        }
        let known = self.rejecting.entry(fate.filter.to_string()).or_default();
        if known.decisions == 0 {
            known.text = context.sentence_in(decision, fate);
            known.example.clone_from(&decision.subject);
            known.unit = reason.map_or("", |reason| reason.unit());
            known.describe(&fate.filter, context);
        }
        // Several parts of a queue are one objection.
        let place = Some((decision.cycle, decision.number));
        known.decisions += u64::from(known.counted != place);
        known.counted = place;
        known.subjects.insert(decision.subject.clone());
        known.requests = known.subjects.len() as u64;
        known.last_at = known.last_at.max(decision.now);
        widen(&mut known.measured, measured);
        widen(&mut known.limit, limit);
        if !variant.is_empty() && known.variants.len() < VARIANTS_MAX {
            known.variants.insert(variant.to_owned());
        }
    }

    /// Jobs of a pool that were passed over for an offer of the place.
    fn pass_over(&mut self, decision: &Decision, count: &FilterCount, context: &Context<'_>) {
        let known = self.rejecting.entry(count.filter.clone()).or_default();
        if known.decisions == 0 {
            known.describe(&count.filter, context);
            known.example.clone_from(&decision.subject);
        }
        known.decisions += 1;
        known.requests += u64::from(count.rejected);
        known.last_at = known.last_at.max(decision.now);
    }

    /// The filters, the most frequent first.
    pub fn by_frequency(&self) -> Vec<(&String, &Rejecting)> {
        let mut all: Vec<_> = self.rejecting.iter().collect();
        all.sort_by(|a, b| b.1.decisions.cmp(&a.1.decisions).then_with(|| a.0.cmp(b.0)));
        all
    }

    /// The story as text. `requests`: the noun for what was refused.
    pub fn text(&self, requests: &str) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text, requests);
        text
    }

    fn write(&self, text: &mut String, requests: &str) -> Written {
        let all = self.decisions;
        match self.rejecting.is_empty() {
            true => writeln!(text, "refused by no filter in the {all} decisions that name it")?,
            false => writeln!(text, "refused, in the last {all} decisions that name it, by:")?,
        }
        for (filter, it) in self.by_frequency() {
            let spec = if it.spec.is_empty() { String::new() } else { format!(" ({})", it.spec) };
            writeln!(text, "  {:>6}  {filter}: {}{spec}", it.decisions, it.help)?;
            let of = match it.variants.is_empty() {
                true => String::new(),
                false => {
                    let variants: Vec<&str> = it.variants.iter().map(String::as_str).collect();
                    format!(" as {}", variants.join(", "))
                }
            };
            writeln!(text, "          {} {requests}{of}, last {}", it.requests, iso(it.last_at))?;
            if !it.text.is_empty() {
                writeln!(text, "          {}: {}", it.example, it.text)?;
            }
            if let Some(range) = range(it) {
                writeln!(text, "          {range}")?;
            }
        }
        if let Some(PlaceMiss { subject, at, filter, text: sentence, .. }) = &self.nearest {
            writeln!(text, "nearest miss: {subject}, {}: {filter}: {sentence}", iso(*at))?;
        }
        if self.passed_over > 0 {
            let times = self.passed_over;
            writeln!(text, "passed all filters in {times} more decisions, and others were chosen")?;
        }
        let [count, jobs] = self.of_a_day;
        let jobs = jobs_text(jobs);
        if let Some(since) = self.sent_since {
            let since = iso(since);
            writeln!(text, "sent there since {since}: {jobs} by {count} decisions")?;
        }
        for it in self.accepted.iter().take(ACCEPTED_SHOWN) {
            let (at, jobs, share) = (iso(it.at), jobs_text(it.jobs), or_none(&it.gshare));
            let Accepted { subject, user, weight, .. } = it;
            let weight = number(*weight);
            writeln!(
                text,
                "  {at}  {subject}: {jobs}, share {share}, user {user}, weight {weight}"
            )?;
        }
        Ok(())
    }
}

impl Rejecting {
    fn describe(&mut self, filter: &str, context: &Context<'_>) {
        if let Some(known) = context.filter(filter) {
            (self.help, self.spec) = (context.help(known), known.spec);
        }
    }
}

/// The figures of a filter's objections, where they differ.
fn range(it: &Rejecting) -> Option<String> {
    let words = |name: &str, range: Option<[f64; 2]>| {
        let [from, to] = range?;
        let to = if from < to { format!(" to {}", short(to)) } else { String::new() };
        Some(format!("{name} {}{to}", short(from)))
    };
    if it.decisions < 2 {
        return None;
    }
    let both = [words("measured", it.measured), words("limit", it.limit)];
    let words: Vec<String> = both.into_iter().flatten().collect();
    (!words.is_empty()).then(|| format!("{} {}", words.join(", "), it.unit).trim_end().to_owned())
}

fn widen(range: &mut Option<[f64; 2]>, figure: Option<f64>) {
    if let Some(figure) = figure {
        let [from, to] = range.unwrap_or([figure, figure]);
        *range = Some([from.min(figure), to.max(figure)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::tests::decision;
    use crate::policy::kinds;

    fn fate(queue: &str, filter: &'static str, reason: &'static str, measured: f64) -> Fate {
        let (queue, filter, reason) = (queue.into(), filter.into(), reason.into());
        Fate { queue, filter, reason, measured, limit: 10.0 }
    }

    #[test]
    fn a_queue_knows_its_own_filters_with_the_range_of_figures_and_nothing_of_others() {
        let mut story = PlaceStory::new(vec!["A".into()], BTreeSet::new());
        let refused = |measured| {
            let fates = vec![
                fate("A/SCORE", "cap", "cap", measured),
                fate("A/MCORE", "cap", "cap", measured),
                fate("AB", "cap", "cap", 10.5),
                fate("B", "status", "offline", 3.0),
            ];
            decision(Outcome::Defer { until: 0 }, fates, Vec::new())
        };
        let context = Context::of_kinds(kinds());
        let off = decision(
            Outcome::Defer { until: 0 },
            vec![fate("A", "status", "offline", 3.0)],
            Vec::new(),
        );
        for (number, it) in (1..).zip([refused(12.0), refused(44.0), off]) {
            story.add(&Decision { number, ..it }, &context, 0);
        }
        assert_eq!(story.decisions, 3);
        let cap = &story.rejecting["cap"];
        assert_eq!((cap.decisions, cap.requests, cap.measured), (2, 1, Some([12.0, 44.0])));
        assert_eq!((cap.limit, cap.unit), (Some([10.0, 10.0]), "jobs"));
        assert!(cap.variants.contains("SCORE"));
        let status = &story.rejecting["status"];
        assert_eq!((status.measured, status.limit), (None, None), "codes are no figures");
        assert_eq!(story.nearest.as_ref().unwrap().text, "12 jobs are ready to run; limit 10");
        let text = story.text("requests");
        assert!(text.contains("measured 12 to 44, limit 10 jobs\n"), "{text}");
        assert!(text.contains("the queue is offline, not online"), "{text}");
        assert!(!text.contains("AB") && !text.contains("B:"), "{text}");
    }
}
