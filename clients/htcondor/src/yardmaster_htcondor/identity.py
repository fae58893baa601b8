"""Which job an ad is of: its name, workflow, place in it, and how many tries came before."""

import re

from yardmaster_htcondor.values import Ad, number, text, value, whole

VANILLA = 5
IDLE, RUNNING, REMOVED, COMPLETED, HELD, TRANSFERRING, SUSPENDED = 1, 2, 3, 4, 5, 6, 7
ON_SLOT = (RUNNING, TRANSFERRING, SUSPENDED)

TRIES_OF_A_RETRY = 100
"""Starts and holds within one job of HTCondor that fit below the next retry of the workload
system."""


def workflow(ad: Ad) -> str:
    """The workflow of a job; empty where it has none."""
    return text(ad, "WMAgent_RequestName") or text(ad, "CRAB_ReqName")


def is_of_pool(ad: Ad) -> bool:
    """Whether a job takes a slot and is of a workflow. DAGMan's own jobs and plain users' are
    not."""
    is_vanilla = number(ad, "JobUniverse") == VANILLA
    return is_vanilla and bool(workflow(ad)) and text(ad, "TaskType") != "ROOT"


def is_of_wmagent(ad: Ad) -> bool:
    """Whether WMAgent submitted it."""
    return "WMAgent_JobID" in ad


def job_name(ad: Ad) -> str:
    """The same for every retry: a retry is a new job of HTCondor."""
    if is_of_wmagent(ad):
        return f"{text(ad, 'WMAgent_AgentName')}/{whole(ad, 'WMAgent_JobID')}"
    return f"{text(ad, 'CRAB_ReqName')}/{value(ad, 'CRAB_Id', '')}"


def seq(ad: Ad) -> int | None:
    """Place in the workflow. CRAB's is 17, 0-3 (a probe: first) or 1-840 (of a tail: last). WMAgent
    numbers jobs over all its workflows, so theirs is not known."""
    if is_of_wmagent(ad):
        return None
    found = re.fullmatch(r"(?:([0-9]{1,5})-)?([0-9]{1,9})", str(value(ad, "CRAB_Id", "")))
    return None if found is None else 100_000 * int(found[1] or 0) + int(found[2])


def attempt(ad: Ad) -> int:
    """How many tries came before: retries of the workload system, and within one job of HTCondor
    each start and each hold."""
    retry = number(ad, "CMS_JobRetryCount", number(ad, "CRAB_Retry", 0))
    before = whole(ad, "NumShadowStarts") + whole(ad, "NumHolds")
    status, last = number(ad, "JobStatus"), number(ad, "LastJobStatus")
    if status in (*ON_SLOT, COMPLETED) or (status == REMOVED and last in ON_SLOT):
        before -= 1
    if status == HELD:
        before -= 2 if last in ON_SLOT else 1
    return TRIES_OF_A_RETRY * max(0, int(retry or 0)) + min(max(0, before), TRIES_OF_A_RETRY - 1)
