"""PanDA's own agents and its web interface: what JEDI's processes and the server's scripts do in
loops is done here one round at a time, and requests of clients go to the functions that the web
server calls."""

import json
import uuid
from types import SimpleNamespace
from typing import Any

from pandajedi.jedicore.FactoryBase import FactoryBase
from pandajedi.jedicore.JediTaskBuffer import JediTaskBuffer
from pandajedi.jedicore.ThreadUtils import ListWithLock, ThreadPool
from pandajedi.jediddm.DDMInterface import DDMInterface
from pandajedi.jediorder import (
    ContentsFeeder,
    JobGenerator,
    PostProcessor,
    TaskCommando,
    TaskRefiner,
)
from pandajedi.jediorder.TaskSetupper import TaskSetupper
from pandaserver.api.v1 import harvester_api, job_api, pilot_api, task_api
from pandaserver.dataservice.adder_gen import AdderGen
from pandaserver.jobdispatcher.Watcher import Watcher
from pandaserver.taskbuffer.DataCarousel import DataCarouselInterface
from pandaserver.userinterface import Client

from plugins import Everywhere

# Brokers send their logs to PanDA's web server, and there is none here.
Client.uploadLog = lambda *_, **__: (1, "there is no server")

VO = "atlas"
CLOUD = "PROOF"
PID = "proof"


def request(method: str, user: str) -> Any:
    """As the web server hands in a request of somebody with the role of production."""
    role = {
        "GRST_CRED_0": "VOMS 0 0 0 /atlas/Role=production",
        "HTTPS": "on",
        "REQUEST_METHOD": method,
    }
    return SimpleNamespace(subprocess_env=role | {"SSL_CLIENT_S_DN": f"/DC=proof/CN={user}"})


def ask(function: Any, user: str = "operator", **arguments: Any) -> Any:
    """The data of an answer of PanDA's interface."""
    answer = function(request("POST", user), **arguments)
    if not answer["success"]:
        raise RuntimeError(f"{function.__name__}: {answer}")
    return answer["data"]


def got(found: Any) -> Any:
    """The result of PanDA's code, which is none where the database refused."""
    if found is None:
        raise RuntimeError("PanDA's code failed: the logs of this PanDA say why")
    return found


class Panda:
    """A server and a JEDI on one connection to the database."""

    def __init__(self) -> None:
        self.buffer = JediTaskBuffer(None)
        self.ddm = DDMInterface()
        self.ddm.setupInterface()
        for interface in (harvester_api, job_api, pilot_api, task_api):
            interface.init_task_buffer(self.buffer)

    # --- What clients ask ------------------------------------------------------------------------

    def submit(self, label: str, user: str, files: int, **more: Any) -> int:
        """A task as a client hands it in; its number."""
        name = f"proof.{uuid.uuid4()}"
        local = {"type": "template", "token": "local", "destination": "local"}
        log = local | {
            "param_type": "log",
            "dataset": f"{name}.log",
            "value": f"{name}.${{SN}}.log.tgz",
        }
        out = local | {
            "param_type": "output",
            "dataset": name,
            "value": f"{name}.${{SN}}.root",
            "offset": 1000,
        }
        task = {
            "taskName": name,
            "userName": user,
            "vo": VO,
            "prodSourceLabel": label,
            "taskPriority": 900,
            "architecture": "x86_64-el9-gcc13-opt",
            "transUses": "Atlas-25.0.1",
            "transHome": "AthSimulation-25.0.1",
            "transPath": "run",
            "cloud": CLOUD,
            "noInput": True,
            "nFiles": files,
            "nFilesPerJob": 1,
            "pfnList": [f"part-{n}" for n in range(files)],
            "skipScout": True,
            "ramUnit": "MBPerCore",
            "log": log,
            "messageDriven": False,
            "maxAttempt": 3,
            "jobParameters": [{"type": "constant", "value": "-i ${IN/T}"}, out],
        }
        return int(ask(task_api.submit, user, task_parameters=task | more))

    def kill(self, jobs: list[int], code: int) -> None:
        """Jobs are killed, as an operator does."""
        answers = ask(job_api.kill, job_ids=jobs, code=code)
        if not all(answers):
            raise RuntimeError(f"not killed: {jobs}: {answers}")

    def reassign_share(self, task: int, share: str) -> None:
        """An operator gives a task and its jobs another share."""
        ask(
            task_api.reassign_global_share,
            task_id_list=[task],
            share=share,
            reassign_running_jobs=True,
        )

    def abort(self, task: int) -> None:
        ask(task_api.kill, task_id=task)

    def reactivate(self, task: int) -> None:
        """A task that is over is taken up again."""
        ask(task_api.reactivate, task_id=task)
        # JEDI's next round would come to it hours later.
        ask(task_api.change_modification_time, task_id=task, hour_offset=-12)

    def throttle(self, user: str, on: bool) -> None:
        """As PanDA's server does to those who have too many jobs."""
        (self.buffer.throttleUserJobs if on else self.buffer.unThrottleUserJobs)(user, None)

    def define(self, jobs: list[int]) -> None:
        """The first half of what makes jobs active."""
        with self.buffer.proxyPool.get() as proxy:
            for job in jobs:
                got(proxy.resetDefinedJob(job))

    def stage(self, jobs: list[int]) -> None:
        """The inputs of assigned jobs have come."""
        self.buffer.activateJobs(self.buffer.peekJobs(jobs))

    def lose(self, job: int) -> None:
        """The watcher finds that a job has not been heard of for too long."""
        Watcher(self.buffer, job, single=True, sleepTime=0).run()

    def activate(self, jobs: list[int]) -> None:
        """Jobs that JEDI has made become what a pilot may ask for."""
        self.buffer.reassignJobs(jobs, joinThr=True)

    # --- What pilots ask -------------------------------------------------------------------------

    def get(self, queue: str, count: int, node: str, **more: Any) -> list[int]:
        """A pilot on a node asks for jobs; their numbers."""
        answer = pilot_api.acquire_jobs(
            request("POST", "pilot"),
            queue,
            n_jobs=count,
            node=node,
            prod_source_label=more.pop("label", "managed"),
            computing_element="ce.proof",
            scheduler_id="proof-harvester",
            memory=64000,
            **more,
        )
        return [job["PandaID"] for job in answer["data"]["jobs"]] if answer["success"] else []

    def update(self, job: int, status: str, **more: Any) -> str | None:
        """A pilot states how its job stands; the command that it gets."""
        answer = ask(
            pilot_api.update_job,
            "pilot",
            job_id=job,
            job_status=status,
            scheduler_id="proof-harvester",
            **more,
        )
        if answer["StatusCode"] != 0:
            raise RuntimeError(f"{job} to {status}: {answer}")
        return answer["command"]

    def workers(self, queue: str, **counts: Any) -> None:
        """Harvester reports its workers."""
        ask(
            harvester_api.report_worker_statistics,
            "harvester",
            harvester_id="proof-harvester",
            panda_queue=queue,
            statistics=json.dumps({"managed": counts}),
        )

    # --- What the agents do ----------------------------------------------------------------------

    def refine(self, label: str) -> None:
        """Makes tasks of what was handed in, and lists their inputs."""
        tasks = got(self.buffer.getTasksToRefine_JEDI(VO, label))
        refiner = TaskRefiner.TaskRefiner(None, self.buffer, self.ddm, VO, label)
        FactoryBase.initializeMods(refiner, self.buffer, self.ddm)
        TaskRefiner.TaskRefinerThread(
            ListWithLock(tasks),
            ThreadPool(),
            self.buffer,
            self.ddm,
            refiner,
            self.buffer.getWorkQueueMap(),
            DataCarouselInterface(self.buffer),
        ).runImpl()
        inputs = got(self.buffer.getDatasetsToFeedContents_JEDI(VO, label))
        ContentsFeeder.ContentsFeederThread(
            ListWithLock(inputs), ThreadPool(), self.buffer, self.ddm, PID
        ).runImpl()

    def generate(self, label: str) -> None:
        """Brokerage, splitting and new jobs of one kind of task, merge jobs and those that try
        again among them."""
        buffer = self.buffer
        mapper = buffer.get_site_mapper()
        types = buffer.load_resource_types()
        setupper = TaskSetupper(VO, label)
        setupper.initializeMods(buffer, self.ddm)
        for queue in buffer.getWorkQueueMap().getAlignedQueueList(VO, label):
            for kind in types:
                tasks = got(
                    buffer.getTasksToBeProcessed_JEDI(
                        PID,
                        VO,
                        queue,
                        label,
                        CLOUD,
                        nTasks=100,
                        nFiles=1000,
                        minPriority=None,
                        maxNumJobs=None,
                        typicalNumFilesMap={},
                        mergeUnThrottled=None,
                        numNewTaskWithJumbo=0,
                        resource_name=kind.resource_name,
                    )
                )
                JobGenerator.JobGeneratorThread(
                    ListWithLock(tasks),
                    ThreadPool(),
                    buffer,
                    Everywhere(),
                    mapper,
                    False,
                    setupper,
                    PID,
                    queue,
                    kind.resource_name,
                    CLOUD,
                    None,
                    ListWithLock([]),
                    False,
                    types,
                ).runImpl()

    def add(self) -> None:
        """The adder ends what pilots reported as over."""
        reports = (
            "SELECT PandaID, jobStatus, attemptNr FROM ATLAS_PANDA.Job_Output_Report "
            "ORDER BY PandaID"
        )
        for job, status, attempt in self.rows(reports):
            AdderGen(
                self.buffer, job, status, attempt, siteMapper=self.buffer.get_site_mapper(), pid=PID
            ).run()

    def arrive(self, jobs: list[int]) -> None:
        """The finisher hands in what has arrived where it was to go."""
        for job in jobs:
            (attempt,) = self.rows(
                "SELECT attemptNr FROM ATLAS_PANDA.jobsActive4 WHERE PandaID=:job", job=job
            )[0]
            files = self.rows(
                "SELECT lfn FROM ATLAS_PANDA.filesTable4 WHERE PandaID=:job AND type<>:input",
                job=job,
                input="pseudo_input",
            )
            report = {
                lfn: {"guid": str(uuid.uuid4()), "fsize": 100, "adler32": "0"} for (lfn,) in files
            }
            AdderGen(self.buffer, job, "finished", attempt).dump_file_report(
                json.dumps(report), attempt
            )

    def commands(self, label: str) -> None:
        """Carries out what clients asked about tasks."""
        wanted = got(self.buffer.getTasksToExecCommand_JEDI(VO, label))
        TaskCommando.TaskCommandoThread(
            ListWithLock(wanted), ThreadPool(), self.buffer, self.ddm, PID
        ).runImpl()

    def finish(self, label: str) -> None:
        """Ends tasks whose inputs are all through."""
        agent = PostProcessor.PostProcessor(None, self.buffer, self.ddm, VO, label)
        FactoryBase.initializeMods(agent, self.buffer, self.ddm)
        targets = self.buffer.prepareTasksToBeFinished_JEDI(VO, label, 100, pid=PID)
        tasks = got(
            self.buffer.getTasksToBeFinished_JEDI(VO, label, PID, 100, target_tasks=targets)
        )
        PostProcessor.PostProcessorThread(
            ListWithLock(tasks), ThreadPool(), self.buffer, self.ddm, agent
        ).runImpl()

    def rows(self, sql: str, **binds: Any) -> list[tuple[Any, ...]]:
        """Rows by PanDA's own connection."""
        return self.buffer.querySQL(sql, {f":{name}": value for name, value in binds.items()})
