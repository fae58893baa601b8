"""Writes records to topics, and remembers where they came to lie."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException, Producer

from codec import Codec, Record

# Partition, offset and time stamp of a written record; ms since 1970.
Placed = Callable[[int, int, int], None]


class Writer:
    """A producer that outlasts a broker's death."""

    def __init__(self, bootstrap: str, codec: Codec) -> None:
        self.codec = codec
        self.failed: list[str] = []
        self.written = 0
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "compression.type": "lz4",
                # A key of a megabyte is small once it is compressed.
                "message.max.bytes": 20_000_000,
                "message.timeout.ms": 900_000,
                "topic.metadata.refresh.interval.ms": 5_000,
                "queue.buffering.max.messages": 1_000_000,
                "linger.ms": 5,
                "log_level": 0,
            }
        )

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

        name = f"yardmaster.{topic}"
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

    def flush(self, limit_s: float = 180) -> None:
        """Waits until everything is in the log."""
        left = self.producer.flush(limit_s)
        if left or self.failed:
            raise KafkaException(f"{left} records not written; {self.failed[:3]}")
