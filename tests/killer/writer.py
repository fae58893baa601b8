"""Writes records to the topics of a domain, and remembers where they came to lie."""

import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException, Producer

from codec import Codec, Record
from domain import Domain
from kafka import client

# Partition, offset and time stamp of a written record; ms since 1970.
Placed = Callable[[int, int, int], None]


class Writer:
    """A producer that outlasts a broker's death."""

    def __init__(self, bootstrap: str, codec: Codec) -> None:
        self.bootstrap = bootstrap
        self.codec = codec
        self.failed: list[str] = []
        self.written = 0
        self.lock = threading.Lock()
        self.producer = self._producer("lz4")

    @property
    def domain(self) -> Domain:
        """Whose topics are written."""
        return self.codec.domain

    def _producer(self, compression: str) -> Producer:
        return Producer(
            client(
                self.bootstrap,
                enable_idempotence=True,
                compression_type=compression,
                # A key of a megabyte is small once it is compressed.
                message_max_bytes=20_000_000,
                message_timeout_ms=1_800_000,
                topic_metadata_refresh_interval_ms=5_000,
                queue_buffering_max_messages=1_000_000,
                linger_ms=5,
            )
        )

    def begin_again(self, compression: str = "lz4") -> None:
        """Writes by another client and this codec, after everything before is in the log."""
        with self.lock:
            self._flush(600)
            self.producer = self._producer(compression)

    def write(
        self,
        topic: str,
        key: str,
        value: Record | bytes | None,
        partition: int = -1,
        placed: Placed | None = None,
        stamp: int = 0,
    ) -> None:
        """Writes a record, or any bytes, to the topic of this word; stamp 0 is now."""
        encoded = self.codec.encode(topic, value) if isinstance(value, dict) else value

        def done(error: Any, message: Any) -> None:
            if error is not None:
                self.failed.append(f"{topic}: {error}")
            elif placed is not None:
                placed(message.partition(), message.offset(), message.timestamp()[1])

        name = self.domain.topic(topic)
        with self.lock:
            for _ in range(100):
                try:
                    self.producer.produce(
                        name, encoded, key.encode(), partition, on_delivery=done, timestamp=stamp
                    )
                    break
                except BufferError:
                    self.producer.poll(0.2)
            self.written += 1
            self.producer.poll(0)

    def flush(self, limit_s: float = 600) -> None:
        """Waits until everything is in the log."""
        with self.lock:
            self._flush(limit_s)

    def _flush(self, limit_s: float) -> None:
        left = self.producer.flush(limit_s)
        if left or self.failed:
            raise KafkaException(f"{left} records not written; {self.failed[:3]}")
