//! From a single job that wants a target to its answer (spec cms-nordugrid B.8).

mod evidence;
mod wanted;

use crate::domain::nordugrid::output::{Draw, DrawWeight, Placed};
use crate::domain::nordugrid::policy::case::JobCase;
use crate::domain::nordugrid::policy::changes::TargetChanges;
use crate::domain::nordugrid::policy::choice::Choice;
use crate::domain::nordugrid::policy::decide::{JobSubmission, NordugridRejection, TargetDecision};
use crate::domain::nordugrid::policy::discovery::Start;
use crate::domain::nordugrid::xrsl::{Alternative, Dialect, read_to_run};
use crate::event::{JobDescription, Task};
use crate::judge::judging::JudgingInputs;
use crate::judge::notes::time_notes;
use crate::judge::size::{bytes_of, limit};
use crate::output::decision::{Decision, Fate, FilterCount, Outcome};
use crate::policy::{Policy, Resolved};
use crate::state::admit::refusing_targets;
use crate::state::record::RequestState;
use evidence::{
    DRAW_LISTED, note_alternatives, note_assignment, note_description, note_discovery, ranked,
};
use std::borrow::Cow;
use wanted::note_wanted;

impl JudgingInputs<'_> {
    /// The target of a single job, or why there is none.
    pub(crate) fn place(
        self,
        at: usize,
        request: &RequestState,
        task: &Task,
        mut decision: Decision,
    ) -> Decision {
        let (state, targets) = (self.view.state, self.view.targets);
        let policy = self.policies.at(at);
        let ready = self.policies.ready(at, &task.gshare, self.view);
        decision.policy_hash = policy.hash().to_owned();
        decision.dry_run = policy.spec.dry_run;
        decision.notes = ready.resolved.notes.clone();
        decision.notes.extend_from_slice(self.view.caches.time_notes(|| time_notes(state)));
        match submission(task, request, decision.now, &targets.cut_id) {
            Ok(submission) => {
                let found = policy.decide_target(&targets.facts, &submission, &ready.resolved);
                self.state_found(&mut decision, policy, &ready.resolved, &submission, &found);
            }
            Err(reason) => decision.outcome = Outcome::Reject { reason },
        }
        let most = state.setting.limits.max_output_bytes;
        reject_beyond(&mut decision, most);
        limit(&mut decision, &state.setting.limits);
        decision
    }

    /// Puts what was found in a decision.
    fn state_found(
        self,
        decision: &mut Decision,
        policy: &Policy,
        resolved: &Resolved,
        submission: &JobSubmission,
        found: &TargetDecision,
    ) {
        let facts = &self.view.targets.facts;
        note_discovery(decision, found);
        note_alternatives(decision, policy, facts, &found.tried);
        let mut tried = found.tried.iter().zip(&submission.alternatives);
        if let Some((choice, alternative)) = tried.next_back() {
            add_fates(decision, policy, choice, |target| facts.targets.name(target).to_owned());
            let case = submission.case(facts, alternative, resolved);
            note_wanted(decision, policy, &case, choice);
        }
        let tried = found.tried.len().checked_sub(1);
        decision.outcome = match (found.rejection, tried) {
            (None, Some(alternative)) => {
                let case = submission.case(facts, &submission.alternatives[alternative], resolved);
                assign(decision, policy, &case, &found.tried[alternative], alternative, submission)
            }
            (Some(rejection), _) => reject(rejection),
            (None, None) => reject(NordugridRejection::NoTargetLeft),
        };
        note_description(decision, submission);
    }
}

/// An assignment that cannot be published for the names of its files is none. Fates and notes may
/// be left out, and so may ranks of targets that were not chosen.
fn reject_beyond(decision: &mut Decision, most: usize) {
    let fates = std::mem::take(&mut decision.fates);
    let notes = std::mem::take(&mut decision.notes);
    let noted: usize = notes.iter().map(|note| note.len()).sum();
    let noted = noted.min(most / 4);
    let mut bytes = noted + bytes_of(decision);
    if let (true, Outcome::Assign(ranked)) = (bytes > most, &mut decision.outcome) {
        ranked.truncate(1);
        bytes = noted + bytes_of(decision);
    }
    (decision.fates, decision.notes) = (fates, notes);
    if decision.placed.is_some() && bytes > most {
        let reason = format!(
            "too_large(the decision takes {bytes} bytes, max_output_bytes is {most}); describe the \
             job with fewer input files, or with shorter names"
        );
        (decision.placed, decision.limits) = (None, Vec::new());
        decision.outcome = Outcome::Reject { reason };
    }
}

fn reject(rejection: NordugridRejection) -> Outcome {
    Outcome::Reject { reason: rejection.code().to_owned() }
}

/// The answer that places a job, with what it takes at its target.
fn assign(
    decision: &mut Decision,
    policy: &Policy,
    case: &JobCase<'_>,
    choice: &Choice,
    alternative: usize,
    submission: &JobSubmission,
) -> Outcome {
    let (Some(changes), Some(chosen)) = (TargetChanges::of(case, choice), &choice.chosen) else {
        return reject(NordugridRejection::NoTargetLeft);
    };
    decision.factor_names = policy.factor_names().to_vec();
    note_assignment(decision, case, choice, &changes, submission);
    decision.limits = changes.limits;
    decision.placed = Some(Placed {
        alternative: u32::try_from(alternative).unwrap_or(u32::MAX),
        count: changes.count,
        time_s: changes.time_s,
        disk_bytes: changes.disk_bytes,
        cache_bytes: changes.cache_bytes,
        tags: changes.tags.into_iter().collect(),
        rule: chosen.rule.name().to_owned(),
        draw: chosen.draw.as_ref().map(|draw| Draw {
            algorithm: draw.algorithm.to_owned(),
            cut_id: submission.cut_id.clone(),
            round: draw.round,
            digest: hex::encode(draw.digest),
            x: u64::try_from(draw.drawn).unwrap_or(u64::MAX),
            weights: draw
                .weights
                .iter()
                .take(DRAW_LISTED)
                .map(|(name, weight)| DrawWeight { name: name.clone(), weight: *weight })
                .collect(),
        }),
    });
    Outcome::Assign(ranked(case, choice, chosen.at, changes.count))
}

/// A job as it was submitted; else why its description cannot be used.
pub(crate) fn submission(
    task: &Task,
    request: &RequestState,
    now: i64,
    cut_id: &str,
) -> Result<JobSubmission, String> {
    let stated = task.description.as_ref().ok_or("no_description: a job for targets wants one")?;
    let uploads = stated.uploads.iter().filter_map(|it| Some((it.name.clone(), it.bytes?)));
    Ok(JobSubmission {
        job_id: task.subject.clone(),
        attempt: task.attempt,
        cut_id: cut_id.to_owned(),
        now,
        user: task.user.clone(),
        alternatives: alternatives(stated)?,
        start: Start {
            clusters: stated.clusters.clone(),
            index_servers: stated.index_servers.clone(),
        },
        uploads: uploads.collect(),
        excluded_targets: refusing_targets(request),
    })
}

/// The alternatives of the job that a description is about.
fn alternatives(stated: &JobDescription) -> Result<Vec<Alternative>, String> {
    let dialect = if stated.server_dialect { Dialect::Server } else { Dialect::User };
    let read = read_to_run(&stated.text, dialect);
    let read = read.map_err(|error| format!("bad_description: {error}"))?;
    let (jobs, job) = (read.jobs.len(), stated.job as usize);
    read.jobs.into_iter().nth(job).ok_or_else(|| {
        format!("bad_description: it has {jobs} jobs, and job {job} is asked for (from 0)")
    })
}

/// Adds the fate of each target that was refused.
fn add_fates(
    decision: &mut Decision,
    policy: &Policy,
    choice: &Choice,
    name: impl Fn(u32) -> String,
) {
    let filter = |at: u16| policy.filter(usize::from(at)).map_or("", |filter| filter.name);
    let mut counts = vec![0u32; policy.filter_count()];
    for refused in &choice.refused {
        counts[usize::from(refused.filter)] += 1;
        decision.fates.push(Fate {
            queue: name(refused.target).into(),
            filter: Cow::Borrowed(filter(refused.filter)),
            reason: Cow::Borrowed(refused.objection.reason.name),
            measured: refused.objection.measured,
            limit: refused.objection.limit,
        });
    }
    for (at, rejected) in (0u16..).zip(counts).filter(|(_, count)| *count > 0) {
        decision.counts.push(FilterCount { filter: filter(at).to_owned(), rejected });
    }
}
