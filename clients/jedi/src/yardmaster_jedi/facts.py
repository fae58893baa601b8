"""JEDI's task and input chunk as a `task` record.

README.md lists what is left out, and why. Nothing here asks the database but what is marked so.
"""

from dataclasses import dataclass
from typing import Any

from yardmaster_jedi.codec import Record
from yardmaster_jedi.connection import now_millis
from yardmaster_jedi.inputs import Looking, Tapes, job_input, millis_of, nucleus_input

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
    jobs = jobs_of(task, chunk)
    found = job_input(task, chunk, at.ddm, Tapes(at.site_mapper), looking)
    return {
        **_common(task, chunk, at),
        "subject": subject_of(task, chunk),
        "jobs": jobs,
        "nucleus": task.nucleus or "",
        # Each of these walks the files of the chunk; PanDA's broker does the same.
        "atom_bytes": int(chunk.getMaxAtomSize()),
        "atom_effective_mb": float(chunk.getMaxAtomSize(effectiveSize=True)),
        "atom_events": int(chunk.getMaxAtomSize(getNumEvents=True)),
        "options": {
            **_options(task, chunk, jobs),
            **_sites(task, params or {}),
            **_jumbo(task, at.task_buffer),
            "used_queues": _used_queues(task, at),
        },
        **found,
    }


def nucleus_request(
    task: Any, chunk: Any, params: dict[str, Any], outputs: list[Any], at: Situation
) -> Record:
    """The request for the nucleus of a task."""
    jobs = jobs_of(task, chunk)
    options = _options(task, chunk, jobs)
    options["primary_only"] = params.get("taskBrokerOnMaster") is True
    return {
        **_common(task, chunk, at),
        "subject": nucleus_subject_of(task),
        "jobs": jobs,
        "options": options,
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


def task_facts(task: Any) -> Record:
    """Fields of a request about its task's jobs, the same for every kind of request."""
    return {
        "task": str(task.jediTaskID),
        "priority": int(task.currentPriority or 0),
        "label": task.prodSourceLabel or "",
        "processing_type": task.processingType or "",
        "working_group": task.workingGroup or "",
        "user": getattr(task, "origUserName", None) or task.userName or "",
        "gshare": task.gshare or "",
        "resource_type": task.resource_type or "",
        "core_count": _whole(task.coreCount),
    }


def _common(task: Any, chunk: Any, at: Situation) -> Record:
    now = now_millis()
    kind = "merge" if chunk.isMerging else "scout" if chunk.useScout() else "normal"
    per_event = task.outputScaleWithEvents()
    output = float(task.getOutDiskSize())
    return {
        **task_facts(task),
        "domain": at.domain,
        "policy": at.policy,
        "phase": "asking",
        "asked_at": now,
        "changed_at": now,
        "chunk": kind,
        "task_priority": int(task.taskPriority or 0),
        "campaign": task.campaign or "",
        "trans_path": task.transPath or "",
        "site": task.site or "",
        "merge_core_count": _whole(task.mergeCoreCount),
        "max_core_count": _whole(task.get_max_core_count()),
        "ram_count_mb": _whole(chunk.getMaxRamCount()),
        "ram_unit": "mb_per_core" if task.ramPerCore() else "mb",
        "base_ram_mb": _whole(task.baseRamCount),
        "merge_ram_mb": _whole(task.mergeRamCount),
        "cpu_hs06s_per_event": _real(task.getCpuTime()),
        "cpu_efficiency": _whole(task.cpuEfficiency),
        "base_walltime_s": _whole(task.baseWalltime),
        "walltime_s_per_mb": None if task.useHS06() else _real(task.walltime),
        "output_per_event": output if per_event else None,
        "output_per_mb": None if per_event else output,
        "work_bytes": int(task.getWorkDiskSize()),
        "disk_io_kbps": _whole(task.diskIO),
        "io_intensity_kbps": _whole(task.ioIntensity),
        "allow_input_lan": task.allowInputLAN() is not None,
        "use_local_io": bool(task.useLocalIO()),
    }


def _options(task: Any, chunk: Any, jobs: int) -> Record:
    master = chunk.masterDataset
    network = f"{task.getIpConnectivity() or ''}#{task.getIpStack() or ''}"
    modes = ("only", "require", "capable")
    no_walltime = not task.walltime and not task.walltimeUnit and not task.cpuTimeUnit
    return {
        "t1_weight": int(task.getT1Weight() or 0),
        "merge_output": bool(task.mergeOutput()),
        "architecture": task.architecture or "",
        "trans_home": task.transHome or "",
        "trans_uses": task.transUses or "",
        "container_name": task.container_name or "",
        "only_tags": bool(task.use_only_tags_fc()),
        "ip_connectivity": "" if network == "#" else network,
        "input_lan_only": task.allowInputLAN() == "only",
        "input_wan": bool(task.allowInputWAN()),
        "full_chain": next((it for it in modes if task.check_full_chain_with_mode(it)), "no"),
        "parent_task": str(task.parent_tid or ""),
        "input_prestaging": bool(task.inputPreStaging()),
        "event_service": bool(task.useEventService()),
        "job_cloning": bool(task.useJobCloning()),
        "es_consumers": _whole(task.getNumEventServiceConsumer()),
        "es_attempts_max": _whole(task.getMaxAttemptEsJob()),
        "dynamic_events": _whole(task.get_min_granularity()),
        "events_per_job": _whole(task.getNumEventsPerJob()),
        "events_per_job_max": _whole(task.get_max_events_per_job()),
        "disable_reassign": bool(task.disableReassign()),
        "longest_event_run": _longest_run(task, chunk),
        "walltime_unknown": no_walltime or (not task.getCpuTime() and bool(task.cpuTimeUnit)),
        "frozen_at": millis_of(task.frozenTime) or None,
        "chunk_site": chunk.getPreassignedSite() or "",
        "avoid_vp": bool(task.avoid_vp()),
        "cloud": "" if task.cloud in (None, "WORLD", "any") else task.cloud,
        "incomplete_input": bool(task.allow_incomplete_input()),
        "sites_per_job": _whole(task.getNumSitesPerJob()),
        "gb_per_job": _gigabytes(task.getMaxSizePerJob()),
        "remaining_jobs": jobs,
        "jumbo_chunk": chunk.useJumbo in ("fake", "only"),
        "merge_scout": bool(chunk.isMerging and chunk.useScout()),
        "scouts_due": bool(task.useScout()),
        "hpo_workflow": bool(task.is_hpo_workflow()),
        "cpu_in_hs06": bool(task.useHS06()),
        **_progress(master),
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


def _sites(task: Any, params: dict[str, Any]) -> Record:
    """Sites that the task's parameters name. JEDI has read them if the task says that there are
    any."""
    if not task.useLimitedSites():
        return {}
    return {
        "excluded_sites": _listed(params.get("excludedSite")),
        "included_sites": _listed(params.get("includedSite")),
    }


def _jumbo(task: Any, task_buffer: Any) -> Record:
    """Of tasks with jumbo jobs; one count in the database."""
    if task.getNumJumboJobs() is None:
        return {"jumbo": False, "ready_events": None}
    return {"jumbo": True, "ready_events": _whole(task_buffer.getNumReadyEvents(task.jediTaskID))}


def _used_queues(task: Any, at: Situation) -> list[str]:
    """Queues that have jobs of an analysis task already, which its broker prefers; one query."""
    if at.brokerage != "analysis":
        return []
    is_read, sites = at.task_buffer.getSitesUsedByTask_JEDI(task.jediTaskID)
    return sorted(str(site) for site in sites if site) if is_read else []


def _longest_run(task: Any, chunk: Any) -> int:
    if not task.dynamicNumEvents() or chunk.masterDataset is None:
        return 0
    return int(chunk.check_event_jump_and_sum()[1] or 0)


def _gigabytes(size: Any) -> int | None:
    return int(size) // 1024**3 if size else None


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _real(value: Any) -> float | None:
    return None if value is None else float(value)


def _listed(value: Any) -> list[str]:
    if not value:
        return []
    parts = value.split(",") if isinstance(value, str) else value
    return [str(part).strip() for part in parts]
