"""The `task` record of a workflow and the `user` record of a user, as far as jobs tell."""

from typing import Any

from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.identity import workflow
from yardmaster_htcondor.job_state import groups, user, working_group
from yardmaster_htcondor.values import Ad, ms, number, text, whole

TASK_PRIORITY = 10_000_000
"""WMAgent: JobPrio is the request's priority, and this for each level of the task."""

PRIORITY_MAX = 1_000_000

KINDS_OF_PRIORITY = ("Production", "Processing")
"""Job types whose JobPrio follows a change of the request's priority."""


def workflow_record(ad: Ad, dialect: Dialect, policy: str, domain: str) -> dict[str, Any]:
    """The record, without its `changed_at`. No revision of a priority is known, so the newest
    record holds."""
    is_central = dialect.job_class(ad) == "central"
    total = number(ad, "CRAB_JobCount")
    return {
        "subject": workflow(ad),
        "task": workflow(ad),
        "domain": domain,
        "policy": policy,
        "user": user(ad),
        "working_group": working_group(ad, dialect),
        "asked_at": ms(number(ad, "QDate")),
        "workflow": {
            "class": dialect.job_class(ad),
            "priority": request_priority(ad) if is_central else 0,
            "total_jobs": None if total is None else int(total),
            "site_test": text(ad, "CMS_Type") == "test",
        },
    }


def request_priority(ad: Ad) -> int:
    """The priority of the request, whatever the level of the task is."""
    return min(max(0, whole(ad, "JobPrio")) % TASK_PRIORITY, PRIORITY_MAX)


def tells_priority(ad: Ad) -> bool:
    """Whether this job's JobPrio is changed with the request's priority."""
    return text(ad, "CMS_JobType") in KINDS_OF_PRIORITY


def user_record(ad: Ad, dialect: Dialect) -> dict[str, Any]:
    """The record, without its `changed_at`. No ad names roles: users of central work are
    production."""
    is_central = dialect.job_class(ad) == "central"
    return {
        "kind": "user",
        "name": user(ad),
        "groups": [] if is_central else groups(ad),
        "roles": ["production"] if is_central else [],
    }
