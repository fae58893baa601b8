"""Whose turn it is: of agents with one `group` only one works, and the others wait.

Two would publish every record and carry out every match twice. Each says who it is beside a
committed offset of its group, and says it again while it works.
"""

import logging
import os
import secrets
import socket
import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from yardmaster_htcondor.config import Config
from yardmaster_htcondor.look import not_there

logger = logging.getLogger("yardmaster_htcondor")

SAY_S = 3.0
SILENT_S = 15.0
"""An agent that says nothing for so long is dead; s, by the clock of who waits."""

ASK_S = 5.0

NOT_THERE = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
)
"""Answers where a topic is missing."""


class Turn:
    """One agent's."""

    def __init__(self, config: Config) -> None:
        properties: dict[str, Any] = dict(config.client)
        properties |= {"bootstrap.servers": config.bootstrap_servers}
        properties |= {"group.id": config.group, "enable.auto.commit": False, "log_level": 0}
        self._consumer = Consumer(properties)
        self._group, self._topic = config.group, config.topic("progress")
        self.name = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
        self._count, self._trouble = 0, ""
        self.is_lost = False
        self._thread: threading.Thread | None = None

    def wait(self, stop: threading.Event) -> bool:
        """Waits until no other agent works; False if this one is to end before."""
        heard, since, named = "", time.monotonic(), ""
        while not stop.is_set():
            try:
                stated = self._read()
                if stated != heard:
                    heard, since = stated, time.monotonic()
                other = stated.rpartition(" ")[0]
                is_over = time.monotonic() - since > SILENT_S or is_dead(other)
                if other in ("", self.name) or is_over:
                    self._say()
                    self._thread = threading.Thread(target=self._keep, args=(stop,), daemon=True)
                    self._thread.start()
                    return True
                if other != named:
                    named = other
                    logger.warning(
                        "agent %s of group %s works: this one waits for its end", other, self._group
                    )
            except KafkaException as error:
                self._failed("whose turn it is is not known", error)
            stop.wait(SAY_S / 3)
        return False

    def _keep(self, stop: threading.Event) -> None:
        """Says it again; where another agent says it this one ends. Without Kafka neither of them
        hears of a match."""
        while not stop.wait(SAY_S):
            try:
                other = self._read().rpartition(" ")[0]
                if other not in ("", self.name):
                    logger.error(
                        "agent %s of group %s works too: this one ends", other, self._group
                    )
                    self.is_lost = True
                    stop.set()
                    return
                self._say()
            except KafkaException as error:
                self._failed("the others do not hear that this agent works", error)

    def _failed(self, what: str, error: KafkaException) -> None:
        """Logs it once."""
        if self._trouble != str(error):
            self._trouble = str(error)
            is_missing = error.args[0].code() in NOT_THERE
            why = not_there(self._topic) if is_missing else error.args[0].str()
            logger.warning("group %s: %s: %s", self._group, what, why)

    def close(self) -> None:
        """Leaves the turn to the next one."""
        if self._thread is not None:
            self._thread.join(3 * ASK_S)
            try:
                if not self.is_lost:
                    self._commit("")
            except KafkaException as error:
                logger.debug("this agent's end is not published: %s", error)
        self._consumer.close()

    def _read(self) -> str:
        part = TopicPartition(self._topic, 0)
        (found,) = self._consumer.committed([part], ASK_S)
        if found.error is not None:
            raise KafkaException(found.error)
        return str(found.metadata or "")

    def _say(self) -> None:
        self._count += 1
        self._commit(f"{self.name} {self._count}")

    def _commit(self, stated: str) -> None:
        part = TopicPartition(self._topic, 0)
        # The end, so that nobody takes the group for one that lags behind.
        _, end = self._consumer.get_watermark_offsets(part, ASK_S)
        parts = [TopicPartition(self._topic, 0, end, stated)]
        self._consumer.commit(offsets=parts, asynchronous=False)


def is_dead(name: str) -> bool:
    """Whether an agent was of this host, and its process is gone."""
    host, _, rest = name.partition("/")
    pid = rest.partition("/")[0]
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
