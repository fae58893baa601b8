"""The brokerage of one input chunk with Yardmaster: asked in `shadow`, followed in `lead`."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pandajedi.jedicore import Interaction

from yardmaster_client.codec import Record
from yardmaster_jedi import comparison
from yardmaster_jedi.answers import End
from yardmaster_jedi.asking import Question, ask, release
from yardmaster_jedi.comparing import Comparing
from yardmaster_jedi.config import Config
from yardmaster_jedi.connection import UnavailableError
from yardmaster_jedi.facts import Situation, job_request, subject_of
from yardmaster_jedi.fill import Chunk, clear, fill
from yardmaster_jedi.inputs import IO_INTENSITY_CUTOFF, Looking
from yardmaster_jedi.observed import job_answer, watching
from yardmaster_jedi.process import Process

logger = logging.getLogger("yardmaster_jedi")

Result = tuple[Any, Any]
"""Result for JEDI: a status code, and the input chunk."""


@dataclass
class JobSession:
    """One input chunk on its way through Yardmaster. `own` runs PanDA's own broker, whose module
    is `own_module`."""

    process: Process
    config: Config
    brokerage: str
    task: Any
    chunk: Any
    params: dict[str, Any] | None
    task_buffer: Any
    ddm: Any
    site_mapper: Any
    own: Callable[[], Result]
    own_module: Any

    def lead(self) -> Result:
        """Yardmaster decides; PanDA's own broker if it does not in time, or on any failure."""
        question = self._question()
        if question is None:
            self.release("Yardmaster could not be asked: PanDA's own broker decided")
            return self.own()
        until = time.monotonic() + self.config.timeouts.answer_s
        decision = question.decision or question.wait(until)
        if decision is None:
            self.process.breaker.failed()
            self._log(logging.ERROR, f"no answer within {self.config.timeouts.answer_s} s")
            question.give_up(End("expired", "no answer in time: PanDA's own broker decided"))
            return self.own()
        if not question.is_resumed:
            self.process.breaker.succeeded()
        if decision["dry_run"]:
            self._log(logging.INFO, "the policy is in a dry run: PanDA's own broker decides")
            return self._own_beside(question, "dry run")
        if decision["outcome"] == "reject":
            # It was not admitted, or no waiting helps: PanDA's own broker has the last word.
            question.keep()
            self._log(logging.ERROR, f"rejected: {decision['reason']}")
            return self.own()
        return self._carry_out(question, decision)

    def shadow(self) -> Result:
        """PanDA's own broker decides; Yardmaster is asked too, and both answers are compared."""
        question = self._question(afresh=True)
        return self.own() if question is None else self._own_beside(question, "shadow")

    def release(self, why: str) -> None:
        """PanDA's own broker decides: what an earlier asking about the chunk left is given up, if
        there is a connection."""
        connection = self.process.existing_connection()
        if connection is not None:
            release(connection, self.task, subject_of(self.task, self.chunk), why)

    def _question(self, afresh: bool = False) -> Question | None:
        """A question that was published; None if that cannot be done now."""
        if not self.process.breaker.allows():
            return None
        # The try of an open breaker must be a question to which an answer has to come.
        rested = self.process.breaker.is_open()
        afresh = afresh or rested
        began = time.monotonic()
        try:
            connection = self.process.connection()
            question = ask(connection, self.task, self._request(), self.config, afresh)
        except UnavailableError as error:
            rest, level = self.config.breaker.rest_s, logging.DEBUG if rested else logging.ERROR
            self._log(level, f"{error}; PanDA's own brokers decide, and it is tried every {rest} s")
            return None
        except Exception as error:
            self._log(logging.ERROR, f"cannot ask: {type(error).__name__}: {error}")
            return None
        name = f"{question.request['subject']}:{question.request['attempt']}"
        self._log(logging.INFO, f"asked as {name} after {time.monotonic() - began:.3f} s")
        return question

    def _looking(self) -> Looking:
        cutoff = None
        if self.brokerage == "production":
            cutoff = self.task_buffer.getConfigValue(
                "jobbroker", "IO_INTENSITY_CUTOFF", "jedi", "atlas"
            )
        return Looking(self.brokerage, IO_INTENSITY_CUTOFF if cutoff is None else cutoff)

    def _request(self) -> Record:
        policy = getattr(self.config.policies, self.brokerage)
        at = Situation(
            self.config.domain, policy, self.brokerage, self.task_buffer, self.ddm, self.site_mapper
        )
        return job_request(self.task, self.chunk, self.params, at, self._looking())

    def _carry_out(self, question: Question, decision: Record) -> Result:
        """A decision as JEDI's input chunk and status."""
        if decision["outcome"] != "assign":
            question.keep()
            why = f"yardmaster: {decision['outcome']} {comparison.reason_of(decision)}".rstrip()
            self._log(logging.INFO, why)
            self.task.setErrDiag(why)
            # SC_WAITING leaves the time since when the task makes no progress alone.
            return Interaction.SC_WAITING, self.chunk
        try:
            fill(self._fillable(question.request), decision)
        except Exception as error:
            clear(self.chunk)
            self._log(logging.ERROR, f"cannot carry out: {type(error).__name__}: {error}")
            question.give_up(End("failed", f"JEDI cannot carry it out: {error}"))
            return self.own()
        question.keep()
        chosen = " ".join(f"{it['queue']}={it['jobs']}" for it in decision["ranked"])
        self._log(logging.INFO, f"assigned: {chosen}")
        # As of PanDA's own broker: without candidates for other than jumbo jobs none are made.
        is_filled = bool(self.chunk.siteCandidates)
        return (Interaction.SC_SUCCEEDED if is_filled else Interaction.SC_FAILED), self.chunk

    def _fillable(self, request: Record) -> Chunk:
        named = {
            dataset.datasetName.split(":")[-1].rstrip("/"): dataset.datasetName
            for dataset in self.chunk.getDatasets()
        }
        distributed = frozenset(
            named[it["name"]]
            for it in request["input"]["datasets"]
            if it["distributed"] and it["name"] in named
        )
        return Chunk(
            self.task,
            self.chunk,
            self.ddm,
            self.site_mapper,
            self.task_buffer,
            self._looking(),
            distributed,
        )

    def _own_beside(self, question: Question, reason: str) -> Result:
        """PanDA's own broker decides; both answers are compared when Yardmaster's is there."""
        began = time.monotonic()
        comparing = Comparing(self.process, self.config, self.brokerage, reason)
        try:
            kind = "generic" if self.brokerage == "generic" else "site"
            with watching(self.own_module, self.task, kind) as skips:
                status, chunk = self.own()
        except Exception as fault:
            took_ms = round((time.monotonic() - began) * 1000)
            comparing.start([(question, comparison.crashed_answer(fault, took_ms))])
            raise
        except BaseException:
            question.give_up(End("refused", reason))
            raise
        took_ms = round((time.monotonic() - began) * 1000)
        error = self.task.errorDialog or ""
        try:
            other = job_answer(status, chunk or self.chunk, error, skips, took_ms)
        except Exception as fault:
            # The chunk is filled: whatever fails here is not JEDI's concern.
            self._log(logging.ERROR, f"cannot compare: {type(fault).__name__}: {fault}")
            question.give_up(End("refused", reason))
            return status, chunk
        comparing.start([(question, other)])
        return status, chunk

    def _log(self, level: int, text: str) -> None:
        logger.log(level, "<jediTaskID=%s> %s", self.task.jediTaskID, text)
