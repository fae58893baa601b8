"""Reservations: what assignments will bring and nobody has seen yet, see docs/design/laws.md."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from codec import Record
from recount import Counters

# Of a subject and one of its decisions.
Settled = tuple[str, bytes]


class Promises:
    """Open promises: assignments less the jobs that came, until an outcome names the decision."""

    def __init__(self, jobs: Iterable[Record], outcomes: Iterable[Record]) -> None:
        self.by_request: Counter[tuple[str, str]] = Counter()
        # When jobs that name no request were created, by task and queue; s since 1970.
        self.by_task: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.settled: set[Settled] = {(it["subject"], bytes(it["decision"])) for it in outcomes}
        for job in jobs:
            if job["request"]:
                self.by_request[(job["request"], job["queue"])] += 1
            else:
                created = job["created_at"] // 1000
                self.by_task[(job["task"], job["queue"])].append(created)

    def counters(self, decisions: Iterable[Record]) -> Counters:
        """The promised figures that are not 0."""
        found: Counters = defaultdict(lambda: defaultdict(int))
        for decision in decisions:
            if (decision["subject"], bytes(decision["id"])) in self.settled:
                continue
            promised: Counter[str] = Counter()
            for ranked in decision["ranked"]:
                promised[ranked["unified"]] += ranked["jobs"]
            for queue, jobs in promised.items():
                left = jobs - self._seen(decision, queue)
                if left > 0:
                    found[("share", queue, decision["gshare"])]["jobs_promised"] += left
                    found[("queue", queue)]["jobs_promised"] += left
        return {key: dict(row) for key, row in found.items()}

    def _seen(self, decision: Record, queue: str) -> int:
        request = f"{decision['subject']}:{decision['attempt']}"
        made = self.by_task.get((decision["task"], queue), ())
        later = sum(created > decision["now"] // 1000 for created in made)
        return self.by_request[(request, queue)] + later


def joined(one: Counters, other: Counters) -> Counters:
    """The figures of both."""
    return {key: one.get(key, {}) | other.get(key, {}) for key in one.keys() | other.keys()}
