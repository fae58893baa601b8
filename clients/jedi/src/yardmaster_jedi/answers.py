"""What a process knows of requests and decisions: those it waits for, and the newest of each
subject, whichever JEDI process asked.

No Kafka here: `Connection` puts in what it reads. Everything is bounded; the oldest is forgotten.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from yardmaster_jedi.codec import Record

Key = tuple[str, int]
"""Subject and attempt: a request."""

SUBJECTS_MAX = 20_000
ABANDONED_MAX = 20_000


@dataclass(frozen=True)
class End:
    """How a reservation that nobody uses ends: the kind of `outcome`, and why."""

    kind: str
    reason: str


@dataclass
class Standing:
    """The newest that is known of a subject."""

    attempt: int = -1
    """The highest that was asked or answered."""
    revision: int = 0
    """The highest that was published of this attempt."""
    is_ended: bool = False
    decision: Record | None = None
    """The newest of this attempt, without its fates."""
    taken: bytes | None = None
    """The id of a decision that a JEDI process has taken after a deferral."""


def reserves(decision: Record) -> bool:
    """Whether a decision holds room at queues until its jobs are seen."""
    return decision["outcome"] == "assign" and not decision["dry_run"]


class NotDeliveredError(Exception):
    """Kafka did not take the request."""


class Answers:
    """See the module."""

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
                standing.decision = {**decision, "fates": []}
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
            if request["revision"] >= standing.revision:
                standing.revision = request["revision"]
                standing.is_ended = request["phase"] == "ended"
            standing.taken = taken or standing.taken

    def standing(self, subject: str) -> Standing | None:
        """What is known of a subject; a copy."""
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


def _advance(standing: Standing, attempt: int) -> None:
    """A higher attempt makes what was known of the one before it void."""
    if attempt > standing.attempt:
        fresh: dict[str, Any] = vars(Standing(attempt=attempt))
        vars(standing).update(fresh)
