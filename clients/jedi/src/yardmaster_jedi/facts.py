"""JEDI's task and input chunk as a `task` record.

README.md lists what is left out, and why. Nothing here asks the database but what is marked so.
"""

from dataclasses import dataclass
from typing import Any

from yardmaster_client.codec import Record
from yardmaster_jedi.connection import now_millis
from yardmaster_jedi.inputs import Looking, Tapes, job_input, nucleus_input
from yardmaster_jedi.panda_task import is_set, number, task_fields

SCOUTS_MAX = 10
"""Jobs that a task's scouts are."""


MERGE = "/m"
"""How the subjects of merge chunks end."""


@dataclass(frozen=True)
class Situation:
    """Domain and policy of a request, and the interfaces of PanDA that its facts are read from."""

    domain: str
    policy: str
    brokerage: str
    task_buffer: Any
    ddm: Any
    site_mapper: Any


def subject_of(task: Any, chunk: Any) -> str:
    """The subject of a request for jobs. JEDI's chunks have no id: a lock on the task lets one
    process broker one dataset of it at a time, and its files are chunks by the memory that they
    want."""
    memory = f"/r{int(chunk.ramCount)}" if chunk.ramCount else ""
    merge = MERGE if chunk.isMerging else ""
    return f"{task.jediTaskID}/{chunk.masterIndexName}{memory}{merge}"


def nucleus_subject_of(task: Any) -> str:
    """The subject of a request for a nucleus. Never the bare task id: to end that would end the
    requests for all chunks of the task too."""
    return f"{task.jediTaskID}/nucleus"


def job_request(
    task: Any, chunk: Any, params: dict[str, Any] | None, at: Situation, looking: Looking
) -> Record:
    """The request for the jobs of a chunk; `attempt` and `revision` are the caller's."""
    record = _common(task, chunk, params, at)
    found = job_input(task, chunk, at.ddm, Tapes(at.site_mapper), looking)
    return {
        **record,
        "subject": subject_of(task, chunk),
        # Each of these walks the files of the chunk; PanDA's broker does the same.
        "atom_bytes": int(chunk.getMaxAtomSize()),
        "atom_effective_mb": float(chunk.getMaxAtomSize(effectiveSize=True)),
        "atom_events": int(chunk.getMaxAtomSize(getNumEvents=True)),
        "options": {
            **record["options"],
            **_jumbo(task, at.task_buffer),
            "used_queues": _used_queues(task, at),
        },
        **found,
    }


def nucleus_request(
    task: Any, chunk: Any, params: dict[str, Any], outputs: list[Any], at: Situation
) -> Record:
    """The request for the nucleus of a task."""
    return {
        **_common(task, chunk, params, at),
        "subject": nucleus_subject_of(task),
        # Only tasks ask whose nucleus is none that JEDI knows.
        "nucleus": "",
        "input": nucleus_input(chunk, at.ddm, bool(task.inputPreStaging())),
        "output": [
            {
                "name": spec.datasetName.split(":")[-1],
                "log": spec.type == "log",
                "token": spec.storageToken or "",
            }
            for spec in outputs
        ],
    }


def jobs_of(task: Any, chunk: Any) -> int:
    """An estimate: JEDI splits a chunk into jobs after the brokerage."""
    per_job = task.getNumFilesPerMergeJob() if chunk.isMerging else task.getNumFilesPerJob()
    files = int(chunk.getNumFilesInMaster())
    jobs = max(1, -(-files // int(per_job))) if per_job else max(1, files)
    return min(jobs, SCOUTS_MAX) if chunk.useScout() and not chunk.isMerging else jobs


FACTS = (
    "task",
    "priority",
    "label",
    "processing_type",
    "working_group",
    "user",
    "gshare",
    "resource_type",
    "core_count",
    "nucleus",
)
"""Fields of a request about its task's jobs, the same for every kind of request."""


def task_facts(task: Any) -> Record:
    """These fields of a task."""
    record = task_fields(task, only=FACTS)
    del record["options"]
    return record


def request_fields(task: Any, chunk: Any, params: dict[str, Any] | None) -> Record:
    """The fields of a request that come from PanDA's attributes: those of the table, and those
    that it names as code."""
    record = task_fields(task, chunk, params)
    is_merging, is_scout = bool(chunk.isMerging), bool(chunk.useScout())
    record["chunk"] = "merge" if is_merging else "scout" if is_scout else "normal"
    if is_set(task.cpuTimeUnit):
        is_unknown = not record["cpu_hs06s_per_event"]
    else:
        is_unknown = not number(task.walltime) and not is_set(task.walltimeUnit)
    record["options"].update(
        merge_scout=is_merging and is_scout,
        walltime_unknown=is_unknown,
        longest_event_run=_longest_run(task, chunk),
    )
    return record


def _common(task: Any, chunk: Any, params: dict[str, Any] | None, at: Situation) -> Record:
    now = now_millis()
    jobs = jobs_of(task, chunk)
    record = request_fields(task, chunk, params)
    record["options"].update(remaining_jobs=jobs, **_progress(chunk.masterDataset))
    return {
        **record,
        "domain": at.domain,
        "policy": at.policy,
        "phase": "asking",
        "asked_at": now,
        "changed_at": now,
        "jobs": jobs,
    }


def _progress(master: Any) -> Record:
    """How far the primary dataset is, as far as its columns say."""
    if master is None:
        return {}
    used, planned = int(master.nFilesUsed or 0), int(master.nFilesToBeUsed or 0)
    events, events_used = int(master.nEvents or 0), int(master.nEventsUsed or 0)
    return {
        "finished_files": int(master.nFilesFinished or 0),
        "remaining_files": max(0, planned - used),
        "remaining_events": max(0, events - events_used),
    }


def _jumbo(task: Any, task_buffer: Any) -> Record:
    """Of tasks with jumbo jobs; one count in the database."""
    if task.getNumJumboJobs() is None:
        return {}
    events = task_buffer.getNumReadyEvents(task.jediTaskID)
    return {"ready_events": None if events is None else int(events)}


def _used_queues(task: Any, at: Situation) -> list[str]:
    """Queues that have jobs of the task already, which PanDA's brokers for analysis and for jobs
    outside ATLAS prefer; one query. These brokers give up where it fails."""
    if at.brokerage not in ("analysis", "generic"):
        return []
    is_read, sites = at.task_buffer.getSitesUsedByTask_JEDI(task.jediTaskID)
    if not is_read:
        raise LookupError("the queues that the task used could not be read")
    return sorted(str(site) for site in sites if site)


def _longest_run(task: Any, chunk: Any) -> int:
    if not task.dynamicNumEvents() or chunk.masterDataset is None:
        return 0
    return int(chunk.check_event_jump_and_sum()[1] or 0)
