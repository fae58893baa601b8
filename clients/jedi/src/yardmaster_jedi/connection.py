"""The connection of a process to Kafka: one producer, and one reader of `decision` and `task`.

Where reading begins is fixed before the first question is published, so no answer can be missed.
Two threads serve it: one reads, one collects what became of published records.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from yardmaster_client.codec import HEAD_BYTES, Record, codec
from yardmaster_client.outage import client_logger
from yardmaster_jedi.answers import Answers, End, Key, millis
from yardmaster_jedi.config import Config

logger = logging.getLogger("yardmaster_jedi")
client_log, outage = client_logger("yardmaster_jedi")

TAKEN_HEADER = "taken"
"""Header of a `task` record: the id of the decision that its publisher has taken."""

POLL_S = 0.2
"""How long a thread waits for Kafka before it looks whether the connection was closed."""


Headers = list[tuple[str, str | bytes | None]]


class UnavailableError(Exception):
    """Kafka cannot be reached, or a topic is not there."""


RETRY_S = 0.1
"""Between two calls of Kafka while a connection is made."""

LOOK_S = 60.0
"""How often it is looked whether a topic that is read has other partitions."""

LOOK_OUTAGE_S = 5.0
"""The same while Kafka's client complains."""

UNREAD_MAX = 1_000
"""Schemas of records that could not be read, as they are counted."""


def now_millis() -> int:
    """Now; ms since 1970."""
    return int(time.time() * 1000)


def _clients(config: Config) -> tuple[Producer, Consumer]:
    # Looking at a topic that is not there must not make it, as a producer's look does by default.
    common = {
        "bootstrap.servers": config.bootstrap_servers,
        "allow.auto.create.topics": False,
        **config.client,
    }
    producer = {"enable.idempotence": True, "linger.ms": 0, "message.timeout.ms": 10_000}
    consumer = {
        "group.id": "yardmaster-jedi",  # librdkafka wants one; no offset is committed
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "isolation.level": "read_committed",
        "auto.offset.reset": "latest",
        "fetch.wait.max.ms": 100,
    }
    return (
        Producer({**common, **producer}, logger=client_log),
        Consumer({**common, **consumer}, logger=client_log),
    )


class Connection:
    """Publishes requests and outcomes, and keeps `answers` up to date."""

    def __init__(self, config: Config) -> None:
        self.config, self.answers = config, Answers()
        self.is_broken = False
        """Whether its producer can publish nothing any more, or not all partitions are read:
        another is to be made."""
        self._unread: Counter[tuple[str, bytes]] = Counter()
        until = time.monotonic() + config.timeouts.connect_s
        try:
            self._producer, self._consumer = _clients(config)
        except Exception as error:
            raise UnavailableError(f"[client] of the configuration: {error}") from error
        self._closed = threading.Event()
        try:
            ends = self._ends(until)
            self._read_partitions = Counter(str(it.topic) for it in ends)
            self._consumer.assign(ends)
        except Exception:
            self._consumer.close()
            raise
        outage.is_over()
        self._threads = [
            threading.Thread(target=work, name=f"yardmaster-{work.__name__}", daemon=True)
            for work in (self._read, self._collect)
        ]
        for thread in self._threads:
            thread.start()

    def topics(self) -> dict[str, int]:
        """How many partitions each topic has; `UnavailableError` names one that is not there."""
        until = time.monotonic() + self.config.timeouts.connect_s
        names = vars(self.config.topics).values()
        return {name: len(self._partitions(name, until)) for name in names}

    def _ends(self, until: float) -> list[TopicPartition]:
        """The end of each partition that is read."""
        topics = self.config.topics
        ends = []
        for topic in (topics.decision, topics.task):
            for number in self._partitions(topic, until):
                at = TopicPartition(topic, number)
                _, end = self._bounded(until, partial(self._consumer.get_watermark_offsets, at))
                ends.append(TopicPartition(topic, number, end))
        return ends

    def _partitions(self, topic: str, until: float) -> list[int]:
        found = self._bounded(until, partial(self._topics, topic)).topics.get(topic)
        if found is None or found.error is not None or not found.partitions:
            why = found.error.str() if found is not None and found.error else "it is not there"
            raise UnavailableError(
                f"topic {topic} at {self.config.bootstrap_servers}: {why}; "
                "`yardmaster topology apply` makes it"
            )
        return list(found.partitions)

    def _topics(self, topic: str, timeout_s: float) -> Any:
        return self._producer.list_topics(topic, timeout_s)

    def _bounded(self, until: float, call: Callable[[float], Any]) -> Any:
        """Answer of Kafka. It is asked again until time is up: a partition may just change its
        leader."""
        servers, why = self.config.bootstrap_servers, "it did not answer"
        while (left := until - time.monotonic()) > 0:
            try:
                return call(left)
            except Exception as error:
                why = str(error)
                time.sleep(min(RETRY_S, max(0.0, until - time.monotonic())))
        raise UnavailableError(
            f"Kafka at {servers} cannot be reached within {self.config.timeouts.connect_s} s "
            f"(timeouts.connect_s): {why}"
        )

    # --- what is published ---

    def ask(self, request: Record) -> Key:
        """Publishes a request and expects its decision. Does not wait for Kafka."""
        key = request["subject"], request["attempt"]
        self.answers.expect(key)
        # Known at once, so that the next attempt is higher; others read it from Kafka.
        self.answers.add_request(request, None)
        try:
            self._publish_task(request, lambda why: self.answers.fail(key, why))
        except Exception:
            self.answers.forget(key)
            raise
        return key

    def refresh(self, request: Record, taken: bytes | None = None) -> None:
        """Publishes a request again with what is known now; `taken` is the id of the decision on it
        that the caller carries out, so that no other process does so too."""
        self._publish_task(request, self._complain(f"request {request['subject']}"), taken)

    def abandon(self, request: Record, end: End) -> None:
        """Takes a request back: JEDI did otherwise. Whatever it reserves, or will, is given up."""
        key = request["subject"], request["attempt"]
        decision = self.answers.abandon(key, end)
        if decision is not None:
            self.settle(decision, end)
        now, revision = now_millis(), request.get("revision", 0) + 1
        ended = {**request, "phase": "ended", "revision": revision, "changed_at": now}
        self._publish_task(ended, self._complain(f"the end of {request['subject']}"))

    def settle(self, decision: Record, end: End) -> None:
        """Publishes what became of a decision; its reservation ends."""
        subject = decision["subject"]
        record = {
            "subject": subject,
            "decision": decision["id"],
            "kind": end.kind,
            "at": now_millis(),
            "reason": end.reason,
        }
        failed = self._complain(f"the outcome of {subject}")
        value = codec("outcome").encode(record)
        self._publish(self.config.topics.outcome, subject, value, failed)

    def compare(self, comparison: Record) -> None:
        """Publishes both answers to a request."""
        subject = comparison["subject"]
        failed = self._complain(f"the comparison of {subject}")
        value = codec("comparison").encode(comparison)
        self._publish(self.config.topics.comparison, subject, value, failed)

    def _publish_task(
        self, request: Record, failed: Callable[[str], None], taken: bytes | None = None
    ) -> None:
        headers: Headers = [] if taken is None else [(TAKEN_HEADER, taken)]
        value = codec("task").encode(request)
        self._publish(self.config.topics.task, request["task"], value, failed, headers)

    def _publish(
        self,
        topic: str,
        key: str,
        value: bytes,
        failed: Callable[[str], None],
        headers: Headers | None = None,
    ) -> None:
        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed(str(error))

        try:
            self._producer.produce(
                topic, value, key=key.encode(), headers=headers or [], on_delivery=delivered
            )
        except KafkaException as error:
            self.is_broken = self.is_broken or error.args[0].fatal()
            raise

    def _complain(self, what: str) -> Callable[[str], None]:
        return lambda why: logger.error("%s was not published: %s", what, why)

    # --- the threads ---

    def _collect(self) -> None:
        looked = time.monotonic()
        while not self._closed.is_set():
            self._producer.poll(POLL_S)
            every_s = LOOK_OUTAGE_S if outage.may_last() else LOOK_S
            if not self.is_broken and time.monotonic() - looked > every_s:
                looked = time.monotonic()
                self._look()

    def _look(self) -> None:
        """Reading begins again, with a connection of its own, when partitions were added."""
        try:
            for topic, count in self._read_partitions.items():
                found = len(self._topics(topic, POLL_S).topics[topic].partitions)
                if found > count:
                    logger.warning("topic %s has %d partitions, not %d", topic, found, count)
                    self.is_broken = True
            outage.is_over()
        except Exception as error:
            logger.debug("cannot look at partitions: %s", error)

    def _read(self) -> None:
        while not self._closed.is_set():
            message = self._consumer.poll(POLL_S)
            if message is None or message.error() is not None:
                continue
            try:
                self._take_in(message, message.value() or b"")
            except Exception as error:
                self._leave_out(message, error)
        self._consumer.close()

    def _leave_out(self, message: Message, error: Exception) -> None:
        """Logs the 1st, 10th, 100th ... record of a schema that cannot be read: it may be all."""
        at = f"{message.topic()}/{message.partition()}/{message.offset()}"
        if len(self._unread) >= UNREAD_MAX:
            self._unread.clear()
        mark = str(message.topic()), bytes(message.value() or b"")[:HEAD_BYTES]
        self._unread[mark] += 1
        count = self._unread[mark]
        if str(count).strip("0") == "1":
            what = f"{type(error).__name__}: {error}"
            logger.error("%s is left out, %d of this schema so far: %s", at, count, what)

    def _take_in(self, message: Message, value: bytes) -> None:
        if message.topic() == self.config.topics.decision:
            decision = codec("decision").decode(value)
            if decision["domain"] != self.config.domain:
                return
            decision["arrived"] = time.monotonic()
            decision["now"] = millis(decision["now"])
            decision["until"] = None if decision["until"] is None else millis(decision["until"])
            end = self.answers.add_decision(decision)
            if end is not None:
                self.settle(decision, end)
        else:
            request = codec("task").decode(value)
            if request["domain"] == self.config.domain:
                taken = dict(message.headers() or []).get(TAKEN_HEADER)
                self.answers.add_request(request, taken if isinstance(taken, bytes) else None)

    def close(self) -> None:
        """Publishes what waits, for at most 5 s, and ends the threads, within 5 s each."""
        self._producer.flush(5)
        self._closed.set()
        for thread in self._threads:
            thread.join(5)
