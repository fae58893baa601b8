"""Where the input of a chunk lies: the dear part of a request, since Rucio is asked.

The calls are those that PanDA's own broker makes, with the same arguments, so that neither makes
one that the other has made.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from yardmaster_client.codec import Record
from yardmaster_jedi.ddm import Unlisted
from yardmaster_jedi.panda_task import millis_of

IO_INTENSITY_CUTOFF = 200
"""PanDA's default of IO_INTENSITY_CUTOFF; kB/s."""


@dataclass(frozen=True)
class Looking:
    """How PanDA's own broker would look for files; it differs by kind of brokerage."""

    brokerage: str
    io_intensity_cutoff: float = IO_INTENSITY_CUTOFF

    def complete_only(self, dataset: Any, task: Any) -> bool:
        """Whether only complete copies count, so that files are not looked up one by one."""
        if not dataset.isMaster():
            return True
        if self.brokerage in ("analysis", "generic"):
            return False
        is_intensive = bool(task.ioIntensity) and task.ioIntensity > self.io_intensity_cutoff
        return is_intensive and not task.inputPreStaging()


def job_input(task: Any, chunk: Any, ddm: Any, tapes: "Tapes", looking: Looking) -> Record:
    """Fields `replicas`, `input`, `total_files`, `total_bytes` of a request for jobs."""
    if looking.brokerage == "generic" and not ddm.lists_files():
        ddm = Unlisted()
    datasets, placements = [], _Placements()
    for number, dataset in enumerate(chunk.getDatasets()):
        copies = _copies(dataset, ddm, looking)
        datasets.append(_dataset(dataset, ddm, copies, looking))
        is_merging = bool(chunk.isMerging)
        # What is merged may still be written: PanDA's brokers take any copy then.
        complete = sorted(name for name, copy in copies.items() if is_merging or _is_complete(copy))
        # PanDA's broker for analysis looks at whole datasets first, and at files only for queues
        # without a complete copy.
        by_copy = looking.brokerage == "analysis" and bool(complete)
        # Files of these are not looked up one by one in any case.
        is_whole = is_merging or dataset.isManyTime()
        if by_copy or is_whole or looking.complete_only(dataset, task):
            places = dict.fromkeys((spec.lfn for spec in dataset.Files), complete)
        elif looking.brokerage == "generic" and _is_container(dataset, ddm):
            places = _places_in_container(dataset, ddm, complete)
        else:
            places = _places(dataset, ddm)
        placements.add(number, dataset.Files, places)
    return {
        "replicas": placements.by_endpoint(tapes),
        "input": {"datasets": datasets, "placements": placements.records()},
        "total_files": placements.total_files,
        "total_bytes": placements.total_bytes,
    }


def nucleus_input(chunk: Any, ddm: Any, prestaging: bool) -> Record:
    """Field `input` of a request for a nucleus: copies of whole datasets, as PanDA's task broker
    asks for them."""
    datasets = []
    for dataset in chunk.getDatasets():
        is_deep = dataset.isMaster() and not prestaging
        # Of a container its datasets are listed, else the dataset itself.
        listed = ddm.listReplicasPerDataset(dataset.datasetName, is_deep)
        records = [_listed(dataset, name, copies) for name, copies in listed.items()]
        if dataset.datasetName.endswith("/"):
            name = _bare(dataset.datasetName)
            datasets.append(_listed(dataset, name, {}))
            records = [{**record, "container": name} for record in records]
        datasets += records
    return {"datasets": datasets, "placements": []}


def _listed(dataset: Any, name: str, copies: dict[str, Any]) -> Record:
    totals = [found[-1] for found in copies.values()]
    return {
        "name": _bare(name),
        "container": "",
        "primary": dataset.isMaster(),
        "pseudo": dataset.isPseudo(),
        "files": max((int(it.get("total") or 0) for it in totals), default=0),
        "bytes": max((int(it.get("tsize") or 0) for it in totals), default=0),
        "created_at": millis_of(dataset.creationTime),
        "modified_at": millis_of(dataset.modificationTime),
        "replicas": [_copy(endpoint, found[-1]) for endpoint, found in sorted(copies.items())],
    }


class Tapes:
    """Which endpoints are tape, as the sites of JEDI's site mapper have it."""

    def __init__(self, site_mapper: Any) -> None:
        sites = site_mapper.siteSpecList.values()
        specs = [spec for site in sites for spec in site.ddm_endpoints_input.values()]
        self._names = {name for spec in specs for name in spec.tape}

    def __contains__(self, endpoint: str) -> bool:
        return endpoint in self._names


def _copies(dataset: Any, ddm: Any, looking: Looking) -> dict[str, Record]:
    """Copies of a dataset by endpoint, virtual placements among them."""
    name = dataset.datasetName
    if looking.brokerage == "generic":
        found, _ = _copies_in_detail(dataset, ddm)
    else:
        # PanDA's other two brokers pass different words for "all constituents".
        elements: list[str] | None = None if looking.brokerage == "analysis" else []
        words: Record = {"skip_incomplete_element": True, "element_list": elements}
        found = ddm.listDatasetReplicas(name, use_vp=True, use_deep=True, **words)
    return {endpoint: parts[-1] for endpoint, parts in found.items() if parts}


def _copies_in_detail(dataset: Any, ddm: Any) -> tuple[Record, Record]:
    """Copies by endpoint, and those of each dataset of a container, or of the dataset itself. As
    PanDA's client asks when the generic broker looks for files; it asks for no others."""
    found: tuple[Record, Record] = ddm.listDatasetReplicas(
        dataset.datasetName, use_vp=True, detailed=True, use_deep=True, element_list=None
    )
    return found


def _dataset(dataset: Any, ddm: Any, copies: dict[str, Record], looking: Looking) -> Record:
    meta = ddm.getDatasetMetaData(dataset.datasetName)
    return {
        "name": _bare(dataset.datasetName),
        # Also where JEDI knows a container of it: the record of that would come before it.
        "container": "",
        "primary": dataset.isMaster(),
        "pseudo": dataset.isPseudo(),
        "distributed": _is_distributed(dataset, ddm, copies, looking),
        "files": int(meta.get("length") or 0),
        "bytes": int(meta.get("bytes") or 0),
        "created_at": millis_of(dataset.creationTime),
        "modified_at": millis_of(dataset.modificationTime),
        "replicas": [_copy(endpoint, part) for endpoint, part in sorted(copies.items())],
    }


def _is_distributed(dataset: Any, ddm: Any, copies: dict[str, Record], looking: Looking) -> bool:
    """PanDA's broker for analysis asks only if no copy is complete, or of a container; the one for
    jobs outside ATLAS never asks."""
    name = dataset.datasetName
    if looking.brokerage == "generic":
        return False
    if looking.brokerage == "analysis":
        if not copies or (any(map(_is_complete, copies.values())) and not name.endswith("/")):
            return False
        return bool(ddm.isDistributedDataset(name)) or name.endswith("/")
    return bool(ddm.isDistributedDataset(name))


def _copy(endpoint: str, part: Record) -> Record:
    return {
        "endpoint": endpoint,
        "files": int(part.get("found") or 0),
        "files_total": int(part.get("total") or 0),
        "bytes": int(part.get("asize") or 0),
        "virtual": part.get("vp") is True,
    }


def _is_complete(part: Record) -> bool:
    """Whether all files are there; a virtual placement holds none."""
    total = part.get("total")
    return bool(total) and part.get("found") == total and part.get("vp") is not True


def _places(dataset: Any, ddm: Any) -> dict[str, list[str]]:
    """Endpoints of each file: one call of Rucio for a thousand files."""
    files = {spec.GUID or spec.lfn: spec.lfn for spec in dataset.Files}
    scopes = {spec.lfn: spec.scope for spec in dataset.Files}
    found: dict[str, list[str]] = ddm.jedi_list_replicas(files, [], scopes=scopes)
    return found


def _is_container(dataset: Any, ddm: Any) -> bool:
    return bool(ddm.getDatasetMetaData(dataset.datasetName).get("did_type") == "CONTAINER")


def _places_in_container(dataset: Any, ddm: Any, complete: list[str]) -> dict[str, list[str]]:
    """Endpoints of each file of a container: those with a complete copy of the container, or of its
    dataset that has the file. For PanDA's generic broker no file is looked up there."""
    places = {spec.lfn: complete for spec in dataset.Files}
    _, datasets = _copies_in_detail(dataset, ddm)
    for name, copies in datasets.items():
        endpoints = [it for it, parts in copies.items() if parts and _is_complete(parts[-1])]
        if endpoints:
            files = ddm.getFilesInDataset(name, ignoreUnknown=True, lfn_only=True)
            places.update(dict.fromkeys(files, sorted({*endpoints, *complete})))
    return places


def _bare(name: str) -> str:
    """A name without its scope, and without the slash at the end of a container's."""
    return name.split(":")[-1].rstrip("/")


class _Placements:
    """The files of a chunk, those on the same endpoints taken together. A file that is listed
    several times, for parts of its events, counts once."""

    def __init__(self) -> None:
        self._groups: OrderedDict[tuple[int, tuple[str, ...]], list[int]] = OrderedDict()
        self._endpoints: dict[str, list[int]] = {}
        self._seen: set[str] = set()
        self.total_files = self.total_bytes = 0

    def add(self, dataset: int, files: Iterable[Any], places: dict[str, list[str]]) -> None:
        for spec in files:
            if spec.lfn in self._seen:
                continue
            self._seen.add(spec.lfn)
            size = int(spec.fsize or 0)
            endpoints = tuple(sorted(places.get(spec.lfn, ())))
            self.total_files += 1
            self.total_bytes += size
            _count(self._groups.setdefault((dataset, endpoints), [0, 0]), size)
            for endpoint in endpoints:
                _count(self._endpoints.setdefault(endpoint, [0, 0]), size)

    def records(self) -> list[Record]:
        return [
            {"dataset": dataset, "files": files, "bytes": size, "endpoints": list(endpoints)}
            for (dataset, endpoints), (files, size) in self._groups.items()
        ]

    def by_endpoint(self, tapes: Tapes) -> list[Record]:
        return [
            {"endpoint": name, "files": files, "bytes": size, "tape": name in tapes}
            for name, (files, size) in sorted(self._endpoints.items())
        ]


def _count(total: list[int], size: int) -> None:
    total[0] += 1
    total[1] += size
