"""The same figures twice: of PanDA's tables by SQL, and of a running process by its interface."""

from collections.abc import Callable, Iterable
from typing import Any

Figures = dict[tuple[str, ...], tuple[int, ...]]

# All jobs that PanDA knows, in whichever table they are.
JOBS = """(SELECT {0} FROM doma_panda.jobsdefined4 UNION ALL SELECT {0} FROM doma_panda.jobsactive4
    UNION ALL SELECT {0} FROM doma_panda.jobsarchived4) AS jobs""".format(
    "pandaid, jeditaskid, jobstatus, jobsubstatus, computingsite, produsername, workinggroup, "
    "gshare, resource_type, "
    "COALESCE(NULLIF(actualcorecount, 0), NULLIF(corecount, 0), 1) AS cores"
)
# States in which a job has not begun to run.
QUEUED = ("pending", "defined", "assigned", "throttled", "activated", "sent", "starting")
COUNTED = f"""count(*) FILTER (WHERE jobstatus = 'running'),
    count(*) FILTER (WHERE jobstatus IN {QUEUED}),
    COALESCE(sum(cores) FILTER (WHERE jobstatus = 'running'), 0),
    COALESCE(sum(cores) FILTER (WHERE jobstatus IN {QUEUED}), 0)"""


class Both:
    """Figures by both doors; each kind has a name."""

    def __init__(self, cursor: Any, ask: Callable[..., Any]) -> None:
        self.cursor, self.ask = cursor, ask

    def kinds(self) -> dict[str, tuple[Figures, Figures]]:
        """By what is counted: what the tables have, and what the process says."""
        counters = self.ask("/api/v1/counters")["counters"]
        pairs = {
            "load": (
                self.states("computingsite", "gshare", "resource_type"),
                counted(counters, "load", "queue", "gshare", "resource_type"),
            ),
            "queue": (self.states("computingsite"), counted(counters, "queue", "queue")),
            "user": (
                self.states("produsername", "computingsite"),
                counted(counters, "user", "user", "queue"),
            ),
            "group": (
                self.states("workinggroup", "computingsite"),
                counted(counters, "group", "group", "queue"),
            ),
            "share": (
                jobs_alone(self.states("gshare", "computingsite")),
                jobs_alone(counted(counters, "share", "gshare", "queue")),
            ),
            "task": (self.ended(), jobs_alone(counted(counters, "task", "task", "queue"))),
            "workers": (self.workers(), workers(counters)),
        }
        return pairs | self.pages()

    def pages(self) -> dict[str, tuple[Figures, Figures]]:
        """Figures of the pages for people."""
        usage = self.ask("/api/v1/usage")
        rows = {row["queue"]: row for row in self.ask("/api/v1/queues")["queues"]}
        columns = ("running", "queued", "running_cores", "queued_cores", "transferring")
        queues = {(name,): tuple(row[it] for it in columns) for name, row in rows.items()}
        also = ", count(*) FILTER (WHERE jobstatus = 'transferring')"
        in_tables = self.now("computingsite", also=also)
        return {
            "usage of shares": (self.now("gshare"), owned(usage["shares"], "gshare")),
            "usage of groups": (self.now("workinggroup"), owned(usage["groups"], "owner")),
            "usage of users": (
                self.now("produsername", "AND workinggroup IS NULL"),
                owned(usage["users"], "owner"),
            ),
            "queues": (in_tables, without_zeros(queues)),
            "status of queues": (
                self.statuses(),
                {(name, row["status"]): (1,) for name, row in rows.items()},
            ),
            "jobs of tasks": (self.states_alone("jeditaskid"), self.tasks()),
        }

    # --- By SQL ----------------------------------------------------------------------------------

    def rows(self, sql: str, names: int) -> Figures:
        self.cursor.execute(sql)
        return {
            tuple(str(it) for it in row[:names]): tuple(int(it) for it in row[names:])
            for row in self.cursor.fetchall()
        }

    def states(self, *names: str) -> Figures:
        """Jobs and cores by names and state."""
        by = ", ".join([*names, "jobstatus"])
        have = " AND ".join(f"{name} IS NOT NULL" for name in names) or "true"
        return self.rows(
            f"SELECT {by}, count(*), sum(cores) FROM {JOBS} WHERE {have} GROUP BY {by}",
            len(names) + 1,
        )

    def states_alone(self, *names: str) -> Figures:
        """The same without cores."""
        return jobs_alone(self.states(*names))

    def ended(self) -> Figures:
        """Jobs of a task at a queue that ended; closed ones if they are to be brokered again."""
        by = "jeditaskid, computingsite, jobstatus"
        again = "COALESCE(jobsubstatus, '') IN ('', 'toreassign')"
        return self.rows(
            f"SELECT {by}, count(*) FROM {JOBS} WHERE jobstatus IN ('finished', 'failed') "
            f"OR jobstatus = 'closed' AND {again} GROUP BY {by}",
            3,
        )

    def now(self, name: str, more: str = "", also: str = "") -> Figures:
        """Jobs and cores that run and that are queued."""
        return without_zeros(
            self.rows(
                f"SELECT {name}, {COUNTED}{also} FROM {JOBS} "
                f"WHERE {name} IS NOT NULL {more} GROUP BY 1",
                1,
            )
        )

    def workers(self) -> Figures:
        return without_zeros(
            self.rows(
                "SELECT computingsite, status, sum(n_workers) "
                "FROM doma_panda.harvester_worker_stats "
                "WHERE status IN ('submitted', 'running') GROUP BY 1, 2",
                2,
            )
        )

    def statuses(self) -> Figures:
        return self.rows(
            "SELECT panda_queue, data->>'status', 1 FROM doma_panda.schedconfig_json", 2
        )

    # --- By the interface ------------------------------------------------------------------------

    def tasks(self) -> Figures:
        self.cursor.execute(f"SELECT DISTINCT jeditaskid FROM {JOBS} ORDER BY 1")
        found = {}
        for (task,) in self.cursor.fetchall():
            states = self.ask("/api/v1/task", name=str(task))["jobs"]["by_status"]
            found |= {(str(task), state): (jobs,) for state, jobs in states.items()}
        return without_zeros(found)


def counted(counters: Iterable[dict[str, Any]], kind: str, *names: str) -> Figures:
    """Jobs and cores by names and state, of counters of one kind."""
    found: dict[tuple[str, ...], list[int]] = {}
    for counter in counters:
        if counter["counter"] != kind:
            continue
        for figure, value in counter.items():
            what, _, state = figure.partition("_")
            if what in ("jobs", "cores") and state not in ("promised", "started_6h") and value:
                key = (*(counter[name] for name in names), state)
                found.setdefault(key, [0, 0])[what == "cores"] += value
    return {key: tuple(value) for key, value in found.items()}


def workers(counters: Iterable[dict[str, Any]]) -> Figures:
    found = {
        (it["queue"], state): (it.get(f"workers_{state}", 0),)
        for it in counters
        if it["counter"] == "queue"
        for state in ("submitted", "running")
    }
    return without_zeros(found)


def owned(rows: Iterable[dict[str, Any]], name: str) -> Figures:
    columns = ("running", "queued", "running_cores", "queued_cores")
    return without_zeros({(row[name],): tuple(row["jobs"][it] for it in columns) for row in rows})


def jobs_alone(figures: Figures) -> Figures:
    return {key: value[:1] for key, value in figures.items()}


def without_zeros(figures: Figures) -> Figures:
    return {key: value for key, value in figures.items() if any(value)}


def differences(kinds: dict[str, tuple[Figures, Figures]]) -> list[str]:
    """Each figure that is not the same by both doors, as text."""
    lines = []
    for kind, (tables, process) in kinds.items():
        for key in sorted(tables.keys() | process.keys()):
            if tables.get(key) != process.get(key):
                lines.append(
                    f"{kind} {'/'.join(key)}: tables {tables.get(key)}, process {process.get(key)}"
                )
    return lines
