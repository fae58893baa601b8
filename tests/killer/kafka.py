"""Reading of a topic to its end, and helpers that every other part of the killer uses."""

import functools
import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

# What the killer's own clients are called, so that a quota can leave them alone.
CLIENT = "killer"
# How long brokers may refuse to answer; s.
PATIENCE_S = 180.0

P = ParamSpec("P")
T = TypeVar("T")


class Failure(Exception):
    """The product, or what it stands on, did not do what it must."""


def patient(ask: Callable[P, T]) -> Callable[P, T]:
    """Asks the brokers again while they refuse: one that has just come back may for a while."""

    @functools.wraps(ask)
    def asked(*args: P.args, **more: P.kwargs) -> T:
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                return ask(*args, **more)
            except KafkaException:
                if time.monotonic() > until:
                    raise
                time.sleep(0.5)

    return asked


@dataclass
class Ports:
    """Gives ports that nothing listens on, each once."""

    first: int = 20_000
    last: int = 31_999

    def __post_init__(self) -> None:
        self.left = list(range(self.first, self.last + 1))
        random.SystemRandom().shuffle(self.left)

    def take(self) -> int:
        """One more; below those that the system gives to outgoing connections by default."""
        while self.left:
            port = self.left.pop()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) != 0:
                    return port
        raise Failure("no free port on loopback")


def client(bootstrap: str, **more: object) -> dict[str, object]:
    """The settings of a client of the killer; names have _ for a dot here."""
    settings: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "client.id": CLIENT,
        "log_level": 0,
        # A producer that looks for a topic that was deleted would make it, as the broker likes.
        "allow.auto.create.topics": False,
    }
    return settings | {name.replace("_", "."): value for name, value in more.items()}


@dataclass(frozen=True)
class Read:
    """One record as read."""

    partition: int
    offset: int
    key: bytes
    value: bytes | None
    headers: dict[str, bytes]
    stamp: int


class Reader:
    """Reads a topic from its beginning, committed records only; keeps what it has read."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.records: list[Read] = []
        self.next: dict[int, int] = {}
        self.consumer = Consumer(
            client(
                bootstrap,
                group_id="killer",
                enable_auto_commit=False,
                enable_partition_eof=True,
                isolation_level="read_committed",
                auto_offset_reset="error",
                fetch_message_max_bytes=8_000_000,
                topic_metadata_refresh_interval_ms=5_000,
            )
        )

    def read(self, limit_s: float = 300) -> list[Read]:
        """Reads on to the end of every partition, new ones included; returns all so far."""
        deadline = time.monotonic() + limit_s
        ended = dict.fromkeys(self._partitions(), False)
        places = [TopicPartition(self.topic, it, self.next.get(it, 0)) for it in ended]
        self.consumer.assign(places)
        while not all(ended.values()):
            if time.monotonic() > deadline:
                raise Failure(f"{self.topic} cannot be read to its end: {ended}")
            for message in self.consumer.consume(1_000, 0.05):
                self._take(message, ended)
        return self.records

    @patient
    def _partitions(self) -> list[int]:
        return list(self.consumer.list_topics(self.topic, timeout=60).topics[self.topic].partitions)

    def _take(self, message: object, ended: dict[int, bool]) -> None:
        error = message.error()  # type: ignore[attr-defined]
        partition = message.partition()  # type: ignore[attr-defined]
        if error is None:
            offset = message.offset()  # type: ignore[attr-defined]
            self.next[partition] = offset + 1
            self.records.append(
                Read(
                    partition,
                    offset,
                    message.key() or b"",  # type: ignore[attr-defined]
                    message.value(),  # type: ignore[attr-defined]
                    dict(message.headers() or []),  # type: ignore[attr-defined]
                    message.timestamp()[1],  # type: ignore[attr-defined]
                )
            )
        elif error.code() == KafkaError._PARTITION_EOF:
            ended[partition] = True
        elif not error.retriable() and error.code() in (
            KafkaError.OFFSET_OUT_OF_RANGE,
            KafkaError._AUTO_OFFSET_RESET,
        ):
            raise Failure(f"{self.topic}/{partition}: {error}")
