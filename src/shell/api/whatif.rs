//! What if configuration were another: requests judged once more at the present cut.

use super::decision::{DecisionAnswer, decision_answer};
use super::domains::Of;
use super::query::{DOMAIN, Parameter, Params, Query};
use super::{Reasons, Refused, json};
use crate::described::described;
use crate::question::{Answer, Asked};
use crate::suppose::SupposedField;
use crate::whatif::{JUDGED_MAX, WhatIf, WhatIfAsked, WhatIfOf};
use axum::response::Response;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use yardmaster_core::event::Task;
use yardmaster_core::explain::headline;
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::unit::{DAY, HOUR, Millis};

/// Fields that may be supposed at a time.
const SETS_MAX: usize = 8;
/// Requests and queues that are listed at most.
const CHANGES_MAX: usize = 100;
const QUEUES_MAX: usize = 50;

pub(super) const PARAMETERS: [Parameter; 4] = [
    Parameter {
        is_required: true,
        ..Parameter::text(
            "set",
            "TOPIC.KEY.FIELD=VALUE of a configuration record, or parameter.NAME=VALUE; given again \
             for several, at most 8",
        )
    },
    Parameter::text("task", "only this request, or the requests of this task"),
    Parameter::text("window", "else those that wait and those that asked in the last 1h, 6h, 24h"),
    DOMAIN,
];

/// Parameters of which one may be given several times.
type Pairs = axum::extract::Query<Vec<(String, String)>>;

pub(super) async fn what_if(
    Of(api): Of,
    Params(given): Params,
    axum::extract::Query(pairs): Pairs,
) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let sets = pairs.iter().filter(|(name, set)| name == "set" && !set.is_empty());
    let sets: Vec<String> = sets.map(|(_, set)| set.clone()).collect();
    if sets.is_empty() || sets.len() > SETS_MAX {
        return Err(Refused::Query(
            format!("set is given {} times", sets.len()),
            format!("give 1 to {SETS_MAX}, as set=queue.NAME.status=offline"),
        ));
    }
    let fields: Result<Vec<SupposedField>, String> =
        sets.iter().map(|set| SupposedField::parse_only(set)).collect();
    let fields = fields.map_err(|why| Refused::Query(why, "name a record's field".into()))?;
    let of = match (query.text("task"), query.text("window")) {
        (Some(name), _) => WhatIfOf::Name(name.to_owned()),
        (None, None | Some("1h")) => WhatIfOf::Within(HOUR),
        (None, Some("6h")) => WhatIfOf::Within(6 * HOUR),
        (None, Some("24h")) => WhatIfOf::Within(DAY),
        (None, Some(other)) => {
            let what = format!("window: {other:?} is none that is offered");
            return Err(Refused::Query(what, "give 1h, 6h or 24h".into()));
        }
    };
    let asked = Asked::WhatIf(WhatIfAsked { fields, of: of.clone() });
    let Answer::WhatIf(found) = api.client.ask(asked).await? else {
        return Err(super::lists::late());
    };
    let found = match &*found {
        Ok(found) => found,
        Err((what, remedy)) => return Err(Refused::Query(what.clone(), remedy.clone())),
    };
    if let (WhatIfOf::Name(name), []) = (&of, &found.judged[..]) {
        return Err(Refused::Unknown(
            format!("no request of {name:?} is known that could be judged"),
            "give a task or a request that asked, or leave task out".into(),
        ));
    }
    Ok(json(&WhatIfAnswer::of(found, sets, &api.reasons)))
}

described! {
    /// Answers to requests as it is, and as it would be.
    struct WhatIfAnswer of (it: &WhatIf, sets: Vec<String>, reasons: &Reasons) {
        /// The now of the cycle at which they were judged; ms since 1970.
        now: Millis = it.now,
        /// That cycle.
        cycle: u64 = it.cycle,
        /// What is supposed.
        sets: Vec<String> = sets,
        /// Requests that were judged now, by both; at most 300, of single jobs 50, the newest. Each
        /// as if it were the only one and asked for the first time, so that sums are not what the
        /// queues would hold.
        looked_at: u64 = it.judged.len() as u64,
        /// Requests beyond those.
        left_out: u64 = it.left_out,
        /// Requests that would be answered otherwise.
        changed: u64 = changed(it).count() as u64,
        /// Sums of the answers that they would get now, with configuration as it is.
        before: WhatIfSumsAnswer = WhatIfSumsAnswer::of(&sums(it, 0)),
        /// Sums of the answers that they would get now, with what is supposed.
        after: WhatIfSumsAnswer = WhatIfSumsAnswer::of(&sums(it, 1)),
        /// Queues that would get more jobs or fewer, those with the greatest change first; at most
        /// 50.
        queues: Vec<WhatIfQueueAnswer> = queues(it),
        /// Requests that would be answered otherwise; at most 100.
        changes: Vec<WhatIfChangeAnswer> =
            changed(it).take(CHANGES_MAX).map(|(task, of)| change(task, of)).collect(),
        /// Of a single request: its answer as it is; null: there are several, or it gets none.
        decision_before: Option<DecisionAnswer> = only(it, 0, reasons),
        /// Of a single request: its answer as it would be.
        decision_after: Option<DecisionAnswer> = only(it, 1, reasons),
    }

    /// Sums of answers.
    struct WhatIfSumsAnswer of (it: &[u64; 4]) {
        /// Requests that are assigned.
        assigned: u64 = it[0],
        /// Requests that wait.
        deferred: u64 = it[1],
        /// Requests that are rejected for good, or ask nothing.
        rejected: u64 = it[2],
        /// Jobs that are sent to queues.
        jobs: u64 = it[3],
    }

    /// Jobs of a queue as it is and as it would be.
    struct WhatIfQueueAnswer of (queue: &str, jobs: [u64; 2]) {
        /// The queue.
        queue: String = queue.to_owned(),
        /// Jobs that it gets as it is.
        jobs_before: u64 = jobs[0],
        /// Jobs that it would get.
        jobs_after: u64 = jobs[1],
    }

    /// A request that would be answered otherwise.
    struct WhatIfChangeAnswer of (
        task: &Task, before: &Option<Decision>, after: &Option<Decision>,
    ) {
        /// The subject that asks.
        subject: String = task.subject.clone(),
        /// Its task.
        task: String = task.task.clone(),
        /// Leaf share.
        gshare: String = task.gshare.clone(),
        /// User.
        user: String = task.user.clone(),
        /// Jobs that it makes.
        jobs: u64 = task.jobs.into(),
        /// Its answer as it is.
        before: WhatIfSideAnswer = WhatIfSideAnswer::of(before),
        /// Its answer as it would be.
        after: WhatIfSideAnswer = WhatIfSideAnswer::of(after),
    }

    /// An answer in short.
    struct WhatIfSideAnswer of (it: &Option<Decision>) {
        /// assign, defer or reject; none: nothing is asked.
        outcome: &'static str = it.as_ref().map_or("none", |it| it.outcome.name()),
        /// One sentence.
        headline: String = it.as_ref().map_or_else(String::new, headline),
        /// Queues with the jobs that they get.
        queues: Vec<WhatIfSentAnswer> = sent(it)
            .into_iter()
            .map(|(queue, jobs)| WhatIfSentAnswer::of(&queue, jobs))
            .collect(),
    }

    /// Jobs that are sent to a queue.
    struct WhatIfSentAnswer of (queue: &str, jobs: u64) {
        /// The queue.
        queue: String = queue.to_owned(),
        /// Jobs.
        jobs: u64 = jobs,
    }
}

fn change(task: &Task, [before, after]: &[Option<Decision>; 2]) -> WhatIfChangeAnswer {
    WhatIfChangeAnswer::of(task, before, after)
}

/// Jobs by queue; of a nucleus, or a single job that is placed, the place with none stated as one.
fn sent(decision: &Option<Decision>) -> BTreeMap<String, u64> {
    let ranked = decision.iter().flat_map(|it| it.outcome.ranked());
    let mut sent = BTreeMap::new();
    for it in ranked.filter(|it| it.jobs > 0) {
        *sent.entry(it.queue.clone()).or_default() += u64::from(it.jobs);
    }
    sent
}

/// Where an answer sends a request: its outcome, queues with jobs, nucleus.
fn fate(decision: &Option<Decision>) -> (&'static str, BTreeMap<String, u64>, &str) {
    let outcome = decision.as_ref().map_or("none", |it| it.outcome.name());
    let nucleus = decision.as_ref().map_or("", |it| it.nucleus.as_str());
    (outcome, sent(decision), nucleus)
}

fn changed(it: &WhatIf) -> impl Iterator<Item = (&Task, &[Option<Decision>; 2])> {
    let all = it.judged.iter().filter(|(_, [before, after])| fate(before) != fate(after));
    all.map(|(task, of)| (task, of))
}

/// Assigned, deferred, rejected, jobs; of the answers as it is (0) or as it would be (1).
fn sums(it: &WhatIf, side: usize) -> [u64; 4] {
    let mut sums = [0; 4];
    for (_, answers) in &it.judged {
        let outcome = answers[side].as_ref().map(|it| &it.outcome);
        let place = match outcome {
            Some(Outcome::Assign(_)) => 0,
            Some(Outcome::Defer { .. }) => 1,
            Some(Outcome::Reject { .. }) | None => 2,
        };
        sums[place] += 1;
        sums[3] += sent(&answers[side]).values().sum::<u64>();
    }
    sums
}

fn queues(it: &WhatIf) -> Vec<WhatIfQueueAnswer> {
    let mut jobs: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (_, answers) in &it.judged {
        for (side, answer) in answers.iter().enumerate() {
            for (queue, sent) in sent(answer) {
                jobs.entry(queue).or_default()[side] += sent;
            }
        }
    }
    let mut jobs: Vec<(String, [u64; 2])> =
        jobs.into_iter().filter(|(_, [before, after])| before != after).collect();
    jobs.sort_by_key(|(_, [before, after])| Reverse(before.abs_diff(*after)));
    jobs.iter().take(QUEUES_MAX).map(|(queue, jobs)| WhatIfQueueAnswer::of(queue, *jobs)).collect()
}

/// The answer to the only request that was judged.
fn only(it: &WhatIf, side: usize, reasons: &Reasons) -> Option<DecisionAnswer> {
    let [(_, answers)] = &it.judged[..] else { return None };
    answers[side].as_ref().map(|decision| decision_answer(decision, reasons))
}

const _: () = assert!(JUDGED_MAX == 300, "the description of looked_at names it");
