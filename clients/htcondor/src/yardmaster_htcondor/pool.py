"""The pool: what is asked of collector and schedds, and, apart from that, what is changed there."""

import functools
import logging
from collections.abc import Callable
from typing import Any

from yardmaster_htcondor import attributes
from yardmaster_htcondor.answering import Answering, AwayError, PoolError
from yardmaster_htcondor.asking import Asker
from yardmaster_htcondor.bindings import AD_TYPES, NOT_SYNCED, classad, htcondor
from yardmaster_htcondor.values import Ad, text

logger = logging.getLogger("yardmaster_htcondor")

VANILLA_JOBS = "JobUniverse == 5"
HISTORY_MAX = 100_000


class Pool:
    """Reads; it has no call that changes anything."""

    def __init__(self, collector: str = "", schedds: tuple[str, ...] = ()) -> None:
        self._collector = htcondor.Collector(collector) if collector else htcondor.Collector()
        self._only = frozenset(schedds)
        self._schedds: dict[str, Answering] = {}
        self._addresses: dict[str, str] = {}

    def schedd(self, name: str) -> Any:
        """A schedd by its name, for one call; `PoolError` if it does not answer."""
        return self._schedds[name].handle()

    def find_schedds(self) -> list[str]:
        """The schedds that the collector knows, or those of them that the configuration names."""
        for ad in self._ask(AD_TYPES.Schedd, "true", ()):
            name, address = text(ad, "Name"), text(ad, "MyAddress")
            is_ours = not self._only or name in self._only
            if is_ours and self._addresses.get(name) != address:
                if name in self._schedds:
                    self._schedds[name].close()
                made = Answering(name, htcondor.Schedd(ad), functools.partial(Asker, ad))
                self._schedds[name], self._addresses[name] = made, address
        return sorted(self._schedds)

    def jobs(self, schedd: str, ended_since_s: int) -> list[Ad]:
        """Jobs in the queue: all that have not ended, and those that ended lately. CRAB keeps ended
        jobs there for 30 h."""
        ended = f"EnteredCurrentStatus >= {ended_since_s}"
        wanted = f"{VANILLA_JOBS} && ((JobStatus != 3 && JobStatus != 4) || {ended})"
        return self._read(schedd, lambda it: it.query(wanted, list(attributes.JOB)))

    def history(self, schedd: str, ended_since_s: int, newest: str | None) -> list[Ad]:
        """Jobs that left the queue, the newest first; reading ends at the job that is named."""
        wanted = f"{VANILLA_JOBS} && EnteredCurrentStatus >= {ended_since_s}"
        since = {} if newest is None else {"since": newest}
        names = list(attributes.JOB)
        return self._read(schedd, lambda it: it.history(wanted, names, HISTORY_MAX, **since))

    def slots(self) -> list[Ad]:
        """All partitionable slots."""
        return self._ask(AD_TYPES.Startd, "PartitionableSlot", attributes.SLOT)

    def whole_job(self, schedd: str, job: str) -> Ad | None:
        """All of a job's ad, by its id; None if it is gone."""
        cluster, _, proc = job.partition(".")
        wanted = f"ClusterId == {cluster} && ProcId == {proc}"
        found = self._read(schedd, lambda it: it.query(wanted))
        return found[0] if found else None

    def whole_slot(self, offer: str) -> Ad | None:
        """All of a slot's ad; None if it is gone."""
        found = self._ask(AD_TYPES.Startd, f"Name == {classad.quote(offer)}", ())
        return found[0] if found else None

    def _read(self, schedd: str, call: Callable[[Any], Any]) -> list[Ad]:
        handle, answering = self.schedd(schedd), self._schedds[schedd]
        try:
            found = list(call(handle))
        except Exception as error:
            answering.doubt()
            raise PoolError(f"schedd {schedd}: {error}") from error
        answering.answered()
        return found

    def _ask(self, kind: Any, constraint: str, names: tuple[str, ...]) -> list[Ad]:
        try:
            return list(self._collector.query(kind, constraint, list(names)))
        except Exception as error:
            raise PoolError(f"collector: {error}") from error


class Editor:
    """Changes jobs. An agent in shadow has none."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def edit_idle(self, schedd: str, job: str, edits: dict[str, str]) -> bool:
        """Sets attributes of one job in order; False if it is not idle (any more). The first one
        may be set of a job that is not, the others are set only if all before were."""
        cluster, _, proc = job.partition(".")
        of_it = f"ClusterId == {cluster} && ProcId == {proc} && JobStatus == 1"
        (name, value), *others = edits.items()
        try:
            handle = self._pool.schedd(schedd)
            # By its id: an error says why, also that the right is missing.
            handle.edit(job, name, value)
            # A constraint that no job meets is an error: the safe test that it is still idle.
            for name, value in others:
                handle.edit(of_it, name, value, NOT_SYNCED)
        except AwayError:
            return False
        except Exception as error:
            logger.warning("edit of job %s at %s: %s", job, schedd, str(error)[:200])
            return False
        return True

    def move_on(self, schedd: str, until_s: int) -> bool:
        """Jobs that wait for Yardmaster wait until then; one edit, however many there are."""
        waiting = "YM_Lead =?= true && JobStatus == 1 && YM_Offer is undefined"
        try:
            handle = self._pool.schedd(schedd)
            handle.edit(f"{waiting} && YM_Until < {until_s}", "YM_Until", str(until_s), NOT_SYNCED)
        except Exception as error:
            # That there is no such job is an error too.
            logger.debug("nothing is moved on at %s: %s", schedd, error)
            return False
        return True

    def reschedule(self, schedd: str) -> None:
        """Asks for a negotiation."""
        try:
            self._pool.schedd(schedd).reschedule()
        except AwayError:
            return
        except Exception as error:
            logger.warning("schedd %s does not ask for a negotiation: %s", schedd, error)
