//! Where the jobs of a submission stand, as the log has it.

use super::super::again;
use super::clusters::chosen_target;
use super::decision_log::DecisionLog;
use super::job::{AtCluster, LastRead, Stage, SubmittedJob};
use super::strays::Stray;
use super::submission::Submission;
use crate::cli::outputs::{outputs, without_strays};
use crate::clock;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, JobState, OutcomeKind, Status, Task};
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::{Decision, DecisionId, Outcome};

/// A job as it stands, with the decision that is not taken up yet, and with jobs of it that
/// clusters may have which did not answer.
pub(super) struct Resumed {
    pub job: SubmittedJob,
    pub decision: Option<Decision>,
    pub strays: Vec<Stray>,
}

/// The jobs of a name.
///
/// # Errors
/// The log cannot be read, or has no such job; a job is at a cluster and its id there is not known.
pub(super) fn resumed(
    log: &mut DecisionLog,
    name: &str,
    submission: &Submission<'_>,
) -> anyhow::Result<Vec<Resumed>> {
    let tasks = again::last(log.log(), name, "--resume")?;
    let is_asked = |subject: &str| tasks.iter().any(|task| task.subject == subject);
    let found = outputs(log.log(), Topic::Decision, |event| match event {
        Event::Output(Output::Decision(it)) if is_asked(&it.subject) && !it.dry_run => Some(*it),
        _ => None,
    })?;
    let key = |it: &Decision| (it.subject.clone(), it.attempt, it.ordinal);
    let (decisions, _) = without_strays(log.log(), found, key, |it| it.cycle)?;
    let answers = outputs(log.log(), Topic::Outcome, |event| match event {
        Event::Outcome(it) if is_asked(&it.subject) => Some((it.decision, it.kind)),
        _ => None,
    })?;
    let mut kinds: BTreeMap<DecisionId, OutcomeKind> = BTreeMap::new();
    for (_, (decision, kind)) in answers {
        // Another process may have failed where one did not.
        let known = kinds.entry(decision).or_insert(kind);
        *known = if *known == OutcomeKind::Accepted { *known } else { kind };
    }
    let answers = kinds;
    let states = outputs(log.log(), Topic::JobState, |event| match event {
        Event::JobState(it) if is_asked(it.job) => Some((it.job.to_owned(), at_cluster(&it))),
        _ => None,
    })?;
    let mut newest: BTreeMap<String, AtCluster> = BTreeMap::new();
    for (_, (job, state)) in states {
        let key = |it: &AtCluster| (it.attempt, it.changed_at);
        if newest.get(&job).is_none_or(|known| key(known) <= key(&state)) {
            newest.insert(job, state);
        }
    }
    let (mut read, now) = (LastRead::default(), clock::now());
    let one = |task: Task| {
        let subject = &task.subject;
        let own = decisions.iter().filter(|it| it.subject == *subject);
        let own = own.filter(|it| it.attempt >= task.attempt);
        let is_taken = |it: &&Decision| answers.get(&it.id) == Some(&OutcomeKind::Accepted);
        // One that a cluster took counts before any that came of a failure of another process.
        let taken = own.clone().filter(is_taken).max_by_key(|it| (it.attempt, it.ordinal));
        let decision = taken.or_else(|| own.max_by_key(|it| (it.attempt, it.ordinal)));
        let failed = decisions.iter().filter(|it| {
            it.subject == *subject && answers.get(&it.id) == Some(&OutcomeKind::Failed)
        });
        let strays = failed
            .filter_map(|it| Some(Stray::of(it, chosen_target(it)?.split_once('/')?.0, now)))
            .collect();
        let state = newest.remove(subject);
        let mut job = submission.job(task, &mut read)?;
        let answer = decision.and_then(|it| answers.get(&it.id)).copied();
        let decision = stand(&mut job, decision, answer, state)?;
        Ok(Resumed { job, decision, strays })
    };
    tasks.into_iter().map(one).collect()
}

/// Sets where a job stands; gives the decision that is to be taken up.
fn stand(
    job: &mut SubmittedJob,
    decision: Option<&Decision>,
    answer: Option<OutcomeKind>,
    state: Option<AtCluster>,
) -> anyhow::Result<Option<Decision>> {
    let Some(decision) = decision else { return Ok(None) };
    match (&decision.outcome, answer) {
        (Outcome::Assign(_), None) | (Outcome::Reject { .. }, _) => {
            return Ok(Some(decision.clone()));
        }
        (Outcome::Assign(_), Some(OutcomeKind::Accepted)) => {
            let state = state.filter(|it| it.attempt == decision.attempt && !it.id.is_empty());
            let subject = &job.task.subject;
            let state = state.ok_or_else(|| {
                anyhow::anyhow!(
                    "--resume {subject}: a cluster took it, and no record states its id there; \
                     `explain {subject}` names the cluster"
                )
            })?;
            job.stage = Stage::Handed(Box::new(state));
        }
        (Outcome::Assign(_) | Outcome::Defer { .. }, _) => job.stage = Stage::Asked(None),
    }
    Ok(None)
}

/// A job as its record has it. REST has other words than the record for most states; the next look
/// at the cluster finds the state of then.
fn at_cluster(state: &JobState<'_>) -> AtCluster {
    let word = match state.status {
        Status::Closed => "WIPED",
        _ if state.status.is_ended() => state.sub_status,
        _ => "",
    };
    AtCluster {
        target: state.queue.to_owned(),
        id: state.cluster_job.to_owned(),
        attempt: state.attempt.into(),
        word: word.to_owned(),
        cores: state.cores,
        cpu_time_s: state.cpu_time_s,
        wall_time_s: state.wall_time_s,
        changed_at: state.changed_at,
        activated_at: state.activated_at,
        started_at: state.started_at,
        ended_at: state.ended_at,
        missing: 0,
        is_ours: false,
    }
}
