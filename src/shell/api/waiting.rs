//! Requests that wait: how many for which reason, and each with what would let it go.

use super::domains::Of;
use super::query::{DOMAIN, Parameter, Params, Query};
use super::throttles::{ThrottleAnswer, looked};
use super::{Reasons, Refused, beside, json};
use crate::described::described;
use crate::waiting::{
    AS_WHOLE, Helps, NOT_JUDGED, RequestFigures, THROTTLED, WORKFLOWS, Waiting, WaitingRow,
    as_whole, figures, title,
};
use axum::response::Response;
use std::collections::BTreeMap;
use yardmaster_core::explain::{NearestMiss, nearest_miss};
use yardmaster_core::unit::Millis;

/// Requests that are listed at most.
const LISTED_MAX: u64 = 1_000;

const PARAMETERS: [Parameter; 7] = [
    Parameter::text("reason", "only requests that wait for this reason, by its name"),
    Parameter::text("share", "only those of a leaf share"),
    Parameter::text("user", "only those of a user or working group"),
    Parameter::text("task", "only those of a task"),
    Parameter::text(
        "queue",
        "only those that this queue rejects, each with its reason; not in a pool",
    ),
    Parameter::number("limit", "so many at most: 1000, at most 1000"),
    DOMAIN,
];

/// The parameters as the path's description has them.
pub(super) const WAITING: &[Parameter] = &PARAMETERS;

/// Requests that are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingFilter {
    pub reason: Option<String>,
    pub share: Option<String>,
    pub user: Option<String>,
    pub task: Option<String>,
    pub queue: Option<String>,
    pub limit: usize,
}

impl WaitingFilter {
    fn wants(&self, row: &WaitingRow) -> bool {
        let is = |wanted: &Option<String>, its: &[&str]| {
            wanted.as_deref().is_none_or(|wanted| its.contains(&wanted))
        };
        let rejects = |queue: &str| row.blockers.queues().iter().any(|name| is_of(queue, name));
        is(&self.share, &[&row.gshare])
            && is(&self.user, &[&row.user, &row.group])
            && is(&self.task, &[&row.task, &row.subject])
            && self.queue.as_deref().is_none_or(rejects)
    }

    /// Why it makes no sense where these wait, and what to ask instead; `None`: it does.
    pub(crate) fn refusal(&self, of: &str) -> Option<(String, String)> {
        let queue = self.queue.as_deref().filter(|_| of == WORKFLOWS)?;
        Some((
            format!(
                "queue {queue}: workflows of a pool wait for offers, and no queue rejects them"
            ),
            format!("ask why a site gets no jobs: yardmaster explain 'site/{queue}'"),
        ))
    }

    /// Those that are listed.
    pub(crate) fn chosen<'a>(&self, waiting: &'a Waiting) -> Vec<&'a WaitingRow> {
        let reason = self.reason.as_deref();
        let rows = waiting.rows.iter().filter(|row| self.wants(row));
        let of_reason = rows.filter(|row| reason.is_none_or(|reason| reason == row.reason));
        of_reason.take(self.limit).collect()
    }
}

/// Whether a candidate is a queue or one of its pseudo-queues.
fn is_of(queue: &str, candidate: &str) -> bool {
    candidate.strip_prefix(queue).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) async fn waiting(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let of = |name| query.text(name).map(str::to_owned);
    let user = of("user").map(|user| api.reasons.pseudonym(&user).unwrap_or(user));
    let filter = WaitingFilter {
        reason: of("reason"),
        share: of("share"),
        user,
        task: of("task"),
        queue: of("queue"),
        limit: query.number("limit", LISTED_MAX, LISTED_MAX)? as usize,
    };
    let shown = looked(&api).await?;
    if let Some((what, remedy)) = filter.refusal(shown.view.of) {
        return Err(Refused::Query(what, remedy));
    }
    let _turn = api.past.looks.turn().await?;
    let (past, reasons) = (api.past.get(), api.reasons.clone());
    let answer = beside(move || {
        let waiting = &shown.view;
        let rows = filter.chosen(waiting);
        let found = past.map(|past| figures(&past, &rows)).unwrap_or_default();
        WaitingAnswer::of(waiting, &filter, &rows, &found, &reasons)
    });
    Ok(json(&answer.await?))
}

described! {
    /// Requests that wait.
    struct WaitingAnswer of (
        waiting: &Waiting,
        filter: &WaitingFilter,
        rows: &[&WaitingRow],
        found: &BTreeMap<String, RequestFigures>,
        reasons: &Reasons,
    ) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = waiting.now,
        /// That cycle.
        cycle: u64 = waiting.cycle,
        /// Kind of what waits: requests, or workflows, whose idle jobs stand for requests in a pool
        /// of slots.
        of: &'static str = waiting.of,
        /// Requests that are open in all.
        open: usize = waiting.open,
        /// Those of them that were looked at: at most 20000, those to be judged first.
        looked_at: usize = waiting.rows.len(),
        /// Those that were looked at and are wanted, by reason: those with most requests first. The
        /// parameter `reason` does not narrow it.
        by_reason: Vec<ReasonAnswer> = by_reason(waiting, filter, reasons),
        /// The oldest first. Figures of what is nearest are those of the newest decisions in the
        /// history, and are looked for of the first 300.
        requests: Vec<WaitingRequestAnswer> = rows
            .iter()
            .map(|row| WaitingRequestAnswer::of(row, filter, found.get(&row.subject), reasons))
            .collect(),
    }

    /// A reason for which requests wait.
    struct ReasonAnswer of (reason: &str, sum: &Sum<'_>, reasons: &Reasons) {
        /// Its name: a filter, or one of not_judged, throttled, deferred_as_whole.
        reason: String = reason.to_owned(),
        /// A shifter's words.
        title: String = sum.row.title.clone(),
        /// The condition that the filter asks for, or the meaning of the reason.
        help: String = help(reason, sum.row, reasons),
        /// Help that lets them go: turn (they are judged soon), time (what objects moves by
        /// itself), throttle (it is lifted), configuration (waiting does not help).
        helps: &'static str = sum.helps.name(),
        /// Requests.
        requests: u64 = sum.requests,
        /// Jobs that they ask for.
        jobs: u64 = sum.jobs,
        /// When the oldest asked; ms since 1970.
        oldest_at: Option<Millis> = Some(sum.oldest_at).filter(|at| *at > 0),
    }

    /// A request that waits.
    struct WaitingRequestAnswer of (
        row: &WaitingRow, filter: &WaitingFilter, found: Option<&RequestFigures>, reasons: &Reasons,
    ) {
        /// Subject.
        subject: String = row.subject.clone(),
        /// Task.
        task: String = row.task.clone(),
        /// Policy that answers it.
        policy: String = row.policy.clone(),
        /// Leaf share.
        gshare: String = row.gshare.clone(),
        /// User; empty: not known.
        user: String = row.user.clone(),
        /// Working group; empty: none.
        group: String = row.group.clone(),
        /// Jobs it asks for.
        jobs: u32 = row.jobs,
        /// Cores of each; null: not stated.
        cores: Option<u32> = row.cores,
        /// When it first asked, of a pool when the workflow was injected; ms since 1970.
        asked_at: Option<Millis> = Some(row.asked_at).filter(|at| *at > 0),
        /// Which attempt asks.
        attempt: u64 = row.attempt,
        /// How often this attempt was deferred.
        answers: u32 = row.answers,
        /// Of a workflow when a job of it last got slots, ms since 1970; null else, and where that
        /// is not known.
        last_slots_at: Option<Millis> = row.last_slots_at,
        /// Of a workflow how many of its jobs got slots or were removed; null else.
        jobs_with_slots: Option<u64> = row.jobs_with_slots,
        /// When it was last judged; ms since 1970.
        judged_at: Option<Millis> = row.judged_at,
        /// It is judged again then at the latest; ms since 1970.
        until: Option<Millis> = row.until,
        /// Why it waits.
        reason: String = row.reason.clone(),
        /// The same in a shifter's words.
        title: String = row.title.clone(),
        /// Help that lets it go, as of reasons.
        helps: &'static str = row.helps.name(),
        /// The throttle that holds it.
        held_by: Option<ThrottleAnswer> =
            row.held_by.as_ref().map(|throttle| ThrottleAnswer::of(throttle, row.judged_at)),
        /// Why it waits as a whole, where it does.
        as_whole: Option<String> = found.and_then(|found| as_whole(&found.newest)),
        /// The candidate that came nearest to passing, or the queue that is asked for.
        nearest: Option<NearestAnswer> = nearest(row, filter, found, reasons),
        /// Candidates that are rejected.
        rejected: usize = row.blockers.queues().len(),
    }

    /// A candidate that came near.
    struct NearestAnswer of (queue: &str, filter: &str, miss: Option<&NearestMiss>, text: String) {
        /// Queue or nucleus.
        queue: String = queue.to_owned(),
        /// Filter that objects first.
        filter: String = filter.to_owned(),
        /// A shifter's words for it.
        title: String = title(filter),
        /// Measured value, in the filter's unit; null: no decision in the history states it.
        measured: Option<f64> = miss.map(|it| it.measured),
        /// Value that would have passed; null as above.
        limit: Option<f64> = miss.map(|it| it.limit),
        /// The reason as a sentence.
        text: String = text,
    }
}

/// Requests of one reason.
pub(crate) struct Sum<'a> {
    row: &'a WaitingRow,
    helps: Helps,
    requests: u64,
    jobs: u64,
    oldest_at: Millis,
}

fn by_reason(waiting: &Waiting, filter: &WaitingFilter, reasons: &Reasons) -> Vec<ReasonAnswer> {
    let mut sums: BTreeMap<(&str, Helps), Sum<'_>> = BTreeMap::new();
    for row in waiting.rows.iter().filter(|row| filter.wants(row)) {
        let (helps, oldest_at) = (row.helps, row.asked_at);
        let new = || Sum { row, helps, requests: 0, jobs: 0, oldest_at };
        let sum = sums.entry((&row.reason, helps)).or_insert_with(new);
        sum.requests += 1;
        sum.jobs += u64::from(row.jobs);
        sum.oldest_at = sum.oldest_at.min(oldest_at);
    }
    let mut all: Vec<ReasonAnswer> =
        sums.iter().map(|((reason, _), sum)| ReasonAnswer::of(reason, sum, reasons)).collect();
    all.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.reason.cmp(&b.reason)));
    all
}

fn help(reason: &str, row: &WaitingRow, reasons: &Reasons) -> String {
    match reason {
        NOT_JUDGED => "its turn to be judged comes in the next cycles".to_owned(),
        THROTTLED => "a throttle holds its owner, task or share".to_owned(),
        AS_WHOLE => "it waits before any candidate is looked at: see as_whole".to_owned(),
        _ if !row.help.is_empty() => row.help.clone(),
        filter => reasons.help(&row.policy, filter),
    }
}

fn nearest(
    row: &WaitingRow,
    filter: &WaitingFilter,
    found: Option<&RequestFigures>,
    reasons: &Reasons,
) -> Option<NearestAnswer> {
    let is_wanted = |queue: &str| filter.queue.as_deref().is_none_or(|wanted| is_of(wanted, queue));
    let miss = found.and_then(|found| {
        let fates = found.fates.values().filter(|fate| is_wanted(&fate.queue));
        reasons.explain(&found.newest, |context| nearest_miss(fates, context))
    });
    if let Some(miss) = &miss {
        return Some(NearestAnswer::of(&miss.queue, &miss.filter, Some(miss), miss.reason.clone()));
    }
    // Without figures the queue that is asked for has its reason all the same.
    let named = row.blockers.iter().find(|(queue, _)| is_wanted(queue));
    let (queue, cause) = named.filter(|_| filter.queue.is_some())?;
    let text = format!("{}: no decision in the history has its figures", cause.reason);
    Some(NearestAnswer::of(queue, &cause.filter, None, text))
}
