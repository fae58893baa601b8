"""The comparison after each step: what an installed PanDA has in its tables is what Yardmaster
counts."""

import time
from typing import Any, ClassVar

from figures import Both, differences
from stand import Stand, wait


class Proof:
    """A PanDA, and what counts beside it. `cases` are what has to come about, as conditions on
    jobs."""

    cases: ClassVar[dict[str, str]] = {}

    def __init__(self, stand: Stand, panda: Any) -> None:
        self.stand, self.panda = stand, panda
        self.cursor = stand.sql().cursor()
        self.both = Both(self.cursor, stand.ask)
        self.reached: set[str] = set()
        self.steps = self.figures = 0

    def jobs(self, where: str = "true", table: str = "jobsactive4") -> list[int]:
        """Jobs in a table, by their numbers."""
        self.cursor.execute(f"SELECT pandaid FROM doma_panda.{table} WHERE {where} ORDER BY 1")
        return [job for (job,) in self.cursor.fetchall()]

    def compare(self, step: str) -> None:
        """All figures are the same by both doors once all that was written is read."""
        began = time.monotonic()
        self.stand.caught_up(self.cursor)
        wait(
            lambda: not differences(self.both.kinds()),
            lambda: f"step {step}:\n" + "\n".join(differences(self.both.kinds())),
            15,
        )
        self.see()
        kinds = self.both.kinds()
        figures = sum(len(it) for it, _ in kinds.values())
        self.steps, self.figures = self.steps + 1, self.figures + figures
        print(
            f"{step}: {figures} figures of {len(kinds)} kinds are the same, "
            f"after {time.monotonic() - began:.1f} s; {self.summary()}",
            flush=True,
        )

    def see(self) -> None:
        """Notes which cases stand in the tables now."""
        for case, condition in self.cases.items():
            for table in ("jobsdefined4", "jobsactive4", "jobsarchived4"):
                if case not in self.reached and self.jobs(condition, table):
                    self.reached.add(case)

    def must_have_reached(self) -> None:
        """A proof that left a case out proves less than it says."""
        if missing := self.cases.keys() - self.reached:
            raise RuntimeError(f"not reached: {sorted(missing)}")

    def summary(self) -> str:
        states = self.both.states_alone()
        return (
            ", ".join(f"{jobs[0]} {state[0]}" for state, jobs in sorted(states.items()))
            or "no jobs"
        )
