"""A small pool without HTCondor: real ads, a queue that edits change, and a Kafka that is a
list."""

import queue
import time
from typing import Any

import fixtures

from yardmaster_htcondor.agent import Agent
from yardmaster_htcondor.answering import AwayError
from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.matching import Terms
from yardmaster_htcondor.metrics import Metrics
from yardmaster_htcondor.values import Ad

SCHEDD = "schedd-1"
SLOT = "slot1@glidein_11_1@desy-wn1.test"
OTHER = "slot1@glidein_12_1@neb-wn1.test"


class FakePool:
    """Reads, as `Pool` does."""

    def __init__(self) -> None:
        self.queue: dict[str, Ad] = {}
        self.gone: list[Ad] = []
        self.slots_there: dict[str, Ad] = {}
        self.is_down = False
        self.asked_history = 0
        for name in (SLOT, OTHER):
            ad = fixtures.slots()[name]
            ad["Cpus"], ad["Memory"] = 8, 16_000
            ad["GLIDEIN_ToRetire"] = int(time.time()) + 100_000
            ad["MyCurrentTime"] = int(time.time())
            self.slots_there[name] = ad

    def find_schedds(self) -> list[str]:
        return [SCHEDD]

    def _up(self) -> None:
        if self.is_down:
            raise AwayError("the schedd does not answer")

    def jobs(self, schedd: str, ended_since_s: int) -> list[Ad]:
        self._up()
        return [classad.ClassAd(str(ad)) for ad in self.queue.values()]

    def history(self, schedd: str, ended_since_s: int, newest: str | None) -> list[Ad]:
        self.asked_history += 1
        found = []
        for ad in reversed(self.gone):
            if f"{ad['ClusterId']}.{ad['ProcId']}" == newest:
                break
            found.append(classad.ClassAd(str(ad)))
        return found

    def slots(self) -> list[Ad]:
        return list(self.slots_there.values())

    def whole_job(self, schedd: str, job: str) -> Ad | None:
        self._up()
        ad = self.queue.get(job)
        return None if ad is None else classad.ClassAd(str(ad))

    def whole_slot(self, offer: str) -> Ad | None:
        ad = self.slots_there.get(offer)
        return None if ad is None else classad.ClassAd(str(ad))


class FakeEditor:
    """Edits the jobs of a `FakePool`, and remembers it."""

    def __init__(self, pool: FakePool) -> None:
        self._pool = pool
        self.edits: list[tuple[str, dict[str, str]]] = []
        self.moved: list[int] = []
        self.rescheduled = 0
        self.is_refused = False

    def edit_idle(self, schedd: str, job: str, edits: dict[str, str]) -> bool:
        ad = self._pool.queue.get(job)
        if ad is None or ad["JobStatus"] != 1 or self.is_refused:
            return False
        self.edits.append((job, edits))
        for name, value in edits.items():
            ad[name] = classad.ExprTree(value)
        return True

    def move_on(self, schedd: str, until_s: int) -> bool:
        self.moved.append(until_s)
        return True

    def reschedule(self, schedd: str) -> None:
        self.rescheduled += 1


class FakeBus:
    """Keeps what is published."""

    def __init__(self) -> None:
        self.decisions: queue.Queue[tuple[dict[str, Any], Any]] = queue.Queue()
        self.failed: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self.refused: queue.Queue[tuple[str, dict[str, Any], str]] = queue.Queue()
        self.alive_s = time.time()
        self.is_broken = False
        self.is_full = False
        self.published: list[tuple[str, dict[str, Any]]] = []
        self.settled: list[Any] = []

    def publish(self, topic: str, record: dict[str, Any]) -> bool:
        if self.is_full:
            return False
        self.published.append((topic, record))
        return True

    def done(self, message: Any) -> None:
        self.settled.append(message)


class World:
    """An agent in it."""

    def __init__(self, mode: str = "lead", users: str = "jobs", **terms: Any) -> None:
        self.pool, self.bus = FakePool(), FakeBus()
        self.editor = FakeEditor(self.pool)
        stated = {"grace_s": 120.0, "match_s": 180.0, "misses": 3} | terms
        self.config = Config("kafka:9092", mode=mode, users=users, terms=Terms(**stated))
        self.number = 0
        self.agent = self.another_agent()

    def another_agent(self) -> Agent:
        """An agent that knows nothing: the one before was killed."""
        editor: Any = self.editor if self.config.leads else None
        pool: Any = self.pool
        return Agent(self.config, pool, self.bus, editor, Metrics())

    def job(self, name: str = "crab-idle", job_id: str = "1.0", **changes: Any) -> Ad:
        """A led idle job in the queue, that both slots take."""
        now = int(time.time())
        cluster, _, proc = job_id.partition(".")
        sites = "T2_DE_DESY,T2_US_Nebraska"
        until = {"YM_Lead": True, "YM_Until": now + 120} if self.config.leads else {}
        stated = {"ClusterId": int(cluster), "ProcId": int(proc), "DESIRED_SITES": sites}
        stated |= {"QDate": now - 5, "EnteredCurrentStatus": now - 5, **until, **changes}
        ad = fixtures.job(name, **stated)
        ad["Requirements"] = classad.ExprTree(f"({ad.lookup('Requirements')}) && {gate()}")
        self.pool.queue[job_id] = ad
        return ad

    def round(self, seconds: float = 0.0) -> None:
        """A round, so much later."""
        self.agent.round(time.time() + seconds)

    def decide(self, job: str, offer: str = SLOT, tried: int = 0, **changes: Any) -> dict[str, Any]:
        """Yardmaster matches a job."""
        self.number += 1
        newest = self.newest("pilot", offer) or {"attempt": 0}
        decision = {
            "id": self.number.to_bytes(16, "big"),
            "domain": "cms",
            "subject": offer,
            "attempt": newest["attempt"],
            "outcome": "assign",
            "dry_run": False,
            "now": time.time() * 1000,
            "ranked": [{"queue": "T2_DE_DESY" if offer == SLOT else "T2_US_Nebraska"}],
            "task": "a-task",
            "policy": "cms",
            "gshare": "analysis",
            "matched": {
                "job": job,
                "job_attempt": tried,
                "class": "analysis",
                "cores": 1,
                "rss_mb": 2000,
                "resources": [],
            },
        }
        decision.update(changes)
        self.bus.decisions.put((decision, self.number))
        return decision

    def reject(self, job: str, tried: int) -> None:
        """Yardmaster will never match a job."""
        stated = {"outcome": "reject", "subject": job, "attempt": tried, "reason": "why"}
        decision = {**stated, "domain": "cms", "dry_run": False, "matched": None}
        self.bus.decisions.put((decision, 0))

    def start(self, job_id: str = "1.0", host: str = "slot1_1@glidein_11_1@desy-wn1.test") -> None:
        """HTCondor starts a job."""
        now, ad = int(time.time()), self.pool.queue[job_id]
        site = "T2_DE_DESY" if "desy" in host else "T2_US_Nebraska"
        more = {"JobStatus": 2, "LastJobStatus": 1, "RemoteHost": host, "NumShadowStarts": 1}
        more |= {"JobCurrentStartDate": now, "JobCurrentStartExecutingDate": now}
        more |= {"EnteredCurrentStatus": now, "MachineAttrGLIDEIN_CMSSite0": site}
        for name, value in more.items():
            ad[name] = value

    def records(self, topic: str) -> list[dict[str, Any]]:
        """Records of a topic."""
        return [record for of, record in self.bus.published if of == topic]

    def newest(self, topic: str, name: str) -> dict[str, Any] | None:
        """The newest record about something."""
        found = [it for it in self.records(topic) if name in (it.get("job"), it.get("offer"))]
        return found[-1] if found else None

    def outcomes(self) -> list[tuple[str, str]]:
        """Kinds of outcomes, and reasons."""
        return [(it["kind"], it["reason"]) for it in self.records("outcome")]


NAME = "230303_101010:user1_crab_ntuples_2022F/17"
"""The job that `World.job` makes."""


def gate() -> str:
    """The gate, as it is shipped."""
    from yardmaster_htcondor.check import shipped_text

    line = next(line for line in shipped_text().splitlines() if "SET Requirements" in line)
    return line.split(" && ", 1)[1]
