"""Stops asking for a while after failures, so that they cost JEDI's threads little time."""

import threading
import time
from collections.abc import Callable


class CircuitBreaker:
    """Open (nothing is asked) for `rest_s` after `failures` in a row; then one caller tries.

    `rest_s` in s. A failed try opens it again, a try that succeeds closes it.
    """

    def __init__(
        self, failures: int, rest_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.failures, self.rest_s, self.clock = failures, rest_s, clock
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._rests_until: float | None = None

    def allows(self) -> bool:
        """Whether to ask now. After the rest it is so for one caller, then not for another rest,
        unless that caller succeeds."""
        with self._lock:
            if self._rests_until is None:
                return True
            if self.clock() < self._rests_until:
                return False
            self._rests_until = self.clock() + self.rest_s
            return True

    def is_open(self) -> bool:
        """Whether it opened, and no try has succeeded since."""
        with self._lock:
            return self._rests_until is not None

    def succeeded(self) -> None:
        """An answer came in time."""
        with self._lock:
            self._in_a_row, self._rests_until = 0, None

    def failed(self, at_once: bool = False) -> bool:
        """No answer came. `at_once` opens it whatever came before. Whether it is open now."""
        with self._lock:
            self._in_a_row += 1
            if at_once or self._in_a_row >= self.failures:
                self._rests_until = self.clock() + self.rest_s
            return self._rests_until is not None
