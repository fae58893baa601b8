"""Carries decisions out, as those do who generate jobs: says what became of them, asks again."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from codec import Record
from request import Requests
from telling import Answers

KINDS = ["accepted", "accepted", "refused", "failed", "expired"]


@dataclass
class Outcomes:
    """Writes outcomes of decisions, right and wrong ones, and jobs that keep promises."""

    answers: Answers
    write: Callable[[str, str, Record], None]
    new_job: Callable[[Record], None]
    requests: Requests
    seed: int
    recent: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(f"outcomes {self.seed}")

    def step(self, at: int) -> None:
        """Reads what was decided since, and does something about most of it."""
        for decision in self.answers.read():
            self.recent = [*self.recent[-50:], decision]
            self._carry_out(decision, at)

    def _carry_out(self, decision: Record, at: int) -> None:
        dice = self.dice
        if decision["outcome"] == "assign" and dice.random() < 0.3:
            self._generate(decision, at)
        if dice.random() < (0.5 if decision["outcome"] == "assign" else 0.1):
            self._settle(decision, dice.choice(KINDS), at)
        if dice.random() < 0.08:
            self._mistake(decision, at)

    def _generate(self, decision: Record, at: int) -> None:
        """Some of the jobs; of some the request is not said, of some the time is too early."""
        dice = self.dice
        request = f"{decision['subject']}:{decision['attempt']}"
        for ranked in decision["ranked"][:2]:
            for _ in range(min(ranked["jobs"], dice.randrange(4))):
                job: Record = {"queue": ranked["unified"], "gshare": decision["gshare"]}
                job |= {"task": decision["task"], "request": request}
                if dice.random() < 0.3:
                    job |= {"request": "", "created_at": at + dice.choice([-60_000, 0, 2_000])}
                self.new_job(job)

    def _settle(self, decision: Record, kind: str, at: int) -> None:
        self._say(decision["subject"], decision["id"], kind, at)
        if self.dice.random() < 0.1:
            self._say(decision["subject"], decision["id"], self.dice.choice(KINDS), at)
        if kind == "accepted" or self.dice.random() < 0.3:
            return
        # The same attempt with another priority has its answer already; a newer one gets one.
        self.requests.repeat(decision["subject"], self.dice.choice(["again", "changed"]), at)

    def _mistake(self, decision: Record, at: int) -> None:
        """An outcome of another subject or of no decision, which ends nothing, or one far ahead."""
        dice = self.dice
        subject, name, kind = decision["subject"], decision["id"], dice.choice(KINDS)
        match dice.randrange(4):
            case 0:
                self._say(dice.choice(self.recent)["subject"], name, kind, at)
            case 1:
                self._say(subject, dice.randbytes(16), kind, at)
            case 2:
                self._say(f"unknown-{dice.randrange(100)}", dice.randbytes(16), kind, at)
            case _:
                self._say(subject, name, kind, at + dice.choice([3_600_000, 31_536_000_000]))

    def _say(self, subject: str, decision: bytes, kind: str, at: int) -> None:
        record = {"subject": subject, "decision": decision, "kind": kind, "at": at}
        self.write("outcome", subject, record | {"reason": self.dice.choice(["", "as told"])})
