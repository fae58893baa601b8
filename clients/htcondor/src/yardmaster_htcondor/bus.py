"""Kafka: what is published, and what Yardmaster decided. Nothing here waits for a broker that is
away.

A thread of its own reads decisions, so a match waits for no poll of the pool. Offsets are committed
once what they led to is done: after a crash a decision is read again, and the job's ad shows that
it was carried out.
"""

import logging
import queue
import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from yardmaster_client.codec import codec
from yardmaster_client.outage import client_logger
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.limits import LimitError, check_length, check_limits
from yardmaster_htcondor.look import ASK_S, Look, not_there

logger = logging.getLogger("yardmaster_htcondor")

POLL_S = 0.2
AGAIN_S = 2.0
LOOK_S = 10.0

FOR_GOOD = (
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_RECORD,
    KafkaError._INVALID_ARG,
)
"""Answers to a record that will be the same at each try."""

KEYS = {
    "job-state": "job",
    "task": "task",
    "pilot": "offer",
    "outcome": "subject",
    "comparison": "subject",
}


def key(topic: str, record: dict[str, Any]) -> str:
    """The key of a record."""
    return f"user/{record['name']}" if topic == "user" else str(record[KEYS[topic]])


class OpenOffsets:
    """Which records were read and are not done: some wait for a schedd that does not answer."""

    def __init__(self) -> None:
        self._open: dict[int, dict[int, bool]] = {}

    def begin(self, partition: int, offset: int) -> None:
        """A record was read."""
        self._open.setdefault(partition, {})[offset] = False

    def finish(self, partition: int, offset: int) -> int | None:
        """A record is done; the last offset up to which all are, if that moved."""
        offsets = self._open.setdefault(partition, {})
        offsets[offset] = True
        last = None
        for at in sorted(offsets):
            if not offsets[at]:
                break
            last = at
            del offsets[at]
        return last


class Bus:
    """One producer, and one reader of `decision` and `progress`."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._log, self._outage = client_logger("yardmaster_htcondor")
        common = {
            "bootstrap.servers": config.bootstrap_servers,
            "allow.auto.create.topics": False,
            **config.client,
        }
        self._producer = Producer(
            {**common, "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 60_000},
            logger=self._log,
        )
        self._consumer = Consumer(
            {
                **common,
                "group.id": config.group,
                "isolation.level": "read_committed",
                "enable.auto.commit": True,
                "auto.commit.interval.ms": 1000,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "latest",
                "fetch.wait.max.ms": 50,
            },
            logger=self._log,
        )
        self._look = Look(config, AdminClient(common, logger=self._log))
        self.decisions: queue.Queue[tuple[dict[str, Any], Message]] = queue.Queue()
        self.failed: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        """Topics and records that Kafka did not take, and may take later."""
        self.refused: queue.Queue[tuple[str, dict[str, Any], str]] = queue.Queue()
        """Topics and records that it never will, and why."""
        self.alive_s = 0.0
        """When Yardmaster last showed that it works; s since 1970."""
        self.is_broken = False
        """Whether the agent must begin again: topics are not as before."""
        self._open = OpenOffsets()
        self._finished: queue.Queue[Message] = queue.Queue()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, name="yardmaster-read", daemon=True)

    # --- Beginning ---

    def begin(self, stop: threading.Event) -> bool:
        """Fixes where reading begins, once Kafka answers; False if the agent is to end before."""
        while not stop.is_set():
            try:
                self._assign()
            except KafkaException as error:
                logger.debug("Kafka does not answer: %s", error)
                stop.wait(AGAIN_S)
                continue
            self._outage.is_over()
            self._thread.start()
            return True
        return False

    def _assign(self) -> None:
        """Decisions from where the last agent was, and at the first start from now on: what is
        decided after that moment is read, whenever it is."""
        decision, progress = self._config.topic("decision"), self._config.topic("progress")
        counts = {name: self._count(name) for name in (decision, progress)}
        parts = [TopicPartition(decision, it) for it in range(counts[decision])]
        starts = []
        for part in self._consumer.committed(parts, ASK_S):
            if part.offset < 0:
                _, part.offset = self._consumer.get_watermark_offsets(part, ASK_S)
            starts.append(TopicPartition(part.topic, part.partition, part.offset))
        self._consumer.commit(offsets=starts, asynchronous=False)
        for number in range(counts[progress]):
            part = TopicPartition(progress, number)
            _, end = self._consumer.get_watermark_offsets(part, ASK_S)
            starts.append(TopicPartition(progress, number, max(0, end - 1)))
        self._consumer.assign(starts)

    def _count(self, topic: str) -> int:
        found = self._producer.list_topics(topic, ASK_S).topics.get(topic)
        if found is None or found.error is not None or not found.partitions:
            logger.error("%s", not_there(topic))
            raise KafkaException(f"no topic {topic}")
        return len(found.partitions)

    # --- Publishing ---

    def publish(self, topic: str, record: dict[str, Any]) -> bool:
        """Publishes a record; False if it must be tried again later."""

        def delivered(error: Any, _: Message) -> None:
            if error is not None and error.code() in FOR_GOOD:
                self.refused.put((topic, record, error.str()))
            elif error is not None:
                self.failed.put((topic, record))

        try:
            check_limits(record)
            name, value = key(topic, record).encode(), codec(topic).encode(record)
            check_length(value)
        except LimitError as error:
            self.refused.put((topic, record, str(error)))
            return True
        except Exception as error:  # whatever the library raises where a value fits no field
            self.refused.put((topic, record, f"{type(error).__name__}: {error}"))
            return True
        try:
            self._producer.produce(
                self._config.topic(topic), value, key=name, on_delivery=delivered
            )
        except BufferError:
            return False
        except KafkaException as error:
            if error.args[0].code() in FOR_GOOD:
                self.refused.put((topic, record, error.args[0].str()))
                return True
            self.is_broken = self.is_broken or error.args[0].fatal()
            return False
        self._producer.poll(0)
        return True

    # --- Reading ---

    def done(self, message: Message) -> None:
        """All that a decision led to is done."""
        self._finished.put(message)

    def _store(self) -> None:
        """Offsets of what is done; one counts once all before it are done too. Only the thread that
        reads calls the consumer: another one would wait for it."""
        while not self._finished.empty():
            message = self._finished.get()
            finished = self._open.finish(message.partition(), message.offset())
            if finished is None:
                continue
            part = TopicPartition(message.topic(), message.partition(), finished + 1)
            try:
                self._consumer.store_offsets(offsets=[part])
            except KafkaException as error:
                logger.debug("offset of a decision is not stored: %s", error)

    def _read(self) -> None:
        looked = float("-inf")
        while not self._closed.is_set():
            self._producer.poll(0)
            message = self._consumer.poll(POLL_S)
            self._store()
            if message is not None and message.error() is None:
                self._outage.is_over()
                self._take(message)
            if time.monotonic() - looked > LOOK_S:
                looked = time.monotonic()
                self._look.look()
            if self._look.changed and not self.is_broken:
                logger.error("%s: this agent ends, to begin again", self._look.changed)
                self.is_broken = True

    def _take(self, message: Message) -> None:
        if message.topic() == self._config.topic("progress"):
            # By the broker's clock: what is read late does not show that Yardmaster works.
            self.alive_s = max(self.alive_s, message.timestamp()[1] / 1000)
            return
        try:
            decision = codec("decision").decode(message.value() or b"")
        except Exception as error:
            at = f"{message.topic()}/{message.partition()}/{message.offset()}"
            logger.error("%s cannot be read: %s", at, error)
            return
        self._open.begin(message.partition(), message.offset())
        self.decisions.put((decision, message))

    def close(self) -> None:
        """Publishes what waits, for 5 s at most, and ends."""
        self._producer.flush(5)
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(5)
        self._store()
        self._consumer.close()
