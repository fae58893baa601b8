"""A seeded story of CMS: workflows, jobs that wait for slots, pilots that offer them."""

from dataclasses import dataclass, field

from codec import Record
from request import Expected
from telling import Act, Answers, Telling, now

SITES = {"T1_X": "T1", "T2_Y": "T2", "T2_Z": "T2"}
USERS = ["ops", "cmsprod", "ann", "bob"]
# Of kinds of jobs, and how often each comes.
KINDS = {
    "plain": 60,
    "wide": 8,
    "at_one_site": 10,
    "analysis": 10,
    "early": 3,
    "too_wide": 2,
    "no_cores": 2,
    "no_site": 2,
    "no_time": 2,
    "no_workflow": 1,
}
REJECTED = ("no_cores", "no_site", "no_time", "no_workflow")
WORKFLOWS = 40
# So many cores are offered at once, and nobody has as many as this.
CORES = [1, 1, 2, 4, 8]
TOO_MANY = 512
HOUR_MS = 3_600_000

# A job and its attempt.
Attempt = tuple[str, int]


@dataclass
class Pool(Telling):
    """Publishes the records of a CMS pool."""

    jobs_a_second: float = 2.5
    # The newest record of each job.
    jobs: dict[str, Record] = field(default_factory=dict)
    waiting: dict[str, None] = field(default_factory=dict)
    running: dict[str, None] = field(default_factory=dict)
    over: list[str] = field(default_factory=list)
    hopeless: list[str] = field(default_factory=list)
    # Names of offers with the attempt they are at.
    offers: dict[str, int] = field(default_factory=dict)
    workflows: list[tuple[str, str]] = field(default_factory=list)
    # How many final answers each attempt of a job must have, and as what the job began.
    expected: dict[Attempt, Expected] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.answers = Answers(self.writer)

    def start(self) -> None:
        """Begins."""
        for name, tier in SITES.items():
            quota = {"revision": 1, "tier": tier, "pledged_slots": 200_000, "central_permille": 500}
            record = {"name": name, "changed_at": now(), "slot_quota": quota | {"status": "online"}}
            self.writer.write("site", name, record)
        for _ in range(WORKFLOWS):
            self._workflow(self.dice.choice(["central", "central", "analysis"]))
        rate = self.jobs_a_second
        acts = [
            Act(rate, self._ask),
            Act(0.6 * rate, self._offer),
            Act(0.1 * rate, self._withdraw),
            Act(1.5 * rate, self._advance),
        ]
        self.begin(acts, self._carry_out)

    def finish(self) -> None:
        """Nobody asks any more; what can never run is cancelled."""
        self.end()
        for job in self.hopeless:
            self._tell(job, {"status": "cancelled", "ended_at": now()}, now())
            self.waiting.pop(job, None)
        self.settle()
        self.writer.flush()

    def settle(self) -> None:
        """Offers enough for what waits, and starts what got a place."""
        self._carry_out()
        if self.waiting:
            for site in SITES:
                self._offer_at(site, f"last-{self.count}-{site}", 0, 8)
            self.count += 1
        self._release(is_all=True)

    def unsettled(self) -> int:
        """Jobs that wait for a place."""
        return len(self.waiting)

    # --- Jobs -------------------------------------------------------------------------------------

    def _workflow(self, kind: str, name: str = "") -> str:
        name = name or str(7_000_000 + len(self.workflows))
        self.workflows.append((name, kind))
        facts = {"class": kind, "priority": self.dice.randrange(9), "test_jobs": 0}
        record: Record = {"subject": name, "task": name, "domain": "cms", "policy": "cms"}
        record |= {"user": self.dice.choice(USERS), "asked_at": now(), "changed_at": now()}
        self.writer.write("task", name, record | {"workflow": facts})
        return name

    def _ask(self) -> None:
        """A new job, or one that is over once more."""
        dice = self.dice
        if self.over and dice.random() < 0.15:
            job = self.over.pop(dice.randrange(len(self.over)))
            attempt = self.jobs[job]["attempt"] + 1
            first = {"status": "activated", "queue": "", "cores": 0, "started_at": 0, "ended_at": 0}
            self._wait(job, first | {"attempt": attempt, "revision": 0}, Expected.ONE)
            return
        self.count += 1
        job = f"job-{self.count}"
        kind = dice.choices(list(KINDS), list(KINDS.values()))[0]
        self.kinds[job] = kind
        wanted: Record = {"seq": self.count, "cores_min": 1}
        workflow = self._of_class("analysis" if kind == "analysis" else "central")
        match kind:
            case "wide":
                wanted["cores_min"] = 8
            case "at_one_site":
                wanted["site_whitelist"] = dice.choice(list(SITES))
            case "too_wide":
                wanted["cores_min"] = TOO_MANY
            case "no_cores":
                wanted["cores_min"] = 0
            case "no_site":
                wanted["site_whitelist"] = ""
            case "no_time":
                wanted["max_wall_time_s"] = 0
            case "no_workflow":
                workflow = ""
            case "early":
                # Its workflow is published right after it.
                workflow = str(7_000_000 + len(self.workflows))
        record = {"task": workflow, "user": dice.choice(USERS), "requirements": wanted}
        record |= {"job": job, "status": "activated", "attempt": 0, "created_at": now()}
        expected = Expected.AT_MOST_ONE if kind == "too_wide" else Expected.ONE
        self._wait(job, record, expected)
        if kind == "early":
            self._workflow("central", workflow)
        elif kind == "too_wide":
            self.hopeless.append(job)

    def _of_class(self, kind: str) -> str:
        return self.dice.choice([name for name, known in self.workflows if known == kind])

    def _wait(self, job: str, change: Record, expected: Expected) -> None:
        self._tell(job, change, now())
        self.expected[(job, self.jobs[job]["attempt"])] = expected
        if self.kinds[job] not in REJECTED:
            self.waiting[job] = None

    def _tell(self, job: str, change: Record, at: int) -> None:
        """The next record of a job; no two of an attempt have the same time."""
        before = self.jobs.get(job, {})
        record = before | change
        # By a clock that was ahead the last of an attempt may lie ahead; the next begins now.
        is_same = record["attempt"] == before.get("attempt")
        record["changed_at"] = max(before["changed_at"] + 1, at) if is_same else at
        self.jobs[job] = record
        self.tell("job-state", job, record)

    def _carry_out(self) -> None:
        """Starts the jobs that got a place."""
        for decision in self.answers.read():
            matched = decision["matched"]
            if matched is None:
                continue
            job, attempt = matched["job"], matched["job_attempt"]
            if job in self.waiting and self.jobs[job]["attempt"] == attempt:
                del self.waiting[job]
                self.running[job] = None
                change = {"status": "running", "queue": decision["ranked"][0]["queue"]}
                self._tell(job, change | {"cores": matched["cores"], "started_at": now()}, now())

    def _advance(self) -> None:
        """A running job ends, or says something new of itself."""
        if len(self.running) < 20:
            return
        job = self.dice.choice(list(self.running)[:200])
        if self.dice.random() < 0.3:
            self._tell(job, {"revision": self.jobs[job].get("revision", 0) + 1}, self.clock())
            return
        del self.running[job]
        self.over.append(job)
        status = self.dice.choice(["finished", "finished", "failed", "cancelled"])
        self._tell(job, {"status": status, "ended_at": now()}, now())

    # --- Offers -----------------------------------------------------------------------------------

    def _offer(self) -> None:
        """A new offer, or what became free of an old one."""
        dice = self.dice
        site, cores = dice.choice(list(SITES)), dice.choice(CORES)
        if self.offers and dice.random() < 0.2:
            name = dice.choice(list(self.offers)[-100:])
            site = name.rsplit("-", 1)[1]
            self._offer_at(site, name, self.offers[name] + 1, cores)
            return
        self._offer_at(site, f"slot-{len(self.offers)}-{site}", 0, cores)

    def _offer_at(self, site: str, name: str, attempt: int, cores: int) -> None:
        self.offers[name] = attempt
        record: Record = {"kind": "slot_offer", "queue": site, "at": now(), "offer": name}
        record |= {"attempt": attempt, "cores_free": cores, "cores_total": cores}
        record |= {"wall_left_s": 172_800, "mem_free_mb": 8_000 * cores}
        record["expires_at"] = now() + self.dice.choice([60_000, HOUR_MS])
        self.tell("pilot", name, record)

    def _withdraw(self) -> None:
        if self.offers:
            name = self.dice.choice(list(self.offers)[-30:])
            record = {"kind": "slot_withdrawn", "queue": name.rsplit("-", 1)[1], "at": now()}
            self.tell("pilot", name, record | {"offer": name, "attempt": self.offers[name]})
