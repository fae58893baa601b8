"""Jobs of all schedds, as they were last read. What has not changed is not made again."""

import logging
from dataclasses import dataclass
from typing import Any, Protocol

from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.identity import COMPLETED, IDLE, REMOVED, is_of_pool
from yardmaster_htcondor.job_state import is_led, job_state
from yardmaster_htcondor.limits import LimitError, check_limits
from yardmaster_htcondor.values import Ad, whole

logger = logging.getLogger("yardmaster_htcondor")

OVERLAP_S = 60
"""By how much a query for ended jobs reaches back behind the one before: clocks differ; s."""

GONE_S = 120
"""After so long a job that is in neither queue nor history is taken for removed; s."""

HISTORY_AGAIN_S = 60
"""History is read so often though no job is missed; s."""


class Source(Protocol):
    """The part of a pool that is asked here."""

    def jobs(self, schedd: str, ended_since_s: int) -> list[Ad]:
        """Jobs in a queue."""

    def history(self, schedd: str, ended_since_s: int, newest: str | None) -> list[Ad]:
        """Jobs that left a queue."""


@dataclass
class Seen:
    """A job of HTCondor, as it was last read."""

    schedd: str
    id: str
    ad: Ad
    record: dict[str, Any]
    print: int
    """Of the ad's text, to see whether it changed."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return whole(self.ad, "JobStatus") in (COMPLETED, REMOVED)


class Queue:
    """One schedd."""

    def __init__(self, schedd: str, dialect: Dialect, history_s: float) -> None:
        self.schedd, self.dialect = schedd, dialect
        self.jobs: dict[str, Seen] = {}
        self.made = 0
        """How many records were made of ads, for tests and metrics."""
        self.led: set[str] = set()
        """Jobs that wait for Yardmaster, as of the last reading, whether they have a record or
        not."""
        self._others: dict[str, int] = {}
        """Prints of jobs that have no record."""
        self._missed: dict[str, float] = {}
        self._history_s = history_s
        self._read_s = self._history_read_s = 0.0
        self._newest: str | None = None

    def read(self, source: Source, now_s: float) -> list[Seen]:
        """Reads the queue, and the history where a job left it; what changed since the last
        time."""
        since_s = (self._read_s or now_s - self._history_s) - OVERLAP_S
        found = source.jobs(self.schedd, int(since_s))
        changed, here = [], set()
        self.led.clear()
        for ad in found:
            job = identifier(ad)
            here.add(job)
            if whole(ad, "JobStatus") == IDLE and is_led(ad):
                self.led.add(job)
            changed += self._take(job, ad, now_s)
        self._read_s = now_s
        self._note_missed(here, now_s)
        if self._missed or now_s - self._history_read_s >= HISTORY_AGAIN_S:
            changed += self._read_history(source, now_s)
        changed += self._give_up(now_s)
        return changed

    def _take(self, job: str, ad: Ad, now_s: float) -> list[Seen]:
        ad.pop("ServerTime", None)
        print_ = hash(str(ad))
        known = self.jobs.get(job)
        if (known is not None and known.print == print_) or self._others.get(job) == print_:
            return []
        record = self._record(job, ad) if is_of_pool(ad) else None
        changed = []
        if known is not None and (record is None or record["job"] != known.record["job"]):
            # It was edited: nobody else would end the name that it had.
            del self.jobs[job]
            if not known.is_over:
                changed.append(self._removed(known, now_s))
        if record is None:
            self._others[job] = print_
            return changed
        self._others.pop(job, None)
        self.jobs[job] = Seen(self.schedd, job, ad, record, print_)
        return [*changed, self.jobs[job]]

    def _record(self, job: str, ad: Ad) -> dict[str, Any] | None:
        """The record of a job; None if it has none, of which the log has one line, however often
        the job changes."""
        self.made += 1
        try:
            record = job_state(ad, self.dialect)
            check_limits(record)
            return record
        except LimitError as error:
            why = str(error)
        except Exception as error:  # an ad that nobody foresaw takes no other away
            why = f"its ad cannot be read: {type(error).__name__}: {error}"
        if job not in self._others:
            logger.error("job %s of %s is passed over: %s", job, self.schedd, why[:300])
        return None

    def _removed(self, seen: Seen, now_s: float) -> Seen:
        """A job whose name is of none any more."""
        seen.ad["JobStatus"], seen.ad["EnteredCurrentStatus"] = REMOVED, int(now_s)
        seen.record = job_state(seen.ad, self.dialect)
        return seen

    def _note_missed(self, here: set[str], now_s: float) -> None:
        for job, seen in list(self.jobs.items()):
            if job in here:
                self._missed.pop(job, None)
            elif seen.is_over:
                del self.jobs[job]
            else:
                self._missed.setdefault(job, now_s)
        self._others = {it: print_ for it, print_ in self._others.items() if it in here}

    def _read_history(self, source: Source, now_s: float) -> list[Seen]:
        is_first = self._history_read_s == 0
        back_s = self._history_s if is_first else now_s - self._history_read_s + 10 * OVERLAP_S
        gone = source.history(self.schedd, int(now_s - back_s), self._newest)
        self._history_read_s = now_s
        if gone:
            self._newest = identifier(gone[0])
        changed = []
        for ad in gone:
            job = identifier(ad)
            self._missed.pop(job, None)
            changed += self._take(job, ad, now_s)
        return changed

    def _give_up(self, now_s: float) -> list[Seen]:
        """Jobs that no history has: they were removed."""
        changed = []
        for job, since_s in list(self._missed.items()):
            if now_s - since_s < GONE_S:
                continue
            del self._missed[job]
            changed.append(self._removed(self.jobs.pop(job), now_s))
            logger.warning("job %s of %s is in neither queue nor history", job, self.schedd)
        return changed


def identifier(ad: Ad) -> str:
    """The id of a job within its schedd."""
    return f"{whole(ad, 'ClusterId')}.{whole(ad, 'ProcId')}"


class Jobs:
    """Jobs of all schedds by their names in Yardmaster."""

    def __init__(self) -> None:
        self.by_name: dict[str, Seen] = {}

    def take(self, changed: list[Seen]) -> list[Seen]:
        """The changes that count: of one name the highest attempt does, as CRAB keeps the ended try
        in the queue beside the one that follows. Of one job the last reading does: it may be in the
        queue and, a moment later, in the history. Of two jobs of one attempt an end comes first:
        the job may have been submitted again."""
        newest = {(it.schedd, it.id, it.record["job"]): it for it in changed}.values()
        counting = []
        for seen in sorted(newest, key=lambda it: (it.record["attempt"], not it.is_over)):
            known = self.by_name.get(seen.record["job"])
            is_other = known is not None and (known.schedd, known.id) != (seen.schedd, seen.id)
            if known is not None and is_other and not self._follows(seen, known):
                continue
            self.by_name[seen.record["job"]] = seen
            counting.append(seen)
        return counting

    @staticmethod
    def _follows(seen: Seen, known: Seen) -> bool:
        mine, theirs = seen.record["attempt"], known.record["attempt"]
        return mine > theirs or (mine == theirs and known.is_over and not seen.is_over)

    def forget_ended(self, before_ms: int) -> list[str]:
        """Drops jobs that ended before a time; their names."""
        old = [
            name
            for name, seen in self.by_name.items()
            if seen.is_over and seen.record["changed_at"] < before_ms
        ]
        for name in old:
            del self.by_name[name]
        return old
