"""One question to Yardmaster, and what becomes of it: shared by job and task brokerage."""

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from yardmaster_client.codec import Record
from yardmaster_jedi.answers import End, NotDeliveredError, Standing, facts_of, reserves
from yardmaster_jedi.config import Config
from yardmaster_jedi.connection import Connection, now_millis
from yardmaster_jedi.facts import MERGE, task_facts

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
    is_resumed: bool = False
    """Whether the decision was known before: it says nothing of whether Yardmaster lives."""

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
        final decision is taken back. A failure is logged: PanDA's own broker decides all the
        same."""
        try:
            self._give_up(end)
        except Exception as error:
            what = f"{self.request['subject']}:{self.request['attempt']}"
            logger.error("%s is not given up: %s: %s", what, type(error).__name__, error)

    def _give_up(self, end: End) -> None:
        if self.decision is None or self.decision["outcome"] == "defer":
            self.connection.abandon(self.request, end)
            return
        self.keep()
        if reserves(self.decision):
            self.connection.settle(self.decision, end)


def ask(
    connection: Connection, task: Any, request: Record, config: Config, afresh: bool = False
) -> Question:
    """Asks about a task or a chunk of it; goes on with an earlier asking about the subject unless
    `afresh` or the facts are others."""
    age_max_s = config.timeouts.assignment_age_max_s
    question = None if afresh else resume(connection, request, age_max_s)
    if question is None:
        release(connection, task, request["subject"], "asked again")
        question = Question(connection, request)
        question.publish()
    return question


def release(connection: Connection, task: Any, subject: str, why: str) -> None:
    """Gives up what an earlier asking about a subject left: a deferral whose later assignment
    would hold room that nobody uses, or such an assignment. Does not wait for Kafka; a failure is
    logged."""
    try:
        _release(connection, task, subject, End("refused", why))
    except Exception as error:
        logger.error("%s is not given up: %s: %s", subject, type(error).__name__, error)


def _release(connection: Connection, task: Any, subject: str, end: End) -> None:
    standing = connection.answers.standing(subject)
    if standing is None or standing.is_ended or standing.decision is None:
        return
    if standing.decision["outcome"] == "defer":
        now = now_millis()
        # Intake takes the facts of a task's jobs from its newest record.
        request = {
            **task_facts(task),
            "chunk": "merge" if subject.endswith(MERGE) else "normal",
            "subject": subject,
            "attempt": standing.attempt,
            "revision": standing.revision,
            "domain": connection.config.domain,
            "policy": standing.decision["policy"],
            "asked_at": standing.asked_at or now,
            "changed_at": now,
        }
        connection.abandon(request, end)
        return
    decision = connection.answers.take(subject, is_untaken)
    if decision is not None:
        connection.settle(decision, end)


def next_attempt(standing: Standing | None) -> int:
    """Seconds since 1970: higher than those of other processes and hosts, since a lock of JEDI's
    keeps two from asking about one subject at the same time. An attempt may have 63 bits; a
    second is fine enough, since two attempts at one subject in a second get different numbers
    from `standing`."""
    now = now_millis() // 1000
    return now if standing is None else max(now, standing.attempt + 1)


def resume(connection: Connection, request: Record, age_max_s: float) -> Question | None:
    """The question that an earlier asking about the subject with the same facts left, if it was
    deferred and is open, or was assigned since: then no new attempt is made. Its decision is the
    assignment, taken for this process alone, or the deferral."""
    subject, policy, facts = request["subject"], request["policy"], facts_of(request)
    age_max_ms = age_max_s * 1000

    def is_to_take(standing: Standing) -> bool:
        is_same = standing.facts == facts
        return is_same and is_later_assignment(standing, policy, now_millis(), age_max_ms)

    decision = connection.answers.take(subject, is_to_take)
    standing = connection.answers.standing(subject)
    if standing is None or standing.facts != facts:
        return None
    if decision is None and is_deferred(standing, policy, now_millis()):
        decision = standing.decision
    if decision is None:
        return None
    request["attempt"], request["revision"] = decision["attempt"], standing.revision + 1
    # Its place among those that wait is that of its first asking.
    request["asked_at"] = standing.asked_at or request["asked_at"]
    is_taken = decision["outcome"] == "assign"
    question = Question(connection, request, decision=decision, is_resumed=True)
    try:
        connection.refresh(request, decision["id"] if is_taken else None)
    except Exception:
        if is_taken:
            question.give_up(End("failed", "it could not be published that JEDI takes it"))
        raise
    return question


def is_untaken(standing: Standing) -> bool:
    """Whether an assignment came after a deferral, and no process has taken it. A first answer
    (ordinal 1) is always taken, or given up, by the process that asked."""
    decision = standing.decision
    return (
        decision is not None
        and not standing.is_ended
        and reserves(decision)
        and decision["ordinal"] > 1
        and decision["id"] != standing.taken
    )


def is_later_assignment(standing: Standing, policy: str, now_ms: int, age_max_ms: float) -> bool:
    """Whether a later assignment may be carried out."""
    decision = standing.decision
    return (
        decision is not None
        and is_untaken(standing)
        and decision["policy"] == policy
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
