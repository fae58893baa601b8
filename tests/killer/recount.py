"""The counters as the records of the inputs give them, by the laws of docs/design/laws.md."""

from collections import defaultdict
from typing import Any

from codec import Record

# In the order of the schema, which is that of a job's life.
ENDED = ("finished", "failed", "cancelled", "closed")
STARTED = ("running", "holding", "transferring", "finished", "cancelled")
TALLIED = ("finished", "failed", "closed")

# A record that states a time so much ahead of its stamp counts as of the stamp; ms. A heartbeat
# does so whatever it states.
AHEAD_MAX = 300_000
OWN_TIME = {
    "job-state": "changed_at",
    "heartbeat": "at",
    "transfer": "changed_at",
    "pilot": "at",
    "outcome": "at",
}

# Which nodes of a queue a report counts; offers of slots to a pool count none.
NODES = {"asked_job": "nodes_asked", "updated_job": "nodes_updated"}

# What a record states of times, of which none is later than its stamp if its own is too far ahead.
TIMES = ("changed_at", "at", "created_at", "activated_at", "started_at", "ended_at")

# What decides between two states of a job that agree in all before it, in the law's order up to the
# last that is counted. Two may well agree: states that are stamped in one batch and whose clock is
# ahead have one time. Task and request come before these; no job of the killer changes them.
JOB_CONTENT = ("queue", "gshare", "resource_type", "user", "group", "nucleus")
JOB_CONTENT += ("workflow", "label", "sub_status", "created_at", "started_at", "ended_at", "cores")

Key = tuple[str, ...]
Counters = dict[Key, dict[str, int]]


class Recount:
    """The newest state of each thing, whatever the order of its records."""

    def __init__(self, statuses: list[str], transfers: list[str]) -> None:
        self.rank = {status: at for at, status in enumerate(statuses)}
        self.transfer_rank = {state: at for at, state in enumerate(transfers)}
        self.jobs: dict[str, Record] = {}
        self.beats: dict[str, tuple[int, ...]] = {}
        self.moves: dict[str, Record] = {}
        self.outcomes: list[Record] = []
        self.workers: dict[Key, tuple[int, int, int]] = {}
        self.nodes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.slots: dict[Key, tuple[int, int, int]] = {}
        self.marks: dict[str, dict[str, int]] = defaultdict(dict)

    def take(self, topic: str, record: Record, stamp: int) -> None:
        """One record, in any order, with its stamp; ms since 1970."""
        if topic == "heartbeat":
            record = record | {"at": stamp}
        elif topic in OWN_TIME and record[OWN_TIME[topic]] > stamp + AHEAD_MAX:
            record = record | {name: min(record[name], stamp) for name in TIMES if name in record}
        match topic:
            case "job-state":
                self._job(record)
            case "heartbeat":
                names = ("attempt", "at", "events", "cpu_s", "disk_io_kbps", "rss_mb")
                beat = tuple(record[name] for name in names)
                known = self.beats.get(record["job"])
                self.beats[record["job"]] = beat if known is None else max(known, beat)
            case "transfer":
                self._newer(self.moves, record["request"], record, self._transfer_order)
            case "pilot":
                self._pilot(record)
            case "outcome":
                self.outcomes.append(record)

    @staticmethod
    def _newer(known: dict[str, Record], name: str, record: Record, order: Any) -> None:
        if name not in known or order(record) > order(known[name]):
            known[name] = record

    def _job_order(self, job: Record) -> tuple[Any, ...]:
        status = job["status"]
        first = (job["attempt"], status in ENDED, job["changed_at"], job["revision"])
        job = job | {"cores": max(1, job["cores"])}
        content = (job[name] for name in JOB_CONTENT)
        return (*first, self.rank[status], *content)

    def _transfer_order(self, move: Record) -> tuple[Any, ...]:
        state = move["state"]
        first = (state in ("done", "failed"), move["changed_at"], move["revision"])
        link = (move["source"], move["destination"], move["activity"])
        return (*first, self.transfer_rank[state], *link, move["bytes"], max(1, move["files"]))

    def _mark(self, queue: str, name: str, at: int) -> None:
        marks = self.marks[queue]
        marks[name] = max(marks.get(name, 0), at)

    def _job(self, record: Record) -> None:
        if record["started_at"]:
            self._mark(record["queue"], "last_start_ms", record["started_at"])
        self._newer(self.jobs, record["job"], record, self._job_order)

    def _pilot(self, record: Record) -> None:
        queue, kind = record["queue"], record["kind"]
        self._mark(queue, "last_pilot_ms", record["at"])
        if kind == "workers":
            key = (queue, record["harvester"], record["resource_type"])
            report = (record["at"], record["submitted"], record["running"])
            self.workers[key] = max(self.workers.get(key, report), report)
        elif kind == "slots":
            key = (queue, record["gshare"], record["resource_type"])
            figure = (record["at"], record["slots"], record["expires_at"])
            self.slots[key] = max(self.slots.get(key, figure), figure)
        elif kind in NODES:
            which = NODES[kind]
            self.nodes[queue][which].add(record["node"])

    def counters(self) -> Counters:
        """Every counter that the killer can know, with the figures that are not 0."""
        found: Counters = defaultdict(lambda: defaultdict(int))
        disk: dict[str, list[int]] = defaultdict(list)
        for job in self.jobs.values():
            self._count_job(job, found)
            beat = self.beats.get(job["job"])
            if job["status"] == "running" and beat and beat[0] == job["attempt"] and beat[4]:
                disk[job["queue"]].append(beat[4] * 1000 // max(1, job["cores"]))
        for queue, rates in disk.items():
            name = "disk_io_bytes_per_second_per_core"
            found[("queue", queue)][name] = sum(rates) // len(rates)
        for move in self.moves.values():
            if move["state"] in ("queued", "submitted"):
                for key in (
                    ("link", move["source"], move["destination"], move["activity"]),
                    ("into", move["destination"], move["activity"]),
                ):
                    found[key]["queued_files"] += max(1, move["files"])
                    found[key]["queued_bytes"] += move["bytes"]
        self._count_pilots(found)
        figures = {key: {k: v for k, v in row.items() if v} for key, row in found.items()}
        return {key: row for key, row in figures.items() if row}

    def _count_job(self, job: Record, found: Counters) -> None:
        status, queue = job["status"], job["queue"]
        cores = max(1, job["cores"])
        whole: list[Key] = [("load", queue, job["gshare"], job["resource_type"]), ("queue", queue)]
        whole += [("user", job["user"], queue)] if job["user"] else []
        whole += [("group", job["group"], queue)] if job["group"] else []
        whole += [("nucleus", job["nucleus"])] if job["nucleus"] else []
        for key in whole:
            found[key][f"jobs_{status}"] += 1
            found[key][f"cores_{status}"] += cores
        found[("share", queue, job["gshare"])][f"jobs_{status}"] += 1
        if status in TALLIED:
            found[("task", job["task"], queue)][f"jobs_{status}"] += 1
        if status in STARTED and job["started_at"]:
            found[("starts", queue)]["jobs_started_6h"] += 1

    def _count_pilots(self, found: Counters) -> None:
        counted = {key[1] for key in found if key[0] == "queue"}
        for (queue, _, _), (_, submitted, running) in self.workers.items():
            found[("queue", queue)]["workers_submitted"] += submitted
            found[("queue", queue)]["workers_running"] += running
            counted.add(queue)
        for queue, nodes in self.nodes.items():
            for name, those in nodes.items():
                found[("queue", queue)][name] = len(those)
                counted.add(queue)
        for (queue, gshare, resource_type), (_, slots, _) in self.slots.items():
            if queue in counted:
                found[("queue", queue)][f"slots[{gshare}/{resource_type}]"] = slots
        for queue in counted:
            for name, at in self.marks[queue].items():
                found[("queue", queue)][name] = at
