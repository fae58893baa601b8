//! Order, answer, command and tile.

use crate::facts::{Job, Partition, partitions, whole};
use crate::rules::Partitions;
use std::collections::BTreeMap;
use yardmaster::core::event::Task;
use yardmaster::core::output::command::CommandKind;
use yardmaster::core::policy::{
    DomainAnswer, DomainChoice, DomainCommand, DomainFacts, DomainQuestion, DomainTile, DomainView,
};
use yardmaster::core::state::record::Answer;

/// Partitions with what is reserved of them, and the fair share of users.
pub struct SlurmView {
    partitions: BTreeMap<String, Partition>,
    /// By account and user; millionths.
    fair_share: BTreeMap<(String, String), i64>,
}

impl SlurmView {
    /// All of it, of the facts.
    pub fn of(facts: DomainFacts<'_>) -> SlurmView {
        let share = facts.records("user").filter_map(|record| {
            let (account, user) = record.name.split_once('/')?;
            let millionths = (record.number("fair_share")?.clamp(0.0, 1.0) * 1e6) as i64;
            Some(((account.to_owned(), user.to_owned()), millionths))
        });
        let fair_share = share.collect();
        let mut view = SlurmView { partitions: partitions(facts), fair_share };
        facts.requests().for_each(|(task, _)| view.reserve(facts, &task.subject));
        view
    }

    /// The cores of a job that was sent to a partition are free no more.
    fn reserve(&mut self, facts: DomainFacts<'_>, subject: &str) {
        let Some(job) = facts.record("job", subject) else { return };
        let sent_to = facts.sent_to(subject);
        let Some(partition) = sent_to.and_then(|name| self.partitions.get_mut(name)) else {
            return;
        };
        let cpus = Job::of(job, facts.now()).cpus;
        partition.free -= cpus;
        partition.sent = (partition.sent.0 + 1, partition.sent.1 + cpus as u64);
    }
}

impl DomainView for SlurmView {
    /// By fair share, then by the job's number.
    fn rank(&self, task: &Task) -> i64 {
        let owner = (task.working_group.clone(), task.user.clone());
        let share = self.fair_share.get(&owner).copied().unwrap_or(0);
        (share << 32) - i64::from(task.subject.parse::<u32>().unwrap_or(0))
    }

    fn answer(&self, asked: &DomainQuestion<'_>) -> DomainAnswer {
        let facts = asked.facts;
        let record = facts.record("job", &asked.task.subject);
        let (Some(record), Some(rules)) = (record, asked.rules::<Partitions>()) else {
            return DomainAnswer::default();
        };
        let job = Job::of(record, facts.now());
        let named = record.list("partitions").iter();
        let candidates: Vec<&Partition> =
            named.filter_map(|name| self.partitions.get(name)).collect();
        let (passed, refused) = rules.sift(&job, &candidates, asked.resolved);
        let rank =
            |at: &usize| -> Vec<i64> { rules.keys().map(|key| key(candidates[*at])).collect() };
        // Of several that are equal the first on the job's list.
        let best = passed.iter().rev().max_by_key(|at| rank(at)).copied();
        let free = |at: usize| candidates[at].free as f64;
        DomainAnswer {
            chosen: best.map(|at| DomainChoice {
                name: candidates[at].record.name.clone(),
                weight: free(at).max(0.0),
                cores: u32::try_from(job.cpus).unwrap_or(0),
                factors: rank(&at).into_iter().map(|key| key as f64).collect(),
            }),
            refused: refused
                .into_iter()
                .map(|(at, filter, objection)| {
                    (candidates[at].record.name.clone(), filter, objection)
                })
                .collect(),
            passed_over: passed
                .iter()
                .filter(|at| Some(**at) != best)
                .map(|at| (candidates[*at].record.name.clone(), free(*at), best.map_or(0.0, free)))
                .collect(),
            recheck_at: job.begins_at(),
        }
    }

    fn note_answer(&mut self, facts: DomainFacts<'_>, subject: &str) {
        self.reserve(facts, subject);
    }

    /// A job that was sent to a partition which is up no more is to be brokered again.
    fn commands(&self, facts: DomainFacts<'_>) -> Vec<DomainCommand> {
        let stranded = |(task, answer): (&Task, Option<&Answer>)| {
            let record = facts.record("partition", facts.sent_to(&task.subject)?)?;
            let state = record.text("state").filter(|state| *state != "UP")?;
            Some(DomainCommand {
                kind: CommandKind::Reassign,
                subject: task.subject.clone(),
                queue: record.name.clone(),
                clock: "sent",
                since: answer?.now,
                note: format!("stranded: partition {} is {state}", record.name),
            })
        };
        facts.requests().filter_map(stranded).collect()
    }

    fn tiles(&self) -> Vec<DomainTile> {
        let tile = |partition: &Partition| {
            let busy = partition
                .nodes
                .iter()
                .map(|node| (whole(node, "cpus") - whole(node, "idle")).max(0) as u64);
            DomainTile {
                name: partition.record.name.clone(),
                status: partition.record.text("state").unwrap_or("").to_lowercase(),
                running: 0,
                queued: partition.sent.0,
                running_cores: busy.sum(),
                queued_cores: partition.sent.1,
            }
        };
        self.partitions.values().map(tile).collect()
    }
}
