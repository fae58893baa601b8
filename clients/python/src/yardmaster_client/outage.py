"""Lines of Kafka's client while Kafka is down: one, then silence, then that it answers again."""

import logging
import time
from collections.abc import Callable

EVERY_S = 60.0
"""Between two lines of the client that are shown, when Kafka answers in between; s."""


class Outage(logging.Filter):
    """Lets one line pass, and no other until Kafka answers; then that it does."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._logger, self._clock = logger, clock
        self._shown_at: float | None = None
        self._since: float | None = None
        self._is_shown = False
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line of the client is shown."""
        now = self._clock()
        if self._since is None:
            self._since, self._is_shown = now, False
        is_due = self._shown_at is None or now - self._shown_at >= EVERY_S
        if self._is_shown or not is_due:
            self._left_out += 1
            return False
        self._shown_at, self._is_shown = now, True
        record.msg = f"{record.getMessage()}; more of it is left out until Kafka answers"
        record.args = ()
        return True

    def may_last(self) -> bool:
        """Whether the client has complained, and Kafka has not answered since."""
        return self._since is not None

    def is_over(self) -> None:
        """Kafka has answered."""
        since, left_out = self._since, self._left_out
        self._since = None
        # Of what is not shown nobody waits for the end: lines of a short one count with the next.
        if since is not None and self._is_shown:
            self._left_out = 0
            self._logger.warning(
                "Kafka answers again after %.0f s; %d lines of its client were left out",
                self._clock() - since,
                left_out,
            )


def client_logger(name: str) -> tuple[logging.Logger, Outage]:
    """The logger for Kafka's client, by the name of the package that logs, and its filter."""
    outage = Outage(logging.getLogger(name))
    logger = logging.getLogger(f"{name}.client")
    logger.addFilter(outage)
    return logger, outage
