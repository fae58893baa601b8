//! Commands are carried out: waiting jobs of a killed workflow end, drained nodes offer nothing
//! until they have the cores, all else is noted.

use super::Cms;
use super::agenda::CmsStep;
use super::jobs::CmsStage;
use super::nodes::Drain;
use super::work::Kind;
use crate::grid::{Handle, Record};
use yardmaster_core::event::{DecisionOutcome, OutcomeAbout, OutcomeKind, TaskPhase};
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::output::decision::DecisionId;
use yardmaster_core::unit::{Millis, SECOND};

/// A node is drained for one job so often at most: more would be a circle of drains and matches.
const DRAINS_MAX: u32 = 3;

impl Cms {
    /// Carries commands out, as of the time reached, and publishes what became of each. Appends
    /// what is published.
    pub fn obey(&mut self, commands: &[Command], out: &mut Vec<Record>) {
        self.publisher.out = std::mem::take(out);
        for command in commands {
            if !command.is_order() || command.domain != self.domain {
                continue;
            }
            let refused = self.carry_out(command).err();
            if refused.is_none() && command.repeat == 0 {
                *self.count.commands.entry(command.kind.name()).or_default() += 1;
            }
            self.publisher.outcome(&DecisionOutcome {
                subject: command.subject.clone(),
                decision: DecisionId(command.id.0),
                about: OutcomeAbout::Command,
                kind: match refused {
                    None => OutcomeKind::Accepted,
                    Some(_) => OutcomeKind::Refused,
                },
                at: self.now,
                reason: refused.unwrap_or_default().to_owned(),
            });
        }
        *out = std::mem::take(&mut self.publisher.out);
    }

    fn carry_out(&mut self, command: &Command) -> Result<(), &'static str> {
        let subject = command.subject.as_str();
        match command.kind {
            CommandKind::KillWorkflow => self.kill(subject),
            CommandKind::Drain => self.drain(command),
            CommandKind::Undrain => {
                let node = self.node_named(subject)?;
                self.nodes[node as usize].drain = None;
                self.announce_soon(node);
                Ok(())
            }
            CommandKind::Boost => {
                let workflow = self.workflow_named(subject)?;
                if self.workflows.get(workflow).is_some_and(|it| !it.kind.is_central()) {
                    self.violated("a boost of analysis");
                }
                Ok(())
            }
            CommandKind::Profile | CommandKind::Alert => self.workflow_named(subject).map(drop),
            CommandKind::Rebroker
            | CommandKind::Reassign
            | CommandKind::Kill
            | CommandKind::Fail => Err("there are no queues here"),
        }
    }

    fn workflow_named(&self, name: &str) -> Result<Handle, &'static str> {
        self.workflow_by_name.get(name).copied().ok_or("there is no such workflow")
    }

    fn node_named(&self, name: &str) -> Result<u32, &'static str> {
        self.node_by_name.get(name).copied().ok_or("there is no such node")
    }

    /// The waiting jobs of a workflow are cancelled; its record ends. Only one whose program fails
    /// always is to be killed (C-49).
    fn kill(&mut self, name: &str) -> Result<(), &'static str> {
        let handle = self.workflow_named(name)?;
        let Some(workflow) = self.workflows.get_mut(handle) else { return Ok(()) };
        if workflow.is_killed {
            return Ok(());
        }
        workflow.is_killed = true;
        let is_right = matches!(workflow.kind, Kind::Fails | Kind::UserFails);
        let jobs: Vec<Handle> = workflow.live.iter().copied().collect();
        if !is_right {
            self.violated("a workflow killed that succeeds");
        }
        self.publish_workflow(handle, TaskPhase::Ended);
        for job in jobs {
            let stage = self.jobs.get(job).map(|it| it.stage);
            if matches!(stage, Some(CmsStage::Waiting | CmsStage::Failed)) {
                self.count.killed_waiting += 1;
                self.cancel(job);
            }
        }
        Ok(())
    }

    /// A node is kept free until it has the cores that a job needs.
    fn drain(&mut self, command: &Command) -> Result<(), &'static str> {
        let node = self.node_named(&command.subject)?;
        let job = command.jobs.first().ok_or("no job is named")?;
        let of = &mut self.nodes[node as usize];
        let (job, need) = (job.clone(), command.limit as i64);
        // So many seconds after the second of the cycle.
        let until = command.now / SECOND * SECOND + command.measured as Millis * SECOND;
        let cycle = command.cycle;
        of.drain = Some(Drain { job: job.clone(), need, until, cycle });
        let drains = self.drained.entry((node, job)).or_default();
        *drains += u32::from(command.repeat == 0);
        let is_circle = *drains > DRAINS_MAX;
        let of = &self.nodes[node as usize];
        if of.cores_free < need && !self.sites[of.site as usize].backfills {
            // Not at once: decisions of this cycle are on their way.
            self.after(SECOND, CmsStep::Withdraws(node));
        }
        if is_circle {
            self.violated("a node drained for one job again and again");
        }
        Ok(())
    }
}
