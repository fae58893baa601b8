"""JEDI's job brokers: the classes that `panda_jedi.cfg` names under `[jobbroker]`."""

import logging
from types import ModuleType
from typing import Any, ClassVar

from pandacommon.pandalogger.PandaLogger import PandaLogger
from pandajedi.jedibrokerage import AtlasAnalJobBroker, AtlasProdJobBroker, GenJobBroker
from pandajedi.jedibrokerage.JobBrokerBase import JobBrokerBase
from pandajedi.jedirefine import RefinerUtils

from yardmaster_jedi import process
from yardmaster_jedi.ddm import RememberingDdm
from yardmaster_jedi.job_session import JobSession
from yardmaster_jedi.modes import mode_of

logger = logging.getLogger("yardmaster_jedi")


def log_like_panda() -> None:
    """Lets the log of this package go where those of JEDI go: panda-yardmaster_jedi.log."""
    if not logger.handlers:
        panda = PandaLogger().getLogger("yardmaster_jedi")
        logger.setLevel(panda.level or logging.INFO)
        for handler in panda.handlers:
            logger.addHandler(handler)


class YardmasterJobBroker(JobBrokerBase):  # type: ignore[misc]
    """A job broker that asks Yardmaster, with PanDA's own behind it.

    JEDI makes one for every input chunk. PanDA's own is made only when it decides: it reads a dozen
    tables when it is made.
    """

    BROKERAGE: ClassVar[str]
    OWN: ClassVar[ModuleType]
    OWN_NAME: ClassVar[str]

    def __init__(self, ddmIF: Any, taskBufferIF: Any) -> None:
        super().__init__(ddmIF, taskBufferIF)
        log_like_panda()
        self._own: Any = None

    def getBaseLockID(self) -> Any:
        """The lock that PanDA's own broker holds, if it decided."""
        return None if self._own is None else self._own.getBaseLockID()

    def doBrokerage(
        self,
        taskSpec: Any,
        cloudName: Any,
        inputChunk: Any,
        taskParamMap: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Status code, and the input chunk with its candidates."""
        called = (taskSpec, cloudName, inputChunk, taskParamMap)
        # Further arguments are those of PanDA's task broker, which asks for something else.
        if args or kwargs:
            return self._own_broker(self.ddmIF).doBrokerage(*called, *args, **kwargs)
        here = process.current()
        config = here.config()
        mode = mode_of(config.rules, self.BROKERAGE, taskSpec.gshare or "", taskSpec.jediTaskID)
        ddm = RememberingDdm(self.ddmIF)
        session = JobSession(
            process=here,
            config=config,
            brokerage=self.BROKERAGE,
            task=taskSpec,
            chunk=inputChunk,
            params=taskParamMap if mode == "off" else self.params(taskSpec, taskParamMap),
            task_buffer=self.taskBufferIF,
            ddm=ddm,
            site_mapper=self.siteMapper,
            own=lambda: self._own_broker(ddm).doBrokerage(*called),
            own_module=self.OWN,
        )
        if mode == "off":
            # A chunk that was led before may have left a request.
            session.release("mode off: PanDA's own broker decided")
            return self._own_broker(self.ddmIF).doBrokerage(*called)
        return session.lead() if mode == "lead" else session.shadow()

    def params(self, task: Any, given: Any) -> Any:
        """The task's parameters, as a request has them."""
        return given

    def _own_broker(self, ddm: Any) -> Any:
        """PanDA's own broker, in the state that JEDI has set on this one."""
        own = getattr(self.OWN, self.OWN_NAME)(ddm, self.taskBufferIF)
        for name in (
            "vo",
            "prodSourceLabel",
            "siteMapper",
            "liveCounter",
            "lockID",
            "baseLockID",
            "testMode",
            "task_common",
        ):
            if hasattr(self, name):
                setattr(own, name, getattr(self, name))
        self._own = own
        return own


class YardmasterProdJobBroker(YardmasterJobBroker):
    """For production."""

    BROKERAGE = "production"
    OWN = AtlasProdJobBroker
    OWN_NAME = "AtlasProdJobBroker"


class YardmasterAnalJobBroker(YardmasterJobBroker):
    """For analysis."""

    BROKERAGE = "analysis"
    OWN = AtlasAnalJobBroker
    OWN_NAME = "AtlasAnalJobBroker"


class YardmasterGenJobBroker(YardmasterJobBroker):
    """For jobs outside ATLAS."""

    BROKERAGE = "generic"
    OWN = GenJobBroker
    OWN_NAME = "GenJobBroker"

    def params(self, task: Any, given: Any) -> Any:
        """As PanDA's own broker has them: read where none are given. A task without a cloud takes
        that of its parameters, and keeps it."""
        found = given
        try:
            if not found:
                text = self.taskBufferIF.getTaskParamsWithID_JEDI(task.jediTaskID)
                found = RefinerUtils.decodeJSON(text)
            if not task.cloud and "cloud" in found:
                task.cloud = found["cloud"]
        except Exception as error:
            # PanDA's own broker meets the same failure, and goes on without them as far as it can.
            logger.error("<jediTaskID=%s> no task parameters: %s", task.jediTaskID, error)
        return found
