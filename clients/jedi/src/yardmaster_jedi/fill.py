"""A decision as candidates of JEDI's input chunk, as PanDA's own broker leaves them.

What JobSplitter expects of a candidate (pandaserver.taskbuffer.InputChunk.getOneSiteCandidate):

* a weight of 0 means "one bunch of jobs here first, to bootstrap the queue", whatever others weigh;
* `nQueuedJobs` is a number, since `update_n_queue` adds to it;
* `nAssignedJobs` is None, or weights are changed with each bunch of jobs that is drawn.
"""

from dataclasses import dataclass
from typing import Any

from pandajedi.jedibrokerage import AtlasBrokerUtils
from pandajedi.jedicore.SiteCandidate import SiteCandidate
from pandaserver.taskbuffer import JobUtils

from yardmaster_client.codec import Record
from yardmaster_jedi.inputs import Looking

SPARE_WEIGHT = 1e-6
"""Factor on the weight of a queue without jobs. It gets some only when all others are refused
while jobs are made."""


class FillError(Exception):
    """The decision cannot be carried out here."""


@dataclass(frozen=True)
class Chunk:
    """The input chunk that is filled, its task, and the interfaces of PanDA."""

    task: Any
    chunk: Any
    ddm: Any
    site_mapper: Any
    task_buffer: Any
    looking: Looking
    distributed: frozenset[str] = frozenset()
    """Names of datasets whose files lie at several places, none of which has all."""


def fill(at: Chunk, decision: Record) -> None:
    """Adds a candidate for each queue of an assignment. `FillError`, and an input chunk as it was
    before, if a queue is not known to JEDI."""
    ranked = decision["ranked"]
    names = {it["queue"] for it in ranked}
    unknown = sorted(name for name in names if not _is_known(at.site_mapper, name))
    if unknown:
        raise FillError(f"JEDI has no queue {', '.join(unknown)}: its queues and ours differ")
    files = _files_at(at, sorted({it["unified"] for it in ranked}))
    # PanDA's brokers for analysis and outside ATLAS have no candidates for jumbo jobs alone.
    is_production = at.looking.brokerage == "production"
    wants_jumbo = is_production and at.task.getNumJumboJobs() is not None
    for it in ranked:
        site = at.site_mapper.getSite(it["queue"])
        candidate = _candidate(at, it, site, files)
        if wants_jumbo and site.useJumboJobs():
            at.chunk.addSiteCandidateForJumbo(candidate)
            if at.chunk.useJumbo not in ("fake", "only"):
                continue
        at.chunk.addSiteCandidate(candidate)


def clear(chunk: Any) -> None:
    """Takes back what `fill` added."""
    chunk.siteCandidates.clear()
    chunk.siteCandidatesJumbo.clear()


def weight_of(ranked: Record) -> float:
    """JobSplitter draws queues in proportion to weights: jobs are how Yardmaster divides them.
    Above 0 even without jobs, unless the decision itself gives a weight of 0 with jobs, which is
    how it sends first jobs to a queue that has none."""
    if ranked["jobs"] > 0:
        return 0.0 if ranked["weight"] == 0 else float(ranked["jobs"])
    return max(float(ranked["weight"]), 1e-3) * SPARE_WEIGHT


def _is_known(site_mapper: Any, name: str) -> bool:
    return bool(site_mapper.checkSite(name))


def _candidate(at: Chunk, ranked: Record, site: Any, files: dict[str, Any]) -> Any:
    candidate = SiteCandidate(ranked["queue"], ranked["unified"])
    candidate.weight = weight_of(ranked)
    candidate.nQueuedJobs = 0
    candidate.nRunningJobsCap = None  # Yardmaster has capped already
    if at.looking.brokerage == "generic":
        for _, by_site in files.values():
            found = by_site.get(ranked["unified"], {})
            candidate.add_local_disk_files(found.get("localdisk", []))
        return candidate
    candidate.override_attribute("maxwdir", _scratch(at.task, site))
    if ranked["platform"]:
        candidate.override_attribute("platforms", ranked["platform"])
    for dataset, by_site in files.values():
        _add_files(candidate, dataset, by_site.get(ranked["unified"]), at.looking)
    is_remote = at.task.allowInputWAN() and site.allowWanInputAccess()
    if is_remote and at.looking.brokerage == "production":
        candidate.remoteProtocol = "direct"
        for dataset, _ in files.values():
            candidate.add_remote_files(dataset.Files)
    return candidate


def _add_files(
    candidate: Any, dataset: Any, found: dict[str, Any] | None, looking: Looking
) -> None:
    """Locality decides whether a file is copied, read in place, or staged from tape first."""
    if found is None:
        return
    candidate.add_local_disk_files(found["localdisk"])
    candidate.add_local_tape_files(found["localtape"])
    candidate.add_cache_files(found["cache"])
    candidate.add_remote_files(found["remote"])
    if looking.brokerage == "analysis":
        # As PanDA's broker for analysis: else cached files wait when their jobs are reassigned.
        candidate.add_local_disk_files(found["cache"])
        candidate.addAvailableFiles(found["all"])


def _files_at(at: Chunk, sites: list[str]) -> dict[str, tuple[Any, dict[str, Any]]]:
    """For each dataset of the chunk, its files at these sites by what holds them there."""
    label = JobUtils.ANALY_PS if at.looking.brokerage == "analysis" else JobUtils.PROD_PS
    labels = (at.task.prodSourceLabel, None) if at.looking.brokerage == "generic" else (label,) * 2
    endpoints = AtlasBrokerUtils.getSiteInputStorageEndpointMap(sites, at.site_mapper, *labels)
    found = {}
    for dataset in at.chunk.getDatasets():
        if at.looking.brokerage == "analysis":
            _mark_distributed(at, dataset)
        by_site = at.ddm.getAvailableFiles(
            dataset,
            endpoints,
            at.site_mapper,
            check_completeness=not at.chunk.isMerging,
            complete_only=at.looking.complete_only(dataset, at.task),
            **_words(at, dataset),
        )
        if by_site is None:
            raise FillError(f"files of {dataset.datasetName} could not be looked up")
        found[dataset.datasetName] = (dataset, by_site)
    return found


def _words(at: Chunk, dataset: Any) -> dict[str, Any]:
    """Further arguments, as PanDA's broker of that kind passes them."""
    if at.looking.brokerage == "generic":
        return {"file_scan_in_container": False, "use_deep": True}
    if at.looking.brokerage != "analysis":
        return {"storage_token": dataset.storageToken}
    elements = None
    if dataset.datasetName.endswith("/"):
        names = [spec.lfn for spec in dataset.Files]
        elements = at.task_buffer.get_origin_datasets(
            at.task.jediTaskID, dataset.datasetName, names
        )
    at_copies = at.chunk.isMerging or at.task.useScout() or at.task.useLocalIO()
    return {
        "use_vp": not at_copies and not at.task.avoid_vp() and not dataset.isDistributed(),
        "file_scan_in_container": False,
        "element_list": elements,
    }


def _mark_distributed(at: Chunk, dataset: Any) -> None:
    """JobSplitter then draws only queues that have the next file. PanDA's broker for production
    does not do so."""
    dataset.reset_distributed()
    if dataset.datasetName in at.distributed:
        dataset.setDistributed()


def _scratch(task: Any, site: Any) -> float | None:
    """Scratch space of a job; MB. That of a site is for jobs that use all cores of its slots."""
    if not site.maxwdir:
        return None
    if task.coreCount in (None, 0, 1) and not task.useEventService():
        return float(site.maxwdir / (site.coreCount or 1))
    return float(site.maxwdir)
