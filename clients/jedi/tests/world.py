"""A small grid as JEDI knows it: three queues, two nuclei, tasks, and a stub of the task buffer.
Everything between that and the stub of Rucio's client is PanDA's own code."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

from pandajedi.jedicore import ThreadUtils
from pandajedi.jedicore.MsgWrapper import MsgWrapper
from pandaserver.brokerage.SiteMapper import SiteMapper
from pandaserver.taskbuffer.DdmSpec import DdmSpec
from pandaserver.taskbuffer.InputChunk import InputChunk
from pandaserver.taskbuffer.JediDatasetSpec import JediDatasetSpec
from pandaserver.taskbuffer.JediFileSpec import JediFileSpec
from pandaserver.taskbuffer.JediTaskSpec import JediTaskSpec
from pandaserver.taskbuffer.NucleusSpec import NucleusSpec
from pandaserver.taskbuffer.SiteSpec import SiteSpec
from pandaserver.userinterface import Client
from rucio_stub import GB, QUEUES, FakeRucio

# PanDA's brokers send their logs and messages to servers; there are none here.
# Its factory for task brokers starts a thread that never ends.
ThreadUtils.ZombieCleaner.run = lambda _: None
MsgWrapper.sendMsg = lambda *_, **__: None
Client.uploadLog = lambda *_, **__: (1, "there is no server")


def endpoint(name: str, tape: bool = False) -> dict[str, Any]:
    on = {"write_wan": "ON", "read_wan": "ON", "read_lan": "ON", "write_lan": "ON"}
    return {
        "ddm_endpoint_name": name,
        "is_tape": "Y" if tape else "N",
        "type": "DATATAPE" if tape else "DATADISK",
        "space_usable": 500_000,
        "space_free": 500_000,
        "space_expired": 0,
        "space_total": 900_000,
        "state": "ACTIVE",
        "detailed_status": on,
    }


def storages(site: str) -> DdmSpec:
    spec = DdmSpec()
    for name, tape in ((f"{site}_DATADISK", False), (f"{site}_DATATAPE", True)):
        relation = {
            "ddm_endpoint_name": name,
            "order_read": 1,
            "default_read": "N" if tape else "Y",
            "default_write": "N" if tape else "Y",
            "is_local": "Y",
            "is_tape": "Y" if tape else "N",
            "roles": [],
        }
        spec.add(relation, {name: endpoint(name, tape)})
    return spec


def site_spec(queue: str, site: str) -> SiteSpec:
    spec = SiteSpec()
    zeros = (
        "maxrss minrss maxtime mintime maxDiskio transferringlimit maxinputsize wansinklimit "
        "wansourcelimit minmemory maxmemory"
    )
    for name in zeros.split():
        setattr(spec, name, 0)
    ddm = storages(site)
    values = {
        "sitename": queue,
        "pandasite": site,
        "unified_name": queue,
        "status": "online",
        "maxwdir": 500_000,
        "coreCount": 8,
        "corepower": 10,
        "catchall": "",
        "fairsharePolicy": "",
        "releases": ["ANY"],
        "jobseed": "std",
        "reliabilityLevel": None,
        "extra_queue_params": {},
        "direct_access_lan": True,
        "direct_access_wan": False,
        "num_slots_map": {},
        "workflow": "pull_ups",
        "allow_no_pilot": True,
        "wnconnectivity": "full#IPv4",
        "cloud": "WORLD",
        "ddm_input": dict.fromkeys(("default", "analysis"), f"{site}_DATADISK"),
        "ddm_output": dict.fromkeys(("default", "analysis"), f"{site}_DATADISK"),
        "capability": "",
        "type": "unified",
        "is_unified": False,
        "ddm_endpoints_input": {"default": ddm, "analysis": ddm},
        "ddm_endpoints_output": {"default": ddm, "analysis": ddm},
    }
    for name, value in values.items():
        setattr(spec, name, value)
    return spec


def site_mapper() -> SiteMapper:
    """PanDA's site mapper, filled without a database."""
    mapper = SiteMapper.__new__(SiteMapper)
    mapper.siteSpecList = {queue: site_spec(queue, site) for queue, site in QUEUES.items()}
    mapper.cloudSpec = {}
    mapper.worldCloudSpec = {"sites": list(QUEUES)}
    mapper.satellites = {}
    mapper.nuclei = {}
    mapper.endpoint_to_sites_map = {"input": {}, "output": {}}
    mapper.endpoint_detailed_status_summary = {}
    for name, queue in (("NUC", "SYNTH_ALPHA"), ("BETA_SITE", "SYNTH_BETA")):
        nucleus = NucleusSpec(name)
        spec = mapper.siteSpecList[queue]
        nucleus.add(queue, spec.ddm_endpoints_output, spec.ddm_endpoints_input)
        nucleus.state = "ACTIVE"
        nucleus.set_default_endpoint_out(f"{name}_DATADISK")
        mapper.nuclei[name] = nucleus
    mapper.make_endpoint_to_sites_map()
    return mapper


class TaskBuffer:
    """PanDA's interface to its database. `calls` counts the calls by name."""

    def __init__(self) -> None:
        self.mapper = site_mapper()
        self.calls: Counter[str] = Counter()
        self.nuclei: dict[int, Any] = {}
        self.updated: list[Any] = []
        self.params = "{}"
        self.config: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*_: Any, **__: Any) -> Any:
            self.calls[name] += 1
            return ANSWERS.get(name, (True, {}))

        return call

    def get_site_mapper(self) -> SiteMapper:
        return self.mapper

    def getConfigValue(self, component: str, key: str, *_: Any) -> Any:
        self.calls["getConfigValue"] += 1
        return self.config.get(key)

    def querySQL(self, _: str, variables: dict[str, Any]) -> Any:
        """Measurements of PanDA's metrics table."""
        if variables[":metric"] == "analy_site_eval":
            return [(queue, 1) for queue in QUEUES]
        return []

    def getWorkQueueMap(self) -> Any:
        queue = SimpleNamespace(
            is_global_share=True, queue_name="share", queue_id=1, queue_function="Resource"
        )
        return SimpleNamespace(getQueueWithIDGshare=lambda *_: queue)

    def getTaskParamsWithID_JEDI(self, _: int) -> str:
        return self.params

    def getDatasetsWithJediTaskID_JEDI(self, task: int, _: list[str]) -> Any:
        return True, [
            SimpleNamespace(
                datasetID=task * 10 + 5,
                datasetName="mc:synthetic.HITS",
                type="output",
                storageToken="ATLASDATADISK",
            )
        ]

    def setCloudToTasks_JEDI(self, tasks: dict[int, Any]) -> bool:
        self.nuclei.update(tasks)
        return True

    def updateTask_JEDI(self, task: Any, *_: Any, **__: Any) -> Any:
        self.updated.append(task)
        return True, 1


ANSWERS: dict[str, Any] = {
    "load_sw_map": {},
    "get_architecture_level_map": {},
    "get_worker_node_gpu_map": {},
    "getNumReadyEvents": 0,
    "getInactiveSites_JEDI": [],
    "get_distinct_resource_types_per_site": {},
    "ups_load_worker_stats": {},
    "ups_get_queues": [],
    "getNetworkMetrics": {"total": {}},
    "getBackloggedNuclei": [],
    "getCurrentSiteData": {queue: {"getJob": 5, "updateJob": 50} for queue in QUEUES},
    "getAvgDiskIO_JEDI": {},
    "checkProcessLock_JEDI": False,
    "getPandaSiteToOutputStorageSiteMapping": {q: {"default": s} for q, s in QUEUES.items()},
    "calculateWorldRWwithPrio_JEDI": {},
    "calculateTaskWorldRW_JEDI": 1,
    "getSitesUsedByTask_JEDI": (True, []),
    "getFailureCountsForTask_JEDI": {},
    "countJobsPerTarget_JEDI": {"nQueuedJobs": 0, "nRunJobs": 0, "nQueuedCores": 0, "nRunCores": 0},
    "get_origin_datasets": [],
    "getCache_JEDI": None,
    "getUsersJobsStats_JEDI": {queue: {} for queue in QUEUES},
}


def dataset(task: int, number: int, name: str, files: int, master: bool = True) -> JediDatasetSpec:
    spec = JediDatasetSpec()
    values = {
        "jediTaskID": task,
        "datasetID": task * 10 + number,
        "datasetName": f"mc:{name}",
        "containerName": name,
        "type": "input",
        "masterID": None if master else task * 10,
        "nFiles": files,
        "nFilesToBeUsed": files,
        "nFilesUsed": 0,
        "nFilesFinished": 0,
        "nEvents": files * 1000,
        "nEventsUsed": 0,
        "status": "ready",
        "site": None,
        "attributes": "",
        "storageToken": None,
    }
    for key, value in values.items():
        setattr(spec, key, value)
    for index in range(files):
        spec.addFile(file_spec(f"{name}._{index:06d}.root", task * 1000 + number * 500 + index))
    return spec


def file_spec(lfn: str, number: int) -> JediFileSpec:
    spec = JediFileSpec()
    values = {
        "fileID": number,
        "lfn": lfn,
        "GUID": f"guid-{lfn}",
        "scope": "mc",
        "fsize": GB,
        "nEvents": 1000,
        "type": "input",
        "startEvent": None,
        "endEvent": None,
    }
    for key, value in values.items():
        setattr(spec, key, value)
    return spec


def task_spec(task: int, label: str = "managed", **more: Any) -> JediTaskSpec:
    spec = JediTaskSpec()
    is_user = label == "user"
    values = {
        "jediTaskID": task,
        "taskName": "synthetic",
        "status": "ready",
        "userName": "Synthetic User 1",
        "origUserName": "Synthetic User 1",
        "prodSourceLabel": label,
        "workingGroup": None if is_user else "AP_SYNTH",
        "vo": "atlas",
        "coreCount": 8,
        "processingType": "simul",
        "taskPriority": 600,
        "currentPriority": 650,
        "gshare": "User Analysis" if is_user else "MC Default evgensimul",
        "resource_type": "MCORE",
        "nucleus": None if is_user else "NUC",
        "ramCount": 2000,
        "ramUnit": "MBPerCore",
        "baseRamCount": 500,
        "cpuTime": 100,
        "cpuTimeUnit": "HS06sPerEvent",
        "cpuEfficiency": 90,
        "baseWalltime": 600,
        "outDiskCount": 400,
        "outDiskUnit": "kBPerEvent",
        "workDiskCount": 100,
        "workDiskUnit": "MB",
        "cloud": "WORLD",
        "site": None,
        "ioIntensity": 100,
        "diskIO": 100,
        "walltime": 0,
        "splitRule": "NF=1",
        "transHome": None,
        "architecture": "",
        "frozenTime": None,
        **more,
    }
    for key, value in values.items():
        setattr(spec, key, value)
    return spec


def chunk_of(task: int, label: str = "managed", files: int = 20, **more: Any) -> InputChunk:
    """A chunk with a master dataset, all of it at NUC, every second file at BETA_SITE."""
    spec = task_spec(task, label, **more)
    name = f"synthetic.{task}.EVNT"
    master = dataset(task, 0, name, files)
    FakeRucio.datasets[name] = {
        "length": files,
        "replicas": {"NUC_DATADISK": files, "BETA_SITE_DATADISK": files // 2},
    }
    for index, it in enumerate(master.Files):
        beta = ["BETA_SITE_DATADISK"] if index % 2 else []
        FakeRucio.files[it.lfn] = ["NUC_DATADISK", *beta]
    return InputChunk(spec, master, [], 0)
