"""The `job-state` record of a job's ad."""

from typing import Any

from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.ending import add_ending
from yardmaster_htcondor.identity import (
    COMPLETED,
    HELD,
    IDLE,
    ON_SLOT,
    REMOVED,
    RUNNING,
    SUSPENDED,
    TRANSFERRING,
    attempt,
    job_name,
    workflow,
)
from yardmaster_htcondor.values import Ad, ms, number, text, truth, whole, words
from yardmaster_htcondor.wants import requirements

PRIORITY_MAX = 2**31 - 1
"""Records have no larger priority."""

STATUS = {
    IDLE: "pending",
    RUNNING: "running",
    SUSPENDED: "running",
    TRANSFERRING: "transferring",
    COMPLETED: "finished",
    REMOVED: "cancelled",
    HELD: "held",
}


def job_state(ad: Ad, dialect: Dialect) -> dict[str, Any]:
    """The record, without its `revision`."""
    status = whole(ad, "JobStatus")
    is_idle = status == IDLE
    provisioned = None if is_idle else number(ad, "CpusProvisioned")
    record = {
        "job": job_name(ad),
        "status": STATUS.get(status, "pending"),
        "changed_at": ms(number(ad, "EnteredCurrentStatus")),
        "attempt": attempt(ad),
        "task": workflow(ad),
        "queue": "" if is_idle else site_of_run(ad),
        "user": user(ad),
        "group": working_group(ad, dialect),
        "gshare": text(ad, "AcctGroup"),
        "label": text(ad, "CMS_Type"),
        "processing_type": text(ad, "CMS_JobType") or text(ad, "CMS_TaskType"),
        "cores": int(provisioned or number(ad, "RequestCpus") or 1),
        "priority": min(max(whole(ad, "JobPrio"), -PRIORITY_MAX), PRIORITY_MAX),
        "created_at": ms(number(ad, "QDate")),
        "started_at": started_at(ad, status),
        "requirements": requirements(ad, dialect),
    }
    add_ending(record, ad, dialect.job_class(ad) == "central")
    return record


def is_led(ad: Ad) -> bool:
    """Whether it waits for Yardmaster."""
    return truth(ad, "YM_Lead") is True


def concurrency_limits(ad: Ad) -> str:
    """The attribute that names its concurrency limits, which only the negotiator counts; empty:
    none does."""
    for name in ("ConcurrencyLimits", "ConcurrencyLimitsExpr"):
        if name in ad and str(ad.lookup(name)) not in ("", "undefined"):
            return name
    return ""


def site_of_run(ad: Ad) -> str:
    """The site where it is or was."""
    return text(ad, "MachineAttrGLIDEIN_CMSSite0") or text(ad, "MATCH_EXP_JOBGLIDEIN_CMSSite")


def user(ad: Ad) -> str:
    """The user that it counts for."""
    return text(ad, "CRAB_UserHN") or text(ad, "AcctGroupUser") or text(ad, "Owner")


def groups(ad: Ad) -> list[str]:
    """Groups that it names: of WMAgent that of the request, of CRAB all that its user is in."""
    return words(text(ad, "CMSGroups"))


def working_group(ad: Ad, dialect: Dialect) -> str:
    """The one group that it runs for; empty: its user's own job."""
    if dialect.share(ad) in dialect.first_groups:
        return dialect.share(ad)
    return ",".join(groups(ad)[:1]) if dialect.job_class(ad) == "central" else ""


def started_at(ad: Ad, status: int) -> int:
    """When its payload started in this try; ms; 0: it did not. The moment of execution may be that
    of the try before, and is missing where input could not be brought."""
    claimed = number(ad, "JobCurrentStartDate") or 0
    executing = number(ad, "JobCurrentStartExecutingDate") or 0
    if status == IDLE or (executing < claimed and status not in ON_SLOT):
        return 0
    return ms(max(claimed, executing))
