"""The nuclei of many tasks at once: all are asked for, then waited for together."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from pandajedi.jedibrokerage import AtlasBrokerUtils, AtlasProdTaskBroker
from pandajedi.jedicore import Interaction
from pandajedi.jedirefine import RefinerUtils

from yardmaster_jedi.answers import End
from yardmaster_jedi.asking import Question, ask, release
from yardmaster_jedi.comparing import Comparing
from yardmaster_jedi.comparison import crashed_answer, reason_of
from yardmaster_jedi.config import Config
from yardmaster_jedi.connection import Connection
from yardmaster_jedi.facts import Situation, nucleus_request, nucleus_subject_of
from yardmaster_jedi.observed import nucleus_answer, watching
from yardmaster_jedi.process import Process

logger = logging.getLogger("yardmaster_jedi")

GATHERING_THREADS = 4
"""As many as PanDA's own broker has for its look-ups in Rucio."""


class NucleusRecorder:
    """Passes calls on to the task buffer, and records which nuclei are written."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.nuclei: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def setCloudToTasks_JEDI(self, tasks: dict[int, Any]) -> Any:  # noqa: N802
        """Writes the nuclei of tasks, by task id."""
        written = self._inner.setCloudToTasks_JEDI(tasks)
        self.nuclei.update({task: it["nucleus"] for task, it in tasks.items()})
        return written


@dataclass
class NucleusTask:
    """A task that wants a nucleus."""

    task: Any
    chunk: Any
    is_led: bool
    question: Question | None = None
    outputs: list[Any] = field(default_factory=list)


@dataclass
class TaskSession:
    """The tasks of one call that want a nucleus. `own` runs PanDA's own broker for those that are
    left to it."""

    process: Process
    config: Config
    task_buffer: Any
    ddm: Any
    site_mapper: Any
    recorder: NucleusRecorder
    own: Callable[[set[int]], Any]

    def run(self, tasks: Sequence[NucleusTask], others: set[int]) -> Any:
        """Brokers `tasks`; `others`, by their ids, are PanDA's own broker's alone. Gives its
        status."""
        self._ask(tasks)
        left = {it.task.jediTaskID for it in tasks if not self._try(it)}
        for it in tasks:
            if it.question is None and it.task.jediTaskID in left:
                self.release(it.task)
        beside = [it for it in tasks if it.task.jediTaskID in left and it.question is not None]
        if not left | others:
            return Interaction.SC_SUCCEEDED
        return self._own_beside(beside, left | others)

    def release(self, task: Any) -> None:
        """PanDA's own broker decides: what an earlier asking about the task left is given up, if
        there is a connection."""
        connection = self.process.existing_connection()
        if connection is not None:
            release(connection, task, nucleus_subject_of(task), "PanDA's own broker decided")

    # --- asking ---

    def _ask(self, tasks: Sequence[NucleusTask]) -> None:
        """Asks for all tasks, and waits until those that are led have answers, or time is up."""
        if not tasks or not self.process.breaker.allows():
            return
        # The try of an open breaker must be a question to which an answer has to come.
        afresh = self.process.breaker.is_open()
        try:
            connection = self.process.connection()
        except Exception as error:
            level = logging.DEBUG if afresh else logging.ERROR
            logger.log(level, "%s; PanDA's own brokers decide", error)
            return
        with ThreadPoolExecutor(GATHERING_THREADS) as threads:
            list(threads.map(lambda it: self._ask_for(connection, it, afresh), tasks))
        led = [it.question for it in tasks if it.is_led and it.question is not None]
        until = time.monotonic() + self.config.timeouts.nucleus_answer_s
        answers = [question.wait(until) for question in led if not question.is_resumed]
        if any(answers):
            self.process.breaker.succeeded()
        elif answers:
            self.process.breaker.failed()

    def _ask_for(self, connection: Connection, it: NucleusTask, afresh: bool) -> None:
        try:
            task_id = it.task.jediTaskID
            params = RefinerUtils.decodeJSON(self.task_buffer.getTaskParamsWithID_JEDI(task_id))
            _, outputs = self.task_buffer.getDatasetsWithJediTaskID_JEDI(task_id, ["output", "log"])
            it.outputs = outputs or []
            policy = self.config.policies.nucleus
            at = Situation(
                self.config.domain, policy, "nucleus", self.task_buffer, self.ddm, self.site_mapper
            )
            request = nucleus_request(it.task, it.chunk, params, it.outputs, at)
            afresh = afresh or not it.is_led
            it.question = ask(connection, it.task, request, self.config, afresh)
        except Exception as error:
            self._log(it, logging.ERROR, f"cannot ask: {type(error).__name__}: {error}")

    # --- carrying out ---

    def _try(self, it: NucleusTask) -> bool:
        """Whether Yardmaster's decision was carried out; on a failure the task is left to PanDA,
        and the others are not touched."""
        try:
            return self._is_done(it)
        except Exception as error:
            why = f"cannot carry out: {type(error).__name__}: {error}"
            self._log(it, logging.ERROR, why)
            if it.question is not None:
                it.question.give_up(End("failed", why))
                it.question = None
            return False

    def _is_done(self, it: NucleusTask) -> bool:
        """Carries out the decision on a task that is led; False if it is left to PanDA."""
        if not it.is_led or it.question is None:
            return False
        decision = it.question.decision
        if decision is None:
            self._log(it, logging.ERROR, "no answer in time")
            it.question.give_up(End("expired", "no answer in time: PanDA's own broker decided"))
            it.question = None
            return False
        if decision["dry_run"]:
            self._log(it, logging.INFO, "the policy is in a dry run: PanDA's own broker decides")
            return False
        if decision["outcome"] == "reject":
            # No policy for JEDI's tasks rejects: the request was not admitted.
            self._log(it, logging.ERROR, f"not admitted: {decision['reason']}")
            it.question.keep()
            it.question = None
            return False
        if decision["outcome"] != "assign":
            it.question.keep()
            self._hold(it, f"yardmaster: {decision['outcome']} {reason_of(decision)}".rstrip())
            return True
        return self._assign(it, decision["ranked"][0]["queue"])

    def _assign(self, it: NucleusTask, name: str) -> bool:
        """Writes the nucleus as PanDA's own broker does."""
        assert it.question is not None
        nucleus = self.site_mapper.nuclei.get(name) or self.site_mapper.satellites.get(name)
        if nucleus is None:
            raise LookupError(f"JEDI has no nucleus {name}: its nuclei and ours differ")
        written = AtlasBrokerUtils.getDictToSetNucleus(nucleus, it.outputs)
        is_set = self.task_buffer.setCloudToTasks_JEDI({it.task.jediTaskID: written})
        self._log(it, logging.INFO, f"set nucleus={name} with {is_set}")
        it.question.keep()
        return True

    def _hold(self, it: NucleusTask, why: str) -> None:
        """The task stays as it is, with the reason where shifters look, as PanDA's broker does."""
        self._log(it, logging.INFO, why)
        it.task.resetChangedList()
        it.task.setErrDiag(why)
        self.task_buffer.updateTask_JEDI(
            it.task,
            {"jediTaskID": it.task.jediTaskID},
            oldStatus=["assigning"],
            updateDEFT=False,
            setFrozenTime=False,
        )

    # --- beside PanDA's own ---

    def _own_beside(self, beside: Sequence[NucleusTask], left: set[int]) -> Any:
        """PanDA's own broker decides for what is left; its answers are compared with ours."""
        began = time.monotonic()
        comparing = Comparing(self.process, self.config, "nucleus", "shadow")
        with ExitStack() as stack:
            watched = [watching(AtlasProdTaskBroker, it.task, "nucleus") for it in beside]
            skips = [stack.enter_context(it) for it in watched]
            try:
                status = self.own(left)
            except Exception as fault:
                crashed = crashed_answer(fault, round((time.monotonic() - began) * 1000))
                asked = [it.question for it in beside if it.question is not None]
                comparing.start([(question, crashed) for question in asked])
                raise
            except BaseException:
                for it in beside:
                    if it.question is not None:
                        it.question.give_up(End("refused", "PanDA's own broker failed"))
                raise
        took_ms = round((time.monotonic() - began) * 1000)
        pairs = []
        for it, skipped in zip(beside, skips, strict=True):
            nucleus = self.recorder.nuclei.get(it.task.jediTaskID)
            other = nucleus_answer(nucleus, it.task.errorDialog or "", skipped, took_ms)
            if it.question is not None:
                pairs.append((it.question, other))
        comparing.start(pairs)
        return status

    def _log(self, it: NucleusTask, level: int, text: str) -> None:
        logger.log(level, "<jediTaskID=%s> %s", it.task.jediTaskID, text)
