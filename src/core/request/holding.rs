//! Who is held as a whole: throttles set, said again, lifted, at a cut (spec atlas 8.1).
//!
//! Levels, not edges: what is said of a subject follows from what is known at the cut and from the
//! words said of it before. What is remembered here only tells of whom nothing new can be said.

use crate::core::engine::Engine;
use crate::core::event::TaskPhase;
use crate::core::id::Name;
use crate::core::output::throttle::{
    Action, Subject, SubjectKind, Throttle, ThrottleId, key, name, owner_of,
};
use crate::core::policy::rule::Rule;
use crate::core::policy::throttling::{self, Gauge, Margin, Step, Throttling};
use crate::core::request::waiting::has_turn;
use crate::core::state::ledger::GROUP;
use std::collections::{BTreeMap, BTreeSet};

/// Whom throttles may be said of.
#[derive(Default)]
pub(crate) struct Holding {
    /// Owners that are to be looked at in this cycle.
    owners: BTreeSet<Subject>,
    /// Requests judged in this cycle.
    judged: Vec<String>,
    /// Whether tasks are looked at in this cycle that were not judged in it.
    looks: bool,
    /// Whose each request is of a task that may ask for more.
    whose: BTreeMap<String, Subject>,
    /// How many such requests each owner has.
    asking: BTreeMap<Subject, u32>,
}

impl Holding {
    /// A request was judged.
    pub(crate) fn judged(&mut self, subject: &str) {
        self.judged.push(subject.to_owned());
    }

    /// Notes whose a request is now; `None`: nobody's who could ask for more. That owner is looked
    /// at.
    fn note(&mut self, subject: &str, owner: Option<Subject>) {
        let before = match owner.clone() {
            Some(owner) => self.whose.insert(subject.to_owned(), owner),
            None => self.whose.remove(subject),
        };
        if before == owner {
            return;
        }
        if let Some(before) = before
            && let Some(count) = self.asking.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                self.asking.remove(&before);
            }
        }
        if let Some(owner) = owner {
            *self.asking.entry(owner.clone()).or_default() += 1;
            self.owners.insert(owner);
        }
    }
}

/// By which policy throttles are said, and its parameters.
struct Speaker {
    policy: usize,
    throttling: &'static Throttling,
    margin: Margin,
}

impl Engine {
    /// Throttles are said by the first policy that has any: a subject has one of each rule.
    fn speaker(&mut self) -> Option<Speaker> {
        let policy = self.policies.iter().position(|policy| policy.throttling().is_some())?;
        let throttling = self.policies[policy].throttling()?;
        self.resolve(policy, "");
        let ready = self.resolved.get(policy, "")?;
        let margin = (throttling.margin)(&ready.resolved.own);
        Some(Speaker { policy, throttling, margin })
    }

    /// Takes up of whom something new may be said, before what was touched is forgotten.
    pub(crate) fn settle_holding(&mut self, is_cold: bool) {
        self.holding.judged.clear();
        self.holding.looks = self.looks_at_held();
        let Some(Speaker { policy, .. }) = self.speaker() else { return };
        let touched = &self.state.touched;
        let everyone = is_cold || touched.everyone || touched.queues || touched.settings;
        self.note_requests(policy, is_cold);
        if everyone {
            self.holding.owners.extend(self.holding.asking.keys().cloned());
            let throttles = self.state.throttles.iter();
            let held = throttles.map(|(_, it)| (it.kind, it.subject.clone()));
            self.holding.owners.extend(held);
            return;
        }
        let (state, owners) = (&self.state, &mut self.holding.owners);
        for [owner, kind] in &state.touched.owners {
            let kind = if *kind == GROUP { SubjectKind::Group } else { SubjectKind::User };
            owners.insert((kind, state.names.text(Name(*owner)).to_owned()));
        }
        owners.extend(state.touched.accounts.iter().cloned());
        let due = state.touched.throttles.iter().filter_map(|name| state.throttles.of(name));
        owners.extend(due.map(|it| (it.kind, it.subject.clone())));
    }

    /// Brings up to date who has a task that may ask for more; all of it at first.
    fn note_requests(&mut self, policy: usize, is_cold: bool) {
        let state = &self.state;
        let mut subjects: BTreeSet<&str> = BTreeSet::new();
        if is_cold {
            self.holding.whose.clear();
            self.holding.asking.clear();
            subjects.extend(state.asks.by_name.keys().map(String::as_str));
        }
        for subject in &state.touched.subjects {
            subjects.insert(subject);
            // The end of a task is that of its chunks.
            subjects.extend(state.chunks.get(subject).into_iter().flatten().map(String::as_str));
        }
        let wanted = self.policies[policy].spec.name.as_str();
        for subject in subjects {
            let task = state.asks.of(subject).and_then(|ask| ask.task.as_ref());
            let asks = task.filter(|task| {
                let whole = state.asks.of(&task.task).and_then(|ask| ask.task.as_ref());
                let is_over = whole.is_some_and(|whole| whole.phase == TaskPhase::Ended);
                task.phase == TaskPhase::Asking && task.policy == wanted && !is_over
            });
            let owner = asks.map(owner_of).map(|(kind, name)| (kind, name.to_owned()));
            self.holding.note(subject, owner);
        }
    }

    /// What is to be said of throttles in this cycle, after its judgements; not yet counted.
    pub(crate) fn throttles(&mut self) -> Vec<Throttle> {
        let mut said = Vec::new();
        let Some(speaker) = self.speaker() else { return said };
        let budget = self.state.setting.limits.throttles_per_cycle;
        while let Some(subject) = self.holding.owners.pop_first() {
            let words = self.words_on_owner(&speaker, &subject);
            if said.len() + words.len() > budget {
                self.holding.owners.insert(subject);
                break;
            }
            said.extend(words);
        }
        for task in self.tasks_to_look_at(&speaker) {
            if said.len() < budget {
                said.extend(self.word_on_task(&speaker, task));
            }
        }
        for (number, throttle) in said.iter_mut().enumerate() {
            throttle.number = number as u32;
        }
        said
    }

    /// Counts a word on a throttle that was said.
    pub(crate) fn throttled(&mut self, throttle: &Throttle) {
        self.state.fold_throttle(throttle);
    }

    fn words_on_owner(&self, speaker: &Speaker, subject: &Subject) -> Vec<Throttle> {
        let (kind, owner) = subject;
        let asks = self.holding.asking.contains_key(subject);
        let known = |rule: Rule| self.state.throttles.of(&name(*kind, owner, rule.name()));
        let stands = |rule: Rule| known(rule).is_some_and(|it| it.stands(self.state.now));
        // Most have nothing to be held, and are not held.
        if !asks && !Rule::OF_OWNERS.into_iter().any(stands) {
            return Vec::new();
        }
        let Some(ready) = self.resolved.get(speaker.policy, "") else {
            return Vec::new();
        };
        let facts = self.world.owner(&self.state, (*kind, owner.as_str()));
        let gauges = (speaker.throttling.of_owner)(&facts, *kind, &ready.resolved.own);
        let word = |rule: Rule| {
            let gauge = gauges.iter().find(|gauge| gauge.rule == rule);
            self.word(speaker, subject, rule, gauge, asks)
        };
        Rule::OF_OWNERS.into_iter().filter_map(word).collect()
    }

    /// Tasks that wait: those whose request was judged in this cycle; from time to time all, or in
    /// each cycle those whose turn it is.
    fn tasks_to_look_at(&self, speaker: &Speaker) -> BTreeSet<String> {
        let (state, holding) = (&self.state, &self.holding);
        let task = |subject: &String| Some(state.asks.of(subject)?.task.as_ref()?.task.clone());
        let waits = |subject: &&String| self.waiting.contains(subject);
        let mut tasks: BTreeSet<String> =
            holding.judged.iter().filter(waits).filter_map(task).collect();
        // Where requests take turns, so do these.
        let (number, parts) = (state.number, self.parts);
        if holding.looks || parts > 1 {
            let held = self.waiting.in_turn(number, parts).filter(|waiting| waiting.is_held);
            tasks.extend(held.filter_map(|waiting| task(&waiting.turn.2)));
            let stands = state.throttles.iter().filter(|(_, it)| it.stands(state.now));
            let of_tasks = stands.filter(|(_, it)| it.kind == SubjectKind::Task);
            let in_turn = of_tasks.filter(|(_, it)| has_turn(&it.subject, number, parts));
            tasks.extend(in_turn.map(|(_, it)| it.subject.clone()));
        }
        let wanted = self.policies[speaker.policy].spec.name.as_str();
        tasks.retain(|task| self.request_of(task, wanted).is_some());
        tasks
    }

    /// The first request of a task that waits, by name.
    fn request_of(&self, task: &str, policy: &str) -> Option<&String> {
        self.state.chunks.get(task)?.iter().find(|subject| {
            let task = self.state.asks.of(subject).and_then(|ask| ask.task.as_ref());
            self.waiting.contains(subject) && task.is_some_and(|it| it.policy == policy)
        })
    }

    fn word_on_task(&mut self, speaker: &Speaker, task: String) -> Option<Throttle> {
        let wanted = self.policies[speaker.policy].spec.name.clone();
        let request = self.request_of(&task, &wanted)?.clone();
        let gshare = self.state.asks.of(&request)?.task.as_ref()?.gshare.clone();
        self.resolve(speaker.policy, &gshare);
        let policy = &self.policies[speaker.policy];
        let resolved = &self.resolved.get(speaker.policy, &gshare)?.resolved;
        let asked = self.state.asks.of(&request)?.task.as_ref()?;
        let mut case = policy.case(asked, self.state.now, resolved);
        self.world.survey(&self.state, &mut case);
        self.world.count_owner(&self.state, &mut case);
        policy.complete(&mut case, resolved);
        let gauge = (speaker.throttling.of_task)(&case, &resolved.own);
        self.word(speaker, &(SubjectKind::Task, task), Rule::Share, gauge.as_ref(), true)
    }

    /// What is to be said of a subject by a rule, if anything.
    fn word(
        &self,
        speaker: &Speaker,
        subject: &Subject,
        rule: Rule,
        gauge: Option<&Gauge>,
        asks: bool,
    ) -> Option<Throttle> {
        let (state, Speaker { margin, .. }) = (&self.state, speaker);
        let (kind, whom) = subject;
        let before = state.throttles.of(&name(*kind, whom, rule.name()));
        let step = throttling::step(before, gauge, asks, margin, state.now)?;
        let (measured, limit) = gauge.map_or((0.0, 0.0), |it| (it.measured, it.limit));
        let ordinal = before.map_or(1, |before| before.ordinal.saturating_add(1));
        let (words, policy) = (rule.words(), &self.policies[speaker.policy]);
        let domain = state.setting.domain.as_str();
        let (action, since) = match step {
            Step::Set(since) => (Action::Set, since),
            Step::Lift => (Action::Lift, state.now),
        };
        let if_set = |at: i64| (action == Action::Set).then_some(at);
        let mut notes = self.time_notes();
        if gauge.is_none() {
            notes.push(NO_LIMIT.to_owned());
        }
        Some(Throttle {
            id: ThrottleId::derive(domain, words.name, &key(*kind, whom), ordinal),
            domain: domain.to_owned(),
            kind: *kind,
            subject: whom.clone(),
            action,
            rule: words.name.to_owned(),
            ordinal,
            counter: words.counter.to_owned(),
            measured,
            limit,
            unit: words.unit.to_owned(),
            until: if_set(state.now.saturating_add(margin.lapse)),
            epoch: state.epoch,
            cycle: state.number,
            number: 0,
            now: state.now,
            policy: policy.spec.name.clone(),
            policy_hash: policy.hash().to_owned(),
            notes,
            since: Some(since),
            lift_limit: margin.lift_limit(limit),
            lift_from: if_set(since.saturating_add(margin.dwell)),
        })
    }
}

/// Noted where a throttle is lifted since its rule has no limit any more.
const NO_LIMIT: &str = "no_limit";
