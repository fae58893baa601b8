//! Commands are carried out: waiting jobs of a killed workflow end, drained nodes offer nothing
//! until they have the cores, all else is noted.

use super::Cms;
use super::jobs::CmsStage;
use super::work::Kind;
use crate::grid::{Handle, Record};
use yardmaster_core::event::{DecisionOutcome, OutcomeAbout, OutcomeKind, TaskPhase};
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::output::decision::DecisionId;

/// Why a workflow is reported that no node of its sites could hold.
const NO_SITE: &str = "no_site_can_host";

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
            CommandKind::Alert => self.alert(subject, command),
            CommandKind::Profile => self.workflow_named(subject).map(drop),
            CommandKind::Rebroker
            | CommandKind::Reassign
            | CommandKind::Kill
            | CommandKind::Fail => Err("there are no queues here"),
        }
    }

    fn workflow_named(&self, name: &str) -> Result<Handle, &'static str> {
        self.workflow_by_name.get(name).copied().ok_or("there is no such workflow")
    }

    pub(super) fn node_named(&self, name: &str) -> Result<u32, &'static str> {
        self.node_by_name.get(name).copied().ok_or("there is no such node")
    }

    /// Operations end a workflow that no site can host; no other is reported as one.
    fn alert(&mut self, name: &str, command: &Command) -> Result<(), &'static str> {
        let handle = self.workflow_named(name)?;
        let is_too_large =
            self.workflows.get(handle).is_some_and(|workflow| workflow.kind == Kind::TooLarge);
        match command.notes.first().is_some_and(|why| why == NO_SITE) {
            true if is_too_large => self.end_workflow(handle),
            true => self.violated("a workflow reported that sites can host"),
            false => {}
        }
        Ok(())
    }

    /// The waiting jobs of a workflow are cancelled; its record ends. Only one whose program fails
    /// always is to be killed (C-49).
    fn kill(&mut self, name: &str) -> Result<(), &'static str> {
        let handle = self.workflow_named(name)?;
        let Some(workflow) = self.workflows.get(handle).filter(|it| !it.is_killed) else {
            return Ok(());
        };
        if !matches!(workflow.kind, Kind::Fails | Kind::UserFails) {
            self.violated("a workflow killed that succeeds");
        }
        self.end_workflow(handle);
        Ok(())
    }

    /// A workflow is ended: its record, and its jobs that wait.
    fn end_workflow(&mut self, handle: Handle) {
        let Some(workflow) = self.workflows.get_mut(handle) else { return };
        workflow.is_killed = true;
        let jobs: Vec<Handle> = workflow.live.iter().copied().collect();
        self.publish_workflow(handle, TaskPhase::Ended);
        for job in jobs {
            let stage = self.jobs.get(job).map(|it| it.stage);
            if matches!(stage, Some(CmsStage::Waiting | CmsStage::Failed)) {
                self.count.killed_waiting += 1;
                self.cancel(job);
            }
        }
    }
}
