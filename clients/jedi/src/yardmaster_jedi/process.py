"""Data that belong to a process: configuration, breaker and connection.

JEDI makes a broker object for every input chunk, in threads of forked processes. What is dear is
made when a process first needs it, and shared by all of its threads. A forked process begins with
nothing: threads and sockets of its parent are not its own.
"""

import contextlib
import gc
import logging
import os
import threading
import time

from yardmaster_client.toml_reader import ConfigError
from yardmaster_jedi import config as configuration
from yardmaster_jedi.breaker import CircuitBreaker
from yardmaster_jedi.config import Config
from yardmaster_jedi.connection import Connection, UnavailableError

logger = logging.getLogger("yardmaster_jedi")

COMPARISONS_MAX = 64
"""Comparisons that may wait for Yardmaster's answer at the same time; count."""


class Process:
    """Configuration, breaker and connection of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: tuple[str, float, int] | None = None
        self._config = Config()
        self._breaker = CircuitBreaker(Config().breaker.failures, Config().breaker.rest_s)
        self._connecting = threading.Lock()
        self._connection: Connection | None = None
        self._failed_at = -1.0
        self.comparisons = threading.BoundedSemaphore(COMPARISONS_MAX)

    @property
    def breaker(self) -> CircuitBreaker:
        """The breaker of the present configuration."""
        return self._breaker

    def config(self) -> Config:
        """The configuration, read again if its file has changed. With an error in it: one whose
        modes are all `off`; the error is logged once."""
        with self._lock:
            file = configuration.path()
            mark: tuple[str, float, int] = (str(file), 0.0, 0)
            with contextlib.suppress(OSError):
                stat = file.stat()
                mark = str(file), stat.st_mtime, stat.st_size
            if mark != self._file:
                self._file = mark
                self._use(self._read())
            return self._config

    def _read(self) -> Config:
        try:
            return configuration.read(configuration.path())
        except ConfigError as error:
            logger.error("%s; until then PanDA's own brokers decide (mode off)", error)
            return Config()

    def _use(self, config: Config) -> None:
        if config.breaker != self._config.breaker:
            self._breaker = CircuitBreaker(config.breaker.failures, config.breaker.rest_s)
        self._config = config

    def connection(self) -> Connection:
        """The connection, made now if there is none. Other threads wait for it, for
        `timeouts.connect_s` at most. `UnavailableError` if it cannot be made; the breaker is open
        then."""
        config, arrived = self.config(), time.monotonic()
        with self._connecting:
            connection = self._connection
            if connection is not None:
                is_same = connection.config.connection_key() == config.connection_key()
                if is_same and not connection.is_broken:
                    return connection
                # Threads that use it still get no answers: it is closed, and they fall back.
                threading.Thread(target=connection.close, daemon=True).start()
                self._connection = None
            if self._failed_at >= arrived:
                raise UnavailableError("Kafka could not be reached a moment ago")
            try:
                self._connection = Connection(config)
            except Exception as error:
                self._failed_at = time.monotonic()
                self._breaker.failed(at_once=True)
                if isinstance(error, UnavailableError):
                    raise
                raise UnavailableError(f"{type(error).__name__}: {error}") from error
            return self._connection

    def existing_connection(self) -> Connection | None:
        """The connection, if there is one and nobody makes one now."""
        if not self._connecting.acquire(blocking=False):
            return None
        try:
            return self._connection
        finally:
            self._connecting.release()


_process: Process | None = None
_inherited: list[Process | None] = []
_guard = threading.Lock()


def current() -> Process:
    """That of this process."""
    global _process
    with _guard:
        if _process is None:
            _process = Process()
        return _process


def _forget_parent() -> None:
    """In a forked process. The parent's objects are kept, unused, those that nobody refers to any
    more too: destroying a client of librdkafka waits for threads that do not exist here."""
    global _process, _guard
    gc.freeze()
    _inherited.append(_process)
    _process, _guard = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_parent)
