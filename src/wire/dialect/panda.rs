//! PanDA: what `push_job_status_message` and its sister for tasks put on the message queue.
//!
//! A job's message names the job, its task, state, site and time, and no user, share, cores or
//! priority. Times are whole seconds. Errors and input files are not read: no record of ours has a
//! place for them.

use super::scalar::Scalar;
use super::state::{is_task_ended, job_status};
use super::{Foreign, json};
use serde::Deserialize;
use std::borrow::Cow;
use yardmaster_core::event::Status;
use yardmaster_core::unit::Millis;

/// A job reached a state.
#[derive(Clone, Debug, PartialEq)]
pub struct JobMessage<'a> {
    /// PandaID.
    pub job: u64,
    /// jediTaskID; 0 for none.
    pub task: u64,
    /// State.
    pub status: Status,
    /// When; whole seconds in PanDA's messages.
    pub at: Millis,
    /// Queue; empty when none is chosen.
    pub queue: Cow<'a, str>,
}

/// A task reached a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMessage {
    /// jediTaskID.
    pub task: u64,
    /// Whether nothing more will be asked for it.
    pub ended: bool,
    /// When.
    pub at: Millis,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default)]
    msg_type: Scalar<'a>,
    #[serde(borrow, default)]
    jobid: Scalar<'a>,
    #[serde(borrow, default)]
    taskid: Scalar<'a>,
    #[serde(borrow, default)]
    status: Scalar<'a>,
    #[serde(borrow, default)]
    timestamp: Scalar<'a>,
    #[serde(borrow, default)]
    computingsite: Scalar<'a>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Foreign<'_>, String> {
    let raw: Raw<'_> = json(bytes)?;
    match raw.msg_type.kind("msg_type")? {
        "job_status" => {
            let Some(status) = job_status("field `status`", &raw.status.needed("status")?)? else {
                return Ok(Foreign::Other);
            };
            Ok(Foreign::Job(JobMessage {
                job: raw.jobid.id("jobid")?,
                task: raw.taskid.id_if_stated("taskid")?,
                status,
                at: time(&raw.timestamp)?,
                queue: raw.computingsite.text("computingsite")?,
            }))
        }
        "task_status" => {
            let status = raw.status.needed("status")?;
            Ok(Foreign::Task(TaskMessage {
                task: raw.taskid.id("taskid")?,
                ended: is_task_ended(&status),
                at: time(&raw.timestamp)?,
            }))
        }
        _ => Ok(Foreign::Other),
    }
}

fn time(stamp: &Scalar<'_>) -> Result<Millis, String> {
    stamp.time("timestamp")?.ok_or_else(|| "field `timestamp` is missing, wants a time".to_owned())
}
