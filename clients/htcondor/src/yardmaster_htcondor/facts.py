"""Workflows and users, as all their jobs together tell."""

import logging
from typing import Any

from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.limits import fits
from yardmaster_htcondor.values import Ad
from yardmaster_htcondor.workflow import (
    request_priority,
    tells_priority,
    user_record,
    workflow_record,
)

logger = logging.getLogger("yardmaster_htcondor")

GROUPS_MAX = 500
"""So many groups of a user are published: any job may state some of any user, and all that is known
of one must fit a record."""


class Facts:
    """All that were seen."""

    def __init__(self, dialect: Dialect, policy: str, domain: str) -> None:
        self._dialect, self._policy, self._domain = dialect, policy, domain
        self._workflows: dict[str, dict[str, Any]] = {}
        self._users: dict[str, dict[str, Any]] = {}
        self._cut: set[str] = set()

    def take(self, ad: Ad) -> tuple[dict[str, Any], dict[str, Any]]:
        """Takes in a job; the records of its workflow and user, as they are now."""
        return self._workflow(ad), self._user(ad)

    def _workflow(self, ad: Ad) -> dict[str, Any]:
        new = workflow_record(ad, self._dialect, self._policy, self._domain)
        known = self._workflows.setdefault(new["subject"], new)
        known["asked_at"] = min(known["asked_at"], new["asked_at"])
        facts = known["workflow"]
        if facts["class"] == "central" and tells_priority(ad):
            facts["priority"] = request_priority(ad)
        if new["workflow"]["total_jobs"] is not None:
            facts["total_jobs"] = new["workflow"]["total_jobs"]
        return {**known, "workflow": dict(facts)}

    def _user(self, ad: Ad) -> dict[str, Any]:
        new = user_record(ad, self._dialect)
        known = self._users.setdefault(new["name"], {**new, "groups": [], "roles": []})
        for name in ("groups", "roles"):
            more = [it for it in dict.fromkeys(new[name]) if it not in known[name]]
            fitting = [it for it in more if fits(it)][: GROUPS_MAX - len(known[name])]
            if len(fitting) < len(more) and known["name"] not in self._cut:
                self._cut.add(known["name"])
                logger.warning(
                    "user %s: groups are left out, as one is too long, or there are more than %d",
                    known["name"],
                    GROUPS_MAX,
                )
            known[name] = sorted([*known[name], *fitting])
        return dict(known)
