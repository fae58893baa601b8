"""One question to Yardmaster, and what becomes of it: shared by job and task brokerage."""

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from yardmaster_jedi.answers import End, NotDeliveredError, Standing, reserves
from yardmaster_jedi.codec import Record
from yardmaster_jedi.config import Config
from yardmaster_jedi.connection import Connection, now_millis

logger = logging.getLogger("yardmaster_jedi")

UNTIL_GRACE_MS = 60_000
"""How long after its `until` a deferral still counts as one that Yardmaster looks after."""


@dataclass
class Question:
    """A request and the decision on it, if there is one."""

    connection: Connection
    request: Record
    asked: float = field(default_factory=time.monotonic)
    decision: Record | None = None

    def publish(self) -> None:
        """Asks, as a new attempt."""
        subject = self.request["subject"]
        self.request["attempt"] = next_attempt(self.connection.answers.standing(subject))
        self.request["revision"] = 0
        self.asked = time.monotonic()
        self.connection.ask(self.request)

    def wait(self, until: float) -> Record | None:
        """The decision; None if none comes until this moment of `time.monotonic`."""
        key = self.request["subject"], self.request["attempt"]
        try:
            self.decision = self.connection.answers.wait(key, until)
        except NotDeliveredError as error:
            logger.error("request %s:%s was not published: %s", *key, error)
        return self.decision

    def took_ms(self) -> int:
        """From the question to its answer, or to now while there is none; ms."""
        arrived = time.monotonic() if self.decision is None else self.decision["arrived"]
        return max(0, round((arrived - self.asked) * 1000))

    def keep(self) -> None:
        """The decision is carried out, or stands until a later one."""
        self.connection.answers.forget((self.request["subject"], self.request["attempt"]))

    def give_up(self, end: End) -> None:
        """JEDI does otherwise: what the decision reserves is given up, and a request without a
        final decision is taken back."""
        if self.decision is None or self.decision["outcome"] == "defer":
            self.connection.abandon(self.request, end)
            return
        self.keep()
        if reserves(self.decision):
            self.connection.settle(self.decision, end)


def ask(connection: Connection, request: Record, config: Config, afresh: bool = False) -> Question:
    """Asks; goes on with an earlier asking about the subject unless `afresh`."""
    age_max_s = config.timeouts.assignment_age_max_s
    question = None if afresh else resume(connection, request, age_max_s)
    if question is None:
        question = Question(connection, request)
        question.publish()
    return question


def next_attempt(standing: Standing | None) -> int:
    """Seconds since 1970: higher than those of other processes and hosts, since a lock of JEDI's
    keeps two from asking about one subject at the same time. An attempt may have 63 bits; a
    second is fine enough, since two attempts at one subject in a second get different numbers
    from `standing`."""
    now = now_millis() // 1000
    return now if standing is None else max(now, standing.attempt + 1)


def resume(connection: Connection, request: Record, age_max_s: float) -> Question | None:
    """What an earlier asking about the subject came to, if it was deferred and is open, or was
    assigned since: then no new attempt is made. Its decision is the assignment, taken for this
    process alone, or the deferral."""
    subject, policy = request["subject"], request["policy"]
    age_max_ms = age_max_s * 1000

    def is_to_take(standing: Standing) -> bool:
        return is_later_assignment(standing, policy, now_millis(), age_max_ms)

    decision = connection.answers.take(subject, is_to_take)
    standing = connection.answers.standing(subject)
    if standing is None:
        return None
    if decision is None and is_deferred(standing, policy, now_millis()):
        decision = standing.decision
    if decision is None:
        return None
    request["attempt"], request["revision"] = decision["attempt"], standing.revision + 1
    is_taken = decision["outcome"] == "assign"
    connection.refresh(request, decision["id"] if is_taken else None)
    return Question(connection, request, decision=decision)


def is_later_assignment(standing: Standing, policy: str, now_ms: int, age_max_ms: float) -> bool:
    """Whether an assignment came after a deferral, and no process has taken it. A first answer
    (ordinal 1) is always taken, or given up, by the process that asked."""
    decision = standing.decision
    return (
        decision is not None
        and not standing.is_ended
        and reserves(decision)
        and decision["policy"] == policy
        and decision["ordinal"] > 1
        and decision["id"] != standing.taken
        and now_ms - decision["now"] <= age_max_ms
    )


def is_deferred(standing: Standing, policy: str, now_ms: int) -> bool:
    """Whether the subject is deferred, by a Yardmaster that lives: a deferral is repeated by its
    `until` at the latest."""
    decision: dict[str, Any] | None = standing.decision
    return (
        decision is not None
        and not standing.is_ended
        and decision["outcome"] == "defer"
        and not decision["dry_run"]
        and decision["policy"] == policy
        and decision["until"] is not None
        and now_ms < decision["until"] + UNTIL_GRACE_MS
    )
