"""Publishes comparisons when Yardmaster's answers come, or do not, without JEDI waiting."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from yardmaster_client.codec import Record
from yardmaster_jedi.answers import End
from yardmaster_jedi.asking import Question
from yardmaster_jedi.comparison import comparison, yardmaster_answer
from yardmaster_jedi.config import Config
from yardmaster_jedi.process import Process

logger = logging.getLogger("yardmaster_jedi")

Pair = tuple[Question, Record]
"""A question to Yardmaster, and the other side's answer."""


@dataclass(frozen=True)
class Comparing:
    """Publishes the comparisons of one brokerage. `reason`: why Yardmaster's answers are not
    carried out."""

    process: Process
    config: Config
    brokerage: str
    reason: str

    def start(self, pairs: Sequence[Pair]) -> None:
        """Compares in a thread of its own. There are `COMPARISONS_MAX` of these at most: beyond, a
        comparison is left out, and its reservation given up all the same."""
        if not pairs:
            return
        if not self.process.comparisons.acquire(blocking=False):
            logger.error("too many comparisons wait: %d are left out", len(pairs))
            for question, _ in pairs:
                question.give_up(End("refused", self.reason))
            return
        try:
            threading.Thread(
                target=self._work, args=(pairs,), name="yardmaster-compare", daemon=True
            ).start()
        except RuntimeError as error:
            # PanDA's broker has decided: that no thread starts is not JEDI's concern.
            self.process.comparisons.release()
            logger.error("%d comparisons are left out: %s", len(pairs), error)
            for question, _ in pairs:
                question.give_up(End("refused", self.reason))

    def _work(self, pairs: Sequence[Pair]) -> None:
        try:
            for question, other in pairs:
                try:
                    self._compare(question, other)
                except Exception as error:
                    logger.error("cannot compare %s: %s", question.request["subject"], error)
                finally:
                    question.give_up(End("refused", self.reason))
        finally:
            self.process.comparisons.release()

    def _compare(self, question: Question, other: Record) -> None:
        if question.decision is None:
            question.wait(question.asked + self.config.timeouts.compare_s)
        if question.decision is None:
            self.process.breaker.failed()
        elif not question.is_resumed:
            self.process.breaker.succeeded()
        ours = yardmaster_answer(question.decision, question.took_ms())
        record = comparison(question.request, self.brokerage, "other", ours, other)
        question.connection.compare(record)
