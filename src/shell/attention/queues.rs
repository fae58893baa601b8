//! Queues in trouble: closed with jobs in them, without pilots, without starts, failing, crowded.
//! A site of a pool and a queue of a cluster are queues here.

use super::facts::Facts;
use super::memory::Memory;
use super::words::{count, jobs, span, things};
use super::{ALIKE_MAX, Item, NAMES_MAX, Severity};
use crate::view::QueueView;
use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;
use yardmaster_wire::topology::{AttentionSettings, hours};

/// Trouble of a queue.
#[derive(Clone, Debug)]
pub(super) struct QueueFinding {
    pub queue: String,
    /// The site that it belongs to; its own name where no fact names one.
    pub site: String,
    pub severity: Severity,
    pub rule: &'static str,
    pub title: String,
    pub text: String,
    pub since: Option<Millis>,
    /// Jobs behind it.
    pub jobs: u64,
}

/// All trouble of all queues: of each queue the cause before what follows from it.
pub(super) fn findings(
    facts: &Facts<'_>,
    settings: &AttentionSettings,
    memory: &mut Memory,
) -> Vec<QueueFinding> {
    let mut found = Vec::new();
    for queue in &facts.view.queues {
        let ended = facts.ended.get(&queue.queue).copied().unwrap_or_default();
        let look = QueueLook { queue, ended, settings, now: facts.now() };
        if !look.has_queued() {
            memory.note_idle(&queue.queue, facts.now());
        }
        // What began without a date is remembered, whatever else is found.
        let no_start = look.no_start(memory);
        let first = [look.silent(), look.closed(memory), look.no_pilot(memory), no_start];
        let then = [look.no_offer(), look.failing(), look.crowded()];
        found.extend(first.into_iter().chain(then).flatten());
    }
    found
}

/// The site that a queue belongs to.
pub(super) fn site_of(queue: &QueueView) -> &str {
    let cluster = || queue.queue.split('/').next().unwrap_or_default();
    if queue.site.is_empty() { cluster() } else { &queue.site }
}

struct QueueLook<'a> {
    queue: &'a QueueView,
    /// Jobs that failed, and all that ended.
    ended: [u64; 2],
    settings: &'a AttentionSettings,
    now: Millis,
}

impl QueueLook<'_> {
    fn find(
        &self,
        rule: &'static str,
        severity: Severity,
        (title, text): (&str, String),
        since: Option<Millis>,
    ) -> QueueFinding {
        let name = &self.queue.queue;
        QueueFinding {
            queue: name.clone(),
            site: site_of(self.queue).to_owned(),
            severity,
            rule,
            title: format!("{name} {title}"),
            text,
            since,
            jobs: self.queue.queued.max(self.queue.running),
        }
    }

    fn has_queued(&self) -> bool {
        self.queue.queued >= self.settings.queued_min.unsigned_abs()
    }

    /// Whether jobs are there, or a site of a pool has a quota: else it is but worth knowing.
    fn by_load(&self) -> Severity {
        let is_used = self.queue.running > 0 || self.queue.queued > 0;
        if is_used || self.queue.offers.is_some() { Severity::Watch } else { Severity::Note }
    }

    /// A site of a pool that takes jobs and offers nothing.
    fn no_offer(&self) -> Option<QueueFinding> {
        let last = self.queue.last_offer_at?;
        let (age, cores) = (self.now.saturating_sub(last), self.queue.pledged_cores.unwrap_or(0));
        let is_long = age >= hours(self.settings.no_start_watch_h);
        if self.queue.offers != Some(0) || self.queue.is_closed() || cores == 0 || !is_long {
            return None;
        }
        let text = format!(
            "Its last offer is {} old; it has a pledge of {} cores, {} run.",
            span(age),
            count(cores),
            count(self.queue.running)
        );
        Some(self.find("no_offer", Severity::Watch, ("offers no slots", text), Some(last)))
    }

    /// Jobs of the queue as the second half of a sentence. At a site of a pool none are queued:
    /// what waits is at no site.
    fn load(&self) -> String {
        let QueueView { queued, running, offers, .. } = self.queue;
        match offers {
            Some(_) => format!("{} run", count(*running)),
            None => format!("{} queued, {} run", count(*queued), count(*running)),
        }
    }

    fn silent(&self) -> Option<QueueFinding> {
        if !self.queue.is_silent() {
            return None;
        }
        let since = self.queue.as_of;
        let old = since.map(|at| span(self.now.saturating_sub(at)));
        let old = old.map_or(String::new(), |old| format!("; what is known of it is {old} old"));
        let text = format!("{}{old}.", self.load());
        Some(self.find("silent", self.by_load(), ("does not answer", text), since))
    }

    fn closed(&self, memory: &mut Memory) -> Option<QueueFinding> {
        let QueueView { queue, status, changed_at, .. } = self.queue;
        if !self.queue.is_closed() || self.queue.is_silent() {
            return None;
        }
        // A record that changed since the status was seen first has not changed the status.
        let word = status.split([',', ' ']).next().unwrap_or_default();
        let seen = memory.since("closed", &format!("{queue} {word}"), self.now);
        let since = changed_at.map_or(seen, |at| seen.min(at));
        // Seen first just now, it is not known since when it is so.
        let since = Some(since).filter(|since| *since < self.now);
        let (title, text, severity) = match self.queue.pledged_cores {
            Some(cores @ 1..) => {
                let text =
                    format!("It gets no new jobs and has {} cores: {}.", count(cores), self.load());
                (format!("is {status}"), text, self.by_load())
            }
            _ if !self.has_queued() => return None,
            _ => {
                let text = format!("It gets no new jobs: {}.", self.load());
                (format!("is {status} with jobs queued"), text, Severity::Watch)
            }
        };
        Some(self.find("closed", severity, (&title, text), since))
    }

    fn no_pilot(&self, memory: &Memory) -> Option<QueueFinding> {
        let last = self.queue.last_pilot_at?;
        let last = match self.has_queued() {
            true => memory.not_before_idle(&self.queue.queue, last),
            false => last,
        };
        let age = self.now.saturating_sub(last);
        let is_silent = age >= hours(self.settings.no_pilot_h);
        // Pilots of jobs that run report, however few are queued.
        let has_work = self.has_queued() || self.queue.running > 0;
        if self.queue.is_closed() || !has_work || !is_silent {
            return None;
        }
        let is_long = age >= hours(self.settings.no_start_act_h);
        let severity = if is_long { Severity::Act } else { Severity::Watch };
        let text = format!("No pilot reported for {}: {}.", span(age), self.load());
        Some(self.find("no_pilot", severity, ("has no pilots", text), Some(last)))
    }

    fn no_start(&self, memory: &mut Memory) -> Option<QueueFinding> {
        if self.queue.is_closed() || !self.has_queued() {
            return None;
        }
        let last = self.queue.last_start_at;
        let since = match last {
            Some(last) => memory.not_before_idle(&self.queue.queue, last),
            None => memory.since("no_start", &self.queue.queue, self.now),
        };
        let age = self.now.saturating_sub(since);
        let severity = match age {
            age if age >= hours(self.settings.no_start_act_h) => Severity::Act,
            age if age >= hours(self.settings.no_start_watch_h) => Severity::Watch,
            _ => return None,
        };
        let QueueView { queued, running, .. } = self.queue;
        let (queued, running) = (jobs(*queued), count(*running));
        let text =
            format!("None of {queued} that are queued started for {}; {running} run.", span(age));
        Some(self.find("no_start", severity, ("starts nothing", text), Some(since)))
    }

    fn failing(&self) -> Option<QueueFinding> {
        let [failed, ended] = self.ended;
        let (least, span_h) = (self.settings.failing_min.unsigned_abs(), self.settings.failing_h);
        if ended < least {
            return None;
        }
        let percent = 100 * failed / ended.max(1);
        let is_at_least = |threshold: i64| percent >= threshold.unsigned_abs();
        let severity = match () {
            () if is_at_least(self.settings.failing_act_percent) => Severity::Act,
            () if is_at_least(self.settings.failing_watch_percent) => Severity::Watch,
            () => return None,
        };
        let rounded = (100 * failed + ended / 2) / ended.max(1);
        let (failed, ended) = (count(failed), jobs(ended));
        let text =
            format!("{failed} of {ended} that ended in the last {span_h} h failed ({rounded} %).");
        Some(self.find("failing", severity, ("fails", text), None))
    }

    fn crowded(&self) -> Option<QueueFinding> {
        let QueueView { queued, running, .. } = self.queue;
        let least = self.settings.crowded_min.unsigned_abs();
        let ratio = self.settings.crowded_ratio.unsigned_abs();
        if self.queue.is_closed() || *queued < least || *queued < running.saturating_mul(ratio) {
            return None;
        }
        let text = match queued.checked_div(*running) {
            Some(times) => format!(
                "{} are queued behind {} that run, {times} times as many.",
                jobs(*queued),
                count(*running)
            ),
            None => format!("{} are queued, and none runs.", jobs(*queued)),
        };
        Some(self.find("crowded", Severity::Watch, ("is crowded", text), None))
    }
}

/// Items of what was found: of each queue the first of its most urgent findings, and one for
/// several queues of a site, or for many sites, that have the same.
pub(super) fn items(found: &[QueueFinding]) -> Vec<Item> {
    let mut of_queue: BTreeMap<&str, &QueueFinding> = BTreeMap::new();
    for finding in found {
        let first = of_queue.entry(&finding.queue).or_insert(finding);
        if finding.severity < first.severity {
            *first = finding;
        }
    }
    let mut by_cause: BTreeMap<(&str, &str), Vec<&QueueFinding>> = BTreeMap::new();
    for finding in of_queue.into_values() {
        by_cause.entry((&finding.site, finding.rule)).or_default().push(finding);
    }
    let mut alike: BTreeMap<(&str, Severity), Vec<Item>> = BTreeMap::new();
    for item in by_cause.into_iter().filter_map(|((site, _), all)| item(site, &all)) {
        alike.entry((item.rule, item.severity)).or_default().push(item);
    }
    alike.into_values().flat_map(joined).collect()
}

/// Items of one rule and urgency; as one where they are too many to be read.
fn joined(mut all: Vec<Item>) -> Vec<Item> {
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    let Some(worst) = all.first().filter(|_| all.len() > ALIKE_MAX) else { return all };
    let queues = |item: &Item| match item.names.is_empty() {
        true => vec![item.name.clone()],
        false => item.names.clone(),
    };
    let names: Vec<String> = all.iter().flat_map(queues).collect();
    let largest: Vec<String> = all.iter().take(2).map(|it| it.name.clone()).collect();
    let item = Item {
        kind: "queue",
        title: format!("{} {}", things(names.len() as u64, "queue", "queues"), verdict(worst.rule)),
        text: format!("{} and more. {}: {}", largest.join(", "), worst.name, worst.text),
        since: all.iter().filter_map(|it| it.since).min(),
        count: all.iter().map(|it| it.count).sum(),
        names: names.into_iter().take(NAMES_MAX).collect(),
        ..worst.clone()
    };
    vec![item]
}

/// The verdict of a rule about several queues.
fn verdict(rule: &str) -> &'static str {
    match rule {
        "silent" => "do not answer",
        "closed" => "take no jobs",
        "no_offer" => "offer no slots",
        "no_pilot" => "have no pilots",
        "no_start" => "start nothing",
        "failing" => "fail",
        _ => "are crowded",
    }
}

fn item(site: &str, all: &[&QueueFinding]) -> Option<Item> {
    let worst = all.iter().min_by_key(|it| (it.severity, std::cmp::Reverse(it.jobs)))?;
    let one = Item {
        severity: worst.severity,
        rule: worst.rule,
        kind: "queue",
        name: worst.queue.clone(),
        names: Vec::new(),
        title: worst.title.clone(),
        text: worst.text.clone(),
        since: worst.since,
        count: worst.jobs,
    };
    if all.len() == 1 {
        return Some(one);
    }
    Some(Item {
        kind: "site",
        name: site.to_owned(),
        names: all.iter().take(NAMES_MAX).map(|it| it.queue.clone()).collect(),
        title: format!("{site}: {} queues {}", all.len(), verdict(worst.rule)),
        text: format!("{}: {}", worst.queue, worst.text),
        since: all.iter().filter_map(|it| it.since).min(),
        count: all.iter().map(|it| it.jobs).sum(),
        ..one
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(at: u64, rule: &'static str, severity: Severity) -> QueueFinding {
        let site = format!("SITE_{at}");
        QueueFinding {
            queue: site.clone(),
            title: format!("{site} starts nothing"),
            text: format!("None of {at} jobs that are queued started."),
            site,
            severity,
            rule,
            since: Some(at.cast_signed()),
            jobs: at,
        }
    }

    #[test]
    fn many_sites_with_the_same_trouble_are_one_item() {
        let act = |at| finding(at, "no_start", Severity::Act);
        assert_eq!(items(&[act(1), act(2), act(3)]).len(), 3);
        let other = finding(9, "failing", Severity::Watch);
        let found = items(&[act(1), act(2), act(3), act(4), other]);
        let [failing, many] = &found[..] else { panic!("{found:#?}") };
        assert_eq!(failing.rule, "failing");
        assert_eq!(many.title, "4 queues start nothing");
        assert!(
            many.text.starts_with("SITE_4, SITE_3 and more. SITE_4: None of 4"),
            "{}",
            many.text
        );
        assert_eq!((many.since, many.count, many.names.len()), (Some(1), 10, 4));
    }
}
