"""Subjects of each domain that must have an answer, and how many."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import account
from account import Output
from codec import Record
from domain import ATLAS, CMS, NORDUGRID
from request import Expected


@dataclass
class Requests:
    """Requests of ATLAS: the newest attempt of each subject has one final answer."""

    expected: dict[str, Expected]
    kinds: dict[str, str]
    # The newest attempt of each subject that was asked for.
    asked: dict[str, int] = field(default_factory=dict)
    domain: str = ATLAS.name

    def note(self, topic: str, record: Record) -> None:
        """A record of an input."""
        if topic == "task" and record["domain"] == self.domain:
            subject = record["subject"]
            self.asked[subject] = max(self.asked.get(subject, 0), record["attempt"])

    def note_large(self, record: Record) -> None:
        """A request that is too large may be answered once, or be a dead letter."""
        self.note("task", record)
        self.expected[record["subject"]] = Expected.AT_MOST_ONE

    def note_outcomes(self, _: Iterable[Record]) -> None:
        """An outcome asks for nothing."""

    def due(self, _: list[Output]) -> dict[str, int]:
        """The newest attempt of each subject that must be answered."""
        return self.asked

    def open(self, decisions: list[Output]) -> list[str]:
        """Subjects that have no final answer and must have one."""
        answers: dict[tuple[str, int], list[Record]] = defaultdict(list)
        for output in decisions:
            answers[(output.record["subject"], output.record["attempt"])].append(output.record)
        found = account.open_requests(self.due(decisions), self.expected, answers)
        return [f"{it[:80]} ({self.kinds.get(it, 'of no kind')})" for it in found]

    def complaints(self, decisions: list[Output]) -> list[str]:
        """Complaints about all answers."""
        due = self.due(decisions)
        return account.check_answers(self.domain, decisions, due, self.expected)

    def __len__(self) -> int:
        return len(self.asked)


@dataclass
class SingleJobs(Requests):
    """Requests of NorduGrid: the same, and a target that did not take a job asks once more."""

    # Outcomes by decision, once the inputs are read.
    outcomes: dict[bytes, str] = field(default_factory=dict)
    domain: str = NORDUGRID.name

    def note_outcomes(self, outcomes: Iterable[Record]) -> None:
        """All outcomes that count."""
        self.outcomes = {bytes(it["decision"]): it["kind"] for it in outcomes}

    def due(self, decisions: list[Output]) -> dict[str, int]:
        """The attempt after one that a target did not take is asked for as well."""
        due = dict(self.asked)
        for output in decisions:
            it = output.record
            is_taken = self.outcomes.get(bytes(it["id"]), "accepted") == "accepted"
            if it["outcome"] == "assign" and not is_taken and it["subject"] in due:
                due[it["subject"]] = max(due[it["subject"]], it["attempt"] + 1)
        return due


# The attempt of a job, or of an offer.
Attempt = tuple[str, int]


@dataclass
class Matches:
    """A pool: each attempt of a job has one place or one rejection, no offer is filled twice."""

    expected: dict[Attempt, Expected]
    kinds: dict[str, str]
    # Cores of each offer as announced.
    offered: dict[Attempt, int] = field(default_factory=dict)
    # Attempts of jobs that waited at some time.
    asked: set[Attempt] = field(default_factory=set)

    def note(self, topic: str, record: Record) -> None:
        """A record of an input."""
        if topic == "pilot" and record["kind"] == "slot_offer":
            key = (record["offer"], record["attempt"])
            self.offered[key] = max(self.offered.get(key, 0), record["cores_free"])
        elif topic == "job-state" and record["status"] == "activated":
            self.asked.add((record["job"], record["attempt"]))

    def note_outcomes(self, _: Iterable[Record]) -> None:
        """Outcomes end no match: its job does."""

    @staticmethod
    def _is_of_job(decision: Record) -> bool:
        """Whether its subject is a job and no offer."""
        return decision["matched"] is None and decision["outcome"] == "reject"

    def _finals(self, decisions: list[Output]) -> dict[Attempt, list[Record]]:
        """Final answers by the attempt of the job that they are about."""
        finals: dict[Attempt, list[Record]] = defaultdict(list)
        for output in decisions:
            it = output.record
            if it["matched"] is not None:
                finals[(it["matched"]["job"], it["matched"]["job_attempt"])].append(it)
            elif self._is_of_job(it):
                finals[(it["subject"], it["attempt"])].append(it)
        return finals

    def open(self, decisions: list[Output]) -> list[str]:
        """Jobs that wait for a place or a rejection and must have one."""
        finals = self._finals(decisions)
        return [
            f"{job}:{attempt} ({self.kinds[job]})"
            for (job, attempt), expected in self.expected.items()
            if expected == Expected.ONE and (job, attempt) not in finals
        ]

    def complaints(self, decisions: list[Output]) -> list[str]:
        """Complaints about all answers."""
        of_jobs = [it for it in decisions if self._is_of_job(it.record)]
        of_offers = [it for it in decisions if not self._is_of_job(it.record)]
        found = account.check_ids(CMS.name, of_jobs)
        found += account.check_ids(CMS.name, of_offers, "offer")
        finals = self._finals(decisions)
        for (job, attempt), answers in finals.items():
            if len(answers) > 1:
                outcomes = [f"{it['outcome']} by {it['subject']}" for it in answers]
                found.append(f"{job}:{attempt}: {len(answers)} final answers: {outcomes}")
            if (job, attempt) not in self.asked:
                found.append(f"{job}:{attempt}: answered, and it never waited")
        used: dict[Attempt, int] = defaultdict(int)
        for output in decisions:
            it = output.record
            offer = (it["subject"], it["attempt"])
            if it["matched"] is not None:
                used[offer] += it["matched"]["cores"]
            if not self._is_of_job(it) and offer not in self.offered:
                found.append(f"{offer}: answered, and nobody offered it")
        found += [
            f"{offer}: {cores} cores given, {self.offered.get(offer, 0)} offered"
            for offer, cores in used.items()
            if cores > self.offered.get(offer, 0)
        ]
        return found + [f"{it}: no final answer" for it in self.open(decisions)]

    def __len__(self) -> int:
        return len(self.expected)
