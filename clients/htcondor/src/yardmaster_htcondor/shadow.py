"""Shadow: what Yardmaster would have done, beside what HTCondor did. Nothing is edited."""

import logging
from dataclasses import dataclass
from typing import Any

from yardmaster_htcondor.identity import COMPLETED, IDLE, ON_SLOT
from yardmaster_htcondor.intake import Seen
from yardmaster_htcondor.matching import Match, started_s
from yardmaster_htcondor.metrics import Metrics
from yardmaster_htcondor.values import whole

logger = logging.getLogger("yardmaster_htcondor")


@dataclass(frozen=True)
class Compared:
    """A job that was matched in shadow, and started."""

    match: Match
    record: dict[str, Any]
    is_same_site: bool


def compare(match: Match, seen: Seen, domain: str, now_s: float) -> Compared | None:
    """Both sites of a job; None while it waits."""
    status, site = whole(seen.ad, "JobStatus"), seen.record["queue"]
    if status not in (*ON_SLOT, COMPLETED) or not site:
        return None
    asked_ms = seen.record["created_at"]
    started_ms = int(1000 * started_s(seen.ad))
    record = {
        "domain": domain,
        "subject": match.job,
        "attempt": match.job_attempt,
        "task": match.task,
        "policy": match.policy,
        "gshare": match.gshare,
        "queue_type": "production" if match.job_class == "central" else "analysis",
        "label": seen.record["label"],
        "asked_at": asked_ms,
        "compared_at": int(1000 * now_s),
        "in_charge": "other",
        "yardmaster": answer(match.site, int(1000 * match.made_s) - asked_ms),
        "other": answer(site, started_ms - asked_ms),
    }
    return Compared(match, record, site == match.site)


def answer(site: str, took_ms: int) -> dict[str, Any]:
    """One side's answer: a job goes to one site."""
    queue = {"queue": site, "weight": 0.0, "jobs": 1}
    return {"outcome": "assign", "took_ms": max(0, took_ms), "queues": [queue]}


class Shadow:
    """Matches that are watched until their jobs start."""

    def __init__(self, domain: str, metrics: Metrics) -> None:
        self._domain, self._metrics = domain, metrics
        self.watched: dict[str, Match] = {}

    def watch(self, match: Match) -> None:
        """Watches a job from now on; the first match of an attempt counts."""
        known = self.watched.get(match.job)
        if known is None or known.job_attempt != match.job_attempt:
            self.watched[match.job] = match

    def look(self, seen: Seen, now_s: float) -> Compared | None:
        """A comparison, if a job that is watched has started."""
        match = self.watched.get(seen.record["job"])
        if match is None:
            return None
        found = compare(match, seen, self._domain, now_s)
        if found is None and whole(seen.ad, "JobStatus") == IDLE:
            return None
        del self.watched[match.job]
        if found is not None:
            self._metrics.compared.labels(str(found.is_same_site).lower()).inc()
            logger.info(
                "shadow: job %s: Yardmaster chose %s, HTCondor %s",
                match.job,
                match.site,
                seen.record["queue"],
            )
        return found
