"""Requests and decisions that a process remembers: those it waits for, and the newest of each
subject, whichever JEDI process asked.

No Kafka here: `Connection` puts in what it reads. Everything is bounded; the oldest is forgotten.
"""

import datetime
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from yardmaster_client.codec import Record

Key = tuple[str, int]
"""Subject and attempt: a request."""

SUBJECTS_MAX = 20_000
ABANDONED_MAX = 20_000


def millis(moment: Any) -> int:
    """A time of a record, as ms since 1970."""
    if isinstance(moment, datetime.datetime):
        return round(moment.timestamp() * 1000)
    return int(moment)


@dataclass(frozen=True)
class End:
    """How a reservation that nobody uses ends: the kind of `outcome`, and why."""

    kind: str
    reason: str


KEPT = (
    "id",
    "subject",
    "attempt",
    "ordinal",
    "outcome",
    "policy",
    "nucleus",
    "now",
    "until",
    "reason",
    "dry_run",
    "arrived",
)
"""Kept fields of the decision on a subject: enough to carry it out or to wait for a later one."""

KEPT_OF_RANKED = ["queue", "unified", "weight", "jobs", "platform"]

DECIDING = [
    "policy",
    "chunk",
    "ram_count_mb",
    "merge_ram_mb",
    "core_count",
    "nucleus",
    "site",
    "resource_type",
]
DECIDING_OPTIONS = ["included_sites", "excluded_sites", "chunk_site"]


def facts_of(request: Record) -> str:
    """The facts of a request by which queues are chosen and that a chunk cannot change: a decision
    on other facts is none on it. As text, so that those of two requests can be compared, one of
    which was read from Kafka."""
    options = request.get("options") or {}
    facts = [str(request.get(name) or "") for name in DECIDING]
    return repr(facts + [str(options.get(name) or "") for name in DECIDING_OPTIONS])


@dataclass
class Standing:
    """The newest that is known of a subject."""

    attempt: int = -1
    """The highest that was asked or answered."""
    revision: int = 0
    """The highest that was published of this attempt."""
    asked_at: int | None = None
    """When this attempt first asked; ms since 1970."""
    facts: str = ""
    """Those of the newest request of this attempt; see `facts_of`."""
    is_ended: bool = False
    decision: Record | None = None
    """The newest of this attempt, as far as it is needed later."""
    taken: bytes | None = None
    """The id of a decision that a JEDI process has taken after a deferral."""


def reserves(decision: Record) -> bool:
    """Whether a decision holds room at queues until its jobs are seen."""
    return decision["outcome"] == "assign" and not decision["dry_run"]


class NotDeliveredError(Exception):
    """Kafka did not take the request."""


class Answers:
    """Answers that are awaited, and the newest request and decision of each subject."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._expected: dict[Key, Record | str | None] = {}
        self._abandoned: OrderedDict[Key, End] = OrderedDict()
        self._subjects: OrderedDict[str, Standing] = OrderedDict()

    def expect(self, key: Key) -> None:
        """From now on the decision on this request is kept for `wait`."""
        with self._changed:
            self._expected[key] = None

    def wait(self, key: Key, until: float) -> Record | None:
        """The decision on an expected request, or None if none comes until `until`, a moment of
        `time.monotonic`. `NotDeliveredError` if the request was not even published."""
        with self._changed:
            while (found := self._expected.get(key)) is None:
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)
            if isinstance(found, str):
                raise NotDeliveredError(found)
            return found

    def forget(self, key: Key) -> None:
        """Nobody waits for the decision any more."""
        with self._changed:
            self._expected.pop(key, None)

    def fail(self, key: Key, why: str) -> None:
        """The request was not published."""
        with self._changed:
            if key in self._expected:
                self._expected[key] = why
                self._changed.notify_all()

    def abandon(self, key: Key, end: End) -> Record | None:
        """Nobody will carry the decision on this request out. Returns it if it is there already and
        holds room; one that comes later is returned by `add_decision`."""
        with self._changed:
            found = self._expected.pop(key, None)
            if isinstance(found, dict) and reserves(found):
                return found
            self._abandoned[key] = end
            while len(self._abandoned) > ABANDONED_MAX:
                self._abandoned.popitem(last=False)
            return None

    def add_decision(self, decision: Record) -> End | None:
        """Takes in a decision; how its reservation ends if its request was abandoned."""
        key = decision["subject"], decision["attempt"]
        with self._changed:
            if key in self._expected:
                self._expected[key] = decision
                self._changed.notify_all()
            standing = self._standing(decision["subject"])
            _advance(standing, decision["attempt"])
            before = standing.decision
            is_newer = before is None or before["ordinal"] < decision["ordinal"]
            if standing.attempt == decision["attempt"] and is_newer:
                standing.decision = _kept(decision)
            if key not in self._abandoned or not reserves(decision):
                return None
            return self._abandoned.pop(key)

    def add_request(self, request: Record, taken: bytes | None) -> None:
        """Takes in a request that some JEDI process published, with the id of the decision that
        this process has taken, if any."""
        with self._changed:
            standing = self._standing(request["subject"])
            if request["attempt"] < standing.attempt:
                return
            _advance(standing, request["attempt"])
            asked_at = millis(request["asked_at"])
            standing.asked_at = min(asked_at, standing.asked_at or asked_at)
            if request["revision"] >= standing.revision:
                standing.revision = request["revision"]
                standing.is_ended = request["phase"] == "ended"
                if not standing.is_ended:
                    standing.facts = facts_of(request)
            standing.taken = taken or standing.taken

    def standing(self, subject: str) -> Standing | None:
        """The newest request and decision of a subject; a copy."""
        with self._changed:
            found = self._subjects.get(subject)
            return None if found is None else Standing(**vars(found))

    def take(self, subject: str, judge: Callable[[Standing], bool]) -> Record | None:
        """The decision on a subject if `judge` agrees to what is known; no other thread of this
        process is given it again."""
        with self._changed:
            found = self._subjects.get(subject)
            if found is None or found.decision is None or not judge(found):
                return None
            found.taken = found.decision["id"]
            return found.decision

    def _standing(self, subject: str) -> Standing:
        standing = self._subjects.setdefault(subject, Standing())
        self._subjects.move_to_end(subject)
        while len(self._subjects) > SUBJECTS_MAX:
            self._subjects.popitem(last=False)
        return standing


def _kept(decision: Record) -> Record:
    """A decision without what is large: figures, fates, and the queues of a first answer, which is
    carried out, or given up, by the process that asked."""
    ranked = decision["ranked"] if decision["ordinal"] > 1 else []
    return {
        **{name: value for name, value in decision.items() if name in KEPT},
        "ranked": [
            {**{name: value for name, value in it.items() if name in KEPT_OF_RANKED}, "factors": []}
            for it in ranked
        ],
        "counts": decision["counts"] if decision["outcome"] == "defer" else [],
        "factor_names": [],
        "fates": [],
        "notes": [],
    }


def _advance(standing: Standing, attempt: int) -> None:
    """A higher attempt makes what was known of the one before it void."""
    if attempt > standing.attempt:
        fresh: dict[str, Any] = vars(Standing(attempt=attempt))
        vars(standing).update(fresh)
