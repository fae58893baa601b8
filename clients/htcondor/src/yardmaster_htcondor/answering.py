"""Whether a schedd answers, so that one which does not holds up no other.

A call of a schedd that is frozen takes 20 s if it reads, and an edit as long as it is frozen. So
before a call another process asks it.
"""

import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

logger = logging.getLogger("yardmaster_htcondor")

ANSWER_S = 2.0
"""A schedd that does not answer for so long is away until it does; s."""

FIRST_S = 10.0
"""So long the first answer may take, as the process that asks begins; s."""

FRESH_S = 0.05
"""After an answer calls are made for so long without another question; s."""

PAUSE_S, PAUSE_MAX_S = 1.0, 30.0
"""Between two questions to one that is away: first, and at most; s."""


class PoolError(Exception):
    """Collector or schedd did not answer."""


class AwayError(PoolError):
    """A schedd that did not answer before, which was stated then, is not asked for now."""


class Asks(Protocol):
    """Asks a schedd, in another process."""

    def ask(self) -> None:
        """Asks."""

    def answer(self, wait_s: float) -> str | None:
        """The answer: empty, or why there is none; None if it is not there yet."""

    def close(self) -> None:
        """Ends the process."""


class Answering:
    """One schedd."""

    def __init__(self, name: str, handle: Any, make: Callable[[], Asks]) -> None:
        self.name, self._handle, self._make = name, handle, make
        self._asker: Asks | None = None
        self._is_asked = self._is_away = False
        self._wait_s = FIRST_S
        self._answered_s = self._again_s = float("-inf")
        self._pause_s = PAUSE_S

    def handle(self) -> Any:
        """For one call; `PoolError` if the schedd does not answer."""
        now = time.monotonic()
        if now - self._answered_s < FRESH_S:
            return self._handle
        if now < self._again_s and not self._is_asked:
            raise AwayError(f"schedd {self.name} does not answer")
        try:
            why = self._ask()
        except OSError as error:
            self.close()
            raise self._failed(str(error)) from error
        if why is None:
            raise self._away(f"no answer within {self._wait_s:g} s")
        self._is_asked, self._wait_s = False, ANSWER_S
        if why:
            raise self._failed(why)
        self.answered()
        return self._handle

    def _ask(self) -> str | None:
        """Asks if nothing is asked; the answer. One that is away is not waited for."""
        if self._asker is None:
            self._asker, self._wait_s = self._make(), FIRST_S
        if not self._is_asked:
            self._asker.ask()
            self._is_asked = True
        return self._asker.answer(0 if self._is_away else self._wait_s)

    def close(self) -> None:
        """Asks no more."""
        asker, self._asker, self._is_asked = self._asker, None, False
        if asker is not None:
            asker.close()

    def answered(self) -> None:
        """A call was answered."""
        if self._is_away:
            logger.warning("schedd %s answers again", self.name)
        self._is_away, self._pause_s, self._again_s = False, PAUSE_S, float("-inf")
        self._answered_s = time.monotonic()

    def doubt(self) -> None:
        """A call failed: it is asked before the next one."""
        self._answered_s = float("-inf")

    def _failed(self, why: str) -> PoolError:
        """It is not asked for a while; the error to raise."""
        self._again_s = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
        return self._away(why)

    def _away(self, why: str) -> PoolError:
        """The first time it states why."""
        is_known, self._is_away = self._is_away, True
        about = f"schedd {self.name} does not answer"
        return AwayError(about) if is_known else PoolError(f"{about}: {why}")
