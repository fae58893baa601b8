//! A task: where its jobs are, what its requests waited for, what was commanded.

mod lines;

pub(crate) use lines::text;

use super::domains::Of;
use super::event::command_text;
use super::query::{DOMAIN, Parameter, Params, Query};
use super::{Refused, beside, json};
use crate::described::described;
use crate::history::{History, Search};
use crate::question::{Answer, Asked, NONE_OF_POOL, TaskLook};
use axum::response::Response;
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::estimate::{QueueAhead, StartEstimate};
use yardmaster_core::event::Status;
use yardmaster_core::explain::{JobsByState, NameStanding, RequestStanding, TaskMoment, iso};
use yardmaster_core::id::Key;
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::unit::{Millis, SECOND};

/// Decisions and commands that are read, and requests that are shown.
const DECISIONS_READ: usize = 5_000;
const COMMANDS_READ: usize = 200;
const REQUESTS_SHOWN: usize = 1_000;

pub(super) const PARAMETERS: [Parameter; 2] = [
    Parameter { is_required: true, ..Parameter::text("name", "task, or workflow of a pool") },
    DOMAIN,
];

/// All about a task.
pub(super) async fn task(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let name = query.text("name").ok_or_else(|| {
        Refused::Query("no name is given".into(), "give ?name= and a task".into())
    })?;
    let Answer::Standing(standing) = api.client.ask(Asked::Standing(name.to_owned())).await? else {
        return Err(super::lists::late());
    };
    let Answer::Task(look) = api.client.ask(Asked::Task(name.to_owned())).await? else {
        return Err(super::lists::late());
    };
    let past = api.past()?;
    let name = name.to_owned();
    beside(move || {
        let outputs = |topic, limit| found(&past, &name, topic, limit);
        let outputs =
            [outputs(Topic::Decision, DECISIONS_READ), outputs(Topic::Command, COMMANDS_READ)];
        let parts = TaskParts {
            task: &name,
            standing: &standing,
            look: &look,
            decisions: outputs[0].iter().filter_map(Output::decision).collect(),
            commands: outputs[1].iter().filter_map(Output::command).collect(),
        };
        if parts.is_unknown() {
            return Err(Refused::Unknown(
                format!("no task {name:?} is known"),
                "give a task that has jobs or requests; what is older than the history is shown by \
                 `yardmaster explain`, which reads the log"
                    .into(),
            ));
        }
        Ok(json(&TaskAnswer::of(&parts)))
    })
    .await?
}

/// Outputs about a task, the newest first.
fn found(past: &History, task: &str, topic: Topic, limit: usize) -> Vec<Output> {
    let is_about = |output: &Output| {
        let subject = output.subject();
        let of_subject = subject.split_once('/').map_or(subject.as_str(), |(task, _)| task);
        output.task() == task || of_subject == task
    };
    let search = Search {
        topics: &[topic],
        after: 0,
        before: u64::MAX,
        from: Millis::MIN,
        to: Millis::MAX,
        names: &[task],
        wants: &is_about,
        limit,
    };
    past.search(&search).outputs.into_iter().map(|(_, output)| output).collect()
}

/// Data that an answer about a task is made of.
pub(crate) struct TaskParts<'a> {
    /// The task.
    pub task: &'a str,
    /// Its requests.
    pub standing: &'a NameStanding,
    /// Its jobs, and when the first is expected to begin.
    pub look: &'a TaskLook,
    /// Decisions about it.
    pub decisions: Vec<&'a Decision>,
    /// Commands about its jobs, the newest first.
    pub commands: Vec<&'a Command>,
}

impl TaskParts<'_> {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        let has_outputs = !self.decisions.is_empty() || !self.commands.is_empty();
        self.standing.requests.is_empty() && self.look.jobs.queues.is_empty() && !has_outputs
    }

    /// A request of it; the one of the task itself first.
    fn first(&self) -> Option<&RequestStanding> {
        let of_task = |it: &&RequestStanding| it.subject == self.task || it.task == self.task;
        self.standing.requests.iter().find(of_task)
    }

    fn of_decision(&self, field: fn(&Decision) -> &str) -> String {
        let texts = self.decisions.iter().map(|it| field(it)).find(|text| !text.is_empty());
        texts.unwrap_or_default().to_owned()
    }

    /// A text of its request, or else of a decision about it.
    fn text(&self, own: fn(&RequestStanding) -> &str, field: fn(&Decision) -> &str) -> String {
        let own = self.first().map(own).filter(|text| !text.is_empty());
        own.map_or_else(|| self.of_decision(field), str::to_owned)
    }

    /// Jobs of all queues.
    fn by_state(&self) -> JobsByState {
        let mut sums = JobsByState::default();
        for jobs in self.look.jobs.queues.values() {
            sums.iter_mut().zip(jobs).for_each(|(sum, jobs)| *sum += jobs);
        }
        sums
    }

    /// Why the start of its first job is not estimated, where it waits for that.
    fn no_estimate(&self) -> Option<&str> {
        let jobs = self.by_state();
        let (queued, rest) = jobs.split_at(Status::Running.index());
        let began = rest.iter().take(Status::Failed.index() + 1 - queued.len()).any(|it| *it > 0);
        let waits_in_pool = self.standing.pool.is_some() && queued.iter().any(|it| *it > 0);
        let of_pool = (waits_in_pool && !began).then_some(NONE_OF_POOL);
        self.look.no_estimate.as_deref().or(of_pool)
    }

    /// Requests that are known, or that decisions name, by subject.
    fn requests(&self) -> Vec<TaskRequestAnswer> {
        let mut by: BTreeMap<&str, (Option<&RequestStanding>, Vec<&Decision>)> = BTreeMap::new();
        for request in &self.standing.requests {
            by.entry(&request.subject).or_default().0 = Some(request);
        }
        // An offer of slots is no request of the workflow whose job it got.
        for decision in self.decisions.iter().filter(|it| !it.answers_offer()) {
            by.entry(&decision.subject).or_default().1.push(decision);
        }
        let answer = |(subject, (standing, mut decisions)): (&str, (_, Vec<&Decision>))| {
            decisions.sort_by_key(|it| (it.cycle, it.number));
            let jobs = self.look.jobs.requests.get(&Key::of(subject.as_bytes())).copied();
            let moments = jobs.map(|it| (it.first_start, it.last_end)).unwrap_or_default();
            TaskRequestAnswer::of(subject, standing, &decisions, moments)
        };
        let mut requests: Vec<TaskRequestAnswer> = by.into_iter().map(answer).collect();
        requests.sort_by_key(|it| (it.asked_at, it.subject.len()));
        requests.truncate(REQUESTS_SHOWN);
        requests
    }
}

described! {
    /// A task.
    struct TaskAnswer of (it: &TaskParts<'_>) {
        /// As of which moment; ms since 1970.
        now: Millis = it.look.jobs.now,
        /// The task.
        task: String = it.task.to_owned(),
        /// Leaf share.
        gshare: String = it.text(|it| &it.gshare, |it| &it.gshare),
        /// User.
        user: String = it.text(|it| &it.user, |it| &it.user),
        /// Working group; empty: none.
        group: String = it.text(|it| &it.group, |it| &it.working_group),
        /// Policy that answers.
        policy: String = it.text(|it| &it.policy, |it| &it.policy),
        /// Priority; null: no request of it is known any more.
        priority: Option<i64> = it.first().map(|it| it.priority.into()),
        /// Nucleus; empty: none, or not chosen yet.
        nucleus: String = it.text(|it| &it.nucleus, |it| &it.nucleus),
        /// When it first asked; ms since 1970; null: no request of it is known any more.
        asked_at: Option<Millis> = it.standing.requests.iter().map(|it| it.asked_at).min(),
        /// One sentence.
        say: String = sentence(it),
        /// Its jobs.
        jobs: TaskJobsAnswer = TaskJobsAnswer::of(&it.by_state()),
        /// Its jobs by queue, most first; a queue without a name: none is chosen yet.
        queues: Vec<TaskQueueAnswer> = queues(it),
        /// Its requests, the oldest first; at most 1000.
        requests: Vec<TaskRequestAnswer> = it.requests(),
        /// Commands about its jobs, the newest first; at most 200.
        commands: Vec<TaskCommandAnswer> =
            it.commands.iter().map(|it| TaskCommandAnswer::of(it)).collect(),
        /// Its jobs over time, as far as they are known: since the first of them was there.
        curve: Vec<TaskMomentAnswer> =
            it.look.jobs.curve.iter().map(TaskMomentAnswer::of).collect(),
        /// How long its stages take.
        stages: TaskStagesAnswer = TaskStagesAnswer::of(it),
        /// When its first job is expected to begin; null: it began, nothing of it waits, or too few
        /// tasks began within a day to compare it with.
        estimate: Option<StartEstimateAnswer> =
            it.look.estimate.as_ref().map(StartEstimateAnswer::of),
        /// Why there is none though it waits for its first start, as a sentence; null otherwise.
        no_estimate: Option<String> = it.no_estimate().map(str::to_owned),
        /// The same as text, as `yardmaster explain` begins with it.
        text: String = text(it),
    }

    /// Jobs of a task.
    struct TaskJobsAnswer of (jobs: &JobsByState) {
        /// All that are known: those that ended are forgotten after `ended_job_lifetime_d`, or at
        /// the end of the windows in which policies count them.
        total: u64 = jobs.iter().sum(),
        /// By state; those without jobs are left out.
        by_status: Value = by_status(jobs),
    }

    /// Jobs of a task at a queue.
    struct TaskQueueAnswer of (queue: &str, jobs: &JobsByState, ahead: Option<&QueueAhead>) {
        /// The queue.
        queue: String = queue.to_owned(),
        /// Jobs that have not begun to run.
        queued: u64 = queued(jobs),
        /// Jobs that run.
        running: u64 = jobs[Status::Running.index()],
        /// Jobs whose payload ended, and that are not over: output is on its way.
        ending: u64 = ending(jobs),
        /// Jobs that finished.
        finished: u64 = jobs[Status::Finished.index()],
        /// Jobs that failed.
        failed: u64 = jobs[Status::Failed.index()],
        /// Jobs that were closed or cancelled.
        closed: u64 = jobs[Status::Closed.index()] + jobs[Status::Cancelled.index()],
        /// Jobs of others that are queued there with its priority or a higher one; null: none of
        /// its own are queued there.
        ahead: Option<u64> = ahead.map(|it| it.jobs as u64),
        /// Jobs that start there in an hour, of late; null as above.
        starts_per_hour: Option<f64> = ahead.map(|it| it.starts_per_hour),
    }

    /// Jobs of a task at a moment.
    struct TaskMomentAnswer of (it: &TaskMoment) {
        /// When; ms since 1970.
        at: Millis = it.at,
        /// Jobs that had not begun to run.
        queued: u64 = it.queued,
        /// Jobs that ran.
        running: u64 = it.running,
    }

    /// A request of a task.
    struct TaskRequestAnswer of (
        subject: &str,
        standing: Option<&RequestStanding>,
        decisions: &[&Decision],
        moments: (Option<Millis>, Option<Millis>),
    ) {
        /// The subject that asks.
        subject: String = subject.to_owned(),
        /// When it first asked; ms since 1970; null: it is not known any more.
        asked_at: Option<Millis> = standing.map(|it| it.asked_at),
        /// Jobs that it makes; null: not known any more.
        jobs: Option<u64> = standing.map(|it| it.jobs.into()),
        /// Answers that it got, as far as the history has them.
        answers: u64 = answers(decisions),
        /// Where it was sent, the first assignment first.
        assigned: Vec<TaskAssignedAnswer> = assigned(decisions),
        /// When the first of its jobs started, as far as they are known; ms since 1970.
        first_start_at: Option<Millis> = moments.0,
        /// When the last of its jobs ended; ms since 1970; null while one is not over.
        last_end_at: Option<Millis> = moments.1,
        /// Whether it waits for an answer or for a better one.
        open: bool = standing.is_some_and(|it| it.is_open),
        /// When it is judged again at the latest; ms since 1970.
        until: Option<Millis> = standing.and_then(|it| it.until),
    }

    /// A queue to which a request was sent.
    struct TaskAssignedAnswer of (at: Millis, queue: &str, jobs: u64) {
        /// When; ms since 1970.
        at: Millis = at,
        /// The queue, or the nucleus.
        queue: String = queue.to_owned(),
        /// Jobs; 0: all of them.
        jobs: u64 = jobs,
    }

    /// A command about jobs of a task.
    struct TaskCommandAnswer of (it: &Command) {
        /// When; ms since 1970.
        at: Millis = it.now,
        /// Rule.
        rule: String = it.rule.clone(),
        /// Kind.
        kind: &'static str = it.kind.name(),
        /// Queue of the jobs.
        queue: String = it.queue.clone(),
        /// Jobs.
        jobs: u64 = it.amount,
        /// Measured value.
        measured: f64 = it.measured,
        /// Limit.
        limit: f64 = it.limit,
        /// Unit of both.
        unit: String = it.unit.clone(),
        /// One sentence.
        text: String = command_text(it),
    }

    /// When the first job of a task is expected to begin.
    struct StartEstimateAnswer of (it: &StartEstimate) {
        /// One of ten such tasks begins before; ms since 1970.
        start_from: Millis = it.from,
        /// Half of them begin before; ms since 1970; null: not known.
        start_likely: Option<Millis> = it.middle,
        /// Nine of ten begin before; ms since 1970; null: too few began after as long a wait.
        start_to: Option<Millis> = it.to,
        /// The queue at which it is expected to begin; empty: it has no job at a queue yet.
        queue: String = it.queue.clone(),
        /// What the estimate rests on, as a sentence.
        basis: String = it.basis.clone(),
    }

    /// How long the stages of a task take: medians.
    struct TaskStagesAnswer of (it: &TaskParts<'_>) {
        /// From asking to the first assignment, of its requests; s.
        wait_for_decision_s: Option<i64> = wait_for_decision(it).map(|it| it / SECOND),
        /// From generation to start, of its jobs that started; s.
        wait_for_start_s: Option<i64> = it.look.jobs.wait.map(|it| it / SECOND),
        /// From start to end, of its jobs that ended; s.
        run_s: Option<i64> = it.look.jobs.run.map(|it| it / SECOND),
    }
}

fn by_status(jobs: &JobsByState) -> Value {
    let some = Status::ALL.iter().filter(|status| jobs[status.index()] > 0);
    some.map(|status| (status.name().to_owned(), Value::from(jobs[status.index()]))).collect()
}

fn queued(jobs: &JobsByState) -> u64 {
    jobs[..Status::Running.index()].iter().sum()
}

fn ending(jobs: &JobsByState) -> u64 {
    let is_it = |status: &&Status| status.is_under_way() && **status != Status::Running;
    Status::ALL.iter().filter(is_it).map(|status| jobs[status.index()]).sum()
}

fn queues(it: &TaskParts<'_>) -> Vec<TaskQueueAnswer> {
    let mut queues: Vec<(&String, &JobsByState)> = it.look.jobs.queues.iter().collect();
    let live = |jobs: &JobsByState| queued(jobs) + ending(jobs) + jobs[Status::Running.index()];
    queues.sort_by_key(|(_, jobs)| std::cmp::Reverse((live(jobs), jobs.iter().sum::<u64>())));
    let ahead = &it.look.ahead;
    queues
        .into_iter()
        .map(|(name, jobs)| TaskQueueAnswer::of(name, jobs, ahead.get(name)))
        .collect()
}

/// Answers in all attempts: the highest ordinal of each.
fn answers(decisions: &[&Decision]) -> u64 {
    let mut by: BTreeMap<u64, u64> = BTreeMap::new();
    for decision in decisions {
        let highest = by.entry(decision.attempt).or_default();
        *highest = (*highest).max(decision.ordinal.into());
    }
    by.values().sum()
}

fn assigned(decisions: &[&Decision]) -> Vec<TaskAssignedAnswer> {
    let assignments = decisions.iter().filter(|it| matches!(it.outcome, Outcome::Assign(_)));
    let each = assignments.flat_map(|decision| {
        let ranked = decision.outcome.ranked().iter();
        // A nucleus is stated without jobs; a queue without jobs was passed over.
        let has_jobs = ranked.clone().any(|it| it.jobs > 0);
        let sent = ranked.filter(move |it| it.jobs > 0 || !has_jobs);
        sent.map(|it| TaskAssignedAnswer::of(decision.now, &it.queue, it.jobs.into()))
    });
    each.collect()
}

/// From asking to the first assignment: the median over the requests.
fn wait_for_decision(it: &TaskParts<'_>) -> Option<Millis> {
    let mut waits: Vec<Millis> = Vec::new();
    for request in &it.standing.requests {
        let of = it.decisions.iter().filter(|decision| {
            let is_assigned = matches!(decision.outcome, Outcome::Assign(_));
            is_assigned && decision.subject == request.subject
        });
        let first = of.map(|decision| decision.now).min();
        waits.extend(first.map(|at| at - request.asked_at).filter(|wait| *wait >= 0));
    }
    waits.sort_unstable();
    waits.get(waits.len() / 2).copied()
}

/// Jobs and requests in one sentence.
fn sentence(it: &TaskParts<'_>) -> String {
    let jobs = it.by_state();
    let parts = [
        (jobs[Status::Running.index()], "run"),
        (queued(&jobs), "are queued"),
        (ending(&jobs), "wait for their output"),
        (jobs[Status::Finished.index()], "finished"),
        (jobs[Status::Failed.index()], "failed"),
        (jobs[Status::Closed.index()] + jobs[Status::Cancelled.index()], "were closed"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|part| part.0 > 0).map(|(jobs, how)| format!("{jobs} {how}")).collect();
    let of_jobs = match &parts[..] {
        [] => "no job of it is known".to_owned(),
        _ => {
            let all = jobs.iter().sum::<u64>();
            format!("of {all} jobs that are known {}", parts.join(", "))
        }
    };
    if it.standing.pool.is_some() {
        // In a pool jobs wait for slots, and no request waits for an answer.
        return format!("Workflow {}: {of_jobs}", it.task);
    }
    let open: Vec<&RequestStanding> = it.standing.requests.iter().filter(|it| it.is_open).collect();
    let oldest = open.iter().map(|it| it.asked_at).min();
    let of_requests = match (open.len(), oldest) {
        (0, _) | (_, None) => "no request waits".to_owned(),
        (1, Some(at)) => format!("1 request waits since {}", iso(at)),
        (count, Some(at)) => format!("{count} requests wait, the oldest since {}", iso(at)),
    };
    format!("Task {}: {of_jobs}; {of_requests}", it.task)
}
