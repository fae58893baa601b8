"""Lead: matches are carried out by edits of jobs, and followed to their ends."""

import logging
import time
from dataclasses import dataclass
from typing import Protocol

from yardmaster_htcondor.answering import AwayError, PoolError
from yardmaster_htcondor.clauses import misfit
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.identity import COMPLETED, IDLE, ON_SLOT, attempt
from yardmaster_htcondor.intake import Jobs, Queue, Seen
from yardmaster_htcondor.job_state import concurrency_limits, is_led
from yardmaster_htcondor.matching import (
    UNDEFINED,
    End,
    Match,
    carried,
    edits_of_match,
    edits_of_miss,
    grid,
    is_carried,
    misses_after,
    objection,
    started_s,
    what_became,
)
from yardmaster_htcondor.metrics import Metrics
from yardmaster_htcondor.offers import Offers
from yardmaster_htcondor.outbox import Outbox
from yardmaster_htcondor.pool import Editor, Pool
from yardmaster_htcondor.slots import offer_of, offer_pattern
from yardmaster_htcondor.values import Ad, number, text, truth, whole

logger = logging.getLogger("yardmaster_htcondor")


SETTLED_MAX = 10_000
"""Decisions whose outcome was published, as they are remembered."""


class Clock(Protocol):
    """Yardmaster, as far as it shows that it works."""

    alive_s: float


class Round(Protocol):
    """What an agent knows of its pool, and what the lead tells it."""

    config: Config
    jobs: Jobs
    queues: dict[str, Queue]
    offers: Offers
    outbox: Outbox
    metrics: Metrics
    flushed_s: float

    @property
    def bus(self) -> Clock:
        """Kafka."""

    def promise(self, match: Match) -> None:
        """Takes a match off what its slot has."""

    def say_job(self, seen: Seen, now_s: float) -> None:
        """Publishes a job, if it differs."""


@dataclass
class UnderWay:
    """A match that was carried out, and whose job has not started."""

    match: Match
    schedd: str
    job_id: str
    until_s: float
    edited_s: float


class Lead:
    """Carries matches out."""

    def __init__(self, agent: Round, pool: Pool, editor: Editor) -> None:
        self._agent, self._pool, self._editor = agent, pool, editor
        self._terms = agent.config.terms
        self.under_way: dict[str, UnderWay] = {}
        self._settled: dict[str, None] = {}
        self._failures: dict[str, int] = {}
        self._touched: set[str] = set()
        self._moved_s = 0.0
        self._trouble = ""

    # --- A decision ---

    def carry_out(self, match: Match, now_s: float) -> bool:
        """Edits the job, or publishes why not; False if the schedd does not answer."""
        seen = self._agent.jobs.by_name.get(match.job)
        try:
            ad = None if seen is None else self._pool.whole_job(seen.schedd, seen.id)
            slot = self._pool.whole_slot(match.offer)
        except PoolError as error:
            return self._postpone(match, seen, error, now_s)
        self._trouble = ""
        if seen is not None and ad is not None and is_carried(match, ad):
            self._recognise(match, seen, ad, now_s)
            return True
        self._agent.promise(match)
        end = objection(match, ad, now_s, self._terms)
        if end is None and slot is None:
            end = End("failed", "the slot is gone")
        if end is None and not self._agent.offers.has_room(match.offer, 0):
            end = End("failed", "the slot has fewer cores left")
        if end is not None or seen is None or ad is None or slot is None:
            is_waiting = ad is not None and whole(ad, "JobStatus") == IDLE
            self._finish(match, end or End("failed", "the job is gone"), is_waiting)
            if ad is not None and is_waiting and attempt(ad) != match.job_attempt:
                self._in_vain(match, now_s)
            if seen is not None and ad is not None and not is_led(ad):
                seen.ad["YM_Lead"] = False
                self._agent.say_job(seen, now_s)
            return True
        ad["YM_Offer"], ad["YM_Until"] = offer_pattern(match.offer), int(now_s) + 60
        if truth(ad, "WMCore_ResizeJob"):
            ad["YM_Cores"] = match.cores
        why = misfit(ad, slot)
        if why:
            self._miss(match, seen, End("refused", why), now_s)
            return True
        edits = edits_of_match(match, ad, now_s, self._terms)
        if not self._editor.edit_idle(seen.schedd, seen.id, edits):
            self._edit_failed(match, seen, now_s)
            return True
        self._failures.pop(match.job, None)
        self._agent.metrics.matches.labels("carried_out").inc()
        logger.info("match: job %s (%s) on %s", match.job, seen.id, match.offer)
        self.under_way[match.job] = UnderWay(
            match, seen.schedd, seen.id, now_s + self._terms.match_s, now_s
        )
        self._touched.add(seen.schedd)
        return True

    def _postpone(self, match: Match, seen: Seen | None, error: PoolError, now_s: float) -> bool:
        """Collector or schedd do not answer: the match waits for them until it expires."""
        if not isinstance(error, AwayError) and str(error) != self._trouble:
            self._trouble = str(error)
            logger.warning("matches wait, first that of %s: %s", match.job, str(error)[:200])
            self._agent.metrics.errors.labels("schedd").inc()
        is_known = seen is not None and is_carried(match, seen.ad)
        if is_known or now_s - match.made_s <= self._terms.match_s:
            return False
        self._agent.promise(match)
        self._finish(match, End("expired", str(error)[:200]), is_waiting=False)
        return True

    def _edit_failed(self, match: Match, seen: Seen, now_s: float) -> None:
        """The job is gone, or starts; or the agent may not edit it, which is not tried for ever."""
        self._agent.metrics.errors.labels("edit").inc()
        end = End("failed", "the schedd did not take the edit: the job is gone, or starts")
        self._finish(match, end, is_waiting=False)
        if self._has_failed_enough(match):
            logger.error("job %s cannot be edited: `yardmaster-htcondor check` says why", match.job)
            seen.ad["YM_Lead"] = False
            self._agent.say_job(seen, now_s)

    def give_up(self, match: Match, why: str, now_s: float) -> None:
        """A match that could not be carried out for a reason that nobody foresaw."""
        self._finish(match, End("failed", why), is_waiting=False)
        self._in_vain(match, now_s)

    def _in_vain(self, match: Match, now_s: float) -> None:
        """A match that failed for a reason that its job has: after some in a row it is
        HTCondor's."""
        seen = self._agent.jobs.by_name.get(match.job)
        if seen is not None and self._has_failed_enough(match):
            misses = self._terms.misses
            logger.warning("job %s is left to HTCondor: %d matches in vain", match.job, misses)
            self.leave(match.job, seen.record["attempt"], now_s)

    def _has_failed_enough(self, match: Match) -> bool:
        """Whether so many matches of a job failed that it is to be HTCondor's."""
        self._failures[match.job] = self._failures.get(match.job, 0) + 1
        if self._failures[match.job] < self._terms.misses:
            return False
        del self._failures[match.job]
        return True

    def _recognise(self, match: Match, seen: Seen, ad: Ad, now_s: float) -> None:
        """A decision that is read again: the job's ad shows that it was carried out."""
        self._agent.metrics.matches.labels("recognised").inc()
        logger.info("match: job %s on %s was carried out before", match.job, match.offer)
        if whole(ad, "JobStatus") == IDLE and match.job not in self.under_way:
            self._adopt(match, seen, number(ad, "YM_Until") or now_s, now_s)

    def leave(self, job: str, tried: int, now_s: float) -> None:
        """A job that Yardmaster will never match in this attempt is HTCondor's."""
        seen = self._agent.jobs.by_name.get(job)
        if seen is None or not is_led(seen.ad) or seen.record["attempt"] != tried:
            return
        if self.leave_job(seen.schedd, seen.id):
            seen.ad["YM_Lead"] = False
            self._agent.say_job(seen, now_s)

    def leave_others(self, now_s: float) -> None:
        """Jobs that the schedd lets wait are HTCondor's where Yardmaster does not know them (they
        are of no workflow, have no name of their own, or cannot be read), or could not place
        them."""
        jobs = [seen for seen in self._agent.jobs.by_name.values() if not seen.is_over]
        known = {(seen.schedd, seen.id): seen for seen in jobs}
        for schedd, queue in self._agent.queues.items():
            for job in sorted(queue.led):
                seen = known.get((schedd, job))
                if seen is None:
                    if self.leave_job(schedd, job):
                        why = "it has no record"
                        logger.warning("job %s of %s is left to HTCondor: %s", job, schedd, why)
                elif limits := concurrency_limits(seen.ad):
                    why = f"the negotiator alone knows {limits}"
                    self.leave(seen.record["job"], seen.record["attempt"], now_s)
                    if not is_led(seen.ad):
                        logger.warning("job %s is left to HTCondor: %s", seen.record["job"], why)

    def leave_job(self, schedd: str, job: str) -> bool:
        """Whether a job that waits is HTCondor's now."""
        edits = {"YM_Until": "0", "YM_Offer": UNDEFINED, "YM_Lead": "false"}
        is_left = self._editor.edit_idle(schedd, job, edits)
        if is_left:
            self._agent.metrics.left.inc()
            self._agent.queues[schedd].led.discard(job)
        return is_left

    def reschedule(self) -> None:
        """Asks for a negotiation where jobs were edited."""
        for schedd in self._touched:
            self._editor.reschedule(schedd)
        self._touched.clear()

    # --- A job that changed ---

    def take(self, seen: Seen, now_s: float) -> None:
        """A job's ad names a match that is not known here: another agent carried it out."""
        name, mark = seen.record["job"], carried(seen.ad)
        if mark is None or name in self.under_way or not is_led(seen.ad):
            return
        decision, tried, offer = mark
        status = whole(seen.ad, "JobStatus")
        wants = seen.record["requirements"]
        match = Match(
            id=decision,
            offer=offer,
            offer_attempt=-1,
            job=name,
            job_attempt=tried,
            cores=whole(seen.ad, "YM_Cores", wants["cores_min"]),
            memory_mb=wants["max_rss_mb"] or 0,
            resources={it["name"]: it["amount"] for it in wants["resources"]},
            made_s=(number(seen.ad, "YM_Until") or now_s) - self._terms.match_s,
        )
        if status == IDLE and tried == attempt(seen.ad):
            self._adopt(match, seen, number(seen.ad, "YM_Until") or now_s, now_s)
        elif status == IDLE:
            # It started, was stopped, and waits again.
            edits = {"YM_Until": str(grid(now_s + self._terms.grace_s)), "YM_Offer": UNDEFINED}
            self._editor.edit_idle(seen.schedd, seen.id, edits)
        elif status in (*ON_SLOT, COMPLETED) and tried == attempt(seen.ad):
            self._outcome_after_restart(match, seen, now_s)

    def _outcome_after_restart(self, match: Match, seen: Seen, now_s: float) -> None:
        """Whether its outcome was published is not known: it is published once more."""
        is_recent = now_s - started_s(seen.ad) < 2 * self._terms.match_s
        host = text(seen.ad, "RemoteHost") or text(seen.ad, "LastRemoteHost")
        if is_recent and match.id not in self._settled and offer_of(host) == match.offer:
            self._settle(match, End("accepted", f"runs on {host}"))

    def _adopt(self, match: Match, seen: Seen, until_s: float, now_s: float) -> None:
        self._agent.promise(match)
        self.under_way[match.job] = UnderWay(match, seen.schedd, seen.id, until_s, now_s)

    # --- Matches under way ---

    def follow(self, now_s: float) -> None:
        """Looks what became of matches under way."""
        for name, under_way in list(self.under_way.items()):
            match = under_way.match
            seen = self._agent.jobs.by_name.get(name)
            is_it = seen is not None and (seen.schedd, seen.id) == (
                under_way.schedd,
                under_way.job_id,
            )
            ad = seen.ad if seen is not None and is_it else None
            is_there = not self._agent.offers.is_gone(match.offer)
            end = what_became(match, ad, is_there, under_way.until_s, now_s)
            if end is None:
                # A cycle of the negotiator gives a partitionable slot to one submitter.
                self._touched.add(under_way.schedd)
                continue
            is_idle = ad is not None and whole(ad, "JobStatus") == IDLE
            if seen is not None and is_idle:
                self._miss(match, seen, end, now_s)
                continue
            del self.under_way[name]
            if end.kind == "accepted" and ad is not None:
                self._agent.offers.started(match.offer, match.id, started_s(ad))
                self._agent.metrics.start.observe(max(0.0, started_s(ad) - under_way.edited_s))
            self._finish(match, end, is_waiting=False)

    def _miss(self, match: Match, seen: Seen, end: End, now_s: float) -> None:
        """A match whose job waits on. The edit comes first: Yardmaster must not give the job away
        again while it may start by this match."""
        misses = misses_after(seen.ad, end)
        edits = edits_of_miss(misses, now_s, self._terms)
        if not self._editor.edit_idle(seen.schedd, seen.id, edits):
            if match.job in self.under_way:
                return  # it starts: the next round shows where
            self._edit_failed(match, seen, now_s)
            return
        self.under_way.pop(match.job, None)
        seen.ad["YM_Misses"] = misses
        self._finish(match, end, is_waiting=True)
        if misses >= self._terms.misses:
            seen.ad["YM_Lead"] = False
            self._agent.metrics.left.inc()
            logger.warning("job %s is left to HTCondor: %d matches in vain", match.job, misses)
            self._agent.say_job(seen, now_s)

    def _finish(self, match: Match, end: End, is_waiting: bool) -> None:
        """Publishes an outcome. Of a match whose job waits on, Yardmaster gives the part back to
        the same announcement; else the slot is announced again as it is."""
        if is_waiting:
            self._agent.offers.give_back(match.offer, match.offer_attempt, match.id)
        elif end.kind != "accepted":
            self._agent.offers.drop(match.offer, match.id)
        self._settle(match, end)

    def _settle(self, match: Match, end: End) -> None:
        self._settled[match.id] = None
        while len(self._settled) > SETTLED_MAX:
            del self._settled[next(iter(self._settled))]
        self._agent.metrics.outcomes.labels(end.kind).inc()
        logger.info("outcome of %s on %s: %s, %s", match.job, match.offer, end.kind, end.reason)
        self._agent.outbox.event(
            "outcome",
            {
                "subject": match.offer,
                "decision": bytes.fromhex(match.id),
                "kind": end.kind,
                "at": int(1000 * time.time()),
                "reason": end.reason,
            },
        )

    # --- Jobs that wait ---

    def move_on(self, now_s: float) -> None:
        """While Yardmaster lives and hears of them, its jobs wait for it; else HTCondor takes them
        after the grace."""
        grace_s = self._terms.grace_s
        is_alive = now_s - min(self._agent.bus.alive_s, self._agent.flushed_s) < grace_s / 2
        if not is_alive or now_s - self._moved_s < grace_s / 3:
            return
        self._moved_s = now_s
        for schedd in self._agent.queues:
            self._editor.move_on(schedd, grid(now_s + grace_s))
