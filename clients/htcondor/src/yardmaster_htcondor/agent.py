"""The agent: rounds over the pool, and between them decisions as they come.

All state that must survive is in the jobs' ads and in Kafka; what is held here is made again of
them.
"""

import logging
import queue
import threading
import time
from typing import Any, Protocol

from yardmaster_htcondor.answering import AwayError, PoolError
from yardmaster_htcondor.bus import key
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.facts import Facts
from yardmaster_htcondor.identity import IDLE
from yardmaster_htcondor.intake import Jobs, Queue, Seen
from yardmaster_htcondor.job_state import concurrency_limits, is_led
from yardmaster_htcondor.lead import Lead
from yardmaster_htcondor.matching import Match, match_of
from yardmaster_htcondor.metrics import Metrics
from yardmaster_htcondor.offers import Offers, Promise
from yardmaster_htcondor.outbox import Outbox
from yardmaster_htcondor.pool import Editor, Pool
from yardmaster_htcondor.shadow import Shadow
from yardmaster_htcondor.values import whole

logger = logging.getLogger("yardmaster_htcondor")

SCHEDDS_S = 60.0
"""How often the collector is asked for schedds; s."""

FIRST_S = 60.0
"""Matches under way are in the jobs' ads, so nothing is offered before all schedds were read, or so
long after the beginning where one does not answer; s."""

ROLE_S = 2.0
"""Between the record of a user and the first waiting system jobs of that user: a job that is read
before the role of its user is rejected for good; s."""

SLOTS_AGAIN = 4
"""While led jobs wait, slots are read so often in a round: a job waits for the slot that one before
it left. Reading them takes at most such a part of the time."""

NAME_LETTERS = 200
"""A name that is longer is cut in the log."""

LEFT = "left to HTCondor"
"""The `sub_status` of a job that waits for HTCondor while others are led."""

KEPT_S = 600.0
"""How long an ended job is remembered; s."""


class Reader(Protocol):
    """Kafka, as the agent sees it."""

    decisions: "queue.Queue[tuple[dict[str, Any], Any]]"
    failed: "queue.Queue[tuple[str, dict[str, Any]]]"
    refused: "queue.Queue[tuple[str, dict[str, Any], str]]"
    alive_s: float
    is_broken: bool

    def publish(self, topic: str, record: dict[str, Any]) -> bool:
        """Publishes a record."""

    def done(self, message: Any) -> None:
        """All that a decision led to is done."""


class Agent:
    """Of one pool."""

    def __init__(
        self, config: Config, pool: Pool, bus: Reader, editor: Editor | None, metrics: Metrics
    ) -> None:
        if config.leads != (editor is not None):
            raise ValueError("an agent has an editor in mode lead, and in no other")
        self.config, self.pool, self.bus, self.metrics = config, pool, bus, metrics
        self.outbox = Outbox(bus, metrics)
        self.offers = Offers(config.offer_s)
        self.jobs, self.queues = Jobs(), dict[str, Queue]()
        self.facts = Facts(config.dialect, config.policy, config.domain)
        self.shadow = Shadow(config.domain, metrics)
        self.lead = None if editor is None else Lead(self, pool, editor)
        self._postponed: list[tuple[dict[str, Any], Any]] = []
        self._user_at_s: dict[str, float] = {}
        self._later: dict[str, Seen] = {}
        self._refused_before: set[tuple[str, str]] = set()
        self._found_s = 0.0
        self._slots_due = 0.0
        self._led = 0
        self._began_s = self.flushed_s = time.time()
        self._has_read = False

    # --- Rounds ---

    def run(self, stop: threading.Event) -> None:
        """Works until it is to end."""
        while not stop.is_set() and not self.bus.is_broken:
            began = time.monotonic()
            self.round(time.time())
            self.metrics.round.observe(time.monotonic() - began)
            due = began + self.config.poll_s
            while not stop.is_set() and (left := due - time.monotonic()) > 0:
                until_slots = max(0.0, self._slots_due - time.monotonic())
                self.wait_for_decisions(min(left, until_slots) if self._led else left)
                if self._led and time.monotonic() >= self._slots_due:
                    self._read_slots(time.time())
                    self._publish()

    def round(self, now_s: float) -> None:
        """Reads the pool once, and does what follows of it."""
        is_whole = self._find_schedds(now_s)
        for name in list(self.queues):
            is_whole = self._read_jobs(name, now_s) and is_whole
            self.take_decisions()
        is_enough = is_whole or now_s - self._began_s > FIRST_S
        self._has_read = self._has_read or (is_enough and bool(self.queues))
        for seen in [self._later.pop(name) for name in list(self._later)]:
            if self.jobs.by_name.get(seen.record["job"]) is seen:
                self.say_job(seen, now_s)
        self._read_slots(now_s)
        if self.lead is not None:
            self.lead.leave_others(now_s)
            self.lead.follow(time.time())
        self.take_decisions()
        if self.lead is not None:
            self.lead.move_on(time.time())
        self._forget(now_s)
        self._publish()
        self._count()

    def _find_schedds(self, now_s: float) -> bool:
        if self.queues and now_s - self._found_s < SCHEDDS_S:
            return True
        try:
            for name in self.pool.find_schedds():
                made = Queue(name, self.config.dialect, self.config.history_s)
                self.queues.setdefault(name, made)
        except PoolError as error:
            return self._failed("collector", error)
        self._found_s = now_s
        return True

    def _read_jobs(self, schedd: str, now_s: float) -> bool:
        try:
            changed = self.queues[schedd].read(self.pool, now_s)
        except PoolError as error:
            self._found_s = 0.0  # one that was restarted has another address
            return self._failed("schedd", error)
        for seen in self.jobs.take(changed):
            try:
                self._take(seen, now_s)
            except Exception:  # one job that nobody foresaw takes no other away
                self._passed_over(seen, now_s)
        return True

    def _passed_over(self, seen: Seen, now_s: float) -> None:
        logger.exception("job %s (%s) is passed over", seen.record["job"], seen.id)
        self.metrics.errors.labels("job").inc()
        if self.lead is not None:
            self.lead.leave_job(seen.schedd, seen.id)

    def _take(self, seen: Seen, now_s: float) -> None:
        """A job changed."""
        task, user = self.facts.take(seen.ad)
        self.outbox.state("task", task, changed_at=int(1000 * now_s))
        is_ours = self.config.users == "jobs"
        if is_ours and self.outbox.state("user", user, changed_at=int(1000 * now_s)):
            self._user_at_s[user["name"]] = now_s
        self.say_job(seen, now_s)
        if self.lead is not None:
            self.lead.take(seen, now_s)
            return
        found = self.shadow.look(seen, now_s)
        if found is not None:
            self.outbox.event("comparison", found.record)
            self.offers.drop(found.match.offer, found.match.id)

    def say_job(self, seen: Seen, now_s: float) -> None:
        """Publishes a job, if it differs. In the lead a job that waits for HTCondor is none that
        Yardmaster may place: it is held."""
        record, name = seen.record, seen.record["job"]
        is_idle = whole(seen.ad, "JobStatus") == IDLE
        is_htcondors = not is_led(seen.ad) or concurrency_limits(seen.ad)
        if self.lead is not None and is_idle and is_htcondors:
            record = {**record, "status": "held", "sub_status": LEFT}
        if record["status"] == "pending" and record["requirements"]["system_job"]:
            since_s = now_s - self._user_at_s.get(record["user"], 0.0)
            if since_s < ROLE_S:
                self._later[name] = seen
                return
        revision = max(0, int(now_s) - record["changed_at"] // 1000)
        self.outbox.state("job-state", record, revision=revision)

    def _read_slots(self, now_s: float) -> None:
        began = time.monotonic()
        self._slots_due = began + self.config.poll_s
        try:
            found = self.pool.slots()
        except PoolError as error:
            self._failed("collector", error)
            return
        self.metrics.slots.set(len(found))
        # Matches that were under way when the agent began are in the jobs' ads: those come first.
        if self._has_read:
            for record in self.offers.read(found, now_s):
                self.outbox.event("pilot", record)
        took_s = time.monotonic() - began
        self._slots_due = began + max(self.config.poll_s / SLOTS_AGAIN, SLOTS_AGAIN * took_s)

    def _forget(self, now_s: float) -> None:
        for name in self.jobs.forget_ended(int(1000 * (now_s - KEPT_S))):
            self.outbox.forget("job-state", name)

    def _publish(self) -> None:
        while not self.bus.failed.empty():
            self.outbox.failed(*self.bus.failed.get())
            self.metrics.errors.labels("kafka").inc()
        if self.outbox.flush():
            self.flushed_s = time.time()
        while not self.bus.refused.empty():
            self._refused(*self.bus.refused.get())

    def _refused(self, topic: str, record: dict[str, Any], why: str) -> None:
        """A record that Kafka never takes. The job that it is of is HTCondor's."""
        name = key(topic, record)[:NAME_LETTERS]
        if (topic, name) not in self._refused_before:
            logger.error("%s of %s cannot be published: %s", topic, name, why[:300])
        self._refused_before.add((topic, name))
        self.metrics.errors.labels("record").inc()
        seen = self.jobs.by_name.get(record["job"]) if topic == "job-state" else None
        if seen is not None and self.lead is not None:
            self.lead.leave_job(seen.schedd, seen.id)

    def _failed(self, of: str, error: PoolError) -> bool:
        if not isinstance(error, AwayError):
            logger.warning("%s", str(error)[:300])
            self.metrics.errors.labels(of).inc()
        return False

    def _count(self) -> None:
        statuses: dict[str, int] = {}
        self._led = 0
        for seen in self.jobs.by_name.values():
            statuses[seen.record["status"]] = statuses.get(seen.record["status"], 0) + 1
            self._led += seen.record["status"] == "pending" and is_led(seen.ad)
        self.metrics.jobs.clear()
        for status, count in statuses.items():
            self.metrics.jobs.labels(status).set(count)
        self.metrics.led_jobs.set(self._led)
        under_way = self.shadow.watched if self.lead is None else self.lead.under_way
        self.metrics.under_way.set(len(under_way))
        self.metrics.progress.set(max(0.0, time.time() - self.bus.alive_s))

    # --- Decisions ---

    def wait_for_decisions(self, seconds: float) -> None:
        """Waits for a decision, and takes all that are there."""
        try:
            self._postponed.append(self.bus.decisions.get(timeout=seconds))
        except queue.Empty:
            return
        self.take_decisions()
        self._publish()

    def take_decisions(self) -> None:
        """Does what was decided; decisions about a schedd that does not answer wait."""
        if not self._has_read:
            return
        due, self._postponed = self._postponed, []
        while not self.bus.decisions.empty():
            due.append(self.bus.decisions.get())
        for decision, message in due:
            if self._obey_safely(decision):
                self.bus.done(message)
            else:
                self._postponed.append((decision, message))
        if self.lead is not None:
            self.lead.reschedule()

    def _obey_safely(self, decision: dict[str, Any]) -> bool:
        """A decision that nobody foresaw is not read again for ever."""
        try:
            return self.obey(decision)
        except Exception as error:
            logger.exception("decision %s is not carried out", decision["id"].hex())
            self.metrics.errors.labels("decision").inc()
            match = match_of(decision)
            if match is not None and self.lead is not None:
                self.lead.give_up(match, f"{type(error).__name__}: {error}", time.time())
            return True

    def obey(self, decision: dict[str, Any]) -> bool:
        """Does what one decision asks for; False if it must be tried again."""
        match = match_of(decision)
        if decision["domain"] != self.config.domain:
            return True
        if match is None:
            if decision["outcome"] == "reject" and not decision["dry_run"]:
                logger.warning("job %s is rejected: %s", decision["subject"], decision["reason"])
                if self.lead is not None:
                    self.lead.leave(decision["subject"], decision["attempt"], time.time())
            return True
        now_s = time.time()
        self.metrics.matches.labels("read").inc()
        if self.lead is not None:
            is_done = self.lead.carry_out(match, now_s)
            if is_done:
                self.metrics.delay.observe(max(0.0, time.time() - match.made_s))
            return is_done
        self.shadow.watch(match)
        self.promise(match, now_s + self.config.terms.match_s)
        return True

    def promise(self, match: Match, until_s: float = float("inf")) -> None:
        """Takes a match off what its slot has."""
        promise = Promise(match.amounts(), match.memory_mb, until_s=until_s)
        self.offers.give(match.offer, match.offer_attempt, match.id, promise)
