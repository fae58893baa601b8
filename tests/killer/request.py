"""Requests of every kind, and what is expected of each."""

import random
from dataclasses import dataclass, field
from enum import Enum

from codec import Record
from domain import ATLAS
from grid import GROUPS, SHARES, USERS
from writer import Writer


class Expected(Enum):
    """How many final answers the newest attempt of a subject must have."""

    ONE = "exactly one"
    AT_MOST_ONE = "at most one"
    NONE = "none"


# Kinds of requests, and how often each comes.
KINDS = {
    "plain": 50,
    "gated": 10,
    "hopeless": 4,
    "again": 10,
    "changed": 10,
    "analysis": 4,
    "nucleus": 3,
    "other_domain": 1,
    "unknown_policy": 1,
    "no_jobs": 1,
    "negative_cores": 1,
    "unknown_share": 1,
    "unknown_site": 1,
    "wrong_key": 1,
    "seconds": 1,
    "no_time": 1,
    "overtaken": 2,
    "ahead": 1,
}


@dataclass
class Requests:
    """Makes requests, asks some again, ends some."""

    writer: Writer
    dice: random.Random
    # The newest record of each subject, and what is expected of its newest attempt.
    newest: dict[str, Record] = field(default_factory=dict)
    expected: dict[str, Expected] = field(default_factory=dict)
    # Which kind of request each subject began as, for whoever looks into a failure.
    kinds: dict[str, str] = field(default_factory=dict)
    # Subjects that nothing but the end of their task can answer for sure.
    endless: list[str] = field(default_factory=list)
    # Tasks that ended: what is asked of one afterwards would wait like any other request.
    ended: set[str] = field(default_factory=set)
    count: int = 0

    def step(self, at: int) -> None:
        """One more record."""
        kind = self.dice.choices(list(KINDS), list(KINDS.values()))[0]
        if kind in ("again", "changed"):
            self._repeat(kind, at)
        else:
            self._ask(kind, at)
        if self.endless and self.dice.random() < 0.03:
            self._end(self.endless.pop(0), at)

    def _ask(self, kind: str, at: int) -> None:
        self.count += 1
        dice = self.dice
        is_alone = kind in ("hopeless", "nucleus", "analysis")
        task = str(100_000 + self.count if is_alone else 1_000 + self.count // 8)
        record: Record = {
            "subject": task if kind == "nucleus" else f"{task}/{self.count}",
            "attempt": 0,
            "task": task,
            "domain": ATLAS.name,
            "policy": "production-job",
            "asked_at": at,
            "changed_at": at,
            "jobs": dice.randrange(1, 20),
            "priority": dice.randrange(100, 900),
            "task_priority": 500,
            "label": "managed",
            "processing_type": "simul",
            "working_group": dice.choice(GROUPS),
            "user": dice.choice(USERS),
            "gshare": SHARES[0],
            "resource_type": "SCORE",
            "nucleus": "NORTH",
            "core_count": 1,
            "atom_events": 1,
        }
        key = record["subject"]
        expected = Expected.ONE
        match kind:
            case "gated":
                record |= {"core_count": 8, "resource_type": "MCORE"}
            case "hopeless":
                record |= {"core_count": 64}
                self.endless.append(key)
            case "analysis":
                record |= {"policy": "analysis-job", "gshare": "User Analysis", "label": "user"}
                record |= {"nucleus": "", "working_group": ""}
                self.endless.append(key)
            case "nucleus":
                record |= {"policy": "production-task", "nucleus": ""}
            case "other_domain":
                record["domain"] = "elsewhere"
                expected = Expected.NONE
            case "unknown_policy":
                record["policy"] = "no-such-policy"
            case "no_jobs":
                record["jobs"] = 0
            case "negative_cores":
                record["core_count"] = -4
            case "unknown_share":
                record["gshare"] = "No Such Share"
                self.endless.append(key)
            case "unknown_site":
                record["site"] = "NO_SUCH_QUEUE"
                self.endless.append(key)
            case "wrong_key":
                key = f"not-{key}"
            case "seconds":
                record |= {"changed_at": at // 1000, "asked_at": at // 1000}
            case "no_time":
                record |= {"changed_at": 0, "asked_at": 0}
            case "ahead":
                record["changed_at"] = at + 86_400_000
            case "overtaken":
                # The second attempt comes before the first, which is then of no account.
                self.writer.write("task", key, record | {"attempt": 1})
                self.writer.write("task", key, record)
                record["attempt"] = 1
        self.newest[record["subject"]] = record
        self.expected[record["subject"]] = expected
        self.kinds[record["subject"]] = kind
        if kind != "overtaken":
            self.writer.write("task", key, record)

    def _repeat(self, kind: str, at: int) -> None:
        """A known subject is asked again, or said again with another priority."""
        normal = [it for it, record in list(self.newest.items())[-200:] if record["changed_at"]]
        if not normal:
            return
        self.repeat(self.dice.choice(normal), kind, at)

    def repeat(self, subject: str, kind: str, at: int) -> None:
        """A subject is asked again, or said again with another priority, if it is known."""
        record = dict(self.newest.get(subject, {}))
        if record.get("domain") != ATLAS.name or record["task"] in self.ended:
            return
        if kind == "again":
            record |= {"attempt": record["attempt"] + 1, "asked_at": at}
        record |= {"changed_at": at, "priority": self.dice.randrange(100, 900)}
        self.newest[subject] = record
        self.writer.write("task", subject, record)
        if self.dice.random() < 0.3:
            self.writer.write("task", subject, record)

    def _end(self, subject: str, at: int) -> None:
        """The task of a subject ends."""
        record = self.newest[subject]
        task = record["task"]
        self.ended.add(task)
        if task != subject:
            self.newest[task] = record | {"subject": task}
            self.expected[task] = Expected.AT_MOST_ONE
        self.newest[task] = self.newest[task] | {"phase": "ended", "changed_at": at}
        self.writer.write("task", task, self.newest[task])

    def end_all(self, at: int) -> None:
        """Ends the tasks of all subjects that would wait for ever."""
        for subject in self.endless:
            self._end(subject, at)
        self.endless.clear()
