//! `explain`: all that is known of a name, now or as of a moment.

mod answer;

pub(super) use answer::ExplainedAnswer;

use super::domains::Of;
use super::event::EventAnswer;
use super::lists::counted_at;
use super::query::{AT, DOMAIN, Parameter, Params, Query};
use super::throttles::looked;
use super::{Api, Reasons, Refused, beside, json};
use crate::history::{History, Search};
use crate::named::{owner_text, waits_text};
use crate::place::{NamedPlace, PlaceKind};
use crate::question::{Answer, Asked};
use answer::ExplainedPlace;
use axum::response::Response;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::{
    FilledBy, NameStanding, explain, explain_command, explain_throttle, headline, join,
};
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::output::throttle::{Action, Throttle};
use yardmaster_core::output::{About, Output};
use yardmaster_core::state::ledger::Totals;
use yardmaster_core::unit::Millis;

/// Outputs of a name that are read.
const READ_MAX: usize = 500;
/// Requests, throttles and commands that are shown.
const SHOWN_MAX: usize = 50;
/// Decisions that name a queue or site and are looked at.
const STORY_READ: usize = 500;

const KINDS: [&str; 8] = ["task", "job", "user", "group", "queue", "share", "site", "offer"];
/// Kinds that a name may state before a slash.
const STATED: usize = 7;
pub(super) const PARAMETERS: [Parameter; 4] = [
    Parameter {
        is_required: true,
        ..Parameter::text(
            "name",
            "task, task/chunk, job, slot offer, user, working group, queue, site (of NorduGrid: a \
             cluster), share; user/NAME, queue/NAME and so on state which; a user that has a \
             pseudonym is found by the own name too, and answered under the pseudonym",
        )
    },
    Parameter::text("kind", "task, job, user, group, queue, share, site, offer"),
    AT,
    DOMAIN,
];

/// All that is known of a name.
pub(super) async fn explain_name(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let name = query.text("name").ok_or_else(|| {
        let remedy =
            "give ?name= and a task, task/chunk, job, slot offer, user, group, queue, site, share";
        Refused::Query("no name is given".into(), remedy.into())
    })?;
    let kinds = query.words("kind", &KINDS)?;
    let kind = query.text("kind").and_then(|_| kinds.first().copied());
    // As the terminal takes it: user/NAME, queue/NAME and so on state which.
    let (kind, name) = match name.split_once('/') {
        Some((prefix, rest)) if kind.is_none() && KINDS[..STATED].contains(&prefix) => {
            (KINDS.into_iter().find(|kind| *kind == prefix), rest)
        }
        _ => (kind, name),
    };
    let at = query.moment("at")?;
    let found = look_up(&api, name, kind, at).await;
    // A user that has a pseudonym is found by the own name too, where nothing else has that name.
    let pseudonym = api.reasons.pseudonym(name);
    match (found, pseudonym.filter(|_| kind.is_none_or(|kind| kind == "user"))) {
        (Err(unknown @ Refused::Unknown(..)), Some(pseudonym)) => {
            let found = look_up(&api, &pseudonym, Some("user"), at).await;
            found.map_err(|error| if let Refused::Unknown(..) = error { unknown } else { error })
        }
        (found, _) => found,
    }
}

/// All that is known of this very name.
async fn look_up(
    api: &Api,
    name: &str,
    kind: Option<&'static str>,
    at: Option<Millis>,
) -> Result<Response, Refused> {
    let (standing, queues, shares) = match at {
        None => {
            let shown = api.views.get(api.client.answer_max()).await;
            let mut standing = match api.client.ask(Asked::Standing(name.to_owned())).await? {
                Answer::Standing(standing) => *standing,
                _ => NameStanding::default(),
            };
            // Without a look in time only these lines are missing.
            if standing.is_workflow
                && let (Some(pool), Ok(looked)) = (&mut standing.pool, looked(api).await)
            {
                let waiting = &looked.view;
                let row = waiting.rows.iter().find(|row| row.task == name);
                pool.extend(row.map(|row| waits_text(row, waiting.now)));
            }
            let shares = shown.as_ref().map(|it| it.view.shares.clone()).unwrap_or_default();
            let queues = shown.map(|it| it.view.queues.clone()).unwrap_or_default();
            (standing, queues, shares)
        }
        Some(at) => {
            let _turn = api.past.looks.turn().await?;
            let counted = counted_at(api, at).await?;
            let (cycle, now) = (counted.cycle, counted.now);
            (NameStanding { cycle, now, ..NameStanding::default() }, counted.queues, Vec::new())
        }
    };
    let place_kind = kind.and_then(place_kind);
    let place = match (kind, place_kind) {
        (Some(_), None) => None,
        _ => NamedPlace::find(&queues, &shares, name, place_kind),
    };
    // Who fills it is counted as of now alone: the history keeps no counters by user and queue.
    let filled = match place.as_ref().filter(|_| at.is_none()) {
        None => FilledBy::default(),
        Some(place) => match api.client.ask(Asked::Filled(place.filled_of())).await? {
            Answer::Filled(filled) => filled,
            _ => FilledBy::default(),
        },
    };
    let (past, reasons, name) = (api.past()?, api.reasons.clone(), name.to_owned());
    let looked = Looked { name, kind, at, standing, place, filled };
    beside(move || looked.answer(&past, &reasons)).await?.map(|answer| json(&answer))
}

/// The kind of place that a kind is; `None`: it is none.
fn place_kind(kind: &str) -> Option<PlaceKind> {
    match kind {
        "queue" => Some(PlaceKind::Queue),
        "site" => Some(PlaceKind::Site),
        "share" => Some(PlaceKind::Share),
        _ => None,
    }
}

/// Result of looking up a name.
pub(super) struct Looked {
    name: String,
    kind: Option<&'static str>,
    at: Option<Millis>,
    standing: NameStanding,
    place: Option<NamedPlace>,
    filled: FilledBy,
}

impl Looked {
    fn answer(self, past: &History, reasons: &Reasons) -> Result<ExplainedAnswer, Refused> {
        let to = self.at.unwrap_or(Millis::MAX);
        let found = past.search(&Search {
            topics: Output::TOPICS,
            after: 0,
            before: u64::MAX,
            from: Millis::MIN,
            to,
            names: &[&self.name],
            wants: &|_| true,
            limit: READ_MAX,
        });
        let known = self.kind_of(&found.outputs, reasons);
        let kind = known.map(|known| self.kind.unwrap_or(known));
        let Some(kind) = kind else {
            return Err(Refused::Unknown(
                format!("nothing of the name {:?} is known", self.name),
                "give a task, task/chunk, job, slot offer, user, working group, queue, site or \
                 share; what is older than the history is shown by `yardmaster explain`, which \
                 reads the log"
                    .into(),
            ));
        };
        let place = self.place.as_ref().filter(|_| ["queue", "site", "share"].contains(&kind));
        let place = place.map(|place| self.explained(place, past, reasons));
        let decisions = newest_of_each(&found.outputs);
        let state = match &place {
            Some(place) => ("known", place.headline.clone()),
            None => self.headline(kind, &decisions),
        };
        let outputs = &found.outputs;
        Ok(ExplainedAnswer::of(&self, kind, outputs, &decisions, state, place, reasons))
    }

    /// A place with its story in the newest decisions that name it.
    fn explained(&self, place: &NamedPlace, past: &History, reasons: &Reasons) -> ExplainedPlace {
        let (words, now) = (reasons.words(), self.standing.now);
        let mut story = place.story(self.standing.offers.clone());
        let found = past.search(&Search {
            topics: &[Topic::Decision],
            after: 0,
            before: u64::MAX,
            from: Millis::MIN,
            to: self.at.unwrap_or(Millis::MAX),
            names: &[],
            wants: &|output| output.decision().is_some_and(|it| story.is_in(it)),
            limit: STORY_READ,
        });
        for decision in found.outputs.iter().filter_map(|(_, output)| output.decision()) {
            reasons.explain(decision, |context| story.add(decision, context, now));
        }
        let waiting = self.at.is_none().then_some(self.standing.waiting);
        let text = place.text(words, now, &self.filled, (&story, waiting));
        let headline = place.headline(words, &self.filled, &story);
        ExplainedPlace { place: place.clone(), headline, story, text, waiting }
    }

    /// Kind of the thing that has the name, judged by the results.
    fn kind_of(&self, outputs: &[(u64, Output)], reasons: &Reasons) -> Option<&'static str> {
        let standing = &self.standing;
        let name = self.name.as_str();
        let any = |is: &dyn Fn(&Output) -> bool| outputs.iter().any(|(_, output)| is(output));
        let is_task = |output: &Output| {
            let Output::Decision(it) = output else { return false };
            it.task == name || it.subject == name
        };
        let is_offer = |output: &Output| {
            let Output::Decision(it) = output else { return false };
            it.subject == name && it.answers_offer()
        };
        let is_matched = |output: &Output| {
            let Output::Decision(it) = output else { return false };
            it.matched.as_ref().is_some_and(|it| it.job == name)
        };
        let is_about = |what: About| move |output: &Output| output.is_about(what, name);
        let is_job = |output: &Output| {
            let Output::Command(it) = output else { return false };
            it.about().contains(&self.name)
        };
        let has = |totals: Option<Totals>, asking: u64| {
            asking > 0 || totals.is_some_and(|it| it != Totals::default())
        };
        let [of_user, of_group] = standing.asking;
        // Fast rebrokerage is about a queue and a share.
        let is_of_queue = |output: &Output| {
            let Output::Command(it) = output else { return false };
            it.subject == name && !it.queue.is_empty() && !it.about().contains(&self.name)
        };
        // Of a pool of slots a queue is a site; a cluster of NorduGrid is a site, too.
        let words = reasons.words();
        let place = self.place.as_ref().map(|it| match (it.kind, words.noun(it.kind)) {
            (PlaceKind::Share, _) => "share",
            (PlaceKind::Queue, "queue") => "queue",
            (PlaceKind::Queue | PlaceKind::Site, _) => "site",
        });
        if let Some("queue") = place {
            place
        } else if any(&is_of_queue) {
            Some("queue")
        } else if any(&is_matched) {
            Some("job")
        } else if any(&is_offer) {
            Some("offer")
        } else if any(&is_task) || !standing.requests.is_empty() {
            Some("task")
        } else if any(&is_about(About::User)) || has(standing.user, of_user) {
            Some("user")
        } else if any(&is_about(About::Group)) || has(standing.group, of_group) {
            Some("group")
        } else if standing.job.is_some() || any(&is_job) {
            Some("job")
        } else if standing.pool.is_some() {
            Some("task")
        } else if place.is_some() {
            place
        } else if any(&|output| matches!(output, Output::Decision(it) if it.gshare == name)) {
            Some("share")
        } else {
            None
        }
    }

    /// State and sentence.
    fn headline(&self, kind: &str, decisions: &[Decision]) -> (&'static str, String) {
        let standing = &self.standing;
        let holding = standing.throttles.iter().find(|it| it.stands(standing.now));
        if let Some(throttle) = holding {
            return ("throttled", throttled(throttle));
        }
        if let Some(job) = standing.job.as_ref().filter(|_| kind == "job") {
            return ("known", job.text.lines().next().unwrap_or_default().to_owned());
        }
        if let ("offer" | "job", Some(newest)) = (kind, decisions.first()) {
            let (count, sentence) = (decisions.len(), headline(newest));
            let all =
                if count == 1 { String::new() } else { format!("{count} answers, at last: ") };
            return (state_of(newest), format!("{all}{sentence}"));
        }
        if kind != "task" {
            let count = decisions.len();
            return ("known", format!("{kind} {}: {count} requests in the history", self.name));
        }
        let unanswered =
            standing.requests.iter().filter(|it| it.is_unanswered && it.is_open).count();
        match decisions {
            [] if unanswered > 0 => (
                "not_judged",
                "Asked, and not judged yet: its turn comes in the next cycles".into(),
            ),
            [] => ("known", "Known, and no decision about it in the history".into()),
            [one] => (state_of(one), headline(one)),
            many => of_many(many, unanswered),
        }
    }

    /// Totals of the user or working group of the name, and how many of its requests wait.
    fn owner(&self, kind: &str) -> Option<(Totals, u64)> {
        let [of_user, of_group] = self.standing.asking;
        let (totals, asking) = match kind {
            "user" => (self.standing.user, of_user),
            "group" => (self.standing.group, of_group),
            _ => return None,
        };
        (totals.is_some() || asking > 0).then(|| (totals.unwrap_or_default(), asking))
    }

    /// As text. Of a user or working group without its decisions, as from the log: these are of its
    /// tasks.
    fn text(
        &self,
        kind: &str,
        decisions: &[Decision],
        all: &[(u64, Output)],
        reasons: &Reasons,
    ) -> String {
        let mut text = String::new();
        let shown = if ["user", "group"].contains(&kind) { 0 } else { SHOWN_MAX };
        for decision in decisions.iter().take(shown) {
            text += &reasons.explain(decision, |context| explain(decision, context));
            text.push('\n');
        }
        let now = self.standing.now;
        let mut throttles: BTreeMap<String, &Throttle> = BTreeMap::new();
        for (_, output) in all.iter().rev() {
            if let Output::Throttle(throttle) = output {
                throttles.insert(throttle.name(), throttle);
            }
        }
        for throttle in throttles.into_values() {
            text += &explain_throttle(throttle, now);
            text.push('\n');
        }
        let job = self.standing.job.as_ref().map(|job| &job.text);
        let owner = if job.or(self.standing.pool.as_ref()).is_some() {
            None
        } else {
            owner_text(&self.standing, &self.name)
        };
        for known in job.into_iter().chain(&self.standing.pool).chain(&owner) {
            text += known;
            text.push('\n');
        }
        for (_, output) in all.iter().take(SHOWN_MAX) {
            if let Output::Command(command) = output {
                text += &explain_command(command, None, now);
                text.push('\n');
            }
        }
        text
    }
}

/// The newest decision of each request, and every answer to an offer of slots, each of which is
/// about another job: the newest first, each with what it does not repeat.
fn newest_of_each(outputs: &[(u64, Output)]) -> Vec<Decision> {
    let decisions = outputs.iter().filter_map(|(_, output)| output.decision());
    let mut all: Vec<Decision> = decisions.cloned().collect();
    all.sort_by(|a, b| {
        let key = |it: &Decision| (it.attempt, it.ordinal);
        a.subject.cmp(&b.subject).then_with(|| key(a).cmp(&key(b)))
    });
    join(&mut all);
    let mut newest: BTreeMap<(String, u32), Decision> = BTreeMap::new();
    for decision in all {
        let request = format!("{}:{}", decision.subject, decision.attempt);
        let answer = if decision.answers_offer() { decision.ordinal } else { 0 };
        newest.insert((request, answer), decision);
    }
    let mut newest: Vec<Decision> = newest.into_values().collect();
    newest.sort_by_key(|it| std::cmp::Reverse((it.cycle, it.number)));
    newest
}

fn state_of(decision: &Decision) -> &'static str {
    match decision.outcome {
        Outcome::Assign(_) => "assigned",
        Outcome::Defer { .. } => "pending",
        Outcome::Reject { .. } => "rejected",
    }
}

/// Of a task with several requests: how many stand how, and the newest of those that wait.
fn of_many(decisions: &[Decision], unanswered: usize) -> (&'static str, String) {
    let mut newest: BTreeMap<&str, &Decision> = BTreeMap::new();
    for decision in decisions {
        let held = newest.entry(&decision.subject).or_insert(decision);
        if decision.attempt > held.attempt {
            *held = decision;
        }
    }
    let of = |state: &str| newest.values().filter(|it| state_of(it) == state).count();
    let (assigned, pending, rejected) = (of("assigned"), of("pending"), of("rejected"));
    let (all, s) =
        (newest.len() + unanswered, if newest.len() + unanswered == 1 { "" } else { "s" });
    let counted = format!(
        "{all} request{s}: {assigned} assigned, {pending} pending, {rejected} rejected, \
         {unanswered} not judged yet"
    );
    let waits = decisions.iter().find(|it| state_of(it) == "pending");
    match waits {
        Some(waits) if pending > 0 => {
            ("pending", format!("{counted}. {}: {}", waits.subject, headline(waits)))
        }
        _ if unanswered > 0 => ("not_judged", counted),
        _ if assigned == 0 => ("rejected", counted),
        _ => ("assigned", counted),
    }
}

fn throttled(throttle: &Throttle) -> String {
    let Throttle { rule, measured, limit, unit, .. } = throttle;
    let how = match (throttle.action, throttle.dry_run) {
        (Action::Set, true) => "Would be throttled",
        (Action::Set | Action::Lift, _) => "Throttled",
    };
    format!("{how} by {rule}: {measured} {unit}, limit {limit}")
}

fn events(outputs: &[(u64, Output)], topic: Topic) -> Vec<EventAnswer> {
    let of_topic = outputs.iter().filter(|(_, output)| output.topic() == topic);
    of_topic.take(SHOWN_MAX).map(|(at, output)| EventAnswer::of(*at, output)).collect()
}
