"""JEDI's task broker: the class that `panda_jedi.cfg` names under `[taskbroker]`."""

from typing import Any

from pandajedi.jedibrokerage.AtlasProdTaskBroker import AtlasProdTaskBroker
from pandajedi.jedibrokerage.TaskBrokerBase import TaskBrokerBase

from yardmaster_jedi import process
from yardmaster_jedi.asking import release
from yardmaster_jedi.config import Config
from yardmaster_jedi.ddm import RememberingDdm
from yardmaster_jedi.facts import nucleus_subject_of
from yardmaster_jedi.job_brokers import log_like_panda
from yardmaster_jedi.modes import mode_of
from yardmaster_jedi.process import Process
from yardmaster_jedi.task_session import NucleusRecorder, NucleusTask, TaskSession

InputList = list[tuple[int, list[tuple[Any, Any, Any]]]]
"""Task id, and its tasks, clouds and input chunks, as JEDI passes them."""


class _OneDdm:
    """Gives PanDA's own broker its interface to Rucio."""

    def __init__(self, ddm: RememberingDdm) -> None:
        self._ddm = ddm

    def getInterface(self, *_: Any) -> RememberingDdm:
        """The one that remembers."""
        return self._ddm


class YardmasterProdTaskBroker(TaskBrokerBase):  # type: ignore[misc]
    """A task broker for production that asks Yardmaster, with PanDA's own behind it.

    JEDI shares one between threads: nothing of a brokerage is kept in it.
    """

    def __init__(self, taskBufferIF: Any, ddmIF: Any) -> None:
        super().__init__(taskBufferIF, ddmIF)
        log_like_panda()

    def doCheck(self, taskSpecList: Any) -> Any:
        """As PanDA's own broker."""
        return AtlasProdTaskBroker(self.taskBufferIF, self.ddmIF).doCheck(taskSpecList)

    def doBrokerage(
        self,
        inputList: InputList,
        vo: Any,
        prodSourceLabel: Any,
        workQueue: Any,
        resource_name: Any,
    ) -> Any:
        """Finds and writes the nuclei of tasks; gives a status code."""
        here = process.current()
        config = here.config()
        further = (vo, prodSourceLabel, workQueue, resource_name)
        site_mapper = self.taskBufferIF.get_site_mapper()
        tasks = _tasks_to_ask_for(inputList, config, site_mapper)
        _release_others(inputList, {it.task.jediTaskID for it in tasks}, here)
        if not tasks:
            own = AtlasProdTaskBroker(self.taskBufferIF, self.ddmIF)
            return own.doBrokerage(inputList, *further)
        ddm = RememberingDdm(self.ddmIF.getInterface(vo))
        recorder = NucleusRecorder(self.taskBufferIF)

        def own_for(left: set[int]) -> Any:
            some = [(task, inputs) for task, inputs in inputList if task in left]
            return AtlasProdTaskBroker(recorder, _OneDdm(ddm)).doBrokerage(some, *further)

        session = TaskSession(
            process=here,
            config=config,
            task_buffer=self.taskBufferIF,
            ddm=ddm,
            site_mapper=site_mapper,
            recorder=recorder,
            own=own_for,
        )
        asked = {it.task.jediTaskID for it in tasks}
        return session.run(tasks, {task for task, _ in inputList if task not in asked})


def _release_others(input_list: InputList, asked: set[int], here: Process) -> None:
    """Tasks that were led before may have left requests: they are given up."""
    connection = here.existing_connection()
    if connection is None:
        return
    for _, inputs in input_list:
        for task, _, _ in inputs:
            if task.jediTaskID not in asked:
                subject = nucleus_subject_of(task)
                release(connection, task, subject, "PanDA's own broker decided")


def _tasks_to_ask_for(input_list: InputList, config: Config, site_mapper: Any) -> list[NucleusTask]:
    """Tasks that want a nucleus and are not PanDA's alone; each once, by its first chunk. One that
    has a nucleus already is written by PanDA's own broker without a brokerage."""
    tasks: dict[int, NucleusTask] = {}
    for _, inputs in input_list:
        for task, _, chunk in inputs:
            mode = mode_of(config.rules, "nucleus", task.gshare or "", task.jediTaskID)
            has_nucleus = (
                task.nucleus in site_mapper.nuclei or task.nucleus in site_mapper.satellites
            )
            if mode == "off" or has_nucleus or not task.useWorldCloud():
                continue
            tasks.setdefault(task.jediTaskID, NucleusTask(task, chunk, mode == "lead"))
    return list(tasks.values())
