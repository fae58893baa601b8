"""A seeded story of NorduGrid: clusters that publish what they have, jobs that want one of them."""

from dataclasses import dataclass, field

from codec import Record
from request import Expected
from telling import Act, Answers, Telling, now

CLUSTERS = ["ce-a", "ce-b", "ce-c", "ce-d"]
USERS = ["ann", "bob"]
MB = 1 << 20
# Facts are published again after so long, well before they are too old to be used.
FACTS_S = 60.0
# Of kinds of requests, and how often each comes.
KINDS = {
    "plain": 60,
    "again": 10,
    "repeated": 8,
    "named": 8,
    "refused_name": 3,
    "overtaken": 2,
    "bad_description": 2,
    "no_such_index": 1,
    "too_many": 1,
    "stranger": 1,
    "other_domain": 1,
    "no_time": 1,
    "seconds": 1,
    "ahead": 1,
    "wrong_key": 1,
}
PLAIN = "&(executable=/bin/date)(cputime=10)"
LIFE = ["activated", "running", "finished"]


@dataclass
class Clusters(Telling):
    """Publishes the records of a NorduGrid."""

    jobs_a_second: float = 1.5
    # The newest request of each subject, its kind, and how many final answers it must have.
    newest: dict[str, Record] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    expected: dict[str, Expected] = field(default_factory=dict)
    # The newest record of each job that is at a cluster.
    jobs: dict[str, Record] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)
    count: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.answers = Answers(self.writer)

    def start(self) -> None:
        """Begins."""
        self._facts()
        rate = self.jobs_a_second
        acts = [Act(rate, self._ask), Act(2 * rate, self._advance), Act(1 / FACTS_S, self._facts)]
        self.begin(acts, self._carry_out)

    def finish(self) -> None:
        """Nobody asks any more."""
        self.end()
        self._facts()
        self.writer.flush()

    def _facts(self) -> None:
        """Publishes the present facts of the clusters."""
        at = now()
        for name in CLUSTERS:
            queue = f"{name}/q"
            child = {"registry": "index", "child": name, "changed_at": at, "kind": "computing"}
            self.writer.write("registration", f"index {name}", child | {"addressed": True})
            has = {"answered": True, "total_slots": 100, "cache_free_bytes": 9_000 * MB}
            self.writer.write("site", name, {"name": name, "changed_at": at, "cluster": has})
            batch: Record = {"status": "active", "total_slots": 100}
            record = {"name": queue, "unified": "", "changed_at": at, "batch": batch}
            self.writer.write("queue", queue, record | {"status": "online"})
            for user in USERS:
                share = {"queue": queue, "user": user, "changed_at": at, "authorised": True}
                share |= {"free_slots": "50", "disk_free_bytes": 9_000 * MB}
                self.writer.write("user-share", f"{queue} {user}", share)

    # --- Requests ---------------------------------------------------------------------------------

    def _ask(self) -> None:
        kind = self.dice.choices(list(KINDS), list(KINDS.values()))[0]
        if kind in ("again", "repeated"):
            self._repeat(kind)
            return
        self.count += 1
        subject, at = str(8_000_000 + self.count), now()
        described: Record = {"text": PLAIN, "index_servers": ["index"]}
        record: Record = {"subject": subject, "task": subject, "domain": "nordugrid", "jobs": 1}
        record |= {"policy": "nordugrid-job", "user": self.dice.choice(USERS), "attempt": 0}
        record |= {"asked_at": at, "changed_at": at, "description": described}
        key, expected = subject, Expected.ONE
        match kind:
            case "named":
                described |= {"index_servers": [], "clusters": [self.dice.choice(CLUSTERS)]}
            case "refused_name":
                described["clusters"] = [f"-{self.dice.choice(CLUSTERS)}"]
            case "bad_description":
                described["text"] = "&(executable=/bin/date"
            case "no_such_index":
                described["index_servers"] = ["elsewhere"]
            case "too_many":
                described["text"] = f"{PLAIN}(count=5000)"
            case "stranger":
                record["user"] = "nobody"
            case "other_domain":
                record["domain"], expected = "elsewhere", Expected.NONE
            case "no_time":
                record |= {"asked_at": 0, "changed_at": 0}
            case "seconds":
                record |= {"asked_at": at // 1000, "changed_at": at // 1000}
            case "ahead":
                record["changed_at"] = at + 86_400_000
            case "wrong_key":
                key = f"not-{key}"
            case "overtaken":
                # The second attempt comes before the first, which is then of no account.
                self.writer.write("task", key, record | {"attempt": 1})
                self.writer.write("task", key, record)
                record["attempt"] = 1
        self.newest[subject] = record
        self.kinds[subject] = kind
        self.expected[subject] = expected
        if kind != "overtaken":
            self.writer.write("task", key, record)

    def _repeat(self, kind: str) -> None:
        """A known subject once more, as it was or as the next attempt."""
        known = [it for it in list(self.newest)[-200:] if self.kinds[it] in ("plain", "named")]
        if not known:
            return
        subject = self.dice.choice(known)
        record = dict(self.newest[subject])
        if kind == "again":
            record |= {"attempt": record["attempt"] + 1, "asked_at": now()}
        record["changed_at"] = now()
        self.newest[subject] = record
        self.writer.write("task", subject, record)

    # --- What becomes of decisions ----------------------------------------------------------------

    def _carry_out(self) -> None:
        """Says whether the target took the job, and that the job is there."""
        dice = self.dice
        for decision in self.answers.read():
            name = bytes(decision["id"])
            if decision["outcome"] != "assign" or name in self.seen:
                continue
            self.seen.add(name)
            kind = dice.choices(["accepted", "refused", "failed", ""], [70, 8, 4, 18])[0]
            subject = decision["subject"]
            if kind:
                record = {"subject": subject, "decision": name, "kind": kind, "at": now()}
                self.tell("outcome", subject, record)
            if kind == "accepted":
                self._place(decision)

    def _place(self, decision: Record) -> None:
        subject = decision["subject"]
        job: Record = {"job": subject, "task": subject, "queue": decision["ranked"][0]["queue"]}
        job |= {"user": decision["user"], "cores": 1, "created_at": now(), "revision": 0}
        job |= {"request": f"{subject}:{decision['attempt']}", "attempt": decision["attempt"]}
        job |= {"sub_status": "INLRMS:Q", "status": LIFE[0], "activated_at": now()}
        self._tell(job, now())

    def _tell(self, job: Record, at: int) -> None:
        """The next record of a job; no two of one job have the same time."""
        before = self.jobs.get(job["job"], {})
        job["changed_at"] = max(before.get("changed_at", 0) + 1, at)
        self.jobs[job["job"]] = job
        self.tell("job-state", job["job"], job)

    def _advance(self) -> None:
        """A job goes on at its cluster."""
        if not self.jobs:
            return
        job = dict(self.jobs[self.dice.choice(list(self.jobs)[-300:])])
        if job["status"] == LIFE[-1]:
            return
        job["status"] = LIFE[LIFE.index(job["status"]) + 1]
        job["sub_status"] = "INLRMS:R" if job["status"] == "running" else "FINISHED"
        at = self.clock()
        job |= {"started_at": at} if job["status"] == "running" else {"ended_at": at}
        self._tell(job, at)
