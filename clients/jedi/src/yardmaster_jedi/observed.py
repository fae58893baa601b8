"""Observes PanDA's own broker: its answer, and why it skipped which queues, for comparison."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pandajedi.jedicore import Interaction

from yardmaster_client.codec import Record

FATES_MAX = 5_000
"""Beyond any number of queues. A comparison has the first that matter of these."""
REASON_LENGTH_MAX = 200

_SKIPPED = {
    kind: re.compile(rf"skip {kind}=(\S+)\s+(.*?)\s*criteria=-(\S+)")
    for kind in ("site", "nucleus")
}
_GENERIC = re.compile(r"skip (?:site=)?(\S+)\s+(due to .*?)\s*(?:criteria=-(\S+))?$")
"""PanDA's generic broker has a word for one of its reasons alone."""
_WORDS = {
    "status=": "status",
    "wrong PandaSite": "panda_site",
    "small scratch disk": "scratch",
    "disk shortage in SE": "space",
    "short site walltime": "walltime",
    "short job walltime": "walltime",
    "RAM shortage": "memory",
    "processing type": "processing",
    "no pilot": "nopilot",
    "input file dispatch": "incomplete_best",
}
"""Our filters, by what its reasons contain."""


class Skips(logging.Handler):
    """Collects "skip site=... criteria=-..." of one task from the log of PanDA's brokers, the only
    place where they give their reasons. The task broker writes there what its check of queues
    skips too: `kind` is `nucleus`, `site`, or `generic` of the generic broker's sites."""

    def __init__(self, task: Any, kind: str) -> None:
        super().__init__(logging.DEBUG if kind == "generic" else logging.INFO)
        self.skipped = _GENERIC if kind == "generic" else _SKIPPED[kind]
        self.mark = re.compile(rf"jediTaskID={task.jediTaskID}\b")
        self.fates: dict[str, Record] = {}
        self._taking = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Takes in one line of the log."""
        text = record.getMessage()
        if not self.mark.search(text) or (found := self.skipped.search(text)) is None:
            return
        queue, reason, filter_ = found.groups()
        filter_ = filter_ or next((it for word, it in _WORDS.items() if word in reason), "other")
        with self._taking:
            if len(self.fates) < FATES_MAX:
                fate = {"queue": queue, "filter": filter_, "reason": reason[:REASON_LENGTH_MAX]}
                self.fates.setdefault(queue, fate)


@contextmanager
def watching(module: Any, task: Any, kind: str) -> Iterator[Skips]:
    """Collects which sites or nuclei, by `kind`, a broker of PanDA's, in this module, skips for
    this task meanwhile."""
    skips = Skips(task, kind)
    log: logging.Logger = module.logger
    log.addHandler(skips)
    try:
        yield skips
    finally:
        log.removeHandler(skips)


def job_answer(status: Any, chunk: Any, error: str, skips: Skips, took_ms: int) -> Record:
    """The answer of PanDA's broker to a request for jobs, as a side of a comparison."""
    candidates = list(chunk.siteCandidates.values())
    queues = [{"queue": it.siteName, "weight": float(it.weight)} for it in candidates]
    figures = [
        {"queue": it.siteName, "running": _whole(it.nRunningJobs), "queued": _whole(it.nQueuedJobs)}
        for it in candidates
    ]
    is_assigned = status == Interaction.SC_SUCCEEDED
    return {
        "outcome": "assign" if is_assigned else outcome_of(status),
        "reason": "" if is_assigned else error[:REASON_LENGTH_MAX],
        "took_ms": took_ms,
        "queues": queues if is_assigned else [],
        "fates": list(skips.fates.values()),
        "figures": figures,
    }


def outcome_of(status: Any) -> str:
    """A status of PanDA's brokers that is no success: a task without candidates is tried again,
    as one that is deferred; only a fatal status ends that."""
    return "reject" if status == Interaction.SC_FATAL else "defer"


def nucleus_answer(nucleus: str | None, error: str, skips: Skips, took_ms: int) -> Record:
    """The answer of PanDA's task broker, as a side of a comparison: the nucleus that it wrote."""
    return {
        "outcome": "defer" if nucleus is None else "assign",
        "reason": error[:REASON_LENGTH_MAX] if nucleus is None else "",
        "took_ms": took_ms,
        "queues": [] if nucleus is None else [{"queue": nucleus}],
        "fates": list(skips.fates.values()),
    }


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
