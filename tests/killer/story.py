"""A seeded story of ATLAS: jobs, heartbeats, pilots, transfers, requests, with every disorder."""

from dataclasses import dataclass, field

from codec import Record
from grid import (
    GATES,
    GROUPS,
    NUCLEI,
    QUEUES,
    RESOURCE_TYPES,
    SHARES,
    SITES,
    USERS,
    queue_record,
)
from outcome import Outcomes
from request import Requests
from telling import Act, Answers, Telling, now

LIFE = ["defined", "assigned", "activated", "starting", "running", "transferring", "finished"]
ENDS = ["finished", "failed", "cancelled", "closed"]


@dataclass
class Rates:
    """Records a second, at scale 1."""

    jobs: float = 110
    heartbeats: float = 25
    pilots: float = 8
    transfers: float = 8
    requests: float = 6
    gates: float = 0.12


@dataclass
class Story(Telling):
    """Publishes the records of an ATLAS grid."""

    scale: float = 1.0
    jobs: list[Record] = field(default_factory=list)
    past: list[Record] = field(default_factory=list)
    moves: list[Record] = field(default_factory=list)
    opened: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(GATES, False))
    count: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.requests = Requests(self.writer, self.dice)
        answers = Answers(self.writer)
        self.outcomes = Outcomes(answers, self.tell, self._generated_job, self.requests, self.seed)

    def start(self) -> None:
        """Begins."""
        rates, scale = Rates(), self.scale
        acts = [
            Act(rates.jobs * scale, self._job),
            Act(rates.heartbeats * scale, self._heartbeat),
            Act(rates.pilots * scale, lambda: self._pilot(self.dice.choice(QUEUES + GATES))),
            Act(rates.transfers * scale, self._transfer),
            Act(rates.requests * scale, lambda: self.requests.step(now())),
            Act(rates.gates, self._gate),
        ]
        self.begin(acts, lambda: self.outcomes.step(now()))

    def finish(self) -> None:
        """Writes what is held back, ends what keeps requests waiting or their tasks themselves."""
        self.end()
        for move in self.moves:
            # So many files are queued by now that no nucleus takes another task.
            move |= {"state": "done", "changed_at": max(move["changed_at"] + 1, now())}
            self.writer.write("transfer", move["request"], move)
        for gate in GATES:
            self.writer.write("queue", gate, queue_record(gate, now(), True))
        for queue in QUEUES + GATES:
            self._pilot(queue)
        self.requests.end_all(now())
        self.writer.flush()

    # --- Jobs -------------------------------------------------------------------------------------

    def _job(self) -> None:
        luck = self.dice.random()
        if not self.jobs or luck < 0.16:
            job = self._new_job()
        elif luck < 0.20 and self.past:
            old = self.dice.choice(self.past)
            self.writer.write("job-state", old["job"], old)
            return
        else:
            job = self.dice.choice(self.jobs)
            self._advance(job, luck)
        self._tell_job(job)

    def _tell_job(self, job: Record) -> None:
        self.tell("job-state", job["job"], job)
        self.past.append(dict(job))
        if len(self.past) > 2_000:
            del self.past[:1_000]

    def _new_job(self) -> Record:
        self.count += 1
        dice = self.dice
        task = str(dice.randrange(1, 60))
        job: Record = {
            "job": str(5_000_000 + self.count) if dice.random() < 0.9 else f"job-{self.count}",
            "status": "pending",
            "changed_at": self.clock(),
            "revision": 0,
            "attempt": 0,
            "task": task,
            "request": f"{task}/{dice.randrange(9)}:0" if dice.random() < 0.5 else "",
            "queue": dice.choice(QUEUES),
            "user": dice.choice(USERS),
            "group": dice.choice(GROUPS),
            "gshare": dice.choice(SHARES),
            "resource_type": dice.choice(RESOURCE_TYPES),
            "nucleus": dice.choice(NUCLEI),
            "workflow": "pull_ups",
            "label": "managed",
            "processing_type": "simul",
            "cores": dice.choice([0, 1, 1, 8]),
            "priority": dice.randrange(1000),
            "created_at": self.clock(),
        }
        self.jobs.append(job)
        if len(self.jobs) > 6_000:
            self.jobs.pop(dice.randrange(3_000))
        return job

    def _generated_job(self, facts: Record) -> None:
        """A job that was made because of a decision."""
        job = self._new_job()
        job |= facts
        self._tell_job(job)

    def _advance(self, job: Record, luck: float) -> None:
        """The next record of a job: a later time, or the same with a higher revision."""
        dice = self.dice
        if luck < 0.26:
            job["revision"] += 1
            job["user"], job["group"] = dice.choice(USERS), dice.choice(GROUPS)
            return
        job["changed_at"] = max(job["changed_at"] + 1, self.clock() - dice.randrange(200))
        job["revision"] = 0
        status = job["status"]
        if status in ENDS:
            if luck < 0.35:
                # Another try, often elsewhere.
                job |= {"attempt": job["attempt"] + 1, "status": "activated"}
                job |= {"queue": dice.choice(QUEUES), "started_at": 0, "ended_at": 0}
            elif luck < 0.4:
                job["status"] = "running"
        elif dice.random() < 0.08:
            job["status"] = dice.choice(ENDS[1:])
        else:
            at = LIFE.index(status) + dice.choice([1, 1, 1, 2]) if status in LIFE else 0
            job["status"] = LIFE[min(at, len(LIFE) - 1)]
        if job["status"] == "running" and not job.get("started_at"):
            job["started_at"] = job["changed_at"]
        if job["status"] in ENDS:
            job["ended_at"] = job["changed_at"]

    def _heartbeat(self) -> None:
        dice = self.dice
        if self.jobs and dice.random() < 0.95:
            job = dice.choice(self.jobs)
            name, attempt = job["job"], job["attempt"]
        else:
            name, attempt = str(9_000_000 + dice.randrange(500)), 0
        beat = {"job": name, "at": self.clock() - dice.randrange(3_000), "attempt": attempt}
        beat |= {"cpu_s": dice.randrange(9_000), "disk_io_kbps": dice.randrange(4_000)}
        beat |= {"rss_mb": dice.randrange(4_000), "events": dice.randrange(100)}
        self.tell("heartbeat", name, beat)

    # --- Pilots, transfers, gates -----------------------------------------------------------------

    def _pilot(self, queue: str) -> None:
        dice = self.dice
        kind = dice.choice(["asked_job", "asked_job", "updated_job", "workers", "slots"])
        report: Record = {"kind": kind, "queue": queue, "at": self.clock()}
        part = f"node-{dice.randrange(20)}"
        if kind == "workers":
            part = f"harvester-{dice.randrange(3)}"
            report |= {"harvester": part, "resource_type": dice.choice(RESOURCE_TYPES)}
            report |= {"submitted": dice.randrange(500), "running": dice.randrange(500)}
        elif kind == "slots":
            part = "slots"
            report |= {"slots": dice.randrange(1, 500), "gshare": dice.choice(["", *SHARES])}
        else:
            report["node"] = part
        self.tell("pilot", f"{queue}/{part}", report)

    def _transfer(self) -> None:
        dice = self.dice
        if len(self.moves) < 20 or dice.random() < 0.3:
            self.count += 1
            move: Record = {
                "request": f"transfer-{self.count}",
                "state": "queued",
                "changed_at": now(),
                "activity": dice.choice(["Express", "Production Output"]),
                "source": dice.choice(["", *SITES]),
                "destination": dice.choice(SITES),
                "bytes": dice.randrange(1 << 40),
                "files": dice.randrange(0, 100),
            }
            self.moves.append(move)
        else:
            move = dice.choice(self.moves)
            move["changed_at"] = max(move["changed_at"] + 1, now())
            move["state"] = dice.choice(["submitted", "done", "failed", "queued"])
        self.tell("transfer", move["request"], move)

    def _gate(self) -> None:
        gate = self.dice.choice(GATES)
        self.opened[gate] = not self.opened[gate]
        self.writer.write("queue", gate, queue_record(gate, now(), self.opened[gate]))
